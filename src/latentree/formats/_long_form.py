"""Whether data are long: one line for each thing that a row has, such as a product in a basket."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ._columns import Column
from ._suspects import ID_NAME

__all__ = ["long_form"]

MOST_COLUMNS = 5
"""Long data have few columns: the row, what it has, and perhaps how many and when."""

FEWEST_ROWS, FEWEST_ITEMS = 20, 3
"""So many different rows and items there must be to speak of a pattern."""

MANY_ITEMS = 20
"""Items that are numbers must be so many; fewer are waves or years of a panel."""

REPEATS, SELDOM = 10.0, 0.05
"""By chance so many lines would repeat the item of another line of the row; no more than this share of them does."""

ROW_NAME = re.compile(
    r".*(customer|kunde|client|user|visitor|session|basket|order|bestell|transaction|invoice|patient|person|case|doc).*",
    re.IGNORECASE,
)


def long_form(columns: Mapping[str, Column]) -> tuple[str, str] | None:
    """The column that says which row a line belongs to, and the one that says what it has; None if data are not long.

    Lines of one row name different items, which lines of an ordinary table would not avoid to do.

    Examples
    --------
    >>> from ._columns import column_from
    >>> lines = [(f"c{i % 40}", "abcdefgh"[(i // 40 + i) % 8]) for i in range(120)]
    >>> long_form({name: column_from(cells, name) for name, cells in zip(["who", "what"], zip(*lines))})
    ('who', 'what')
    """
    if not 2 <= len(columns) <= MOST_COLUMNS:
        return None
    codes = {name: _codes(column) for name, column in columns.items()}
    able = [(a, b) for a in columns for b in columns if a != b and _is_item(columns[b]) and _apart(codes[a], codes[b])]
    return max(able, key=lambda pair: (_names_rows(pair[0]), len(set(codes[pair[0]].tolist()))), default=None)


def _codes(column: Column) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(column.codes, dtype=np.int64)


def _names_rows(name: str) -> bool:
    return ID_NAME.fullmatch(name) is not None or ROW_NAME.fullmatch(name) is not None


def _is_item(column: Column) -> bool:
    if any(isinstance(v, float) and not float(v).is_integer() for v in column.levels):
        return False
    texts = [str(v) for v in column.levels]
    numbers = sum(re.fullmatch(r"[-+]?[\d.,]+", t.strip()) is not None for t in texts)
    return len(texts) >= FEWEST_ITEMS and (numbers < len(texts) / 2 or len(texts) >= MANY_ITEMS)


def _apart(rows: np.ndarray[tuple[int], np.dtype[np.int64]], items: np.ndarray[tuple[int], np.dtype[np.int64]]) -> bool:
    """Whether lines of a row have different items, more than chance would have it."""
    known = (rows >= 0) & (items >= 0)
    rows, items = rows[known], items[known]
    if len(rows) == 0:
        return False
    lines, share = np.bincount(rows), np.bincount(items) / len(items)
    if (lines > 0).sum() < FEWEST_ROWS:
        return False
    expected = float((lines * (lines - 1.0) / 2).sum() * (share**2).sum())
    repeated = len(rows) - len(np.unique(rows * (int(items.max()) + 1) + items))
    return expected >= REPEATS and repeated <= SELDOM * expected
