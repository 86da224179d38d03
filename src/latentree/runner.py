"""What fits, searches and samplers share: budgets, reasons to stop, progress, Ctrl-C, seeds.

An algorithm is a first state and ``step(state) -> state, info``; :func:`run` adds the rest. Since a state is whole
after every step, stopping at any moment loses at most the step under way.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

import numpy as np

from .checkpoint import Checkpoint, Saved
from .errors import bad_parameter

__all__ = ["Budget", "CheckpointWriter", "Clock", "OnProgress", "Outcome", "Progress", "StopReason", "run", "spawn"]

EVERY_SECONDS = 5.0
"""Least time between two checkpoints, unless more or less is asked for."""
PAUSE = 20.0
"""Between two checkpoints there is at least this many times what the first of them took to write."""

State = TypeVar("State")
Info = TypeVar("Info")
T = TypeVar("T")


# ---- how long, and why it ended -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Budget:
    """How long something may take.

    Parameters
    ----------
    seconds : float, optional
        Wall-clock time. A step under way when it is over is finished first. Default: no limit.
    iterations : int, optional
        Steps in all, those before a resumed checkpoint included. Default: no limit.

    Examples
    --------
    >>> clock = Budget(seconds=60).start()
    >>> clock.expired, 59 < clock.remaining <= 60
    (False, True)
    """

    seconds: float | None = None
    iterations: int | None = None

    def __post_init__(self) -> None:
        s, i = self.seconds, self.iterations
        if s is not None and (isinstance(s, bool) or not isinstance(s, int | float | np.number) or not s >= 0):
            raise bad_parameter("seconds", "Budget", "a number of at least 0, or None", s)
        if i is not None and (isinstance(i, bool) or not isinstance(i, int | np.integer) or i < 0):
            raise bad_parameter("iterations", "Budget", "a whole number of at least 0, or None", i)

    def start(self) -> Clock:
        """Start the clock."""
        return Clock(self)


@dataclass(frozen=True)
class Clock:
    """A budget whose time is running. Make one with :meth:`Budget.start`."""

    budget: Budget
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def remaining(self) -> float:
        """Seconds left, 0 when the time is over, infinity without a limit."""
        if stopping():
            return 0.0
        limit = math.inf if self.budget.seconds is None else float(self.budget.seconds)
        return max(limit - self.elapsed, 0.0)

    @property
    def expired(self) -> bool:
        """Whether the time is over."""
        return self.remaining <= 0.0

    def left(self, iterations: int | None = None) -> Budget:
        """Return a budget of the time that remains, for a part of the work.

        Examples
        --------
        >>> Budget().start().left(iterations=20)
        Budget(seconds=None, iterations=20)
        """
        return Budget(None if self.budget.seconds is None else self.remaining, iterations)


_stop: ContextVar[threading.Event | None] = ContextVar("latentree_stop", default=None)


def stopping() -> bool:
    """Whether nobody waits for the result of this thread any more: all its clocks have run out."""
    event = _stop.get()
    return event is not None and event.is_set()


def until(event: threading.Event, task: Callable[..., T], *args: Any) -> T:
    """Do a task in a thread of its own, whose clocks run out when the event is set.

    Signals reach only the main thread, and threads cannot be ended from outside.

    Examples
    --------
    >>> over = threading.Event()
    >>> over.set()
    >>> until(over, lambda: Budget().start().expired), Budget().start().expired
    (True, False)
    """
    token = _stop.set(event)
    try:
        return task(*args)
    finally:
        _stop.reset(token)


class StopReason(Enum):
    """Why something ended. The message says what that means and what can be done about it.

    Examples
    --------
    >>> StopReason("time").complete, StopReason.CONVERGED.complete
    (False, True)
    >>> print(StopReason.ITERATIONS)
    The iteration limit was reached first. Allow more iterations, or a larger tolerance.
    """

    message: str
    complete: bool

    CONVERGED = "converged", "The gain of a step fell below the tolerance.", True
    EXHAUSTED = "exhausted", "No candidate improves the score further.", True
    FINISHED = "finished", "All the steps asked for were made.", True
    ITERATIONS = (
        "iterations",
        "The iteration limit was reached first. Allow more iterations, or a larger tolerance.",
        False,
    )
    TIME = (
        "time",
        "The time limit was reached first. Allow more time, or resume from the checkpoint if there is one.",
        False,
    )
    INTERRUPTED = (
        "interrupted",
        "It was interrupted; this is the result of the last complete step. Run it again, or resume from the "
        "checkpoint if there is one.",
        False,
    )
    IMPOSSIBLE = (
        "impossible",
        "The data have probability zero under the parameters it started from. Start from parameters without zeros, "
        "or use a prior.",
        False,
    )
    DIVERGED = (
        "diverged",
        "The objective is no longer a finite number. Take smaller steps, use a prior, or start elsewhere.",
        False,
    )
    STALLED = (
        "stalled",
        "No step along the search direction improves the objective. Go on with EM, or accept this point.",
        False,
    )

    def __new__(cls, code: str, message: str, complete: bool) -> StopReason:
        """Make a member whose value is the code alone, as files hold it."""
        member = object.__new__(cls)
        member._value_ = code
        member.message = message
        member.complete = complete
        return member

    @classmethod
    def of(cls, value: str) -> StopReason:
        """The reason of that value, as files hold it."""
        return {own.value: own for own in cls}[value]

    def __str__(self) -> str:
        return self.message


# ---- progress -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Progress:
    """Where a long computation is.

    Parameters
    ----------
    stage : str
        What is being done.
    done : int
        How much of it is done.
    total : int, optional
        How much there is, if known.
    objective : float, optional
        What is being maximised, so far.
    seconds : float
        Time since the start.
    detail : mapping
        Whatever else the stage has to say.

    Examples
    --------
    >>> print(Progress("restarts", 3, 16, -1234.5, 0.25))
    restarts 3/16, objective -1234.5, 0.2 s
    """

    stage: str
    done: int
    total: int | None = None
    objective: float | None = None
    seconds: float = 0.0
    detail: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [f"{self.stage} {self.done}" + ("" if self.total is None else f"/{self.total}")]
        if self.objective is not None:
            parts.append(f"objective {self.objective:.10g}")
        parts += [f"{key} {value}" for key, value in self.detail.items()]
        return ", ".join([*parts, f"{self.seconds:.1f} s"])


OnProgress = Callable[[Progress], None]
"""What takes progress events."""


# ---- the loop -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome(Generic[State, Info]):
    """What :func:`run` returns: the last state, and why it is the last."""

    state: State
    info: Info | None
    """What the last step said beside the state; None if none was made."""
    reason: StopReason
    steps: int
    """Steps in all, those before a resumed checkpoint included."""
    seconds: float
    """Seconds in all, likewise."""


_running: ContextVar[bool] = ContextVar("latentree_running", default=False)


def run(
    state: State,
    step: Callable[[State], tuple[State, Info]],
    *,
    budget: Budget | Clock | None = None,
    done: Callable[[State, Info], StopReason | None] | None = None,
    on_step: Callable[[State, Info], None] | None = None,
    rng: np.random.Generator | None = None,
    checkpoint: Checkpoint | None = None,
    pack: Callable[[State], Mapping[str, Any]] | None = None,
    resumed: Saved | None = None,
    every_seconds: float | None = None,
) -> Outcome[State, Info]:
    """Repeat a step until it is done, the budget is spent or Ctrl-C is pressed.

    Parameters
    ----------
    state
        The first state. States are never changed, only replaced.
    step : callable
        ``step(state)`` gives the next state and whatever there is to say about the step.
    budget : Budget or Clock, optional
        Limits of time and steps; a clock that is running already is shared. Default: none.
    done : callable, optional
        ``done(state, info)`` gives a reason to stop, or None to go on.
    on_step : callable, optional
        ``on_step(state, info)`` is called after every step.
    rng : numpy.random.Generator, optional
        The generator the steps draw from. It goes into checkpoints, and after an interrupt it is set back to where
        the last complete step left it.
    checkpoint : Checkpoint, optional
        Where to save the state: after a step when ``every_seconds`` have passed, and at the end however that comes.
    pack : callable, optional
        Turns a state into what the checkpoint can hold. Default: the state is such a mapping itself.
    resumed : Saved, optional
        The checkpoint that ``state`` comes from; its steps and seconds are added to.
    every_seconds : float, optional
        Least time between two checkpoints; 0 saves every step. Default: 5, or more if saving takes long, so that it
        never takes more than a twentieth of the time.

    Returns
    -------
    Outcome
        The last state and why it is the last. Ctrl-C during a step gives the state before it and
        ``StopReason.INTERRUPTED``; a second Ctrl-C, while the last state is being saved, is raised. Within a step of
        another run Ctrl-C is raised at once, for the outer one to handle.

    Examples
    --------
    >>> halve = lambda x: (x / 2, x / 2)
    >>> small = lambda x, gain: StopReason.CONVERGED if gain < 0.1 else None
    >>> end = run(1.0, halve, done=small)
    >>> end.state, end.reason.name, end.steps
    (0.0625, 'CONVERGED', 4)
    >>> run(1.0, halve, budget=Budget(iterations=2)).reason.name
    'ITERATIONS'
    """
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    writer = None if checkpoint is None else CheckpointWriter(checkpoint, every_seconds)
    before = resumed.seconds if resumed else 0.0
    loop = _Loop(step, clock, done, on_step, rng, writer, pack, time.monotonic() - before)
    loop.reached(state, None, resumed.steps if resumed else 0)
    nested = _running.get()
    token = _running.set(True)
    try:
        reason = loop.until_it_stops()
        loop.save()
    except KeyboardInterrupt:
        loop.back_to_last()
        if nested:
            raise
        reason = StopReason.INTERRUPTED
    except BaseException:
        loop.back_to_last()
        raise
    finally:
        _running.reset(token)
    last = loop.last
    return Outcome(last.state, last.info, reason, last.steps, loop.seconds)


@dataclass(frozen=True)
class _Point(Generic[State, Info]):
    """Everything as it was after a complete step."""

    state: State
    info: Info | None
    steps: int
    seconds: float
    generator: Mapping[str, Any] | None


@dataclass
class CheckpointWriter:
    """Saves a state now and then: neither more often than asked for nor so often that it takes much of the time."""

    checkpoint: Checkpoint
    every_seconds: float | None = None
    saved_at: float = field(default_factory=time.monotonic)
    cost: float = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time to save again."""
        least = EVERY_SECONDS if self.every_seconds is None else self.every_seconds
        return time.monotonic() - self.saved_at >= (max(least, PAUSE * self.cost) if least else 0.0)

    def save(self, payload: Mapping[str, Any], **more: Any) -> None:
        """Save now; see :meth:`~latentree.checkpoint.Checkpoint.save`."""
        began = time.monotonic()
        self.checkpoint.save(payload, **more)
        self.saved_at = time.monotonic()
        self.cost = self.saved_at - began


@dataclass
class _Loop(Generic[State, Info]):
    step: Callable[[State], tuple[State, Info]]
    clock: Clock
    done: Callable[[State, Info], StopReason | None] | None
    on_step: Callable[[State, Info], None] | None
    rng: np.random.Generator | None
    writer: CheckpointWriter | None
    pack: Callable[[State], Mapping[str, Any]] | None
    began: float
    last: _Point[State, Info] = field(init=False)
    saved: object = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def reached(self, state: State, info: Info | None, steps: int) -> None:
        generator = None if self.rng is None else self.rng.bit_generator.state
        # One assignment: whenever an interrupt strikes, the last point is either the old or the new one, whole.
        self.last = _Point(state, info, steps, self.seconds, generator)

    def until_it_stops(self) -> StopReason:
        while (limit := self.limit()) is None:
            state, info = self.step(self.last.state)
            self.reached(state, info, self.last.steps + 1)
            if self.on_step is not None:
                self.on_step(state, info)
            reason = None if self.done is None else self.done(state, info)
            if reason is not None:
                return reason
            if self.writer is not None and self.writer.due:
                self.save()
        return limit

    def limit(self) -> StopReason | None:
        most = self.clock.budget.iterations
        if most is not None and self.last.steps >= most:
            return StopReason.ITERATIONS
        return StopReason.TIME if self.clock.expired else None

    def save(self) -> None:
        """Save what was reached, unless it has been saved already."""
        last = self.last
        if self.writer is None or self.saved is last:
            return
        payload: Any = last.state if self.pack is None else self.pack(last.state)
        self.writer.save(payload, rng=last.generator, steps=last.steps, seconds=last.seconds)
        self.saved = last

    def back_to_last(self) -> None:
        """Undo what a broken step did to the generator, and save what was reached before it."""
        if self.rng is not None and self.last.generator is not None:
            self.rng.bit_generator.state = self.last.generator
        self.save()


def __getattr__(name: str) -> Any:
    renamed = "; it is called CheckpointWriter now" if name == "Keeper" else ""
    raise AttributeError(f"module 'latentree.runner' has no attribute {name!r}{renamed}")


# ---- memory ---------------------------------------------------------------------------------------------------


def memory() -> int:
    """Bytes of memory that the machine has; where it does not tell, 64 GiB."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2**36


# ---- seeds ----------------------------------------------------------------------------------------------------


def spawn(rng: np.random.Generator, n: int) -> list[np.random.Generator]:
    """Independent generators for ``n`` pieces of parallel work, so that threads do not change results.

    Unlike ``Generator.spawn``, which counts children in a place that the generator's state does not show, they follow
    from the stream itself: a generator restored from a checkpoint spawns the same children.

    Examples
    --------
    >>> a, b = spawn(np.random.default_rng(0), 2)
    >>> again, _ = spawn(np.random.default_rng(0), 2)
    >>> float(a.random()) == float(again.random()), float(a.random()) == float(b.random())
    (True, False)
    """
    entropy = rng.integers(0, 2**32, size=4, dtype=np.uint32)
    return [np.random.default_rng(seed) for seed in np.random.SeedSequence(entropy.tolist()).spawn(n)]
