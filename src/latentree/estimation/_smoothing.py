"""Estimates that hold for rows not seen: distributions pulled towards plain ones, as far as the data say."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from .._data import Data
from .._folds import check_row_order
from .._model import Counts, Model, normalised
from .._options import AnyOf, Number, OneOf
from .._table import as_table
from .._types import FloatArray
from ..engine._plan import sharing
from ..errors import bad_parameter
from ..runner import Budget, Clock, StopReason
from ._classes import reordered_states
from ._em import fit_em
from ._em_options import EmOptions
from ._fit import Fit, Prior, evaluate, pseudo_counts
from ._pulls import FOLDS, Choice, Pull, Towards, by_node, choose_pull, drift, flat_prior

__all__ = ["AnyPrior", "ChosenPrior", "Estimate", "LearnerPrior", "check_prior", "smoothed", "smoothed_classes"]

ChosenPrior = Literal["auto", "shuffled", "blocks"]
"""Priors that are chosen by rows held out: at random (``"shuffled"``), in blocks of rows that stand together
(``"blocks"``), or at random, and in blocks as well where the order of the rows matters (``"auto"``)."""

LearnerPrior = float | Literal["auto"] | None
"""What searches take for a prior: None (maximum likelihood), a Dirichlet parameter of at least 1, or "auto"."""

AnyPrior = float | ChosenPrior | None
"""What learners take for a prior."""

CHOSEN: tuple[str, ...] = get_args(ChosenPrior)

PRIOR = AnyOf(Number(least=1), OneOf(*CHOSEN, None))
"""What a prior of a learner must be."""


def check_prior(prior: Any, owner: str, data: Data | None = None) -> None:
    """Refuse what is no prior of a learner, and blocks of data whose rows have no order."""
    if not PRIOR.check(prior):
        raise bad_parameter("prior", owner, "a number of at least 1, 'auto', 'shuffled', 'blocks', or None", prior)
    if prior == "blocks" and data is not None:
        check_row_order(data)


@dataclass(frozen=True)
class Estimate:
    """What the probabilities of a model are.

    Attributes
    ----------
    kind : {"ml", "map"}
        Maximum likelihood, or the mode of the posterior under a Dirichlet prior (or the mean of two such modes).
    log_likelihood : float
        Log-likelihood of the training data at these probabilities.
    prior : float or None
        The Dirichlet parameter, if one number was given for all.
    strength : float or None
        How many cases the prior adds to each distribution, if it is one of those that were chosen from and the same for
        all tables; with ``"both"``, that of the first estimate.
    towards : {"uniform", "marginal"} or None
        How these are spread.
    chosen : str
        How the prior was chosen: ``"given"``, ``"cross-validation"``, ``"hold-out"``, ``"blocks"`` (cross-validation by
        rows that stand together), ``"both"`` (the probabilities are means of two estimates, one with a prior chosen by
        rows drawn at random, one by blocks), ``"default"``, or ``"search"`` if it is that of a search which estimates
        by itself.
    folds : int or None
        In how many parts of the data it was tried on the other cases; with ``"both"``, the number of blocks.
    pulls : tuple of (str, Pull), or None
        The pull of each node's table P(node | parent), if they are not the same for all; with ``"both"``, those of the
        second estimate.
    drift : float or None
        By how much of their log-likelihood rows that stand together are less probable, held out, than if the rows were
        shuffled, if that is why blocks were held out, too.
    order_unknown : bool
        Whether there was no time to look whether and how the order of the rows matters.
    """

    kind: Literal["ml", "map"]
    log_likelihood: float
    prior: float | None = None
    strength: float | None = None
    towards: Towards | None = None
    chosen: str = "given"
    folds: int | None = None
    pulls: tuple[tuple[str, Pull], ...] | None = None
    drift: float | None = None
    order_unknown: bool = False

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
            "strengths": None if self.pulls is None else list(self._range),
            "drift": self.drift,
            "order_unknown": self.order_unknown,
            "text": self.text,
        }

    def dirichlet(self, model: Model, weight: float) -> dict[str, FloatArray] | None:
        """Return the Dirichlet parameters by node that were chosen, for a latent class model of so many cases.

        None if none were, and for means of two estimates. Those of a tree belong to its canonical rooting.
        """
        if self.chosen == "both":
            return None
        if self.pulls is not None:
            own = dict(self.pulls)
            return by_node(model, flat_prior(model, weight, [own[name] for name in model.tree.names]))
        if self.strength is None or self.towards is None:
            return None
        return Pull(self.strength, self.towards).prior(model, weight)

    @property
    def _range(self) -> tuple[float, float]:
        """The least and the most cases that a table is pulled by."""
        assert self.pulls is not None
        strengths = [pull.strength for _, pull in self.pulls]
        return min(strengths), max(strengths)

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
        if self.strength is None and self.pulls is None:
            what = "different ones by variable" if self.prior is None else f"{self.prior:g}"
            return f"The probabilities are the posterior mode under a Dirichlet prior with the parameter {what}; {own}."
        if self.drift is None:
            pulled = self._by_table if self.strength is None else self._pulled
            hurried = (
                " There was no time to look whether and how the order of the rows matters."
                if self.order_unknown
                else ""
            )
            return f"The probabilities are pulled towards {pulled}; {own}.{hurried}"
        return (
            f"The order of the rows matters: rows that stand together are unlike the others (held out, their "
            f"log-likelihood is {self.drift:.0%} lower than if the rows were shuffled), and so may new rows be. The "
            f"probabilities are means of two estimates, {own}: one pulled towards {self._pulled}; one pulled towards "
            f"{self._by_table}. If new rows will be like these, learn with the prior 'shuffled'."
        )

    @property
    def _pulled(self) -> str:
        """Whereto all tables are pulled, how far and why."""
        plain = "equal ones" if self.towards == "uniform" else "those of the variable alone"
        why = {
            "cross-validation": f", the strongest that {self.folds}-fold cross-validation allows",
            "both": ", the strongest that rows drawn at random, held out, allow",
            "hold-out": f", the strongest that {1 / FOLDS:.0%} of the rows, held out, allow",
            "blocks": f", the strongest that {_blocks(self.folds)}",
            "default": ", as by default where nothing can be chosen",
            "search": ", as the search does; cases held out ended EM and chose the numbers of states",
        }.get(self.chosen, "")
        assert self.strength is not None
        cases = "1 case" if self.strength == 1 else f"{_number(self.strength)} cases"
        return f"{plain}, by {cases} for each distribution{why}"

    @property
    def _by_table(self) -> str:
        low, high = map(_number, self._range)
        cases = f"{high} each" if low == high else f"{low} to {high}"
        return (
            f"equal ones or those of the variable alone, each table by as many cases ({cases}) as {_blocks(self.folds)}"
        )


def _number(cases: float) -> str:
    """A number of cases as people read it."""
    return f"{cases:,.0f}" if cases >= 100 else f"{cases:.3g}"


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
    prior : float, "auto", "shuffled", "blocks" or None
        None leaves it there; a number is the Dirichlet parameter of every distribution, at least 1. The others are
        chosen by :func:`choose_pull`, and leave no probability at zero: ``"shuffled"`` by cases held out at random,
        ``"blocks"`` by rows that stand together in the data. ``"auto"`` is ``"shuffled"`` unless the order of the rows
        matters for new rows (:func:`drift`): then the probabilities are the means of those under both priors.
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
    fit: Fit, prior: float | ChosenPrior, clock: Clock, n_jobs: int, labels: Sequence[Hashable] | None
) -> tuple[Fit, Estimate]:
    # The prior of P(node | parent) is one of the rooting too: take the same for all equal models.
    centred, table = _centred(fit.model), as_table(fit.table)
    if not isinstance(prior, str):
        own = Estimate("map", math.nan, prior=float(prior))
        if pseudo_counts(centred.tree, float(prior)) is None:
            return fit, replace(own, kind="ml", log_likelihood=fit.log_likelihood)
        return _like(fit, _mode(fit, centred, float(prior), clock, n_jobs), own, n_jobs)
    choice = choose_pull(centred, table, blocks=prior == "blocks", budget=clock, n_jobs=n_jobs, labels=labels)
    found = _mode(fit, centred, choice.flat_prior(centred, table.weight), clock, n_jobs)
    again, estimate = _like(fit, found, _of(choice, centred), n_jobs)
    stopped = choice.stopped or (None if found.reason.complete else found.reason)
    if prior == "auto" and choice.tried and stopped is None:
        try:
            lost, stopped = drift(centred, table, choice.pull, clock=clock, n_jobs=n_jobs, labels=labels)
            if lost is not None:
                return _with_blocks(fit, found, estimate, lost, clock, n_jobs)
        except KeyboardInterrupt:  # between two looks of the engine: what is known stands
            stopped = StopReason.INTERRUPTED
        estimate = replace(estimate, order_unknown=stopped is not None)
    return (again if stopped is None else replace(again, reason=stopped)), estimate


def _with_blocks(
    fit: Fit, found: Fit, estimate: Estimate, lost: float, clock: Clock, n_jobs: int
) -> tuple[Fit, Estimate]:
    """The means of the probabilities that were found and of those under a prior that blocks of rows choose."""
    centred, table = _centred(fit.model), as_table(fit.table)
    other = choose_pull(centred, table, blocks=True, budget=clock, n_jobs=n_jobs)
    if other.pulls is None:  # the time was over before
        again, estimate = _like(fit, found, replace(estimate, order_unknown=True), n_jobs)
        return replace(again, reason=other.stopped or StopReason.TIME), estimate
    unlike = _mode(fit, centred, other.flat_prior(centred, table.weight), clock, n_jobs)
    model = found.model.with_parameters((found.model.parameters + unlike.model.parameters) / 2)
    seconds, reason = found.seconds + unlike.seconds, other.stopped or unlike.reason
    both = replace(evaluate(model, table, n_jobs=n_jobs), reason=reason, seconds=seconds)
    pulls = tuple(zip(centred.tree.names, other.pulls, strict=True))
    return _like(fit, both, replace(estimate, chosen="both", folds=other.folds, pulls=pulls, drift=lost), n_jobs)


def _mode(fit: Fit, centred: Model, prior: Prior, clock: Clock, n_jobs: int) -> Fit:
    """The mode of the posterior that EM leads to from a maximum of the likelihood; without time, its first step."""
    table, pseudo, late = as_table(fit.table), pseudo_counts(centred.tree, prior), clock.expired
    assert pseudo is not None  # a flat prior has been sent back
    known = _counts_like(fit, centred) if late else None
    with sharing() if late else nullcontext():  # by which a plan for a single pass is compiled sooner
        plan = table.compiled(centred)
    counts = (known or plan.evaluate(centred.parameters, n_jobs=n_jobs)).vector
    start = centred.with_parameters(normalised(centred.tree, counts + pseudo), provenance=fit.model.provenance)
    if late:
        found = evaluate(start, table, counts=plan.evaluate(start.parameters, n_jobs=n_jobs))
        return replace(found, reason=StopReason.TIME)
    options = {"prior": prior, "budget": clock, "n_jobs": n_jobs, "plan": plan}
    return fit_em(start, table, EmOptions.trusted(options))


def _like(fit: Fit, found: Fit, estimate: Estimate, n_jobs: int) -> tuple[Fit, Estimate]:
    """The estimate that was found in the rooting of the fit, which says how the model was found."""
    model = _rooted_like(found.model, fit.model)
    again = evaluate(model, as_table(fit.table), counts=_counts_like(found, model), n_jobs=n_jobs)
    reason = fit.reason if found.reason.complete else found.reason
    again = replace(fit, model=model, counts=again.counts, reason=reason, seconds=fit.seconds + found.seconds)
    return again, replace(estimate, log_likelihood=again.log_likelihood)


def _of(choice: Choice, model: Model) -> Estimate:
    """What an estimate says of a choice; its log-likelihood is not known yet."""
    known = Estimate("map", math.nan, chosen=choice.chosen, folds=choice.folds)
    if choice.pulls is None or len(set(choice.pulls)) == 1:
        pull = choice.pull if choice.pulls is None else choice.pulls[0]
        return replace(known, strength=pull.strength, towards=pull.towards)
    return replace(known, pulls=tuple(zip(model.tree.names, choice.pulls, strict=True)))


def smoothed_classes(fit: Fit, prior: Any = "auto", **options: Any) -> tuple[Fit, Estimate]:
    """Do the same to a latent class model, whose classes stay in the order of their sizes; see :func:`smoothed`.

    It is meant to describe: ``"auto"`` is ``"shuffled"``, and does not look at the order of the rows.
    """
    again, estimate = smoothed(fit, "shuffled" if prior == "auto" else prior, **options)
    order = np.argsort(-again.model.table(0)[0], kind="stable")
    return reordered_states(again, 0, order), estimate


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
