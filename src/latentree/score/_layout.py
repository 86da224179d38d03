"""How the parameters of a fit lie in rows, each a distribution of its own.

For a tree these are the rows of its tables. With two independent latents above every leaf ([Whiley1999] 4.8.8) the
engine's root table is the product of two rows; a probability of the engine's is then a product of parameters, and the
expected count of a parameter the sum of the counts of all it is a factor of. Scores need no more than that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._lazy import cached_property
from .._model import Model
from .._tree import Tree
from .._types import FloatArray
from ..errors import ModelError
from ..estimation._fit import Basis, Fit, Prior, pseudo_counts
from ..estimation._two_latents import TwoLatentsFit


@dataclass(frozen=True, eq=False)
class Layout:
    """Rows of parameters."""

    tree: Tree  # the engine's structure
    pair: tuple[int, int] | None = None  # states of two independent latents, whose pairs are the states of the root

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """Entries of each row."""
        own = np.repeat(self.tree.cardinality.astype(np.int64), self.tree.rows)
        return own if self.pair is None else np.concatenate([self.pair, own[1:]])

    @cached_property
    def hidden(self) -> NDArray[np.bool_]:
        """Whether each row is part of a latent variable's table."""
        own = np.repeat(self.tree.variable < 0, self.tree.rows)
        return own if self.pair is None else np.concatenate([[True, True], own[1:]])

    @cached_property
    def fold(self) -> FloatArray | None:
        """1 where a parameter is a factor of an entry of the engine's flat vector; None if they are the same."""
        if self.pair is None:
            return None
        (k1, k2), size = self.pair, self.tree.size
        root = np.arange(k1 * k2)
        fold = np.zeros((k1 + k2 + size - len(root), size))
        fold[root // k2, root] = 1.0
        fold[k1 + root % k2, root] = 1.0
        fold[np.arange(k1 + k2, len(fold)), np.arange(len(root), size)] = 1.0
        return fold

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each row begins."""
        return np.concatenate([[0], np.cumsum(self.widths)[:-1]])

    @property
    def n_free(self) -> int:
        """Free parameters, d."""
        return int((self.widths - 1).sum())

    @property
    def n_free_manifest(self) -> int:
        """Free parameters in the tables of manifest variables."""
        return int((self.widths - 1)[~self.hidden].sum())

    def sums(self, vector: FloatArray) -> FloatArray:
        """Sum of each row."""
        return np.add.reduceat(vector, self.starts)

    def spread(self, per_row: FloatArray) -> FloatArray:
        """Repeat one number a row over the row's entries."""
        return np.repeat(per_row, self.widths)

    def counts(self, vector: FloatArray) -> FloatArray:
        """Expected counts of the parameters, from those of the engine."""
        return vector if self.fold is None else self.fold @ vector

    def covariance(self, matrix: FloatArray) -> FloatArray:
        """Covariance of the parameters' counts, from that of the engine's."""
        return matrix if self.fold is None else self.fold @ matrix @ self.fold.T

    def expanded(self, parameters: FloatArray) -> FloatArray:
        """The engine's flat vector: products of parameters."""
        if self.fold is None:
            return parameters
        product: FloatArray = np.where(self.fold > 0, parameters[:, None], 1.0).prod(axis=0)
        return product

    def parameters(self, model: Model) -> FloatArray:
        """The parameters of a model."""
        if self.pair is None:
            return model.parameters
        root = model.table(0).reshape(self.pair)
        return np.concatenate([root.sum(axis=1), root.sum(axis=0), model.parameters[root.size :]])

    def moves(self, parameters: FloatArray) -> FloatArray | None:
        """Derivatives of the engine's entries by the parameters, [size, parameters]; None if they are the same."""
        if self.fold is None or self.pair is None:
            return None
        (k1, k2), moves = self.pair, self.fold.T.copy()
        root = np.arange(k1 * k2)
        moves[root, root // k2] = parameters[k1 + root % k2]
        moves[root, k1 + root % k2] = parameters[root // k2]
        return moves

    def touched(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Entries of the engine's vector that a marked parameter is a factor of."""
        return marked if self.fold is None else marked @ self.fold > 0

    def pseudo(self, prior: Prior, basis: Basis) -> FloatArray | None:
        """What a Dirichlet prior adds to the expected counts of the parameters."""
        if self.pair is None or prior is None:
            return pseudo_counts(self.tree, prior, basis)
        added = pseudo_counts(self.tree, one_number(prior), basis)
        return None if added is None else np.full(int(self.widths.sum()), float(added[0]))

    def alphas(self, prior: Prior) -> FloatArray:
        """The Dirichlet parameter of each entry."""
        alpha = self.pseudo(prior, "softmax")
        if alpha is None or (alpha <= 0).any():
            raise ModelError("A marginal likelihood needs a prior above 0 for every parameter.")
        return alpha


def one_number(prior: Prior) -> float | None:
    """The prior of two latents above every leaf."""
    if prior is not None and not isinstance(prior, int | float):
        raise ModelError("With two latents above every leaf the prior must be one number.")
    return prior


def layout_of(fit: Fit) -> Layout:
    """Rows of parameters of a fit."""
    return Layout(fit.model.tree, fit.n_states if isinstance(fit, TwoLatentsFit) else None)
