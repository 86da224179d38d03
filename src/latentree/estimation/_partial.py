"""Partial EM ([Karciauskas2005] 6.2.1): only the parameters of some states of one latent node move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data import Data
from .._model import Model
from .._options import option
from .._tree import Tree
from ..errors import ModelError
from ._em import fit_em
from ._em_options import EmOptions, Value
from ._fit import Fit, held_mask


@dataclass(frozen=True, eq=False)
class PartialOptions(EmOptions):
    """Options of partial EM."""

    node: str | int = option(
        None, Value("the name or position of a node", lambda value: isinstance(value, str | int | np.integer)), "node"
    )
    states: Sequence[int] = option(
        None, Value("states of the node", lambda value: np.ndim(value) == 1), "states that move"
    )


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


def partial_em(model: Model, table: Data, node: str | int, states: Sequence[int], **options: Any) -> Fit:
    """Fit only the given states of one latent node, all else being held.

    Together the states keep the probability they had: they divide it anew among themselves. That is EM for the model of
    these states alone on the data weighted with the probability of belonging to them, as [Karciauskas2005] describes
    it, except that rows move between these states and the others as the fit goes on. Options are those of
    :func:`latentree.estimation.em`; what is ``held`` is held besides.
    """
    return fit_partial(model, table, PartialOptions.of({"node": node, "states": states, **options}, owner="partial_em"))


def fit_partial(model: Model, table: Data, options: PartialOptions) -> Fit:
    """Fit only some states of one latent node, with options that are checked already."""
    held = hold_other_states(model.tree, options.node, options.states)
    mask = held_mask(model.tree, options.held)
    return fit_em(model, table, replace(options, held=held if mask is None else held | mask.astype(bool)))
