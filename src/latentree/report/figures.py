"""Pictures of fits. Every function takes an Axes, or makes one, and returns it.

They need matplotlib: ``pip install latentree[plot]``.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import LatentreeError
from ..files import write_atomically
from ..score import BivariateResiduals

__all__ = ["plot_residuals", "plot_scores", "save_panels"]


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise LatentreeError("Pictures need matplotlib: pip install latentree[plot]") from None
    return plt.subplots()[1]


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


def _plain(name: str) -> str:
    return name.replace("$", r"\$")  # a dollar sign would begin a formula


def plot_scores(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], ax: Any = None, *, title: str = ""
) -> Any:
    """Draw scores against time, one curve for each learner.

    Parameters
    ----------
    curves : mapping of str to (seconds, scores)
        What each learner had reached when.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    title : str
        What stands above.

    Returns
    -------
    Axes
    """
    ax = _axes(ax)
    end = max((times[-1] for times, _ in curves.values() if len(times)), default=1.0)
    lowest = min((_late(scores) for _, scores in curves.values()), default=0.0)
    highest = max((scores[-1] for _, scores in curves.values()), default=1.0)
    for name, (times, scores) in curves.items():
        ax.step([*times, end], [*scores, scores[-1]], where="post", label=_plain(name), linewidth=1.2)
    ax.set_xscale("log")
    room = max(highest - lowest, 1.0)
    ax.set_ylim(lowest - 0.05 * room, highest + 0.08 * room)
    ax.set_xlabel("seconds")
    ax.set_title(_plain(title), fontsize="medium")
    ax.legend(fontsize="x-small", loc="lower right")
    return ax


def _late(scores: Sequence[float]) -> float:
    """What was reached after a third of the steps: the first ones are far below and would flatten all else."""
    return scores[len(scores) // 3]


def save_panels(path: str | os.PathLike[str], panels: Sequence[Callable[[Any], Any]], *, columns: int = 2) -> None:
    """Draw several pictures side by side into one SVG file; the same pictures give the same bytes.

    Parameters
    ----------
    path : str or path
        The file.
    panels : sequence of callables
        Each takes an Axes and draws on it.
    columns : int
        How many stand side by side.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise LatentreeError("Pictures need matplotlib: pip install latentree[plot]") from None
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.6 * columns, 2.9 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, draw in zip(axes, panels, strict=False):
        draw(ax)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    with mpl.rc_context({"svg.hashsalt": "latentree", "svg.fonttype": "none"}):
        picture = io.StringIO()
        figure.savefig(picture, format="svg", metadata={"Date": None})
    write_atomically(path, picture.getvalue())
