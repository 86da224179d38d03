"""Our own learner, and the default: split and merge what looks promising, many candidates side by side.

It joins K's SplitMerge with what K chapter 8 asks for: promising states are told by bounds on the likelihood
(:mod:`.screening`), local EM follows every operation, and what remains of the candidates is run side by side on one
plan. Three phases:

*grow*: split every state whose gain pays for its parameters, the better half of them at a time;
*improve*: the most promising splits, merges, and pairs of both; the best result, while it raises the score;
*hop*: several such changes at once, chosen at random among the promising ones, then improve; the end comes when many
hops in a row have found nothing better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import bad_parameter
from ..estimation.fit import Fit
from ..model import FloatArray, Model
from ..runner import StopReason
from .progress import Position
from .screening import Screen, screened
from .star import Star
from .states import States
from .task import Task

__all__ = ["Screened"]

GAIN = 0.01
"""Least gain of the score that counts as one."""


@dataclass(frozen=True)
class Screened:
    """Grow, improve, hop.

    Attributes
    ----------
    width : int
        Candidates of each kind that are fitted side by side.
    effort : float
        How long to go on hopping: the hops in vain after which it ends are this over (distinct rows times states of
        all latent nodes), between 10 and 100.
    """

    width: int = 16
    effort: float = 3e6

    def __post_init__(self) -> None:
        if int(self.width) != self.width or self.width < 2:
            raise bad_parameter("width", "Screened", "a whole number of at least 2", self.width)
        if not self.effort > 0:
            raise bad_parameter("effort", "Screened", "a number above 0", self.effort)

    def begin(self, task: Task, model: Model, rng: np.random.Generator, *, given: bool) -> Position:
        """Fit the model it begins with; one that was given is improved, not grown anew."""
        fit = task.fit(model)
        return Position(fit, task.score(fit), {"phase": "improve" if given else "grow", "quiet": 0, "ends": []})

    def step(self, task: Task, at: Position, rng: np.random.Generator) -> Position:
        """One attempt at one latent node."""
        phase, quiet = at.memory["phase"], int(at.memory["quiet"])
        names = sorted(at.fit.model.tree.names[z] for z in at.fit.model.tree.latent)
        if phase == "hop":
            return self._hop(task, at, names[int(rng.integers(len(names)))], rng)
        star = task.star(at.fit.model, names[quiet % len(names)])
        found = self._grown(task, star, at, rng) if phase == "grow" else self._improved(task, star, at.score, rng)
        after = at.tried(task, phase, found)
        quiet = 0 if after.accepted and len(names) == 1 else quiet if after.accepted else quiet + 1
        if quiet >= len(names):
            phase, quiet = ("improve" if phase == "grow" else "hop"), 0
        return replace(after, memory={**after.memory, "phase": phase, "quiet": quiet})

    # ---- phases ----------------------------------------------------------------------------------------------

    def _grown(self, task: Task, star: Star, at: Position, rng: np.random.Generator) -> Fit | None:
        screen = screened(task, star, star.states, rng)
        price = _price(at.fit, at.score, star)
        paying = [s for s in np.argsort(-screen.gains, kind="stable").tolist() if screen.gains[s] > price]
        if not paying:
            return None
        states = star.states
        for s in paying[: min((len(paying) + 1) // 2, task.max_states - states.n)]:
            states = states.replace(s, screen.halves[s])
        return self._whole(task, star, task.climb(star, [states])[0])

    def _improved(self, task: Task, star: Star, score: float, rng: np.random.Generator) -> Fit | None:
        found = self._round(task, star, star.states, rng)
        return None if found is None else self._whole(task, star, found[1])

    def _hop(self, task: Task, at: Position, node: str, rng: np.random.Generator) -> Position:
        star = task.star(at.fit.model, node)
        screen = screened(task, star, star.states, rng)
        starts = [s for s in (_shaken(screen, rng) for _ in range(self.width)) if s is not None]
        found = None
        if starts:
            states, _ = task.climb(star, starts, finalists=2)
            score = task.score(task.judged(star, states))
            while (better := self._round(task, star, states, rng)) is not None and better[0] > score + GAIN:
                score, states = better
            found = self._whole(task, star, states)
        after = at.tried(task, "hop", found)
        gained = after.accepted and after.score > at.score + GAIN
        quiet = 0 if gained else int(at.memory["quiet"]) + 1
        ends = [*at.memory["ends"], -np.inf if found is None else task.score(found)]
        phase = "improve" if gained and not star.is_whole else "hop"
        reason = StopReason.EXHAUSTED if quiet >= self._patience(task, after.fit) else None
        return replace(after, memory={"phase": phase, "quiet": quiet, "ends": ends}, reason=reason)

    def _patience(self, task: Task, fit: Fit) -> int:
        work = task.table.n_patterns * int(fit.model.tree.cardinality[fit.model.tree.latent].sum())
        return int(np.clip(self.effort / work, 10, 100))

    # ---- candidates ------------------------------------------------------------------------------------------

    def _round(self, task: Task, star: Star, states: States, rng: np.random.Generator) -> tuple[float, States] | None:
        """The best that one split, one merge or one of each makes of some states, by the score."""
        screen = screened(task, star, states, rng)
        found = []
        for candidates in _promising(screen, self.width):
            if candidates:
                best, _ = task.climb(star, candidates, finalists=2)
                found.append((task.score(task.judged(star, best)), best))
        return max(found, key=lambda pair: pair[0], default=None)

    def _whole(self, task: Task, star: Star, states: States) -> Fit:
        """The whole model with these states, all of its tables fitted."""
        return task.judged(star, states) if star.is_whole else task.fit(star.whole(states))


def _price(fit: Fit, score: float, star: Star) -> float:
    """What the score takes for one more state: its parameters, at what the model's own cost on average."""
    own = 1 + sum(w - 1 for w in star.widths)
    return own * (fit.log_likelihood - score) / max(fit.n_parameters, 1)


def _promising(screen: Screen, width: int) -> list[list[States]]:
    """The most promising splits, merges, and pairs of a split and a merge of other states."""
    states = screen.states
    splits = [s for s in np.argsort(-screen.gains, kind="stable").tolist() if s in screen.halves]
    pairs = _ranked_pairs(screen.losses)
    both = sorted(
        ((screen.gains[s] + screen.losses[a, b], s, a, b) for a, b in pairs[: 3 * width] for s in splits if s not in (a, b)),
        key=lambda move: -move[0],
    )
    return [
        [screen.split(s) for s in splits[: width // 2]],
        [states.merge(a, b) for a, b in pairs[: width // 2]],
        [screen.split(s).merge(a, b) for _, s, a, b in both[:width]],
    ]


def _ranked_pairs(losses: FloatArray) -> list[tuple[int, int]]:
    a, b = np.triu_indices(len(losses), 1)
    order = np.argsort(-losses[a, b], kind="stable")
    return list(zip(a[order].tolist(), b[order].tolist(), strict=True))


def _shaken(screen: Screen, rng: np.random.Generator) -> States | None:
    """One to three splits and as many merges of different states, the more promising the more often."""
    states = screen.states
    n = int(rng.integers(1, 4))
    splits = np.array([s for s in np.argsort(-screen.gains, kind="stable").tolist() if s in screen.halves], dtype=int)
    pairs = _ranked_pairs(screen.losses)
    chosen: list[int] = []
    merged: list[tuple[int, int]] = []
    for _ in range(n):
        free = [s for s in splits.tolist() if s not in chosen and not any(s in pair for pair in merged)]
        if not free:
            break
        s = free[_rank(len(free), rng)]
        taken = {s, *chosen, *(x for pair in merged for x in pair)}
        open_pairs = [pair for pair in pairs if not taken & set(pair)]
        if not open_pairs:
            break
        chosen.append(s)
        merged.append(open_pairs[_rank(len(open_pairs), rng)])
    if not chosen:
        return None
    for s in chosen:
        states = states.replace(s, screen.halves[s])
    for a, b in sorted(merged, key=lambda pair: -pair[1]):  # from the end, so that numbers stay what they are
        states = states.merge(a, b)
    return states


def _rank(n: int, rng: np.random.Generator) -> int:
    """A place in a ranking, the first the most often."""
    return min(int(rng.exponential(max(n / 4, 1.0))), n - 1)
