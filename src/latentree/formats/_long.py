"""Long data, one line for each thing that a row has: transactions, baskets, words of documents, symptoms of patients.

The lines are counted as a sparse matrix of rows and items; only distinct rows become a table. The memory needed follows
the number of lines and of distinct rows, not that of all rows times all items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table import Table
from .._types import FloatArray, IntArray
from .._variables import Variable
from ..errors import Advice, DataError, Row, bad_parameter
from ._asked import MISSING_TEXTS, MissingCodes, missing_by_column, no_column
from ._bins import bin_labels
from ._coding import Missing, numbers_of
from ._columns import Column, Frame, column_from
from ._frame import raw_columns, read_weights

__all__ = ["Long", "from_long"]

OWNER = "Table.from_long"
MOST_COUNTS = 1_000
LARGEST = 2_000_000_000
"""Most cells, of two bytes each, of the table of distinct rows."""


def from_long(
    data: Any,
    *,
    rows: str,
    items: str,
    counts: int | None = None,
    quantity: str | None = None,
    weights: str | None = None,
    min_rows: float = 1,
    variables: Sequence[Variable] | None = None,
    missing: MissingCodes = MISSING_TEXTS,
) -> Table:
    """Build a table from long data: a variable for each item, which says whether, or how often, a row has it.

    Parameters
    ----------
    data : data frame, mapping or sequence of rows
        One line for each thing that a row has.
    rows, items : str
        The columns that say which row a line belongs to, and what it has. A line with an empty item says that there is
        such a row, maybe one that has nothing.
    counts : int, optional
        Count how often a row has an item, up to this number "or more": 2 gives the states 0, 1 and >= 2. Default: 0
        and 1, whether it has it.
    quantity : str, optional
        A column of whole numbers to add up instead of counting lines.
    weights : str, optional
        A column that says what a row counts for, the same in all its lines.
    min_rows : float
        Leave out items that fewer rows have.
    variables : sequence of Variable, optional
        Items of earlier data, such as a model's; others are passed over, and those that no line has are 0.
    missing : collection or dict
        Cells that count as empty, as in :meth:`Table.from_frame`.

    Returns
    -------
    Table
        Its ``inverse`` has one entry for each row, in the order in which they come first.

    Examples
    --------
    >>> lines = {"customer": ["ann", "ann", "bob", "cleo"], "product": ["milk", "bread", "milk", None]}
    >>> table = from_long(lines, rows="customer", items="product")
    >>> table.names, table.codes[table.inverse].tolist()
    (('bread', 'milk'), [[1, 1], [0, 1], [0, 0]])
    """
    long = Long.of(data, rows=rows, items=items, quantity=quantity, weights=weights, missing=missing)
    return long.table(counts=counts, min_rows=min_rows, variables=variables)


@dataclass(frozen=True, eq=False)
class Long:
    """Long data that were read: pairs of rows and items, each once, and how often.

    Attributes
    ----------
    ids : tuple
        What the rows are called, in the order in which they come first.
    names : tuple of str
        The items.
    row, item : int array [pairs]
        Positions in ``ids`` and ``names``.
    count : float array [pairs]
        How often, or the sum of the quantities.
    weights : float array [rows] or None
        What each row counts for.
    """

    column: str
    ids: tuple[Any, ...]
    names: tuple[str, ...]
    row: IntArray
    item: IntArray
    count: FloatArray
    weights: FloatArray | None

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        rows: str,
        items: str,
        quantity: str | None = None,
        weights: str | None = None,
        missing: MissingCodes = MISSING_TEXTS,
    ) -> Long:
        """Read long data; the parameters are those of :func:`from_long`."""
        raw = raw_columns(data)
        for option, name in {"rows": rows, "items": items, "quantity": quantity, "weights": weights}.items():
            if name is not None and name not in raw:
                raise no_column(name, list(raw), option)
        if rows == items:
            raise DataError(
                "{rows} and {items} both name the column '{column}'. One says which row a line belongs to, the other "
                "what the row has.",
                rows=Advice("rows"),
                items=Advice("items"),
                column=rows,
            )
        gone = missing_by_column(missing, raw)
        owner, thing = _codes(raw[rows], rows, gone(rows)), _codes(raw[items], items, gone(items))
        if (owner[0] < 0).any():
            first = int(np.argmax(owner[0] < 0))
            text = "Column '{column}', {row}: the cell is empty, so it is unknown which row the line belongs to."
            raise DataError(text, column=rows, row=Row(first))
        amount = np.ones(len(owner[0])) if quantity is None else _amounts(raw[quantity], quantity)
        own = None if weights is None else _row_weights(raw, weights, owner, rows)
        there = (thing[0] >= 0) & (amount > 0)
        n_items = len(thing[1])
        keys, inverse = np.unique(owner[0][there].astype(np.int64) * n_items + thing[0][there], return_inverse=True)
        count = np.bincount(inverse, weights=amount[there], minlength=len(keys)).astype(np.float64)
        row, item = (keys // max(n_items, 1)).astype(np.int32), (keys % max(n_items, 1)).astype(np.int32)
        return cls(rows, tuple(owner[1]), tuple(map(str, thing[1])), row, item, count, own)

    def frame(self) -> Frame:
        """Return the rows without their items: what they are called, and what they count for."""
        return Frame({self.column: column_from(list(self.ids), self.column)}, self.weights)

    def table(
        self, *, counts: int | None = None, min_rows: float = 1, variables: Sequence[Variable] | None = None
    ) -> Table:
        """Make the table of distinct rows."""
        if counts is not None and not (type(counts) is int and 1 <= counts <= MOST_COUNTS):
            raise bad_parameter("counts", OWNER, f"a whole number from 1 to {MOST_COUNTS:,}", counts)
        if not (isinstance(min_rows, int | float) and min_rows >= 0):
            raise bad_parameter("min_rows", OWNER, "a number of at least 0", min_rows)
        chosen = self._chosen(min_rows, counts) if variables is None else list(variables)
        place = {v.name: i for i, v in enumerate(chosen)}
        to = np.array([*(place.get(name, -1) for name in self.names), -1], dtype=np.int32)
        most = np.array([v.cardinality - 1 for v in chosen] or [0])
        kept = to[self.item] >= 0
        row, item = self.row[kept], to[self.item][kept]
        code = np.minimum(self.count[kept], most[item]).astype(np.int16)
        return self._distinct(row, item, code, chosen)

    def _chosen(self, min_rows: float, counts: int | None) -> list[Variable]:
        own = np.ones(len(self.row)) if self.weights is None else self.weights[self.row]
        having = np.bincount(self.item, weights=own, minlength=len(self.names))
        names = sorted(name for name, n in zip(self.names, having.tolist(), strict=True) if n > 0 and n >= min_rows)
        if not names:
            text = "No item is left: none is in {least:g} rows. Lower {option}."
            raise DataError(text, least=min_rows, option=Advice("min_rows"))
        return [_variable(name, counts) for name in names]

    def _distinct(self, row: IntArray, item: IntArray, code: NDArray[np.int16], variables: list[Variable]) -> Table:
        """Rows that have the same items are one pattern; found by what they hold, before anything is dense."""
        order = np.lexsort((item, row))
        row, pairs = row[order], np.column_stack((item[order], code[order])).astype(np.int32)
        bounds = np.searchsorted(row, np.arange(len(self.ids) + 1))
        patterns: dict[bytes, int] = {}
        inverse = np.empty(len(self.ids), dtype=np.int32)
        first: list[int] = []
        for i, (a, b) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            at = patterns.setdefault(pairs[a:b].tobytes(), len(patterns))
            if at == len(first):
                first.append(i)
            inverse[i] = at
        if len(first) * len(variables) > LARGEST:
            raise DataError(
                "{rows:,} distinct rows of {items:,} items are too many for a table. Leave out rare ones with {least}.",
                rows=len(first),
                items=len(variables),
                least=Advice("min_rows", 30),
            )
        codes = np.zeros((len(first), len(variables)), dtype=np.int16, order="F")
        for at, i in enumerate(first):
            own = pairs[bounds[i] : bounds[i + 1]]
            codes[at, own[:, 0]] = own[:, 1]
        weights = np.bincount(inverse, weights=self.weights, minlength=len(first)).astype(np.float64)
        table = Table.from_codes(codes, variables, weights)
        back = table.inverse[inverse]
        if self.weights is not None:
            back = np.where(self.weights > 0, back, np.int32(-1))
        rows = np.array(1.0 if self.weights is None else self.weights)
        return Table._made(table.codes, table.weights, table.variables, back.astype(np.int32), table.n, rows)


def _codes(raw: Any, name: str, missing: Missing) -> tuple[IntArray, list[Any]]:
    """Positions of the cells among the distinct values, in the order in which they come; -1 where missing."""
    column: Column = column_from(raw, name)
    levels = column.levels.tolist() if isinstance(column.levels, np.ndarray) else list(column.levels)
    gone = missing.of(column)
    plain = [_plain(level) for level in levels]
    seen, first = np.unique(column.codes, return_index=True)
    place: dict[Any, int] = {}
    to = np.full(len(levels) + 1, -1, dtype=np.int32)
    for level in seen[np.argsort(first)].tolist():
        if level >= 0 and not gone[level]:
            to[level] = place.setdefault(plain[level], len(place))
    return to[column.codes], list(place)


def _plain(level: Any) -> Any:
    if isinstance(level, str):
        return level.strip()
    return int(level) if isinstance(level, float) and level.is_integer() else level


def _amounts(raw: Any, name: str) -> FloatArray:
    column = column_from(raw, name)
    levels = [str(level).strip() for level in column.levels]
    numbers = numbers_of(levels) if levels else np.zeros(0)
    if numbers is None or (numbers != np.floor(numbers)).any() or (numbers < 0).any() or (column.codes < 0).any():
        text = "Column '{column}', which {option} names, must hold whole numbers of at least 0, none of them missing."
        raise DataError(text, column=name, option=Advice("quantity"))
    amounts: FloatArray = np.asarray(numbers, dtype=np.float64)[column.codes]
    return amounts


def _row_weights(raw: Any, name: str, owner: tuple[IntArray, list[Any]], rows: str) -> FloatArray:
    """Weights of the rows; all lines of a row must agree."""
    codes, ids = owner
    lines = read_weights(raw, name, len(codes))
    assert lines is not None
    own = np.zeros(len(ids))
    own[codes] = lines
    other = own[codes] != lines
    if other.any():
        at = int(np.argmax(other))
        raise DataError(
            "Column '{column}': '{id}' of column '{rows}' has several weights, {a:g} and {b:g} ({row}). "
            "A weight belongs to a row, and must be the same in all its lines.",
            column=name,
            id=ids[int(codes[at])],
            rows=rows,
            a=lines[at],
            b=own[codes[at]],
            row=Row(at),
        )
    return own


def _variable(name: str, counts: int | None) -> Variable:
    if counts is None or counts == 1:
        return Variable(name, (0, 1))
    edges = tuple(i + 0.5 for i in range(counts))
    labels = bin_labels(edges, whole=True)
    return Variable(name, ("0", *labels[1:]), edges)
