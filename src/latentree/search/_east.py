"""EAST: expansion, adjustment, simplification until termination ([ChenZhangWang] figure 3).

``ratio=True`` is EAST, which chooses among expansions by improvement ratio; ``ratio=False`` is EAST0, which chooses by
score. Candidates are judged by restricted likelihood ([ChenZhangWang] 2.4): in the stages of the original program by
default, or, with ``screening=None, evaluation=(8, 40, 0.1)``, as in [ChenZhangWang] (mu = 8 starts, nu = 40 steps).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._trace import Step
from ..method import AnyOf, Flag, OneOf, Options, Whole, option
from ._beliefs import Beliefs
from ._evaluation import FULL, Rank, best_fitted, by_gain, forecast, improvement_ratio, moved, renumbered, staged, star
from ._network import Graph, Network
from ._operators import ADJUST, EXPAND, Kind, Move, reachable
from ._restricted import EffortRule, Evaluated, applied, regularised
from ._task import SearchMethod, State, Task

Generator = np.random.Generator

KINDS: Mapping[str, tuple[Kind, ...]] = {
    "expand": EXPAND,
    "enhance": ADJUST,
    "adjust": ADJUST,
    "delete": ("ND",),
    "thin": ("SD",),
}
NEXT = {"expand": "adjust", "enhance": "expand", "adjust": "delete", "delete": "thin", "thin": "expand"}
"""The phase after one that finds nothing better; a round ends with ``thin``."""


@dataclass(frozen=True)
class EastOptions(Options):
    """Options of EAST; efforts are starts, steps and least gain of EM."""

    ratio: bool = option(True, Flag(), "choose among expansions by improvement ratio (EAST) or by score (EAST0)")
    screening: tuple[int, int, float] | None = option(
        (4, 10, 0.1), AnyOf(EffortRule(), OneOf(None)), "effort for all candidates; None: all are evaluated at once"
    )
    kept: int = option(50, Whole(1), "candidates that are evaluated after screening")
    evaluation: tuple[int, int, float] = option((16, 20, 0.1), EffortRule(), "effort for these")
    full: tuple[int, int, float] = option(FULL, EffortRule(), "effort for the winner")
    finalists: int = option(3, Whole(1), "how many are fitted when the score is no penalised likelihood")


class East(SearchMethod):
    """EAST and EAST0; see the top of this module."""

    Options = EastOptions

    def forecast(self, task: Task) -> str | None:
        """What the first step will take, if that is much."""
        return forecast(task)

    def init(self, task: Task, rng: Generator) -> State:
        """The latent class model with a binary latent."""
        first = star(task, self.options.full, rng)
        return State(first, "expand", memory={"round": first.score})

    def step(self, task: Task, state: State, rng: Generator) -> tuple[State, Step | None]:
        """The next change that raises the score."""
        beliefs = Beliefs(state.network, task.table)
        while True:
            found = self._best(task, state, beliefs, rng)
            if found is not None:
                return found
            if state.phase == "thin":
                # If BIC(m3) <= BIC(m), return m; else m <- m3
                if state.score <= state.memory["round"]:
                    return state.to("expand", finished=True), None
                state = state.to("expand", round=state.score)
            else:
                state = state.to(NEXT[state.phase])

    def _best(self, task: Task, state: State, beliefs: Beliefs, rng: Generator) -> tuple[State, Step] | None:
        """m1 <- arg max over the phase's operators, if it is better than m."""
        graph = state.network.graph
        candidates = _enhancements(state, graph) if state.phase == "enhance" else reachable(graph, KINDS[state.phase])
        rank: Rank = by_gain
        if self.options.ratio and state.phase == "expand":  # [ChenZhangWang] 1
            rank = improvement_ratio(task.criterion.dimension(graph))
        ranked, n = staged(task, self.options, beliefs, candidates, rng, rank)
        if not ranked:
            return None
        point, winner = best_fitted(task, self.options, state, ranked, rng, rank)
        if point.score <= state.score:
            return None
        phase, memory = _onwards(state, winner.found, state.network)
        return moved(state, winner.found.move, point, phase, candidates=n, memory=memory)


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
    """enhanceNI ([ChenZhangWang] 2.2): the other neighbours of the node that was divided may follow to the new one."""
    old, new = state.memory["between"]
    tried = [Move("NR", (z, old, new)) for z in graph.neighbours[old] if z != new]
    reached = [(move, move.applied(graph).regularised()) for move in tried]
    return [(move, after) for move, after in reached if after.key() != graph.key()]
