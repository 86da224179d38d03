"""What our own search remembers from one step to the next, and what it makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._trace import Step
from ._evaluation import names_of
from ._network import Graph
from ._proposals import Proposal
from ._task import SAME, Point, State

FEW_LATENTS = 12
"""Trees of more latents are not enlarged: a climb from there would take too long."""
LARGE = 8
"""States of a latent beyond which random tables hardly ever lead anywhere: it gets other states one by one instead."""
GAIN = 0.01
"""Least gain of a step."""
CLIMBS, MIXED = 7, 5
"""Starts that climb before the best of them is perturbed, and starts there are at least, where not all end alike."""
VAIN = 3
"""Climbs in a row that led no higher: then no other start climbs before the best is perturbed."""

FRESH: Mapping[str, Any] = {
    "start": 0,  # which start this is
    "ends": [],  # where the starts before it ended
    "waiting": [],  # starts that have climbed and are not perturbed yet: [which start, where it has come to]
    "homes": [],  # their trees, each once
    "seen": [],  # the trees that a last look was taken at
    "once_more": [],  # the trees that were perturbed once more at the end
    "ways": {},  # trees that earlier starts were perturbed at, their scores, and the trees they ended at
    "met": {},  # structures that were met so far, and their best scores
}
"""What a search remembers from one start to the next."""
START: Mapping[str, Any] = {
    "anew": False,  # whether moves are tried from random tables too, as they are once the first climb is over
    "home": None,  # the best of this start, once it has climbed
    "here": None,  # where the climb is, if that is not the best model of all
    "passed": {},  # trees it was perturbed at, and their scores
    "missed": 0,  # perturbations in a row that did not lead higher
    "looked": False,  # whether all probabilities were fitted after single moves from home
    "goes_on": None,  # which start it continues, after a last look or when perturbed once more
    "seed": 0,  # draws the starts of EM for the moves from home
    "active": None,  # where to look first in a tree of many variables
    "swept": None,  # its score when it was last looked at as a whole
}
"""What it remembers within a start."""


def ended_there(state: State) -> bool:
    """Whether an earlier start ended where this one has come to."""
    home: Point = state.memory["home"]
    name = home.network.graph.fingerprint
    return any(p.network.graph.fingerprint == name and p.score > home.score - SAME for p in state.memory["homes"])


def alike(state: State) -> bool:
    """Whether all starts have come to the same score, and to trees without large latents, which have many optima."""
    scores = [*state.memory["ends"], *(point.score for _, point in state.memory["waiting"])]
    return max(scores) - min(scores) <= SAME and not any(has_large_latents(graph) for graph in graphs(state))


def graphs(state: State) -> list[Graph]:
    """The trees that starts have come to."""
    points = [*state.memory["homes"], *(point for _, point in state.memory["waiting"])]
    return [point.network.graph for point in points]


def largest_latent(state: State) -> int:
    """Most states of a latent in these."""
    sizes = (graph.cardinality[a] for graph in graphs(state) for a in graph.latents if a not in graph.observed)
    return max(sizes, default=1)


def n_starts(state: State) -> int:
    """Starts that have been made."""
    return len(state.memory["ends"]) + len(state.memory["waiting"])


def n_found(state: State) -> int:
    """Starts that ended at the best score met."""
    ends: list[float] = state.memory["ends"]
    return sum(end > max(ends) - SAME for end in ends)


def has_large_latents(graph: Graph) -> bool:
    """Whether a latent has so many states that random tables for it lead nowhere."""
    return any(graph.cardinality[a] > LARGE for a in graph.latents if a not in graph.observed)


def by_tree(homes: Sequence[Point]) -> dict[str, Point]:
    """Points by the structure of their trees."""
    return {p.network.graph.fingerprint: p for p in homes}


def with_home(homes: Sequence[Point], home: Point) -> list[Point]:
    """Where starts have ended, each tree once, with the best probabilities found for it."""
    best, name = by_tree(homes), home.network.graph.fingerprint
    best[name] = max(best.get(name, home), home, key=lambda p: p.score)
    return list(best.values())


def is_behind(state: State) -> bool:
    """Whether an earlier start ended higher than where this one has come to."""
    home: Point = state.memory["home"]
    return bool(home.score < max(state.memory["ends"], default=-np.inf) - SAME)


def can_enlarge(graph: Graph) -> bool:
    """Whether a tree is small enough for climbs from there with more states for every latent."""
    return not (graph.observed or len(graph.latents) > FEW_LATENTS or has_large_latents(graph))


def no_better(met: Mapping[str, float], home: Point) -> set[str]:
    """Structures that are no better than home, as far as seen."""
    return {name for name, score in met.items() if score <= home.score + GAIN}


def known_end(state: State, here: Point) -> Point | None:
    """Where an earlier start ended that was perturbed here, too."""
    graph = here.network.graph
    score, end = state.memory["ways"].get(graph.fingerprint, (-np.inf, None))
    if here.score > score + SAME or (has_large_latents(graph) and here.score < score - SAME):
        return None  # the tables of large latents may be others altogether
    return by_tree(state.memory["homes"])[end]


def sure(state: State, agree: int) -> bool:
    """Whether it is time to perturb the best: enough starts have climbed to it, or the last ones led no higher."""
    scores = [point.score for _, point in state.memory["waiting"]]
    if alike(state):
        return len(scores) > 1
    found = [i for i, score in enumerate(scores) if score > max(scores) - SAME]
    return len(scores) > found[0] + VAIN or (len(scores) >= MIXED and len(found) >= agree)


def over(state: State) -> State:
    """The end of the search: starts that were not perturbed any more ended where they had climbed to."""
    ends = [*state.memory["ends"], *(point.score for _, point in state.memory["waiting"])]
    return state.to(state.phase, finished=True, ends=ends, waiting=[])


def settled(point: Point) -> Point:
    """The point with its nodes numbered in the order of its model, as a checkpoint would give it back."""
    return Point(point.fit, point.score)


def moved(
    state: State, here: Point, point: Point, done: Sequence[Proposal], candidates: int, **memory: Any
) -> tuple[State, Step]:
    """Go on from where some moves lead; the line of the trace that says which."""
    names = names_of(here.fit.model.tree)
    kind = "+".join(sorted({p.move.kind for p in done}))
    made = point.step(state.phase, kind, "; ".join(p.move.describe(names) for p in done), candidates=candidates)
    return reached(state.to("climb", **memory), point), made


def reached(state: State, point: Point) -> State:
    """The best model so far, and where the climb is if that is lower."""
    if point.score > state.score:
        return replace(state, best=settled(point), memory={**state.memory, "here": None})
    return state.to(state.phase, here=settled(point))
