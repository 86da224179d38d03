"""Models on rows they have not seen: one variable predicted, cells completed, unusual rows found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._model import Model
from ._table import Table
from ._types import FloatArray
from .engine._messages import Messages
from .engine._plan import Evidence, Plan, evidence_of
from .errors import ModelError, Parameter, ParameterError
from .infer import find_node, posterior

__all__ = [
    "PredictionScores",
    "imputed",
    "latent_posteriors",
    "predicted",
    "quantiles_of",
    "row_quantiles",
    "target_node",
    "with_new_values",
]

BLOCK = 1 << 14
"""Rows that are drawn at a time."""

MOST_DISTINCT = 1 << 20
"""Of more different probabilities, six digits are told apart."""

QUANTILES = np.linspace(0.0, 1.0, 101)
"""Shares of the training rows whose log-likelihoods are kept."""


# ---- one variable --------------------------------------------------------------------------------------------------


def target_node(model: Model, target: str, owner: str = "predicted") -> int:
    """Position of a manifest variable that is to be predicted; a latent or unknown one is refused."""
    v = find_node(model, target)
    if model.tree.variable[v] < 0:
        raise ParameterError(
            "{parameter} must be a variable of the data. '{target}' is latent: no row has it. Its most probable state "
            "is what assigning rows gives.",
            parameter=Parameter("target", owner),
            target=model.tree.names[v],
        )
    return v


def predicted(model: Model, table: Table, target: str) -> FloatArray:
    """P(target | the other variables) in every input row.

    Parameters
    ----------
    model : Model
        The model.
    table : Table
        The rows; what they say of the target is passed over.
    target : str
        A manifest variable.

    Returns
    -------
    array of float [input rows, states]
        ``nan`` in rows of weight zero and in those whose other cells the model cannot produce.

    Examples
    --------
    >>> import latentree as lt
    >>> table = lt.datasets.load("carcinoma")
    >>> model = lt.fit_classes(table, 2, rng=np.random.default_rng(0)).model
    >>> predicted(model, table, "A").shape
    (118, 2)
    """
    name = model.tree.names[target_node(model, target)]
    return posterior(model, table, [name], ignore=[name])[name]


class PredictionScores:
    """How good predictions of one variable are, added up piece by piece.

    Rows whose truth or prediction is not known do not count. A weight is a repetition.

    Parameters
    ----------
    n_states : int
        States of the variable.
    bins : int
        In how many bins of equal width probabilities are compared with what came true.

    Examples
    --------
    >>> scores = PredictionScores(2)
    >>> scores.add(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), np.array([0, 1, 1]))
    >>> found = scores.to_dict()
    >>> round(found["accuracy"], 3), round(found["auc"], 3), round(found["brier"], 3)
    (0.667, 1.0, 0.137)
    """

    def __init__(self, n_states: int, bins: int = 10) -> None:
        self.n_states, self.bins = n_states, bins
        self.weight = self._right = self._log_loss = self._squares = 0.0
        self._cells = np.zeros((3, bins))  # weight, probability, came true
        self._ranks = [_Ranks() for _ in range(n_states)]

    def add(self, p: FloatArray, truth: NDArray[Any], weights: FloatArray | None = None) -> None:
        """Add rows: their probabilities, the true states (negative: not known), and what each counts for."""
        known = (truth >= 0) & ~np.isnan(p[:, 0])
        own = np.ones(int(known.sum())) if weights is None else np.asarray(weights, dtype=np.float64)[known]
        p, truth = p[known], np.asarray(truth)[known].astype(np.intp)
        self.weight += float(own.sum())
        self._right += float(own @ (p.argmax(axis=1) == truth))
        with np.errstate(divide="ignore"):
            logs = np.log(p[np.arange(len(p)), truth])
        self._log_loss -= float(own[own > 0] @ logs[own > 0])
        hit = truth[:, None] == np.arange(self.n_states)
        self._squares += float(own @ ((p - hit) ** 2).sum(axis=1))
        at = np.minimum((p * self.bins).astype(np.intp), self.bins - 1).ravel()
        each = np.repeat(own, self.n_states)
        for row, values in zip(self._cells, (each, each * p.ravel(), each * hit.ravel()), strict=True):
            row += np.bincount(at, values, self.bins)
        for k, ranks in enumerate(self._ranks):
            ranks.add(p[:, k], hit[:, k] * own, ~hit[:, k] * own)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        ``n`` rows counted; ``accuracy``; ``log_loss``, the mean of -log P(truth); ``brier``, the mean squared error of
        the probabilities, summed over the states (of two states it is that of one); ``auc``, the area under the curve
        of hits against false alarms, of more than two states the mean over states against the others; ``calibration``,
        in bins of probability what was predicted and what came true, all states together. None where there is nothing
        to count.
        """
        n = self.weight
        if not n > 0:
            return {**dict.fromkeys(("accuracy", "log_loss", "brier", "auc")), "n": 0.0, "calibration": []}
        areas = [area for ranks in self._ranks if (area := ranks.area()) is not None]
        edges = np.linspace(0, 1, self.bins + 1)
        filled = zip(edges[:-1].tolist(), edges[1:].tolist(), *self._cells.tolist(), strict=True)
        return {
            "n": n,
            "accuracy": self._right / n,
            "log_loss": self._log_loss / n,
            "brier": self._squares / n / (2 if self.n_states == 2 else 1),
            "auc": float(np.mean(areas)) if areas else None,
            "calibration": [
                {"from": low, "to": high, "n": w, "predicted": p / w, "observed": hit / w}
                for low, high, w, p, hit in filled
                if w > 0
            ],
        }


class _Ranks:
    """Weights of hits and misses by the probability predicted."""

    def __init__(self) -> None:
        self.p: FloatArray = np.empty(0)
        self.hit: FloatArray = np.empty(0)
        self.missed: FloatArray = np.empty(0)

    def add(self, p: FloatArray, hit: FloatArray, missed: FloatArray) -> None:
        """Add rows, and merge those of the same probability."""
        every = np.concatenate([self.p, p])
        for digits in (None, 6):
            own = every if digits is None else _significant(every, digits)
            self.p, at = np.unique(own, return_inverse=True)
            if len(self.p) <= MOST_DISTINCT:
                break
        n = len(self.p)
        self.hit = np.bincount(at, np.concatenate([self.hit, hit]), n).astype(np.float64)
        self.missed = np.bincount(at, np.concatenate([self.missed, missed]), n).astype(np.float64)

    def area(self) -> float | None:
        """Share of pairs of a hit and a miss in which the hit has the higher probability; None without pairs."""
        pairs = float(self.hit.sum() * self.missed.sum())
        below = np.cumsum(self.missed) - 0.5 * self.missed
        return float(self.hit @ below) / pairs if pairs > 0 else None


def _significant(values: FloatArray, digits: int) -> FloatArray:
    scale = 10.0 ** (digits - 1 - np.floor(np.log10(np.where(values > 0, values, 1.0))))
    rounded: FloatArray = np.round(values * scale) / scale
    return rounded


# ---- cells that are missing ----------------------------------------------------------------------------------------


def imputed(model: Model, table: Table, uniform: FloatArray | None = None) -> NDArray[np.int16]:
    """Rows with their missing cells filled.

    Parameters
    ----------
    model : Model
        The model.
    table : Table
        The rows, which have all of the model's variables.
    uniform : array of float [input rows, nodes], optional
        Uniform random numbers, by which all missing cells of a row are drawn together from their posterior. Default:
        every missing cell gets its most probable value, given the cells that the row has.

    Returns
    -------
    int16 array [input rows, the model's variables]
        Codes; -1 only in rows of weight zero and in rows that the model cannot produce.

    Examples
    --------
    >>> import latentree as lt
    >>> table = lt.datasets.load("carcinoma")
    >>> model = lt.fit_classes(table, 2, rng=np.random.default_rng(0)).model
    >>> imputed(model, lt.Table.from_codes([[1, 1, -1, -1, 1, -1, 1]], model.variables)).tolist()
    [[1, 1, 1, 1, 1, 0, 1]]
    """
    names = [v.name for v in model.variables]
    codes = table.select(names).codes if table.names != tuple(names) else table.codes
    inverse = table.inverse if table.names == tuple(names) else table.select(names).inverse
    rows = np.where(inverse[:, None] >= 0, codes[inverse], np.int16(-1)).astype(np.int16)
    if uniform is not None:
        return _drawn(model, table, rows, uniform)
    lacking = [name for i, name in enumerate(names) if (rows[:, i] < 0).any()]
    for name, p in posterior(model, table, lacking).items() if lacking else ():
        i = names.index(name)
        unknown = np.isnan(p[:, 0])
        best = np.where(unknown, -1, np.where(unknown[:, None], 0.0, p).argmax(axis=1))
        rows[:, i] = np.where(rows[:, i] < 0, best, rows[:, i])
    return rows


def _drawn(model: Model, table: Table, rows: NDArray[np.int16], uniform: FloatArray) -> NDArray[np.int16]:
    tree, evidence = model.tree, evidence_of(model, table)
    open_rows = np.flatnonzero((rows < 0).any(axis=1) & (table.inverse >= 0))
    for start in range(0, len(open_rows), BLOCK):
        own = open_rows[start : start + BLOCK]
        known = [Evidence(e.node, e.ids[table.inverse[own]]) for e in evidence]
        passed = Messages(tree, model.parameters, known, n_rows=len(own), fill_leaves=True)
        possible, at = passed.log_likelihood > -np.inf, np.arange(len(own))
        states = np.zeros((len(own), tree.n_nodes), dtype=np.intp)
        for v, conditional in enumerate(passed.conditionals):
            chance = np.cumsum(conditional[at, states[:, tree.parent[v]] if v else 0], axis=1)
            below = (uniform[own, v] * chance[:, -1])[:, None] >= chance
            states[:, v] = np.minimum(below.sum(axis=1), chance.shape[1] - 1)
        found = states[:, tree.manifest].astype(np.int16)
        part = rows[own]
        rows[own] = np.where((part < 0) & possible[:, None], found, part)
    return rows


# ---- values that are not known ------------------------------------------------------------------------------------


def with_new_values(rows: FloatArray, n_known: NDArray[Any], n_new: NDArray[Any], n: float) -> FloatArray:
    """Log-likelihoods of rows in which some cells hold values that no training row had.

    After n cases the next one holds something new in a column with probability 1/(n + 1), whatever else the row
    holds, and one of the known states otherwise: with a column of its own for "something new" the probabilities of
    all rows add up to one.

    Parameters
    ----------
    rows : array of float
        Log-likelihoods of the known cells.
    n_known, n_new : arrays of int
        How many cells of each row hold a known state, and how many something new; missing cells are neither.
    n : float
        Sample size of the training data.

    Examples
    --------
    >>> with_new_values(np.log([0.5, 0.5]), np.array([1, 0]), np.array([0, 1]), 99.0).round(4).tolist()
    [-0.7032, -5.2983]
    """
    found: FloatArray = rows + n_known * np.log(n / (n + 1)) - n_new * np.log(n + 1)
    return found


# ---- how usual rows are --------------------------------------------------------------------------------------------


def row_quantiles(model: Model, table: Table) -> list[float]:
    """Log-likelihoods of rows at 0, 1, ..., 100 % of the data, by which later rows can be told to be unusual.

    Examples
    --------
    >>> import latentree as lt
    >>> table = lt.datasets.load("carcinoma")
    >>> found = row_quantiles(lt.fit_classes(table, 2, rng=np.random.default_rng(0)).model, table)
    >>> len(found), found == sorted(found)
    (101, True)
    """
    rows = Plan.of(model, table).row_log_likelihood(model.parameters)
    order = np.argsort(rows, kind="stable")
    share = np.cumsum(table.weights[order])
    at = np.searchsorted(share, QUANTILES * share[-1] * (1 - 1e-12), side="left")
    found: list[float] = rows[order][np.minimum(at, len(rows) - 1)].tolist()
    return found


def quantiles_of(known: Sequence[float] | Mapping[str, Any] | None, rows: FloatArray) -> FloatArray | None:
    """Share of the training rows that are at most as probable as each row, from :func:`row_quantiles`.

    Parameters
    ----------
    known : sequence of float, or mapping
        What :func:`row_quantiles` gave, or the provenance of a model that holds it.
    rows : array of float
        Log-likelihoods.

    Returns
    -------
    array of float or None
        Between 0 (no training row was as improbable) and 1; None if the model does not know its training rows.

    Examples
    --------
    >>> quantiles_of([-9.0, *[-5.0] * 99, -1.0], np.array([-20.0, -5.0, -0.5])).tolist()
    [0.0, 0.99, 1.0]
    """
    table = known.get("row_quantiles") if isinstance(known, Mapping) else known
    if not isinstance(table, Sequence) or len(table) != len(QUANTILES):
        return None
    values = np.array([-np.inf if x is None else float(x) for x in table])
    # A hair below counts as equal: files round, and sums are done in another order.
    at = np.searchsorted(values - 1e-9 * np.maximum(1.0, np.abs(values)), rows, side="right") - 1
    found: FloatArray = np.where(np.isnan(rows), np.nan, np.where(at < 0, 0.0, QUANTILES[np.maximum(at, 0)]))
    return found


def latent_posteriors(model: Model, data: Any, latent: str | None = None, **options: Any) -> dict[str, FloatArray]:
    """P(state | row) of latent variables, by name, for rows of any form; columns are found by their names.

    An array, which has no names, must have the columns of the model in their order.
    """
    from .formats._frame import table_from

    if not isinstance(data, Table):
        if isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] == len(model.variables):
            data = {v.name: column for v, column in zip(model.variables, data.T, strict=True)}
        data = table_from(data, variables=model.variables, **options)
    nodes = None if latent is None else [model.tree.names[find_node(model, latent)]]
    found = posterior(model, data, nodes)
    if not found:
        raise ModelError("The model has no latent variable: there is nothing to assign rows to.")
    return found
