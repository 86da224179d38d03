"""Rows as the methods need them: equal ones merged, in an order that does not depend on that of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table import Table
from .._types import FloatArray, IndexArray
from ._covariance import Sampling
from ._design import Values

__all__ = ["Sample", "groups_of", "merged"]


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct rows of items, covariates and outcomes, with weights.

    Attributes
    ----------
    table : Table
        The patterns of the items.
    pattern : int array [rows]
        The pattern of each row.
    x : float array [rows, terms]
        The terms; zeros where they are not known.
    covariates, outcomes : dict of str to Values
        Columns beside the items.
    known : bool array [rows]
        Whether the covariates are known.
    sampling : Sampling
        Weights of all rows, clusters and strata.
    row_of : int array [input rows]
        The row that an input row was merged into, -1 if it is not used.
    """

    table: Table
    pattern: IndexArray
    x: FloatArray
    covariates: Mapping[str, Values]
    outcomes: Mapping[str, Values]
    known: NDArray[np.bool_]
    sampling: Sampling
    row_of: IndexArray

    @property
    def weights(self) -> FloatArray:
        """Weights of the rows whose covariates are known, 0 of the others."""
        return np.where(self.known, self.sampling.weights, 0.0)

    @property
    def case(self) -> float:
        """What a case counts for: one where weights are repetitions, a row's mean weight where they are a survey's."""
        return float(self.sampling.weights.sum()) / int((self.row_of >= 0).sum()) if self.sampling.complex else 1.0

    def reweighted(self, weights: FloatArray) -> Sample:
        """The same rows with other weights."""
        return replace(self, sampling=replace(self.sampling, weights=weights))

    def drawn(self, rng: np.random.Generator) -> Sample:
        """A bootstrap sample: rows, or whole clusters within their strata, drawn with replacement."""
        own = self.sampling
        if not own.complex:
            total = own.weights.sum()
            counts = rng.multinomial(max(round(total), 1), own.weights / total)
            return self.reweighted(counts * (total / max(round(total), 1)))
        n = len(own.weights)
        clusters = np.arange(n) if own.clusters is None else own.clusters
        strata = np.zeros(n, dtype=np.int64) if own.strata is None else own.strata
        units, unit = np.unique(np.column_stack([strata, clusters]), axis=0, return_inverse=True)
        often = np.zeros(len(units))
        for stratum in np.unique(units[:, 0]):
            at = np.flatnonzero(units[:, 0] == stratum)
            often[at] = rng.multinomial(len(at), np.full(len(at), 1.0 / len(at)))
        return self.reweighted(own.weights * often[unit.ravel()])


def merged(
    table: Table,
    x: FloatArray,
    weights: FloatArray,
    covariates: Mapping[str, Values],
    outcomes: Mapping[str, Values],
    clusters: IndexArray | None,
    strata: IndexArray | None,
    *,
    keep: NDArray[np.bool_],
) -> Sample:
    """Merge input rows that are equal in everything; those that are not kept, or of weight 0, are left out."""
    table = table.ordered()
    kept = np.flatnonzero(keep & (table.inverse >= 0) & (weights > 0))
    parts: list[NDArray[Any]] = [table.inverse[kept], *x[kept].T]
    parts += [own.numbers[kept] for own in (*covariates.values(), *outcomes.values())]
    parts += [own[kept] for own in (clusters, strata) if own is not None]
    key, first = _keys(parts)
    at = kept[first]
    total: FloatArray = np.bincount(key, weights[kept], len(first)).astype(np.float64)
    row_of = np.full(len(weights), -1, dtype=np.int64)
    row_of[kept] = key
    known: NDArray[np.bool_] = np.asarray(~np.isnan(x[at]).any(axis=1))
    sampling = Sampling(total, *(None if own is None else own[at] for own in (clusters, strata)))
    return Sample(
        table,
        table.inverse[at].astype(np.int64),
        np.where(known[:, None], x[at], 0.0),
        {name: own.take(at) for name, own in covariates.items()},
        {name: own.take(at) for name, own in outcomes.items()},
        known,
        sampling,
        row_of,
    )


def _keys(parts: Sequence[NDArray[Any]]) -> tuple[IndexArray, IndexArray]:
    """A number for each different combination, and the first row that has it."""
    key = np.zeros(len(parts[0]), dtype=np.int64)
    first = np.zeros(0, dtype=np.int64)
    for part in parts:
        levels, own = np.unique(part, return_inverse=True)
        _, first, key = np.unique(key * len(levels) + own.ravel(), return_index=True, return_inverse=True)
        key = key.ravel()
    return key, first


def groups_of(values: Values) -> IndexArray:
    """Numbers for clusters or strata; cells that are missing must have been refused before."""
    return np.unique(values.numbers, return_inverse=True)[1].ravel().astype(np.int64)
