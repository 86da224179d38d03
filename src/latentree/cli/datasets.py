"""``latentree datasets``: data to try things on."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from .command import command as command_
from .options import force_option, rows_out_option
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
@rows_out_option("the data set")
@force_option
def command(name: str | None, out: str | None, force: bool, as_json: bool) -> None:
    """List, describe or export bundled data sets.

    Without NAME all data sets are listed, with it one is described, with its codebook: what its columns and values
    mean. With --out it is written to a file.

    Other commands take the names too: 'latentree fit carcinoma'. Sets that are not part of latentree are read from the
    folder that the environment variable LATENTREE_DATA names; they are listed last.
    """
    if name is None:
        if out is not None:
            raise click.UsageError("--out needs the NAME of a data set.")
        _list(as_json)
        return
    from ..datasets import codebook, describe

    about = describe(name)
    if out is not None:
        _export(about, out, force)
    if as_json:
        emit({**asdict(about), "n": about.rows, "codebook": asdict(codebook(name))})
    elif out is None:
        click.echo(printable(f"{about}\n\n{codebook(name)}".rstrip()))


def _list(as_json: bool) -> None:
    from ..datasets import describe, names

    found = [describe(name) for shipped in (True, False) for name in names(shipped=shipped)]
    if as_json:
        emit({"datasets": [asdict(about) for about in found]})
        return
    from .tables import grid

    rows = [[d.name, f"{d.rows:,}", str(d.columns), d.title] for d in found if d.shipped]
    grid(["name", "rows", "columns", "what"], rows, right=["rows", "columns"], fold=True)
    elsewhere = ", ".join(d.name for d in found if not d.shipped)
    click.echo(click.wrap_text(f"\nNot part of latentree, read from the folder LATENTREE_DATA: {elsewhere}."))


def _export(about: DataSet, out: str, force: bool) -> None:
    from ..datasets import read
    from .files import ROWS, Outputs
    from .rows import weighed

    outputs = Outputs("datasets", {"--out": (ROWS, out)}, [], force=force)
    columns = weighed(read(about.name))
    outputs.check_rows("--out", out, list(columns), list(columns))
    outputs.write_rows(columns, out)
    if about.use:
        note(f"All {len(columns)} columns of '{about.name}' are there; by its name, {len(about.use)} are used.")
