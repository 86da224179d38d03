"""Latent class models: a star-shaped tree fitted from several starts, its classes ordered by size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import bad_parameter
from ..model import Counts, FloatArray, Model
from ..table import Table
from ..tree import Tree
from .fit import Fit
from .restarts import restart_em

__all__ = ["fit_classes", "reordered_states"]


def fit_classes(
    table: Table,
    n_classes: int,
    *,
    rng: np.random.Generator,
    n_starts: int = 32,
    finalists: int = 8,
    **options: Any,
) -> Fit:
    """Fit a latent class model.

    Parameters
    ----------
    table : Table
        The data.
    n_classes : int
        Number of classes.
    rng : numpy.random.Generator
        Source of the starts.
    n_starts, finalists
        Random starts, and how many of them are run to the end; see :func:`~latentree.estimation.restart_em`.
    **options
        Those of :func:`~latentree.estimation.restart_em`.

    Returns
    -------
    Fit
        Class 0 is the largest.

    Examples
    --------
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], weights=[30, 40, 5, 4])
    >>> fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    >>> fit.model.table("z").round(2).tolist()
    [[0.56, 0.44]]
    """
    if isinstance(n_classes, bool) or int(n_classes) != n_classes or n_classes < 1:
        raise bad_parameter("n_classes", "fit_classes", "a whole number of at least 1", n_classes)
    if int(n_starts) != n_starts or n_starts < 1:
        raise bad_parameter("n_starts", "fit_classes", "a whole number of at least 1", n_starts)
    tree = Tree.star(int(n_classes), table.cardinalities)
    uniform = np.concatenate([np.full(r * k, 1.0 / k) for r, k in zip(tree.rows, tree.cardinality, strict=True)])
    model = Model(tree, table.variables, uniform)
    if n_classes == 1:  # one start is all there is
        n_starts = 1
    fit = restart_em(model, table, rng=rng, n_starts=n_starts, finalists=min(finalists, n_starts), **options)
    order = np.argsort(-fit.model.table(0)[0], kind="stable")
    return reordered_states(fit, 0, order)


def reordered_states(fit: Fit, node: int, order: NDArray[np.intp]) -> Fit:
    """The same fit with the states of one latent node in another order."""
    tree = fit.model.tree

    def moved(vector: FloatArray) -> FloatArray:
        out = vector.copy()
        own = slice(*tree.offsets[node : node + 2])
        out[own] = vector[own].reshape(tree.rows[node], -1)[:, order].ravel()
        for c in tree.children[node]:
            own = slice(*tree.offsets[c : c + 2])
            out[own] = vector[own].reshape(tree.rows[c], -1)[order].ravel()
        return out

    counts = Counts(moved(fit.counts.vector), fit.counts.log_likelihood, fit.counts.weight)
    model = fit.model.with_parameters(moved(fit.model.parameters), provenance=fit.model.provenance)
    return replace(fit, model=model, counts=counts)
