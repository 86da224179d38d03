"""Our own learner, and the default: split and merge what looks promising, many candidates side by side.

It joins Karciauskas' SplitMerge with what [Karciauskas2005] chapter 8 asks for: promising states are found by bounds
on the likelihood (:mod:`._screening`), local EM follows every operation, and what remains of the candidates is run side
by side on one plan. Three phases:

*grow*: split every state whose gain pays for its parameters, the better half of them at a time;
*improve*: the most promising splits, merges, and pairs of both; the best result, while it raises the score;
*hop*: several such changes at once, chosen at random among the promising ones or among all, or a new beginning; then
improve. The end comes when many hops in a row have found nothing much better, or after three times as many in all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._model import Model
from .._table import Table
from ..estimation._fit import Fit
from ..method import Flag, Number, Whole, option
from ..runner import Budget, Clock, StopReason
from ._learn import criterion_of
from ._learner import Learner, LearnerState, first_state
from ._neighbourhood import Neighbourhood
from ._rounds import best_move, improve, new_states, perturbed
from ._screening import screen
from ._starts import run_starts
from ._states import States
from ._task import Criterion, Settings, Task

HOPS = ("promising", "anywhere", "anew")
"""Kinds of hops: splits and merges of promising states, of any states, or all states drawn anew."""

LEAST, MOST = 8, 40
"""Bounds on the hops in vain after which it ends."""

IN_ALL = 3
"""How many times that many hops there are at most."""

FEW, MANY = 16, 32
"""Starts with each number of states, and as many more with the best and those beside it."""

LOOK = 8
"""From so many states on, states are split instead while more of them are better."""

FALLS = 3
"""So many numbers of states in a row without a better score end the look at each."""

AGREE = 3
"""So many independent starts that reached the best fit are enough."""

SAME = 0.1
"""Ends of starts that are no further below the best have found the same optimum."""

WORTHWHILE = 0.5
"""Least gain of the score for which a hop was not in vain."""


@dataclass(frozen=True)
class ScreenedOptions(Settings):
    """Those of all learners (EM is accelerated and local first), and two more.

    Hopping ends after ``effort`` hops in vain, divided by the distinct rows and by the states of all latent nodes; but
    not before 8 (or 2 for each latent node), nor after 40.
    """

    accelerate: bool = option(True, Flag(), "whether EM is accelerated")
    local: bool = option(True, Flag(), "on trees, fit the tables around a changed node first")
    max_iterations: int = option(1000, Whole(1), "most steps of EM")
    width: int = option(16, Whole(2), "candidates of each kind that are fitted side by side")
    effort: float = option(1e6, Number(above=0), "how long to go on hopping")


class Screened(Learner):
    """Grow, improve, hop.

    Its memory: the ``phase``, the ``node`` whose turn it is, ``quiet`` attempts in a row without success, ``hops`` of
    each kind (made, successful), and ``ends``: parameters and log-likelihood of what independent starts reached.
    """

    Options = ScreenedOptions

    def start(self, task: Task, rng: np.random.Generator) -> LearnerState:
        """Fit the first model; one that was given is improved, not grown anew."""
        fit = task.fit(task.first)
        phase = "improve" if task.given else "look" if _is_star(fit) else "grow"
        hops = {kind: [0, 0] for kind in HOPS}
        tried = [[1, 1, task.score(fit)]]
        return first_state(task, fit, phase=phase, node=0, quiet=0, hops=hops, tried=tried, ends=[_end(fit)])

    def advance(self, task: Task, state: LearnerState, rng: np.random.Generator) -> LearnerState:
        """One attempt at one latent node."""
        tree, phase = state.fit.model.tree, state.memory["phase"]
        names = sorted(tree.names[z] for z in tree.latent)
        if phase in ("look", "confirm"):
            return self._looked(task, state, phase, rng)
        if phase == "hop":
            return self._hop(task, state, names[int(rng.integers(len(names)))], rng)
        node, quiet = int(state.memory["node"]), int(state.memory["quiet"])
        star = task.star(state.fit.model, names[node])
        found = self._grown(task, star, state, rng) if phase == "grow" else self._improved(task, star, rng)
        after = state.considering(task, phase, found)
        if not after.accepted:  # the next node; the next phase when no node has anything left
            node, quiet = (node + 1) % len(names), quiet + 1
        else:
            quiet = 0
        after = replace(after, memory={**state.memory, "node": node, "quiet": quiet})
        return self._next_phase(task, after) if quiet == len(names) else after

    def _next_phase(self, task: Task, state: LearnerState) -> LearnerState:
        """What comes when growing or improving has ended."""
        memory, phase = {**state.memory, "quiet": 0}, state.memory["phase"]
        if phase == "grow":
            return replace(state, memory={**memory, "phase": "improve"})
        if _is_star(state.fit) and not task.given:
            if self._unsure(task, state) is not None:
                return replace(state, memory={**memory, "phase": "confirm"})
            if agreeing(state) >= AGREE:
                return replace(state, memory=memory, reason=StopReason.EXHAUSTED)
        return replace(state, memory={**memory, "phase": "hop"})

    # ---- independent starts ----------------------------------------------------------------------------------

    def _looked(self, task: Task, state: LearnerState, phase: str, rng: np.random.Generator) -> LearnerState:
        """Independent starts with one number of states."""
        tried = {int(k): (int(n), score) for k, n, score in state.memory["tried"]}
        k = max(tried) + 1 if phase == "look" else self._unsure(task, state)
        assert k is not None
        star = task.star(state.fit.model, 0)
        n, finalists = (FEW, FEW // 4) if phase == "look" else (MANY, MANY // 4)
        ends = run_starts(task, star, k, n, finalists, rng)
        found = task.evaluate(star, ends.states)
        before, best = tried.get(k, (0, -np.inf))
        tried[k] = (before + n, max(best, task.score(found)))
        reached = [[found.n_parameters, value] for value in ends.log_likelihoods.tolist()]
        memory = {"tried": [[k, *tried[k]] for k in tried], "ends": [*state.memory["ends"], *reached]}
        after = state.considering(task, f"{phase}: {k}", found, **memory)
        if phase == "look":
            best_k = max(tried, key=lambda k: tried[k][1])
            if k == task.max_states or k - best_k >= FALLS:
                memory["phase"] = "improve"
            elif k >= LOOK and best_k == k:
                memory["phase"] = "grow"
        elif self._unsure(task, after) is None:
            memory["phase"] = "improve"
            if not self._gained(state, after):
                return self._next_phase(task, replace(after, memory={**after.memory, "phase": "improve"}))
        return replace(after, memory={**after.memory, **memory})

    def _gained(self, before: LearnerState, after: LearnerState) -> bool:
        return after.accepted

    def _unsure(self, task: Task, state: LearnerState) -> int | None:
        """The number of states, of the best and those beside it, that too few starts have been made with."""
        k = int(state.fit.model.tree.cardinality[0])
        drawn = {int(k): int(n) for k, n, _ in state.memory["tried"]}
        for own in (k, k + 1, k - 1):
            if 1 < own <= task.max_states and drawn.get(own, 0) < MANY:
                return own
        return None

    # ---- phases ----------------------------------------------------------------------------------------------

    def _grown(self, task: Task, star: Neighbourhood, state: LearnerState, rng: np.random.Generator) -> Fit | None:
        found = screen(task, star, star.states, rng)
        price = _price(state.fit, state.score, star)
        paying = [s for s in np.argsort(-found.gains, kind="stable").tolist() if found.gains[s] > price]
        if not paying:
            return None
        states = star.states
        for s in paying[: min((len(paying) + 1) // 2, task.max_states - states.n)]:
            states = states.replace(s, found.halves[s])
        return self._whole(task, star, task.fit_states(star, [states])[0])

    def _improved(self, task: Task, star: Neighbourhood, rng: np.random.Generator) -> Fit | None:
        found = best_move(task, star, screen(task, star, star.states, rng), self.options.width)
        return None if found is None else self._whole(task, star, found[1])

    def _hop(self, task: Task, state: LearnerState, node: str, rng: np.random.Generator) -> LearnerState:
        star = task.star(state.fit.model, node)
        kind = self._kind(state.memory["hops"], rng)
        found = self._after_hop(task, star, kind, rng)
        after = state.considering(task, f"hop: {kind}", found)
        gained = after.score > state.score + WORTHWHILE
        hops = {k: [n + (k == kind), won + (k == kind and gained)] for k, (n, won) in state.memory["hops"].items()}
        quiet = 0 if gained else int(state.memory["quiet"]) + 1
        memory = {**state.memory, "quiet": quiet, "hops": hops}
        if found is not None and kind == "anew" and star.is_whole:  # nothing of the current model was kept
            memory["ends"] = [*memory["ends"], _end(found)]
        if gained and not star.is_whole:  # what was frozen may have something to gain from it
            memory |= {"phase": "improve", "quiet": 0}
        patience = self._patience(task, after.fit)
        enough = quiet >= patience or sum(n for n, _ in hops.values()) >= IN_ALL * patience
        return replace(after, memory=memory, reason=StopReason.EXHAUSTED if enough else None)

    def _kind(self, hops: Mapping[str, Sequence[int]], rng: np.random.Generator) -> str:
        """What has led further is chosen more often."""
        chance = np.array([(hops[kind][1] + 1) / (hops[kind][0] + 2) for kind in HOPS])
        return str(rng.choice(HOPS, p=chance / chance.sum()))

    def _after_hop(self, task: Task, star: Neighbourhood, kind: str, rng: np.random.Generator) -> Fit | None:
        """Where a hop leads to, after all improvements there."""
        found, starts, width = None, [], self.options.width
        if kind == "anew":
            n = min(star.states.n + int(rng.integers(2)), task.max_states)
            starts = [new_states(star, star.states, n, rng) for _ in range(width)]
        else:
            found = screen(task, star, star.states, rng)
            drawn = (perturbed(found, rng, even=kind == "anywhere") for _ in range(width))
            starts = [states for states in drawn if states is not None]
        if not starts:
            return None
        states, _ = task.fit_states(star, starts, finalists=2)
        found = screen(task, star, states, rng, before=found)
        return self._whole(task, star, improve(task, star, found, rng, width)[1])

    def _patience(self, task: Task, fit: Fit) -> int:
        states = fit.model.tree.cardinality[fit.model.tree.latent]
        enough = max(LEAST, 2 * len(states))
        limit = self.options.effort / (task.table.n_patterns * int(states.sum()))
        return int(np.clip(limit, enough, max(MOST, enough)))

    def _whole(self, task: Task, star: Neighbourhood, states: States) -> Fit:
        """The whole model with these states, all of its tables fitted."""
        return task.evaluate(star, states) if star.is_whole else task.fit(star.whole(states))


def agreeing(state: LearnerState) -> int:
    """How many independent starts have reached the best fit."""
    size, best = _end(state.fit)
    return sum(own == size and value > best - SAME for own, value in state.memory["ends"])


def _is_star(fit: Fit) -> bool:
    """Whether a model is a latent class model, the latent node being its root."""
    tree = fit.model.tree
    return len(tree.latent) == 1 and int(tree.latent[0]) == 0 and bool((tree.parent[1:] == 0).all())


def _end(fit: Fit) -> list[float]:
    return [fit.n_parameters, fit.log_likelihood]


def _price(fit: Fit, score: float, star: Neighbourhood) -> float:
    """What the score takes for one more state: its parameters, at what the model's own cost on average."""
    own = 1 + sum(w - 1 for w in star.widths)
    return own * (fit.log_likelihood - score) / max(fit.n_parameters, 1)


def adapt(
    model: Model,
    table: Table,
    node: str | int,
    *,
    rng: np.random.Generator,
    score: str | Criterion = "bic",
    width: int = 8,
    budget: Budget | Clock | None = None,
    **settings: Any,
) -> Fit:
    """Split and merge states of one latent node while that raises the score of the model.

    The messages into the node are computed once; only its own table and its neighbours' move.

    Parameters
    ----------
    model, table
        The model and the data.
    node : str or int
        A latent node.
    rng : numpy.random.Generator
        Source of the starts.
    score : str or callable
        As in :func:`learn`.
    width : int
        Candidates of each kind that are fitted side by side.
    budget : Budget or Clock, optional
        Time limit.
    **settings
        Options of the method ``screened``.

    Returns
    -------
    Fit
        The model rooted at the node; no EM was run on its other tables. Its score is not below that of
        the model given.

    Examples
    --------
    >>> from latentree import datasets, Tree
    >>> table = datasets.load("carcinoma")
    >>> flat = Model.random(Tree.star(1, table.cardinalities, table.names), table.variables, np.random.default_rng(0))
    >>> adapt(flat, table, "z", rng=np.random.default_rng(0)).model.tree.cardinality[0].item()
    3
    """
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    options = ScreenedOptions.of({"width": width, **settings}, owner="cardinality.adapt")
    task = Task(table, criterion_of(score)[0], options, clock)
    star = task.star(model, node)
    _, states = improve(task, star, screen(task, star, star.states, rng), rng, width)
    return task.evaluate(star, states)
