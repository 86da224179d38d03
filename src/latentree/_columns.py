"""An order of the columns that depends on what is in them alone: neither on their order nor on their names.

Columns are ordered by how often they have each state. Those that agree in that are told apart by what stands beside
their values: rows get a number from their values and columns one from the rows they share, in turns, until nothing new
is told apart (colour refinement, as for the isomorphism of graphs). The order of the rows plays no part in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ._table import Table

_ROUNDS = 64
"""Most rounds of refinement; columns that are still alike then keep their order."""

Numbers = NDArray[np.uint64]


def by_content(table: Table) -> list[int]:
    """The columns of a table, ordered by content; equal columns keep the order they have.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> by_content(Table.from_codes(codes, [2, 2, 2])), by_content(Table.from_codes(codes[::-1, ::-1], [2, 2, 2]))
    ([2, 1, 0], [0, 1, 2])
    """
    total = table.weights.sum()
    keys = []
    for v, column in zip(table.variables, table.codes.T, strict=True):
        counts = np.bincount(column + 1, weights=table.weights, minlength=v.cardinality + 1)[1:]
        keys.append((v.cardinality, *np.round(counts / total, 12).tolist()))
    place = {key: i for i, key in enumerate(sorted(set(keys)))}
    first = [place[key] for key in keys]
    colour = _refined(table, np.array(first, dtype=np.uint64)) if len(place) < len(keys) else first
    return sorted(range(len(keys)), key=lambda i: (first[i], int(colour[i])))


def _refined(table: Table, colour: Numbers) -> Numbers:
    """Colours of the columns that tell apart all that can be told apart."""
    rows = _mixed(np.round(table.weights / table.weights.sum(), 12).view(np.uint64))
    n = 0
    for _ in range(_ROUNDS):
        tied = _tied(table, colour)
        if tied is None:
            break
        now = len(np.unique(colour))
        if now == n:  # alike in all respects, as in a design that is the same from all sides: take any
            colour = colour.copy()
            colour[tied] = _mixed(colour[tied] + np.uint64(1))
        n = now
        rows, colour = _turn(table, rows, colour)
    return colour


def _turn(table: Table, rows: Numbers, colour: Numbers) -> tuple[Numbers, Numbers]:
    """Tell rows apart by their values, and columns by the rows their values stand in. Sums know no order."""
    own = rows.copy()
    for c, column in zip(colour, table.codes.T, strict=True):
        own += _mixed(_mixed(column.astype(np.uint64)) + c)
    own = _mixed(own)
    sums = [_mixed(_mixed(column.astype(np.uint64)) ^ own).sum(dtype=np.uint64) for column in table.codes.T]
    return own, _mixed(colour + np.array(sums, dtype=np.uint64))


def _tied(table: Table, colour: Numbers) -> Sequence[int] | None:
    """A column, with its equals, that has the colour of columns unlike it; None if there is none."""
    groups: dict[int, list[int]] = {}
    for i, c in enumerate(colour):
        groups.setdefault(int(c), []).append(i)
    for _, group in sorted(groups.items()):
        column = table.codes[:, group[0]]
        alike = [i for i in group if np.array_equal(table.codes[:, i], column)]
        if len(alike) < len(group):
            return alike
    return None


def _mixed(x: Numbers) -> Numbers:
    """Scramble numbers, so that sums of them tell apart what they are made of (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
