"""Exact derivatives against brute force: every part, missing cells, weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize
from worlds import brute_log_likelihood, hessian, outcome_density, profiles

from latentree.relate._direct import DirectEffects
from latentree.relate._mixture import Fixed, Point, curvature, inverse, maximise
from latentree.relate._outcome_parts import Categories, Count, Normal
from latentree.relate._parts import ClassLogit, ItemData, Items


def drawn(seed: int, k: int, n: int = 25, sizes=(2, 3)):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(-1, r, n) for r in sizes]).astype(np.int16)
    x = np.column_stack([np.ones(n), rng.normal(size=n)])
    beta = np.vstack([np.zeros(2), rng.normal(size=(k - 1, 2))])
    weights = rng.choice([0.5, 1.0, 3.0], n)
    items = Items(ItemData(codes, np.arange(n), np.array(sizes)), np.hstack(profiles(rng, k, sizes, 2.0)))
    return rng, codes, ClassLogit(x, beta), items, weights


def tables_of(items):
    return np.split(items.tables, items.data.starts[1:], axis=1)


def compared(point, brute):
    found = curvature(point)
    gradient, second = hessian(lambda step: brute(point.moved(step)), point.size)
    assert found.gradient == pytest.approx(gradient, abs=2e-4 * (1 + np.abs(gradient).max()))
    assert found.information == pytest.approx(-second, abs=2e-4 * (1 + np.abs(second).max()))
    rows = point.row_scores()
    assert point.weights @ rows == pytest.approx(found.gradient, abs=1e-9)
    assert found.products == pytest.approx(rows.T @ (point.weights[:, None] * rows), abs=1e-9)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 3))
def test_covariates_and_items(seed, k):
    _, codes, logit, items, weights = drawn(seed, k)
    point = Point([logit, items], weights)
    assert point.log_likelihood == pytest.approx(brute_log_likelihood(logit, tables_of(items), codes, weights))
    compared(point, lambda p: brute_log_likelihood(p.parts[0], tables_of(p.parts[1]), codes, weights))


@pytest.mark.parametrize("uniform", [True, False])
def test_direct_effects(uniform):
    rng, codes, logit, items, weights = drawn(3, 2)
    z = rng.normal(size=(len(codes), 2))
    own = tables_of(items)[1]
    direct = DirectEffects.begin(codes[:, 1], z, own, uniform=uniform)
    direct = direct.moved(rng.normal(0, 0.4, direct.size))
    rest = Items(items.data.without([1]), tables_of(items)[0])
    point = Point([logit, rest, direct], weights)
    compared(
        point,
        lambda p: brute_log_likelihood(p.parts[0], tables_of(p.parts[1]), codes, weights, direct=(1, p.parts[2])),
    )


@pytest.mark.parametrize("kind", [Normal, Count, Categories])
@pytest.mark.parametrize("n_covariates", [0, 1])
def test_outcomes(kind, n_covariates):
    rng, codes, logit, items, weights = drawn(5, 2)
    n = len(codes)
    y = {Normal: rng.normal(size=n), Count: rng.poisson(2.0, n), Categories: rng.integers(0, 3, n)}[kind].astype(float)
    y[::7] = np.nan
    part = kind.begin(y, rng.normal(size=(n, n_covariates)), weights, 2)
    part = part.moved(rng.normal(0, 0.3, part.size))
    point = Point([logit, part, Fixed(items.log)], weights)
    compared(
        point,
        lambda p: brute_log_likelihood(
            p.parts[0], tables_of(items), codes, weights, outcome=outcome_density(p.parts[1])
        ),
    )


def test_penalties_are_part_of_the_derivatives():
    _, codes, logit, items, weights = drawn(7, 3)
    logit = ClassLogit(logit.x, logit.beta, 0, np.array([0.0, 0.7]))
    point = Point([logit, items], weights)

    def penalised(p):
        slopes = p.parts[0].beta[:, 1]
        value = brute_log_likelihood(p.parts[0], tables_of(p.parts[1]), codes, weights)
        return value - 0.35 * ((slopes - slopes.mean()) ** 2).sum()

    assert point.objective == pytest.approx(penalised(point))
    found = curvature(point)
    gradient, second = hessian(penalised_at(point, penalised), point.size)
    assert found.gradient == pytest.approx(gradient, abs=1e-2)
    assert found.information == pytest.approx(-second, abs=1e-2)


def penalised_at(point, function):
    return lambda step: function(point.moved(step))


def test_the_maximum_is_that_of_a_general_optimiser():
    """The same maximum and standard errors as scipy and numerical derivatives of the brute-force likelihood."""
    rng = np.random.default_rng(0)
    n, k, sizes = 120, 2, (2, 2, 2)
    x = np.column_stack([np.ones(n), rng.normal(size=n)])
    z = (rng.random(n) < 1 / (1 + np.exp(-0.3 - 1.2 * x[:, 1]))).astype(int)
    yes = np.array([[0.8, 0.25, 0.7], [0.2, 0.8, 0.25]])
    codes = (rng.random((n, 3)) < yes[z]).astype(np.int16)
    codes[rng.random((n, 3)) < 0.05] = -1
    weights = rng.choice([1.0, 2.0], n)
    items = Items(ItemData(codes, np.arange(n), np.array(sizes)), _pairs(yes))
    found = maximise(Point([ClassLogit(x, np.zeros((k, 2))), items], weights))
    assert found.converged and (np.diff(found.trace) >= 0).all()

    def value(v):
        beta, p = np.vstack([[0, 0], v[:2]]), 1 / (1 + np.exp(-v[2:].reshape(2, 3)))
        prior = np.exp(x @ beta.T)
        prior /= prior.sum(axis=1, keepdims=True)
        cells = np.where(codes[:, None] < 0, 1.0, np.where(codes[:, None] == 1, p, 1 - p))
        return -float(weights @ np.log((prior * cells.prod(axis=2)).sum(axis=1)))

    start = np.concatenate([[0, 0], np.log(yes / (1 - yes)).ravel()])
    best = minimize(value, start, method="BFGS", options={"gtol": 1e-7})
    logit = found.point.parts[0]
    assert -best.fun == pytest.approx(found.point.log_likelihood, abs=1e-6)
    assert logit.flat() == pytest.approx(best.x[:2], abs=1e-4)
    _, second = hessian(lambda step: -value(best.x + step), len(best.x))
    covariance, regular = inverse(curvature(found.point).information)
    assert regular
    errors = np.sqrt(np.linalg.inv(-second).diagonal())[:2]
    assert np.sqrt(covariance.diagonal()[:2]) == pytest.approx(errors, rel=1e-3)


def _pairs(yes):
    return np.stack([1 - yes, yes], axis=2).reshape(len(yes), -1)
