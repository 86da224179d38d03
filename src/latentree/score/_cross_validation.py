"""Scores for prediction: the log-likelihood of cases held out, with standard errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._folds import fold_weights, training_parts
from .._table import as_table
from .._types import FloatArray
from ..engine._plan import Plan
from ..errors import DataError, ModelError
from ..estimation._em import em
from ..estimation._fit import Fit
from ..estimation._pulls import DEFAULT_PULL
from ..estimation._two_latents import TwoLatentsFit

FOLDS = 5
"""Parts of the data, one of which is held out in turn."""

TOLERANCE, STEPS = 1e-4, 500
"""When EM ends on the other parts."""


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What a structure predicts of cases held out.

    Attributes
    ----------
    value : float
        Log-likelihood of all cases held out, each under probabilities that were fitted without it.
    standard_error : float
        Of the value, from how the cases differ.
    folds : int
        Into how many parts the cases were dealt.
    rows, weights : float array
        Log-likelihood of each distinct row in each part, and how often it was held out.
    """

    value: float
    standard_error: float
    folds: int
    rows: FloatArray
    weights: FloatArray

    def difference(self, other: CrossValidation) -> tuple[float, float]:
        """By how much this is above another of the same data and parts, and the standard error of that.

        The same cases are held out, so that the error is that of the differences case by case.
        """
        if not np.array_equal(self.weights, other.weights):
            raise ModelError("Two cross-validations can be compared if they hold out the same cases of the same data.")
        return _total(self.rows - other.rows, self.weights)


def cross_validated(
    fit: Fit, *, folds: int = FOLDS, seed: int = 0, parts: int | None = None, n_jobs: int = 1
) -> CrossValidation:
    """Score a structure by cases that its probabilities were not fitted to.

    The cases are dealt into parts of equal size. Each part is scored by the structure fitted to the other parts: by EM
    from the probabilities of the fit, under a prior of one case for each distribution, spread as the variable is
    distributed, without which one impossible case would decide everything.

    Parameters
    ----------
    fit : Fit
        A fitted model. Its structure was found with all cases, which is not undone here: for a structure that was
        searched, the value is a little too high.
    folds : int
        Into how many parts, at least 2 and at most as many as there are cases (leaving one out).
    seed : int
        Another number deals the cases out in another way. The same number gives the same parts, in whatever order rows
        and columns are.
    parts : int, optional
        Hold out only so many of the parts. Default: all, one after the other.
    n_jobs : int
        Threads; they do not change the result.

    Examples
    --------
    >>> import latentree as lt
    >>> table = lt.datasets.load("carcinoma")
    >>> one, two = (cross_validated(lt.fit_classes(table, k, rng=np.random.default_rng(0))) for k in (1, 2))
    >>> two.folds, bool(two.value < -317.26)  # which all cases have at the maximum of the likelihood
    (5, True)
    >>> gain, error = two.difference(one)
    >>> bool(gain > error)
    True
    """
    if isinstance(fit, TwoLatentsFit):
        raise ModelError("Cross-validation is not defined with two latents above every leaf.")
    table = as_table(fit.table)
    rows, weights = [], []
    for rest, own in training_parts(table, fold_weights(table, folds, seed=seed)[:parts]):
        prior = DEFAULT_PULL.prior(fit.model, rest.weight)
        again = em(fit.model, rest, prior=prior, tol=TOLERANCE, max_iterations=STEPS, n_jobs=n_jobs)
        rows.append(Plan.of(fit.model, own).row_log_likelihood(again.model.parameters))
        weights.append(own.weights)
    if not rows:
        raise DataError("All cases fell into one part, so nothing can be held out: their weights are too small.")
    every, counts = np.concatenate(rows), np.concatenate(weights)
    return CrossValidation(*_total(every, counts), folds, every, counts)


def _total(rows: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Sum over cases, and its standard error."""
    n = float(weights.sum())
    mean = float(weights @ rows) / n
    variance = float(weights @ (rows - mean) ** 2) / n
    return n * mean, math.sqrt(n * variance)


def cv(fit: Fit, *, folds: int = FOLDS, parts: int | None = None) -> float:
    """Log-likelihood of cases held out; see :func:`cross_validated`."""
    return cross_validated(fit, folds=folds, parts=parts).value
