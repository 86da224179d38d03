"""How well posterior draws predict: WAIC, and leaving one case out by smoothed importance sampling."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from .._types import FloatArray
from ..errors import LatentreeWarning, missing_extra
from ._draws import Draws
from ._posterior import log_rows

MOST_CELLS = 2e8
"""Of more draws times distinct rows, only every so many-th draw is used."""

RELIABLE = 0.7
"""Pareto shapes above this make importance sampling unreliable ([VehtariGelmanGabry2017])."""


@dataclass(frozen=True, eq=False)
class PredictiveScore:
    """What posterior draws predict of a case that is left out.

    Attributes
    ----------
    value : float
        Expected log predictive density of all cases, higher being better.
    standard_error : float
        Of the value, from how the cases differ.
    n_effective : float
        Effective number of parameters: by how much the density of the data themselves is higher.
    rows : float array
        The value of each distinct row, for one case.
    weights : float array
        How often each was seen.
    shapes : float array or None
        Pareto shapes by distinct row, of PSIS-LOO; above 0.7 its value cannot be relied on.
    """

    value: float
    standard_error: float
    n_effective: float
    rows: FloatArray
    weights: FloatArray
    shapes: FloatArray | None = None

    def difference(self, other: PredictiveScore) -> tuple[float, float]:
        """By how much this is above another of the same data, and the standard error of that, case by case."""
        return _total(self.rows - other.rows, self.weights)


def waic(draws: Draws) -> PredictiveScore:
    """Widely applicable information criterion ([Watanabe2010]), on the scale of the log-likelihood.

    Parameters
    ----------
    draws : Draws
        Draws from the posterior. A weight of the data is a repetition.

    Examples
    --------
    >>> import latentree as lt
    >>> table = lt.datasets.load("carcinoma")
    >>> prior = lt.bayes.ClassPrior(lt.bayes.prior_on_classes(3, "uniform"))
    >>> draws = lt.bayes.sample(table, prior, rng=np.random.default_rng(0), n_draws=100, n_burn=100)
    >>> score = waic(draws)
    >>> bool(-340 < score.value < -290), bool(5 < score.n_effective < 30)
    (True, True)
    """
    logs = _pointwise(draws).reshape(-1, draws.table.n_patterns)
    density = logsumexp(logs, axis=0) - math.log(len(logs))
    return _score(density - logs.var(axis=0, ddof=1), density, draws.table.weights)


def loo(draws: Draws) -> PredictiveScore:
    """Leave one case out, by Pareto-smoothed importance sampling through ArviZ ([VehtariGelmanGabry2017]).

    Parameters
    ----------
    draws : Draws
        Draws from the posterior. A weight of the data is a repetition: one of the equal cases is left out.

    Returns
    -------
    PredictiveScore
        With a warning if there are rows whose Pareto shape is above 0.7: for them leaving out changes the posterior too
        much.
    """
    logs = _pointwise(draws)
    rows, shapes = _psis(logs)
    bad = float(draws.table.weights[shapes > RELIABLE].sum())
    if bad:
        warnings.warn(
            LatentreeWarning(
                "Leaving out {bad:,.10g} of {n:,.10g} rows changes the posterior so much that importance sampling "
                "cannot tell what happens (Pareto shape above {limit}). Use cross-validation.",
                bad=bad,
                n=draws.table.weight,
                limit=RELIABLE,
            ),
            stacklevel=2,
        )
    flat = logs.reshape(-1, logs.shape[-1])
    density = logsumexp(flat, axis=0) - math.log(len(flat))
    return _score(rows, density, draws.table.weights, shapes)


def _pointwise(draws: Draws) -> FloatArray:
    """Log-likelihood of every distinct row under every draw, [chains, draws, rows]."""
    every = max(1, math.ceil(draws.k.size * draws.table.n_patterns / MOST_CELLS))
    return log_rows(draws, slice(None, None, every))


def _psis(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import arviz as module
    except ImportError:
        raise missing_extra("PSIS-LOO needs ArviZ", "arviz") from None
    arviz: Any = module
    groups = {"posterior": {"drawn": logs.sum(axis=2)}, "log_likelihood": {"rows": logs}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shapes, which are told by the number of rows here
        old = int(arviz.__version__.split(".")[0]) < 1
        data: Any = arviz.from_dict(**groups) if old else arviz.from_dict(groups)
        found = arviz.loo(data, pointwise=True)
    rows = found.loo_i if old else found.elpd_i
    return np.asarray(rows, dtype=np.float64), np.asarray(found.pareto_k, dtype=np.float64)


def _score(
    rows: FloatArray, density: FloatArray, weights: FloatArray, shapes: FloatArray | None = None
) -> PredictiveScore:
    value, error = _total(rows, weights)
    return PredictiveScore(value, error, float(weights @ density) - value, rows, weights, shapes)


def _total(rows: FloatArray, weights: FloatArray) -> tuple[float, float]:
    n = float(weights.sum())
    mean = float(weights @ rows) / n
    return n * mean, math.sqrt(float(weights @ (rows - mean) ** 2))
