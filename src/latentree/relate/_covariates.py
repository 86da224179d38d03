"""Classes given covariates in one, two or three steps; BCH is in :mod:`latentree.relate._bch`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._types import FloatArray, IndexArray
from ._classification import Assignment, Classification
from ._covariance import Sampling
from ._measurement import FirstStep
from ._mixture import Fixed, Part, Point, curvature, inverse, maximise
from ._parts import SMALLEST, ClassLogit

if TYPE_CHECKING:
    from ._bch import Bch

__all__ = ["Estimate", "Structural", "one_step", "three_step", "two_step"]

More = Callable[[IndexArray | None], tuple[Part, ...]]
"""Further parts of the last step, such as an outcome, for the rows that are asked for (None: all)."""

Information = Literal["observed", "opg"]

FEW = {"em_steps": 1}
"""With the measurement part fixed, Newton's method needs no long approach."""


@dataclass(frozen=True, eq=False)
class Structural:
    """The logit model of the class: what its coefficients are estimated from.

    Attributes
    ----------
    x : float array [rows, terms]
        The terms; of rows whose covariates are not known, anything.
    weights : float array [rows]
        What each row counts for, 0 if its covariates are not known.
    sampling : Sampling
        How all rows were drawn.
    reference : int
        The reference class.
    precision : float array [terms], optional
        Of the prior of the coefficients.
    """

    x: FloatArray
    weights: FloatArray
    sampling: Sampling
    reference: int = 0
    precision: FloatArray | None = None

    @property
    def used(self) -> FloatArray:
        """One for rows that are used, zero for others."""
        return (self.weights > 0).astype(np.float64)

    def logit(self, sizes: FloatArray, rows: IndexArray | None = None) -> ClassLogit:
        """The model in which covariates do not matter."""
        logs = np.log(np.maximum(sizes, SMALLEST))
        beta = np.zeros((len(sizes), self.x.shape[1]))
        beta[:, 0] = logs - logs[self.reference]
        return ClassLogit(self.x if rows is None else self.x[rows], beta, self.reference, self.precision)


@dataclass(frozen=True, eq=False)
class Estimate:
    """What the last step estimates, with its covariance.

    Attributes
    ----------
    parts : tuple of Part
        The logit model of the class at its estimate, and what else was estimated.
    covariance : float array
        Of the parameters of these parts: first the coefficients of all classes but the reference, one after the other.
    log_likelihood : float
        Of what the last step maximises.
    converged : bool
        Whether the maximum was reached.
    regular : bool
        Whether the rows determine all parameters.
    n_parameters : int
        Number of parameters that the last step estimates.
    scores : Bch, optional
        What tests coefficients by scores, if that is better than their standard errors.
    """

    parts: tuple[Part, ...]
    covariance: FloatArray
    log_likelihood: float
    converged: bool
    regular: bool
    n_parameters: int
    scores: Bch | None = None

    @property
    def logit(self) -> ClassLogit:
        """The logit model of the class."""
        own = self.parts[0]
        assert isinstance(own, ClassLogit)
        return own


def none(rows: IndexArray | None) -> tuple[Part, ...]:
    """No further parts."""
    return ()


def one_step(
    start: FirstStep,
    model: Structural,
    measurement: Part,
    *,
    information: Information = "observed",
    robust: bool = False,
    more: tuple[Part, ...] = (),
    begin: FloatArray | None = None,
    **ascent: Any,
) -> Estimate:
    """Covariates and measurement part at once ([BandeenRoche1997]); ``more`` are parts such as direct effects."""
    logit = model.logit(start.sizes)
    if begin is not None:
        logit = ClassLogit(model.x, begin, model.reference, model.precision)
    found = maximise(Point([logit, measurement, *more], model.weights), **ascent)
    own = curvature(found.point)
    matrix = own.products if information == "opg" else own.information
    covariance, regular = inverse(matrix, found.point.held)
    if robust or model.sampling.complex:
        influence = (found.point.row_scores() @ covariance) * model.used[:, None]
        covariance = model.sampling.covariance(influence)
    n_parameters = int((~found.point.held).sum())
    value = found.point.log_likelihood
    return Estimate(found.point.parts, covariance, value, found.converged, regular, n_parameters)


def two_step(
    first: FirstStep, model: Structural, *, robust: bool = False, more: More = none, **ascent: Any
) -> Estimate:
    """The measurement part fixed at its estimate of the first step ([BakkKuha2018]).

    With A the information of the coefficients and B the derivatives of their scores by the parameters of the first
    step, whose covariance is S, the covariance is inv(A) + inv(A) B S B' inv(A) ([BakkKuha2018]).
    """
    parts = [model.logit(first.sizes), *more(None), Fixed(first.measurement.log)]
    found = maximise(Point(parts, model.weights), **{**FEW, **ascent})
    inner, regular = inverse(curvature(found.point).information, found.point.held)
    parts = list(found.point.parts[:-1])
    size = found.point.size
    joint = curvature(Point([*parts, first.measurement], model.weights))
    moved = -inner @ joint.information[:size, size:]
    if robust or model.sampling.complex:
        influence = (found.point.row_scores() * model.used[:, None]) @ inner
        influence += first.influence[:, first.theta] @ moved.T
        covariance = model.sampling.covariance(influence)
    else:
        covariance = inner + moved @ first.covariance[first.theta, first.theta] @ moved.T
    value = found.point.log_likelihood
    return Estimate(tuple(parts), covariance, value, found.converged, regular, size)


def three_step(
    first: FirstStep,
    model: Structural,
    *,
    assignment: Assignment = "modal",
    robust: bool = False,
    more: More = none,
    **ascent: Any,
) -> Estimate:
    """Assigned classes as one indicator with known errors ([Vermunt2010], ML).

    The likelihood of an assignment s is sum_t P(t | x) D_ts, D_ts being the probability that a member of class t is
    assigned to s. Standard errors add what is uncertain of D ([BakkOberskiVermunt2014]). Proportional assignment makes
    several records of a row, whose scores are summed.
    """
    classes = Classification.of(first, assignment)
    row, to, share = classes.records()
    logs = np.log(np.maximum(classes.errors, SMALLEST)).T[to]
    parts = [model.logit(first.sizes, row), *more(row), Fixed(logs)]
    found = maximise(Point(parts, model.weights[row] * share), **{**FEW, **ascent})
    inner, regular = inverse(curvature(found.point).information, found.point.held)
    by_errors = _by_errors(found.point, classes, to)
    if assignment == "modal" and not robust and not model.sampling.complex:
        moved = inner @ by_errors
        covariance = inner + moved @ classes.covariance @ moved.T
    else:
        records = found.point.row_scores()
        u = _sum_rows(share[:, None] * records, row, len(model.weights))
        influence = u * model.used[:, None] + classes.influence @ by_errors.T
        if assignment == "proportional":
            own = records.reshape(len(model.weights), first.n_classes, -1)
            influence += classes.through_shares(lambda s: own[:, s], model.weights)
        covariance = model.sampling.covariance(influence @ inner)
    whole = ClassLogit(model.x, _logit(found.point.parts[0]).beta, model.reference, model.precision)
    value = found.point.log_likelihood
    return Estimate((whole, *found.point.parts[1:-1]), covariance, value, found.converged, regular, found.point.size)


def _logit(part: Part) -> ClassLogit:
    assert isinstance(part, ClassLogit)
    return part


def _by_errors(point: Point, classes: Classification, to: IndexArray) -> FloatArray:
    """Derivatives of the summed scores by the entries of the table of errors, [parameters, classes * classes]."""
    k, errors = classes.n_classes, np.maximum(classes.errors, SMALLEST)
    mean, out = point.row_scores(), np.zeros((point.size, k, k))
    for a in range(k):
        at, own = point.class_scores(a, slice(0, len(mean)))
        change = -mean
        change[:, at] += own
        pull = point.expected[:, a, None] * change
        for b in range(k):
            out[:, a, b] = pull[to == b].sum(axis=0) / errors[a, b]
    return out.reshape(point.size, k * k)


def _sum_rows(values: FloatArray, row: IndexArray, n: int) -> FloatArray:
    return np.column_stack([np.bincount(row, column, n) for column in values.T])
