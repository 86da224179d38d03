"""How surely rows belong to states of a latent variable."""

from __future__ import annotations

import numpy as np

from ..engine.plan import Plan
from ..estimation.fit import Fit

__all__ = ["entropy", "relative_entropy"]


def entropy(fit: Fit, node: str | int = 0) -> float:
    """Sum over the rows of the entropy of P(node | row), in nats; 0 when all rows are certain."""
    v = fit.model.tree.node(node)
    p = Plan.of(fit.model, fit.table).posteriors(fit.model.parameters, [v])[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p), 0.0)
    return float(-(fit.table.weights @ terms.sum(axis=1))) + 0.0


def relative_entropy(fit: Fit, node: str | int = 0) -> float:
    """1 - entropy / (N ln k): 1 when all rows are certain, 0 when nothing is known; 1 for a single state.

    Also called entropy R-squared or just entropy in latent class software (Ramaswamy et al., Marketing Science 12
    (1993) 103-124).
    """
    k = int(fit.model.tree.cardinality[fit.model.tree.node(node)])
    if k == 1:
        return 1.0
    share = entropy(fit, node) / (float(fit.table.weights.sum()) * float(np.log(k)))
    return float(np.clip(1.0 - share, 0.0, 1.0))  # rounding may leave it a little outside
