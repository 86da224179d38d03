"""Estimators for scikit-learn. They read data, call what does the work, and keep what it returns."""

from __future__ import annotations

from .bayesian import BayesianLatentClass
from .comparing import ClassComparison, compare
from .latent_class import LatentClass
from .latent_tree import LatentTree
from .tree_classifier import LatentTreeClassifier

__all__ = ["BayesianLatentClass", "ClassComparison", "LatentClass", "LatentTree", "LatentTreeClassifier", "compare"]
