"""Covariances of estimates from what each row contributes to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import FloatArray, IndexArray
from ..errors import Advice, DataError

__all__ = ["Sampling"]


@dataclass(frozen=True, eq=False)
class Sampling:
    """How the rows were drawn.

    Attributes
    ----------
    weights : float array [rows]
        What each row counts for.
    clusters, strata : int array [rows], optional
        Which cluster and stratum each row is of. Without either, a weight means that the row is repeated; with one of
        them, weights are those of a survey, and the clusters are what was drawn.
    """

    weights: FloatArray
    clusters: IndexArray | None = None
    strata: IndexArray | None = None

    @property
    def complex(self) -> bool:
        """Whether rows were not drawn independently."""
        return self.clusters is not None or self.strata is not None

    def covariance(self, influence: FloatArray) -> FloatArray:
        """Covariance of an estimate that moves by ``influence`` for each time that a row is there, [rows, estimates].

        With clusters, their sums are what varies: within each stratum around the stratum's mean, with n / (n - 1).
        """
        if not self.complex:
            own: FloatArray = influence.T @ (self.weights[:, None] * influence)
            return own
        n = len(self.weights)
        clusters = np.arange(n) if self.clusters is None else self.clusters
        strata = np.zeros(n, dtype=np.int64) if self.strata is None else self.strata
        drawn = self.weights > 0
        _, first, unit = np.unique(
            np.column_stack([strata[drawn], clusters[drawn]]), axis=0, return_index=True, return_inverse=True
        )
        weighed = self.weights[drawn, None] * influence[drawn]
        unit = unit.ravel()
        sums = np.column_stack([np.bincount(unit, column, len(first)) for column in weighed.T])
        stratum = np.unique(strata[drawn][first], return_inverse=True)[1]
        size = np.bincount(stratum)
        if (size < 2).any():
            raise DataError(
                "{n} of the strata have a single cluster, which shows no variance. Merge them with others in {strata}.",
                n=int((size < 2).sum()),
                strata=Advice("strata"),
            )
        means = np.column_stack([np.bincount(stratum, column) for column in sums.T]) / size[:, None]
        off = sums - means[stratum]
        out: FloatArray = off.T @ ((size / (size - 1.0))[stratum, None] * off)
        return out
