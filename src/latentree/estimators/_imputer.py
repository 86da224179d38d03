"""``LatentTreeImputer``: missing cells filled by what a latent tree says of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from .._model import Model
from ..estimation._smoothing import PRIOR, AnyPrior
from ..prediction import imputed
from ..search import DEFAULT
from ._inputs import FLAG, Bins, Missing, RandomState, check_parameters, generator
from ._latent_tree import TreeLearner, check_size

__all__ = ["LatentTreeImputer"]


class LatentTreeImputer(TransformerMixin, TreeLearner):  # type: ignore[misc]
    """Imputation by a latent tree: a step of a pipeline that fills missing cells.

    A tree is learned from the rows as they are, missing cells summed out. Each missing cell then gets its most probable
    value given the cells that its row has, or a draw from the posterior, all missing cells of a row together.

    Parameters
    ----------
    draw : bool, default False
        Whether to draw values; several draws with different ``random_state`` are a multiple imputation.
    method, score, prior, start, options, bins, keep_levels, missing, unseen
        As for :class:`LatentTree`. A value that was not there in :meth:`fit` is filled too with ``unseen="missing"``.
        ``prior="auto"`` is ``"shuffled"``, since most rows to be filled are those at hand.
    random_state, n_jobs, time_limit, checkpoint, verbose
        As for :class:`LatentTree`; ``random_state`` is also the source of the draws.

    Attributes
    ----------
    model_, tree_, estimate_, latent_names_, score_, log_likelihood_, trace_, converged_
        As for :class:`LatentTree`.
    warnings_, run_, fit_, table_, n_iter_
        As for :class:`LatentTree`.
    n_features_in_, feature_names_in_
        Number and names of the columns.

    Notes
    -----
    Right if cells are missing at random: whether one is missing may depend on the other cells of its row, not on what
    it would hold. A column that was cut into bins comes out as the names of its bins.

    Examples
    --------
    >>> import latentree as lt
    >>> ratings = lt.datasets.load_frame("carcinoma")
    >>> gaps = ratings.astype(object)
    >>> gaps.iloc[::4, 0] = None
    >>> filled = LatentTreeImputer(random_state=0).fit_transform(gaps)
    >>> int(gaps.isna().sum().sum()), int(filled.isna().sum().sum())
    (30, 0)
    >>> bool((filled.iloc[::4, 0] == ratings.iloc[::4, 0]).mean() > 0.85)
    True
    """

    _auto = "shuffled"

    def __init__(
        self,
        *,
        draw: bool = False,
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the tree.

        Parameters
        ----------
        X : data frame or array [rows, columns]
            The data, of at least three columns.
        y : ignored
            For pipelines.
        sample_weight : array of float [rows], optional
            What each row counts for.

        Returns
        -------
        self
        """
        check_parameters(self, own={"prior": PRIOR, "draw": FLAG})
        table = self._training_table(X, sample_weight)
        check_size(table)
        self._keep(self._learn(table))
        self._warn()
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows with their missing cells filled, in the form of the training data."""
        table = self._table(X)
        uniform = None
        if self.draw:
            rng, _ = generator(self.random_state, type(self).__name__)
            uniform = rng.random((len(table.inverse), self.model_.tree.n_nodes))
        return self._form.rows(imputed(self.model_, table, uniform), self.model_.variables)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns, which stay as they are."""
        check_is_fitted(self)
        names: NDArray[np.object_] = _check_feature_names_in(self, input_features)
        return names
