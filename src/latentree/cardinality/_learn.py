"""``learn``: run any learner of cardinalities by its name, with a budget, progress, Ctrl-C and checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from .._model import Model
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..checkpoint import Checkpoint, Saved, fingerprint, pack_model, unpack_model
from ..errors import DataError, FileFormatError, ModelError, bad_parameter
from ..estimation._em import em
from ..estimation._fit import Fit
from ..runner import Budget, Clock, StopReason, run
from ..score import SCORES
from ._elidan_friedman import ElidanFriedman
from ._figueiredo_jain import FigueiredoJain
from ._progress import Learner, Position, Step
from ._screened import Screened
from ._split_merge import SplitMerge
from ._splitting import Splitting
from ._standard import Standard, Standard3, StandardFixed
from ._task import ScoreFunction, Settings, Task, standing
from ._ueda import Ueda

__all__ = ["LEARNERS", "OURS", "Learned", "learn", "score_function"]

LEARNERS: dict[str, Callable[..., Learner]] = {
    "screened": Screened,
    "Splitting": Splitting,
    "Standard": Standard,
    "StandardFixed": StandardFixed,
    "SplitMerge": SplitMerge,
    "Standard3": Standard3,
    "HLCSplitMerge": SplitMerge,
    "HLCStandard3": Standard3,
    "HLCStandardFixed": StandardFixed,
    "FigueiredoJain": FigueiredoJain,
    "ElidanFriedman": ElidanFriedman,
    "Ueda": Ueda,
}
"""Learners by name. K's HLC algorithms are the same on a tree with several latent nodes. The last three are baselines
that K describes (3.1.2, 3.3), for one latent node."""

ANYTIME = ("Splitting", "Standard", "StandardFixed", "HLCStandardFixed")
"""Those that never end by themselves."""

AGAIN = 0.1
"""Ends of unpolished fits that are no further below the best have found the same optimum."""

FIXED = (StandardFixed, Ueda)
"""Those that are told the number of states."""

OURS: dict[str, Any] = {"accelerate": True, "local": True, "max_iterations": 1000}
"""Settings of our own learner that differ from K's."""


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned.

    Attributes
    ----------
    fit : Fit
        The best model.
    score : float
        Its score.
    trace : tuple of Step
        What was tried, and the best model after each step.
    reason : StopReason
        Why it ended.
    steps, seconds
        How many steps it took, and how long.
    """

    fit: Fit
    score: float
    trace: tuple[Step, ...]
    reason: StopReason
    steps: int
    seconds: float

    @property
    def cardinality(self) -> dict[str, int]:
        """Number of states of every latent node."""
        tree = self.fit.model.tree
        return {tree.names[z]: int(tree.cardinality[z]) for z in tree.latent}


def learn(
    table: Table,
    *,
    method: str = "screened",
    skeleton: Tree | None = None,
    start: Model | None = None,
    score: str | ScoreFunction = "bic",
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
    table : Table
        The data.
    method : str
        One of :data:`LEARNERS`. ``screened`` is ours, the others are K's (chapters 4, 6 and 7). Splitting, Standard
        and StandardFixed go on for ever: give them a budget.
    skeleton : Tree, optional
        Who hangs under whom, its leaves named as the columns. How many states its latent nodes have matters to
        StandardFixed only; the others begin with one each. Default: a latent class model.
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
        Takes every :class:`Step` when it is done.
    checkpoint : str or path, optional
        File to save the state in, and to go on from if it is there.
    options : mapping, optional
        Arguments of the method itself, such as ``n_states`` of StandardFixed.
    **settings
        Fields of :class:`~latentree.cardinality.Settings`.

    Returns
    -------
    Learned

    Examples
    --------
    >>> from latentree import datasets
    >>> found = learn(datasets.load("carcinoma"), rng=np.random.default_rng(0))
    >>> found.cardinality, round(found.score, 2)
    ({'z': 3}, -348.57)
    """
    if method not in LEARNERS:
        raise bad_parameter("method", "cardinality.learn", f"one of {', '.join(map(repr, LEARNERS))}", method)
    unknown = [name for name in settings if name not in Settings.names()]
    if unknown:
        raise bad_parameter("settings", "cardinality.learn", f"among {', '.join(Settings.names())}", unknown[0])
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    own = Settings(**{**(OURS if method == "screened" else {}), **settings})
    task = Task(table, score_function(score), own, clock)
    learner = LEARNERS[method](**(options or {}))
    model = _first_model(task, learner, skeleton, start)
    if method in ANYTIME and clock.budget.seconds is None and clock.budget.iterations is None:
        raise bad_parameter("budget", "cardinality.learn", f"given, since {method} does not end by itself", None)

    constants = {name: value for name, value in asdict(own).items() if name != "n_jobs"}  # they change nothing
    made_from = {"data": table, "start": model, "settings": [method, _plain(score), constants, dict(options or {})]}
    file = None
    if checkpoint is not None:
        prints = {name: fingerprint(value) for name, value in made_from.items()}
        file = Checkpoint(checkpoint, "cardinality", prints)
    saved = file.load() if file is not None and file.exists() else None
    if saved is not None:
        at = _unpacked(task, saved, model)
        rng = saved.rng or rng
    else:
        at = learner.begin(task, model, rng, given=start is not None).noted(clock.elapsed)
        if on_step is not None:
            on_step(at.trace[-1])
    before = saved.seconds if saved is not None else 0.0
    if saved is not None and at.reason is not None:  # it had ended
        return _learned(task, at, at.reason, saved.steps, before, polish)

    def step(at: Position) -> tuple[Position, Step]:
        after = learner.step(task, at, rng).noted(before + clock.elapsed)
        return after, after.trace[-1]

    def heard(_: Position, line: Step) -> None:
        if on_step is not None:
            on_step(line)

    end = run(
        at,
        step,
        budget=clock,
        done=lambda at, _: at.reason,
        on_step=heard,
        rng=rng,
        checkpoint=file,
        pack=_packed,
        resumed=saved,
    )
    return _learned(task, end.state, end.reason, end.steps, end.seconds, polish)


def _learned(
    task: Task, at: Position, reason: StopReason, steps: int, seconds: float, polish: Mapping[str, Any] | None
) -> Learned:
    fit, score = at.fit, at.score
    if polish is not None:
        s = task.settings
        given: dict[str, Any] = {"prior": s.prior, "basis": s.basis, "budget": task.clock, "n_jobs": s.n_jobs}
        fit = em(fit.model, task.table, **{**given, **polish})
        score = task.score(fit)
    if not reason.complete:
        fit = replace(fit, reason=reason)
    if task.settings.prior is None:
        fit = replace(fit, starts=_starts(fit, at.memory.get("ends", ())))
    return Learned(fit, score, at.trace, reason, steps, seconds)


def _starts(fit: Fit, ends: Sequence[Sequence[float]]) -> FloatArray:
    """What other ways to the same numbers of states have reached, best first.

    They ended at a gain of 0.01 a step: those within ten times that of the best have found the same optimum.
    """
    best = fit.objective
    others = [best if value > best - AGAIN else value for size, value in ends if size == fit.n_parameters]
    return np.sort([best, *others])[::-1]


def score_function(score: str | ScoreFunction) -> ScoreFunction:
    """The function that a score's name stands for."""
    if callable(score):
        return score
    if score not in SCORES:
        known = ", ".join(map(repr, SCORES))
        raise bad_parameter("score", "cardinality.learn", f"one of {known}, or a function of a fit", score)
    return SCORES[score]


def _plain(score: str | ScoreFunction) -> str:
    return score if isinstance(score, str) else getattr(score, "__qualname__", type(score).__name__)


# ---- where to begin ------------------------------------------------------------------------------------------------


def _first_model(task: Task, learner: Learner, skeleton: Tree | None, start: Model | None) -> Model:
    if skeleton is not None and start is not None:
        raise ModelError("Give a skeleton or a model to start from, not both: the model has a skeleton.")
    if task.table.n_patterns == 0:
        raise DataError("There is no row to learn from.")
    if start is not None:
        _check_states(task, start.tree)
        standing(start, task.table)  # says what is wrong when the variables do not fit
        return start
    tree = Tree.star(1, task.table.cardinalities, [v.name for v in task.table.variables])
    if skeleton is not None:
        tree = _fitting(skeleton, task.table)
    elif isinstance(learner, FIXED):
        if learner.n_states is None:
            raise bad_parameter("n_states", type(learner).__name__, "given, or a skeleton that says it", None)
        tree = tree.with_cardinality(0, learner.n_states)
    if not isinstance(learner, FIXED):
        for z in tree.latent:
            tree = tree.with_cardinality(int(z), 1)
    _check_states(task, tree)
    variables = {v.name: v for v in task.table.variables}
    even = np.repeat(1.0 / tree.cardinality, tree.rows * tree.cardinality)
    return Model(tree, tuple(variables[tree.names[v]] for v in tree.manifest), even)


def _fitting(skeleton: Tree, table: Table) -> Tree:
    """Say where the leaves of a skeleton do not match the data."""
    if not len(skeleton.latent):
        raise ModelError("The skeleton has no latent node, so that there is nothing to learn the states of.")
    have = {skeleton.names[v]: int(skeleton.cardinality[v]) for v in skeleton.manifest}
    need = {v.name: v.cardinality for v in table.variables}
    for name in need:
        if name not in have:
            raise ModelError(f"The data have a column '{name}', but the skeleton has no leaf of that name.")
    for name in have:
        if name not in need:
            raise ModelError(f"The skeleton has a leaf '{name}', but the data have no column of that name.")
        if have[name] != need[name]:
            raise ModelError(f"'{name}' has {have[name]} states in the skeleton but {need[name]} in the data.")
    return skeleton


def _check_states(task: Task, tree: Tree) -> None:
    for z in tree.latent:
        if tree.cardinality[z] > task.table.n_patterns:
            raise ModelError(
                f"'{tree.names[z]}' has {tree.cardinality[z]} states, but the data have only {task.table.n_patterns} "
                "distinct rows. Use fewer states."
            )


# ---- checkpoints ---------------------------------------------------------------------------------------------------


_REASONS = {reason.value: reason for reason in StopReason}


def _packed(at: Position) -> dict[str, Any]:
    return {
        "model": pack_model(at.fit.model),
        "score": at.score,
        "memory": dict(at.memory),
        "trace": [asdict(line) for line in at.trace],
        "reason": None if at.reason is None else at.reason.value,
    }


def _unpacked(task: Task, saved: Saved, model: Model) -> Position:
    told = saved.payload
    try:
        fit = standing(unpack_model(told["model"], model.variables), task.table, task.settings.n_jobs)
        reason = None if told["reason"] is None else _REASONS[told["reason"]]
        trace = tuple(Step(**line) for line in told["trace"])
        last = trace[-1]
        return Position(fit, float(told["score"]), dict(told["memory"]), last.operation, last.accepted, reason, trace)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FileFormatError(f"The checkpoint of a learner is damaged: {error!r}.") from None
