"""Our own learner, and the default: independent starts first, then split and merge what looks promising.

It joins random starts and Karciauskas' SplitMerge with what [Karciauskas2005] chapter 8 asks for: promising states are
found by bounds on the likelihood (:mod:`._screening`), local EM follows every operation, and what remains of the
candidates is run side by side on one plan. Its phases:

*look*, for latent class models: a few independent starts with 1, 2, 3, ... states, until three numbers in a row are no
better, or until there are many states and more are still better;
*grow*: split every state whose gain pays for its parameters, the better half of them at a time;
*improve*: for latent class models all states blurred, and where that is in vain the most promising splits, merges, and
pairs of both; the best result, while it raises the score;
*confirm*: more independent starts with the best number of states, one more and one less;
*hop*, only if starts disagree: many new starts, or several changes at once, chosen at random among the promising ones
or among all; then improve.

The end comes when enough independent starts have found the best model, or after many hops in vain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
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
from ._rounds import GAIN, best_move, best_settled, improve, perturbed, settle
from ._screening import Screen, screen
from ._starts import run_starts
from ._states import States
from ._task import Criterion, Settings, Task

HOPS = ("promising", "anywhere", "anew")
"""Kinds of hops: splits and merges of promising states, of any states, or all states drawn anew."""

LEAST, MOST = 8, 100
"""Bounds on the hops in vain after which it ends; on trees, where each costs more, half the latter."""

IN_ALL = 3
"""How many times that many hops there are at most."""

FEW, MANY = 16, 32
"""Starts with each number of states, and with the best and those beside it. One in four is run to the end."""

ANEW, ABOVE = 64, 2
"""Starts of a hop that draws all classes anew, with so many numbers of classes in turn, the best and above: what is too
much is merged."""

LOOK, FALLS = 8, 3
"""States from which on the best are split instead, and numbers of states without a better score that end the look."""

AGREE, ROUNDS, MOSTLY = 3, 5, 0.75
"""So many starts, or the best starts of so many hops, must have found the best fit before it ends because of that; or
at least so many hops that improved their best start; three in four are enough."""

CONFIRM = 128
"""Most starts with the best number of states before it hops."""

SAME = 0.1
"""Ends of EM at a gain of 0.01 that differ by less in the log-likelihood are the same optimum."""

WORTHWHILE = 0.5
"""Least gain of the score for which a hop was not in vain."""


@dataclass(frozen=True)
class ScreenedOptions(Settings):
    """Those of all learners (EM is accelerated and local first), and two more.

    Hopping ends after ``effort`` hops in vain, divided by the distinct rows and the size of the model; but not before 8
    (or 2 for each latent node), nor after 100 (50 on trees).
    """

    accelerate: bool = option(True, Flag(), "whether EM is accelerated")
    local: bool = option(True, Flag(), "on trees, fit the tables around a changed node first")
    max_iterations: int = option(1000, Whole(1), "most steps of EM")
    width: int = option(16, Whole(2), "candidates of each kind that are fitted side by side")
    effort: float = option(1e8, Number(above=0), "how long to go on hopping")


class Screened(Learner):
    """Look, grow, improve, confirm, hop.

    Its memory: the ``phase``, the ``node`` whose turn it is, ``quiet`` attempts in a row without success, ``hops`` of
    each kind (made, successful), ``tried``: starts and best score of each number of states, and parameters and
    log-likelihood of what was reached by independent starts (``ends``), by the best of those of a hop (``drawn``), and
    by that one after it was improved (``rounds``).
    """

    Options = ScreenedOptions

    def start(self, task: Task, rng: np.random.Generator) -> LearnerState:
        """Fit the first model; one that was given is improved, not grown anew."""
        fit = task.fit(task.first)
        look = _is_star(fit) and task.max_states > 1
        memory = {"node": 0, "quiet": 0, "hops": {kind: [0, 0] for kind in HOPS}, "drawn": [], "rounds": []}
        memory |= {"phase": "improve" if task.given else "look" if look else "grow"}
        memory |= {"tried": [], "ends": []} if task.given else {"tried": [[1, 1, task.score(fit)]], "ends": [_end(fit)]}
        return first_state(task, fit, **memory)

    def advance(self, task: Task, state: LearnerState, rng: np.random.Generator) -> LearnerState:
        """One attempt at one latent node, or with one number of states."""
        tree, phase = state.fit.model.tree, state.memory["phase"]
        names = sorted(tree.names[z] for z in tree.latent)
        if phase in ("look", "confirm"):
            return self._drawn(task, state, phase, rng)
        if phase == "hop":
            return self._hop(task, state, names[int(rng.integers(len(names)))], rng)
        node, quiet = int(state.memory["node"]), int(state.memory["quiet"])
        star = task.star(state.fit.model, names[node])
        found = self._grown(task, star, state, rng) if phase == "grow" else self._improved(task, star, state.score, rng)
        after = state.considering(task, phase, found)
        if after.score > state.score + GAIN:
            quiet = 0
        else:  # the next node; the next phase when no node has anything left
            node, quiet = (node + 1) % len(names), quiet + 1
        after = after.remembering(node=node, quiet=quiet % len(names))
        return self._next(task, after) if quiet == len(names) else after

    def _next(self, task: Task, state: LearnerState) -> LearnerState:
        """What comes when a phase has ended."""
        if state.memory["phase"] == "grow":
            return state.remembering(phase="improve")
        if not task.given and _is_star(state.fit):
            if self._unsure(task, state) is not None:
                return state.remembering(phase="confirm")
            if agreed(state):
                return replace(state, reason=StopReason.EXHAUSTED)
        return state.remembering(phase="hop")

    # ---- independent starts ----------------------------------------------------------------------------------

    def _drawn(self, task: Task, state: LearnerState, phase: str, rng: np.random.Generator) -> LearnerState:
        """Independent starts with the next number of states, or with one that had too few."""
        tried = {int(k): (int(n), float(score)) for k, n, score in state.memory["tried"]}
        k = max(tried) + 1 if phase == "look" else self._unsure(task, state)
        assert k is not None
        star = task.star(state.fit.model, 0)
        n = FEW if phase == "look" else MANY
        states, reached = run_starts(task, star, k, n, n // 4, rng)
        found = task.evaluate(star, states)
        before, best = tried.get(k, (0, -np.inf))
        tried[k] = (before + n, max(best, task.score(found)))
        ends = [*state.memory["ends"], *([found.n_parameters, value] for value in reached.tolist())]
        after = state.considering(
            task, f"{phase}: {k}", found, ends=ends, tried=[[k, *own] for k, own in tried.items()]
        )
        if phase == "look":
            best_k = max(tried, key=lambda k: tried[k][1])
            if k == task.max_states or k - best_k >= FALLS:
                return after.remembering(phase="improve")
            return after.remembering(phase="grow") if k >= LOOK and best_k == k else after
        if after.score > state.score + GAIN:
            return after.remembering(phase="improve")
        return after if self._unsure(task, after) is not None else self._next(task, after)

    def _unsure(self, task: Task, state: LearnerState) -> int | None:
        """A number of states, of the best and those beside it, with which too few starts were made; None if none."""
        best = int(state.fit.model.tree.cardinality[0])
        made = {int(k): int(n) for k, n, _ in state.memory["tried"]}
        near = (k for k in (best, best + 1, best - 1) if 1 < k <= task.max_states)
        unsure = next((k for k in near if made.get(k, 0) < MANY), None)
        if unsure is not None or best == 1 or agreed(state):
            return unsure
        return best if 4 * enough_ends(_own_ends(state)) <= CONFIRM and made[best] < CONFIRM else None

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

    def _improved(self, task: Task, star: Neighbourhood, score: float, rng: np.random.Generator) -> Fit | None:
        if star.is_whole:
            found = best_settled(task, star, star.states, score, rng, self.options.width)
        else:
            found = best_move(task, star, screen(task, star, star.states, rng), self.options.width)
        return None if found is None else self._whole(task, star, found[1])

    def _hop(self, task: Task, state: LearnerState, node: str, rng: np.random.Generator) -> LearnerState:
        star = task.star(state.fit.model, node)
        kind = self._kind(state, rng)
        begun = self._begun(task, star, kind, state, rng)
        found = None if begun is None else self._after_hop(task, star, begun, state, rng)
        after = state.considering(task, f"hop: {kind}", found)
        gained = after.score > state.score + WORTHWHILE
        hops = {k: [n + (k == kind), won + (k == kind and gained)] for k, (n, won) in state.memory["hops"].items()}
        quiet = 0 if gained else int(state.memory["quiet"]) + 1
        after = after.remembering(hops=hops, quiet=quiet)
        if begun is not None and found is not None and kind == "anew" and star.is_whole:  # nothing was kept
            drawn = [*state.memory["drawn"], _end(task.evaluate(star, begun))]
            after = after.remembering(drawn=drawn, rounds=[*state.memory["rounds"], _end(found)])
        if gained and not star.is_whole:  # what was frozen may have something to gain from it
            after = after.remembering(phase="improve", quiet=0)
        patience = self._patience(task, after.fit)
        enough = quiet >= patience or sum(n for n, _ in hops.values()) >= IN_ALL * patience or agreed(after)
        return replace(after, reason=StopReason.EXHAUSTED if enough else None)

    def _kind(self, state: LearnerState, rng: np.random.Generator) -> str:
        """New starts first, and as long as they reach the best; otherwise what has led further more often."""
        hops = state.memory["hops"]
        if hops["anew"][0] < ROUNDS or found_again(state, state.memory["rounds"]) > 1:
            return "anew"
        chance = np.array([(hops[kind][1] + 1) / (hops[kind][0] + 2) for kind in HOPS])
        return str(rng.choice(HOPS, p=chance / chance.sum()))

    def _begun(
        self, task: Task, star: Neighbourhood, kind: str, state: LearnerState, rng: np.random.Generator
    ) -> States | None:
        """Where a hop leads to before any improvements; None if nothing can be changed."""
        if kind == "anew":
            return self._anew(task, star, state, rng)
        found = screen(task, star, star.states, rng)
        return _changed_at_once(task, star, found, kind, self.options.width, rng)

    def _after_hop(
        self, task: Task, star: Neighbourhood, begun: States, state: LearnerState, rng: np.random.Generator
    ) -> Fit:
        """Where a hop leads to after all improvements."""
        width = self.options.width
        if star.is_whole:
            known = partial(_is_known, task, star, state)
            return task.evaluate(star, settle(task, star, begun, rng, width, known))
        return self._whole(task, star, improve(task, star, screen(task, star, begun, rng), rng, width)[1])

    def _anew(self, task: Task, star: Neighbourhood, state: LearnerState, rng: np.random.Generator) -> States:
        """The best of new starts; the first with the best number of states, then with that and more in turn."""
        made = int(state.memory["hops"]["anew"][0])
        more = 0 if made < AGREE else made % ABOVE
        n = ANEW if star.is_whole else self.options.width
        return run_starts(task, star, min(star.states.n + more, task.max_states), n, max(2, n // 16), rng)[0]

    def _patience(self, task: Task, fit: Fit) -> int:
        tree = fit.model.tree
        enough = max(LEAST, 2 * len(tree.latent))
        limit = self.options.effort / (task.table.n_patterns * tree.size)
        return int(np.clip(limit, enough, max(MOST if _is_star(fit) else MOST // 2, enough)))

    def _whole(self, task: Task, star: Neighbourhood, states: States) -> Fit:
        """The whole model with these states, all of its tables fitted."""
        return task.evaluate(star, states) if star.is_whole else task.fit(star.whole(states))


def found_again(state: LearnerState, ends: Sequence[Sequence[float]]) -> int:
    """How many of some ends are the best fit."""
    size, best = _end(state.fit)
    return sum(own == size and abs(value - best) < SAME for own, value in ends)


def _is_known(task: Task, star: Neighbourhood, state: LearnerState, states: States, score: float) -> bool:
    """Whether states are those of the best fit, from where nothing was found before."""
    return score <= state.score + GAIN and found_again(state, [_end(task.evaluate(star, states))]) > 0


def agreed(state: LearnerState) -> bool:
    """Whether independent starts agree in the best fit; with one state there is but one."""
    if not _is_star(state.fit) or state.fit.model.tree.cardinality[0] == 1:
        return _is_star(state.fit)
    return any(
        found_again(state, ends) >= max(least, 0 if len(ends) >= enough_ends(ends) else MOSTLY * len(ends))
        for least, ends in (
            (AGREE, _own_ends(state)),
            (AGREE, _own_ends(state, "drawn")),
            (enough_rounds(state), state.memory["rounds"]),
        )
    )


def enough_rounds(state: LearnerState) -> float:
    """How many hops that drew all classes anew must have found the best fit: half as many as there are pairs of states.

    They lead to fewer different ends than starts do, so that a rival can be found often, too; and a rival mostly has
    one state too many in one place and one too few in another, for which there are the more places the more states.
    """
    k = int(state.fit.model.tree.cardinality[0])
    return max(ROUNDS, k * (k - 1) / 4)


def enough_ends(ends: Sequence[Sequence[float]]) -> int:
    """How many ends are enough, by how many of them differ.

    The rule of [BoenderRinnooyKan1987] for local searches from random starts: if n of them met w different
    optima, w (n - 1) / (n - w - 2) are expected in all (all numbers and shares of optima being equally likely
    beforehand); it is enough when that is at most w + 1/2.

    Examples
    --------
    >>> [enough_ends([[1, 10.0 * i] for i in range(w)]) for w in (1, 2, 3)]
    [7, 16, 29]
    """
    ordered = sorted((size, value) for size, value in ends)
    w = 1 + sum(a[0] != b[0] or b[1] - a[1] > SAME for a, b in pairwise(ordered))
    return 2 * w * w + 3 * w + 2


def _own_ends(state: LearnerState, kind: str = "ends") -> list[list[float]]:
    """What independent starts with the best number of states have reached."""
    return [end for end in state.memory[kind] if end[0] == state.fit.n_parameters]


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
    hops: int = 0,
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
    hops : int
        How often to try it again from states drawn anew, or from several splits and merges at once.
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
    best = improve(task, star, screen(task, star, star.states, rng), rng, width)
    for hop in range(hops):
        if clock.expired:
            break
        found = screen(task, star, best[1], rng)
        drawn = _somewhere_else(task, star, found, HOPS[hop % len(HOPS)], width, rng)
        if drawn is not None:
            best = max(best, improve(task, star, screen(task, star, drawn, rng), rng, width), key=lambda own: own[0])
    return task.evaluate(star, best[1])


def _somewhere_else(
    task: Task, star: Neighbourhood, found: Screen, kind: str, width: int, rng: np.random.Generator
) -> States | None:
    """Where a hop goes: as many states drawn anew, or one more; or several splits and merges at once."""
    if kind == "anew":
        k = min(found.states.n + int(rng.integers(ABOVE)), task.max_states)
        return run_starts(task, star, k, width, 2, rng)[0]
    return _changed_at_once(task, star, found, kind, width, rng)


def _changed_at_once(
    task: Task, star: Neighbourhood, found: Screen, kind: str, width: int, rng: np.random.Generator
) -> States | None:
    """The best of some draws of several splits and merges; None if there are none."""
    drawn = (perturbed(found, rng, even=kind == "anywhere") for _ in range(width))
    starts = [states for states in drawn if states is not None]
    return task.fit_states(star, starts, finalists=2)[0] if starts else None
