"""Mutual information of the nodes of a model, in nats.

Information curves (Zhang and others, Artif. Intell. Med. 42 (2008) 229-245) show what a latent variable means: its
manifest variables in descending order of their mutual information with it, and that of the first i of them together.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._model import Model
from ._types import FloatArray
from .engine._plan import Evidence, Plan
from .infer import sample

__all__ = [
    "Curve",
    "InformationCurves",
    "Neighbours",
    "edge_information",
    "entropy_of",
    "mutual_information",
    "weighted_entropy",
]

MOST_PATTERNS = 4096
"""Up to this many patterns, all are enumerated; above, this many rows are drawn."""

MOST_CELLS = 2**21
"""Of more than 500 variables, fewer rows are drawn: as many as have this many cells, but some hundreds."""

FEWEST_ROWS = 256

TINY = float(np.finfo(np.float64).tiny)
"""Instead of zero in logarithms that are multiplied by zero: to leave cells out takes far longer."""

AT_ONCE = 16
"""How many neighbours of a node are looked at together."""

ROUNDING = 1e-9
"""How far computed information may be from the truth, with much to spare."""


def entropy_of(p: FloatArray) -> FloatArray:
    """Entropy of each distribution along the last axis.

    Examples
    --------
    >>> entropy_of(np.array([[0.5, 0.5], [0.0, 1.0]])).round(4).tolist()
    [0.6931, 0.0]
    """
    out: FloatArray = -(p * np.log(np.maximum(p, TINY))).sum(axis=-1) + 0.0  # no negative zero
    return out


def weighted_entropy(weights: FloatArray, p: FloatArray) -> float:
    """Entropy of rows of probabilities [rows, states], each as often as its weight says.

    Examples
    --------
    >>> round(weighted_entropy(np.array([2.0, 1.0]), np.array([[0.5, 0.5], [0.0, 1.0]])), 4)
    1.3863
    """
    columns = np.ascontiguousarray(p.T)
    return -float(((columns * np.log(np.maximum(columns, TINY))) @ weights).sum()) + 0.0


def mutual_information(prior: FloatArray, given: FloatArray) -> float:
    """Mutual information of two variables, from P(a) and the rows P(b | a).

    Examples
    --------
    >>> round(mutual_information(np.array([0.5, 0.5]), np.eye(2)), 4)
    0.6931
    """
    return float(_informations(prior[None], given[None])[0])


def _informations(prior: FloatArray, given: FloatArray) -> FloatArray:
    """The same of many pairs of variables, from P(a) [pairs, a], or one for all, and P(b | a) [pairs, a, b]."""
    ratio = given / np.maximum(prior[:, None] @ given, TINY)
    each = (given * np.log(np.maximum(ratio, TINY))).sum(axis=2)[:, :, None]
    out: FloatArray = np.maximum((prior[:, None] @ each)[:, 0, 0], 0.0)
    return out


def edge_information(model: Model) -> FloatArray:
    """Mutual information of each node and its parent; 0 for the root."""
    tree, marginals = model.tree, model.marginals()
    out = np.zeros(tree.n_nodes)
    for nodes, entries in tree.alike:
        own = nodes > 0
        if own.any():
            above = np.array([marginals[p] for p in tree.parent[nodes[own]].tolist()])
            out[nodes[own]] = _informations(above, model.parameters[entries[own]])
    return out


@dataclass(frozen=True)
class Curve:
    """How a latent variable shows: its manifest variables, the most informative first.

    Each has its mutual information with the latent variable ``alone`` and ``together`` with all before it (that of all
    manifest variables is the ``total``), and P(leaf | latent) as its profile.
    """

    node: int
    total: float
    leaves: tuple[int, ...]
    alone: tuple[float, ...]
    together: tuple[float, ...]
    profiles: tuple[FloatArray, ...]


class InformationCurves:
    """Information curves of a model's latent variables, each of so many manifest variables at most.

    They are ``exact`` if all patterns could be enumerated. Otherwise the information of *all* variables together, and
    of long curves beyond some 4,096 patterns, is estimated from rows drawn from the model, always the same ones.
    Without ``draw`` it is not: curves are shorter then, and the information of all is that of those listed.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree._variables import numbered
    >>> tables = {"z": [0.5, 0.5], "x1": [[1, 0], [0, 1]], "x2": [[0.5, 0.5], [0.5, 0.5]]}
    >>> curves = InformationCurves(Model.from_tables(Tree.star(2, [2, 2]), numbered([2, 2]), tables))
    >>> curve = curves.of(0)
    >>> curve.leaves, [round(x, 4) for x in curve.together], round(curve.total, 4)
    ((1, 2), [0.6931, 0.6931], 0.6931)
    """

    def __init__(self, model: Model, most: int = 12, *, draw: bool = True) -> None:
        self.model = model
        self.most = most
        self._neighbours = Neighbours(model)
        manifest = [int(v) for v in model.tree.manifest]
        cards = [int(model.tree.cardinality[v]) for v in manifest]
        self.exact = prod(cards) <= MOST_PATTERNS
        n_rows = min(MOST_PATTERNS, max(MOST_CELLS // max(len(cards), 1), FEWEST_ROWS))
        n_rows = n_rows if draw else 0
        codes = _all_patterns(cards) if self.exact else sample(model, n_rows, np.random.default_rng(0))
        self.n_rows = len(codes)
        self._codes = {v: np.ascontiguousarray(codes[:, i]).astype(np.int32) for i, v in enumerate(manifest)}
        self._weights = np.full(len(codes), 1 / max(len(codes), 1))
        unsure = [int(z) for z in model.tree.latent if model.tree.cardinality[z] > 1]
        self._left = {int(z): 0.0 for z in model.tree.latent if model.tree.cardinality[z] == 1}
        if (not unsure and not self.exact) or not len(codes):
            return
        # For one pass over rows that hardly share anything, to look for what they share would take longer than it.
        quick: dict[str, Any] = {} if self.exact else {"share": False, "root": 0}
        evidence = [Evidence(v, c) for v, c in self._codes.items()]
        plan = Plan(model.tree, evidence, np.ones(len(codes)), trusted=True, **quick)
        if self.exact:
            self._weights = np.exp(plan.row_log_likelihood(model.parameters))
        seen = self._weights > 0
        posteriors = plan.posteriors(model.parameters, unsure) if unsure else []
        for z, p in zip(unsure, posteriors, strict=True):
            self._left[z] = float(self._weights[seen] @ entropy_of(p[seen]))

    def of(self, node: int, most: int | None = None) -> Curve:
        """Return the curve of one latent variable, of so many manifest variables at most."""
        whole = float(entropy_of(self._neighbours.marginals[node]))
        found = list(islice(self._neighbours.most_informative(node), self.most if most is None else most))
        leaves = [v for v, _, _ in found]
        ways = [(v, self._neighbours.path(v, node)) for v in leaves]
        n_exact = self._enumerable(leaves)
        if not self.n_rows:
            found, leaves, ways = found[:n_exact], leaves[:n_exact], ways[:n_exact]
        # Entropy left once each of the leaves is known too: over all their patterns, then over the rows at hand.
        left = [float(p @ each) for each, p in self._after(node, ways[:n_exact])]
        if n_exact < len(leaves):
            left += [float(self._weights @ each) for each, _ in self._after(node, ways, self._codes, n_exact)]
        together = [whole - each for each in left]
        total = max(whole - self._left.get(node, whole), *together[:n_exact], 0.0)
        # What is drawn is uncertain; that more variables never have less information is not.
        rising = np.minimum(np.maximum.accumulate(np.maximum(together, 0.0)), total)
        alone, profiles = tuple(information for _, information, _ in found), tuple(p for _, _, p in found)
        return Curve(node, total, tuple(leaves), alone, tuple(rising.tolist()), profiles)

    def _enumerable(self, leaves: Sequence[int]) -> int:
        """How many of the leaves have few enough patterns."""
        patterns = np.cumprod([float(self.model.tree.cardinality[v]) for v in leaves])
        return int((patterns <= MOST_PATTERNS).sum())

    def _after(
        self,
        node: int,
        ways: Sequence[tuple[int, Sequence[int]]],
        codes: Mapping[int, NDArray[np.int32]] | None = None,
        passed: int = 0,
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Leaf by leaf, the node's entropy in each row, and P(row of the leaves so far); the first may be passed over.

        ``ways`` are the leaves, each with the nodes from there to the node. Without codes the rows are all patterns:
        those so far, each with every state of the next leaf.
        """
        received: dict[int, dict[int, FloatArray]] = {}  # messages at each node, by sender
        n_rows = 1
        for i, (leaf, way) in enumerate(ways):
            states = np.eye(int(self.model.tree.cardinality[leaf]))
            if codes is None:
                for messages in received.values():
                    for sender, message in messages.items():
                        messages[sender] = message.repeat(len(states), axis=0)
                own = np.tile(states, (n_rows, 1))
                n_rows *= len(states)
            else:
                own = states[codes[leaf]]
            received.setdefault(leaf, {})[leaf] = own
            v = leaf
            for towards in way:
                received.setdefault(towards, {})[v] = _product(received[v]) @ self._neighbours.across(towards, v).T
                v = towards
            if i < passed:
                continue
            p = _product(received[node]) * self._neighbours.marginals[node]
            total = p.sum(axis=1, keepdims=True)
            yield entropy_of(np.divide(p, total, out=np.zeros_like(p), where=total > 0)), total[:, 0]


def _all_patterns(cards: Sequence[int]) -> NDArray[np.int16]:
    """Every combination of states, a row each; one row without columns if there are none."""
    patterns = np.indices(cards, dtype=np.int16).reshape(len(cards), prod(cards))
    return np.ascontiguousarray(patterns.T)


def _product(messages: Mapping[int, FloatArray]) -> FloatArray:
    first, *others = messages.values()
    return reduce(np.multiply, others, first)


@dataclass
class Neighbours:
    """Ways through a tree and P(next | this) on them."""

    model: Model
    marginals: list[FloatArray] = field(default_factory=list)
    _across: dict[tuple[int, int], FloatArray] = field(default_factory=dict)
    _edges: list[float] = field(default_factory=list)
    _groups: dict[int, list[_Beside]] = field(default_factory=dict)
    _cuts: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.marginals = self.model.marginals()
        self._cuts = set(self.model.tree.cuts.tolist())
        self._edges = edge_information(self.model).tolist()

    def across(self, a: int, b: int) -> FloatArray:
        """P(b | a) of two neighbours. A state of ``a`` that never occurs says nothing."""
        if (a, b) not in self._across:
            tree = self.model.tree
            if b and tree.parent[b] == a:
                self._across[a, b] = self.model.table(b)
            else:
                joint = (self.marginals[b][:, None] * self.model.table(a)).T
                p = self.marginals[a][:, None]
                nothing = np.tile(self.marginals[b], (len(p), 1))
                self._across[a, b] = np.divide(joint, p, out=nothing, where=p > 0)
        return self._across[a, b]

    def information(self, a: int, b: int) -> float:
        """Mutual information of two neighbours."""
        return self._edges[b if self.model.tree.parent[b] == a and b else a]

    def path(self, start: int, end: int) -> list[int]:
        """Nodes from one to another, without the first."""
        if start and self.model.tree.parent[start] == end:
            return [end]
        down, up = self.model.tree.path_from_root(end), self.model.tree.path_from_root(start)
        shared = sum(1 for a, b in zip(down, up, strict=False) if a == b)
        return [*up[shared - 1 : -1][::-1], *down[shared:]]

    def most_informative(self, node: int) -> Iterator[tuple[int, float, FloatArray]]:
        """Manifest nodes in descending order of mutual information with a node, that, and P(manifest | node).

        Nothing beyond a node has more information than the node itself, nor than the two ends of the last edge have of
        each other (data-processing inequality). So the best open end is always looked at next, and what comes out comes
        out in order: only a part of the tree is ever visited. What is beyond a latent node of one state is independent
        of the node, and left out.
        """
        tree, prior = self.model.tree, self.marginals[node]
        # Either a node whose information is known, or those of its neighbours that have not been looked at, with what
        # they have at most; at a tie all must be known before one is.
        open_ends: list[tuple[float, bool, int, int, int, int, FloatArray]]
        open_ends = [(-np.inf, True, node, -1, 0, 0, np.eye(len(prior)))]
        while open_ends:
            least, known, v, before, group, first, given = heapq.heappop(open_ends)
            if known:
                if v != node and tree.variable[v] >= 0:
                    yield v, -least, given
                for i, beside in enumerate(self._beside(v) if v == node or len(tree.neighbours(v)) > 1 else ()):
                    heapq.heappush(open_ends, (max(least, -beside.most[0]), False, v, before, i, 0, given))
                continue
            beside, own = self._beside(v)[group], slice(first, first + AT_ONCE)
            nodes, tables, most = beside.nodes[own], beside.tables[own], beside.most[own]
            if v == node:
                found = beside.information[own]
            else:
                tables = given @ tables
                found = _informations(prior[None], tables)
            # Never above the information on the way there: rounding must not disturb the order.
            upper = np.minimum(np.minimum(found, most), -least)
            for u, information, table in zip(nodes.tolist(), upper.tolist(), tables, strict=True):
                if u != before and u not in self._cuts:
                    heapq.heappush(open_ends, (-information, True, u, v, 0, 0, table))
            if own.stop < len(beside.nodes):
                rest = max(least, -float(beside.most[own.stop]))
                heapq.heappush(open_ends, (rest, False, v, before, group, own.stop, given))

    def _beside(self, v: int) -> list[_Beside]:
        """The neighbours of a node, those with as many states together, the most informative first."""
        if v not in self._groups:
            alike: dict[int, list[int]] = {}
            for u in self.model.tree.neighbours(v):
                alike.setdefault(len(self.marginals[u]), []).append(u)
            self._groups[v] = [self._ranked(v, nodes) for nodes in alike.values()]
        return self._groups[v]

    def _ranked(self, v: int, nodes: list[int]) -> _Beside:
        information = np.array([self.information(v, u) for u in nodes])
        order = np.argsort(-information, kind="stable")
        ranked, own = np.array(nodes)[order], information[order]
        tables = np.array([self.across(v, u) for u in ranked.tolist()])
        return _Beside(ranked, own, own * (1 + ROUNDING) + ROUNDING, tables)


@dataclass(frozen=True)
class _Beside:
    """Some neighbours of a node: their information about it, with the most that rounding may add, and P(them | it)."""

    nodes: NDArray[np.intp]
    information: FloatArray
    most: FloatArray
    tables: FloatArray
