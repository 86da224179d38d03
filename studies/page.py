"""What the studies share: their options, tables, and where the page goes."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from latentree._files import write_atomically

__all__ = ["deliver", "markdown", "options"]


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
        print(page)
        return
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page)


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
