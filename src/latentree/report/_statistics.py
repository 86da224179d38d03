"""What users of latent class software look for, as one plain dict: fit, residuals, average posteriors, scores."""

from __future__ import annotations

from typing import cast

from .. import score as criteria  # whose functions are loaded when first used, which takes a while
from ..errors import LatentreeError
from ..estimation import Fit
from ..score._criteria import effective_dimension_of
from ._contents import AbsoluteFit, AssignmentContents, ResidualContents, StatisticsContents, Undefined

__all__ = ["largest_residuals", "statistics"]

QUICK = tuple(name for name, score in criteria.SCORES.items() if score.cost == "quick")
"""Scores that cost no more than a fit does."""


def statistics(fit: Fit, *, everything: bool = False) -> StatisticsContents:
    """Collect the statistics of a fit that a report or a reviewer asks for.

    Parameters
    ----------
    fit : Fit
        The fitted model.
    everything : bool, default False
        Also the scores that take longer (Laplace approximations, the variational bound).

    Returns
    -------
    dict
        Plain values: ``absolute`` (G2, X2, degrees of freedom, p-values), ``residuals`` (the largest bivariate ones),
        ``assignment`` (average posteriors and classification error), ``scores`` (with where they were taken, or why
        there is none), ``effective_dimension`` and ``identified``.

    Examples
    --------
    >>> import numpy as np
    >>> from latentree import datasets, fit_classes
    >>> fit = fit_classes(datasets.load("values"), 2, rng=np.random.default_rng(0))
    >>> found = statistics(fit)
    >>> round(found["absolute"]["g2"], 3), found["absolute"]["degrees_of_freedom"], found["identified"]
    (2.72, 6, True)
    """
    effective = effective_dimension_of(fit)
    return {
        "absolute": cast(AbsoluteFit, criteria.fit_statistics(fit).to_dict()),
        "residuals": _residuals(fit),
        "assignment": _assignment(fit),
        "scores": {
            name: {"value": s.value, "at": s.at, "reason": s.reason}
            for name, s in criteria.scores(fit, None if everything else QUICK).items()
        },
        "effective_dimension": effective,
        "identified": effective == fit.n_parameters,
    }


def _residuals(fit: Fit) -> ResidualContents | Undefined:
    try:
        return cast(ResidualContents, criteria.bivariate_residuals(fit).to_dict())
    except LatentreeError as error:
        return {"reason": str(error)}


def _assignment(fit: Fit) -> AssignmentContents | Undefined:
    try:
        return cast(AssignmentContents, criteria.average_posteriors(fit).to_dict())
    except LatentreeError as error:
        return {"reason": str(error)}


def largest_residuals(found: ResidualContents, most: int) -> list[tuple[float, str, str]]:
    """The largest bivariate residuals, each with its two variables."""
    names = found["names"]
    pairs = [
        (value, names[i], names[j])
        for i, row in enumerate(found["residuals"])
        for j, value in enumerate(row)
        if i < j and value is not None
    ]
    return sorted(pairs, key=lambda pair: -pair[0])[:most]
