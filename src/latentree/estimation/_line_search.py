"""How far to go along a direction: a search that uses slopes, Whiley's golden section, and steps of a learning rate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._types import FloatArray
from ._surface import FLOOR, Mask, Point

Path = Callable[[float], FloatArray]
"""Takes a learning rate; gives where it leads."""
GOLDEN = 2.0 / (1.0 + 5.0**0.5)
"""tau of [Whiley1999] A.5.2."""
RISE, FLATNESS = 1e-4, 0.1
"""Wolfe's conditions: the least share of the promised rise, and of the slope that may be left."""
NEAR_ZERO = 1e-3
TRIALS = 15
BACKTRACKS = 60
LOOK_AHEAD = 8


class Line:
    """The surface along a direction from a point, entries that rest at zero having got there."""

    def __init__(self, point: Point, direction: FloatArray, most: float, loose: Mask | None = None) -> None:
        self.point, self.direction, self.most = point, direction, most
        s = point.surface
        self.base = point.parameters if loose is None else np.where(s.free & ~loose, FLOOR, point.parameters)
        self.slope = float(point.gradient @ direction)

    def place(self, step: float) -> FloatArray:
        """Parameters at a step; a step to the boundary ends on it."""
        p = self.point
        return p.surface.tidied(self.base + step * self.direction, p.parameters)

    def at(self, step: float) -> tuple[Point, float]:
        """Look there: the point, and the slope along the direction."""
        seen = self.point.surface.at(self.place(step))
        return seen, float(seen.gradient @ self.direction)

    def likely(self) -> float:
        """The step at which Q, the surface as EM sees it, is highest along the line, to second order.

        Q bounds the objective from below, so that it is a safe step to begin with. Entries near zero count as a little
        larger, for there the second order holds nowhere.
        """
        p = self.point
        curvature = float(np.abs(p.gradient) @ (self.direction**2 / np.maximum(p.parameters, NEAR_ZERO)))
        step = self.slope / curvature if curvature > 0 else 1.0
        return min(step, self.most)


def wolfe(line: Line, first: float) -> tuple[Point, float] | None:
    """A step that rises enough and ends on flat ground, or at the boundary; None when no step rises.

    Every look gives the slope as well, so that the next trial is where a cubic through values and slopes is highest.
    """
    start, most = line.point, line.most
    low, low_value, low_slope = 0.0, start.objective, line.slope
    high: float | None = None
    high_value = high_slope = 0.0
    best: tuple[Point, float] | None = None
    step = min(first, most)
    for _ in range(TRIALS):
        seen, slope = line.at(step)
        value = seen.objective
        rises = bool(value >= start.objective + RISE * step * line.slope) and value > low_value
        if rises and (best is None or value > best[0].objective):
            best = seen, step
        if rises and (abs(slope) <= FLATNESS * line.slope or (slope > 0 and step >= most)):
            break
        if rises and slope > 0:
            ratio = _stretch(low_slope, slope)
            ahead = step + (step - low) * ratio
            low, low_value, low_slope = step, value, slope
            step = ahead if high is None else _between(low, low_value, low_slope, high, high_value, high_slope)
            step = min(step, most)
        else:
            high, high_value, high_slope = step, value, slope
            step = _between(low, low_value, low_slope, high, high_value, high_slope)
        if high is not None and high - low <= 1e-12 * high:
            break
    return best


def _stretch(before: float, now: float) -> float:
    """How many times the last stretch to go on, if slopes go on falling as they did."""
    return float(np.clip(now / (before - now), 0.5, 9.0)) if before > now else 9.0


def _between(a: float, fa: float, sa: float, b: float, fb: float, sb: float) -> float:
    """Where the cubic with these values and slopes is highest, well inside the interval."""
    width = b - a
    if not np.isfinite(fb + sb):
        return a + 0.1 * width
    # minimise -f: the usual formula (Nocedal & Wright 3.59)
    d1 = -sa - sb + 3.0 * (fa - fb) / (a - b)
    root = d1 * d1 - sa * sb
    step = a + 0.5 * width
    if root >= 0:
        d2 = np.sqrt(root)
        bottom = -sb + sa + 2.0 * d2
        if bottom != 0:
            step = b - width * (-sb + d2 - d1) / bottom
    return float(np.clip(step, a + 0.05 * width, b - 0.05 * width)) if np.isfinite(step) else a + 0.5 * width


def golden_section(line: Line, accuracy: float = 1e-4) -> tuple[Point, float] | None:
    """[Whiley1999] A.5.2; errata: alpha_1 = alpha_max (1 - tau). Ends when the interval is this share of the step."""
    s, most = line.point.surface, line.most
    a0, a3 = 0.0, most
    a1, a2 = most * (1.0 - GOLDEN), most * GOLDEN
    f1, f2 = s.value(line.place(a1)), s.value(line.place(a2))
    while a3 - a0 > accuracy * a3 and a3 > 1e-12 * most:
        if f1 >= f2:
            a3, a2, f2 = a2, a1, f1
            a1 = a3 - GOLDEN * (a3 - a0)
            f1 = s.value(line.place(a1))
        else:
            a0, a1, f1 = a1, a2, f2
            a2 = a0 + GOLDEN * (a3 - a0)
            f2 = s.value(line.place(a2))
    seen, step = s.at(line.place(0.5 * (a0 + a3))), 0.5 * (a0 + a3)
    return (seen, step) if seen.objective > line.point.objective else None


def paced(point: Point, path: Path, rate: float, *, automatic: bool) -> tuple[Point | None, float]:
    """Follow a path as far as a learning rate says, shorter if that loses; also the rate for the next step.

    An automatic rate grows or shrinks (at most twofold) towards the place where, to judge by the slopes at both ends of
    this step, the path is highest: no pass is spent on it. A rate that is given is tried anew at every step.
    """
    trial = rate
    for _ in range(BACKTRACKS):
        place = path(trial)
        move = place - point.parameters
        slope = float(point.gradient @ move)
        if not slope > 0:  # nowhere to go, or too short to be seen
            break
        seen = point.surface.at(place)
        if seen.objective > point.objective:
            return seen, trial * _secant(point, seen, 2.0) if automatic else rate
        lost = slope - (seen.objective - point.objective)  # a parabola through what is known
        share = 0.5 * slope / lost if np.isfinite(lost) and lost > 0 else 0.1
        trial *= float(np.clip(share, 0.1, 0.5))
    return None, rate


def automatic_steps(
    point: Point, update: Callable[[Point, float], FloatArray], rate: float
) -> tuple[Point | None, float]:
    """A few steps on an automatic learning rate until one ends higher; if none does, one shortened step.

    Each rate would have been the best for the step before it (Barzilai & Borwein 1988). Such steps lose now and then
    and get on much faster than those that never do; what is handed back has always gained.
    """
    at, trial = point, rate
    for _ in range(LOOK_AHEAD):
        place = update(at, trial)
        if not np.any(place != at.parameters):
            break
        seen = point.surface.at(place)
        if not np.isfinite(seen.objective):
            break
        trial *= _secant(at, seen, 20.0)
        if seen.objective > point.objective:
            return seen, trial
        at = seen
    return paced(point, lambda eta: update(point, eta), min(rate, trial), automatic=True)


def _secant(before: Point, after: Point, most: float) -> float:
    """By how much a step should have been longer, to judge by the slopes at its two ends; at most so many times."""
    move = after.parameters - before.parameters
    slope, end = float(before.gradient @ move), float(after.gradient @ move)
    return float(np.clip(slope / (slope - end), 1.0 / most, most)) if slope > end else most
