"""The engine's slow, obvious twin: one data row at a time, in plain NumPy.

Everything is done in the model's own rooting and in logarithms, so that it shares neither the schedule nor the
arithmetic of the kernels. The completed data hold every node except leaves of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from .._model import Counts
from .._tree import Tree
from .._types import FloatArray
from ._plan import Evidence

__all__ = ["evaluate", "row_messages"]


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
    with np.errstate(divide="ignore"):
        log_p = np.log(parameters)
    tables = [log_p[tree.offsets[v] : tree.offsets[v + 1]].reshape(tree.rows[v], -1) for v in range(n)]
    scale = 0.0
    local = [np.zeros(tree.cardinality[v]) for v in range(n)]
    absent = [False] * n
    spoken_of = [e.node for e in evidence]
    for e in evidence:
        i = int(e.ids[row])
        if e.likelihood is not None:
            with np.errstate(divide="ignore"):
                local[e.node] += np.log(e.likelihood[i]) if e.log_likelihood is None else e.log_likelihood[i]
            scale += 0.0 if e.log_scale is None else float(e.log_scale[i])
        elif i >= 0:
            local[e.node][np.arange(tree.cardinality[e.node]) != i] = -np.inf
        else:
            absent[e.node] = e.node > 0 and not tree.children[e.node] and spoken_of.count(e.node) == 1

    # up: below[v] = log P(evidence in the branch of v | v)
    below = [m.copy() for m in local]
    message: list[FloatArray] = [np.zeros(0)] * n
    for v in range(n - 1, 0, -1):
        message[v] = np.zeros(tree.rows[v]) if absent[v] else logsumexp(tables[v] + below[v], axis=1)
        below[tree.parent[v]] += message[v]
    total = logsumexp(tables[0][0] + below[0])
    counts = np.zeros(tree.size)
    if total == -np.inf:
        return -np.inf, counts

    # down: outside[v] = log P(v, evidence outside the branch of v)
    counts[: tree.cardinality[0]] = np.exp(tables[0][0] + below[0] - total)
    outside: list[FloatArray] = [tables[0][0]] + [np.zeros(0)] * (n - 1)
    for v in range(1, n):
        u = int(tree.parent[v])
        siblings = [message[c] for c in tree.children[u] if c != v]
        rest = outside[u] + local[u] + (np.sum(siblings, axis=0) if siblings else 0.0)
        if not absent[v]:
            pair = rest[:, None] + tables[v] + below[v] - total
            counts[tree.offsets[v] : tree.offsets[v + 1]] = np.exp(pair).ravel()
        outside[v] = logsumexp(rest[:, None] + tables[v], axis=0)
    return float(total + scale), counts
