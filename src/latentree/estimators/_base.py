"""What all estimators have: data in, rows out, scores, questions, samples, reports and files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import log
from types import MethodType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, DensityMixin, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from .. import score as score_functions
from .._model import Model
from .._options import Whole
from .._table import Table
from .._types import FloatArray
from .._variables import Variable
from ..errors import LatentreeWarning, bad_parameter
from ..estimation import Fit
from ..formats._frame import coded_by, table_from
from ..formats._warnings import warn_of_never_seen
from ..infer import find_node, log_likelihood_rows, posterior, query, sample
from ..naming import node_labels
from ..prediction import with_new_values
from ..score import BivariateResiduals, FitStatistics, ScoreValue
from ._inputs import Form, RandomState, columns_of, generator, parameters_of, softened, validated, weights_of
from ._reporting import Reporting

__all__ = [
    "ClassPredictor",
    "DataEstimator",
    "ModelEstimator",
    "RowDensity",
    "ScoreMethod",
    "checked_samples",
    "posteriors",
]


class ScoreMethod:
    """A method ``score`` of an estimator that has a parameter ``score`` too: what a search maximises.

    scikit-learn keeps parameters as attributes, which would hide the method. Here the attribute is the method, and the
    parameter stands under the same name in ``get_params()``.
    """

    def __init__(self, method: Callable[..., float]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        """Return the method."""
        return self.method if estimator is None else MethodType(self.method, estimator)

    def __set__(self, estimator: Any, value: Any) -> None:
        """Keep the parameter."""
        estimator.__dict__["score"] = value


class DataEstimator(Reporting, BaseEstimator):  # type: ignore[misc]
    """An estimator that reads data of any form, leaves a ``model_``, and shows itself as text."""

    model_: Model
    bins: Any
    keep_levels: bool
    missing: Any
    unseen: str
    random_state: RandomState
    warnings_: list[str]

    def _set_parameters(self, given: Mapping[str, Any]) -> None:
        """Keep the arguments of ``__init__`` as they are, as scikit-learn wants it."""
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def _warn(self) -> None:
        """Say what there is to warn of, in the line that called ``fit``."""
        for text in self.warnings_:
            warnings.warn(text, LatentreeWarning, stacklevel=3)

    def _training_table(self, X: Any, sample_weight: Any) -> Table:
        data = validated(self, X, reset=True)
        weights = weights_of(sample_weight, data.shape[0])
        with parameters_of(type(self).__name__):
            table = table_from(data, weights=weights, bins=self.bins, keep_levels=self.keep_levels, **self._missing)
        self._form = Form.of(data)
        return table

    @property
    def _missing(self) -> dict[str, Any]:
        return {} if self.missing is None else {"missing": self.missing}

    def _table(self, X: Any, *, new: list[NDArray[np.bool_]] | None = None) -> Table:
        check_is_fitted(self)
        return self._coded(X, self.model_.variables, new)

    def _coded(self, X: Any, variables: Sequence[Variable], new: list[NDArray[np.bool_]] | None = None) -> Table:
        """New data by the states of earlier ones; ``new`` is told which rows hold something new, column by column."""
        columns = columns_of(validated(self, X, reset=False))
        # By position: scikit-learn has compared the names, and lets arrays and frames stand for each other.
        named = dict(zip((v.name for v in variables), columns, strict=True))
        never_seen: dict[str, list[Any]] = {}
        table = coded_by(variables, named, never_seen, unseen=self.unseen, new=new, **self._missing)
        warn_of_never_seen(never_seen)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags


class ClassPredictor(TransformerMixin):  # type: ignore[misc]
    """What estimators of one latent variable do with P(class | row)."""

    class_sizes_: FloatArray
    model_: Model
    fit: Callable[..., Self]
    predict_proba: Callable[[Any], FloatArray]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most probable class of each row."""
        classes: NDArray[np.int64] = self.predict_proba(X).argmax(axis=1)
        return classes

    def transform(self, X: Any) -> FloatArray:
        """Return P(class | row); the same as :meth:`predict_proba`."""
        return self.predict_proba(X)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int64]:
        """Fit the model and return the class of each row."""
        return self.fit(X, y, sample_weight=sample_weight).predict(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that :meth:`transform` makes: ``class0``, ``class1``, ..."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array(node_labels(self.model_, 0), dtype=object)


class ModelEstimator(DataEstimator):
    """An estimator whose ``fit`` leaves a ``fit_`` and its ``model_``."""

    fit_: Fit

    # ---- what it says ----------------------------------------------------------------------------------------

    def query(self, ask: str | Sequence[str] = "class", given: Mapping[str, Any] | None = None) -> dict[Any, float]:
        """Return P(ask | given) by state.

        Parameters
        ----------
        ask : str or sequence of str
            A variable, latent or manifest, or several; ``"class"`` is the class of a latent class model.
        given : mapping, optional
            What is known, a state for each variable. A number will do for a variable that was cut into bins.

        Returns
        -------
        dict of state to float
            In the order of the states; classes are ``"class0"``, ``"class1"``, ..., the states of other latent
            variables 0, 1, ... The keys are tuples of states if ``ask`` is not a single name. For arrays, see
            :func:`latentree.infer.query`.

        Examples
        --------
        >>> import latentree as lt
        >>> lca = lt.LatentClass(2, random_state=0).fit(lt.datasets.load_frame("carcinoma"))
        >>> {state: round(p, 3) for state, p in lca.query("A", {"B": 2}).items()}
        {1: 0.233, 2: 0.767}
        """
        check_is_fitted(self)
        p = query(self.model_, ask, given)
        names = [ask] if isinstance(ask, str) else list(ask)
        keys = list(product(*(self._states(name) for name in names)))
        return dict(zip([k[0] for k in keys] if isinstance(ask, str) else keys, p.ravel().tolist(), strict=True))

    def _states(self, name: str) -> Sequence[Any]:
        node, tree = find_node(self.model_, name), self.model_.tree
        if tree.variable[node] < 0 and len(tree.latent_variables) == 1:
            return node_labels(self.model_, node)
        given, states = self.model_.state_names(node), self.model_.states(node)
        return [state if name is None else name for name, state in zip(given, states, strict=True)]

    def _sampled(self, n_samples: int, random_state: RandomState) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
        """Codes of the variables and of the latent variables."""
        check_is_fitted(self)
        n_samples = checked_samples(n_samples)
        rng, _ = generator(self.random_state if random_state is None else random_state, "sample")
        codes = sample(self.model_, n_samples, rng, latent=True)
        n = self.model_.tree.n_variables
        return codes[:, :n], codes[:, n:].astype(np.int64)

    # ---- reporting -------------------------------------------------------------------------------------------

    def scores(self, names: str | Sequence[str] | None = None) -> dict[str, ScoreValue]:
        """Score the fit by everything, or by what is named, as LL - penalty; see :func:`latentree.score.scores`."""
        check_is_fitted(self)
        return score_functions.scores(self.fit_, names)

    def fit_statistics(self) -> FitStatistics:
        """Return G2, X2, degrees of freedom and p-values; see :func:`latentree.score.fit_statistics`."""
        check_is_fitted(self)
        return score_functions.fit_statistics(self.fit_)

    def bivariate_residuals(self) -> BivariateResiduals:
        """Return what the model leaves unexplained, pair by pair; see :func:`latentree.score.bivariate_residuals`."""
        check_is_fitted(self)
        return score_functions.bivariate_residuals(self.fit_)

    def rename(self, latents: Any = None, *, states: Any = None, classes: Any = None) -> Self:
        """Name latent variables, their states or classes; summaries, tables, figures and files then show the names.

        Parameters
        ----------
        latents : mapping of str to str, optional
            New names of latent variables by their names now.
        states : mapping of str to mapping or sequence, optional
            For each latent variable the names of its states: all in order, or some by number.
        classes : mapping or sequence of str, optional
            The names of the classes of a latent class model, likewise.

        Returns
        -------
        self

        Examples
        --------
        >>> import latentree as lt
        >>> lca = lt.LatentClass(2, random_state=0).fit(lt.datasets.load_frame("carcinoma"))
        >>> lca.rename(classes={0: "negative", 1: "positive"}).get_feature_names_out().tolist()
        ['negative', 'positive']
        >>> {state: round(p, 2) for state, p in lca.query("class", {"A": 1, "B": 1}).items()}
        {'negative': 0.0, 'positive': 1.0}
        """
        check_is_fitted(self)
        self._rename(lambda model: model.renamed(latents, states=states, classes=classes))
        return self

    def _rename(self, change: Callable[[Model], Model]) -> None:
        self.fit_ = replace(self.fit_, model=change(self.fit_.model))
        self.model_ = self.fit_.model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that :func:`latentree.load` reads; see :func:`latentree.formats._models.save`."""
        from ..formats._models import save

        check_is_fitted(self)
        save(self._kept(), path)

    def _kept(self) -> Model:
        """The model with what its file says about it."""
        return self.model_


class RowDensity(DensityMixin):  # type: ignore[misc]
    """What a density estimator says of rows: how probable they are."""

    fit_: Fit
    model_: Model
    unseen: str
    _table: Callable[..., Table]

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of each row, minus infinity where the model calls it impossible.

        With ``unseen="smooth"``, a value that no training row had counts with the probability of something new, 1/(n +
        1) after n training rows, and every other cell with that of something known, n/(n + 1).
        """
        new: list[NDArray[np.bool_]] = []
        table = self._table(X, new=new)
        rows = log_likelihood_rows(self.model_, table)
        if self.unseen != "smooth":
            return rows
        n_new = np.sum(new, axis=0) if new else np.zeros(len(rows))
        return with_new_values(rows, (table.codes[table.inverse] >= 0).sum(axis=1), n_new, self.fit_.table.n)

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Return Akaike's criterion for data, -2 log-likelihood + 2 parameters. Lower is better."""
        return -2.0 * self._total(X, sample_weight)[0] + 2.0 * self.fit_.n_parameters

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Return the Bayesian information criterion for data, -2 log-likelihood + ln(n) parameters. Lower is better.

        Text, pages, figures and data frames show this scale too. Functions of :mod:`latentree.score`, model files and
        JSON have -1/2 times this, of which higher is better.
        """
        total, n = self._total(X, sample_weight)
        return -2.0 * total + self.fit_.n_parameters * log(n)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log-likelihood of a row, weighted if weights are given. Higher is better."""
        total, n = self._total(X, sample_weight)
        return total / n

    def _total(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        """Return the log-likelihood of data and their size."""
        rows = self.score_samples(X)
        weights = weights_of(sample_weight, len(rows))
        if weights is None:
            return float(rows.sum()), float(len(rows))
        counted = weights > 0  # an impossible row of weight zero does not count
        return float(weights[counted] @ rows[counted]), float(weights.sum())


def checked_samples(n_samples: Any) -> int:
    """How many rows to draw."""
    if not Whole(1).check(n_samples):
        raise bad_parameter("n_samples", "sample", str(Whole(1)), n_samples)
    return int(n_samples)


def posteriors(
    model: Model, table: Table, nodes: Sequence[str] | None = None, *, advice: str = ""
) -> dict[str, FloatArray]:
    """P(node | row) of latent nodes, or of those named, by name.

    A row that the model calls impossible gets the states that contradict it in the fewest cells, with a warning.
    """
    found = posterior(model, table, nodes)
    if not found:
        return found
    lost = np.isnan(next(iter(found.values()))[:, 0])
    if lost.any():
        warnings.warn(
            f"{int(lost.sum()):,} of {len(lost):,} rows are impossible under the model; they get the states that "
            f"contradict them least.{' ' + advice if advice else ''}",
            LatentreeWarning,
            stacklevel=3,
        )
        softer = posterior(softened(model), table, nodes)
        for name, p in found.items():
            p[lost] = softer[name][lost]
    return found
