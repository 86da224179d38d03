"""Scores of fitted models: one scale, higher is better."""

from __future__ import annotations

from .criteria import aic, bic
from .separation import entropy, relative_entropy

__all__ = ["aic", "bic", "entropy", "relative_entropy"]
