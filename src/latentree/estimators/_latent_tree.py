"""``LatentTree``: learns the tree, the numbers of states and the probabilities."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from .._model import Model
from .._table import Table, as_table
from .._types import FloatArray
from ..diagnostics import run_findings
from ..errors import DataError
from ..estimation._smoothing import PRIOR, AnyPrior
from ..infer import find_node
from ..naming import node_labels
from ..runner import Budget
from ..search import DEFAULT, Run, learn
from ..search_result import search_result
from ._base import ModelEstimator, RowDensity, ScoreMethod, posteriors
from ._inputs import Bins, Missing, RandomState, check_parameters, generator
from ._new_rows import NewRows
from ._progress import reporter
from ._relating import Relating

__all__ = ["LatentTree", "TreeLearner", "check_size"]

LEAST_VARIABLES = 3
"""Fewer have no tree to learn."""


class TreeLearner(ModelEstimator):
    """What estimators that learn a tree share: the parameters of the search, and what is kept of it."""

    _subject = "run_"
    _auto: AnyPrior = "auto"
    """What ``prior="auto"`` stands for."""

    def __init__(
        self,
        *,
        method: str = DEFAULT,
        score: Any = "bic",
        prior: AnyPrior = "auto",
        start: Model | None = None,
        options: Mapping[str, Any] | None = None,
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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {**super().get_params(deep), "score": self.__dict__["score"]}

    def _learn(self, table: Table, **options: Any) -> Run:
        """Search, with other default options of the method than its own if there are such."""
        rng, seed = generator(self.random_state, type(self).__name__)
        run = learn(
            table,
            method=self.method,
            score=self.__dict__["score"],
            prior=self._auto if isinstance(self.prior, str) and self.prior == "auto" else self.prior,
            rng=rng,
            budget=Budget(seconds=self.time_limit),
            start=self.start,
            n_jobs=int(effective_n_jobs(self.n_jobs)),
            checkpoint=self.checkpoint,
            on_step=reporter() if self.verbose else None,
            **{**options, **(self.options or {})},
        )
        return search_result(run, seed=seed)

    def _rename(self, change: Callable[[Model], Model]) -> None:
        run = self.run_
        fit = replace(run.fit, model=change(run.fit.model))
        estimated = None if run.estimated is None else replace(run.estimated, model=change(run.estimated.model))
        self._keep(replace(run, fit=fit, estimated=estimated))

    def _keep(self, run: Run) -> None:
        self.run_ = run
        self.fit_ = run.fit
        self.model_ = run.model
        self.estimate_ = run.estimate
        self.table_ = as_table(run.fit.table)
        self.tree_ = run.tree
        self.trace_ = run.trace
        self.score_ = run.score
        self.log_likelihood_ = run.fit.log_likelihood
        self.latent_names_ = [run.tree.names[z] for z in run.tree.latent_variables]
        self.n_iter_ = max(len(run.trace), 1)
        self.converged_ = run.reason.complete
        self.warnings_ = [f.text for f in run_findings(run) if f.loud]


class LatentTree(NewRows, Relating, TransformerMixin, RowDensity, TreeLearner):  # type: ignore[misc]
    """Latent tree model: several latent variables in a tree, found by search.

    Tree, numbers of states and probabilities are learned together. Where one latent variable explains everything, the
    result is a latent class model; where nothing goes together, it says so.

    Parameters
    ----------
    method : {"swift", "east", "east0", "dhc", "shc", "hshc", "hidden-chow-liu"}, default "swift"
        How to search. ``"swift"`` is the fast one; the others are those of the literature. ``"hidden-chow-liu"``, with
        ``score="holdout"``, makes trees that predict well and are not meant to be read.
    score : str or callable, default "bic"
        What to maximise: a name in :data:`latentree.score.SCORES`, or a function of a fit, of which higher is better.
    prior : "auto", "shuffled", "blocks", float or None, default "auto"
        What the probabilities of the tree are, which is found by maximum likelihood. ``"shuffled"`` pulls them towards
        plain distributions, as far as rows held out at random say, so that no row of known values is impossible;
        ``"blocks"`` holds out rows that stand together, for new rows that come from another time or place, and depends
        on the order of the rows; ``"auto"`` is ``"shuffled"``, or the mean of the two if rows that stand together are
        unlike the others; a number is the Dirichlet parameter of every distribution, at least 1; None is maximum
        likelihood.
    start : Model, optional
        Where to start. Default: whatever the method starts from.
    options : dict, optional
        Options of the method; an unknown one is answered with a list.
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
    random_state : int, RandomState, Generator or None, default None
        Source of randomness. The same number gives the same tree, whatever ``n_jobs`` is.
    n_jobs : int or None, default None
        Threads. None is one, -1 all cores.
    time_limit : float or None, default None
        Seconds after which the best tree so far is taken, with a warning.
    checkpoint : path, optional
        A file to save the search in after every step. If it exists, :meth:`fit` goes on from it, and gives what an
        uninterrupted search gives. Needs a number for ``random_state``.
    verbose : int, default 0
        Whether to report each step on standard error.

    Attributes
    ----------
    tree_ : Tree
        The tree.
    model_ : Model
        The tree with its probabilities, which are those of ``estimate_``.
    estimate_ : Estimate
        What the probabilities are: maximum likelihood or under a prior, which, and the log-likelihood at them.
    latent_names_ : list of str
        The latent variables, named after the manifest variables that they explain best.
    score_ : float
        What was maximised: LL - penalty, of which higher is better. Text and figures show -2 LL + penalty.
    log_likelihood_ : float
        Log-likelihood of the training data at its maximum, which ``score_`` is taken at.
    trace_ : tuple of Step
        How the tree came about, step by step.
    converged_ : bool
        Whether the search was finished.
    warnings_ : list of str
        What :meth:`fit` warned of. :meth:`summary` has further notes.
    run_ : Run
        All that the search returned.
    fit_ : Fit
        Model, data and expected counts at the maximum of the likelihood.
    table_ : Table
        The training data as distinct rows.
    n_iter_ : int
        Steps of the search.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Names of the columns, if the data have any.

    See Also
    --------
    LatentClass : One latent variable, with a number of classes that you choose.
    LatentTreeClassifier : The same to predict a column.

    Notes
    -----
    Data are read as :class:`LatentClass` reads them. The states of each latent variable come in descending order of
    size.
    Ctrl-C during :meth:`fit` keeps the best tree so far, with a warning.

    Examples
    --------
    >>> import latentree as lt
    >>> tests = lt.datasets.load_frame("hiv_test")
    >>> counts = tests.pop("freq")
    >>> tree = LatentTree(random_state=0).fit(tests, sample_weight=counts)
    >>> tree.latent_names_, round(tree.score_, 2)
    (['V1+V4', 'V3+V2'], -656.62)
    >>> tree.get_feature_names_out().tolist()
    ['V1+V4=0', 'V1+V4=1', 'V3+V2=0', 'V3+V2=1']
    >>> tree.predict(tests.head(2)).tolist()
    [[1, 1], [1, 1]]
    """

    # ---- fitting ---------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the tree.

        Parameters
        ----------
        X : data frame or array [rows, columns]
            The data, of at least three columns: pandas, Polars or PyArrow, or a NumPy array or list of rows.
        y : ignored
            For pipelines.
        sample_weight : array of float [rows], optional
            What each row counts for: a weight means repeating the row. Rows of weight zero are dropped.

        Returns
        -------
        self
        """
        check_parameters(self, own={"prior": PRIOR})
        table = self._training_table(X, sample_weight)
        check_size(table)
        self._keep(self._learn(table))
        self._warn()
        return self

    # ---- using it --------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> FloatArray:
        """Return the probability of every state of every latent variable in each row.

        Parameters
        ----------
        X : data frame or array [rows, columns]
            The data. Missing cells are allowed.

        Returns
        -------
        array of float [rows, states of all latent variables]
            Columns as :meth:`get_feature_names_out` names them. A row that the model calls impossible gets the states
            that contradict it in the fewest cells, with a warning.
        """
        table = self._table(X)
        found = list(posteriors(self.model_, table).values())
        return np.hstack(found) if found else np.empty((len(table.inverse), 0))

    def predict_proba(self, X: Any, latent: str | None = None) -> FloatArray:
        """Return P(state | row) of every latent variable, or of one of them.

        Parameters
        ----------
        X : data frame or array [rows, columns]
            The data. Missing cells are allowed.
        latent : str, optional
            One of ``latent_names_``. Default: all side by side, as :meth:`transform` gives them.
        """
        if latent is None:
            return self.transform(X)
        table = self._table(X)
        return posteriors(self.model_, table, [self.model_.tree.names[find_node(self.model_, latent)]])[latent]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most probable state of every latent variable in each row.

        Returns
        -------
        array of int [rows, latent variables]
            In the order of ``latent_names_``.
        """
        table = self._table(X)
        hard = [p.argmax(axis=1) for p in posteriors(self.model_, table).values()]
        return np.column_stack(hard).astype(np.int64) if hard else np.empty((len(table.inverse), 0), dtype=np.int64)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int64]:
        """Learn the tree and return the states of its latent variables in each row."""
        return self.fit(X, y, sample_weight=sample_weight).predict(X)

    score = ScoreMethod(RowDensity.score)

    def sample(self, n_samples: int = 1, *, random_state: RandomState = None, return_latents: bool = False) -> Any:
        """Draw rows from the model.

        Parameters
        ----------
        n_samples : int, default 1
            How many.
        random_state : int, RandomState, Generator or None
            Source of randomness. Default: that of the estimator.
        return_latents : bool, default False
            Whether to return the states of the latent variables of each row as well.

        Returns
        -------
        data frame or array [n_samples, columns]
            In the form of the training data; a column that was cut holds the names of its bins.
        latents : array of int [n_samples, latent variables]
            Only with ``return_latents``.
        """
        codes, latents = self._sampled(n_samples, random_state)
        rows = self._form.rows(codes, self.model_.variables)
        return (rows, latents) if return_latents else rows

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that :meth:`transform` makes.

        They are ``NAME=0``, ``NAME=1``, ... for each latent variable; ``class0``, ``class1``, ... if there is only one.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        tree = self.tree_
        latents = tree.latent_variables
        alone = len(latents) == 1
        states = [(tree.names[z], label) for z in latents for label in node_labels(self.model_, int(z))]
        return np.array([label if alone else f"{name}={label}" for name, label in states], dtype=object)


def check_size(table: Table, *, target: bool = False) -> None:
    """Refuse data that have no tree to learn."""
    if table.n_variables + target < LEAST_VARIABLES:
        raise DataError(
            f"A tree is learned over at least three variables. The data have {table.n_variables} feature(s)"
            f"{' and the target' if target else '; LatentClass takes so few'}."
        )
    if table.n <= 1:
        raise DataError(f"A tree cannot be learned from 1 sample. Got {table.n:g} in all.")
