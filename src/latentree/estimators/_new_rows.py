"""What estimators say of new rows: one column predicted from the others, cells completed, unusual rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._model import Model
from .._options import Whole
from .._table import Table
from .._types import FloatArray
from ..errors import bad_parameter
from ..infer import log_likelihood_rows
from ..prediction import imputed, predicted, quantiles_of, row_quantiles, target_node
from ._inputs import Form, RandomState, generator

__all__ = ["NewRows"]


class NewRows:
    """Predictions, completions and outliers, of estimators that have a ``model_``."""

    model_: Model
    table_: Table
    random_state: RandomState
    _table: Callable[..., Table]
    _form: Form

    def predict_column_proba(self, X: Any, target: str) -> FloatArray:
        """Return P(target | the other columns) in each row.

        Parameters
        ----------
        X : data frame or array [rows, columns]
            The data, with all columns of the training data; the cells of the target may be missing, and are passed
            over if they are not.
        target : str
            A column (of an array, ``"x1"``, ``"x2"``, ...).

        Returns
        -------
        array of float [rows, states]
            In the order of ``model_.states(target)``; ``nan`` in rows that the model calls impossible.

        Examples
        --------
        >>> import latentree as lt
        >>> ratings = lt.datasets.load_frame("carcinoma")
        >>> lca = lt.LatentClass(3, prior="auto", random_state=0).fit(ratings)
        >>> lca.predict_column_proba(ratings.head(2), "G").round(2).tolist()
        [[0.99, 0.01], [0.99, 0.01]]
        """
        table = self._table(X)
        return predicted(self.model_, table, target)

    def predict_column(self, X: Any, target: str) -> NDArray[np.object_]:
        """Return the most probable value of a column in each row, from the other columns; see the probabilities.

        None in rows that the model calls impossible.
        """
        p = self.predict_column_proba(X, target)
        states = np.empty(p.shape[1] + 1, dtype=object)
        states[:-1] = self.model_.states(target_node(self.model_, target))
        unknown = np.isnan(p[:, 0])
        found: NDArray[np.object_] = states[np.where(unknown, -1, np.where(unknown[:, None], 0.0, p).argmax(axis=1))]
        return found

    def score_quantiles(self, X: Any) -> FloatArray:
        """Return the share of training rows that are at most as probable as each row: near 0, the row is unusual.

        Rows that the model calls impossible have 0.
        """
        rows = log_likelihood_rows(self.model_, self._table(X))
        found = quantiles_of(row_quantiles(self.model_, self.table_), rows)
        assert found is not None
        return found

    def impute(self, X: Any, *, n_copies: int | None = None, random_state: RandomState = None) -> Any:
        """Return the rows with their missing cells filled.

        Parameters
        ----------
        X : data frame or array [rows, columns]
            The data.
        n_copies : int, optional
            Draw that many completed copies from the posterior, all missing cells of a row together, for multiple
            imputation. Default: one copy, in which every missing cell has its most probable value.
        random_state : int, RandomState, Generator or None
            Source of the draws. Default: that of the estimator.

        Returns
        -------
        data frame or array, or list of them
            In the form of the training data; a column that was cut holds the names of its bins.

        Examples
        --------
        >>> import latentree as lt
        >>> ratings = lt.datasets.load_frame("carcinoma")
        >>> lca = lt.LatentClass(3, prior="auto", random_state=0).fit(ratings)
        >>> gaps = ratings.head(1).astype(object)
        >>> gaps.loc[:, ["A", "C"]] = None
        >>> lca.impute(gaps).values.tolist(), len(lca.impute(gaps, n_copies=5))
        ([[1, 1, 1, 1, 1, 1, 1]], 5)
        """
        table = self._table(X)
        variables = self.model_.variables
        if n_copies is None:
            return self._form.rows(imputed(self.model_, table), variables)
        if not Whole(1).check(n_copies):
            raise bad_parameter("n_copies", "impute", f"{Whole(1)}, or None", n_copies)
        rng, _ = generator(self.random_state if random_state is None else random_state, "impute")
        shape = (n_copies, len(table.inverse), self.model_.tree.n_nodes)
        return [self._form.rows(imputed(self.model_, table, u), variables) for u in rng.random(shape)]
