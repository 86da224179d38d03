"""What fits, searches and samplers share: budgets, reasons to stop, progress, Ctrl-C, checkpoints, seeds.

An algorithm is a first state and ``step(state) -> state, info``; :func:`run` adds the rest. Since a state is whole
after every step, stopping at any moment loses at most the step under way.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from .errors import FileFormatError, LatentreeError, ParameterError, bad_parameter
from .files import MAX_BYTES, decoded, encoded, read_text, write_atomically
from .model import Model
from .table import Table
from .tree import Tree
from .variables import Variable, typed

__all__ = [
    "Budget",
    "Checkpoint",
    "Clock",
    "OnProgress",
    "Outcome",
    "Progress",
    "Saved",
    "StopReason",
    "fingerprint",
    "pack_model",
    "run",
    "spawn",
    "unpack_model",
]

State = TypeVar("State")
Info = TypeVar("Info")


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
    EXHAUSTED = "exhausted", "No candidate improves the score any more.", True
    FINISHED = "finished", "All the steps asked for were made.", True
    ITERATIONS = (
        "iterations",
        "The iteration limit was reached first. Allow more iterations, or a larger tolerance.",
        False,
    )
    TIME = (
        "time",
        "The time limit was reached first. Allow more seconds, or resume from the checkpoint if one was kept.",
        False,
    )
    INTERRUPTED = (
        "interrupted",
        "It was interrupted; this is the result of the last complete step. Run it again, or resume from the "
        "checkpoint if one was kept.",
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
    every_seconds: float = 30.0,
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
    every_seconds : float, default 30
        Least time between two checkpoints.

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
    keeper = _Keeper(checkpoint, pack, every_seconds)
    loop = _Loop(step, clock, done, on_step, rng, keeper, time.monotonic() - (resumed.seconds if resumed else 0.0))
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
class _Keeper(Generic[State]):
    """Saves points, now and then or at once, and none twice."""

    checkpoint: Checkpoint | None
    pack: Callable[[State], Mapping[str, Any]] | None
    every_seconds: float
    kept: object = None
    kept_at: float = field(default_factory=time.monotonic)

    def keep(self, point: _Point[State, Any]) -> None:
        if self.checkpoint is None or self.kept is point:
            return
        payload: Any = point.state if self.pack is None else self.pack(point.state)
        self.checkpoint.save(payload, rng=point.generator, steps=point.steps, seconds=point.seconds)
        self.kept, self.kept_at = point, time.monotonic()

    def keep_if_due(self, point: _Point[State, Any]) -> None:
        if time.monotonic() - self.kept_at >= self.every_seconds:
            self.keep(point)


@dataclass
class _Loop(Generic[State, Info]):
    step: Callable[[State], tuple[State, Info]]
    clock: Clock
    done: Callable[[State, Info], StopReason | None] | None
    on_step: Callable[[State, Info], None] | None
    rng: np.random.Generator | None
    keeper: _Keeper[State]
    began: float
    last: _Point[State, Info] = field(init=False)

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
            self.keeper.keep_if_due(self.last)
        return limit

    def limit(self) -> StopReason | None:
        most = self.clock.budget.iterations
        if most is not None and self.last.steps >= most:
            return StopReason.ITERATIONS
        return StopReason.TIME if self.clock.expired else None

    def save(self) -> None:
        self.keeper.keep(self.last)

    def back_to_last(self) -> None:
        """Undo what a broken step did to the generator, and save what was reached before it."""
        if self.rng is not None and self.last.generator is not None:
            self.rng.bit_generator.state = self.last.generator
        self.save()


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


# ---- checkpoints ----------------------------------------------------------------------------------------------

FORMAT = "latentree-checkpoint"
VERSION = 1
_FIELDS: dict[str, tuple[type, ...]] = {
    "kind": (str,),
    "kind_version": (int,),
    "made_from": (dict,),
    "steps": (int,),
    "seconds": (float,),
    "generator": (dict, type(None)),
    "payload": (dict,),
}
_GENERATORS: dict[str, type[np.random.BitGenerator]] = {
    g.__name__: g for g in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}
# Positions in a buffer, which NumPy trusts to lie inside it.
_POSITIONS = {"MT19937": (("state", "pos"), 624), "Philox": (("buffer_pos",), 4)}


@dataclass(frozen=True)
class Saved:
    """What a checkpoint held."""

    payload: dict[str, Any]
    rng: np.random.Generator | None
    steps: int
    seconds: float


@dataclass(frozen=True)
class Checkpoint:
    """A file that holds the state of a computation: JSON, replaced whole or not at all, no code in it.

    Parameters
    ----------
    path : str or path
        The file.
    kind : str
        What computation it belongs to.
    made_from : mapping of str to str
        Fingerprints of what the computation depends on (see :func:`fingerprint`); others are refused on loading.
    version : int, default 1
        Version of the payload's layout.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Checkpoint(Path(folder.name) / "state.json", "walk", {"settings": fingerprint({"p": 0.5})})
    >>> rng = np.random.default_rng(1)
    >>> file.save({"x": np.arange(3), "best": -np.inf}, rng=rng, steps=7)
    >>> saved = file.load()
    >>> saved.payload["x"].tolist(), saved.payload["best"], saved.steps
    ([0, 1, 2], -inf, 7)
    >>> float(saved.rng.random()) == float(rng.random())
    True
    >>> folder.cleanup()
    """

    path: str | os.PathLike[str]
    kind: str
    made_from: Mapping[str, str] = field(default_factory=dict)
    version: int = 1

    def exists(self) -> bool:
        """Whether there is something to load."""
        return Path(self.path).exists()

    def save(
        self,
        payload: Mapping[str, Any],
        *,
        rng: np.random.Generator | Mapping[str, Any] | None = None,
        steps: int = 0,
        seconds: float = 0.0,
    ) -> None:
        """Write the file.

        Parameters
        ----------
        payload : mapping
            Plain values, NumPy arrays of numbers, and lists and mappings of them. Tuples come back as lists.
        rng : numpy.random.Generator or its state, optional
            The generator to go on with.
        steps, seconds
            How far it is.
        """
        if not isinstance(payload, Mapping):
            raise bad_parameter("payload", "Checkpoint.save", "a mapping", payload)
        state = rng.bit_generator.state if isinstance(rng, np.random.Generator) else rng
        bits = None if state is None else state.get("bit_generator")
        if state is not None and bits not in _GENERATORS:
            raise ParameterError(f"A generator of kind {bits!r} cannot be saved; use one of {', '.join(_GENERATORS)}.")
        document = {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "kind_version": self.version,
            "made_from": dict(self.made_from),
            "steps": int(steps),
            "seconds": float(seconds),
            "generator": encoded(state, "rng"),
            "payload": encoded(payload, "payload"),
        }
        text = _text({**document, "sha256": _digest(document)}) + "\n"
        if len(text) > MAX_BYTES:  # better now than when it is needed
            raise ParameterError(f"The state of '{self.kind}' takes {len(text):,} bytes; {MAX_BYTES:,} are possible.")
        write_atomically(self.path, text)

    def load(self) -> Saved:
        """Read the file, or say what is wrong with it.

        Raises
        ------
        FileFormatError
            When the file is damaged, of another kind or from another version.
        ParameterError
            When it was made from other data or settings.
        """
        try:
            document = _document(read_text(self.path))
            self._check_kind(document)
            payload, rng = decoded(document["payload"]), _generator(document["generator"])
        except (FileFormatError, RecursionError) as error:
            raise FileFormatError(f"Cannot resume from '{os.fspath(self.path)}': {error}") from None
        self._check_origin(document["made_from"])
        return Saved(payload, rng, document["steps"], document["seconds"])

    def _check_kind(self, document: dict[str, Any]) -> None:
        if document["kind"] != self.kind:
            raise FileFormatError(f"it belongs to '{document['kind']}', not '{self.kind}'. Choose another file.")
        if document["kind_version"] != self.version:
            raise FileFormatError(
                f"it has version {document['kind_version']} of the state of '{self.kind}', this latentree version "
                f"{self.version}. Remove the file to start afresh."
            )

    def _check_origin(self, made_from: Mapping[str, str]) -> None:
        other = sorted(k for k in {*made_from, *self.made_from} if made_from.get(k) != self.made_from.get(k))
        if other:
            raise ParameterError(
                f"'{os.fspath(self.path)}' was made with other {' and '.join(other)}. Give those it was made with to "
                "resume it, or another file to start afresh."
            )


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(document).encode()).hexdigest()


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise FileFormatError("it is not whole JSON; the file is damaged or of another kind.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileFormatError("it is not a checkpoint of latentree.")
    if document.get("version") != VERSION:
        raise FileFormatError(
            f"its format has version {document.get('version')!r}, this latentree reads {VERSION}. Use the latentree "
            "that wrote it, or remove the file to start afresh."
        )
    digest = document.pop("sha256", None)
    try:
        whole = digest == _digest(document)
    except (ValueError, RecursionError):  # not-a-number, or nested beyond reason: not from us
        whole = False
    if not whole:
        raise FileFormatError("its checksum does not fit; the file is damaged or was edited.")
    for name, types in _FIELDS.items():
        if not isinstance(document.get(name, ...), types):
            raise FileFormatError(f"its '{name}' is missing or of the wrong kind.")
    return document


def _generator(stored: Any) -> np.random.Generator | None:
    if stored is None:
        return None
    try:
        state = decoded(stored)
        kind = _GENERATORS[state["bit_generator"]]
        _check_position(state)
        bits = kind(0)
        bits.state = state
    except (KeyError, TypeError, ValueError, OverflowError):
        raise FileFormatError("the state of its random generator is damaged or of an unknown kind.") from None
    return np.random.Generator(bits)


def _check_position(state: Mapping[str, Any]) -> None:
    path, most = _POSITIONS.get(state["bit_generator"], ((), 0))
    at: Any = state
    for key in path:
        at = at[key]
    if path and not 0 <= int(at) <= most:
        raise ValueError("position outside the buffer")


# ---- what a checkpoint was made from, and what it may hold ----------------------------------------------------


def fingerprint(value: Any) -> str:
    """Return a hash of data or settings: equal for equal values, whatever the machine.

    Parameters
    ----------
    value
        A Table, Model, Tree, Variable, array, plain value, or a list or mapping of them. The order of a mapping does
        not count.

    Examples
    --------
    >>> fingerprint({"tol": 0.01, "prior": 1.0}) == fingerprint({"prior": 1.0, "tol": 0.01})
    True
    >>> fingerprint([1, 2]) == fingerprint([1, "2"])
    False
    """
    return _digest({"value": encoded(_described(value), "fingerprint")})


def _described(value: Any) -> Any:
    if isinstance(value, Table):
        return ["Table", value.codes, value.weights, value.n, [_described(v) for v in value.variables]]
    if isinstance(value, Model):
        return ["Model", pack_model(value), [_described(v) for v in value.variables]]
    if isinstance(value, Tree):
        return ["Tree", _packed_tree(value)]
    if isinstance(value, Variable):
        return ["Variable", value.name, [list(typed(s)) for s in value.states], value.edges]
    if isinstance(value, Enum):
        return [type(value).__name__, _described(value.value)]
    if isinstance(value, Mapping):
        return {k: _described(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_described(v) for v in value]
    return value


def _packed_tree(tree: Tree) -> dict[str, Any]:
    return {
        "parent": tree.parent,
        "cardinality": tree.cardinality,
        "variable": tree.variable,
        "names": list(tree.names),
    }


def pack_model(model: Model) -> dict[str, Any]:
    """Turn a model into what a checkpoint can hold; the variables are left out, they come with the data."""
    return {**_packed_tree(model.tree), "parameters": model.parameters}


def unpack_model(packed: Mapping[str, Any], variables: Sequence[Variable]) -> Model:
    """Make the model again; the opposite of :func:`pack_model`.

    Examples
    --------
    >>> from latentree.variables import numbered
    >>> model = Model.random(Tree.star(2, [2, 3]), numbered([2, 3]), np.random.default_rng(0))
    >>> unpack_model(pack_model(model), model.variables) == model
    True
    """
    try:
        tree = Tree(packed["parent"], packed["cardinality"], packed["variable"], tuple(packed["names"]))
        return Model(tree, tuple(variables), packed["parameters"])
    except (KeyError, TypeError, LatentreeError) as error:
        raise FileFormatError(f"The model in a checkpoint is damaged: {error}") from None
