"""Slow, obvious twins of what the engine does for a search: messages, completed data, places of moves, divisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod

import numpy as np

from latentree._table import Table
from latentree._types import FloatArray
from latentree.search._network import Graph, Network
from latentree.search._operators import Move
from latentree.search._restricted import Evaluated


def log(p: FloatArray) -> FloatArray:
    """Logarithms, those of zeros as the engine has them."""
    return np.log(np.maximum(p, 1e-300))


def log_sum(logs: FloatArray) -> FloatArray:
    """log of the sum of exponentials of each row."""
    top = logs.max(axis=1)
    return top + np.log(np.exp(logs - top[:, None]).sum(axis=1))


# ---- messages ------------------------------------------------------------------------------------------------------


class SlowBeliefs:
    """Messages by recursion, each anew whenever it is asked for; without what lies behind the edge ``cut``."""

    def __init__(self, network: Network, table: Table, cut: tuple[int, int] | None = None) -> None:
        self.network, self.graph = network, network.graph
        self.table, self.codes, self.weights, self.cut = table, table.codes.astype(int), table.weights, cut

    def message(self, u: int, v: int) -> FloatArray:
        """log P(rows of the branch at u | state of v), [rows, states of v]."""
        n, k = len(self.weights), self.graph.cardinality[v]
        if (u, v) == self.cut:
            return np.zeros((n, k))
        given = self.network.conditional(u, v)
        if not self.graph.is_latent(u):
            values = self.codes[:, u]
            return np.where(values[:, None] < 0, 0.0, log(given.T)[values])
        below = self.about(u, v)
        return np.stack([log_sum(below + log(given[s])) for s in range(k)], axis=1)

    def about(self, v: int, *without: int) -> FloatArray:
        """log P(rows | state of a latent), some neighbours and all behind them left out."""
        start = np.zeros((len(self.weights), self.graph.cardinality[v]))
        return sum((self.message(u, v) for u in self.graph.neighbours[v] if u not in without), start)

    def seen(self, v: int) -> FloatArray:
        """P(cell | value of a manifest node): 1 for the value seen, for all where none was."""
        values = self.codes[:, v]
        return np.where(values[:, None] < 0, 1.0, np.eye(self.graph.cardinality[v])[values])

    def posterior(self, v: int) -> FloatArray:
        """P(state of a latent | row)."""
        logs = self.about(v) + log(self.network.marginals[v])
        return np.exp(logs - log_sum(logs)[:, None])

    def log_likelihood(self) -> FloatArray:
        """log P(row)."""
        v = self.cut[1] if self.cut else self.graph.latents[0]
        return log_sum(self.about(v) + log(self.network.marginals[v]))

    def completed(self, b: int, a: int) -> FloatArray:
        """P(b | row, state of a): what was seen, or what its branch and the state say; [states of a, rows, states]."""
        given = self.network.conditional(b, a)[:, None, :]
        if self.graph.is_latent(b):
            logs = self.about(b, a)
            said = np.exp(logs - logs.max(axis=1, keepdims=True))
        else:
            said = self.seen(b)
        both = said[None] * given
        return both / np.maximum(both.sum(axis=2, keepdims=True), 1e-300)

    def triple(self, a: int, b: int, c: int) -> FloatArray:
        """Expected counts of a latent and two of its neighbours."""
        q = self.posterior(a) * self.weights[:, None]
        return np.einsum("rs,srx,sry->sxy", q, self.completed(b, a), self.completed(c, a))

    def dependence(self, a: int, b: int, c: int) -> float:
        """N times the information that two neighbours of a share given a."""
        counts = self.triple(a, b, c)
        expected = counts.sum(axis=2, keepdims=True) * counts.sum(axis=1, keepdims=True)
        expected /= np.maximum(counts.sum(axis=(1, 2), keepdims=True), 1e-300)
        seen = counts > 1e-290
        return float((counts[seen] * np.log(counts[seen] / expected[seen])).sum())


def behind(graph: Graph, z: int, a: int) -> set[int]:
    """The nodes of the branch that hangs at a by z."""
    found, ahead = {z}, [z]
    for v in ahead:
        fresh = [u for u in graph.neighbours[v] if u not in found and u != a]
        found |= set(fresh)
        ahead += fresh
    return found


def relocated(slow: SlowBeliefs, z: int, a: int, c: int) -> tuple[float, FloatArray]:
    """One step of EM for a branch at another place: what its log-likelihood changes by, and the table after a second.

    ``c`` is judged without the branch. The first table comes from counts, some of the prior mixed in.
    """
    without = SlowBeliefs(slow.network, slow.table, cut=(z, a))
    q, w = without.posterior(c), slow.weights[:, None]
    said = np.exp(slow.about(z, a)) if slow.graph.is_latent(z) else slow.seen(z)
    prior = slow.network.marginals[z]

    def counts(table: FloatArray) -> FloatArray:
        both = q[:, :, None] * table[None] * said[:, None, :]
        return (w[:, :, None] * both / both.sum(axis=(1, 2), keepdims=True)).sum(axis=0)

    table = 0.98 * rows_of(counts(np.tile(prior, (q.shape[1], 1))), prior) + 0.02 * prior
    before = w[:, 0] @ (slow.log_likelihood() - without.log_likelihood())
    after = w[:, 0] @ np.log(np.einsum("rs,sx,rx->r", q, table, said))
    return float(after - before), rows_of(counts(table), prior)


def rows_of(counts: FloatArray, empty: FloatArray) -> FloatArray:
    """Counts as distributions."""
    total = counts.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, counts / np.where(total > 0.0, total, 1.0), empty)


# ---- the place of a move -------------------------------------------------------------------------------------------


def known(move: Move, slow: SlowBeliefs) -> dict[int, FloatArray]:
    """log P(rows | state) of the nodes of a move's place, from what hangs around it."""
    n, near = move.nodes, slow.graph.neighbours
    if move.kind == "NR":
        z, a, c = n
        without = SlowBeliefs(slow.network, slow.table, cut=(z, a))
        return {c: without.about(c), z: slow.about(z, a) if slow.graph.is_latent(z) else log(slow.seen(z))}
    if move.kind in ("SI", "SD", "DI"):
        ends = {b: n[:1] for b in near[n[0]]}
    elif move.kind == "NI":
        ends = {n[0]: n[1:3], n[1]: n[:1], n[2]: n[:1]}
    elif move.kind == "NE":
        ends = {n[0]: n[1:2], n[1]: n[:1]}
    elif move.kind == "ND":
        ends = {n[1]: n[:1]} | {c: n[:1] for c in near[n[0]] if c != n[1]}
    else:
        ends = {c: (x,) for x, y in (n[:2], n[1::-1]) for c in near[x] if c != y}
    return {v: slow.about(v, *own) if slow.graph.is_latent(v) else log(slow.seen(v)) for v, own in ends.items()}


def place_log_likelihood(found: Evaluated, slow: SlowBeliefs, width: float) -> float:
    """The log-likelihood of the tables found, messages of latents merged as the engine merges them (``similar``)."""
    said: dict[int, FloatArray] = {}
    scale = 0.0
    for v, logs in known(found.move, slow).items():
        if slow.graph.is_latent(v):
            said[v], scales = similar(logs, slow.weights, width)
            scale += float(slow.weights @ scales)
        else:
            said[v] = np.exp(logs)

    def likelihood(v: int) -> FloatArray | float:
        out: FloatArray | float = said.get(v, 1.0)
        for (child, parent), table in found.tables.items():
            if parent == v:
                out = out * (likelihood(child) @ table.T)
        return out

    return scale + float(slow.weights @ np.log((likelihood(found.root) * found.marginal).sum(axis=1)))


def similar(logs: FloatArray, weights: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
    """Of each row the mean of those whose square roots of probabilities are in its cell; and what they were divided by.

    Of no width: the rows themselves.
    """
    scale = log_sum(logs)
    p = np.exp(logs - scale[:, None])
    if width == 0.0:
        return p, scale
    cells = np.floor(np.sqrt(p) / width + 0.5)
    _, cell = np.unique(cells, axis=0, return_inverse=True)
    same = cell.reshape(-1)[:, None] == cell.reshape(-1)
    return (same * weights) @ p / (same @ weights)[:, None], scale


# ---- divisions of latents ------------------------------------------------------------------------------------------

LOSS_LEFT, REFINED, MOST_NEIGHBOURS = 0.4, 3, 10


def entropies(weight: FloatArray, rows: FloatArray) -> FloatArray:
    """Weight times the entropies of the distributions that stand side by side in each row."""
    return -weight * (rows * log(rows)).sum(axis=1)


def grouped(marginal: FloatArray, rows: FloatArray, groups: Sequence[Sequence[int]]) -> float:
    """The entropy of what is in the rows if states are known by their groups only."""
    weight = np.array([marginal[list(g)].sum() for g in groups])
    means = [marginal[list(g)] @ rows[list(g)] / max(w, 1e-300) for g, w in zip(groups, weight, strict=True)]
    return float(entropies(weight, np.array(means)).sum())


def merges(marginal: FloatArray, rows: FloatArray) -> Iterator[tuple[list[list[int]], float]]:
    """States merged two at a time, those first by which the least is lost, until two groups are left."""
    groups = [[s] for s in range(len(marginal))]
    first = grouped(marginal, rows, groups)
    yield groups, 0.0
    while len(groups) > 2:
        tried = []
        for i, j in combinations(range(len(groups)), 2):
            left = [g + groups[j] if g is groups[i] else g for g in groups if g is not groups[j]]
            tried.append((grouped(marginal, rows, left), left))
        after, groups = min(tried, key=lambda one: one[0])
        yield groups, after - first


Divisions = dict[tuple[tuple[int, ...], int, int], float]
"""Neighbours below, own and fresh states; and what it seems to be worth."""


def divisions(network: Network, a: int, n: float, rate: float, least: float, sizes: int = 1) -> Divisions:
    """All ways to divide a latent in two with fewer states each that may pay; of each parting the best sizes."""
    graph, marginal = network.graph, network.marginals[a]
    neighbours, k = graph.neighbours[a], graph.cardinality[a]
    if k < 3 or not 4 <= len(neighbours) <= MOST_NEIGHBOURS:
        return {}

    def free(side: Sequence[int]) -> int:
        return sum(graph.cardinality[b] - 1 for b in side)

    def lost(side: Sequence[int]) -> Mapping[int, float]:
        return {len(g): own for g, own in merges(marginal, np.hstack([network.conditional(b, a) for b in side]))}

    def usable(states: Sequence[int]) -> int:
        return prod(states) // max(states)

    found = {}
    for size in range(2, len(neighbours) - 1):
        for below in combinations(neighbours[1:], size):
            rest = [b for b in neighbours if b not in below]
            stay, go = lost(rest), lost(below)
            sides = [[graph.cardinality[b] for b in side] for side in (rest, below)]
            ways = []
            for own in range(2, k):
                for fresh in range(2, k):
                    after = own - 1 + own * free(rest) + own * (fresh - 1) + fresh * free(below)
                    less, loss = rate * (k - 1 + k * free(neighbours) - after), n * (stay[own] + go[fresh])
                    regular = own <= usable([fresh, *sides[0]]) and fresh <= usable([own, *sides[1]])
                    if regular and own * fresh >= k and less - LOSS_LEFT * loss > least:
                        ways.append((less - loss, own, fresh))
            for worth, *best in sorted(ways, key=lambda one: -one[0])[:sizes]:
                found[below, *best] = worth
    return found


def branches(network: Network, a: int, n: float, rate: float, least: float) -> Divisions:
    """Groups of neighbours that do not tell some states apart, as they say themselves which, one seed after another."""
    graph, marginal = network.graph, network.marginals[a]
    neighbours, k = graph.neighbours[a], graph.cardinality[a]
    if k < 3 or len(neighbours) < 4:
        return {}
    tables = {b: network.conditional(b, a) for b in neighbours}
    alone = {b: grouped(marginal, tables[b], [[s] for s in range(k)]) for b in neighbours}
    found = {}
    for seed in neighbours:
        below: tuple[int, ...] = (seed,)
        best = None
        for _ in range(REFINED):
            for groups, _ in merges(marginal, np.hstack([tables[b] for b in below])):
                h = len(groups)
                lost = {b: n * max(grouped(marginal, tables[b], groups) - alone[b], 0.0) for b in neighbours}
                less = {b: rate * (k - h) * (graph.cardinality[b] - 1) for b in neighbours}
                pays = tuple(b for b in neighbours if less[b] > lost[b])
                if h == k or not 2 <= len(pays) <= len(neighbours) - 2:
                    continue
                gain, loss = sum(less[b] for b in pays) - rate * k * (h - 1), sum(lost[b] for b in pays)
                if gain - LOSS_LEFT * loss > least and (best is None or gain - loss > best[0]):
                    best = gain - loss, pays, h
            if best is None or best[1] == below:
                break
            below = best[1]
        if best is not None:
            found[best[1], k, best[2]] = best[0]
    return found
