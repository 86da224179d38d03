"""Heuristic single hill climbing (Z 4): candidates are ranked on completed data, the best K of an operator fitted.

Local EM moves all tables that involve the place of the change (Z 4.7); the model that is chosen is fitted by full EM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._model import Model
from .._trace import Step
from ..estimation import restart_em
from ..estimation._local import Place
from ._beliefs import Beliefs
from ._completed import CompletedData
from ._evaluation import forecast, renumbered, whole
from ._network import Graph
from ._operators import Move
from ._restricted import Evaluated, applied, evaluate, regularised
from ._shc import FIRST, Judged, begin, climb
from ._state import Search, State

__all__ = ["OPTIONS", "begin", "forecast", "step"]

OPTIONS: Mapping[str, Any] = {"k": 3, "local": (64, 500, 0.01), "full": (64, 500, 0.01)}
"""``k``: candidates of each operator that are fitted. (starts, steps, least gain) of ``local`` and ``full`` EM."""


def step(search: Search, state: State) -> tuple[State, Step | None]:
    """The next change that raises the score."""
    return climb(search, state, heuristically)


def heuristically(search: Search, beliefs: Beliefs, candidates: Sequence[tuple[Move, Graph]]) -> list[Judged]:
    """Choose the K best of one operator on completed data, and fit these by local EM."""
    if candidates and candidates[0][0].kind != "SD":  # for SD there is no heuristic (Z 4.5)
        completed = CompletedData(beliefs, search.criterion.penalty)
        worth = search.map(lambda item, _: completed.value(*item), candidates, stage="completed data")
        best = np.argsort(-np.array(worth), kind="stable")[: search.options["k"]]
        candidates = [candidates[i] for i in best]

    def one(item: tuple[Move, Graph], rng: np.random.Generator) -> Judged:
        move, graph = item
        model, log_likelihood = _locally(search, evaluate(move, beliefs, FIRST, rng), beliefs, rng)
        score = search.criterion.estimate(log_likelihood, graph)
        return Judged(move, model, score, search.criterion.dimension(graph))

    return search.map(one, candidates)


def _locally(search: Search, found: Evaluated, beliefs: Beliefs, rng: np.random.Generator) -> tuple[Model, float]:
    """Local EM (Z 4.7) of a candidate: its model and log-likelihood."""
    network = regularised(applied(found, beliefs.network))
    model = network.to_model(search.table.variables)
    called = renumbered(network.graph)
    _, number = Graph.from_tree(model.tree)
    nodes = [number.index(called[v]) for v in _around(found.move, beliefs.network.graph) if v in called]
    if not nodes:  # regularisation took them out
        return model, found.log_likelihood
    place = Place.around(model, search.table, nodes)
    tree = place.tree
    small = Model(tree, tuple(model.variable(tree.names[v]) for v in tree.manifest), place.parameters)
    starts, steps, tol = search.options["local"]
    fit = whole(
        restart_em(
            small,
            search.table,
            rng=rng,
            n_init=starts,
            include=True,
            tol=tol,
            max_iterations=steps,
            budget=search.clock,
            plan=place.plan,
        )
    )
    return place.put_back(fit.model.parameters), fit.log_likelihood


def _around(move: Move, graph: Graph) -> tuple[int, ...]:
    """Latents whose tables move."""
    if move.kind == "NI":
        return (move.nodes[0], graph.fresh())
    return {"SI": move.nodes, "SD": move.nodes, "ND": move.nodes[1:], "NR": move.nodes[1:]}[move.kind]
