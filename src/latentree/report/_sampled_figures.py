"""Pictures of draws from a posterior. Every function takes Axes, or makes them, and returns them.

They need Matplotlib: ``pip install 'latentree[plot]'``.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .._files import write_atomically
from ..bayes import ClassDraws, Draws, relabel, summarise
from ..naming import class_label, state_labels
from .figures._axes import axes, plain, pyplot

__all__ = ["plot_n_classes", "plot_profile_intervals", "plot_trace", "save_plots"]

MOST_CELLS = 60
"""States for which profiles are drawn."""


def plot_n_classes(draws: Draws, ax: Any = None) -> Any:
    """Draw the posterior of the number of classes, beside the prior.

    Parameters
    ----------
    draws : Draws
        From :func:`latentree.bayes.sample`.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes
    """
    ax = axes(ax)
    k = np.arange(1, draws.prior.max_classes + 1)
    ax.bar(k, draws.k_posterior, width=0.7, label="posterior")
    if draws.method != "gibbs":
        ax.plot(k, np.exp(draws.prior.log_k), "k_", markersize=14, label="prior")
        ax.legend()
    ax.set_xticks(k)
    ax.set_xlabel("number of classes")
    ax.set_ylabel("probability")
    return ax


def plot_trace(draws: Draws, ax: Any = None, *, what: str = "n_classes") -> Any:
    """Draw the number of classes, or the log-likelihood, draw by draw, one line a chain.

    Parameters
    ----------
    draws : Draws
        From :func:`latentree.bayes.sample`.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    what : {"n_classes", "log_likelihood"}
        What to follow.

    Returns
    -------
    Axes
    """
    ax = axes(ax)
    values = draws.k if what == "n_classes" else draws.log_likelihood
    for chain in values:
        ax.plot(chain, linewidth=0.6, alpha=0.8)
    ax.set_xlabel("draw")
    ax.set_ylabel(what.replace("_", " "))
    return ax


def plot_profile_intervals(draws: ClassDraws, ax: Any = None, *, level: float = 0.95) -> Any:
    """Draw P(state | class) with intervals: a row for each state, a colour for each class.

    Parameters
    ----------
    draws : ClassDraws
        Relabelled draws; see :func:`latentree.bayes.relabel`.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    level : float, default 0.95
        What the intervals hold.

    Returns
    -------
    Axes
    """
    ax = axes(ax)
    summary = summarise(draws, level=level)
    # Of two states one says it all.
    kept = [
        (int(draws.offsets[i]) + s, f"{v.name} = {label}")
        for i, v in enumerate(draws.table.variables)
        for s, label in enumerate(state_labels(v))
        if v.cardinality != 2 or s == 1
    ][:MOST_CELLS]
    cells = [c for c, _ in kept]
    rows = np.arange(len(kept))
    for j in range(summary.k):
        at = rows + 0.6 * ((j + 0.5) / summary.k - 0.5)
        means = summary.theta[j, cells]
        ends = summary.theta_interval[:, j, cells]
        beside = np.maximum(np.stack([means - ends[0], ends[1] - means]), 0.0)
        size = f"{class_label(j)} ({100 * summary.weights[j]:.0f} %)"
        ax.errorbar(means, at, xerr=beside, fmt="o", markersize=3, linewidth=1, label=size)
    ax.set_yticks(rows, [plain(name) for _, name in kept])
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel("P(state | class)")
    ax.legend(fontsize="small")
    return ax


def save_plots(draws: Draws, folder: str | os.PathLike[str], *, k: int | None = None) -> list[str]:
    """Write all pictures to a folder as PNG files; return their names."""
    made: dict[str, Callable[[], Any]] = {
        "n_classes": lambda: plot_n_classes(draws),
        "trace_n_classes": lambda: plot_trace(draws),
        "trace_log_likelihood": lambda: plot_trace(draws, what="log_likelihood"),
        "profiles": lambda: plot_profile_intervals(relabel(draws.given(k))),
    }
    Path(folder).mkdir(parents=True, exist_ok=True)
    names = []
    for name, draw in made.items():
        figure = draw().figure
        data = io.BytesIO()
        figure.savefig(data, format="png", dpi=120, metadata={"Software": "latentree sample"})
        pyplot().close(figure)
        write_atomically(Path(folder) / f"{name}.png", data.getvalue())
        names.append(f"{name}.png")
    return names
