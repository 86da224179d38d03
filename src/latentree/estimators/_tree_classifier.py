"""``LatentTreeClassifier``: one column predicted from the others, through a latent tree over all of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted

from .._table import Table
from .._types import FloatArray
from .._variables import Variable
from ..errors import DataError, Row
from ..estimation._smoothing import PRIOR
from ..naming import free_name
from ..search._registry import DEFAULT
from ._base import ScoreMethod, posteriors
from ._inputs import check_parameters, weights_of
from ._latent_tree import TreeLearner, check_size

__all__ = ["LatentTreeClassifier"]

TARGET = "target"
"""What the target is called in the tree if ``y`` has no name."""


class LatentTreeClassifier(ClassifierMixin, TreeLearner):  # type: ignore[misc]
    """Classification by a latent tree over the features and the target.

    The target is one more manifest variable. A tree is learned over all of them, which says how they depend on each
    other, and gives P(target | row); missing cells are summed out, in training and in prediction.

    Parameters
    ----------
    method, score, prior, start, options, bins, keep_levels, missing, unseen
        As for :class:`LatentTree`, but for the option ``cuts`` of the default method, which is off: the target is not
        made independent of all features even where the score prefers that. ``prior="auto"`` is ``"shuffled"``, since
        rows are often sorted by the target.
    random_state, n_jobs, time_limit, checkpoint, verbose
        As for :class:`LatentTree`.

    Attributes
    ----------
    classes_ : array [classes]
        The values of the target.
    target_name_ : str
        What the target is called in the tree: the name of ``y``, or ``"target"``.
    tree_, model_, estimate_, latent_names_, score_, log_likelihood_, trace_, converged_
        As for :class:`LatentTree`; the model is of the features and the target.
    warnings_, run_, fit_, table_, n_iter_
        As for :class:`LatentTree`.
    n_features_in_, feature_names_in_
        Number and names of the columns of ``X``.

    Notes
    -----
    The tree maximises a score of all variables together, not the accuracy of one of them: where only prediction counts
    and the data are many, discriminative methods predict better. This one explains why, needs no imputation and answers
    other questions too (:meth:`query`).

    By default the target is a leaf of the tree. With ``options={"root": "target"}`` (or the name of ``y``) it is an
    inner node with branches, like a latent variable whose values are known: the tree then says what goes together given
    the class.

    Examples
    --------
    >>> import latentree as lt
    >>> ratings = lt.datasets.load_frame("carcinoma")
    >>> seventh = ratings.pop("G")
    >>> clf = LatentTreeClassifier(random_state=0).fit(ratings, seventh)
    >>> clf.classes_.tolist(), clf.predict(ratings.head(3)).tolist()
    ([1, 2], [1, 1, 1])
    >>> bool(clf.score(ratings, seventh) > 0.9)
    True
    >>> rooted = LatentTreeClassifier(random_state=0, options={"root": "G"}).fit(ratings, seventh)
    >>> tree = rooted.tree_
    >>> [tree.names[v] for v in tree.neighbours(tree.names.index("G"))], rooted.score_ > clf.score_
    (['G+A', 'G+E'], True)
    """

    _auto = "shuffled"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the tree over features and target.

        Parameters
        ----------
        X : data frame or array [rows, columns]
            The features, at least two.
        y : array [rows]
            The target: text, whole numbers or truth values.
        sample_weight : array of float [rows], optional
            What each row counts for: a weight means repeating the row. Rows of weight zero are dropped.

        Returns
        -------
        self
        """
        check_parameters(self, own={"prior": PRIOR})
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        features = self._training_table(X, sample_weight)
        check_size(features, target=True)
        name = getattr(y, "name", None)
        self.target_name_ = free_name(name if isinstance(name, str) and name else TARGET, features.names)
        table = self._joined(features, self._target(y), weights_of(sample_weight, len(features.inverse)))
        # BIC may hold the target to be independent where the little that is known of it is all one wants
        self._keep(self._learn(table, **({"cuts": False} if self.method == DEFAULT else {})))
        self._warn()
        return self

    def _target(self, y: Any) -> NDArray[Any]:
        """The target as an array, checked by scikit-learn's rules."""
        raw = np.asarray(y)
        if raw.dtype == object and raw.ndim == 1:
            lost = [i for i, value in enumerate(raw.tolist()) if _is_missing(value)]
            if lost:
                raise DataError(
                    "{row}: the target is missing. Leave such rows out of fit.", row=Row(lost[0], begins=True)
                )
        values = _check_y(y, multi_output=False, estimator=self)
        check_classification_targets(values)
        return np.asarray(values)

    def _joined(self, features: Table, y: NDArray[Any], weights: FloatArray | None) -> Table:
        """The table of features and target, the target last."""
        check_consistent_length(features.inverse, y)
        kept = features.inverse >= 0
        self.classes_, codes = np.unique(y[kept], return_inverse=True)
        target = Variable(self.target_name_, tuple(self.classes_.tolist()))
        return Table.from_codes(
            np.column_stack([features.codes[features.inverse[kept]], codes]),
            [*features.variables, target],
            None if weights is None else weights[kept],
        )

    # ---- using it --------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | row).

        Parameters
        ----------
        X : data frame or array [rows, columns]
            The features. Missing cells are allowed.

        Returns
        -------
        array of float [rows, classes]
            In the order of ``classes_``. A row that the model calls impossible gets the classes that contradict it in
            the fewest cells, with a warning.
        """
        table = self._table(X)
        return posteriors(self.model_, table, [self.target_name_])[self.target_name_]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        found: NDArray[Any] = self.classes_[best]
        return found

    @ScoreMethod
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted rightly."""
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def _table(self, X: Any, *, new: list[NDArray[np.bool_]] | None = None) -> Table:
        """Rows with the target missing."""
        check_is_fitted(self)
        known = self._coded(X, self.model_.variables[:-1], new)
        unknown = np.full((len(known.inverse), 1), -1, dtype=np.int16)
        return Table.from_codes(np.hstack([known.codes[known.inverse], unknown]), self.model_.variables)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)
