"""What estimators say of classes and other variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._model import Model
from ..relate import ItemTests, Relation, item_tests, relate
from ._inputs import RandomState, generator, weights_of

__all__ = ["Relating"]


class Relating:
    """Covariates, outcomes and direct effects, of estimators that have a ``model_``."""

    model_: Model
    random_state: RandomState

    def relate(
        self,
        X: Any,
        covariates: str | Sequence[str] | None = None,
        outcome: str | Sequence[str] | None = None,
        *,
        sample_weight: Any = None,
        **options: Any,
    ) -> Relation:
        """Relate the classes to covariates and outcomes; see :func:`latentree.relate.relate`.

        Parameters
        ----------
        X : data frame
            The columns of the training data, found by name, and the other variables. A list of data frames holds
            imputed data, whose results are pooled.
        covariates : str or sequence of str, optional
            What the class depends on: a formula such as ``"age + sex"``, or names of columns.
        outcome : str or sequence of str, optional
            Columns to compare between classes.
        sample_weight : array of float [rows], optional
            What each row counts for.
        **options
            Those of :func:`latentree.relate.relate`: ``method``, ``reference``, ``clusters``, ``bootstrap``, ...

        Returns
        -------
        Relation
        """
        check_is_fitted(self)
        if options.get("bootstrap") is not None:
            options.setdefault("rng", generator(self.random_state, "relate")[0])
        return relate(self.model_, X, covariates, outcome, sample_weight=_weights(X, sample_weight), **options)

    def item_tests(
        self, X: Any, covariates: str | Sequence[str], *, sample_weight: Any = None, **options: Any
    ) -> ItemTests:
        """Test whether covariates act on items directly (DIF); see :func:`latentree.relate.item_tests`."""
        check_is_fitted(self)
        return item_tests(self.model_, X, covariates, sample_weight=_weights(X, sample_weight), **options)


def _weights(X: Any, sample_weight: Any) -> Any:
    return None if sample_weight is None else weights_of(sample_weight, len(X[0] if isinstance(X, list) else X))
