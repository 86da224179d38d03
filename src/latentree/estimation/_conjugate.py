"""Conjugate gradients ([Whiley1999] 2.4), plain and generalised (2.5; Jamshidian & Jennrich 1993, Thiesson 1995).

Both begin with EM steps until twice the gain is below 1 (2.10), search a line at every step and start anew after as
many steps as there are parameters. CG takes the gradient along the simplices; GCG takes the EM step as a generalised
gradient, -Q''^-1 g near a maximum (2.12, 2.13).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._options import Flag, OneOf, option
from .._types import FloatArray
from ._ascent import Ascent
from ._em_options import AscentOptions
from ._line_search import Line, golden_section, wolfe
from ._simplex import furthest, released, tangent
from ._surface import FLOOR, Mask, Point

BETAS: dict[str, Callable[[FloatArray, FloatArray, FloatArray], float]] = {
    # [Whiley1999] (2.8), signs as in the errata; g is the gradient before, n the one now, d the direction before
    "fletcher-reeves": lambda g, n, d: _ratio(n @ n, g @ g),
    "conjugate-ascent": lambda g, n, d: _ratio(n @ n, d @ g),
    "polak-ribiere": lambda g, n, d: _ratio(n @ (n - g), g @ (g - n)),
}
"""How much of the last direction to keep: [Whiley1999] (2.8 i), (ii), used there, and (iii)."""


@dataclass(frozen=True, eq=False)
class GcgOptions(AscentOptions):
    """Options of generalised conjugate gradients."""

    line_search: str = option(
        "wolfe",
        OneOf("wolfe", "golden"),
        "with slopes until Wolfe's conditions hold, or Whiley's golden section (A.5.2)",
    )
    warm_up: bool = option(True, Flag(), "begin with EM until twice the gain is below 1")


@dataclass(frozen=True, eq=False)
class CgOptions(GcgOptions):
    """Options of conjugate gradients."""

    beta: str = option("conjugate-ascent", OneOf(*BETAS), "[Whiley1999] (2.8) i, ii or iii")


@dataclass(frozen=True)
class _Memory:
    """What is left of the last step."""

    warming: bool
    gradient: FloatArray | None = None
    direction: FloatArray | None = None
    loose: Mask | None = None  # entries that did not rest at zero
    steps: int = 0
    stretch: float = 1.0  # how many times the likely step the last search went


class Conjugate(Ascent):
    """Conjugate gradients, generalised ones if the options have no beta."""

    @property
    def beta(self) -> str | None:
        """How much of the last direction to keep; None: generalised."""
        return getattr(self.options, "beta", None)

    def begin(self, point: Point) -> _Memory:
        """Begin with EM, if asked to."""
        return _Memory(self.options.warm_up)

    def move(self, point: Point, memory: _Memory) -> tuple[Point | None, _Memory]:
        """Search a line for a higher point."""
        if memory.warming:
            higher = point.surface.at(point.em_step)
            if not higher.objective > point.objective:
                return None, memory
            return higher, _Memory(2.0 * (higher.objective - point.objective) >= 1.0)  # (2.10)
        if self.beta is None and (back := released(point)) is not None:
            return back, _Memory(False)
        while True:
            found, after = self._along(point, memory)
            if found is not None or memory.direction is None:
                return found, after
            memory = _Memory(False)  # the direction was no good: the gradient itself

    def _along(self, point: Point, memory: _Memory) -> tuple[Point | None, _Memory]:
        direction, gradient, loose = self._direction(point, memory)
        fresh = memory.direction is None or memory.steps == 0
        line = Line(point, direction, furthest(point.parameters, direction), loose)
        if not (line.slope > 0 and line.most > 0):
            return None, memory
        likely = line.likely()
        first = likely * (1.0 if fresh else memory.stretch)
        found = golden_section(line) if self.options.line_search == "golden" else wolfe(line, first)
        if found is None:
            return None, memory
        higher, step = found
        at_boundary = step >= 0.99 * line.most
        steps = 0 if at_boundary else (memory.steps + 1) % max(point.surface.dimension, 1)
        stretch = float(np.clip(step / likely, 1.0, 20.0)) if likely > 0 else 1.0
        return higher, _Memory(False, gradient, direction, loose, steps, stretch)

    def _direction(self, point: Point, memory: _Memory) -> tuple[FloatArray, FloatArray, Mask]:
        along, loose = tangent(point)
        g, d = memory.gradient, memory.direction
        if self.beta is None:
            new, base = point.gradient, _generalised(point, loose)
        else:
            new = base = along
        if d is None or g is None or memory.steps == 0 or (loose != memory.loose).any():
            return base, new, loose
        generalised = _ratio(base @ (new - g), d @ (g - new))  # the errata's form of [Whiley1999] 2.5, step 2
        beta = generalised if self.beta is None else BETAS[self.beta](g, new, d)
        direction = base + beta * d
        if not np.isfinite(beta) or not point.gradient @ direction > 0:
            return base, new, loose
        return direction, new, loose


def _ratio(a: Any, b: Any) -> float:
    return float(a) / float(b) if b else 0.0


def _generalised(point: Point, loose: Mask) -> FloatArray:
    """The EM step as a generalised gradient (2.13), without the entries that rest at zero."""
    s = point.surface
    step, own = np.where(loose, point.em_step - point.parameters, 0.0), np.where(loose, point.parameters, 0.0)
    return step - own * s.spread(s.row_sums(step) / np.maximum(s.row_sums(own), FLOOR))
