"""What the variables of a table are in words, below it: names stay short, and the table narrow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from ._contents import NodeContents, ShownVariable
from ._printable import printable

__all__ = ["legend", "legend_lines"]

NAME_ROOM = 24
"""Names up to this length have a column of their own; longer ones a line."""

LEAST_TEXT = 20
"""Texts are not folded to less than this."""

INDENT = 2
"""Blanks before the text below a long name."""


def legend(variables: Iterable[ShownVariable | NodeContents], width: int) -> Iterator[RenderableType]:
    """The texts of variables, or nothing if none says more than its name."""
    lines = legend_lines([(own["name"], own["question"]) for own in variables], width)
    if lines:
        # Folded here, not by rich, whose versions fold differently.
        yield Text("\n").join([Text("What the variables are", style="bold"), *map(Text, lines)])


def legend_lines(texts: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Names and texts in lines of a width; those whose text only repeats the name are left out.

    Examples
    --------
    >>> legend_lines([("cp", "Type of chest pain"), ("sex", "Sex"), ("mx-missile", "MX missile")], 40)
    ['cp  Type of chest pain']
    """
    told = [(printable(name), printable(text)) for name, text in texts if _says_more(name, text)]
    room = max((cell_len(name) for name, _ in told if cell_len(name) <= NAME_ROOM), default=0)
    lines = []
    for name, text in told:
        fits = cell_len(name) <= room
        start = room + INDENT if fits else INDENT
        first, *rest = _folded(text.split(), max(width - start, LEAST_TEXT))
        if fits:
            lines.append(f"{name}{' ' * (start - cell_len(name))}{first}")
        else:
            lines += [name, " " * start + first]
        lines += [" " * start + line for line in rest]
    return lines


def _says_more(name: str, text: str) -> bool:
    """Whether a text is more than its variable's name in other letters."""
    return bool(text.strip()) and _words(text) != _words(name)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold().replace("_", " "))


def _folded(words: Sequence[str], width: int) -> list[str]:
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and cell_len(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
