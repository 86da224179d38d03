"""Approximate conjugate gradients ([Whiley1999] 2.7): the directions of conjugate gradients, Helmbold's step lengths.

Instead of a line search the step maximises eta * (the mean log-likelihood to first order) less a distance (2.24):

    ACG-theta        alpha = eta g'd / d'd               Euclidean
    ACG-theta-chi2   alpha = eta g'd / sum d^2 / theta   chi-squared
    ACG-phi          as ACG-theta, in the logarithms of the parameters

On a quadratic surface with Hessian -Q a step rises for eta <= 2 d'd / d'Qd, so that eta < 2 / lambda_max(Q) is enough
(2.7.1 with the errata). The rate chooses itself unless it is given; a step that would lose is shortened.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import FloatArray
from ._ascent import Ascent
from ._line_search import Line, Path, paced
from ._simplex import emptied, furthest, released, reweighted, tangent
from ._surface import Mask, Point

METRICS = {"acg-theta": "euclidean", "acg-theta-chi2": "chi2", "acg-phi": "softmax"}
NEAR_ZERO = 1e-8
"""The chi-squared metric takes entries for at least this large: at zero it would forbid every step."""


@dataclass(frozen=True)
class _Memory:
    rate: float | None
    gradient: FloatArray | None = None
    direction: FloatArray | None = None
    loose: Mask | None = None
    steps: int = 0


class ApproximateConjugate(Ascent):
    """Directions of conjugate gradients, steps of a learning rate, by the metric of the method's name."""

    @property
    def metric(self) -> str:
        """In what distances are measured."""
        return METRICS[self.name]

    def begin(self, point: Point) -> _Memory:
        """The rate to begin with."""
        return _Memory(self.options.rate)

    def move(self, point: Point, memory: _Memory) -> tuple[Point | None, _Memory]:
        """A step of the learning rate along a conjugate direction."""
        if self.metric == "softmax" and memory.steps == 0 and (found := released(point) or emptied(point)) is not None:
            return found, _Memory(memory.rate, steps=1)
        g, loose = self._gradient(point)
        d = self._direction(g, loose, memory)
        while True:
            length = self._length(point, g, d)
            rate = self._safe(point, d, length) if memory.rate is None else memory.rate
            higher, rate = paced(point, self._path(point, d, length, loose), rate, automatic=self.options.rate is None)
            if higher is not None or d is g:
                break
            d = g  # the direction was no good
        steps = (memory.steps + 1) % max(point.surface.dimension, 1)
        return higher, _Memory(rate, g, d, loose, steps)

    def _gradient(self, point: Point) -> tuple[FloatArray, Mask]:
        """Of the mean log-likelihood, in the method's own basis."""
        if self.metric == "softmax":
            return point.softmax_gradient / point.surface.weight, point.surface.free
        along, loose = tangent(point)
        return along / point.surface.weight, loose

    def _direction(self, g: FloatArray, loose: Mask, memory: _Memory) -> FloatArray:
        """d = g + beta d, beta = g'g / d'g of the last step."""
        if memory.gradient is None or memory.direction is None or memory.steps == 0:
            return g
        bottom = float(memory.direction @ memory.gradient)
        if (loose != memory.loose).any() or not bottom > 0:
            return g
        d = g + float(g @ g) / bottom * memory.direction
        return d if g @ d > 0 else g

    def _length(self, point: Point, g: FloatArray, d: FloatArray) -> float:
        """alpha / eta, the maximum of (2.24)."""
        size = d * d
        if self.metric == "chi2":
            size = np.where(point.surface.free, size / np.maximum(point.parameters, NEAR_ZERO), 0.0)
        total = float(size.sum())
        return float(g @ d) / total if total > 0 else 0.0

    def _safe(self, point: Point, d: FloatArray, length: float) -> float:
        """Eta for the step at which Q is highest."""
        if self.metric == "softmax":
            own = d * point.parameters  # d theta / d phi
            d = own - point.parameters * point.surface.spread(point.surface.row_sums(own) / point.surface.left)
        line = Line(point, d, furthest(point.parameters, d))
        likely = line.likely() if line.slope > 0 else 0.0
        return likely / length if likely > 0 and length > 0 and np.isfinite(likely) else 1.0

    def _path(self, point: Point, d: FloatArray, length: float, loose: Mask) -> Path:
        if self.metric == "softmax":
            return lambda eta: reweighted(point, eta * length * d)
        line = Line(point, d, furthest(point.parameters, d), loose)
        return lambda eta: line.place(min(eta * length, line.most))
