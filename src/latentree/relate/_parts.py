"""The parts of latent class models: the class given covariates, the items given the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .._lazy import cached_property
from .._types import FloatArray, IndexArray
from ._mixture import Part

__all__ = ["ClassLogit", "ItemData", "Items"]

BOUNDARY = 1e-6
"""Probabilities below this are at the boundary."""

SMALLEST = 1e-30
"""Probabilities are never smaller, so that logarithms are finite."""


class ClassLogit(Part):
    """Multinomial logit of the class on covariates ([BandeenRoche1997]).

    Parameters
    ----------
    x : float array [rows, terms]
        Values of the terms.
    beta : float array [classes, terms]
        Log-odds against the reference class, whose row is zero.
    reference : int
        The reference class.
    precision : float array [terms], optional
        Of a normal prior on the coefficients around their mean over the classes, which does not depend on the
        reference class.
    """

    def __init__(self, x: FloatArray, beta: FloatArray, reference: int = 0, precision: FloatArray | None = None):
        self.x, self.beta, self.reference, self.precision = x, beta, reference, precision
        self.others = [k for k in range(len(beta)) if k != reference]
        self.size = len(self.others) * x.shape[1]

    @cached_property
    def log(self) -> FloatArray:
        """log P(class | covariates)."""
        linear = self.x @ self.beta.T
        linear -= linear.max(axis=1, keepdims=True)
        linear -= np.log(np.exp(linear).sum(axis=1, keepdims=True))
        return linear

    @cached_property
    def probabilities(self) -> FloatArray:
        """P(class | covariates)."""
        return np.exp(self.log)

    def scores(self, k: int, rows: slice) -> tuple[IndexArray, FloatArray]:
        """(1 if c = k else 0, less P(c)) times the covariates, for each class c but the reference."""
        x = self.x[rows]
        off = -self.probabilities[rows][:, self.others]
        if k != self.reference:
            off[:, self.others.index(k)] += 1.0
        return np.arange(self.size), (off[:, :, None] * x[:, None, :]).reshape(len(x), -1)

    def complete(self, expected: FloatArray) -> FloatArray:
        """Information of a multinomial logit whose classes are known."""
        p, total, n = self.probabilities[:, self.others], expected.sum(axis=1), self.x.shape[1]
        weighed = (p[:, :, None] * self.x[:, None, :]).reshape(len(p), -1)
        out: FloatArray = -(weighed.T @ (total[:, None] * weighed))
        for a in range(len(self.others)):
            own = slice(a * n, (a + 1) * n)
            out[own, own] += self.x.T @ ((total * p[:, a])[:, None] * self.x)
        return out

    def moved(self, step: FloatArray) -> Self:
        """With other coefficients."""
        beta = self.beta.copy()
        beta[self.others] += step.reshape(len(self.others), -1)
        return type(self)(self.x, beta, self.reference, self.precision)

    def em_step(self, expected: FloatArray) -> Self:
        """One Newton step towards the classes that are expected."""
        residual = expected - expected.sum(axis=1)[:, None] * self.probabilities
        slope, bend = (residual[:, self.others].T @ self.x).ravel(), self.complete(expected)
        if self.penalty is not None:
            slope, bend = slope - self.penalty[1], bend + self.penalty[2]
        return self.moved(np.linalg.lstsq(bend, slope, rcond=1e-12)[0])

    @cached_property
    def penalty(self) -> tuple[float, FloatArray, FloatArray] | None:
        """Of the normal prior, if there is one."""
        if self.precision is None:
            return None
        k = len(self.beta)
        centre = np.eye(k)[:, self.others] - 1.0 / k  # from the free rows to deviations from the mean
        bend: FloatArray = np.kron(centre.T @ centre, np.diag(self.precision)).astype(np.float64)
        free = self.beta[self.others].ravel()
        slope = bend @ free
        return 0.5 * float(free @ slope), slope, bend

    def flat(self) -> FloatArray:
        """The coefficients of all classes but the reference, one after the other."""
        return self.beta[self.others].ravel()


@dataclass(frozen=True, eq=False)
class ItemData:
    """Answers to items as distinct patterns.

    Attributes
    ----------
    codes : int array [patterns, items]
        Answers, -1 where missing.
    pattern : int array [rows]
        The pattern of each row.
    cardinality : int array [items]
        Number of answers of each item.
    """

    codes: NDArray[np.int16]
    pattern: IndexArray
    cardinality: IndexArray

    @cached_property
    def starts(self) -> IndexArray:
        """Where each item begins among all answers."""
        return np.concatenate([[0], np.cumsum(self.cardinality)[:-1]]).astype(np.int64)

    @cached_property
    def answers(self) -> FloatArray:
        """One where a pattern has an answer, [patterns, answers of all items]."""
        out = np.zeros((len(self.codes), int(self.cardinality.sum())))
        row, item = np.nonzero(self.codes >= 0)
        out[row, self.starts[item] + self.codes[row, item]] = 1.0
        return out

    @cached_property
    def observed(self) -> FloatArray:
        """One for all answers of an item that a pattern has, zero for those of a missing one."""
        known: FloatArray = np.repeat((self.codes >= 0).astype(np.float64), self.cardinality, axis=1)
        return known

    @cached_property
    def same(self) -> FloatArray:
        """One where two answers are of the same item."""
        item = np.repeat(np.arange(len(self.cardinality)), self.cardinality)
        own: FloatArray = np.equal(item[:, None], item).astype(np.float64)
        return own

    def by_pattern(self, expected: FloatArray) -> FloatArray:
        """Sums over the rows of each pattern."""
        n, k = len(self.codes), expected.shape[1]
        at = self.pattern[:, None] * k + np.arange(k)
        sums: FloatArray = np.bincount(at.ravel(), expected.ravel(), n * k).reshape(n, k).astype(np.float64)
        return sums

    def without(self, items: list[int]) -> ItemData:
        """The other items."""
        kept = [j for j in range(len(self.cardinality)) if j not in items]
        return ItemData(self.codes[:, kept], self.pattern, self.cardinality[kept])


class Items(Part):
    """Items that are independent within classes, with a table of probabilities each.

    The free parameters are the log-odds of each answer against the one that is most probable in its class now.

    Parameters
    ----------
    data : ItemData
        The answers.
    tables : float array [classes, answers of all items]
        Probabilities of the answers.
    prior : float
        Dirichlet parameter of all tables; above 1 the tables are posterior modes ([GalindoGarreVermunt2006]).
    """

    def __init__(self, data: ItemData, tables: FloatArray, prior: float = 1.0) -> None:
        self.data, self.tables, self.prior = data, np.maximum(tables, SMALLEST), prior
        self.n_classes = len(tables)
        self.width = tables.shape[1] - len(data.cardinality)
        self.size = self.n_classes * self.width

    @cached_property
    def log(self) -> FloatArray:
        """log P(answers | class)."""
        patterns = self.data.answers @ np.log(self.tables).T
        return patterns[self.data.pattern]

    def split(self) -> list[FloatArray]:
        """The table of each item."""
        return np.split(self.tables, self.data.starts[1:], axis=1)

    @cached_property
    def free(self) -> list[IndexArray]:
        """For each class the answers that have a parameter."""
        starts, ends = self.data.starts, self.data.starts + self.data.cardinality
        every = np.arange(self.tables.shape[1])
        out = []
        for own in self.tables:
            largest = [a + int(own[a:b].argmax()) for a, b in zip(starts, ends, strict=True)]
            out.append(np.delete(every, largest))
        return out

    @cached_property
    def _pattern_scores(self) -> list[FloatArray]:
        data = self.data
        return [
            data.answers[:, free] - data.observed[:, free] * p[free]
            for free, p in zip(self.free, self.tables, strict=True)
        ]

    def scores(self, k: int, rows: slice) -> tuple[IndexArray, FloatArray]:
        """Answer given or not, less its probability."""
        return k * self.width + np.arange(self.width), self._pattern_scores[k][self.data.pattern[rows]]

    def complete(self, expected: FloatArray) -> FloatArray:
        """Information of multinomial samples."""
        counts = self.data.by_pattern(expected).T @ self.data.observed
        out, n = np.zeros((self.size, self.size)), self.width
        for k, (free, p, seen) in enumerate(zip(self.free, self.tables, counts, strict=True)):
            out[k * n : (k + 1) * n, k * n : (k + 1) * n] = self._multinomial(free, p, seen)
        return out

    def moved(self, step: FloatArray) -> Self:
        """With other log-odds."""
        logs = np.log(self.tables)
        for k, free in enumerate(self.free):
            logs[k, free] += step[k * self.width : (k + 1) * self.width]
        logs -= np.repeat(np.maximum.reduceat(logs, self.data.starts, axis=1), self.data.cardinality, axis=1)
        return type(self)(self.data, self._normalised(np.exp(logs)), self.prior)

    def em_step(self, expected: FloatArray) -> Self:
        """Shares of the expected answers, and of those that the prior adds."""
        counts = self.data.by_pattern(expected).T @ self.data.answers + (self.prior - 1.0)
        return type(self)(self.data, self._normalised(counts), self.prior)

    @cached_property
    def penalty(self) -> tuple[float, FloatArray, FloatArray] | None:
        """Of the Dirichlet prior, which is as if each class had given each answer ``prior - 1`` times more."""
        if self.prior == 1.0:
            return None
        more, width = self.prior - 1.0, self.width
        value = -more * float(np.log(self.tables).sum())
        slope, bend = np.zeros(self.size), np.zeros((self.size, self.size))
        total: FloatArray = more * np.repeat(self.data.cardinality, self.data.cardinality).astype(np.float64)
        for k, (free, p) in enumerate(zip(self.free, self.tables, strict=True)):
            own = slice(k * width, (k + 1) * width)
            slope[own] = total[free] * p[free] - more
            bend[own, own] = self._multinomial(free, p, total)
        return value, slope, bend

    def _multinomial(self, free: IndexArray, p: FloatArray, counts: FloatArray) -> FloatArray:
        """Information of multinomial samples of one class on its log-odds."""
        own = p[free]
        out: FloatArray = -self.data.same[np.ix_(free, free)] * np.outer(counts[free] * own, own)
        out[np.diag_indices(self.width)] += counts[free] * own
        return out

    def _normalised(self, counts: FloatArray) -> FloatArray:
        sums = np.repeat(np.add.reduceat(counts, self.data.starts, axis=1), self.data.cardinality, axis=1)
        return np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), self.tables)

    @property
    def held(self) -> NDArray[np.bool_]:
        """Log-odds of probabilities that are zero."""
        own: NDArray[np.bool_] = np.concatenate(
            [p[free] < BOUNDARY for free, p in zip(self.free, self.tables, strict=True)]
        )
        return own
