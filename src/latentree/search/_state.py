"""What a search method is given and what it keeps: the contract between methods and :func:`latentree.search.learn`.

A method is a module with

- ``OPTIONS``, a mapping of the options it knows to their default values,
- ``begin(search) -> State``, the model to start from,
- ``step(search, state) -> (State, Step or None)``, the next state and what was done; None if nothing changed.

States are never changed, only replaced; all randomness comes from ``search.rng``. Then the runner can stop, save and
resume a search between any two steps, with the same result as without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, Protocol, TypeVar
from uuid import uuid4

import numpy as np

from .._model import Model
from .._table import Table
from .._trace import Step
from ..checkpoint import pack_model, unpack_model
from ..engine._plan import Plan
from ..errors import FileFormatError
from ..estimation import Fit
from ..runner import Clock, OnProgress, Progress, StopReason, spawn
from ._criterion import Criterion

__all__ = ["Method", "OutOfTime", "Search", "State", "standing"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Generator = np.random.Generator


class OutOfTime(Exception):
    """The time is over in the middle of a step; what the step did so far is dropped."""


@dataclass(frozen=True)
class Search:
    """What all steps of a search share.

    Attributes
    ----------
    table : Table
        The data.
    criterion : Criterion
        What is maximised.
    rng : numpy.random.Generator
        The only source of randomness.
    n_jobs : int
        Threads.
    options : mapping
        Options of the method, defaults included.
    clock : Clock
        The time that is left.
    start : Model, optional
        Where to start, if the user said.
    on_progress : callable, optional
        Takes :class:`~latentree.runner.Progress` events.
    halted : threading.Event
        Set when a step is broken off.
    executor : concurrent.futures.Executor, optional
        Who works on the items of :meth:`map` instead of threads here, such as the workers of a cluster.
    """

    table: Table
    criterion: Criterion
    rng: Generator
    n_jobs: int
    options: Mapping[str, Any]
    clock: Clock
    start: Model | None = None
    on_progress: OnProgress | None = None
    halted: Event = field(default_factory=Event, repr=False)
    executor: Any = None

    def __getstate__(self) -> dict[str, Any]:
        # What another process works with: the time that is left, and no one to report to.
        own = {**self.__dict__, "clock": self.clock.left().start(), "on_progress": None, "executor": None}
        return {name: value for name, value in own.items() if name != "halted"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in {**state, "halted": Event()}.items():
            object.__setattr__(self, name, value)

    def map(
        self, work: Callable[[Item, Generator], Result], items: Iterable[Item], *, stage: str = "candidates"
    ) -> list[Result]:
        """Apply ``work(item, rng)`` to all items in threads or by the executor, each with a generator of its own.

        Results come in the order of the items and do not depend on who works on them. Ctrl-C and the end of the time
        drop the items that have not begun.
        """
        todo = list(items)
        jobs = list(zip(todo, spawn(self.rng, len(todo)), strict=True))

        def one(job: tuple[Item, Generator]) -> Result:
            self.check_time()
            return work(*job)

        if self.executor is not None and len(jobs) > 1:
            return self._sent(work, jobs, stage)
        out: list[Result] = []
        if self.n_jobs == 1 or len(jobs) < 2:
            for job in jobs:
                out.append(one(job))
                self.tell(stage, len(out), len(jobs))
            return out
        pool = ThreadPoolExecutor(self.n_jobs)
        try:
            for result in pool.map(one, jobs):
                out.append(result)
                self.tell(stage, len(out), len(jobs))
        except BaseException:
            self.halted.set()  # long pieces of work look at it in between
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        return out

    def _sent(
        self, work: Callable[[Item, Generator], Result], jobs: Sequence[tuple[Item, Generator]], stage: str
    ) -> list[Result]:
        """Send the items to the executor in a few groups, since what they share goes with each."""
        n = min(len(jobs), 2 * self.n_jobs)
        groups = [jobs[i * len(jobs) // n : (i + 1) * len(jobs) // n] for i in range(n)]
        limited = self.clock.remaining < math.inf
        out: list[Result] = []
        sent = [self.executor.submit(_InTurn(self, work), group) for group in groups]
        try:
            for future in sent:  # not by map(timeout=): Dask's fails when the time is over between two results
                out += future.result(max(self.clock.remaining, 0.0) if limited else None)
                self.tell(stage, len(out), len(jobs))
        except TimeoutError:
            raise OutOfTime from None
        finally:
            for future in sent:
                future.cancel()
        return out

    def check_time(self) -> None:
        """Break the step off if the time is over, or if it was broken off in another thread."""
        if self.clock.expired or self.halted.is_set():
            raise OutOfTime

    def tell(self, stage: str, done: int, total: int | None = None, objective: float | None = None) -> None:
        """Report progress within a step."""
        if self.on_progress is not None:
            self.on_progress(Progress(stage, done, total, objective, self.clock.elapsed))


@dataclass(frozen=True)
class _InTurn:
    """Works on some items, one after another, wherever this is."""

    search: Search
    work: Callable[[Any, Generator], Any]

    def __call__(self, jobs: Sequence[tuple[Any, Generator]]) -> list[Any]:
        out = []
        for job in jobs:
            self.search.check_time()
            out.append(self.work(*job))
        return out

    def __dask_tokenize__(self) -> str:
        return uuid4().hex  # every call is one of its own: nothing is looked up by what it is made of


@dataclass(frozen=True)
class State:
    """Where a search is after a complete step.

    Attributes
    ----------
    fit : Fit
        The best model so far: what is returned if the search ends here.
    score : float
        Its score.
    phase : str
        Where the method goes on.
    done : bool
        Whether nothing is left to do.
    memory : mapping
        Whatever else the method needs: plain values, arrays, models, and lists and mappings of them.
    """

    fit: Fit
    score: float
    phase: str
    done: bool = False
    memory: Mapping[str, Any] = field(default_factory=dict)

    def to(self, phase: str, *, done: bool = False, **memory: Any) -> State:
        """The same model in another phase; what is given here is remembered instead of the old value."""
        return replace(self, phase=phase, done=done, memory={**self.memory, **memory})

    def pack(self) -> dict[str, Any]:
        """Turn it into what a checkpoint can hold."""
        return {
            "model": pack_model(self.fit.model),
            "score": self.score,
            "phase": self.phase,
            "done": self.done,
            "memory": _packed(self.memory),
        }

    @classmethod
    def unpack(cls, packed: Mapping[str, Any], table: Table) -> State:
        """Make the state again; the opposite of :meth:`pack`."""
        try:
            model = unpack_model(packed["model"], table.variables)
            memory = _unpacked(packed["memory"], table)
            return cls(standing(model, table), float(packed["score"]), packed["phase"], packed["done"], memory)
        except (KeyError, TypeError) as error:
            raise FileFormatError(f"The state of a search is damaged: {error!r}.") from None


class Method(Protocol):
    """A module that searches; see the top of this file."""

    OPTIONS: Mapping[str, Any]

    def begin(self, search: Search) -> State:
        """The state to start from."""

    def step(self, search: Search, state: State) -> tuple[State, Step | None]:
        """The next state, and what was done to reach it."""


def standing(model: Model, table: Table) -> Fit:
    """The fit that a model is where it stands."""
    counts = Plan.of(model, table).evaluate(model.parameters)
    trace = np.array([counts.log_likelihood])
    return Fit(model, table, counts, trace, StopReason.ITERATIONS, None, 0.0, 1, trace)


_MODEL = "a model"


def _packed(value: Any) -> Any:
    if isinstance(value, Model):
        return {_MODEL: pack_model(value), "of": [v.name for v in value.variables]}
    if isinstance(value, Mapping):
        return {key: _packed(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(own) for own in value]
    return value


def _unpacked(value: Any, table: Table) -> Any:
    if isinstance(value, Mapping):
        if set(value) == {_MODEL, "of"}:
            own = {v.name: v for v in table.variables}
            return unpack_model(value[_MODEL], [own[name] for name in value["of"]])
        return {key: _unpacked(own, table) for key, own in value.items()}
    if isinstance(value, list):
        return [_unpacked(own, table) for own in value]
    return value
