"""What goes to standard output and what to standard error."""

from __future__ import annotations

import gc
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from rich.console import Console

    from ..report._contents import Contents

__all__ = [
    "UNWRAPPED",
    "Session",
    "Stopped",
    "console",
    "emit",
    "note",
    "plain",
    "print_report",
    "printable",
    "tell_resumed",
]

UNWRAPPED = 10_000
"""A width at which nothing is cut off or folded."""


@dataclass
class Session:
    """What one run of the program knows of itself."""

    debug: bool = False
    started: float = field(default_factory=time.monotonic)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scale: Literal["deviance", "likelihood"] = "deviance"
    interrupted: float | None = None
    """When Ctrl-C stopped the work, by the monotonic clock."""
    _collecting: bool = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run a command in this block."""
        self._collecting = gc.isenabled()
        try:
            yield
        finally:
            if self._collecting:
                gc.enable()

    def ends(self, *, interrupted: bool = False) -> None:
        """Take note that the work is over: what is left is short, and to look for garbage would take a part of it."""
        if self._collecting:
            gc.disable()
        if interrupted and self.interrupted is None:
            self.interrupted = time.monotonic()


class Stopped(click.ClickException):
    """Ctrl-C, and what it left undone."""

    exit_code = 130

    def show(self, file: IO[Any] | None = None) -> None:
        """Say it on standard error."""
        note(self.message)


ALWAYS = ("log_likelihood", "n_parameters", "n", "bic", "aic", "seconds", "seed")
"""Keys of every JSON object, so that a program can read them whatever the command."""


def emit(document: Mapping[str, Any]) -> None:
    """Print the one JSON object of ``--json``, with the command, the time it took and what it warned of.

    Keys that a command has nothing to say about are null.
    """
    context = click.get_current_context()
    own = context.ensure_object(Session)
    told = {"command": context.command.name, **document, "seconds": time.monotonic() - own.started}
    whole = {**dict.fromkeys(ALWAYS), "warnings": own.warnings, **told}
    known = {name: whole[name] for name in ("aic", "bic") if isinstance(whole[name], int | float)}
    if known:
        whole["score_scale"] = "log-likelihood - penalty: higher is better"
        whole["deviance_scale"] = {name: -2.0 * value for name, value in known.items()}
    click.echo(_json_text(whole))


LARGE = 1_000_000
"""Characters above which nobody reads JSON line by line, and to indent it would take long."""


def _json_text(document: Mapping[str, Any]) -> str:
    """One JSON object in pure ASCII, which is right in every encoding that standard output may have.

    What is in it stands on lines of its own; in a large one only the keys of the object itself do.
    """
    try:
        parts = {key: json.dumps(value, allow_nan=False) for key, value in document.items()}
    except (TypeError, ValueError):  # something that JSON does not have is in it
        document = plain(document)
        parts = {key: json.dumps(value) for key, value in document.items()}
    if sum(map(len, parts.values())) <= LARGE:
        return json.dumps(document, indent=2)
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {text}" for key, text in parts.items()) + "\n}"


def plain(value: Any) -> Any:
    """Turn NumPy values into plain ones, and numbers that JSON does not have into null.

    Examples
    --------
    >>> plain({"a": (1, float("nan")), "b": -float("inf")})
    {'a': [1, None], 'b': None}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def note(text: str, *, label: str = "", colour: str | None = None) -> None:
    """Say something on standard error."""
    click.echo((click.style(label, fg=colour) + " " if label else "") + printable(text), err=True)


def tell_resumed(path: str | None) -> None:
    """Say that work goes on from a file, if it is there."""
    if path is not None and os.path.exists(path):
        note(f"Continuing from '{path}'.")


def printable(text: str) -> str:
    r"""Show characters that would steer the terminal by their codes; lines and tabs stay.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    if text.replace("\n", "").replace("\t", "").isprintable():  # most is, and needs no import
        return text
    from ..report._printable import printable as shown

    return shown(text, keep="\n\t")


def console(width: int) -> Console:
    """Return what tables are printed on. Text is printed as it is: square brackets and colons mean nothing."""
    from rich.console import Console

    return Console(file=sys.stdout, width=width, markup=False, highlight=False, emoji=False)


def print_report(report: Contents, *, everything: bool = False) -> None:
    """Print what :mod:`latentree.report` has to say, or all of it."""
    from ..report import render

    width = shutil.get_terminal_size().columns
    limits: dict[str, Any] = {"max_variables": None, "max_states": None} if everything else {}
    printer = console(width)
    with printer.capture() as captured:
        printer.print(render(report, width=width, **limits))
    lines = captured.get().replace("max_variables=None", "--all").splitlines()
    click.echo("\n".join(line.rstrip() for line in lines))
