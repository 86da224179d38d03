"""Estimation with the structure fixed: one function, any method by its name."""

from __future__ import annotations

from ._classes import fit_classes
from ._em import em
from ._em_options import ITERATIONS, TOLERANCE, EmOptions
from ._estimate import METHODS, estimate
from ._fit import Fit, evaluate
from ._independence import at_independence
from ._local import local_em
from ._partial import partial_em
from ._restarts import random_starts, restart_em
from ._smoothing import Estimate, smoothed

__all__ = [
    "ITERATIONS",
    "METHODS",
    "TOLERANCE",
    "EmOptions",
    "Estimate",
    "Fit",
    "at_independence",
    "em",
    "estimate",
    "evaluate",
    "fit_classes",
    "local_em",
    "partial_em",
    "random_starts",
    "restart_em",
    "smoothed",
]
