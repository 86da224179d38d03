"""The kernels' random numbers in Python, draw by draw the same: for the slow twins of the moves."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, exp, log, log1p, pi, sqrt

import numpy as np
from numpy.typing import NDArray

WORD = 2**64 - 1


class Stream:
    """xoshiro256++ (Blackman & Vigna 2019) and what is drawn from it; see ``engine/random.hpp``.

    Examples
    --------
    >>> stream = Stream([1, 2, 3, 4])
    >>> stream.next(), stream.next()
    (41943041, 58720359)
    """

    def __init__(self, words: Sequence[int] | NDArray[np.uint64]) -> None:
        self.words = [int(w) for w in words]

    def copy(self) -> Stream:
        """Return one that goes on the same way."""
        return Stream(self.words)

    def next(self) -> int:
        """Return 64 random bits."""
        s = self.words
        result = (_rotated((s[0] + s[3]) & WORD, 23) + s[0]) & WORD
        t = (s[1] << 17) & WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = _rotated(s[3], 45)
        return result

    def uniform(self) -> float:
        """Return a number between 0 and 1, never one of them."""
        return ((self.next() >> 11) + 0.5) * 2.0**-53

    def below(self, n: int) -> int:
        """Return one of 0, ..., n - 1."""
        return min(int(self.uniform() * n), n - 1)

    def normal(self) -> float:
        """Return a standard normal variate (Box & Muller)."""
        r = sqrt(-2.0 * log(self.uniform()))
        return r * cos(2.0 * pi * self.uniform())

    def log_gamma_variate(self, shape: float) -> float:
        """Return the logarithm of a gamma variate (Marsaglia & Tsang 2000)."""
        if shape < 1.0:
            boost = log(self.uniform()) / shape
            return self.log_gamma_variate(shape + 1.0) + boost
        d = shape - 1.0 / 3.0
        c = 1.0 / sqrt(9.0 * d)
        while True:
            x = self.normal()
            t = 1.0 + c * x
            if t <= 0.0:
                continue
            v = t * t * t
            if log(self.uniform()) < 0.5 * x * x + d - d * v + d * log(v):
                return log(d) + log(v)

    def beta(self, a: float, b: float) -> float:
        """Return a beta variate."""
        x, y = self.log_gamma_variate(a), self.log_gamma_variate(b)
        return 1.0 / (1.0 + exp(y - x))

    def binomial(self, n: int, p: float) -> int:
        """Return a binomial variate: n is halved by its median order statistic until counting up is cheap."""
        total = 0
        while n > 64 and n * min(p, 1.0 - p) > 30.0:
            i = 1 + n // 2
            x = self.beta(i, n + 1 - i)
            if x <= p:
                total, n, p = total + i, n - i, (p - x) / (1.0 - x)
            else:
                n, p = i - 1, p / x
        return total + self._counted_up(n, p)

    def _counted_up(self, n: int, p: float) -> int:
        if n == 0 or p <= 0.0:
            return 0
        if p >= 1.0:
            return n
        if n == 1:
            return int(self.uniform() < p)
        if p > 0.5:
            return n - self._counted_up(n, 1.0 - p)
        left, at = self.uniform(), exp(n * log1p(-p))
        for x in range(n):
            left -= at
            if left <= 0.0:
                return x
            at *= p / (1.0 - p) * (n - x) / (x + 1)
        return n

    def dirichlet(self, alpha: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithms of a Dirichlet variate."""
        logs = np.array([self.log_gamma_variate(float(a)) for a in alpha])
        normalised: NDArray[np.float64] = logs - np.logaddexp.reduce(logs)
        return normalised


def _rotated(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & WORD
