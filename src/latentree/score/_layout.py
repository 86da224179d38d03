"""How the parameters of a fit lie in rows, each a distribution of its own.

For a tree these are the rows of its tables. With two independent latents above every leaf (W 4.8.8) the engine's root
table is the product of two rows; a probability of the engine's is then a product of parameters, and the expected count
of a parameter the sum of the counts of all it is a factor of. Scores need no more than that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._lazy import cached_property
from .._tree import Tree
from .._types import FloatArray
from ..errors import ModelError
from ..estimation._fit import Fit, Prior, pseudo_counts
from ..estimation._two_latents import TwoLatentsFit

__all__ = ["Layout", "layout_of"]


@dataclass(frozen=True, eq=False)
class Layout:
    """Rows of parameters.

    Attributes
    ----------
    tree : Tree
        The engine's structure.
    widths : int array [rows]
        Entries of each row.
    hidden : bool array [rows]
        Whether the row is part of a latent variable's table.
    fold : float array [parameters, size] or None
        1 where a parameter is a factor of an entry of the engine's flat vector; None if they are the same.
    """

    tree: Tree
    widths: NDArray[np.int64]
    hidden: NDArray[np.bool_]
    fold: FloatArray | None = None

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each row begins."""
        return np.concatenate([[0], np.cumsum(self.widths)[:-1]])

    @property
    def n_free(self) -> int:
        """Free parameters, d."""
        return int((self.widths - 1).sum())

    @property
    def n_free_shown(self) -> int:
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

    def parameters(self, fit: Fit) -> FloatArray:
        """The parameters of a fit."""
        if isinstance(fit, TwoLatentsFit):
            k = fit.n_states[0] * fit.n_states[1]
            return np.concatenate([*fit.factors, fit.model.parameters[k:]])
        return fit.model.parameters

    def alphas(self, prior: Prior) -> FloatArray:
        """The Dirichlet parameter of each entry."""
        if self.fold is not None and not isinstance(prior, int | float):
            raise ModelError("With two latents above every leaf the prior must be one number.")
        alpha = pseudo_counts(self.tree, prior, "softmax")
        if alpha is None or (alpha <= 0).any():
            raise ModelError("A marginal likelihood needs a prior above 0 for every parameter.")
        return alpha if self.fold is None else np.full(int(self.widths.sum()), float(alpha[0]))


def layout_of(fit: Fit) -> Layout:
    """Rows of parameters of a fit."""
    tree = fit.model.tree
    widths = np.repeat(tree.cardinality.astype(np.int64), tree.rows)
    hidden = np.repeat(tree.variable < 0, tree.rows)
    if not isinstance(fit, TwoLatentsFit):
        return Layout(tree, widths, hidden)
    k1, k2 = fit.n_states
    root, size = k1 * k2, tree.size
    fold = np.zeros((k1 + k2 + size - root, size))
    fold[np.arange(root) // k2, np.arange(root)] = 1.0
    fold[k1 + np.arange(root) % k2, np.arange(root)] = 1.0
    fold[np.arange(k1 + k2, len(fold)), np.arange(root, size)] = 1.0
    return Layout(tree, np.concatenate([[k1, k2], widths[1:]]), np.concatenate([[True, True], hidden[1:]]), fold)
