"""Bivariate residuals against tables made by hand."""

from __future__ import annotations

import time

import numpy as np
import oracle
import pytest
import strategies as own
from fits import standing
from hypothesis import given, settings

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.errors import ModelError
from latentree.estimation import fit_classes
from latentree.score._residuals import bivariate_residuals, pair_marginals


@settings(max_examples=60)
@given(own.models_and_tables(max_nodes=6))
def test_every_pair_by_hand(pair):
    model, table = pair
    found = bivariate_residuals(standing(model, table))
    cells = oracle.pattern_probabilities(model)
    m = len(model.variables)
    for i in range(m):
        for j in range(m):
            if i == j:
                assert np.isnan(found.residuals[i, j])
                continue
            p = cells.sum(axis=tuple(set(range(m)) - {i, j}))
            p = p if i < j else p.T
            observed = np.zeros(p.shape)
            for codes, w in zip(table.codes, table.weights, strict=True):
                if codes[i] >= 0 and codes[j] >= 0:
                    observed[codes[i], codes[j]] += w
            expected = observed.sum() * p
            ours = found.pair(i, j)
            np.testing.assert_allclose(ours.observed, observed, atol=1e-12)
            np.testing.assert_allclose(ours.expected, expected, atol=1e-12)
            df = (p.shape[0] - 1) * (p.shape[1] - 1)
            if df == 0 or observed.sum() == 0:
                assert np.isnan(ours.residual)
                assert ours.p is None
            elif (expected[observed > 0] > 1e-9).all():
                seen = expected > 0
                x2 = ((observed - expected)[seen] ** 2 / expected[seen]).sum()
                assert ours.residual == pytest.approx(x2 / df, rel=1e-8, abs=1e-9)
            else:
                assert ours.residual > 1e6


def test_independence_gives_the_usual_test():
    from scipy import stats

    fit = fit_classes(datasets.load("values"), 1, rng=np.random.default_rng(0))
    ours = bivariate_residuals(fit).pair("A", "B")
    usual = stats.chi2_contingency(ours.observed, correction=False)
    assert ours.x2 == pytest.approx(usual.statistic)
    assert ours.p == pytest.approx(usual.pvalue)
    np.testing.assert_allclose(ours.expected, usual.expected_freq)


def test_a_dependence_left_out_stands_out():
    rng = np.random.default_rng(0)
    truth = Model.random(Tree.star(2, [3] * 8), numbered([3] * 8), rng, 0.6)
    codes = truth.sample(2000, rng)
    codes[:, 5] = np.where(rng.random(2000) < 0.7, codes[:, 2], codes[:, 5])
    found = bivariate_residuals(fit_classes(Table.from_codes(codes, truth.variables), 2, rng=rng))
    worst, second = found.largest(2)
    assert worst.names == ("x3", "x6")
    assert worst.residual > 10 * second.residual
    assert found.to_dict()["residuals"][0][0] is None


def test_a_weight_is_a_repetition():
    rng = np.random.default_rng(0)
    model = Model.random(Tree.star(2, [2, 3, 2]), numbered([2, 3, 2]), rng)
    codes, weights = model.sample(30, rng), rng.integers(1, 4, 30)
    codes[rng.random(codes.shape) < 0.2] = -1
    a = bivariate_residuals(standing(model, Table.from_codes(codes, model.variables, weights)))
    b = bivariate_residuals(standing(model, Table.from_codes(np.repeat(codes, weights, axis=0), model.variables)))
    np.testing.assert_allclose(a.residuals, b.residuals, rtol=1e-12)


def test_many_variables_are_quick():
    rng = np.random.default_rng(0)
    m, inner = 120, 20
    parent = [-1, *rng.integers(0, np.arange(1, inner)), *np.repeat(np.arange(inner), m // inner)]
    tree = Tree(parent, [3] * (inner + m), [-1] * inner + list(range(m)))
    model = Model.random(tree, numbered([3] * m), rng)
    table = Table.from_codes(model.sample(3000, rng), model.variables)
    began = time.perf_counter()
    found = bivariate_residuals(standing(model, table))
    assert time.perf_counter() - began < 5
    # Nothing was fitted: X2 has all 8 degrees of freedom, and its median is 7.34.
    assert np.nanmedian(found.x2) == pytest.approx(7.34, abs=0.3)


def test_pairs_that_are_none():
    found = bivariate_residuals(fit_classes(datasets.load("values"), 1, rng=np.random.default_rng(0)))
    with pytest.raises(ModelError, match="two different"):
        found.pair("A", "A")
    with pytest.raises(ModelError, match="no variable 'Q'"):
        found.pair("A", "Q")
    assert len(found.largest(100)) == 6


def test_marginals_stand_on_the_diagonal():
    model = Model.random(Tree.star(2, [2, 2]), numbered([2, 2]), np.random.default_rng(0))
    np.testing.assert_allclose(pair_marginals(model)[:2, :2], np.diag(model.marginals()[1]))
