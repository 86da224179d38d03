"""Latent class posteriors by summing over all ways to part a few rows into classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from exact import log_dirichlet
from scipy.special import gammaln, logsumexp


def partitions(n: int) -> Iterator[list[int]]:
    """All partitions of n rows: the class of each row, classes numbered as they appear."""

    def grown(labels: list[int], used: int) -> Iterator[list[int]]:
        if len(labels) == n:
            yield labels
            return
        for c in range(used + 1):
            yield from grown([*labels, c], max(used, c + 1))

    yield from grown([], 0)


def log_marginals(rows, cardinalities, max_classes: int, d1: float, d2: float) -> np.ndarray:
    """ln P(D | k) of k = 1 ... kmax labelled classes, everything else summed or integrated out."""
    rows, n = np.asarray(rows), len(rows)
    known: dict[tuple[int, ...], float] = {}

    def evidence(members: tuple[int, ...]) -> float:
        if members not in known:
            own = rows[list(members)]
            known[members] = sum(
                float(log_dirichlet(np.bincount(x[x >= 0], minlength=r), d2))
                for x, r in zip(own.T, cardinalities, strict=True)
            )
        return known[members]

    by_number: list[list[float]] = [[] for _ in range(n + 1)]
    for labels in partitions(n):
        blocks = [tuple(i for i in range(n) if labels[i] == c) for c in range(max(labels) + 1)]
        total = sum(evidence(b) + gammaln(d1 + len(b)) - gammaln(d1) for b in blocks)
        by_number[len(blocks)].append(total)
    summed = [logsumexp(terms) if terms else -np.inf for terms in by_number]
    return np.array(
        [
            logsumexp([_log_ways(k, t) + summed[t] for t in range(1, min(k, n) + 1)])
            + gammaln(k * d1)
            - gammaln(k * d1 + n)
            for k in range(1, max_classes + 1)
        ]
    )


def _log_ways(k: int, t: int) -> float:
    """Ways to give t classes k labels."""
    return float(gammaln(k + 1) - gammaln(k - t + 1))


def posterior_of_k(rows, cardinalities, prior, d1: float, d2: float) -> np.ndarray:
    """P(k | D), k = 1 ... kmax."""
    total = np.log(prior) + log_marginals(rows, cardinalities, len(prior), d1, d2)
    return np.exp(total - logsumexp(total))
