"""Heuristic single hill climbing ([Zhang2004] 4): candidates are ranked on completed data, the best K fitted.

Local EM moves all tables that involve the place of the change ([Zhang2004] 4.7); the model that is chosen is fitted by
full EM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._model import Model
from ..estimation import evaluate as judged
from ..estimation._local import Place
from ..method import Whole, option
from ._beliefs import Beliefs
from ._completed import CompletedData
from ._evaluation import estimated_gain, fitted, renumbered
from ._network import Graph
from ._operators import Move
from ._restricted import EffortRule, Evaluated, applied, evaluate, regularised
from ._shc import FIRST, FULL, HillClimbingOptions, Judged, SingleHillClimbing
from ._task import State, Task

Generator = np.random.Generator


@dataclass(frozen=True)
class HeuristicOptions(HillClimbingOptions):
    """Options of heuristic hill climbing."""

    k: int = option(3, Whole(1), "candidates of each operator that are fitted")
    local: tuple[int, int, float] = option(FULL, EffortRule(), "starts, steps and least gain of local EM")
    finalists: int = option(3, Whole(1), "how many are fitted when the score is no penalised likelihood")


class HeuristicHillClimbing(SingleHillClimbing):
    """Heuristic single hill climbing; see the top of this module."""

    Options = HeuristicOptions

    def _finalists(self, task: Task) -> int:
        """How many of the best candidates are fitted by full EM, to let their true scores decide."""
        return 1 if task.criterion.penalised else int(self.options.finalists)

    def _judge(
        self, task: Task, state: State, beliefs: Beliefs, candidates: Sequence[tuple[Move, Graph]], rng: Generator
    ) -> list[Judged]:
        """Choose the K best of one operator on completed data, and fit these by local EM."""
        if candidates and candidates[0][0].kind != "SD":  # for SD there is no heuristic ([Zhang2004] 4.5)
            completed = CompletedData(beliefs, task.criterion.penalty)
            worth = task.map(lambda item, _: completed.value(*item), candidates, rng, stage="completed data")
            best = np.argsort(-np.array(worth), kind="stable")[: self.options.k]
            candidates = [candidates[i] for i in best]
        gain = estimated_gain(task, beliefs)

        def one(item: tuple[Move, Graph], rng: Generator) -> Judged:
            move, graph = item
            model, log_likelihood = self._locally(task, evaluate(move, beliefs, FIRST, rng), beliefs, rng)
            raised = gain(log_likelihood, graph)
            if not task.criterion.penalised:  # the true score of the model as it is: BIC may rise where it falls
                raised = task.criterion(judged(model, task.table)) - state.score
            return Judged(move, model, raised, task.criterion.dimension(graph))

        return task.map(one, candidates, rng)

    def _locally(self, task: Task, found: Evaluated, beliefs: Beliefs, rng: Generator) -> tuple[Model, float]:
        """Local EM ([Zhang2004] 4.7) of a candidate: its model and log-likelihood."""
        network = regularised(applied(found, beliefs.network))
        model = network.to_model(task.table.variables)
        called = renumbered(network.graph)
        _, number = Graph.from_tree(model.tree)
        nodes = [number.index(called[v]) for v in _around(found.move, beliefs.network.graph) if v in called]
        if not nodes:  # regularisation took them out
            return model, found.log_likelihood
        place = Place.around(model, task.table, nodes)
        tree = place.tree
        small = Model(tree, tuple(model.variable(tree.names[v]) for v in tree.manifest), place.parameters)
        fit = fitted(task, self.options.local, small, rng, n_jobs=1, plan=place.plan)
        return place.put_back(fit.model.parameters), fit.log_likelihood


def _around(move: Move, graph: Graph) -> tuple[int, ...]:
    """Latents whose tables move."""
    if move.kind == "NI":
        return (move.nodes[0], graph.fresh())
    return {"SI": move.nodes, "SD": move.nodes, "ND": move.nodes[1:], "NR": move.nodes[1:]}[move.kind]
