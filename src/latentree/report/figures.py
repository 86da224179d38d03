"""Pictures of fits. Every function takes an Axes, or makes one, and returns it.

They need matplotlib: ``pip install latentree[plot]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

import numpy as np

from ..errors import LatentreeError
from ..model import FloatArray
from ..score import BivariateResiduals

__all__ = ["plot_progress", "plot_residuals", "to_svg"]


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise LatentreeError("Pictures need matplotlib: pip install latentree[plot]") from None
    return plt


def _axes(ax: Any) -> Any:
    return _pyplot().subplots()[1] if ax is None else ax


def plot_residuals(residuals: BivariateResiduals, ax: Any = None, *, most: float = 10.0) -> Any:
    """Draw bivariate residuals as a heat map.

    Parameters
    ----------
    residuals : BivariateResiduals
        From :func:`latentree.score.bivariate_residuals`.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    most : float, default 10
        Where the colours end. Values well above about 4 tell of pairs that the classes do not explain.

    Returns
    -------
    Axes
    """
    ax = _axes(ax)
    values = np.ma.masked_invalid(residuals.residuals)
    image = ax.imshow(values, vmin=0.0, vmax=most, cmap="viridis")
    ax.set_xticks(range(len(residuals.names)), [_plain(n) for n in residuals.names], rotation=90)
    ax.set_yticks(range(len(residuals.names)), [_plain(n) for n in residuals.names])
    ax.set_title("Bivariate residuals")
    ax.figure.colorbar(image, ax=ax, label="X² / df", extend="max")
    return ax


def plot_progress(
    panels: Mapping[str, Sequence[FloatArray]],
    *,
    x: FloatArray | None = None,
    label: str = "iteration",
    columns: int = 3,
) -> Any:
    """Draw how far methods are ahead of a baseline: a panel each, a thin line for each run and their mean.

    Parameters
    ----------
    panels : mapping of str to sequence of float array
        For each method, the curves of its runs, all of the same length.
    x : float array, optional
        Where the values stand. Default: 0, 1, 2, ...
    label : str
        What is counted along the axis.
    columns : int
        Panels in a row.

    Returns
    -------
    Figure
    """
    plt = _pyplot()
    n_rows = -(-len(panels) // columns)
    sizes = np.abs(np.concatenate([np.ravel(curves) for curves in panels.values()]))
    most = max(0.05, float(np.quantile(sizes, 0.97)))  # the first steps may leave the picture
    figure, axes = plt.subplots(
        n_rows, columns, figsize=(3.2 * columns, 2.1 * n_rows), sharex=True, sharey=True, squeeze=False
    )
    for ax in axes.ravel()[len(panels) :]:
        ax.set_visible(False)
    for ax, (name, curves) in zip(axes.ravel(), panels.items(), strict=False):
        at = np.arange(len(curves[0])) if x is None else x
        for curve in curves:
            ax.plot(at, curve, color="tab:blue", linewidth=0.5, alpha=0.5)
        ax.plot(at, np.mean(curves, axis=0), color="black", linewidth=1.6)
        ax.axhline(0.0, color="gray", linewidth=0.6)
        ax.set_title(_plain(name), fontsize=9)
        ax.set_ylim(-most, most)
    for ax in axes[-1]:
        ax.set_xlabel(label)
    for ax in axes[:, 0]:
        ax.set_ylabel("ahead by")
    figure.tight_layout()
    return figure


def to_svg(figure: Any) -> str:
    """Return a figure as SVG text, the same for the same figure, and close it."""
    plt = _pyplot()
    buffer = StringIO()
    with plt.rc_context({"svg.hashsalt": "latentree", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(figure)
    short = re.sub(r"(\d\.\d\d)\d+", r"\1", buffer.getvalue())  # a hundredth of a point is fine enough
    return "\n".join(line.rstrip() for line in short.splitlines()) + "\n"


def _plain(name: str) -> str:
    return name.replace("$", r"\$")  # a dollar sign would begin a formula
