"""The application: its commands, and what becomes of errors."""

from __future__ import annotations

import importlib
import sys
import traceback
from typing import Any

import click

from .. import __version__
from .._registry import suggestion
from ..errors import LatentreeError
from .command import SETTINGS, debug_option, write_examples
from .output import Session, note

__all__ = ["application"]

COMMANDS = {
    "check": "check",
    "learn": "learn",
    "fit": "fit",
    "compare": "compare",
    "two-latents": "two_latents",
    "sample": "sample",
    "show": "show",
    "name": "name",
    "report": "report",
    "explore": "explore",
    "trace": "trace",
    "score": "score",
    "assign": "assign",
    "predict": "predict",
    "relate": "relate",
    "impute": "impute",
    "query": "query",
    "refit": "refit",
    "dimension": "dimension",
    "sample-data": "sample_data",
    "power": "power",
    "convert": "convert",
    "datasets": "datasets",
    "reproduce": "reproduce",
    "completion": "completion",
}
"""Commands in the order of the help, and the module of each."""

FAILED, MISUSED, INTERRUPTED = 1, 2, 130

EXITS = {
    0: "Done.",
    FAILED: "Something is wrong with the data, the model or a file; the message says what.",
    MISUSED: "Wrong usage: an unknown option, a missing argument, an invalid value.",
    INTERRUPTED: "Interrupted by Ctrl-C; 'learn', 'fit', 'sample' and 'power' still show and write what they have.",
}

EXAMPLES = """
latentree check survey.csv
latentree learn survey.csv --drop id --out model.json
latentree fit survey.csv --drop id --classes 1-6 --assign rows.csv
latentree query model.json --ask smokes --given sex=f
latentree learn --help
"""


class Application(click.Group):
    """Loads commands when they are called, and turns every way to fail into a message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f".{COMMANDS[cmd_name]}", __package__).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed, or say which one may have been meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            meant = suggestion(name, COMMANDS) or f" There are {', '.join(COMMANDS)}."
            raise click.UsageError(f"There is no command '{name}'.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and the exit codes."""
        write_examples(formatter, EXAMPLES)
        with formatter.section("Exit status"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXITS.items()])

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command and leave with its exit code."""
        _tolerate_any_text()
        session = extra.pop("obj", None) or Session()
        code = FAILED
        try:
            code = super().main(*args, **extra | {"standalone_mode": False, "obj": session}) or 0
        except click.ClickException as error:
            error.show()
            code = error.exit_code
        except (click.Abort, KeyboardInterrupt):
            click.echo("Interrupted.", err=True)
            code = INTERRUPTED
        except (LatentreeError, OSError, MemoryError) as error:
            _tell(session, error, _expected(error))
        except Exception as error:
            _tell(session, error, _unexpected(error))
        sys.exit(code)


def _tolerate_any_text() -> None:
    # A terminal that lacks a character of the data shows its code instead of breaking the output off.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _tell(session: Session, error: Exception, message: str) -> None:
    if session.debug:
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    note(message, label="Error:", colour="red")


def _expected(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "There is not enough memory for this. Use fewer classes, starts or columns."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror} ('{error.filename}')" if error.filename else error.strerror
    return error.shown("shell") if isinstance(error, LatentreeError) else str(error)


def _unexpected(error: Exception) -> str:
    return (
        f"{type(error).__name__}: {error}\n"
        "This is a defect of latentree. Please report it, with what the same command prints with --debug."
    )


@click.group(cls=Application, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="latentree")
@debug_option
def application() -> None:
    """Latent class and latent tree models of categorical data.

    A data file is CSV or TSV (gzipped or not), Parquet, ARFF, HLCM, or a file of Excel, OpenDocument, SPSS, Stata or
    SAS. Where a command takes data, the name of a data set that comes with latentree will do too.
    """
