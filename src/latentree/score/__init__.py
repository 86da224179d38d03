"""Scores of fitted models: one scale, higher is better."""

from __future__ import annotations

from ._absolute import FitStatistics, fit_statistics, power_divergence
from ._aliasing import aliasing
from ._assignment import Assignment, average_posteriors
from ._bootstrap import BootstrapFit, BootstrapLrt, bootstrap_fit, bootstrap_lrt
from ._cheeseman_stutz import cs, cs_ml, cse, mled
from ._classification import awe, classification_likelihood, icl, icl_bic
from ._criteria import aic, aic3, bic, bice, caic, draper, sabic
from ._holdout import empirical_kl, holdout, split
from ._laplace import information, laplace
from ._marginal import marginal_likelihood
from ._mode import likelihood_mode, posterior_mode
from ._residuals import BivariateResiduals, bivariate_residuals
from ._scores import SCORES, Score, scores
from ._separation import entropy, relative_entropy
from ._uncertainty import StandardErrors, standard_errors
from ._variational import variational, variational_trace

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
