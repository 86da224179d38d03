"""``latentree datasets``: data to try things on."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from .command import command as command_, option, session
from .output import emit, note, printable

if TYPE_CHECKING:
    from ..datasets import DataSet

__all__ = ["command"]

EXAMPLES = """
latentree datasets
latentree datasets carcinoma
latentree datasets carcinoma --out carcinoma.csv
"""


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ..datasets import names

    return [CompletionItem(name) for name in names() if name.startswith(incomplete)]


@command_("datasets", examples=EXAMPLES)
@click.argument("name", required=False, shell_complete=_complete)
@option(
    "--out",
    type=click.Path(),
    section="Output",
    metavar="FILE",
    help="Write the data set to this file: CSV, TSV if it ends in .tsv, gzipped if in .gz.",
)
def command(name: str | None, out: str | None, as_json: bool) -> None:
    """List, describe or export bundled data sets.

    Without NAME all data sets are listed, with it one is described, and with --out written to a file.

    Other commands take the names too: 'latentree fit carcinoma'. Sets that are not part of latentree are read from the
    folder that the environment variable LATENTREE_DATA names; they are listed last.
    """
    if name is None:
        if out is not None:
            raise click.UsageError("--out needs the NAME of a data set.")
        _list(as_json)
        return
    from ..datasets import describe

    about = describe(name)
    if out is not None:
        _export(about, out)
    if as_json:
        emit({"command": "datasets", **asdict(about), "n": about.rows, "warnings": session().warnings})
    elif out is None:
        click.echo(printable(str(about)))


def _list(as_json: bool) -> None:
    from ..datasets import describe, names

    found = [describe(name) for shipped in (True, False) for name in names(shipped=shipped)]
    if as_json:
        emit({"command": "datasets", "datasets": [asdict(about) for about in found]})
        return
    from .tables import grid

    rows = [[d.name, f"{d.rows:,}", str(d.columns), d.title] for d in found if d.shipped]
    grid(["name", "rows", "columns", "what"], rows, right=["rows", "columns"], fold=True)
    elsewhere = ", ".join(d.name for d in found if not d.shipped)
    click.echo(click.wrap_text(f"\nNot part of latentree, read from the folder LATENTREE_DATA: {elsewhere}."))


def _export(about: DataSet, out: str) -> None:
    from ..datasets import read
    from .files import check_outputs, check_rows_file, write_rows
    from .rows import weighed

    check_rows_file("--out", out)
    check_outputs({"--out": out}, [])
    columns = weighed(read(about.name))
    write_rows(columns, out)
    used = f" All {len(columns)} columns are there; by its name, {len(about.use)} are used." if about.use else ""
    note(f"'{about.name}' written to '{out}'.{used}")
