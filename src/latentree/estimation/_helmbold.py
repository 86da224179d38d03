"""Helmbold's methods ([Whiley1999] 2.6; Helmbold, Schapire, Singer & Warmuth 1997): GP-eta, EG-eta and EM-eta.

Each step maximises eta * (the mean log-likelihood to first order) less a distance from where one is (2.15), with row
sums of one and, what [Whiley1999] leaves out, no entry below zero. The distance gives the method its name: Euclidean,
relative entropy or chi-squared. For the root's table EM-eta at eta = 1 is EM; elsewhere it is EM slowed down by the
probability of the parent's state.

The learning rate chooses itself unless it is given; a step that would lose is shortened, so that none diverges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._options import AnyOf, Number, OneOf, option
from .._types import FloatArray
from ._ascent import Ascent
from ._em_options import AscentOptions
from ._line_search import Line, automatic_steps, paced
from ._simplex import furthest, projected, released, reweighted, tangent
from ._surface import FLOOR, Point

LEAST_SHARE = 1e-3
"""EM-eta keeps this share of an entry that it would send below zero: it multiplies, and could not bring it back."""


@dataclass(frozen=True, eq=False)
class RateOptions(AscentOptions):
    """Options of methods with a learning rate."""

    rate: float | None = option(
        None, AnyOf(Number(above=0), OneOf(None)), "eta, on the scale of the mean log-likelihood; None: automatic"
    )


class Helmbold(Ascent):
    """Steps of a learning rate, by the distance that :data:`DISTANCES` has under the method's name."""

    def begin(self, point: Point) -> float:
        """The rate to begin with."""
        return DISTANCES[self.name][1](point) if self.options.rate is None else self.options.rate

    def move(self, point: Point, memory: float) -> tuple[Point | None, float]:
        """A step of the learning rate."""
        update = DISTANCES[self.name][0]
        if self.options.rate is None:
            higher, rate = automatic_steps(point, update, memory)
        else:
            higher, rate = paced(point, lambda eta: update(point, eta), memory, automatic=False)
        return (released(point) if higher is None else higher), rate


# ---- the three distances ------------------------------------------------------------------------------------


def _gradient_projection(point: Point, eta: float) -> FloatArray:
    """Euclidean (2.17): the gradient less its mean, then back to the simplex where that leaves it."""
    s = point.surface
    place = projected(
        s, point.parameters + eta * point.mean_gradient, s.free.astype(float), np.full(s.tree.size, FLOOR)
    )
    return s.tidied(place, point.parameters)


def _exponentiated(point: Point, eta: float) -> FloatArray:
    """Relative entropy (2.18), the numerator's theta being theta_ijk."""
    return reweighted(point, eta * point.mean_gradient)


def _chi_squared(point: Point, eta: float) -> FloatArray:
    """Chi-squared (2.19)."""
    s, theta = point.surface, point.parameters
    metric = np.where(s.free, theta, 0.0)
    target = theta * (1.0 + eta * point.mean_gradient)
    place = projected(s, target, metric, np.full(s.tree.size, -np.inf))
    if (place[s.free] < 0).any():
        place = projected(s, target, metric, LEAST_SHARE * theta)
    return s.tidied(place, theta)


# ---- where to begin -----------------------------------------------------------------------------------------


def _safe_em(point: Point) -> float:
    return 1.0  # EM for the root's table, shorter than EM elsewhere


def _safe_gp(point: Point) -> float:
    """Where Q is highest along the gradient."""
    along = tangent(point)[0]
    line = Line(point, along, furthest(point.parameters, along))
    return line.likely() * point.surface.weight if line.slope > 0 else 1.0


DISTANCES: dict[str, tuple[Callable[[Point, float], FloatArray], Callable[[Point], float]]] = {
    "gp-eta": (_gradient_projection, _safe_gp),
    "eg-eta": (_exponentiated, _safe_em),
    "em-eta": (_chi_squared, _safe_em),
}
"""How each method takes a step of a learning rate, and a rate that is safe to begin with."""
