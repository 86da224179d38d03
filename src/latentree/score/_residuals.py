"""Bivariate residuals: which pairs of variables the model does not explain."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .._model import Model
from .._table import Table
from .._types import FloatArray
from ..errors import ModelError
from ..estimation._fit import Fit
from ._absolute import chi_square_p, matched


@dataclass(frozen=True, eq=False)
class Pair:
    """The two-way table of one pair of variables.

    Attributes
    ----------
    names : tuple of str
        The two variables.
    observed, expected : float array [states of the first, states of the second]
        Weights of the rows where both are known, and what the model expects of as many rows.
    x2 : float
        Pearson's statistic of this table.
    degrees_of_freedom : int
        (states of the first - 1)(states of the second - 1).
    residual : float
        ``x2`` by its degrees of freedom.
    p : float or None
        Upper tail of the chi-square distribution, for orientation: fitting makes the statistic smaller than that.
    """

    names: tuple[str, str]
    observed: FloatArray
    expected: FloatArray
    x2: float
    degrees_of_freedom: int
    residual: float
    p: float | None


@dataclass(frozen=True, eq=False)
class BivariateResiduals:
    """Residuals of all pairs; see :func:`bivariate_residuals`.

    Attributes
    ----------
    names : tuple of str
        The variables.
    residuals : float array [variables, variables]
        Pearson's X2 of each two-way table by its degrees of freedom. ``nan`` on the diagonal, and for pairs without
        degrees of freedom or without rows where both are known.
    x2 : float array [variables, variables]
        Pearson's X2, likewise.
    degrees_of_freedom : int array [variables, variables]
        Of each two-way table.
    observed, expected : float array [states, states]
        All two-way tables side by side, variable by variable; :meth:`pair` cuts one out.
    offsets : int array [variables + 1]
        Where each variable's states start in them.
    """

    names: tuple[str, ...]
    residuals: FloatArray
    x2: FloatArray
    degrees_of_freedom: NDArray[np.int64]
    observed: FloatArray
    expected: FloatArray
    offsets: NDArray[np.int64]

    def pair(self, a: str | int, b: str | int) -> Pair:
        """Return the two-way table of two variables."""
        i, j = self._at(a), self._at(b)
        if i == j:
            raise ModelError(f"A pair needs two different variables. Got '{self.names[i]}' twice.")
        rows, columns = slice(*self.offsets[i : i + 2]), slice(*self.offsets[j : j + 2])
        x2, df = float(self.x2[i, j]), int(self.degrees_of_freedom[i, j])
        p = None if np.isnan(x2) else chi_square_p(x2, df)[0]
        tables = self.observed[rows, columns], self.expected[rows, columns]
        return Pair((self.names[i], self.names[j]), *tables, x2, df, float(self.residuals[i, j]), p)

    def largest(self, n: int = 10) -> list[Pair]:
        """Return the pairs with the largest residuals, largest first."""
        i, j = np.triu_indices(len(self.names), 1)
        values = self.residuals[i, j]
        known = np.flatnonzero(~np.isnan(values))
        order = known[np.argsort(-values[known], kind="stable")][:n]
        return [self.pair(int(i[at]), int(j[at])) for at in order]

    def _repr_html_(self) -> str:
        """What notebooks show: the largest residuals."""
        pairs = [
            (float(value), self.names[i], self.names[j])
            for i, row in enumerate(self.residuals)
            for j, value in enumerate(row)
            if i < j and np.isfinite(value)
        ]
        rows = "".join(
            f"<tr><td>{escape(a)}</td><td>{escape(b)}</td><td>{value:.2f}</td></tr>"
            for value, a, b in sorted(pairs, reverse=True)[:20]
        )
        head = "<tr><th>variable</th><th>variable</th><th>X² / df</th></tr>"
        return (
            f"<table><caption>Largest bivariate residuals</caption><thead>{head}</thead><tbody>{rows}</tbody></table>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; None where there is no number."""
        return {
            "names": list(self.names),
            "residuals": [[float(x) if np.isfinite(x) else None for x in row] for row in self.residuals],
        }

    def _at(self, name: str | int) -> int:
        if isinstance(name, str):
            if name not in self.names:
                raise ModelError(f"There is no variable '{name}' among the residuals.")
            return self.names.index(name)
        return range(len(self.names))[int(name)]


def bivariate_residuals(fit: Fit) -> BivariateResiduals:
    """Compare every two-way table of the data with what the model expects.

    The residual of a pair is Pearson's X2 of its two-way table by (states - 1)(states - 1), as Latent GOLD prints it
    (Vermunt & Magidson, Technical Guide for Latent GOLD, on bivariate residuals). Values well above 1 (by custom above
    3.84) show dependence that the latent variables do not explain. A pair is judged by the rows where both are known.

    Parameters
    ----------
    fit : Fit
        A fitted model, any tree.

    Returns
    -------
    BivariateResiduals

    Examples
    --------
    >>> from latentree.estimation import fit_classes
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], weights=[30, 40, 5, 4])
    >>> found = bivariate_residuals(fit_classes(table, 1, rng=np.random.default_rng(0)))
    >>> found.residuals.round(1).tolist()
    [[nan, 79.0, 46.7], [79.0, nan, 46.7], [46.7, 46.7, nan]]
    >>> found.largest(1)[0].observed.tolist()
    [[35.0, 0.0], [0.0, 44.0]]
    """
    model = fit.model
    sizes = np.array([v.cardinality for v in model.variables], dtype=np.int64)
    offsets = state_offsets(model)
    observed = _pair_counts(matched(model, fit.table), offsets)
    m = len(sizes)
    block = np.repeat(np.arange(m), sizes)
    n = _blocks(observed, offsets)  # weight of the rows where both are known
    expected = pair_marginals(model) * n[np.ix_(block, block)]
    with np.errstate(divide="ignore", invalid="ignore"):
        cells = np.where(observed == expected, 0.0, (observed - expected) ** 2 / expected)
        df = np.outer(sizes - 1, sizes - 1)
        x2 = np.where((n > 0) & (df > 0) & ~np.eye(m, dtype=bool), _blocks(cells, offsets), np.nan)
        residuals = x2 / df
    names = tuple(v.name for v in model.variables)
    return BivariateResiduals(names, residuals, x2, df, observed, expected, offsets)


def pair_marginals(model: Model) -> FloatArray:
    """P(u, v) of all pairs of manifest variables, their states side by side; P(v) on the diagonal.

    At each node, the branches below are independent given its state: pairs that meet there get their table from
    P(node) and the P(variable | node). A pair is overwritten by deeper nodes until the one where it meets.
    """
    tree = model.tree
    offsets = state_offsets(model)
    marginals, below = model.marginals(), profiles_below(model)
    out = np.zeros((offsets[-1], offsets[-1]))
    for v in range(tree.n_nodes):
        at, given = below[v]
        out[np.ix_(at, at)] = given.T @ (marginals[v][:, None] * given)
    for i, v in enumerate(tree.manifest):
        own = slice(offsets[i], offsets[i + 1])
        out[own, own] = np.diag(marginals[v])
    return out


def profiles_below(model: Model) -> list[tuple[NDArray[np.int64], FloatArray]]:
    """P(variable | node) for the variables at and below each node: columns as in :func:`pair_marginals`, and values."""
    tree, offsets = model.tree, state_offsets(model)
    out: list[tuple[NDArray[np.int64], FloatArray]] = []
    below: dict[int, tuple[NDArray[np.int64], FloatArray]] = {}
    for v in reversed(range(tree.n_nodes)):
        k, own = int(tree.cardinality[v]), int(tree.variable[v])
        columns, values = [np.empty(0, dtype=np.int64)], [np.empty((k, 0))]
        if own >= 0:
            columns.append(np.arange(offsets[own], offsets[own + 1]))
            values.append(np.eye(k))
        for c in tree.children[v]:
            columns.append(below[c][0])
            values.append(model.table(c) @ below[c][1])
        below[v] = np.concatenate(columns), np.hstack(values)
        out.append(below[v])
    return out[::-1]


def state_offsets(model: Model) -> NDArray[np.int64]:
    """Where each variable's states start when those of all variables stand side by side."""
    sizes = [v.cardinality for v in model.variables]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _pair_counts(table: Table, offsets: NDArray[np.int64]) -> FloatArray:
    """Weight of the rows that have each pair of states."""
    row, column = np.nonzero(table.codes >= 0)
    seen = offsets[column] + table.codes[row, column]
    shape = (table.n_patterns, int(offsets[-1]))
    hot = csr_array((np.ones(len(row)), (row, seen)), shape=shape)
    weighted = csr_array((table.weights[row], (row, seen)), shape=shape)
    counts: FloatArray = (hot.T @ weighted).toarray()
    return counts


def _blocks(cells: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
    """Sum over the states of each pair of variables."""
    sums: FloatArray = np.add.reduceat(np.add.reduceat(cells, offsets[:-1], axis=0), offsets[:-1], axis=1)
    return sums
