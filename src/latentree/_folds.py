"""Data divided into parts, case by case: for cross-validation and for holding out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ._data import Data
from ._table import Table
from ._types import FloatArray
from .errors import Advice, DataError, Parameter, bad_parameter

__all__ = [
    "block_weights",
    "check_row_order",
    "fold_weights",
    "has_row_order",
    "shuffled_block_weights",
    "training_parts",
]

MOST_CASES = 10**9
"""Above this, cases are dealt out independently of each other: the parts then have about the same size, not exactly."""


def fold_weights(table: Table, n_folds: int, *, seed: int = 0, labels: Sequence[Hashable] | None = None) -> FloatArray:
    """What each distinct row weighs in each of several parts, drawn at random, of equal size.

    Every case goes to one part, whether cases that are alike stand in several rows or in one row with a weight; what a
    weight has beyond a whole number goes to one part too. The same data and seed give the same parts, in whatever order
    rows and columns come.

    Parameters
    ----------
    table : Table
        The data.
    n_folds : int
        How many parts, at least 2 and at most as many as there are cases.
    seed : int
        Another number gives other parts.
    labels : sequence, optional
        What tells the columns apart. Default: their names.

    Returns
    -------
    array of float [n_folds, distinct rows]
        The parts add up to the weights.

    Examples
    --------
    >>> table = Table.from_codes([[0, 0], [1, 1]], weights=[6, 4])
    >>> parts = fold_weights(table, 5)
    >>> parts.sum(axis=0).tolist(), parts.sum(axis=1).tolist()
    ([6.0, 4.0], [2.0, 2.0, 2.0, 2.0, 2.0])
    """
    _check(table, n_folds)
    rng = np.random.default_rng([seed, n_folds])
    order = _order(table, table.names if labels is None else labels)
    whole = np.floor(table.weights[order]).astype(np.int64)
    dealt = _dealt(whole, n_folds, rng).astype(np.float64)
    rest = table.weights[order] - whole
    dealt[rng.integers(n_folds, size=len(rest)), np.arange(len(rest))] += rest
    parts = np.empty_like(dealt)
    parts[:, order] = dealt
    return parts


def block_weights(table: Table, n_blocks: int) -> FloatArray:
    """What each distinct row weighs in each of several blocks of rows that stand together, of equal size.

    A weight is that many repetitions, one after the other, so that a row may end one block and begin the next.

    Parameters
    ----------
    table : Table
        The data, in the order of their rows.
    n_blocks : int
        How many blocks, at least 2 and at most as many as there are cases.

    Returns
    -------
    array of float [n_blocks, distinct rows]
        The blocks add up to the weights.

    Examples
    --------
    >>> table = Table.from_codes([[0], [1], [0]], weights=[3, 1, 2])
    >>> block_weights(table, 2).tolist()
    [[3.0, 0.0], [2.0, 1.0]]
    """
    _check(table, n_blocks)
    check_row_order(table)
    return _in_blocks(*runs_of(table), n_blocks, table.n_patterns)


def shuffled_block_weights(table: Table, n_blocks: int, *, labels: Sequence[Hashable] | None = None) -> FloatArray:
    """Return the same for rows in an order drawn at random: what blocks would be if their order said nothing.

    Equal rows in succession stay together, and so does what a row weighs. The same rows give the same blocks, in
    whatever order rows and columns come; ``labels`` tell the columns apart, by default their names.
    """
    _check(table, n_blocks)
    check_row_order(table)
    pattern, weights = runs_of(table)
    place = np.argsort(_order(table, table.names if labels is None else labels), kind="stable")
    order = np.lexsort((weights, place[pattern]))
    order = order[np.random.default_rng(0).permutation(len(order))]
    return _in_blocks(pattern[order], weights[order], n_blocks, table.n_patterns)


def runs_of(table: Table) -> tuple[NDArray[np.intp], FloatArray]:
    """The distinct rows in the order of the data, equal ones in succession being one, and what they weigh together."""
    kept = table.inverse >= 0
    pattern, weights = table.inverse[kept], np.broadcast_to(table.row_weights, len(kept))[kept]  # type: ignore[arg-type]
    first = np.flatnonzero(np.r_[True, pattern[1:] != pattern[:-1]])
    return pattern[first].astype(np.intp), np.add.reduceat(weights, first).astype(np.float64)


def _in_blocks(pattern: NDArray[np.intp], weights: FloatArray, n_blocks: int, n_patterns: int) -> FloatArray:
    """What each distinct row weighs in each of several blocks of equal size."""
    ends = np.cumsum(weights)
    borders = np.arange(n_blocks + 1) * ends[-1] / n_blocks
    if (weights == np.floor(weights)).all():
        borders = np.round(borders)
    found = np.zeros((n_blocks, n_patterns))
    for own, low, high in zip(found, borders[:-1], borders[1:], strict=True):
        first, last = np.searchsorted(ends, low, side="right"), np.searchsorted(ends, high) + 1
        inside = np.minimum(ends[first:last], high) - np.maximum(ends[first:last] - weights[first:last], low)
        own += np.bincount(pattern[first:last], weights=np.maximum(inside, 0.0), minlength=n_patterns)
    return found


def check_row_order(data: Data) -> None:
    """Refuse data of which the order of the rows is not known."""
    rows = data.row_weights if isinstance(data, Table) else None
    if rows is None:
        raise DataError(
            "{option} holds out rows that stand together, but these data are distinct rows with weights, and the order "
            "of the rows is lost. Read all rows into one table, or use {other}.",
            option=Advice("prior", "blocks"),
            other=Advice("prior", "shuffled"),
        )
    assert isinstance(data, Table)
    if _are_counts(data):
        raise DataError(
            "{option} holds out rows that stand together, but these data look like counts: every row is there once, "
            "with a whole number as its weight, so that the order of the rows is lost. Use {other}; if equal rows do "
            "stand together, repeat the rows instead of weighting them.",
            option=Advice("prior", "blocks"),
            other=Advice("prior", "shuffled"),
        )


def has_row_order(table: Table, runs: int) -> bool:
    """Return whether the order of the rows is known, and they change at least ``runs`` - 1 times from one to the next.

    Equal rows in succession count as one, as if they were one with a weight: a table of a few different rows, each
    repeated, says nothing by its order. Distinct rows with counts have none.

    Examples
    --------
    >>> table = Table.from_codes([[0], [1], [1], [0]])
    >>> has_row_order(table, 3), has_row_order(table, 4), has_row_order(table.without_order(), 1)
    (True, False, False)
    """
    if table.row_weights is None or _are_counts(table):
        return False
    return len(runs_of(table)[0]) >= runs


def _are_counts(table: Table) -> bool:
    """Whether every row is there once, with a whole number as its weight."""
    rows = table.row_weights
    assert rows is not None
    once = int((table.inverse >= 0).sum()) == table.n_patterns
    return bool(rows.ndim and once and (rows > 1).any() and (rows == np.floor(rows)).all())


def training_parts(table: Table, parts: FloatArray) -> list[tuple[Table, Table]]:
    """For each part, the table of all other cases and the table of its own; parts without cases are passed over."""
    found = []
    for own in parts:
        rest = table.weights - own
        rest[rest < 1e-9 * table.weights] = 0.0
        if own.any() and rest.any():
            found.append((table.reweighted(rest), table.reweighted(own)))
    return found


def _check(table: Table, n_folds: int) -> None:
    if isinstance(n_folds, bool) or not isinstance(n_folds, int | np.integer) or n_folds < 2:
        raise bad_parameter("folds", "cross-validation", "a whole number of at least 2", n_folds)
    cases = max(float(table.weights.sum()), float(table.n_patterns))
    if n_folds > cases:
        raise DataError(
            "{parameter}: {folds} parts cannot be made of {cases:g} rows. Use at most as many folds as there are rows.",
            parameter=Parameter("folds", "cross-validation"),
            folds=n_folds,
            cases=cases,
        )


def _dealt(whole: NDArray[np.int64], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Deal cases out, to all parts alike."""
    total = int(whole.sum())
    if total >= MOST_CASES:
        return np.ascontiguousarray(rng.multinomial(whole, np.full(n_folds, 1 / n_folds)).T)
    dealt, left = np.zeros((n_folds, len(whole)), dtype=np.int64), whole.copy()
    ends = np.round(np.arange(1, n_folds + 1) * total / n_folds).astype(np.int64)
    for part, size in enumerate(np.diff(ends, prepend=0)[:-1]):
        dealt[part] = rng.multivariate_hypergeometric(left, size, method="marginals")
        left -= dealt[part]
    dealt[-1] = left
    return dealt


def _order(table: Table, labels: Sequence[Hashable]) -> NDArray[np.intp]:
    """An order of the distinct rows that depends neither on that of the rows nor on that of the columns."""
    key = np.zeros(table.n_patterns, dtype=np.uint64)
    for label, column in zip(labels, table.codes.T, strict=True):
        own = np.uint64(crc32(repr(label).encode()))
        key += _mixed(column.astype(np.uint64) + (own << np.uint64(20)))
    return np.argsort(key, kind="stable")


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
