"""Learn a tree from data: one function, any search by its name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._model import Counts, Model
from .._options import renamed
from .._table import Table
from .._trace import Step
from .._tree import Tree
from ..errors import Advice, DataError, LatentreeError, LatentreeWarning, Parameter, ParameterError, bad_parameter
from ..estimation import Estimate, Fit, em, evaluate, smoothed
from ..estimation._smoothing import AnyPrior, LearnerPrior, check_prior
from ..method import Storage, drive
from ..runner import Budget, Clock, OnProgress, StopReason
from ._columns import by_content
from ._criterion import Criterion, Score
from ._independence import independent, shares
from ._registry import DEFAULT, METHODS
from ._task import AGREE, Point, SearchMethod, State, Task

OnStep = Callable[[Step], None]

HELD_OUT = "holdout"
"""The score of searches that estimate by themselves."""

_MEMORY = 4
"""Raised when searches come to remember other things: a checkpoint from before is refused."""


@dataclass(frozen=True)
class Run:
    """What a search found.

    Attributes
    ----------
    fit : Fit
        The best model at its maximum of the likelihood, which scores are taken at.
    trace : tuple of Step
        How it came about.
    reason : StopReason
        Why the search ended.
    seconds : float
        Time it took, that before a resumed checkpoint included.
    method, criterion : str
        What searched, and what it maximised.
    score : float
        The value of the criterion, higher being better.
    structure : bool
        Whether a tree was found. If not, the model has one latent of one state: the variables are independent.
    message : str
        What to know about the result, in words.
    ends : tuple of float
        The scores at which its starts ended, for a search that has several and as far as they have come.
    estimated : Fit or None
        The same tree fitted under the prior: its probabilities are those of :attr:`model`. None without a prior.
    estimate : Estimate or None
        What the probabilities of :attr:`model` are.
    """

    fit: Fit
    trace: tuple[Step, ...]
    reason: StopReason
    seconds: float
    method: str
    criterion: str
    score: float
    structure: bool
    message: str
    ends: tuple[float, ...] = ()
    estimated: Fit | None = None
    estimate: Estimate | None = None

    @property
    def found(self) -> int:
        """How many starts ended at the best score."""
        return sum(end > max(self.ends) - AGREE for end in self.ends)

    @property
    def model(self) -> Model:
        """The best model, its probabilities as :attr:`estimate` says."""
        return self.fit.model if self.estimated is None else self.estimated.model

    @property
    def tree(self) -> Tree:
        """Its tree."""
        return self.fit.model.tree

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "value":
                raise AttributeError("Run.value is now Run.score; the name of the criterion is Run.criterion.")
            raise AttributeError(f"'Run' object has no attribute {name!r}")


@renamed
def learn(
    table: Table,
    *,
    method: str = DEFAULT,
    score: Score = "bic",
    prior: AnyPrior = "auto",
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
    prior : "auto", "shuffled", "blocks", float or None
        What the probabilities of the final tree are, which is found by maximum likelihood: ``"shuffled"`` pulls them
        towards plain distributions, as far as cases held out at random say
        (:func:`latentree.estimation.smoothed`), so that no row of known states is impossible; ``"blocks"`` does the
        same, but holds out rows that stand together in the table, for new rows that come from another time or place;
        ``"auto"`` is ``"shuffled"``, or the mean of the two if rows that stand together are unlike the others, which
        the result then says; a number is the Dirichlet parameter of every distribution, at least 1; None is maximum
        likelihood. ``fit`` of the result is at the maximum of the likelihood in any case, ``model`` has these
        probabilities. Only blocks depend on the order of rows.
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
        A file to save the search in after every step. It belongs to the seed, too.
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
    >>> round(run.score, 2), run.structure, run.reason.name
    (-656.62, True, 'EXHAUSTED')
    """
    if not isinstance(rng, np.random.Generator):
        raise bad_parameter("rng", "learn", "a numpy.random.Generator", rng)
    if table.n_variables < 3:
        raise DataError(f"Learning a tree needs at least three variables. Got {', '.join(table.names)}.")
    search = _method(method, options)
    check_prior(prior, "learn", table)
    # sums do not depend on the order of columns and rows
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    names = table.names
    late = clock.expired and checkpoint is None  # nothing will be searched, so that the order of columns is no matter
    whole = table if late else table.select([names[i] for i in by_content(table)]).ordered()
    varying = _varying(whole)
    aside = 3 <= len(varying) < whole.n_variables and not search.estimates
    core = whole.select([whole.names[i] for i in varying]).ordered() if aside else whole
    criterion = Criterion.of(score, core)
    if search.estimates and criterion.name != HELD_OUT:
        raise ParameterError(
            "The method '{method}' chooses by cases held out, not by {score}. Use {advice}.",
            method=method,
            score=criterion.name,
            advice=Advice(option="score", value=HELD_OUT),
        )
    if search.estimates and prior == "blocks":
        raise ParameterError(
            "The method '{method}' estimates the probabilities while it searches, and holds out cases at random: "
            "{blocks} is not for it. Use {advice}, or a number.",
            method=method,
            blocks=Advice(option="prior", value="blocks"),
            advice=Advice(option="prior", value="auto"),
        )
    own_prior: LearnerPrior = "auto" if isinstance(prior, str) else prior  # chosen when a tree is found
    task = Task(core, criterion, _threads(n_jobs), clock, _start(start, core, table), on_progress, executor, own_prior)
    none = _independent(task) if not search.estimates else Point(independent(core), -np.inf)
    if len(varying) < 3:
        message = f"No structure found: only {len(varying)} of {table.n_variables} variables vary."
        outcome = _Outcome(none, (), StopReason.EXHAUSTED, clock.elapsed)
        return _run(outcome, none, (whole, table), task, method, message, prior)
    if (forecast := search.forecast(task)) is not None:  # say beforehand if it will take very long
        warnings.warn(forecast, LatentreeWarning, stacklevel=2)
    storage: Storage[State, Step] | None = None
    if checkpoint is not None:
        settings = {"method": method, "score": criterion.name, "memory": _MEMORY, **search.options.plain()}
        if search.estimates:  # others meet the prior after the search
            settings["prior"] = own_prior
        storage = Storage(
            checkpoint,
            "learn",
            {"data": core, "settings": settings, "start": task.start},
            State.pack,
            lambda packed: State.unpack(packed, core),
            Step.to_ordered,
            Step.from_plain,
            resume,
            every_seconds=0.0,
        )
    end = drive(
        search,
        task,
        rng=rng,
        budget=clock,
        first=lambda state: state.best.step("start", "start", "the model to start from"),
        finish=lambda step, number, seconds: replace(step, number=number, seconds=seconds),
        on_step=None if on_step is None else lambda _, step: on_step(step),
        storage=storage,
    )
    best = none if end.state is None else end.state.best
    ends = () if end.state is None else tuple(end.state.memory.get("ends", ()))
    outcome = _Outcome(best, end.trace, end.reason, end.seconds, ends)
    if search.estimates:
        if end.state is not None:
            none = replace(none, score=end.state.memory["independent"])
            outcome = replace(outcome, estimate=search.estimate(task, best))
    else:
        outcome = _polished(outcome, task)
    return _run(outcome, none, (whole, table), task, method, "", prior)


class _MethodOption(Parameter):
    """An option of a search, which the shell sets by ``--set``."""

    def shown(self, surface: Any) -> str:
        """Put it into the words of a surface."""
        return f"The option '{self.name}' of {self.owner}" if surface == "python" else f"--set {self.name}"


def _method(name: str, options: Mapping[str, Any]) -> SearchMethod:
    entry = METHODS.find(name, owner="learn")
    search = entry.load()
    try:
        made = search.Options.of({**entry.preset, **options}, owner=f"the method '{name}'")
    except ParameterError as error:
        wrong = error.fields.get("parameter")
        if not isinstance(wrong, Parameter):
            raise
        fields = {**error.fields, "parameter": _MethodOption(wrong.name, wrong.owner)}
        raise ParameterError(error.template, **fields) from None
    method: SearchMethod = search(made)
    return method


def _threads(n_jobs: int) -> int:
    if isinstance(n_jobs, bool) or int(n_jobs) != n_jobs or (n_jobs < 1 and n_jobs != -1):
        raise bad_parameter("n_jobs", "learn", "a whole number of at least 1, or -1 for all cores", n_jobs)
    return int(n_jobs) if n_jobs > 0 else os.cpu_count() or 1


def _start(start: Model | None, core: Table, table: Table) -> Model | None:
    if start is None:
        return None
    own = tuple(v for v in table.variables if v.name in set(core.names))
    if start.variables not in (own, table.variables):
        raise ParameterError(
            "{parameter} must have the variables of the data, in their order (those that never vary may be missing): "
            "{needed}. Got {got}.",
            parameter=Parameter("start", "learn"),
            needed=", ".join(table.names),
            got=", ".join(v.name for v in start.variables),
        )
    inner = [start.tree.names[v] for v in start.tree.manifest if len(start.tree.neighbours(int(v))) > 1]
    if inner:
        raise ParameterError(
            "{parameter} must have all manifest variables as leaves. '{inner}' is none.",
            parameter=Parameter("start", "learn"),
            inner=inner[0],
        )
    start = _renumbered(start, core) if start.variables == own else _restricted(start, core)
    # one rooting and order for all equal models, so that these change no result
    tree, where = start.tree.canonically_rooted()
    rooted = start.rerooted(int(where[0]))
    return Model(tree, start.variables, np.concatenate([rooted.table(name).ravel() for name in tree.names]))


def _renumbered(model: Model, table: Table) -> Model:
    """The same model, its variables in the order of the table."""
    tree, where = model.tree, {name: i for i, name in enumerate(table.names)}
    variable = [where[name] if i >= 0 else -1 for name, i in zip(tree.names, tree.variable, strict=True)]
    tree = Tree(tree.parent, tree.cardinality, np.array(variable), tree.names)
    return Model(tree, table.variables, model.parameters)


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


# ---- after the search -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Outcome:
    best: Point
    trace: tuple[Step, ...]
    reason: StopReason
    seconds: float
    ends: tuple[float, ...] = ()
    estimate: Estimate | None = None


def _polished(outcome: _Outcome, task: Task) -> _Outcome:
    """Take the parameters of the final model to convergence; within a search a coarser fit does."""
    if not outcome.reason.complete:
        return outcome
    fit = em(outcome.best.fit.model, task.table, budget=task.clock, n_jobs=task.n_jobs)
    best = Point(fit, task.criterion(fit))
    if not best.score > outcome.best.score:
        return outcome
    step, seconds = best.step("end", "EM", "all probabilities, to convergence"), outcome.seconds + fit.seconds
    step = replace(step, number=len(outcome.trace), seconds=seconds)
    return replace(outcome, best=best, trace=(*outcome.trace, step), seconds=seconds)


# ---- no structure, columns that never vary, and the order of the columns ----------------------------------------


def _independent(task: Task) -> Point:
    """The model without structure."""
    fit = independent(task.table)
    return Point(fit, _score_or_none(task.criterion, fit))


def _score_or_none(criterion: Criterion, fit: Fit) -> float:
    try:
        return criterion(fit)
    except LatentreeError:  # not every score is defined without a latent
        return -np.inf


def _run(
    outcome: _Outcome,
    none: Point,
    tables: tuple[Table, Table],
    task: Task,
    method: str,
    message: str,
    prior: AnyPrior,
) -> Run:
    """The result, with all columns and in the user's order; ``tables`` are all columns in ours and in the user's."""
    whole, table = tables
    best, criterion, reason = outcome.best, task.criterion, outcome.reason
    # a tree of which no two variables depend on each other is the same model, whatever rounding makes of its score
    structure = best.score > none.score and len(best.fit.model.tree.parts) < best.fit.table.n_variables
    if not structure:
        best = none
        if not message:
            message = (
                f"No structure found: no tree scores above the model in which all variables are independent "
                f"({criterion.name} {none.score:.2f})."
                if outcome.reason.complete
                else "The search ended before a tree was found."
            )
    fit, score = best.fit, best.score
    if fit.table.n_variables < whole.n_variables:
        fit = evaluate(_with_constants(fit.model, whole), whole)
        score = _score_or_none(criterion, fit)
    columns = range(whole.n_variables)  # which are in an order of their own, so that their names do not matter
    if structure and outcome.estimate is not None:
        again, estimate = fit, outcome.estimate
    else:
        budget = Budget(seconds=0) if reason is StopReason.INTERRUPTED else task.clock
        again, estimate = smoothed(fit, prior, budget=budget, n_jobs=task.n_jobs, labels=columns)
    if again.reason is StopReason.INTERRUPTED and reason.complete:
        reason = again.reason
    ordered = table.ordered()
    estimated = None if again is fit else _in_order(again, ordered)
    fit = _in_order(fit, ordered)
    found = (fit, outcome.trace, reason, outcome.seconds, method, criterion.name, score, structure)
    run = Run(*found, message, outcome.ends, estimated, estimate)
    return run if message or not (run.ends and run.reason.complete) else replace(run, message=_agreement(run))


def _agreement(run: Run) -> str:
    """How sure the result is."""
    n, found = len(run.ends), run.found
    if n == 1:
        return "Found from the one start that was made; other starts might lead higher."
    if found == 1:
        return f"Found from 1 of {n} starts: more effort, or another seed, may lead higher."
    return f"Found from {found} of {n} starts."


def _in_order(fit: Fit, table: Table) -> Fit:
    """The same fit with variables and nodes in the order of the table's columns."""
    old = fit.model.tree
    place = {name: i for i, name in enumerate(table.names)}
    column = [place[name] if i >= 0 else -1 for name, i in zip(old.names, old.variable.tolist(), strict=True)]
    order, parent = [0], [-1]
    for i, v in enumerate(order):
        leaves = sorted((c for c in old.children[v] if column[c] >= 0), key=column.__getitem__)
        children = [*leaves, *(c for c in old.children[v] if column[c] < 0)]
        order += children
        parent += [i] * len(children)
    variable = [column[v] for v in order]
    tree = Tree(np.array(parent), old.cardinality[order], np.array(variable), tuple(old.names[v] for v in order))

    source = old.entries(np.array(order))
    model = Model(tree, table.variables, fit.model.parameters[source], fit.model.provenance)
    counts = Counts(fit.counts.vector[source], fit.counts.log_likelihood, fit.counts.weight)
    return replace(fit, model=model, table=table, counts=counts)


def _with_constants(model: Model, table: Table) -> Model:
    """Hang the columns that never vary on the latent with the fewest states, where they cost least."""
    tree = model.tree
    latent = [int(v) for v in tree.latent]
    place = np.argsort(tree.canonically_rooted()[1])  # the same for all rootings
    at = min(latent or [0], key=lambda v: (int(tree.cardinality[v]), int(place[v])))
    where = {name: i for i, name in enumerate(table.names)}
    own, all_names = {v.name for v in model.variables}, table.names
    missing = [i for i, name in enumerate(all_names) if name not in own]
    names = _unlike(tree, latent, table.names)
    grown = Tree(
        np.r_[tree.parent, np.full(len(missing), at)],
        np.r_[tree.cardinality, table.cardinalities[missing]],
        np.r_[[where[name] if tree.variable[v] >= 0 else -1 for v, name in enumerate(tree.names)], missing],
        (*names, *(all_names[i] for i in missing)),
    )
    states = int(tree.cardinality[at])
    rows = [np.tile(shares(table, i), states) for i in missing]
    return Model(grown, table.variables, np.concatenate([model.parameters, *rows]), model.provenance)


def _unlike(tree: Tree, latent: Sequence[int], taken: Sequence[str]) -> list[str]:
    """Names of the nodes, latents giving way to variables of the same name."""
    names, used = list(tree.names), set(taken)
    for v in latent:
        while names[v] in used:
            names[v] += "_"
        used.add(names[v])
    return names
