"""One contract for all that works step by step: searches, learners of numbers of states, ascents, samplers.

A *method* has options, a first state and a step:

- ``options``, a frozen :class:`~latentree.method.Options`, checked when it is made;
- ``init(task, rng) -> state``;
- ``step(task, state, rng) -> (state, info)``: the next state, and what there is to say about the step (None: nothing);
- ``done(task, state) -> StopReason or None``: whether it has come to its own end.

A *task* is what is given (data, criterion, limits). States are never changed, only replaced, and all randomness comes
from ``rng``: so :func:`drive` can stop, save and resume a run between any two steps, with the result of a run that was
left alone. What the steps said, in order, is the *trace*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ._options import AnyOf, Flag, Number, OneOf, Options, Text, Whole, Wholes, option
from .checkpoint import Checkpoint, fingerprint
from .errors import FileFormatError
from .runner import Budget, Clock, StopReason, run

__all__ = [
    "AnyOf",
    "Flag",
    "Method",
    "Number",
    "OneOf",
    "Options",
    "OutOfTime",
    "Run",
    "Storage",
    "Text",
    "Whole",
    "Wholes",
    "drive",
    "option",
]

Task = TypeVar("Task", contravariant=True)
State = TypeVar("State")
Info = TypeVar("Info")
Said = TypeVar("Said", covariant=True)
Generator = np.random.Generator


class OutOfTime(Exception):
    """Raised within a step when the time is over: what the step did so far is dropped."""


class Method(Protocol[Task, State, Said]):
    """What works step by step; see the top of this module."""

    def init(self, task: Task, rng: Generator) -> State:
        """The state to start from."""

    def step(self, task: Task, state: State, rng: Generator) -> tuple[State, Said | None]:
        """The next state, and what there is to say about the step."""

    def done(self, task: Task, state: State) -> StopReason | None:
        """Why it has come to its own end, or None to go on."""


@dataclass(frozen=True)
class Run(Generic[State, Info]):
    """What a driven method did.

    Attributes
    ----------
    state
        The last complete state; None if not even the first was reached.
    trace : tuple
        What the steps said, in order.
    reason : StopReason
        Why it ended.
    steps : int
        Complete steps, those before a resumed checkpoint included; the first state counts as one.
    seconds : float
        Time in all, likewise.
    """

    state: State | None
    trace: tuple[Info, ...]
    reason: StopReason
    steps: int
    seconds: float


@dataclass(frozen=True)
class Storage(Generic[State, Info]):
    """How a run is kept in a file: where, what it depends on, and how states and traces become plain values.

    Attributes
    ----------
    path : str or path
        The file.
    kind : str
        What computation it belongs to.
    made_from : mapping
        What the result depends on: data, start, settings. A file made from anything else is refused; the seed is added
        by :func:`drive`.
    pack, unpack : callable
        A state as plain values and arrays, and back.
    pack_info, unpack_info : callable
        The same for what a step says.
    resume : bool
        Whether to go on from a file that is there; otherwise it is replaced.
    every_seconds : float, optional
        Least time between two saves; see :func:`latentree.runner.run`.
    """

    path: Any
    kind: str
    made_from: Mapping[str, Any]
    pack: Callable[[State], Mapping[str, Any]]
    unpack: Callable[[Mapping[str, Any]], State]
    pack_info: Callable[[Info], Any] = lambda info: info
    unpack_info: Callable[[Any], Info] = lambda plain: plain
    resume: bool = True
    every_seconds: float | None = None

    def checkpoint(self, rng: Generator) -> Checkpoint:
        """The file, which knows what it depends on, the seed included."""
        prints = {name: fingerprint(value) for name, value in self.made_from.items()}
        return Checkpoint(self.path, self.kind, {**prints, "seed": fingerprint(rng.bit_generator.state)})


@dataclass(frozen=True)
class _Reached(Generic[State, Info]):
    """A state and how it came about: what the runner hands from step to step.

    States share one list of lines, of which the first ``n_lines`` are theirs: a long trace is never copied.
    """

    state: State | None = None
    lines: list[Info] = field(default_factory=list)
    n_lines: int = 0
    steps: int = 0
    late: bool = False

    @property
    def trace(self) -> tuple[Info, ...]:
        return tuple(self.lines[: self.n_lines])

    def next(self, state: State, info: Info | None) -> _Reached[State, Info]:
        """One step further."""
        if info is not None:
            del self.lines[self.n_lines :]  # of a step that was broken off
            self.lines.append(info)
        return _Reached(state, self.lines, self.n_lines + (info is not None), self.steps + 1)


def drive(
    method: Method[Task, State, Info],
    task: Task,
    *,
    rng: Generator,
    budget: Budget | Clock | None = None,
    first: Callable[[State], Info] | None = None,
    finish: Callable[[Info, int, float], Info] | None = None,
    on_step: Callable[[State, Info], None] | None = None,
    on_state: Callable[[State], None] | None = None,
    storage: Storage[State, Info] | None = None,
) -> Run[State, Info]:
    """Run a method until it is done, the budget is spent or Ctrl-C is pressed.

    Parameters
    ----------
    method : Method
        What to run.
    task
        What it is given.
    rng : numpy.random.Generator
        The only source of randomness.
    budget : Budget or Clock, optional
        Limits of time and steps, the first state being a step. Default: none.
    first : callable, optional
        ``first(state)`` is the first line of the trace. Default: the trace begins with the first step.
    finish : callable, optional
        ``finish(info, number, seconds)`` fills in a line's number and the time since the beginning.
    on_step : callable, optional
        ``on_step(state, info)`` is called after every step that says something.
    on_state : callable, optional
        ``on_state(state)`` is called after every step.
    storage : Storage, optional
        How the run is kept in a file, and taken up from it.

    Examples
    --------
    >>> class Halve:
    ...     def init(self, task, rng):
    ...         return task
    ...     def step(self, task, state, rng):
    ...         return state / 2, state / 2
    ...     def done(self, task, state):
    ...         return StopReason.CONVERGED if state < 0.1 else None
    >>> end = drive(Halve(), 1.0, rng=np.random.default_rng(0))
    >>> end.state, end.trace, end.reason.name, end.steps
    (0.0625, (0.5, 0.25, 0.125, 0.0625), 'CONVERGED', 5)
    """
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    file = None if storage is None else storage.checkpoint(rng)
    at: _Reached[State, Info] = _Reached()
    saved = None
    if storage is not None and file is not None and storage.resume and file.exists():
        saved = file.load()
        at = _unpacked(storage, saved.payload)
        saved = replace(saved, steps=at.steps)  # a step that ran out of time was none
        rng = saved.rng or rng
    before = saved.seconds if saved else 0.0

    def advance(at: _Reached[State, Info]) -> tuple[_Reached[State, Info], Info | None]:
        if at.state is not None and method.done(task, at.state) is not None:
            return at, None  # taken up after its end
        drawn = rng.bit_generator.state
        try:
            if at.state is None:
                state = method.init(task, rng)
                info = None if first is None else first(state)
            else:
                state, info = method.step(task, at.state, rng)
        except OutOfTime:
            rng.bit_generator.state = drawn
            return replace(at, late=True), None
        if info is not None and finish is not None:
            info = finish(info, at.n_lines, before + clock.elapsed)
        return at.next(state, info), info

    def ended(at: _Reached[State, Info], _: Info | None) -> StopReason | None:
        if at.late:
            return StopReason.TIME
        return None if at.state is None else method.done(task, at.state)

    def say(at: _Reached[State, Info], info: Info | None) -> None:
        if on_state is not None and at.state is not None:
            on_state(at.state)
        if info is not None and on_step is not None and at.state is not None:
            on_step(at.state, info)

    end = run(
        at,
        advance,
        budget=clock,
        done=ended,
        on_step=say,
        rng=rng,
        checkpoint=file,
        pack=None if storage is None else lambda at: _packed(storage, at),
        resumed=saved,
        every_seconds=None if storage is None else storage.every_seconds,
    )
    last = end.state
    return Run(last.state, last.trace, end.reason, last.steps, before + clock.elapsed)


def _packed(storage: Storage[State, Info], at: _Reached[State, Info]) -> dict[str, Any]:
    return {
        "state": None if at.state is None else storage.pack(at.state),
        "trace": [storage.pack_info(info) for info in at.trace],
        "steps": at.steps,
    }


def _unpacked(storage: Storage[State, Info], packed: Mapping[str, Any]) -> _Reached[State, Info]:
    try:
        state = None if packed["state"] is None else storage.unpack(packed["state"])
        lines = [storage.unpack_info(line) for line in packed["trace"]]
        return _Reached(state, lines, len(lines), int(packed["steps"]))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FileFormatError("The state of a run is damaged: {error!r}.", error=error) from None
