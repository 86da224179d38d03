"""One-step-late EM ([Whiley1999] 2.6; Green 1990): EM for a penalised likelihood whose M-step has no closed form.

The penalty's derivative D is taken where one is, so that the M-step solves E(N) / theta + D = mu in each row:
theta = E(N) / (mu - D), mu such that the row sums to one. A Dirichlet prior, whose M-step has a closed form, is not
late: it adds to the counts as in EM. The step leads uphill but may go too far; then it is shortened.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._data import Data
from .._model import Model
from .._options import option
from .._types import FloatArray
from ._ascent import Ascent, Task
from ._em_options import AscentOptions, Value
from ._line_search import paced
from ._surface import Penalty, Point, Surface

HALVINGS = 200


@dataclass(frozen=True, eq=False)
class LateOptions(AscentOptions):
    """Options of one-step-late EM.

    Examples
    --------
    Leaves of two classes drawn towards each other:

    >>> from latentree import Model, Table, Tree, estimate
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], weights=[30, 40, 5, 4])
    >>> start = Model.random(Tree.star(2, table.cardinalities), table.variables, np.random.default_rng(1))
    >>> def apart(p, strength=20.0):
    ...     leaves = p[2:].reshape(3, 2, 2)
    ...     gap = leaves - leaves.mean(axis=1, keepdims=True)
    ...     return strength * (gap**2).sum(), np.concatenate([[0, 0], 2 * strength * gap.ravel()])
    >>> free, drawn = (estimate(start, table, method="one-step-late", penalty=own) for own in (None, apart))
    >>> bool(np.ptp(drawn.model.table("x1")[:, 0]) < np.ptp(free.model.table("x1")[:, 0]))
    True
    """

    penalty: Penalty | None = option(
        None,
        Value("a function of the parameters, or None", lambda value: value is None or callable(value)),
        "gives what is subtracted from the objective, and its derivatives",
    )


class OneStepLate(Ascent):
    """EM steps with the slope of the penalty where one is."""

    def task(self, model: Model, table: Data) -> Task:
        """The surface less the penalty."""
        own, start = self.options, model.parameters
        return Task(Surface(own.passes(model, table), start, own, penalty=own.penalty), start, own.tol)

    def begin(self, point: Point) -> float:
        """Whole steps at first."""
        return 1.0

    def move(self, point: Point, memory: float) -> tuple[Point | None, float]:
        """A share of the late step."""
        theta, goal = point.parameters, late_step(point)
        higher, share = paced(point, lambda share: (1.0 - share) * theta + share * goal, memory, automatic=True)
        return higher, min(share, 1.0)

    def promise(self, point: Point) -> float:
        """What the late step promises to first order."""
        return float(point.gradient @ (late_step(point) - point.parameters))


def late_step(point: Point) -> FloatArray:
    """The M-step with the slope of the penalty where one is."""
    if point.pull is None:
        return point.em_step
    return _solved(point.surface, point.completed, np.where(point.surface.free, -point.pull, 0.0), point.parameters)


def _solved(s: Surface, n: FloatArray, slope: FloatArray, before: FloatArray) -> FloatArray:
    """theta = n / (mu - slope) with the right sum in every row; mu by bisection, all rows at once.

    Entries without counts take what is left if their slope is the steepest.
    """
    steepest = np.maximum.reduceat(np.where(s.free, slope, -np.inf), s.starts)
    steepest = np.where(np.isfinite(steepest), steepest, 0.0)
    below = s.spread(steepest) - slope
    low, high = np.zeros(len(steepest)), s.row_sums(n) / s.left  # of mu - steepest: the sum is too large, too small
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        bottom = s.spread(middle) + below
        total = s.row_sums(np.divide(n, bottom, out=np.zeros_like(n), where=bottom > 0))
        low, high = np.where(total > s.left, middle, low), np.where(total > s.left, high, middle)
        if (high - low <= 1e-15 * high).all():
            break
    bottom = s.spread(high) + below
    theta = np.divide(n, bottom, out=np.zeros_like(n), where=s.free & (bottom > 0))
    short = s.left - s.row_sums(theta)
    if not np.any((s.spread(short) > 1e-9) & s.free):
        return s.tidied(theta, before)
    top = s.free & (below <= 0)
    share = s.row_sums(top.astype(float))
    theta += np.where(top, s.spread(np.maximum(short, 0.0) / np.maximum(share, 1.0)), 0.0)
    return s.tidied(theta, before)
