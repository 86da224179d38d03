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

from .._model import Model, normalised
from .._table import Table
from .._trace import Step
from .._tree import Tree
from ..errors import ParameterError, bad_parameter
from ..estimation import Fit, em
from ..runner import StopReason
from . import _wide_start as construct
from ._beliefs import Beliefs
from ._evaluation import names_of, renumbered
from ._network import Graph, Network
from ._operators import Move
from ._proposals import Proposal, carried_out, propose, together
from ._relocate import NEAR as PLACES
from ._restricted import regularised
from ._state import OutOfTime, Search, State, standing

__all__ = ["OPTIONS", "begin", "step"]

OPTIONS: Mapping[str, Any] = {
    "loss": 40.0,
    "ahead": 6,
    "trials": 60,
    "shakes": 4,
    "starts": 3,
    "pieces": None,
    "root": None,
    "tol": 0.05,
    "iterations": 60,
}
"""``loss``: how much a move may lose to be tried when nothing gains; ``ahead``: steps that follow it; ``trials``: how
many such moves are tried before the tree is shaken (0: no looks ahead and no shakes); ``shakes``: how often in a row
that may fail; ``starts``: how often it climbs before it looks ahead. ``pieces``: the variables of a piece if the tree
to start from is put together from pieces, 0 if it is a star; None: pieces from ``WIDE`` variables on. ``root``: the
name of a variable that is to be an inner node, with its values seen: branches hang on it as on a latent. ``tol``,
``iterations``: when EM stops within the search."""

WIDE = 150
"""Variables from which on the tree to start from is put together from pieces, and moves are local."""
PIECE = 24
"""Variables of a piece, if nothing else is said."""
NEAR = 32
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


@dataclass(frozen=True)
class _Point:
    """A network and the fit it comes from."""

    network: Network
    fit: Fit
    score: float


def begin(search: Search) -> State:
    """The latent class model with two states, a tree of pieces, or the model the user gave."""
    if search.options["root"] is not None and (search.start is not None or search.options["pieces"]):
        raise ParameterError("The option 'root' of learn needs the start that belongs to it: no 'start', no 'pieces'.")
    if search.start is None and _piece(search):
        return construct.begin(search, _piece(search))
    if search.start is None:
        point = _star(search, 0)
    else:
        point = _fitted(search, regularised(Network.from_model(search.start)), search.n_jobs)
    return State(point.fit, point.score, "climb", memory=_FRESH)


_FRESH: Mapping[str, Any] = {"tried": [], "climbed": 0, "shaken": -1, "lower": None, "active": None, "swept": None}


def _piece(search: Search) -> int:
    """How many variables the pieces have that the start is put together from; 0: it is a star."""
    size = search.options["pieces"]
    if size is None:
        return PIECE if _wide(search) and search.options["root"] is None else 0
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise bad_parameter("pieces", "learn", "a whole number of at least 0, or None", size)
    return size


def _wide(search: Search) -> bool:
    return search.table.n_variables >= WIDE


def _climbed_alone(search: Search, piece: Table, rng: np.random.Generator) -> Model:
    """The tree of a piece: one climb from a star."""
    options = {**search.options, "pieces": 0, "starts": 1, "trials": 0}
    own = replace(search, table=piece, rng=rng, n_jobs=1, options=options, start=None, on_progress=None)
    state = begin(own)
    while not state.done:
        own.check_time()
        state, _ = step(own, state)
    return state.fit.model


def _star(search: Search, climb: int) -> _Point:
    root = search.options["root"]
    if root is None:
        tree = Tree.star(2 + climb % 2, search.table.cardinalities)
    else:
        tree = _under(root, search.table, climb % 2)
    network = Network.from_model(Model.random(tree, search.table.variables, search.rng))
    return _fitted(search, regularised(network), search.n_jobs)


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


def step(search: Search, state: State) -> tuple[State, Step | None]:
    """The next bundle of moves that raises the score, or the next look ahead that does."""
    if state.phase == "pieces":
        state, made = construct.step(search, state, _climbed_alone)
        return (replace(state, memory=_FRESH) if state.phase == "climb" else state), made
    here = _standing(search, state)
    if state.phase == "climb":
        return _step_up(search, state, here)
    return _escaped(search, state, here) if state.phase == "escape" else _shaken(search, state, here)


def _step_up(search: Search, state: State, here: _Point) -> tuple[State, Step | None]:
    """A bundle of moves; in a tree of many variables first of all around what the last one changed."""
    around, near = state.memory["active"], NEAR if _wide(search) else PLACES
    if around is None:
        state = state.to("climb", swept=here.score)
    beliefs = Beliefs(here.network, search.table)
    found = propose(search, here.network, beliefs, around=around, n_jobs=search.n_jobs, near=near)
    point, done = _bundle(search, here, found, search.n_jobs)
    if done:
        active = _changed(here, point, done) if _wide(search) else None
        return _moved(state, here, point, done, len(found), active=active)
    if around is not None and here.score - state.memory["swept"] > LITTLE * abs(here.score):
        return state.to("climb", active=None), None
    return _climbed(search, state)


def _changed(here: _Point, point: _Point, done: Sequence[Proposal]) -> list[int]:
    """The nodes around moves, as they are numbered when the new model is taken up."""
    graph = point.network.graph
    number = renumbered(graph)
    near = {v for p in done for g in (here.network.graph, graph) for v in _surroundings(g, p.move)}
    near |= {v for v in graph.near if v not in here.network.graph.near}
    return sorted(number.get(v, v) for v in near if v in graph.near)


def _standing(search: Search, state: State) -> _Point:
    """Where the climb is: at the best model so far, or still below it."""
    lower = state.memory["lower"]
    fit, score = state.fit, state.score
    if lower is not None:
        fit = standing(lower, search.table)
        score = search.criterion(fit)
    return _Point(Network.from_model(fit.model), fit, score)


def _moved(
    state: State, here: _Point, point: _Point, done: Sequence[Proposal], looked: int, **memory: Any
) -> tuple[State, Step]:
    names = names_of(here.fit.model.tree)
    made = Step.of(
        point.fit.model,
        phase=state.phase,
        kind="+".join(sorted({p.move.kind for p in done})),
        operation="; ".join(p.move.describe(names) for p in done),
        score=point.score,
        log_likelihood=point.fit.log_likelihood,
        candidates=looked,
    )
    return _reached(state.to("climb", **memory), point), made


def _reached(state: State, point: _Point) -> State:
    """The best model so far, and where the climb is if that is lower."""
    if point.score > state.score:
        return replace(state, fit=point.fit, score=point.score, memory={**state.memory, "lower": None})
    return state.to(state.phase, lower=point.fit.model)


def _climbed(search: Search, state: State) -> tuple[State, Step | None]:
    """Nothing gains any more: climb from another start, look ahead, or shake again."""
    if _wide(search):
        return replace(state, done=True), None
    shaken = state.memory["shaken"]
    if shaken >= 0:
        higher = state.memory["lower"] is None
        return state.to("escape" if higher else "shake", shaken=0 if higher else shaken + 1, lower=None), None
    climbed = state.memory["climbed"] + 1
    if climbed < search.options["starts"] and search.start is None:
        point = _star(search, climbed)
        made = Step.of(
            point.fit.model,
            phase="climb",
            kind="start",
            operation="another start" + (f", with {2 + climbed % 2} classes" if search.options["root"] is None else ""),
            score=point.score,
            log_likelihood=point.fit.log_likelihood,
        )
        return _reached(state.to("climb", climbed=climbed), point), made
    state = state.to("escape", climbed=search.options["starts"], shaken=0, lower=None)
    return replace(state, done=not search.options["trials"]), None


def forecast(search: Search) -> str | None:
    """How long a tree of many variables may take, and what it needs, if that is much."""
    if not _wide(search) or search.start is not None:
        return None
    cost = construct.expected(search.table)
    share = search.n_jobs**-0.7  # threads wait for each other now and then
    built = cost.pairs + share * cost.pieces
    whole = built + share * SWEEPS * cost.sweep
    if whole < PATIENCE and cost.megabytes < 1000:
        return None
    return (
        f"{search.table.n_variables:,} variables, {search.table.n_patterns:,} distinct rows: a first tree after about "
        f"{_told(cost.pairs)}, all of it learned piece by piece after {_told(built)}, improved by local moves until "
        f"{_told(whole)} or longer; memory about {cost.megabytes / 1000:,.1f} GB. Stop it at any time (time limit or "
        "Ctrl-C): the best tree so far is kept."
    )


def _told(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:,.0f} minutes" if seconds < 5400 else f"{seconds / 3600:,.1f} hours"


# ---- climbing -----------------------------------------------------------------------------------------------------


def _fitted(search: Search, network: Network, n_jobs: int) -> _Point:
    """All probabilities fitted; the nodes keep their numbers."""
    order, _ = network.graph.rooted()
    model = network.to_model(search.table.variables)
    model = model.with_parameters(normalised(model.tree, np.maximum(model.parameters, _FLOOR)))
    # the likelihood of many variables creeps up somewhere all the time
    tol, steps = search.options["tol"] * max(1.0, search.table.n_variables / WIDE), search.options["iterations"]
    fit = em(model, search.table, tol=tol, max_iterations=steps, budget=search.clock, n_jobs=n_jobs)
    if fit.reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    if fit.reason is StopReason.TIME:
        raise OutOfTime
    return _Point(Network.from_model(fit.model, order), fit, search.criterion(fit))


def _bundle(search: Search, here: _Point, found: Sequence[Proposal], n_jobs: int) -> tuple[_Point, list[Proposal]]:
    """Carry out what can be done together; if that does not pay, a third of it, and so on."""
    most, tries = None, 0
    left = list(found)
    while left and tries < 5:
        network, done = carried_out(together(left, here.network.graph, most), here.network)
        point = _fitted(search, network, n_jobs)
        if point.score > here.score + _GAIN:
            return point, done
        tries += 1
        if len(done) > 1:
            most = max(1, len(done) // 3)
        else:
            left = [p for p in left if p not in done] if done else left[1:]
    return here, []


# ---- looking ahead --------------------------------------------------------------------------------------------------


def _escaped(search: Search, state: State, here: _Point) -> tuple[State, Step | None]:
    """Try moves that lose, the least losing first, until one leads higher."""
    loss, trials = search.options["loss"], search.options["trials"]
    found = propose(search, here.network, Beliefs(here.network, search.table), least=-loss, n_jobs=search.n_jobs)
    tried = list(state.memory["tried"])
    seen = set(tried)
    todo = []
    for p in found:
        name = _name(p.move.applied(here.network.graph).regularised())
        if name not in seen:
            seen.add(name)
            todo.append((p, name))
    todo = todo[:trials]
    for first in range(0, len(todo), _BUNDLE):
        bundle = todo[first : first + _BUNDLE]
        tried += [name for _, name in bundle]
        ends = search.map(lambda item, rng: _ahead(search, here, item[0], rng), bundle, stage="looks ahead")
        best = max(range(len(ends)), key=lambda i: ends[i].score)
        if ends[best].score > here.score + _ESCAPE:
            return _moved(state, here, ends[best], [bundle[best][0]], first + len(bundle), tried=tried)
    return state.to("shake", tried=tried), None


def _shaken(search: Search, state: State, here: _Point) -> tuple[State, Step | None]:
    """Carry out a few moves that lose, chosen at random, and climb from there."""
    if state.memory["shaken"] >= search.options["shakes"]:
        return state.to("shake", done=True), None
    loss = search.options["loss"]
    found = propose(search, here.network, Beliefs(here.network, search.table), least=-loss, n_jobs=search.n_jobs)
    if not found:
        return state.to("shake", done=True), None
    order = search.rng.permutation(len(found))
    few = together([found[i] for i in order], here.network.graph, _FEW)
    network, done = carried_out(few, here.network)
    return _moved(state, here, _fitted(search, network, search.n_jobs), done, len(found))


def _ahead(search: Search, here: _Point, first: Proposal, rng: np.random.Generator) -> _Point:
    """Where a move and a few steps around it lead."""
    network, _ = carried_out([first], here.network)
    point = _fitted(search, network, 1)
    around = _surroundings(here.network.graph, first.move) | _surroundings(network.graph, first.move)
    for _ in range(search.options["ahead"]):
        beliefs = Beliefs(point.network, search.table)
        found = propose(search, point.network, beliefs, around=around, rng=rng)
        after, done = _bundle(search, point, found, 1)
        if not done:
            break
        for p in done:
            around |= _surroundings(point.network.graph, p.move) | _surroundings(after.network.graph, p.move)
        point = after
    return point


def _surroundings(graph: Graph, move: Move) -> set[int]:
    """The nodes of a move that are there, and their neighbours."""
    nodes = move.nodes[:2] if move.kind == "UN" else move.nodes
    own = {v for v in nodes if v in graph.near}
    return own.union(*(graph.near[v] for v in own)) if own else set()


def _name(graph: Graph) -> str:
    return hashlib.sha256(repr(graph.key()).encode()).hexdigest()[:16]
