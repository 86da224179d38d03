"""Restricted likelihood ([ChenZhangWang] 2.4): how far a move raises the likelihood when only its own tables change.

All that a move leaves as it is hangs off the place of the move in branches whose messages are known. What is left is a
tree of a few nodes with soft evidence, on which a few steps of EM from a few starts are cheap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, combinations, pairwise
from operator import mul
from typing import Any

import numpy as np

from .._model import Model
from .._options import Constraint, Number, Whole
from .._types import FloatArray, IndexArray
from .._variables import Variable
from ..engine import _core
from ._beliefs import Beliefs, Known, known
from ._division import start_tables
from ._network import Edge, Graph, Network, edge
from ._operators import Move

Generator = np.random.Generator

_SHAKE = 0.3
"""How much of a new state's or node's tables is random at the start."""
_ALIKE = 2.0
"""How far down the list of pairs of states, the most alike first, those stand on average that are merged."""

_SAME = 1e-9
"""Probabilities that differ by less are the same: what lies behind them stays as it is."""

_HOPE = {"SD": 4.0, "UN": 4.0, "DI": 4.0, "NE": 4.0}
"""A candidate is given up when so many more gains like its last would not do: what is lost is lost at once."""
_LONG_HOPE = 20.0
"""The same where something new takes EM some steps to make out."""


@dataclass(frozen=True)
class Effort:
    """How long to look at a candidate: starts, steps of EM, and the gain below which it stops."""

    starts: int = 4
    steps: int = 10
    tol: float = 0.1


class EffortRule:
    """What an option takes that says how long EM runs: (starts, steps, least gain).

    Examples
    --------
    >>> EffortRule().check((8, 40, 0.1)), EffortRule().check(8), EffortRule().parse("8, 40, 0.1")
    (True, False, (8, 40, 0.1))
    """

    def check(self, value: Any) -> bool:
        """Whether a value is allowed."""
        rules: tuple[Constraint, ...] = (Whole(1), Whole(1), Number(least=0))
        return (
            isinstance(value, list | tuple)
            and len(value) == len(rules)
            and all(rule.check(own) for rule, own in zip(rules, value, strict=True))
        )

    def parse(self, text: str) -> tuple[int, int, float]:
        """Read a value from text."""
        starts, steps, tol = text.strip("()[] ").split(",")
        return int(starts), int(steps), float(tol)

    def __str__(self) -> str:
        return "three numbers: starts and steps of EM, each at least 1, and the least gain, at least 0"


@dataclass(frozen=True)
class Evaluated:
    """A move and what it reaches."""

    move: Move  # the move
    log_likelihood: float  # the maximum restricted log-likelihood found
    root: int  # the node of the new graph that the tables hang on
    marginal: FloatArray  # P(root)
    tables: Mapping[tuple[int, int], FloatArray]  # P(child | parent) of the edges that moved
    fresh: int  # the number of the new node, if there is one


@dataclass(frozen=True)
class _Place:
    """A small tree with what is known about its nodes."""

    nodes: Sequence[int]  # of the new graph, parents first
    parent: Sequence[int]  # positions
    cardinality: Sequence[int]
    known: Mapping[int, Known]  # what hangs behind some nodes says about them
    seen: Sequence[int]  # manifest nodes, whose values are known
    fixed_root: bool
    starts: FloatArray


def evaluate(
    move: Move, beliefs: Beliefs, effort: Effort, rng: Generator, *, goal: float = -np.inf, anew: bool = False
) -> Evaluated:
    """Maximise the restricted likelihood of a move; a candidate that cannot come near the ``goal`` is given up early.

    The first start continues the current model; with ``anew``, all start from random tables instead.
    """
    place = _MAKERS[move.kind](move, beliefs, 1 if anew else effort.starts, rng)
    at = {v: i for i, v in enumerate(place.nodes)}
    columns: list[Any] = [(at[v], beliefs.ids(v), None, None, None) for v in place.seen]
    columns += [(at[v], own.ids, own.likelihood, None, None) for v, own in place.known.items()]
    scale = sum(float(beliefs.weights @ own.scale) for own in place.known.values())
    k = place.cardinality
    rows = [1 if p < 0 else k[p] for p in place.parent]
    ends = [0, *accumulate(map(mul, rows, k))]
    held = np.zeros(ends[-1], dtype=np.uint8)
    held[: k[0]] = place.fixed_root
    # not through a plan and its tree: a search makes thousands of places that are right by construction
    engine = _core.make_engine(
        np.array(place.parent, dtype=np.int32), np.array(k, dtype=np.int32), columns, beliefs.weights, True, -1
    )
    starts = _drawn(place, rows, effort.starts, rng) if anew else place.starts
    runs = _core.Em(engine, starts, None, held, False)
    hope = _HOPE.get(move.kind, _LONG_HOPE)
    winner = runs.compete(effort.steps, effort.tol, goal - scale, hope)  # Chickering & Heckerman's halving
    flat = runs.parameters(winner)
    tables = [flat[a:b].reshape(r, -1) for (a, b), r in zip(pairwise(ends), rows, strict=True)]
    return Evaluated(
        move,
        runs.log_likelihood(winner) + scale,
        place.nodes[0],
        tables[0][0],
        {(place.nodes[i], place.nodes[place.parent[i]]): t for i, t in enumerate(tables) if i},
        beliefs.network.graph.fresh(),
    )


def _drawn(place: _Place, rows: Sequence[int], starts: int, rng: Generator) -> FloatArray:
    """Random tables for a place, its root's prior as it is if that is to stay; ``rows`` are those of its tables."""
    drawn = [rng.standard_exponential((starts, n, k)) for n, k in zip(rows, place.cardinality, strict=True)]
    flat = [(t / t.sum(axis=2, keepdims=True)).reshape(starts, -1) for t in drawn]
    if place.fixed_root:
        flat[0][:] = place.starts[0, : place.cardinality[0]]
    return np.concatenate(flat, axis=1)


# ---- the place of each operator -------------------------------------------------------------------------------


def _ends(beliefs: Beliefs, ends: Sequence[tuple[int, int]]) -> tuple[dict[int, Known], list[int]]:
    """What is known about nodes, each given with the neighbour that it is looked at from."""
    graph = beliefs.network.graph
    latent = {v: beliefs.distinct(v, a) for v, a in ends if graph.is_latent(v)}
    return latent, [v for v, _ in ends if not graph.is_latent(v)]


def _flat(*tables: FloatArray) -> FloatArray:
    return np.concatenate([t.ravel() for t in tables])


def _shaken(table: FloatArray, rng: Generator, share: float = _SHAKE) -> FloatArray:
    noise = rng.standard_exponential(table.shape)
    out: FloatArray = (1 - share) * table + share * noise / noise.sum(axis=1, keepdims=True)
    return out


@lru_cache(maxsize=256)
def _rows_of(shapes: tuple[tuple[int, ...], ...]) -> tuple[IndexArray, IndexArray]:
    """Where the rows of several tables begin when all are written one after the other, and how wide they are."""
    widths = np.repeat([width for _, width in shapes], [n for n, _ in shapes])
    return np.cumsum(widths) - widths, widths


def _all_shaken(tables: Sequence[FloatArray], rng: Generator, share: float) -> FloatArray:
    """Several tables, made distributions and shaken one after the other, flat: in few calls, for it is done often."""
    flat = _flat(*tables)
    first, widths = _rows_of(tuple(t.shape for t in tables))
    noise = rng.standard_exponential(len(flat))
    flat = flat / np.repeat(np.maximum(np.add.reduceat(flat, first), 1e-300), widths)
    out: FloatArray = (1 - share) * flat + share * noise / np.repeat(np.add.reduceat(noise, first), widths)
    return out


class _SideBySide:
    """Tables P(neighbour | state) of several neighbours side by side, so that all starts are made at once."""

    def __init__(self, tables: Iterable[FloatArray]) -> None:
        self._sizes = [t.shape[1] for t in tables]
        self._ends = np.cumsum([0, *self._sizes])

    def noise(self, shape: tuple[int, ...], rng: Generator) -> FloatArray:
        """Random rows, of every neighbour a distribution: [*shape, states of all neighbours]."""
        drawn = rng.standard_exponential((*shape, int(self._ends[-1])))
        sums = np.add.reduceat(drawn, self._ends[:-1], axis=-1)
        out: FloatArray = drawn / np.repeat(sums, self._sizes, axis=-1)
        return out

    def flat(self, priors: FloatArray, rows: FloatArray) -> FloatArray:
        """Starts as EM takes them, from priors [starts, states] and rows [starts, states, states of all neighbours]."""
        n = len(priors)
        tables = (rows[:, :, a:b].reshape(n, -1) for a, b in pairwise(self._ends))
        return np.concatenate([priors, *tables], axis=1)


def _si(move: Move, beliefs: Beliefs, starts: int, rng: Generator) -> _Place:
    """More states: a start splits one state or several at random, the likelier ones first.

    As many states as there are: a start merges two of them, rather those that are alike, and splits another.
    """
    a = move.nodes[0]
    network = beliefs.network
    neighbours = network.graph.neighbours[a]
    k, new = network.graph.cardinality[a], move.states(network.graph)
    marginal, tables = network.marginals[a], [network.conditional(b, a) for b in neighbours]
    wide, layout = np.hstack(tables), _SideBySide(tables)
    each = np.arange(starts)
    if new > k:
        order = np.argsort(-marginal, kind="stable")
        split = order[(each[:, None] + np.arange(new - k)) % k]  # the states that each start splits
        origin = np.hstack([np.tile(np.arange(k), (starts, 1)), split])
        merged = np.full(starts, -1)
    else:
        origin, merged = _split_and_merged(marginal, wide, starts, rng)
    copies = np.zeros((starts, k))
    np.add.at(copies, (each[:, None], origin), 1.0)
    shares = copies[each[:, None], origin]
    noise = _SHAKE * (shares > 1)[:, :, None]
    priors, rows = marginal[origin] / shares, wide[origin]
    for i in np.flatnonzero(merged >= 0):  # the state that takes over another, which none of the rows is a copy of
        gone = int(np.flatnonzero(copies[i] == 0)[0])
        where = origin[i] == merged[i]
        both = np.array([marginal[merged[i]], marginal[gone]])
        priors[i, where] += both[1] / where.sum()
        rows[i, where] = both @ wide[[merged[i], gone]] / max(both.sum(), 1e-300)
    rows = (1 - noise) * rows + noise * layout.noise((starts, new), rng)
    return _around(a, new, neighbours, beliefs, layout.flat(priors, rows))


def _split_and_merged(
    marginal: FloatArray, rows: FloatArray, starts: int, rng: Generator
) -> tuple[IndexArray, IndexArray]:
    """Of each start, the state that each of its states comes from, and the one that takes over another's cases."""
    k = len(marginal)
    pairs = sorted(combinations(range(k), 2), key=lambda st: _parting(marginal, rows, *st))
    origin, merged = np.tile(np.arange(k), (starts, 1)), np.empty(starts, dtype=np.intp)
    for i in range(starts):
        s, t = pairs[min(int(rng.exponential(_ALIKE)), len(pairs) - 1)]
        left = [u for u in range(k) if u != t]
        weights = marginal[left] + np.where(np.array(left) == s, marginal[t], 0.0)
        origin[i, t] = left[int(np.searchsorted(np.cumsum(weights)[:-1], rng.uniform(0.0, weights.sum())))]
        merged[i] = s
    return origin, merged


def _sd(move: Move, beliefs: Beliefs, starts: int, rng: Generator) -> _Place:
    """One state less: a start merges two states, the most alike first."""
    (a,) = move.nodes
    network = beliefs.network
    neighbours = network.graph.neighbours[a]
    k = network.graph.cardinality[a]
    marginal, tables = network.marginals[a], [network.conditional(b, a) for b in neighbours]
    whole = np.hstack(tables)
    pairs = sorted(combinations(range(k), 2), key=lambda st: _parting(marginal, whole, *st))
    made = []
    for s, t in pairs[:starts]:
        weights = marginal[[s, t]] / max(marginal[[s, t]].sum(), 1e-300)
        keep = [i for i in range(k) if i != t]
        prior = marginal[keep].copy()
        prior[keep.index(s)] += marginal[t]
        merged = []
        for table in tables:
            rows = table[keep].copy()
            rows[keep.index(s)] = weights @ table[[s, t]]
            merged.append(rows)
        made.append(_flat(prior, *merged))
    return _around(a, k - 1, neighbours, beliefs, np.array(made))


def _parting(marginal: FloatArray, rows: FloatArray, s: int, t: int) -> float:
    """What telling two states apart is worth: weighted divergence of their rows from the mean."""
    mean = (marginal[s] * rows[s] + marginal[t] * rows[t]) / max(marginal[s] + marginal[t], 1e-300)
    logs = np.log(np.maximum(rows[[s, t]], 1e-300) / np.maximum(mean, 1e-300))
    return float(marginal[s] * rows[s] @ logs[0] + marginal[t] * rows[t] @ logs[1])


def _around(a: int, k: int, neighbours: Sequence[int], beliefs: Beliefs, starts: FloatArray) -> _Place:
    messages, seen = _ends(beliefs, [(b, a) for b in neighbours])
    cardinality = [k, *(beliefs.network.graph.cardinality[b] for b in neighbours)]
    return _Place([a, *neighbours], [-1] + [0] * len(neighbours), cardinality, messages, seen, False, starts)


def _ni(move: Move, beliefs: Beliefs, starts: int, rng: Generator) -> _Place:
    """A new node h between a and b, c: a start makes it nearly a copy of a, or draws its tables."""
    a, b, c = move.nodes[:3]
    network = beliefs.network
    graph = network.graph
    k, ends = graph.cardinality[a], (graph.cardinality[b], graph.cardinality[c])
    h = min(move.states(graph), k * ends[0] * ends[1] // max(k, *ends))  # as regularisation would have it
    messages, seen = _ends(beliefs, [(b, a), (c, a)])
    messages[a] = beliefs.distinct(a, b, c)
    copy = np.eye(k)[:, :h] if h == k else np.full((k, h), 1.0 / h)
    tables = (copy, *(network.conditional(x, a)[:h] for x in (b, c)))
    counts = triple(beliefs, a, b, c)
    made = []
    for i in range(starts):
        if i < 2:  # h nearly copies b, or c: what these have in common beyond a is then explained at once
            made.append(_flat(network.marginals[a], _copying(counts, h, i, rng)))
        else:  # h nearly copies a, or is drawn
            made.append(_flat(network.marginals[a], _all_shaken(tables, rng, _SHAKE if i % 2 == 0 else 0.9)))
    return _Place([a, graph.fresh(), b, c], [-1, 0, 1, 1], [k, h, *ends], messages, seen, True, np.array(made))


def _ne(move: Move, beliefs: Beliefs, starts: int, rng: Generator) -> _Place:
    """A new node h on the edge between a and b: a start puts the states of a that say the same about b together."""
    a, b, h = move.nodes
    network = beliefs.network
    k, given, marginal = network.graph.cardinality, network.conditional(b, a), network.marginals[a]
    messages, seen = _ends(beliefs, [(b, a)])
    messages[a] = beliefs.distinct(a, b)
    made = []
    for _ in range(starts):
        chosen = rng.choice(k[a], h, replace=False, p=(marginal + 1e-9) / (marginal + 1e-9).sum())
        group = np.argmin(((given[:, None] - given[chosen]) ** 2).sum(axis=2), axis=1)
        group[chosen] = np.arange(h)
        one = 0.9 * np.eye(h)[group] + 0.1 / h
        said = (one * marginal[:, None]).T @ given
        made.append(_flat(marginal, one, _shaken(said / said.sum(axis=1, keepdims=True), rng, 0.02)))
    nodes = [a, network.graph.fresh(), b]
    return _Place(nodes, [-1, 0, 1], [k[a], h, k[b]], messages, seen, True, np.array(made))


def triple(beliefs: Beliefs, a: int, b: int, c: int) -> FloatArray:
    """Expected counts of a latent and two of its neighbours in the completed data: N P^(a, b, c) of [Zhang2004] 4.2."""
    counts = _core.triple_counts(beliefs.weighed(a), beliefs.neighbour(b, a), beliefs.neighbour(c, a))
    return counts.transpose(2, 0, 1)


def _copying(counts: FloatArray, h: int, which: int, rng: Generator) -> FloatArray:
    """P(h | a), P(b | h), P(c | h) when h is what b is (which = 0) or c is (1), its rarer values together."""
    counts = counts if which == 0 else counts.transpose(0, 2, 1)
    # rounded, so that values that are as frequent are told apart by their order and not by the last digit
    order = np.argsort(-np.round(counts.sum(axis=(0, 2)) / counts.sum(), 9), kind="stable")
    group = np.empty(len(order), dtype=np.intp)
    group[order] = np.minimum(np.arange(len(order)), h - 1)
    one = np.zeros((len(order), h))
    one[np.arange(len(order)), group] = 1.0
    one = _shaken(one, rng, 0.1)
    given_a, copied = counts.sum(axis=2) @ one, counts.sum(axis=(0, 2))[:, None] * one
    other = counts.sum(axis=0).T @ one
    made = (given_a, copied.T, other.T)
    flat = _all_shaken(made, rng, 0.02)
    if which == 0:
        return flat
    first, second, _ = accumulate(t.size for t in made)
    return np.concatenate([flat[:first], flat[second:], flat[first:second]])


def _nd(move: Move, beliefs: Beliefs, starts: int, rng: Generator) -> _Place:
    """b deleted: its other neighbours hang on a by the tables that went through b."""
    b, a = move.nodes
    network = beliefs.network
    graph = network.graph
    rest = [c for c in graph.neighbours[b] if c != a]
    messages, seen = _ends(beliefs, [(c, b) for c in rest])
    messages[a] = beliefs.distinct(a, b)
    through = [network.conditional(b, a) @ network.conditional(c, b) for c in rest]
    start = _flat(network.marginals[a], *through)
    cardinality = [graph.cardinality[a], *(graph.cardinality[c] for c in rest)]
    return _Place([a, *rest], [-1] + [0] * len(rest), cardinality, messages, seen, True, start[None])


def _un(move: Move, beliefs: Beliefs, starts: int, rng: Generator) -> _Place:
    """b and a become one: its states are the likeliest pairs of theirs, with some luck in the choice."""
    b, a, k = move.nodes
    network = beliefs.network
    graph = network.graph
    here, there = ([c for c in graph.neighbours[x] if c != y] for x, y in ((a, b), (b, a)))
    messages, seen = _ends(beliefs, [(c, a) for c in here] + [(c, b) for c in there])
    pairs = (network.marginals[a][:, None] * network.conditional(b, a)).ravel()
    luck = np.vstack([np.ones_like(pairs), rng.standard_exponential((starts - 1, len(pairs)))])
    chosen = np.argsort(-(pairs * luck), axis=1, kind="stable")[:, :k]
    s, t = np.divmod(chosen, graph.cardinality[b])
    given_a, given_b = ([network.conditional(c, x) for c in own] for own, x in ((here, a), (there, b)))
    layout = _SideBySide([*given_a, *given_b])
    rows = np.concatenate([np.hstack(given_a)[s], np.hstack(given_b)[t]], axis=2)
    rows = 0.95 * rows + 0.05 * layout.noise(chosen.shape, rng)
    prior = pairs[chosen] + 1e-6
    made = layout.flat(prior / prior.sum(axis=1, keepdims=True), rows)
    neighbours = [*here, *there]
    cardinality = [k, *(graph.cardinality[c] for c in neighbours)]
    return _Place([a, *neighbours], [-1] + [0] * len(neighbours), cardinality, messages, seen, False, made)


def _di(move: Move, beliefs: Beliefs, starts: int, rng: Generator) -> _Place:
    """a divided: states that say the same about the neighbours of a side are merged there."""
    a, *below, k, h = move.nodes
    network = beliefs.network
    graph = network.graph
    rest = [b for b in graph.neighbours[a] if b not in below]
    messages, seen = _ends(beliefs, [(b, a) for b in (*rest, *below)])
    made = start_tables(network, a, below, k, h, starts, rng)
    flat = [_flat(prior, _all_shaken([*own, across, *new], rng, 0.02)) for prior, own, across, new in made]
    size = [graph.cardinality[b] for b in (*rest, *below)]
    parent = [-1, *[0] * len(rest), 0, *[len(rest) + 1] * len(below)]
    cardinality = [k, *size[: len(rest)], h, *size[len(rest) :]]
    return _Place([a, *rest, graph.fresh(), *below], parent, cardinality, messages, seen, False, np.array(flat))


def _nr(move: Move, beliefs: Beliefs, starts: int, rng: Generator) -> _Place:
    """z moved from a to c. The likelihood is concave in P(z | c): one start will do."""
    z, a, c = move.nodes
    return relocated(z, a, c, beliefs, beliefs.without(z, a))


def relocated(z: int, a: int, c: int, beliefs: Beliefs, left: Mapping[int, FloatArray]) -> _Place:
    """The place of a relocation, given the messages without z's branch."""
    network = beliefs.network
    messages, seen = _ends(beliefs, [(z, a)])
    messages[c] = known(left[c])
    start = together(z, a, c, beliefs, left)
    start = 0.9 * start / start.sum(axis=1, keepdims=True) + 0.1 * network.marginals[z]
    cardinality = [network.graph.cardinality[c], network.graph.cardinality[z]]
    return _Place([c, z], [-1, 0], cardinality, messages, seen, True, _flat(network.marginals[c], start)[None])


def together(z: int, a: int, c: int, beliefs: Beliefs, left: Mapping[int, FloatArray]) -> FloatArray:
    """Expected counts of (c, z), c being judged without z's branch: a row for each state of c."""
    graph = beliefs.network.graph
    q = beliefs.posterior(c, left[c]) * beliefs.weights[:, None]
    if graph.is_latent(z):
        return np.maximum(q.T @ beliefs.posterior(z, beliefs.about(z, without=[a])), 1e-12)
    counts = np.zeros((graph.cardinality[c], graph.cardinality[z] + 1))
    for s in range(graph.cardinality[c]):
        counts[s] = np.bincount(beliefs.codes(z) + 1, weights=q[:, s], minlength=graph.cardinality[z] + 1)
    return np.maximum(counts[:, 1:], 1e-12)


_MAKERS = {"SI": _si, "SD": _sd, "NI": _ni, "ND": _nd, "NR": _nr, "UN": _un, "DI": _di, "NE": _ne}


# ---- the whole model after a move -------------------------------------------------------------------------------


def applied(found: Evaluated, network: Network) -> Network:
    """The network after a move, not yet regularised, with the tables found.

    The network may have been changed elsewhere since the move was evaluated.
    """
    new = network.graph.fresh()
    name = {found.fresh: new}
    tables = {(name.get(v, v), name.get(u, u)): t for (v, u), t in found.tables.items()}
    graph = found.move.applied(network.graph)
    graph = graph.edited(cardinality={v: t.shape[1] for (v, _), t in tables.items()})
    marginals = dict(network.marginals)
    if len(found.marginal) != len(marginals[found.root]) or found.move.kind in ("SI", "SD", "UN", "DI"):
        marginals[found.root] = found.marginal
    joint = _on(graph, network)
    above = {u for _, u in tables}
    ahead = [(found.root, -1)]
    for u, before in ahead:
        if u != found.root and u not in above and _alike(marginals[u], network.marginals.get(u)):
            continue  # nothing has changed from here on
        for v in graph.neighbours[u]:
            if v != before:
                table = tables.get((v, u))
                both = marginals[u][:, None] * (network.conditional(v, u) if table is None else table)
                marginals[v] = both.sum(axis=0)
                joint[edge(u, v)] = both if u < v else np.ascontiguousarray(both.T)
                ahead.append((v, u))
    return Network(graph, joint, {v: marginals[v] for v in graph.neighbours})


def _on(graph: Graph, network: Network) -> dict[Edge, FloatArray]:
    """Tables of a network for the edges that a graph still has; those of new edges are missing."""
    joint, old = dict(network.joint), network.graph.neighbours
    for v, neighbours in old.items():
        now = graph.neighbours.get(v, ())
        if now is not neighbours:
            for u in set(neighbours).difference(now):
                joint.pop(edge(u, v), None)
    return joint


def _alike(p: FloatArray, q: FloatArray | None) -> bool:
    return q is not None and len(p) == len(q) and float(np.abs(p - q).max()) < _SAME


def model_of(found: Evaluated, network: Network, variables: Sequence[Variable]) -> Model:
    """The regular model that a move leads to, with the tables found."""
    return regularised(applied(found, network)).to_model(variables)


def regularised(network: Network) -> Network:
    """Make a network regular: nodes taken out lose nothing; of a node with too many states the likelier ones stay."""
    goal = network.graph.regularised()
    while True:
        graph = network.graph
        for v in graph.latents:
            neighbours = graph.neighbours[v]
            if v not in goal.neighbours and len(neighbours) == 1:
                network = _dropped(network, v)
                break
            if v not in goal.neighbours and len(neighbours) == 2:
                network = _bridged(network, v)
                break
            if v in goal.neighbours and graph.cardinality[v] > goal.cardinality[v]:
                network = _narrowed(network, v, goal.cardinality[v])
                break
        else:
            return network


def _dropped(network: Network, v: int) -> Network:
    graph = network.graph.edited(without=[v])
    return Network(graph, _on(graph, network), {u: p for u, p in network.marginals.items() if u != v})


def _bridged(network: Network, v: int) -> Network:
    p, q = network.graph.neighbours[v]
    both = network.conditional(p, v).T @ (network.marginals[v][:, None] * network.conditional(q, v))
    graph = network.graph.edited(without=[v], join=[(p, q)])
    joint = {**_on(graph, network), (p, q): both}
    return Network(graph, joint, {u: own for u, own in network.marginals.items() if u != v})


def _narrowed(network: Network, v: int, cardinality: int) -> Network:
    keep = np.sort(np.argsort(-network.marginals[v], kind="stable")[:cardinality])
    graph = network.graph.edited(cardinality={v: cardinality})
    joint = dict(network.joint)
    for u in graph.neighbours[v]:
        both = joint[edge(u, v)]
        both = both[:, keep] if u < v else both[keep]
        joint[edge(u, v)] = both / both.sum()
    rest = network.marginals[v][keep]
    return Network(graph, joint, {**network.marginals, v: rest / rest.sum()})


def dimension_change(move: Move, graph: Graph) -> int:
    """Parameters that a move adds, regularisation included."""
    return move.applied(graph).regularised().n_parameters - graph.n_parameters
