"""Priors of Bayesian latent class models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, lgamma, log
from typing import Any

import numpy as np

from .._lazy import cached_property
from .._options import renamed
from .._types import FloatArray
from ..errors import bad_parameter

KINDS = ("uniform", "poisson", "geometric")


@dataclass(frozen=True)
class ClassPrior:
    """What is believed of a latent class model before the data.

    Parameters
    ----------
    n_classes : sequence of float
        P(k) of k = 1, 2, ..., kmax classes, in any scale; all above 0. See :func:`prior_on_classes`.
    delta1 : float, default 1
        Dirichlet parameter of the class sizes. Below 1 favours unequal classes.
    delta2 : float, default 1
        Dirichlet parameter of the answers of a class to each variable. Below 1 favours clear-cut answers.

    Examples
    --------
    >>> prior = ClassPrior(prior_on_classes(4), delta2=0.5)
    >>> prior.max_classes, prior.log_k.round(3).tolist()
    (4, [-1.386, -1.386, -1.386, -1.386])
    """

    n_classes: Sequence[float]
    delta1: float = 1.0
    delta2: float = 1.0

    def __post_init__(self) -> None:
        for name in ("delta1", "delta2"):
            value = getattr(self, name)
            if not _is_number(value) or not value > 0:
                raise bad_parameter(name, "ClassPrior", "a number above 0", value)
        chances = list(self.n_classes)
        if not chances or not all(_is_number(p) and p > 0 for p in chances):
            must = "at least one number, all above 0 (to keep k fixed, use Gibbs sampling)"
            raise bad_parameter("n_classes", "ClassPrior", must, self.n_classes)

    @property
    def max_classes(self) -> int:
        """Most classes that are possible."""
        return len(self.n_classes)

    @cached_property
    def log_k(self) -> FloatArray:
        """Return ln P(k), k = 1 ... kmax."""
        chances = np.asarray(self.n_classes, dtype=np.float64)
        logs: FloatArray = np.log(chances / chances.sum())
        return logs


@renamed
def prior_on_classes(max_classes: int, kind: str | Sequence[float] = "uniform") -> tuple[float, ...]:
    """P(k) of k = 1 ... ``max_classes`` classes.

    Parameters
    ----------
    max_classes : int
        Most classes.
    kind : {"uniform", "poisson", "geometric"} or sequence of float
        Equal; Poisson with mean 1 for k - 1; halved with every further class; or the numbers themselves.

    Examples
    --------
    >>> [round(p, 4) for p in prior_on_classes(4, "geometric")]
    [0.5333, 0.2667, 0.1333, 0.0667]
    """
    if isinstance(max_classes, bool) or not isinstance(max_classes, int | np.integer) or max_classes < 1:
        raise bad_parameter("max_classes", "prior_on_classes", "a whole number of at least 1", max_classes)
    if not isinstance(kind, str):
        chances = [float(p) for p in kind]
        if len(chances) != max_classes:
            raise bad_parameter("kind", "prior_on_classes", f"one number for each of 1 to {max_classes} classes", kind)
        ClassPrior(chances)
    elif kind == "uniform":
        chances = [1.0] * int(max_classes)
    elif kind == "poisson":
        chances = [float(np.exp(-lgamma(k))) for k in range(1, max_classes + 1)]
    elif kind == "geometric":
        chances = [float(np.exp(-k * log(2))) for k in range(max_classes)]
    else:
        raise bad_parameter("kind", "prior_on_classes", f"one of {', '.join(KINDS)}, or numbers", kind)
    total = sum(chances)
    return tuple(p / total for p in chances)


def _is_number(value: Any) -> bool:
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return real and isfinite(value)
