"""Mean and covariance of the hidden counts, given the data: what Louis' identity needs (W 4.7, C.4).

A count is 1 in a row of data where parent and child are in a given pair of states. Given the row, the tree is still a
Markov tree: P(child | parent, row) going down, P(parent | child, row) going up; so the pair of any two edges is a
product of small matrices along the path between them. Exact, and linear in the number of distinct rows.
"""

from __future__ import annotations

import numpy as np

from .._model import Model
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..engine._plan import Evidence, evidence_of

__all__ = ["moments_of_counts"]

_CELLS = 4_000_000  # numbers held at once


def moments_of_counts(model: Model, table: Table) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the counts given the data: sums over the rows.

    Here every missing cell is completed, also those of leaves, which the engine's counts leave out. Derivatives along
    distributions do not depend on that, as long as mean and covariance agree.

    Parameters
    ----------
    model : Model
        The model; its flat vector gives the order of the counts.
    table : Table
        The data.

    Returns
    -------
    mean : float array [size]
    covariance : float array [size, size]

    Examples
    --------
    >>> from latentree import Tree
    >>> table = Table.from_codes([[0], [1]], weights=[3, 1])
    >>> model = Model(Tree.star(2, [2]), table.variables, [0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    >>> mean, covariance = moments_of_counts(model, table)
    >>> mean.tolist()
    [2.0, 2.0, 1.5, 0.5, 1.5, 0.5]
    >>> covariance[:2, :2].tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    tree, evidence = model.tree, evidence_of(model, table)
    mean, covariance = np.zeros(tree.size), np.zeros((tree.size, tree.size))
    widest = int((tree.rows.astype(np.int64) * tree.cardinality).max() * tree.cardinality.max())
    at_once = max(1, _CELLS // (widest * tree.n_nodes))
    for first in range(0, table.n_patterns, at_once):
        rows = slice(first, first + at_once)
        given = _Rows(tree, model.parameters, [Evidence(e.node, e.ids[rows]) for e in evidence])
        mean += given.mean(table.weights[rows])
        covariance += given.covariance(table.weights[rows])
    return mean, covariance


class _Rows:
    """Some rows of data, and the tree given each of them.

    ``down[v][row, i, j]`` is P(v = j | parent = i, row) and ``up[v][row, j, i]`` P(parent = i | v = j, row).
    """

    def __init__(self, tree: Tree, parameters: FloatArray, evidence: list[Evidence]) -> None:
        self.tree = tree
        n = len(evidence[0].ids) if evidence else 1
        tables = [
            parameters[tree.offsets[v] : tree.offsets[v + 1]].reshape(tree.rows[v], -1) for v in range(tree.n_nodes)
        ]
        below = [np.ones((n, int(k))) for k in tree.cardinality]
        for e in evidence:
            seen = e.ids >= 0
            below[e.node][seen] = np.eye(int(tree.cardinality[e.node]))[e.ids[seen]]
        self.down: list[FloatArray] = [np.empty(0)] * tree.n_nodes
        for v in range(tree.n_nodes - 1, 0, -1):
            message = below[v] @ tables[v].T
            self.down[v] = _ratio(tables[v] * below[v][:, None, :], message[:, :, None])
            u = tree.parent[v]
            below[u] = _ratio(below[u] * message, (below[u] * message).max(axis=1, keepdims=True))
        root = tables[0] * below[0]
        self.down[0] = _ratio(root, root.sum(axis=1, keepdims=True))[:, None, :]
        marginal = [self.down[0][:, 0]]
        self.edges = [self.down[0]]  # P(parent, v | row)
        self.up: list[FloatArray] = [np.empty(0)]
        for v in range(1, tree.n_nodes):
            self.edges.append(marginal[tree.parent[v]][:, :, None] * self.down[v])
            marginal.append(self.edges[v].sum(axis=1))
            self.up.append(_ratio(self.edges[v].swapaxes(1, 2), marginal[v][:, :, None]))

    def mean(self, weights: FloatArray) -> FloatArray:
        return np.concatenate([weights @ e.reshape(len(weights), -1) for e in self.edges])

    def covariance(self, weights: FloatArray) -> FloatArray:
        tree = self.tree
        own = [slice(*tree.offsets[v : v + 2]) for v in range(tree.n_nodes)]
        flat = [e.reshape(len(weights), -1) for e in self.edges]
        mean = np.hstack(flat)
        out = np.zeros((tree.size, tree.size))
        for v in range(tree.n_nodes):
            out[own[v], own[v]] = np.diag(weights @ flat[v])  # one of them is 1, the others 0
            with_node = self._with_nodes(v, weights)
            for w in range(v + 1, tree.n_nodes):
                # P(edge of v, parent of w, w): w hangs on the rest through its parent
                joint = np.matmul(with_node[int(tree.parent[w])].transpose(2, 1, 0), self.down[w].transpose(1, 0, 2))
                out[own[v], own[w]] = joint.transpose(1, 0, 2).reshape(flat[v].shape[1], -1)
                out[own[w], own[v]] = out[own[v], own[w]].T
        covariance: FloatArray = out - mean.T @ (weights[:, None] * mean)
        return covariance

    def _with_nodes(self, v: int, weights: FloatArray) -> dict[int, FloatArray]:
        """Weighted P(edge of v, u | row) for every inner node u, [row, edge, state of u]."""
        tree = self.tree
        edge = weights[:, None, None] * self.edges[v]
        n, rows, k = edge.shape
        found = {v: (edge[:, :, :, None] * np.eye(k)).reshape(n, rows * k, k)}
        if v:
            found[int(tree.parent[v])] = (edge[:, :, :, None] * np.eye(rows)[:, None, :]).reshape(n, rows * k, rows)
        todo = list(found)
        for u in todo:
            if u and int(tree.parent[u]) not in found:
                found[int(tree.parent[u])] = found[u] @ self.up[u]
                todo.append(int(tree.parent[u]))
            for c in tree.children[u]:
                if c not in found and tree.children[c]:
                    found[c] = found[u] @ self.down[c]
                    todo.append(c)
        return found


def _ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    out: FloatArray = np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > 0)
    return out
