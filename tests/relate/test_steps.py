"""Two and three steps: estimates by their definition, and standard errors that know of the first step."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from worlds import world

import latentree as lt
from latentree.relate import relate
from latentree.relate._bch import bch
from latentree.relate._classification import Classification
from latentree.relate._covariance import Sampling
from latentree.relate._covariates import Structural, three_step, two_step
from latentree.relate._measurement import FirstStep, TreeItems, first_step, measurement_of
from latentree.relate._relate import prepare, solve


@pytest.fixture(scope="module")
def data():
    frame, model = world(0, 500, missing=0.05, strength=4.0)
    fitted = lt.estimate(model, lt.Table.from_frame(frame[list("ABCDE")], variables=model.variables), tol=1e-10)
    return frame, fitted.model


def likelihoods(model, frame):
    """P(items | class) of each row, cell by cell."""
    out = np.ones((len(frame), model.tree.cardinality[0]))
    for v in model.variables:
        cells = frame[v.name].to_numpy()
        for i, cell in enumerate(cells):
            if cell == cell:
                out[i] *= model.table(v.name)[:, int(cell)]
    return out


def logit(v, x, k):
    p = np.exp(x @ np.vstack([np.zeros(x.shape[1]), v.reshape(k - 1, -1)]).T)
    return p / p.sum(axis=1, keepdims=True)


def test_estimates_maximise_what_they_should(data):
    frame, model = data
    x, k = np.column_stack([np.ones(len(frame)), frame["x"]]), 3
    own = likelihoods(model, frame)
    tau = own * model.table(0)[0]
    tau /= tau.sum(axis=1, keepdims=True)
    modal = np.eye(k)[tau.argmax(axis=1)]
    for assignment, shares in (("modal", modal), ("proportional", tau)):
        errors = (tau.T @ shares) / tau.sum(axis=0)[:, None]
        weights = shares @ np.linalg.inv(errors)

        def ml(v, shares=shares, errors=errors):
            return -float((shares * np.log(logit(v, x, k) @ errors)).sum())

        def by_weights(v, weights=weights):
            return -float((weights * np.log(logit(v, x, k))).sum())

        for method, function in (("three-step", ml), ("bch", by_weights)):
            best = minimize(function, np.zeros(4), method="BFGS", options={"gtol": 1e-6}).x.reshape(2, 2)
            found = relate(model, frame, "x", method=method, assignment=assignment, prior=None)
            assert found.beta[1:] == pytest.approx(best, abs=2e-4), (method, assignment)
    best = minimize(lambda v: -float(np.log((logit(v, x, k) * own).sum(axis=1)).sum()), np.zeros(4), method="BFGS")
    found = relate(model, frame, "x", method="two-step", prior=None)
    assert found.beta[1:] == pytest.approx(best.x.reshape(2, 2), abs=2e-4)
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-6)


class Watched(Sampling):
    """Keeps the influence that is asked for."""

    @property
    def complex(self):
        return True

    def covariance(self, influence):
        object.__setattr__(self, "seen", influence)
        return np.eye(influence.shape[1])


@pytest.mark.parametrize(
    ("method", "assignment"),
    [("two-step", "modal"), *((m, a) for m in ("three-step", "bch") for a in ("modal", "proportional"))],
)
def test_what_the_first_step_moves(data, method, assignment, monkeypatch):
    """Derivatives of the estimates by the parameters of the first step, against differences."""
    frame, model = data
    task = prepare(model, frame, "x", method="two-step")
    first, sample = solve(task).first, task.sample
    n, size = len(sample.weights), first.point.size
    modal = Classification(first, "modal").shares
    own = Classification.__init__

    def kept(self, first, assignment="modal"):
        own(self, first, assignment)
        if assignment == "modal":  # rows near the border must not change sides
            self.shares = modal

    monkeypatch.setattr(Classification, "__init__", kept)

    def found(at, sampling):
        call = {"two-step": two_step, "three-step": three_step, "bch": bch}[method]
        more = {} if method == "two-step" else {"assignment": assignment}
        return call(at, Structural(sample.x, sample.weights, sampling), **more)

    numerical = []
    for e in np.eye(size) * 1e-5:
        ends = [FirstStep(first.point.moved(s * e), first.sampling) for s in (1, -1)]
        up, down = (found(at, first.sampling).logit.flat() for at in ends)
        numerical.append((up - down) / 2e-5)
    influences = []
    for rows in (np.eye(n, size), np.zeros((n, size))):
        at = FirstStep(first.point, first.sampling)
        at.__dict__["influence"] = rows
        watched = Watched(sample.weights)
        found(at, watched)
        influences.append(watched.seen)
    exact = (influences[0] - influences[1])[:size]
    assert exact == pytest.approx(np.array(numerical), abs=1e-5)


def test_a_tree_part_is_the_items_on_a_star(data):
    frame, model = data
    table = lt.Table.from_frame(frame[list("ABCDE")], variables=model.variables)
    pattern = table.inverse.astype(np.int64)
    items, sizes, exact = measurement_of(model, "z", table, pattern)
    assert exact
    tree = TreeItems(model, "z", table, pattern)
    assert tree.log == pytest.approx(items.log, abs=1e-9)
    assert tree.size == items.size
    weights = Sampling(np.ones(len(pattern)))
    one, two = (first_step(part, sizes, weights, exact=False) for part in (items, tree))
    # The same parameters, class by class here and item by item there.
    assert two.covariance[:2, :2] == pytest.approx(one.covariance[:2, :2], rel=1e-6)
    assert np.sort(two.covariance.diagonal()) == pytest.approx(np.sort(one.covariance.diagonal()), rel=1e-6)
    model_ = Structural(np.column_stack([np.ones(len(pattern)), frame["x"]]), weights.weights, weights)
    same = [two_step(first, model_) for first in (one, two)]
    assert same[1].covariance == pytest.approx(same[0].covariance, rel=1e-6)
    assert same[1].log_likelihood == pytest.approx(same[0].log_likelihood, rel=1e-9)


def test_latents_of_trees():
    rng = np.random.default_rng(1)
    tree = lt.Tree.from_edges(
        [("u", "v"), *(("u", f"A{i}") for i in range(4)), *(("v", f"B{i}") for i in range(4))],
        {"u": 2, "v": 2, **{f"{s}{i}": 2 for s in "AB" for i in range(4)}},
        [f"{s}{i}" for s in "AB" for i in range(4)],
        root="u",
    )
    names = [f"{s}{i}" for s in "AB" for i in range(4)]
    variables = [lt.Variable(name, (0, 1)) for name in names]
    tables = {
        "u": [[0.5, 0.5]],
        "v": [[0.7, 0.3], [0.3, 0.7]],
        **{name: [[0.85, 0.15], [0.15, 0.85]] for name in names},
    }
    model = lt.Model.from_tables(tree, variables, tables)
    codes = model.sample(2000, rng, latent=True)
    v = codes[:, 8 + [model.tree.names[z] for z in model.tree.latent].index("v")]
    frame = pd.DataFrame(codes[:, :8], columns=names)
    frame["x"] = v + rng.normal(size=len(v))
    with pytest.raises(lt.ParameterError, match="Say which one with latent="):
        relate(model, frame, "x")
    with pytest.raises(lt.ModelError, match="One-step estimation is for latent class models"):
        relate(model, frame, "x", latent="v", method="one-step")
    with pytest.raises(lt.ModelError, match="Fit the tree with a prior instead"):
        relate(model, frame, "x", latent="v", prior=2)
    for method in ("two-step", "three-step", "bch"):
        found = relate(model, frame, "x", latent="v", method=method)
        row = found.rows()[1]
        assert row["class"] == "1" and abs(row["estimate"] - 1.0) < 4 * row["standard_error"] < 0.6
    found = relate(model, frame, outcome="x", latent="v")
    assert found.outcomes[0].estimates[:, 0] == pytest.approx([0, 1], abs=0.15)
