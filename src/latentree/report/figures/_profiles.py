"""Profiles of a latent variable's states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._information import InformationCurves
from ..._model import Model
from ..._types import FloatArray
from ...estimation import Fit
from ...naming import node_labels
from ...score import StandardErrors
from ._axes import axes, latent_node, lengths, plain

__all__ = ["plot_profiles"]


def plot_profiles(
    thing: Model | Fit,
    ax: Any = None,
    *,
    node: str | int | None = None,
    variables: Sequence[str] | None = None,
    errors: StandardErrors | None = None,
    most: int = 12,
) -> Any:
    """Draw P(state | latent state) of all categories, on the probability scale.

    Parameters
    ----------
    thing : Model or Fit
        The model.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    node : str or int, optional
        The latent variable. Default: the first.
    variables : sequence of str, optional
        Which variables, in this order. Default: the most informative about it.
    errors : StandardErrors, optional
        From :func:`latentree.score.standard_errors`; draws intervals where it knows them.
    most : int, default 12
        How many variables if none are named.

    Returns
    -------
    Axes
        One row for each category, one marker for each state of the latent variable.
    """
    model = thing.model if isinstance(thing, Fit) else thing
    z = latent_node(model, node)
    found = _profiles(model, z, variables, most)
    n_rows = sum(table.shape[1] for table in found.values()) + len(found)
    ax = axes(ax, figsize=(6.4, max(2.5, 0.24 * n_rows + 1)))
    labels = [plain(label) for label in node_labels(model, z)]
    rows: list[tuple[float, str]] = []
    y = 0.0
    for v, table in found.items():
        ax.annotate(
            plain(model.tree.names[v]),
            (0, y),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontweight="bold",
            annotation_clip=False,
        )
        y += 1
        at = y + np.arange(table.shape[1])
        for i, row in enumerate(table):
            shift = 0.5 * (i / max(len(table) - 1, 1) - 0.5)
            ends = _interval(errors, model, z, v, i)
            ax.errorbar(
                row,
                at + shift,
                xerr=None if ends is None else lengths(row, ends),
                fmt="o",
                ms=4,
                lw=1,
                color=f"C{i % 10}",
                label=labels[i] if v == next(iter(found)) else None,
            )
        rows += [(float(p), plain(t)) for p, t in zip(at, node_labels(model, v), strict=True)]
        y += table.shape[1]
    ax.set_yticks([p for p, _ in rows], [t for _, t in rows])
    ax.set_ylim(y, -0.7)
    ax.set_xlim(-0.03, 1.03)
    ax.set_xlabel(f"P(category | {plain(model.tree.names[z])})")
    ax.grid(axis="x", alpha=0.3)
    ax.legend(title=plain(model.tree.names[z]), loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return ax


def _profiles(model: Model, z: int, variables: Sequence[str] | None, most: int) -> dict[int, FloatArray]:
    if variables is None:
        curve = InformationCurves(model, most).of(z)
        return dict(zip(curve.leaves, curve.profiles, strict=True))
    wanted = [model.tree.node(name) for name in variables]
    curve = InformationCurves(model, model.tree.n_variables).of(z)
    known = dict(zip(curve.leaves, curve.profiles, strict=True))
    return {v: known[v] for v in wanted}


def _interval(
    errors: StandardErrors | None, model: Model, z: int, v: int, i: int
) -> tuple[FloatArray, FloatArray] | None:
    """Ends of the intervals of one row, if the variable is a child of the latent."""
    if errors is None or v == 0 or int(model.tree.parent[v]) != z:
        return None
    return errors.table(v, "lower")[i], errors.table(v, "upper")[i]
