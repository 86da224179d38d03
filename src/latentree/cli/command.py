"""What all commands have in common: help in sections, ``--json``, ``--debug``, and warnings in words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from .._scale import shown_on
from ..errors import LatentreeWarning
from .output import Session, note
from .types import Whole

__all__ = [
    "SETTINGS",
    "Command",
    "command",
    "debug_option",
    "file",
    "flag",
    "option",
    "session",
    "warn",
    "whole",
    "write_examples",
]

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

OTHERS = "Other options"
"""The last section of the help."""

SHOWING = ("learn", "fit", "compare", "two-latents", "show", "report", "explore", "score")
"""Commands that show scores, on a scale that can be chosen."""

RENAMED = {"--threads": "--n-jobs", "--starts": "--n-init", "--kmax": "--max-classes", "--checkpoint": "--resume"}
"""Options of earlier versions, and what they are called now."""

Function = TypeVar("Function", bound=Callable[..., Any])


class Option(click.Option):
    """An option that stands in a section of the help."""

    def __init__(self, *args: Any, section: str = OTHERS, **more: Any) -> None:
        super().__init__(*args, **more)
        self.section = section


class Command(click.Command):
    """A command with options in sections and examples at the end of its help."""

    def __init__(self, *args: Any, examples: str = "", **more: Any) -> None:
        super().__init__(*args, **more)
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(parameter, "section", OTHERS), []).append(record)
        for title, records in sorted(sections.items(), key=lambda item: item[0] == OTHERS):
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_examples(formatter, self.examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options; one that was renamed is answered with its new name."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            new = RENAMED.get(error.option_name)
            if new is None or all(new not in parameter.opts for parameter in self.params):
                raise
            raise click.UsageError(f"{error.option_name} is called {new} now.", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run it, with warnings as notes on standard error."""
        own = ctx.ensure_object(Session)
        with own.running(), _noting_warnings(own), shown_on(own.scale):
            return super().invoke(ctx)


def write_examples(formatter: click.HelpFormatter, lines: str) -> None:
    """Write lines as they are: a command that is folded cannot be copied."""
    with formatter.section("Examples"):
        for line in lines.strip().splitlines():
            formatter.write(f"  {line.strip()}\n")


def command(name: str, *, examples: str) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command, with the options that every command has."""

    def made(function: Callable[..., Any]) -> Command:
        whole = json_option(debug_option(scale_option(function) if name in SHOWING else function))
        return click.command(name, cls=Command, examples=examples, context_settings=SETTINGS)(whole)

    return made


def option(*names: str, **more: Any) -> Callable[[Function], Function]:
    """Add an option: its name, with what stands for its value, a section of the help and a text.

    A default is shown unless told otherwise.
    """
    *own, section, text = names
    own[0], _, value = own[0].partition(" ")
    more = {"show_default": more.get("default") is not None, **({"metavar": value} if value else {}), **more}
    return click.option(*own, cls=Option, section=section, help=text, **more)


def whole(*names: str, min: int = 1, max: int | None = None, **more: Any) -> Callable[[Function], Function]:
    """Add an option that takes a whole number."""
    return option(*names, type=Whole(min, max), metavar="N", **more)


def file(*names: str, **more: Any) -> Callable[[Function], Function]:
    """Add an option that takes the name of a file."""
    return option(*names, type=click.Path(), metavar="FILE", **more)


def flag(*names: str, **more: Any) -> Callable[[Function], Function]:
    """Add an option without a value."""
    return option(*names, is_flag=True, **more)


def _set_debug(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Session).debug = True


def debug_option(function: Function) -> Function:
    """Add ``--debug``."""
    return click.option(
        "--debug", is_flag=True, expose_value=False, is_eager=True, callback=_set_debug, help="Show where errors arose."
    )(function)


def _set_scale(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    ctx.ensure_object(Session).scale = value


def scale_option(function: Function) -> Function:
    """Add ``--scale``."""
    return click.option(
        "--scale",
        type=click.Choice(["deviance", "likelihood"]),
        default="deviance",
        expose_value=False,
        is_eager=True,
        callback=_set_scale,
        help="How AIC, BIC and other scores are shown: as -2 LL + penalty, of which lower is better (default), or as "
        "LL - penalty, of which higher is better. The JSON has both.",
    )(function)


def json_option(function: Function) -> Function:
    """Add ``--json``."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object; all else goes to standard error."
    )(function)


def session() -> Session:
    """Return the session of the command that is running."""
    return click.get_current_context().ensure_object(Session)


def warn(text: str, own: Session | None = None) -> None:
    """Say on standard error, once, what a user should know, and keep it for ``--json``."""
    told = (own or session()).warnings
    if text in told:
        return
    told.append(text)
    note(text, label="Warning:", colour="yellow")


@contextmanager
def _noting_warnings(own: Session) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always", LatentreeWarning)
        default = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, LatentreeWarning):
                default(message, category, *where, **more)
                return
            warn(message.shown("shell") if isinstance(message, LatentreeWarning) else str(message), own)

        warnings.showwarning = show
        yield
