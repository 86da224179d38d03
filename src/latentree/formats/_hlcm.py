"""The text format of the first programs for hierarchical latent class models.

A line ``Name: x``; one line a variable, its name, a colon and its states; then one line a pattern, 0-based state
numbers (-1 for missing) and the pattern's weight, between blanks. ``//`` starts a comment.
"""

from __future__ import annotations

import os
import re
from array import array
from itertools import islice

import numpy as np

from .._table import Table
from ..errors import DataError, FileFormatError
from ._columns import Column, Frame
from ._text import PathLike, lines_of, read_text_file, write_text_file

__all__ = ["is_hlcm", "read_hlcm", "write_hlcm"]

NAME = re.compile(r"\s*Name\s*:", re.IGNORECASE)
SAMPLE = 1 << 20
"""Characters of a text that are looked at to tell what it is."""

AWKWARD = re.compile(r"[^\w.+<>=()-]+")
"""What the blanks and colons of the format leave no room for."""


def read_hlcm(path: PathLike, *, encoding: str | None = None) -> Frame:
    """Read an HLCM file; listed states that no pattern has are known but, by default, not counted."""
    states: dict[str, tuple[str, ...]] = {}
    codes, weights = array("i"), array("d")
    named = False
    file = os.fspath(path)
    for i, line in enumerate(lines_of(read_text_file(path, encoding), file), 1):
        bare = line.split("//", 1)[0].strip()
        where = f"'{file}', line {i}"
        if not bare:
            continue
        if not named and not states and NAME.match(bare):
            named = True
        elif ":" in bare:
            if weights:
                raise FileFormatError(f"{where}: a variable after the first pattern.")
            _add_variable(states, bare, where)
        else:
            row, weight = _pattern(bare, states, where)
            codes.extend(row)
            weights.append(weight)
    if not states:
        raise FileFormatError("'{file}' has no line with a variable and its states; it is not an HLCM file.", file=file)
    if not weights:
        raise DataError("'{file}' has no rows.", file=file)
    table = np.frombuffer(codes, dtype=np.int32).reshape(len(weights), len(states))
    columns = {
        name: Column(np.ascontiguousarray(table[:, j]), levels, declared=True, untyped=True)
        for j, (name, levels) in enumerate(states.items())
    }
    return Frame(columns, np.frombuffer(weights))


def write_hlcm(table: Table, path: PathLike, *, name: str = "data") -> None:
    """Write the distinct rows of a table to an HLCM file.

    Names and states have blanks, colons and the like replaced by ``_``, for which the format has no room.

    Examples
    --------
    >>> import tempfile
    >>> from latentree.formats import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_hlcm(Table.from_codes([[0, 1], [1, -1]]), folder + "/some.hlcm")
    ...     read_table(folder + "/some.hlcm", keep_levels=True).variables[1].states
    (0, 1)
    """
    lines = [f"Name: {_simple(name)}"]
    names = _all_different([v.name for v in table.variables], "names")
    for own, variable in zip(names, table.variables, strict=True):
        states = _all_different([str(s) for s in variable.states], f"states of '{variable.name}'")
        lines.append(f"{own}: {' '.join(states)}")
    for row, weight in zip(table.codes.tolist(), table.weights.tolist(), strict=True):
        lines.append(" ".join(map(str, row)) + f" {weight!r}")
    write_text_file(path, "\n".join(lines) + "\n")


def is_hlcm(text: str) -> bool:
    """Whether a text starts as an HLCM file does."""
    lines = (line.split("//", 1)[0] for line in islice(lines_of(text[:SAMPLE], ""), 50))
    return NAME.match(next((line for line in lines if line.strip()), "")) is not None


def _add_variable(states: dict[str, tuple[str, ...]], line: str, where: str) -> None:
    name, _, rest = line.partition(":")
    name, own = name.strip(), tuple(rest.split())
    if not name or not own:
        raise FileFormatError(f"{where}: a variable needs a name, a colon and its states. Got {line[:60]!r}.")
    if name in states:
        raise DataError(f"{where}: two variables are called '{name}'. Rename one of them.")
    if len(set(own)) < len(own):
        raise FileFormatError(f"{where}: variable '{name}' lists a state twice.")
    states[name] = own


def _pattern(line: str, states: dict[str, tuple[str, ...]], where: str) -> tuple[list[int], float]:
    cells = line.split()
    if len(cells) != len(states) + 1:
        raise FileFormatError(f"{where}: {len(cells)} numbers; {len(states)} state numbers and a weight are needed.")
    try:
        row, weight = [int(c) for c in cells[:-1]], float(cells[-1])
    except ValueError:
        raise FileFormatError(f"{where}: state numbers and a weight are needed. Got {line[:60]!r}.") from None
    for code, (name, own) in zip(row, states.items(), strict=True):
        if not -1 <= code < len(own):
            raise FileFormatError(f"{where}: '{name}' has {len(own)} states, numbers 0 to {len(own) - 1}. Got {code}.")
    return row, weight


def _simple(text: str) -> str:
    return AWKWARD.sub("_", text) or "_"


def _all_different(texts: list[str], what: str) -> list[str]:
    simple = [_simple(t) for t in texts]
    if len(set(simple)) < len(simple):
        twice = next(s for s in simple if simple.count(s) > 1)
        raise DataError(f"Two {what} would both be written as '{twice}'. Rename one of them.")
    return simple
