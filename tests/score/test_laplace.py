"""Laplace's approximation: the Hessian against differences, the value against exact integrals."""

from __future__ import annotations

from itertools import product
from math import lgamma, log

import numpy as np
import oracle
import pytest
from exact import by_completion, two_classes, two_classes_by_sampling, two_classes_of_three
from fits import standing
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from strategies import models_and_tables

from latentree import ModelError, Table, Tree, fit_classes
from latentree._model import Model
from latentree.estimation._two_latents import fit_two_latents
from latentree.score import information, laplace, posterior_mode, variational
from latentree.score._laplace import laplace_at
from latentree.score._layout import Layout, layout_of
from latentree.score._moments import moments_of_counts


def theta_of(layout: Layout, free: np.ndarray, basis: str) -> np.ndarray:
    """Rows of parameters from the free ones; any dtype, so that complex steps go through."""
    rows, at = [], 0
    for width in layout.widths:
        own = free[at : at + width - 1]
        at += width - 1
        if basis == "softmax":
            row = np.concatenate([[1.0], np.exp(own)])
            rows.append(row / row.sum())
        else:
            rows.append(np.concatenate([[1.0 - own.sum()], own]))
    return np.concatenate(rows)


def free_of(layout: Layout, theta: np.ndarray, basis: str) -> np.ndarray:
    first = np.repeat(layout.starts, layout.widths)
    values = np.log(theta / theta[first]) if basis == "softmax" else theta
    return np.delete(values, layout.starts)


def log_posterior(fit, layout: Layout, theta: np.ndarray, alpha: float, basis: str) -> complex:
    tree, evidence = fit.model.tree, oracle.table_evidence(fit.model, fit.table)
    flat = theta if layout.fold is None else np.where(layout.fold > 0, theta[:, None], 1.0).prod(axis=0)
    out = sum(
        w * np.log(oracle.row_joint(tree, flat, evidence, row)[0].sum()) for row, w in enumerate(fit.table.weights)
    )
    return out + (alpha - (basis != "softmax")) * np.log(theta).sum()


def differences(fit, alpha: float, basis: str) -> np.ndarray:
    """Negative Hessian: complex-step gradients, differenced."""
    layout = layout_of(fit)
    x = free_of(layout, layout.parameters(fit.model), basis)

    def gradient(at):
        out = np.empty(len(x))
        for i in range(len(x)):
            step = at.astype(complex)
            step[i] += 1e-30j
            out[i] = log_posterior(fit, layout, theta_of(layout, step, basis), alpha, basis).imag / 1e-30
        return out

    h = 1e-4 if basis == "softmax" else 1e-5
    rows = [(gradient(x - h * e) - gradient(x + h * e)) / (2 * h) for e in np.eye(len(x))]
    return np.array(rows).reshape(len(x), len(x))


@given(models_and_tables(max_nodes=5, max_rows=4), st.sampled_from(["softmax", "probability"]))
@settings(max_examples=60)
def test_information_is_the_second_derivative_for_any_tree(drawn, basis):
    model, table = drawn
    p = 0.9 * model.parameters + 0.1 / np.repeat(model.tree.cardinality, model.tree.rows * model.tree.cardinality)
    fit = standing(model.with_parameters(p), table)
    found, truth = information(fit, 1.5, basis), differences(fit, 1.5, basis)
    np.testing.assert_allclose(found, truth, rtol=1e-4, atol=1e-4 * max(1.0, np.abs(truth).max(initial=0)))


@pytest.mark.parametrize("basis", ["softmax", "probability"])
def test_information_with_two_latents(basis):
    codes = np.random.default_rng(0).integers(0, 2, (30, 3))
    fit = fit_two_latents(Table.from_codes(codes), (2, 3), rng=np.random.default_rng(1), n_init=4, prior=2.0, tol=1e-3)
    np.testing.assert_allclose(information(fit, 1.5, basis), differences(fit, 1.5, basis), rtol=1e-4, atol=1e-3)


def test_covariance_in_portions_is_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    table = Table.from_codes(rng.integers(-1, 3, (40, 4)), [3] * 4)
    model = Model.random(Tree.star(3, [3] * 4), table.variables, rng)
    mean, covariance = moments_of_counts(model, table)
    monkeypatch.setattr("latentree.score._moments.BLOCK_CELLS", 500)
    again = moments_of_counts(model, table)
    np.testing.assert_allclose(again[0], mean, atol=1e-12)
    np.testing.assert_allclose(again[1], covariance, atol=1e-12)


def test_errata_the_density_of_the_prior_integrates_to_one():
    # [Whiley1999] C.12 normalises with alpha + 1, C.7 has a minus: with no rows, log P(D | m) is 0 by definition
    for alpha in (1.0, 1.01, 2.5):
        log_norm = lgamma(2 * alpha) - 2 * lgamma(alpha)
        softmax, _ = quad(lambda t, a=alpha, c=log_norm: np.exp(c + a * (t - 2 * np.logaddexp(0, t))), -60, 60)
        plain, _ = quad(lambda p, a=alpha, c=log_norm: np.exp(c + (a - 1) * (np.log(p) + np.log1p(-p))), 0, 1)
        assert softmax == pytest.approx(1, abs=1e-6)
        assert plain == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("n", [50, 500, 5000])
def test_one_class_is_within_stirlings_error(n):
    a, b, c = n // 5, n // 2, n - n // 5 - n // 2
    fit = fit_classes(Table.from_codes([[0], [1], [2]], weights=[a, b, c]), 1, rng=np.random.default_rng(0))
    exact = lgamma(3) + lgamma(a + 1) + lgamma(b + 1) + lgamma(c + 1) - lgamma(n + 3)
    assert laplace(fit) == pytest.approx(exact, abs=3 / n)
    alpha = 1.01
    exact = lgamma(3 * alpha) - 3 * lgamma(alpha) - lgamma(n + 3 * alpha)
    exact += sum(lgamma(k + alpha) for k in (a, b, c))
    assert laplace(fit, basis="probability") == pytest.approx(exact, abs=3 / n)
    assert laplace(fit, basis="probability", hessian="block") == pytest.approx(exact, abs=3 / n)


INSIDE = np.array([12, 1, 2, 1, 1, 2, 1, 10])  # of the eight patterns of three binary leaves; no probability is 0 or 1


def sampled(weights):
    table = Table.from_codes(list(product((0, 1), repeat=3)), [2] * 3, weights)
    fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    mode = posterior_mode(fit)
    p = mode.model.parameters
    truth, error = two_classes_by_sampling(
        weights, np.log(p[1::2] / p[::2]), information(mode, 1.0, "softmax"), np.random.default_rng(1)
    )
    return fit, truth, error


def test_the_oracles_agree():
    weights = np.array([2, 0, 1, 0, 1, 0, 0, 2])
    table = Table.from_codes(list(product((0, 1), repeat=3)), [2] * 3, weights)
    model = Model.random(Tree.star(2, [2] * 3), table.variables, np.random.default_rng(0))
    assert two_classes_of_three(weights) == pytest.approx(by_completion(model, table), abs=1e-10)
    _, truth, error = sampled(INSIDE)
    assert truth == pytest.approx(two_classes_of_three(INSIDE), abs=4 * error)


def test_it_approaches_the_exact_marginal_likelihood():
    errors = []
    for m in (1, 10, 50, 250):
        fit, truth, error = sampled(m * INSIDE)
        errors.append(abs(laplace(fit, aliasing=True) - truth))
        assert variational(fit) < truth - 4 * error
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 0.3
    assert errors[-1] < 0.02


def test_on_the_boundary_it_stays_too_low_by_stirlings_error():
    # four probabilities go to 0 or 1: each adds the error of Stirling's formula for 1!, about 1/12, at any N
    codes, weights = [[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], 5 * np.array([12, 10, 4, 3])
    fit = fit_classes(Table.from_codes(codes, weights=weights), 2, rng=np.random.default_rng(0))
    assert laplace(fit, aliasing=True) - two_classes(codes, weights) == pytest.approx(-4 / 12, abs=0.02)


def test_a_saddle_has_no_full_approximation():
    # EM itself leaves saddles, so the model is taken as it stands
    table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 1, 0]], weights=[300, 400, 200])
    rows = [[0.9, 0.1], [0.2, 0.8], [0.2, 0.8]]
    tables = {"z": [0.4, 0.3, 0.3], "x1": rows, "x2": rows, "x3": rows}
    fit = standing(Model.from_tables(Tree.star(3, [2, 2, 2]), table.variables, tables), table)
    with pytest.raises(ModelError, match="not negative definite"):
        laplace_at(fit, information(fit, 1.0, "softmax"), basis="softmax", hessian="full", prior=1.0)
    assert laplace(fit) < 0


def test_the_boundary_has_no_hessian():
    table = Table.from_codes([[0], [1]], weights=[3, 1])
    model = Model(Tree.star(1, [2]), table.variables, [1.0, 1.0, 0.0])
    with pytest.raises(ModelError, match="boundary"):
        information(standing(model, Table.from_codes([[0]], [2])), None, "probability")


@pytest.mark.parametrize("options", [{"basis": "logit"}, {"hessian": "none"}, {"prior": 0.0}])
def test_wrong_options(options):
    fit = fit_classes(Table.from_codes([[0], [1]]), 1, rng=np.random.default_rng(0))
    with pytest.raises(ValueError):
        laplace(fit, **options)


def test_blocks_are_rows_of_tables():
    table = Table.from_codes(np.random.default_rng(3).integers(0, 3, (200, 4)))
    fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    mode = posterior_mode(fit)
    a, at, total = information(mode, 1.0, "softmax"), 0, 0.0
    for width in layout_of(mode).widths - 1:
        total += log(np.linalg.det(a[at : at + width, at : at + width]))
        at += width
    full = 2 * (laplace(fit) - laplace(fit, hessian="block"))
    assert full == pytest.approx(total - np.linalg.slogdet(a)[1], abs=1e-6)
    diagonal = 2 * (laplace(fit, hessian="block") - laplace(fit, hessian="diagonal"))
    assert diagonal == pytest.approx(np.log(np.diag(a)).sum() - total, abs=1e-6)
