"""Data in pieces: files, folders, patterns of names, or whatever yields data frames."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from ..errors import DataError, FileFormatError, bad_parameter, missing_extra
from ..formats import SUFFIXES, read_frame
from ..formats._columns import Column, Frame
from ..formats._frame import named

__all__ = ["Pieces", "base_of", "files_of", "keys_of", "kind_of"]

CELLS = 20_000_000
"""Cells of a piece that is cut from a file, at most."""
NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What a folder is called whose files lack the value."""
LEAST, LARGEST = 10_000, 1_000_000
"""Rows of such a piece at least and at most."""


@dataclass(frozen=True)
class Pieces:
    """A source of data frames.

    Parameters
    ----------
    source
        A file, a folder, a pattern such as ``data/*.parquet``, or a list of these; an iterable of data frames (or of
        anything :meth:`latentree.Table.from_frame` takes); or a function that returns such an iterable.
    columns : sequence of str, optional
        Read only these, if the format allows.
    cells : float
        About how many cells a piece of a file may have.
    reading : dict
        ``format``, ``encoding``, ``delimiter``, ``header`` as in :func:`latentree.formats.read_table`.

    Examples
    --------
    >>> pieces = Pieces([{"x": ["a", "b"]}, {"x": ["b"]}])
    >>> list(pieces), pieces.again
    ([{'x': ['a', 'b']}, {'x': ['b']}], True)
    """

    source: Any
    columns: Sequence[str] | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    cells: float = CELLS

    @property
    def again(self) -> bool:
        """Whether the pieces can be read a second time."""
        return _is_path(self.source) or callable(self.source) or isinstance(self.source, Sequence)

    def __iter__(self) -> Iterator[Any]:
        source = self.source
        if _is_path(source) or (isinstance(source, Sequence) and source and all(map(_is_path, source))):
            for one in [source] if _is_path(source) else source:
                for file in files_of(one):
                    yield from self._of_file(file, base_of(one))
            return
        if callable(source):
            source = source()
        if isinstance(source, (np.ndarray, Frame, Mapping)) or hasattr(source, "columns"):
            raise DataError(
                "The data are in one piece. Use Table.from_frame, or put them into a list: Table.from_chunks([data])."
            )
        if not isinstance(source, Iterable):
            raise bad_parameter("source", "from_chunks", "files, an iterable of data frames or a function", source)
        yield from (_as_table(piece) for piece in source)

    def _of_file(self, file: Path, base: Path) -> Iterator[Any]:
        kind = self.reading.get("format") or kind_of(file)
        if kind == "parquet":
            return _parquet(file, keys_of(file, base), self.columns, self.cells)
        if kind in ("csv", "tsv", "txt") and not (kind == "txt" and _holds_hlcm(file, self.reading.get("encoding"))):
            return _text(file, kind, self.reading, self.cells)
        return iter([read_frame(file, **self.reading)])


def files_of(source: Any) -> list[Path]:
    """The files that a path, folder, pattern or list of these means, in the order of their names.

    Of a folder all files count, those in folders within it too, that have the suffix of a format we read; names that
    begin with a dot or an underscore do not.
    """
    if not _is_path(source):
        return [file for one in source for file in files_of(one)]
    path = Path(source)
    if path.is_file():
        return [path]
    if path.is_dir():
        inside = (f for f in sorted(path.rglob("*")) if not any(p[0] in "._" for p in f.relative_to(path).parts))
        found = [f for f in inside if f.is_file() and kind_of(f) is not None]
        if not found:
            raise DataError(
                f"The folder '{path}' holds no file of data, of which the names end in {', '.join(SUFFIXES)}."
            )
        return found
    found = [Path(f) for f in sorted(glob.glob(os.fspath(source), recursive=True)) if os.path.isfile(f)]
    if not found:
        raise DataError(f"There is no file or folder '{path}', nor does a file fit such a pattern.")
    return found


def base_of(source: Any) -> Path:
    """The folder below which the names of folders say something of the data."""
    path = Path(source)
    if path.is_dir():
        return path
    plain = path.parent.parts
    magic = next((i for i, part in enumerate(plain) if glob.has_magic(part)), len(plain))
    return Path(*plain[:magic])


def keys_of(file: Path, base: Path) -> dict[str, str | None]:
    """What folders called ``key=value`` between a folder and a file in it say."""
    inside = file.parent.relative_to(base).parts if file.parent.is_relative_to(base) else ()
    pairs = (part.split("=", 1) for part in inside if "=" in part)
    return {key: None if value == NOTHING else unquote(value) for key, value in pairs}


def _holds_hlcm(file: Path, encoding: str | None) -> bool:
    from ..formats._hlcm import is_hlcm
    from ..formats._text import open_text_file

    with open_text_file(file, encoding) as text:
        return is_hlcm(text.read(1 << 14))


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def kind_of(file: Path) -> str | None:
    """The format that a name tells, if any."""
    return SUFFIXES.get(Path(file.name.lower().removesuffix(".gz")).suffix)


def _rows(n_columns: int, cells: float) -> int:
    return int(np.clip(cells // max(n_columns, 1), LEAST, LARGEST))


def _parquet(file: Path, keys: Mapping[str, str | None], columns: Sequence[str] | None, cells: float) -> Iterator[Any]:
    """Read batches of a Parquet file; what the folders above it say are columns too."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("Parquet files need PyArrow", "parquet") from None
    try:
        with pq.ParquetFile(file) as parquet:
            own = parquet.schema_arrow.names
            wanted = own if columns is None else [c for c in columns if c in own]
            beside = {k: v for k, v in keys.items() if k not in own and (columns is None or k in columns)}
            for batch in parquet.iter_batches(batch_size=_rows(len(wanted), cells), columns=wanted):
                table = pa.Table.from_batches([batch])
                found = named(table.column_names, table.columns)
                for key, value in beside.items():
                    code = -1 if value is None else 0
                    levels = () if value is None else (value,)
                    found[key] = Column(np.full(len(table), code, np.int32), levels, untyped=True)
                yield Frame(found)
    except pa.ArrowException as error:
        raise FileFormatError(f"'{file}' is not a Parquet file that can be read: {error}") from None


def _text(file: Path, kind: str, reading: Mapping[str, Any], cells: float) -> Iterator[Any]:
    from ..formats._csv import csv_pieces

    options = {name: value for name, value in reading.items() if name != "format" and value is not None}
    if kind == "tsv":
        options.setdefault("delimiter", "\t")
    first = next(csv_pieces(file, 1, **options), None)
    return csv_pieces(file, _rows(len(first.columns) if first else 1, cells), **options)


def _as_table(piece: Any) -> Any:
    """PyArrow's batches are not tables to narwhals."""
    if type(piece).__name__ != "RecordBatch":
        return piece
    import pyarrow as pa

    return pa.Table.from_batches([piece])
