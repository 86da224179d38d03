"""What the studies share: their options, tables, and where the page goes."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from latentree._files import write_atomically

__all__ = ["deliver", "filled", "linked", "markdown", "options"]

_KEY = re.compile(r"\[([A-Z][A-Za-z]+\d{4}|ChenZhangWang)\]")


def options(name: str, about: str) -> argparse.ArgumentParser:
    """Return a parser with the options every study has: ``--out``, ``--data`` and ``--seed``."""
    parser = argparse.ArgumentParser(
        prog=f"python -m studies.{name.replace('-', '_')}", description=about.split("\n")[0]
    )
    parser.add_argument("--out", metavar="FILE", help="where to write the page; without it, the page is printed")
    parser.add_argument("--data", metavar="DIR", help="folder of the data sets that do not come with latentree")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default 0)")
    return parser


def deliver(page: str, out: str | None) -> None:
    """Write the page to a file, or print it."""
    if out is None:
        print(linked(page), end="")
        return
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, linked(page))


def linked(page: str) -> str:
    """Return a page with the keys that it cites defined at its end, as links to the bibliography.

    Examples
    --------
    >>> print(linked("As in [Zhang2004] 5.1."), end="")
    As in [Zhang2004] 5.1.
    <BLANKLINE>
    [Zhang2004]: ../bibliography.md#zhang2004
    """
    keys = sorted(set(_KEY.findall(page)))
    return page.rstrip("\n") + "\n\n" + "".join(f"[{key}]: ../bibliography.md#{key.lower()}\n" for key in keys)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    Examples
    --------
    >>> print(markdown(["a", "b"], [["1", "2"]]), end="")
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def filled(page: str) -> str:
    r"""Return a page whose paragraphs, into which figures were put, are broken anew; all else stays as it is.

    Examples
    --------
    >>> print(filled("A paragraph of\ntwo lines.\n\n| a |\n| b |\n"), end="")
    A paragraph of two lines.
    <BLANKLINE>
    | a |
    | b |
    """
    blocks = page.rstrip("\n").split("\n\n")
    return "\n\n".join(_filled(block) for block in blocks) + "\n"


def _filled(block: str) -> str:
    kept = any(line.startswith(("|", "#", "![", "- ", "```")) for line in block.strip("\n").split("\n"))
    if kept:
        return block
    ahead = block[: len(block) - len(block.lstrip("\n"))]
    return ahead + textwrap.fill(block, 120, break_long_words=False, break_on_hyphens=False)
