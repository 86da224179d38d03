"""How far a chain can be trusted: effective samples, R-hat, standard errors.

The definitions are those of Vehtari, Gelman, Simpson, Carpenter & Buerkner (Bayesian Analysis 16, 2021), as in ArviZ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import rankdata

from .._types import FloatArray


def effective_samples(draws: ArrayLike) -> float:
    """How many independent draws these are worth, for their mean.

    Parameters
    ----------
    draws : array of float [draws] or [chains, draws]
        Of one quantity.

    Returns
    -------
    float
        NaN for fewer than 4 draws a chain, or if nothing ever changed.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(2, 1000))
    >>> 1600 < effective_samples(x) < 2400
    True
    >>> effective_samples(np.repeat(x, 10, axis=1)) < 2400
    True
    """
    x = _halves(draws)
    if x is None or not np.ptp(x):
        return float("nan")
    m, n = x.shape
    cov = _autocovariance(x)
    within = cov[:, 0].mean() * n / (n - 1)
    total = within * (n - 1) / n + (x.mean(axis=1).var(ddof=1) if m > 1 else 0.0)
    rho = 1.0 - (within - cov.mean(axis=0) * n / (n - 1)) / total
    rho[0] = 1.0
    # Geyer's initial monotone sequence: sums of neighbours, as long as they are positive, never rising.
    pairs = rho[: 2 * (n // 2)].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0)
    kept = np.minimum.accumulate(pairs[: negative[0] if len(negative) else len(pairs)])
    tau = max(-1.0 + 2.0 * float(kept.sum()), 1.0 / np.log10(m * n))
    return float(m * n / tau)


def r_hat(draws: ArrayLike) -> float:
    """How much chains differ: the larger of the rank-normalised and the folded split R-hat. 1.01 is good.

    Parameters
    ----------
    draws : array of float [chains, draws]
        Of one quantity.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(4, 500))
    >>> r_hat(x) < 1.01 < 1.1 < r_hat(x + np.arange(4)[:, None])
    True
    """
    x = _halves(draws)
    if x is None or not np.ptp(x):
        return float("nan")
    folded = np.abs(x - np.median(x))
    return max(_plain_r_hat(_normalised(x)), _plain_r_hat(_normalised(folded)) if np.ptp(folded) else 0.0)


def standard_error(draws: ArrayLike) -> float:
    """Monte Carlo standard error of the mean."""
    return float(np.std(np.asarray(draws, dtype=np.float64), ddof=1) / np.sqrt(effective_samples(draws)))


def _halves(draws: ArrayLike) -> FloatArray | None:
    x = np.atleast_2d(np.asarray(draws, dtype=np.float64))
    half = x.shape[1] // 2
    return None if half < 2 else np.concatenate([x[:, :half], x[:, -half:]])


def _autocovariance(x: FloatArray) -> FloatArray:
    n = x.shape[1]
    spectrum = np.fft.rfft(x - x.mean(axis=1, keepdims=True), 2 * n, axis=1)
    out: FloatArray = np.fft.irfft(spectrum * spectrum.conj(), axis=1)[:, :n] / n
    return out


def _plain_r_hat(x: FloatArray) -> float:
    n = x.shape[1]
    within, between = x.var(axis=1, ddof=1).mean(), n * x.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return float("inf")
    return float(np.sqrt((within * (n - 1) / n + between / n) / within))


def _normalised(x: FloatArray) -> FloatArray:
    ranks = rankdata(x).reshape(x.shape)
    scores: FloatArray = ndtri((ranks - 0.375) / (x.size + 0.25))
    return scores
