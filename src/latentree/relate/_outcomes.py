"""What becomes of the classes: means, proportions and rates of outcomes, with tests and effect sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import chi2

from .._types import FloatArray, IndexArray
from ..errors import Advice, DataError
from ._classification import Assignment, Classification
from ._covariates import Structural, three_step, two_step
from ._design import Values, odd_text
from ._measurement import FirstStep
from ._mixture import inverse
from ._outcome_parts import Categories, Count, Kind, Normal, OutcomePart

__all__ = ["Outcome", "kind_of", "outcome_by_class"]

PARTS: dict[str, type[OutcomePart]] = {"continuous": Normal, "categorical": Categories, "count": Count}


def kind_of(values: Values, kind: str | None) -> Kind:
    """The kind of an outcome: as asked for, or numbers continuous, and what has two values or is text categorical."""
    if kind in ("continuous", "count") and values.levels is not None:
        raise DataError(
            "The outcome '{name}' must be numbers to be {kind}. It has the value {odd!r}. Clean such cells, or name "
            "them in {missing}; or take it as categorical.",
            name=values.name,
            kind=kind,
            odd=odd_text(values.levels),
            missing=Advice("missing"),
        )
    numbers = values.numbers[~np.isnan(values.numbers)]
    if len(numbers) == 0:
        raise DataError("The outcome '{name}' has no value in any row that is used.", name=values.name)
    if kind == "count" and ((numbers < 0).any() or (numbers % 1 != 0).any()):
        raise DataError(
            "The outcome '{name}' must hold whole numbers of at least 0 to be a count. It has {odd:.10g}.",
            name=values.name,
            odd=float(numbers[(numbers < 0) | (numbers % 1 != 0)][0]),
        )
    if kind is None:
        _check_text(values)
        kind = "categorical" if values.levels is not None or len(np.unique(numbers)) <= 2 else "continuous"
    if len(np.unique(numbers)) < 2:
        raise DataError("The outcome '{name}' has the same value in all rows that are used.", name=values.name)
    return kind  # type: ignore[return-value]


def _check_text(values: Values) -> None:
    levels = values.levels or ()
    texts = [c for c in levels if isinstance(c, str)]
    if (texts and len(texts) < len(levels)) or len(levels) > 20:
        raise DataError(
            "The outcome '{name}' holds text such as {odd!r} among {n} different values. If numbers are meant, clean "
            "such cells or name them in {missing}; if categories are meant, say so: {kind}.",
            name=values.name,
            odd=odd_text(levels),
            n=len(levels),
            missing=Advice("missing"),
            kind=Advice("outcome_kind", {values.name: "categorical"}),
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """An outcome by class.

    Attributes
    ----------
    name, kind, method : str
        The column, what it was taken for, and how it was estimated.
    n : float
        Rows that have a value.
    adjusted : bool
        Whether the estimates are for covariates as they are in all rows.
    categories : tuple
        Of a categorical outcome.
    estimates : float array [classes, categories or 1]
        Means, proportions or rates.
    covariance : float array
        Of the estimates, flattened.
    variances : float array [classes], optional
        Of a continuous outcome within classes.
    sizes : float array [classes]
        Sizes of the classes.
    converged : bool
        Whether the maximum was reached.
    """

    name: str
    kind: Kind
    method: str
    n: float
    adjusted: bool
    categories: tuple[Any, ...]
    estimates: FloatArray
    covariance: FloatArray
    variances: FloatArray | None
    sizes: FloatArray
    converged: bool = True

    @property
    def errors(self) -> FloatArray:
        """Standard errors, like ``estimates``."""
        own: FloatArray = np.sqrt(np.maximum(self.covariance.diagonal(), 0.0)).reshape(self.estimates.shape)
        return own

    def tests(self) -> Iterator[tuple[tuple[int, ...], float, int, float, str, float]]:
        """Wald tests that classes do not differ, all of them and two by two.

        Classes (none if all), statistic, degrees of freedom, p-value, and an effect size with its name.
        """
        k = len(self.estimates)
        free = slice(1, None) if self.kind == "categorical" else slice(None)
        yield ((), *self._wald([(0, b) for b in range(1, k)], free), *self._overall())
        if k > 2:
            for a, b in combinations(range(k), 2):
                yield ((a, b), *self._wald([(a, b)], free), *self._pair(a, b))

    def _wald(self, pairs: Sequence[tuple[int, int]], free: slice) -> tuple[float, int, float]:
        c = self.estimates.shape[1]
        at = np.arange(self.estimates.size).reshape(-1, c)[:, free]
        contrasts = np.zeros((len(pairs) * at.shape[1], self.estimates.size))
        for i, (a, b) in enumerate(pairs):
            for j in range(at.shape[1]):
                contrasts[i * at.shape[1] + j, at[a, j]] = 1.0
                contrasts[i * at.shape[1] + j, at[b, j]] = -1.0
        return wald(contrasts @ self.estimates.ravel(), contrasts @ self.covariance @ contrasts.T)

    def _overall(self) -> tuple[str, float]:
        p, q = self.sizes, self.estimates
        mean = p @ q
        if self.kind == "categorical":
            return "Cramér's V", _cramer(p, q)
        within = self.variances if self.variances is not None else q[:, 0]
        between = float(p @ (q[:, 0] - mean[0]) ** 2)
        return "eta squared", between / (between + float(p @ within))

    def _pair(self, a: int, b: int) -> tuple[str, float]:
        p, q = self.estimates[a], self.estimates[b]
        if self.kind == "continuous":
            assert self.variances is not None
            return "Cohen's d", float((p[0] - q[0]) / np.sqrt((self.variances[a] + self.variances[b]) / 2))
        if self.kind == "count":
            return "rate ratio", float(p[0] / q[0])
        if len(p) == 2:
            return "Cohen's h", float(
                2 * np.arcsin(np.sqrt(np.clip(p[1], 0, 1))) - 2 * np.arcsin(np.sqrt(np.clip(q[1], 0, 1)))
            )
        return "Cramér's V", _cramer(np.array([0.5, 0.5]), np.array([p, q]))


def wald(difference: FloatArray, covariance: FloatArray) -> tuple[float, int, float]:
    """Statistic, degrees of freedom and p-value of a Wald test."""
    inner, _ = inverse(covariance)
    rank = int(np.linalg.matrix_rank(covariance, hermitian=True))
    value = float(difference @ inner @ difference)
    return value, rank, float(chi2.sf(value, rank)) if rank else float("nan")


def _cramer(sizes: FloatArray, shares: FloatArray) -> float:
    """Cramér's V of a table with these sizes of rows and shares within them."""
    joint = sizes[:, None] * np.clip(shares, 0.0, None)
    joint /= joint.sum()
    free = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    chi = float(((joint - free) ** 2 / np.where(free > 0, free, 1.0)).sum())
    return float(np.sqrt(chi / (min(joint.shape) - 1)))


def outcome_by_class(
    values: Values,
    kind: Kind,
    first: FirstStep,
    model: Structural,
    *,
    method: str,
    assignment: Assignment,
    robust: bool,
) -> Outcome:
    """Estimate an outcome by class: BCH, or ML in two or three steps."""
    y, categories = values.numbers, tuple(values.levels or ())
    if kind == "categorical" and values.levels is None:
        levels, codes = np.unique(y[~np.isnan(y)], return_inverse=True)
        whole = np.full(len(y), np.nan)
        whole[~np.isnan(y)] = codes
        y, categories = whole, tuple(int(c) if c % 1 == 0 else c for c in levels.tolist())
    total = model.weights.sum()
    z = model.x[:, 1:] - (model.weights @ model.x[:, 1:]) / total
    z = np.where(model.weights[:, None] > 0, z, 0.0)
    k = first.n_classes
    start = PARTS[kind].begin(y, z, model.weights, k)
    if method == "bch":
        part, covariance, converged = _bch(start, first, model, assignment)
    else:

        def more(rows: IndexArray | None) -> tuple[OutcomePart, ...]:
            spread = _spread(start, first.point.posterior)
            return (spread if rows is None else type(spread)(y[rows], z[rows], spread.parameters, k),)

        if method == "two-step":
            found = two_step(first, model, robust=robust, more=more)
        else:
            found = three_step(first, model, assignment=assignment, robust=robust, more=more)
        own = found.parts[1]
        assert isinstance(own, OutcomePart)
        part = type(own)(y, z, own.parameters, k)
        covariance, converged = found.covariance[found.logit.size :, found.logit.size :], found.converged
    estimates, by = _standardised(part, model.weights)
    variances = np.exp(2 * part.parameters[part.n_linear :]) if isinstance(part, Normal) else None
    spread = by @ covariance[: part.n_linear, : part.n_linear] @ by.T
    n = float(model.weights @ part.known)
    adjusted = z.shape[1] > 0
    return Outcome(
        values.name, kind, method, n, adjusted, categories, estimates, spread, variances, first.sizes, converged
    )


def _spread(start: OutcomePart, posterior: FloatArray) -> OutcomePart:
    """A start in which the classes differ as the posteriors say."""
    for _ in range(3):
        start = start.em_step(posterior)
    return start


def _bch(
    part: OutcomePart, first: FirstStep, model: Structural, assignment: Assignment
) -> tuple[OutcomePart, FloatArray, bool]:
    """Regression with BCH weights, and the covariance of its linear parameters."""
    classes = Classification.of(first, assignment)
    targets = model.weights[:, None] * classes.weights
    converged = False
    plain = part if not isinstance(part, Normal) else Normal(part.y, part.z, _unit(part), part.n_classes)
    for _ in range(50):
        moved = plain.newton(targets)
        change = np.abs(moved.parameters - plain.parameters).max()
        plain, converged = moved, bool(change < 1e-9 * (1 + np.abs(moved.parameters).max()))
        if converged:
            break
    k = range(first.n_classes)
    bend = np.asarray(sum(plain.bend(targets[:, c], c) for c in k))
    u = np.asarray(sum(classes.weights[:, c, None] * plain.residual_scores(c) for c in k)) * model.used[:, None]
    influence = u + classes.through_weights(plain.residual_scores, model.weights)
    inner = np.linalg.pinv(bend, hermitian=True)
    if isinstance(plain, Normal):
        plain = plain.with_variances(targets)
    return plain, model.sampling.covariance(influence @ inner), converged


def _unit(part: OutcomePart) -> FloatArray:
    """Parameters with variances of one, which have no say in weighted least squares."""
    own = part.parameters.copy()
    own[part.n_linear :] = 0.0
    return own


def _standardised(part: OutcomePart, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means by class, averaged over the covariates of all rows, and their derivatives by the linear parameters."""
    k, c = part.n_classes, part.n_categories
    shares = weights / weights.sum()
    means = np.einsum("i,ikc->kc", shares, part.means)
    by = np.zeros((k, c, part.n_linear))
    for own in range(k):
        spread = part.spread(own)
        for r in range(c):
            for s, at in enumerate(part.columns(own)):
                by[own, r, at] += (shares * spread[:, r, s]) @ part.carriers
    if isinstance(part, Categories):
        means = np.column_stack([1.0 - means.sum(axis=1), means])
        by = np.concatenate([-by.sum(axis=1, keepdims=True), by], axis=1)
        c += 1
    return means, by.reshape(k * c, part.n_linear)
