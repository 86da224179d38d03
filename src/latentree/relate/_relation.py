"""What :func:`latentree.relate.relate` returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
from scipy.special import expit, ndtr, ndtri
from scipy.stats import t as student

from .._lazy import cached_property
from .._model import Model
from .._types import FloatArray
from ..errors import DataError, LatentreeWarning
from ..formats._frame import raw_columns, table_from
from ..infer import posterior
from ._covariates import Estimate
from ._design import INTERCEPT, READING, Reading, Values, term_of
from ._direct import DirectEffects
from ._effects import average_effects, average_probabilities
from ._measurement import FirstStep
from ._outcomes import Outcome, wald
from ._parts import ClassLogit, Items
from ._relate import Task

__all__ = ["Relation"]


@dataclass(frozen=True, eq=False)
class Relation:
    """Classes related to other variables; see :func:`latentree.relate.relate`.

    Attributes
    ----------
    method : str
        How it was estimated: ``"one-step"``, ``"two-step"``, ``"three-step"`` or ``"bch"``.
    errors : str
        Where standard errors come from.
    classes : tuple of str
        Names of the classes.
    reference : str
        The reference class.
    terms : tuple of str
        Names of the terms, ``intercept`` first.
    beta : float array [classes, terms]
        Log-odds against the reference class.
    covariance : float array
        Of the log-odds of all classes but the reference, one after the other.
    log_likelihood : float or None
        Of what the last step maximises; None without covariates.
    n : float
        Rows that were used.
    n_parameters : int or None
        Parameters of the model: of one-step estimation all of it, otherwise those of the last step.
    outcomes : tuple of Outcome
        Outcomes by class.
    entropy : float
        Relative entropy of the measurement part: how well the classes are separated.
    model : Model
        The latent class model; of one-step estimation the new one, its class sizes averaged over the rows.
    level : float
        Coverage of intervals.
    warnings : tuple of str
        What was warned of.
    notes : tuple of LatentreeWarning
        What to know before using it, in the words of Python (``str``) or of the shell.
    df : float or None
        Degrees of freedom of coefficients pooled over imputed data.
    prior : float
        Dirichlet parameter that the items' probabilities were estimated again with; 1 if they are those of the model.
    """

    method: str
    errors: str
    classes: tuple[str, ...]
    reference: str
    terms: tuple[str, ...]
    beta: FloatArray
    covariance: FloatArray
    log_likelihood: float | None
    n: float
    n_parameters: int | None
    outcomes: tuple[Outcome, ...]
    entropy: float
    model: Model
    level: float
    warnings: tuple[str, ...]
    task: Task
    estimate: Estimate | None
    reading: Reading = READING
    df: FloatArray | None = None
    notes: tuple[LatentreeWarning, ...] = ()
    prior: float = 1.0

    # ---- tables ------------------------------------------------------------------------------------------------

    def rows(self) -> list[dict[str, Any]]:
        """The coefficients as plain rows; see :meth:`coefficients`."""
        return [dict(row) for row in self._rows]

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        if self.estimate is None:
            return []
        others = [k for k in range(len(self.classes)) if self.classes[k] != self.reference]
        errors = np.sqrt(np.maximum(self.covariance.diagonal(), 0.0)).reshape(len(others), -1)
        out = []
        for j, k in enumerate(others):
            for p, term in enumerate(self.terms):
                df = None if self.df is None else float(self.df[j * len(self.terms) + p])
                own = {"class": self.classes[k], "reference": self.reference, "term": term}
                numbers = inference(float(self.beta[k, p]), float(errors[j, p]), self.level, df)
                numbers |= self._by_scores(j * len(self.terms) + p, numbers["standard_error"])
                ratio = {"odds_ratio": float(np.exp(np.minimum(self.beta[k, p], 700.0)))}
                out.append({**own, **numbers, **ratio})
        return out

    def _by_scores(self, j: int, error: float) -> dict[str, float]:
        """Test and interval of a coefficient by scores, where they are better than its standard error."""
        own = self.estimate
        if own is None or own.scores is None or not (own.converged and own.regular and error > 0):
            return {}
        z = own.scores.score(j, 0.0)[0]
        lower, upper = own.scores.limits(j, self.level, error)
        return {"z": z, "p": 2.0 * float(ndtr(-abs(z))), "lower": lower, "upper": upper}

    def coefficients(self) -> Any:
        """Return a data frame of the coefficients.

        One row for each class but the reference and each term: estimate (log-odds), standard error, z, p, lower and
        upper end of the interval, odds ratio. Of BCH, z, p and interval come from scores, not from the standard error,
        unless there are more than 5,000 different rows.
        """
        return _frame(self.rows())

    def outcome_rows(self) -> list[dict[str, Any]]:
        """The outcomes by class as plain rows; see :meth:`outcome_table`."""
        out = []
        for own in self.outcomes:
            errors = own.errors
            for k, label in enumerate(self.classes):
                for c in range(own.estimates.shape[1]):
                    found = inference(float(own.estimates[k, c]), float(errors[k, c]), self.level)
                    found |= _bounded(own.kind, found, self.level)
                    row: dict[str, Any] = {"outcome": own.name, "kind": own.kind, "class": label}
                    row["category"] = own.categories[c] if own.kind == "categorical" else None
                    row |= {name: found[name] for name in ("estimate", "standard_error", "lower", "upper")}
                    row["variance"] = None if own.variances is None else float(own.variances[k])
                    out.append({**row, "method": own.method, "adjusted": own.adjusted, "n": own.n})
        return out

    def outcome_table(self) -> Any:
        """Return a data frame of the outcomes: means, proportions or rates by class, with standard errors."""
        return _frame(self.outcome_rows())

    def test_rows(self) -> list[dict[str, Any]]:
        """Wald tests as plain rows; see :meth:`tests`."""
        out = []
        if self.estimate is not None:
            others, n = len(self.classes) - 1, len(self.terms)
            free = np.array([self.beta[k] for k in range(len(self.classes)) if self.classes[k] != self.reference])
            for name, columns in self._tested().items():
                at = (np.arange(others)[:, None] * n + columns).ravel()
                found = wald(free[:, columns].ravel(), self.covariance[np.ix_(at, at)])
                out.append(_test("term", name, None, *found, None, None))
        for own in self.outcomes:
            for pair, value, df, p_value, name, size in own.tests():
                classes = [self.classes[k] for k in pair] or None
                out.append(_test("outcome", own.name, classes, value, df, p_value, name, size))
        return out

    def _tested(self) -> dict[str, list[int]]:
        """What is tested, with its columns: each term, and each covariate of several levels as a whole."""
        out: dict[str, list[int]] = {}
        for name in self.task.design.levels:
            own = [p for p, term in enumerate(self.terms) if term_of(term, name)]
            if len(own) > 1:
                out[name] = own
        return out | {term: [p] for p, term in enumerate(self.terms) if term != INTERCEPT}

    def tests(self) -> Any:
        """Return a data frame of Wald tests.

        Of each term, and of each covariate with several levels: that it does not matter for any class. Of each outcome:
        that classes do not differ, all of them and two by two, with an effect size.
        """
        return _frame(self.test_rows())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        value, d = self.log_likelihood, self.n_parameters
        whole = self.method == "one-step" and value is not None and d is not None
        direct = self.direct_rows()
        return {
            "method": self.method,
            "errors": self.errors,
            "log_likelihood": value,
            "n": self.n,
            "n_parameters": d,
            "aic": value - d if whole and value is not None and d is not None else None,
            "bic": value - d / 2 * log(self.n) if whole and value is not None and d is not None else None,
            "classes": list(self.classes),
            "class_sizes": self.sizes().tolist(),
            "entropy": self.entropy,
            "prior": self.prior,
            "coefficients": self.rows(),
            "outcomes": self.outcome_rows(),
            "tests": self.test_rows(),
            "marginal_effects": self.effect_rows(),
            **({"direct_effects": direct} if direct else {}),
            **({"notes": [str(own) for own in self.notes]} if self.notes else {}),
        }

    def sizes(self) -> FloatArray:
        """Sizes of the classes in the rows that were used."""
        sample = self.task.sample
        if self.estimate is None:
            return self.model.marginals()[self.task.node]
        w = sample.weights / sample.weights.sum()
        own: FloatArray = w @ self.estimate.logit.probabilities
        return own

    # ---- class probabilities -----------------------------------------------------------------------------------

    def effect_rows(self) -> list[dict[str, Any]]:
        """Average marginal effects as plain rows; see :meth:`marginal_effects`."""
        if self.estimate is None or not self.task.design.levels:
            return []
        logit, values, weights = self._known()
        out = []
        for name, change, effects, errors in average_effects(self.task.design, logit, values, weights, self.covariance):
            for k, label in enumerate(self.classes):
                own = {"covariate": name, "change": change, "class": label}
                out.append({**own, **inference(float(effects[k]), float(errors[k]), self.level)})
        return out

    def marginal_effects(self) -> Any:
        """Return a data frame of average marginal effects on the probability of each class.

        Of a number, by how much a unit changes the probability, averaged over the rows; of a category, the difference
        to its first level.
        """
        self._known()
        return _frame(self.effect_rows())

    def curve(self, covariate: str, values: Sequence[Any] | None = None) -> Any:
        """Return a data frame of the class probabilities as a function of a covariate, others as they are in the rows.

        Parameters
        ----------
        covariate : str
            The covariate.
        values : sequence, optional
            Its values. Default: 41 over its range, or all levels.
        """
        logit, known, weights = self._known()
        if covariate not in known:
            raise DataError("'{name}' is not a covariate of this estimate.", name=covariate)
        own = known[covariate]
        if values is None:
            values = own.levels or np.linspace(own.numbers.min(), own.numbers.max(), 41).tolist()
        half = float(ndtri(0.5 + self.level / 2))
        out = []
        for value in values:
            number = _number_of(covariate, own, value)
            fixed = {**known, covariate: replace(own, numbers=np.full(len(own), number))}
            p, errors = average_probabilities(self.task.design, logit, fixed, weights, self.covariance)
            for k, label in enumerate(self.classes):
                low, high = max(p[k] - half * errors[k], 0.0), min(p[k] + half * errors[k], 1.0)
                out.append({covariate: value, "class": label, "probability": p[k], "lower": low, "upper": high})
        return _frame(out)

    def plot(self, covariate: str, ax: Any = None) -> Any:
        """Draw the class probabilities along a covariate; see :func:`latentree.report.figures.plot_curve`."""
        from ..report.figures import plot_curve

        return plot_curve(self, covariate, ax)

    def predict_proba(self, data: Any, *, items: bool = False) -> FloatArray:
        """Return P(class | covariates) of new rows, or P(class | covariates, items).

        Parameters
        ----------
        data : data frame
            Rows with the covariates, and the items if they are to be used.
        items : bool, default False
            Whether the items are used too.

        Returns
        -------
        array of float [rows, classes]
            ``nan`` in rows that lack a covariate.
        """
        if self.estimate is None:
            raise DataError("The classes were not related to covariates.")
        values = self.task.design.read(raw_columns(data), self.reading)
        logit = self.estimate.logit
        if not values:
            n = len(next(iter(raw_columns(data).values())))
            x = np.ones((n, 1))
        else:
            x = self.task.design.matrix(values)
        p = ClassLogit(x, logit.beta, logit.reference).probabilities
        if not items:
            return p
        model = self.model
        table = table_from(data, variables=model.variables, missing=set(self.reading.missing))
        name = model.tree.names[self.task.node]
        likelihood = posterior(model, table, [name])[name] / model.marginals()[self.task.node]
        both = p * likelihood
        found: FloatArray = both / both.sum(axis=1, keepdims=True)
        return found

    def predict(self, data: Any, *, items: bool = False) -> Any:
        """Return the number of the most probable class of new rows."""
        return self.predict_proba(data, items=items).argmax(axis=1)

    def _known(self) -> tuple[ClassLogit, dict[str, Values], FloatArray]:
        """The logit model, and covariates and weights of the rows that were used."""
        if self.estimate is None or not self.task.design.levels:
            raise DataError("The classes were not related to covariates.")
        sample = self.task.sample
        at = np.flatnonzero(sample.weights > 0)
        values = {name: sample.covariates[name].take(at) for name in self.task.design.levels}
        return self.estimate.logit, values, sample.weights[at]

    # ---- direct effects ----------------------------------------------------------------------------------------

    def direct_rows(self) -> list[dict[str, Any]]:
        """Direct effects on items as plain rows: log-odds of each answer against the item's base answer."""
        out: list[dict[str, Any]] = []
        if self.estimate is None:
            return out
        start = sum(part.size for part in self.estimate.parts[:2])
        for (item, design, uniform), part in zip(self.task.direct, self.estimate.parts[2:], strict=True):
            assert isinstance(part, DirectEffects)
            states = self.model.variable(item).states
            errors = np.sqrt(np.maximum(self._direct_variance[start : start + part.size], 0.0))
            at = part.n_constants
            for k in range(len(part.slopes)):
                for q, term in enumerate(design.terms[1:]):
                    for r in part.others:
                        found = inference(float(part.slopes[k, q, r]), float(errors[at]), self.level)
                        at += 1
                        row = {"item": item, "class": None if uniform else self.classes[k], "term": term}
                        out.append({**row, "answer": states[r], "base": states[part.base], **found})
            start += part.size
        return out

    @property
    def _direct_variance(self) -> FloatArray:
        assert self.estimate is not None
        return self.estimate.covariance.diagonal()

    # ---- text --------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        from ._text import text_of

        return text_of(self)

    def __repr__(self) -> str:
        what = [*self.task.design.levels, *(own.name for own in self.outcomes)]
        return f"<Relation: {len(self.classes)} classes and {', '.join(what) or 'nothing'}, {self.method}>"


def inference(estimate: float, error: float, level: float, df: float | None = None) -> dict[str, float]:
    """An estimate with its standard error, z, p and interval; with degrees of freedom, Student's distribution."""
    z = estimate / error if error > 0 else float("nan")
    if df is None:
        p, half = 2.0 * float(ndtr(-abs(z))), float(ndtri(0.5 + level / 2)) * error
    else:
        p, half = 2.0 * float(student.sf(abs(z), df)), float(student.ppf(0.5 + level / 2, df)) * error
    return {
        "estimate": estimate,
        "standard_error": error,
        "z": z,
        "p": p,
        "lower": estimate - half,
        "upper": estimate + half,
    }


def _bounded(kind: str, found: Mapping[str, float], level: float) -> dict[str, float]:
    """Intervals of proportions within 0 and 1 (on the logit scale), and of rates above 0 (on the log scale)."""
    p, half = found["estimate"], float(ndtri(0.5 + level / 2)) * found["standard_error"]
    if kind == "categorical" and 0 < p < 1:
        middle, width = log(p / (1 - p)), half / (p * (1 - p))
        return {"lower": float(expit(middle - width)), "upper": float(expit(middle + width))}
    if kind == "count" and p > 0:
        return {"lower": p * float(np.exp(-half / p)), "upper": p * float(np.exp(half / p))}
    return {}


def _number_of(covariate: str, own: Values, value: Any) -> float:
    """A value of a covariate as the number that stands for it."""
    if own.levels is not None and value in own.levels:
        return float(own.levels.index(value))
    try:
        if own.levels is None:
            return float(value)
    except (TypeError, ValueError):
        pass
    known = "numbers" if own.levels is None else ", ".join(map(repr, own.levels[:12]))
    raise DataError("'{name}' has no value {value!r}; it has {known}.", name=covariate, value=value, known=known)


def with_measurement(model: Model, first: FirstStep) -> Model:
    """The model with class sizes and probabilities of a first step that was estimated with a prior."""
    part = first.measurement
    if not isinstance(part, Items) or part.prior == 1.0:
        return model
    tables = {
        model.tree.names[0]: first.sizes,
        **dict(zip([v.name for v in model.variables], part.split(), strict=True)),
    }
    return replace(model, parameters=np.concatenate([tables[name].ravel() for name in model.tree.names]))


def new_model(task: Task, found: Estimate) -> Model:
    """The latent class model that one-step estimation found, class sizes averaged over the rows."""
    model, sample = task.model, task.sample
    logit, items, *direct = found.parts
    assert isinstance(logit, ClassLogit)
    w = sample.weights / sample.weights.sum()
    tables: dict[str, Any] = {model.tree.names[0]: (w @ logit.probabilities)[None, :]}
    rest = [v.name for v in model.variables if v.name not in {item for item, _, _ in task.direct}]
    if isinstance(items, Items):
        tables |= dict(zip(rest, items.split(), strict=True))
    for (name, _, _), part in zip(task.direct, direct, strict=True):
        assert isinstance(part, DirectEffects)
        expected = w[:, None] * logit.probabilities
        own = np.einsum("ik,ikr->kr", expected, part.probabilities)
        tables[name] = own / own.sum(axis=1, keepdims=True)
    parameters = np.concatenate([np.asarray(tables[name]).ravel() for name in model.tree.names])
    related = {
        "covariates": {
            "terms": list(task.design.terms),
            "classes": list(task.labels),
            "coefficients": logit.beta.tolist(),
        }
    }
    kept = {name: value for name, value in model.provenance.items() if name in ("recipe", "data", "names", "labels")}
    return replace(model, parameters=parameters, provenance={**kept, **related})


def _test(
    what: str,
    name: str,
    classes: Sequence[str] | None,
    statistic: float,
    df: int,
    p: float,
    effect: str | None,
    size: float | None,
) -> dict[str, Any]:
    own = {"term": None, "outcome": None, what: name, "classes": classes, "statistic": statistic, "df": df, "p": p}
    return {**own, "effect": effect, "effect_size": size}


def _frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    import narwhals as nw

    names = list(rows[0]) if rows else []
    return nw.from_dict({name: [row[name] for row in rows] for name in names}, backend="pandas").to_native()
