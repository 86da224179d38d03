"""Which scores there are, and what is known of each: read by searches, comparisons, commands, messages and documents.

Importing this costs nothing: the functions are loaded when a score is first taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log, pi
from typing import TYPE_CHECKING, Any, Literal

from .._registry import Registry, loaded
from ..errors import DataError

if TYPE_CHECKING:
    from ..estimation._fit import Fit

At = Literal["fit", "likelihood", "softmax", "probability", "variational", "none"]

POINTS: dict[At, str] = {
    "fit": "parameters of the fit",
    "likelihood": "maximum likelihood",
    "softmax": "posterior mode, Dirichlet(1), softmax basis",
    "probability": "posterior mode, Dirichlet(1.01), probability basis",
    "variational": "variational posterior, Dirichlet(1)",
    "none": "no parameters, Dirichlet(1)",
}
"""The parameters that scores are taken at, in words."""


@dataclass(frozen=True)
class Penalty:
    """What a score takes off the log-likelihood: a rate for each dimension of the model.

    Attributes
    ----------
    rate : callable
        The rate, from the sample size.
    dimension : {"standard", "effective"}
        Which dimension is counted.
    above : float
        The sample size must be above this: below, parameters would be rewarded.

    Examples
    --------
    >>> SCORES["bic"].penalty.rate(100.0) == 0.5 * log(100)
    True
    """

    rate: Callable[[float], float]
    dimension: Literal["standard", "effective"] = "standard"
    above: float = 1.0

    def each(self, n: float, score: str) -> float:
        """Return what one dimension costs with sample size ``n``; ``score`` is the title to name in an error."""
        if not n > self.above:
            raise DataError(
                "{score} needs a sample size above {above:.4g}: with N = {n:g} it would reward parameters.",
                score=score,
                above=self.above,
                n=float(n),
            )
        return self.rate(n)


@dataclass(frozen=True)
class Score:
    """A score of a fitted model, higher being better. Calling it with a fit gives its value.

    Attributes
    ----------
    name : str
        What it is called in code, files and commands.
    title : str
        What it is called in sentences and tables.
    function : str or callable, optional
        A function of a fit, or ``"module:name"``. Not needed for a penalised likelihood.
    options : mapping
        What the function is called with beside the fit.
    at : str
        The parameters that it is taken at, one of :data:`POINTS`. For ``likelihood``, ``softmax`` and ``probability``
        the function goes there by itself, and takes ``at="given"`` when the fit is there already.
    penalty : Penalty, optional
        Given if the score is the log-likelihood less a penalty: searches then know the score of a candidate from its
        likelihood.
    cost : {"quick", "slow"}
        Whether it costs no more than a fit does.
    estimates_evidence : bool
        Whether it estimates log P(D | m) at one of its equal modes, so that relabelling can be corrected for.
    searchable : bool
        Whether commands offer it for choosing a model.
    paired : str or callable, optional
        A function of a fit that gives the score with the cases it is made of, or ``"module:name"``: an object with
        ``value`` and ``difference(other)``, a difference and its standard error. Of several models, the simplest is
        then chosen that is within one standard error of the best.

    Examples
    --------
    A score of one's own. ``SCORES.register(mine.name, mine)`` makes it known to ``scores``, ``compare`` and ``learn``:

    >>> import latentree as lt
    >>> mine = Score("hq", "Hannan-Quinn", penalty=Penalty(lambda n: log(log(n)), above=3))
    >>> fit = lt.LatentClass(2, random_state=0).fit(lt.datasets.load_frame("carcinoma")).fit_
    >>> round(mine(fit), 2)
    -340.69
    """

    name: str
    title: str
    function: str | Callable[..., float] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    at: At = "fit"
    penalty: Penalty | None = None
    cost: Literal["quick", "slow"] = "quick"
    estimates_evidence: bool = False
    searchable: bool = True
    paired: str | Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        for own in ("__name__", "__qualname__"):  # as a function has, for traces and checkpoints
            object.__setattr__(self, own, self.name)

    def __call__(self, fit: Fit, **options: Any) -> float:
        """Take the score of a fit."""
        if self.function is None:
            own = loaded("latentree.score._criteria:penalised")
            return float(own(fit, self))
        function = loaded(self.function) if isinstance(self.function, str) else self.function
        return float(function(fit, **{**self.options, **options}))

    def by_case(self, fit: Fit) -> Any:
        """Take the score with the cases that it is made of, if it is ``paired``."""
        function = loaded(self.paired) if isinstance(self.paired, str) else self.paired
        assert function is not None
        return function(fit, **self.options)


# Rates are named functions, so that scores can be sent to other processes.


def _one(n: float) -> float:
    return 1.0


def _three_halves(n: float) -> float:
    return 1.5


def _half_log(n: float) -> float:
    return 0.5 * log(n)


def _sabic(n: float) -> float:
    return 0.5 * log((n + 2.0) / 24.0)


def _caic(n: float) -> float:
    return 0.5 * (log(n) + 1.0)


def _draper(n: float) -> float:
    return 0.5 * log(n / (2 * pi))


def _laplace(name: str, title: str, basis: Literal["softmax", "probability"], hessian: str) -> Score:
    options, function = {"basis": basis, "hessian": hessian}, "latentree.score._laplace:laplace"
    return Score(name, title, function, options, at=basis, cost="slow", estimates_evidence=True, searchable=False)


_CS = "latentree.score._cheeseman_stutz:"
_AT_ML = "Cheeseman-Stutz at maximum likelihood"
_CLASSES = "latentree.score._classification:"
_VB = "latentree.score._variational:variational"
_CV = "latentree.score._cross_validation:"
_EXACT = "latentree.score._marginal:marginal_likelihood"

_ALL = (
    Score("aic", "AIC", penalty=Penalty(_one, above=0.0)),
    Score("aic3", "AIC3", penalty=Penalty(_three_halves, above=0.0)),
    Score("bic", "BIC", penalty=Penalty(_half_log), estimates_evidence=True),
    Score("bice", "BICe", penalty=Penalty(_half_log, "effective"), estimates_evidence=True),
    Score("sabic", "SABIC", penalty=Penalty(_sabic, above=22.0)),
    Score("caic", "CAIC", penalty=Penalty(_caic)),
    Score("awe", "AWE", _CLASSES + "awe"),
    Score(
        "draper",
        "Draper's score",
        penalty=Penalty(_draper, above=2 * pi),
        estimates_evidence=True,
    ),
    _laplace("laplace", "Laplace", "softmax", "full"),
    _laplace("laplace_block", "Laplace, block Hessian", "softmax", "block"),
    _laplace("laplace_diagonal", "Laplace, diagonal Hessian", "softmax", "diagonal"),
    _laplace("laplace_traditional", "Laplace, probabilities", "probability", "full"),
    _laplace("laplace_traditional_block", "Laplace, probabilities, block Hessian", "probability", "block"),
    _laplace("laplace_traditional_diagonal", "Laplace, probabilities, diagonal Hessian", "probability", "diagonal"),
    Score("mled", "MLED", _CS + "mled", at="softmax", estimates_evidence=True, searchable=False),
    Score("cs", "Cheeseman-Stutz", _CS + "cs", at="softmax", estimates_evidence=True),
    Score("cs_ml", _AT_ML, _CS + "cs", {"at": "ml"}, at="likelihood", estimates_evidence=True, searchable=False),
    Score("cse", "Cheeseman-Stutz, effective dimension", _CS + "cse", at="softmax", estimates_evidence=True),
    Score("icl", "ICL", _CLASSES + "icl"),
    Score("icl_bic", "ICL-BIC", _CLASSES + "icl_bic"),
    Score(
        "variational",
        "Variational bound",
        _VB,
        at="variational",
        cost="slow",
        estimates_evidence=True,
        searchable=False,
    ),
    Score("cv", "Cross-validation", _CV + "cv", cost="slow", paired=_CV + "cross_validated"),
    Score("cv10", "10-fold cross-validation", _CV + "cv", {"folds": 10}, cost="slow", paired=_CV + "cross_validated"),
    Score("holdout", "Hold-out", _CV + "cv", {"parts": 1}, cost="slow", paired=_CV + "cross_validated"),
    Score("marginal_likelihood", "Marginal likelihood", _EXACT, at="none", searchable=False),
)

SCORES: Registry[Score] = Registry("score", {score.name: score for score in _ALL})
"""Scores by name: functions of a fit alone, higher being better."""
