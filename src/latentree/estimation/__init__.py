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
from ._two_latents import TwoLatentsFit, fit_two_latents

__all__ = [
    "ITERATIONS",
    "METHODS",
    "TOLERANCE",
    "EmOptions",
    "Estimate",
    "Fit",
    "TwoLatentsFit",
    "at_independence",
    "em",
    "estimate",
    "evaluate",
    "fit_classes",
    "fit_two_latents",
    "local_em",
    "partial_em",
    "random_starts",
    "restart_em",
    "smoothed",
]
