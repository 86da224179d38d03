"""Assigned classes and the errors of assigning ([BolckCroonHagenaars2004], [Vermunt2010])."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from .._lazy import cached_property
from .._types import FloatArray, IndexArray
from ..errors import Advice, DataError
from ._measurement import FirstStep

__all__ = ["Assignment", "Classification"]

Assignment = Literal["modal", "proportional"]


class Classification:
    """Classes that rows are assigned to, whole (modal) or in shares (proportional).

    Parameters
    ----------
    first : FirstStep
        The measurement part.
    assignment : {"modal", "proportional"}
        How rows are assigned.
    """

    def __init__(self, first: FirstStep, assignment: Assignment = "modal") -> None:
        self.first, self.assignment, self.n_classes = first, assignment, first.n_classes
        tau = first.point.posterior
        self.shares: FloatArray = tau if assignment == "proportional" else np.eye(self.n_classes)[tau.argmax(axis=1)]

    @classmethod
    def of(cls, first: FirstStep, assignment: Assignment) -> Classification:
        """The classification of a first step, found once."""
        if assignment not in first.kept:
            first.kept[assignment] = cls(first, assignment)
        found: Classification = first.kept[assignment]
        return found

    @cached_property
    def _mass(self) -> FloatArray:
        mass: FloatArray = self.first.point.weights @ self.first.point.posterior
        return mass

    @cached_property
    def errors(self) -> FloatArray:
        """P(assigned to s | member of t), [t, s]: posteriors averaged over the rows ([Vermunt2010])."""
        own: FloatArray = self.first.point.expected.T @ self.shares / self._mass[:, None]
        return own

    @cached_property
    def inverse(self) -> FloatArray:
        """Inverse of the table of errors."""
        try:
            own: FloatArray = np.linalg.inv(self.errors).astype(np.float64)
        except np.linalg.LinAlgError:
            raise DataError(
                "The assignment of rows says nothing about some classes, so that it cannot be corrected for errors. "
                "Use fewer classes, or {method}.",
                method=Advice("method", "one-step"),
            ) from None
        return own

    @cached_property
    def weights(self) -> FloatArray:
        """BCH weights of each row in each class; a row's sum to one, some may be negative."""
        own: FloatArray = self.shares @ self.inverse
        return own

    def records(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Row, assigned class and share of each record: one record a row, or one for each class."""
        n, k = self.shares.shape
        if self.assignment == "modal":
            return np.arange(n), self.shares.argmax(axis=1), np.ones(n)
        return np.repeat(np.arange(n), k), np.tile(np.arange(k), n), self.shares.ravel()

    @cached_property
    def by_parameters(self) -> FloatArray:
        """Derivatives of the table of errors by the parameters of the first step, [classes * classes, parameters]."""
        k, first = self.n_classes, self.first
        out = np.zeros((k, k, first.point.size))
        expected = first.point.expected
        for t in range(k):
            own = first.centred(t)
            out[t] += (expected[:, t, None] * (self.shares - self.errors[t])).T @ own
            if self.assignment == "proportional":
                for u in range(k):
                    out[u, t] += (expected[:, u] * first.point.posterior[:, t]) @ own
        return (out / self._mass[:, None, None]).reshape(k * k, -1)

    @cached_property
    def influence(self) -> FloatArray:
        """By how much each row moves the table of errors, [rows, classes * classes]."""
        tau = self.first.point.posterior
        own = tau[:, :, None] * (self.shares[:, None, :] - self.errors) / self._mass[:, None]
        moved: FloatArray = own.reshape(len(tau), -1) + self.first.influence @ self.by_parameters.T
        return moved

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the table of errors."""
        return self.first.sampling.covariance(self.influence)

    def through_weights(self, of_class: Callable[[int], FloatArray], weights: FloatArray) -> FloatArray:
        """What rows move through the BCH weights, [rows, estimates].

        ``of_class(k)`` is the derivative of each row's scores by its weight in class k. The weights W inv(D) change by
        -W inv(D) dD inv(D) with the table of errors, and by dW inv(D) with the shares.
        """
        k, own = self.n_classes, [of_class(c) for c in range(self.n_classes)]
        sums = np.array([(weights[:, None] * self.weights).T @ part for part in own])  # [k, a, estimates]
        by_errors = -np.einsum("kae,bk->eab", sums, self.inverse).reshape(sums.shape[2], k * k)
        moved: FloatArray = self.influence @ by_errors.T
        if self.assignment == "proportional":
            moved += self.through_shares(lambda s: sum(self.inverse[s, c] * own[c] for c in range(k)), weights)
        return moved

    def through_shares(self, of_share: Callable[[int], FloatArray], weights: FloatArray) -> FloatArray:
        """What rows move through the shares of proportional assignment, [rows, estimates].

        ``of_share(s)`` is the derivative of each row's scores by its share of class s.
        """
        first, total = self.first, None
        for s in range(self.n_classes):
            own = (weights * first.point.posterior[:, s])[:, None] * first.centred(s)
            part = of_share(s).T @ own
            total = part if total is None else total + part
        assert total is not None
        moved: FloatArray = first.influence @ total.T
        return moved
