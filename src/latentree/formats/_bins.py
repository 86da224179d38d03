"""Cutting numbers into bins of equal frequency, and merging rare values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ..errors import Advice, ParameterError, Surface

__all__ = ["bin_labels", "equal_frequency", "explicit_edges", "merge_neighbours", "merge_rest"]


ALL = "all"
"""The state of a column that was cut nowhere."""

OWNER = "Table.from_frame"
"""What errors call the function whose options these are."""

SLACK = 1e-9
"""Share of the total weight by which a cumulated weight may miss a quantile and still count as on it."""


def equal_frequency(values: NDArray[Any], counts: FloatArray, n_bins: int) -> FloatArray:
    """Edges between bins that hold about the same weight.

    The edges are the quantiles 1/n, 2/n, ... of the weighted values by the second definition of Hyndman and Fan (1996,
    The American Statistician 50, 361-365): the smallest value with at least that share of the weight at or below it,
    and half way to the next value if the share is met exactly. Two bins thus mean ``x > median`` ([Karciauskas2005]
    6.3.3), and a weight means what repeating the value means. Where many values are equal, edges fall together and
    there are fewer bins. An edge at the largest value would leave nothing above; it moves below that value.

    Examples
    --------
    >>> equal_frequency(np.array([1.0, 2.0, 5.0, 9.0]), np.ones(4), 2)
    array([3.5])
    """
    below = np.cumsum(counts)
    slack = SLACK * below[-1]
    last = len(values) - 2  # the last position after which a cut leaves something on both sides
    cuts: dict[int, float] = {}
    for i in range(1, n_bins):
        share = below[-1] * i / n_bins
        at = int(np.searchsorted(below, share - slack))
        on_it = at > last or below[at] <= share + slack
        at = min(at, last)
        if at >= 0 and (on_it or at not in cuts):
            cuts[at] = _half_way(values[at], values[at + 1]) if on_it else float(values[at])
    return np.array([cuts[at] for at in sorted(cuts)])


def _half_way(low: float, high: float) -> float:
    middle = float(low) / 2 + float(high) / 2
    return middle if low <= middle < high else float(low)


def explicit_edges(name: str, given: Iterable[Any]) -> FloatArray:
    """Edges that the user listed, checked."""
    try:
        edges = np.array(list(given), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise bad_bins(name, given) from None
    if edges.ndim != 1 or len(edges) == 0 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise bad_bins(name, edges.tolist())
    return edges


def bad_bins(name: str, got: object) -> ParameterError:
    """Say what the bins of one column must be."""
    message = (
        "{bins}: column '{column}' needs a whole number of bins of at least 2, or edges in ascending order. "
        "Got {got} instead."
    )
    return ParameterError(message, bins=Advice("bins"), column=name, got=_Edges("bins", got))


class _Edges(Advice):
    """What was given instead: a list in Python, numbers with colons between them in the shell."""

    def shown(self, surface: Surface) -> str:
        """Put it into the words of a surface."""
        if surface == "python" or not isinstance(self.value, list | tuple):
            return repr(self.value)
        return ":".join(f"{x:g}" if isinstance(x, float) else str(x) for x in self.value)


def bin_labels(edges: Sequence[float] | FloatArray, *, whole: bool = False) -> tuple[str, ...]:
    """Readable names of the bins.

    Examples
    --------
    >>> bin_labels([3.5, 7])
    ('<= 3.5', '3.5 to 7', '> 7')
    >>> bin_labels([3.5, 7, 8], whole=True)
    ('<= 3', '4 to 7', '8', '>= 9')
    """
    if len(edges) == 0:
        return (ALL,)
    ends = [math.floor(e) for e in edges]
    if whole and all(a < b for a, b in pairwise(ends)):
        middle = [f"{a + 1}" if a + 1 == b else f"{a + 1} to {b}" for a, b in pairwise(ends)]
        return (f"<= {ends[0]}", *middle, f">= {ends[-1] + 1}")
    texts = _distinct_texts(edges)
    return (f"<= {texts[0]}", *(f"{a} to {b}" for a, b in pairwise(texts)), f"> {texts[-1]}")


def _distinct_texts(numbers: Iterable[float]) -> list[str]:
    own = [float(x) for x in numbers]
    for digits in (6, 9, 12):
        texts = [f"{x:.{digits}g}" for x in own]
        if len(set(texts)) == len(texts):
            return texts
    return [repr(x) for x in own]


def merge_neighbours(counts: FloatArray, least: float) -> list[list[int]]:
    """Merge ordered values until each group has enough cases.

    The smallest group joins its smaller neighbour ([Zhang2004] 5.2). Of equally small groups the first is merged, with
    the neighbour before it if both are equal.

    Examples
    --------
    >>> merge_neighbours(np.array([500.0, 40.0, 10.0, 5.0]), 30)
    [[0], [1, 2, 3]]
    """
    n = len(counts)
    # A group is known by its first value; entries of the heap that no longer fit are passed over.
    sizes = dict(enumerate(counts.tolist()))
    before, after = list(range(-1, n - 1)), list(range(1, n + 1))
    heap = [(size, i) for i, size in sizes.items() if size < least]
    heapify(heap)
    while heap and len(sizes) > 1:
        size, at = heappop(heap)
        if sizes.get(at) != size:
            continue
        sides = [i for i in (before[at], after[at]) if 0 <= i < n]
        other = min(sides, key=sizes.__getitem__)
        low, high = min(at, other), max(at, other)
        sizes[low] += sizes.pop(high)
        after[low] = after[high]
        if after[high] < n:
            before[after[high]] = low
        if sizes[low] < least:
            heappush(heap, (sizes[low], low))
    return [list(range(first, after[first])) for first in sorted(sizes)]


def merge_rest(counts: FloatArray, least: float, pooled: Iterable[int] = ()) -> list[int]:
    """Choose values without order to pool: the rare ones, and no others.

    A pool that is rare itself stays so. Values without order have no neighbour that it could join, and an answer that
    many gave must not be lost because two people gave another.

    Examples
    --------
    >>> merge_rest(np.array([500.0, 400.0, 10.0, 25.0]), 30)
    [2, 3]
    >>> merge_rest(np.array([500.0, 400.0, 2.0]), 30)
    [2]
    """
    pool = set(pooled)
    rare = {i for i in np.flatnonzero(counts < least).tolist() if i not in pool}
    return sorted(pool | rare) if rare else []
