"""Single hill climbing ([Zhang2004] 3): expand by unit improvement, then retract by score, until neither helps.

Every candidate is fitted by full EM. :mod:`latentree.search._hshc` climbs in the same way and judges candidates faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._model import Model
from .._trace import Step
from ..method import Options, option
from ._beliefs import Beliefs
from ._evaluation import fitted, forecast, improvement_ratio, moved, point_of, star
from ._network import Graph
from ._operators import Kind, Move, reachable
from ._restricted import Effort, EffortRule, evaluate, model_of
from ._task import Point, SearchMethod, State, Task

Generator = np.random.Generator

FULL = (64, 500, 0.01)
"""Full EM as in [Zhang2004] 5."""
FIRST = Effort(4, 10, 0.1)
"""What makes the start that full EM has beside the random ones."""


@dataclass(frozen=True)
class Judged:
    """A candidate with its parameters and by how much it raises the score."""

    move: Move  # what is done
    model: Model  # where it leads
    gain: float  # by how much the score rises: truly if ``point`` is there, otherwise as estimated
    dimension: int  # what the penalty counts
    point: Point | None = None  # the model with all of its parameters fitted


@dataclass(frozen=True)
class HillClimbingOptions(Options):
    """Options of single hill climbing."""

    full: tuple[int, int, float] = option(FULL, EffortRule(), "starts, steps and least gain of full EM")


class SingleHillClimbing(SearchMethod):
    """Single hill climbing; see the top of this module."""

    Options = HillClimbingOptions

    def forecast(self, task: Task) -> str | None:
        """What the first step will take, if that is much."""
        return forecast(task)

    def init(self, task: Task, rng: Generator) -> State:
        """Let m be the LC model with a binary latent node."""
        first = star(task, self.options.full, rng)
        return State(first, "expand", memory={"before": first.score})

    def step(self, task: Task, state: State, rng: Generator) -> tuple[State, Step | None]:
        """The next change that raises the score, in phase I (expand) or phase II (retract)."""
        beliefs = Beliefs(state.network, task.table)
        n = 0

        def judged(kind: Kind) -> list[Judged]:
            nonlocal n
            candidates = list(reachable(state.network.graph, (kind,), reach=1))
            n += len(candidates)
            return self._judge(task, state, beliefs, candidates, rng)

        while True:
            ranked = (_phase_one if state.phase == "expand" else _phase_two)(task, state, judged)
            few = [(c, self._fitted(task, c, rng)) for c in ranked[: self._finalists(task)]]
            chosen, point = max(few, key=lambda own: own[1].score, default=(None, None))
            if chosen is not None and point is not None and point.score > state.score:
                return moved(state, chosen.move, point, state.phase, candidates=n)
            # If BIC(m') <= BIC(m) after a phase, return m
            if state.score <= state.memory["before"]:
                return state.to(state.phase, finished=True), None
            state = state.to("retract" if state.phase == "expand" else "expand", before=state.score)

    def _finalists(self, task: Task) -> int:
        """How many of the best candidates are fitted by full EM: here all are already."""
        return 1

    def _fitted(self, task: Task, candidate: Judged, rng: Generator) -> Point:
        return candidate.point or point_of(task, fitted(task, self.options.full, candidate.model, rng))

    def _judge(
        self, task: Task, state: State, beliefs: Beliefs, candidates: Sequence[tuple[Move, Graph]], rng: Generator
    ) -> list[Judged]:
        """Fit every candidate by full EM."""

        def one(item: tuple[Move, Graph], rng: Generator) -> Judged:
            move, graph = item
            start = model_of(evaluate(move, beliefs, FIRST, rng), state.network, task.table.variables)
            point = point_of(task, fitted(task, self.options.full, start, rng, n_jobs=1))
            gain = point.score - state.score
            return Judged(move, point.fit.model, gain, task.criterion.dimension(graph), point)

        return task.map(one, candidates, rng)


def _phase_one(task: Task, state: State, judged: Callable[[Kind], list[Judged]]) -> list[Judged]:
    """Candidates of phase I, the best first."""
    # Remove from NR(m) all models m' s.t. BIC(m') <= BIC(m)
    better = [c for c in judged("NR") if c.gain > 0]
    # If there is m' in NR(m) s.t. d(m') <= d(m): m = m' and continue
    d = task.criterion.dimension(state.network.graph)
    free = [c for c in better if c.dimension <= d]
    if free:
        return sorted(free, key=lambda c: -c.gain)
    # Find m' in NR(m), NI(m) and SI(m) that maximizes U(m', m | D)
    ratio = improvement_ratio(d)
    return sorted([*better, *judged("NI"), *judged("SI")], key=lambda c: -ratio(c.gain, c.dimension))


def _phase_two(task: Task, state: State, judged: Callable[[Kind], list[Judged]]) -> list[Judged]:
    # Find the model m' in ND(m) and SD(m) that maximizes BIC(m' | D)
    return sorted([*judged("ND"), *judged("SD")], key=lambda c: -c.gain)
