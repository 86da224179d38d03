"""``BayesianLatentClass``: reads data, calls the sampler, and keeps what it returns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from .._options import AnyOf, Number, OneOf, Whole
from .._table import Table
from .._types import FloatArray
from ..bayes import (
    SWEEPS,
    ClassPrior,
    PredictiveScore,
    classification,
    log_predictive,
    loo,
    predictive_rows,
    prior_on_classes,
    relabel,
    sample,
    similarity,
    summarise,
    waic,
)
from ..runner import Budget
from ._base import ClassPredictor, DataEstimator, checked_samples
from ._inputs import Bins, Constraints, Missing, RandomState, Worded, check_parameters, generator, weights_of
from ._progress import reporter

__all__ = ["BayesianLatentClass"]


_CONSTRAINTS: Constraints = {
    "n_classes": AnyOf(Whole(1), OneOf(None)),
    "max_classes": Whole(1),
    "delta1": Number(above=0),
    "delta2": Number(above=0),
    "n_draws": Whole(1),
    "n_burn": Whole(0),
    "thin": Whole(1),
    "n_chains": Whole(1),
    "method": OneOf(*(name for name in SWEEPS if name != "gibbs")),
    "level": Worded(Number(above=0, below=1), "a number between 0 and 1"),
}


class BayesianLatentClass(ClassPredictor, DensityMixin, DataEstimator):  # type: ignore[misc]
    """Latent class analysis the Bayesian way: the number of classes and all else, drawn from the posterior.

    Parameters
    ----------
    n_classes : int or None, default None
        Number of classes. None: anything from 1 to ``max_classes``, by reversible jump.
    max_classes : int, default 8
        Most classes, if the number is open.
    prior_classes : {"uniform", "poisson", "geometric"} or sequence of float, default "uniform"
        P(k) of 1 to ``max_classes`` classes before the data; see :func:`latentree.bayes.prior_on_classes`.
    delta1, delta2 : float, default 1
        Dirichlet parameters of the class sizes and of the answers of a class; 1 is flat.
    n_draws, n_burn, thin, n_chains : int
        Models to keep of each chain, sweeps thrown away before, sweeps from one to the next, and chains.
    method : {"marginal", "reversible_jump"}, default "marginal"
        How the number of classes is changed; see :func:`latentree.bayes.sample`.
    level : float, default 0.95
        What the intervals hold.
    bins, keep_levels, missing, unseen
        As in :class:`LatentClass`.
    random_state : int, RandomState, Generator or None, default None
        Source of randomness. The same number gives the same draws, whatever ``n_jobs`` is.
    n_jobs : int or None, default None
        Chains at a time. None is one, -1 all cores.
    time_limit : float or None, default None
        Seconds after which what was drawn is taken, with a warning.
    checkpoint : path, optional
        A file to keep the chains in, and to go on from if it is there. Needs a number for ``random_state``.
    verbose : int, default 0
        Whether to report progress on standard error.

    Attributes
    ----------
    n_classes_ : int
        The most probable number of classes, or the one given.
    n_classes_posterior_ : array of float
        P(k | data) of k = 1, 2, ...
    class_sizes_, class_sizes_interval_ : arrays of float [classes] and [2, classes]
        Posterior means, and ends of the intervals, given ``n_classes_`` classes. Class 0 is the largest.
    profiles_, profiles_interval_ : dicts of str to array of float [classes, states] and [2, classes, states]
        P(state | class) by variable.
    draws_ : Draws
        All that was drawn.
    class_draws_ : ClassDraws
        The draws with ``n_classes_`` classes, relabelled.
    model_ : Model
        The posterior means as a model.
    table_ : Table
        The training data as distinct rows.
    r_hat_, effective_draws_ : float
        Of the number of classes, or of the log-likelihood where that is fixed.
    warnings_ : list of str
        What :meth:`fit` warned of.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Names of the columns, if the data have any.

    Notes
    -----
    Sample weights that are not counts are rounded at random; see :func:`latentree.bayes.sample`. Ctrl-C during
    :meth:`fit` keeps what was drawn, with a warning.

    Examples
    --------
    >>> import latentree as lt
    >>> ratings = lt.datasets.load_frame("carcinoma")
    >>> bayes = BayesianLatentClass(random_state=0).fit(ratings)
    >>> bayes.n_classes_, bayes.n_classes_posterior_.round(1).tolist()[:4]
    (3, [0.0, 0.0, 0.8, 0.1])
    >>> bayes.predict(ratings.head(3)).tolist()
    [1, 1, 1]
    """

    _subject = "draws_"

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        max_classes: int = 8,
        prior_classes: str | Sequence[float] = "uniform",
        delta1: float = 1.0,
        delta2: float = 1.0,
        n_draws: int = 1000,
        n_burn: int = 1000,
        thin: int = 5,
        n_chains: int = 4,
        method: str = "marginal",
        level: float = 0.95,
        bins: Bins = None,
        keep_levels: bool = False,
        missing: Missing = None,
        unseen: str = "error",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self._set_parameters(locals())

    # ---- fitting ---------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw from the posterior.

        Parameters
        ----------
        X : data frame or array [rows, columns]
            The data: pandas, Polars or PyArrow, or a NumPy array or list of rows.
        y : ignored
            For pipelines.
        sample_weight : array of float [rows], optional
            How often each row counts: whole numbers.

        Returns
        -------
        self
        """
        check_parameters(self, own=_CONSTRAINTS)
        table = self._training_table(X, sample_weight)
        rng, seed = generator(self.random_state)
        self.draws_ = sample(
            table,
            self._prior(),
            rng=rng,
            method=self.method if self.n_classes is None else "gibbs",
            n_draws=int(self.n_draws),
            n_burn=int(self.n_burn),
            thin=int(self.thin),
            n_chains=int(self.n_chains),
            n_jobs=int(effective_n_jobs(self.n_jobs)),
            budget=Budget(seconds=self.time_limit),
            checkpoint=self.checkpoint,
            on_progress=reporter() if self.verbose else None,
        )
        self._keep(table, seed)
        self._warn()
        return self

    def _prior(self) -> ClassPrior:
        k = self.max_classes if self.n_classes is None else self.n_classes
        kind = self.prior_classes if self.n_classes is None else "uniform"
        return ClassPrior(prior_on_classes(int(k), kind), float(self.delta1), float(self.delta2))

    def _keep(self, table: Table, seed: int | None) -> None:
        self.table_ = table
        self._seed = seed
        report = self.report()
        self.n_classes_ = int(report["n_classes"])
        self.n_classes_posterior_ = self.draws_.k_posterior
        self.class_draws_ = relabel(self.draws_.given(self.n_classes_))
        summary = summarise(self.class_draws_, level=self.level)
        ends = np.cumsum(table.cardinalities)[:-1]
        self.model_ = summary.model()
        self.class_sizes_, self.class_sizes_interval_ = summary.weights, summary.weights_interval
        self.profiles_ = dict(zip(table.names, np.split(summary.theta, ends, axis=1), strict=True))
        self.profiles_interval_ = dict(zip(table.names, np.split(summary.theta_interval, ends, axis=2), strict=True))
        self.r_hat_ = float("nan") if report["r_hat"] is None else report["r_hat"]
        self.effective_draws_ = float("nan") if report["effective_draws"] is None else report["effective_draws"]
        self.warnings_ = list(report["warnings"])

    # ---- using it --------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | row, training data), averaged over the draws with ``n_classes_`` classes."""
        table = self._table(X)
        p: FloatArray = classification(self.class_draws_, table)[table.inverse]
        return p

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log of the posterior predictive probability of each row, averaged over all draws."""
        table = self._table(X)
        rows: FloatArray = log_predictive(self.draws_, table)[table.inverse]
        return rows

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean of :meth:`score_samples`, weighted if weights are given. Higher is better."""
        rows = self.score_samples(X)
        weights = weights_of(sample_weight, len(rows))
        return float(rows.mean() if weights is None else weights @ rows / weights.sum())

    def sample(self, n_samples: int = 1, *, random_state: RandomState = None) -> Any:
        """Draw rows from the posterior predictive distribution, in the form of the training data."""
        check_is_fitted(self)
        n_samples = checked_samples(n_samples)
        rng, _ = generator(self.random_state if random_state is None else random_state)
        return self._form.rows(predictive_rows(self.draws_, n_samples, rng), self.table_.variables)

    def waic(self) -> PredictiveScore:
        """Return the widely applicable information criterion of all draws; see :func:`latentree.bayes.waic`."""
        check_is_fitted(self)
        return waic(self.draws_)

    def loo(self) -> PredictiveScore:
        """Return what leaving one row out gives, by PSIS through ArviZ; see :func:`latentree.bayes.loo`."""
        check_is_fitted(self)
        return loo(self.draws_)

    def similarity(self) -> FloatArray:
        """Return P(in the same class | data) for all pairs of training rows; [rows, rows]."""
        check_is_fitted(self)
        patterns, rows = similarity(self.draws_), self.table_.inverse
        out: FloatArray = patterns[np.ix_(rows, rows)]
        return out

    # ---- reporting -------------------------------------------------------------------------------------------

    def _report_options(self) -> dict[str, Any]:
        return {"level": self.level, "seed": self._seed}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the draws to a netCDF file in ArviZ' layout; see :func:`latentree.bayes.load`."""
        check_is_fitted(self)
        self.draws_.save(path)
