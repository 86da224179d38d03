"""Two independent latents above every leaf (W 4.8.8)."""

from __future__ import annotations

import numpy as np
import pytest

from latentree import Budget, StopReason, Table, Tree, fit_classes
from latentree._model import Model
from latentree.estimation._two_latents import fit_two_latents, two_latents_em
from latentree.score import bic, cs, laplace, variational


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
    assert short.reason is StopReason.ITERATIONS and len(short.trace) == 3
    late = fit_two_latents(table, (2, 2), rng=rng, n_init=2, budget=Budget(seconds=1e-9))
    assert late.reason is StopReason.TIME
    for options in ({"n_states": (0, 2)}, {"n_init": 0}, {"q": 1.0}, {"tol": -1.0}):
        with pytest.raises(ValueError):
            fit_two_latents(table, **{"n_states": (2, 2), "rng": rng, **options})
