"""Workbooks: Excel (.xlsx, .xlsm, .xlsb, .xls) and OpenDocument (.ods), read by python-calamine."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from typing import Any

from .._registry import suggestion
from ..errors import Advice, DataError, FileFormatError, missing_extra
from ._columns import Column, Frame, column_from, objects
from ._suspects import DATES
from ._text import refuse_swollen_archive

__all__ = ["read_workbook"]


def read_workbook(path: str | os.PathLike[str], *, sheet: str | None = None, header: bool = True) -> Frame:
    """Read a sheet of a workbook: the one named (or the first), whose first row names the columns."""
    try:
        import python_calamine as calamine
    except ImportError:
        raise missing_extra("Workbooks (Excel, OpenDocument) need python-calamine", "files") from None
    at = os.fspath(path)
    if not os.path.exists(at):
        raise FileNotFoundError(2, "No such file or directory", at)
    refuse_swollen_archive(at)
    try:
        with calamine.CalamineWorkbook.from_path(at) as book:
            names = [own.name for own in book.sheets_metadata if own.typ == calamine.SheetTypeEnum.WorkSheet]
            rows = book.get_sheet_by_name(_chosen(at, sheet, names)).to_python(skip_empty_area=True)
    except calamine.CalamineError as error:
        raise FileFormatError(
            "'{file}' cannot be read as a workbook: {error}. It may be damaged, protected, or of another kind.",
            file=at,
            error=str(error).rstrip("."),
        ) from None
    rows = [row for row in rows if any(cell != "" for cell in row)]
    if not rows:
        raise DataError("The sheet of '{file}' is empty. Name another with {sheet}.", file=at, sheet=Advice("sheet"))
    return Frame(_columns(rows, header, at))


def _chosen(path: str, sheet: str | None, names: Sequence[str]) -> str:
    if not names:
        raise FileFormatError("'{file}' has no sheet of cells.", file=path)
    if sheet is None:
        return names[0]
    if sheet not in names:
        raise DataError(
            "'{file}' has no sheet '{sheet}'.{meant}",
            file=path,
            sheet=sheet,
            meant=suggestion(sheet, list(names)) or f" It has {', '.join(map(repr, names))}.",
        )
    return sheet


def _columns(rows: list[list[Any]], header: bool, path: str) -> dict[str, Column]:
    cells = rows[1:] if header else rows
    if not cells:
        raise DataError("'{file}' has no rows below the names of its columns.", file=path)
    found: dict[str, Column] = {}
    for i, values in enumerate(zip(*cells, strict=True)):
        name = str(_plain(rows[0][i]) if header else "").strip() or f"x{i + 1}"
        if header and rows[0][i] == "" and all(value == "" for value in values):
            continue
        if name in found:
            raise DataError("'{file}': two columns are called '{column}'. Rename one.", file=path, column=name)
        found[name] = _column(name, values)
    return found


def _column(name: str, values: Sequence[Any]) -> Column:
    return column_from(objects(None if value == "" else _plain(value) for value in values), name)


def _plain(value: Any) -> Any:
    """Return a cell as a state may be: sheets know no whole numbers, and dates are shown as text."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, DATES):
        return value.isoformat() if not isinstance(value, datetime.timedelta) else str(value)
    return value
