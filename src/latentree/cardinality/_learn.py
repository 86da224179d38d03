"""``learn`` and ``learn_classes``: run any learner by its name, with a budget, progress, Ctrl-C and checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from .._columns import by_content
from .._data import Data
from .._model import Counts, Model
from .._registry import loaded
from .._table import Table
from .._trace import Step
from .._tree import Tree
from .._types import FloatArray
from ..errors import DataError, ModelError, bad_parameter
from ..estimation._classes import reordered_states
from ..estimation._em import em
from ..estimation._fit import Fit, evaluate
from ..method import Run, Storage, Whole, drive
from ..runner import Budget, Clock, OnProgress, Progress, StopReason
from ..score import SCORES
from ._learner import Learner, LearnerState, Visited
from ._registry import DEFAULT, LEARNERS, Entry, learning_methods
from ._task import Criterion, Settings, Task

SAME = 0.1
"""Ends of unpolished fits that are no further below the best have found the same optimum."""


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned.

    Attributes
    ----------
    fit : Fit
        The best model. Its ``starts`` are what independent starts with its numbers of states reached, or a single
        element if there were none; its ``seconds`` are those of the whole search.
    score : float
        Its score.
    criterion, method : str
        What the score is, and which of :data:`LEARNERS` found it.
    trace : tuple of Step
        What was attempted, and the best model after each step.
    visited : tuple of Visited
        Every combination of numbers of states that was looked at, with the best model found, the one with the fewest
        parameters first.
    reason : StopReason
        Why the search ended.
    steps, seconds
        How many steps the search took, and how long.
    """

    fit: Fit
    score: float
    criterion: str
    method: str
    trace: tuple[Step, ...]
    visited: tuple[Visited, ...]
    reason: StopReason
    steps: int
    seconds: float

    @property
    def cardinality(self) -> dict[str, int]:
        """Number of states of every latent node."""
        tree = self.fit.model.tree
        return {tree.names[z]: int(tree.cardinality[z]) for z in tree.latent}

    def describe(self) -> str:
        """What the search did, in a sentence or two.

        Examples
        --------
        >>> from latentree import datasets
        >>> found = learn(datasets.load("carcinoma"), rng=np.random.default_rng(0), budget=Budget(iterations=4))
        >>> print(found.describe())  # doctest: +ELLIPSIS
        Searched 1 to 5 classes by bic: 4 steps, ... models, ... s. The iteration limit was reached first. ...
        """
        sizes = sorted(own.n_states for own in self.visited)
        looked = f"{sizes[0]} to {sizes[-1]}" if sizes[0] < sizes[-1] else f"only {sizes[0]}"
        word = ("class" if sizes[-1] == 1 else "classes") if len(self.cardinality) == 1 else "latent states in all"
        text = f"Searched {looked} {word} by {self.criterion}: {_plural(self.steps, 'step')}, "
        models = sum(own.models for own in self.visited)
        text += f"{_plural(models, 'model')}, {self.seconds:.1f} s. {self.reason}"
        return f"{text} {self._agreement}" if self._agreement else text

    @property
    def _agreement(self) -> str:
        """How many independent starts found the model."""
        n = len(self.fit.starts)
        if n == 1:
            return ""
        same = int((self.fit.starts == self.fit.starts[0]).sum()) if self.fit.starts[0] == self.fit.objective else 0
        text = f"{same or 'None'} of {n} independent starts that were run to the end found this fit."
        return text if same > 1 else f"{text} More time or another seed may find a better one."


def learn(
    table: Data,
    *,
    method: str = DEFAULT,
    skeleton: Tree | None = None,
    start: Model | None = None,
    score: str | Criterion = "bic",
    rng: np.random.Generator,
    budget: Budget | Clock | None = None,
    polish: Mapping[str, Any] | None = MappingProxyType({}),
    on_step: Callable[[Step], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Learned:
    """Learn how many states the latent nodes have, and the parameters.

    Parameters
    ----------
    table : Data
        The data.
    method : str
        One of :data:`LEARNERS`. ``screened`` is ours, the others are of [Karciauskas2005], chapters 4, 6 and 7.
        Splitting, Standard and StandardFixed go on for ever: give them a budget.
    skeleton : Tree, optional
        The structure, its leaves named as the columns. How many states its latent nodes have matters to StandardFixed
        only; the others begin with one each. Default: a latent class model.
    start : Model, optional
        A model to improve. It is kept if nothing better is found.
    score : str or callable
        What decides: one of :data:`latentree.score.SCORES`, or any function of a fit; higher is better.
    rng : numpy.random.Generator
        Source of randomness.
    budget : Budget or Clock, optional
        Limit of time and steps; the best so far is returned when it is spent, or at Ctrl-C.
    polish : mapping or None
        Options of the accelerated EM that the best model gets at the end, by default to a gain of 1e-6. None: none.
    on_step : callable, optional
        Takes every :class:`~latentree.search.Step` when it is done.
    checkpoint : str or path, optional
        File to save the state in, and to go on from if it is there. A file of other data, options or another seed is
        refused.
    options : mapping, optional
        More options of the method, as a mapping.
    **settings
        Options of the method: those of :class:`~latentree.cardinality.Settings`, and its own, such as ``n_states`` of
        StandardFixed.

    Returns
    -------
    Learned

    Examples
    --------
    >>> from latentree import datasets
    >>> found = learn(datasets.load("carcinoma"), rng=np.random.default_rng(0))
    >>> found.cardinality, round(found.score, 2)
    ({'z': 3}, -348.57)
    >>> [own.n_states for own in found.visited]
    [1, 2, 3, 4, 5, 6]
    """
    entry = LEARNERS.find(method, owner="cardinality.learn")
    kind: type[Learner] = loaded(entry.reference)
    own = kind.Options.of({**settings, **(options or {})}, owner=f"cardinality.learn with method '{method}'")
    criterion, name = criterion_of(score)
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    first = _first_model(table, entry, own, skeleton, start)
    if not entry.ends and clock.budget.seconds is None and clock.budget.iterations is None:
        raise bad_parameter("budget", "cardinality.learn", f"given, since {method} does not end by itself", None)
    task = Task(table, criterion, own, clock, first, start is not None, checkpoint is not None)

    storage = None
    if checkpoint is not None:
        constants = {key: value for key, value in own.plain().items() if key != "n_jobs"}  # they change nothing
        storage = Storage(
            checkpoint,
            "cardinality",
            {"data": table, "start": first, "settings": [method, name, constants]},
            pack=LearnerState.pack,
            unpack=lambda packed: LearnerState.unpack(task, packed),
            pack_info=Step.to_plain,
            unpack_info=Step.from_plain,
        )
    learner = kind(own)
    run = drive(
        learner,
        task,
        rng=rng,
        budget=_with_first_step(clock),
        first=LearnerState.line,
        finish=lambda line, number, seconds: replace(line, number=number, seconds=seconds),
        on_step=None if on_step is None else lambda _, line: on_step(line),
        storage=storage,
    )
    if run.state is None:  # no time at all: the first model is returned all the same
        if run.reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        state = learner.init(task, rng)
        run = replace(run, state=state, trace=(state.line(),), steps=1)
    return _learned(task, run, polish, name, method)


def learn_classes(
    table: Data,
    *,
    rng: np.random.Generator,
    method: str = DEFAULT,
    max_classes: int | None = None,
    start: Model | None = None,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Learned:
    """Learn a latent class model and how many classes it has.

    Parameters
    ----------
    table : Data
        The data.
    rng : numpy.random.Generator
        Source of randomness.
    method : str
        One of :data:`LEARNERS` that learns the number of states.
    max_classes : int, optional
        Most classes. Default: as many as there are distinct rows.
    start : Model, optional
        A latent class model to improve. It is kept if nothing better is found.
    on_progress : callable, optional
        Takes :class:`~latentree.runner.Progress` events.
    **options
        Those of :func:`learn`.

    Returns
    -------
    Learned
        Class 0 is the largest. Neither the order of the rows nor that of the columns changes the result.

    Examples
    --------
    >>> from latentree import datasets
    >>> found = learn_classes(datasets.load("carcinoma"), rng=np.random.default_rng(0))
    >>> found.fit.model.table("z").round(3).tolist()
    [[0.445, 0.374, 0.182]]
    """

    def report(line: Step) -> None:
        if on_progress is not None:
            (k,) = line.states.values()
            on_progress(Progress(line.operation, line.number, None, line.score, line.seconds, {"classes": k}))

    if LEARNERS.find(method, owner="learn_classes").fixed:
        must = f"a method that learns the number of classes ({', '.join(learning_methods())})"
        raise bad_parameter("method", "learn_classes", must, method)
    most: dict[str, Any] = {"max_states": max_classes} if Whole(1).check(max_classes) else {}
    if not most and max_classes is not None:
        raise bad_parameter("max_classes", "learn_classes", f"{Whole(1)} or None", max_classes)
    own = table
    if isinstance(table, Table):  # neither the order of the columns nor that of the rows shall matter
        own = table.select([table.names[i] for i in by_content(table)]).ordered()
    start = None if start is None else _checked_classes(start, max_classes)
    found = learn(own, rng=rng, method=method, start=start, on_step=report, **most, **options)
    order = np.argsort(-found.fit.model.table(0)[0], kind="stable")
    return replace(found, fit=_in_columns(reordered_states(found.fit, 0, order), table))


def _checked_classes(start: Model, most: int | None) -> Model:
    """A latent class model to improve, rooted at its latent node."""
    if len(start.tree.latent) == 1:
        start = start.rerooted(int(start.tree.latent[0]))
    if len(start.tree.latent) != 1 or (start.tree.parent[1:] != 0).any():
        raise ModelError("The model to start from is not a latent class model: one latent node above all variables.")
    k = int(start.tree.cardinality[0])
    if most is not None and k > most:
        raise ModelError("The model to start from has {k} classes, more than the {most} allowed.", k=k, most=most)
    return start


def _in_columns(fit: Fit, table: Data) -> Fit:
    """The same fit of a latent class model, with leaves in the order of the columns."""
    old = fit.model.tree
    order = [0, *(old.node(name) for name in table.names)]

    def moved(vector: FloatArray) -> FloatArray:
        return np.concatenate([vector[old.offsets[v] : old.offsets[v + 1]] for v in order])

    star = Tree.star(int(old.cardinality[0]), table.cardinalities)
    tree = Tree(star.parent, star.cardinality, star.variable, (old.names[0], *table.names))
    model = Model(tree, table.variables, moved(fit.model.parameters), fit.model.provenance)
    counts = Counts(moved(fit.counts.vector), fit.counts.log_likelihood, fit.counts.weight)
    return replace(fit, model=model, counts=counts, table=table)


def _with_first_step(clock: Clock) -> Clock:
    """The clock of a run whose first state counts as a step."""
    most = clock.budget.iterations
    return clock if most is None else replace(clock, budget=replace(clock.budget, iterations=most + 1))


def _learned(
    task: Task, run: Run[LearnerState, Step], polish: Mapping[str, Any] | None, criterion: str, method: str
) -> Learned:
    state = run.state
    assert state is not None
    fit, score, seconds = state.fit, state.score, run.seconds
    if polish is not None:
        s = task.settings
        budget = Budget(seconds=0) if run.reason is StopReason.INTERRUPTED else task.clock
        given: dict[str, Any] = {"prior": s.prior, "basis": s.basis, "budget": budget, "n_jobs": s.n_jobs}
        fit = em(fit.model, task.table, **{**given, **polish})
        score, seconds = task.score(fit), seconds + fit.seconds
    fit = replace(fit, seconds=seconds, reason=fit.reason if run.reason.complete else run.reason)
    if task.settings.prior is None:
        reached = [*state.memory.get("ends", ()), *state.memory.get("rounds", ())]
        fit = replace(fit, starts=_starts(fit, state.fit.log_likelihood, reached))
    best = Visited.of(fit, score)
    key = tuple(best.states.values())
    models = state.visited[key].models if key in state.visited else 1
    visited = {**state.visited, key: replace(best, models=models)}
    ordered = tuple(sorted(visited.values(), key=lambda own: (own.n_parameters, tuple(own.states.values()))))
    return Learned(fit, score, criterion, method, run.trace, ordered, run.reason, run.steps - 1, seconds)


def _starts(fit: Fit, before: float, ends: Sequence[Sequence[float]]) -> FloatArray:
    """What independent starts with the same numbers of states have reached, best first.

    They ended at a gain of 0.01 a step, as the best fit did ``before`` it was fitted to the end: those within ten times
    that of it have found the same optimum.
    """
    best = fit.objective
    found = [
        best if abs(value - before) < SAME else min(value, best) for size, value in ends if size == fit.n_parameters
    ]
    return np.sort(found or [best])[::-1]


def criterion_of(score: str | Criterion) -> tuple[Criterion, str]:
    """The function that decides, and its name."""
    if callable(score):
        return score, getattr(score, "__qualname__", type(score).__name__)
    if score not in SCORES:
        known = ", ".join(map(repr, SCORES))
        raise bad_parameter("score", "cardinality.learn", f"one of {known}, or a function of a fit", score)
    return SCORES[score], score


def _plural(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


# ---- where to start ------------------------------------------------------------------------------------------------


def _first_model(table: Data, entry: Entry, own: Settings, skeleton: Tree | None, start: Model | None) -> Model:
    if skeleton is not None and start is not None:
        raise ModelError("Give a skeleton or a model to start from, not both: the model has a skeleton.")
    if table.n_patterns == 0:
        raise DataError("There is no row to learn from.")
    if start is not None:
        _check_states(table, start.tree)
        evaluate(start, table)  # reports variables that do not fit
        return start
    tree = Tree.star(1, table.cardinalities, table.names)
    if skeleton is not None:
        tree = _checked_skeleton(skeleton, table)
    elif entry.fixed:
        n_states = getattr(own, "n_states", None)
        if n_states is None:
            raise bad_parameter("n_states", "cardinality.learn", "given, or a skeleton that says it", None)
        tree = tree.with_cardinality(0, n_states)
    if not entry.fixed:
        for z in tree.latent:
            tree = tree.with_cardinality(int(z), 1)
    _check_states(table, tree)
    variables = {v.name: v for v in table.variables}
    even = np.repeat(1.0 / tree.cardinality, tree.rows * tree.cardinality)
    return Model(tree, tuple(variables[tree.names[v]] for v in tree.manifest), even)


def _checked_skeleton(skeleton: Tree, table: Data) -> Tree:
    """Say where the leaves of a skeleton do not match the data."""
    if not len(skeleton.latent):
        raise ModelError("The skeleton has no latent node, so that there is nothing to learn the states of.")
    have = {skeleton.names[v]: int(skeleton.cardinality[v]) for v in skeleton.manifest}
    need = {v.name: v.cardinality for v in table.variables}
    for name in need:
        if name not in have:
            raise ModelError("The data have a column '{name}', but the skeleton has no leaf of that name.", name=name)
    for name in have:
        if name not in need:
            raise ModelError("The skeleton has a leaf '{name}', but the data have no column of that name.", name=name)
        if have[name] != need[name]:
            text = "'{name}' has {have} states in the skeleton but {need} in the data."
            raise ModelError(text, name=name, have=have[name], need=need[name])
    return skeleton


def _check_states(table: Data, tree: Tree) -> None:
    for z in tree.latent:
        if tree.cardinality[z] > table.n_patterns:
            text = "'{node}' has {k} states, but the data have only {n} distinct rows. Use fewer states."
            raise ModelError(text, node=tree.names[z], k=int(tree.cardinality[z]), n=table.n_patterns)
