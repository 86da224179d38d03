"""Data as weighted distinct rows of codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._data import Data
from ._variables import Variable, numbered
from .errors import DataError, Row, bad_parameter

if TYPE_CHECKING:
    from ._model import Model
    from .engine._plan import Passes

__all__ = ["Table"]

MISSING = -1
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Table(Data):
    """Weighted distinct rows. Make one with :meth:`from_frame`, :meth:`from_codes` or :meth:`read`.

    Attributes
    ----------
    codes : int16 array [patterns, variables]
        Positions in each variable's states, -1 where missing; column-major, rows distinct.
    weights : float array [patterns]
        How often, or with what weight, each pattern was seen; finite and positive.
    variables : tuple of Variable
        One for each column.
    inverse : int32 array [input rows]
        The pattern of each input row, -1 for rows of weight zero, which are dropped.
    n : float
        Sample size: the sum of the weights unless given.
    row_weights : float array [input rows] or [], or None
        What each input row counts for, in the order of the data: a single 1 if each counts once, None if this order
        is not known.
    """

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    variables: tuple[Variable, ...]
    inverse: NDArray[np.int32]
    n: float
    row_weights: NDArray[np.float64] | None = None

    def ordered(self) -> Table:
        """The same rows, patterns in the order of their values: data that say the same give the same table.

        Examples
        --------
        >>> Table.from_codes([[1, 0], [0, 1], [1, 0]]).ordered().codes.tolist()
        [[0, 1], [1, 0]]
        """
        order = np.lexsort(self.codes.T[::-1])
        place = np.empty(len(order) + 1, dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        place[-1] = -1  # rows of weight zero, which have no pattern
        codes = np.asfortranarray(self.codes[order])
        return Table(codes, self.weights[order], self.variables, place[self.inverse], self.n, self.row_weights)

    @classmethod
    def from_codes(
        cls,
        codes: ArrayLike,
        variables: Sequence[Variable] | Sequence[int] | None = None,
        weights: ArrayLike | None = None,
        n: float | None = None,
    ) -> Table:
        """Build from rows of codes (0, 1, ...; negative is missing).

        Parameters
        ----------
        codes : array of int [rows, variables]
            One row for each observation; they need not be distinct.
        variables : sequence of Variable or of int, optional
            The variables, or just their cardinalities. Default: as many states as codes were seen.
        weights : array of float [rows], optional
            What each row counts for. A weight means exactly what repeating the row means.
        n : float, optional
            Sample size, if it is not the sum of the weights.

        Examples
        --------
        >>> t = Table.from_codes([[0, 1], [0, 1], [1, -1]])
        >>> t.codes.tolist(), t.weights.tolist(), t.n
        ([[0, 1], [1, -1]], [2.0, 1.0], 3.0)
        """
        from .engine import _core

        raw = np.asarray(codes)
        if raw.ndim != 2 or raw.dtype.kind not in "iub":
            raise DataError(
                "Codes must be a table of whole numbers with rows and columns. Got {n} dimension(s) of {kind}.",
                n=raw.ndim,
                kind=raw.dtype,
            )
        if raw.size and (raw.max() > np.iinfo(np.int16).max or raw.min() < np.iinfo(np.int16).min):
            most, low, high = np.iinfo(np.int16).max, raw.min(), raw.max()
            raise DataError("Codes must lie between -1 and {most}. Got {low} to {high}.", most=most, low=low, high=high)
        if raw.shape[1] == 0:
            raise DataError("The data have no columns.")
        w = np.ones(len(raw)) if weights is None else checked_weights(weights, len(raw))
        kept = w > 0
        if not kept.any():
            raise DataError("The data have no rows." if len(raw) == 0 else "All rows have weight zero.")
        small = np.asfortranarray(raw, dtype=np.int16)
        if not kept.all():
            small = np.asfortranarray(small[kept])
        if variables is None:
            variables = [max(int(column.max()) + 1, 1) for column in small.T]
        own = _as_variables(variables)
        if len(own) != raw.shape[1]:
            raise DataError(
                "The data have {found} columns but {given} variables were given.", found=raw.shape[1], given=len(own)
            )
        cardinalities = np.array([v.cardinality for v in own], dtype=np.int32)
        if (small < MISSING).any():
            small = np.maximum(small, np.int16(MISSING))
        over = (small >= cardinalities).any(axis=0)
        if over.any():
            c = int(np.flatnonzero(over)[0])
            r = int(np.flatnonzero(kept)[np.flatnonzero(small[:, c] >= cardinalities[c])[0]])
            raise DataError(
                "Column '{column}', {row}: code {code} but there are only {states} states (codes 0 to {last}).",
                column=own[c].name,
                row=Row(r),
                code=raw[r, c],
                states=cardinalities[c],
                last=cardinalities[c] - 1,
            )
        pattern, first = _core.distinct_rows(small, cardinalities)
        inverse = np.full(len(raw), -1, dtype=np.int32)
        inverse[kept] = pattern
        merged = _summed(pattern, w[kept], len(first))
        rows = np.array(1.0) if weights is None else w
        return cls._made(np.asfortranarray(small[first]), merged, own, inverse, n, rows)

    @classmethod
    def _made(
        cls,
        codes: NDArray[np.int16],
        weights: NDArray[np.float64],
        variables: tuple[Variable, ...],
        inverse: NDArray[np.int32],
        n: float | None,
        row_weights: NDArray[np.float64] | None = None,
    ) -> Table:
        check_sample_size(n)
        for array in (codes, weights, inverse, *(() if row_weights is None else (row_weights,))):
            array.setflags(write=False)
        size = float(np.sort(weights).sum()) if n is None else float(n)  # to the last bit, whatever the order
        return cls(codes, weights, variables, inverse, size, row_weights)

    def compiled(self, model: Model) -> Passes:
        """The table compiled for passes with the structure of a model; columns are matched by name."""
        from .engine._plan import Plan

        return Plan.of(model, self)

    def map_parts(self, f: Callable[..., T], *more: Sequence[Any]) -> list[T]:
        """Call a function with the table itself, which is all that it is made of; see :class:`latentree.Data`."""
        return [f(self, *items) for items in (zip(*more, strict=True) if more else [()])]

    @property
    def weight(self) -> float:
        """Sum of the weights, which is ``n`` unless the sample size was given."""
        return float(self.weights.sum())

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows."""
        return len(self.codes)

    def select(self, names: Sequence[str]) -> Table:
        """The table of some columns only, rows merged again."""
        where = {name: i for i, name in enumerate(self.names)}
        at = [where[name] for name in names]
        part = Table.from_codes(self.codes[:, at], [self.variables[i] for i in at], self.weights, self.n)
        inverse = np.where(self.inverse >= 0, part.inverse[self.inverse], np.int32(-1)).astype(np.int32)
        return Table._made(part.codes, part.weights, part.variables, inverse, self.n, self.row_weights)

    def without_order(self) -> Table:
        """The same table, of which nobody knows in what order its rows were."""
        return replace(self, row_weights=None)

    def reweighted(self, weights: ArrayLike, n: float | None = None) -> Table:
        """The same patterns with other weights; patterns of weight zero are dropped, and the order of rows is lost."""
        w = checked_weights(weights, self.n_patterns)
        if (w > 0).all():
            return Table._made(self.codes, w, self.variables, self.inverse, n)
        kept = np.flatnonzero(w > 0)
        if len(kept) == 0:
            raise DataError("All rows have weight zero.")
        new = np.full(self.n_patterns + 1, -1, dtype=np.int32)  # the last entry serves inverse = -1
        new[kept] = np.arange(len(kept))
        return Table._made(np.asfortranarray(self.codes[kept]), w[kept], self.variables, new[self.inverse], n)

    def __repr__(self) -> str:
        return f"<Table: {self.n:g} rows, {self.n_patterns} distinct, {self.n_variables} variables>"

    @classmethod
    def from_frame(cls, data: Any, **options: Any) -> Table:
        """Build from a data frame, an array or a dict of columns; see :func:`latentree.formats._frame.table_from`."""
        from .formats._frame import table_from

        return table_from(data, **options)

    @classmethod
    def from_long(cls, data: Any, **options: Any) -> Table:
        """Build from long data, one line for each item of a row; see :func:`latentree.formats._long.from_long`."""
        from .formats._long import from_long

        return from_long(data, **options)

    @classmethod
    def from_chunks(cls, source: Any, **options: Any) -> Data:
        """Build from data that come in pieces, or do not fit into memory; see :func:`latentree.scale.from_chunks`."""
        from .scale import from_chunks

        return from_chunks(source, **options)

    @classmethod
    def read(cls, path: Any, **options: Any) -> Table:
        """Build from a file (CSV, Excel, SPSS, Stata, SAS, ...); see :func:`latentree.formats.read_table`."""
        from .formats import read_table

        return read_table(path, **options)


def as_table(data: Data) -> Table:
    """The same data, where all rows are needed at once; data that do not lie in one table are refused."""
    if isinstance(data, Table):
        return data
    getattr(data, "codes", None)  # data in several tables say here what to do instead
    raise DataError("This needs all rows at once, in a Table. Got data of type {kind}.", kind=type(data).__name__)


def row_keys(codes: NDArray[np.int16]) -> NDArray[np.uint64]:
    """A hash of each row's codes, by which rows can be put in an order that does not depend on that of the data."""
    key = np.zeros(len(codes), dtype=np.uint64)
    for column in codes.T:
        key = (key ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


def _summed(pattern: NDArray[np.int32], weights: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """What each distinct row weighs, added up from the least to the most: the order of the rows changes no bit."""
    if not (weights == np.floor(weights)).all():
        order = np.lexsort((weights, pattern))
        pattern, weights = pattern[order], weights[order]
    return np.bincount(pattern, weights=weights, minlength=n).astype(np.float64)


def checked_weights(weights: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Weights as floats: one for each row, finite, none below zero."""
    try:
        w = np.array(weights, dtype=np.float64)
    except OverflowError:
        raise DataError("A weight is too large: weights must be finite numbers of at least 0.") from None
    except (TypeError, ValueError):
        raise DataError("The weights must be numbers. Got {got}.", got=repr(weights)[:80]) from None
    if w.shape != (n_rows,):
        raise DataError(
            "There must be one weight for each of the {n} rows. Got shape {shape}.", n=n_rows, shape=w.shape
        )
    bad = ~(np.isfinite(w) & (w >= 0))
    if bad.any():
        r = int(np.flatnonzero(bad)[0])
        raise DataError(
            "{row}: the weight is {weight}; weights must be finite numbers of at least 0.",
            row=Row(r, True),
            weight=w[r],
        )
    with np.errstate(over="ignore"):
        if not np.isfinite(w.sum()):
            raise DataError("The weights are too large: their sum is not finite. Divide all of them by one number.")
    return w


def check_sample_size(n: float | None) -> None:
    """Refuse a sample size that is not a finite number above 0."""
    real = isinstance(n, int | float | np.integer | np.floating) and not isinstance(n, bool)
    if n is not None and not (real and 0 < n < float("inf")):
        raise bad_parameter("n", "Table", "a finite number above 0, or None", n)


def _as_variables(given: Sequence[Variable] | Sequence[int]) -> tuple[Variable, ...]:
    own = tuple(v for v in given if isinstance(v, Variable))
    if len(own) < len(given):
        own = numbered(int(k) for k in given)  # type: ignore[arg-type]
    names = [v.name for v in own]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise DataError("Two columns are called '{column}'. Rename one of them.", column=twice)
    return own
