"""Double hill climbing (Z 1, K 3.4.2): one climb over skeletons, and within it one over the numbers of states.

The sources do not define the moves between skeletons. Here they are *introduce* a latent between a latent and two of
its neighbours, *delete* a latent, its neighbours being joined to a neighbouring latent, and *relocate* a neighbour of a
latent to a neighbouring latent; a latent that is left with fewer than three neighbours goes. The numbers of states of a
skeleton are found from two each, by one state more where that helps the score most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .._model import Model
from .._trace import Step
from ..estimation import Fit
from ._beliefs import Beliefs
from ._evaluation import fitted, forecast, moved
from ._network import Graph, Network, edge
from ._operators import Move, moves
from ._restricted import Effort, applied, evaluate, model_of, regularised
from ._state import Search, State

__all__ = ["OPTIONS", "begin", "forecast", "skeletons", "step"]

OPTIONS: Mapping[str, Any] = {"full": (64, 500, 0.01)}
"""(starts, steps, least gain) of ``full`` EM, as in Z 5."""

FIRST = Effort(4, 10, 0.1)


def begin(search: Search) -> State:
    """Start with a latent class model, its number of states found by hill climbing, or with the model given."""
    variables = search.table.variables
    if search.start is not None:
        network = regularised(Network.from_model(search.start))
        fit = fitted(search, network.to_model(variables), search.rng)
        return State(fit, search.criterion(fit), "skeleton")
    star = Graph.star(2, search.table.cardinalities.tolist()).to_tree()
    model = Model.random(star, variables, search.rng)
    fit, score = _states(search, model, search.rng)
    return State(fit, score, "skeleton")


def step(search: Search, state: State) -> tuple[State, Step | None]:
    """Take the best of all neighbouring skeletons, if it is better."""
    network = Network.from_model(state.fit.model)
    beliefs = Beliefs(network, search.table)

    def one(item: tuple[Move, Graph], rng: np.random.Generator) -> tuple[Fit, float]:
        move, _ = item
        start = applied(evaluate(move, beliefs, FIRST, rng), network)
        return _states(search, _thinned(start).to_model(search.table.variables), rng)

    candidates = list(skeletons(network.graph))
    found = search.map(one, candidates, stage="skeletons")
    best = max(range(len(found)), key=lambda i: found[i][1], default=None)
    if best is None or found[best][1] <= state.score:
        return state.to("skeleton", done=True), None
    return moved(state, candidates[best][0], *found[best], candidates=len(candidates), to="skeleton")


def skeletons(graph: Graph) -> Iterator[tuple[Move, Graph]]:
    """Moves and the skeletons they lead to, all latents with two states: none twice."""
    seen = {_skeleton(graph).key()}
    for move in moves(graph, ("NI", "ND", "NR"), reach=1):
        reached = _skeleton(move.applied(graph))
        if reached.key() not in seen:
            seen.add(reached.key())
            yield move, reached


def _skeleton(graph: Graph) -> Graph:
    """Latents with three neighbours at least, and two states each."""
    return graph.edited(states=dict.fromkeys(graph.latents, 2)).regularised()


def _thinned(network: Network) -> Network:
    """The two likelier states of every latent, made regular: a start for the parameters of a skeleton."""
    joint, alone = {}, {}
    keep = {v: np.sort(np.argsort(-network.alone[v], kind="stable")[:2]) for v in network.graph.latents}
    rows = {v: keep.get(v, slice(None)) for v in network.graph.near}
    for a, b in network.graph.edges:
        both = network.joint[a, b][rows[a]][:, rows[b]] + 1e-9
        joint[edge(a, b)] = both / both.sum()
    for v in network.graph.near:
        alone[v] = network.alone[v][rows[v]] + 1e-9
        alone[v] = alone[v] / alone[v].sum()
    binary = network.graph.edited(states={v: len(alone[v]) for v in network.graph.latents})
    return regularised(Network(binary, joint, alone))


def _states(search: Search, model: Model, rng: np.random.Generator) -> tuple[Fit, float]:
    """EmRuns by one state more, wherever that helps most."""
    fit = fitted(search, model, rng, n_jobs=1)
    score = search.criterion(fit)
    while True:
        search.check_time()
        network = Network.from_model(fit.model)
        beliefs = Beliefs(network, search.table)
        best: tuple[Fit, float] | None = None
        for move in moves(network.graph, ("SI",)):
            wider = model_of(evaluate(move, beliefs, FIRST, rng), network, search.table.variables)
            tried = fitted(search, wider, rng, n_jobs=1)
            value = search.criterion(tried)
            if best is None or value > best[1]:
                best = tried, value
        if best is None or best[1] <= score:
            return fit, score
        fit, score = best
