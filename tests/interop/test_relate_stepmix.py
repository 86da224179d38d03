"""StepMix estimates the same coefficients in one, two and three steps. Run by ``make interop``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from test_parity import quietly

import latentree as lt
from latentree.relate import relate

sys.path.append(str(Path(__file__).parents[1] / "relate"))
from worlds import world

pytestmark = pytest.mark.filterwarnings("ignore")

ITEMS = list("ABCDE")


@pytest.fixture(scope="module")
def data():
    frame, _ = world(3, 800, strength=5.0, sizes=(3, 3, 3, 3, 3))
    frame[ITEMS] = frame[ITEMS].astype(int)
    return frame, lt.LatentClass(3, random_state=0, tol=1e-10).fit(frame[ITEMS]).model_


def theirs(frame, model, **options) -> np.ndarray:
    """Coefficients of StepMix against our first class, its classes in our order."""
    stepmix = quietly("stepmix.stepmix")
    peer = stepmix.StepMix(
        3,
        measurement="categorical",
        structural="covariate",
        structural_params={"method": "newton-raphson", "max_iter": 50, "intercept": True},
        n_init=5,
        abs_tol=1e-12,
        rel_tol=1e-14,
        max_iter=5000,
        random_state=0,
        progress_bar=0,
        **options,
    ).fit(frame[ITEMS], frame[["x"]].to_numpy())
    found = peer.get_parameters()
    profiles = np.hstack([model.table(name) for name in ITEMS])
    order = [int(np.abs(found["measurement"]["pis"] - own).sum(axis=1).argmin()) for own in profiles]
    beta = np.asarray(found["structural"]["beta"])[order]
    return beta - beta[0]


@pytest.mark.parametrize(
    ("method", "assignment", "options"),
    [
        ("one-step", "modal", {"n_steps": 1}),
        ("two-step", "modal", {"n_steps": 2}),
        ("three-step", "modal", {"n_steps": 3, "correction": "ML", "assignment": "modal"}),
        ("bch", "modal", {"n_steps": 3, "correction": "BCH", "assignment": "modal"}),
        ("bch", "proportional", {"n_steps": 3, "correction": "BCH", "assignment": "soft"}),
    ],
)
def test_coefficients_agree(data, method, assignment, options):
    frame, model = data
    ours = relate(model, frame, "x", method=method, assignment=assignment, prior=None)
    assert theirs(frame, model, **options) == pytest.approx(ours.beta, abs=1e-3)


def test_where_proportional_ml_differs(data):
    """Ours maximises sum_s w_s log sum_t P(t) D_ts, as Vermunt does; theirs log sum_t P(t) exp(sum_s w_s log D_ts)."""
    from latentree.relate._classification import Classification
    from latentree.relate._mixture import Fixed, Point, maximise
    from latentree.relate._parts import ClassLogit
    from latentree.relate._relate import prepare, solve

    frame, model = data
    task = prepare(model, frame, "x", method="two-step", prior=None)
    classes = Classification(solve(task).first, "proportional")
    logs = classes.shares @ np.log(classes.errors).T
    found = maximise(Point([ClassLogit(task.sample.x, np.zeros((3, 2))), Fixed(logs)], task.sample.weights))
    peer = theirs(frame, model, n_steps=3, correction="ML", assignment="soft")
    assert peer == pytest.approx(found.point.parts[0].beta, abs=1e-3)
