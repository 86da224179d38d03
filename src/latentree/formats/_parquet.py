"""Parquet files, read and written by PyArrow."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any

from .._files import write_atomically
from ..errors import FileFormatError, LatentreeError, missing_extra
from ._cells import Cells, plain_cells
from ._columns import Frame
from ._frame import named
from ._text import PathLike

__all__ = ["column_names", "read_parquet", "write_parquet"]

MAX_CELLS = 2**31
"""Most cells that are read at once: 16 GiB of numbers."""

MAX_TEXT = 2**30
"""Most bytes of text, all cells together, that are read at once."""

CELLS_A_BYTE, UNSUSPECTED = 32, 2**27
"""How many cells a byte of a file may stand for, and how many there may be in any case: a gigabyte of numbers."""


def read_parquet(path: PathLike, *, columns: list[str] | None = None) -> Frame:
    """Read a Parquet file; categories keep their order."""
    table = _arrow_table(path, columns)
    return Frame(named(table.column_names, table.columns))


def column_names(path: PathLike) -> list[str]:
    """Return the names of a file's columns."""
    return list(_pyarrow()[1].read_schema(path).names)


def write_parquet(columns: Mapping[str, Cells], path: PathLike) -> None:
    """Write columns; cells of several types become text."""
    pa, pq = _pyarrow()
    out = io.BytesIO()
    pq.write_table(pa.table({name: _column(pa, plain_cells(cells)) for name, cells in columns.items()}), out)
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
                texts = [f.name for f in file.schema_arrow if _is_text(pa, f.type)]
            stream.seek(0)
            # A long text that many rows repeat is stored once, and is once in memory until its size is known.
            with pq.ParquetFile(stream, read_dictionary=texts) as file:
                table = file.read(columns=columns)
            table.validate(full=True)  # text that is none, positions outside
            return _with_texts(pa, table, texts, path)
        except LatentreeError:
            raise
        # Damage shows itself as almost anything.
        except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            raise FileFormatError(f"'{os.fspath(path)}' is not a Parquet file that can be read: {error}") from None


def _is_text(pa: Any, kind: Any) -> bool:
    return any(is_it(kind) for is_it in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary))


def _with_texts(pa: Any, table: Any, names: list[str], path: PathLike) -> Any:
    """Put texts in the place of their numbers, unless they are too long altogether."""
    import pyarrow.compute as pc

    left = MAX_TEXT
    for i, name in enumerate(table.column_names):
        column = table.column(i)
        if name not in names or not pa.types.is_dictionary(column.type):
            continue
        for chunk in column.chunks:
            lengths = pc.take(pc.binary_length(chunk.dictionary), chunk.indices)
            left -= pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0
            if left < 0:
                message = (
                    "'{file}': its texts have more than {most:,} characters when each cell has its own, from column "
                    "'{column}' on. Leave out columns of long texts, or cut the file into several."
                )
                raise FileFormatError(message, file=os.fspath(path), most=MAX_TEXT, column=name)
        kind = column.type.value_type
        table = table.set_column(i, table.field(i).with_type(kind), column.cast(kind))
    return table


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
