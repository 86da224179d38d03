"""Results of several imputed data sets as one (Rubin, Multiple Imputation for Nonresponse in Surveys, 1987)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._types import FloatArray
from ..errors import DataError
from ._relation import Relation

__all__ = ["pooled"]


def pooled(found: Sequence[Relation]) -> Relation:
    """Pool the results of imputed data: mean estimates, variances within plus (1 + 1/m) times those between."""
    m = len(found)
    if m < 2:
        raise DataError("Rubin's rules need at least two imputed data sets. Got {n}.", n=m)
    if len({own.terms for own in found}) > 1:
        raise DataError("The imputed data sets have different terms: some lack a level that others have.")
    first = found[0]
    beta = np.mean([own.beta for own in found], axis=0)
    others = [k for k in range(len(first.classes)) if first.classes[k] != first.reference]
    estimates = [own.beta[others].ravel() for own in found]
    covariance, df = _rubin(estimates, [own.covariance for own in found])
    outcomes = []
    for j, own in enumerate(first.outcomes):
        every = [other.outcomes[j] for other in found]
        spread, _ = _rubin([o.estimates.ravel() for o in every], [o.covariance for o in every])
        outcomes.append(replace(own, estimates=np.mean([o.estimates for o in every], axis=0), covariance=spread))
    values = [own.log_likelihood for own in found if own.log_likelihood is not None]
    notes = dict.fromkeys(text for own in found for text in own.warnings)
    return replace(
        first,
        beta=beta,
        covariance=covariance,
        outcomes=tuple(outcomes),
        df=df,
        log_likelihood=float(np.mean(values)) if values else None,
        errors=f"{first.errors}, pooled over {m} imputed data sets",
        warnings=tuple(notes),
        estimate=None if first.estimate is None else replace(first.estimate, scores=None),
    )


def _rubin(estimates: Sequence[FloatArray], covariances: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    m = len(estimates)
    within = np.mean(covariances, axis=0)
    between = np.atleast_2d(np.cov(np.array(estimates), rowvar=False))
    total = within + (1 + 1 / m) * between
    share = (1 + 1 / m) * between.diagonal() / np.maximum(total.diagonal(), 1e-300)
    return total, (m - 1) / np.maximum(share, 1e-9) ** 2
