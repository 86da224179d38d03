"""Tables from data in pieces: distinct rows are merged as they come, and go to the disk when they are too many."""

from __future__ import annotations

import math
import os
import re
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data import Data
from .._files import preceded
from .._table import Table
from .._types import FloatArray
from .._variables import State, Variable
from ..errors import Advice, DataError, Row, bad_parameter
from ..formats._asked import MISSING_TEXTS, check_options, cuts_of, missing_by_column, no_column
from ..formats._coding import Coding, learn
from ..formats._columns import Frame, column_from
from ..formats._frame import (
    chosen_columns,
    coded_by,
    common_length,
    names_of,
    raw_columns,
    read_commas,
    read_weights,
    table_from,
)
from ..formats._warnings import warn_of_never_seen, warn_of_variables
from ..runner import OnProgress, Progress
from ._database import COUNT
from ._levels import Levels
from ._merge import Merger
from ._partitions import Partitions, new_folder
from ._sources import CELLS, Pieces

__all__ = ["bytes_of", "from_chunks", "read_pieces", "variables_of"]

Bins = int | Mapping[str, int | Sequence[float]] | None

BYTES_A_CELL = 40
"""What a cell of a piece takes while it is read and coded, all copies together."""

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def from_chunks(
    source: Any,
    *,
    variables: Sequence[Variable] | None = None,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    weights: str | None = None,
    bins: Bins = None,
    unseen: str = "error",
    missing: str | Collection[str] | None = MISSING_TEXTS,
    decimal: str = ".",
    merge_rare: float | None = None,
    keep_levels: bool = False,
    n: float | None = None,
    memory: str | float = "2GB",
    folder: str | os.PathLike[str] | None = None,
    counter: str = "merge",
    on_progress: OnProgress | None = None,
    **reading: Any,
) -> Data:
    """Build a table from data that come in pieces and need not fit into memory.

    Parameters
    ----------
    source
        A file, a folder, a pattern such as ``data/*.parquet`` or a list of these (Parquet, CSV, TSV; folders called
        ``key=value`` are columns of Parquet files in them); an iterable of data frames, such as
        ``pandas.read_csv(..., chunksize=100_000)``, or a function that returns one; a DuckDB relation; a Dask DataFrame
        or array.
    variables, columns, drop, weights, bins, unseen, missing, decimal, merge_rare, keep_levels, n
        As in :meth:`latentree.Table.from_frame`; ``weights`` is the name of a column. With ``bins`` the data are read
        twice, first for the edges, which are exact.
    memory : str or float
        About how much memory to use, in bytes or as ``"500MB"``, ``"2GB"``.
    folder : path, optional
        Where to keep distinct rows that do not fit, to be opened again with :meth:`Partitions.open`. Default: a
        temporary folder.
    counter : {"merge", "duckdb"}
        Who finds the distinct rows of files: we do, piece by piece, or DuckDB with GROUP BY, for Parquet files of the
        same columns and types.
    on_progress : callable, optional
        Takes :class:`~latentree.runner.Progress` events.
    **reading
        ``format``, ``encoding``, ``delimiter``, ``header`` of files.

    Returns
    -------
    Data
        A :class:`~latentree.Table` of the distinct rows with their weights, whose ``inverse`` leads from each to
        itself; if they do not fit into memory, a :class:`~latentree.scale.Partitions`.

    Examples
    --------
    >>> pieces = ({"smokes": ["no", "yes", None], "sex": ["f", "m", "f"]} for _ in range(1000))
    >>> from_chunks(pieces)
    <Table: 3000 rows, 3 distinct, 2 variables>
    """
    if hasattr(source, "__dask_graph__"):
        from ._cluster import from_dask

        return from_dask(
            source, variables=variables, columns=columns, drop=drop, weights=weights, bins=bins, unseen=unseen,
            missing=missing, decimal=decimal, merge_rare=merge_rare, keep_levels=keep_levels, n=n, memory=memory,
        )  # fmt: skip
    check_options(variables, bins, unseen, merge_rare, n)
    if folder is not None:
        new_folder(folder)
    if variables is not None:
        left_out = set(names_of(drop))
        chosen = {v.name for v in variables} if columns is None else set(names_of(columns))
        variables = [v for v in variables if v.name in chosen - left_out]
    allowed = bytes_of(memory)
    pieces, weights = _counted(source, columns, drop, weights, counter, allowed, reading)
    if counter == "duckdb" or weights == COUNT:
        columns = drop = None  # the database has chosen
    options: dict[str, Any] = {"missing": missing, "decimal": decimal, "weights": weights}
    if variables is None and bins is not None:
        if not pieces.again:
            raise DataError(
                "With {bins} the data are read twice, but this source can be read once only. Give files (counted by "
                "'merge'), a function that returns the source anew, or the variables of earlier data.",
                bins=Advice("bins"),
            )
        variables = variables_of(
            pieces, columns=columns, drop=drop, bins=bins, merge_rare=merge_rare, keep_levels=keep_levels, **options
        )
    with tempfile.TemporaryDirectory(prefix="latentree-") as scratch:
        merger = Merger(allowed, Path(scratch))
        if variables is not None:
            _merge_coded(pieces, merger, variables, unseen, options, on_progress)
            raw = None
        else:
            raw = _merge_raw(pieces, merger, Raw(columns, drop, weights, decimal), on_progress)
        if merger.n_runs == 0:
            found = {"missing": missing, "decimal": decimal, "merge_rare": merge_rare, "keep_levels": keep_levels}
            return _in_memory(merger, raw, variables, found, n)
        codings: list[Coding] = []
        if raw is not None:
            codings = raw.learned(missing=missing, decimal=decimal, merge_rare=merge_rare, keep_levels=keep_levels)
            variables = [c.variable for c in codings]
        runs = ((codes if raw is None else _recoded(codes, codings), w) for codes, w in merger.runs())
        n_tables = max(2, math.ceil(8 * merger.n_runs))  # a table is a thirty-second of the memory
        return Partitions.write(runs, folder, variables or (), n_tables=n_tables, n=n, memory=allowed / 2)


def read_pieces(
    source: Any,
    *,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    weights: str | None = None,
    decimal: str = ".",
    on_progress: OnProgress | None = None,
    **reading: Any,
) -> Frame:
    """Read files in pieces and keep their distinct rows, with what each counts for; they must fit into memory.

    Examples
    --------
    >>> frame = read_pieces([{"x": ["a", "b"]}, {"x": ["b", "b"]}])
    >>> frame.values(), frame.weights.tolist()
    ({'x': ['a', 'b']}, [1.0, 3.0])
    """
    merger = Merger(math.inf, Path())
    raw = _merge_raw(Pieces(source, None, reading), merger, Raw(columns, drop, weights, decimal), on_progress)
    found = merger.merged()
    if found is None:
        raise DataError("All rows have weight zero.")
    return raw.frame(*found)


def variables_of(
    pieces: Pieces,
    *,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    weights: str | None = None,
    bins: Bins = None,
    missing: str | Collection[str] | None = MISSING_TEXTS,
    decimal: str = ".",
    merge_rare: float | None = None,
    keep_levels: bool = False,
) -> list[Variable]:
    """Find the states of every column from its distinct values alone, in one reading that keeps no rows."""
    raw = Raw(columns, drop, weights, decimal, most=None)
    for piece in pieces:
        raw.codes(piece)
    found = raw.learned(missing=missing, decimal=decimal, bins=bins, merge_rare=merge_rare, keep_levels=keep_levels)
    return [coding.variable for coding in found]


# ---- reading raw values ------------------------------------------------------------------------------------------


class Raw:
    """Numbers the raw values of chosen columns, whatever they will mean."""

    def __init__(
        self, columns: Any, drop: Any, weights: str | None, decimal: str = ".", *, most: int | None = 32767
    ) -> None:
        self._columns, self._drop, self._weights, self._decimal, self._most = columns, drop, weights, decimal, most
        self.levels: list[Levels] = []

    def codes(self, piece: Any) -> tuple[list[NDArray[np.int32]], FloatArray]:
        """Code one piece, and weigh its rows."""
        columns = raw_columns(piece)
        if not self.levels:
            names = chosen_columns(columns, self._columns, self._drop, self._weights, None)
            self.levels = [Levels(name, most=self._most) for name in names]
        names = [own.name for own in self.levels]
        for name in [*names, *([self._weights] if self._weights else [])]:
            if name not in columns:
                raise DataError("Column '{column}' is in the first piece but not in this one.", column=name)
        rows = common_length(columns, names)
        w = read_weights(columns, self._weights, rows, decimal=self._decimal)
        given = piece.weights if w is None and isinstance(piece, Frame) else w
        weights = np.ones(rows) if given is None else given
        measured = isinstance(piece, np.ndarray) and piece.dtype.kind == "f"
        cells = (replace(column_from(columns[own.name], own.name), measured=measured) for own in self.levels)
        return [own.codes(column, given) for own, column in zip(self.levels, cells, strict=True)], weights

    def learned(
        self,
        *,
        missing: Any,
        decimal: str,
        bins: Bins = None,
        merge_rare: float | None = None,
        keep_levels: bool = False,
    ) -> list[Coding]:
        """What the raw values mean."""
        if not self.levels:
            raise DataError("The data have no rows.")
        names = [own.name for own in self.levels]
        missing_in = missing_by_column(missing, names)
        general, cuts = cuts_of(bins, names)
        out = []
        for own in self.levels:
            column, cut, gone = own.column(), cuts.get(own.name), missing_in(own.name)
            if decimal == ",":
                column = read_commas(column, gone, every=True)
            merging: dict[str, Any] = {"merge_rare": merge_rare, "keep_levels": keep_levels}
            out.append(learn(own.name, column, own.counts, missing=gone, bins=general, cut=cut, **merging))
        warn_of_variables([coding.variable for coding in out])
        return out

    @classmethod
    def joined(cls, parts: Sequence[Raw]) -> Raw:
        """What several saw of different rows, as one."""
        some = [part for part in parts if part.levels]
        if not some:
            raise DataError("The data have no rows.")
        out = cls(None, None, None)
        for first in some[0].levels:
            out.levels.append(Levels.joined([own for part in some for own in part.levels if own.name == first.name]))
        return out

    def frame(self, codes: NDArray[np.int16], weights: FloatArray) -> Frame:
        """Merged rows as columns of raw values."""
        return Frame({own.name: own.column(codes[:, i]) for i, own in enumerate(self.levels)}, weights)


def _merge_raw(pieces: Pieces, merger: Merger, raw: Raw, on_progress: OnProgress | None) -> Raw:
    told = _Told(on_progress)
    for piece in pieces:
        with told.located():
            codes, w = raw.codes(piece)
            small = np.empty((len(w), len(codes)), dtype=np.int16, order="F")
            for i, column in enumerate(codes):
                small[:, i] = column
            if w.any():
                merger.add(small if w.all() else small[w > 0], w if w.all() else w[w > 0])
        told.piece(len(w))
    if not told.pieces:
        raise DataError("There is no piece of data.")
    return raw


def _merge_coded(
    pieces: Pieces,
    merger: Merger,
    variables: Sequence[Variable],
    unseen: str,
    options: Mapping[str, Any],
    on_progress: OnProgress | None,
) -> None:
    told = _Told(on_progress)
    never_seen: dict[str, list[State]] = {}
    for piece in pieces:
        with told.located():
            table = table_of_piece(piece, variables, unseen, options, never_seen)
            if table is not None:
                merger.add(table.codes, table.weights)
        told.piece(_length(piece))
    if not told.pieces:
        raise DataError("There is no piece of data.")
    warn_of_never_seen(never_seen)


def table_of_piece(
    piece: Any,
    variables: Sequence[Variable],
    unseen: str,
    options: Mapping[str, Any],
    never_seen: dict[str, list[State]],
) -> Table | None:
    """The distinct rows of one piece, coded by the states of variables; None if no row counts."""
    columns, rows = raw_columns(piece), _length(piece)
    if rows == 0:
        return None
    if options["weights"] is not None and options["weights"] not in columns:
        raise no_column(options["weights"], list(columns), "weights")
    w = read_weights(columns, options["weights"], rows, decimal=options["decimal"])
    if w is not None and not w.any():
        return None
    return coded_by(variables, piece, never_seen, unseen=unseen, **options)


def _length(piece: Any) -> int:
    return len(next(iter(raw_columns(piece).values()), ()))


def _in_memory(
    merger: Merger, raw: Raw | None, variables: Sequence[Variable] | None, options: Mapping[str, Any], n: float | None
) -> Table:
    found = merger.merged()
    if found is None:
        raise DataError("All rows have weight zero.")
    codes, weights = found
    if raw is None:
        return Table.from_codes(codes, variables, weights, n).without_order()
    table = table_from(raw.frame(codes, weights), n=n, **options)
    own = np.arange(table.n_patterns, dtype=np.int32)
    return Table._made(table.codes, table.weights, table.variables, own, table.n)


def _recoded(codes: NDArray[np.int16], codings: Sequence[Coding]) -> NDArray[np.int16]:
    out = np.empty_like(codes)
    for i, coding in enumerate(codings):
        out[:, i] = coding.recode[codes[:, i]]
    return out


def _counted(
    source: Any, columns: Any, drop: Any, weights: str | None, counter: str, memory: float, reading: Mapping[str, Any]
) -> tuple[Pieces, str | None]:
    """The pieces, or what DuckDB made of them, and the column of weights."""
    if counter not in ("merge", "duckdb"):
        raise bad_parameter("counter", "from_chunks", "'merge' or 'duckdb'", counter)
    relation = type(source).__name__ == "DuckDBPyRelation"
    if counter == "duckdb" or relation:
        from ._database import counted

        chosen = names_of(columns) or None
        return counted(source, columns=chosen, drop=names_of(drop), weights=weights, memory=memory)
    wanted = None if columns is None else [*names_of(columns), *([weights] if weights else [])]
    return Pieces(source, wanted, reading, min(CELLS, memory / BYTES_A_CELL)), weights


@dataclass
class _Told:
    """Tells how far the reading is, and in which piece something was wrong."""

    on_progress: OnProgress | None
    pieces: int = 0
    rows: int = 0
    began: float = field(default_factory=time.monotonic)

    def piece(self, rows: int) -> None:
        self.pieces += 1
        self.rows += rows
        if self.on_progress is not None:
            self.on_progress(Progress("rows", self.rows, None, None, time.monotonic() - self.began))

    @contextmanager
    def located(self) -> Iterator[None]:
        try:
            yield
        except DataError as error:
            if not self.pieces:
                raise
            text = "Piece {piece}, whose first row is {first_row} of all: "
            raise preceded(error, text, piece=self.pieces + 1, first_row=Row(self.rows)) from error


def bytes_of(memory: str | float) -> float:
    """Bytes meant by a number or by text such as ``2GB``.

    Examples
    --------
    >>> bytes_of("500 MB"), bytes_of(1e6)
    (500000000.0, 1000000.0)
    """
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?)i?b?\s*", memory.lower())
        if found:
            return float(found[1]) * UNITS[found[2]]
    elif isinstance(memory, int | float) and memory > 0:
        return float(memory)
    raise bad_parameter("memory", "from_chunks", "bytes, or text such as '2GB'", memory)
