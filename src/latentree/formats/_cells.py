"""Columns of cells on their way into a file: coded as long as they can be, since few of many cells differ."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import IntArray
from ..engine import _core
from ._columns import Column, Frame

__all__ = ["Cells", "cells_of", "csv_text", "plain_cells", "weight_cells"]

Cells = Sequence[Any] | Column | NDArray[np.float64]
"""One column: values, codes of values, or numbers of which those that are not a number are empty cells."""

MILLION = 10**6

_Coded = tuple[IntArray, NDArray[np.uint8] | None, NDArray[np.int64] | None]
"""Codes, all texts one after the other, and where each of them ends; or millionths."""


def cells_of(frame: Frame) -> dict[str, Cells]:
    """Return the columns of a file as they came, coded where the file has them so."""
    return {
        name: column if isinstance(column, Column) else _from_arrow(column) for name, column in frame.columns.items()
    }


def _from_arrow(column: Any) -> Cells:
    kind = str(column.type)
    if not kind.startswith(("string", "large_string", "int", "uint", "bool")):
        plain: list[Any] = column.to_pylist()
        return plain
    whole = column.dictionary_encode().combine_chunks()
    whole = whole.chunk(0) if hasattr(whole, "chunk") else whole
    codes = whole.indices.cast("int32").fill_null(-1).to_numpy(zero_copy_only=False)
    return Column(codes, tuple(whole.dictionary.to_pylist()))


def weight_cells(weights: NDArray[np.float64]) -> Column:
    """Weights as cells: whole ones without a point.

    Examples
    --------
    >>> plain_cells(weight_cells(np.array([2.0, 0.5, 2.0])))
    [2, 0.5, 2]
    """
    distinct, codes = np.unique(weights, return_inverse=True)
    levels = tuple(int(w) if w.is_integer() else w for w in distinct.tolist())
    return Column(codes.astype(np.int32), levels)


def plain_cells(cells: Cells) -> list[Any]:
    """Return the values of a column, None where a cell is empty.

    Examples
    --------
    >>> plain_cells(Column(np.array([1, -1], np.int32), ("a", "b"))), plain_cells(np.array([0.5, np.nan]))
    (['b', None], [0.5, None])
    """
    if isinstance(cells, Column):
        found: list[Any] = cells.values().tolist()
        return found
    if not isinstance(cells, np.ndarray):
        return list(cells)
    found = cells.tolist()
    for row in np.flatnonzero(np.isnan(cells)).tolist():
        found[row] = None
    return found


def csv_text(columns: Mapping[str, Cells], delimiter: str = ",", *, errors: str = "strict") -> bytes:
    """Lines of a CSV file in UTF-8, the first of them with the names of the columns.

    Examples
    --------
    >>> class_of = Column(np.array([1, -1], np.int32), ("low", "high, or not"))
    >>> print(csv_text({"class": class_of, "p": np.array([0.25, np.nan])}).decode(), end="")
    class,p
    "high, or not",0.25
    ,
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    coded = _all_coded(columns, delimiter, errors)
    if coded is not None:
        return out.getvalue().encode(errors=errors) + _core.text_rows(coded, len(coded[0][0]), delimiter)
    writer.writerows(zip(*map(plain_cells, columns.values()), strict=True))
    return out.getvalue().encode(errors=errors)


def _all_coded(columns: Mapping[str, Cells], delimiter: str, errors: str) -> list[_Coded] | None:
    """Columns as the engine writes them; None if they are not all coded, or their text would depend on more."""
    if len(columns) < 2 or not delimiter.isascii():  # an empty cell on its own is written as two quotes
        return None
    found = []
    for cells in columns.values():
        own = _coded(cells, delimiter, errors)
        if own is None:
            return None
        found.append(own)
    return found


def _coded(cells: Cells, delimiter: str, errors: str) -> _Coded | None:
    if isinstance(cells, Column):
        levels = cells.levels.tolist() if isinstance(cells.levels, np.ndarray) else cells.levels
        texts = _texts(levels, delimiter, errors)
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        return np.ascontiguousarray(cells.codes, np.int32), np.frombuffer(b"".join(texts), np.uint8), ends
    if not isinstance(cells, np.ndarray):
        return None
    empty = np.isnan(cells)
    at = np.rint(np.clip(np.where(empty, 0.0, cells), 0.0, 1.0) * MILLION)
    if not ((at / MILLION == cells) | empty).all():
        return None
    return np.where(empty, -1, at).astype(np.int32), None, None


class _Lines(list[str]):
    """Takes what a writer of CSV writes, line by line."""

    write = list.append


def _texts(levels: Sequence[Any], delimiter: str, errors: str) -> list[bytes]:
    """Each level as it stands among other cells, in quotes where they are needed."""
    lines = _Lines()
    csv.writer(lines, delimiter=delimiter, lineterminator="\n").writerows((level, None) for level in levels)
    return [line[:-2].encode(errors=errors) for line in lines]
