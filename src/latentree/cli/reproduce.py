"""``latentree reproduce``: published tables, ours beside theirs."""

from __future__ import annotations

import click

from ..reproduce import NAMES
from .command import SETTINGS, Command, debug_option

__all__ = ["command"]

EXAMPLES = """
latentree reproduce merging
latentree reproduce selection --out selection.md
latentree reproduce selection --help
"""


@click.command(
    "reproduce",
    cls=Command,
    examples=EXAMPLES,
    context_settings={**SETTINGS, "ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("study", type=click.Choice(list(NAMES)))
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@debug_option
def command(study: str, options: tuple[str, ...]) -> None:
    """Do a published study again, and show ours beside theirs.

    Every STUDY has --out FILE, --data DIR (data sets that do not come with latentree) and --seed; 'latentree reproduce
    STUDY --help' lists the rest.
    """
    from ..reproduce import reproduce

    reproduce(study, options)
