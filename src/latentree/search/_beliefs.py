"""What every branch of a network says about the node it hangs on, row by row.

All candidates of a search step stand on these messages: they are computed once for the current model, and a change in
one place leaves those of all other branches as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._lazy import cached_property
from .._table import Table
from .._types import FloatArray
from ..engine import _core
from ._network import Network

_BLOCK = 20_000_000
"""Cells looked at between two looks at the clock."""


class Beliefs:
    """Messages of a network on the patterns of a table.

    Parameters
    ----------
    network : Network
        The current model. Manifest nodes are leaves.
    table : Table
        The data, in the order of the network's manifest nodes.
    width : float
        Messages that lie this close, as square roots of probabilities, are taken as one where candidates are judged;
        0: only those that are the same.
    """

    def __init__(self, network: Network, table: Table, width: float = 0.0) -> None:
        self.network = network
        self._table = table
        self._width = width
        self.weights = table.weights
        graph = network.graph
        numbers = sorted(graph.neighbours)
        at = {v: i for i, v in enumerate(numbers)}
        self.core = _core.Beliefs(
            graph.n_manifest,
            np.array([graph.cardinality[v] for v in numbers], dtype=np.int32),
            [network.marginals[v] for v in numbers],
            [(at[a], at[b], np.ascontiguousarray(joint)) for (a, b), joint in network.joint.items()],
            numbers,
            table.codes,
            table.weights,
            width,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Beliefs, (self.network, self._table, self._width)  # messages are found faster than sent

    @cached_property
    def log_likelihood(self) -> FloatArray:
        """log P(row) of every pattern."""
        return self.core.log_likelihood()

    def total(self, v: int) -> FloatArray:
        """log P(row | state of a latent): the sum of the messages of all its neighbours."""
        return self.core.total(v)

    def posterior(self, v: int) -> FloatArray:
        """P(state of a latent | row)."""
        return self.core.posterior(v)

    def without(self, z: int, a: int) -> Mapping[int, FloatArray]:
        """``total`` of every latent on a's side when the branch that hangs at a by z is taken away."""
        return self.core.without(z, a)

    def triple(self, a: int, b: int, c: int) -> FloatArray:
        """Expected counts of a latent and two of its neighbours: N P^(a, b, c) of [Zhang2004] 4.2."""
        return self.core.triple(a, b, c)

    def dependence(self, a: int, *, between: Callable[[], None] = lambda: None) -> FloatArray:
        """N times the information that each two neighbours of a share given a, in the completed data ([Zhang2004] 3).

        Of two neighbours the entry [i, j] with i < j counts. ``between`` is called between blocks of neighbours.
        """
        n = len(self.network.graph.neighbours[a])
        block = max(1, _BLOCK // (n * len(self.weights)))
        parts = []
        for i in range(0, n, block):
            between()
            parts.append(self.core.dependence(a, i, min(i + block, n)))
        return np.vstack(parts)
