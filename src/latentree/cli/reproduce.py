"""``latentree reproduce``: where the studies of published tables are."""

from __future__ import annotations

import click

from .command import SETTINGS, Command, debug_option

__all__ = ["command"]

WHERE = """\
The studies that reproduce published tables are not part of the installed package: they run from a checkout.

    git clone REPOSITORY && cd latentree
    make study-search                  # or: python -m studies.search --help
    python -m studies                  # lists the studies
"""


@click.command("reproduce", cls=Command, context_settings={**SETTINGS, "ignore_unknown_options": True})
@click.argument("study", nargs=-1, type=click.UNPROCESSED)
@debug_option
def command(study: tuple[str, ...]) -> None:
    """Show where the studies that reproduce published tables are."""
    click.echo(WHERE, nl=False)
