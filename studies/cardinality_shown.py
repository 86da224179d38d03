"""How the pages show runs of learners: means and intervals, states, times, and the mean score against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

import numpy as np

from .pictures import COLOURS, Line, Panel

__all__ = [
    "Run",
    "better",
    "cell",
    "curve",
    "curves",
    "gap",
    "half",
    "mean",
    "score_at",
    "scored",
    "seconds",
    "significantly",
    "states",
    "time_of",
]

Run = dict[str, Any]
"""A run of a learner: score, log_likelihood, states by node, seconds, whether it ended by itself, and the trace."""

BETTER = 1.0
"""Means that differ by more are *better* or *worse*; *significantly*, if their intervals do not overlap (4.5.3)."""
POINTS = 40


def mean(runs: Sequence[Run]) -> float:
    """Mean score."""
    return float(np.mean([run["score"] for run in runs]))


def half(runs: Sequence[Run]) -> float | None:
    """Half a 95 % interval of the mean score; None for a single run."""
    from scipy.stats import t

    if len(runs) < 2:
        return None
    spread = float(np.std([run["score"] for run in runs], ddof=1))
    return float(t.ppf(0.975, len(runs) - 1)) * spread / float(np.sqrt(len(runs)))


def scored(value: float, wide: float | None) -> str:
    """A mean score with its interval, as [Karciauskas2005] writes it."""
    return f"{value:.1f}" + ("" if wide is None else f" ± {wide:.1f}")


def gap(value: float) -> str:
    """A difference with one digit, and no sign before zero."""
    return f"{round(value, 1) + 0.0:.1f}"


def seconds(runs: Sequence[Run]) -> str:
    """Mean processor seconds; with ``*`` if not all runs ended by themselves."""
    late = "" if all(run["ended"] for run in runs) else "*"
    value = float(np.mean([run["seconds"] for run in runs]))
    return f"{value:.2f}{late} s" if value < 0.995 else f"{value:.1f}{late} s"


def states(runs: Sequence[Run]) -> str:
    """States of the best run."""
    return ",".join(str(k) for k in max(runs, key=lambda run: run["score"])["states"].values())


def cell(runs: Sequence[Run]) -> str:
    """Score, states of the best run, time and number of runs; empty without any."""
    if not runs:
        return "not run"
    return f"{scored(mean(runs), half(runs))} ({states(runs)}; {seconds(runs)}; {len(runs)})"


def better(a: Sequence[Run], b: Sequence[Run]) -> int:
    """1 if the first has the better mean, -1 if the second, 0 if they are similar."""
    difference = mean(a) - mean(b)
    return 0 if abs(difference) <= BETTER else 1 if difference > 0 else -1


def significantly(a: Sequence[Run], b: Sequence[Run]) -> int:
    """The same, and 0 if the intervals overlap or one of them has a single run."""
    wide = [half(a), half(b)]
    if None in wide:
        return 0
    apart = abs(mean(a) - mean(b)) > sum(w for w in wide if w is not None)
    return better(a, b) if apart else 0


# ---- scores against time --------------------------------------------------------------------------------------------


def score_at(trace: Sequence[Sequence[Any]], t: float) -> float:
    """The score of a run after so many seconds; that of its first model before it was reached."""
    score: float = next((step[1] for step in reversed(trace) if step[0] <= t), trace[0][1])
    return score


def curve(runs: Sequence[Run], at: float) -> float:
    """Mean score after so many seconds."""
    return float(np.mean([score_at(run["trace"], at) for run in runs]))


def time_of(runs: Sequence[Run], target: float) -> float | None:
    """When the mean score first came to a target; None if it never did."""
    times = sorted({step[0] for run in runs for step in run["trace"]})
    return next((t for t in times if curve(runs, t) >= target - 1e-6), None)


def curves(title: str, named: Mapping[str, Sequence[Run]]) -> Panel:
    """How far mean scores of learners are below the best of their ends, against time, with the intervals at the end."""
    top = max(mean(runs) for runs in named.values())
    marks: list[Line] = []
    for colour, (name, runs) in zip(COLOURS, named.items(), strict=False):
        last = max(run["seconds"] for run in runs)
        grid = np.geomspace(max(last / 300, 0.01), last, POINTS)
        points = [(log10(t), _below(top, curve(runs, float(t)))) for t in grid]
        marks.append(Line(points, colour, label=name))
        wide = half(runs)
        if wide:
            x, y = points[-1][0], mean(runs)
            marks.append(Line([(x, _below(top, y - wide)), (x, _below(top, y + wide))], colour))
    return Panel(title, marks, x_label="log10 seconds", y_label="log10(1 + below best)")


def _below(top: float, score: float) -> float:
    return log10(1.0 + max(top - score, 0.0))
