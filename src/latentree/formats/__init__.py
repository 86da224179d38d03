"""Files and other things that data and models come from and go to; one format a module."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FileFormatError, ParameterError, bad_parameter
from ._recipe import Recipe

if TYPE_CHECKING:
    from .._table import Table
    from ._columns import Frame

__all__ = ["Recipe", "read_frame", "read_table"]

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "txt",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arff": "arff",
    ".hlcm": "hlcm",
}

WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")

FORMATS = ("csv", "tsv", "parquet", "arff", "hlcm")


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    **options: Any,
) -> Table:
    r"""Build a table from a file.

    Parameters
    ----------
    path : str or path
        The file. Text files may be gzipped.
    format : {"csv", "tsv", "parquet", "arff", "hlcm"}, optional
        What kind of file it is. Default: as its suffix says.
    encoding, delimiter, header
        As in :func:`latentree.formats._csv.read_csv`, for the formats that have them.
    **options
        As in :func:`latentree.formats._frame.table_from`: ``columns``, ``drop``, ``weights``, ``bins``, ``missing``,
        ``decimal``, ...

    Returns
    -------
    Table
        Its ``inverse`` has one entry for each row of the file, in order.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "survey.csv")
    ...     _ = file.write_text("sex,smokes,n\nf,no,40\nf,yes,9\nm,?,3\n")
    ...     read_table(file, weights="n")
    <Table: 52 rows, 3 distinct, 2 variables>
    """
    from ._frame import table_from

    frame = read_frame(path, format=format, encoding=encoding, delimiter=delimiter, header=header)
    return table_from(frame, **options)


def read_frame(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Frame:
    """Read all columns of a file as they are; see :func:`read_table` for the parameters.

    The result goes into :func:`latentree.formats._frame.table_from`, and gives back the file's own cells, for files
    with further columns added.
    """
    kind = format or _by_suffix(path)
    if kind not in (*FORMATS, "txt"):
        raise bad_parameter("format", "read_table", " or ".join(map(repr, FORMATS)), format)
    if kind == "txt":
        kind = _text_format(path, encoding)
    more: dict[str, Any] = {"encoding": encoding, "delimiter": delimiter, "header": header}
    given = {name: value for name, value in more.items() if value is not None}
    allowed = {"arff": {"encoding"}, "hlcm": {"encoding"}, "parquet": set()}.get(kind, set(more))
    for name, value in given.items():
        if name not in allowed:
            raise bad_parameter(name, "read_table", f"None for a file of format '{kind}'", value)
    return _read(kind, path, given)


def _read(kind: str, path: str | os.PathLike[str], given: dict[str, Any]) -> Frame:
    match kind:
        case "parquet":
            from ._parquet import read_parquet

            return read_parquet(path)
        case "arff":
            from ._arff import read_arff

            return read_arff(path, **given)
        case "hlcm":
            from ._hlcm import read_hlcm

            return read_hlcm(path, **given)
    from ._csv import read_csv

    return read_csv(path, **({"delimiter": "\t"} if kind == "tsv" else {}) | given)


def _by_suffix(path: str | os.PathLike[str]) -> str:
    suffixes = [s.lower() for s in Path(path).suffixes]
    last = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    found = SUFFIXES.get(last[0]) if last else None
    if found is None:
        name = os.fspath(path)
        if last and last[0] in WORKBOOKS:
            raise FileFormatError(f"'{name}': Excel workbooks are not read. Save the sheet as CSV.")
        raise ParameterError(
            f"'{name}': the name does not tell the kind of file, ending in none of {', '.join(SUFFIXES)}. "
            "Give format=, for example format='csv'."
        )
    return found


def _text_format(path: str | os.PathLike[str], encoding: str | None) -> str:
    """Tell the two formats apart that come as ``.txt``."""
    from ._hlcm import is_hlcm
    from ._text import read_text_file

    return "hlcm" if is_hlcm(read_text_file(path, encoding)) else "csv"
