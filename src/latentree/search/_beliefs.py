"""What every branch of a network says about the node it hangs on, row by row.

All candidates of a search step stand on these messages: they are computed once for the current model, and a change in
one place leaves those of all other branches as they are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table import Table
from .._types import FloatArray
from ..engine import _core
from ._network import Network

_TINY = 1e-300  # what an impossible value is given, so that a factor can be taken out again by subtraction
_KEPT = 4  # branches whose absence is remembered
_ALIKE = 1e-6  # logarithms that differ by less are the same


class Beliefs:
    """Messages of a network on the patterns of a table, as logarithms.

    Parameters
    ----------
    network : Network
        The current model. Manifest nodes are leaves.
    table : Table
        The data, in the order of the network's manifest nodes.

    Attributes
    ----------
    total : dict of int to array [patterns, states]
        For every latent node, the sum of the messages of all its neighbours: log P(row | state).
    log_likelihood : array [patterns]
        log P(row).
    """

    def __init__(self, network: Network, table: Table) -> None:
        self.network = network
        self._table = table
        self.weights = table.weights
        self._codes: list[NDArray[np.int16]] = list(table.codes.T)  # views: a table is kept by columns
        self._logs = {}
        graph = network.graph
        for v in range(graph.n_manifest):
            (z,) = graph.neighbours[v]
            # one more entry, which a missing cell (-1) finds: it says nothing
            rows = np.vstack([np.log(np.maximum(network.conditional(v, z).T, _TINY)), np.zeros(graph.cardinality[z])])
            self._logs[v] = rows
        self.total: dict[int, FloatArray] = {}
        self._sent: dict[tuple[int, int], FloatArray] = {}
        self._distinct: dict[tuple[int, ...], Known] = {}
        self._ids: dict[int, NDArray[np.int32]] = {}
        self._weighed: dict[int, FloatArray] = {}
        self._likelihood: dict[tuple[int, int], FloatArray] = {}
        self._left: OrderedDict[tuple[int, int], Mapping[int, FloatArray]] = OrderedDict()
        self._lock = Lock()
        self._pass()
        root = self._order[0]
        self.log_likelihood = log_sum(np.log(np.maximum(network.marginals[root], _TINY)) + self.total[root])

    def __reduce__(self) -> tuple[Any, ...]:
        return Beliefs, (self.network, self._table)  # messages are found faster than sent

    def _pass(self) -> None:
        graph = self.network.graph
        order, parent = graph.rooted()
        latents = [(v, order[p] if p >= 0 else -1) for v, p in zip(order, parent, strict=True) if graph.is_latent(v)]
        self._order = [v for v, _ in latents]
        n = len(self.weights)
        for v in self._order:
            own = np.zeros((n, graph.cardinality[v]))
            for u in graph.neighbours[v]:
                if not graph.is_latent(u):
                    own += self._logs[u][self._codes[u]]
            self.total[v] = own
        for v, p in reversed(latents[1:]):  # up: what is below v, told to its parent
            self._sent[v, p] = self._carried(v, p, self.total[v])
            self.total[p] = self.total[p] + self._sent[v, p]
        for v, p in latents[1:]:  # down
            self._sent[p, v] = self._carried(p, v, self.total[p] - self._sent[v, p])
            self.total[v] = self.total[v] + self._sent[p, v]

    def _carried(self, u: int, v: int, logs: FloatArray) -> FloatArray:
        """What log-likelihoods of the states of u say about those of v."""
        top = _most(logs)[:, None]
        out: FloatArray = np.log(np.maximum(np.exp(logs - top) @ self.network.conditional(u, v).T, _TINY)) + top
        return out

    def sent(self, u: int, v: int) -> FloatArray:
        """Message from u to its latent neighbour v: log P(rows of the branch at u | state of v)."""
        return self._logs[u][self._codes[u]] if u < self.network.graph.n_manifest else self._sent[u, v]

    def codes(self, v: int) -> NDArray[np.int16]:
        """Values of a manifest node, -1 where missing."""
        return self._codes[v]

    def ids(self, v: int) -> NDArray[np.int32]:
        """The same as a plan takes them; found when first asked for."""
        if v not in self._ids:
            self._ids[v] = self._codes[v].astype(np.int32)
        return self._ids[v]

    def about(self, v: int, *, without: Iterable[int] = ()) -> FloatArray:
        """log P(rows | state of v), some of v's neighbours and all behind them left out."""
        logs = self.total[v]
        for u in without:
            logs = logs - self.sent(u, v)
        return logs

    def distinct(self, u: int, *without: int) -> Known:
        """What u knows without some of its neighbours, once for each distinct row; found when first asked for."""
        if (u, *without) not in self._distinct:
            self._distinct[u, *without] = known(self.about(u, without=without))
        return self._distinct[u, *without]

    def cavity(self, u: int, v: int) -> FloatArray:
        """P(rows | state of u) without u's neighbour v and all behind it, the largest entry of each row being 1."""
        logs = self.about(u, without=[v])
        logs = logs - _most(logs)[:, None]
        out: FloatArray = np.maximum(np.exp(logs, out=logs), _TINY)
        return out

    def without(self, z: int, a: int) -> Mapping[int, FloatArray]:
        """``total`` of every latent on a's side when the branch that hangs at a by z is taken away."""
        with self._lock:  # z goes to many places one after the other: the last few are kept
            if (z, a) not in self._left:
                while len(self._left) >= _KEPT:
                    self._left.popitem(last=False)
                self._left[z, a] = self._parted(z, a)
            return self._left[z, a]

    def _parted(self, z: int, a: int) -> Mapping[int, FloatArray]:
        graph = self.network.graph
        left = {a: self.about(a, without=[z])}
        ahead = [(a, z)]
        for u, before in ahead:
            for v in graph.neighbours[u]:
                if v != before and graph.is_latent(v):
                    ahead.append((v, u))
                    old = self._sent[u, v]
                    # what u tells v changes by what has changed in u, less what v itself had told u
                    fresh = self._carried(u, v, left[u] - self._sent[v, u])
                    left[v] = self.total[v] - old + fresh
        return left

    def posterior(self, v: int, total: FloatArray | None = None) -> FloatArray:
        """P(state of v | row), or given other messages than all."""
        logs = np.log(np.maximum(self.network.marginals[v], _TINY)) + (self.total[v] if total is None else total)
        logs -= _most(logs)[:, None]
        p: FloatArray = np.exp(logs, out=logs)
        p /= _sum(p)[:, None]
        return p

    def weighed(self, v: int) -> FloatArray:
        """Weight times P(state of v | row); found when first asked for."""
        if v not in self._weighed:
            self._weighed[v] = self.posterior(v) * self.weights[:, None]
        return self._weighed[v]

    def neighbour(self, b: int, a: int) -> _core.Neighbour:
        """What the rows say about a neighbour b of a: its values, or likelihoods of its states; and P(b | a)."""
        given = self.network.conditional(b, a)
        if b < self.network.graph.n_manifest:
            return self._codes[b], None, given
        if (b, a) not in self._likelihood:
            self._likelihood[b, a] = self.cavity(b, a)
        return None, self._likelihood[b, a], given


@dataclass(frozen=True)
class Known:
    """Log-likelihoods of a node's states, once for each distinct row."""

    ids: NDArray[np.int32]  # which of the distinct rows each pattern has
    likelihood: FloatArray  # the largest entry of each row is 1
    scale: FloatArray  # logarithm of what was divided by


def known(logs: FloatArray) -> Known:
    """Find the distinct rows. Those that differ by less than a millionth are one.

    A small branch has few of them, and whatever is computed on them is shared.
    """
    return Known(*_core.alike_rows(np.ascontiguousarray(logs), _ALIKE))


def log_sum(logs: FloatArray) -> FloatArray:
    """log of the sum of exponentials of each row."""
    top = _most(logs)
    out: FloatArray = top + np.log(_sum(np.exp(logs - top[:, None])))
    return out


def _most(table: FloatArray) -> FloatArray:
    """The largest entry of each row: by columns, since there are few of them and NumPy is slow along short rows."""
    return reduce(np.maximum, table.T[1:], table[:, 0])


def _sum(table: FloatArray) -> FloatArray:
    """The sum of each row."""
    return reduce(np.add, table.T[1:], table[:, 0])
