"""The marginal likelihood itself, where nothing is hidden ([Karciauskas2005] 3.1, [Whiley1999] 4.1)."""

from __future__ import annotations

import numpy as np

from .._table import as_table
from ..engine._plan import evidence_of
from ..errors import ModelError
from ..estimation._fit import Fit, Prior
from ._dirichlet import log_evidence
from ._layout import layout_of


def marginal_likelihood(fit: Fit, *, prior: Prior = 1.0) -> float:
    """Exact log P(D | m) of complete data.

    Latents of a single state hide nothing, and neither do missing cells of leaves.

    Parameters
    ----------
    fit : Fit
        The model and the data; the parameters do not matter.
    prior : float or mapping
        Dirichlet parameter of every row, or by node.

    Examples
    --------
    >>> from latentree import Table, fit_classes
    >>> table = Table.from_codes([[0], [1]], weights=[3, 1])
    >>> fit = fit_classes(table, 1, rng=np.random.default_rng(0))
    >>> round(marginal_likelihood(fit), 6)  # ln(3! 1! / 5!)
    -2.995732
    """
    tree = fit.model.tree
    for z in map(int, tree.latent):
        if tree.cardinality[z] > 1:
            raise ModelError(
                f"'{tree.names[z]}' is latent: the exact marginal likelihood is known for complete data only. Use cs, "
                "laplace or variational."
            )
    for e in evidence_of(fit.model, as_table(fit.table)):
        if (tree.children[e.node] or e.node == 0) and tree.cardinality[e.node] > 1 and (e.ids < 0).any():
            raise ModelError(
                f"'{tree.names[e.node]}' has missing cells above other variables: the exact marginal likelihood is "
                "known for complete data only. Use cs, laplace or variational."
            )
    layout = layout_of(fit)
    return log_evidence(layout, layout.counts(np.asarray(fit.counts.vector)), layout.alphas(prior))
