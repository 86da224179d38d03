"""Small tables on standard output."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from .output import UNWRAPPED, console, printable

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["grid", "pairs", "print_lines"]

# One line below the head and nothing else, in characters that every terminal has; as reports look.
RULED = "    \n    \n -- \n    \n    \n    \n    \n    \n"


def pairs(rows: Mapping[str, str]) -> None:
    """Print names and values, one pair a line."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    for name, value in rows.items():
        table.add_row(Text(printable(name)), Text(printable(value), style="bold"))
    print_lines(table, UNWRAPPED)


def grid(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = (), fold: bool = False
) -> None:
    """Print a table."""
    from rich.box import Box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=Box(RULED, ascii=True), padding=(0, 1, 0, 0), show_edge=False, pad_edge=False, header_style="bold"
    )
    for i, name in enumerate(header):
        justify = "right" if name in right else "left"
        table.add_column(Text(printable(name)), justify=justify, no_wrap=not fold or i < len(header) - 1)  # type: ignore[arg-type]
    for row in rows:
        # Text, not str: what the data hold is never read as markup.
        table.add_row(*(Text(printable(cell)) for cell in row))
    print_lines(table, max(shutil.get_terminal_size().columns, 60) if fold and sys.stdout.isatty() else UNWRAPPED)


def print_lines(table: Table, width: int) -> None:
    """Print without blanks at the ends of lines."""
    printer = console(width)
    with printer.capture() as captured:
        printer.print(table)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
