"""Whether a fit ended at an independence model: a stationary point of every likelihood, and rarely what one wants."""

from __future__ import annotations

import numpy as np

from ._classes import column_counts
from ._fit import Fit

SAME = 1e-3
"""Log-likelihoods that differ by less are the same."""

INDEPENDENT = (
    "The fit ended at an independence model, in which the variables have nothing to do with each other. Every "
    "likelihood has such a stationary point, whatever the data are: use other starts, or more of them."
)


def at_independence(fit: Fit) -> bool:
    """Whether the model explains the data no better than its own marginals do, though the tree could tie them together.

    Theorem 2.1 of [Whiley1999]: EM that starts at an independence model stays at one. Data whose columns, all but one,
    are constant have nothing to tie together.

    Examples
    --------
    >>> from latentree.estimation import em
    >>> from latentree import Model, Table, Tree
    >>> table = Table.from_codes([[0, 0], [1, 1], [0, 1]], weights=[30, 40, 5])
    >>> even = Model(Tree.star(2, [2, 2]), table.variables, np.full(10, 0.5))
    >>> at_independence(em(even, table, accelerate=False)), at_independence(em(even, table))
    (True, False)
    """
    tree = fit.model.tree
    if not np.isfinite(fit.log_likelihood) or not any(
        tree.cardinality[v] > 1 and len(tree.neighbours(v)) > 1 for v in range(tree.n_nodes)
    ):
        return False
    marginals = fit.model.marginals()
    counted = dict(zip(fit.table.names, column_counts(fit.table), strict=True))
    counts, shares, varying = [np.zeros(0)], [np.zeros(0)], 0
    for variable, node in zip(fit.model.variables, tree.manifest, strict=True):
        if variable.name not in counted:
            continue
        own = counted[variable.name][: variable.cardinality]  # states that either does not know were not seen
        counts.append(own)
        shares.append(marginals[int(node)][: len(own)])
        varying += int(np.count_nonzero(own) > 1)
    weights = np.concatenate(counts)
    seen = weights > 0
    with np.errstate(divide="ignore"):
        total = float(weights[seen] @ np.log(np.concatenate(shares)[seen]))
    return varying > 1 and abs(fit.log_likelihood - total) < SAME
