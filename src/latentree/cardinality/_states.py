"""The states of one latent node as arrays, and the four operations on them ([Karciauskas2005] 4.2, 5.2).

Seen from its root, a latent node and its neighbours are a latent class model: ``sizes`` are P(state), and ``profiles``
hold P(neighbour | state) for all neighbours side by side. Every operation makes new arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ..errors import ModelError, bad_parameter

FLOOR = 1e-6
"""A split leaves all probabilities between this and one less this ([Karciauskas2005] 6.2.1)."""


def blocks_of(widths: tuple[int, ...]) -> list[slice]:
    """Where each neighbour's probabilities stand in a profile."""
    ends = list(accumulate(widths, initial=0))
    return [slice(a, b) for a, b in pairwise(ends)]


@lru_cache(maxsize=256)
def equal_blocks(widths: tuple[int, ...]) -> tuple[NDArray[np.intp], ...]:
    """Where the probabilities of neighbours stand in a profile: an array [neighbours, width] for each width."""
    begin = np.cumsum((0, *widths[:-1]), dtype=np.intp)
    of = np.array(widths, dtype=np.intp)
    return tuple(begin[of == w][:, None] + np.arange(w) for w in sorted(set(widths)))


def xlogx(x: FloatArray) -> FloatArray:
    """Compute x log x, which is zero at zero."""
    out: FloatArray = x * np.log(np.where(x > 0, x, 1.0))
    return out


@lru_cache(maxsize=256)
def _order(k: int, widths: tuple[int, ...]) -> NDArray[np.intp]:
    """Where the entries of a flat vector, after the sizes, are in the profiles."""
    at = np.arange(k * sum(widths)).reshape(k, -1)
    return np.concatenate([np.empty(0, dtype=np.intp), *(at[:, b].ravel() for b in blocks_of(widths))])


def flat_states(sizes: FloatArray, profiles: FloatArray, widths: tuple[int, ...]) -> FloatArray:
    """Flat vectors of several sets of states: ``sizes`` [sets, k] and ``profiles`` [sets, k, sum of widths]."""
    n, k = sizes.shape
    return np.hstack([sizes, profiles.reshape(n, -1)[:, _order(k, widths)]])


@dataclass(frozen=True, eq=False)
class States:
    """Sizes and profiles of the states of a latent node.

    Attributes
    ----------
    sizes : float array [k]
        P(state).
    profiles : float array [k, sum of widths]
        P(neighbour | state), one neighbour after the other.
    widths : tuple of int
        How many states each neighbour has.

    Examples
    --------
    >>> states = States(np.array([0.4, 0.6]), np.array([[0.9, 0.1], [0.2, 0.8]]), (2,))
    >>> states.merge(0, 1).profiles.round(2).tolist()
    [[0.48, 0.52]]
    >>> states.split(1, np.array([0.1, -0.1])).profiles.round(2).tolist()
    [[0.9, 0.1], [0.3, 0.7], [0.1, 0.9]]
    >>> states.remove(0).sizes.tolist()
    [1.0]
    """

    sizes: FloatArray
    profiles: FloatArray
    widths: tuple[int, ...]

    @classmethod
    def of(cls, parameters: FloatArray, widths: tuple[int, ...]) -> States:
        """Read them from the flat vector of a star: the root's table, then that of each neighbour."""
        k = len(parameters) // (1 + sum(widths))
        profiles = np.empty(k * sum(widths))
        profiles[_order(k, widths)] = parameters[k:]
        return cls(parameters[:k], profiles.reshape(k, -1), widths)

    @property
    def flat(self) -> FloatArray:
        """The flat vector of the star."""
        return np.concatenate([self.sizes, self.profiles.ravel()[_order(self.n, self.widths)]])

    @property
    def n(self) -> int:
        """How many states there are."""
        return len(self.sizes)

    @property
    def blocks(self) -> list[slice]:
        """Where each neighbour's probabilities stand in a profile."""
        return blocks_of(self.widths)

    def introduce(self, profile: FloatArray | None = None, p: float = 0.01) -> States:
        """Add a state of size ``p``, the others shrinking in proportion (definition 4.1); its profile may be given."""
        if not 0 < p < 1:
            raise bad_parameter("p", "introduce", "between 0 and 1", p)
        even = np.repeat(1.0 / np.array(self.widths, dtype=float), self.widths)
        new = even if profile is None else np.asarray(profile, dtype=np.float64)
        if new.shape != even.shape:
            raise ModelError(f"A state's profile has {len(even)} probabilities here. Got shape {new.shape}.")
        return States(np.append((1 - p) * self.sizes, p), np.vstack([self.profiles, new]), self.widths)

    def split(self, state: int, direction: FloatArray, *, clip: bool = False) -> States:
        """Replace a state by two of half its size, its profile moved to both sides (definition 4.2).

        The first takes the place of the old state, the second comes last. All probabilities stay within
        [1e-6, 1 - 1e-6]. With ``clip``, those beyond are set to the limits and each distribution is normalised
        (4.4.2). Otherwise a neighbour's part of the direction, whose sum must be zero, is shortened so that both halves
        stay inside, and is dropped where the state itself is outside already (6.2.1).
        """
        s = self._checked(state)
        own, r = self.profiles[s], np.asarray(direction, dtype=np.float64)
        if r.shape != own.shape:
            raise ModelError("A direction has {n} entries here. Got shape {shape}.", n=len(own), shape=r.shape)
        if not clip:
            r = self._shortened(own, r)
        two = np.stack([own + r, own - r])
        sizes = np.append(self.sizes, self.sizes[s] / 2)
        sizes[s] /= 2
        first, second = self._clipped(two) if clip else two
        profiles = np.vstack([self.profiles, second])
        profiles[s] = first
        return States(sizes, profiles, self.widths)

    def replace(self, state: int, two: States) -> States:
        """Put two states, fitted on their own, in the place of one: they divide its size."""
        s = self._checked(state)
        sizes = np.append(self.sizes, self.sizes[s] * two.sizes[1])
        sizes[s] = self.sizes[s] * two.sizes[0]
        profiles = np.vstack([self.profiles, two.profiles[1]])
        profiles[s] = two.profiles[0]
        return States(sizes, profiles, self.widths)

    def remove(self, state: int) -> States:
        """Take a state away, the others growing in proportion (definition 5.1)."""
        s = self._checked(state)
        if self.n == 1:
            raise ModelError("The only state of a latent node cannot be removed.")
        sizes = np.delete(self.sizes, s)
        total = sizes.sum()
        sizes = sizes / total if total > 0 else np.full(len(sizes), 1.0 / len(sizes))
        return States(sizes, np.delete(self.profiles, s, axis=0), self.widths)

    def smoothed(self) -> States:
        """No value ruled out: rows that only a state taken away could explain must remain possible."""
        even = np.repeat(1.0 / np.array(self.widths), self.widths)
        return States(self.sizes, (1 - FLOOR) * self.profiles + FLOOR * even, self.widths)

    def merge(self, a: int, b: int) -> States:
        """Make one state of two, their average weighted by size (definition 5.2). It takes the place of the first."""
        a, b = self._checked(a), self._checked(b)
        if a == b:
            raise ModelError(f"State {a} cannot be merged with itself.")
        total = self.sizes[a] + self.sizes[b]
        share = self.sizes[a] / total if total > 0 else 0.5
        sizes, profiles = self.sizes.copy(), self.profiles.copy()
        sizes[a] = total
        profiles[a] = share * profiles[a] + (1 - share) * profiles[b]
        return States(np.delete(sizes, b), np.delete(profiles, b, axis=0), self.widths)

    def _checked(self, state: int) -> int:
        if not 0 <= state < self.n:
            raise ModelError(f"The states are 0 to {self.n - 1}. Got {state}.")
        return int(state)

    def _shortened(self, profile: FloatArray, direction: FloatArray) -> FloatArray:
        out = np.zeros_like(profile)
        room = np.minimum(profile - FLOOR, 1 - FLOOR - profile)  # on both sides, since one state goes each way
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(direction != 0, room / np.abs(direction), np.inf)
        for at in equal_blocks(self.widths):
            inside = (room[at] >= 0).all(axis=1) & (direction[at] != 0).any(axis=1)
            out[at[inside]] = direction[at[inside]] * np.minimum(1.0, most[at[inside]].min(axis=1, keepdims=True))
        return out

    def _clipped(self, profiles: FloatArray) -> FloatArray:
        inside = np.clip(profiles, FLOOR, 1 - FLOOR)
        for b in self.blocks:
            inside[:, b] /= inside[:, b].sum(axis=1, keepdims=True)
        return inside
