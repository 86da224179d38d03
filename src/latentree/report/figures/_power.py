"""Power against sample size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._axes import axes

if TYPE_CHECKING:
    from ...planning import PowerStudy

__all__ = ["plot_power"]


def plot_power(study: PowerStudy, ax: Any = None) -> Any:
    """Draw how often classes and effects are found against the sample size, with Monte Carlo standard errors.

    Parameters
    ----------
    study : PowerStudy
        What :func:`latentree.power` returned.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes(ax)
    rows = study.rows()
    for name in dict.fromkeys(row["what"] for row in rows):
        own = [row for row in rows if row["what"] == name]
        ax.errorbar(
            [row["n"] for row in own],
            [row["power"] for row in own],
            yerr=[2 * row["error"] for row in own],
            marker="o",
            capsize=3,
            label=name,
        )
    ax.set_xlabel("sample size")
    ax.set_ylabel("share of data sets, +- 2 standard errors")
    ax.set_ylim(-0.03, 1.03)
    ax.set_title(study.title)
    ax.legend()
    return ax
