"""Scores of fitted models: one scale, higher is better."""

from __future__ import annotations

import importlib
from typing import Any

from ._registry import SCORES, Penalty, Score

_MODULES = {
    "_absolute": ("FitStatistics", "fit_statistics", "power_divergence"),
    "_aliasing": ("aliasing",),
    "_assignment": ("Assignment", "average_posteriors"),
    "_bootstrap": ("BootstrapFit", "BootstrapLrt", "bootstrap_fit", "bootstrap_lrt"),
    "_cheeseman_stutz": ("cs", "cs_ml", "cse", "mled"),
    "_classification": ("awe", "classification_likelihood", "icl", "icl_bic"),
    "_criteria": ("aic", "aic3", "bic", "bice", "caic", "draper", "sabic"),
    "_cross_validation": ("CrossValidation", "cross_validated", "cv"),
    "_holdout": ("empirical_kl", "holdout", "split"),
    "_items": ("ItemTest", "item_tests"),
    "_laplace": ("information", "laplace"),
    "_marginal": ("marginal_likelihood",),
    "_mcar": ("McarTest", "mcar_test"),
    "_mode": ("likelihood_mode", "posterior_mode"),
    "_residuals": ("BivariateResiduals", "bivariate_residuals"),
    "_scores": ("ScoreValue", "scores"),
    "_separation": ("entropy", "relative_entropy"),
    "_uncertainty": ("StandardErrors", "standard_errors"),
    "_variational": ("variational", "variational_trace"),
    "_vuong": ("VuongTest", "vuong_lrt"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = ["SCORES", "Penalty", "Score", *_HOME]


def __getattr__(name: str) -> Any:
    # Names are loaded when first used (PEP 562): the registry of scores is read without the libraries they need.
    if name not in _HOME:
        raise AttributeError(f"module 'latentree.score' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
