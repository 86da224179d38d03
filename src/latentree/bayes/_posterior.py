"""What the draws say: estimates with intervals, classes of rows, similarity of rows, probabilities of new rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._model import Model
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..errors import DataError, bad_parameter
from ._draws import ClassDraws, Draws
from ._relabel import responsibilities

MOST_SIMILAR = 5_000
"""Distinct rows for which a matrix of pairs is made."""


@dataclass(frozen=True, eq=False)
class ClassSummary:
    """Point estimates and credible intervals of a model with k classes.

    Attributes
    ----------
    weights, theta : float arrays [k] and [k, cells]
        Posterior means.
    weights_interval, theta_interval : float arrays [2, k] and [2, k, cells]
        Lower and upper ends of central intervals.
    level : float
        What the intervals hold of the posterior.
    n_draws : int
        Draws behind it.
    table : Table
        The data.
    """

    weights: FloatArray
    theta: FloatArray
    weights_interval: FloatArray
    theta_interval: FloatArray
    level: float
    n_draws: int
    table: Table

    @property
    def k(self) -> int:
        """Number of classes."""
        return len(self.weights)

    def model(self) -> Model:
        """The means as a model, for prediction and files."""
        tree = Tree.star(self.k, self.table.cardinalities)
        ends = np.cumsum(self.table.cardinalities)[:-1]
        parts = [part.ravel() for part in np.split(self.theta, ends, axis=1)]
        return Model(tree, self.table.variables, np.concatenate([self.weights, *parts]))


def summarise(draws: ClassDraws, *, level: float = 0.95) -> ClassSummary:
    """Means and central intervals. The draws must be relabelled, or classes are mixed up.

    Parameters
    ----------
    draws : ClassDraws
        From :func:`latentree.bayes.relabel`.
    level : float, default 0.95
        What the intervals hold.
    """
    if not 0 < level < 1:
        raise bad_parameter("level", "summarise", "a number between 0 and 1", level)
    ends = [(1 - level) / 2, (1 + level) / 2]
    theta = draws.theta.mean(axis=0)
    sums = np.add.reduceat(theta, draws.offsets[:-1], axis=1)  # one but for rounding
    return ClassSummary(
        draws.weights.mean(axis=0) / draws.weights.mean(axis=0).sum(),
        theta / np.repeat(sums, np.diff(draws.offsets), axis=1),
        np.quantile(draws.weights, ends, axis=0),
        np.quantile(draws.theta, ends, axis=0),
        level,
        len(draws),
        draws.table,
    )


def classification(draws: ClassDraws, table: Table | None = None) -> FloatArray:
    """P(class | pattern, data), averaged over relabelled draws; [patterns, k].

    Parameters
    ----------
    draws : ClassDraws
        From :func:`latentree.bayes.relabel`.
    table : Table, optional
        Other rows of the same variables. Default: the data.
    """
    own = draws if table is None else _with(draws, table)
    total = np.zeros((own.table.n_patterns, own.k))
    for part in _parts(own):
        total += responsibilities(part).sum(axis=0)
    return total / len(own)


def similarity(draws: Draws | ClassDraws) -> FloatArray:
    """P(two rows are in the same class | data), by pattern; labels do not matter.

    Returns
    -------
    array of float [patterns, patterns]
        For two different rows. ``table.inverse`` leads from rows to patterns.
    """
    n = (draws.table).n_patterns
    if n > MOST_SIMILAR:
        raise DataError(f"The data have {n:,} distinct rows; similarities are made for at most {MOST_SIMILAR:,}.")
    total, count = np.zeros((n, n)), 0
    for group in _groups(draws):
        for part in _parts(group):
            r = responsibilities(part)
            flat = r.transpose(1, 0, 2).reshape(n, -1)
            total += flat @ flat.T
            count += len(part)
    return total / count


def log_predictive(draws: Draws | ClassDraws, table: Table) -> FloatArray:
    """Return ln P(new row | data) by pattern of a table of the same variables, averaged over all draws."""
    total, count = np.full(table.n_patterns, -np.inf), 0
    for group in _groups(draws):
        for part in _parts(_with(group, table)):
            for logs in _log_mixtures(part):
                total = np.logaddexp(total, logs)
            count += len(part)
    out: FloatArray = total - np.log(count)
    return out


def log_rows(draws: Draws, every: slice) -> FloatArray:
    """Return ln P(row | model) of the data's patterns under some draws of each chain; [chains, draws, patterns]."""
    k = draws.k[:, every]
    out = np.empty((*k.shape, draws.table.n_patterns))
    for n_classes in np.unique(k):
        at = np.argwhere(k == n_classes)
        weights = draws.weights[:, every][k == n_classes][:, :n_classes]
        theta = draws.theta[:, every][k == n_classes][:, :n_classes]
        nothing = np.zeros(len(at))
        group = ClassDraws(draws.table, weights, theta, nothing, nothing.astype(np.int64))
        done = 0
        for part in _parts(group):
            for logs in _log_mixtures(part):
                out[tuple(at[done])] = logs
                done += 1
    return out


def predictive_rows(draws: Draws | ClassDraws, n: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """Draw new rows from the posterior predictive distribution, each from a model drawn; codes [n, variables]."""
    groups = list(_groups(draws))
    sizes = np.array([len(g) for g in groups])
    chosen = rng.choice(len(groups), size=n, p=sizes / sizes.sum())
    out = np.empty((n, draws.table.n_variables), dtype=np.int16)
    for g, group in enumerate(groups):
        at = np.flatnonzero(chosen == g)
        models = rng.integers(0, len(group), size=len(at))
        z = _one_of(group.weights[models], rng)
        theta = group.theta[models, z]
        for i, (a, b) in enumerate(zip(group.offsets[:-1], group.offsets[1:], strict=True)):
            out[at, i] = _one_of(theta[:, a:b], rng)
    return out


def _one_of(chances: FloatArray, rng: np.random.Generator) -> NDArray[np.int64]:
    ends = chances.cumsum(axis=1)
    picked: NDArray[np.int64] = (rng.random((len(chances), 1)) * ends[:, -1:] > ends[:, :-1]).sum(axis=1)
    return picked


def _groups(draws: Draws | ClassDraws) -> Iterator[ClassDraws]:
    if isinstance(draws, ClassDraws):
        yield draws
    else:
        yield from (draws.given(int(k)) for k in np.unique(draws.k))


def _with(draws: ClassDraws, table: Table) -> ClassDraws:
    if table.cardinalities.tolist() != draws.table.cardinalities.tolist():
        raise DataError("The rows have other variables or states than the data that were sampled from.")
    return ClassDraws(table, draws.weights, draws.theta, draws.log_likelihood, draws.chain)


def _parts(draws: ClassDraws) -> Iterator[ClassDraws]:
    each = max(1, 2_000_000 // (draws.table.n_patterns * draws.k))
    for a in range(0, len(draws), each):
        yield draws.part(slice(a, a + each))


def _log_mixtures(draws: ClassDraws) -> Iterator[FloatArray]:
    codes, offsets = draws.table.codes, draws.offsets
    with np.errstate(divide="ignore"):
        log_weights, log_theta = np.log(draws.weights), np.log(draws.theta)
    for w, t in zip(log_weights, log_theta, strict=True):
        joint = np.tile(w, (len(codes), 1))
        for i, column in enumerate(codes.T):
            seen = column >= 0
            joint[seen] += t[:, offsets[i] + column[seen]].T
        yield np.logaddexp.reduce(joint, axis=1)
