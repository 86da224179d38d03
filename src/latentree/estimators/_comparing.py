"""``compare``: latent class models with different numbers of classes, as estimators."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from .._folds import check_row_order
from ..comparison import Comparison, compare_classes
from ..errors import LatentreeWarning
from ..estimation import ITERATIONS, TOLERANCE, Fit
from ..estimation._smoothing import ChosenPrior
from ..runner import Budget
from ._inputs import Bins, Missing, RandomState, check_parameters, fit_options, generator
from ._latent_class import LatentClass

__all__ = ["ClassComparison", "compare"]


@dataclass(frozen=True, eq=False, repr=False)
class ClassComparison(Comparison):
    """What :func:`compare` returns: a :class:`~latentree.comparison.Comparison` that also holds the estimators."""

    estimators: tuple[LatentClass, ...] = ()

    def best_estimator(self, score: str | None = None) -> LatentClass:
        """Return the best fitted estimator by a score, by default the first of ``scores``."""
        return self.estimators[self._at(score)]


def compare(
    X: Any,
    n_classes: Iterable[int] = range(1, 7),
    scores: str | Sequence[str] = ("bic",),
    *,
    sample_weight: Any = None,
    n_init: int = 64,
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
) -> ClassComparison:
    """Fit latent class models with several numbers of classes.

    Parameters
    ----------
    X : data frame or array [rows, columns]
        The data, as for :class:`LatentClass`.
    n_classes : iterable of int
        How many classes; 1, where the variables are independent, is always among them.
    scores : str or sequence of str
        Scores of :mod:`latentree.score` to compare by; the first decides unless another is named.
    sample_weight : array of float [rows], optional
        What each row counts for.
    time_limit : float, optional
        Seconds for all fits together; fits it leaves no time for are skipped, with a warning.
    checkpoint : path, optional
        A file to keep the fits in, also the one under way, and to go on from if it is there. Needs a number for
        ``random_state``.
    n_init, prior, bins, keep_levels, missing, unseen, tol, max_iter, random_state, n_jobs, verbose
        As for :class:`LatentClass`; with ``prior="auto"``, ``"shuffled"`` or ``"blocks"`` maxima of the likelihood are
        compared. With a number for ``random_state`` every fit is the one that :class:`LatentClass` gives.

    Returns
    -------
    ClassComparison
        Shows itself as a table; ``table``, ``to_frame()``, ``best(score)`` and ``best_estimator(score)`` are its parts.

    Examples
    --------
    >>> import latentree as lt
    >>> compare(lt.datasets.load_frame("carcinoma"), range(1, 5), random_state=0)
    classes  log-lik.  parameters       bic  rel. entropy  smallest
    ---------------------------------------------------------------
          1   -524.46           7  1,082.32         1.000   100.0 %
          2   -317.26          15    706.07         0.986    49.9 %
          3   -293.70          23   *697.14         0.926    18.2 %
          4   -289.29          31    726.46         0.902     9.4 %
    <BLANKLINE>
    Scores: lower is better, * is best. bic: 3 classes.
    """
    shared = {name: value for name, value in locals().items() if name in LatentClass._get_param_names()}
    one = LatentClass(**{**shared, "n_classes": 1})
    check_parameters(one, owner="compare")
    table = one._training_table(X, sample_weight)
    if prior == "blocks":
        check_row_order(table)
    rng, seed = generator(random_state)
    found = compare_classes(
        table,
        n_classes,
        rng=rng if seed is None else seed,
        scores=scores,
        budget=Budget(seconds=time_limit),
        checkpoint=checkpoint,
        **fit_options(one),
    )
    unfinished = [row["n_classes"] for row in found.table if not row["converged"]]
    if unfinished or found.skipped:
        _warn_unfinished(unfinished, found.skipped)
    estimators = tuple(_fitted_like(one, fit) for fit in found.fits)
    return ClassComparison(**vars(found), estimators=estimators)


def _warn_unfinished(unfinished: Sequence[int], skipped: Sequence[int]) -> None:
    parts = []
    if unfinished:
        parts.append(f"The fits of {', '.join(map(str, unfinished))} classes did not converge.")
    if skipped:
        left = ", ".join(map(str, skipped))
        parts.append(f"{left} classes were not fitted: the time was over, or Ctrl-C came first.")
    text = f"{' '.join(parts)} Allow more time or iterations, or a larger tolerance."
    warnings.warn(text, LatentreeWarning, stacklevel=3)


def _fitted_like(one: LatentClass, fit: Fit) -> LatentClass:
    own = LatentClass(**{**one.get_params(deep=False), "n_classes": int(fit.model.tree.cardinality[0])})
    for name in ("n_features_in_", "feature_names_in_", "_form"):
        if hasattr(one, name):
            setattr(own, name, getattr(one, name))
    fit, own.estimate_ = own._estimated(fit, Budget(seconds=one.time_limit).start())
    own._keep(fit)
    return own
