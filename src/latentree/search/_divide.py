"""A tree of many variables, piece by piece: divide by Chow and Liu's tree, conquer by climbing, build bridges.

In the tree of strongest pairs (:mod:`latentree.search._chow_liu`), what lies together in a latent tree lies together as
well: it is the latent tree with each latent drawn into the variable that is nearest to it (Choi, Tan, Anandkumar and
Willsky 2011). So it can be cut at weak links, each piece be learned on its own, and the pieces be joined again where
they were cut. Which latents are joined follows from their mutual information, as in the bridged islands of Liu, Zhang,
Chen and others; here a piece is a whole tree rather than one latent and its leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .._model import Model
from .._table import Table
from .._types import FloatArray
from ._beliefs import Beliefs
from ._chow_liu import Link
from ._network import Edge, Graph, Network, edge

LEAST = 4
"""Fewest variables of a piece."""
PASSES = 20
"""Steps of EM for the table of a bridge."""


# ---- divide -----------------------------------------------------------------------------------------------------


def cut(links: Iterable[Link], n: int, size: int) -> tuple[list[list[int]], list[Edge]]:
    """Cut a tree of all variables into pieces, strong links being kept.

    The strongest link comes first and joins what it links, unless that became larger than ``size``. What is left over
    in bits of fewer than LEAST variables (the neighbours of a hub, say) is put together with other bits of the same
    neighbour.

    Examples
    --------
    >>> cut([(i, i + 1, 9.0) for i in range(11) if i != 4] + [(4, 5, 1.0)], 12, size=8)
    ([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 10, 11]], [(4, 5)])
    """
    links = list(links)
    size = max(size, 2 * LEAST)
    groups = _Groups(n)
    for i, j, _ in links:
        if groups.size(i) + groups.size(j) <= size:
            groups.join(i, j)
    taken: set[int] = set()
    bits: dict[int, list[int]] = {}  # of each larger piece, the bits whose strongest link leads to it
    for i, j, _ in links:
        for bit, larger in ((groups.top(i), groups.top(j)), (groups.top(j), groups.top(i))):
            if groups.size(bit) < LEAST <= groups.size(larger) and bit not in taken:
                taken.add(bit)
                bits.setdefault(larger, []).append(bit)
    for larger, own in bits.items():
        for bit in own[1:]:
            if groups.size(own[0]) + groups.size(bit) > size:
                own[0] = bit
            else:
                groups.join(own[0], bit)
        if groups.size(own[0]) < LEAST:
            groups.join(own[0], larger)
    joined = _Groups(n)
    cuts = []
    for i, j, _ in links:
        a, b = groups.top(i), groups.top(j)
        if a != b and joined.top(a) != joined.top(b):
            joined.join(a, b)
            cuts.append(edge(i, j))
    members: dict[int, list[int]] = {}
    for v in range(n):
        members.setdefault(groups.top(v), []).append(v)
    return list(members.values()), cuts


class _Groups:
    """Disjoint sets of variables, each named by one of them."""

    def __init__(self, n: int) -> None:
        self._up = list(range(n))
        self._size = [1] * n

    def top(self, v: int) -> int:
        while self._up[v] != v:
            self._up[v] = self._up[self._up[v]]
            v = self._up[v]
        return v

    def size(self, v: int) -> int:
        return self._size[self.top(v)]

    def join(self, a: int, b: int) -> None:
        a, b = self.top(a), self.top(b)
        if a != b:
            a, b = (a, b) if self._size[a] >= self._size[b] else (b, a)
            self._up[b] = a
            self._size[a] += self._size[b]


def part(table: Table, variables: Sequence[int]) -> Table:
    """The table of some variables; its ``inverse`` leads from the patterns of the whole."""
    return Table.from_codes(
        table.codes[:, list(variables)], [table.variables[i] for i in variables], table.weights, table.n
    ).ordered()


# ---- conquer ----------------------------------------------------------------------------------------------------


def centred(piece: Table, centre: int) -> Model:
    """A piece as counted: a latent of two states that nearly tells whether its centre has its most frequent value.

    What there is before the piece is learned; it needs no EM.
    """
    codes, weights = piece.codes, piece.weights
    own = np.bincount(codes[codes[:, centre] >= 0, centre], weights=weights[codes[:, centre] >= 0])
    state = np.where(codes[:, centre] == np.argmax(own), 0, 1)
    known = codes[:, centre] >= 0
    graph = Graph.star(2, piece.cardinalities.tolist())
    z = piece.n_variables
    marginals = np.bincount(state[known], weights=weights[known], minlength=2)
    marginals = (marginals + 1.0) / (marginals.sum() + 2.0)
    joint: dict[Edge, FloatArray] = {}
    for v in range(z):
        k = piece.variables[v].cardinality
        both = known & (codes[:, v] >= 0)
        counts = np.bincount(codes[both, v] * 2 + state[both], weights=weights[both], minlength=2 * k).reshape(k, 2)
        counts = counts + 0.02 * counts.sum(axis=1, keepdims=True) + 1.0 / k  # nothing is impossible
        joint[v, z] = counts / counts.sum(axis=0) * marginals
    shares = {v: joint[v, z].sum(axis=1) for v in range(z)}
    return Network(graph, joint, {**shares, z: marginals}).to_model(piece.variables)


# ---- bridges ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bridge:
    """An edge between the latents of two pieces."""

    ends: Edge  # the pieces
    nodes: Edge  # the nodes of their trees that it joins
    joint: FloatArray  # P(node, node)


def likelihoods(model: Model, piece: Table) -> dict[int, FloatArray]:
    """P(row | state) of all latents of a piece, a row for each pattern of the whole table, up to a factor for each."""
    graph, number = Graph.from_tree(model.tree)
    beliefs = Beliefs(Network.from_model(model), piece)
    out = {}
    for position, v in enumerate(number):
        if graph.is_latent(v):
            logs = beliefs.total(v)
            out[position] = np.exp(logs - logs.max(axis=1, keepdims=True))[piece.inverse]
    return out


def bridge(
    ends: Edge,
    models: tuple[Model, Model],
    evidence: tuple[Mapping[int, FloatArray], Mapping[int, FloatArray]],
    weights: FloatArray,
) -> Bridge:
    """Join two pieces by the two latents that share most information."""
    posteriors = []
    for model, own in zip(models, evidence, strict=True):
        marginals = model.marginals()
        believed = {v: like * marginals[v] for v, like in own.items()}
        posteriors.append({v: p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300) for v, p in believed.items()})
    best, nodes, joint = -1.0, (-1, -1), np.empty((0, 0))
    for u, p in posteriors[0].items():
        weighed = p.T * weights
        for v, q in posteriors[1].items():
            both = weighed @ q / weights.sum()
            shared = _information(both)
            if shared > best:
                best, nodes, joint = shared, (u, v), both
    left, right = evidence[0][nodes[0]], evidence[1][nodes[1]]
    joint = np.maximum(joint, 1e-6)
    for _ in range(PASSES):  # concave: EM finds the table
        mixed = np.einsum("ri,ij,rj->r", left, joint, right, optimize=True)
        joint = joint * ((left.T * (weights / np.maximum(mixed, 1e-300))) @ right)
        joint = joint / joint.sum()
    return Bridge(ends, nodes, joint)


def _information(joint: FloatArray) -> float:
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    return float((joint * np.log(np.maximum(joint, 1e-300) / np.maximum(apart, 1e-300))).sum())


def assembled(
    table: Table, pieces: Sequence[Sequence[int]], models: Sequence[Model], bridges: Iterable[Bridge]
) -> Model:
    """One model of all pieces and the bridges between them."""
    neighbours: dict[int, list[int]] = {}
    cardinality: dict[int, int] = {}
    joint: dict[Edge, FloatArray] = {}
    marginals: dict[int, FloatArray] = {}
    names: list[list[int]] = []
    fresh = table.n_variables
    for variables, model in zip(pieces, models, strict=True):
        own = Network.from_model(model)
        _, number = Graph.from_tree(model.tree)
        name = dict(enumerate(variables))
        for v in own.graph.latents:
            name[v] = fresh
            fresh += 1
        names.append([name[v] for v in number])
        for v, others in own.graph.neighbours.items():
            neighbours[name[v]] = [name[u] for u in others]
            cardinality[name[v]] = own.graph.cardinality[v]
            marginals[name[v]] = own.marginals[v]
        for (a, b), both in own.joint.items():  # variables stay before latents, and latents in their order
            a, b = name[a], name[b]
            joint[edge(a, b)] = both if a < b else both.T
    for own_bridge in bridges:
        (p, q), (u, v) = own_bridge.ends, own_bridge.nodes
        u, v = names[p][u], names[q][v]
        neighbours[u].append(v)
        neighbours[v].append(u)
        joint[edge(u, v)] = own_bridge.joint if u < v else own_bridge.joint.T
    graph = Graph({v: tuple(sorted(neighbours[v])) for v in neighbours}, cardinality, table.n_variables)
    return Network(graph, joint, marginals).to_model(table.variables)
