"""Scores that ask how well the latents are told apart (W 4.7).

The classification likelihood is that of the completed data. Its expectation is the log-likelihood less the entropy of
all hidden values given the data (W 4.11), which for any tree is the sum of expected counts times ln theta.
"""

from __future__ import annotations

import numpy as np

from .._model import Model
from .._table import Table
from .._types import FloatArray
from ..engine._plan import Evidence, evidence_of
from ..errors import ModelError
from ..estimation._fit import Fit
from ._criteria import log_n
from ._dirichlet import log_evidence, log_product
from ._layout import layout_of

__all__ = ["awe", "classification_likelihood", "icl", "icl_bic"]


def classification_likelihood(fit: Fit) -> float:
    """Expected log-likelihood of the completed data: LL less the entropy of the hidden values (W 4.11)."""
    _needs_latent(fit, "The classification likelihood")
    layout = layout_of(fit)
    return log_product(layout.counts(fit.counts.vector), layout.parameters(fit))


def icl_bic(fit: Fit) -> float:
    """BIC less the entropy of the hidden values (McLachlan & Peel 2000)."""
    return classification_likelihood(fit) - 0.5 * fit.n_parameters * log_n(fit, "ICL-BIC")


def awe(fit: Fit) -> float:
    """Approximate weight of evidence: classification likelihood - d (3/2 + ln N) (Banfield & Raftery 1993)."""
    return classification_likelihood(fit) - fit.n_parameters * (1.5 + log_n(fit, "AWE"))


def icl(fit: Fit) -> float:
    """Integrated classification likelihood (W 4.15, d counting the components' parameters only).

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
    return fitted - 0.5 * layout.n_free_shown * log_n(fit, "ICL") + integrated


def assigned_counts(model: Model, table: Table) -> FloatArray:
    """Counts of the data completed by the most probable joint state of each row (W 4.12), by max-product."""
    tree, evidence = model.tree, evidence_of(model, table)
    n, rows = table.n_patterns, np.arange(table.n_patterns)
    with np.errstate(divide="ignore"):
        logs = [np.log(model.table(v)) for v in range(tree.n_nodes)]
    best = [np.zeros((n, int(k))) for k in tree.cardinality]
    for e in evidence:
        best[e.node] += _log_seen(e, int(tree.cardinality[e.node]))
    choice: list[np.ndarray[tuple[int, ...], np.dtype[np.intp]]] = [np.empty(0, np.intp)] * tree.n_nodes
    for v in range(tree.n_nodes - 1, 0, -1):
        through = logs[v][None] + best[v][:, None, :]
        choice[v] = through.argmax(axis=2)
        best[tree.parent[v]] += through.max(axis=2)
    state = [(logs[0] + best[0]).argmax(axis=1)]
    counts = np.zeros(tree.size)
    counts[: tree.cardinality[0]] = np.bincount(state[0], table.weights, int(tree.cardinality[0]))
    missing = {e.node: e.ids < 0 for e in evidence}
    for v in range(1, tree.n_nodes):
        above = state[tree.parent[v]]
        state.append(choice[v][rows, above])
        kept = np.ones(n, bool) if tree.children[v] or v not in missing else ~missing[v]  # as in the engine's counts
        cell = above * int(tree.cardinality[v]) + state[v]
        own = slice(*tree.offsets[v : v + 2])
        counts[own] = np.bincount(cell[kept], table.weights[kept], own.stop - own.start)
    return counts


def _log_seen(e: Evidence, k: int) -> FloatArray:
    seen: FloatArray = np.where((e.ids[:, None] < 0) | (e.ids[:, None] == np.arange(k)), 0.0, -np.inf)
    return seen


def _needs_latent(fit: Fit, score: str) -> None:
    tree = fit.model.tree
    if not len(tree.latent):
        raise ModelError(f"{score} is about latent variables, of which this model has none.")
