"""Parquet files, read by PyArrow."""

from __future__ import annotations

import os
from typing import Any

from ..errors import FileFormatError, missing_extra
from .columns import Frame
from .frame import named
from .text import PathLike

__all__ = ["read_parquet"]


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
    try:
        with pq.ParquetFile(os.fspath(path)) as file:
            return file.read(columns=columns)
    except pa.ArrowInvalid as error:
        raise FileFormatError(f"'{os.fspath(path)}' is no Parquet file that can be read: {error}") from None
