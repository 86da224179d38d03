"""Distinct values of one column over many pieces, numbered as they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ..errors import Advice, DataError
from ..formats._columns import Column, drop_advice

__all__ = ["Levels"]


MOST = int(np.iinfo(np.int16).max)
"""A column with more distinct values cannot be coded before its states are known."""


class Levels:
    """What a column has held so far, and how often.

    Pieces of one column come with their own levels: other ones, in another order, as whole numbers here and as floats
    there, because a cell is missing. One numbering serves all of them; :meth:`column` gives it the form of a column of
    the whole data.

    Examples
    --------
    >>> from latentree.formats._columns import column_from
    >>> seen = Levels("x")
    >>> seen.codes(column_from([2, 1, 2])).tolist(), seen.codes(column_from([3.0, float("nan"), 1.0])).tolist()
    ([0, 1, 0], [2, -1, 1])
    """

    def __init__(self, name: str, *, most: int | None = MOST) -> None:
        self.name = name
        self._most = most
        self._known: dict[tuple[type, Any], int] = {}
        self._values: list[Any] = []
        self._counts: FloatArray = np.zeros(0)
        self._numeric = self._whole = self._declared = self._ordered = True
        self._untyped = self._measured = False

    def codes(self, column: Column, weights: FloatArray | None = None) -> NDArray[np.int32]:
        """Number the cells of one more piece."""
        levels = column.levels.tolist() if isinstance(column.levels, np.ndarray) else column.levels
        place = np.full(len(levels) + 1, -1, dtype=np.int32)  # the last entry serves empty cells
        used = np.bincount(column.codes + 1, minlength=len(levels) + 1)[1:] > 0
        for i in range(len(levels)) if column.declared else np.flatnonzero(used).tolist():
            level = levels[i]
            key = (_kind(level), level)
            if key not in self._known:
                self._known[key] = len(self._values)
                self._values.append(level)
            place[i] = self._known[key]
        if self._most is not None and len(self._values) > self._most:
            raise DataError(
                "Column '{column}' has more than {most:,} different values. If it is a measurement, give its edges, "
                "for example {bins}, or the variables of earlier data; otherwise leave it out with {drop}.",
                column=self.name,
                most=self._most,
                bins=Advice("bins", {self.name: [10, 20]}),
                drop=drop_advice(self.name),
            )
        self._counts = np.r_[self._counts, np.zeros(len(self._values) - len(self._counts))]
        known = place[:-1] >= 0
        np.add.at(self._counts, place[:-1][known], column.counts(weights)[known])
        self._untyped |= column.untyped
        self._measured |= column.measured
        if used.any() or column.declared:  # a piece without values tells nothing of their kind
            self._numeric &= column.is_numeric
            self._whole &= column.is_numeric and np.asarray(column.levels).dtype.kind in "iu"
            self._declared &= column.declared
            self._ordered &= column.ordered
        return place[column.codes]

    def column(self, codes: NDArray[Any] | None = None) -> Column:
        """A column of the whole data: these cells, or without any one cell for each level."""
        own = np.arange(len(self._values)) if codes is None else codes
        levels: Any = tuple(self._values)
        if self._numeric and max(self._values, default=0) < 2**63:
            levels = np.array(self._values, dtype=np.int64 if self._whole else np.float64)
        return Column(
            own.astype(np.int32), levels, self._declared, self._ordered, untyped=self._untyped, measured=self._measured
        )

    @classmethod
    def joined(cls, parts: Sequence[Levels]) -> Levels:
        """What several saw of different rows, as one."""
        out = cls(parts[0].name, most=None)
        for part in parts:
            out.codes(part.column(), part.counts)
        return out

    @property
    def counts(self) -> FloatArray:
        """Total weight of each level."""
        return self._counts

    def __len__(self) -> int:
        return len(self._values)


def _kind(value: Any) -> type:
    """What must be the same for equal values to be one: 1 and 1.0 are, 1 and True are not."""
    return float if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value)
