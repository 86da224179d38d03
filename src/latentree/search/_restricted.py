"""Restricted likelihood ([ChenZhangWang] 2.4): how far a move raises the likelihood when only its own tables change.

All that a move leaves as it is hangs off the place of the move in branches whose messages are known. What is left is a
tree of a few nodes with soft evidence, on which a few steps of EM from a few starts are cheap: ``restricted.cpp``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Literal, get_args

import numpy as np

from .._model import Model
from .._options import Constraint, Number, Whole
from .._types import FloatArray
from .._variables import Variable
from ._beliefs import Beliefs
from ._network import Edge, Graph, Network, edge
from ._operators import Kind, Move
from ._task import Task

Generator = np.random.Generator
Start = Literal["model", "random", "both"]
"""Where EM starts from: from what the current model says, from random tables, or once from each."""

_SAME = 1e-9
"""Probabilities that differ by less are the same: what lies behind them stays as it is."""
_SECONDS = 0.1
"""About how long to work on candidates between two looks at the clock."""
_KINDS = {kind: i for i, kind in enumerate(get_args(Kind))}
_STARTS = {start: i for i, start in enumerate(get_args(Start))}
_GROUP = 8
"""Candidates that are sent to another process together."""


@dataclass(frozen=True)
class Effort:
    """How long to look at a candidate: starts, steps of EM, and the gain below which it stops.

    The worse half of the starts is dropped after ``first`` steps, and again and again after twice as many. What has to
    change altogether is soon overtaken by what already fits: then it needs more steps at first.
    """

    starts: int = 4
    steps: int = 10
    tol: float = 0.1
    first: int = 1


class EffortRule:
    """What an option takes that says how long EM runs: (starts, steps, least gain).

    Examples
    --------
    >>> EffortRule().check((8, 40, 0.1)), EffortRule().check(8), EffortRule().parse("8, 40, 0.1")
    (True, False, (8, 40, 0.1))
    """

    def check(self, value: Any) -> bool:
        """Whether a value is allowed."""
        rules: tuple[Constraint, ...] = (Whole(1), Whole(1), Number(least=0))
        return (
            isinstance(value, list | tuple)
            and len(value) == len(rules)
            and all(rule.check(own) for rule, own in zip(rules, value, strict=True))
        )

    def parse(self, text: str) -> tuple[int, int, float]:
        """Read a value from text."""
        starts, steps, tol = text.strip("()[] ").split(",")
        return int(starts), int(steps), float(tol)

    def __str__(self) -> str:
        return "three numbers: starts and steps of EM, each at least 1, and the least gain, at least 0"


@dataclass(frozen=True)
class Evaluated:
    """A move and what it reaches."""

    move: Move  # the move
    log_likelihood: float  # the maximum restricted log-likelihood found
    root: int  # the node of the new graph that the tables hang on
    marginal: FloatArray  # P(root)
    tables: Mapping[tuple[int, int], FloatArray]  # P(child | parent) of the edges that moved
    fresh: int  # the number of the new node, if there is one


@dataclass(frozen=True)
class Question:
    """What is asked about a move.

    A candidate that cannot come near the ``goal`` is given up early, and nothing is told of one that does not reach it.
    """

    move: Move
    effort: Effort
    goal: float = -np.inf
    start: Start = "model"

    def packed(self) -> tuple[Any, ...]:
        """As the kernel takes it."""
        e = self.effort
        effort = (e.starts, e.first, e.steps, e.tol)
        return _KINDS[self.move.kind], self.move.nodes, *effort, self.goal, _STARTS[self.start]


def evaluate(move: Move, beliefs: Beliefs, effort: Effort, rng: Generator) -> Evaluated:
    """Maximise the restricted likelihood of a move."""
    asked = Question(move, effort)
    (answer,) = beliefs.core.evaluate([asked.packed()], int(rng.integers(2**63)), 0, 1)
    found = _evaluated(move, beliefs, answer)
    assert found is not None  # there was no goal to miss
    return found


def evaluate_all(
    task: Task,
    beliefs: Beliefs,
    asked: Sequence[Question],
    rng: Generator,
    *,
    threads: int = 1,
    stage: str | None = None,
) -> list[Evaluated | None]:
    """The same for many moves, on threads or by the task's executor; ``stage``: what is reported of it."""
    seed, packed = int(rng.integers(2**63)), [question.packed() for question in asked]
    found: list[Any] = []
    if task.executor is not None and stage is not None and len(asked) > 1:
        groups = [(i, packed[i : i + _GROUP]) for i in range(0, len(packed), _GROUP)]
        for own in task.map(_Asked(beliefs, seed), groups, np.random.default_rng(0), stage=stage):
            found += own
    size = threads
    while len(found) < len(packed):
        task.check_time()
        began = time.perf_counter()
        some = packed[len(found) : len(found) + size]
        found += beliefs.core.evaluate(some, seed, len(found), threads)
        spent = time.perf_counter() - began
        size = max(threads, min(2 * size, int(size * _SECONDS / max(spent, 1e-6))))
        if stage is not None:
            task.report(stage, len(found), len(packed))
    return [_evaluated(question.move, beliefs, own) for question, own in zip(asked, found, strict=True)]


@dataclass(frozen=True)
class _Asked:
    """Answers some questions, wherever this is."""

    beliefs: Beliefs
    seed: int

    def __call__(self, group: tuple[int, list[tuple[Any, ...]]], rng: Generator) -> list[Any]:
        first, packed = group
        answers: list[Any] = self.beliefs.core.evaluate(packed, self.seed, first, 1)
        return answers


def _evaluated(move: Move, beliefs: Beliefs, found: tuple[Any, ...]) -> Evaluated | None:
    log_likelihood, nodes, parent, states, flat = found
    if nodes is None:
        return None
    rows = [1 if p < 0 else states[p] for p in parent]
    ends = [0, *accumulate(r * k for r, k in zip(rows, states, strict=True))]
    tables = [flat[a:b].reshape(r, -1) for (a, b), r in zip(pairwise(ends), rows, strict=True)]
    given = {(nodes[i], nodes[parent[i]]): t for i, t in enumerate(tables) if i}
    return Evaluated(move, log_likelihood, nodes[0], tables[0][0], given, beliefs.network.graph.fresh())


# ---- the whole model after a move -------------------------------------------------------------------------------


def applied(found: Evaluated, network: Network) -> Network:
    """The network after a move, not yet regularised, with the tables found.

    The network may have been changed elsewhere since the move was evaluated.
    """
    new = network.graph.fresh()
    name = {found.fresh: new}
    tables = {(name.get(v, v), name.get(u, u)): t for (v, u), t in found.tables.items()}
    graph = found.move.applied(network.graph)
    graph = graph.edited(cardinality={v: t.shape[1] for (v, _), t in tables.items()})
    marginals = dict(network.marginals)
    if len(found.marginal) != len(marginals[found.root]) or found.move.kind in ("SI", "SD", "UN", "DI"):
        marginals[found.root] = found.marginal
    joint = _on(graph, network)
    above = {u for _, u in tables}
    ahead = [(found.root, -1)]
    for u, before in ahead:
        if u != found.root and u not in above and _alike(marginals[u], network.marginals.get(u)):
            continue  # nothing has changed from here on
        for v in graph.neighbours[u]:
            if v != before:
                table = tables.get((v, u))
                both = marginals[u][:, None] * (network.conditional(v, u) if table is None else table)
                marginals[v] = both.sum(axis=0)
                joint[edge(u, v)] = both if u < v else np.ascontiguousarray(both.T)
                ahead.append((v, u))
    return Network(graph, joint, {v: marginals[v] for v in graph.neighbours})


def _on(graph: Graph, network: Network) -> dict[Edge, FloatArray]:
    """Tables of a network for the edges that a graph still has; those of new edges are missing."""
    joint, old = dict(network.joint), network.graph.neighbours
    for v, neighbours in old.items():
        now = graph.neighbours.get(v, ())
        if now is not neighbours:
            for u in set(neighbours).difference(now):
                joint.pop(edge(u, v), None)
    return joint


def _alike(p: FloatArray, q: FloatArray | None) -> bool:
    return q is not None and len(p) == len(q) and float(np.abs(p - q).max()) < _SAME


def model_of(found: Evaluated, network: Network, variables: Sequence[Variable]) -> Model:
    """The regular model that a move leads to, with the tables found."""
    return regularised(applied(found, network)).to_model(variables)


def regularised(network: Network) -> Network:
    """Make a network regular: nodes taken out lose nothing; of a node with too many states the likelier ones stay."""
    goal = network.graph.regularised()
    while True:
        graph = network.graph
        for v in graph.latents:
            neighbours = graph.neighbours[v]
            if v not in goal.neighbours and len(neighbours) == 1:
                network = _dropped(network, v)
                break
            if v not in goal.neighbours and len(neighbours) == 2:
                network = _bridged(network, v)
                break
            if v in goal.neighbours and graph.cardinality[v] > goal.cardinality[v]:
                network = _narrowed(network, v, goal.cardinality[v])
                break
        else:
            return network


def _dropped(network: Network, v: int) -> Network:
    graph = network.graph.edited(without=[v])
    return Network(graph, _on(graph, network), {u: p for u, p in network.marginals.items() if u != v})


def _bridged(network: Network, v: int) -> Network:
    p, q = network.graph.neighbours[v]
    both = network.conditional(p, v).T @ (network.marginals[v][:, None] * network.conditional(q, v))
    graph = network.graph.edited(without=[v], join=[(p, q)])
    joint = {**_on(graph, network), (p, q): both}
    return Network(graph, joint, {u: own for u, own in network.marginals.items() if u != v})


def _narrowed(network: Network, v: int, cardinality: int) -> Network:
    keep = np.sort(np.argsort(-network.marginals[v], kind="stable")[:cardinality])
    graph = network.graph.edited(cardinality={v: cardinality})
    joint = dict(network.joint)
    for u in graph.neighbours[v]:
        both = joint[edge(u, v)]
        both = both[:, keep] if u < v else both[keep]
        joint[edge(u, v)] = both / both.sum()
    rest = network.marginals[v][keep]
    return Network(graph, joint, {**network.marginals, v: rest / rest.sum()})


def dimension_change(move: Move, graph: Graph) -> int:
    """Parameters that a move adds, regularisation included."""
    return move.applied(graph).regularised().n_parameters - graph.n_parameters
