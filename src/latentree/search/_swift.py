"""Our own search: the operators and the principle of the sources, with the work taken out of them.

It climbs from a latent class model, several times: with two states, with three, and so on by turns. A step looks at all
moves of all kinds at once: new nodes that the completed data speak for, all relocations, more and fewer states, and
unions of two latents. It carries out together all that do not touch each other, fits all probabilities, and tries a
third of the bundle if that did not pay. More states are held back where a new node gains more for each parameter.

When nothing gains any more, it looks ahead: moves that lose a little are carried out one by one, and the search goes on
for a few steps around them; what ends higher is kept. At last the tree is shaken: a few such moves, chosen at random,
are carried out together, and it climbs again from there.

Of many variables it first makes a tree from pieces (:mod:`latentree.search._wide_start`). It climbs from there once, by
local moves, looks first where the last step changed something, and ends when nothing gains.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._model import Model
from .._table import Table
from .._trace import Step
from .._tree import Tree
from ..errors import ParameterError, bad_parameter
from ..estimation import em
from ..method import AnyOf, Number, OneOf, Options, Text, Whole, option
from . import _wide_start as wide_start
from ._beliefs import Beliefs
from ._evaluation import names_of, renumbered, whole
from ._network import Graph, Network
from ._operators import Move
from ._proposals import Proposal, carried_out, propose, together
from ._relocate import PLACES
from ._restricted import regularised
from ._task import Point, SearchMethod, State, Task

Generator = np.random.Generator

WIDE = 150
"""Variables from which on the tree to start from is put together from pieces, and moves are local."""
PIECE = 24
"""Variables of a piece, if nothing else is said."""
FEW_PLACES = 32
"""Places that a branch is tried at in a tree of many variables."""
LITTLE = 1e-5
"""A tree of many variables is looked at as a whole again if its score has risen by this share since the last time."""

PATIENCE = 120.0
"""Seconds beyond which a search of many variables is announced."""
SWEEPS = 7
"""Looks at all moves of a tree of many variables until nothing gains, as far as seen."""

_GAIN = 0.01
"""Least gain of a step."""
_ESCAPE = 0.5
"""Least gain of a look ahead."""
_FLOOR = 1e-5
"""Probabilities of zero could not be left again by EM: they start from here."""
_FEW = 5
"""Moves of a shake."""
_BUNDLE = 4
"""Looks ahead that are taken side by side, whatever the threads."""


_FRESH: Mapping[str, Any] = {"tried": [], "climbed": 0, "shaken": -1, "lower": None, "active": None, "swept": None}


@dataclass(frozen=True)
class SwiftOptions(Options):
    """Options of our own search."""

    loss: float = option(40.0, Number(least=0), "how much a move may lose to be tried when nothing gains")
    ahead: int = option(6, Whole(0), "steps that follow such a move")
    trials: int = option(60, Whole(0), "such moves before the tree is shaken; 0: no looks ahead and no shakes")
    shakes: int = option(4, Whole(0), "how often in a row shaking may fail")
    starts: int = option(3, Whole(1), "how often it climbs before it looks ahead")
    pieces: int | None = option(
        None,
        AnyOf(Whole(0), OneOf(None)),
        f"variables of a piece if the first tree is put together from pieces, 0: it is a star, None: pieces from "
        f"{WIDE} variables on",
    )
    root: str | None = option(
        None,
        AnyOf(OneOf(None), Text("the name of a variable")),
        "a variable that is to be an inner node, with its values observed",
    )
    tol: float = option(0.05, Number(least=0), "the gain of a step at which EM stops within the search")
    iterations: int = option(60, Whole(1), "most steps of EM within the search")


class Swift(SearchMethod):
    """Our own search; see the top of this module."""

    Options = SwiftOptions

    def init(self, task: Task, rng: Generator) -> State:
        """The latent class model with two states, a tree of pieces, or the model the user gave."""
        if self.options.root is not None and (task.start is not None or self.options.pieces):
            raise ParameterError(
                "The option 'root' of learn needs the start that belongs to it: no 'start', no 'pieces'."
            )
        if task.start is None and self._piece(task):
            return wide_start.init(task, self._piece(task))
        if task.start is None:
            point = self._star(task, 0, rng)
        else:
            point = self._fitted(task, regularised(Network.from_model(task.start)), task.n_jobs)
        return State(_settled(point), "climb", memory=_FRESH)

    def _piece(self, task: Task) -> int:
        """How many variables the pieces have that the start is put together from; 0: it is a star."""
        size: int | None = self.options.pieces
        if size is None:
            return PIECE if _wide(task) and self.options.root is None else 0
        return size

    def _learn_piece(self, task: Task, piece: Table, rng: Generator) -> Model:
        """The tree of a piece: one climb from a star."""
        climber = Swift(replace(self.options, pieces=0, starts=1, trials=0))
        own = replace(task, table=piece, n_jobs=1, start=None, on_progress=None)
        state = climber.init(own, rng)
        while not state.finished:
            own.check_time()
            state, _ = climber.step(own, state, rng)
        return state.best.fit.model

    def _star(self, task: Task, climb: int, rng: Generator) -> Point:
        root = self.options.root
        if root is None:
            tree = Tree.star(2 + climb % 2, task.table.cardinalities)
        else:
            tree = _under(root, task.table, climb % 2)
        network = Network.from_model(Model.random(tree, task.table.variables, rng))
        return self._fitted(task, regularised(network), task.n_jobs)

    def step(self, task: Task, state: State, rng: Generator) -> tuple[State, Step | None]:
        """The next bundle of moves that raises the score, or the next look ahead that does."""
        if state.phase == "pieces":
            state, made = wide_start.step(task, state, self._learn_piece, rng)
            return (replace(state, memory=_FRESH) if state.phase == "climb" else state), made
        # where the climb is: at the best model so far, or still below it
        here = state.memory["lower"] or state.best
        if state.phase == "climb":
            return self._climb(task, state, here, rng)
        return (self._look_ahead if state.phase == "escape" else self._shake)(task, state, here, rng)

    def _climb(self, task: Task, state: State, here: Point, rng: Generator) -> tuple[State, Step | None]:
        """A bundle of moves; in a tree of many variables first of all around what the last one changed."""
        around, n_places = state.memory["active"], FEW_PLACES if _wide(task) else PLACES
        if around is None:
            state = state.to("climb", swept=here.score)
        more = {"around": around, "n_jobs": task.n_jobs, "n_places": n_places}
        found = propose(task, _beliefs(task, here), rng, parallel=True, **more)
        point, done = self._bundle(task, here, found, task.n_jobs)
        if done:
            active = _changed(here, point, done) if _wide(task) else None
            return _moved(state, here, point, done, len(found), active=active)
        if around is not None and here.score - state.memory["swept"] > LITTLE * abs(here.score):
            return state.to("climb", active=None), None
        return self._climbed(task, state, rng)

    def _climbed(self, task: Task, state: State, rng: Generator) -> tuple[State, Step | None]:
        """Nothing gains any more: climb from another start, look ahead, or shake again."""
        if _wide(task):
            return replace(state, finished=True), None
        shaken = state.memory["shaken"]
        if shaken >= 0:
            higher = state.memory["lower"] is None
            return state.to("escape" if higher else "shake", shaken=0 if higher else shaken + 1, lower=None), None
        climbed = state.memory["climbed"] + 1
        if climbed < self.options.starts and task.start is None:
            point = self._star(task, climbed, rng)
            classes = f", with {2 + climbed % 2} classes" if self.options.root is None else ""
            made = point.step("climb", "start", f"another start{classes}")
            return _reached(state.to("climb", climbed=climbed), point), made
        state = state.to("escape", climbed=self.options.starts, shaken=0, lower=None)
        return replace(state, finished=not self.options.trials), None

    def _look_ahead(self, task: Task, state: State, here: Point, rng: Generator) -> tuple[State, Step | None]:
        """Try moves that lose, the least losing first, until one leads higher."""
        found = self._losing(task, here, rng)
        tried = list(state.memory["tried"])
        seen = set(tried)
        todo = []
        for p in found:
            name = _name(p.move.applied(here.network.graph).regularised())
            if name not in seen:
                seen.add(name)
                todo.append((p, name))
        todo = todo[: self.options.trials]
        for first in range(0, len(todo), _BUNDLE):
            bundle = todo[first : first + _BUNDLE]
            tried += [name for _, name in bundle]
            ends = task.map(lambda item, rng: self._ahead(task, here, item[0], rng), bundle, rng, stage="looks ahead")
            best = max(range(len(ends)), key=lambda i: ends[i].score)
            if ends[best].score > here.score + _ESCAPE:
                return _moved(state, here, ends[best], [bundle[best][0]], first + len(bundle), tried=tried)
        return state.to("shake", tried=tried), None

    def _shake(self, task: Task, state: State, here: Point, rng: Generator) -> tuple[State, Step | None]:
        """Carry out a few moves that lose, chosen at random, and climb from there."""
        if state.memory["shaken"] >= self.options.shakes:
            return state.to("shake", finished=True), None
        found = self._losing(task, here, rng)
        if not found:
            return state.to("shake", finished=True), None
        order = rng.permutation(len(found))
        few = together([found[i] for i in order], here.network.graph, _FEW)
        network, done = carried_out(few, here.network)
        return _moved(state, here, self._fitted(task, network, task.n_jobs), done, len(found))

    def _losing(self, task: Task, here: Point, rng: Generator) -> list[Proposal]:
        """All moves, those included that lose a little."""
        least = -self.options.loss
        return propose(task, _beliefs(task, here), rng, parallel=True, least=least, n_jobs=task.n_jobs)

    def _ahead(self, task: Task, here: Point, first: Proposal, rng: Generator) -> Point:
        """Where a move and a few steps around it lead."""
        network, _ = carried_out([first], here.network)
        point = self._fitted(task, network, 1)
        around = _surroundings(here.network.graph, first.move) | _surroundings(network.graph, first.move)
        for _ in range(self.options.ahead):
            found = propose(task, _beliefs(task, point), rng, around=around)
            after, done = self._bundle(task, point, found, 1)
            if not done:
                break
            for p in done:
                around |= _surroundings(point.network.graph, p.move) | _surroundings(after.network.graph, p.move)
            point = after
        return point

    def _bundle(self, task: Task, here: Point, found: Sequence[Proposal], n_jobs: int) -> tuple[Point, list[Proposal]]:
        """Carry out what can be done together; if that does not pay, a third of it, and so on."""
        most, tries = None, 0
        left = list(found)
        while left and tries < 5:
            network, done = carried_out(together(left, here.network.graph, most), here.network)
            point = self._fitted(task, network, n_jobs)
            if point.score > here.score + _GAIN:
                return point, done
            tries += 1
            if len(done) > 1:
                most = max(1, len(done) // 3)
            else:
                left = [p for p in left if p not in done] if done else left[1:]
        return here, []

    def _fitted(self, task: Task, network: Network, n_jobs: int) -> Point:
        """All probabilities fitted; the nodes keep their numbers."""
        order, _ = network.graph.rooted()
        model = network.to_model(task.table.variables, least=_FLOOR)
        # the likelihood of many variables creeps up somewhere all the time
        tol = self.options.tol * max(1.0, task.table.n_variables / WIDE)
        steps = self.options.iterations
        fit = whole(em(model, task.table, tol=tol, max_iterations=steps, budget=task.clock, n_jobs=n_jobs))
        return Point(fit, task.criterion(fit), tuple(order))

    def forecast(self, task: Task) -> str | None:
        """How long a tree of many variables may take, and what it needs, if that is much."""
        if not _wide(task) or task.start is not None:
            return None
        cost = wide_start.expected(task.table)
        share = task.n_jobs**-0.7  # threads wait for each other now and then
        built = cost.pairs + share * cost.pieces
        whole = built + share * SWEEPS * cost.sweep
        if whole < PATIENCE and cost.megabytes < 1000:
            return None
        return (
            f"{task.table.n_variables:,} variables, {task.table.n_patterns:,} distinct rows: a first tree after about "
            f"{_duration(cost.pairs)}, all of it learned piece by piece after {_duration(built)}, improved by local "
            f"moves until {_duration(whole)} or longer; memory about {cost.megabytes / 1000:,.1f} GB. Stop it at any "
            "time (time limit or Ctrl-C): the best tree so far is kept."
        )


def _wide(task: Task) -> bool:
    return task.table.n_variables >= WIDE


def _beliefs(task: Task, point: Point) -> Beliefs:
    return Beliefs(point.network, task.table)


def _under(root: str, table: Table, latents: int) -> Tree:
    """All other variables below one of them (naive Bayes), or below one latent that hangs on it."""
    states = {v.name: v.cardinality for v in table.variables}
    if root not in states:
        raise bad_parameter("root", "learn", "the name of a variable that varies", root)
    z = "z"
    while z in states:
        z += "_"
    edges = [(z if latents else root, name) for name in states if name != root]
    return Tree.from_edges(
        [*([(root, z)] * latents), *edges], {**states, **({z: 2} if latents else {})}, table.names, root=root
    )


def _settled(point: Point) -> Point:
    """The point with its nodes numbered in the order of its model, as a checkpoint would give it back."""
    return Point(point.fit, point.score)


def _moved(
    state: State, here: Point, point: Point, done: Sequence[Proposal], candidates: int, **memory: Any
) -> tuple[State, Step]:
    names = names_of(here.fit.model.tree)
    kind = "+".join(sorted({p.move.kind for p in done}))
    made = point.step(state.phase, kind, "; ".join(p.move.describe(names) for p in done), candidates=candidates)
    return _reached(state.to("climb", **memory), point), made


def _reached(state: State, point: Point) -> State:
    """The best model so far, and where the climb is if that is lower."""
    if point.score > state.score:
        return replace(state, best=_settled(point), memory={**state.memory, "lower": None})
    return state.to(state.phase, lower=_settled(point))


def _changed(here: Point, point: Point, done: Sequence[Proposal]) -> list[int]:
    """The nodes around moves, as they are numbered when the new model is taken up."""
    graph = point.network.graph
    number = renumbered(graph)
    changed = {v for p in done for g in (here.network.graph, graph) for v in _surroundings(g, p.move)}
    changed |= {v for v in graph.neighbours if v not in here.network.graph.neighbours}
    return sorted(number.get(v, v) for v in changed if v in graph.neighbours)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:,.0f} minutes" if seconds < 5400 else f"{seconds / 3600:,.1f} hours"


def _surroundings(graph: Graph, move: Move) -> set[int]:
    """The nodes of a move that are there, and their neighbours."""
    nodes = move.nodes[:2] if move.kind == "UN" else move.nodes
    own = {v for v in nodes if v in graph.neighbours}
    return own.union(*(graph.neighbours[v] for v in own)) if own else set()


def _name(graph: Graph) -> str:
    return hashlib.sha256(repr(graph.key()).encode()).hexdigest()[:16]
