"""What to know before an estimate is used: poor separation, small samples, a model that does not fit."""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ..errors import Advice
from ._relate import Solution, Task

__all__ = ["warn_of_misfit", "warn_of_separation"]

LOW_SEPARATION = 0.5
"""Relative entropy below which two- and three-step estimates cannot be trusted; see docs/reproduction/relate.md."""

MODERATE_SEPARATION = 0.75
"""Relative entropy below which they are biased in small samples: it is .65 in the middle conditions of that study,
where they are, and .90 in the high ones, where they are not."""

FEW_ROWS = 250
"""Rows for each class below which that shows: there, with 167 and not with 333."""

MISFIT = 1.5
"""Bootstrap standard errors relative to those of the model above which the model is in doubt. The ratio of 30 samples
from a true model has a standard deviation of .13."""


def warn_of_separation(task: Task, found: Solution) -> None:
    """Warn where estimates of several steps cannot be trusted; a note where they are slightly biased."""
    entropy, options = found.first.entropy(), task.options
    if options.for_covariates == "one-step" and not found.outcomes:
        return
    rows = task.sample.sampling.weights.sum() / found.first.n_classes
    if entropy < LOW_SEPARATION:
        task.warn(
            "The items separate the classes poorly (relative entropy {entropy:.2f}). Two- and three-step estimates "
            "are then biased towards no effect, and their intervals cover less often than they claim. Use one-step "
            "estimation for covariates, more or better items, or fewer classes.",
            entropy=entropy,
        )
    elif entropy < MODERATE_SEPARATION and rows < FEW_ROWS and found.prior == 1.0:
        task.note(
            "The items separate the classes moderately (relative entropy {entropy:.2f}), and there are only {rows:.0f} "
            "rows for each class. Strong effects then come out up to a tenth too small in two and three steps, and "
            "95 % intervals cover them in 90 to 94 %. {prior} takes most of that away; so does {one} for covariates.",
            entropy=entropy,
            rows=rows,
            prior=Advice("prior", 2),
            one=Advice("method", "one-step"),
        )


def warn_of_misfit(task: Task, of_model: FloatArray, of_bootstrap: FloatArray) -> None:
    """Warn if samples differ by much more than the model says; both are covariances of the same estimates."""
    if task.options.robust or task.sample.sampling.complex:
        return
    ratio = float(np.median(np.sqrt(of_bootstrap.diagonal() / np.maximum(of_model.diagonal(), 1e-300))))
    if ratio > MISFIT:
        task.warn(
            "Bootstrap standard errors are {ratio:.1f} times those that follow from the model (median): the classes do "
            "not account for all of the association between the items, or several solutions are about as good. Look "
            "at bivariate residuals and at more classes; standard errors without bootstrap are too small here.",
            ratio=ratio,
        )
