"""Scores on other data: hold-out log score ([ZhangKocka2004] 1), divergence from a known model ([Zhang2004] 5.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._model import Model
from .._options import Number, check
from .._table import Table, as_table
from ..engine._plan import Plan
from ..errors import DataError, bad_parameter
from ..estimation._fit import Fit, Prior
from ._mode import refit


def holdout(
    fit: Fit,
    test: Table | None = None,
    *,
    rng: np.random.Generator | None = None,
    share: float = 1 / 3,
    prior: Prior = 1.0,
    **options: Any,
) -> float:
    """Log-likelihood of data that were not used for fitting.

    Parameters
    ----------
    fit : Fit
        The fitted model.
    test : Table, optional
        Other data, scored by the model as it is. Default: part of the fit's own data, drawn at random; the structure is
        then fitted anew, from random starts, to the other part.
    rng : numpy.random.Generator
        Source of the split and the starts; needed without ``test``.
    share : float
        Part of the cases to hold out.
    prior : float, mapping or None
        Dirichlet prior of the new fit, softmax basis: adding 1 to every count keeps what the test data show possible.
    **options
        Those of :func:`~latentree.estimation.restart_em` for the new fit.

    Returns
    -------
    float
        Minus infinity if the model says that something in the test data cannot be.

    Examples
    --------
    >>> from latentree import fit_classes
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], weights=[30, 40, 5, 4])
    >>> fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    >>> round(holdout(fit, table) - fit.log_likelihood, 6)
    0.0
    >>> holdout(fit, rng=np.random.default_rng(0)) < 0
    True
    """
    if test is not None:
        return _log_score(fit.model, test)
    if rng is None:
        raise bad_parameter("rng", "holdout", "a numpy.random.Generator when no test data are given", rng)
    train, rest = split(as_table(fit.table), share, rng)
    options = {"n_init": 16, **options}
    again = refit(fit, train, rng=rng, include=False, prior=prior, basis="softmax", **options)
    return _log_score(again.model, rest)


def split(table: Table, share: float, rng: np.random.Generator) -> tuple[Table, Table]:
    """Draw cases without replacement: a table of those left, and one of those drawn.

    Parameters
    ----------
    table : Table
        The data; their weights must be whole counts.
    share : float
        Part of the cases to draw, between 0 and 1.
    rng : numpy.random.Generator
        Source of randomness.

    Examples
    --------
    >>> table = Table.from_codes([[0], [1]], weights=[60, 40])
    >>> train, test = split(table, 0.25, np.random.default_rng(0))
    >>> train.n, test.n
    (75.0, 25.0)
    """
    check("split", share=(share, Number(above=0, below=1)))
    counts = table.weights.round().astype(np.int64)
    if not np.array_equal(counts, table.weights):
        raise DataError("Holding out cases needs whole counts as weights. Pass test data of your own instead.")
    n_drawn = round(share * int(counts.sum()))
    if not 0 < n_drawn < counts.sum():
        raise DataError(f"{counts.sum()} cases cannot be split into parts of {share:.3g} and {1 - share:.3g}.")
    drawn = rng.multivariate_hypergeometric(counts, n_drawn, method="marginals")
    return table.reweighted(counts - drawn), table.reweighted(drawn)


def empirical_kl(model: Model, truth: Model, table: Table) -> float:
    """Empirical Kullback-Leibler divergence of a model from the truth ([Zhang2004] 5.1).

    The mean of log P_truth - log P_model. Not a score: 0 is best, and with few data it can fall below.

    Parameters
    ----------
    model, truth : Model
        The learned model, and the one that the data come from.
    table : Table
        Data drawn from the truth and not used for learning.

    Returns
    -------
    float
        Infinity if the model says that something in the data cannot be. Nothing is smoothed: fit with a prior.
    """
    at_truth = _log_score(truth, table)
    if not np.isfinite(at_truth):
        raise DataError("The data are impossible under the model they are said to come from.")
    return (at_truth - _log_score(model, table)) / float(table.weights.sum())


def _log_score(model: Model, table: Table) -> float:
    missing = [v.name for v in model.variables if v.name not in table.names]
    if missing:
        raise DataError(f"The test data have no column '{missing[0]}'.")
    return Plan.of(model, table).log_likelihood(model.parameters)
