"""Our own learner, and the default: split and merge what looks promising, many candidates side by side.

It joins K's SplitMerge with what K chapter 8 asks for: promising states are told by bounds on the likelihood
(:mod:`.screening`), local EM follows every operation, and what remains of the candidates is run side by side on one
plan. Three phases:

*grow*: split every state whose gain pays for its parameters, the better half of them at a time;
*improve*: the most promising splits, merges, and pairs of both; the best result, while it raises the score;
*hop*: several such changes at once, chosen at random among the promising ones or among all, or a new beginning; then
improve. The end comes when many hops in a row have found nothing much better, or after three times as many in all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._model import Model
from ..errors import bad_parameter
from ..estimation._fit import Fit
from ..runner import StopReason
from ._neighbourhood import Neighbourhood
from ._progress import Position
from ._rounds import best_move, climbed, fresh, shaken
from ._screening import screened
from ._states import States
from ._task import Task

__all__ = ["Screened"]

HOPS = ("promising", "anywhere", "anew")
"""Kinds of hops: splits and merges of promising states, of any states, or all states drawn anew."""

LEAST, MOST = 8, 40
"""Bounds on the hops in vain after which it ends."""

IN_ALL = 3
"""How many times that many hops there are at most."""

WORTHWHILE = 0.5
"""Least gain of the score for which a hop was not in vain."""


@dataclass(frozen=True)
class Screened:
    """Grow, improve, hop.

    Attributes
    ----------
    width : int
        Candidates of each kind that are fitted side by side.
    effort : float
        How long to go on hopping: it ends after that many hops in vain, divided by the distinct rows and by the states
        of all latent nodes; but not before 8 (or 2 for each latent node), nor after 40.
    """

    width: int = 16
    effort: float = 1e6

    def __post_init__(self) -> None:
        if int(self.width) != self.width or self.width < 2:
            raise bad_parameter("width", "Screened", "a whole number of at least 2", self.width)
        if not self.effort > 0:
            raise bad_parameter("effort", "Screened", "a number above 0", self.effort)

    def begin(self, task: Task, model: Model, rng: np.random.Generator, *, given: bool) -> Position:
        """Fit the model it begins with; one that was given is improved, not grown anew."""
        fit = task.fit(model)
        phase = "improve" if given else "grow"
        memory = {"phase": phase, "node": 0, "quiet": 0, "hops": {kind: [0, 0] for kind in HOPS}, "ends": []}
        return Position(fit, task.score(fit), memory)

    def step(self, task: Task, at: Position, rng: np.random.Generator) -> Position:
        """One attempt at one latent node."""
        tree, phase = at.fit.model.tree, at.memory["phase"]
        names = sorted(tree.names[z] for z in tree.latent)
        if phase == "hop":
            return self._hop(task, at, names[int(rng.integers(len(names)))], rng)
        node, quiet = int(at.memory["node"]), int(at.memory["quiet"])
        star = task.star(at.fit.model, names[node])
        found = self._grown(task, star, at, rng) if phase == "grow" else self._improved(task, star, rng)
        after = at.tried(task, phase, found)
        if not after.accepted:  # the next node; the next phase when no node has anything left
            node, quiet = (node + 1) % len(names), quiet + 1
        else:
            quiet = 0
        if quiet == len(names):
            phase, quiet = "improve" if phase == "grow" else "hop", 0
        return replace(after, memory={**at.memory, "phase": phase, "node": node, "quiet": quiet})

    # ---- phases ----------------------------------------------------------------------------------------------

    def _grown(self, task: Task, star: Neighbourhood, at: Position, rng: np.random.Generator) -> Fit | None:
        screen = screened(task, star, star.states, rng)
        price = _price(at.fit, at.score, star)
        paying = [s for s in np.argsort(-screen.gains, kind="stable").tolist() if screen.gains[s] > price]
        if not paying:
            return None
        states = star.states
        for s in paying[: min((len(paying) + 1) // 2, task.max_states - states.n)]:
            states = states.replace(s, screen.halves[s])
        return self._whole(task, star, task.climb(star, [states])[0])

    def _improved(self, task: Task, star: Neighbourhood, rng: np.random.Generator) -> Fit | None:
        found = best_move(task, star, screened(task, star, star.states, rng), self.width)
        return None if found is None else self._whole(task, star, found[1])

    def _hop(self, task: Task, at: Position, node: str, rng: np.random.Generator) -> Position:
        star = task.star(at.fit.model, node)
        kind = self._kind(at.memory["hops"], rng)
        found = self._landed(task, star, kind, rng)
        after = at.tried(task, f"hop: {kind}", found)
        gained = after.score > at.score + WORTHWHILE
        hops = {k: [n + (k == kind), won + (k == kind and gained)] for k, (n, won) in at.memory["hops"].items()}
        quiet = 0 if gained else int(at.memory["quiet"]) + 1
        end = [] if found is None else [[found.n_parameters, found.log_likelihood]]
        memory = {**at.memory, "quiet": quiet, "hops": hops, "ends": [*at.memory["ends"], *end]}
        if gained and not star.is_whole:  # what was frozen may have something to gain from it
            memory |= {"phase": "improve", "quiet": 0}
        patience = self._patience(task, after.fit)
        enough = quiet >= patience or sum(n for n, _ in hops.values()) >= IN_ALL * patience
        return replace(after, memory=memory, reason=StopReason.EXHAUSTED if enough else None)

    def _kind(self, hops: Mapping[str, Sequence[int]], rng: np.random.Generator) -> str:
        """What has led further is chosen more often."""
        chance = np.array([(hops[kind][1] + 1) / (hops[kind][0] + 2) for kind in HOPS])
        return str(rng.choice(HOPS, p=chance / chance.sum()))

    def _landed(self, task: Task, star: Neighbourhood, kind: str, rng: np.random.Generator) -> Fit | None:
        """Where a hop leads to, after all improvements there."""
        screen, starts = None, []
        if kind == "anew":
            n = min(star.states.n + int(rng.integers(2)), task.max_states)
            starts = [fresh(star, star.states, n, rng) for _ in range(self.width)]
        else:
            screen = screened(task, star, star.states, rng)
            tried = (shaken(screen, rng, even=kind == "anywhere") for _ in range(self.width))
            starts = [states for states in tried if states is not None]
        if not starts:
            return None
        states, _ = task.climb(star, starts, finalists=2)
        screen = screened(task, star, states, rng, before=screen)
        return self._whole(task, star, climbed(task, star, screen, rng, self.width)[1])

    def _patience(self, task: Task, fit: Fit) -> int:
        states = fit.model.tree.cardinality[fit.model.tree.latent]
        enough = max(LEAST, 2 * len(states))
        return int(np.clip(self.effort / (task.table.n_patterns * int(states.sum())), enough, max(MOST, enough)))

    def _whole(self, task: Task, star: Neighbourhood, states: States) -> Fit:
        """The whole model with these states, all of its tables fitted."""
        return task.judged(star, states) if star.is_whole else task.fit(star.whole(states))


def _price(fit: Fit, score: float, star: Neighbourhood) -> float:
    """What the score takes for one more state: its parameters, at what the model's own cost on average."""
    own = 1 + sum(w - 1 for w in star.widths)
    return own * (fit.log_likelihood - score) / max(fit.n_parameters, 1)
