"""Class probabilities as functions of covariates."""

from __future__ import annotations

from typing import Any

from ...errors import DataError
from ...relate import Relation
from ._axes import axes, plain, pyplot

__all__ = ["plot_curve", "plot_curves"]


def plot_curve(found: Relation, covariate: str, ax: Any = None) -> Any:
    """Draw the class probabilities as a function of a covariate, other covariates as they are in the rows.

    Parameters
    ----------
    found : Relation
        What :func:`latentree.relate.relate` found.
    covariate : str
        The covariate.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes
    """
    frame = found.curve(covariate)
    ax = axes(ax)
    for i, label in enumerate(found.classes):
        own = frame[frame["class"] == label]
        at = list(own[covariate])
        if isinstance(at[0], str | bool):
            ends = [own["probability"] - own["lower"], own["upper"] - own["probability"]]
            ax.errorbar(range(len(at)), own["probability"], yerr=ends, fmt="o", capsize=3, label=plain(label))
            ax.set_xticks(range(len(at)), [plain(str(value)) for value in at])
        else:
            ax.plot(at, own["probability"], color=f"C{i % 10}", label=plain(label))
            ax.fill_between(at, own["lower"], own["upper"], color=f"C{i % 10}", alpha=0.2, linewidth=0)
    ax.set_xlabel(plain(covariate))
    ax.set_ylabel("P(class)")
    ax.set_ylim(0, 1)
    ax.legend()
    return ax


def plot_curves(found: Relation) -> Any:
    """Draw the class probabilities along each covariate, a panel for each.

    Parameters
    ----------
    found : Relation
        What :func:`latentree.relate.relate` found.

    Returns
    -------
    Figure
    """
    names = list(found.task.design.levels)
    if not names:
        raise DataError("The classes were not related to covariates.")
    size = (4.0 * len(names) + 0.8, 3.6)
    figure, panels = pyplot().subplots(1, len(names), layout="constrained", sharey=True, squeeze=False, figsize=size)
    for ax, name in zip(panels[0], names, strict=True):
        plot_curve(found, name, ax)
        if ax is not panels[0, 0]:
            ax.get_legend().remove()
            ax.set_ylabel("")
    return figure
