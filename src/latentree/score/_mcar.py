"""Whether cells are missing completely at random: Little's test, of the indicators of the states.

Rows are grouped by which cells are missing. If that has nothing to do with any value, the shares of the states among
the rows of each group differ from those of all only by chance (Little, Journal of the American Statistical Association
83 (1988) 1198-1202). Little writes the statistic for normal data; it needs only that means of groups are about normal,
so that the 0/1 indicators of all states but one of each variable can take the place of the measurements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table import Table
from .._types import FloatArray
from ._absolute import chi_square_p

STEPS, TOLERANCE = 500, 1e-7
"""Most steps of EM, and the largest change of a mean or covariance at which it ends."""

SINGULAR = 1e-8
"""Directions with a smaller share of the largest variance have none."""

FEW = 5
"""Patterns of missing cells with fewer rows than this make the chi-square approximation worse."""


@dataclass(frozen=True)
class McarTest:
    """Little's test; see :func:`mcar_test`.

    Attributes
    ----------
    statistic : float or None
        Sum over the patterns of missing cells of the squared Mahalanobis distance of their shares; None without any.
    degrees_of_freedom : int
        Indicators known in each pattern, summed, less all indicators.
    p_value : float or None
        Upper tail of the chi-square distribution; None if there is nothing to test.
    n_patterns : int
        Patterns of missing cells, that of complete rows among them.
    rows_in_small_patterns : float
        Weight of the rows whose pattern has fewer than five.
    method : str
        Which test, and what it assumes.
    reason : str or None
        Why there is no test.
    """

    statistic: float | None
    degrees_of_freedom: int
    p_value: float | None
    n_patterns: int
    rows_in_small_patterns: float
    method: str
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return asdict(self)


METHOD = (
    "Little's (1988) test with the 0/1 indicators of the states in place of normal measurements. It assumes that rows "
    "are independent and that patterns of missing cells have enough rows for their shares to be about normal. It looks "
    "at shares only: a large p-value does not show that cells are missing completely at random, and no test can show "
    "that they are missing at random, which is what maximum likelihood needs."
)


def mcar_test(table: Table) -> McarTest:
    """Test whether cells are missing completely at random.

    Parameters
    ----------
    table : Table
        The data; a weight means repeating the row.

    Returns
    -------
    McarTest

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.integers(0, 2, (400, 3))
    >>> codes[:, 1] = np.where(rng.random(400) < 0.8, codes[:, 0], 1 - codes[:, 0])
    >>> codes[(codes[:, 0] == 1) & (rng.random(400) < 0.5), 1] = -1  # missing more often where the first is 1
    >>> mcar_test(Table.from_codes(codes)).p_value < 0.001
    True
    """
    groups = list(_groups(table))
    small = sum(g.n for g in groups if g.n < FEW)
    if len(groups) == 1:
        why = "No cell is missing." if groups[0].known.all() else "All rows miss the same cells."
        return McarTest(None, 0, None, len(groups), small, METHOD, why)
    mean, covariance = _normal_moments(groups)
    statistic, df = 0.0, -_rank(covariance)
    for g in groups:
        at = np.flatnonzero(g.known)
        if len(at) == 0:
            continue
        own = covariance[np.ix_(at, at)]
        away = g.total[at] / g.n - mean[at]
        inverse, rank = _inverse(own)
        statistic += g.n * float(away @ inverse @ away)
        df += rank
    p, reason = chi_square_p(statistic, df)
    return McarTest(statistic, df, p, len(groups), small, METHOD, None if p is not None else reason)


@dataclass(frozen=True, eq=False)
class _Group:
    """The rows that miss the same cells."""

    n: float
    known: NDArray[np.bool_]  # which indicators
    total: FloatArray  # their sums
    products: FloatArray  # and those of their products


def _groups(table: Table) -> Iterator[_Group]:
    indicators, owner = _indicators(table)
    missing, group = np.unique(table.codes < 0, axis=0, return_inverse=True)
    for i, own in enumerate(missing):
        rows = group.ravel() == i
        w, x = table.weights[rows], indicators[rows]
        yield _Group(float(w.sum()), ~own[owner], w @ x, (x * w[:, None]).T @ x)


def _indicators(table: Table) -> tuple[FloatArray, NDArray[np.int64]]:
    """0/1 columns of all states that occur but the first of each variable, 0 where missing, and whose they are."""
    columns, owner = [], []
    for v, codes in enumerate(table.codes.T):
        for state in np.unique(codes[codes >= 0])[1:]:
            columns.append((codes == state).astype(np.float64))
            owner.append(v)
    made = np.stack(columns, axis=1) if columns else np.empty((table.n_patterns, 0))
    return made, np.array(owner, dtype=np.int64)


def _normal_moments(groups: list[_Group]) -> tuple[FloatArray, FloatArray]:
    """Maximum likelihood mean and covariance of a normal distribution with cells missing, by EM."""
    n = sum(g.n for g in groups)
    known = np.maximum(sum(g.n * g.known for g in groups), 1e-300)
    mean = sum(g.total for g in groups) / known
    covariance = np.diag(mean * (1 - mean))
    for _ in range(STEPS):
        total, products = np.zeros_like(mean), np.zeros_like(covariance)
        for g in groups:
            first, second = _completed(g, mean, covariance)
            total += first
            products += second
        new = total / n
        moved = products / n - np.outer(new, new)
        change = max(np.abs(new - mean).max(initial=0.0), np.abs(moved - covariance).max(initial=0.0))
        mean, covariance = new, (moved + moved.T) / 2
        if change < TOLERANCE:
            break
    return mean, covariance


def _completed(g: _Group, mean: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected sums and products of a group, what is missing being regressed on what is known."""
    at, gone = np.flatnonzero(g.known), np.flatnonzero(~g.known)
    slope = covariance[np.ix_(gone, at)] @ _inverse(covariance[np.ix_(at, at)])[0]
    regress = np.zeros((len(mean), len(at)))  # from what is known to everything, around the mean
    regress[at, np.arange(len(at))] = 1.0
    regress[gone] = slope
    total = g.total[at] - g.n * mean[at]
    centred = g.products[np.ix_(at, at)] - np.outer(g.total[at], mean[at]) - np.outer(mean[at], total)
    first = regress @ total
    second = regress @ centred @ regress.T
    second[np.ix_(gone, gone)] += g.n * (covariance[np.ix_(gone, gone)] - slope @ covariance[np.ix_(at, gone)])
    around = second + np.outer(first, mean) + np.outer(mean, first) + g.n * np.outer(mean, mean)
    return first + g.n * mean, around


def _inverse(matrix: FloatArray) -> tuple[FloatArray, int]:
    """Inverse on the directions that have variance, and how many they are."""
    if len(matrix) == 0:
        return matrix, 0
    values, vectors = np.linalg.eigh(matrix)
    kept = values > SINGULAR * max(float(values[-1]), 1e-12)
    return (vectors[:, kept] / values[kept]) @ vectors[:, kept].T, int(kept.sum())


def _rank(matrix: FloatArray) -> int:
    return _inverse(matrix)[1]
