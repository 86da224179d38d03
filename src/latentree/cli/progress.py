"""A progress bar on a terminal, silence elsewhere."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

import click

from .output import Session

if TYPE_CHECKING:
    from types import FrameType

    from ..runner import OnProgress, Progress
    from ..search import Step

__all__ = ["Meter", "SearchMeter", "meter", "search_meter"]

SCREENING = 0.3
"""Share of the bar for the time until the last starts are chosen."""


STOPPING = b"\nStopping, with what there is so far. Press Ctrl-C again to leave at once.\n"

OTHERS = 14
"""Columns for the time and the gaps."""


class Meter:
    """Shows how far a series of fits is; without a bar it shows nothing."""

    def __init__(self, bar: Any = None, total: int | None = 0) -> None:
        self.bar, self.total, self.done = bar, total, 0
        self.task = None if bar is None else bar.add_task("", total=total, status="")

    def watch(self, n_classes: int) -> OnProgress | None:
        """Begin with the next fit; return what takes its progress events."""
        if self.bar is None:
            return None
        before, self.done = self.done, self.done + 1
        name = f"{n_classes} {'class' if n_classes == 1 else 'classes'}"
        self.bar.update(self.task, completed=before, description=name, status="")

        def on_event(event: Progress) -> None:
            part = event.done / event.total if event.total else 0.0
            screening = event.stage == "starts"
            share = SCREENING * part if screening else SCREENING + (1 - SCREENING) * min(part, 1.0)
            reached = "" if event.objective is None else f"  log-likelihood {event.objective:.2f}"
            step = f"start {event.done} of {event.total}" if screening else f"step {event.done}"
            self.bar.update(self.task, completed=before + share, status=f"{step}{reached}")

        return on_event

    def follow(self, score: str) -> OnProgress | None:
        """Return what takes the progress events of learning the number of classes; nobody knows how long it takes."""
        if self.bar is None:
            return None

        from .._scale import shown_score

        def on_event(event: Progress) -> None:
            k = event.detail["classes"]
            reached = f"step {event.done}, {event.stage}  {score} {shown_score(event.objective, score):.2f}"
            self.bar.update(self.task, description=f"{k} {'class' if k == 1 else 'classes'}", status=reached)

        return on_event


class SearchMeter:
    """Shows how far a search is: score, size of the tree, what was done last and what is being looked at."""

    def __init__(self, bar: Any, score: str, n_variables: int) -> None:
        self.bar, self.score, self.n_variables = bar, score, n_variables
        self.task = None if bar is None else bar.add_task("", total=None, status="", now="starting")

    def step(self, step: Step) -> None:
        """Show the tree that a step reached."""
        if self.bar is None:
            return
        from .._scale import shown_score
        from .output import printable

        latents = len(step.states) - self.n_variables
        tree = f"{latents} latent{'' if latents == 1 else 's'}, {step.dimension:,} parameters"
        score = f"{self.score.upper()} {shown_score(step.score, self.score):,.2f}"
        number, status = f"step {step.number}", f"{score}  {tree}  {step.kind}"
        room = max(self.bar.console.width - len(number) - len(status) - OTHERS, 0)
        self.bar.update(self.task, description=number, status=status, now=printable(step.operation)[:room])

    def progress(self, event: Progress) -> None:
        """Show what is being looked at."""
        if self.bar is not None:
            part = f"{event.done:,}" + ("" if event.total is None else f"/{event.total:,}")
            self.bar.update(self.task, now=f"{event.stage} {part}")


@contextmanager
def _answering_interrupts() -> Iterator[None]:
    """Answer Ctrl-C at once, since the work may take a moment to stop and its result another to be shown."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or current_thread() is not main_thread():
        yield
        return

    context = click.get_current_context(silent=True)
    own = Session() if context is None else context.ensure_object(Session)

    def answer(number: int, frame: FrameType | None) -> None:
        own.ends(interrupted=True)
        # Not by print: the handler may run while something else is being printed.
        os.write(sys.__stderr__.fileno(), STOPPING) if sys.__stderr__ else None
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _bar(*, known: bool) -> Iterator[Any]:
    """A line on standard error while something runs, None if that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress as Bar, SpinnerColumn, TextColumn, TimeElapsedColumn

    # Names of the data may stand there: no markup in them is obeyed.
    texts = ("description", "fields[status]", *(() if known else ("fields[now]",)))
    first, *others = (TextColumn(f"{{task.{text}}}", markup=False) for text in texts)
    shape = BarColumn() if known else SpinnerColumn("line")
    with Bar(first, shape, *others, TimeElapsedColumn(), console=Console(file=sys.stderr), transient=True) as bar:
        yield bar


@contextmanager
def meter(total: int | None) -> Iterator[Meter]:
    """Show a bar on standard error while fits run, if that is a terminal. None: it is not known how long."""
    with _answering_interrupts(), _bar(known=True) as bar:
        yield Meter(bar, total)


@contextmanager
def search_meter(score: str, n_variables: int) -> Iterator[SearchMeter]:
    """Show on standard error how a search goes, if that is a terminal."""
    with _answering_interrupts(), _bar(known=False) as bar:
        yield SearchMeter(bar, score, n_variables)
