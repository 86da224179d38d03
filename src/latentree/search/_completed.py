"""Candidates judged on data completed by the current model ([Zhang2004] 4.2-4.5): formulas (3), (6), (9) and (10).

The completed data are never made: what the formulas need are expected counts of two or three neighbouring nodes. With a
score other than BIC, its penalty takes the place of d/2 log N.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np

from .._types import FloatArray
from ._beliefs import Beliefs
from ._network import Graph
from ._operators import Move, per_parameter

_TINY = 1e-300


class CompletedData:
    """Expected counts under the current model, each found once."""

    def __init__(self, beliefs: Beliefs, penalty: Callable[[Graph], float]) -> None:
        self._beliefs = beliefs
        self._penalty = penalty
        self._known: dict[tuple[int, int, int], FloatArray] = {}

    def counts(self, a: int, b: int, c: int) -> FloatArray:
        """N P^(a, b, c) of a latent and two of its neighbours."""
        if (a, b, c) not in self._known:
            first, second = sorted((b, c))
            self._known[a, first, second] = found = self._beliefs.triple(a, first, second)
            self._known[a, second, first] = found.transpose(0, 2, 1)
        return self._known[a, b, c]

    def value(self, move: Move, after: Graph) -> float:
        """What a move is worth among those of its kind; ``after`` is the regular graph it leads to."""
        graph = self._beliefs.network.graph
        wider = after.n_parameters - graph.n_parameters
        if move.kind == "NI":
            return per_parameter(self._dependence(*move.nodes), wider)
        if move.kind == "SI":
            return per_parameter(self._misfit(*move.nodes), wider)
        gain = self._relocated(*move.nodes) if move.kind == "NR" else self._deleted(*move.nodes)
        return gain - (self._penalty(after) - self._penalty(graph))

    def _dependence(self, a: int, b: int, c: int) -> float:
        """Numerator of (3): N sum P^(A,B,C) log P^(B,C|A) / P^(B|A) P^(C|A)."""
        n = self.counts(a, b, c)
        expected = n.sum(axis=2, keepdims=True) * n.sum(axis=1, keepdims=True)
        return _entropic(n, n * n.sum(axis=(1, 2), keepdims=True) / np.maximum(expected, _TINY))

    def _misfit(self, a: int) -> float:
        """(6) but for d(m') - d(m): 2N sum over i != j of P^(Bi,Bj) log P^(Bi,Bj) / Pm(Bi,Bj), by k - 1."""
        network = self._beliefs.network
        neighbours = network.graph.neighbours[a]
        total = 0.0
        for b, c in permutations(neighbours, 2):
            n = self.counts(a, b, c).sum(axis=0)
            expected = network.conditional(b, a).T @ (network.marginals[a][:, None] * network.conditional(c, a))
            total += _entropic(n, n / np.maximum(n.sum() * expected, _TINY))
        return 2 * total / (len(neighbours) - 1)

    def _relocated(self, b: int, a: int, c: int) -> float:
        """(9), with the factor N it lacks: N sum P^(A,B,C) log P^(B|C) / Pm(B|A)."""
        n = self.counts(a, b, c)
        with_c, with_a = n.sum(axis=0), n.sum(axis=2)
        given_c = with_c / np.maximum(with_c.sum(axis=0), _TINY)
        return _entropic(with_c, given_c) - _entropic(with_a, self._beliefs.network.conditional(b, a))

    def _deleted(self, b: int, a: int) -> float:
        """(10), with the factor N it lacks, summed over all r of the Ci that move to A."""
        network = self._beliefs.network
        total = 0.0
        for c in network.graph.neighbours[b]:
            if c != a:
                n = self.counts(b, a, c)
                with_a, with_b = n.sum(axis=0), n.sum(axis=1)
                given_a = with_a / np.maximum(with_a.sum(axis=1, keepdims=True), _TINY)
                total += _entropic(with_a, given_a) - _entropic(with_b, network.conditional(c, b))
        pair = n.sum(axis=2).T
        return total - _entropic(pair, network.conditional(b, a))


def _entropic(counts: FloatArray, ratio: FloatArray) -> float:
    """Sum of counts times logarithms, nothing where nothing was counted."""
    return float(np.sum(np.where(counts > 0, counts, 0.0) * np.log(np.maximum(ratio, _TINY))))
