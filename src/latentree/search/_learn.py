"""Learn a tree from data: one function, any method by its name."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from .._model import Model
from .._table import Table
from .._trace import Step, trace_from_plain, trace_to_plain
from .._tree import Tree
from .._types import FloatArray
from ..checkpoint import Checkpoint, Saved, fingerprint
from ..errors import DataError, FileFormatError, LatentreeError, LatentreeWarning, ParameterError, bad_parameter
from ..estimation import Fit, em
from ..runner import Budget, Clock, OnProgress, StopReason, run
from ._criterion import Criterion, Score
from ._state import Method, OutOfTime, Search, State, standing

__all__ = ["DEFAULT", "METHODS", "Run", "learn"]

METHODS: dict[str, str] = {
    "swift": "latentree.search._swift",
    "east": "latentree.search._east",
    "east0": "latentree.search._east",
    "dhc": "latentree.search._dhc",
    "shc": "latentree.search._shc",
    "hshc": "latentree.search._hshc",
}
"""Methods by name, and the module that each is in (see :mod:`latentree.search._state`); loaded when first used."""

PRESETS: dict[str, dict[str, Any]] = {"east0": {"ratio": False}}
"""Options that a name stands for."""

DEFAULT = "swift"
"""The method that is used unless another is named."""

OnStep = Callable[[Step], None]


@dataclass(frozen=True)
class Run:
    """What a search found.

    Attributes
    ----------
    fit : Fit
        The best model.
    trace : tuple of Step
        How it came about.
    reason : StopReason
        Why the search ended.
    seconds : float
        Time it took, that before a resumed checkpoint included.
    method, score : str
        What searched, and what it maximised.
    value : float
        The score of the model.
    structure : bool
        Whether a tree was found. If not, the model has one latent of one state: the variables are independent.
    message : str
        What to know about the result, in words.
    """

    fit: Fit
    trace: tuple[Step, ...]
    reason: StopReason
    seconds: float
    method: str
    score: str
    value: float
    structure: bool
    message: str

    @property
    def model(self) -> Model:
        """The best model."""
        return self.fit.model

    @property
    def tree(self) -> Tree:
        """Its tree."""
        return self.fit.model.tree


def learn(
    table: Table,
    *,
    method: str = DEFAULT,
    score: Score = "bic",
    rng: np.random.Generator,
    budget: Budget | Clock | None = None,
    start: Model | None = None,
    n_jobs: int = 1,
    executor: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = True,
    on_step: OnStep | None = None,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Run:
    """Learn tree, numbers of states and probabilities.

    Parameters
    ----------
    table : Table
        The data, of at least three variables. Those that never vary are set aside and hung on in the end.
    method : str
        A name in :data:`METHODS`.
    score : str or callable
        What to maximise: a name in :data:`latentree.score.SCORES`, or a function of a fit. With other scores than
        penalised likelihoods, candidates are ranked by BIC and the best few are fitted and scored.
    rng : numpy.random.Generator
        Source of randomness: the same seed gives the same tree, for any number of threads.
    budget : Budget, optional
        Most time and steps (the start is the first); the best so far is returned then, or at Ctrl-C.
    start : Model, optional
        Where to start: a model of all variables, or of those that vary. Default: whatever the method starts from.
    n_jobs : int
        Threads; -1 for all cores. With an executor, about how many workers it has.
    executor : concurrent.futures.Executor, optional
        Who evaluates candidates instead of threads here: one that can send any function to other processes, such as
        ``client.get_executor()`` of Dask. It does not change the result.
    checkpoint : path, optional
        A file to save the search in after every step.
    resume : bool
        Go on from the checkpoint if it exists; the result is that of an uninterrupted search. False: start afresh, and
        replace it.
    on_step : callable, optional
        Takes each :class:`~latentree.search.Step`.
    on_progress : callable, optional
        Takes :class:`~latentree.runner.Progress` events within the steps.
    **options
        Options of the method; an unknown one is answered with a list.

    Returns
    -------
    Run

    Examples
    --------
    >>> from latentree import datasets
    >>> run = learn(datasets.load("hiv_test"), rng=np.random.default_rng(0))
    >>> round(run.value, 2), run.structure, run.reason.name
    (-656.62, True, 'EXHAUSTED')
    """
    if not isinstance(rng, np.random.Generator):
        raise bad_parameter("rng", "learn", "a numpy.random.Generator", rng)
    if table.n_variables < 3:
        raise DataError(f"Learning a tree needs at least three variables. Got {', '.join(table.names)}.")
    module, settings = _method(method, options)
    table = table.ordered()  # sums do not depend on the order of the rows
    varying = _varying(table)
    aside = 3 <= len(varying) < table.n_variables
    core = table.select([table.variables[i].name for i in varying]) if aside else table
    criterion = Criterion.of(score, core)
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    begin = _start(start, core, table)
    search = Search(core, criterion, rng, _threads(n_jobs), settings, clock, begin, on_progress, executor=executor)
    alone = _independent(search)
    if len(varying) < 3:
        message = f"No structure found: only {len(varying)} of {table.n_variables} variables vary."
        outcome = _Outcome(State(alone.fit, alone.score, "begin", done=True), (), StopReason.EXHAUSTED, clock.elapsed)
        return _run(outcome, alone, table, method, criterion, message)
    file = None
    if checkpoint is not None:
        origin = {
            "data": fingerprint(core),
            "settings": fingerprint({"method": method, "score": criterion.name, **settings}),
            "start": fingerprint(search.start),
        }
        file = Checkpoint(checkpoint, "learn", origin)
    _warn(module, search)
    outcome = _searched(module, search, alone, file, resume, on_step)
    return _run(_polished(outcome, search), alone, table, method, criterion, "")


def _method(name: str, options: Mapping[str, Any]) -> tuple[Method, dict[str, Any]]:
    if name not in METHODS:
        raise bad_parameter("method", "learn", f"one of {', '.join(map(repr, METHODS))}", name)
    module = cast(Method, importlib.import_module(METHODS[name]))
    for option in options:
        if option not in module.OPTIONS:
            known = ", ".join(map(repr, module.OPTIONS)) or "none"
            raise ParameterError(f"The method '{name}' has no option '{option}'. It has {known}.")
    return module, {**module.OPTIONS, **PRESETS.get(name, {}), **options}


def _threads(n_jobs: int) -> int:
    if isinstance(n_jobs, bool) or int(n_jobs) != n_jobs or (n_jobs < 1 and n_jobs != -1):
        raise bad_parameter("n_jobs", "learn", "a whole number of at least 1, or -1 for all cores", n_jobs)
    return int(n_jobs) if n_jobs > 0 else os.cpu_count() or 1


def _start(start: Model | None, core: Table, table: Table) -> Model | None:
    if start is None:
        return None
    if start.variables not in (core.variables, table.variables):
        raise ParameterError(
            "The 'start' of learn must have the variables of the data, in their order (those that never vary may be "
            f"missing): {', '.join(table.names)}. Got {', '.join(v.name for v in start.variables)}."
        )
    inner = [start.tree.names[v] for v in start.tree.manifest if len(start.tree.neighbours(int(v))) > 1]
    if inner:
        raise ParameterError(f"In the 'start' of learn all manifest variables must be leaves. '{inner[0]}' is none.")
    if start.variables != core.variables:
        start = _restricted(start, core)
    # one rooting and order for all equal models, so that these change no result
    tree, where = start.tree.canonically_rooted()
    rooted = start.rerooted(int(where[0]))
    return Model(tree, start.variables, np.concatenate([rooted.table(name).ravel() for name in tree.names]))


def _restricted(model: Model, table: Table) -> Model:
    """The model of fewer variables: leaves can be left out, and so can latents that have none below them then."""
    model = model.rerooted(table.names[0])  # which stays, so that nothing else needs a new root
    tree = model.tree
    kept = np.isin(tree.names, table.names) & (tree.variable >= 0)
    for v in range(tree.n_nodes - 1, 0, -1):
        kept[tree.parent[v]] |= kept[v]
    nodes = np.flatnonzero(kept)
    place = np.cumsum(kept) - 1
    where = {name: i for i, name in enumerate(table.names)}
    names = tuple(tree.names[v] for v in nodes)
    smaller = Tree(
        np.r_[-1, place[tree.parent[nodes[1:]]]],
        tree.cardinality[nodes],
        np.array([where[name] if tree.variable[v] >= 0 else -1 for v, name in zip(nodes, names, strict=True)]),
        names,
    )
    return Model(smaller, table.variables, np.concatenate([model.table(int(v)).ravel() for v in nodes]))


def _varying(table: Table) -> list[int]:
    """Columns in which more than one value is seen."""
    last = table.codes.max(axis=0)
    first = np.where(table.codes < 0, last, table.codes).min(axis=0)
    return [int(i) for i in np.flatnonzero((first < last) & (last > 0))]


def _warn(module: Method, search: Search) -> None:
    """Say beforehand if it will take very long, as far as the method can tell."""
    forecast = getattr(module, "forecast", None)
    told = None if forecast is None else forecast(search)
    if told is not None:
        warnings.warn(str(told), LatentreeWarning, stacklevel=3)


# ---- the search itself ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Progressed:
    """A state and how it came about: what the runner hands from step to step."""

    state: State
    trace: tuple[Step, ...] = ()
    steps: int = 0
    late: bool = False

    def pack(self) -> dict[str, Any]:
        return {"state": self.state.pack(), "trace": trace_to_plain(self.trace), "steps": self.steps}

    @classmethod
    def unpack(cls, packed: Mapping[str, Any], table: Table) -> _Progressed:
        try:
            trace = trace_from_plain(packed["trace"])
            return cls(State.unpack(packed["state"], table), trace, int(packed["steps"]))
        except (KeyError, TypeError) as error:
            raise FileFormatError(f"The state of a search is damaged: {error!r}.") from None


@dataclass(frozen=True)
class _Outcome:
    state: State
    trace: tuple[Step, ...]
    reason: StopReason
    seconds: float


def _searched(
    module: Method, search: Search, alone: State, file: Checkpoint | None, resume: bool, on_step: OnStep | None
) -> _Outcome:
    at = _Progressed(alone)
    saved: Saved | None = None
    if file is not None and resume and file.exists():
        saved = file.load()
        at = _Progressed.unpack(saved.payload, search.table)
        saved = replace(saved, steps=at.steps)  # a step that ran out of time was none
        search = replace(search, rng=saved.rng or search.rng)
    before = saved.seconds if saved else 0.0

    def advance(at: _Progressed) -> tuple[_Progressed, Step | None]:
        if at.state.done:
            return at, None
        drawn = search.rng.bit_generator.state
        try:
            if at.steps:
                state, step = module.step(search, at.state)
            else:
                state = module.begin(search)
                step = _first(state)
        except OutOfTime:
            search.rng.bit_generator.state = drawn
            return replace(at, late=True), None
        if step is not None:
            step = replace(step, number=len(at.trace), seconds=before + search.clock.elapsed)
        return _Progressed(state, at.trace if step is None else (*at.trace, step), at.steps + 1), step

    def done(at: _Progressed, _: Step | None) -> StopReason | None:
        return StopReason.TIME if at.late else StopReason.EXHAUSTED if at.state.done else None

    def tell(_: _Progressed, step: Step | None) -> None:
        if step is not None and on_step is not None:
            on_step(step)

    end = run(
        at,
        advance,
        budget=search.clock,
        done=done,
        on_step=tell,
        rng=search.rng,
        checkpoint=file,
        pack=_Progressed.pack,
        resumed=saved,
        every_seconds=0.0,
    )
    return _Outcome(end.state.state, end.state.trace, end.reason, before + search.clock.elapsed)


def _first(state: State) -> Step:
    return Step.of(
        state.fit.model,
        phase="start",
        kind="start",
        operation="the model to start from",
        score=state.score,
        log_likelihood=state.fit.log_likelihood,
    )


def _polished(outcome: _Outcome, search: Search) -> _Outcome:
    """Take the parameters of the final model to convergence; within a search a coarser fit does."""
    if not outcome.reason.complete:
        return outcome
    fit = em(outcome.state.fit.model, search.table, budget=search.clock, n_jobs=search.n_jobs)
    score = search.criterion(fit)
    if not score > outcome.state.score:
        return outcome
    step = Step.of(
        fit.model,
        phase="end",
        kind="EM",
        operation="all probabilities, to convergence",
        score=score,
        log_likelihood=fit.log_likelihood,
    )
    seconds = outcome.seconds + fit.seconds
    step = replace(step, number=len(outcome.trace), seconds=seconds)
    return replace(
        outcome,
        state=replace(outcome.state, fit=fit, score=score),
        trace=(*outcome.trace, step),
        seconds=seconds,
    )


# ---- no structure, and columns that never vary ------------------------------------------------------------------


def _independent(search: Search) -> State:
    """The model without structure: one latent of one state."""
    table = search.table
    tree = Tree.star(1, table.cardinalities, table.names)
    shares = [_shares(table, i) for i in range(table.n_variables)]
    fit = standing(Model(tree, table.variables, np.concatenate([[1.0], *shares])), table)
    try:
        score = search.criterion(fit)
    except LatentreeError:  # not every score is defined without a latent
        score = -np.inf
    return State(fit, score, "begin")


def _shares(table: Table, i: int) -> FloatArray:
    seen = table.codes[:, i] >= 0
    k = table.variables[i].cardinality
    counts = np.bincount(table.codes[seen, i], weights=table.weights[seen], minlength=k)
    return counts / counts.sum() if seen.any() else np.full(k, 1.0 / k)


def _run(outcome: _Outcome, alone: State, table: Table, method: str, criterion: Criterion, message: str) -> Run:
    state = outcome.state
    structure = state.score > alone.score
    if not structure:
        state = alone
        if not message:
            message = (
                f"No structure found: no tree scores above the model in which all variables are independent "
                f"({criterion.name} {alone.score:.2f})."
                if outcome.reason.complete
                else "The search ended before a tree was found."
            )
    fit, value = state.fit, state.score
    if fit.table.n_variables < table.n_variables:
        fit = standing(_with_constants(fit.model, table), table)
        try:
            value = criterion(fit)
        except LatentreeError:
            value = -np.inf
    return Run(fit, outcome.trace, outcome.reason, outcome.seconds, method, criterion.name, value, structure, message)


def _with_constants(model: Model, table: Table) -> Model:
    """Hang the columns that never vary on the latent with the fewest states, where they cost least."""
    tree = model.tree
    latent = [int(v) for v in tree.latent]
    at = min(latent or [0], key=lambda v: (int(tree.cardinality[v]), v))
    where = {name: i for i, name in enumerate(table.names)}
    missing = [i for i, name in enumerate(table.names) if name not in {v.name for v in model.variables}]
    names = _unlike(tree, latent, table.names)
    grown = Tree(
        np.r_[tree.parent, np.full(len(missing), at)],
        np.r_[tree.cardinality, table.cardinalities[missing]],
        np.r_[[where[name] if tree.variable[v] >= 0 else -1 for v, name in enumerate(tree.names)], missing],
        (*names, *(table.names[i] for i in missing)),
    )
    states = int(tree.cardinality[at])
    rows = [np.tile(_shares(table, i), states) for i in missing]
    return Model(grown, table.variables, np.concatenate([model.parameters, *rows]), model.provenance)


def _unlike(tree: Tree, latent: Sequence[int], taken: Sequence[str]) -> list[str]:
    """Names of the nodes, latents giving way to variables of the same name."""
    names, used = list(tree.names), set(taken)
    for v in latent:
        while names[v] in used:
            names[v] += "_"
        used.add(names[v])
    return names
