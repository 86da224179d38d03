"""The engine's slow, obvious twin: one data row at a time, in plain NumPy.

Everything is done in the model's own rooting with messages scaled to a sum of one, so that it shares neither the
schedule nor the arithmetic of the kernels. The completed data hold every node except leaves of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..model import Counts
from ..tree import Tree
from .plan import Evidence

__all__ = ["evaluate", "row_messages"]

FloatArray = NDArray[np.float64]


def evaluate(tree: Tree, parameters: FloatArray, evidence: Sequence[Evidence], weights: FloatArray) -> Counts:
    """Log-likelihood and expected counts."""
    counts = np.zeros(tree.size)
    log_likelihood = 0.0
    for row, weight in enumerate(weights):
        log_p, joint = row_messages(tree, parameters, evidence, row)
        if weight > 0:
            log_likelihood += weight * log_p
            counts += weight * joint
    return Counts(counts, float(log_likelihood), float(np.sum(weights)))


def row_messages(
    tree: Tree, parameters: FloatArray, evidence: Sequence[Evidence], row: int
) -> tuple[float, FloatArray]:
    """log P(row) and the expected counts of one row."""
    n = tree.n_nodes
    tables = [
        parameters[tree.offsets[v] : tree.offsets[v + 1]].reshape(tree.rows[v], tree.cardinality[v]) for v in range(n)
    ]
    log_p = 0.0
    local = [np.ones(tree.cardinality[v]) for v in range(n)]
    absent = [False] * n
    spoken_of = [e.node for e in evidence]
    for e in evidence:
        i = int(e.ids[row])
        if e.likelihood is not None:
            local[e.node] = local[e.node] * e.likelihood[i]
            log_p += 0.0 if e.log_scale is None else float(e.log_scale[i])
        elif i >= 0:
            local[e.node] = local[e.node] * (np.arange(tree.cardinality[e.node]) == i)
        else:
            absent[e.node] = e.node > 0 and not tree.children[e.node] and spoken_of.count(e.node) == 1

    # up: below[v] = P(evidence in the branch of v | v), scaled
    below = [m.copy() for m in local]
    message: list[FloatArray] = [np.ones(0)] * n
    for v in range(n - 1, 0, -1):
        message[v] = np.ones(tree.rows[v]) if absent[v] else tables[v] @ below[v]
        total = message[v].sum()
        if total == 0:
            return -np.inf, np.zeros(tree.size)
        message[v] = message[v] / total
        log_p += np.log(total)
        u = tree.parent[v]
        below[u] = below[u] * message[v]
        scale = below[u].sum()
        if scale == 0:
            return -np.inf, np.zeros(tree.size)
        below[u] = below[u] / scale
        log_p += np.log(scale)
    joint = tables[0][0] * below[0]
    if joint.sum() == 0:
        return -np.inf, np.zeros(tree.size)
    log_p += np.log(joint.sum())

    # down: outside[v] = P(v, evidence outside the branch of v), scaled
    counts = np.zeros(tree.size)
    counts[: tree.cardinality[0]] = joint / joint.sum()
    outside: list[FloatArray] = [tables[0][0]] + [np.ones(0)] * (n - 1)
    for v in range(1, n):
        u = int(tree.parent[v])
        rest = outside[u] * local[u]
        for sibling in tree.children[u]:
            if sibling != v:
                rest = rest * message[sibling]
                rest = rest / rest.sum()
        pair = rest[:, None] * tables[v] * (1.0 if absent[v] else below[v][None, :])
        if not absent[v]:
            counts[tree.offsets[v] : tree.offsets[v + 1]] = (pair / pair.sum()).ravel()
        outside[v] = (rest[:, None] * tables[v]).sum(axis=0)
        outside[v] = outside[v] / outside[v].sum()
    return float(log_p), counts
