"""How surely rows belong to states of a latent variable."""

from __future__ import annotations

import numpy as np

from .._information import weighted_entropy
from .._table import Table
from ..engine._plan import Plan
from ..estimation._fit import Fit


def entropy(fit: Fit, node: str | int = 0) -> float:
    """Sum over the rows of the entropy of P(node | row), in nats; 0 when all rows are certain."""
    model, v = fit.model, fit.model.tree.node(node)
    if model.tree.cardinality[v] == 1:
        return 0.0

    def of_rows(table: Table) -> float:
        p = Plan.of(model, table).posteriors(model.parameters, [v])[0]
        return weighted_entropy(table.weights, np.nan_to_num(p, copy=False))  # impossible rows do not count

    return fit.once(("entropy", v), lambda: sum(fit.table.map_parts(of_rows)) + 0.0)


def relative_entropy(fit: Fit, node: str | int = 0) -> float:
    """1 - entropy / (N ln k): 1 when all rows are certain, 0 when nothing is known; 1 for a single state.

    Also called entropy R-squared or just entropy in latent class software (Ramaswamy et al., Marketing Science 12
    (1993) 103-124).
    """
    k = int(fit.model.tree.cardinality[fit.model.tree.node(node)])
    if k == 1:
        return 1.0
    share = entropy(fit, node) / (fit.counts.weight * float(np.log(k)))
    return float(np.clip(1.0 - share, 0.0, 1.0))  # rounding may leave it a little outside
