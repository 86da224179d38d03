"""Division of a latent: two latents take its place, each with some of its neighbours and with fewer states.

It undoes a union that went too far. A new node alone (NI) cannot, since the latent keeps all its states until a later
step. What a division costs is known beforehand, from the completed data: on each side the states that say nearly the
same about the neighbours there are merged, one pair after the other, so that no division need be fitted to be judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from .._types import FloatArray, IndexArray
from ._network import Network
from ._operators import Move

MOST_NEIGHBOURS = 6
"""Latents of more neighbours are not divided: the ways to part them are too many."""
PER_LATENT = 3
"""Divisions of a latent that are tried, of all ways to part its neighbours those that lose least."""
_REFINED = 3
"""How often a group of neighbours may say anew which states to merge."""
LOSS_LEFT = 0.4
"""The share of the loss in completed data that is left at best when the probabilities are fitted."""


def divisions(network: Network, a: int, n: float, rate: float, least: float) -> Iterator[Move]:
    """Ways to divide a latent that may gain at least ``least``, the most promising first.

    ``n`` is the number of rows and ``rate`` what a parameter costs.
    """
    graph = network.graph
    neighbours, k = graph.neighbours[a], graph.cardinality[a]
    if k < 3 or not 4 <= len(neighbours) <= MOST_NEIGHBOURS:
        return
    marginal = network.marginals[a]
    free = np.array([graph.cardinality[b] - 1 for b in neighbours])
    tables = [network.conditional(b, a) for b in neighbours]
    sizes = np.arange(2, k)
    found = []
    for below in _sides(len(neighbours)):
        rest = [i for i in range(len(neighbours)) if i not in below]
        lost = [n * _losses(marginal, np.hstack([tables[i] for i in side])) for side in (rest, below)]
        own, new = sizes[:, None], sizes[None, :]
        after = own - 1 + own * free[rest].sum() + own * (new - 1) + new * free[list(below)].sum()
        before = k - 1 + k * free.sum()
        loss = lost[0][sizes][:, None] + lost[1][sizes][None, :]
        saved = rate * (before - after)
        # two latents whose states cannot make up those of the one lose what a smaller latent would lose, too
        worth = np.where(own * new >= k, saved - loss, -np.inf)
        i, j = np.unravel_index(np.argmax(worth), worth.shape)
        if saved[i, j] - LOSS_LEFT * loss[i, j] > least:
            nodes = (a, *(neighbours[b] for b in below), int(sizes[i]), int(sizes[j]))
            found.append((float(worth[i, j]), nodes))
    found.sort(key=lambda one: (-one[0], one[1]))
    yield from (Move("DI", nodes) for _, nodes in found[:PER_LATENT])


def branches(network: Network, a: int, n: float, rate: float, least: float) -> Iterator[Move]:
    """Neighbours that do not tell some states of a latent apart, and may hang on a new latent with fewer states.

    As above, what is lost is known beforehand. States are merged as it loses least for one neighbour; all neighbours
    that save more than they lose by it form a group, which in turn says which states to merge.
    """
    graph = network.graph
    neighbours, k = graph.neighbours[a], graph.cardinality[a]
    if k < 3 or len(neighbours) < 4:
        return
    marginal, tables = network.marginals[a], [network.conditional(b, a) for b in neighbours]
    free = np.array([graph.cardinality[b] - 1 for b in neighbours])
    before = np.array([_entropies(marginal, table).sum() for table in tables])
    found: dict[tuple[int, ...], float] = {}
    for seed in range(len(neighbours)):
        below: tuple[int, ...] = (seed,)
        worth, nodes = -np.inf, None
        for _ in range(_REFINED):
            rows = np.hstack([tables[i] for i in below])
            for groups, _ in _merges(marginal, rows, np.ones((k, k))):
                h = len(groups)
                lost = n * np.maximum(_merged(marginal, tables, groups) - before, 0.0)
                pays = np.flatnonzero(rate * (k - h) * free > lost)
                if h == k or not 2 <= len(pays) <= len(neighbours) - 2:
                    continue
                saved = rate * ((k - h) * free[pays].sum() - k * (h - 1))
                loss = lost[pays].sum()
                if saved - loss > worth and saved - LOSS_LEFT * loss > least:
                    worth, nodes = saved - loss, (a, *(neighbours[i] for i in pays), k, h)
                    group = tuple(pays.tolist())
            if nodes is None or group == below:
                break
            below = group
        if nodes is not None:
            found[nodes] = worth
    yield from (Move("DI", own) for own in sorted(found, key=lambda own: (-found[own], own))[:PER_LATENT])


def _merged(marginal: FloatArray, tables: Sequence[FloatArray], groups: Sequence[Sequence[int]]) -> FloatArray:
    """The entropy of each neighbour, a row counting 1, if states are known by their groups only."""
    member = np.zeros((len(groups), len(marginal)))
    for i, group in enumerate(groups):
        member[i, group] = marginal[group]
    weight = member.sum(axis=1)
    share = member / np.maximum(weight, 1e-300)[:, None]
    return np.array([_entropies(weight, share @ table).sum() for table in tables])


def _sides(n: int) -> Iterator[tuple[int, ...]]:
    """All ways to part n neighbours in two sides of at least two each: the side without the first."""
    for size in range(2, n - 1):
        yield from combinations(range(1, n), size)


def start_tables(
    network: Network, a: int, below: Sequence[int], k: int, h: int, starts: int, rng: np.random.Generator
) -> list[tuple[FloatArray, list[FloatArray], FloatArray, list[FloatArray]]]:
    """P(a), P(neighbour that stays | a), P(h | a), P(neighbour below | h): merged as it loses least, then by chance."""
    marginal = network.marginals[a]
    rest = [b for b in network.graph.neighbours[a] if b not in below]
    sides = [[network.conditional(b, a) for b in own] for own in (rest, below)]
    out = []
    for i in range(starts):
        luck = (
            rng.standard_exponential((2, len(marginal), len(marginal))) + 0.1
            if i
            else np.ones((2, *[len(marginal)] * 2))
        )
        groups = [
            _groups(marginal, np.hstack(own), size, luck[side])
            for side, (own, size) in enumerate(zip(sides, (k, h), strict=True))
        ]
        one = [0.95 * np.eye(size)[g] + 0.05 / size for g, size in zip(groups, (k, h), strict=True)]
        shares = [marginal[:, None] * own for own in one]
        prior = shares[0].sum(axis=0)
        across = shares[0].T @ one[1]
        tables = [[_rows(share.T @ t) for t in own] for share, own in zip(shares, sides, strict=True)]
        out.append((prior / prior.sum(), tables[0], _rows(across), tables[1]))
    return out


def _rows(counts: FloatArray) -> FloatArray:
    out: FloatArray = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    return out


def _merges(marginal: FloatArray, rows: FloatArray, luck: FloatArray) -> Iterator[tuple[list[list[int]], float]]:
    """States merged two at a time, those first that say most nearly the same: the groups, and what is lost so far."""
    groups = [[s] for s in range(len(marginal))]
    weight, mean = marginal.astype(float), rows.copy()
    entropy = _entropies(weight, mean)
    lost = 0.0
    yield groups, lost
    while len(groups) > 2:
        s, t = np.triu_indices(len(groups), 1)
        both = weight[s] + weight[t]
        joint = (weight[s, None] * mean[s] + weight[t, None] * mean[t]) / np.maximum(both, 1e-300)[:, None]
        loss = np.maximum(_entropies(both, joint) - entropy[s] - entropy[t], 0.0)
        tie = np.array([luck[groups[i][0], groups[j][0]] for i, j in zip(s, t, strict=True)])
        best = int(np.argmin(loss * tie))
        i, j = int(s[best]), int(t[best])
        lost += float(loss[best])
        groups = [g + groups[j] if g is groups[i] else g for g in groups if g is not groups[j]]
        mean[i], weight[i], entropy[i] = (
            joint[best],
            both[best],
            _entropies(both[best : best + 1], joint[best : best + 1])[0],
        )
        mean, weight, entropy = (np.delete(own, j, axis=0) for own in (mean, weight, entropy))
        yield groups, lost


def _entropies(weight: FloatArray, rows: FloatArray) -> FloatArray:
    """Weight times the entropies of the distributions that stand side by side in each row."""
    out: FloatArray = -weight * (rows * np.log(np.maximum(rows, 1e-300))).sum(axis=1)
    return out


def _losses(marginal: FloatArray, rows: FloatArray) -> FloatArray:
    """What is lost in completed data, a row counting 1, with so many states left; not known for fewer than two."""
    k = len(marginal)
    out = np.zeros(k + 1)
    for groups, lost in _merges(marginal, rows, np.ones((k, k))):
        out[len(groups)] = lost
    return out


def _groups(marginal: FloatArray, rows: FloatArray, size: int, luck: FloatArray) -> IndexArray:
    """The group of each state when ``size`` groups are left."""
    for groups, _ in _merges(marginal, rows, luck):
        if len(groups) == size:
            break
    out = np.empty(len(marginal), dtype=np.intp)
    for number, group in enumerate(groups):
        out[group] = number
    return out
