"""What a model says of every row of data that come in pieces."""

from __future__ import annotations

import csv
import gzip
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .._model import Model
from .._types import FloatArray
from .._variables import State
from ..errors import DataError, ParameterError, missing_extra
from ..formats._asked import MISSING_TEXTS, MissingCodes
from ..formats._columns import Column, column_from
from ..formats._frame import coded_by, raw_columns
from ..formats._warnings import warn_of_never_seen
from ..infer import log_likelihood_rows, posterior
from ..naming import assignment_columns, free_name
from ..runner import OnProgress, Progress
from ._sources import Pieces

__all__ = ["assign", "posteriors"]


def posteriors(
    model: Model,
    source: Any,
    *,
    unseen: str = "error",
    missing: MissingCodes = MISSING_TEXTS,
    decimal: str = ".",
    **reading: Any,
) -> Iterator[tuple[Any, dict[str, FloatArray], FloatArray]]:
    """Go through data in pieces: each piece, P(latent | row) by the latents' names, and log P(row).

    Parameters
    ----------
    model : Model
        The model.
    source, reading
        As in :func:`latentree.scale.from_chunks`.
    unseen, missing, decimal
        As in :meth:`latentree.Table.from_frame`.

    Examples
    --------
    >>> from latentree import Table, fit_classes
    >>> table = Table.from_frame({"a": ["x", "y"] * 20, "b": ["x", "y"] * 20, "c": ["x", "y"] * 20})
    >>> model = fit_classes(table, 2, rng=np.random.default_rng(0)).model
    >>> for piece, p, log_p in posteriors(model, [{"a": ["x"], "b": ["x"], "c": ["x"]}]):
    ...     print(p["z"].max().round(3), log_p.round(2))
    1.0 [-0.69]
    """
    never_seen: dict[str, list[State]] = {}
    for piece in Pieces(source, None, reading):
        if len(next(iter(raw_columns(piece).values()), ())) == 0:
            continue
        table = coded_by(model.variables, piece, never_seen, unseen=unseen, missing=missing, decimal=decimal)
        yield piece, posterior(model, table), log_likelihood_rows(model, table)
    warn_of_never_seen(never_seen)


def assign(
    model: Model,
    source: Any,
    out: str | os.PathLike[str],
    *,
    keep: Sequence[str] | None = None,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> int:
    """Write the rows of data in pieces with what a model says of them to a Parquet or CSV file.

    A model of one latent variable adds the columns ``class``, ``p_class0``, ``p_class1``, ..., one of several, for each
    of them, ``name``, ``p_name_0``, ...; empty in rows that the model cannot produce.

    Parameters
    ----------
    model, source
        As in :func:`posteriors`.
    out : path
        The file, ending in ``.parquet``, ``.csv`` or ``.tsv``. It appears when it is whole.
    keep : sequence of str, optional
        Columns of the data to write too. Default: all.
    on_progress : callable, optional
        Takes :class:`~latentree.runner.Progress` events.
    **options
        Those of :func:`posteriors`.

    Returns
    -------
    int
        How many rows were written.
    """
    target = Path(os.fspath(out))
    if isinstance(source, str | os.PathLike) and target.resolve().is_relative_to(Path(source).resolve()):
        raise ParameterError(f"'{target}' lies in the folder that is read. Choose another place.")
    began = time.monotonic()
    names: list[str] = []
    with row_writer(target) as writer:
        for piece, said, _ in posteriors(model, source, **options):
            own = raw_columns(piece)
            names = names or list(own if keep is None else keep)
            for name in names:
                if name not in own:
                    which = "keep= names" if writer.rows == 0 else "the first piece has"
                    raise DataError(f"There is no column '{name}', which {which}.")
            columns = {name: own[name] for name in names}
            writer.write(columns, {free_name(name, names): cells for name, cells in _added(said, model).items()})
            if on_progress is not None:
                on_progress(Progress("rows", writer.rows, None, None, time.monotonic() - began))
    return writer.rows


def _added(said: Mapping[str, FloatArray], model: Model) -> dict[str, Any]:
    """Columns of states, as Column with missing cells, and of probabilities."""
    columns: dict[str, Any] = {}
    for label, states, levels, probabilities in assignment_columns(said, model):
        columns[label] = Column(states, levels if isinstance(levels[0], str) else np.array(levels))
        columns.update(probabilities)
    return columns


class RowWriter:
    """Writes columns of rows to a file of a kind that its name tells, and counts them."""

    def __init__(self, target: Path, file: Path) -> None:
        self._target, self._file, self._writer = target, file, None
        self.rows = 0

    _writer: _Writer | None

    def write(self, columns: Mapping[str, Any], added: Mapping[str, Any]) -> None:
        """Write some more rows: columns as they came, and columns that were computed."""
        self._writer = self._writer or _writer(self._target, self._file)
        self._writer.write(columns, added)
        self.rows += len(next(iter({**columns, **added}.values())))

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()


@contextmanager
def row_writer(out: str | os.PathLike[str]) -> Iterator[RowWriter]:
    """What writes rows to a Parquet, CSV or TSV file, which appears when it is whole."""
    target = Path(os.fspath(out))
    with _whole(target) as file:
        writer = RowWriter(target, file)
        try:
            yield writer
        finally:
            writer.close()
        if not writer.rows:
            raise DataError("There is no piece of data.")


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """A file beside the target that takes its name when all is written, and is gone if something fails."""
    temporary = target.with_name(f".latentree-{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


class _Writer(Protocol):
    def write(self, columns: Mapping[str, Any], added: Mapping[str, Any]) -> None: ...
    def close(self) -> None: ...


def _writer(target: Path, file: Path) -> _Writer:
    name = target.name.lower()
    packed = name.endswith(".gz")
    match Path(name.removesuffix(".gz")).suffix:
        case ".parquet" | ".pq" if not packed:
            return _Parquet(file)
        case ".csv":
            return _Text(file, ",", packed)
        case ".tsv" | ".tab":
            return _Text(file, "\t", packed)
    raise ParameterError(f"'{target}': rows are written as .parquet, .csv or .tsv.")


class _Parquet:
    """Row groups of a Parquet file; all pieces have the types of the first."""

    def __init__(self, file: Path) -> None:
        self._file, self._writer, self._schema = file, None, None

    _writer: Any
    _schema: Any

    def write(self, columns: Mapping[str, Any], added: Mapping[str, Any]) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise missing_extra("Parquet files need PyArrow", "parquet") from None
        table = pa.table({name: _arrow(column) for name, column in {**columns, **added}.items()})
        if self._writer is None:
            self._schema = table.schema
            self._writer = pq.ParquetWriter(self._file, self._schema)
        try:
            self._writer.write_table(table.cast(self._schema))
        except pa.ArrowException as error:
            raise DataError(
                f"A later piece has other types than the first: {error}. Write a .csv, or name columns in keep=."
            ) from None

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _arrow(column: Any) -> Any:
    import pyarrow as pa

    if isinstance(column, Column):
        return pa.array(column.values().tolist())
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return pa.array(column, mask=np.isnan(column))
    native = column.to_native() if hasattr(column, "to_native") else column
    return native.to_arrow() if hasattr(native, "to_arrow") else native


class _Text:
    """Lines of a CSV file."""

    def __init__(self, file: Path, delimiter: str, packed: bool = False) -> None:
        opener: Any = gzip.open if packed else open
        self._file = opener(file, "wt", newline="", encoding="utf-8")
        self._rows = csv.writer(self._file, delimiter=delimiter, lineterminator="\n")
        self._begun = False

    def write(self, columns: Mapping[str, Any], added: Mapping[str, Any]) -> None:
        if not self._begun:
            self._rows.writerow([*columns, *added])
            self._begun = True
        cells = [*map(_cells, columns.values()), *map(rounded, added.values())]
        self._rows.writerows(zip(*cells, strict=True))

    def close(self) -> None:
        self._file.close()


def _cells(column: Any) -> list[Any]:
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    return list(column_from(column).values())


def rounded(column: Any) -> list[Any]:
    """Cells of a computed column: numbers rounded to six decimals, nothing where there is none."""
    if isinstance(column, Column):
        return list(column.values())
    if isinstance(column, list):
        return column
    return ["" if x != x else round(x, 6) for x in column.tolist()]
