"""Unrooted trees that are edited, and their probabilities, edge by edge.

A learned model has no root ([Zhang2004] 2). While the tree changes, its probabilities are therefore kept as one joint
table for each edge: a change of some edges leaves the others as they are, and nothing has to be walked or turned round.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType

import numpy as np

from .._model import Model, normalised
from .._tree import Tree, states_needed
from .._types import FloatArray
from .._variables import Variable

Edge = tuple[int, int]
"""Two neighbours, the smaller number first."""


def edge(a: int, b: int) -> Edge:
    """The edge between two nodes."""
    return (a, b) if a < b else (b, a)


def trusted_tree(
    parent: Sequence[int], cardinality: Sequence[int], variable: Sequence[int], names: Iterable[str]
) -> Tree:
    """A tree that is right by construction: a search makes thousands, and checks none of them."""
    tree = object.__new__(Tree)
    for name, values in (("parent", parent), ("cardinality", cardinality), ("variable", variable)):
        array = np.array(values, dtype=np.int32)
        array.setflags(write=False)
        object.__setattr__(tree, name, array)
    object.__setattr__(tree, "names", tuple(names))
    return tree


def _trusted_model(tree: Tree, variables: Sequence[Variable], parameters: FloatArray) -> Model:
    """A model that is right by construction: its tree has the variables' names, its rows are distributions."""
    model = object.__new__(Model)
    parameters.setflags(write=False)
    own = {"tree": tree, "variables": tuple(variables), "parameters": parameters, "provenance": MappingProxyType({})}
    for name, value in own.items():
        object.__setattr__(model, name, value)
    return model


@dataclass(frozen=True)
class Graph:
    """An unrooted tree: manifest nodes are 0 .. n-1, as the data's columns; latent nodes have any higher numbers.

    Attributes
    ----------
    neighbours : mapping of int to tuple of int
        The neighbours of each node, in ascending order.
    cardinality : mapping of int to int
        How many states each node has.
    n_manifest : int
        How many nodes are manifest.
    observed : mapping of int to int
        Inner nodes whose values are observed, and the leaf that holds these: an inner node like any latent, but its
        states are those of the variable. A tree has one node for the two.
    """

    neighbours: Mapping[int, tuple[int, ...]]
    cardinality: Mapping[int, int]
    n_manifest: int
    observed: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def star(cls, n_states: int, cardinalities: Sequence[int]) -> Graph:
        """One latent node above all leaves."""
        n = len(cardinalities)
        neighbours = {i: (n,) for i in range(n)} | {n: tuple(range(n))}
        return cls(neighbours, dict(enumerate(map(int, cardinalities))) | {n: n_states}, n)

    @classmethod
    def from_tree(cls, tree: Tree, numbers: Sequence[int] | None = None) -> tuple[Graph, list[int]]:
        """The tree without its root, and the number that each of its nodes gets."""
        n = tree.n_variables
        fresh = iter(range(n, n + tree.n_nodes))
        # a manifest root is meant as one, even if only one branch hangs on it
        inner = {v: int(i) for v, i in enumerate(tree.variable) if i >= 0 and (v == 0 or len(tree.neighbours(v)) > 1)}
        own = (int(i) if i >= 0 and v not in inner else next(fresh) for v, i in enumerate(tree.variable))
        number = list(numbers or own)
        neighbours = {number[v]: tuple(sorted(number[u] for u in tree.neighbours(v))) for v in range(tree.n_nodes)}
        cardinality = {number[v]: int(k) for v, k in enumerate(tree.cardinality)}
        for v, leaf in inner.items():
            neighbours[number[v]], neighbours[leaf] = tuple(sorted((leaf, *neighbours[number[v]]))), (number[v],)
            cardinality[leaf] = cardinality[number[v]]
        return cls(neighbours, cardinality, n, {number[v]: leaf for v, leaf in inner.items()}), number

    @property
    def latents(self) -> list[int]:
        """The latent nodes, ascending."""
        return sorted(v for v in self.neighbours if v >= self.n_manifest)

    def is_latent(self, v: int) -> bool:
        """Whether a node is latent."""
        return v >= self.n_manifest

    @property
    def edges(self) -> Iterator[Edge]:
        """All edges."""
        return ((a, b) for a in sorted(self.neighbours) for b in self.neighbours[a] if a < b)

    @property
    def n_parameters(self) -> int:
        """Standard dimension: the same for every rooting."""
        k = self.cardinality
        twice = sum((k[v] - 1) * k[v] for v in self.observed)  # the leaf of an observed inner node says nothing new
        return sum(n - 1 for n in k.values()) + sum((k[a] - 1) * (k[b] - 1) for a, b in self.edges) - twice

    @property
    def fingerprint(self) -> str:
        """The same for the same structure, whatever its latents are numbered."""
        return hashlib.sha256(repr(self.key()).encode()).hexdigest()[:16]

    def latents_around(self, centre: int, size: int) -> set[int]:
        """So many latents around one of them, itself included, the nearest first."""
        found, ahead = {centre}, [centre]
        for u in ahead:
            for v in self.neighbours[u]:
                if len(found) < size and self.is_latent(v) and v not in found:
                    found.add(v)
                    ahead.append(v)
        return found

    def fresh(self) -> int:
        """A number that no node has."""
        return max(self.neighbours) + 1

    def path(self, start: int, end: int) -> list[int]:
        """The nodes from one to another, both included."""
        before = {start: start}
        order = [start]
        for v in order:
            if v == end:
                break
            for u in self.neighbours[v]:
                if u not in before:
                    before[u] = v
                    order.append(u)
        path = [end]
        while path[-1] != start:
            path.append(before[path[-1]])
        return path[::-1]

    # ---- editing ---------------------------------------------------------------------------------------

    def edited(
        self,
        *,
        without: Iterable[int] = (),
        cut: Iterable[Edge] = (),
        join: Iterable[Edge] = (),
        cardinality: Mapping[int, int] | None = None,
    ) -> Graph:
        """The same graph with nodes taken away, edges cut and joined, and other numbers of states.

        Nodes that are new in ``cardinality`` are added. What is not touched is shared with this graph.
        """
        neighbours, k = dict(self.neighbours), {**self.cardinality, **(cardinality or {})}
        other: dict[int, set[int]] = {v: set() for v in cardinality or () if v not in neighbours}

        def at(v: int) -> set[int]:
            return other[v] if v in other else other.setdefault(v, set(neighbours[v]))

        gone = list(without)
        for v in gone:
            for u in neighbours[v]:
                at(u).discard(v)
        for a, b in cut:
            at(a).discard(b)
            at(b).discard(a)
        for a, b in join:
            at(a).add(b)
            at(b).add(a)
        neighbours.update((v, tuple(sorted(u))) for v, u in other.items())
        for v in gone:
            del neighbours[v], k[v]
        return Graph(neighbours, k, self.n_manifest, self.observed)

    def bound(self, v: int) -> int:
        """Most states a latent node can use: prod|x| / max|x| over its neighbours ([Zhang2004] 2)."""
        neighbours = [self.cardinality[u] for u in self.neighbours[v]]
        return prod(neighbours) // max(neighbours)

    def regularised(self, around: Iterable[int] | None = None) -> Graph:
        """The regular graph that can represent the same distributions; see :meth:`latentree.Tree.regularised`.

        If only some nodes can be irregular, ``around`` names them: the others are not looked at.
        """
        graph, left = self, set(self.latents if around is None else filter(self.is_latent, around))
        while left and len(graph.neighbours) > 1:
            v = min(left)
            left.discard(v)
            if v not in graph.neighbours or v in graph.observed:
                continue
            k, own = graph.cardinality[v], graph.neighbours[v]
            needed = states_needed(k, [graph.cardinality[u] for u in own])
            if needed < k:
                joined = [edge(*own)] if len(own) == 2 else []
                fewer = {v: needed}
                graph = graph.edited(cardinality=fewer) if needed else graph.edited(without=[v], join=joined)
                left.update(filter(graph.is_latent, own))  # what this changes, it changes for its neighbours
        return graph

    def after(self, moved: Graph) -> tuple[Graph, int]:
        """What a change of a few nodes of this regular graph comes to, made regular, and the parameters it adds."""
        altered = _altered(self, moved)
        regular = moved.regularised(altered.union(*(moved.neighbours[v] for v in altered)))
        altered = _altered(self, regular) | (self.neighbours.keys() - regular.neighbours.keys())
        return regular, regular.parameters_of(altered) - self.parameters_of(altered)

    def parameters_of(self, nodes: Collection[int]) -> int:
        """Parameters of some nodes and all their edges."""
        k, own = self.cardinality, [v for v in nodes if v in self.neighbours]
        ends = {edge(v, u) for v in own for u in self.neighbours[v]}
        return sum(k[v] - 1 for v in own) + sum((k[a] - 1) * (k[b] - 1) for a, b in ends)

    def key(self) -> tuple[object, ...]:
        """The form that exactly the equal graphs share, whatever their latents are numbered.

        Every edge splits the manifest nodes in two; the splits with the states at both ends name the tree, except for
        latents that hang between the same splits, which the order along the chain tells apart.
        """
        return self.to_tree().canonical

    # ---- rooted ----------------------------------------------------------------------------------------

    def rooted(self, root: int | None = None) -> tuple[list[int], list[int]]:
        """An order with parents first, and each node's parent as a position in it (-1 for the root).

        Leaves of observed inner nodes are left out; such a node is the root if none is named.
        """
        start = root if root is not None else min(self.observed or self.latents, default=min(self.neighbours))
        order, parent, seen = [start], [-1], {start, *self.observed.values()}
        for i, v in enumerate(order):
            for u in self.neighbours[v]:
                if u not in seen:
                    seen.add(u)
                    order.append(u)
                    parent.append(i)
        return order, parent

    def to_tree(self, names: Mapping[int, str] | None = None, root: int | None = None) -> Tree:
        """Hang it up, by default at its first latent."""
        order, parent = self.rooted(root)
        called = names or {}
        leaf = {v: self.observed.get(v, v) for v in order}
        label = {v: f"x{i + 1}" if i < self.n_manifest else f"z{i - self.n_manifest + 1}" for v, i in leaf.items()}
        return trusted_tree(
            parent,
            [self.cardinality[v] for v in order],
            [leaf[v] if leaf[v] < self.n_manifest else -1 for v in order],
            (called.get(v, label[v]) for v in order),
        )


def _altered(before: Graph, now: Graph) -> set[int]:
    """The nodes that have other neighbours or another number of states, or are new."""
    old, k = before.neighbours, before.cardinality
    return {v for v, own in now.neighbours.items() if own is not old.get(v) or now.cardinality[v] != k[v]}


@dataclass(frozen=True)
class Network:
    """A graph with probabilities."""

    graph: Graph  # the tree
    joint: Mapping[Edge, FloatArray]  # P(a, b) for every edge (a, b), a < b: a row for each state of a
    marginals: Mapping[int, FloatArray]  # P(v) of every node
    _given: dict[Edge, FloatArray] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def from_model(cls, model: Model, numbers: Sequence[int] | None = None) -> Network:
        """Take a model's root away; ``numbers`` are those its nodes shall have, if not the first that are free."""
        tree = model.tree
        graph, number = Graph.from_tree(tree, numbers)
        marginals = model.marginals()
        joint: dict[Edge, FloatArray] = {}
        for v in range(1, tree.n_nodes):
            p = int(tree.parent[v])
            both = marginals[p][:, None] * model.table(v)
            joint[edge(number[p], number[v])] = both if number[p] < number[v] else np.ascontiguousarray(both.T)
        shares = {number[v]: p for v, p in enumerate(marginals)}
        for v, leaf in graph.observed.items():
            shares[leaf], joint[leaf, v] = shares[v], np.diag(shares[v])
        return cls(graph, joint, shares)

    def conditional(self, v: int, u: int) -> FloatArray:
        """P(v | u) of two neighbours: a row for each state of u, uniform for states that never occur."""
        if (v, u) not in self._given:
            self._given[v, u] = self._conditional(v, u)
        return self._given[v, u]

    def _conditional(self, v: int, u: int) -> FloatArray:
        both = self.joint[edge(u, v)]
        both = both if u < v else both.T
        total = both.sum(axis=1, keepdims=True)
        out = np.full(both.shape, 1.0 / both.shape[1])
        np.divide(both, total, out=out, where=total > 0)
        out.setflags(write=False)
        return out

    def to_model(self, variables: Sequence[Variable], root: int | None = None, *, least: float = 0.0) -> Model:
        """Hang it up again; latents are called z1, z2, ... in the order of the tree.

        Probabilities below ``least`` are raised to it, for EM could not raise those of zero.
        """
        order, parent = self.graph.rooted(root)
        tables = [self.marginals[order[0]][None, :]]
        tables += [self.conditional(v, order[parent[i]]) for i, v in enumerate(order) if i]
        latent = [v for v in order if self.graph.is_latent(v) and v not in self.graph.observed]
        names = {v: f"z{i + 1}" for i, v in enumerate(latent)} | {i: v.name for i, v in enumerate(variables)}
        names |= {v: names[leaf] for v, leaf in self.graph.observed.items()}
        taken = {v.name for v in variables}
        for v in latent:
            while names[v] in taken:
                names[v] += "_"
            taken.add(names[v])
        tree = self.graph.to_tree(names, order[0])
        flat = np.concatenate([np.clip(t, least, None).ravel() for t in tables])
        return _trusted_model(tree, variables, normalised(tree, flat) if least else flat)
