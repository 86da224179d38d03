"""What a search is given, where it is, and the base of all searches.

A search is a :class:`latentree.method.Method`: ``init(task, rng)`` gives the first :class:`State` and
``step(task, state, rng)`` the next one, with the :class:`~latentree.search.Step` that says what was done. States are
never changed, only replaced, and all randomness comes from ``rng``, so a search can stop, be saved and resume between
any two steps, with the result of one that was left alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, ClassVar, TypeVar
from uuid import uuid4

import numpy as np

from .._lazy import cached_property
from .._model import Model
from .._table import Table
from .._trace import Step
from ..checkpoint import pack_model, unpack_model
from ..estimation import Estimate, Fit, evaluate
from ..estimation._smoothing import LearnerPrior
from ..method import Options as _Options, OutOfTime
from ..runner import Clock, OnProgress, Progress, StopReason, spawn
from ._criterion import Criterion
from ._network import Network

Item = TypeVar("Item")
Result = TypeVar("Result")
Generator = np.random.Generator


SAME = 0.5
"""A gain below is not worth another round."""
AGREE = 0.1
"""Starts whose scores differ by less have found the same: EM stops about this far from its limit."""


@dataclass(frozen=True)
class Task:
    """What a search is given.

    Attributes
    ----------
    table : Table
        The data.
    criterion : Criterion
        What is maximised.
    n_jobs : int
        Threads.
    clock : Clock
        The time that is left.
    start : Model, optional
        Where to start, if the user said.
    on_progress : callable, optional
        Takes :class:`~latentree.runner.Progress` events.
    executor : concurrent.futures.Executor, optional
        Works on the items of :meth:`map` instead of threads here, such as the workers of a cluster.
    prior : "auto", float or None
        What the user asked for; of interest to searches that estimate by themselves.
    halted : threading.Event
        Set when a step is broken off.
    """

    table: Table
    criterion: Criterion
    n_jobs: int
    clock: Clock
    start: Model | None = None
    on_progress: OnProgress | None = None
    executor: Any = None
    prior: LearnerPrior = "auto"
    halted: Event = field(default_factory=Event, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        # What another process works with: the time that is left, and nobody to report to.
        own = {**self.__dict__, "clock": self.clock.left().start(), "on_progress": None, "executor": None}
        return {name: value for name, value in own.items() if name != "halted"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in {**state, "halted": Event()}.items():
            object.__setattr__(self, name, value)

    def map(
        self,
        work: Callable[[Item, Generator], Result],
        items: Iterable[Item],
        rng: Generator,
        *,
        stage: str = "candidates",
    ) -> list[Result]:
        """Apply ``work(item, rng)`` to all items in threads or by the executor, each with a generator of its own.

        Results come in the order of the items and do not depend on what worked on them. Ctrl-C and the end of the time
        drop the items that have not begun.
        """
        todo = list(items)
        jobs = list(zip(todo, spawn(rng, len(todo)), strict=True))

        def one(job: tuple[Item, Generator]) -> Result:
            self.check_time()
            return work(*job)

        if self.executor is not None and len(jobs) > 1:
            return self._sent(work, jobs, stage)
        out: list[Result] = []
        if self.n_jobs == 1 or len(jobs) < 2:
            for job in jobs:
                out.append(one(job))
                self.report(stage, len(out), len(jobs))
            return out
        pool = ThreadPoolExecutor(self.n_jobs)
        try:
            for result in pool.map(one, jobs):
                out.append(result)
                self.report(stage, len(out), len(jobs))
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
                self.report(stage, len(out), len(jobs))
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

    def report(self, stage: str, done: int, total: int | None = None, objective: float | None = None) -> None:
        """Report progress within a step."""
        if self.on_progress is not None:
            self.on_progress(Progress(stage, done, total, objective, self.clock.elapsed))


@dataclass(frozen=True)
class _InTurn:
    """Works on some items, one after another, wherever this is."""

    task: Task
    work: Callable[[Any, Generator], Any]

    def __call__(self, jobs: Sequence[tuple[Any, Generator]]) -> list[Any]:
        out = []
        for job in jobs:
            self.task.check_time()
            out.append(self.work(*job))
        return out

    def __dask_tokenize__(self) -> str:
        return uuid4().hex  # every call is one of its own: nothing is looked up by what it is made of


@dataclass(frozen=True)
class Point:
    """A model that a search has reached.

    Attributes
    ----------
    fit : Fit
        The model, fitted.
    score : float
        Its score.
    numbers : tuple of int, optional
        The numbers of the model's nodes in its network. Default: those that :meth:`Network.from_model` gives.
    """

    fit: Fit
    score: float
    numbers: tuple[int, ...] | None = None

    @cached_property
    def network(self) -> Network:
        """The model without a root; made once, when it is first needed."""
        return Network.from_model(self.fit.model, self.numbers)

    def step(self, phase: str, kind: str, operation: str, *, candidates: int = 1) -> Step:
        """The line of the trace that leads here."""
        said: dict[str, Any] = {"phase": phase, "kind": kind, "operation": operation, "candidates": candidates}
        return Step.of(self.fit.model, score=self.score, log_likelihood=self.fit.log_likelihood, **said)


@dataclass(frozen=True)
class State:
    """Where a search is after a complete step.

    Attributes
    ----------
    best : Point
        The best model so far: what is returned if the search ends here.
    phase : str
        Where the search goes on.
    finished : bool
        Whether nothing is left to do.
    memory : mapping
        Whatever else the search needs: plain values, arrays, points, models, and lists and mappings of them. ``ends``
        are the scores at which starts ended, if the search has several.
    """

    best: Point
    phase: str
    finished: bool = False
    memory: Mapping[str, Any] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """Score of the best model."""
        return self.best.score

    @property
    def network(self) -> Network:
        """Network of the best model."""
        return self.best.network

    def to(self, phase: str, *, finished: bool = False, **memory: Any) -> State:
        """The same model in another phase; what is given here is remembered instead of the old value."""
        return replace(self, phase=phase, finished=finished, memory={**self.memory, **memory})

    def pack(self) -> dict[str, Any]:
        """Turn it into what a checkpoint can hold."""
        best, memory = _packed(self.best), _packed(self.memory)
        return {"best": best, "phase": self.phase, "finished": self.finished, "memory": memory}

    @classmethod
    def unpack(cls, packed: Mapping[str, Any], table: Table) -> State:
        """Make the state again; the opposite of :meth:`pack`."""
        best, memory = (_unpacked(packed[name], table) for name in ("best", "memory"))
        phase, finished = packed["phase"], packed["finished"]
        if not (isinstance(best, Point) and isinstance(phase, str) and isinstance(finished, bool)):
            raise ValueError("no point, phase and end")
        if not isinstance(memory, dict):
            raise ValueError("no memory")
        return cls(best, phase, finished, memory)


class SearchMethod:
    """Base of all searches: a :class:`latentree.method.Method` whose states are :class:`State`.

    Parameters
    ----------
    options : Options, optional
        Its options, an instance of its own ``Options``. Default: their default values.
    """

    Options: ClassVar[type[_Options]] = _Options
    """Its options; see :class:`latentree.method.Options`."""
    estimates: ClassVar[bool] = False
    """Whether its probabilities are its own estimate, chosen by cases held out, and its score their log-likelihood:
    they are then neither taken to the maximum of the likelihood nor smoothed. Its states remember as ``independent``
    what a tree must score to be better than independent variables."""

    def __init__(self, options: Any = None) -> None:
        self.options: Any = self.Options() if options is None else options

    def init(self, task: Task, rng: Generator) -> State:
        """The state to start from."""
        raise NotImplementedError

    def step(self, task: Task, state: State, rng: Generator) -> tuple[State, Step | None]:
        """The next state, and what was done to reach it; None if nothing changed."""
        raise NotImplementedError

    def done(self, task: Task, state: State) -> StopReason | None:
        """Why it has come to its own end, or None to go on."""
        return StopReason.EXHAUSTED if state.finished else None

    def forecast(self, task: Task) -> str | None:
        """What it will take, in words, if that is much."""
        return None

    def estimate(self, task: Task, point: Point) -> Estimate:
        """What the probabilities of a point are, if the search estimates them."""
        raise NotImplementedError


_POINT, _MODEL = "a point", "a model"


def _packed(value: Any) -> Any:
    if isinstance(value, Point):
        return {_POINT: pack_model(value.fit.model), "score": value.score}
    if isinstance(value, Model):
        return {_MODEL: pack_model(value), "of": [v.name for v in value.variables]}
    if isinstance(value, Mapping):
        return {key: _packed(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(own) for own in value]
    return value


def _unpacked(value: Any, table: Table) -> Any:
    if isinstance(value, Mapping):
        if set(value) == {_POINT, "score"}:
            model = unpack_model(value[_POINT], table.variables)
            return Point(evaluate(model, table), float(value["score"]))
        if set(value) == {_MODEL, "of"}:
            own = {v.name: v for v in table.variables}
            return unpack_model(value[_MODEL], [own[name] for name in value["of"]])
        return {key: _unpacked(own, table) for key, own in value.items()}
    if isinstance(value, list):
        return [_unpacked(own, table) for own in value]
    return value
