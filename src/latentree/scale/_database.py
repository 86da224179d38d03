"""Distinct rows counted by DuckDB: GROUP BY over files or a relation, on the disk where memory does not suffice."""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from ..errors import Advice, DataError, missing_extra
from ..formats._columns import Column, Frame, column_from
from ._sources import LARGEST, NOTHING, Pieces, base_of, files_of, keys_of, kind_of

__all__ = ["COUNT", "counted"]

LEAST = 64
"""Megabytes that DuckDB needs in any case."""

COUNT = "number of rows"
"""What the column of counts is called."""


def counted(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    weights: str | None = None,
    memory: float,
) -> tuple[Pieces, str]:
    """Group the rows of files or of a DuckDB relation, all columns being keys.

    Returns the distinct rows in pieces, and the name of the column that says what each counts for: the number of rows,
    or the sum of their weights.
    """
    try:
        import duckdb
    except ImportError:
        raise missing_extra("Counting with a database needs DuckDB", "duckdb") from None
    opened = contextlib.ExitStack()  # closed when all pieces are read
    try:
        above: set[str] = set()
        keys: dict[str, set[str]] = {}
        if type(source).__name__ != "DuckDBPyRelation":
            connection = opened.enter_context(duckdb.connect())
            folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="latentree-", ignore_cleanup_errors=True))
            connection.execute(f"SET memory_limit = '{max(int(memory / 1e6), LEAST)}MB'")
            connection.execute(f"SET temp_directory = '{folder.replace(chr(39), chr(39) * 2)}'")
            connection.execute("SET preserve_insertion_order = false")
            source, keys, above = _relation(connection, source)
        names = [name for name in map(str, source.columns) if name not in above]
        for name in (*(columns or ()), *(drop or ()), *([weights] if weights else ())):
            if name not in names:
                raise DataError(f"There is no column '{name}'. There are {', '.join(map(repr, names[:12]))}.")
        chosen = [n for n in (columns or names) if n not in (drop or ()) and n != weights]
        if not chosen:
            without = {name: Advice(name) for name in ("columns", "drop", "weights")}
            raise DataError("No column is left after {columns}, {drop} and {weights}.", **without)
        if COUNT.lower() in map(str.lower, names):
            raise DataError(f"A column is called '{COUNT}', as the count is. Rename it, or use counter='merge'.")
        total = _total(_quoted(weights)) if weights else "COUNT(*)"
        grouped = ", ".join(map(_quoted, chosen))
        query = source.aggregate(f"{grouped}, {total} AS {_quoted(COUNT)}", grouped)
    except BaseException:
        opened.close()
        raise

    def pieces() -> Iterator[Any]:
        with opened:
            read = getattr(query, "to_arrow_reader", None) or query.fetch_arrow_reader  # its newer and its older name
            for batch in read(LARGEST):
                yield _typed(batch, keys)

    return Pieces(pieces()), COUNT


def _total(weight: str) -> str:
    """The sum of a group's weights; a missing or negative one is handed on, to be told of as everywhere."""
    number = f"CAST({weight} AS DOUBLE)"
    missing = f"COUNT(*) > COUNT({number})"
    return f"CASE WHEN {missing} THEN NULL WHEN MIN({number}) < 0 THEN MIN({number}) ELSE SUM({number}) END"


def _typed(batch: Any, keys: Mapping[str, set[str]]) -> Frame:
    """Columns of a batch; what the names of folders say may be numbers."""
    import pyarrow as pa

    cells = {n: pa.chunked_array([column]) for n, column in zip(batch.schema.names, batch.columns, strict=True)}
    return Frame({n: _keyed(column_from(c, n), keys, n) if n in keys else c for n, c in cells.items()})


def _keyed(column: Column, keys: Mapping[str, set[str]], name: str) -> Column:
    """A column that folders say, in which older versions of DuckDB leave values as they are spelled there."""
    gone = np.array([level == NOTHING for level in column.levels] + [False])
    codes = np.where(gone[column.codes], -1, column.codes).astype(np.int32)
    levels = tuple(unquote(level) if level in keys[name] else level for level in column.levels)
    return Column(codes, levels, untyped=True)


def _relation(connection: Any, source: Any) -> tuple[Any, dict[str, set[str]], set[str]]:
    """Open Parquet files as one relation; what folders between source and files say, by column; and folders above it.

    DuckDB would take the types of the first file for all, and categories for text: such files are refused.
    """
    several = isinstance(source, list | tuple) and len(source) > 0
    if not all(isinstance(one, str | os.PathLike) for one in (source if several else [source])):
        raise DataError("DuckDB counts Parquet files or a relation of its own. Use counter='merge' for data frames.")
    found = [(file, base_of(one)) for one in (source if several else [source]) for file in files_of(one)]
    if {kind_of(file) for file, _ in found} != {"parquet"}:
        raise DataError(
            "DuckDB counts Parquet files here. For others use counter='merge', or a relation such as "
            "duckdb.read_csv('data/*.csv')."
        )
    _refuse_mixtures([file for file, _ in found])
    keys: dict[str, set[str]] = {}
    for file, base in found:
        for key in keys_of(file, base):
            keys.setdefault(key, set()).update(p.split("=", 1)[1] for p in file.parts if p.startswith(f"{key}="))
    above = {part.split("=", 1)[0] for _, base in found for part in base.absolute().parts if "=" in part} - set(keys)
    files = [glob.escape(os.fspath(file)) for file, _ in found]
    if not keys:
        return connection.read_parquet(files, hive_partitioning=False), keys, set()
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    query = f"SELECT * FROM read_parquet([{listed}], hive_partitioning = true, hive_types_autocast = false)"
    return connection.from_query(query), keys, above


def _refuse_mixtures(files: Sequence[Path]) -> None:
    import pyarrow.parquet as pq

    first: dict[str, Any] | None = None
    for file in files:
        own = {column.name: column.type for column in pq.read_schema(file)}
        first = own if first is None else first
        if own != first or len({name.lower() for name in own}) < len(own):
            raise DataError(f"'{file}' has other columns or types than '{files[0]}'. Use counter='merge'.")
        if any(str(kind).startswith("dictionary") for kind in own.values()):
            raise DataError(f"'{file}' has categories, whose order DuckDB does not keep. Use counter='merge'.")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
