"""How candidates become models: restricted likelihood in stages, then full EM for the winner ([ChenZhangWang] 2.4).

The stages are those of the original EAST program. Candidates are compared by how far they raise the score, as estimated
on both sides: a score that is no penalised likelihood is estimated by BIC, and the estimate of a candidate says nothing
beside the true score of the current model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from .._model import Model
from .._trace import Step
from .._tree import Tree
from ..estimation import Fit, restart_em
from ..method import OutOfTime
from ..runner import StopReason
from ._beliefs import Beliefs
from ._network import Graph, Network
from ._operators import Move, per_parameter
from ._restricted import Effort, Evaluated, Question, evaluate_all, model_of, regularised
from ._task import Point, State, Task

Generator = np.random.Generator

CHUNK = 512
"""Candidates held at a time."""
_NOTHING: Mapping[str, Any] = {}

FULL = (32, 100, 0.01)
"""Full EM of the original program: starts, steps; ours stops at the gain of [Zhang2004] 5."""


@dataclass(frozen=True)
class Candidate:
    """A move, the regular graph it leads to, and what it is worth as far as known."""

    found: Evaluated
    graph: Graph
    gain: float  # by how much it raises the score, as estimated from its restricted likelihood
    dimension: int  # what the penalty counts


Rank = Callable[[float, int], float]
"""What decides between candidates: a function of gain and dimension, higher being better."""


def by_gain(gain: float, dimension: int) -> float:
    """The gain itself."""
    return gain


def improvement_ratio(dimension_before: int) -> Rank:
    """Unit improvement ([Zhang2004] 2), improvement ratio ([ChenZhangWang] 1): (BIC(m') - BIC(m)) / (d(m') - d(m))."""
    return lambda gain, dimension: per_parameter(gain, dimension - dimension_before)


def estimated_gain(task: Task, beliefs: Beliefs) -> Callable[[float, Graph], float]:
    """By how much a log-likelihood and a graph are estimated to raise the score of the current model."""
    now = task.criterion.estimate(float(beliefs.weights @ beliefs.log_likelihood), beliefs.network.graph)
    return lambda log_likelihood, graph: task.criterion.estimate(log_likelihood, graph) - now


def evaluated(
    task: Task, beliefs: Beliefs, candidates: Iterable[tuple[Move, Graph]], effort: Effort, rng: Generator, stage: str
) -> list[Candidate]:
    """Find the restricted likelihood of all candidates."""
    gain, items = estimated_gain(task, beliefs), list(candidates)
    asked = [Question(move, effort) for move, _ in items]
    answers = evaluate_all(task, beliefs, asked, rng, threads=task.n_jobs, stage=stage)
    return [
        Candidate(found, graph, gain(found.log_likelihood, graph), task.criterion.dimension(graph))
        for (_, graph), found in zip(items, answers, strict=True)
        if found is not None
    ]


def staged(
    task: Task,
    options: Any,
    beliefs: Beliefs,
    candidates: Iterable[tuple[Move, Graph]],
    rng: Generator,
    rank: Rank = by_gain,
) -> tuple[list[Candidate], int]:
    """Screen all candidates, then look longer at the best: these in order, the best first, and how many there were.

    Options: ``screening`` and ``evaluation`` are (starts, steps, least gain) of EM, ``kept`` is how many go from one to
    the other. With ``screening=None`` all candidates are evaluated, as in [ChenZhangWang].
    """
    source, n = iter(candidates), 0
    few = list(islice(source, options.kept + 1))
    if options.screening is not None and len(few) > options.kept:
        best: list[Candidate] = []
        source = chain(few, source)
        while chunk := list(islice(source, CHUNK)):  # there may be more than fit into memory
            n += len(chunk)
            best += evaluated(task, beliefs, chunk, Effort(*options.screening), rng, "screening")
            best = _ordered(best, rank)[: options.kept]
        few = [(candidate.found.move, candidate.graph) for candidate in best]
    else:
        few += source
        n = len(few)
    return _ordered(evaluated(task, beliefs, few, Effort(*options.evaluation), rng, "evaluation"), rank), n


def _ordered(found: Sequence[Candidate], rank: Rank) -> list[Candidate]:
    return sorted(found, key=lambda c: -rank(c.gain, c.dimension))


def forecast(task: Task) -> str | None:
    """Say what the first step of a search through all candidates will take, if that is much."""
    n, rows = task.table.n_variables, task.table.n_patterns
    pairs = n * (n - 1) // 2
    # measured on one core: a graph takes 8 microseconds a node, an evaluation 0.8 ms and 0.3 microseconds a row
    hours = pairs * (8e-6 * n + 8e-4 + 3e-7 * rows) / task.n_jobs / 3600
    gigabytes = (10.0 * n * rows + 400.0 * n * CHUNK) / 1e9
    if hours < 0.2 and gigabytes < 4:
        return None
    return (
        f"{n:,} variables: the first step has {pairs:,} candidates and will take about {hours:,.1f} hours and "
        f"{gigabytes:,.1f} GB. Set a time limit, choose variables, or take a method that looks at fewer candidates."
    )


def fitted(
    task: Task, full: tuple[int, int, float], model: Model, rng: Generator, *, n_jobs: int | None = None, **options: Any
) -> Fit:
    """Full EM: the model's own parameters and random starts (``full``: starts, steps, least gain)."""
    starts, steps, tol = full
    own = {"n_init": starts, "tol": tol, "max_iterations": steps, "n_jobs": n_jobs or task.n_jobs, **options}
    return whole(restart_em(model, task.table, rng=rng, include=True, budget=task.clock, **own))


def whole(fit: Fit) -> Fit:
    """Break the step off if the fit was broken off: half a fit is of no use."""
    if fit.reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    if fit.reason is StopReason.TIME:
        raise OutOfTime
    return fit


def best_fitted(
    task: Task, options: Any, state: State, ranked: Sequence[Candidate], rng: Generator, rank: Rank = by_gain
) -> tuple[Point, Candidate]:
    """Fit the winner. If the score is no penalised likelihood, fit the best few and let their true scores decide."""
    best: tuple[float, Point, Candidate] | None = None
    for candidate in ranked[: 1 if task.criterion.penalised else options.finalists]:
        model = model_of(candidate.found, state.network, task.table.variables)
        point = point_of(task, fitted(task, options.full, model, rng))
        worth = rank(point.score - state.score, task.criterion.dimension(point.fit.model.tree))
        if best is None or worth > best[0]:
            best = worth, point, candidate
    assert best is not None
    return best[1:]


def point_of(task: Task, fit: Fit) -> Point:
    """A fit with its score."""
    return Point(fit, task.criterion(fit))


def star(task: Task, full: tuple[int, int, float], rng: Generator) -> Point:
    """Where the sources start: a latent class model with two states, or the model the user gave."""
    variables = task.table.variables
    if task.start is not None:
        model = regularised(Network.from_model(task.start)).to_model(variables)
    else:
        model = Model.random(Tree.star(2, task.table.cardinalities), variables, rng)
    return point_of(task, fitted(task, full, model, rng))


def moved(
    state: State, move: Move, to: Point, phase: str, *, candidates: int, memory: Mapping[str, Any] = _NOTHING
) -> tuple[State, Step]:
    """The state after a move, going on in a phase, and the step that says so."""
    words = move.describe(names_of(state.best.fit.model.tree))
    step = to.step(state.phase, move.kind, words, candidates=candidates)
    return State(to, phase, memory={**state.memory, **memory}), step


def names_of(tree: Tree) -> dict[int, str]:
    """What the nodes of a tree's graph are called."""
    _, number = Graph.from_tree(tree)
    return dict(zip(number, tree.names, strict=True))


def renumbered(graph: Graph) -> dict[int, int]:
    """The number that each latent gets when the graph becomes a model and is taken up again."""
    order, _ = graph.rooted()
    return {v: graph.n_manifest + i for i, v in enumerate(v for v in order if graph.is_latent(v))}
