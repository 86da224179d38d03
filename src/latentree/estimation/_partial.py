"""Partial EM (K 6.2.1): only the parameters of some states of one latent node move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._model import Model
from .._table import Table
from .._tree import Tree
from ..errors import ModelError
from ._em import em
from ._fit import Fit

__all__ = ["hold_other_states", "partial_em"]


def hold_other_states(tree: Tree, node: str | int, states: Sequence[int]) -> NDArray[np.bool_]:
    """Mask of everything but these states: their columns in the node's own table, their rows in its children's."""
    z = tree.node(node)
    k = int(tree.cardinality[z])
    chosen = sorted({int(s) for s in states})
    if not chosen or chosen[0] < 0 or chosen[-1] >= k:
        raise ModelError(f"'{tree.names[z]}' has the states 0 to {k - 1}. Got {list(states)}.")
    held = np.ones(tree.size, dtype=bool)
    own = held[tree.offsets[z] : tree.offsets[z + 1]].reshape(tree.rows[z], k)
    own[:, chosen] = False
    for c in tree.children[z]:
        held[tree.offsets[c] : tree.offsets[c + 1]].reshape(k, tree.cardinality[c])[chosen] = False
    return held


def partial_em(model: Model, table: Table, node: str | int, states: Sequence[int], **options: Any) -> Fit:
    """Fit only the given states of one latent node, all else being held.

    Together the states keep the probability they had: they divide it anew among themselves. That is EM for the model
    of these states alone on the data weighted with the probability of belonging to them, as K describes it, except
    that rows move between these states and the others as the fit goes on. Options are those of
    :func:`latentree.estimation.estimate`.
    """
    return em(model, table, held=hold_other_states(model.tree, node, states), **options)
