"""Pictures of studies: what learners reach when, and several panels in one file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from typing import Any

import numpy as np

from ..._files import write_atomically
from ..._types import FloatArray
from ._axes import axes, plain, pyplot

__all__ = ["plot_growth", "plot_progress", "plot_race", "save_panels", "to_svg"]


def plot_race(curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], ax: Any = None, *, title: str = "") -> Any:
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
    ax = axes(ax)
    end = max((times[-1] for times, _ in curves.values() if len(times)), default=1.0)
    # What was reached after a third of the steps: the first ones are far below and would flatten all else.
    lowest = min((scores[len(scores) // 3] for _, scores in curves.values()), default=0.0)
    highest = max((scores[-1] for _, scores in curves.values()), default=1.0)
    for name, (times, scores) in curves.items():
        ax.step([*times, end], [*scores, scores[-1]], where="post", label=plain(name), linewidth=1.2)
    ax.set_xscale("log")
    room = max(highest - lowest, 1.0)
    ax.set_ylim(lowest - 0.05 * room, highest + 0.08 * room)
    ax.set_xlabel("seconds")
    ax.set_title(plain(title), fontsize="medium")
    ax.legend(fontsize="x-small", loc="lower right")
    return ax


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
    pyplot()  # which says how to get Matplotlib if it is not there
    from matplotlib.figure import Figure

    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.6 * columns, 2.9 * rows), layout="constrained")
    places = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, draw in zip(places, panels, strict=False):
        draw(ax)
    for ax in places[len(panels) :]:
        ax.set_axis_off()
    write_atomically(path, _svg(figure))


def _svg(figure: Any) -> str:
    """A figure as SVG text, the same for the same figure."""
    picture = StringIO()
    with pyplot().rc_context({"svg.hashsalt": "latentree", "svg.fonttype": "none"}):
        figure.savefig(picture, format="svg", metadata={"Date": None})
    return picture.getvalue()


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
    n_rows = -(-len(panels) // columns)
    sizes = np.abs(np.concatenate([np.ravel(curves) for curves in panels.values()]))
    most = max(0.05, float(np.quantile(sizes, 0.97)))  # the first steps may leave the picture
    figure, places = pyplot().subplots(
        n_rows, columns, figsize=(3.2 * columns, 2.1 * n_rows), sharex=True, sharey=True, squeeze=False
    )
    for ax in places.ravel()[len(panels) :]:
        ax.set_visible(False)
    for ax, (name, curves) in zip(places.ravel(), panels.items(), strict=False):
        at = np.arange(len(curves[0])) if x is None else x
        for curve in curves:
            ax.plot(at, curve, color="tab:blue", linewidth=0.5, alpha=0.5)
        ax.plot(at, np.mean(curves, axis=0), color="black", linewidth=1.6)
        ax.axhline(0.0, color="gray", linewidth=0.6)
        ax.set_title(plain(name), fontsize=9)
        ax.set_ylim(-most, most)
    for ax in places[-1]:
        ax.set_xlabel(label)
    for ax in places[:, 0]:
        ax.set_ylabel("ahead by")
    figure.tight_layout()
    return figure


def plot_growth(panels: Mapping[str, Sequence[tuple[float, float]]], *, label: str = "seconds") -> Any:
    """Draw costs against sizes on logarithmic scales, with the power that fits them, a panel each.

    Parameters
    ----------
    panels : mapping of str to sequence of (size, cost)
        What grows, and what it costs.
    label : str
        What the cost is.

    Returns
    -------
    Figure
    """
    figure, places = pyplot().subplots(1, len(panels), figsize=(4.0 * len(panels), 3.0), squeeze=False)
    for ax, (name, points) in zip(places[0], panels.items(), strict=True):
        sizes, costs = np.array(points, dtype=float).T
        power, factor = np.polyfit(np.log(sizes), np.log(costs), 1)
        ax.loglog(sizes, costs, "o", color="black")
        ax.loglog(sizes, np.exp(factor) * sizes**power, color="tab:blue", label=f"power {power:.2f}")
        ax.set_xlabel(plain(name))
        ax.set_ylabel(plain(label))
        ax.legend()
    figure.tight_layout()
    return figure


def to_svg(figure: Any) -> str:
    """Return a figure as SVG text, the same for the same figure, and close it."""
    text = _svg(figure)
    pyplot().close(figure)
    short = re.sub(r"(\d\.\d\d)\d+", r"\1", text)  # a hundredth of a point is fine enough
    return "\n".join(line.rstrip() for line in short.splitlines()) + "\n"
