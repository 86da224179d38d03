"""Single hill climbing (Z 3): expand by unit improvement, then retract by score, until neither helps.

Every candidate is fitted by full EM. :mod:`latentree.search._hshc` climbs in the same way and judges candidates faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._model import Model
from .._trace import Step
from ..estimation import Fit
from ._beliefs import Beliefs
from ._evaluation import fitted, forecast, moved, star, unit_improvement
from ._network import Graph, Network
from ._operators import Kind, Move, neighbours
from ._restricted import Effort, evaluate, model_of
from ._state import Search, State

__all__ = ["OPTIONS", "Judge", "Judged", "begin", "climb", "forecast", "step"]

OPTIONS: Mapping[str, Any] = {"full": (64, 500, 0.01)}
"""(starts, steps, least gain) of ``full`` EM, as in Z 5."""

FIRST = Effort(4, 10, 0.1)
"""What makes the start that full EM has beside the random ones."""


@dataclass(frozen=True)
class Judged:
    """A candidate with its parameters and its score; ``fit`` if all of its parameters were fitted."""

    move: Move
    model: Model
    score: float
    dimension: int
    fit: Fit | None = None


Judge = Callable[[Search, Beliefs, Sequence[tuple[Move, Graph]]], list[Judged]]
"""What finds parameters and scores of candidates."""


def begin(search: Search) -> State:
    """Let m be the LC model with a binary latent node."""
    state = star(search)
    return state.to("expand", before=state.score)


def step(search: Search, state: State) -> tuple[State, Step | None]:
    """The next change that raises the score."""
    return climb(search, state, fully)


def fully(search: Search, beliefs: Beliefs, candidates: Sequence[tuple[Move, Graph]]) -> list[Judged]:
    """Fit every candidate by full EM."""

    def one(item: tuple[Move, Graph], rng: np.random.Generator) -> Judged:
        move, graph = item
        start = model_of(evaluate(move, beliefs, FIRST, rng), beliefs.network, search.table.variables)
        fit = fitted(search, start, rng, n_jobs=1)
        return Judged(move, fit.model, search.criterion(fit), search.criterion.dimension(graph), fit)

    return search.map(one, candidates)


def climb(search: Search, state: State, judge: Judge) -> tuple[State, Step | None]:
    """The next step of phase I (expand) or phase II (retract)."""
    network = Network.from_model(state.fit.model)
    beliefs = Beliefs(network, search.table)

    looked = 0

    def judged(kind: Kind) -> list[Judged]:
        nonlocal looked
        candidates = list(neighbours(network.graph, (kind,), reach=1))
        looked += len(candidates)
        return judge(search, beliefs, candidates)

    while True:
        chosen = (_phase_one if state.phase == "expand" else _phase_two)(search, state, network.graph, judged)
        if chosen is not None:
            fit = chosen.fit or fitted(search, chosen.model, search.rng)
            score = chosen.score if chosen.fit else search.criterion(fit)
            if score > state.score:
                return moved(state, chosen.move, fit, score, candidates=looked, to=state.phase)
        # If BIC(m') <= BIC(m) after a phase, return m
        if state.score <= state.memory["before"]:
            return state.to(state.phase, done=True), None
        state = state.to("retract" if state.phase == "expand" else "expand", before=state.score)


def _phase_one(search: Search, state: State, graph: Graph, judged: Callable[[Kind], list[Judged]]) -> Judged | None:
    # Remove from NR(m) all models m' s.t. BIC(m') <= BIC(m)
    better = [c for c in judged("NR") if c.score > state.score]
    # If there is m' in NR(m) s.t. d(m') <= d(m): m = m' and continue
    d = search.criterion.dimension(graph)
    free = [c for c in better if c.dimension <= d]
    if free:
        return max(free, key=lambda c: c.score)
    # Find m' in NR(m), NI(m) and SI(m) that maximizes U(m', m | D)
    u = unit_improvement(state.score, d)
    return max([*better, *judged("NI"), *judged("SI")], key=lambda c: u(c.score, c.dimension), default=None)


def _phase_two(search: Search, state: State, graph: Graph, judged: Callable[[Kind], list[Judged]]) -> Judged | None:
    # Find the model m' in ND(m) and SD(m) that maximizes BIC(m' | D)
    return max([*judged("ND"), *judged("SD")], key=lambda c: c.score, default=None)
