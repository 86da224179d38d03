"""Classes given covariates in one, two or three steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._types import FloatArray, IndexArray
from ..errors import DataError
from ._classification import Assignment, Classification
from ._covariance import Sampling
from ._measurement import FirstStep
from ._mixture import Fixed, Maximum, Part, Point, curvature, inverse, maximise
from ._parts import SMALLEST, ClassLogit

__all__ = ["Estimate", "Structural", "bch", "one_step", "three_step", "two_step"]

Information = Literal["observed", "opg"]

FEW = {"em_steps": 3}
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
    """Coefficients with their covariance.

    Attributes
    ----------
    logit : ClassLogit
        The logit model at its estimate.
    covariance : float array
        Of the coefficients of all classes but the reference, one after the other.
    log_likelihood : float
        Of what the last step maximises.
    converged : bool
        Whether the maximum was reached.
    regular : bool
        Whether the rows determine all coefficients.
    n_parameters : int
        Number of parameters that the last step estimates.
    point : Point or None
        The model at its estimate, if the last step is a mixture on all rows.
    """

    logit: ClassLogit
    covariance: FloatArray
    log_likelihood: float
    converged: bool
    regular: bool
    n_parameters: int
    point: Point | None = None


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
    """Covariates and measurement part at once ([BandeenRoche1997]); ``more`` are further parts, such as direct effects."""
    logit = model.logit(start.sizes)
    if begin is not None:
        logit = ClassLogit(model.x, begin, model.reference, model.precision)
    found = maximise(Point([logit, measurement, *more], model.weights), **ascent)
    own = curvature(found.point)
    matrix = own.products if information == "opg" and not robust else own.information
    covariance, regular = inverse(matrix, found.point.held)
    if robust or model.sampling.complex:
        influence = (found.point.row_scores() @ covariance) * model.used[:, None]
        covariance = model.sampling.covariance(influence)
    size = found.point.parts[0].size
    n_parameters = int((~found.point.held).sum())
    return _estimate(found, covariance[:size, :size], regular, n_parameters, found.point)


def two_step(first: FirstStep, model: Structural, *, robust: bool = False, **ascent: Any) -> Estimate:
    """The measurement part fixed at its estimate of the first step ([BakkKuha2018]).

    With A the information of the coefficients and B the derivatives of their scores by the parameters of the first
    step, whose covariance is S, the covariance is inv(A) + inv(A) B S B' inv(A) ([BakkKuha2018]).
    """
    found = maximise(Point([model.logit(first.sizes), Fixed(first.measurement.log)], model.weights), **{**FEW, **ascent})
    inner, regular = inverse(curvature(found.point).information)
    logit = found.point.parts[0]
    joint = curvature(Point([logit, first.measurement], model.weights))
    by_theta = -joint.information[: logit.size, logit.size :]
    moved = inner @ by_theta
    if robust or model.sampling.complex:
        influence = (found.point.row_scores() * model.used[:, None]) @ inner
        influence += first.influence[:, first.theta] @ moved.T
        covariance = model.sampling.covariance(influence)
    else:
        covariance = inner + moved @ first.covariance[first.theta, first.theta] @ moved.T
    return _estimate(found, covariance, regular, logit.size, joint_point(logit, first, model))


def joint_point(logit: Part, first: FirstStep, model: Structural) -> Point:
    """The whole model at an estimate, for predictions."""
    return Point([logit, first.measurement], model.weights)


def three_step(
    first: FirstStep, model: Structural, *, assignment: Assignment = "modal", robust: bool = False, **ascent: Any
) -> Estimate:
    """Assigned classes as one indicator with known errors ([Vermunt2010], ML).

    The likelihood of an assignment s is sum_t P(t | x) D_ts, D_ts being the probability that a member of class t is
    assigned to s. Standard errors add what is uncertain of D ([BakkOberskiVermunt2014]). Proportional assignment makes
    several records of a row, whose scores are summed.
    """
    classes = Classification(first, assignment)
    row, to, share = classes.records()
    logs = np.log(np.maximum(classes.errors, SMALLEST)).T[to]
    weights = model.weights[row] * share
    found = maximise(Point([model.logit(first.sizes, row), Fixed(logs)], weights), **{**FEW, **ascent})
    inner, regular = inverse(curvature(found.point).information)
    by_errors = _by_errors(found.point, classes, to)
    if assignment == "modal" and not robust and not model.sampling.complex:
        moved = inner @ by_errors
        spread = classes.sampling_covariance()
        covariance = inner + moved @ spread @ moved.T
    else:
        records = found.point.row_scores()
        u = _sum_rows(share[:, None] * records, row, len(model.weights))
        influence = u * model.used[:, None] + classes.influence() @ by_errors.T
        if assignment == "proportional":
            k = first.n_classes
            own = records.reshape(len(model.weights), k, -1)
            influence += classes.through_shares(lambda s: own[:, s], model.weights)
        covariance = model.sampling.covariance(influence @ inner)
    logit = found.point.parts[0]
    assert isinstance(logit, ClassLogit)
    whole = ClassLogit(model.x, logit.beta, model.reference, model.precision)
    return _estimate(found, covariance, regular, logit.size, joint_point(whole, first, model), whole)


def _by_errors(point: Point, classes: Classification, to: IndexArray) -> FloatArray:
    """Derivatives of the summed scores by the entries of the table of errors, [coefficients, classes * classes]."""
    logit, k = point.parts[0], classes.n_classes
    assert isinstance(logit, ClassLogit)
    tau, w, errors = point.posterior, point.weights, np.maximum(classes.errors, SMALLEST)
    out = np.zeros((logit.size, k, k))
    for b in range(k):
        here = to == b
        x, own = logit.x[here], tau[here]
        for a in range(k):
            change = (np.arange(k) == a) - own
            pull = (w[here] * own[:, a] / errors[a, b])[:, None] * change
            out[:, a, b] = (pull[:, logit.others].T @ x).ravel()
    return out.reshape(logit.size, k * k)


def bch(
    first: FirstStep, model: Structural, *, assignment: Assignment = "modal", tol: float = 1e-10, **_: Any
) -> Estimate:
    """Assigned classes weighted by the inverse of their errors ([BolckCroonHagenaars2004], [Vermunt2010])."""
    classes = Classification(first, assignment)
    targets = classes.weights
    logit, converged = _weighted_logit(model.logit(first.sizes), targets, model.weights, tol)
    spread = logit.complete(model.weights[:, None] * np.eye(1, first.n_classes))
    if logit.penalty is not None:
        spread = spread + logit.penalty[2]
    inner, regular = inverse(spread)
    off = (targets - logit.probabilities)[:, logit.others]
    u = (off[:, :, None] * model.x[:, None, :]).reshape(len(off), -1)
    influence = u * model.used[:, None]
    back = classes.inverse[:, logit.others]
    mass = (model.weights[:, None] * targets).T @ model.x  # [classes, terms]
    k, n_terms = first.n_classes, model.x.shape[1]
    by_errors = -np.einsum("ap,bk->kpab", mass, back).reshape(len(logit.others) * n_terms, k * k)
    influence += classes.influence() @ by_errors.T
    if assignment == "proportional":
        influence += classes.through_shares(
            lambda s: (back[s][None, :, None] * model.x[:, None, :]).reshape(len(off), -1), model.weights
        )
    covariance = model.sampling.covariance(influence @ inner)
    value = float(model.weights @ np.einsum("ik,ik->i", targets, logit.log))
    point = joint_point(logit, first, model)
    return Estimate(logit, covariance, value, converged, regular, logit.size, point)


def _weighted_logit(
    logit: ClassLogit, targets: FloatArray, weights: FloatArray, tol: float
) -> tuple[ClassLogit, bool]:
    """Newton's method for a logit model whose classes have weights, some of which may be negative."""

    def objective(at: ClassLogit) -> float:
        value = float(weights @ np.einsum("ik,ik->i", targets, at.log))
        return value if at.penalty is None else value - at.penalty[0]

    every = weights[:, None] * np.eye(1, targets.shape[1])
    for _ in range(100):
        slope = ((weights[:, None] * (targets - logit.probabilities))[:, logit.others].T @ logit.x).ravel()
        bend = logit.complete(every)
        if logit.penalty is not None:
            slope, bend = slope - logit.penalty[1], bend + logit.penalty[2]
        inner, _ = inverse(bend)
        step = inner @ slope
        promised, size = 0.5 * float(slope @ step), 1.0
        if promised < tol:
            return logit.moved(step), True
        here = objective(logit)
        while not objective(proposed := logit.moved(size * step)) >= here and size > 1e-6:
            size /= 2
        logit = proposed
    return logit, False


def _sum_rows(values: FloatArray, row: IndexArray, n: int) -> FloatArray:
    return np.column_stack([np.bincount(row, column, n) for column in values.T])


def _estimate(
    found: Maximum,
    covariance: FloatArray,
    regular: bool,
    n_parameters: int,
    point: Point,
    logit: ClassLogit | None = None,
) -> Estimate:
    own = logit or found.point.parts[0]
    assert isinstance(own, ClassLogit)
    if not np.isfinite(covariance).all():
        raise DataError("The covariance of the coefficients is not finite.")
    return Estimate(own, covariance, found.point.log_likelihood, found.converged, regular, n_parameters, point)
