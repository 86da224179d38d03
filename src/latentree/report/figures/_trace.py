"""How a fit or a search went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..._scale import direction, shown_score
from ...estimation import Fit
from .._layout import shortened
from ._axes import axes, plain

__all__ = ["plot_trace"]

LONGEST_WORDS = 40
"""A step may do many things at once; a picture has room for the first."""


def plot_trace(
    thing: Fit | Sequence[Mapping[str, Any]], ax: Any = None, *, most_words: int = 12, score: str = "bic"
) -> Any:
    """Draw the objective of a fit by iteration, or the score of a search by step.

    Parameters
    ----------
    thing : Fit or sequence of dict
        A fit; or the steps of a search, each with ``operation`` and ``score``.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    most_words : int, default 12
        How many steps of a search are written beside their points: those that gained most.
    score : str, default "bic"
        What the steps of a search were scored by; shown as people see it, -2 LL + penalty.

    Returns
    -------
    Axes
    """
    ax = axes(ax)
    if isinstance(thing, Fit):
        ax.plot(np.arange(1, len(thing.trace) + 1), thing.trace, lw=1.5)
        ax.set_xlabel("iteration")
        ax.set_ylabel("objective")
        ax.grid(alpha=0.3)
        return ax
    points = [
        (i, shown_score(float(step["score"]), score), str(step["operation"]))
        for i, step in enumerate(thing)
        if step["score"] is not None
    ]
    ax.plot([i for i, _, _ in points], [y for _, y, _ in points], marker="o", ms=4, lw=1.5)
    gains = {i: abs(y - before) for (_, before, _), (i, y, _) in pairwise(points)}
    named = set(sorted(gains, key=lambda i: -gains[i])[:most_words])
    for i, y, text in points:
        if i in named:
            words = plain(shortened(text, LONGEST_WORDS))
            ax.annotate(words, (i, y), xytext=(5, -9), textcoords="offset points", fontsize="x-small")
    ax.set_xlabel("step")
    ax.set_ylabel(f"score ({direction(score)})")
    ax.grid(alpha=0.3)
    return ax
