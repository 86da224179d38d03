"""How good fits are: scores, residuals, and how a fit or a search went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..._scale import best_shown, direction, shown_score
from ...comparison import Comparison
from ...errors import bad_parameter
from ...estimation import Fit
from ...score import BivariateResiduals
from .._layout import shortened
from ._axes import axes, found_in, plain

__all__ = ["plot_residuals", "plot_scores", "plot_trace"]

LONGEST_WORDS = 40
"""A step may do many things at once; a picture has room for the first."""


def plot_scores(
    compared: Comparison | Sequence[Mapping[str, Any]],
    ax: Any = None,
    *,
    against: str | None = None,
    score: str = "bic",
) -> Any:
    """Draw scores as people see them, -2 LL + penalty: lower is better.

    Parameters
    ----------
    compared : Comparison or sequence of dict
        From :func:`latentree.compare` or :func:`latentree.report.compare_classes`; or the steps of a search, each with
        a ``score``.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    against : str, optional
        What is drawn to the right: ``"n_classes"``, ``"seconds"``, ``"n_parameters"``, ``"step"``, ... Default: the
        number of classes of a comparison, the seconds of a search.
    score : str, default "bic"
        What the steps of a search were scored by.

    Returns
    -------
    Axes
        The best of each score is marked.
    """
    if isinstance(compared, Comparison):
        rows: Sequence[Mapping[str, Any]] = compared.table
        names: Mapping[str, str] = {name: name for name in compared.scores}
        against = against or "n_classes"
    else:
        rows, names, against = list(compared), {score: "score"}, against or "seconds"
    if against != "step" and not all(row.get(against) is not None for row in rows):
        raise bad_parameter(
            "against", "plot_scores", f"among {', '.join(map(repr, rows[0]))}" if rows else "known", against
        )
    ax = axes(ax)
    for name, key in names.items():
        points = [
            (i if against == "step" else row[against], shown_score(row[key], name))
            for i, row in enumerate(rows)
            if row[key] is not None
        ]
        if not points:
            continue
        (line,) = ax.plot([x for x, _ in points], [y for _, y in points], marker="o", ms=4, label=plain(name))
        best = next(p for p in points if p[1] == best_shown((y for _, y in points), name))
        ax.plot(*best, marker="o", ms=9, mfc="none", mec=line.get_color(), ls="none")
    ax.set_xlabel({"n_classes": "classes", "n_parameters": "parameters"}.get(against, against))
    ax.set_ylabel(f"score ({direction(next(iter(names)))})")
    if against == "n_classes":
        ax.set_xticks([row["n_classes"] for row in rows])
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    return ax


def plot_residuals(residuals: BivariateResiduals, ax: Any = None, *, most: float = 10.0) -> Any:
    """Draw bivariate residuals as a heat map.

    Parameters
    ----------
    residuals : BivariateResiduals
        From :func:`latentree.score.bivariate_residuals`.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    most : float, default 10
        Where the colours end. Values well above about 4 show pairs that the classes do not explain.

    Returns
    -------
    Axes
    """
    ax = axes(ax)
    if hasattr(residuals, "bivariate_residuals"):  # an estimator
        residuals = residuals.bivariate_residuals()
    values = np.ma.masked_invalid(residuals.residuals)
    image = ax.imshow(values, vmin=0.0, vmax=most, cmap="viridis")
    ax.set_xticks(range(len(residuals.names)), [plain(n) for n in residuals.names], rotation=90)
    ax.set_yticks(range(len(residuals.names)), [plain(n) for n in residuals.names])
    ax.set_title("Bivariate residuals")
    ax.figure.colorbar(image, ax=ax, label="X² / df", extend="max")
    return ax


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
    if hasattr(thing, "run_"):
        thing = [step.to_plain() for step in thing.run_.trace]
    thing = found_in(thing)
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
