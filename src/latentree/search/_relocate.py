"""All node relocations at once: where each branch would hang best, all else staying as it is.

The likelihood is concave in the one table that a relocation changes, so a few steps of EM from the expected counts find
it. The node that a branch would hang at is judged without the branch: its own influence must not speak for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from .._types import FloatArray
from ._beliefs import Beliefs
from ._network import Graph
from ._operators import Move
from ._restricted import Evaluated

PASSES = 30
"""Most passes over the data: one counts, the others are steps of EM."""


PLACES = 256
"""Places that a branch is tried at, the nearest first."""
CHUNK = 64
"""Latents whose branches are looked at together: more would only need more memory."""

Needed = Callable[[int, int, Sequence[int]], FloatArray]
"""Given the top of a branch, the latent it hangs at, and places: by how much each must raise the log-likelihood."""


def relocations(
    beliefs: Beliefs,
    *,
    only: Collection[int] | None = None,
    n_jobs: int = 1,
    passes: int = PASSES,
    n_places: int = PLACES,
    needed: Needed | None = None,
) -> Iterator[Evaluated]:
    """Restricted likelihood of all moves of kind NR.

    If ``needed`` says by how much each must raise the log-likelihood, those that do not are left out, and those that
    cannot be the best of their branch are not followed to the end.
    """
    graph = beliefs.network.graph
    fixed = set(graph.observed.values())
    branches = {
        a: [z for z in graph.neighbours[a] if z not in fixed and (only is None or a in only or z in only)]
        for a in graph.latents
    }
    for some, places in _chunks(graph, [a for a in graph.latents if branches[a]], n_places):
        yield from _moved(beliefs, some, places, branches, n_jobs, passes, n_places, needed)


def _chunks(graph: Graph, latents: Sequence[int], n_places: int) -> Iterator[tuple[list[int], list[int]]]:
    """Latents that are close to each other, some at a time, and the tree of places that are near to them."""
    if len(graph.latents) <= max(n_places, CHUNK):
        yield list(latents), graph.latents
        return
    left = dict.fromkeys(latents)
    while left:
        walked = list(islice(_outwards(graph, next(iter(left))), CHUNK))
        chunk = [v for v in walked if v in left]
        for v in chunk:
            del left[v]
        yield chunk, sorted({*walked, *(v for a in chunk for v in islice(_outwards(graph, a), n_places))})


def _outwards(graph: Graph, start: int, before: int = -1) -> Iterator[int]:
    """All latents, the nearest first; or those of the branch that a node before has."""
    ahead = [(start, before)]
    for v, before in ahead:
        yield v
        ahead += [(u, v) for u in graph.neighbours[v] if u != before and graph.is_latent(u)]


def _moved(
    beliefs: Beliefs,
    some: Sequence[int],
    places: Sequence[int],
    branches: Mapping[int, Sequence[int]],
    n_jobs: int,
    passes: int,
    n_places: int,
    needed: Needed | None,
) -> Iterator[Evaluated]:
    network, graph = beliefs.network, beliefs.network.graph
    at = set(places)
    tops = [(z, a) for a in some for z in branches[a] if z in at or not graph.is_latent(z)]
    least = [None if needed is None else _needed(graph, z, a, places, needed) for z, a in tops]
    asked = [(z, a, own) for (z, a), own in zip(tops, least, strict=True)]
    moved = beliefs.core.relocations(list(places), asked, passes, n_places, n_jobs)
    now, fresh = float(beliefs.weights @ beliefs.log_likelihood), graph.fresh()
    for (z, a), own, (stays, goes, tables) in zip(tops, least, moved, strict=True):
        with np.errstate(invalid="ignore"):
            enough = goes - stays > (-np.inf if own is None else own)
        for i in np.flatnonzero(enough):  # nan, where it was not tried, is never enough
            c = places[int(i)]
            joined = {(z, c): tables[i][: graph.cardinality[c]]}
            gain = float(goes[i] - stays)
            yield Evaluated(Move("NR", (z, a, c)), now + gain, c, network.marginals[c], joined, fresh)


def _needed(graph: Graph, z: int, a: int, places: Sequence[int], needed: Needed) -> FloatArray:
    """What is needed at all places; where a branch cannot go, nothing is enough."""
    own = {a, *(_outwards(graph, z, a) if graph.is_latent(z) else ())}
    out = np.full(len(places), np.inf)
    out[[c not in own for c in places]] = needed(z, a, [c for c in places if c not in own])
    return out
