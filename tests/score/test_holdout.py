"""Scores on other data."""

from __future__ import annotations

import numpy as np
import oracle
import pytest

from latentree import DataError, Table, Tree, fit_classes
from latentree._model import Model
from latentree.estimation._two_latents import fit_two_latents
from latentree.score import empirical_kl, holdout, scores, split


@pytest.fixture(scope="module")
def truth():
    variables = Table.from_codes(np.zeros((1, 5), int), [2] * 5).variables
    tables = {v.name: [[0.8, 0.2], [0.3, 0.7]] for v in variables}
    return Model.from_tables(Tree.star(2, [2] * 5), variables, {"z": [0.6, 0.4], **tables})


@pytest.fixture(scope="module")
def table(truth):
    return Table.from_codes(truth.sample(2000, np.random.default_rng(1)), truth.variables)


def test_splits_keep_every_case(table):
    train, test = split(table, 0.3, np.random.default_rng(0))
    assert (train.n, test.n) == (1400, 600)
    both = Table.from_codes(
        np.vstack([train.codes, test.codes]), table.variables, np.concatenate([train.weights, test.weights])
    )
    assert {tuple(c): w for c, w in zip(both.codes.tolist(), both.weights, strict=True)} == {
        tuple(c): w for c, w in zip(table.codes.tolist(), table.weights, strict=True)
    }


def test_holdout_finds_the_number_of_classes(table):
    found = [
        holdout(fit_classes(table, k, rng=np.random.default_rng(0)), rng=np.random.default_rng(7)) for k in (1, 2, 3)
    ]
    assert found[1] > found[0]
    assert found[1] > found[2] - 5


def test_holdout_on_given_data(truth, table):
    fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    test = Table.from_codes(truth.sample(500, np.random.default_rng(2)), truth.variables)
    p = oracle.pattern_probabilities(fit.model)
    want = sum(w * np.log(p[tuple(c)]) for c, w in zip(test.codes, test.weights, strict=True))
    assert holdout(fit, test) == pytest.approx(want)
    assert scores(fit, test=test)["holdout"].value == pytest.approx(want)


def test_empirical_divergence(truth, table):
    fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    test = Table.from_codes(truth.sample(20_000, np.random.default_rng(2)), truth.variables)
    p, q = oracle.pattern_probabilities(truth), oracle.pattern_probabilities(fit.model)
    assert empirical_kl(truth, truth, test) == 0
    assert empirical_kl(fit.model, truth, test) == pytest.approx((p * np.log(p / q)).sum(), abs=0.002)


def test_what_cannot_be():
    table = Table.from_codes([[0], [1]])
    never = Model(Tree.star(1, [2]), table.variables, [1.0, 1.0, 0.0])
    even = Model(Tree.star(1, [2]), table.variables, [1.0, 0.5, 0.5])
    assert empirical_kl(never, even, table) == np.inf
    with pytest.raises(DataError, match="impossible"):
        empirical_kl(even, never, table)


def test_wrong_use(table):
    fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="'rng'"):
        holdout(fit)
    with pytest.raises(DataError, match="whole counts"):
        split(table.reweighted(table.weights + 0.5), 0.5, rng)
    with pytest.raises(ValueError, match="'share'"):
        split(table, 1.0, rng)
    with pytest.raises(DataError, match="cannot be split"):
        split(Table.from_codes([[0]]), 0.5, rng)
    with pytest.raises(DataError, match="no column 'x5'"):
        holdout(fit, table.select(["x1", "x2", "x3", "x4"]))


def test_two_latents_are_fitted_anew_as_such(table):
    """With one state on one side it is a latent class model: the same data give the same score."""
    rng = np.random.default_rng
    star = fit_classes(table, 2, rng=rng(0))
    pair = fit_two_latents(table, (1, 2), rng=rng(0), n_init=4)
    assert holdout(pair, rng=rng(3), n_init=32) == pytest.approx(holdout(star, rng=rng(3), n_init=32), abs=0.1)
