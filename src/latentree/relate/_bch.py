"""BCH: assigned classes weighted by the inverse of their errors ([BolckCroonHagenaars2004], [Vermunt2010]).

Some weights are negative, so that the coefficients of a class which is rare at one end of a covariate have a skewed
distribution, and a standard error that grows with them: an interval of so many standard errors to both sides covers too
seldom. What the coefficients are solved from, the sums of weights less probabilities, is nearly normal. So coefficients
are tested by generalised scores, and an interval holds the values that are not rejected ([Boos1992]).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from .._lazy import cached_property
from .._types import FloatArray
from ._classification import Assignment, Classification
from ._covariates import Estimate, Structural
from ._measurement import FirstStep
from ._mixture import inverse
from ._parts import ClassLogit

__all__ = ["Bch", "bch"]

FARTHEST = 30.0
"""An interval has no end if values this many times as far away as the ends of a symmetric one are not rejected."""

ENOUGH = 5e-3
"""Error of a score at the end of an interval that does no harm: it changes the coverage by less than 0.1 %."""

NEAR = 1e-7
"""Gain that the last step may promise when the other coefficients are found given one."""

MOST_ROWS = 5_000
"""Of more different rows, for which standard errors are good enough, coefficients are not tested by scores."""


def bch(
    first: FirstStep, model: Structural, *, assignment: Assignment = "modal", tol: float = 1e-10, **_: Any
) -> Estimate:
    """Coefficients with their covariance (sandwich, with what is uncertain of the weights)."""
    return Bch(first, model, assignment, tol).estimate()


class Bch:
    """The equations of BCH: each class's weights, less its probabilities, are uncorrelated with the terms.

    Parameters
    ----------
    first : FirstStep
        The measurement part.
    model : Structural
        The logit model of the class.
    assignment : {"modal", "proportional"}
        How rows are assigned.
    tol : float
        Gain that the last step of Newton's method may promise.
    """

    def __init__(
        self, first: FirstStep, model: Structural, assignment: Assignment = "modal", tol: float = 1e-10
    ) -> None:
        self.first, self.model, self.tol = first, model, tol
        self.classes = Classification.of(first, assignment)
        self.targets = self.classes.weights

    @cached_property
    def solution(self) -> tuple[ClassLogit, bool]:
        """The coefficients, and whether they were found."""
        return self._solved(self.model.logit(self.first.sizes))

    def estimate(self) -> Estimate:
        """The coefficients with their covariance."""
        logit, converged = self.solution
        inner, regular = inverse(self._bend(logit))
        covariance = self.model.sampling.covariance(self._influence(logit) @ inner)
        value = float(self.model.weights @ np.einsum("ik,ik->i", self.targets, logit.log))
        scores = self if len(self.model.weights) <= MOST_ROWS else None
        return Estimate((logit,), covariance, value, converged, regular, logit.size, scores)

    # ---- generalised scores ------------------------------------------------------------------------------------

    def score(self, j: int, value: float, begin: ClassLogit | None = None) -> tuple[float, ClassLogit]:
        """Signed root of the score statistic of a value of coefficient j, and the other coefficients given it.

        Nearly standard normal if the value is true; positive if the data ask for a larger one.
        """
        logit = begin or self.solution[0]
        step = self._along(self._bend(logit), j) * (value - logit.flat()[j])
        logit, _ = self._solved(logit.moved(step), held=j)
        along = self._along(self._bend(logit), j)  # the score of j, less what follows from the equations of the others
        variance = float(self.model.sampling.covariance(self._influence(logit) @ along[:, None])[0, 0])
        return float(self._slope(logit)[j] / np.sqrt(variance)) if variance > 0 else float("nan"), logit

    @staticmethod
    def _along(bend: FloatArray, j: int) -> FloatArray:
        """How all coefficients change with coefficient j if the equations of the others hold."""
        free = np.arange(len(bend)) != j
        along = np.ones(len(bend))
        along[free] = -inverse(bend[np.ix_(free, free)])[0] @ bend[free, j]
        return along

    def limits(self, j: int, level: float, error: float) -> tuple[float, float]:
        """Ends of the interval of coefficient j, infinite where no value is rejected; ``error`` says where to look."""
        return self._end(j, -1, level, error), self._end(j, 1, level, error)

    def _end(self, j: int, sign: int, level: float, error: float) -> float:
        half, at = float(ndtri(0.5 + level / 2)), self.solution[0]
        near, step = float(at.flat()[j]), sign * half * error
        known = {near: half}

        def inside(value: float) -> float:
            """How far a value is from being rejected."""
            nonlocal at
            if value not in known:
                found, at = self.score(j, value, at)
                known[value] = half + sign * found
            return known[value]

        while not inside(near + step) <= ENOUGH:
            near, step = near + step, 1.5 * step
            if not abs(step) <= FARTHEST * half * error:
                return sign * float("inf")
        if abs(inside(near + step)) <= ENOUGH:
            return near + step
        return float(brentq(inside, near, near + step, xtol=ENOUGH * error))

    # ---- the equations -----------------------------------------------------------------------------------------

    @cached_property
    def _through_weights(self) -> FloatArray:
        """What rows move through the weights, which is the same for all coefficients."""
        x, k, reference = self.model.x, self.first.n_classes, self.model.reference
        others = [c for c in range(k) if c != reference]

        def of_class(c: int) -> FloatArray:
            """Derivative of each row's scores by its weight in a class."""
            own = np.zeros((len(x), k - 1, x.shape[1]))
            if c != reference:
                own[:, others.index(c)] = x
            return own.reshape(len(own), -1)

        return self.classes.through_weights(of_class, self.model.weights)

    def _influence(self, logit: ClassLogit) -> FloatArray:
        """What each row contributes to the equations, [rows, coefficients]."""
        off = (self.targets - logit.probabilities)[:, logit.others]
        own = (off[:, :, None] * logit.x[:, None, :]).reshape(len(off), -1)
        return own * self.model.used[:, None] + self._through_weights

    def _slope(self, logit: ClassLogit) -> FloatArray:
        off = self.model.weights[:, None] * (self.targets - logit.probabilities)
        slope: FloatArray = (off[:, logit.others].T @ logit.x).ravel()
        return slope if logit.penalty is None else slope - logit.penalty[1]

    def _bend(self, logit: ClassLogit) -> FloatArray:
        bend = logit.complete(self.model.weights[:, None] * np.eye(1, self.first.n_classes))
        return bend if logit.penalty is None else bend + logit.penalty[2]

    def _objective(self, logit: ClassLogit) -> float:
        value = float(self.model.weights @ np.einsum("ik,ik->i", self.targets, logit.log))
        return value if logit.penalty is None else value - logit.penalty[0]

    def _solved(self, logit: ClassLogit, held: int | None = None) -> tuple[ClassLogit, bool]:
        """Newton's method, which climbs a concave function although weights may be negative; one coefficient held."""
        free = np.arange(logit.size) != (-1 if held is None else held)
        for _ in range(100):
            slope, bend = self._slope(logit)[free], self._bend(logit)[np.ix_(free, free)]
            step, size = np.zeros(logit.size), 1.0
            step[free] = inverse(bend)[0] @ slope
            if 0.5 * float(slope @ step[free]) < (self.tol if held is None else max(self.tol, NEAR)):
                return logit.moved(step), True
            here = self._objective(logit)
            while not self._objective(proposed := logit.moved(size * step)) >= here and size > 1e-6:
                size /= 2
            logit = proposed
        return logit, False
