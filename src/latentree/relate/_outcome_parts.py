"""Outcomes given the class: normal, categorical or Poisson, with covariates that act alike in all classes."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from scipy.special import gammaln

from .._lazy import cached_property
from .._types import FloatArray, IndexArray
from ._mixture import Part

__all__ = ["Categories", "Count", "Kind", "Normal", "OutcomePart"]

Kind = Literal["continuous", "categorical", "count"]


class OutcomePart(Part):
    """An outcome whose mean follows from the class and covariates through its canonical link.

    Parameters
    ----------
    y : float array [rows]
        The outcome, or positions of its categories; nan where missing.
    z : float array [rows, covariates]
        Covariates, centred.
    parameters : float array
        For each class (and category but the first) a constant, then slopes, then what the density needs beside.
    n_classes : int
        Number of classes.
    """

    n_categories = 1
    n_extra = 0

    def __init__(self, y: FloatArray, z: FloatArray, parameters: FloatArray, n_classes: int) -> None:
        self.y, self.z, self.parameters, self.n_classes = y, z, parameters, n_classes
        self.n_linear = self.n_categories * (n_classes + z.shape[1])
        self.size = len(parameters)

    @cached_property
    def known(self) -> FloatArray:
        """One where the outcome is known."""
        return (~np.isnan(self.y)).astype(np.float64)

    @cached_property
    def linear(self) -> FloatArray:
        """Linear predictors, [rows, classes, categories but the first]."""
        k, c = self.n_classes, self.n_categories
        constants = self.parameters[: k * c].reshape(k, c)
        slopes = self.parameters[k * c : self.n_linear].reshape(self.z.shape[1], c)
        out: FloatArray = constants + (self.z @ slopes)[:, None, :]
        return out

    @property
    def means(self) -> FloatArray:
        """Expected values, [rows, classes, categories but the first]."""
        raise NotImplementedError

    def spread(self, k: int) -> FloatArray:
        """Variances and covariances given class k, with dispersion one, [rows, categories, categories]."""
        raise NotImplementedError

    @property
    def target(self) -> FloatArray:
        """What the means are compared with, [rows, categories but the first]."""
        return np.where(np.isnan(self.y), 0.0, self.y)[:, None]

    def columns(self, k: int) -> IndexArray:
        """Parameters that the linear predictors of class k depend on, category by category: constant, slopes."""
        c, q = self.n_categories, self.z.shape[1]
        return np.array(
            [[k * c + r, *(self.n_classes * c + j * c + r for j in range(q))] for r in range(c)], dtype=np.int64
        )

    @cached_property
    def carriers(self) -> FloatArray:
        """One and the covariates, [rows, 1 + covariates]."""
        return np.column_stack([np.ones(len(self.y)), self.z])

    def residual_scores(self, k: int, rows: slice = slice(None)) -> FloatArray:
        """(outcome - mean) times one and the covariates, in the columns of all linear parameters."""
        off = (self.target[rows] - self.means[rows, k]) * self.known[rows, None]
        out = np.zeros((len(off), self.n_linear))
        for r, at in enumerate(self.columns(k)):
            out[:, at] = off[:, r, None] * self.carriers[rows]
        return out

    def bend(self, expected: FloatArray, k: int) -> FloatArray:
        """Minus the derivatives of the summed residual scores of class k, given the rows' weights in it."""
        out = np.zeros((self.n_linear, self.n_linear))
        at, spread = self.columns(k), self.spread(k)
        w = expected * self.known
        for r, one in enumerate(at):
            for s, two in enumerate(at):
                out[np.ix_(one, two)] += self.carriers.T @ ((w * spread[:, r, s])[:, None] * self.carriers)
        return out

    # ---- as a part of a mixture --------------------------------------------------------------------------------

    def dispersion(self, k: int) -> float:
        """What variances are multiplied with in class k."""
        return 1.0

    def extra_scores(self, k: int, rows: slice) -> FloatArray | None:
        """Derivatives by the parameter beside the linear ones."""
        return None

    def scores(self, k: int, rows: slice) -> tuple[IndexArray, FloatArray]:
        """Residual scores over the dispersion."""
        own = self.residual_scores(k, rows) / self.dispersion(k)
        extra = self.extra_scores(k, rows)
        if extra is None:
            return np.arange(self.n_linear), own
        return np.append(np.arange(self.n_linear), self.n_linear + k), np.column_stack([own, extra])

    def complete(self, expected: FloatArray) -> FloatArray:
        """Information of a regression whose classes are known."""
        out = np.zeros((self.size, self.size))
        for k in range(self.n_classes):
            out[: self.n_linear, : self.n_linear] += self.bend(expected[:, k], k) / self.dispersion(k)
        return out

    def moved(self, step: FloatArray) -> Self:
        """With other parameters."""
        return type(self)(self.y, self.z, self.parameters + step, self.n_classes)

    def em_step(self, expected: FloatArray) -> Self:
        """One Newton step towards the classes that are expected."""
        return self.newton(expected)

    def newton(self, weights: FloatArray) -> Self:
        """One Newton step of the regression whose rows have these weights in the classes."""
        k = range(self.n_classes)
        slope = sum(weights[:, c] @ (self.residual_scores(c) / self.dispersion(c)) for c in k)
        bend = sum(self.bend(weights[:, c], c) / self.dispersion(c) for c in k)
        step = np.zeros(self.size)
        step[: self.n_linear] = np.linalg.lstsq(np.asarray(bend), np.asarray(slope), rcond=1e-12)[0]
        return self.moved(step)

    @classmethod
    def begin(cls, y: FloatArray, z: FloatArray, weights: FloatArray, n_classes: int) -> Self:
        """The part in which classes do not matter."""
        raise NotImplementedError


class Normal(OutcomePart):
    """A normal outcome; each class has its own variance."""

    @property
    def means(self) -> FloatArray:
        """The linear predictors themselves."""
        return self.linear

    def spread(self, k: int) -> FloatArray:
        """Ones: the dispersion is the variance."""
        return np.ones((len(self.y), 1, 1))

    def dispersion(self, k: int) -> float:
        """The variance of class k."""
        return float(np.exp(2.0 * self.parameters[self.n_linear + k]))

    @cached_property
    def _standard(self) -> FloatArray:
        sigma = np.exp(self.parameters[self.n_linear :])
        out: FloatArray = (self.target - self.means[:, :, 0]) / sigma
        return out

    @cached_property
    def log(self) -> FloatArray:
        """Log-densities; zero where the outcome is missing."""
        logs = -0.5 * (np.log(2 * np.pi) + self._standard**2) - self.parameters[self.n_linear :]
        out: FloatArray = logs * self.known[:, None]
        return out

    def extra_scores(self, k: int, rows: slice) -> FloatArray | None:
        """By the logarithm of the standard deviation."""
        out: FloatArray = (self._standard[rows, k] ** 2 - 1.0) * self.known[rows]
        return out

    def complete(self, expected: FloatArray) -> FloatArray:
        """Two for each row, beside the information of the means."""
        out = super().complete(expected)
        at = self.n_linear + np.arange(self.n_classes)
        out[at, at] = 2.0 * (self.known @ expected)
        return out

    def bending(self, expected: FloatArray) -> FloatArray:
        """With the residuals as they are, which need not be of mean zero and the variance."""
        out = super().complete(expected)
        for k in range(self.n_classes):
            at, w = self.n_linear + k, expected[:, k] * self.known
            out[at, at] = 2.0 * float(w @ self._standard[:, k] ** 2)
            cross = 2.0 * expected[:, k] @ self.residual_scores(k) / self.dispersion(k)
            out[at, : self.n_linear] = out[: self.n_linear, at] = cross
        return out

    def em_step(self, expected: FloatArray) -> Self:
        """Means by weighted regression, then variances."""
        moved = self.newton(expected)
        return moved.with_variances(expected)

    def with_variances(self, weights: FloatArray) -> Self:
        """Variances around the means, given the rows' weights in the classes."""
        off = (self.target - self.means[:, :, 0]) ** 2 * self.known[:, None]
        mass = self.known @ weights
        variances = np.einsum("ik,ik->k", weights, off) / np.where(mass > 0, mass, 1.0)
        floor = 1e-10 * max(float(np.nanvar(self.y)), 1e-300)
        own = self.parameters.copy()
        own[self.n_linear :] = 0.5 * np.log(np.maximum(variances, floor))
        return type(self)(self.y, self.z, own, self.n_classes)

    @classmethod
    def begin(cls, y: FloatArray, z: FloatArray, weights: FloatArray, n_classes: int) -> Self:
        """Overall mean and variance."""
        mean, variance = _moments(y, weights)
        own = np.concatenate(
            [np.full(n_classes, mean), np.zeros(z.shape[1]), np.full(n_classes, 0.5 * np.log(variance))]
        )
        return cls(y, z, own, n_classes)


class Count(OutcomePart):
    """A count with a Poisson distribution."""

    @cached_property
    def means(self) -> FloatArray:
        """Rates."""
        return np.exp(np.minimum(self.linear, 50.0))

    def spread(self, k: int) -> FloatArray:
        """The rates themselves."""
        return self.means[:, k, :, None]

    @cached_property
    def log(self) -> FloatArray:
        """Log-densities; zero where the outcome is missing."""
        logs = self.target * self.linear[:, :, 0] - self.means[:, :, 0] - gammaln(self.target + 1.0)
        out: FloatArray = logs * self.known[:, None]
        return out

    @classmethod
    def begin(cls, y: FloatArray, z: FloatArray, weights: FloatArray, n_classes: int) -> Self:
        """The overall rate."""
        mean = max(_moments(y, weights)[0], 1e-10)
        return cls(y, z, np.concatenate([np.full(n_classes, np.log(mean)), np.zeros(z.shape[1])]), n_classes)


class Categories(OutcomePart):
    """An outcome of several categories, by a multinomial logit against the first."""

    def __init__(self, y: FloatArray, z: FloatArray, parameters: FloatArray, n_classes: int) -> None:
        self.n_categories = len(parameters) // (n_classes + z.shape[1])
        super().__init__(y, z, parameters, n_classes)

    @cached_property
    def _log_shares(self) -> FloatArray:
        """log P(category), [rows, classes, categories]."""
        whole = np.concatenate([np.zeros((*self.linear.shape[:2], 1)), self.linear], axis=2)
        top = whole.max(axis=2, keepdims=True)
        out: FloatArray = whole - top - np.log(np.exp(whole - top).sum(axis=2, keepdims=True))
        return out

    @cached_property
    def means(self) -> FloatArray:
        """Probabilities of all categories but the first."""
        return np.exp(self._log_shares[:, :, 1:])

    def spread(self, k: int) -> FloatArray:
        """Covariances of indicators."""
        p = self.means[:, k]
        out: FloatArray = p[:, :, None] * (np.eye(self.n_categories) - p[:, None, :])
        return out

    @cached_property
    def target(self) -> FloatArray:
        """Indicators of all categories but the first."""
        out: FloatArray = (self.y[:, None] == np.arange(1, self.n_categories + 1)).astype(np.float64)
        return out

    @cached_property
    def log(self) -> FloatArray:
        """log P(the row's category); zero where it is missing."""
        at = np.where(np.isnan(self.y), 0, self.y).astype(np.int64)
        out: FloatArray = self._log_shares[np.arange(len(at)), :, at] * self.known[:, None]
        return out

    @classmethod
    def begin(cls, y: FloatArray, z: FloatArray, weights: FloatArray, n_classes: int) -> Self:
        """Overall shares."""
        known = ~np.isnan(y)
        counts = np.bincount(y[known].astype(np.int64), weights[known]) + 1e-3
        logs = np.log(counts[1:] / counts[0])
        return cls(y, z, np.concatenate([np.tile(logs, n_classes), np.zeros(z.shape[1] * len(logs))]), n_classes)


def _moments(y: FloatArray, weights: FloatArray) -> tuple[float, float]:
    known = ~np.isnan(y) & (weights > 0)
    w = weights[known] / weights[known].sum()
    mean = float(w @ y[known])
    return mean, max(float(w @ (y[known] - mean) ** 2), 1e-12)
