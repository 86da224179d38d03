"""Probabilities of the rows' states."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine._plan import Plan
from ...estimation import Fit
from ...naming import node_labels
from ._axes import axes, latent_node, plain

__all__ = ["plot_uncertainty"]


def plot_uncertainty(fit: Fit, ax: Any = None, *, node: str | int | None = None, bins: int = 20) -> Any:
    """Draw how probable the most probable state is, row by row, as a histogram for each state.

    Parameters
    ----------
    fit : Fit
        A fitted model with its data.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    node : str or int, optional
        The latent variable. Default: the first.
    bins : int, default 20
        Bins between the least a most probable state can have and 1.

    Returns
    -------
    Axes
        Rows count by their weights. Near 1, states are certain.
    """
    model = fit.model
    z = latent_node(model, node)
    (p,) = Plan.of(model, fit.table).posteriors(model.parameters, [z])
    known = ~np.isnan(p).any(axis=1)
    p, weights = p[known], fit.table.weights[known]
    best, highest = p.argmax(axis=1), p.max(axis=1)
    labels = node_labels(model, z)
    ax = axes(ax)
    ax.hist(
        [highest[best == i] for i in range(len(labels))],
        bins=np.linspace(1 / len(labels) if len(labels) > 1 else 0.0, 1.0, bins + 1).tolist(),
        weights=[weights[best == i] for i in range(len(labels))],
        stacked=True,
        label=[plain(t) for t in labels],
    )
    ax.set_xlabel(f"probability of the row's most probable state of {plain(model.tree.names[z])}")
    ax.set_ylabel("rows")
    ax.legend(frameon=False)
    return ax
