"""How candidates become models: restricted likelihood in stages, then full EM for the winner (C 2.4).

The stages are those of the original EAST program.
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
from ..runner import StopReason
from ._beliefs import Beliefs
from ._network import Graph, Network
from ._operators import Move
from ._restricted import Effort, Evaluated, evaluate, model_of, regularised
from ._state import OutOfTime, Search, State

__all__ = [
    "CHUNK",
    "FULL",
    "Candidate",
    "Rank",
    "best_fitted",
    "by_score",
    "evaluated",
    "fitted",
    "forecast",
    "moved",
    "names_of",
    "renumbered",
    "staged",
    "star",
    "unit_improvement",
    "whole",
]

Generator = np.random.Generator

CHUNK = 512
"""Candidates held at a time."""
_NOTHING: Mapping[str, Any] = {}

FULL = (32, 100, 0.01)
"""Full EM of the original program: starts, steps; ours stops at the gain of Z 5."""


@dataclass(frozen=True)
class Candidate:
    """A move, the regular graph it leads to, and what it is worth as far as known.

    Attributes
    ----------
    found : Evaluated
        The move and its restricted likelihood.
    graph : Graph
        The graph after the move, regularised.
    score : float
        Restricted likelihood less the penalty of that graph.
    dimension : int
        What the penalty counts.
    """

    found: Evaluated
    graph: Graph
    score: float
    dimension: int


Rank = Callable[[float, int], float]
"""What decides between candidates: a function of score and dimension, higher being better."""


def by_score(score: float, dimension: int) -> float:
    """The score itself."""
    return score


def unit_improvement(before: float, dimension_before: int) -> Rank:
    """Unit improvement (Z 2), improvement ratio (C 1): (BIC(m') - BIC(m)) / (d(m') - d(m)).

    A loss is not divided: spread over many parameters it would look small. What costs no parameter is taken for free.
    """

    def unit(score: float, dimension: int) -> float:
        gain = score - before
        return gain / max(dimension - dimension_before, 1e-9) if gain > 0 else gain

    return unit


def evaluated(
    search: Search, beliefs: Beliefs, neighbours: Iterable[tuple[Move, Graph]], effort: Effort, stage: str
) -> list[Candidate]:
    """Find the restricted likelihood of all candidates."""

    def one(item: tuple[Move, Graph], rng: Generator) -> Candidate:
        move, graph = item
        found = evaluate(move, beliefs, effort, rng)
        score = search.criterion.estimate(found.log_likelihood, graph)
        return Candidate(found, graph, score, search.criterion.dimension(graph))

    return search.map(one, neighbours, stage=stage)


def staged(
    search: Search, beliefs: Beliefs, neighbours: Iterable[tuple[Move, Graph]], rank: Rank = by_score
) -> tuple[list[Candidate], int]:
    """Screen all candidates, then look longer at the best: these in order, the best first, and how many there were.

    Options: ``screening`` and ``evaluation`` are (starts, steps, least gain) of EM, ``kept`` is how many go from one to
    the other. With ``screening=None`` all candidates are evaluated, as in C.
    """
    options = search.options
    source, n = iter(neighbours), 0
    few = list(islice(source, options["kept"] + 1))
    if options["screening"] is not None and len(few) > options["kept"]:
        best: list[Candidate] = []
        source = chain(few, source)
        while chunk := list(islice(source, CHUNK)):  # there may be more than fit into memory
            n += len(chunk)
            best += evaluated(search, beliefs, chunk, Effort(*options["screening"]), "screening")
            best = _ordered(best, rank)[: options["kept"]]
        few = [(candidate.found.move, candidate.graph) for candidate in best]
    else:
        few += source
        n = len(few)
    return _ordered(evaluated(search, beliefs, few, Effort(*options["evaluation"]), "evaluation"), rank), n


def _ordered(found: Sequence[Candidate], rank: Rank) -> list[Candidate]:
    return sorted(found, key=lambda c: -rank(c.score, c.dimension))


def forecast(search: Search) -> str | None:
    """Say what the first step of a search through all candidates will take, if that is much."""
    n, rows = search.table.n_variables, search.table.n_patterns
    pairs = n * (n - 1) // 2
    # measured on one core: a graph takes 8 microseconds a node, an evaluation 0.8 ms and 0.3 microseconds a row
    hours = pairs * (8e-6 * n + 8e-4 + 3e-7 * rows) / search.n_jobs / 3600
    gigabytes = (10.0 * n * rows + 400.0 * n * CHUNK) / 1e9
    if hours < 0.2 and gigabytes < 4:
        return None
    return (
        f"{n:,} variables: the first step has {pairs:,} candidates and will take about {hours:,.1f} hours and "
        f"{gigabytes:,.1f} GB. Set a time limit, choose variables, or take a method that looks at fewer candidates."
    )


def fitted(search: Search, model: Model, rng: Generator, *, n_jobs: int | None = None) -> Fit:
    """Full EM: the model's own parameters and random starts (option ``full``: starts, steps, least gain)."""
    starts, steps, tol = search.options["full"]
    fit = restart_em(
        model,
        search.table,
        rng=rng,
        n_init=starts,
        include=True,
        tol=tol,
        max_iterations=steps,
        budget=search.clock,
        n_jobs=n_jobs or search.n_jobs,
    )
    return whole(fit)


def whole(fit: Fit) -> Fit:
    """Break the step off if the fit was broken off: half a fit is of no use."""
    if fit.reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    if fit.reason is StopReason.TIME:
        raise OutOfTime
    return fit


def best_fitted(
    search: Search, network: Network, ranked: Sequence[Candidate], rank: Rank = by_score
) -> tuple[Fit, float, Candidate]:
    """Fit the winner. If the score is no penalised likelihood, fit the best few and let their true scores decide."""
    few = ranked[: 1 if search.criterion.penalised else search.options["finalists"]]
    best: tuple[Fit, float, Candidate] | None = None
    for candidate in few:
        fit = fitted(search, model_of(candidate.found, network, search.table.variables), search.rng)
        score = search.criterion(fit)
        dimension = search.criterion.dimension(fit.model.tree)
        if best is None or rank(score, dimension) > rank(best[1], search.criterion.dimension(best[0].model.tree)):
            best = fit, score, candidate
    assert best is not None
    return best


def star(search: Search) -> State:
    """Where the sources start: a latent class model with two states, or the model the user gave."""
    variables = search.table.variables
    if search.start is not None:
        model = regularised(Network.from_model(search.start)).to_model(variables)
    else:
        model = Model.random(Tree.star(2, search.table.cardinalities), variables, search.rng)
    fit = fitted(search, model, search.rng)
    return State(fit, search.criterion(fit), "expand")


def moved(
    state: State, move: Move, fit: Fit, score: float, *, candidates: int, to: str, memory: Mapping[str, Any] = _NOTHING
) -> tuple[State, Step]:
    """The state after a move, going on in phase ``to``, and the step that says so."""
    step = Step.of(
        fit.model,
        phase=state.phase,
        kind=move.kind,
        operation=move.describe(names_of(state.fit.model.tree)),
        score=score,
        log_likelihood=fit.log_likelihood,
        candidates=candidates,
    )
    return State(fit, score, to, memory={**state.memory, **memory}), step


def names_of(tree: Tree) -> dict[int, str]:
    """What the nodes of a tree's graph are called."""
    _, number = Graph.from_tree(tree)
    return dict(zip(number, tree.names, strict=True))


def renumbered(graph: Graph) -> dict[int, int]:
    """The number that each latent gets when the graph becomes a model and is taken up again."""
    order, _ = graph.rooted()
    return {v: graph.n_manifest + i for i, v in enumerate(v for v in order if graph.is_latent(v))}
