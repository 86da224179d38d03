"""Passing messages along a tree in plain NumPy: sums or maxima, all rows at once.

Everything is done in the model's own rooting and in logarithms, so that it shares neither the schedule nor the
arithmetic of the kernels. The completed data of a row hold every node except leaves of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._lazy import cached_property
from .._model import Counts
from .._tree import Tree
from .._types import FloatArray
from ._plan import Evidence

Semiring = Literal["sum", "max"]


class Messages:
    """What the branches of a tree say about each other, for every row of evidence.

    The states of hidden nodes are summed over, or (``max``) the most probable ones are taken. Rows of the parameters
    need not sum to one; ``n_rows`` is needed without evidence. With ``fill_leaves``, leaves of which nothing is known
    are part of the completed data. ``below`` holds for each node the logarithm of what is known in its branch, given
    its state; ``log_likelihood`` is log P(row), with maxima that of the row completed in the most probable way.

    Examples
    --------
    >>> tree = Tree.star(2, [2, 2])
    >>> parameters = np.array([0.5, 0.5, 0.9, 0.1, 0.2, 0.8, 0.9, 0.1, 0.2, 0.8])
    >>> seen = [Evidence(1, np.array([0])), Evidence(2, np.array([-1]))]
    >>> np.exp(Messages(tree, parameters, seen).log_likelihood).round(3).tolist()
    [0.55]
    >>> most = Messages(tree, parameters, seen, "max")
    >>> np.exp(most.log_likelihood).round(3).tolist(), most.states.tolist()
    ([0.45], [[0, 0, -1]])
    """

    def __init__(
        self,
        tree: Tree,
        parameters: FloatArray,
        evidence: Sequence[Evidence],
        semiring: Semiring = "sum",
        *,
        n_rows: int | None = None,
        fill_leaves: bool = False,
    ) -> None:
        self.tree, self.semiring = tree, semiring
        n = n_rows if n_rows is not None else len(evidence[0].ids)
        with np.errstate(divide="ignore"):
            logs = np.log(parameters)
        self._tables = [
            logs[tree.offsets[v] : tree.offsets[v + 1]].reshape(tree.rows[v], -1) for v in range(tree.n_nodes)
        ]
        self.below = [np.zeros((n, int(k))) for k in tree.cardinality]
        scale = np.zeros(n)
        missing, spoken_of = np.zeros((2, n, tree.n_nodes), dtype=bool)
        for e in evidence:
            if e.likelihood is None:
                missing[:, e.node] |= e.ids < 0
                spoken_of[:, e.node] |= e.ids >= 0
                other = e.ids[:, None] != np.arange(tree.cardinality[e.node])
                self.below[e.node][(e.ids[:, None] >= 0) & other] = -np.inf
            else:
                spoken_of[:, e.node] = True
                with np.errstate(divide="ignore"):
                    own = np.log(e.likelihood) if e.log_likelihood is None else e.log_likelihood
                self.below[e.node] += own[e.ids]
                scale += 0.0 if e.log_scale is None else e.log_scale[e.ids]
        leaf = np.array([v > 0 and not tree.children[v] for v in range(tree.n_nodes)])
        self.absent: NDArray[np.bool_] = missing & ~spoken_of & leaf & (not fill_leaves)
        self._message: list[FloatArray] = [np.empty(0)] * tree.n_nodes  # [rows, states of the parent]
        for v in reversed(range(tree.n_nodes)):
            reach = self._joint(v)
            self._message[v] = reach.max(axis=2) if semiring == "max" else _log_sum(reach)
            self._message[v][self.absent[:, v]] = 0.0
            if v:
                self.below[tree.parent[v]] += self._message[v]
        self.log_likelihood: FloatArray = self._message[0][:, 0] + scale

    def _joint(self, v: int) -> FloatArray:
        """log of the table of v times what is known below it, [rows, states of the parent, states]."""
        joint: FloatArray = self._tables[v] + self.below[v][:, None, :]
        return joint

    # ---- sums -------------------------------------------------------------------------------------------

    @cached_property
    def conditionals(self) -> list[FloatArray]:
        """P(node | parent, row), [rows, states of the parent, states], of every node; zeros where nothing is possible.

        Given a row, the tree is still a Markov tree, with these as its tables.
        """
        out = []
        for v in range(self.tree.n_nodes):
            total = self._message[v][:, :, None]
            with np.errstate(invalid="ignore"):
                out.append(np.where(total > -np.inf, np.exp(self._joint(v) - total), 0.0))
        return out

    @cached_property
    def nodes(self) -> list[FloatArray]:
        """P(node | row), [rows, states], of every node."""
        out = [self.conditionals[0][:, 0, :]]
        for v in range(1, self.tree.n_nodes):
            out.append(np.matmul(out[self.tree.parent[v]][:, None, :], self.conditionals[v])[:, 0, :])
        return out

    def edge(self, v: int) -> FloatArray:
        """P(parent of v, v | row), [rows, states of the parent, states]; for the root P(v | row)."""
        above: FloatArray = self.nodes[self.tree.parent[v]][:, :, None] if v else np.ones((len(self.absent), 1, 1))
        return above * self.conditionals[v]

    # ---- maxima -----------------------------------------------------------------------------------------

    @cached_property
    def states(self) -> NDArray[np.int32]:
        """The most probable joint state of every row, [rows, nodes]; -1 for leaves that are left out."""
        rows = np.arange(len(self.absent))
        out = np.zeros(self.absent.shape, dtype=np.int32)
        for v in range(self.tree.n_nodes):
            above = out[:, self.tree.parent[v]] if v else 0
            out[:, v] = self._joint(v)[rows, above].argmax(axis=1)
        out[self.absent] = -1
        return out

    # ---- both -------------------------------------------------------------------------------------------

    def counts(self, weights: FloatArray) -> FloatArray:
        """Counts of the completed data: expected ones, or with maxima those of the most probable completion."""
        tree, out = self.tree, np.zeros(self.tree.size)
        for v in range(tree.n_nodes):
            own, part = ~self.absent[:, v], slice(*tree.offsets[v : v + 2])
            if self.semiring == "sum":
                out[part] = weights[own] @ self.edge(v)[own].reshape(-1, part.stop - part.start)
            else:
                cell = self.states[own, v].astype(np.int64)
                if v:
                    cell += self.states[own, tree.parent[v]].astype(np.int64) * int(tree.cardinality[v])
                out[part] = np.bincount(cell, weights[own], part.stop - part.start)
        return out

    def evaluated(self, weights: FloatArray) -> Counts:
        """Log-likelihood and counts of weighted rows; rows of weight zero do not count, even if they are impossible."""
        own = weights > 0
        log_likelihood = float(weights[own] @ self.log_likelihood[own])
        return Counts(self.counts(weights), log_likelihood, float(np.sum(weights)))


def _log_sum(values: FloatArray) -> FloatArray:
    """Logarithm of the sum of exponentials over the last axis."""
    largest = values.max(axis=-1, keepdims=True)
    shift = np.where(largest > -np.inf, largest, 0.0)
    with np.errstate(divide="ignore"):
        out: FloatArray = np.log(np.exp(values - shift).sum(axis=-1)) + shift[..., 0]
    return out
