"""Recombination of two trees: what hangs on an edge of one takes the place of what hangs on the same edge of another.

Every edge parts the variables in two. Two trees that were found from different starts often have such partitions in
common and differ on one side of them only: there, the one may be right, and elsewhere the other. A child keeps one tree
on one side of a common partition and takes over the other tree, with its latents, numbers of states and probabilities,
on the other side.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._table import Table
from ._beliefs import Beliefs
from ._network import Edge, Graph, Network, edge
from ._restricted import regularised

Side = frozenset[int]


def children(one: Network, other: Network, table: Table) -> Iterator[Network]:
    """The regular networks that come of one by taking over a side of a common partition from the other, each once."""
    if one.graph.observed or other.graph.observed:
        return
    mine, theirs = sides(one.graph), sides(other.graph)
    common = sorted((side for side in mine.keys() & theirs.keys()), key=lambda s: (len(s), sorted(s)))
    seen = {one.graph.key(), other.graph.key()}
    posteriors = Beliefs(one, table), Beliefs(other, table)
    for side in common:
        child = regularised(_child(one, other, mine[side], theirs[side], posteriors))
        key = child.graph.key()
        if key not in seen:
            seen.add(key)
            yield child


def sides(graph: Graph) -> dict[Side, Edge]:
    """The variables beyond each edge between latents, and the edge as it is walked to get there.

    Of several edges in a row that part the variables alike the last counts, so that all that lies between goes along.
    """
    found: dict[Side, Edge] = {}
    for u in graph.latents:
        for v in graph.neighbours[u]:
            if graph.is_latent(v):
                beyond = _beyond(graph, u, v)
                leaves = frozenset(w for w in beyond if not graph.is_latent(w))
                if leaves not in found or found[leaves][0] in beyond:
                    found[leaves] = (u, v)
    return found


def _beyond(graph: Graph, u: int, v: int) -> set[int]:
    """All nodes that are reached from u through v."""
    seen, ahead = {u, v}, [v]
    for w in ahead:
        new = [x for x in graph.neighbours[w] if x not in seen]
        seen.update(new)
        ahead += new
    return seen - {u}


def _child(one: Network, other: Network, here: Edge, there: Edge, beliefs: tuple[Beliefs, Beliefs]) -> Network:
    """One tree up to an edge, the other beyond it."""
    (u, v), (_, w) = here, there
    stay = set(one.graph.neighbours) - _beyond(one.graph, u, v)
    come = sorted(_beyond(other.graph, *there))
    fresh = max(one.graph.fresh(), other.graph.fresh())
    number = {x: fresh + i if other.graph.is_latent(x) else x for i, x in enumerate(come)}
    joint = {e: p for e, p in one.joint.items() if stay.issuperset(e)}
    for (a, b), own in other.joint.items():
        if a in number and b in number:
            c, d = number[a], number[b]
            joint[edge(c, d)] = own if c < d else np.ascontiguousarray(own.T)
    # how the two ends go together, as far as each tree knows its own
    both = (beliefs[0].posterior(u) * beliefs[0].weights[:, None]).T @ beliefs[1].posterior(w)
    joint[u, number[w]] = both / both.sum()
    marginals = {x: one.marginals[x] for x in stay} | {number[x]: other.marginals[x] for x in come}
    cardinality = {x: len(p) for x, p in marginals.items()}
    neighbours: dict[int, list[int]] = {x: [] for x in marginals}
    for a, b in joint:
        neighbours[a].append(b)
        neighbours[b].append(a)
    graph = Graph({x: tuple(sorted(own)) for x, own in neighbours.items()}, cardinality, one.graph.n_manifest)
    return Network(graph, joint, marginals)
