"""Tests and intervals of BCH's coefficients by scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from worlds import world

import latentree as lt
from latentree.relate import relate
from latentree.relate._bch import Bch

ITEMS = list("ABCDE")


@pytest.fixture(scope="module")
def data():
    frame, model = world(2, 400, strength=4.0)
    return frame, lt.estimate(model, lt.Table.from_frame(frame[ITEMS], variables=model.variables), tol=1e-10).model


@pytest.fixture(scope="module")
def found(data):
    frame, model = data
    return relate(model, frame, "x", method="bch", clusters="rows")


def test_a_score_is_that_of_the_restricted_estimate(found):
    scores = found.estimate.scores
    assert isinstance(scores, Bch)
    w, x, targets = scores.model.weights, scores.model.x, scores.targets
    value, at = scores.score(1, -0.4)
    assert at.beta[1, 1] == pytest.approx(-0.4)

    def lost(free):
        linear = x @ np.array([[0.0, 0.0], [free[0], -0.4], free[1:]]).T
        return -float(w @ (targets * (linear - np.log(np.exp(linear).sum(axis=1, keepdims=True)))).sum(axis=1))

    best = minimize(lost, np.zeros(3), method="BFGS", options={"gtol": 1e-7}).x
    assert at.flat()[[0, 2, 3]] == pytest.approx(best, abs=1e-4)
    # The variance of the score is that of what the rows contribute to it, the others' equations taken out
    off = ((targets - at.probabilities)[:, 1:, None] * x[:, None, :]).reshape(len(x), -1) + scores._through_weights
    bend = scores._bend(at)
    free = [0, 2, 3]
    along = off[:, 1] - off[:, free] @ np.linalg.solve(bend[np.ix_(free, free)], bend[free, 1])
    slope = float(w @ ((targets - at.probabilities)[:, 1] * x[:, 1]))
    by_row = np.repeat(along, np.rint(w).astype(int))
    expected = slope / (math.sqrt(len(by_row)) * by_row.std(ddof=1))
    assert value == pytest.approx(expected, rel=1e-6)


def test_intervals_hold_what_is_not_rejected(found):
    scores = found.estimate.scores
    for j, row in enumerate(found.rows()):
        for end, sign in ((row["lower"], 1), (row["upper"], -1)):
            assert sign * scores.score(j, end)[0] == pytest.approx(1.96, abs=5e-3)
        assert row["lower"] < row["estimate"] < row["upper"]
        assert row["z"] == pytest.approx(scores.score(j, 0.0)[0])
        assert (row["lower"] > 0 or row["upper"] < 0) == (row["p"] < 0.05)


def test_another_reference_turns_intervals_round(data):
    frame, model = data
    a, b = (relate(model, frame, "x", method="bch", reference=k).rows() for k in (0, 1))
    one = next(row for row in a if row["class"] == "class1" and row["term"] == "x")
    other = next(row for row in b if row["class"] == "class0" and row["term"] == "x")
    assert (other["lower"], other["upper"]) == pytest.approx((-one["upper"], -one["lower"]), abs=5e-3)
    assert other["z"] == pytest.approx(-one["z"], abs=1e-5)


def test_bootstrap_and_imputed_data_have_symmetric_intervals(data):
    frame, model = data
    boot = relate(model, frame, "x", method="bch", bootstrap=5, rng=np.random.default_rng(0))
    pooled = relate(model, [frame, frame.assign(x=frame["x"] + 0.01)], "x", method="bch")
    for own in (boot, pooled):
        for row in own.rows():
            assert row["upper"] - row["estimate"] == pytest.approx(row["estimate"] - row["lower"])


def test_an_interval_can_have_no_end():
    rng = np.random.default_rng(0)
    n = 60
    z = np.arange(n) % 2
    frame = {name: (rng.random(n) < np.where(z == 1, 0.85, 0.15)).astype(int) for name in "ABCD"}
    x = np.where(z == 1, rng.choice([0, 1], n, p=[0.03, 0.97]), rng.choice([0, 1], n, p=[0.9, 0.1]))
    import pandas as pd

    data = pd.DataFrame({**frame, "x": x})
    lca = lt.LatentClass(2, random_state=0).fit(data[list("ABCD")])
    row = lca.relate(data, "x", method="bch").rows()[1]
    assert math.isinf(row["lower"]) or math.isinf(row["upper"])


def test_many_rows_have_symmetric_intervals(data, monkeypatch):
    frame, model = data
    monkeypatch.setattr("latentree.relate._bch.MOST_ROWS", 10)
    for row in relate(model, frame, "x", method="bch").rows():
        assert row["upper"] - row["estimate"] == pytest.approx(row["estimate"] - row["lower"])
        assert row["z"] == pytest.approx(row["estimate"] / row["standard_error"])
