"""Introduce, split, remove and merge states of any latent node of any tree ([Karciauskas2005] 4.2, 5.2, 7.1).

The tree is rooted at the node first, which changes nothing observable; there the node and its neighbours are a latent
class model (:class:`States`). Results are rooted at the node. None of these looks at data: fit what they return.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._model import Model
from .._types import FloatArray
from ..errors import ModelError
from ._states import States


def introduce(model: Model, node: str | int, *, profile: FloatArray | None = None, p: float = 0.01) -> Model:
    """Add a state to a latent node, the others shrinking in proportion ([Karciauskas2005] definition 4.1).

    Parameters
    ----------
    model : Model
        The model.
    node : str or int
        A latent node.
    profile : float array, optional
        P(neighbour | new state) for all neighbours, one after the other as in :attr:`States.profiles`. Default:
        uniform, as in [Karciauskas2005].
    p : float, default 0.01
        Size of the new state.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree._variables import numbered
    >>> model = Model.random(Tree.star(2, [2, 2, 2]), numbered([2, 2, 2]), np.random.default_rng(0))
    >>> introduce(model, "z").table("z").round(3)[0, 2].item()
    0.01
    """
    return changed(model, node, lambda states: states.introduce(profile, p))


def split(model: Model, node: str | int, state: int, direction: FloatArray) -> Model:
    """Split a state in two of half its size that differ by twice the direction ([Karciauskas2005] 4.2, 7.1).

    Parameters
    ----------
    model, node
        The model and a latent node.
    state : int
        The state to split; the second half becomes the last state.
    direction : float array
        What is added to one half's probabilities and taken from the other's, for all neighbours one after the other;
        see :data:`DIRECTIONS`.
    """
    return changed(model, node, lambda states: states.split(state, direction))


def remove(model: Model, node: str | int, state: int) -> Model:
    """Take a state away, the others growing in proportion ([Karciauskas2005] definition 5.1)."""
    return changed(model, node, lambda states: states.remove(state))


def merge(model: Model, node: str | int, first: int, second: int) -> Model:
    """Make one state of two, their average weighted by size ([Karciauskas2005] definitions 5.2, 7.2).

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree._variables import numbered
    >>> model = Model.random(Tree.star(3, [2, 2, 2]), numbered([2, 2, 2]), np.random.default_rng(0))
    >>> merged = merge(model, "z", 0, 2)
    >>> bool(np.allclose(merged.marginals()[1], model.marginals()[1]))
    True
    """
    return changed(model, node, lambda states: states.merge(first, second))


def changed(model: Model, node: str | int, change: Callable[[States], States]) -> Model:
    """Root the tree at a latent node and change its states."""
    z = model.tree.node(node)
    if model.tree.variable[z] >= 0:
        name = model.tree.names[z]
        raise ModelError("'{name}' is observed; only latent nodes can change their states.", name=name)
    model = model.rerooted(z)
    neighbours = model.tree.children[0]
    widths = tuple(int(model.tree.cardinality[v]) for v in neighbours)
    old = States.of(np.concatenate([model.table(v).ravel() for v in (0, *neighbours)]), widths)
    return with_states(model, neighbours, change(old))


def with_states(model: Model, neighbours: tuple[int, ...], states: States) -> Model:
    """Give the root of a model other states; ``neighbours`` are in the order of the profiles."""
    tree = model.tree.with_cardinality(0, states.n)
    tables = [model.table(v) for v in range(tree.n_nodes)]
    tables[0] = states.sizes[None]
    for v, block in zip(neighbours, states.blocks, strict=True):
        tables[v] = states.profiles[:, block]
    return Model(tree, model.variables, np.concatenate([t.ravel() for t in tables]), model.provenance)
