"""What the columns and values of the bundled data sets mean, from their published descriptions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..formats._columns import Column

__all__ = ["Codebook", "Entry", "codebook_of"]


@dataclass(frozen=True)
class Entry:
    """A column of a data set.

    Attributes
    ----------
    name, text : str
        Its name, and what it is in words.
    values : mapping of str to str
        What each code of the published table means, in order.
    column : str
        What the file calls it.
    """

    name: str
    text: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    column: str = ""


@dataclass(frozen=True)
class Codebook:
    """What the columns and values of a data set mean.

    Attributes
    ----------
    name : str
        The data set.
    note : str
        Where names are lost, what was done to values, and what was compared with the published description.
    entries : tuple of Entry
        Its columns.
    keep_codes : bool
        Whether the states are the codes of the published table, not what they mean.
    source : str
        What names, values and texts were compared with.

    Examples
    --------
    >>> book = codebook_of("carcinoma")
    >>> print(str(book).splitlines()[2])
    A  Pathologist A: carcinoma of the uterine cervix on the slide?  1 = no, 2 = yes
    """

    name: str
    note: str = ""
    entries: tuple[Entry, ...] = ()
    keep_codes: bool = False
    source: str = ""

    def __getitem__(self, name: str) -> Entry:
        """Return the entry of a column, by its name."""
        return {own.name: own for own in self.entries}[name]

    def __str__(self) -> str:
        wide = max((len(own.name) for own in self.entries), default=0)
        lines = [f"{own.name:<{wide}}  {'  '.join(filter(None, (own.text, self._told(own))))}" for own in self.entries]
        head = [f"Names, values and texts: {self.source}."] if self.source else []
        return "\n".join([*([self.note] if self.note else []), *head, *lines])

    def _told(self, entry: Entry) -> str:
        if not self.keep_codes:
            return " | ".join(entry.values.values())
        return ", ".join(f"{code} = {label}" for code, label in entry.values.items() if code != label)

    def applied(self, columns: Mapping[str, Column]) -> dict[str, Any]:
        """Return columns by their names, with their values in words and in order."""
        known = {own.column: own for own in self.entries}
        return {
            known[name].name if name in known else name: self._labelled(column, known[name])
            if name in known
            else column
            for name, column in columns.items()
        }

    def _labelled(self, column: Column, entry: Entry) -> Column:
        import numpy as np

        if self.keep_codes:
            codes = self._told(entry)
            return replace(column, label=f"{entry.text} ({codes})" if codes else entry.text)
        place = {code: i for i, code in enumerate(entry.values)}
        to = np.array([*(place.get(str(level).strip(), -1) for level in column.levels), -1], dtype=np.int32)
        levels = tuple(entry.values.values())
        return replace(column, codes=to[column.codes], levels=levels, declared=True, untyped=False, label=entry.text)


def codebook_of(name: str) -> Codebook:
    """Return the codebook of a data set; one without entries if nothing is known."""
    told = _all().get(name)
    if told is None:
        return Codebook(name)
    entries = tuple(Entry(**own) for own in told["columns"])
    return Codebook(name, told["note"], entries, told.get("keep_codes", False), told.get("source", ""))


@cache
def _all() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((resources.files(__package__) / "codebooks.json").read_text("utf-8"))
    return found
