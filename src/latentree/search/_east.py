"""EAST: expansion, adjustment, simplification until termination (C figure 3).

``ratio=True`` is EAST, which chooses among expansions by improvement ratio; ``ratio=False`` is EAST0, which chooses by
score. Candidates are judged by restricted likelihood (C 2.4): in the stages of the original program by default, or,
with ``screening=None, evaluation=(8, 40, 0.1)``, as in C (mu = 8 starts, nu = 40 steps).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._trace import Step
from ._beliefs import Beliefs
from ._evaluation import FULL, Rank, best_fitted, by_score, forecast, moved, renumbered, staged, star, unit_improvement
from ._network import Graph, Network
from ._operators import ADJUST, EXPAND, Kind, Move, neighbours
from ._restricted import Evaluated, applied, regularised
from ._state import Search, State

__all__ = ["OPTIONS", "begin", "forecast", "step"]

OPTIONS: Mapping[str, Any] = {
    "ratio": True,
    "screening": (4, 10, 0.1),
    "kept": 50,
    "evaluation": (16, 20, 0.1),
    "full": FULL,
    "finalists": 3,
}
"""``ratio``: EAST or EAST0. (starts, steps, least gain) of ``screening`` (or None), of ``evaluation`` of the best
``kept``, and of ``full`` EM. ``finalists``: how many are fitted when the score is no penalised likelihood."""

KINDS: Mapping[str, tuple[Kind, ...]] = {
    "expand": EXPAND,
    "enhance": ADJUST,
    "adjust": ADJUST,
    "delete": ("ND",),
    "thin": ("SD",),
}
NEXT = {"expand": "adjust", "enhance": "expand", "adjust": "delete", "delete": "thin", "thin": "expand"}
"""The phase after one that finds nothing better; a round ends with ``thin``."""


def begin(search: Search) -> State:
    """The latent class model with a binary latent."""
    state = star(search)
    return state.to("expand", round=state.score)


def step(search: Search, state: State) -> tuple[State, Step | None]:
    """The next change that raises the score."""
    network = Network.from_model(state.fit.model)
    beliefs = Beliefs(network, search.table)
    while True:
        found = _best(search, state, network, beliefs)
        if found is not None:
            return found
        if state.phase == "thin":
            # If BIC(m3) <= BIC(m), return m; else m <- m3
            if state.score <= state.memory["round"]:
                return state.to("expand", done=True), None
            state = state.to("expand", round=state.score)
        else:
            state = state.to(NEXT[state.phase])


def _best(search: Search, state: State, network: Network, beliefs: Beliefs) -> tuple[State, Step] | None:
    """m1 <- arg max over the phase's operators, if it is better than m."""
    graph = network.graph
    reachable = _enhancements(state, graph) if state.phase == "enhance" else neighbours(graph, KINDS[state.phase])
    rank: Rank = by_score
    if search.options["ratio"] and state.phase == "expand":  # C 1
        rank = unit_improvement(state.score, search.criterion.dimension(graph))
    ranked, n = staged(search, beliefs, reachable, rank)
    if not ranked:
        return None
    fit, score, winner = best_fitted(search, network, ranked, rank)
    if score <= state.score:
        return None
    to, memory = _onwards(state, winner.found, network)
    return moved(state, winner.found.move, fit, score, candidates=n, to=to, memory=memory)


def _onwards(state: State, found: Evaluated, network: Network) -> tuple[str, Mapping[str, Any]]:
    """The phase that follows a change: a new node is enhanced at once, between the node it divided and itself."""
    if state.phase == "enhance":
        old, new = state.memory["between"]
    elif found.move.kind == "NI":
        old, new = found.move.nodes[0], network.graph.fresh()
    else:
        return state.phase, {}
    called = renumbered(regularised(applied(found, network)).graph)
    if old in called and new in called:
        return "enhance", {"between": [called[old], called[new]]}
    return "expand", {}


def _enhancements(state: State, graph: Graph) -> Iterable[tuple[Move, Graph]]:
    """enhanceNI (C 2.2): the other neighbours of the node that was divided may follow to the new one."""
    old, new = state.memory["between"]
    tried = [Move("NR", (z, old, new)) for z in graph.near[old] if z != new]
    reached = [(move, move.applied(graph).regularised()) for move in tried]
    return [(move, after) for move, after in reached if after.key() != graph.key()]
