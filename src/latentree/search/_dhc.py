"""Double hill climbing ([Zhang2004] 1, [Karciauskas2005] 3.4.2): a climb over skeletons, and within it one over states.

The sources do not define the moves between skeletons. Here they are *introduce* a latent between a latent and two of
its neighbours, *delete* a latent, its neighbours being joined to a neighbouring latent, and *relocate* a neighbour of a
latent to a neighbouring latent; a latent that is left with fewer than three neighbours goes. The numbers of states of a
skeleton are found from two each, by one state more where that helps the score most.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._model import Model
from .._trace import Step
from ._beliefs import Beliefs
from ._evaluation import fitted, forecast, moved, point_of
from ._network import Graph, Network, edge
from ._operators import Move, moves
from ._restricted import Effort, applied, evaluate, model_of, regularised
from ._shc import HillClimbingOptions
from ._task import Point, SearchMethod, State, Task

Generator = np.random.Generator

FIRST = Effort(4, 10, 0.1)


class DoubleHillClimbing(SearchMethod):
    """Double hill climbing; see the top of this module."""

    Options = HillClimbingOptions

    def forecast(self, task: Task) -> str | None:
        """What the first step will take, if that is much."""
        return forecast(task)

    def init(self, task: Task, rng: Generator) -> State:
        """Start with a latent class model, its number of states found by hill climbing, or with the model given."""
        variables = task.table.variables
        if task.start is not None:
            network = regularised(Network.from_model(task.start))
            return State(self._fitted(task, network.to_model(variables), rng, task.n_jobs), "skeleton")
        star = Graph.star(2, task.table.cardinalities.tolist()).to_tree()
        return State(self._with_states(task, Model.random(star, variables, rng), rng), "skeleton")

    def step(self, task: Task, state: State, rng: Generator) -> tuple[State, Step | None]:
        """Take the best of all neighbouring skeletons, if it is better."""
        network = state.network
        beliefs = Beliefs(network, task.table)

        def one(item: tuple[Move, Graph], rng: Generator) -> Point:
            start = applied(evaluate(item[0], beliefs, FIRST, rng), network)
            return self._with_states(task, _thinned(start).to_model(task.table.variables), rng)

        candidates = list(skeletons(network.graph))
        found = task.map(one, candidates, rng, stage="skeletons")
        best = max(range(len(found)), key=lambda i: found[i].score, default=None)
        if best is None or found[best].score <= state.score:
            return state.to("skeleton", finished=True), None
        return moved(state, candidates[best][0], found[best], "skeleton", candidates=len(candidates))

    def _fitted(self, task: Task, model: Model, rng: Generator, n_jobs: int = 1) -> Point:
        return point_of(task, fitted(task, self.options.full, model, rng, n_jobs=n_jobs))

    def _with_states(self, task: Task, model: Model, rng: Generator) -> Point:
        """Climb by one state more, wherever that helps most."""
        here = self._fitted(task, model, rng)
        while True:
            task.check_time()
            beliefs = Beliefs(here.network, task.table)
            best: Point | None = None
            for move in moves(here.network.graph, ("SI",)):
                wider = model_of(evaluate(move, beliefs, FIRST, rng), here.network, task.table.variables)
                tried = self._fitted(task, wider, rng)
                if best is None or tried.score > best.score:
                    best = tried
            if best is None or best.score <= here.score:
                return here
            here = best


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
    return graph.edited(cardinality=dict.fromkeys(graph.latents, 2)).regularised()


def _thinned(network: Network) -> Network:
    """The two likelier states of every latent, made regular: a start for the parameters of a skeleton."""
    joint, marginals = {}, {}
    keep = {v: np.sort(np.argsort(-network.marginals[v], kind="stable")[:2]) for v in network.graph.latents}
    rows = {v: keep.get(v, slice(None)) for v in network.graph.neighbours}
    for a, b in network.graph.edges:
        both = network.joint[a, b][rows[a]][:, rows[b]] + 1e-9
        joint[edge(a, b)] = both / both.sum()
    for v in network.graph.neighbours:
        marginals[v] = network.marginals[v][rows[v]] + 1e-9
        marginals[v] = marginals[v] / marginals[v].sum()
    binary = network.graph.edited(cardinality={v: len(marginals[v]) for v in network.graph.latents})
    return regularised(Network(binary, joint, marginals))
