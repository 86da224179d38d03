"""All scores of a fit in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._lazy import cached_property
from .._table import Table
from .._types import FloatArray
from ..errors import LatentreeError, bad_parameter
from ..estimation._fit import Basis, Fit
from ._aliasing import aliasing as log_aliases
from ._cheeseman_stutz import cs, cs_ml, cse, mled
from ._classification import awe, icl, icl_bic
from ._criteria import aic, aic3, bic, bice, caic, draper, sabic
from ._holdout import holdout
from ._laplace import PRIORS, Hessian, information, laplace, laplace_at
from ._marginal import marginal_likelihood
from ._mode import likelihood_mode, posterior_mode
from ._variational import variational

__all__ = ["ESTIMATES", "SCORES", "Score", "scores"]

SCORES: dict[str, Callable[[Fit], float]] = {
    "aic": aic,
    "aic3": aic3,
    "bic": bic,
    "bice": bice,
    "sabic": sabic,
    "caic": caic,
    "awe": awe,
    "draper": draper,
    "laplace": laplace,
    "laplace_block": partial(laplace, hessian="block"),
    "laplace_diagonal": partial(laplace, hessian="diagonal"),
    "laplace_traditional": partial(laplace, basis="probability"),
    "laplace_traditional_block": partial(laplace, basis="probability", hessian="block"),
    "laplace_traditional_diagonal": partial(laplace, basis="probability", hessian="diagonal"),
    "mled": mled,
    "cs": cs,
    "cs_ml": cs_ml,
    "cse": cse,
    "icl": icl,
    "icl_bic": icl_bic,
    "variational": variational,
    "marginal_likelihood": marginal_likelihood,
}
"""Scores by name: functions of a fit alone, higher being better."""

ESTIMATES = frozenset(
    {"bic", "bice", "draper", "mled", "cs", "cs_ml", "cse", "variational"}
    | {name for name in SCORES if name.startswith("laplace")}
)
"""Those that estimate log P(D | m) at one of its equal modes; relabelling can be corrected for."""

_SOFTMAX = "posterior mode, Dirichlet(1), softmax basis"
_TRADITIONAL = "posterior mode, Dirichlet(1.01), probability basis"
_AT = {
    **dict.fromkeys(("laplace", "laplace_block", "laplace_diagonal", "mled", "cs", "cse"), _SOFTMAX),
    **{name: _TRADITIONAL for name in SCORES if name.startswith("laplace_traditional")},
    "cs_ml": "maximum likelihood",
    "variational": "variational posterior, Dirichlet(1)",
    "marginal_likelihood": "no parameters, Dirichlet(1)",
}


@dataclass(frozen=True)
class Score:
    """One score of a fit.

    Attributes
    ----------
    value : float or None
        The score, higher being better; None if it is not defined here.
    at : str
        The parameters it was taken at: those of the fit, or where EM went from them.
    reason : str
        Why there is no value; empty if there is one.
    """

    value: float | None
    at: str
    reason: str = ""


def scores(
    fit: Fit, names: str | Sequence[str] | None = None, *, aliasing: bool = False, test: Table | None = None
) -> dict[str, Score]:
    """Score a fit by everything, or by what is named.

    Scores that belong to other parameters than the fit's (posterior modes, maximum likelihood) are taken where EM goes
    from them, and say so.

    Parameters
    ----------
    fit : Fit
        The fitted model.
    names : sequence of str, optional
        Among :data:`SCORES`, and ``holdout`` if there are test data. Default: all.
    aliasing : bool
        Correct those in :data:`ESTIMATES` for relabelling (W 4.8.5).
    test : Table, optional
        Data for the hold-out score.

    Returns
    -------
    dict of Score by name

    Examples
    --------
    >>> from latentree import Table, fit_classes
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], weights=[30, 40, 5, 4])
    >>> fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    >>> found = scores(fit, ["bic", "cs", "marginal_likelihood"])
    >>> round(found["bic"].value, 2), found["cs"].at
    (-97.3, 'posterior mode, Dirichlet(1), softmax basis')
    >>> found["marginal_likelihood"].value, found["marginal_likelihood"].reason[:15]
    (None, "'z' is latent: ")
    """
    known = (*SCORES, *(("holdout",) if test is not None else ()))
    wanted = known if names is None else (names,) if isinstance(names, str) else tuple(names)
    for name in wanted:
        if name not in known:
            raise bad_parameter("names", "scores", f"among {', '.join(map(repr, known))}", name)
    at = _Points(fit)
    return {name: _score(name, at, aliasing, test) for name in wanted}


class _Points:
    """The parameters that scores are taken at, each found once."""

    def __init__(self, fit: Fit) -> None:
        self.fit = fit

    @cached_property
    def likelihood(self) -> Fit:
        return likelihood_mode(self.fit)

    @cached_property
    def softmax(self) -> tuple[Fit, FloatArray]:
        return self._mode("softmax")

    @cached_property
    def traditional(self) -> tuple[Fit, FloatArray]:
        return self._mode("probability")

    @cached_property
    def mode(self) -> Fit:
        return posterior_mode(self.fit, PRIORS["softmax"], "softmax")

    def _mode(self, basis: Basis) -> tuple[Fit, FloatArray]:
        mode = self.mode if basis == "softmax" else posterior_mode(self.fit, PRIORS[basis], basis)
        return mode, information(mode, PRIORS[basis], basis)


def _score(name: str, points: _Points, aliasing: bool, test: Table | None) -> Score:
    at = _AT.get(name, "parameters of the fit")
    try:
        value, where = _value(name, points, test)
        if not np.isfinite(value):
            return Score(None, at, f"It is {value}: the data are impossible under the model.")
        return Score(value + (log_aliases(where) if aliasing and name in ESTIMATES else 0.0), at)
    except LatentreeError as error:
        return Score(None, at, str(error))


def _value(name: str, points: _Points, test: Table | None) -> tuple[float, Fit]:
    """A score, and the fit whose parameters it was taken at."""
    if name == "holdout":
        return holdout(points.fit, test), points.fit
    if name.startswith("laplace"):
        basis: Basis = "probability" if "traditional" in name else "softmax"
        hessian: Hessian = "block" if "block" in name else "diagonal" if "diagonal" in name else "full"
        mode, a = points.traditional if basis == "probability" else points.softmax
        return laplace_at(mode, a, basis=basis, hessian=hessian, prior=PRIORS[basis]), mode
    taken: dict[str, Any] = {"at": "given"}
    if name in ("cs", "mled", "cse"):
        return {"cs": cs, "mled": mled, "cse": cse}[name](points.mode, **taken), points.mode
    if name == "cs_ml":
        return cs(points.likelihood, **taken), points.likelihood
    return float(SCORES[name](points.fit)), points.fit
