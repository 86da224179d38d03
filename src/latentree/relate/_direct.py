"""Covariates that act on items directly: differential item functioning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .._lazy import cached_property
from .._types import FloatArray, IndexArray
from ._mixture import Part

__all__ = ["DirectEffects", "adjusted"]


class DirectEffects(Part):
    """One item whose log-odds follow from the class and from covariates.

    Parameters
    ----------
    codes : int array [rows]
        Answers, -1 where missing.
    z : float array [rows, covariates]
        The covariates.
    constants : float array [classes, answers]
        Log-odds against the answer ``base``, whose column is zero, where covariates are zero.
    slopes : float array [1 or classes, covariates, answers]
        How the covariates change them: alike in all classes (uniform) or in each class by itself.
    base : int
        The answer that the others are compared with.
    """

    def __init__(
        self, codes: NDArray[np.int16], z: FloatArray, constants: FloatArray, slopes: FloatArray, base: int
    ) -> None:
        self.codes, self.z, self.constants, self.slopes, self.base = codes, z, constants, slopes, base
        self.others = [r for r in range(constants.shape[1]) if r != base]
        self.uniform = len(slopes) == 1
        self.n_classes, self.width = len(constants), len(self.others)
        self.n_constants = self.n_classes * self.width
        self.size = self.n_constants + len(slopes) * z.shape[1] * self.width

    @classmethod
    def begin(cls, codes: NDArray[np.int16], z: FloatArray, table: FloatArray, *, uniform: bool = True) -> Self:
        """No effect yet, and an item's probabilities in the classes."""
        base = int(table.sum(axis=0).argmax())
        logs = np.log(np.clip(table, 1e-6, None))
        n = 1 if uniform else len(table)
        return cls(codes, z, logs - logs[:, base, None], np.zeros((n, z.shape[1], table.shape[1])), base)

    @cached_property
    def known(self) -> FloatArray:
        """One where the item was answered."""
        return (self.codes >= 0).astype(np.float64)

    @cached_property
    def _logs(self) -> FloatArray:
        """log P(answer | class, covariates), [rows, classes, answers]."""
        moved = np.einsum("iq,kqr->ikr", self.z, self.slopes)
        linear = self.constants + moved
        top = linear.max(axis=2, keepdims=True)
        out: FloatArray = linear - top - np.log(np.exp(linear - top).sum(axis=2, keepdims=True))
        return out

    @cached_property
    def probabilities(self) -> FloatArray:
        """P(answer | class, covariates), [rows, classes, answers]."""
        return np.exp(self._logs)

    @cached_property
    def log(self) -> FloatArray:
        """log P(the row's answer); zero where it is missing."""
        at = np.maximum(self.codes, 0)
        out: FloatArray = self._logs[np.arange(len(at)), :, at] * self.known[:, None]
        return out

    def _columns(self, k: int) -> IndexArray:
        """Parameters of class k, answer by answer: constant, slopes."""
        start = self.n_constants + (0 if self.uniform else k * self.z.shape[1] * self.width)
        return np.array(
            [
                [k * self.width + r, *(start + q * self.width + r for q in range(self.z.shape[1]))]
                for r in range(self.width)
            ],
            dtype=np.int64,
        )

    @cached_property
    def _carriers(self) -> FloatArray:
        return np.column_stack([np.ones(len(self.codes)), self.z])

    def scores(self, k: int, rows: slice) -> tuple[IndexArray, FloatArray]:
        """(answer given or not, less its probability) times one and the covariates."""
        off = (self.codes[rows, None] == self.others) - self.probabilities[rows, k][:, self.others]
        off = off * self.known[rows, None]
        carriers = self._carriers[rows]
        return self._columns(k).ravel(), np.hstack([off[:, r, None] * carriers for r in range(self.width)])

    def complete(self, expected: FloatArray) -> FloatArray:
        """Information of a multinomial logit whose classes are known."""
        out = np.zeros((self.size, self.size))
        for k in range(self.n_classes):
            p, at = self.probabilities[:, k][:, self.others], self._columns(k)
            for r in range(self.width):
                for s in range(self.width):
                    w = expected[:, k] * self.known * p[:, r] * (float(r == s) - p[:, s])
                    out[np.ix_(at[r], at[s])] += self._carriers.T @ (w[:, None] * self._carriers)
        return out

    def moved(self, step: FloatArray) -> Self:
        """With other log-odds and slopes."""
        constants, slopes = self.constants.copy(), self.slopes.copy()
        constants[:, self.others] += step[: self.n_constants].reshape(self.n_classes, self.width)
        slopes[:, :, self.others] += step[self.n_constants :].reshape(len(slopes), -1, self.width)
        return type(self)(self.codes, self.z, np.clip(constants, -30.0, 30.0), slopes, self.base)

    def em_step(self, expected: FloatArray) -> Self:
        """One Newton step towards the classes that are expected."""
        slope = np.zeros(self.size)
        for k in range(self.n_classes):
            at, own = self.scores(k, slice(None))
            np.add.at(slope, at, expected[:, k] @ own)
        step: FloatArray = np.linalg.lstsq(self.complete(expected), slope, rcond=1e-12)[0].astype(np.float64)
        return self.moved(step)

    @property
    def held(self) -> NDArray[np.bool_]:
        """Log-odds of answers that a class does not give."""
        out = np.zeros(self.size, dtype=bool)
        out[: self.n_constants] = (np.abs(self.constants[:, self.others]) > 13.5).ravel()
        return out

    @property
    def slope_columns(self) -> IndexArray:
        """Where the slopes are."""
        return np.arange(self.n_constants, self.size)


def adjusted(p: Sequence[float], correction: str | None) -> FloatArray:
    """P-values corrected for being many: Holm, Benjamini-Hochberg, Bonferroni, or as they are.

    Examples
    --------
    >>> adjusted([0.01, 0.04, 0.03], "holm").round(3).tolist(), adjusted([0.01, 0.04, 0.03], "bh").round(3).tolist()
    ([0.03, 0.06, 0.06], [0.03, 0.04, 0.04])
    """
    own = np.asarray(p, dtype=np.float64)
    order, n = np.argsort(own), len(own)
    if correction == "holm":
        steps = np.maximum.accumulate(own[order] * np.arange(n, 0, -1))
    elif correction == "bh":
        steps = np.minimum.accumulate((own[order] * n / np.arange(1, n + 1))[::-1])[::-1]
    else:
        steps = own[order] * (n if correction == "bonferroni" else 1)
    out = np.empty(n)
    out[order] = np.minimum(steps, 1.0)
    return out
