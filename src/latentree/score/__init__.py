"""Scores of fitted models: one scale, higher is better."""

from __future__ import annotations

from .absolute import FitStatistics, fit_statistics, power_divergence
from .aliasing import aliasing
from .assignment import Assignment, average_posteriors
from .bootstrap import BootstrapFit, BootstrapLrt, bootstrap_fit, bootstrap_lrt
from .cheeseman_stutz import cs, cs_ml, cse, mled
from .classification import awe, classification_likelihood, icl, icl_bic
from .criteria import aic, aic3, bic, bice, caic, draper, sabic
from .holdout import empirical_kl, holdout, split
from .laplace import information, laplace
from .marginal import marginal_likelihood
from .mode import likelihood_mode, posterior_mode
from .residuals import BivariateResiduals, bivariate_residuals
from .scores import SCORES, Score, scores
from .separation import entropy, relative_entropy
from .uncertainty import StandardErrors, standard_errors
from .variational import variational, variational_trace

__all__ = [
    "SCORES",
    "Assignment",
    "BivariateResiduals",
    "BootstrapFit",
    "BootstrapLrt",
    "FitStatistics",
    "Score",
    "StandardErrors",
    "aic",
    "aic3",
    "aliasing",
    "average_posteriors",
    "awe",
    "bic",
    "bice",
    "bivariate_residuals",
    "bootstrap_fit",
    "bootstrap_lrt",
    "caic",
    "classification_likelihood",
    "cs",
    "cs_ml",
    "cse",
    "draper",
    "empirical_kl",
    "entropy",
    "fit_statistics",
    "holdout",
    "icl",
    "icl_bic",
    "information",
    "laplace",
    "likelihood_mode",
    "marginal_likelihood",
    "mled",
    "posterior_mode",
    "power_divergence",
    "relative_entropy",
    "sabic",
    "scores",
    "split",
    "standard_errors",
    "variational",
    "variational_trace",
]
