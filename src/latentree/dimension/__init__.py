"""Dimension of models, and whether their parameters are identified by data."""

from __future__ import annotations

from ._effective import effective_dimension, standard_dimension
from ._identify import Identifiability, LatentNode, identifiability

__all__ = ["Identifiability", "LatentNode", "effective_dimension", "identifiability", "standard_dimension"]
