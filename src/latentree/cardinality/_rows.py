"""The rows of a latent node's neighbourhood, for one state at a time: baselines that fit states one by one use them."""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ._neighbourhood import Neighbourhood
from ._states import blocks_of

TINY = 1e-300
"""Stands for zero in logarithms, so that every row keeps a state that explains it best."""


class Rows:
    """The rows of a star, for one state at a time."""

    def __init__(self, star: Neighbourhood) -> None:
        blocks = blocks_of(star.widths)
        soft = {e.node - 1 for e in star.evidence if e.likelihood is not None}
        self.seen = star.indicators()[0]
        self.blocks = blocks
        self.hard = np.array([i not in soft for i, b in enumerate(blocks) for _ in range(b.stop - b.start)], dtype=bool)
        self.values = np.ascontiguousarray(self.seen[:, self.hard])
        self.soft = [blocks[i] for i in sorted(soft)]

    def log_likelihood(self, profile: FloatArray) -> FloatArray:
        """Log P(row | state) up to a number that is the same for all states."""
        out: FloatArray = self.values @ np.log(np.maximum(profile[self.hard], TINY))
        for b in self.soft:
            out = out + np.log(np.maximum(self.seen[:, b] @ profile[b], TINY))
        return out

    def profile(self, weights: FloatArray, before: FloatArray) -> FloatArray:
        """The M-step of one state whose share of the rows is given; what is not observed keeps its distribution."""
        counts = np.zeros_like(before)
        counts[self.hard] = weights @ self.values
        for b in self.soft:
            joint = self.seen[:, b] * before[b]
            counts[b] = (weights / np.maximum(joint.sum(axis=1), TINY)) @ joint
        out = before.copy()
        for b in self.blocks:
            if counts[b].sum() > 0:
                out[b] = counts[b] / counts[b].sum()
        return out
