"""Files and other things that data and models come from and go to; one format a module."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._registry import loaded
from ..errors import Advice, Parameter, ParameterError
from ._formats import DATA_FORMATS, MODEL_FORMATS, DataFormat, ModelFormat, by_suffix
from ._recipe import Recipe

if TYPE_CHECKING:
    from .._table import Table
    from ._columns import Frame

__all__ = [
    "DATA_FORMATS",
    "MODEL_FORMATS",
    "DataFormat",
    "ModelFormat",
    "Recipe",
    "read_frame",
    "read_table",
]

SUFFIXES = {suffix: kind for kind, one in DATA_FORMATS.items() for suffix in one.suffixes} | {".txt": "txt"}
"""Formats by the endings of files' names; ``.txt`` may be one of several, which the file itself tells."""


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    **options: Any,
) -> Table:
    r"""Build a table from a file.

    Parameters
    ----------
    path : str or path
        The file. Text files may be gzipped.
    format : str, optional
        What kind of file it is, one of ``DATA_FORMATS``: csv, tsv, parquet, arff, hlcm, excel, ods, spss, por, stata,
        sas or xport. Default: as its suffix says. Workbooks and files of SPSS, Stata and SAS need the extra ``files``.
    encoding, delimiter, header
        As in :func:`latentree.formats._csv.read_csv`, for the formats that have them.
    sheet : str, optional
        The sheet of a workbook. Default: the first.
    **options
        As in :meth:`latentree.Table.from_frame`: ``columns``, ``drop``, ``weights``, ``bins``, ``missing``,
        ``decimal``, ``order``, ``keep_levels``, ...

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

    frame = read_frame(path, format=format, encoding=encoding, delimiter=delimiter, header=header, sheet=sheet)
    return table_from(frame, **options)


def read_frame(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
) -> Frame:
    """Read all columns of a file as they are; see :func:`read_table` for the parameters.

    The result goes into :func:`latentree.formats._frame.table_from`, and gives back the file's own cells, for files
    with further columns added.
    """
    kind = format or _kind_of(path)
    if kind == "txt":
        kind = _text_format(path, encoding)
    one = DATA_FORMATS.find(kind, owner="read_table")
    more: dict[str, Any] = {"encoding": encoding, "delimiter": delimiter, "header": header, "sheet": sheet}
    given = {name: value for name, value in more.items() if value is not None}
    for name in given:
        if name not in one.options:
            raise ParameterError(
                "{parameter} does not apply to files of format '{format}', which declare it themselves. Leave it out.",
                parameter=Parameter(name, "read_table"),
                format=kind,
            )
    frame: Frame = loaded(one.reader)(path, **{**one.defaults, **given})
    return frame


def _kind_of(path: str | os.PathLike[str]) -> str:
    name, bare = os.fspath(path), Path(path).name.lower().removesuffix(".gz")
    if bare.endswith(".txt"):
        return "txt"
    found = by_suffix(path, DATA_FORMATS)
    if found is None:
        message = (
            "'{file}': the name does not tell the kind of file, ending in none of {endings}. "
            "Give {format}, for example {example}."
        )
        raise ParameterError(
            message, file=name, endings=", ".join(SUFFIXES), format=Advice("format"), example=Advice("format", "csv")
        )
    return found


def _text_format(path: str | os.PathLike[str], encoding: str | None) -> str:
    """Tell the two formats apart that come as ``.txt``."""
    from ._hlcm import is_hlcm
    from ._text import read_text_file

    return "hlcm" if is_hlcm(read_text_file(path, encoding)) else "csv"
