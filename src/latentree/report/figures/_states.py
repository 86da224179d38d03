"""Sizes and profiles of a latent variable's states, and how surely rows belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._information import InformationCurves
from ..._model import Model
from ..._table import as_table
from ..._types import FloatArray
from ...engine._plan import Plan
from ...estimation import Fit
from ...naming import latent_title, node_labels
from ...score import StandardErrors
from ._axes import axes, found_in, latent_node, lengths, plain

__all__ = ["plot_profiles", "plot_sizes", "plot_uncertainty"]


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
    thing = found_in(thing)
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
    ax.set_ylabel(f"size of {plain(latent_title(model, z))}'s states")
    return ax


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
    thing = found_in(thing)
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
    ax.set_xlabel(f"P(category | {plain(latent_title(model, z))})")
    ax.grid(axis="x", alpha=0.3)
    ax.legend(title=plain(latent_title(model, z)), loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return ax


def _profiles(model: Model, z: int, variables: Sequence[str] | None, most: int) -> dict[int, FloatArray]:
    curve = InformationCurves(model, most if variables is None else model.tree.n_variables).of(z)
    known = dict(zip(curve.leaves, curve.profiles, strict=True))
    return known if variables is None else {v: known[v] for v in map(model.tree.node, variables)}


def _interval(
    errors: StandardErrors | None, model: Model, z: int, v: int, i: int
) -> tuple[FloatArray, FloatArray] | None:
    """Ends of the intervals of one row, if the variable is a child of the latent."""
    if errors is None or v == 0 or int(model.tree.parent[v]) != z:
        return None
    return errors.table(v, "lower")[i], errors.table(v, "upper")[i]


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
    fit = found_in(fit)
    model = fit.model
    z = latent_node(model, node)
    table = as_table(fit.table)
    (p,) = Plan.of(model, table).posteriors(model.parameters, [z])
    known = ~np.isnan(p).any(axis=1)
    p, weights = p[known], table.weights[known]
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
    ax.set_xlabel(f"probability of the row's most probable state of {plain(latent_title(model, z))}")
    ax.set_ylabel("rows")
    ax.legend(frameon=False)
    return ax
