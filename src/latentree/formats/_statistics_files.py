"""Files of SPSS, Stata and SAS, with their labels and missing codes, read by pyreadstat.

Value labels are the states, in the order of the codes; labels of variables go with them. Codes that a file declares as
missing are missing. A column is one of labelled answers if all its values have labels, or if the others are few whole
numbers (a scale whose ends are labelled alone). Otherwise it holds numbers, and those with a label are known by it too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import FileFormatError, missing_extra
from ._coding import FEW_NUMBERS
from ._columns import Column, Frame, column_from, is_empty

__all__ = ["read_statistics"]

READERS = {
    "sav": "read_sav",
    "por": "read_por",
    "dta": "read_dta",
    "sas7bdat": "read_sas7bdat",
    "xpt": "read_xport",
}


def read_statistics(path: str | os.PathLike[str], *, kind: str, encoding: str | None = None) -> Frame:
    """Read a file of SPSS (``sav``, ``por``), Stata (``dta``) or SAS (``sas7bdat``, ``xpt``)."""
    try:
        import pyreadstat
    except ImportError:
        raise missing_extra("Files of SPSS, Stata and SAS need pyreadstat", "files") from None
    at = os.fspath(path)
    if not os.path.exists(at):
        raise FileNotFoundError(2, "No such file or directory", at)
    options: dict[str, Any] = {} if encoding is None else {"encoding": encoding}
    options |= {"user_missing": True} if kind == "sav" else {}  # else pyreadstat does not say what is declared missing
    try:
        cells, about = getattr(pyreadstat, READERS[kind])(at, output_format="dict", **options)
    except (pyreadstat.ReadstatError, getattr(pyreadstat, "PyreadstatError", ValueError), ValueError) as error:
        raise FileFormatError(
            "'{file}' cannot be read as a file of this kind: {error}. It may be damaged, or of another kind.",
            file=at,
            error=str(error).rstrip("."),
        ) from None
    ranges = about.missing_ranges or {}
    columns = {name: _column(name, _without(own, ranges.get(name)), about) for name, own in cells.items()}
    if not columns:
        raise FileFormatError("'{file}' has no columns.", file=at)
    return Frame(columns)


def _without(cells: Sequence[Any], ranges: Sequence[Mapping[str, Any]] | None) -> Sequence[Any]:
    """Cells without those that the file declares as missing."""
    if not ranges:
        return cells
    gone = {cell for cell in set(cells) if cell is not None and _within(cell, ranges)}
    return [None if cell in gone else cell for cell in cells]


def _answers(name: str, about: Any) -> dict[Any, str]:
    """Labels of the codes of a column, without those that the file declares as missing."""
    ranges = (about.missing_ranges or {}).get(name, ())
    letters = (about.missing_user_values or {}).get(name, ())
    found = about.variable_value_labels.get(name) or {}
    return {code: label for code, label in found.items() if code not in letters and not _within(code, ranges)}


def _within(code: Any, ranges: Sequence[Mapping[str, Any]]) -> bool:
    return any(isinstance(code, str) == isinstance(own["lo"], str) and own["lo"] <= code <= own["hi"] for own in ranges)


def _column(name: str, cells: Sequence[Any], about: Any) -> Column:
    labels, label = _answers(name, about), about.column_names_to_labels.get(name) or ""
    plain = [_value(cell) for cell in cells]
    column = column_from(np.fromiter(plain, dtype=object, count=len(plain)), name)
    levels = [_value(own) for own in column.levels]
    known = {_value(code): str(text).strip() for code, text in labels.items() if str(text).strip()}
    bare = [own for own in levels if own not in known]
    ordered = about.variable_measure.get(name) == "ordinal"
    if not any(own in known for own in levels):
        return Column(column.codes, column.levels, label=label)
    if bare and not _are_few_answers(bare):
        return Column(column.codes, column.levels, label=label, synonyms=known)
    states = sorted({*known, *bare}, key=_rank)
    names = _told_apart({code: known.get(code, str(code)) for code in states})
    place = {code: i for i, code in enumerate(states)}
    to = np.array([*(place[own] for own in levels), -1], dtype=np.int32)
    return Column(
        to[column.codes],
        tuple(names[code] for code in states),
        declared=True,
        ordered=ordered,
        label=label,
        synonyms={names[code]: str(code) for code in states},
    )


def _value(cell: Any) -> Any:
    """Return a cell as a plain value: whole floats are whole numbers, and empty text is nothing."""
    if is_empty(cell) or (isinstance(cell, str) and not cell.strip()):
        return None
    if isinstance(cell, str):
        return cell.strip()
    number = cell.item() if isinstance(cell, np.generic) else cell
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _are_few_answers(bare: Sequence[Any]) -> bool:
    return len(bare) <= FEW_NUMBERS and all(isinstance(own, int) for own in bare)


def _rank(code: Any) -> tuple[bool, Any]:
    return isinstance(code, str), code


def _told_apart(names: Mapping[Any, str]) -> dict[Any, str]:
    """Add the code to labels that several codes share: they are answers of their own."""
    texts = list(names.values())
    return {code: f"{text} ({code})" if texts.count(text) > 1 else text for code, text in names.items()}
