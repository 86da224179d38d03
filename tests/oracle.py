"""The truth by enumeration: every joint state of every node, for trees small enough.

Nothing here shares a line or an idea with the engine: the joint distribution is one array with an axis a node, what is
known of a row multiplies it, and everything asked is a sum over it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latentree._model import Counts, Model
from latentree._table import Table
from latentree._tree import Tree
from latentree.engine._plan import Evidence


def joint(tree: Tree, parameters: np.ndarray) -> np.ndarray:
    """P(all nodes), an axis for each."""
    out = np.ones(tree.cardinality)
    for v in range(tree.n_nodes):
        table = parameters[tree.offsets[v] : tree.offsets[v + 1]].reshape(tree.rows[v], tree.cardinality[v])
        shape = [1] * tree.n_nodes
        shape[v] = tree.cardinality[v]
        if v:
            shape[tree.parent[v]] = tree.cardinality[tree.parent[v]]  # parents come first: axes are in order
        out = out * table.reshape(shape)
    return out


def row_joint(tree: Tree, parameters: np.ndarray, evidence: Sequence[Evidence], row: int) -> tuple[np.ndarray, float]:
    """P(all nodes, what is known of the row), and the logarithm of what it was divided by."""
    out, log_scale = joint(tree, parameters), 0.0
    for e in evidence:
        i = int(e.ids[row])
        factor = np.ones(tree.cardinality[e.node])
        if e.likelihood is not None:
            factor = e.likelihood[i]
            log_scale += 0.0 if e.log_scale is None else float(e.log_scale[i])
        elif i >= 0:
            factor = (np.arange(tree.cardinality[e.node]) == i).astype(float)
        out = out * factor.reshape([-1 if u == e.node else 1 for u in range(tree.n_nodes)])
    return out, log_scale


def log_likelihood(tree: Tree, parameters: np.ndarray, evidence: Sequence[Evidence], n_rows: int) -> np.ndarray:
    """log P(row)."""
    out = []
    for row in range(n_rows):
        p, log_scale = row_joint(tree, parameters, evidence, row)
        with np.errstate(divide="ignore"):
            out.append(np.log(p.sum()) + log_scale)
    return np.array(out)


def marginal(tree: Tree, p: np.ndarray, nodes: Sequence[int]) -> np.ndarray:
    """Sum over all other axes and scale to one; axes in the order of ``nodes``; nan when nothing is left."""
    part = p.sum(axis=tuple(v for v in range(tree.n_nodes) if v not in nodes))
    part = part.transpose([sorted(nodes).index(v) for v in nodes])
    total = part.sum()
    return part / total if total > 0 else np.full(part.shape, np.nan)


def posterior(
    tree: Tree, parameters: np.ndarray, evidence: Sequence[Evidence], n_rows: int, nodes: Sequence[int]
) -> np.ndarray:
    """P(nodes | row), [rows, states of the first, ...]."""
    return np.array([marginal(tree, row_joint(tree, parameters, evidence, row)[0], nodes) for row in range(n_rows)])


def absent(tree: Tree, evidence: Sequence[Evidence], row: int) -> set[int]:
    """Leaves that the completed data of a row do not hold: cell missing, and nothing else known of them."""
    missing = {e.node for e in evidence if e.likelihood is None and e.ids[row] < 0}
    spoken = {e.node for e in evidence if e.likelihood is not None or e.ids[row] >= 0}
    return {v for v in missing - spoken if v > 0 and not tree.children[v]}


def evaluate(tree: Tree, parameters: np.ndarray, evidence: Sequence[Evidence], weights: np.ndarray) -> Counts:
    """Log-likelihood and expected counts of the completed data."""
    counts, total = np.zeros(tree.size), 0.0
    for row, weight in enumerate(weights):
        p, log_scale = row_joint(tree, parameters, evidence, row)
        with np.errstate(divide="ignore"):
            total += weight * (np.log(p.sum()) + log_scale)
        if p.sum() == 0:
            continue
        for v in set(range(tree.n_nodes)) - absent(tree, evidence, row):
            nodes = [v] if v == 0 else [int(tree.parent[v]), v]
            counts[tree.offsets[v] : tree.offsets[v + 1]] += weight * marginal(tree, p, nodes).ravel()
    return Counts(counts, float(total), float(np.sum(weights)))


def table_evidence(model: Model, table: Table) -> list[Evidence]:
    """The table's columns, which must be the model's variables, as evidence."""
    return [Evidence(int(node), table.codes[:, i].astype(np.int32)) for i, node in enumerate(model.tree.manifest)]


def by_row(per_pattern: np.ndarray, table: Table) -> np.ndarray:
    """Expand from patterns to input rows, nan where a row has no pattern."""
    return np.array([per_pattern[i] if i >= 0 else np.full(per_pattern.shape[1:], np.nan) for i in table.inverse])


def pattern_probabilities(model: Model) -> np.ndarray:
    """P(manifest variables), an axis for each in their order."""
    p = joint(model.tree, model.parameters)
    part = p.sum(axis=tuple(int(v) for v in model.tree.latent))
    kept = sorted(int(v) for v in model.tree.manifest)
    return part.transpose([kept.index(int(v)) for v in model.tree.manifest])
