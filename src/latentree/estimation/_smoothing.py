"""Estimates that hold for rows not seen: distributions pulled towards plain ones, as far as the data say."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from .._data import Data
from .._folds import block_weights, check_row_order, fold_weights, training_parts
from .._model import Counts, Model, normalised
from .._options import AnyOf, Number, OneOf
from .._table import Table, as_table
from .._types import FloatArray
from ..engine._plan import Plan, sharing
from ..errors import bad_parameter
from ..runner import Budget, Clock, StopReason
from ._classes import reordered_states
from ._em import EmRuns, fit_em
from ._em_options import EmOptions
from ._fit import Fit, Prior, evaluate, pseudo_counts

__all__ = [
    "AnyPrior",
    "Estimate",
    "LearnerPrior",
    "Pull",
    "check_prior",
    "choose_pull",
    "smoothed",
    "smoothed_classes",
]

Towards = Literal["uniform", "marginal"]
LearnerPrior = float | Literal["auto"] | None
"""What searches take for a prior: None (maximum likelihood), a Dirichlet parameter of at least 1, or "auto"."""

AnyPrior = LearnerPrior | Literal["blocks"]
"""What learners take for a prior: also "blocks"."""

CHOSEN = ("auto", "blocks")
"""Priors that are chosen by rows held out: at random, or in blocks of rows that stand together."""

PRIOR = AnyOf(Number(least=1), OneOf(*CHOSEN, None))
"""What a prior of a learner must be."""


def check_prior(prior: Any, owner: str, data: Data | None = None) -> None:
    """Refuse what is no prior of a learner, and blocks of data whose rows have no order."""
    if not PRIOR.check(prior):
        raise bad_parameter("prior", owner, "a number of at least 1, 'auto', 'blocks', or None", prior)
    if prior == "blocks" and data is not None:
        check_row_order(data)


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
        tree, flat = model.tree, self.flat_prior(model, weight)
        shapes = zip(tree.rows.tolist(), tree.cardinality.tolist(), strict=True)
        parts = np.split(flat, tree.offsets[1:-1])
        return {name: own.reshape(k) for name, own, k in zip(tree.names, parts, shapes, strict=True)}

    def flat_prior(self, model: Model, weight: float) -> FloatArray:
        """Return the same laid out like the parameters."""
        out, marginals = np.empty(model.tree.size), model.marginals()
        for nodes, entries in model.tree.alike:
            own = np.array([marginals[v] for v in nodes.tolist()])[:, None]
            k = own.shape[-1]
            # Half a case for each state, so that states no row has are pulled above zero too.
            spread = np.full(k, 1 / k) if self.towards == "uniform" else (weight * own + 0.5) / (weight + 0.5 * k)
            out[entries] = 1.0 + self.strength * spread
        return out


DEFAULT_PULL = Pull(1.0, "marginal")
"""Where nothing can be chosen: too few cases, or no time."""


@dataclass(frozen=True)
class Estimate:
    """What the probabilities of a model are.

    Attributes
    ----------
    kind : {"ml", "map"}
        Maximum likelihood, or the mode of the posterior under a Dirichlet prior.
    log_likelihood : float
        Log-likelihood of the training data at these probabilities.
    prior : float or None
        The Dirichlet parameter, if one number was given for all.
    strength : float or None
        How many cases the prior adds to each distribution, if it is one of those that were chosen from.
    towards : {"uniform", "marginal"} or None
        How these are spread.
    chosen : str
        How the prior was chosen: ``"given"``, ``"cross-validation"``, ``"hold-out"``, ``"blocks"`` (cross-validation by
        rows that stand together), ``"default"``, or ``"search"`` if it is that of a search which estimates by itself.
    folds : int or None
        In how many parts of the data it was tried on the other cases.
    """

    kind: Literal["ml", "map"]
    log_likelihood: float
    prior: float | None = None
    strength: float | None = None
    towards: Towards | None = None
    chosen: str = "given"
    folds: int | None = None

    def to_plain(self) -> dict[str, Any]:
        """Return plain values, as reports and files have them."""
        return {
            "kind": self.kind,
            "log_likelihood": self.log_likelihood,
            "prior": self.prior,
            "strength": self.strength,
            "towards": self.towards,
            "chosen": self.chosen,
            "folds": self.folds,
            "text": self.text,
        }

    @property
    def pull(self) -> Pull | None:
        """The pull that was chosen, if one was."""
        if self.strength is None or self.towards is None:
            return None
        return Pull(self.strength, self.towards)

    @property
    def text(self) -> str:
        """The same in words.

        Examples
        --------
        >>> print(Estimate("map", -120.5, strength=3.0, towards="uniform", chosen="cross-validation", folds=5).text)
        The probabilities are pulled towards equal ones, by 3 cases for each distribution, the strongest that \
5-fold cross-validation allows; log-likelihood -120.500.
        """
        if self.kind == "ml":
            return "The probabilities are those of maximum likelihood."
        own = f"log-likelihood {self.log_likelihood:,.3f}"
        if self.strength is None:
            what = "different ones by variable" if self.prior is None else f"{self.prior:g}"
            return f"The probabilities are the posterior mode under a Dirichlet prior with the parameter {what}; {own}."
        plain = "equal ones" if self.towards == "uniform" else "those of the variable alone"
        why = {
            "cross-validation": f", the strongest that {self.folds}-fold cross-validation allows",
            "hold-out": f", the strongest that {1 / FOLDS:.0%} of the rows, held out, allow",
            "blocks": f", the strongest that {_blocks(self.folds)}",
            "default": ", as by default where nothing can be chosen",
            "search": ", as the search does; cases held out ended EM and chose the numbers of states",
        }.get(self.chosen, "")
        cases = "1 case" if self.strength == 1 else f"{self.strength:.3g} cases"
        return f"The probabilities are pulled towards {plain}, by {cases} for each distribution{why}; {own}."


def _blocks(n: int | None) -> str:
    together = "of rows that stand together, held out"
    return f"1 block {together}, allows" if n == 1 else f"{n} blocks {together} in turn, allow"


# ---- the estimate of a learner -------------------------------------------------------------------------------------


def smoothed(
    fit: Fit,
    prior: AnyPrior = "auto",
    *,
    budget: Budget | Clock | None = None,
    n_jobs: int = 1,
    labels: Sequence[Hashable] | None = None,
) -> tuple[Fit, Estimate]:
    """Fit a model again from its maximum of the likelihood, under a prior.

    Parameters
    ----------
    fit : Fit
        The model at a maximum of the likelihood.
    prior : float, "auto", "blocks" or None
        None leaves it there; a number is the Dirichlet parameter of every distribution, at least 1; ``"auto"`` is the
        :class:`Pull` that :func:`choose_pull` chooses, which leaves no probability at zero; ``"blocks"`` is the one
        that it chooses by rows that stand together in the data.
    budget : Budget, optional
        Most time. When it is over, what there is is taken; with a prior above 1 that has no zeros either.
    n_jobs : int
        Threads; they do not change the result.
    labels : sequence, optional
        What tells the columns apart where cases are held out at random. Default: their names.

    Returns
    -------
    fit : Fit
        The model in the same rooting, with its counts; how it was found (trace, starts) is told of the fit that was
        given. Its reason says whether time or Ctrl-C ended the work.
    estimate : Estimate
        What its probabilities are.

    Examples
    --------
    >>> import latentree as lt
    >>> fit = lt.fit_classes(lt.datasets.load("hiv_test"), 2, rng=np.random.default_rng(0))
    >>> again, estimate = smoothed(fit)
    >>> bool((fit.model.parameters < 1e-9).any()), bool((again.model.parameters > 1e-9).all()), estimate.chosen
    (True, True, 'cross-validation')
    """
    check_prior(prior, "smoothed", fit.table)
    if prior is None:
        return fit, Estimate("ml", fit.log_likelihood)
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    try:
        return _smoothed(fit, prior, clock, n_jobs, labels)
    except KeyboardInterrupt:  # between two looks of the engine: what can be had at once is had, and nothing is lost
        again, estimate = _smoothed(fit, prior, Budget(seconds=0).start(), n_jobs, labels)
        return replace(again, reason=StopReason.INTERRUPTED), estimate


def _smoothed(
    fit: Fit, prior: float | Literal["auto", "blocks"], clock: Clock, n_jobs: int, labels: Sequence[Hashable] | None
) -> tuple[Fit, Estimate]:
    # The prior of P(node | parent) is one of the rooting too: take the same for all equal models.
    centred, table = _centred(fit.model), as_table(fit.table)
    choice: _Given | Choice
    own: Prior
    if isinstance(prior, str):
        choice = choose_pull(centred, table, blocks=prior == "blocks", budget=clock, n_jobs=n_jobs, labels=labels)
        own = choice.pull.flat_prior(centred, table.weight)
    else:
        choice = _Given(own := float(prior))
    pseudo = pseudo_counts(centred.tree, own)
    if pseudo is None:
        return fit, replace(choice.estimate, kind="ml", log_likelihood=fit.log_likelihood)
    late = clock.expired
    known = _counts_like(fit, centred) if late else None
    with sharing() if late else nullcontext():  # by which a plan for a single pass is compiled sooner
        plan = table.compiled(centred)
    counts = (known or plan.evaluate(centred.parameters, n_jobs=n_jobs)).vector
    start = centred.with_parameters(normalised(centred.tree, counts + pseudo), provenance=fit.model.provenance)
    if late:
        found = evaluate(start, table, counts=plan.evaluate(start.parameters, n_jobs=n_jobs))
        found = replace(found, reason=StopReason.TIME)
    else:
        options = {"prior": own, "budget": clock, "n_jobs": n_jobs, "plan": plan}
        found = fit_em(start, table, EmOptions.trusted(options))
    model = _rooted_like(found.model, fit.model)
    again = evaluate(model, table, counts=_counts_like(found, model), n_jobs=n_jobs)
    stopped = choice.stopped or (found.reason if not found.reason.complete else None)
    reason = stopped or fit.reason
    again = replace(fit, model=model, counts=again.counts, reason=reason, seconds=fit.seconds + found.seconds)
    return again, replace(choice.estimate, log_likelihood=again.log_likelihood)


def smoothed_classes(fit: Fit, **options: Any) -> tuple[Fit, Estimate]:
    """Do the same to a latent class model, whose classes stay in the order of their sizes; see :func:`smoothed`."""
    again, estimate = smoothed(fit, **options)
    order = np.argsort(-again.model.table(0)[0], kind="stable")
    return reordered_states(again, 0, order), estimate


@dataclass(frozen=True)
class _Given:
    prior: float
    stopped: StopReason | None = None

    @property
    def estimate(self) -> Estimate:
        return Estimate("map", math.nan, prior=self.prior)


def _centred(model: Model) -> Model:
    return Model(*model.laid_out(*model.tree.canonically_rooted()))


def _rooted_like(model: Model, like: Model) -> Model:
    old = np.array([model.tree.node(name) for name in like.tree.names])
    return Model(*model.laid_out(like.tree, old), like.provenance)


def _counts_like(found: Fit, model: Model) -> Counts | None:
    """Counts of the same model in another rooting; None if a root is the end of a branch.

    Counts of an edge are the same from both sides. Only of leaves are rows left out in which they are missing.
    """
    old, new = found.model.tree, model.tree
    if old.names[0] != new.names[0] and min(len(old.children[0]), len(new.children[0])) < 2:
        return None
    at = np.array([old.node(name) for name in new.names])
    vector, known = np.empty(new.size), found.counts.vector

    def own(v: int) -> FloatArray:
        table: FloatArray = known[slice(*old.offsets[v : v + 2])].reshape(-1, int(old.cardinality[v]))
        return table

    same = (at > 0) & (old.parent[at] == at[new.parent]) & (new.parent >= 0)
    vector[new.entries(np.flatnonzero(same))] = known[old.entries(at[same])]
    for v in np.flatnonzero(~same).tolist():  # edges on the way from root to root, and the new root
        turned = own(int(at[new.parent[v]])).T if v else own(int(at[0])).sum(axis=0)
        vector[new.offsets[v] : new.offsets[v + 1]] = turned.ravel()
    return replace(found.counts, vector=vector)


# ---- which prior ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """A pull that was chosen, and why.

    Attributes
    ----------
    pull : Pull
        The chosen one.
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
    """

    pull: Pull
    tried: Mapping[Pull, float]
    error: float
    chosen: str
    folds: int | None
    stopped: StopReason | None = None

    @property
    def estimate(self) -> Estimate:
        """What an estimate says of it."""
        pull = self.pull
        return Estimate("map", math.nan, None, pull.strength, pull.towards, self.chosen, self.folds)


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

    With ``blocks`` the rule is the same, but there are ten parts, each of rows that stand together in the data. If
    these are sorted by time, place or anything else, a part held out is unlike the others, as new rows may be. All
    strengths are tried then, and nothing that the rows held out say is in the distributions that are pulled towards.

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
    ways: tuple[Towards, ...] = ("uniform", "marginal")
    for towards in ways:
        if trial.stopped is None:
            _climb(trial, towards)
    if not trial.tried:
        return replace(_NOTHING, stopped=trial.stopped)
    how = "blocks" if blocks else "cross-validation" if len(parts) > 1 else "hold-out"
    means = {pull: mean for pull, (mean, _) in trial.tried.items()}
    return Choice(trial.chosen(), means, trial.best()[1], how, len(parts), trial.stopped)


def _parts(model: Model, table: Table, blocks: bool, labels: Sequence[Hashable] | None) -> list[tuple[Table, Table]]:
    """Parts to be held out, and the other cases; fewer of them where the data are large."""
    cases = max(table.weight, float(table.n_patterns))
    folds = int(min(BLOCKS if blocks else FOLDS, cases))
    parts = training_parts(table, block_weights(table, folds) if blocks else fold_weights(table, folds, labels=labels))
    evaluations = 2 * len(STRENGTHS) if blocks else EVALUATIONS
    work = table.n_patterns * model.tree.size * STEPS * evaluations
    most = max(1, min(len(parts), int(WORK / work)))
    # blocks next to each other are alike: take them from everywhere
    return [parts[(2 * i + 1) * len(parts) // (2 * most)] for i in range(most)] if blocks else parts[:most]


_NOTHING = Choice(DEFAULT_PULL, {}, math.nan, "default", None)


def _climb(trial: _Trial, towards: Towards) -> None:
    """Follow the strengths up until the held-out cases lose too much."""
    trial.restart()
    for strength in STRENGTHS:
        pull = Pull(strength, towards)
        if not trial.tries(pull) or not (trial.blocks or trial.allows(pull)):
            break


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
        rows = []
        for i, (rest, _) in enumerate(self.parts):
            if self.clock.expired:
                self.stopped = StopReason.TIME
                return False
            train, test = self._compiled(i)
            if self.stopped is not None:
                return False
            prior = pull.flat_prior(self.models[i], rest.weight)
            runs = EmRuns(train, self.here[i][None], prior=prior, n_jobs=self.n_jobs)
            self.stopped = runs.advance(STEPS, 1e-6, self.clock)
            if self.stopped is not None:
                return False
            self.here[i] = runs.parameters(0)
            rows.append(test.row_log_likelihood(self.here[i], n_jobs=self.n_jobs))
        every, n = np.concatenate(rows), float(self.weights.sum())
        mean = float(self.weights @ every) / n
        self.tried[pull] = mean, math.sqrt(float(self.weights @ (every - mean) ** 2)) / n
        return True

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
