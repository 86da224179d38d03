"""``relate``: reads the variables, calls a method, and returns a :class:`Relation`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._model import Model
from .._options import OneOf, Whole
from .._registry import suggestion
from .._table import checked_weights
from .._types import FloatArray, IndexArray
from ..errors import Advice, DataError, LatentreeWarning, ModelError, ParameterError, Row, bad_parameter
from ..formats._columns import listed
from ..formats._frame import raw_columns, table_from
from ..infer import find_node
from ..naming import node_labels
from ._bch import Bch
from ._covariates import Estimate, Structural, one_step, three_step, two_step
from ._design import INTERCEPT, Design, Reading, Values, check_terms, design_of, lacking, values_of
from ._direct import DirectEffects
from ._first import First, against_bias, at_maximum, refitted
from ._measurement import FirstStep, first_step, measurement_of
from ._mixture import Fixed, Part
from ._outcomes import Outcome, kind_of, outcome_by_class
from ._parts import ClassLogit, Items
from ._sample import Sample, groups_of, merged
from ._settings import Settings

__all__ = ["Solution", "Task", "prepare", "solve"]

ROUGH = 1e-6
"""Gain that the last step of a bootstrap sample may promise: far less than what samples differ by."""

KINDS = OneOf("continuous", "categorical", "count", None)

HELD = 25.0
"""Change of log-odds over the range of a covariate beyond which only a penalty can have kept a coefficient finite."""

SOFTENING = 1e-3
"""Weight of the even distribution in the start of one-step estimation: probabilities of zero can then come back."""


@dataclass(frozen=True, eq=False)
class Task:
    """All that an estimate follows from.

    Attributes
    ----------
    model : Model
        The measurement model.
    node : int
        The latent variable.
    design : Design
        Terms of the covariates.
    sample : Sample
        The rows.
    options : Settings
        What was asked for.
    reference : int
        The reference class.
    kinds : dict
        Kinds of the outcomes.
    left_out : int
        Rows that are left out of everything, since they lack an item or covariate.
    """

    model: Model
    node: int
    design: Design
    sample: Sample
    options: Settings
    reference: int
    kinds: Mapping[str, Any]
    direct: tuple[tuple[str, Design, bool], ...]
    left_out: int = 0
    warnings: list[str] = field(default_factory=list)
    notes: list[LatentreeWarning] = field(default_factory=list)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""
        return node_labels(self.model, self.node)

    def warn(self, template: str, **fields: Any) -> None:
        """Warn, once, and keep the text."""
        message = LatentreeWarning(template, **fields)
        if str(message) not in self.warnings:
            self.warnings.append(str(message))
            warnings.warn(message, stacklevel=4)

    def note(self, template: str, **fields: Any) -> None:
        """Keep what is to be shown with the result, but is no reason to warn."""
        self.notes.append(LatentreeWarning(template, **fields))


def prepare(
    model: Model,
    data: Any,
    covariates: str | Sequence[str] | None = None,
    outcome: str | Sequence[str] | None = None,
    **options: Any,
) -> Task:
    """Read and check everything; options are those of :func:`relate`."""
    asked = Settings.of(options, owner="relate")
    node = _latent(model, asked.latent)
    outcomes = [outcome] if isinstance(outcome, str) else list(outcome or ())
    _refuse_combinations(model, asked, covariates, outcomes)
    columns, reading = raw_columns(data), asked.reading
    table = asked.table
    if table is None:
        table = table_from(data, variables=model.variables, missing=set(reading.missing))
    n = len(table.inverse)
    design, values = design_of(covariates, columns, reading)
    _refuse_items(model, design.levels, "covariate")
    _refuse_items(model, outcomes, "outcome")
    _refuse_both(design.levels, outcomes)
    own = {name: values_of(_named(columns, name), name, reading) for name in outcomes}
    kinds = _kinds(asked.outcome_kind, outcomes)
    direct, effects = _direct_designs(model, asked.direct_effects or {}, columns, reading)
    every = {**values, **effects}
    weights = np.ones(n) if asked.sample_weight is None else checked_weights(asked.sample_weight, n)
    keep = np.ones(n, dtype=bool)
    if asked.complete:
        keep = (table.codes[table.inverse] >= 0).all(axis=1) | (table.inverse < 0)
    x = design.matrix(values) if values else np.ones((n, 1))
    lost: NDArray[np.bool_] = np.asarray(np.isnan(x).any(axis=1))
    for effect in effects.values():
        lost |= np.isnan(effect.numbers)
    x = np.where(lost[:, None], np.nan, x)
    counted = lost & keep & (weights > 0) & (table.inverse >= 0)
    if counted.any() and asked.missing_covariates == "error" and not asked.complete:
        raise lacking(np.flatnonzero(counted), [c for c in every if np.isnan(every[c].numbers[counted]).any()])
    if asked.complete:
        keep &= ~lost
    given = ((asked.clusters, "clusters"), (asked.strata, "strata"))
    groups = [_groups(columns, own_, n, name, reading) for own_, name in given]
    if not (keep & ~lost & (weights > 0)).any():
        raise DataError("No row is left that has all covariates" + (" and items." if asked.complete else "."))
    sample = merged(table, x, weights, every, own, *groups, keep=keep)
    check_terms(sample.x, sample.weights, design.terms)
    checked = {
        name: kind_of(values_.take(np.flatnonzero(sample.weights > 0)), kinds[name])
        for name, values_ in sample.outcomes.items()
    }
    left_out = int((~keep & (weights > 0) & (table.inverse >= 0)).sum())
    reference = _reference(model, node, asked.reference)
    return Task(model, node, design, sample, asked, reference, checked, tuple(direct), left_out)


def _refuse_combinations(model: Model, asked: Settings, covariates: Any, outcomes: Sequence[str]) -> None:
    """Refuse what does not go together."""
    if max(int(model.tree.cardinality[z]) for z in model.tree.latent) < 2:
        raise ModelError("The model has a single class, which cannot depend on anything. Fit two or more classes.")
    one = asked.method == "one-step"
    if covariates is None and not outcomes and not one and not asked.direct_effects:
        raise ParameterError(
            "There is nothing to relate the classes to: give {c} or {o}.", c=Advice("covariates"), o=Advice("outcome")
        )
    if one and not model.tree.is_star:
        raise ModelError(
            "One-step estimation is for latent class models; this tree has several latent variables. Use {two} or "
            "{three}.",
            two=Advice("method", "two-step"),
            three=Advice("method", "three-step"),
        )
    if asked.dirichlet > 1 and not model.tree.is_star:
        raise ModelError(
            "{prior} estimates a latent class model again; this tree has several latent variables. Fit the tree with a "
            "prior instead.",
            prior=Advice("prior", asked.prior),
        )
    if one and outcomes:
        raise ParameterError(
            "In one step an outcome would be one more item, and change the classes. Use {bch} for outcomes.",
            bch=Advice("method", "bch"),
        )
    if asked.information == "opg" and not one:
        raise ParameterError("{opg} is for {one}.", opg=Advice("information", "opg"), one=Advice("method", "one-step"))
    if asked.direct_effects and not one:
        raise ParameterError(
            "{d} are estimated with {one}.", d=Advice("direct_effects"), one=Advice("method", "one-step")
        )


def _kinds(given: str | Mapping[str, str] | None, outcomes: Sequence[str]) -> dict[str, str | None]:
    """The kind that each outcome was said to be of."""
    every = given if isinstance(given, Mapping) else {}
    for name in every:
        if name not in outcomes:
            raise DataError(
                "{kind} speaks of '{name}', which is not an outcome.{meant} The outcomes are {known}.",
                kind=Advice("outcome_kind"),
                name=name,
                meant=suggestion(str(name), list(outcomes)),
                known=listed(list(outcomes)) if outcomes else "none",
            )
    for kind in (*every.values(), None if every else given):
        if not KINDS.check(kind):
            raise bad_parameter("outcome_kind", "relate", str(KINDS), kind)
    return {name: given.get(name) if isinstance(given, Mapping) else given for name in outcomes}


def _latent(model: Model, latent: str | None) -> int:
    tree = model.tree
    if latent is None:
        if len(tree.latent_variables) != 1:
            raise ParameterError(
                "The model has {n} latent variables ({names}). Say which one with {latent}.",
                n=len(tree.latent_variables),
                names=listed([tree.names[z] for z in tree.latent_variables]),
                latent=Advice("latent"),
            )
        return int(tree.latent_variables[0])
    node = find_node(model, latent)
    if tree.variable[node] >= 0:
        raise ParameterError(
            "'{name}' is a manifest variable. Name a latent one: {known}.",
            name=latent,
            known=listed([tree.names[z] for z in tree.latent_variables]),
        )
    if node in tree.cuts:
        raise ParameterError(
            "'{name}' has one state, which cannot depend on anything. Name another latent variable: {known}.",
            name=latent,
            known=listed([tree.names[z] for z in tree.latent_variables]),
        )
    return node


def _reference(model: Model, node: int, reference: Any) -> int:
    labels = node_labels(model, node)
    if reference is None:
        return 0
    if str(reference) in labels:
        return labels.index(str(reference))
    if Whole(0).check(reference) and int(reference) < len(labels):
        return int(reference)
    if isinstance(reference, str) and reference.isdigit() and int(reference) < len(labels):
        return int(reference)
    raise bad_parameter("reference", "relate", f"one of {', '.join(labels)}", reference)


def _refuse_items(model: Model, names: Any, what: str) -> None:
    items = [v.name for v in model.variables]
    for name in names:
        if name in items:
            raise DataError(
                "The {what} '{name}' is an item of the model: it would explain itself. Leave it out, or fit the model "
                "without it.",
                what=what,
                name=name,
            )


def _refuse_both(covariates: Any, outcomes: Sequence[str]) -> None:
    for name in outcomes:
        if name in covariates:
            raise DataError(
                "'{name}' is both a covariate and an outcome: adjusted for itself, it would be the same in all "
                "classes. Choose one.",
                name=name,
            )


def _named(columns: Mapping[str, Any], name: str) -> Any:
    if name not in columns:
        raise DataError(
            "The data have no column '{name}'.{meant} They have {known}.",
            name=name,
            meant=suggestion(name, list(columns)),
            known=listed(list(columns)),
        )
    return columns[name]


def _groups(columns: Mapping[str, Any], given: Any, n: int, what: str, reading: Reading) -> IndexArray | None:
    if given is None:
        return None
    if isinstance(given, str) and given == "rows" and given not in columns:
        return np.arange(n)
    raw = _named(columns, given) if isinstance(given, str) else given
    if len(raw) != n:
        raise DataError("{what} must have one value for each of the {n} rows. Got {got}.", what=what, n=n, got=len(raw))
    values = values_of(raw, given if isinstance(given, str) else what, reading)
    if np.isnan(values.numbers).any():
        raise DataError(
            "{row} has no value of '{name}': in {what} each row must have one. Give such rows one, or leave them out.",
            row=Row(int(np.flatnonzero(np.isnan(values.numbers))[0]), begins=True),
            name=values.name,
            what=Advice(what),
        )
    return groups_of(values)


def _direct_designs(
    model: Model, given: Mapping[str, str], columns: Mapping[str, Any], reading: Reading
) -> tuple[list[tuple[str, Design, bool]], dict[str, Values]]:
    """Direct effects: for each item a formula; ``class * formula`` lets them differ between classes."""
    out: list[tuple[str, Design, bool]] = []
    values: dict[str, Values] = {}
    for item, formula in given.items():
        if item not in [v.name for v in model.variables]:
            raise DataError("Direct effects are on items; '{name}' is none of them.", name=item)
        text = str(formula).strip()
        uniform = not text.startswith("class *")
        own, found = design_of(text.removeprefix("class *").strip(), columns, reading)
        _refuse_items(model, own.levels, "covariate")
        out.append((item, own, uniform))
        values |= found
    return out, values


# ---- estimating ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Solution:
    """What was estimated from one sample."""

    first: FirstStep
    estimate: Estimate | None
    outcomes: tuple[Outcome, ...]
    unit: float = 1.0  # what a case counts for

    @property
    def prior(self) -> float:
        """Dirichlet parameter that the items were estimated again with, in cases; 1 if they were not."""
        items = self.first.measurement
        return 1.0 + (items.prior - 1.0) / self.unit if isinstance(items, Items) else 1.0


def solve(task: Task, sample: Sample | None = None, start: Solution | None = None) -> Solution:
    """Estimate from the rows of a task, or from others of the same design.

    For other rows (those of a bootstrap sample) the first step is done again, from ``start``.
    """
    sample = sample or task.sample
    again = start is not None
    first = _first(task, sample, start)
    model = Structural(sample.x, sample.weights, sample.sampling, task.reference, _precision(task, sample))
    estimate = None
    if task.design.levels or task.options.method == "one-step":
        estimate = _estimated(task, first, model, sample, start)
        _check(task, estimate, sample) if not again else None
    outcomes = tuple(
        outcome_by_class(
            values,
            task.kinds[name],
            first,
            model,
            method=task.options.for_outcomes,
            assignment=task.options.assignment,
            robust=task.options.robust,
        )
        for name, values in sample.outcomes.items()
    )
    return Solution(first, estimate, outcomes, sample.case)


def _first(task: Task, sample: Sample, start: Solution | None) -> FirstStep:
    """The first step: that of the model, or estimated again."""
    weights, asked = sample.sampling.weights, task.options
    if start is not None:
        items, sizes = start.first.measurement, start.first.sizes
        assert isinstance(items, Items)
        return first_step(*refitted(items, sizes, weights, ROUGH), sample.sampling)
    part, sizes, exact = measurement_of(task.model, task.model.tree.names[task.node], sample.table, sample.pattern)
    if isinstance(part, Items):
        unit = sample.case
        if asked.dirichlet > 1:
            again = Items(part.data, part.tables, 1.0 + (asked.dirichlet - 1.0) * unit)
            part, sizes = refitted(again, sizes, weights)
        elif asked.prior == "auto" and asked.method != "one-step":
            part, sizes = _by_default(task, part, sizes, weights, unit)
    return first_step(part, sizes, sample.sampling, exact=exact)


def _by_default(task: Task, part: Items, sizes: FloatArray, weights: FloatArray, unit: float) -> First:
    """The items under the default prior, if the model is at the maximum of the likelihood of these rows."""
    if not at_maximum(part, sizes, weights, unit):
        if task.left_out:
            task.note(
                "The default prior was not applied: with {n:,} rows left out, which lack an item or covariate, the "
                "model is not at the maximum of the likelihood of the others. Fit the model to those rows alone, or "
                "give {prior}.",
                n=task.left_out,
                prior=Advice("prior", 2),
            )
        return part, sizes
    found = against_bias(part, sizes, weights, unit)
    if found is None:
        task.warn(
            "The items were not estimated again with a prior, under which a class would vanish. Look whether "
            "fewer classes do, or use {method}.",
            method=Advice("method", "one-step"),
        )
    return found or (part, sizes)


def _precision(task: Task, sample: Sample) -> FloatArray | None:
    """Of a normal prior on the coefficients of covariates whose standard deviation is one; none on the intercept."""
    if task.options.penalty is None:
        return None
    w = sample.weights / sample.weights.sum()
    own = task.options.penalty * (w @ (sample.x - w @ sample.x) ** 2)
    return np.where(np.array(task.design.terms) == INTERCEPT, 0.0, own)


def _estimated(task: Task, first: FirstStep, model: Structural, sample: Sample, start: Solution | None) -> Estimate:
    method = task.options.for_covariates
    ascent: dict[str, Any] = {} if start is None else {"tol": ROUGH}
    if method == "two-step":
        return two_step(first, model, robust=task.options.robust, **ascent)
    if method == "three-step":
        return three_step(first, model, assignment=task.options.assignment, robust=task.options.robust, **ascent)
    if method == "bch":
        return Bch(first, model, task.options.assignment, **ascent).estimate()
    if start is not None and start.estimate is not None:
        own = start.estimate
        logit, items, *more = own.parts
        assert isinstance(logit, ClassLogit)
        return one_step(first, model, items, more=tuple(more), begin=logit.beta, em_steps=1, **ascent)
    items_, more_ = one_step_parts(task, sample)
    return one_step(
        first, model, items_, information=task.options.information, robust=task.options.robust, more=tuple(more_)
    )


def one_step_parts(task: Task, sample: Sample) -> tuple[Part, list[DirectEffects]]:
    """Where one-step estimation starts: the items of the model, and those with direct effects by themselves."""
    part, _, _ = measurement_of(task.model, task.model.tree.names[task.node], sample.table, sample.pattern)
    assert isinstance(part, Items)
    data, cards = part.data, part.data.cardinality
    tables = (1 - SOFTENING) * part.tables + SOFTENING * np.repeat(1.0 / cards, cards)
    names = [v.name for v in task.model.variables]
    direct = []
    for item, design, uniform in task.direct:
        j = names.index(item)
        own = tables[:, data.starts[j] : data.starts[j] + cards[j]]
        z = design.matrix(sample.covariates)[:, 1:]
        z = np.where(sample.known[:, None], z, 0.0)
        direct.append(DirectEffects.begin(sample.table.codes[sample.pattern, j], z, own, uniform=uniform))
    at = [names.index(item) for item, _, _ in task.direct]
    rest = [j for j in range(len(cards)) if j not in at]
    if not rest:
        return Fixed(np.zeros((len(sample.pattern), len(tables)))), direct
    kept = np.concatenate([np.arange(data.starts[j], data.starts[j] + cards[j]) for j in rest])
    prior = 1.0 + (task.options.dirichlet - 1.0) * sample.case
    return Items(data.without(at), tables[:, kept], prior), direct


def _check(task: Task, found: Estimate, sample: Sample) -> None:
    """Refuse coefficients that grow without bound, and warn of what makes standard errors doubtful."""
    logit, n = found.logit, sample.x.shape[1]
    used = sample.x[sample.weights > 0]
    span = used.max(axis=0) - used.min(axis=0)
    errors = np.sqrt(np.maximum(found.covariance.diagonal()[: logit.size], 0.0)).reshape(-1, n)
    for row, k in enumerate(logit.others):
        far = np.abs(logit.beta[k]) * span
        lost = (far > 10) & ((errors[row] > np.abs(logit.beta[k])) | (errors[row] == 0) | (not found.converged))
        if lost.any() and task.options.penalty is None:
            term = task.design.terms[int(np.argmax(np.where(lost, far, 0.0)))]
            raise DataError(
                "The covariate '{term}' separates class '{own}' from class '{reference}': its coefficient grows "
                "without bound. Leave it out, group its values, or estimate with a prior that keeps coefficients "
                "finite, {penalty}.",
                term=term,
                own=task.labels[k],
                reference=task.labels[task.reference],
                penalty=Advice("penalty", 0.1),
            )
        if task.options.for_covariates == "bch" and task.options.penalty is not None and far.max() > HELD:
            task.warn(
                "Only the penalty keeps the coefficient of '{term}' in class '{own}' finite ({value:.0f}): some "
                "weights of BCH are negative, and a class weighs less than nothing on one side of it. Use {three}.",
                term=task.design.terms[int(far.argmax())],
                own=task.labels[k],
                value=logit.beta[k, int(far.argmax())],
                three=Advice("method", "three-step"),
            )
    if not found.converged:
        task.warn("The maximum of the likelihood was not reached; standard errors mean little.")
    elif not found.regular:
        task.warn("The rows do not determine all parameters; their standard errors are not to be trusted.")
