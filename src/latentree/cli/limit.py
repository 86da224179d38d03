"""One time limit for a whole command, from its first moment to its last file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .command import session

if TYPE_CHECKING:
    from .._table import Table
    from ..runner import Clock

__all__ = ["clock_for"]

DESCRIBING = 2e-7
"""Seconds that a cell of the distinct rows takes to be described; measured with 5,000 columns, where it matters."""
WRITING = 2e-7
"""The same for each file of rows or page."""
SPARE = 0.1
"""Part of the limit that is kept for what nobody foresees."""


def clock_for(limit: float | None, table: Table, n_files: int = 0) -> Clock:
    """Return the clock of the work between reading and showing, which began with the command.

    Parameters
    ----------
    limit : float, optional
        Seconds for the whole command. Default: no limit.
    table : Table
        The data, by whose size the time to show the result is foreseen.
    n_files : int
        Files of rows and pages that are to be written too.
    """
    from ..runner import Budget, Clock

    started = session().started
    if limit is None:
        return Clock(Budget(), started)
    cells = table.n_patterns * table.n_variables
    kept = cells * (DESCRIBING + n_files * WRITING)
    left = max(limit - (time.monotonic() - started), 0.0)
    return Clock(Budget(seconds=max(limit - min(kept, left * (1 - SPARE)), 0.0)), started)
