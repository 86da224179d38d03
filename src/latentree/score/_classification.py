"""Scores that reward states that the data tell apart ([Whiley1999] 4.7).

The classification likelihood is that of the completed data. Its expectation is the log-likelihood less the entropy of
all hidden values given the data ([Whiley1999] 4.11), which for any tree is the sum of expected counts times ln theta.
"""

from __future__ import annotations

import numpy as np

from .._model import Model
from .._table import Table
from .._types import FloatArray
from ..engine._messages import Messages
from ..engine._plan import Plan, evidence_of
from ..errors import ModelError
from ..estimation._fit import Fit
from ._criteria import log_n
from ._dirichlet import log_evidence, log_product
from ._layout import layout_of


def classification_likelihood(fit: Fit) -> float:
    """Expected log-likelihood of the completed data: LL less the entropy of the hidden values ([Whiley1999] 4.11)."""
    _needs_latent(fit, "The classification likelihood")
    layout = layout_of(fit)
    return log_product(layout.counts(fit.counts.vector), layout.parameters(fit.model))


def icl_bic(fit: Fit) -> float:
    """BIC less the entropy of the hidden values (McLachlan & Peel 2000)."""
    return classification_likelihood(fit) - 0.5 * fit.n_parameters * log_n(fit, "ICL-BIC")


def awe(fit: Fit) -> float:
    """Approximate weight of evidence: classification likelihood - d (3/2 + ln N) (Banfield & Raftery 1993)."""
    return classification_likelihood(fit) - fit.n_parameters * (1.5 + log_n(fit, "AWE"))


def icl(fit: Fit) -> float:
    """Integrated classification likelihood ([Whiley1999] 4.15, d counting the components' parameters only).

    Every row is assigned to its most probable joint state of the latents. The latents' tables are integrated out with
    Jeffreys' prior, Dirichlet(1/2); those of the manifest variables get the BIC approximation.

    Examples
    --------
    >>> from latentree import Table, fit_classes
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], weights=[30, 40, 5, 4])
    >>> fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    >>> round(icl(fit), 2)
    -97.52
    """
    _needs_latent(fit, "ICL")
    layout = layout_of(fit)
    model = fit.model
    assigned = fit.table.map_parts(lambda rows: assigned_counts(model, rows))
    counts = layout.counts(np.sum(assigned, axis=0))
    hidden = np.repeat(layout.hidden, layout.widths)
    totals = layout.spread(layout.sums(counts))
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    fitted = log_product(counts[~hidden], shares[~hidden])
    # rows without counts have evidence 1, so that the manifest rows are left out by setting theirs to 0
    integrated = log_evidence(layout, np.where(hidden, counts, 0.0), np.full(len(counts), 0.5))
    return fitted - 0.5 * layout.n_free_manifest * log_n(fit, "ICL") + integrated


def assigned_counts(model: Model, table: Table) -> FloatArray:
    """Counts of the data completed by the most probable joint state of each row ([Whiley1999] 4.12).

    A leaf whose cell is missing is not part of the completed data: it says nothing about the row, and must not decide.
    """
    if model.tree.is_star:
        return _assigned_to_classes(model, table)
    return Messages(model.tree, model.parameters, evidence_of(model, table), "max").counts(table.weights)


def _assigned_to_classes(model: Model, table: Table) -> FloatArray:
    """The same of a latent class model, where the class alone is to be found: each row's most probable one."""
    plan, tree = Plan.of(model, table), model.tree
    (p,) = plan.posteriors(model.parameters, [0])
    classes = np.nan_to_num(p).argmax(axis=1)  # a row that the model cannot produce is of the first
    parts = [np.bincount(classes, table.weights, int(tree.cardinality[0])).astype(np.float64)]
    for evidence in sorted(plan.evidence, key=lambda own: own.node):
        seen, k = evidence.ids >= 0, int(tree.cardinality[evidence.node])
        cells = classes[seen] * k + evidence.ids[seen]
        parts.append(np.bincount(cells, table.weights[seen], k * len(parts[0])).astype(np.float64))
    return np.concatenate(parts)


def _needs_latent(fit: Fit, score: str) -> None:
    tree = fit.model.tree
    if not len(tree.latent):
        raise ModelError(f"{score} is about latent variables, of which this model has none.")
