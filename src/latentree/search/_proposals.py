"""What could be done next, and what of it can be done at once.

Screening comes first: of the many nodes that could be introduced, the completed data ([Zhang2004] 4.2) name the few
that may pay; relocations come all at once (:mod:`latentree.search._relocate`). What is left is judged by restricted
likelihood.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import FloatArray
from ..engine import _core
from ._beliefs import Beliefs
from ._division import divisions
from ._network import Edge, Graph, Network, edge
from ._operators import Move, moves
from ._relocate import PLACES, relocations
from ._restricted import Effort, Evaluated, Question, applied, evaluate_all, regularised
from ._task import Task

EFFORT = Effort(4, 20, 0.1)
SPLITTING = Effort(8, 40, 0.05)
"""There are few latents, and which way to split a state is hard to find."""
SCREENING, CLOSELY = Effort(12, 20, 0.1, first=7), Effort(16, 80, 0.02, first=7)
"""For divisions that are to be fitted in full, after a first look at all."""
SIZES, DIVISIONS, IN_ALL = 12, 250, 500
"""Divisions looked at so: most for one way to part the neighbours of a latent, for one latent, and for all."""
SCREENED = 48
"""Divisions that are left after a first look."""
OPTIMISM = 1.3
"""How much more than the completed data say a new node may gain."""
PER_NODE, LOSING = 2, 4
"""New nodes that one neighbour of a latent is tried in, and where moves that lose are looked for, too."""
WIDE = 60
"""A latent of so many neighbours is a hub: what would change all its tables waits until it has been divided."""
ANEW = ("SI", "SD", "UN")
"""Moves that are also tried from random tables: what the states mean may have to change altogether."""
LEAST = 0.1
"""A gain below is none."""


@dataclass(frozen=True)
class Proposal:
    """A move and by how much it is expected to raise the score."""

    gain: float
    price: float  # what it adds to the penalty
    found: Evaluated

    @property
    def move(self) -> Move:
        """What to do."""
        return self.found.move


def propose(
    task: Task,
    beliefs: Beliefs,
    rng: np.random.Generator,
    *,
    parallel: bool = False,
    around: Collection[int] | None = None,
    least: float = LEAST,
    anew: bool = False,
    n_jobs: int = 1,
    n_places: int = PLACES,
    cuts: bool = True,
) -> list[Proposal]:
    """Moves of all kinds, or those around some nodes, that are expected to gain at least ``least``; the best first.

    Without ``cuts``, no edge is taken away.
    """
    told: dict[str, Any] = {"threads": task.n_jobs, "stage": "candidates"} if parallel else {}
    graph, cost = beliefs.network.graph, task.criterion
    base = cost.penalty(graph)
    now = float(beliefs.weights @ beliefs.log_likelihood)

    prices: dict[tuple[int, ...], float] = {}

    def needed(z: int, a: int, places: Sequence[int]) -> FloatArray:
        own = cost.prices(graph, z, a, places, base)
        prices.update(((z, a, c), price) for c, price in zip(places, own, strict=True))
        return np.array(own) + least

    best: dict[tuple[int, ...], Proposal] = {}
    known = needed if cost.local else None  # what cannot be told beforehand is found for the few places tried
    for found in relocations(beliefs, only=around, n_jobs=n_jobs, n_places=n_places, needed=known):
        task.check_time()
        nodes = found.move.nodes
        price = prices[nodes] if known else cost.price(graph, found.move, base)
        gain = found.log_likelihood - now - price
        if gain > least and (nodes[:2] not in best or gain > best[nodes[:2]].gain):
            best[nodes[:2]] = Proposal(gain, price, found)
    new = list(_introductions(beliefs, task, base, around, least))
    # hubs are divided before they get more states
    hubs = {m.nodes[0] for m in new if len(graph.neighbours[m.nodes[0]]) > WIDE}
    again = set(_restarts(graph, around)) if anew else set()
    tried = [
        *new,
        *(m for m in _states(graph) if (around is None or m.nodes[0] in around) and m.nodes[0] not in hubs),
        *sorted(again),
        *_unions(graph, around),
        *(_divisions(beliefs, task, around, least) if anew else ()),
        *(m for m in _on_edges(graph, around) if least < 0 or cost.price(graph, m, base) < 0),
        *(_cuts(beliefs, task, base, around, least) if cuts else ()),
    ]

    asked, prices_of = [], []
    for move in tried:
        price = cost.price(graph, move, base)
        effort = SPLITTING if move.kind in ("SI", "DI") else EFFORT
        asked.append(Question(move, effort, now + price + least, "both" if anew and move.kind in ANEW else "model"))
        prices_of.append(price)
    gained = [
        Proposal(found.log_likelihood - now - price, price, found)
        for price, found in zip(prices_of, evaluate_all(task, beliefs, asked, rng, **told), strict=True)
        if found is not None
    ]
    gained = [p for p in gained if p.gain > (max(least, LEAST) if p.move in again else least)]
    out = [*best.values(), *_cost_effective(gained, graph)]
    return sorted(out, key=lambda p: (-p.gain, p.move))


def divide(task: Task, beliefs: Beliefs, rng: np.random.Generator, *, most: int) -> list[Proposal]:
    """The best divisions of all latents, whatever they lose: what completed data say about them is far too strict.

    Both latents may have to change what their states mean, which only EM of all probabilities can show.
    """
    graph, cost = beliefs.network.graph, task.criterion
    base, now = cost.penalty(graph), float(beliefs.weights @ beliefs.log_likelihood)
    told: dict[str, Any] = {"threads": task.n_jobs, "stage": "candidates"}
    latents = [a for a in graph.latents if a not in graph.observed and graph.cardinality[a] > 2]
    each = min(DIVISIONS, IN_ALL // max(len(latents), 1))
    price: dict[Move, float] = {}
    for a in latents:
        task.check_time()
        own = divisions(beliefs, a, task.table.n, cost.rate, -np.inf, each, SIZES)
        price.update((move, cost.price(graph, move, base)) for move in own)
    left = list(price)
    for effort, number in ((SCREENING, SCREENED), (CLOSELY, most)):
        answers = evaluate_all(task, beliefs, [Question(move, effort) for move in left], rng, **told)
        found = [Proposal(f.log_likelihood - now - price[f.move], price[f.move], f) for f in answers if f is not None]
        found = sorted(found, key=lambda p: (-p.gain, p.move))[:number]
        left = [p.move for p in found]
    return found


def _cost_effective(proposals: Iterable[Proposal], graph: Graph) -> Iterator[Proposal]:
    """More states for a latent only if no new node gains more for each parameter ([Zhang2004] 3, [ChenZhangWang] 3)."""
    proposals = list(proposals)
    ratio: dict[int, float] = {}
    for p in proposals:
        if p.move.kind == "NI":
            a = p.move.nodes[0]
            ratio[a] = max(ratio.get(a, 0.0), p.gain / max(p.price, 1e-9))
    for p in proposals:
        own = p.move.nodes[: 2 if p.move.kind == "UN" else 1]
        wasteful = p.gain < max(ratio.get(a, 0.0) for a in own) * p.price
        if p.move.kind not in ("SI", "UN") or p.gain <= 0 or not wasteful:
            yield p


# ---- screening --------------------------------------------------------------------------------------------------


def _introductions(
    beliefs: Beliefs, task: Task, base: float, around: Collection[int] | None, least: float
) -> Iterator[Move]:
    """New nodes that the completed data speak for, the strongest first, no neighbour in too many."""
    graph = beliefs.network.graph
    prices = _Prices(task, graph, base)
    for a in graph.latents:
        neighbours = graph.neighbours[a]
        if len(neighbours) < 4 or (around is not None and a not in around):
            continue
        dependence = beliefs.dependence(a, between=task.check_time)
        rows, columns = np.triu_indices(len(neighbours), 1)
        order = np.argsort(-dependence[rows, columns], kind="stable")
        most = PER_NODE if least >= 0 else LOSING
        used = {b: most if b == graph.observed.get(a) else 0 for b in neighbours}
        # with neighbours that have as many states as a, all new nodes cost the same
        alike = min(graph.cardinality[b] for b in neighbours) >= graph.cardinality[a] and len(neighbours) > 5
        cheapest = min(prices(m) for m in _sizes(graph, a, *neighbours[:2])) if alike else 0.0
        floor = least + cheapest
        for i in order:
            b, c = neighbours[rows[i]], neighbours[columns[i]]
            strength = OPTIMISM * float(dependence[rows[i], columns[i]])
            if strength <= floor:
                break
            if max(used[b], used[c]) >= most or (len(neighbours) == 4 and neighbours[0] not in (b, c)):
                continue
            worth = [m for m in _sizes(graph, a, b, c) if strength - prices(m) > least]
            if worth:
                used[b] += 1
                used[c] += 1
                yield from worth


class _Prices:
    """What new nodes cost: as much between all neighbours of the same numbers of states."""

    def __init__(self, task: Task, graph: Graph, base: float) -> None:
        self._task, self._graph, self._base = task, graph, base
        self._known: dict[tuple[int, ...], float] = {}

    def __call__(self, move: Move) -> float:
        graph, (a, *ends) = self._graph, move.nodes[:3]
        alike = (v if graph.is_latent(v) else -graph.cardinality[v] for v in ends)
        key = (a, *alike, move.states(graph))
        if key not in self._known:
            self._known[key] = self._task.criterion.price(graph, move, self._base)
        return self._known[key]


def _sizes(graph: Graph, a: int, b: int, c: int) -> Iterator[Move]:
    """A new node with as many states as the latent, or with fewer."""
    k = graph.cardinality[a]
    yield from (Move("NI", (a, b, c, h)) for h in sorted({2, 3, k // 2}) if 2 <= h < k)
    yield Move("NI", (a, b, c))


def _states(graph: Graph) -> Iterator[Move]:
    """One state more or less for each latent; several more where they would be few beside the neighbours'."""
    yield from moves(graph, ("SI", "SD"))
    for a in graph.latents:
        k, most = graph.cardinality[a], max(graph.cardinality[u] for u in graph.neighbours[a])
        several = k + max(2, k // 2)
        if a not in graph.observed and several <= min(graph.bound(a), most):
            yield Move("SI", (a, several))


def _restarts(graph: Graph, around: Collection[int] | None) -> Iterator[Move]:
    """As many states as a latent has, others than now: what they mean may be a poor choice."""
    hidden = (a for a in graph.latents if a not in graph.observed and (around is None or a in around))
    return (Move("SI", (a, graph.cardinality[a])) for a in hidden if graph.cardinality[a] > 1)


def _on_edges(graph: Graph, around: Collection[int] | None) -> Iterator[Move]:
    for a, b in graph.edges:
        a, b = b, a  # the higher number is latent, and stays the root of the place
        if around is not None and a not in around and b not in around:
            continue
        most = min(graph.cardinality[a], graph.cardinality[b])
        if graph.is_latent(a) and most > 2 and not {a, b} & {*graph.observed, *graph.observed.values()}:
            yield from (Move("NE", (a, b, h)) for h in sorted({2, 3, most // 2}) if 2 <= h < most)


def _cuts(beliefs: Beliefs, task: Task, base: float, around: Collection[int] | None, least: float) -> Iterator[Move]:
    """Edges that may not be worth their parameters: a latent of one state there makes both sides independent."""
    network = beliefs.network
    graph = network.graph
    for b, a in graph.edges:
        if around is not None and a not in around and b not in around:
            continue
        inner = {*graph.observed, *graph.observed.values()}
        if 1 in (graph.cardinality[a], graph.cardinality[b]) or not graph.is_latent(a) or inner & {a, b}:
            continue
        move = Move("NE", (a, b, 1))
        shared = task.table.n * _information(network.joint[edge(a, b)])
        if -task.criterion.price(graph, move, base) - _core.LOSS_LEFT * shared > least:
            yield move


def _information(joint: FloatArray) -> float:
    """What two nodes say about each other, in nats, from their joint probabilities."""
    product = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
    return float((joint * np.log(np.maximum(joint, 1e-300) / np.maximum(product, 1e-300))).sum())


def _unions(graph: Graph, around: Collection[int] | None) -> Iterator[Move]:
    for a, b in graph.edges:
        if not graph.is_latent(a) or len(graph.neighbours[a]) + len(graph.neighbours[b]) > WIDE:
            continue
        if a in graph.observed or b in graph.observed:
            continue
        if around is None or a in around or b in around:
            large, small = graph.cardinality[a], graph.cardinality[b]
            most = max(large, small)
            yield from (Move("UN", (b, a, k)) for k in (most, most + 1) if k <= large * small)


def _divisions(beliefs: Beliefs, task: Task, around: Collection[int] | None, least: float) -> Iterator[Move]:
    network = beliefs.network
    for a in network.graph.latents:
        if a not in network.graph.observed and (around is None or a in around):
            yield from divisions(beliefs, a, task.table.n, task.criterion.rate, least)


# ---- several at once ----------------------------------------------------------------------------------------------


def together(proposals: Iterable[Proposal], graph: Graph, most: int | None = None) -> list[Proposal]:
    """Proposals that do not get into each other's way, the best first."""
    edges: set[Edge] = set()
    needed: set[int] = set()
    altered: set[int] = set()
    leaving: dict[int, int] = {}
    out: list[Proposal] = []
    for p in proposals:
        if len(out) == most:
            break
        own, needs, alters = _touched(p.move, graph)
        if own & edges or alters & (needed | altered) or needs & altered:
            continue
        if p.move.kind == "NR":
            a = p.move.nodes[1]
            if leaving.get(a, 0) >= max(1, len(graph.neighbours[a]) - 2):
                continue
            leaving[a] = leaving.get(a, 0) + 1
        out.append(p)
        edges |= own
        needed |= needs
        altered |= alters
    return out


def _touched(move: Move, graph: Graph) -> tuple[set[Edge], set[int], set[int]]:
    """Edges whose tables change, nodes that must stay as they are, nodes that do not."""
    if move.kind in ("SI", "SD"):
        a = move.nodes[0]
        return {edge(a, u) for u in graph.neighbours[a]}, set(), {a}
    if move.kind == "UN":
        b, a, _ = move.nodes
        return {edge(x, u) for x in (a, b) for u in graph.neighbours[x]}, set(), {a, b}
    if move.kind == "DI":
        a = move.nodes[0]
        return {edge(a, u) for u in graph.neighbours[a]}, set(), {a}
    if move.kind == "ND":
        b, a = move.nodes
        return {edge(b, u) for u in graph.neighbours[b]}, {a}, {b}
    if move.kind == "NI":
        a, b, c = move.nodes[:3]
        return {edge(a, b), edge(a, c)}, {a}, set()
    if move.kind == "NE":
        a, b, _ = move.nodes
        return {edge(a, b)}, {a, b}, set()
    z, a, c = move.nodes
    return {edge(z, a)}, {z, a, c}, set()


def carried_out(proposals: Iterable[Proposal], network: Network) -> tuple[Network, list[Proposal]]:
    """The regular network after the moves, and those that were still possible one after the other."""
    done = []
    for p in proposals:
        if _possible(p.move, network.graph):
            network = applied(p.found, network)
            done.append(p)
    return regularised(network), done


def _possible(move: Move, graph: Graph) -> bool:
    if move.kind != "NR":
        return True
    z, a, c = move.nodes  # another branch may have been moved in between: no circles
    return a in graph.neighbours[z] and graph.path(z, c)[1] == a


# ---- where moves are ---------------------------------------------------------------------------------------------


def near(before: Graph, after: Graph, done: Iterable[Proposal]) -> set[int]:
    """The nodes that moves have changed, those that are new, and all their neighbours."""
    found = {v for p in done for g in (before, after) for v in surroundings(g, p.move)}
    found |= {v for v in after.neighbours if v not in before.neighbours}
    return found & after.neighbours.keys()


def surroundings(graph: Graph, move: Move) -> set[int]:
    """The nodes of a move that are there, and their neighbours."""
    nodes = move.nodes[: {"SI": 1, "NI": 3, "UN": 2, "DI": -2, "NE": 2}.get(move.kind)]
    own = {v for v in nodes if v in graph.neighbours}
    return own.union(*(graph.neighbours[v] for v in own)) if own else set()
