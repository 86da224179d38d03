"""Distinct rows counted by DuckDB: GROUP BY over files or a relation, on the disk where memory does not suffice."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import DataError, missing_extra
from ..formats.columns import Frame, column_from
from .pieces import LARGEST, Pieces, files_of, kind_of

__all__ = ["counted"]

LEAST = 64
"""Megabytes that DuckDB needs in any case."""

COUNT = "number of rows"
"""What the column of counts is called, unless the data have one of that name."""


def counted(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    weights: str | None = None,
    memory: float,
    reading: Mapping[str, Any] | None = None,
) -> tuple[Pieces, str]:
    """Group the rows of files or of a DuckDB relation, all columns being keys.

    Returns the distinct rows in pieces, and the name of the column that says what each counts for: the number of rows,
    or the sum of their weights. Cells of CSV files are read as text, as everywhere; what they mean is found out later.
    """
    duckdb = _duckdb()
    opened = contextlib.ExitStack()  # closed when all pieces are read, or never were
    text = False
    if type(source).__name__ != "DuckDBPyRelation":
        connection = opened.enter_context(duckdb.connect())
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="latentree-", ignore_cleanup_errors=True))
        connection.execute(f"SET memory_limit = '{max(int(memory / 1e6), LEAST)}MB'")
        connection.execute(f"SET temp_directory = '{folder.replace(chr(39), chr(39) * 2)}'")
        connection.execute("SET preserve_insertion_order = false")
        source, text = _relation(connection, source, reading or {})
    names = [str(name) for name in source.columns]
    unknown = [name for name in (*(columns or ()), *(drop or ()), *([weights] if weights else ())) if name not in names]
    if unknown:
        raise DataError(f"There is no column '{unknown[0]}'. There are {', '.join(map(repr, names[:12]))}.")
    keys = [n for n in (columns or names) if n not in (drop or ()) and n != weights]
    count = COUNT + "'" * sum(name.startswith(COUNT) for name in names)
    total = _total(_quoted(weights)) if weights else "COUNT(*)"
    chosen = ", ".join(map(_quoted, keys))
    query = source.aggregate(f"{chosen}, {total} AS {_quoted(count)}", chosen)

    def pieces() -> Iterator[Any]:
        with opened:
            read = getattr(query, "to_arrow_reader", None) or query.fetch_arrow_reader  # its newer and its older name
            for batch in read(LARGEST):
                yield _typed(batch, count, text)

    return Pieces(pieces()), count


def _total(weight: str) -> str:
    """The sum of a group's weights; a missing or negative one is handed on, to be told of as everywhere."""
    number = f"CAST({weight} AS DOUBLE)"
    missing = f"COUNT(*) > COUNT({number})"
    return f"CASE WHEN {missing} THEN NULL WHEN MIN({number}) < 0 THEN MIN({number}) ELSE SUM({number}) END"


def _typed(batch: Any, count: str, text: bool) -> Frame:
    """Columns of a batch; those of text files may hold numbers."""
    import pyarrow as pa

    cells = {n: pa.chunked_array([column]) for n, column in zip(batch.schema.names, batch.columns, strict=True)}
    if text:
        cells = {n: c if n == count else replace(column_from(c, n), untyped=True) for n, c in cells.items()}
    return Frame(cells)


def _relation(connection: Any, source: Any, reading: Mapping[str, Any]) -> tuple[Any, bool]:
    """Open files as one relation, and say whether their cells are text."""
    found = files_of(source)
    files = [os.fspath(f) for f in found]
    kinds = {reading.get("format") or kind_of(f) for f in found}
    if kinds == {"parquet"}:
        return connection.read_parquet(files, hive_partitioning=True), False
    if kinds <= {"csv", "tsv", "txt"}:
        options: dict[str, Any] = {"all_varchar": True, "header": reading.get("header", True)}
        delimiter = reading.get("delimiter") or ("\t" if kinds == {"tsv"} else None)
        if delimiter:
            options["delimiter"] = delimiter
        return connection.read_csv(files, **options), True
    several = ", ".join(map(str, kinds))
    raise DataError(f"DuckDB reads Parquet or CSV files here, of one kind at a time. Got {several}.")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise missing_extra("Counting with a database needs DuckDB", "duckdb") from None
    return duckdb
