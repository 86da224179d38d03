"""One time limit for a whole command, from its first moment to its last file, and Ctrl-C once the work is done."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from .command import session
from .output import Session, note

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from ..runner import Clock

__all__ = ["NO_STATISTICS", "Finishing", "Limit", "clock_for"]

NO_STATISTICS = "No time was left for statistics of the fit: G2 and X2, residuals, more scores, intervals."

PER_VARIABLE, PER_CELL = 1.2e-4, 6e-8
"""Seconds to describe a result, for each variable and for each cell of the distinct rows."""
WRITING, PAGE, ROWS = 2e-5, 4e-5, 1e-7
"""Seconds to write a model, and a page, for each variable; and to write the rows, for each of their cells."""
STATISTICS = 6e-7
"""Seconds to compute the statistics of a fit, for each cell of the distinct rows."""
INTERVALS = 3e-9
"""Seconds to compute intervals, for each distinct row and pair of parameters."""
PROBE = 7e-4
"""Seconds that the work takes by which the speed of a machine is measured, on the machine of the figures above."""
WORTH = 0.05
"""A reserve of fewer seconds than this is not worth a measurement."""
GRACE = 0.5
"""Seconds beyond the limit in which a result is still described in full."""
AFTER_INTERRUPT = 0.2
"""Seconds after Ctrl-C in which a result is still described in full."""


class Limit:
    """The time limit of a command that reads data, works, describes the result and writes it.

    Time is kept for what follows the work, as long as that takes on this machine now.

    Parameters
    ----------
    seconds : float or None
        The limit.
    table : Table
        The data.
    pages, rows : int
        How many pages, and files of rows, will be written.
    statistics : bool
        Whether statistics of the fit are wanted.

    Attributes
    ----------
    work : Clock
        The clock of the work between reading and describing; it started with the command.
    """

    def __init__(
        self, seconds: float | None, table: Table, *, pages: int = 0, rows: int = 0, statistics: bool = False
    ) -> None:
        from ..runner import Budget, Clock

        started = session().started
        self.end = self.last = float("inf")
        self.times = 1.0
        """How many times longer things take here and now than where the figures were measured."""
        self.for_statistics = STATISTICS * table.n_variables * table.n_patterns
        if seconds is None:
            self.work = Clock(Budget(), started)
            return
        describing, writing = _describing(table), _writing(table, pages, rows) + statistics * self.for_statistics
        times = self.times = _slowness(started) if describing + writing > WORTH else 1.0
        self.for_statistics *= times
        self.work = Clock(Budget(seconds=max(seconds - times * (describing + writing), 0.0)), started)
        if (elapsed := time.monotonic() - started) > seconds > 0:
            note(f"Reading the data took {elapsed:.1f} s, longer than --time-limit allows: nothing more is tried.")
        self.last = started + seconds + GRACE
        self.end = self.last - times * writing

    def for_intervals(self, model: Model, table: Table) -> float:
        """Seconds that the intervals of a page take, if it has any."""
        from ..report._html_report import with_intervals

        pairs = float(model.tree.n_parameters) ** 2 if with_intervals(model) else 0.0
        return self.times * INTERVALS * table.n_patterns * pairs

    def finishing(self, interrupted: bool = False) -> Finishing:
        """Return the block in which the result is described, after work that may have been stopped by Ctrl-C."""
        own = session()
        own.ends(interrupted=interrupted)
        return Finishing(self.end, interrupted, own, last=self.last, for_statistics=self.for_statistics)


def clock_for(limit: float | None, table: Table) -> Clock:
    """Return the clock of the work of a command that writes neither pages nor rows."""
    return Limit(limit, table).work


def _describing(table: Table) -> float:
    return PER_VARIABLE * table.n_variables + PER_CELL * table.n_variables * table.n_patterns


def _writing(table: Table, pages: int, rows: int) -> float:
    return table.n_variables * (WRITING + pages * PAGE + rows * ROWS * len(table.inverse))


def _slowness(started: float) -> float:
    """How many times longer things take here and now than where the figures were measured."""
    import numpy as np

    alone = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        for _ in range(300):
            np.log(np.full(8, 0.5)).sum()
        alone = min(alone, (time.perf_counter() - began) / PROBE)
    shared = (time.monotonic() - started) / max(time.process_time(), 1e-3)  # others use the machine too
    return min(max(alone, 0.2), 10.0) * min(max(shared, 1.0), 4.0)


class Finishing:
    """A block in which a result is described: Ctrl-C does not lose it any more, but leaves less time for it.

    A second Ctrl-C ends it at once.

    Parameters
    ----------
    end : float
        When it should be done, by the monotonic clock.
    interrupted : bool
        Whether the work before it was stopped by Ctrl-C.
    own : Session, optional
        The session, which knows when Ctrl-C was pressed.
    last : float
        When everything should be written, by the monotonic clock.
    for_statistics : float
        Seconds that statistics of the fit would take.

    Attributes
    ----------
    interrupted : bool
        Whether Ctrl-C was pressed in the block.
    """

    def __init__(
        self,
        end: float,
        interrupted: bool,
        own: Session | None = None,
        *,
        last: float = float("inf"),
        for_statistics: float = 0.0,
    ) -> None:
        self.interrupted = False
        self._session = own or Session()
        self._end = end
        self._last, self._for_statistics = last, for_statistics
        self._stopped = interrupted
        self._old: object = None
        if interrupted:
            self._hurry()

    def hurried(self) -> bool:
        """Whether there is no time left for everything."""
        return time.monotonic() > self._end

    def without_statistics(self, intervals: float = 0.0, *, complete: bool = True) -> bool:
        """Whether there is no time for statistics, and for intervals that take so long; Ctrl-C leaves little of it.

        Statistics are those of a maximum. A fit that is not ``complete`` would be taken there first, and nobody knows
        how long that takes where there are many rows.
        """
        if not complete and self._for_statistics > WORTH:
            return True
        seconds = self._for_statistics + intervals
        if (self._stopped or self.interrupted) and seconds > AFTER_INTERRUPT:
            return True
        return time.monotonic() + seconds > self._last

    def _hurry(self) -> None:
        self._session.ends(interrupted=True)
        self._end = min(self._end, (self._session.interrupted or 0.0) + AFTER_INTERRUPT)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
        self._hurry()

    def __enter__(self) -> Finishing:
        if threading.current_thread() is threading.main_thread():
            self._old = signal.getsignal(signal.SIGINT)
            if self._old is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._old is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)
