"""Moving on products of simplices without leaving them.

Every row of a table is a point of a simplex. Additive methods ([Whiley1999] 2.4-2.7) can step out of it; here is
how far they may go, which entries rest at zero, and where a step that went too far is brought back to.
"""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ._line_search import Line, wolfe
from ._surface import FLOOR, Mask, Point, Surface

NEGLIGIBLE = 1e-9
"""An entry this small that goes on falling might as well be zero."""


def tangent(point: Point) -> tuple[FloatArray, Mask]:
    """The gradient along the simplices, and the entries that take part in it.

    The mean of each row is taken off ([Whiley1999] eliminates the last state instead, which makes a method depend on
    the order of the states). Entries at zero that the gradient would push below rest there, and the others share their
    part; so do entries that are nearly there, for they would stop every step.
    """
    s, g = point.surface, point.gradient
    loose = s.free.copy()
    small = point.parameters <= NEGLIGIBLE
    while True:
        size = np.maximum(s.row_sums(loose.astype(float)), 1.0)
        along = np.where(loose, g - s.spread(s.row_sums(np.where(loose, g, 0.0)) / size), 0.0)
        out = small & loose & (along < 0)
        if not out.any():
            return along, loose
        loose &= ~out


def furthest(parameters: FloatArray, direction: FloatArray) -> float:
    """The longest step that crosses no boundary.

    [Whiley1999] (A.21) with the errata: the minimum over the coordinates. That none exceeds 1 follows from the sums.
    """
    falling = direction < 0
    if not falling.any():
        return np.inf
    return float((-parameters[falling] / direction[falling]).min())


def projected(surface: Surface, target: FloatArray, metric: FloatArray, lowest: FloatArray) -> FloatArray:
    """The point of the simplices nearest to a target, no entry below ``lowest``.

    Minimises sum (theta - target)^2 / metric over each row: theta = max(target - metric * gamma, lowest) where gamma
    makes the sum right. Entries are fixed at their lowest value one group after the other; each can only raise gamma.
    """
    loose = surface.free.copy()
    out = target
    while True:
        fixed = surface.row_sums(np.where(surface.free & ~loose, lowest, 0.0))
        excess = surface.row_sums(np.where(loose, target, 0.0)) + fixed - surface.left
        weight = surface.row_sums(np.where(loose, metric, 0.0))
        gamma = np.divide(excess, weight, out=np.zeros_like(excess), where=weight > 0)
        out = np.where(loose, target - metric * surface.spread(gamma), np.where(surface.free, lowest, target))
        below = loose & (out < lowest)
        if not below.any():
            return out
        loose &= ~below


def reweighted(point: Point, exponent: FloatArray) -> FloatArray:
    """Multiply the free entries by exp(exponent), each row keeping its sum."""
    s = point.surface
    inside = np.where(s.free, exponent, -np.inf)
    top = np.maximum.reduceat(inside, s.starts)
    factor = np.exp(np.where(s.free, inside - s.spread(np.where(np.isfinite(top), top, 0.0)), 0.0))
    return s.tidied(point.parameters * factor, point.parameters)


def released(point: Point) -> Point | None:
    """A higher point off zero, if entries rest there that should not; None if all are where they belong.

    For methods that multiply, which cannot leave zero by themselves.
    """
    s, theta = point.surface, point.parameters
    at_zero = s.at_zero(theta)
    if not at_zero.any():
        return None
    level = s.spread(s.row_sums(point.completed) / s.left)
    rise = np.where(at_zero, np.maximum(point.gradient - level, 0.0), 0.0)
    if not float(rise.sum()) > 1e-9 * abs(point.objective):
        return None
    direction = rise - np.where(s.free, theta * s.spread(s.row_sums(rise) / s.left), 0.0)
    line = Line(point, direction, furthest(theta, direction))
    found = wolfe(line, 1e-2 * line.most)
    return None if found is None else found[0]


def emptied(point: Point, small: float = 1e-2) -> Point | None:
    """A higher point at which small entries on their way to zero have got there; None if there is no such point.

    For methods that approach zero more slowly than EM. An EM step would leave g / level of an entry.
    """
    s, theta = point.surface, point.parameters
    level = s.spread(s.row_sums(point.completed) / s.left)
    going = s.free & (theta <= small) & (theta > 1e3 * FLOOR) & (point.gradient < (1.0 - 10.0 * theta) * level)
    if not going.any():
        return None
    seen = s.at(s.tidied(np.where(going, FLOOR, theta), theta))
    return seen if seen.objective > point.objective else None
