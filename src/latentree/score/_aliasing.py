"""How often a posterior mode is repeated because the states of latents can be relabelled ([Whiley1999] 4.8.5)."""

from __future__ import annotations

from math import lgamma, log

import numpy as np

from .._model import Model
from .._types import FloatArray
from ..estimation._fit import Fit
from ._layout import layout_of

COINCIDE = 1e-3
"""Largest difference of probabilities between states that count as one."""


def aliasing(fit: Fit, *, tol: float = COINCIDE) -> float:
    """Logarithm of the number of different relabellings of the latents' states.

    That is ``log(prod |z|!)``, less log(g!) for each group of g states of one latent that coincide: all probabilities
    of and given them are the same, so that swapping them changes nothing.

    Parameters
    ----------
    fit : Fit
        The fitted model.
    tol : float
        Largest difference of probabilities between states that coincide.

    Examples
    --------
    >>> from latentree import Table, fit_classes
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], weights=[30, 40, 5, 4])
    >>> fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    >>> round(float(np.exp(aliasing(fit))))
    2
    """
    pair = layout_of(fit).pair
    if pair is not None:
        return _of_pair(fit.model, pair, tol)
    tree = fit.model.tree
    total = 0.0
    for z in map(int, tree.latent):
        total += _relabellings(np.hstack([fit.model.table(z).T, *(fit.model.table(c) for c in tree.children[z])]), tol)
    return total


def _of_pair(model: Model, pair: tuple[int, int], tol: float) -> float:
    k1, k2 = pair
    leaves = [model.table(v).reshape(k1, k2, -1) for v in range(1, model.tree.n_nodes)]
    root = model.table(0).reshape(pair)
    first, second = root.sum(axis=1), root.sum(axis=0)
    total = _relabellings(np.hstack([first[:, None], *(t.reshape(k1, -1) for t in leaves)]), tol)
    total += _relabellings(np.hstack([second[:, None], *(t.swapaxes(0, 1).reshape(k2, -1) for t in leaves)]), tol)
    return total + (log(2.0) if k1 == k2 > 1 else 0.0)  # the two latents themselves can be swapped


def _relabellings(profiles: FloatArray, tol: float) -> float:
    """ln of k! over the product of the sizes' factorials of groups of equal rows."""
    total, left = lgamma(len(profiles) + 1), list(range(len(profiles)))
    while left:
        alike = [i for i in left if np.abs(profiles[i] - profiles[left[0]]).max() <= tol]
        total -= lgamma(len(alike) + 1)
        left = [i for i in left if i not in alike]
    return total
