"""Estimators for scikit-learn. They read data, call what does the work, and keep what it returns."""

from __future__ import annotations

from ._bayesian import BayesianLatentClass
from ._comparing import ClassComparison, compare
from ._imputer import LatentTreeImputer
from ._latent_class import LatentClass
from ._latent_tree import LatentTree
from ._tree_classifier import LatentTreeClassifier

__all__ = [
    "BayesianLatentClass",
    "ClassComparison",
    "LatentClass",
    "LatentTree",
    "LatentTreeClassifier",
    "LatentTreeImputer",
    "compare",
]
