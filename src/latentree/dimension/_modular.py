"""Exact rank of a matrix of integers modulo a prime of 31 bits.

Elimination by panels: inside a panel column by column, everything to its right by one matrix product. The products run
in floating point, which is exact as long as no sum reaches 2^53: one factor is cut into halves of at most 16 bits, so
that 64 terms of 16 + 31 bits fit.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from .._types import IndexArray

BITS = 31
"""Primes lie between 2^30 and 2^31: squares, and sums of two squares, fit in 64 bits."""

N_PRIMES = 50_697_537
"""How many primes lie there."""

PANEL = 64


def random_prime(rng: np.random.Generator) -> int:
    """Draw a prime between 2^30 and 2^31, each with the same probability.

    Examples
    --------
    >>> p = random_prime(np.random.default_rng(0))
    >>> 2**30 < p < 2**31, all(p % q for q in range(2, 40_000))
    (True, True)
    """
    while True:
        n = int(rng.integers(2 ** (BITS - 1), 2**BITS)) | 1
        if (n % np.arange(3, isqrt(n) + 1, 2)).all():
            return n


def product(a: IndexArray, b: IndexArray, p: int) -> IndexArray:
    """Multiply two matrices modulo p."""
    total = np.zeros((a.shape[0], b.shape[1]), dtype=np.int64)
    for start in range(0, a.shape[1], PANEL):
        high, low = np.divmod(a[:, start : start + PANEL], 2**16)
        part = b[start : start + PANEL].astype(np.float64)
        upper = (high.astype(np.float64) @ part).astype(np.int64) % p
        total += upper * 2**16 + (low.astype(np.float64) @ part).astype(np.int64)
        total %= p
    return total


def rank(matrix: IndexArray, p: int) -> int:
    """Rank of a matrix modulo a prime; the entries must lie in 0..p-1."""
    a = np.array(matrix, dtype=np.int64)
    done = 0
    for start in range(0, a.shape[1], PANEL):
        panel, right = a[done:, start : start + PANEL], a[done:, start + PANEL :]
        factors, found = _eliminate(panel, right, p)
        _follow(factors[:found], right[:found], p)
        right[found:] -= product(factors[found:], right[:found], p)
        right[found:] %= p
        done += found
        if done == len(a):
            break
    return done


def _eliminate(panel: IndexArray, right: IndexArray, p: int) -> tuple[IndexArray, int]:
    """Eliminate inside a panel, exchanging whole rows; give the multipliers, a column a pivot, and their number."""
    factors = np.zeros_like(panel)
    found = 0
    for column in range(panel.shape[1]):
        if found == len(panel):
            break
        at = found + int(np.argmax(panel[found:, column] != 0))
        pivot = int(panel[at, column])
        if pivot == 0:
            continue
        if at != found:
            for part in (panel, right, factors):
                part[[found, at]] = part[[at, found]]
        own = panel[found + 1 :, column:]
        factors[found + 1 :, found] = own[:, 0] * pow(pivot, -1, p) % p
        own += (p - factors[found + 1 :, found, None]) * panel[found, column:]
        own %= p
        found += 1
    return factors[:, :found], found


def _follow(factors: IndexArray, right: IndexArray, p: int) -> None:
    """Do to the pivots' rows, in the columns to the right, what was done to them inside the panel."""
    for i in range(len(factors) - 1):
        right[i + 1 :] += (p - factors[i + 1 :, i, None]) * right[i]
        right[i + 1 :] %= p
