"""The sampler of [Whiley1999] with the acceptance ratios that are printed there, (5.12) to (5.15), which are wrong.

(5.12) is right. (5.13), a combination, has the factor k where 1/(k-1) belongs; (5.14) and (5.15), a birth and a death,
lack the choice of the empty class and the number of places, (k+1)/(k0+1) for k0 empty classes before. Each error is a
factor that depends on k and k0 only, so the library's kernel makes the printed move if it is given another prior of k
for that one move: all that a move sees of the prior are P(k+1)/P(k) and P(k-1)/P(k).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from latentree._table import Table
from latentree._types import FloatArray
from latentree.bayes import ClassPrior, Target, init
from latentree.bayes._chain import MOVES

__all__ = ["Printed", "printed_posterior"]

_BEFORE = [MOVES[name] for name in ("weights", "parameters", "allocation", "split_combine")]
_AFTER = [MOVES["birth_death"]]


class Printed:
    """A chain that moves by the printed ratios; both Dirichlet parameters are 1, and P(k) is uniform.

    Parameters
    ----------
    table : Table
        The data.
    k_max : int
        Most classes.
    rng : numpy.random.Generator
        Where the chain starts, from one class, and its random numbers.
    """

    def __init__(self, table: Table, k_max: int, rng: np.random.Generator) -> None:
        def target(chances: tuple[float, ...]) -> Target:
            return Target.of(table, ClassPrior(chances), split="source")

        self.targets = cache(target)
        start = init(target((1.0,) * k_max), rng, k=1)
        self.k, self.k_max, self.stream = 1, k_max, start.stream
        self.log_weights, self.log_theta = np.zeros(k_max), np.zeros((k_max, start.log_theta.shape[1]))
        self.members = np.zeros((k_max, start.members.shape[1]), dtype=np.int64)
        self.log_weights[:1], self.log_theta[:1], self.members[:1] = start.log_weights, start.log_theta, start.members

    def sweep(self) -> int:
        """Make a sweep, and return the number of classes after it."""
        k = self.k
        self._move(_BEFORE, up=1.0, down=k * (k - 1))
        k, empty = self.k, int((~self.members[: self.k].any(axis=1)).sum())
        self._move(_AFTER, up=(empty + 1) / (k + 1), down=k / max(empty, 1))
        return self.k

    def _move(self, moves: list[int], *, up: float, down: float) -> None:
        """Make moves whose ratios have these factors more than the right ones have."""
        k, chances = self.k, [1.0] * self.k_max
        chances[k:] = [up] * (self.k_max - k)
        chances[: k - 1] = [down] * (k - 1)
        own = self.targets(tuple(chances)).kernel.advance(
            self.k, self.log_weights, self.log_theta, self.members, self.stream, moves, 1, 2, False
        )
        self.k, self.log_weights, self.log_theta, self.members, self.stream = own[:5]


def printed_posterior(table: Table, k_max: int, rng: np.random.Generator, *, burn: int, sweeps: int) -> FloatArray:
    """How often the chain is at k = 1 ... kmax classes.

    Examples
    --------
    >>> table = Table.from_codes([[0, 0], [1, 1]], weights=[5, 5])
    >>> float(printed_posterior(table, 2, np.random.default_rng(0), burn=10, sweeps=100).sum())
    1.0
    """
    chain = Printed(table, k_max, rng)
    for _ in range(burn):
        chain.sweep()
    counts = np.zeros(k_max)
    for _ in range(sweeps):
        counts[chain.sweep() - 1] += 1
    return counts / sweeps
