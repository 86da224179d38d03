"""WAIC and PSIS-LOO of draws: as ArviZ has them, weights being repetitions."""

from __future__ import annotations

import warnings

import libraries
import numpy as np
import pytest

import latentree as lt
from latentree.bayes import ClassPrior, _predictive, loo, prior_on_classes, sample, waic
from latentree.infer import log_likelihood_rows

pytest.importorskip("arviz")


@pytest.fixture(scope="module")
def draws():
    prior = ClassPrior(prior_on_classes(4, "uniform"))
    return sample(
        lt.datasets.load("carcinoma"), prior, rng=np.random.default_rng(0), n_draws=60, n_burn=100, n_chains=2
    )


def test_rows_under_each_draw(draws):
    logs = _predictive._pointwise(draws)
    assert logs.shape == (2, 60, draws.table.n_patterns)
    assert logs @ draws.table.weights == pytest.approx(draws.log_likelihood)
    chain, at = 1, 17
    k = int(draws.k[chain, at])
    flat = [draws.weights[chain, at, :k]]
    ends = np.cumsum(draws.table.cardinalities)[:-1]
    flat += [part.ravel() for part in np.split(draws.theta[chain, at, :k], ends, axis=1)]
    model = lt.Model(lt.Tree.star(k, draws.table.cardinalities), draws.table.variables, np.concatenate(flat))
    rows = log_likelihood_rows(model, draws.table)
    assert logs[chain, at][draws.table.inverse] == pytest.approx(rows)


def test_as_arviz_has_them_row_by_row(draws):
    az = libraries.arviz()
    if int(az.__version__.split(".")[0]) >= 1:
        pytest.skip("ArviZ 1 has no WAIC")
    every = np.repeat(_predictive._pointwise(draws), draws.table.weights.astype(int), axis=2)
    data = az.from_dict(posterior={"x": every.sum(axis=2)}, log_likelihood={"rows": every})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, left_out = az.waic(data), az.loo(data)
        own, mine = waic(draws), loo(draws)
    assert own.value == pytest.approx(theirs.elpd_waic, rel=1e-3) and own.n_effective == pytest.approx(
        theirs.p_waic, rel=0.02
    )
    assert own.standard_error == pytest.approx(theirs.se, rel=0.02)
    assert mine.value == pytest.approx(left_out.elpd_loo) and mine.standard_error == pytest.approx(left_out.se)
    assert mine.shapes is not None and len(mine.shapes) == draws.table.n_patterns
    assert abs(mine.value - own.value) < 5


def test_on_the_estimator():
    ratings = lt.datasets.load_frame("carcinoma")
    short = {"n_draws": 200, "n_burn": 200, "random_state": 0}
    two, three = (lt.BayesianLatentClass(k, **short).fit(ratings) for k in (2, 3))
    gain, error = three.waic().difference(two.waic())
    assert gain > error > 0  # three classes, as everything says
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lt.LatentreeWarning)
        assert three.loo().value == pytest.approx(three.waic().value, abs=6)


def test_unreliable_rows_are_told(draws, monkeypatch):
    monkeypatch.setattr(_predictive, "_psis", lambda logs: (logs[0, 0], np.full(logs.shape[2], 0.9)))
    with pytest.warns(lt.LatentreeWarning, match="118 of 118 rows"):
        loo(draws)


def test_many_draws_are_thinned(draws, monkeypatch):
    monkeypatch.setattr(_predictive, "MOST_CELLS", draws.k.size * draws.table.n_patterns / 3)
    assert _predictive._pointwise(draws).shape[1] == 20
