"""Absolute fit: how far the counts of all possible rows are from what the model expects.

Every statistic is a member of one family (Cressie & Read, J. R. Statist. Soc. B 46 (1984) 440-464),

    2 / (l (l + 1)) * sum over cells of O ((O / E)^l - 1),

with l = 0 (as a limit) for G2, 1 for Pearson's X2, 2/3 for Cressie-Read and -1/2 for Freeman-Tukey. Since O and E have
the same total, cells that were not observed add nothing to this form when l > -1: only the observed rows are visited,
however many rows are possible.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import prod
from typing import Any

import numpy as np
from scipy.special import gammaincc

from .._data import Data
from .._model import Model
from .._options import Number, Whole, check
from .._table import Table, as_table
from .._types import FloatArray
from ..engine._plan import Plan, evidence_of
from ..errors import DataError
from ..estimation._fit import Fit

SPARSE = 5
"""With fewer rows than this for each possible pattern, the chi-square distribution is a poor approximation."""

ENORMOUS = 10**15
"""Above this many degrees of freedom there is no p-value: nothing is known about so empty a table."""


@dataclass(frozen=True)
class FitStatistics:
    """How far data are from a model; see :func:`fit_statistics`.

    Attributes
    ----------
    n : float
        Sum of the weights that entered.
    n_cells : int
        Number of different rows that are possible.
    n_observed : int
        How many of them were seen.
    n_parameters : int
        Number of free parameters taken off.
    degrees_of_freedom : int
        ``n_cells - 1 - n_parameters``; may be 0 or below.
    g2, x2, cressie_read, freeman_tukey : float or None
        Likelihood-ratio, Pearson's, Cressie-Read (2/3) and Freeman-Tukey statistic; None when undefined.
    dissimilarity : float or None
        Share of the rows that would have to change for a perfect fit, sum of ``|O - E|`` over ``2 N``.
    p_g2, p_x2 : float or None
        Upper tail of the chi-square distribution; None when undefined.
    reason : str or None
        Why something is None.
    note : str or None
        What to keep in mind about the p-values.
    """

    n: float
    n_cells: int
    n_observed: int
    n_parameters: int
    degrees_of_freedom: int
    g2: float | None = None
    x2: float | None = None
    cressie_read: float | None = None
    freeman_tukey: float | None = None
    dissimilarity: float | None = None
    p_g2: float | None = None
    p_x2: float | None = None
    reason: str | None = None
    note: str | None = None

    @property
    def capped_degrees_of_freedom(self) -> int:
        """``min(n, n_cells - 1) - n_parameters``, the residual degrees of freedom that poLCA prints."""
        return min(int(self.n), self.n_cells - 1) - self.n_parameters

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return asdict(self)


def fit_statistics(fit: Fit, *, n_parameters: int | None = None, complete_rows: bool = False) -> FitStatistics:
    """Compare the counts of all possible rows with what the model expects.

    Parameters
    ----------
    fit : Fit
        A fitted model, any tree.
    n_parameters : int, optional
        Number of free parameters, for instance the effective dimension. Default: those of the fit.
    complete_rows : bool, default False
        Leave out rows with missing cells, and expect as many rows as are left (poLCA's convention). Without this,
        nothing is computed from data with missing cells: they are no table of counts.

    Returns
    -------
    FitStatistics
        What is undefined is None, with a ``reason``: everything when cells are missing, the p-values when there are no
        degrees of freedom left.

    Examples
    --------
    >>> from latentree import datasets
    >>> from latentree.estimation import fit_classes
    >>> fit = fit_classes(datasets.load("values"), 2, rng=np.random.default_rng(0), tol=1e-9)
    >>> found = fit_statistics(fit)
    >>> round(found.g2, 3), found.degrees_of_freedom, round(found.p_g2, 2)
    (2.72, 6, 0.84)
    """
    model = fit.model
    d = fit.n_parameters
    if n_parameters is not None:
        check("fit_statistics", n_parameters=(n_parameters, Whole(0)))
        d = int(n_parameters)
    table = matched(model, fit.table)
    whole = (table.codes >= 0).all(axis=1)
    n_cells = cells(model)
    missing = float(table.weights[~whole].sum())
    reason = None
    if missing and not complete_rows:
        reason = (
            f"{missing:g} of {table.weights.sum():g} rows have missing cells, so there is no table of counts to "
            "compare. Use complete_rows=True to judge by the others."
        )
    elif not whole.any():
        reason = "No row is complete: leave out the variables with most missing cells."
    if reason is not None:
        return FitStatistics(float(table.weights.sum()), n_cells, table.n_patterns, d, n_cells - 1 - d, reason=reason)
    observed = table.weights[whole]
    expected = expected_counts(model, table, float(observed.sum()))[whole]
    n, df = float(observed.sum()), n_cells - 1 - d
    g2, x2 = divergence(observed, expected, 0.0), divergence(observed, expected, 1.0)
    p_g2, reason = chi_square_p(g2, df)
    return FitStatistics(
        *(n, n_cells, len(observed), d, df),
        g2=g2,
        x2=x2,
        cressie_read=divergence(observed, expected, 2 / 3),
        freeman_tukey=divergence(observed, expected, -0.5),
        dissimilarity=float((np.abs(observed - expected).sum() + max(n - expected.sum(), 0.0)) / (2 * n)),
        p_g2=p_g2,
        p_x2=chi_square_p(x2, df)[0],
        reason=reason,
        note=_sparse(n, n_cells) if p_g2 is not None else None,
    )


def power_divergence(fit: Fit, power: float, *, complete_rows: bool = False) -> float:
    """One member of the Cressie-Read family; see the head of this module.

    Parameters
    ----------
    fit : Fit
        A fitted model.
    power : float
        Above -1: with cells that were not observed, the others are infinite.
    complete_rows : bool, default False
        As in :func:`fit_statistics`.

    Raises
    ------
    DataError
        When cells are missing, unless ``complete_rows``.
    """
    check("power_divergence", power=(power, Number(above=-1)))
    table = matched(fit.model, fit.table)
    whole = (table.codes >= 0).all(axis=1)
    if not whole.all() and not (complete_rows and whole.any()):
        raise DataError(
            "Rows with missing cells are no table of counts to compare with. Use complete_rows=True to leave them out, "
            "if there are others."
        )
    observed = table.weights[whole]
    return divergence(observed, expected_counts(fit.model, table, float(observed.sum()))[whole], float(power))


# ---- parts, which the bootstrap uses too ------------------------------------------------------------------------


def matched(model: Model, table: Data) -> Table:
    """The table over the model's own variables, in their order; rows that differ in nothing else are merged."""
    table = as_table(table)
    if table.variables == model.variables:
        return table
    columns = evidence_of(model, table)
    codes = np.column_stack([e.ids for e in columns]) if columns else np.empty((table.n_patterns, 0), dtype=np.int32)
    return Table.from_codes(codes, model.variables, table.weights)


def cells(model: Model) -> int:
    """Number of rows that are possible, as a whole number of any size."""
    return prod(v.cardinality for v in model.variables)


def expected_counts(model: Model, table: Table, n: float) -> FloatArray:
    """``n`` times the probability of each pattern of a table over the model's variables."""
    expected: FloatArray = n * np.exp(Plan.of(model, table).row_log_likelihood(model.parameters))
    return expected


def divergence(observed: FloatArray, expected: FloatArray, power: float) -> float:
    """Cressie and Read's statistic from the observed cells alone."""
    with np.errstate(divide="ignore"):
        log_ratio = np.log(observed) - np.log(expected)
    if power == 0:
        return max(float(2 * (observed @ log_ratio)), 0.0)
    with np.errstate(over="ignore"):
        terms = observed * np.expm1(power * log_ratio)
    return max(float(2 / (power * (power + 1)) * terms.sum()), 0.0)


def chi_square_p(statistic: float, df: int) -> tuple[float | None, str | None]:
    """Upper tail of the chi-square distribution, or why there is none."""
    if df <= 0:
        return None, (
            f"{df} degrees of freedom: the model has at least as many parameters as the table of counts, so its "
            "fit cannot be tested. Use fewer states or more variables."
        )
    if df > ENORMOUS:
        return None, "There are too many possible rows for a chi-square test. Look at pairs: bivariate_residuals."
    return float(gammaincc(df / 2, statistic / 2)), None


def _sparse(n: float, n_cells: int) -> str | None:
    if n >= SPARSE * n_cells:
        return None
    return (
        f"{n:g} rows for {n_cells:,} possible ones are too few for the chi-square distribution to be a good guide: "
        "take p-values from a parametric bootstrap."
    )
