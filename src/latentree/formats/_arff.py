"""ARFF files of Weka: nominal, numeric and string attributes, in dense rows."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from ..errors import DataError, FileFormatError
from ._columns import Column, Frame, column_from
from ._csv import MAX_DELIMITERS
from ._text import PathLike, lines_of, read_text_file
from ._tokens import QUOTED as DOUBLY_QUOTED

__all__ = ["read_arff"]

NUMERIC = ("numeric", "real", "integer")
ESCAPE = re.compile(r"\\(.)")
QUOTED = re.compile(rf"""{DOUBLY_QUOTED}|{DOUBLY_QUOTED.replace('"', "'")}""")
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED.pattern}|[^\s{{]+)\s*(.+)", re.IGNORECASE)
BLANKS = re.compile(r"[^\S\t]*")
UNQUOTED = re.compile(r"[^,\t]*")


@dataclass
class _Attribute:
    name: str
    kind: str
    levels: dict[str, int] = field(default_factory=dict)
    codes: array[int] = field(default_factory=lambda: array("i"))
    numbers: array[float] = field(default_factory=lambda: array("d"))


def read_arff(path: PathLike, *, encoding: str | None = None) -> Frame:
    """Read an ARFF file.

    A nominal attribute keeps its declared order, and knows values that no row has; ``?`` is missing; a number in braces
    at the end of a row is its weight. Sparse rows, dates and relational attributes are not read.
    """
    at = os.fspath(path)
    lines = _lines(read_text_file(path, encoding), at)
    attributes = _header(lines, at)
    weights = array("d", (_add_row(attributes, line, f"'{at}', line {i}") for i, line in lines))
    if not weights:
        raise DataError("'{file}' has no rows.", file=at)
    columns = {a.name: _column(a) for a in attributes}
    own = np.frombuffer(weights)
    return Frame(columns, None if (own == 1).all() else own)


def _lines(text: str, name: str) -> Iterator[tuple[int, str]]:
    for i, line in enumerate(lines_of(text, name), 1):
        bare = line.strip()
        if bare and not bare.startswith("%"):
            yield i, bare


def _header(lines: Iterator[tuple[int, str]], path: str) -> list[_Attribute]:
    attributes: dict[str, _Attribute] = {}
    for i, line in lines:
        word = line.split(None, 1)[0].lower()
        where = f"'{path}', line {i}"
        if word == "@data":
            if not attributes:
                raise FileFormatError(f"{where}: @data before any @attribute.")
            return list(attributes.values())
        if word == "@attribute":
            attribute = _attribute(line, where)
            if attribute.name in attributes:
                raise DataError(f"{where}: two attributes are called '{attribute.name}'. Rename one of them.")
            attributes[attribute.name] = attribute
        elif word != "@relation":
            raise FileFormatError(f"{where}: @relation, @attribute or @data must come here. Got {line[:40]!r}.")
    raise FileFormatError(f"'{path}' has no line @data; it is not an ARFF file or was cut off.")


def _attribute(line: str, where: str) -> _Attribute:
    found = ATTRIBUTE.fullmatch(line)
    if found is None:
        raise FileFormatError(f"{where}: an attribute needs a name and a type. Got {line[:60]!r}.")
    name, kind = _unquoted(found[1]), found[2].strip()
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise FileFormatError(f"{where}: the values of '{name}' must end with '}}'.")
        levels: dict[str, int] = {}
        for value, _ in _cells(kind[1:-1], where):
            if value in levels:
                raise FileFormatError(f"{where}: attribute '{name}' lists the value '{value}' twice.")
            levels[value] = len(levels)
        return _Attribute(name, "nominal", levels)
    word = kind.split(None, 1)[0].lower()
    if word in NUMERIC:
        return _Attribute(name, "numeric")
    if word == "string":
        return _Attribute(name, "string")
    raise FileFormatError(
        f"{where}: attribute '{name}' is of type {word}; nominal, numeric and string ones can be read. "
        "Remove it or change its type."
    )


def _unquoted(text: str) -> str:
    return ESCAPE.sub(r"\1", text[1:-1]) if text[:1] in ("'", '"') else text


def _cells(line: str, where: str) -> Iterator[tuple[str, bool]]:
    """Split at commas or tabs outside quotes; tell whether a cell was quoted."""
    if len(line) > MAX_DELIMITERS and line.count(",") + line.count("\t") > MAX_DELIMITERS:
        raise FileFormatError("{where}: more than {most:,} cells in a line.", where=where, most=MAX_DELIMITERS)
    if "'" not in line and '"' not in line:
        yield from ((cell.strip(), False) for cell in re.split("[,\t]", line))
        return
    at = 0
    while True:
        at = _after(BLANKS, line, at)
        if line[at : at + 1] in ("'", '"'):
            found = QUOTED.match(line, at)
            if found is None:
                raise FileFormatError(f"{where}: the quotes do not match.")
            yield _unquoted(found[0]), True
            at = _after(BLANKS, line, found.end())
            if at < len(line) and line[at] not in ",\t":
                raise FileFormatError(f"{where}: the quotes do not match.")
        else:
            end = _after(UNQUOTED, line, at)
            yield line[at:end].rstrip(), False
            at = end
        if at == len(line):
            return
        at += 1


def _after(pattern: re.Pattern[str], line: str, at: int) -> int:
    found = pattern.match(line, at)
    return at if found is None else found.end()


def _add_row(attributes: list[_Attribute], line: str, where: str) -> float:
    if line.startswith("{"):
        raise FileFormatError(f"{where}: sparse rows cannot be read. Save the file with dense rows.")
    weight = 1.0
    if line.endswith("}") and "{" in line:
        line, _, inside = line[:-1].rpartition("{")
        weight = _number(inside.strip(), f"{where}: the weight")
        line = line.rstrip()
        line = line[:-1] if line.endswith(",") else line
    cells = list(_cells(line, where))
    if len(cells) != len(attributes):
        raise FileFormatError(f"{where}: {len(cells)} cells for {len(attributes)} attributes.")
    for attribute, (cell, quoted) in zip(attributes, cells, strict=True):
        empty = not quoted and cell in ("?", "")
        if attribute.kind == "numeric":
            attribute.numbers.append(np.nan if empty else _number(cell, f"{where}: attribute '{attribute.name}'"))
        elif empty:
            attribute.codes.append(-1)
        elif attribute.kind == "string":
            attribute.codes.append(attribute.levels.setdefault(cell, len(attribute.levels)))
        elif cell in attribute.levels:
            attribute.codes.append(attribute.levels[cell])
        else:
            raise FileFormatError(
                f"{where}: attribute '{attribute.name}' has no value '{cell[:60]}'. It has {_some(attribute.levels)}."
            )
    return weight


def _some(levels: Iterable[str], most: int = 12) -> str:
    first = list(islice(levels, most + 1))
    return ", ".join(first[:most]) + (", ..." if len(first) > most else "")


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FileFormatError(f"{where} must be a number. Got '{text[:60]}'.") from None


def _column(attribute: _Attribute) -> Column:
    if attribute.kind == "numeric":
        return column_from(np.frombuffer(attribute.numbers), attribute.name)
    codes = np.frombuffer(attribute.codes, dtype=np.int32)
    return Column(codes, tuple(attribute.levels), declared=attribute.kind == "nominal", untyped=True)
