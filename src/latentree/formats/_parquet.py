"""Parquet files, read and written by PyArrow."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any

from .._files import write_atomically
from ..errors import FileFormatError, LatentreeError, missing_extra
from ._columns import Frame
from ._frame import named
from ._text import PathLike

__all__ = ["column_names", "read_parquet", "write_parquet"]

MAX_CELLS = 2**31
"""Most cells that are read at once: 16 GiB of numbers."""

CELLS_A_BYTE, UNSUSPECTED = 32, 2**27
"""How many cells a byte of a file may stand for, and how many there may be in any case: a gigabyte of numbers."""


def read_parquet(path: PathLike, *, columns: list[str] | None = None) -> Frame:
    """Read a Parquet file; categories keep their order."""
    table = _arrow_table(path, columns)
    return Frame(named(table.column_names, table.columns))


def column_names(path: PathLike) -> list[str]:
    """Return the names of a file's columns."""
    return list(_pyarrow()[1].read_schema(path).names)


def write_parquet(columns: Mapping[str, Sequence[Any]], path: PathLike) -> None:
    """Write columns; cells of several types become text."""
    pa, pq = _pyarrow()
    out = io.BytesIO()
    pq.write_table(pa.table({name: _column(pa, cells) for name, cells in columns.items()}), out)
    write_atomically(path, out.getvalue())


def _column(pa: Any, cells: Sequence[Any]) -> Any:
    try:
        return pa.array(cells)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in cells])


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("Parquet files need PyArrow", "parquet") from None
    return pa, pq


def _arrow_table(path: PathLike, columns: list[str] | None) -> Any:
    pa, pq = _pyarrow()
    with open(path, "rb") as stream:  # what is wrong with the path is told as for any file
        try:
            with pq.ParquetFile(stream) as file:
                _check_size(file, path, columns, os.fstat(stream.fileno()).st_size)
                table = file.read(columns=columns)
            table.validate(full=True)  # text that is none, positions outside
            return table
        except LatentreeError:
            raise
        # Damage shows itself as almost anything.
        except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            raise FileFormatError(f"'{os.fspath(path)}' is not a Parquet file that can be read: {error}") from None


def _check_size(file: Any, path: PathLike, columns: list[str] | None, size: int) -> None:
    """Refuse what cannot be held: a small file can stand for a great many equal cells."""
    most = min(MAX_CELLS, max(UNSUSPECTED, CELLS_A_BYTE * size))
    n_columns = file.metadata.num_columns if columns is None else len(columns)
    if file.metadata.num_rows * n_columns > most:
        message = (
            "'{file}' has {rows:,} rows of {columns:,} columns; at most {most:,} cells of a file of its size are read "
            "at once. Leave out columns, or cut the file into several."
        )
        raise FileFormatError(message, file=os.fspath(path), rows=file.metadata.num_rows, columns=n_columns, most=most)
