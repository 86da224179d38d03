"""One time limit for a whole command, from its first moment to its last file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .command import session

if TYPE_CHECKING:
    from .._table import Table
    from ..runner import Clock

__all__ = ["clock_for"]

START = 0.5
"""Seconds that a command takes before it reads anything."""
DESCRIBING, WRITING = 1.0, 0.3
"""Time to describe a result, and to write a file of rows or a page, in times of that to read its distinct rows.

Measured with 1,000 rows of 5,000 columns; with fewer columns both are short. Since they are multiples of the time that
reading took, they are right on any machine, however busy.
"""
LEAST = 0.1
"""Part of the time left that the work itself gets in any case."""


def clock_for(limit: float | None, table: Table, n_files: int = 0) -> Clock:
    """Return the clock of the work between reading and showing; it started with the command."""
    from ..runner import Budget, Clock

    started = session().started
    if limit is None:
        return Clock(Budget(), started)
    elapsed = time.monotonic() - started
    distinct = table.n_patterns / max(len(table.inverse), 1)
    kept = max(elapsed - START, 0.0) * distinct * (DESCRIBING + n_files * WRITING)
    return Clock(Budget(seconds=max(limit - kept, min(elapsed + LEAST * (limit - elapsed), limit), 0.0)), started)
