"""Which items tell the classes apart: Wald tests of each item between classes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from .._types import FloatArray
from ..errors import ModelError
from ._absolute import chi_square_p
from ._uncertainty import StandardErrors

SINGULAR = 1e-9
"""Directions with a smaller share of the largest variance have none."""


@dataclass(frozen=True)
class ItemTest:
    """Whether an item is answered alike in several classes; see :func:`item_tests`.

    Attributes
    ----------
    variable : str
        The item.
    classes : tuple of int
        The classes that are compared: all, or two.
    statistic : float or None
        Wald's statistic; None if nothing of it can be tested.
    degrees_of_freedom : int
        Of its chi-square distribution.
    p_value : float or None
        Its upper tail.
    boundary : bool
        Whether a probability of the item is 0 or 1; it then counts as known, and the test is only a rough guide.
    """

    variable: str
    classes: tuple[int, ...]
    statistic: float | None
    degrees_of_freedom: int
    p_value: float | None
    boundary: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "variable": self.variable,
            "classes": list(self.classes),
            "statistic": self.statistic,
            "degrees_of_freedom": self.degrees_of_freedom,
            "p_value": self.p_value,
            "boundary": self.boundary,
        }


def item_tests(errors: StandardErrors, *, pairwise: bool = False) -> tuple[ItemTest, ...]:
    """Test of each item whether all classes answer it alike, by Wald's statistic of the differences of probabilities.

    On the scale of probabilities, not of logits, where Wald's statistic would shrink as classes become more different
    (Hauck & Donner, Journal of the American Statistical Association 72 (1977) 851-853).

    Parameters
    ----------
    errors : StandardErrors
        Of a latent class model with at least two classes.
    pairwise : bool, default False
        Also every pair of classes. No correction is made for the number of tests.

    Examples
    --------
    >>> from latentree import datasets
    >>> from latentree.estimation import fit_classes
    >>> from latentree.score import standard_errors
    >>> fit = fit_classes(datasets.load("values"), 2, rng=np.random.default_rng(0), tol=1e-9)
    >>> [(t.variable, round(t.statistic, 1), t.degrees_of_freedom) for t in item_tests(standard_errors(fit))][0]
    ('A', 33.4, 1)
    """
    model = errors.model
    k = int(model.tree.cardinality[0])
    if not model.tree.is_star or k < 2:
        raise ModelError("Items are compared between classes: this takes a latent class model with two at least.")
    groups = [tuple(range(k)), *(combinations(range(k), 2) if pairwise and k > 2 else ())]
    return tuple(_test(errors, int(v), classes) for v in model.tree.manifest for classes in groups)


def _test(errors: StandardErrors, v: int, classes: tuple[int, ...]) -> ItemTest:
    model = errors.model
    table = model.table(v)[list(classes)]
    m, begin = table.shape[1], int(model.tree.offsets[v])
    at = np.concatenate([begin + c * m + np.arange(m) for c in classes])
    covariance = errors.covariance[np.ix_(at, at)]
    bound = ~np.isfinite(covariance.diagonal())
    known = np.where(np.isfinite(covariance), covariance, 0.0)
    against = np.kron(np.eye(len(classes))[1:] - np.eye(len(classes))[0], np.eye(m)[:-1])  # all but the last state
    away = against @ table.ravel()
    statistic, df = _quadratic(away, against @ known @ against.T)
    p = chi_square_p(statistic, df)[0] if df else None
    name = model.tree.names[v]
    return ItemTest(name, classes, statistic if df else None, df, p, bool(bound.any()))


def _quadratic(away: FloatArray, covariance: FloatArray) -> tuple[float, int]:
    values, vectors = np.linalg.eigh(covariance)
    kept = values > SINGULAR * max(float(values[-1]), 1e-12)
    along = vectors[:, kept].T @ away
    return float((along**2 / values[kept]).sum()), int(kept.sum())
