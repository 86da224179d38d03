"""Comma, semicolon or tab separated files."""

from __future__ import annotations

import csv
import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np

from .._table import Table
from ..errors import Advice, DataError, FileFormatError, bad_parameter
from ._cells import Cells, cells_of, csv_text, weight_cells
from ._columns import Column, Frame
from ._text import PathLike, lines_in, lines_of, open_text_file, read_text_file, write_bytes_file

__all__ = ["csv_pieces", "read_csv", "write_csv"]

DELIMITERS = (",", ";", "\t")
CHUNK, CHUNK_CELLS = 20_000, 2_000_000
"""Rows, and cells, turned into columns at a time: few enough to stay in the cache."""

MAX_COLUMNS = 100_000
"""Files with more are not read: each column costs a kilobyte or two, however little it holds."""

MAX_DELIMITERS = 10 * MAX_COLUMNS
"""Most delimiters in a row, those in quoted cells among them; a row with more is refused before it is cut up."""

SEPARATOR_LINE = re.compile(r"\"?sep=([^\r\n])\"?(?:\r\n?|\n|$)", re.IGNORECASE)
"""The first line by which Excel tells the delimiter."""

SAMPLE_LENGTH = 1 << 14
"""Characters looked at to find the delimiter."""


def read_csv(
    path: PathLike, *, encoding: str | None = None, delimiter: str | None = None, header: bool = True
) -> Frame:
    """Read a CSV or TSV file, gzipped or not, as columns of text.

    What is a number is found out later from a column's distinct values, by
    :func:`~latentree.formats._frame.table_from`: columns of whole numbers have whole numbers as states, ``007`` stays
    text. Blanks around a cell do not count, but are kept to be written back, unless some stand before a quote. Blank
    lines are passed over.

    Parameters
    ----------
    path : str or path
        The file.
    encoding : str, optional
        Its encoding. Default: as its byte order mark says, else UTF-8.
    delimiter : str, optional
        What stands between cells. Default: comma, semicolon or tab, whichever gives rows of one length.
    header : bool, default True
        Whether the first row names the columns. Otherwise, and where a name is empty, they are ``x1``, ``x2``, ...

    Raises
    ------
    FileFormatError
        When the rows are not all of one length, or quotes do not match; the message names the line.
    """
    _check_delimiter(delimiter)
    text = read_text_file(path, encoding)
    name = os.fspath(path)
    told = SEPARATOR_LINE.match(text)
    if told:
        text = text[told.end() :]
    if not text or text.isspace():
        raise DataError("'{file}' is empty.", file=name)
    between = delimiter or (told[1] if told else _sniffed(text))
    half = _has_blank_quotes(text, between)
    try:
        names, rows = _headed(_Bounded(lines_of(text, name), between, name).rows(half), name, header)
        return Frame(_columns(rows, names))
    except (csv.Error, _RaggedError):
        above = 1 if told else 0
        raise _located(_Bounded(lines_of(text, name), between, name), half, above) from None


def csv_pieces(
    path: PathLike, n_rows: int, *, encoding: str | None = None, delimiter: str | None = None, header: bool = True
) -> Iterator[Frame]:
    """Read a CSV or TSV file, gzipped or not, some rows at a time; see :func:`read_csv`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv({"a": ["x", "y", "z"]}, folder + "/some.csv")
    ...     [piece.n_rows for piece in csv_pieces(folder + "/some.csv", 2)]
    [2, 1]
    """
    _check_delimiter(delimiter)
    name = os.fspath(path)
    with open_text_file(path, encoding) as file:
        sample = file.read(SAMPLE_LENGTH + 1)  # one more, so that the last line is known to be cut off
        told = SEPARATOR_LINE.match(sample)
        sample = sample[told.end() :] if told else sample
        if not sample.strip():
            raise DataError("'{file}' is empty.", file=name)
        between = delimiter or (told[1] if told else _sniffed(sample))
    with open_text_file(path, encoding) as file:
        half = False
        for number, line in enumerate(lines_in(file.read, name), 1):
            half = half or _has_blank_quotes(line, between)
            if "\0" in line:
                raise FileFormatError(
                    "'{file}', line {line}: a zero character. This is not a text file.", file=name, line=number
                )
    with open_text_file(path, encoding) as file:
        try:
            lines = islice(lines_in(file.read, name), 1 if told else 0, None)
            names, rows = _headed(_Bounded(lines, between, name).rows(half), name, header)
            while piece := _columns(islice(rows, n_rows), names):
                if len(next(iter(piece.values()))) == 0:
                    return
                yield Frame(piece)
        except (csv.Error, _RaggedError):
            message = (
                "'{file}': the rows are not all of one length, or a quote is not closed. Repair the file, or give "
                "{delimiter} if {between!r} is not what separates cells."
            )
            raise FileFormatError(message, file=name, delimiter=Advice("delimiter"), between=between) from None


def _check_delimiter(delimiter: str | None) -> None:
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1):
        raise bad_parameter("delimiter", "read_table", "one character", delimiter)


def _headed(rows: Iterator[list[str]], name: str, header: bool) -> tuple[list[str], Iterator[list[str]]]:
    """Names of the columns, and the rows that hold data."""
    first = next(rows, None)
    if first is None:  # nothing but quoted blanks
        raise DataError("'{file}' is empty.", file=name)
    if len(first) > MAX_COLUMNS:
        raise _too_many_columns(name, f"{len(first):,}")
    names = _names(first, name) if header else [f"x{i + 1}" for i in range(len(first))]
    return names, rows if header else chain([first], rows)


def write_csv(
    data: Table | Frame | Mapping[str, Cells], path: PathLike, *, delimiter: str = ",", weights: str = "weight"
) -> None:
    """Write columns, or the distinct rows of a table and their weights, to a CSV file.

    Examples
    --------
    >>> import tempfile
    >>> from latentree.formats import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv({"a": ["x", "y", None]}, folder + "/some.csv")
    ...     read_table(folder + "/some.csv")
    <Table: 3 rows, 3 distinct, 1 variables>
    """
    columns = _cells(data, weights)
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) > 1:
        raise DataError("Columns of one length are needed. Got lengths {lengths}.", lengths=sorted(lengths))
    write_bytes_file(path, csv_text(columns, delimiter))


# ---- reading -----------------------------------------------------------------------------------------------------


class _RaggedError(Exception):
    """A row has another length than the first."""


def _too_many_columns(name: str, found: str) -> FileFormatError:
    return FileFormatError(
        "'{file}' has {found} columns; at most {most:,} are possible.", file=name, found=found, most=MAX_COLUMNS
    )


class _Bounded:
    """Lines of one row after another; a row of too many cells is refused before it is cut up."""

    def __init__(self, lines: Iterable[str], delimiter: str, name: str) -> None:
        self._lines, self.delimiter, self.name = lines, delimiter, name
        self._length = self._found = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self._length += len(line)
            if self._length > MAX_DELIMITERS:  # a row that is shorter cannot have as many
                self._found += line.count(self.delimiter)
                if self._found > MAX_DELIMITERS:
                    raise _too_many_columns(self.name, f"a row of more than {MAX_DELIMITERS:,}")
            yield line

    def reader(self, half: bool) -> Any:
        """Return a reader that cuts the lines up."""
        return csv.reader(self, delimiter=self.delimiter, skipinitialspace=half, strict=True)

    def rows(self, half: bool) -> Iterator[list[str]]:
        """Pass over blank lines. In a file of one column, a quoted empty cell ("") is a row of its own.

        ``half`` says that some blanks stand before a quote.
        """
        width = 0
        for row in self.reader(half):
            self._length = self._found = 0
            if not _is_blank(row) or (row and width == 1):
                width = width or len(row)
                if len(row) != width:
                    raise _RaggedError
                # Blanks on one side are gone already: none at all is better than some.
                yield [cell.strip() for cell in row] if half else row


def _has_blank_quotes(text: str, delimiter: str) -> bool:
    """Whether a quote follows a delimiter and blanks. Only then must the reader skip blanks, which it forgets."""
    if delimiter == " " or ' "' not in text:
        return False
    return re.search(rf"(^|{re.escape(delimiter)}) +\"", text, re.MULTILINE) is not None


def _is_blank(row: list[str]) -> bool:
    return len(row) == 0 or (len(row) == 1 and not row[0].strip())


def _sniffed(text: str) -> str:
    """Choose the delimiter that gives most cells a row, among those that give all rows the same number if there are."""
    start = text[:SAMPLE_LENGTH]
    lines = [line for line in start.splitlines(keepends=True) if line.strip()]
    if len(text) > SAMPLE_LENGTH and len(lines) > 1:
        del lines[-1]  # cut off somewhere
    best, most = ",", (False, 1)
    for delimiter in DELIMITERS:
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        lengths = {len(row) for row in rows if not _is_blank(row)}
        if min(lengths, default=0) > 1 and (found := (len(lengths) == 1, min(lengths))) > most:
            best, most = delimiter, found
    return best


def _names(first: list[str], path: str) -> list[str]:
    names = [cell.strip() or f"x{i + 1}" for i, cell in enumerate(first)]
    seen: set[str] = set()
    for name in names:
        if name in seen:
            message = (
                "'{file}': two columns are called '{column}'. Rename one of them, "
                "or use {header} if the first line is not a header."
            )
            raise DataError(message, file=path, column=name, header=Advice("header", False))
        seen.add(name)
    return names


def _columns(rows: Iterator[list[str]], names: list[str]) -> dict[str, Column]:
    known: list[dict[str, int]] = [{} for _ in names]
    codes = [array("i") for _ in names]  # which grow in place: small pieces would cost more than what they hold
    n_rows = max(1, min(CHUNK, CHUNK_CELLS // len(names)))
    while chunk := list(islice(rows, n_rows)):
        for seen, found, cells in zip(known, codes, zip(*chunk, strict=True), strict=True):
            for cell in dict.fromkeys(cells):  # in the order of the rows, which a set would not keep
                if cell not in seen:
                    seen[cell] = len(seen)
            found.frombytes(np.fromiter(map(seen.__getitem__, cells), dtype=np.int32, count=len(cells)).tobytes())
    return {
        name: Column(np.frombuffer(found, dtype=np.int32), tuple(seen), untyped=True)
        for name, seen, found in zip(names, known, codes, strict=True)
    }


def _located(lines: _Bounded, half: bool, above: int) -> FileFormatError:
    """Read again row by row, for the line at which it goes wrong."""
    reader, where = lines.reader(half), {"file": lines.name}
    expected, start = 0, 1
    while True:
        try:
            row = next(reader)
        except csv.Error as error:
            if "field limit" in str(error):
                message = (
                    "'{file}', line {line}: a cell has more than {most:,} characters. Perhaps a quote that opens it is "
                    "not closed."
                )
                return FileFormatError(message, **where, line=start + above, most=csv.field_size_limit())
            message = (
                "'{file}', line {line}: the quotes do not match ({error}). "
                'A quoted cell must end with a quote, and a quote inside it must be doubled ("").'
            )
            return FileFormatError(message, **where, line=start + above, error=error)
        if not _is_blank(row):  # a file of one column has no rows of other lengths but longer ones
            expected = expected or len(row)
            if len(row) != expected:
                return FileFormatError(
                    "'{file}', line {line}: {found} cells where the first row has {expected}. Repair the line, or give "
                    "{delimiter} if {between!r} is not what separates cells.",
                    **where,
                    line=start + above,
                    found=len(row),
                    expected=expected,
                    delimiter=Advice("delimiter"),
                    between=lines.delimiter,
                )
        start = reader.line_num + 1


# ---- writing -----------------------------------------------------------------------------------------------------


def _cells(data: Table | Frame | Mapping[str, Cells], weights: str) -> Mapping[str, Cells]:
    if isinstance(data, Frame):
        return cells_of(data)
    if not isinstance(data, Table):
        return data
    if weights in data.names:
        raise bad_parameter("weights", "write_csv", "a name that no column has", weights)
    columns: dict[str, Cells] = {}
    for i, variable in enumerate(data.variables):
        columns[variable.name] = Column(data.codes[:, i].astype(np.int32), variable.states)
    columns[weights] = weight_cells(data.weights)
    return columns
