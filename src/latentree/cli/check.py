"""``latentree check``: one look at every column before anything is fitted."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

import click

from .command import command as command_, file
from .options import data_argument, force_option, learning_options
from .output import emit, printable

if TYPE_CHECKING:
    from ..formats._check import Check
    from ..formats._recipe import Recipe

__all__ = ["command"]

EXAMPLES = """
latentree check survey.csv
latentree check survey.csv --write-recipe survey.toml
latentree fit survey.csv --recipe survey.toml
"""

OUTPUT = "Output"


@command_("check", examples=EXAMPLES)
@data_argument
@learning_options
@file(
    "--write-recipe",
    OUTPUT,
    "Write what is proposed to this file, which ends in .toml or .json. Other commands read it with --recipe.",
)
@force_option
def command(data: str, write_recipe: str | None, force: bool, as_json: bool, **options: Any) -> None:
    """Look at every column of DATA, and propose what to do with it.

    For each column: what kind it is, how many values it has and which are the most frequent, how many cells are
    missing, and what is suspicious: codes such as 99, -1 or 'k.A.', values that differ only in capitals, identifiers,
    dates, free text, numbers to cut, weights, values that are rare or the only one.

    Nothing is changed. The last lines are a command with all that is proposed, ready to be copied, and what would still
    be wrong then. Options that are given count as decided.
    """
    from ..formats._check import check
    from .data import source_to_learn
    from .files import RECIPE, Outputs

    outputs = Outputs("check", {"--write-recipe": (RECIPE, write_recipe)}, [data, options["recipe"]], force=force)
    source = source_to_learn(data, options)
    found = check(source.frame, source.used)
    if write_recipe is not None:
        outputs.write_recipe(found.recipe, write_recipe)
    ready = ready_command(data, found.recipe, source.used if source.path is None else None)
    if as_json:
        emit({"data": source.name, **_document(found), "command": ready})
        return
    _show(found)
    if found.error is not None:
        click.echo(printable(f"\nStill wrong then: {found.error.shown('shell')}"))
    click.echo(printable(f"\n{ready}"))


def ready_command(data: str, recipe: Recipe, known: Recipe | None = None) -> str:
    """Write the command that fits the data as a recipe says; what a data set itself implies is left out.

    Examples
    --------
    >>> from latentree.formats import Recipe
    >>> ready_command("survey.csv", Recipe(drop=("id",), missing_in={"age": ("99",)}, bins={"age": 3}))
    'latentree fit survey.csv --drop id --missing age=99 --bins age=3'
    """
    from .data import as_options

    if known is not None:
        alike = (own for own in fields(recipe) if getattr(recipe, own.name) == getattr(known, own.name))
        same: dict[str, Any] = {own.name: own.default for own in alike}
        recipe = replace(recipe, **same)
    told = [
        part
        for own in fields(recipe)
        if (value := getattr(recipe, own.name)) != own.default
        for part in as_options(own.name, value)
    ]
    return " ".join(["latentree fit", shlex.quote(data), *told])


def _show(found: Check) -> None:
    from ..report._legend import legend_lines
    from .tables import grid

    click.echo(f"{found.n_rows:,} rows, {len(found.columns)} columns\n")
    rows = [
        [
            own.name,
            own.kind,
            f"{own.n_values:,}",
            f"{own.missing:,}",
            ", ".join(f"{value} ({count:g})" for value, count in own.values[:3]) if own.kind == "answers" else "",
            own.treatment,
        ]
        for own in found.columns
    ]
    names = ["column", "kind", "values", "missing", "most frequent", "proposed"]
    grid(names, [list(map(printable, row)) for row in rows], right=["values", "missing"], fold=True)
    lines = legend_lines([(own.name, own.label) for own in found.columns], shutil.get_terminal_size().columns)
    if lines:
        click.echo("\n".join(["\nWhat the columns are", *lines]))
    told = [(own.name, text) for own in found.columns for text in own.findings]
    if told:
        click.echo()
    for name, text in told:
        click.echo(printable(f"{name}: {text}"))


def _document(found: Check) -> dict[str, Any]:
    return {
        "n_rows": found.n_rows,
        "columns": [asdict(own) for own in found.columns],
        "recipe": found.recipe.to_plain(),
        "remaining": "" if found.error is None else found.error.shown("shell"),
    }
