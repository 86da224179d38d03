"""Which variables depend on each other most: the tree of Chow and Liu (1968), for any number of variables.

The tree joins all variables by pairs of largest mutual information. All pairs are counted by products of matrices,
block by block, and of each block only the pairs are kept that belong to the tree of what has been counted so far. So
the memory is that of the data, whatever the number of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table import Table
from .._types import FloatArray

Link = tuple[int, int, float]
"""Two variables and N times the information that they share, in nats."""

BLOCK = 512
"""Columns of indicators that are counted against as many others at a time."""
ROWS = 8192
"""Rows of indicators that are written out at a time."""
SPARSE = 0.03
"""Share of ones below which only these are multiplied; a dense product does a thousand times more numbers a second."""
_EXACT = 2.0**24  # whole numbers up to here are exact in single precision


def chow_liu(table: Table, *, between: Callable[[int, int], None] = lambda done, total: None) -> list[Link]:
    """The links of the tree, the strongest first.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(0, 2, 500)
    >>> y = np.where(rng.random(500) < 0.1, 1 - x, x)
    >>> z = np.where(rng.random(500) < 0.1, 1 - y, y)
    >>> [(i, j) for i, j, _ in chow_liu(Table.from_codes(np.column_stack([x, y, z])))]
    [(0, 1), (1, 2)]
    """
    n = table.n_variables
    blocks = _blocks(table)
    pairs = [(a, b) for i, a in enumerate(blocks) for b in blocks[i:]]
    count = _sparsely if _share(table, blocks) < SPARSE else _densely
    tree = np.empty(0), np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    for done, (a, b) in enumerate(pairs, start=1):
        tree = _joined(tree, a, b, information(a, b, count(table, a, b)), n)
        between(done, len(pairs))
    weight, *ends = tree
    first, second = np.sort(ends, axis=0)
    order = np.lexsort((second, first, -weight))
    return [(int(first[i]), int(second[i]), float(weight[i])) for i in order]


_Edges = tuple[FloatArray, NDArray[np.intp], NDArray[np.intp]]


def _joined(tree: _Edges, a: _Block, b: _Block, block: FloatArray, n: int) -> _Edges:
    """The best tree of those pairs that were in it, and of a block of new ones."""
    from scipy import sparse  # which takes longer to load than a search of few variables, where no pieces are made
    from scipy.sparse.csgraph import minimum_spanning_tree

    new = block > tree[0].min() if len(tree[0]) == n - 1 else np.ones(block.shape, dtype=bool)
    if a is b:
        new &= ~np.tri(len(block), dtype=bool)
    i, j = np.nonzero(new)
    weight = np.r_[tree[0], block[i, j]]
    # short numbers: older versions of SciPy's trees take no others
    ends = tuple(np.r_[own].astype(np.int32) for own in ((tree[1], a.variables[i]), (tree[2], b.variables[j])))
    # shifted, since a weight of zero would be no link at all
    best = minimum_spanning_tree(sparse.csr_array((-1.0 - weight, ends), shape=(n, n))).tocoo()
    return -1.0 - best.data, best.row, best.col


# ---- counting ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Block:
    """Variables with equally many values, the most frequent first: it needs no column, it is what the others leave.

    A missing cell is a value like the others here, so that pairs can be counted in which both cells are there.
    """

    variables: NDArray[np.intp]
    values: NDArray[np.intp]  # [values, variables], missing: -1
    totals: FloatArray  # weight of each


def _blocks(table: Table) -> list[_Block]:
    """All variables, in blocks of about BLOCK columns."""
    alike: dict[int, list[int]] = {}
    values, totals = [], []
    for i in range(table.n_variables):
        counts = np.bincount(table.codes[:, i] + 1, weights=table.weights, minlength=3)
        own = np.argsort(-counts, kind="stable")[: max(2, np.count_nonzero(counts))]
        values.append(own - 1)
        totals.append(counts[own])
        alike.setdefault(len(own), []).append(i)
    out = []
    for k, members in sorted(alike.items()):
        width = max(1, BLOCK // (k - 1))
        for first in range(0, len(members), width):
            some = members[first : first + width]
            arrays = (np.array([own[i] for i in some]).T for own in (values, totals))
            out.append(_Block(np.array(some), *arrays))
    return out


def _share(table: Table, blocks: Sequence[_Block]) -> float:
    """Share of ones in the columns."""
    ones = sum(float(b.totals[1:].sum()) for b in blocks)
    return ones / (float(table.weights.sum()) * sum(b.totals[1:].size for b in blocks))


def _densely(table: Table, a: _Block, b: _Block) -> FloatArray:
    """Weight of the rows in which two values meet, for all values of two blocks that have columns."""
    whole = (table.weights == np.round(table.weights)).all() and table.weights.sum() < _EXACT
    kind = np.float32 if whole else np.float64
    joint: Any = 0.0
    for first in range(0, table.n_patterns, ROWS):
        rows = slice(first, first + ROWS)
        left, right = _written(table, a, rows, kind), _written(table, b, rows, kind)
        left *= table.weights[rows].astype(kind)
        joint = joint + (left @ right.T).astype(np.float64)
    return np.asarray(joint)


def _written(table: Table, block: _Block, rows: slice, kind: type) -> NDArray[Any]:
    """A row for each value that has a column, value by value."""
    k, n = block.values.shape
    out = np.empty((k - 1, n, len(table.weights[rows])), dtype=kind)
    for i, v in enumerate(block.variables):
        out[:, i] = table.codes[rows, v] == block.values[1:, i, None]
    return out.reshape((k - 1) * n, -1)


def _sparsely(table: Table, a: _Block, b: _Block) -> FloatArray:
    """The same, only the ones being multiplied."""
    left = _ones(table, a)
    left.data = table.weights[left.indices]
    joint: FloatArray = (left @ _ones(table, b).T).toarray()
    return joint


def _ones(table: Table, block: _Block) -> Any:
    from scipy import sparse

    own = block.variables
    at = [np.flatnonzero(table.codes[:, v] == x) for row in block.values[1:] for v, x in zip(own, row, strict=True)]
    ends = np.cumsum([0, *map(len, at)])
    return sparse.csr_array((np.ones(ends[-1]), np.concatenate(at), ends), shape=(len(at), table.n_patterns))


# ---- information --------------------------------------------------------------------------------------------------


def information(a: _Block, b: _Block, joint: FloatArray) -> FloatArray:
    """N I(i; j) = sum n_xy log n_xy - sum n_x log n_x - sum n_y log n_y + N log N, of i in a block and j in another.

    The counts are those of the rows that show both.
    """
    full = np.empty((*a.totals.shape, *b.totals.shape))
    full[1:, :, 1:] = joint.reshape(full[1:, :, 1:].shape)
    full[0, :, 1:] = b.totals[1:] - full[1:, :, 1:].sum(axis=0)
    full[:, :, 0] = a.totals[:, :, None] - full[:, :, 1:].sum(axis=2)
    if (a.values < 0).any() or (b.values < 0).any():
        full *= (a.values >= 0)[:, :, None, None] & (b.values >= 0)
    by_a, by_b = full.sum(axis=2), full.sum(axis=0)
    out: FloatArray = _xlogx(full).sum(axis=(0, 2)) - _xlogx(by_a).sum(axis=0) - _xlogx(by_b).sum(axis=1)
    out += _xlogx(by_a.sum(axis=0))
    return np.maximum(out, 0.0, out=out)


def _xlogx(x: FloatArray) -> FloatArray:
    out = np.log(np.maximum(x, 1e-300))
    out *= x
    return out
