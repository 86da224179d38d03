"""A latent node, its neighbours, and the messages of the branches beyond them: a latent class model on soft evidence.

The tree is rooted at the node and the branches beyond its neighbours are frozen: their messages are computed once, and
rows whose messages are the same are merged. The number of states of the node then changes within this small star-shaped
model, whatever the tree. For a latent class model it is the whole model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._data import Data
from .._model import Model
from .._table import as_table
from .._tree import Tree
from .._types import FloatArray
from ..engine._plan import Evidence, Plan
from ..errors import ModelError
from ..estimation._local import Place
from ._operations import with_states
from ._states import States, blocks_of

NEGLIGIBLE = 1e-9
"""Rows that belong to a state with less than this share of their weight do not count for it."""


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """One latent node, its neighbours, and the evidence about them: a small model in which the node's states change.

    Make one with :meth:`around`; put changed states back into the whole model with :meth:`whole`.

    Attributes
    ----------
    evidence : tuple of Evidence
        What is known about each neighbour (nodes 1, 2, ... of ``tree``).
    weights : float array [rows]
        Weight of each distinct row.
    tree : Tree
        The node and its neighbours; the number of states of the node is the one it began with.
    model : Model
        The whole model, rooted at the node.
    nodes : tuple of int
        Where the nodes of ``tree`` are in the whole model.
    """

    evidence: tuple[Evidence, ...]
    weights: FloatArray
    tree: Tree
    model: Model
    nodes: tuple[int, ...]
    _plans: dict[int, Plan] = field(default_factory=dict, repr=False)
    _whole: tuple[Neighbourhood, NDArray[np.intp]] | None = field(default=None, repr=False)  # whose rows these are

    @classmethod
    def around(cls, model: Model, table: Data, node: str | int) -> Neighbourhood:
        """Cut the neighbourhood of a latent node out of a model."""
        z = model.tree.node(node)
        if model.tree.variable[z] >= 0:
            name = model.tree.names[z]
            raise ModelError("'{name}' is observed; only latent nodes can change their states.", name=name)
        place = Place.around(model, table, [z])
        row_of = place.plan.row_of
        first = np.unique(row_of, return_index=True)[1]
        evidence = tuple(replace(e, ids=e.ids[first]) for e in place.plan.evidence)
        weights: FloatArray = np.bincount(row_of, weights=as_table(table).weights).astype(np.float64)
        return cls(evidence, weights, place.tree, place.model, place.nodes)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many states each neighbour has."""
        return tuple(self.tree.cardinality[1:].tolist())

    @cached_property
    def begin(self) -> NDArray[np.intp]:
        """Where each neighbour's probabilities begin in a profile."""
        return np.cumsum((0, *self.widths[:-1]), dtype=np.intp)

    @property
    def states(self) -> States:
        """The states as the model has them."""
        return States.of(np.concatenate([self.model.table(v).ravel() for v in self.nodes]), self.widths)

    def plan(self, n_states: int) -> Plan:
        """Plan for this many states; compiled once."""
        if n_states not in self._plans:
            tree = self.tree.with_cardinality(0, n_states)
            self._plans[n_states] = Plan(tree, self.evidence, self.weights)
        return self._plans[n_states]

    def log_joint(self, states: States) -> FloatArray:
        """Log P(row, state), an array [rows, states]."""
        plan, flat = self.plan(states.n), states.flat
        with np.errstate(divide="ignore"):
            return plan.row_log_likelihood(flat)[:, None] + np.log(plan.posteriors(flat, [0])[0])

    def posterior(self, states: States) -> FloatArray:
        """P(state | row), an array [rows, states]; zero for rows that the states call impossible."""
        return posterior_of(self.log_joint(states))

    def shares(self, states: States) -> list[Neighbourhood]:
        """The data as each state sees them: weighted by its posterior, D_s of [Karciauskas2005] (2.9)."""
        return [self.share(self.weights * own) for own in self.posterior(states).T]

    def share(self, weights: FloatArray) -> Neighbourhood:
        """The same neighbourhood on data with other weights.

        Rows with a negligible share of their weight are left out, so that all states together see little more than the
        data once.
        """
        kept = np.flatnonzero(weights > NEGLIGIBLE * self.weights)
        evidence = tuple(replace(e, ids=e.ids[kept]) for e in self.evidence)
        return Neighbourhood(evidence, weights[kept], self.tree, self.model, self.nodes, {}, (self, kept))

    def indicators(self, rows: NDArray[np.intp] | None = None) -> tuple[FloatArray, NDArray[np.bool_]]:
        """What is observed of the neighbours, as probabilities of their states side by side, and where anything is.

        A value is 1 in its column; of a frozen branch it is the likelihood, scaled to sum to one. ``rows``: of which
        rows; default all.
        """
        if rows is None:
            return self._indicators if self._whole is None else self.indicators(np.arange(len(self.weights)))
        if self._whole is not None:
            star, kept = self._whole
            return star.indicators(kept[rows])
        seen, known = self._indicators
        return seen[rows], known[rows]

    @cached_property
    def _indicators(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        seen = np.zeros((len(self.weights), sum(self.widths)))
        known = np.zeros(seen.shape, dtype=bool)
        blocks = blocks_of(self.widths)
        for e in self.evidence:
            block = blocks[e.node - 1]
            if e.likelihood is None:
                shown = e.ids >= 0
                seen[np.flatnonzero(shown), block.start + e.ids[shown]] = 1.0
                known[shown, block] = True
            else:
                likelihood = e.likelihood[e.ids]
                total = likelihood.sum(axis=1, keepdims=True)
                seen[:, block] = np.divide(likelihood, total, where=total > 0, out=np.zeros_like(likelihood))
                known[:, block] = True
        return seen, known

    @property
    def is_whole(self) -> bool:
        """Whether the whole model is this star: a latent class model."""
        return len(self.nodes) == self.model.tree.n_nodes

    def whole(self, states: States) -> Model:
        """The whole model with these states at the node."""
        return with_states(self.model, self.nodes[1:], states)

    def whole_vectors(self, candidates: Sequence[States]) -> FloatArray:
        """Parameters of the whole model with each of several sets of states at the node, a row each."""
        if self.nodes == tuple(range(self.model.tree.n_nodes)):  # a latent class model: they are all there is
            return np.stack([states.flat for states in candidates])
        return np.stack([self.whole(states).parameters for states in candidates])


def posterior_of(log_joint: FloatArray) -> FloatArray:
    """P(state | row) from log P(row, state); zero for rows that are impossible."""
    with np.errstate(invalid="ignore"):
        out: FloatArray = np.nan_to_num(np.exp(log_joint - np.logaddexp.reduce(log_joint, axis=1)[:, None]))
    return out
