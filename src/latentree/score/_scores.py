"""All scores of a fit in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._lazy import cached_property
from .._registry import Registry
from .._table import Table
from ..errors import LatentreeError
from ..estimation._fit import Fit
from ._aliasing import aliasing as log_aliases
from ._holdout import holdout
from ._laplace import PRIORS
from ._mode import likelihood_mode, posterior_mode
from ._registry import POINTS, SCORES, Score


@dataclass(frozen=True)
class ScoreValue:
    """The value of one score for one fit.

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
) -> dict[str, ScoreValue]:
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
        Correct those that estimate log P(D | m) for relabelling ([Whiley1999] 4.8.5).
    test : Table, optional
        Data for the hold-out score.

    Returns
    -------
    dict of ScoreValue by name

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
    known = dict(SCORES)
    if test is not None:
        known["holdout"] = Score("holdout", "Hold-out", holdout, {"test": test})
    wanted = tuple(known) if names is None else (names,) if isinstance(names, str) else tuple(names)
    registry = Registry("score", known)
    chosen = [registry.find(name, owner="scores", parameter="names") for name in wanted]
    points = _Points(fit)
    return {score.name: _value(score, points, aliasing) for score in chosen}


class _Points:
    """The parameters that scores are taken at, each found once."""

    def __init__(self, fit: Fit) -> None:
        self.fit = fit

    @cached_property
    def likelihood(self) -> Fit:
        return likelihood_mode(self.fit)

    @cached_property
    def softmax(self) -> Fit:
        return posterior_mode(self.fit, PRIORS["softmax"], "softmax")

    @cached_property
    def probability(self) -> Fit:
        return posterior_mode(self.fit, PRIORS["probability"], "probability")


def _value(score: Score, points: _Points, aliasing: bool) -> ScoreValue:
    at = POINTS[score.at]
    try:
        where = getattr(points, score.at, points.fit)
        value = score(where, at="given") if where is not points.fit else score(where)
        if not np.isfinite(value):
            return ScoreValue(None, at, f"It is {value}: the data are impossible under the model.")
        return ScoreValue(value + (log_aliases(where) if aliasing and score.estimates_evidence else 0.0), at)
    except LatentreeError as error:
        return ScoreValue(None, at, str(error))
