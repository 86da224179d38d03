"""Two independent latents above every leaf ([Whiley1999] 4.8.8)."""

from __future__ import annotations

import numpy as np
import pytest

from latentree import Budget, ModelError, StopReason, Table, Tree, fit_classes
from latentree._model import Model, reordered
from latentree.engine._plan import Plan
from latentree.estimation._two_latents import fit_two_latents, two_latents_em
from latentree.score import bic, bootstrap_fit, cs, fit_statistics, laplace, standard_errors, variational
from latentree.score._layout import layout_of
from latentree.score._mode import refit
from latentree.score._uncertainty import matched_labels


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    p1, p2 = np.array([0.6, 0.4]), np.array([0.3, 0.7])
    z1, z2 = rng.choice(2, 3000, p=p1), rng.choice(2, 3000, p=p2)
    theta = rng.uniform(0.05, 0.95, (8, 2, 2))
    return Table.from_codes((rng.random((3000, 8)) < theta[:, z1, z2].T).astype(int))


@pytest.mark.parametrize(("prior", "basis"), [(None, "probability"), (1.5, "probability"), (1.0, "softmax")])
def test_every_step_gains(table, prior, basis):
    fit = fit_two_latents(table, (2, 3), rng=np.random.default_rng(0), n_init=4, prior=prior, basis=basis, tol=1e-4)
    assert (np.diff(fit.trace) >= -1e-8).all()
    assert fit.converged


def test_the_root_stays_a_product_and_the_fit_a_maximum(table):
    fit = fit_two_latents(table, (2, 2), rng=np.random.default_rng(0), n_init=8, tol=1e-8)
    p1, p2 = fit.factors
    np.testing.assert_allclose(np.outer(p1, p2).ravel(), fit.model.table(0)[0], atol=1e-12)
    pair = fit.counts.vector[:4].reshape(2, 2) / table.n
    np.testing.assert_allclose(pair.sum(axis=1), p1, atol=1e-4)
    np.testing.assert_allclose(pair.sum(axis=0), p2, atol=1e-4)
    assert fit.n_parameters == 1 + 1 + 4 * 8
    again = two_latents_em(fit, tol=1e-8)
    assert again.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-4)


def test_it_is_between_its_neighbours(table):
    fit = fit_two_latents(table, (2, 2), rng=np.random.default_rng(0), n_init=16)
    free = fit_classes(table, 4, rng=np.random.default_rng(0))
    assert fit.log_likelihood <= free.log_likelihood + 0.1
    assert fit.log_likelihood == pytest.approx(free.log_likelihood, abs=3)  # the truth has two latents
    assert bic(fit) > bic(free)  # with one parameter less


def test_one_state_on_one_side_is_a_latent_class_model():
    table = Table.from_codes(np.random.default_rng(1).integers(0, 2, (100, 4)))
    fit = fit_two_latents(table, (1, 2), rng=np.random.default_rng(0), n_init=1, prior=2.0, tol=1e-10)
    star = Model(Tree.star(2, [2] * 4), table.variables, fit.model.parameters)
    from fits import standing

    plain = standing(star, table)
    assert fit.n_parameters == plain.n_parameters
    for score in (cs, laplace, variational, bic):
        assert score(fit) == pytest.approx(score(plain), abs=1e-4)


def test_limits(table):
    rng = np.random.default_rng(0)
    short = fit_two_latents(table, (2, 2), rng=rng, n_init=2, max_iterations=3)
    assert short.reason is StopReason.ITERATIONS and len(short.trace) == 1 + 3  # where it started, and three steps
    late = fit_two_latents(table, (2, 2), rng=rng, n_init=2, budget=Budget(seconds=1e-9))
    assert late.reason is StopReason.TIME
    for options in ({"n_states": (0, 2)}, {"n_init": 0}, {"q": 1.0}, {"tol": -1.0}):
        with pytest.raises(ValueError):
            fit_two_latents(table, **{"n_states": (2, 2), "rng": rng, **options})


# ---- whatever is said of the fit respects P(z1) P(z2) ---------------------------------------------------------------


@pytest.fixture(scope="module")
def top(table):
    """A maximum inside the parameter space."""
    return fit_two_latents(table, (2, 2), rng=np.random.default_rng(0), n_init=8, tol=1e-12)


def errors_by_differences(fit):
    """Standard errors from second differences of the log-likelihood in the free parameters."""
    layout, plan = layout_of(fit), Plan.of(fit.model, fit.table)
    last = np.cumsum(layout.widths) - 1
    start = layout.parameters(fit.model)
    free = np.delete(np.arange(len(start)), last)

    def whole(x):
        theta = start.copy()
        theta[free] = x
        rows = np.split(theta, np.cumsum(layout.widths)[:-1])
        return np.concatenate([np.append(row[:-1], 1 - row[:-1].sum()) for row in rows])

    def value(x):
        return plan.evaluate(layout.expanded(whole(x))).log_likelihood

    x, h, d = start[free], 1e-4, len(free)
    step = h * np.eye(d)
    information = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            ends = [value(x + a * step[i] + b * step[j]) for a in (1, -1) for b in (1, -1)]
            information[i, j] = -(ends[0] - ends[1] - ends[2] + ends[3]) / (4 * h * h)
    moves = np.array([(layout.expanded(whole(x + s)) - layout.expanded(whole(x - s))) / (2 * h) for s in step]).T
    return np.sqrt((moves @ np.linalg.inv(information) @ moves.T).diagonal())


def test_standard_errors_are_those_of_the_free_parameters(top):
    found = standard_errors(top)
    np.testing.assert_allclose(found.errors, errors_by_differences(top), rtol=1e-3)
    assert not any("not at a maximum" in text for text in found.warnings)
    np.testing.assert_allclose(found.covariance.sum(axis=1), 0, atol=1e-9)


def test_a_prior_counts_for_either_factor(table):
    fit = fit_two_latents(table, (2, 2), rng=np.random.default_rng(0), n_init=8, prior=5.0, tol=1e-12)
    assert any("not at a maximum" in text for text in standard_errors(fit).warnings)
    assert not any("not at a maximum" in text for text in standard_errors(fit, prior=5.0).warnings)
    with pytest.raises(ModelError, match="one number"):
        standard_errors(fit, prior={"z": 2.0})
    with pytest.raises(ModelError, match="held"):
        standard_errors(fit, held=["z"])


def test_degrees_of_freedom_count_the_free_parameters():
    """Five binary variables have 31 free cells, the model 2 + 20 parameters: 9 degrees are left, not 8."""
    table = Table.from_codes(np.random.default_rng(1).integers(0, 2, (300, 5)))
    fit = fit_two_latents(table, (2, 2), rng=np.random.default_rng(0), n_init=2)
    assert fit_statistics(fit).degrees_of_freedom == 9


def is_product(model):
    pair = model.table(0).reshape(2, 2)
    return np.allclose(np.outer(pair.sum(axis=1), pair.sum(axis=0)), pair, atol=1e-12)


def test_bootstraps_fit_the_same_model_again(top, monkeypatch):
    """Every replicate keeps the root a product, and the spread is that of the free parameters."""
    seen = []

    def watched(*args, **options):
        seen.append(refit(*args, **options))
        return seen[-1]

    monkeypatch.setattr("latentree.score._uncertainty.refit", watched)
    monkeypatch.setattr("latentree.score._bootstrap.refit", watched)
    for parametric in (True, False):
        found = standard_errors(
            top, method="bootstrap", rng=np.random.default_rng(0), n_replicates=40, parametric=parametric
        )
        ratio = found.table(0) / standard_errors(top).table(0)
        assert ((ratio > 0.7) & (ratio < 1.4)).all()
    tested = bootstrap_fit(top, rng=np.random.default_rng(0), n_replicates=10, n_init=2)
    assert len(seen) == 90 and all(is_product(fit.model) and fit.n_states == (2, 2) for fit in seen)
    assert tested.p_g2 > 0.05  # the model is true


@pytest.mark.parametrize("pair", [(2, 3), (3, 2), (2, 2), (3, 3)])
def test_labels_are_matched_latent_by_latent(pair):
    rng = np.random.default_rng(4)
    k1, k2 = pair
    tree = Tree.star(k1 * k2, [2] * 6)
    table = Table.from_codes(rng.integers(0, 2, (5, 6)), [2] * 6)
    model = Model.random(tree, table.variables, rng)
    states = np.arange(k1 * k2).reshape(pair)[rng.permutation(k1)][:, rng.permutation(k2)]
    for order in (states, states.T) if k1 == k2 else (states,):
        moved = model.with_parameters(reordered(tree, model.parameters, 0, order.ravel()))
        assert matched_labels(moved, model, pair=pair) == model
