"""Candidates made from promising states: the moves of the default learner."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._types import FloatArray
from ._neighbourhood import Neighbourhood
from ._screening import Screen, around_rows, screen
from ._starts import blurred_starts
from ._states import States
from ._task import Task

GAIN = 0.01
"""Least gain of the score for which a move is followed by another."""

BLURRED = 32
"""Blurred starts that are run side by side; one in eight to the end."""


def improve(
    task: Task, star: Neighbourhood, found: Screen, rng: np.random.Generator, width: int
) -> tuple[float, States]:
    """Move on from some states while that raises the score; tables beyond the neighbourhood keep their values."""
    states = found.states
    score = task.score(task.evaluate(star, states))
    while (better := best_move(task, star, found, width)) is not None and better[0] > score + GAIN:
        score, states = better
        found = screen(task, star, states, rng, before=found)
    return score, states


def settle(
    task: Task,
    star: Neighbourhood,
    states: States,
    rng: np.random.Generator,
    width: int,
    known: Callable[[States, float], bool],
) -> States:
    """Blur, or move on where that is in vain, while either raises the score and where it leads is not ``known``."""
    score = task.score(task.evaluate(star, states))
    while not known(states, score):
        better = best_settled(task, star, states, score, rng, width)
        if better is None or better[0] <= score + GAIN:
            break
        score, states = better
    return states


def best_settled(
    task: Task, star: Neighbourhood, states: States, score: float, rng: np.random.Generator, width: int
) -> tuple[float, States] | None:
    """The best of blurred states if that is better, or else the best that a move makes of them, and its score."""
    if states.n > 1 and (blurred := best_blurred(task, star, states, rng))[0] > score + GAIN:
        return blurred
    return best_move(task, star, screen(task, star, states, rng), width)


def best_blurred(task: Task, star: Neighbourhood, states: States, rng: np.random.Generator) -> tuple[float, States]:
    """The best that EM makes of some states after they were blurred, and its score: often a better optimum close by."""
    starts = blurred_starts(star, states, BLURRED, rng)
    found, _ = task.fit_states(star, starts, finalists=BLURRED // 8)
    return task.score(task.evaluate(star, found)), found


def best_move(task: Task, star: Neighbourhood, found: Screen, width: int) -> tuple[float, States] | None:
    """The best that one split, one merge or one of each makes of some states, and its score."""
    ends = []
    for candidates in promising(found, width):
        if candidates:
            states, _ = task.fit_states(star, candidates, finalists=2)
            ends.append((task.score(task.evaluate(star, states)), states))
    return max(ends, key=lambda pair: pair[0], default=None)


def promising(found: Screen, width: int) -> list[list[States]]:
    """The most promising splits, merges, and pairs of a split and a merge of other states (as in Ueda et al. 2000)."""
    states = found.states
    splits = _ranked_splits(found)
    pairs = _ranked_pairs(found.losses)
    both = [
        (found.gains[s] + found.losses[a, b], s, a, b) for a, b in pairs[: 3 * width] for s in splits if s not in (a, b)
    ]
    both.sort(key=lambda move: -move[0])
    return [
        [found.split(s) for s in splits[: width // 2]],
        [states.merge(a, b) for a, b in pairs[: width // 2]],
        [found.split(s).merge(a, b) for _, s, a, b in both[:width]],
    ]


def perturbed(found: Screen, rng: np.random.Generator, *, even: bool = False) -> States | None:
    """One to three splits and as many merges of different states.

    The more promising are chosen the more often; with ``even``, all are equally likely.
    """
    splits, pairs = _ranked_splits(found), _ranked_pairs(found.losses)
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
    states = found.states
    for s in chosen:
        states = states.replace(s, found.halves[s])
    for a, b in sorted(merged, key=lambda pair: -pair[1]):  # from the end, so that numbers stay what they are
        states = states.merge(a, b)
    return states


def new_states(star: Neighbourhood, states: States, n_states: int, rng: np.random.Generator) -> States:
    """As many states, each built around a row of the data: nothing is kept."""
    overall = states.sizes @ states.profiles
    return States(np.full(n_states, 1.0 / n_states), around_rows(star, overall, rng, n_states), states.widths)


def _ranked_splits(found: Screen) -> list[int]:
    return [s for s in np.argsort(-found.gains, kind="stable").tolist() if s in found.halves]


def _ranked_pairs(losses: FloatArray) -> list[tuple[int, int]]:
    a, b = np.triu_indices(len(losses), 1)
    order = np.argsort(-losses[a, b], kind="stable")
    return list(zip(a[order].tolist(), b[order].tolist(), strict=True))


def _place(n: int, rng: np.random.Generator, even: bool) -> int:
    """A place in a ranking, the first the most often."""
    if even:
        return int(rng.integers(n))
    return min(int(rng.exponential(max(n / 4, 1.0))), n - 1)
