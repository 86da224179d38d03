"""How far probabilities are pulled towards plain ones, and whereto: chosen by cases that are held out."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .._folds import block_weights, fold_weights, has_row_order, runs_of, shuffled_block_weights, training_parts
from .._model import Model, normalised
from .._table import Table
from .._types import FloatArray
from ..engine._plan import Plan
from ..runner import Budget, Clock, StopReason
from ._em import EmRuns

__all__ = [
    "DEFAULT_PULL",
    "FOLDS",
    "STRENGTHS",
    "Choice",
    "Pull",
    "Towards",
    "by_node",
    "choose_pull",
    "drift",
    "flat_prior",
]

Towards = Literal["uniform", "marginal"]
WAYS: tuple[Towards, ...] = ("uniform", "marginal")

STRENGTHS = tuple(10.0 ** (i / 2) for i in range(-2, 7))
"""Strengths to choose from, 0.1 to 1,000 cases a distribution, the next about three times the one before."""

FOLDS = 5
"""Parts of the data in cross-validation."""

BLOCKS = 10
"""Parts of the data in cross-validation, if these are rows that stand together."""

STEPS = 12
"""Steps of EM for each strength and part, from where the strength before ended."""

COST = 0.005
"""What safety on rows unlike those seen may cost on rows like them, as a part of their log-likelihood.

The standard error alone allows too much where rows are few: with 150 rows of six variables, 5 % on fresh rows.
"""

ROUNDS = 20
"""How often all tables may choose their pulls anew, at most."""

STEP_GAIN = 3.0
"""What rows held out must gain, in log-likelihood, for each step that a table's strength is away from the common one.

A change of what it is pulled towards counts as a step. With 0 and 1, tables of 150 generated rows chose by chance.
"""

DRIFT, ERRORS = 0.05, 1.5
"""The order of rows matters if blocks held out are less probable than blocks of shuffled rows by more than this: a
share of the log-likelihood, and so many standard errors of the two means.

Of the data sets tried, those in no plain order lose 3 % at most, those that are sorted 6 to 44 %. The rows of both
means are the same, so that these errors overstate that of the difference: of 24 tables in no order, with weights or
without, none lost more than 0.92, of five sorted ones of 600 rows none less than 2.05.
"""

RUNS = 10
"""Different rows in succession that a block must have on average, for its order to say anything."""

WORK = 1e11
"""Above this many products (distinct rows times probabilities times steps), fewer parts are held out in turn."""

EVALUATIONS = 12
"""About how many strengths are looked at, both ways to spread them together."""


@dataclass(frozen=True)
class Pull:
    """A Dirichlet prior of every distribution: so many cases, spread like a plain distribution.

    Attributes
    ----------
    strength : float
        How many cases are added to each distribution P(node | state of its parent).
    towards : {"uniform", "marginal"}
        How they are spread: evenly over the states, or as the states occur in the data whatever the parent.

    Examples
    --------
    >>> from latentree import datasets
    >>> model = datasets.generator("d7")
    >>> Pull(3.0, "uniform").prior(model, 100.0)["X1"].round(3).tolist()
    [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    """

    strength: float
    towards: Towards

    def prior(self, model: Model, weight: float) -> dict[str, FloatArray]:
        """Return Dirichlet parameters by node, for a model of so many cases."""
        return by_node(model, self.flat_prior(model, weight))

    def flat_prior(self, model: Model, weight: float) -> FloatArray:
        """Return the same laid out like the parameters."""
        return 1.0 + self.strength * spread(model, weight, self.towards)


def spread(model: Model, weight: float, towards: Towards) -> FloatArray:
    """How one case of a pull is spread over the states of each distribution, laid out like the parameters."""
    out, marginals = np.empty(model.tree.size), model.marginals()
    for nodes, entries in model.tree.alike:
        own = np.array([marginals[v] for v in nodes.tolist()])[:, None]
        k = own.shape[-1]
        # Half a case for each state, so that states no row has are pulled above zero too.
        out[entries] = 1 / k if towards == "uniform" else (weight * own + 0.5) / (weight + 0.5 * k)
    return out


def by_node(model: Model, flat: FloatArray) -> dict[str, FloatArray]:
    """Take numbers laid out like the parameters apart: a table for each node."""
    tree = model.tree
    shapes = zip(tree.rows.tolist(), tree.cardinality.tolist(), strict=True)
    parts = np.split(flat, tree.offsets[1:-1])
    return {name: own.reshape(k) for name, own, k in zip(tree.names, parts, shapes, strict=True)}


DEFAULT_PULL = Pull(1.0, "marginal")
"""Where nothing can be chosen: too few cases, or no time."""


@dataclass(frozen=True)
class Choice:
    """A pull that was chosen, and why.

    Attributes
    ----------
    pull : Pull
        The chosen one, common to all tables.
    tried : mapping of Pull to float
        Mean log-likelihood of a case that was held out, for all that were looked at.
    error : float
        The standard error of the largest of them.
    chosen : str
        ``"cross-validation"``, ``"hold-out"``, ``"blocks"`` or ``"default"``.
    folds : int or None
        How many parts were held out, one after the other.
    stopped : StopReason or None
        What ended the choice before its time.
    pulls : tuple of Pull or None
        The pull of each node's table, if they were chosen one by one.
    """

    pull: Pull
    tried: Mapping[Pull, float]
    error: float
    chosen: str
    folds: int | None
    stopped: StopReason | None = None
    pulls: tuple[Pull, ...] | None = None

    def flat_prior(self, model: Model, weight: float) -> FloatArray:
        """Return Dirichlet parameters laid out like those of a model, the one that the choice was made for."""
        if self.pulls is None:
            return self.pull.flat_prior(model, weight)
        return flat_prior(model, weight, self.pulls)


def flat_prior(model: Model, weight: float, pulls: Sequence[Pull]) -> FloatArray:
    """Dirichlet parameters of a model of so many cases, a pull for the table of each node, laid out like its own."""
    sizes = np.diff(model.tree.offsets)
    strength = np.repeat([pull.strength for pull in pulls], sizes)
    even = np.repeat([pull.towards == "uniform" for pull in pulls], sizes)
    uniform, marginal = (spread(model, weight, way) for way in WAYS)
    return 1.0 + strength * np.where(even, uniform, marginal)


def choose_pull(
    model: Model,
    table: Table,
    *,
    blocks: bool = False,
    budget: Budget | Clock | None = None,
    n_jobs: int = 1,
    labels: Sequence[Hashable] | None = None,
) -> Choice:
    """Choose how far probabilities are pulled, and whereto, by the likelihood of cases held out.

    The cases are dealt into five parts; each part is scored by the model fitted to the others, some steps of EM from
    the parameters given. Where that would take long, only some of the parts are scored, at least one. For each way to
    spread the cases of the prior the strength goes up from 0.1 until the cases held out become much less probable.

    Taken is the strongest pull that costs little: cases held out lose no more, compared with the best pull, than the
    standard error of their mean log-likelihood (the one-standard-error rule), and no more than 0.5 % of it. Rows that
    are unlike those seen, of which cases held out at random say nothing, lose less, the stronger the pull.

    With ``blocks`` there are ten parts, each of rows that stand together in the data. If these are sorted by time,
    place or anything else, a part held out is unlike the others, as new rows may be. All strengths are tried then, and
    nothing that the rows held out say is in the distributions that are pulled towards. From the pull that the same rule
    chooses, each node's table goes on to its own (:func:`_table_by_table`): what differs from block to block is pulled
    far, what does not hardly at all.

    Parameters
    ----------
    model : Model
        The model at a maximum of the likelihood of all data.
    table : Table
        The data.
    blocks : bool
        Whether rows that stand together are held out, instead of cases drawn at random. Then, and only then, the result
        depends on the order of the rows.
    budget : Budget, optional
        Most time. When it is over, the best so far is taken, or a pull of 1 case towards the marginal.
    n_jobs : int
        Threads; they do not change the result.
    labels : sequence, optional
        What tells the columns apart where cases are held out at random. Default: their names.

    Examples
    --------
    >>> import latentree as lt
    >>> table = lt.datasets.load("hiv_test")
    >>> fit = lt.fit_classes(table, 2, rng=np.random.default_rng(0))
    >>> choice = choose_pull(fit.model, table)
    >>> choice.chosen, choice.folds, len(choice.tried) > 1
    ('cross-validation', 5, True)
    """
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    if table.weight < 2:
        return _NOTHING
    if clock.expired:
        return replace(_NOTHING, stopped=StopReason.TIME)
    parts = _parts(model, table, blocks, labels)
    if not parts:
        return _NOTHING
    trial = _Trial(model, parts, clock, n_jobs, blocks)
    for towards in WAYS:
        if trial.stopped is None:
            _climb(trial, towards)
    if not trial.tried:
        return replace(_NOTHING, stopped=trial.stopped)
    pull = trial.chosen()
    pulls = _table_by_table(trial, pull) if blocks and trial.stopped is None else None
    how = "blocks" if blocks else "cross-validation" if len(parts) > 1 else "hold-out"
    means = {own: mean for own, (mean, _) in trial.tried.items()}
    return Choice(pull, means, trial.best()[1], how, len(parts), trial.stopped, pulls)


def drift(
    model: Model,
    table: Table,
    pull: Pull,
    *,
    clock: Clock,
    n_jobs: int = 1,
    labels: Sequence[Hashable] | None = None,
) -> tuple[float | None, StopReason | None]:
    """By how much of their log-likelihood blocks of rows, held out, are less probable than if the rows were shuffled.

    None unless the order of the rows matters for new rows: the blocks lose more than 5 % and more than one and a half
    standard errors. Then the rows differ from one end of the table to the other, by time, place or because they are
    sorted, and new rows may be unlike those at hand. Of rows in no particular order this does not come out, so that
    their order makes no difference. Shuffled blocks hold the same runs of equal rows, with the same weights.

    Parameters
    ----------
    model, table
        As for :func:`choose_pull`.
    pull : Pull
        How far probabilities are pulled meanwhile: as chosen by cases drawn at random.
    clock, n_jobs, labels
        As for :func:`choose_pull`.

    Returns
    -------
    float or None
        The share, if the order matters.
    StopReason or None
        What ended the look before it was over; then nothing is known.
    """
    if not has_row_order(table, RUNS * BLOCKS):
        return None, None
    found = []
    for weights in (block_weights(table, BLOCKS), shuffled_block_weights(table, BLOCKS, labels=labels)):
        parts = _few(training_parts(table, weights), model, table, 2)
        trial = _Trial(model, parts, clock, n_jobs, blocks=True)
        if not trial.tries(pull):
            return None, trial.stopped
        found.append(trial.tried[pull])
    (mean, error), (shuffled, other) = found
    lost = shuffled - mean
    # equal rows in succession are one observation, whatever they weigh together: the design effect of Kish (1965)
    runs = runs_of(table)[1]
    error = math.hypot(error, other) * math.sqrt(float(runs @ runs / runs.sum()))
    matters = lost > DRIFT * abs(shuffled) and lost > ERRORS * error
    return (lost / abs(shuffled) if matters else None), None


def _parts(model: Model, table: Table, blocks: bool, labels: Sequence[Hashable] | None) -> list[tuple[Table, Table]]:
    """Parts to be held out, and the other cases; fewer of them where the data are large."""
    cases = max(table.weight, float(table.n_patterns))
    folds = int(min(BLOCKS if blocks else FOLDS, cases))
    weights = block_weights(table, folds) if blocks else fold_weights(table, folds, labels=labels)
    parts = training_parts(table, weights)
    if blocks:
        return _few(parts, model, table, len(WAYS) * len(STRENGTHS) + ROUNDS)
    return parts[: _most(model, table, EVALUATIONS)]


def _few(parts: list[tuple[Table, Table]], model: Model, table: Table, evaluations: int) -> list[tuple[Table, Table]]:
    """Some of the blocks where the data are large, from everywhere: blocks next to each other are alike."""
    most = min(len(parts), _most(model, table, evaluations))
    return [parts[(2 * i + 1) * len(parts) // (2 * most)] for i in range(most)]


def _most(model: Model, table: Table, evaluations: int) -> int:
    """How many parts can be held out within the work that is allowed, at least one."""
    work = table.n_patterns * model.tree.size * STEPS * evaluations
    return max(1, int(WORK / work))


_NOTHING = Choice(DEFAULT_PULL, {}, math.nan, "default", None)


def _climb(trial: _Trial, towards: Towards) -> None:
    """Follow the strengths up until the held-out cases lose too much."""
    trial.restart()
    for strength in STRENGTHS:
        pull = Pull(strength, towards)
        if not trial.tries(pull) or not (trial.blocks or trial.allows(pull)):
            break


def _table_by_table(trial: _Trial, common: Pull) -> tuple[Pull, ...] | None:
    """A pull for the table of each node, by the likelihood of parts held out; None if the time was over before.

    With the posteriors of the rows held out, their expected log-likelihood is a sum over tables, so that each table can
    be asked for the pull it prefers, as EM asks it for its probabilities. Then all models are fitted under the new
    pulls, and the tables are asked again, as long as the likelihood of the rows held out rises.
    """
    candidates = [Pull(strength, towards) for strength in STRENGTHS for towards in WAYS]
    step = np.log([pull.strength / common.strength for pull in candidates]) / np.log(STRENGTHS[1] / STRENGTHS[0])
    away = np.abs(step) + [pull.towards != common.towards for pull in candidates]
    cost = STEP_GAIN * np.round(away)[:, None]
    trial.restart()
    own, best, found = [common] * len(trial.models[0].tree.names), -math.inf, None
    for turn in range(ROUNDS):
        # the first time EM goes on longer: then rounds differ by their pulls alone
        mean = trial.mean(own, STEPS if turn else 3 * STEPS)
        if mean is None:
            return found
        if mean < best + 1e-6 * abs(mean):
            break
        best, found = mean, tuple(own)
        worth = trial.expected(candidates) - cost
        own = [candidates[i] for i in np.argmax(worth, axis=0)]
        if tuple(own) == found:
            break
    return found


class _Trial:
    """Pulls tried on parts of the data that are held out."""

    def __init__(
        self, model: Model, parts: list[tuple[Table, Table]], clock: Clock, n_jobs: int, blocks: bool = False
    ) -> None:
        self.clock, self.n_jobs, self.blocks = clock, n_jobs, blocks
        self.parts, self.models = parts, [model] * len(parts)
        self.plans: list[tuple[Plan, Plan]] = []
        self.weights = np.concatenate([own.weights for _, own in parts])
        self.tried: dict[Pull, tuple[float, float]] = {}  # mean of a case held out, and its standard error
        self.stopped: StopReason | None = None
        self.restart()

    def restart(self) -> None:
        """Begin at the parameters of the model again."""
        self.here = [own.parameters for own in self.models]

    def tries(self, pull: Pull) -> bool:
        """Find the mean log-likelihood of the cases held out; False if the time is over before."""
        every = self._held_out([pull] * len(self.models[0].tree.names), STEPS)
        if every is None:
            return False
        n = float(self.weights.sum())
        mean = float(self.weights @ every) / n
        self.tried[pull] = mean, math.sqrt(float(self.weights @ (every - mean) ** 2)) / n
        return True

    def mean(self, pulls: Sequence[Pull], steps: int) -> float | None:
        """Mean log-likelihood of the cases held out with a pull for each table; None if the time is over before."""
        every = self._held_out(pulls, steps)
        return None if every is None else float(self.weights @ every / self.weights.sum())

    def _held_out(self, pulls: Sequence[Pull], steps: int) -> FloatArray | None:
        """Log-likelihoods of all rows held out, after some steps of EM from where the models are."""
        rows = []
        for i, (rest, _) in enumerate(self.parts):
            if self.clock.expired:
                self.stopped = StopReason.TIME
                return None
            train, test = self._compiled(i)
            if self.stopped is not None:
                return None
            runs = EmRuns(
                train, self.here[i][None], prior=flat_prior(self.models[i], rest.weight, pulls), n_jobs=self.n_jobs
            )
            self.stopped = runs.advance(steps, 1e-6, self.clock)
            if self.stopped is not None:
                return None
            self.here[i] = runs.parameters(0)
            rows.append(test.row_log_likelihood(self.here[i], n_jobs=self.n_jobs))
        return np.concatenate(rows)

    def expected(self, candidates: Sequence[Pull]) -> FloatArray:
        """For each pull and node, the expected log-likelihood of its table in the rows held out.

        The posteriors are those of the present models; the probabilities are what the other rows and the pull say.
        """
        tree = self.models[0].tree
        found = np.zeros((len(candidates), len(tree.names)))
        for (rest, _), (train, test), model, here in zip(self.parts, self.plans, self.models, self.here, strict=True):
            counts, held_out = (plan.evaluate(here, n_jobs=self.n_jobs).vector for plan in (train, test))
            plain = {way: spread(model, rest.weight, way) for way in WAYS}
            for own, pull in zip(found, candidates, strict=True):
                probabilities = normalised(tree, counts + pull.strength * plain[pull.towards])
                own += np.add.reduceat(held_out * np.log(np.maximum(probabilities, 1e-300)), tree.offsets[:-1])
        return found

    def _compiled(self, i: int) -> tuple[Plan, Plan]:
        """The plans of a part, made when they are first asked for: there may be no time for all."""
        if i == len(self.plans):
            rest, own = self.parts[i]
            self.plans.append((Plan.of(self.models[i], rest), Plan.of(self.models[i], own)))
            if self.blocks:
                self._forget(i)
        return self.plans[i]

    def _forget(self, i: int) -> None:
        """Begin with what the other rows say alone: a block may hold all rows that have a value."""
        model = self.models[i]
        runs = EmRuns(self.plans[i][0], model.parameters[None], n_jobs=self.n_jobs)
        self.stopped = runs.advance(STEPS, 1e-6, self.clock)
        self.models[i] = model.with_parameters(runs.parameters(0))
        self.here[i] = self.models[i].parameters

    def best(self) -> tuple[float, float]:
        """The largest mean log-likelihood of a case held out, and its standard error."""
        return max(self.tried.values())

    def allows(self, pull: Pull) -> bool:
        """Whether a pull costs little, compared with the best."""
        mean, error = self.best()
        return self.tried[pull][0] >= mean - min(error, COST * abs(mean))

    def chosen(self) -> Pull:
        """The strongest of those; of equally strong ones the one under which cases held out are more probable."""
        allowed = [pull for pull in self.tried if self.allows(pull)]
        return max(allowed, key=lambda pull: (pull.strength, self.tried[pull][0]))
