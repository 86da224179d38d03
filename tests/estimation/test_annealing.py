"""Deterministic annealing sits still at the independence model, as Whiley's theorems say, and can leave it."""

from __future__ import annotations

import numpy as np
import pytest
from studies.estimation_runs import equal_weight_independence, indicator_correlations

from latentree._model import Model, random_parameters
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.errors import LatentreeWarning
from latentree.estimation import at_independence, em, estimate, fit_classes
from latentree.estimation._annealing import AnnealedSurface, curvature
from latentree.estimation._simplex import tangent
from latentree.report import findings

BETAS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


def drawn(leaves, n, seed, k=2):
    rng = np.random.default_rng(seed)
    truth = Model.random(Tree.star(k, leaves), numbered(leaves), rng)
    return Table.from_codes(truth.sample(n, rng), truth.variables), rng


def independence(table):
    """Log-likelihood of the independence model."""
    return fit_classes(table, 1, rng=np.random.default_rng(0)).log_likelihood


def test_em_from_an_independence_model_is_there_after_one_step():
    """Theorem 2.1 and corollary 2.2."""
    table, rng = drawn([2, 3, 4], 200, 0)
    tree = Tree.star(3, [2, 3, 4])
    rows = {f"x{i + 1}": np.repeat(rng.dirichlet(np.ones(r))[None], 3, axis=0) for i, r in enumerate([2, 3, 4])}
    weights = rng.dirichlet(np.ones(3))
    start = Model.from_tables(tree, table.variables, {"z": weights, **rows})
    once, twice = (em(start, table, accelerate=False, max_iterations=i, tol=0) for i in (1, 2))
    np.testing.assert_allclose(once.model.table("z")[0], weights)
    for i, x in enumerate(("x1", "x2", "x3")):
        share = np.bincount(table.codes[:, i], table.weights) / table.n
        np.testing.assert_allclose(once.model.table(x), np.repeat(share[None], 3, axis=0))
    assert once.log_likelihood == pytest.approx(independence(table))
    np.testing.assert_allclose(once.model.parameters, twice.model.parameters, atol=1e-12)
    with pytest.warns(LatentreeWarning, match="ended at an independence model"):
        estimate(start, table, method="em")
    one_class = Model.from_tables(tree, table.variables, {"z": [0.0, 1.0, 0.0], **rows})
    end = em(one_class, table, accelerate=False, max_iterations=1, tol=0)
    assert end.model.table("z").tolist() == [[0.0, 1.0, 0.0]]
    assert end.log_likelihood == pytest.approx(independence(table))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_equal_weight_independence_model_is_stationary_at_every_temperature(k):
    """Theorem 2.3."""
    table, _ = drawn([2, 3, 2, 4], 150, k)
    model = equal_weight_independence(table, k)
    for beta in BETAS:
        surface = AnnealedSurface(Plan.of(model, table), model.parameters, beta)
        point = surface.at(model.parameters)
        assert np.abs(tangent(point)[0]).max() < 1e-9 * table.n
        np.testing.assert_allclose(point.em_step, model.parameters, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_curvature_there_follows_from_the_correlations(seed):
    """Its largest eigenvalue is beta lambda_max(R) - 1: a maximum of A_beta exactly when beta lambda_max(R) < 1."""
    leaves = [[2, 2, 2], [3, 3, 3], [2, 3, 4], [2] * 5, [4, 4], [3, 2, 3, 2]][seed]
    table, _ = drawn(leaves, 120, seed)
    k = 2 + seed % 2
    model = equal_weight_independence(table, k)
    top = np.linalg.eigvalsh(indicator_correlations(table))[-1]
    for beta in BETAS[:-1]:
        surface = AnnealedSurface(Plan.of(model, table), model.parameters, beta)
        values, directions = curvature(surface.at(model.parameters))
        assert len(values) == model.tree.n_parameters and directions.shape[0] == model.tree.size
        assert values[-1] == pytest.approx(beta * top - 1, abs=1e-5)
        if set(leaves) == {2} and beta <= k / (2 * len(leaves) * (k - 1)):
            assert values[-1] < 0  # theorem 2.7


def test_annealing_ends_there_and_says_so():
    for seed in range(4):
        table, rng = drawn([2, 2, 2, 2], 300, seed)
        start = Model(Tree.star(2, [2] * 4), table.variables, random_parameters(Tree.star(2, [2] * 4), rng))
        with pytest.warns(LatentreeWarning, match="independence model.*escape=True"):
            stuck = estimate(start, table, method="annealing", tol=1e-10)
        assert stuck.converged and at_independence(stuck)
        assert stuck.log_likelihood == pytest.approx(independence(table), abs=1e-6)
        assert "independent" in {f.code for f in findings(stuck) if f.loud}
        free = estimate(start, table, method="annealing", tol=1e-7, escape=True)
        plain = em(start, table, tol=1e-10)
        assert free.log_likelihood > stuck.log_likelihood + 0.1
        assert free.log_likelihood >= plain.log_likelihood - 1e-2  # one hill here, but for relabelling


def test_a_single_temperature_of_one_is_em():
    table, rng = drawn([3, 3, 3], 200, 1)
    start = Model(Tree.star(2, [3] * 3), table.variables, random_parameters(Tree.star(2, [3] * 3), rng))
    a = estimate(start, table, method="annealing", schedule=(1.0,), max_iterations=20, tol=0)
    b = em(start, table, accelerate=False, max_iterations=20, tol=0)
    np.testing.assert_allclose(a.trace, b.trace, rtol=1e-12)


def test_what_has_nothing_to_tie_together_is_not_called_independent():
    table = Table.from_codes([[0, 0], [0, 1]], [2, 2], weights=[3, 4])  # one column varies
    start = Model(Tree.star(2, [2, 2]), table.variables, np.full(10, 0.5))
    assert not at_independence(em(start, table))
    one = fit_classes(Table.from_codes([[0, 0], [1, 1]], weights=[3, 4]), 1, rng=np.random.default_rng(0))
    assert not at_independence(one)  # a single class cannot do better
