"""Bayesian latent class models: Gibbs sampling, reversible jump, and what their draws say.

>>> import numpy as np
>>> from latentree import datasets
>>> prior = ClassPrior(prior_on_classes(5))
>>> draws = sample(datasets.load("hiv_test"), prior, rng=np.random.default_rng(0), n_draws=200)
>>> draws.k_mode
2
"""

from __future__ import annotations

from ._candidate import Candidate, candidate
from ._chain import SWEEPS, Info, JumpOptions, State, Target, init, step, with_counts
from ._diagnostics import effective_samples, r_hat, standard_error
from ._draws import ClassDraws, Draws
from ._layout import load
from ._loss import PointEstimate, delta_loss, predictive_loss
from ._posterior import ClassSummary, classification, log_predictive, predictive_rows, similarity, summarise
from ._predictive import PredictiveScore, loo, waic
from ._prior import ClassPrior, prior_on_classes
from ._relabel import relabel
from ._sampler import sample

__all__ = [
    "SWEEPS",
    "Candidate",
    "ClassDraws",
    "ClassPrior",
    "ClassSummary",
    "Draws",
    "Info",
    "JumpOptions",
    "PointEstimate",
    "PredictiveScore",
    "State",
    "Target",
    "candidate",
    "classification",
    "delta_loss",
    "effective_samples",
    "init",
    "load",
    "log_predictive",
    "loo",
    "predictive_loss",
    "predictive_rows",
    "prior_on_classes",
    "r_hat",
    "relabel",
    "sample",
    "similarity",
    "standard_error",
    "step",
    "summarise",
    "waic",
    "with_counts",
]
