"""Sizes of a latent variable's states."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._model import Model
from ...estimation import Fit
from ...naming import node_labels
from ...score import StandardErrors
from ._axes import axes, latent_node, lengths, plain

__all__ = ["plot_sizes"]


def plot_sizes(
    thing: Model | Fit, ax: Any = None, *, node: str | int | None = None, errors: StandardErrors | None = None
) -> Any:
    """Draw the sizes of a latent variable's states as bars.

    Parameters
    ----------
    thing : Model or Fit
        The model.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    node : str or int, optional
        The latent variable. Default: the first.
    errors : StandardErrors, optional
        From :func:`latentree.score.standard_errors`; draws intervals if the latent variable is the root.

    Returns
    -------
    Axes
    """
    model = thing.model if isinstance(thing, Fit) else thing
    z = latent_node(model, node)
    sizes = model.marginals()[z]
    ax = axes(ax)
    known = errors is not None and z == 0
    ends = (errors.table(0, "lower")[0], errors.table(0, "upper")[0]) if known and errors is not None else None
    at = np.arange(len(sizes))
    ax.bar(at, sizes, color=[f"C{i % 10}" for i in at], yerr=None if ends is None else lengths(sizes, ends), capsize=3)
    for i, p in enumerate(sizes):
        ax.annotate(
            f"{100 * p:.1f} %", (i, p), xytext=(3, 2), textcoords="offset points", va="bottom", fontsize="small"
        )
    ax.set_xticks(at, [plain(t) for t in node_labels(model, z)])
    top = float(np.max(sizes if ends is None else np.fmax(sizes, ends[1])))
    ax.set_ylim(0, 1.12 * top)
    ax.set_ylabel(f"size of {plain(model.tree.names[z])}'s states")
    return ax
