"""Candidates made from promising states, and what becomes of them: the moves of our learner."""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ._neighbourhood import Neighbourhood
from ._screening import Screen, around_rows, screened
from ._states import States
from ._task import Task

__all__ = ["GAIN", "best_move", "climbed", "fresh", "promising", "shaken"]

GAIN = 0.01
"""Least gain of the score for which a move is followed by another."""


def climbed(
    task: Task, star: Neighbourhood, screen: Screen, rng: np.random.Generator, width: int
) -> tuple[float, States]:
    """Move on from some states while that raises the score; tables beyond the neighbourhood keep their values."""
    states = screen.states
    score = task.score(task.judged(star, states))
    while (better := best_move(task, star, screen, width)) is not None and better[0] > score + GAIN:
        score, states = better
        screen = screened(task, star, states, rng, before=screen)
    return score, states


def best_move(task: Task, star: Neighbourhood, screen: Screen, width: int) -> tuple[float, States] | None:
    """The best that one split, one merge or one of each makes of some states, and its score."""
    found = []
    for candidates in promising(screen, width):
        if candidates:
            states, _ = task.climb(star, candidates, finalists=2)
            found.append((task.score(task.judged(star, states)), states))
    return max(found, key=lambda pair: pair[0], default=None)


def promising(screen: Screen, width: int) -> list[list[States]]:
    """The most promising splits, merges, and pairs of a split and a merge of other states (as in Ueda et al. 2000)."""
    states = screen.states
    splits = _ranked_splits(screen)
    pairs = _ranked_pairs(screen.losses)
    both = [
        (screen.gains[s] + screen.losses[a, b], s, a, b)
        for a, b in pairs[: 3 * width]
        for s in splits
        if s not in (a, b)
    ]
    both.sort(key=lambda move: -move[0])
    return [
        [screen.split(s) for s in splits[: width // 2]],
        [states.merge(a, b) for a, b in pairs[: width // 2]],
        [screen.split(s).merge(a, b) for _, s, a, b in both[:width]],
    ]


def shaken(screen: Screen, rng: np.random.Generator, *, even: bool = False) -> States | None:
    """One to three splits and as many merges of different states.

    The more promising are chosen the more often; with ``even``, all are equally likely.
    """
    splits, pairs = _ranked_splits(screen), _ranked_pairs(screen.losses)
    chosen: list[int] = []
    merged: list[tuple[int, int]] = []
    for _ in range(int(rng.integers(1, 4))):
        taken = {*chosen, *(s for pair in merged for s in pair)}
        free = [s for s in splits if s not in taken]
        if not free:
            break
        s = free[_place(len(free), rng, even)]
        apart = [pair for pair in pairs if not (taken | {s}) & set(pair)]
        if not apart:
            break
        chosen.append(s)
        merged.append(apart[_place(len(apart), rng, even)])
    if not chosen:
        return None
    states = screen.states
    for s in chosen:
        states = states.replace(s, screen.halves[s])
    for a, b in sorted(merged, key=lambda pair: -pair[1]):  # from the end, so that numbers stay what they are
        states = states.merge(a, b)
    return states


def fresh(star: Neighbourhood, states: States, n_states: int, rng: np.random.Generator) -> States:
    """As many states, each built around a row of the data: nothing is kept."""
    overall = states.sizes @ states.profiles
    return States(np.full(n_states, 1.0 / n_states), around_rows(star, overall, rng, n_states), states.widths)


def _ranked_splits(screen: Screen) -> list[int]:
    return [s for s in np.argsort(-screen.gains, kind="stable").tolist() if s in screen.halves]


def _ranked_pairs(losses: FloatArray) -> list[tuple[int, int]]:
    a, b = np.triu_indices(len(losses), 1)
    order = np.argsort(-losses[a, b], kind="stable")
    return list(zip(a[order].tolist(), b[order].tolist(), strict=True))


def _place(n: int, rng: np.random.Generator, even: bool) -> int:
    """A place in a ranking, the first the most often."""
    if even:
        return int(rng.integers(n))
    return min(int(rng.exponential(max(n / 4, 1.0))), n - 1)
