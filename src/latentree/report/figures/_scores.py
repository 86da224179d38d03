"""Scores against the number of classes, or against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..._scale import best_shown, direction, shown_score
from ...comparison import Comparison
from ...errors import bad_parameter
from ._axes import axes, plain

__all__ = ["plot_scores"]


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
