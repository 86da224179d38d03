"""Parquet files, read by PyArrow."""

from __future__ import annotations

import os
from typing import Any

from ..errors import FileFormatError, LatentreeError, missing_extra
from ._columns import Frame
from ._frame import named
from ._text import PathLike

__all__ = ["read_parquet"]

MAX_CELLS = 2**31
"""Most cells that are read at once: 16 GiB of numbers."""


def read_parquet(path: PathLike, *, columns: list[str] | None = None) -> Frame:
    """Read a Parquet file; categories keep their order.

    Parameters
    ----------
    path : str or path
        The file.
    columns : list of str, optional
        Read only these.

    Raises
    ------
    LatentreeError
        When PyArrow is not installed.
    """
    table = _arrow_table(path, columns)
    return Frame(named(table.column_names, table.columns))


def _arrow_table(path: PathLike, columns: list[str] | None) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("Parquet files need PyArrow", "parquet") from None
    with open(path, "rb") as stream:  # what is wrong with the path is told as for any file
        try:
            with pq.ParquetFile(stream) as file:
                _check_size(file, path, columns)
                table = file.read(columns=columns)
            table.validate(full=True)  # text that is none, positions outside
            return table
        except LatentreeError:
            raise
        # Damage shows itself as almost anything.
        except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            raise FileFormatError(f"'{os.fspath(path)}' is no Parquet file that can be read: {error}") from None


def _check_size(file: Any, path: PathLike, columns: list[str] | None) -> None:
    """Refuse what cannot be held: a small file can stand for a great many equal cells."""
    n_columns = file.metadata.num_columns if columns is None else len(columns)
    if file.metadata.num_rows * n_columns > MAX_CELLS:
        raise FileFormatError(
            f"'{os.fspath(path)}' has {file.metadata.num_rows:,} rows of {n_columns:,} columns; at most {MAX_CELLS:,} "
            "cells are read at once. Leave out columns, or cut the file into several."
        )
