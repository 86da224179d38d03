"""``LatentClass``: reads data, calls what does the work, and keeps what it returns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .. import score as score_functions
from .._folds import check_row_order
from .._model import Model
from .._table import as_table
from .._types import FloatArray
from ..cardinality import learn_classes
from ..cardinality._task import Criterion
from ..comparison import compare_classes, search_summary
from ..diagnostics import findings
from ..errors import ModelError
from ..estimation import ITERATIONS, TOLERANCE, Estimate, Fit, fit_classes
from ..estimation._smoothing import ChosenPrior, smoothed_classes
from ..prediction import row_quantiles
from ..runner import Budget, Clock
from ..score import Assignment, BootstrapLrt, StandardErrors
from ..score._uncertainty import Method as ErrorMethod
from ._base import ClassPredictor, ModelEstimator, RowDensity, ScoreMethod, posteriors
from ._inputs import (
    Bins,
    Missing,
    RandomState,
    check_parameters,
    fit_options,
    generator,
    learn_options,
    parameters_of,
    refuse_learning_options,
)
from ._new_rows import NewRows
from ._relating import Relating

if TYPE_CHECKING:
    from ..report import ReviewerReport

__all__ = ["LatentClass"]


class LatentClass(NewRows, Relating, ClassPredictor, RowDensity, ModelEstimator):
    """Latent class analysis: a mixture of classes within which categorical variables are independent.

    Parameters
    ----------
    n_classes : int or "auto", default 2
        Number of classes. ``"auto"`` learns it: the number whose fit has the best score, found by random starts and by
        splitting and merging classes; see :func:`latentree.cardinality.learn_classes`.
    n_init : int, default 64
        Random starts, unless the number of classes is learned. After a few steps the worse half is given up, again and
        again; the last 8 are run to the end and the best of them is kept.
    score : str or callable, default "bic"
        What decides when the number of classes is learned: a name in :data:`latentree.score.SCORES`, or a function of a
        fit, of which higher is better.
    max_classes : int, optional
        Most classes when their number is learned. Default: as many as there are distinct rows.
    method : str, default "screened"
        How the number of classes is learned: a name in :data:`latentree.cardinality.LEARNERS`. Methods that do not end
        by themselves need a ``time_limit``.
    start : Model, optional
        A latent class model to improve when the number of classes is learned. It is kept if nothing better is found.
    prior : float, mapping, "auto", "shuffled", "blocks" or None, default None
        Dirichlet parameter of all probabilities: 1 is flat, above 1 keeps them away from 0 and 1. A mapping gives it
        for some variables by name. ``"shuffled"`` fits by maximum likelihood, then pulls the probabilities towards
        plain distributions, as far as rows held out at random say (:func:`latentree.estimation.smoothed`).
        ``"blocks"`` holds out rows that stand together, for new rows from another time or place, and depends on the
        order of rows. ``"auto"`` is ``"shuffled"``. None is maximum likelihood.
    bins : int, dict or None, default None
        How to cut continuous columns: into that many bins of equal frequency, or for each column by name into how many
        bins or at which edges. Every column of an array of floats counts as continuous when this is an int.
    keep_levels : bool, default False
        Whether categories that a column declares, but no row of the training data has, count as states.
    missing : list, dict or None, default None
        Cells that count as missing in place of the usual texts (``NA``, ``?`` and the like; None keeps these), or codes
        of single columns besides them, ``{"income": [99, -1]}``. NaN, None and empty text are missing in any case.
    unseen : {"error", "missing", "smooth"}, default "error"
        What to do with a value that was not there in :meth:`fit`: an error, a missing cell, or a missing cell that
        counts in the log-likelihood of its row with the probability of something new, 1/(n + 1) after n rows.
    tol : float, default 1e-6
        EM ends when a step gains less log-likelihood (or log-posterior) than this.
    max_iter : int, default 10000
        Most steps of EM.
    random_state : int, RandomState, Generator or None, default None
        Source of the starts. The same number gives the same result, whatever ``n_jobs`` is.
    n_jobs : int or None, default None
        Threads. None is one, -1 all cores.
    time_limit : float or None, default None
        Seconds after which the best fit so far is taken, with a warning.
    checkpoint : path, optional
        A file to keep the fit in while it is under way, and to go on from if it is there: the result is that of an
        uninterrupted fit. Needs a number for ``random_state``.
    verbose : int, default 0
        Whether to report progress on standard error.

    Attributes
    ----------
    class_sizes_ : array of float [n_classes]
        Probability of each class. Class 0 is the largest.
    profiles_ : dict of str to array of float [n_classes, states]
        P(state | class) by variable; the states of a variable are in the order of ``model_.states(name)``.
    log_likelihood_ : float
        Log-likelihood of the training data.
    n_iter_ : int
        Steps of the best run.
    converged_ : bool
        Whether it ended by its own rule.
    estimate_ : Estimate
        What the probabilities are: maximum likelihood or under a prior, which, and the log-likelihood at them.
    warnings_ : list of str
        What :meth:`fit` warned of. :meth:`summary` has further notes.
    fit_ : Fit
        Model, data, expected counts, objectives of all starts, and how the fit went.
    model_ : Model
        The fitted model; its probabilities, files and samples of codes.
    table_ : Table
        The training data as distinct rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Names of the columns, if the data have any.

    See Also
    --------
    compare : The same for several numbers of classes.

    Notes
    -----
    Text (blanks around it do not count), categories, whole numbers and truth values are states; None, NaN, empty text
    and the like are missing cells, which are summed out and never a state. Every column of ``X`` is used: leave out
    identifiers and the like by ``X.drop(columns=[...])``. A sample weight means repeating the row. Sparse matrices must
    be made dense.

    By maximum likelihood, rows that the training data did not have may be impossible, which makes their log-likelihood
    minus infinity. Where new rows matter, use ``prior="auto"``, and ``unseen="missing"`` in cross-validation.

    Ctrl-C during :meth:`fit` keeps the best fit so far, with a warning.

    Examples
    --------
    >>> import latentree as lt
    >>> ratings = lt.datasets.load_frame("carcinoma")
    >>> lca = LatentClass(n_classes=3, random_state=0).fit(ratings)
    >>> lca.class_sizes_.round(3).tolist()
    [0.445, 0.374, 0.182]
    >>> lca.predict(ratings.head(3)).tolist()
    [1, 1, 1]
    >>> print(lca.summary().splitlines()[0])
    Latent class model: 3 classes, 7 variables, 118 rows (20 distinct)
    >>> len(LatentClass("auto", random_state=0).fit(ratings).class_sizes_)
    3
    """

    def __init__(
        self,
        n_classes: int | str = 2,
        *,
        n_init: int = 64,
        score: str | Criterion = "bic",
        max_classes: int | None = None,
        method: str = "screened",
        start: Model | None = None,
        prior: float | Mapping[str, ArrayLike] | ChosenPrior | None = None,
        bins: Bins = None,
        keep_levels: bool = False,
        missing: Missing = None,
        unseen: str = "error",
        tol: float = TOLERANCE,
        max_iter: int = ITERATIONS,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self._set_parameters(locals())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {**super().get_params(deep), "score": self.__dict__["score"]}

    _search: Mapping[str, Any] | None = None
    """How the number of classes was searched, if it was."""

    # ---- fitting ---------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : data frame or array [rows, columns]
            The data: pandas, Polars or PyArrow, or a NumPy array or list of rows.
        y : ignored
            For pipelines.
        sample_weight : array of float [rows], optional
            What each row counts for: a weight means repeating the row. Rows of weight zero are dropped. If a column
            of the data says it, take it out of ``X``:
            ``fit(X.drop(columns=["w"]), sample_weight=X["w"])``.

        Returns
        -------
        self
        """
        check_parameters(self)
        table = self._training_table(X, sample_weight)
        if self.prior == "blocks":
            check_row_order(table)
        rng, seed = generator(self.random_state)
        clock = Budget(seconds=self.time_limit).start()
        self._search = None
        if self.n_classes == "auto":
            own = learn_options(self)
            with parameters_of("LatentClass"):
                found = learn_classes(table, rng=rng, budget=clock, checkpoint=self.checkpoint, **own)
            self._search, fit = search_summary(found), found.fit
        else:
            refuse_learning_options(self)
            n, own = int(self.n_classes), fit_options(self)
            fit = fit_classes(table, n, rng=rng, budget=clock, checkpoint=self.checkpoint, **own)
        fit, self.estimate_ = self._estimated(replace(fit, seed=seed), clock)
        self._keep(fit)
        self._warn()
        return self

    def _estimated(self, fit: Fit, clock: Clock) -> tuple[Fit, Estimate]:
        """The fit with the probabilities asked for, and what they are."""
        if isinstance(self.prior, str):
            jobs = int(effective_n_jobs(self.n_jobs))
            return smoothed_classes(fit, prior=self.prior, budget=clock, n_jobs=jobs)
        number = None if self.prior is None or isinstance(self.prior, Mapping) else float(self.prior)
        kind: Literal["ml", "map"] = "ml" if self.prior is None or number == 1 else "map"
        return fit, Estimate(kind, fit.log_likelihood, prior=number)

    def _keep(self, fit: Fit) -> None:
        self.fit_ = fit
        self.model_ = fit.model
        self.table_ = as_table(fit.table)
        self.class_sizes_ = fit.model.table(0)[0]
        self.profiles_ = {v.name: fit.model.table(v.name) for v in fit.model.variables}
        self.log_likelihood_ = fit.log_likelihood
        self.n_iter_ = len(fit.trace)
        self.converged_ = fit.converged
        self.warnings_ = [f.text for f in findings(fit) if f.loud]

    # ---- using it --------------------------------------------------------------------------------------------

    score = ScoreMethod(RowDensity.score)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | row).

        Parameters
        ----------
        X : data frame or array [rows, columns]
            The data. Missing cells are allowed, also a row without any value, which gets the sizes of the classes.

        Returns
        -------
        array of float [rows, n_classes]
            A row that the model calls impossible gets the classes that contradict it in the fewest cells, with a
            warning.
        """
        table = self._table(X)
        advice = "Fit with a prior above 1 to make no row impossible."
        return posteriors(self.model_, table, advice=advice)[self.model_.tree.names[0]]

    def sample(self, n_samples: int = 1, *, random_state: RandomState = None, return_classes: bool = False) -> Any:
        """Draw rows from the model.

        Parameters
        ----------
        n_samples : int, default 1
            How many.
        random_state : int, RandomState, Generator or None
            Source of randomness. Default: that of the estimator.
        return_classes : bool, default False
            Whether to return the class of each row as well.

        Returns
        -------
        data frame or array [n_samples, columns]
            In the form of the training data; a column that was cut holds the names of its bins.
        classes : array of int [n_samples]
            Only with ``return_classes``.

        Examples
        --------
        >>> lca = LatentClass(random_state=0).fit([["yes", 1, 1], ["yes", 1, 1], ["no", 2, 2], ["no", 2, 2]])
        >>> lca.sample(2).tolist()
        [['no', 2, 2], ['yes', 1, 1]]
        """
        codes, classes = self._sampled(n_samples, random_state)
        rows = self._form.rows(codes, self.model_.variables)
        return (rows, classes[:, 0]) if return_classes else rows

    # ---- reporting -------------------------------------------------------------------------------------------

    def _report_options(self) -> dict[str, Any]:
        return {"search": self._search, "estimate": self.estimate_ if self.estimate_.kind == "map" else None}

    def average_posteriors(self) -> Assignment:
        """Return how surely rows belong to their classes; see :func:`latentree.score.average_posteriors`."""
        check_is_fitted(self)
        return score_functions.average_posteriors(self.fit_)

    def standard_errors(self, method: ErrorMethod = "information", **options: Any) -> StandardErrors:
        """Return standard errors and intervals of all probabilities; see :func:`latentree.score.standard_errors`."""
        check_is_fitted(self)
        if method == "bootstrap":
            options.setdefault("rng", generator(self.random_state)[0])
        return score_functions.standard_errors(self.fit_, method=method, prior=self._dirichlet(), **options)

    def _dirichlet(self) -> float | Mapping[str, ArrayLike] | None:
        """The prior that the fit is the posterior mode of."""
        given: float | Mapping[str, ArrayLike] | str | None = self.prior
        if not isinstance(given, str):
            return given
        return self.estimate_.dirichlet(self.model_, self.table_.weight)

    def bootstrap_lrt(self, n_replicates: int = 100, **options: Any) -> BootstrapLrt:
        """Test the number of classes against one class fewer; see :func:`latentree.score.bootstrap_lrt`."""
        check_is_fitted(self)
        options.setdefault("n_jobs", effective_n_jobs(self.n_jobs))
        if self._dirichlet() is None:
            options.setdefault("fits", [self.fit_])
        k, (rng, _) = len(self.class_sizes_), generator(self.random_state)
        return score_functions.bootstrap_lrt(self.table_, k, rng=rng, n_replicates=n_replicates, **options)

    def reviewer_report(
        self, max_classes: int | None = None, *, n_replicates: int = 99, stop_after: int | None = None, **options: Any
    ) -> ReviewerReport:
        """Return what reviewers of a latent class analysis ask for; printing it shows it.

        Variables and missing cells, all models up to ``max_classes`` in one table, tests of the number of classes,
        classification, residuals, items between classes, intervals and the SMART-LCA checklist.

        Parameters
        ----------
        max_classes : int, optional
            The other models have 1 to so many classes. Default: one more than this model.
        n_replicates : int, default 99
            Data sets that each bootstrap test draws; 0 leaves these tests out.
        stop_after : int, optional
            End a bootstrap test once so many of them are at least as large; see
            :func:`latentree.score.bootstrap_lrt`.
        **options
            Those of :func:`latentree.report.reviewer_report`.

        Examples
        --------
        >>> import latentree as lt
        >>> lca = LatentClass(2, random_state=0).fit(lt.datasets.load_frame("carcinoma"))
        >>> pack = lca.reviewer_report(n_replicates=19)
        >>> pack.frame("tests")[["classes", "bootstrap_p"]].to_dict("list")
        {'classes': ['1 against 2', '2 against 3'], 'bootstrap_p': [0.05, 0.05]}
        """
        check_is_fitted(self)
        if self._dirichlet() is not None:
            raise ModelError("Likelihood-ratio tests and criteria are about maximum likelihood: fit without a prior.")
        k = len(self.class_sizes_)
        most = k + 1 if max_classes is None else int(max_classes)
        rng, seed = generator(self.random_state)
        own = {"n_init": self.n_init, "tol": self.tol, "n_jobs": int(effective_n_jobs(self.n_jobs))}
        others = [number for number in range(1, max(most, k) + 1) if number != k]
        fits = compare_classes(self.table_, others, rng=rng, baseline=False, **own).fits if others else ()
        options.setdefault("n_jobs", own["n_jobs"])
        options.setdefault("seed", 0 if seed is None else seed)
        return self._reviewed((*fits, self.fit_), k, n_replicates=n_replicates, stop_after=stop_after, **options)

    def _kept(self) -> Model:
        report = self.report()
        known = {name: report[name] for name in ("kind", "n", "log_likelihood", "n_parameters", "seed", "reason")}
        known |= {"estimate": self.estimate_.to_plain(), "row_quantiles": row_quantiles(self.model_, self.table_)}
        return replace(self.model_, provenance={**self.model_.provenance, **known})
