"""A progress bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..runner import OnProgress, Progress

__all__ = ["Meter", "meter"]

SCREENING = 0.3
"""Share of the bar for the time until the last starts are chosen."""


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

        def heard(event: Progress) -> None:
            part = event.done / event.total if event.total else 0.0
            screening = event.stage == "starts"
            share = SCREENING * part if screening else SCREENING + (1 - SCREENING) * min(part, 1.0)
            reached = "" if event.objective is None else f"  log-likelihood {event.objective:.2f}"
            step = f"start {event.done} of {event.total}" if screening else f"step {event.done}"
            self.bar.update(self.task, completed=before + share, status=f"{step}{reached}")

        return heard

    def follow(self, score: str) -> OnProgress | None:
        """Return what takes the progress events of learning the number of classes; nobody knows how long it takes."""
        if self.bar is None:
            return None

        def heard(event: Progress) -> None:
            k = event.detail["classes"]
            reached = f"step {event.done}, {event.stage}  {score} {event.objective:.2f}"
            self.bar.update(self.task, description=f"{k} {'class' if k == 1 else 'classes'}", status=reached)

        return heard


@contextmanager
def meter(total: int | None) -> Iterator[Meter]:
    """Show a bar on standard error while something runs, if that is a terminal. None: it is not known how long."""
    if not sys.stderr.isatty():
        yield Meter()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[status]}"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        yield Meter(bar, total)
