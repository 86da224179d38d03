"""Average posteriors and modal assignment."""

from __future__ import annotations

import numpy as np
import pytest
from fits import standing

from latentree import datasets, infer
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.errors import DataError, ModelError
from latentree.estimation import fit_classes
from latentree.score._assignment import average_posteriors


def two_latents():
    tree = Tree([-1, 0, 0, 0, 1, 1, 1], [2, 3, 2, 2, 2, 2, 2], [-1, -1, 0, 1, 2, 3, 4])
    return Model.random(tree, numbered([2] * 5), np.random.default_rng(5), 0.8)


@pytest.mark.parametrize(
    ("name", "k", "shares"),
    [
        ("carcinoma", 2, [0.5, 0.5]),
        ("carcinoma", 3, [0.4322, 0.3729, 0.1949]),
        ("values", 2, [0.6713, 0.3287]),
    ],
)
def test_predicted_memberships_that_polca_prints(name, k, shares):
    """R package poLCA 1.6: predicted class memberships by modal posterior probability."""
    fit = fit_classes(datasets.load(name), k, rng=np.random.default_rng(0), n_init=64, tol=1e-10)
    np.testing.assert_allclose(average_posteriors(fit).modal / fit.table.n, shares, atol=5e-5)


@pytest.mark.parametrize("node", ["z1", "z2"])
def test_any_latent_by_hand(node):
    model = two_latents()
    table = Table.from_codes(model.sample(300, np.random.default_rng(1)), model.variables)
    found = average_posteriors(standing(model, table), node)
    p = infer.posterior(model, table)[node]
    modal = p.argmax(axis=1)
    for i in range(p.shape[1]):
        np.testing.assert_allclose(found.average[i], p[modal == i].mean(axis=0))
        share, own = p[:, i].mean(), p[modal == i, i].mean()
        assert found.odds[i] == pytest.approx((own / (1 - own)) / (share / (1 - share)))
    np.testing.assert_allclose(found.modal, np.bincount(modal, minlength=p.shape[1]))
    np.testing.assert_allclose(found.expected, p.sum(axis=0))
    np.testing.assert_allclose(found.table.sum(axis=0), found.expected)
    assert found.error == pytest.approx(1 - p.max(axis=1).mean())
    assert found.error_reduction == pytest.approx(1 - found.error / (1 - p.mean(axis=0).max()))


def test_a_weight_is_a_repetition():
    model, rng = two_latents(), np.random.default_rng(1)
    codes, weights = model.sample(30, rng), rng.integers(1, 4, 30)
    a = average_posteriors(standing(model, Table.from_codes(codes, model.variables, weights)))
    b = average_posteriors(standing(model, Table.from_codes(np.repeat(codes, weights, axis=0), model.variables)))
    np.testing.assert_allclose(a.table, b.table)
    assert a.error == pytest.approx(b.error)


def test_one_class_and_a_class_without_rows():
    one = average_posteriors(fit_classes(datasets.load("values"), 1, rng=np.random.default_rng(0)))
    assert one.error == 0
    assert one.to_dict()["error_reduction"] is None
    tables = {"z": [0.9, 0.1], "x1": [[0.5, 0.5], [0.5, 0.5]]}
    model = Model.from_tables(Tree.star(2, [2]), numbered([2]), tables)
    found = average_posteriors(standing(model, Table.from_codes([[0], [1]], model.variables)))
    assert found.modal.tolist() == [2, 0]
    assert found.to_dict()["average"][1] == [None, None]


def test_what_cannot_be_assigned():
    tree = Tree([-1, 0], [2, 2], [0, 1])
    model = Model.random(tree, numbered([2, 2]), np.random.default_rng(0))
    table = Table.from_codes([[0, 1], [1, 0]], model.variables)
    with pytest.raises(ModelError, match="no latent"):
        average_posteriors(standing(model, table))
    fit = standing(two_latents(), Table.from_codes([[0] * 5], two_latents().variables))
    with pytest.raises(ModelError, match=r"'x1' is observed\. Ask for a latent variable: 'z1', 'z2'"):
        average_posteriors(fit, "x1")
    tables = {"z": [0.5, 0.5], "x1": [[1, 0], [1, 0]]}
    model = Model.from_tables(Tree.star(2, [2]), numbered([2]), tables)
    with pytest.raises(DataError, match="cannot produce"):
        average_posteriors(standing(model, Table.from_codes([[1]], model.variables)))
