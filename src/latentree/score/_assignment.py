"""How well rows can be assigned to the states of a latent variable."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .._model import Model
from .._table import Table
from .._types import FloatArray
from ..engine._plan import Plan
from ..errors import DataError, ModelError
from ..estimation._fit import Fit


@dataclass(frozen=True, eq=False)
class Assignment:
    """What modal assignment does; see :func:`average_posteriors`.

    Attributes
    ----------
    node : str
        The latent variable.
    modal : float array [states]
        Weight of the rows assigned to each state: that of their largest posterior, the first of equal ones.
    expected : float array [states]
        Sum of the posteriors of each state.
    table : float array [states, states]
        Weight expected to belong to each state (columns) among the rows assigned to each (rows).
    average : float array [states, states]
        ``table`` by its row sums: the mean posterior of every state among the rows assigned to each. ``nan`` for a
        state that no row is assigned to.
    odds : float array [states]
        Odds of correct classification: odds of the mean posterior of a state among its own rows over the odds of its
        share. Above 5 is called good (Nagin, Group-Based Modeling of Development, 2005).
    error : float
        Expected share of rows assigned to a wrong state, 1 - sum of w max posterior / N.
    error_reduction : float
        1 - error / (1 - share of the largest state), lambda of Goodman and Kruskal; ``nan`` if one state has all.
    """

    node: str
    modal: FloatArray
    expected: FloatArray
    table: FloatArray
    average: FloatArray
    odds: FloatArray
    error: float
    error_reduction: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; None where there is no number."""
        return {own.name: _plain(getattr(self, own.name)) for own in fields(self)}


def average_posteriors(fit: Fit, node: str | int | None = None) -> Assignment:
    """Mean posterior of every state among the rows assigned to each, and what follows from it.

    Parameters
    ----------
    fit : Fit
        A fitted model with a latent variable.
    node : str or int, optional
        Which latent variable. Default: the first.

    Returns
    -------
    Assignment

    Examples
    --------
    >>> from latentree.estimation import fit_classes
    >>> from latentree import Table
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], weights=[30, 40, 5, 4])
    >>> found = average_posteriors(fit_classes(table, 2, rng=np.random.default_rng(0), tol=1e-9))
    >>> found.modal.tolist(), found.average.round(3).tolist(), round(found.error, 3)
    ([44.0, 35.0], [[1.0, 0.0], [0.0, 1.0]], 0.0)
    """
    v = latent_node(fit.model, node)
    model = fit.model
    found = fit.table.map_parts(lambda rows: _assigned(model, v, rows))
    table, modal, expected, wrong = (sum(own[1:], own[0]) for own in zip(*found, strict=True))
    n = float(modal.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        average = table / table.sum(axis=1, keepdims=True)
        # Sums of the other entries rather than 1 - p: exact for posteriors near one.
        others = table.sum(axis=1) - table.diagonal()
        odds = (table.diagonal() / np.maximum(others, 0.0)) / (expected / (n - expected))
    error = float(max(wrong, 0.0) / n)
    guess = 1.0 - float(expected.max()) / n
    reduction = 1.0 - error / guess if guess > 0 else float("nan")
    return Assignment(fit.model.tree.names[v], modal, expected, table, average, odds, error, reduction)


def _assigned(model: Model, v: int, rows: Table) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sums over rows: posteriors by assigned state, weights by assigned state, posteriors, expected errors."""
    w = rows.weights
    p = Plan.of(model, rows).posteriors(model.parameters, [v])[0]
    if np.isnan(p).any():
        raise DataError(
            "The model cannot produce some of the rows, so they belong to no state. Fit it to these data, or with "
            "a prior above 1."
        )
    k = p.shape[1]
    own = p.argmax(axis=1)
    table = np.zeros((k, k))
    np.add.at(table, own, w[:, None] * p)
    modal = np.bincount(own, weights=w, minlength=k).astype(np.float64)
    return table, modal, w @ p, np.asarray(w @ (1.0 - p.max(axis=1)))


def latent_node(model: Model, node: str | int | None) -> int:
    """Position of a latent node, the first by default; an error if there is none or it is observed."""
    tree = model.tree
    if len(tree.latent_variables) == 0:
        raise ModelError("The model has no latent variable: there is nothing to assign rows to.")
    if node is None:
        return int(tree.latent_variables[0])
    v = tree.node(node)
    if tree.variable[v] >= 0:
        names = ", ".join(f"'{tree.names[z]}'" for z in tree.latent_variables[:12])
        raise ModelError(f"'{tree.names[v]}' is observed. Ask for a latent variable: {names}.")
    return v


def _plain(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return [_plain(own) for own in x]
    return x if isinstance(x, str) else float(x) if np.isfinite(x) else None
