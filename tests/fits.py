"""Fits made without fitting: a model judged where it stands."""

from __future__ import annotations

import numpy as np

from latentree._model import Model
from latentree._table import Table
from latentree.engine._plan import Plan
from latentree.estimation import Fit
from latentree.runner import StopReason


def standing(model: Model, table: Table) -> Fit:
    """The fit that a model is as it stands."""
    counts = Plan.of(model, table).evaluate(model.parameters)
    trace = np.array([counts.log_likelihood])
    return Fit(model, table, counts, trace, StopReason.ITERATIONS, None, 0.0, 1, trace)
