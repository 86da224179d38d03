"""Louis' information: second derivatives of the log-likelihood, exactly, for any tree ([Whiley1999] 4.7, C.4).

P(row) is linear in each table, so that, with a and b entries of the flat vector and E(a | x) the posterior probability
that row x uses entry a,

    d log P(x) / da       = E(a | x) / a
    d2 log P(x) / da db   = [E(a, b | x) - E(a | x) E(b | x)] / (a b),    E(a, b | x) = 0 within one table

(Louis, J. R. Statist. Soc. B 44 (1982) 226-233, for a tree). Standard errors and Laplace's approximation both come
from these sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._model import Model
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..engine._messages import Messages
from ..engine._plan import Evidence, evidence_of
from ..errors import DataError

NEGLIGIBLE = 1e-100
"""Smaller posteriors are zero: products of them would be denormal numbers, which are slow."""

BLOCK_CELLS = 2**22
"""Patterns times parameters at a time."""


def moments_of_counts(model: Model, table: Table) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the completed data's counts, given the data: sums over the rows.

    Here every missing cell is completed, also those of leaves, which the engine's counts leave out. Derivatives along
    distributions do not depend on that, as long as mean and covariance agree.
    """
    mean, products, pairs = information_sums(model, table)
    pairs -= products
    pairs[np.diag_indices_from(pairs)] += mean  # within one table one count is 1, the others 0
    return mean, pairs


def information_sums(model: Model, table: Table) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sums over the rows of E(a | x), E(a | x) E(b | x) and E(a, b | x), as at the head of this module.

    The matrix of second derivatives is ``(third - second) / outer(parameters, parameters)``.
    """
    tree, evidence = model.tree, evidence_of(model, table)
    first, second = np.zeros(tree.size), np.zeros((tree.size, tree.size))
    third = np.zeros((tree.size, tree.size))
    step = max(1, BLOCK_CELLS // tree.size)
    for start in range(0, table.n_patterns, step):
        part = slice(start, start + step)
        weights = table.weights[part]
        nodes, edges = _given_rows(
            tree, model.parameters, [Evidence(e.node, e.ids[part]) for e in evidence], len(weights)
        )
        above = [np.ones((len(weights), 1)), *(nodes[u] for u in tree.parent[1:])]
        used = np.hstack([(p[:, :, None] * e).reshape(len(weights), -1) for p, e in zip(above, edges, strict=True)])
        first += weights @ used
        second += used.T @ (weights[:, None] * used)
        for v in range(tree.n_nodes):
            if tree.children[v]:
                _add_pairs(third, tree, v, weights[:, None], above[v], nodes[v], edges)
    return first, second, third


def _given_rows(
    tree: Tree, parameters: FloatArray, evidence: list[Evidence], n_rows: int
) -> tuple[list[FloatArray], list[FloatArray]]:
    """P(node | x) [rows, states], and P(node | parent, x) [rows, parent's states, states], of every node."""
    found = Messages(tree, parameters, evidence, n_rows=n_rows, fill_leaves=True)
    if np.isneginf(found.log_likelihood).any():
        raise DataError("The model cannot produce some of the rows: there is no information at zero.")
    for own in (*found.conditionals, *found.nodes):
        own[own < NEGLIGIBLE] = 0.0
    return found.nodes, found.conditionals


def _add_pairs(
    out: FloatArray,
    tree: Tree,
    v: int,
    weights: FloatArray,
    above: FloatArray,
    here: FloatArray,
    edges: list[FloatArray],
) -> None:
    """Add E(a, b | x) for pairs that meet in v: a in its own table and b below, or a and b in different branches."""
    own = np.arange(tree.offsets[v], tree.offsets[v + 1]).reshape(tree.rows[v], -1)
    for state in range(int(tree.cardinality[v])):
        at, branch, given = _given_state(tree, v, state, edges)
        down = (weights * above * edges[v][:, :, state]).T @ given
        out[np.ix_(own[:, state], at)] += down
        out[np.ix_(at, own[:, state])] += down.T
        across = given.T @ (weights * here[:, state, None] * given)
        across[branch[:, None] == branch] = 0.0
        out[np.ix_(at, at)] += across


def _given_state(
    tree: Tree, v: int, state: int, edges: list[FloatArray]
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """E(a | v = state, x) of the entries below v that it allows: where they are, in which branch, and the values."""
    at, branch, values = [], [], []
    for c in tree.children[v]:
        first = edges[c][:, state, :]
        k = first.shape[1]
        at.append(tree.offsets[c] + state * k + np.arange(k))
        branch.append(np.full(k, c))
        values.append(first)
        deeper = [(c, first)]
        for u, p in deeper:
            for d in tree.children[u]:
                joint = p[:, :, None] * edges[d]
                at.append(np.arange(tree.offsets[d], tree.offsets[d + 1]))
                branch.append(np.full(len(at[-1]), c))
                values.append(joint.reshape(len(joint), -1))
                deeper.append((d, joint.sum(axis=1)))
    return np.concatenate(at), np.concatenate(branch), np.hstack(values)
