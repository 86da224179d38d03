"""The engine's slow, obvious twin: log-likelihood and expected counts by passing messages in plain NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latentree._model import Counts
from latentree._tree import Tree
from latentree._types import FloatArray
from latentree.engine._messages import Messages
from latentree.engine._plan import Evidence


def evaluate(tree: Tree, parameters: FloatArray, evidence: Sequence[Evidence], weights: FloatArray) -> Counts:
    """Log-likelihood and expected counts."""
    return Messages(tree, parameters, evidence, n_rows=len(weights)).evaluated(weights)


def row_messages(
    tree: Tree, parameters: FloatArray, evidence: Sequence[Evidence], row: int
) -> tuple[float, FloatArray]:
    """log P(row) and the expected counts of one row."""
    own = [Evidence(e.node, e.ids[row : row + 1], e.likelihood, e.log_scale, e.log_likelihood) for e in evidence]
    found = Messages(tree, parameters, own, n_rows=1)
    return float(found.log_likelihood[0]), found.counts(np.ones(1))
