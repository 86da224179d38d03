"""The five search operators SI, SD, NI, ND, NR ([Zhang2004] 3, [ChenZhangWang] 2.1), and our own UN, DI and NE.

A move is what is done and where; :func:`moves` lists them, :meth:`Move.applied` gives the graph before regularisation,
:func:`reachable` the regular graphs that can be reached, each once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Literal

from .._tree import states_needed
from ._network import Graph, edge

Kind = Literal["SI", "SD", "NI", "ND", "NR", "UN", "DI", "NE"]

EXPAND: tuple[Kind, ...] = ("SI", "NI")
ADJUST: tuple[Kind, ...] = ("NR",)
SIMPLIFY: tuple[Kind, ...] = ("ND", "SD")

LEAST_STATES = 2
"""SD does not go below ([Zhang2004] 3)."""


@dataclass(frozen=True, order=True)
class Move:
    """One application of an operator.

    Attributes
    ----------
    kind : str
        ``SI`` introduces and ``SD`` deletes a state; ``NI`` introduces a node between a latent and two of its
        neighbours and ``ND`` deletes one; ``NR`` relocates a node; ``UN`` unites two latents and ``DI`` divides
        one; ``NE`` introduces a node on an edge, which with one state makes both sides independent.
    nodes : tuple of int
        SI, SD: (latent,). NI: (latent, neighbour, neighbour). ND: (deleted latent, the neighbour that takes over).
        NR: (relocated node, where it was, where it goes). UN: (deleted latent, the one it is united with, states).
        DI: (latent, neighbours that the new node takes over, states of the latent, states of the new node).
        NE: (latent, neighbour, states). SI may name a number of states at the end, and NI that of the new node; the
        sources add one, and copy the latent's.
    """

    kind: Kind
    nodes: tuple[int, ...]

    @property
    def place(self) -> int:
        """The latent that it changes first: of a relocated node, the one that it leaves."""
        return self.nodes[1 if self.kind == "NR" else 0]

    @property
    def cuts(self) -> bool:
        """Whether it makes the two sides of an edge independent."""
        return self.kind == "NE" and self.nodes[-1] == 1

    def applied(self, graph: Graph) -> Graph:
        """The graph after the move, not yet regularised."""
        if self.kind in ("SI", "SD"):
            return graph.edited(cardinality={self.nodes[0]: self.states(graph)})
        if self.kind in ("NI", "NE"):
            a, *below = self.nodes[: 3 if self.kind == "NI" else 2]
            h = graph.fresh()
            join = [edge(a, h), *(edge(h, b) for b in below)]
            return graph.edited(cut=[edge(a, b) for b in below], join=join, cardinality={h: self.states(graph)})
        if self.kind == "ND":
            b, a = self.nodes
            return graph.edited(without=[b], join=[edge(a, c) for c in graph.neighbours[b] if c != a])
        if self.kind == "UN":
            b, a, k = self.nodes
            rest = [edge(a, c) for c in graph.neighbours[b] if c != a]
            return graph.edited(without=[b], join=rest, cardinality={a: k})
        if self.kind == "DI":
            a, *below, k, h = self.nodes
            new = graph.fresh()
            join = [edge(a, new), *(edge(new, b) for b in below)]
            return graph.edited(cut=[edge(a, b) for b in below], join=join, cardinality={a: k, new: h})
        z, a, c = self.nodes
        return graph.edited(cut=[edge(z, a)], join=[edge(z, c)])

    def states(self, graph: Graph) -> int:
        """How many states the latent has that a move of states, a new node or a union makes or changes."""
        k = graph.cardinality[self.nodes[0]]
        if self.kind in ("UN", "NE") or (self.kind, len(self.nodes)) in (("SI", 2), ("NI", 4)):
            return self.nodes[-1]
        return k + {"SI": 1, "SD": -1}.get(self.kind, 0)

    def inverse(self, graph: Graph) -> Move | None:
        """The move that undoes this one, applied to ``graph``; None if no single move does."""
        if self.kind in ("SI", "SD"):
            (a, *more) = self.nodes
            return None if more else Move("SD" if self.kind == "SI" else "SI", (a,))
        if self.kind in ("NI", "NE"):
            return Move("ND", (graph.fresh(), self.nodes[0]))
        if self.kind == "NR":
            z, a, c = self.nodes
            return Move("NR", (z, c, a))
        if self.kind == "DI":
            a = self.nodes[0]
            return Move("UN", (graph.fresh(), a, graph.cardinality[a]))
        if self.kind == "UN":
            return None
        b, a = self.nodes
        rest = [u for u in graph.neighbours[b] if u != a]
        # NI moves two neighbours and copies the number of states: it makes back only such a node
        return Move("NI", (a, *rest)) if len(rest) == 2 and graph.cardinality[a] == graph.cardinality[b] else None

    def describe(self, names: dict[int, str]) -> str:
        """Say it in words."""
        n = [names.get(v, f"z{v}") for v in self.nodes]
        last = self.nodes[-1]
        return {
            "SI": lambda: f"{last} states for {n[0]}" if len(n) > 1 else f"one more state for {n[0]}",
            "SD": lambda: f"one state less for {n[0]}",
            "NI": lambda: f"a new latent{f' of {last} states' * (len(n) > 3)} between {n[0]} and {n[1]}, {n[2]}",
            "NE": lambda: (
                f"a new latent of {last} states between {n[0]} and {n[1]}"
                if last > 1
                else f"{n[1]} cut off from {n[0]}"
            ),
            "ND": lambda: f"{n[0]} deleted, its neighbours joined to {n[1]}",
            "NR": lambda: f"{n[0]} moved from {n[1]} to {n[2]}",
            "UN": lambda: f"{n[0]} and {n[1]} united, with {last} states",
            "DI": lambda: (
                f"{n[0]} divided: {self.nodes[-2]} states for it, {last} for a new latent with {', '.join(n[1:-2])}"
            ),
        }[self.kind]()


def moves(
    graph: Graph, kinds: Iterable[Kind] = (*EXPAND, *ADJUST, *SIMPLIFY), *, reach: int | None = None
) -> list[Move]:
    """All applications of some operators."""
    return list(_each(graph, kinds, reach))


def _each(graph: Graph, kinds: Iterable[Kind], reach: int | None) -> Iterator[Move]:
    makers = {"SI": _si, "SD": _sd, "NI": _ni, "ND": _nd}
    for kind in kinds:
        yield from makers[kind](graph) if kind in makers else _nr(graph, reach)


def reachable(
    graph: Graph, kinds: Iterable[Kind] = (*EXPAND, *ADJUST, *SIMPLIFY), *, reach: int | None = None
) -> Iterator[tuple[Move, Graph]]:
    """Moves with the regular graphs they lead to, one by one: none equal to the present one, none twice."""
    seen = {hash(graph.key())}  # of millions of wide graphs the keys themselves would not fit
    for move in _each(graph, kinds, reach):
        reached = move.applied(graph).regularised()
        key = hash(reached.key())
        if key not in seen:
            seen.add(key)
            yield move, reached


def added_parameters(graph: Graph, move: Move) -> int | None:
    """Parameters that a move adds, found from its surroundings; None if regularisation would act, or might."""
    k = graph.cardinality
    if move.kind == "SI":
        a = move.nodes[0]
        return (move.states(graph) - k[a]) * (1 + sum(k[u] - 1 for u in graph.neighbours[a]))
    if move.kind == "SD":
        (a,) = move.nodes
        around = graph.neighbours[a]
        return -1 - sum(k[u] - 1 for u in around) if _stay(graph, around, a, k[a] - 1) else None
    if move.kind == "UN":
        return _united(graph, *move.nodes)
    if move.kind in ("NI", "NE"):
        return _introduced(graph, move)
    if move.kind == "DI":
        return _divided(graph, *move.nodes)
    if move.kind == "NR":
        z, a, c = move.nodes
        return relocated(graph, z, a, [c])[0]
    return None


def per_parameter(gain: float, more: int) -> float:
    """A gain divided by the parameters it costs ([Zhang2004] 2, [ChenZhangWang] 1), higher being better.

    A loss is not divided: spread over many parameters it would look small. A gain that costs no parameter comes before
    all that cost some, as in the first phase of [Zhang2004] 3; among such gains the largest is the best.

    Examples
    --------
    >>> per_parameter(6.0, 3), per_parameter(-6.0, 3), per_parameter(0.5, 0) > per_parameter(1e6, 1)
    (2.0, -6.0, True)
    """
    return gain / (more if more > 0 else 1e-9) if gain > 0 else gain


def _united(graph: Graph, b: int, a: int, cardinality: int) -> int | None:
    """Parameters that a union adds; None if what comes out might not be regular."""
    k = graph.cardinality
    ends = {x: [u for u in graph.neighbours[x] if u not in (a, b)] for x in (a, b)}
    sizes = [k[u] for x in (a, b) for u in ends[x]]
    if len(sizes) < 3 or cardinality * max(sizes) > prod(sizes):
        return None
    if not all(_stay(graph, ends[x], x, cardinality) for x in (a, b)):
        return None
    before = sum(k[x] - 1 + sum((k[u] - 1) * (k[x] - 1) for u in ends[x]) for x in (a, b)) + (k[a] - 1) * (k[b] - 1)
    return (cardinality - 1) * (1 + sum(n - 1 for n in sizes)) - before


def _divided(graph: Graph, a: int, *more: int) -> int | None:
    """Parameters that a division adds; None if what comes out might not be regular."""
    *below, own, new = more
    k, rest = graph.cardinality, [u for u in graph.neighbours[a] if u not in below]
    for states, sizes in ((own, [*(k[u] for u in rest), new]), (new, [*(k[u] for u in below), own])):
        if len(sizes) < 3 or states * max(sizes) > prod(sizes):
            return None
    if not (_stay(graph, rest, a, own) and _stay(graph, below, a, new)):
        return None
    after = own - 1 + own * (sum(k[u] - 1 for u in rest) + new - 1) + new * sum(k[u] - 1 for u in below)
    return after - (k[a] - 1) - k[a] * sum(k[u] - 1 for u in graph.neighbours[a])


def relocated(graph: Graph, z: int, a: int, places: Sequence[int]) -> list[int | None]:
    """Parameters that hanging z from a at places adds; None where more becomes irregular than a that is left behind."""
    k, before = graph.cardinality, graph.cardinality[a]
    rest = [u for u in graph.neighbours[a] if u != z]
    sizes = [k[u] for u in rest]
    needed = before if a in graph.observed else states_needed(before, sizes)
    left: int | None = 0  # what becomes of a
    if needed < before:
        bridged = len(rest) == 2 and not needed
        others = zip(rest, sizes[::-1], strict=True) if bridged else ()
        if bridged and all(_stay(graph, [u], a, n) for u, n in others):  # they become each other's neighbours
            left = (sizes[0] - 1) * (sizes[1] - 1) - (before - 1) * (sizes[0] + sizes[1] - 1)
        else:
            left = None
    fits = {n: left is not None and _stay(graph, [z], a, n) for n in {k[c] for c in places}}
    return [left + (k[z] - 1) * (k[c] - before) if left is not None and fits[k[c]] else None for c in places]


def _introduced(graph: Graph, move: Move) -> int | None:
    """Parameters that a new node adds; None if what comes out might not be regular."""
    k, h = graph.cardinality, move.states(graph)
    a, *below = move.nodes[: 3 if move.kind == "NI" else 2]
    sizes = [k[a], *(k[b] for b in below)]
    rest = [k[u] for u in graph.neighbours[a] if u not in below] + [h]
    if h * max(sizes) > prod(sizes) or (len(sizes) == 2 and h >= min(sizes)):
        return None
    if len(rest) < 3 or k[a] * max(rest) > prod(rest) or not _stay(graph, below, a, h):
        return None
    return (h - 1) * (1 + sum(n - 1 for n in sizes)) - (k[a] - 1) * sum(k[b] - 1 for b in below)


def _stay(graph: Graph, neighbours: Iterable[int], a: int, cardinality: int) -> bool:
    """Whether neighbours of a node stay regular when it has another number of states."""
    k = graph.cardinality
    if cardinality >= k[a]:
        return True
    for u in neighbours:
        if graph.is_latent(u):
            sizes = [cardinality if v == a else k[v] for v in graph.neighbours[u]]
            if len(sizes) < 3 or k[u] * max(sizes) > prod(sizes):
                return False
    return True


def _si(graph: Graph) -> Iterator[Move]:
    hidden = (a for a in graph.latents if a not in graph.observed)
    return (Move("SI", (a,)) for a in hidden if graph.cardinality[a] < _most(graph, a))


def _most(graph: Graph, a: int) -> int:
    """Most states of a regular latent: below the smaller neighbour's if there are only two ([Zhang2004] 2)."""
    return graph.bound(a) - (1 if len(graph.neighbours[a]) == 2 else 0)


def _sd(graph: Graph) -> Iterator[Move]:
    return (Move("SD", (a,)) for a in graph.latents if a not in graph.observed and graph.cardinality[a] > LEAST_STATES)


def _ni(graph: Graph) -> Iterator[Move]:
    for a in graph.latents:
        neighbours = graph.neighbours[a]
        if len(neighbours) < 4:  # what is left of a would be removed again
            continue
        pairs = combinations(neighbours, 2)
        # of four neighbours, parting two is parting the other two
        yield from (Move("NI", (a, b, c)) for b, c in pairs if len(neighbours) > 4 or b == neighbours[0])


def _nd(graph: Graph) -> Iterator[Move]:
    pairs = ((a, b) for a, b in graph.edges if graph.is_latent(a) and graph.is_latent(b))
    return (Move("ND", (b, a)) for pair in pairs for a, b in (pair, pair[::-1]))


def _nr(graph: Graph, reach: int | None) -> Iterator[Move]:
    for a in graph.latents:
        for z in graph.neighbours[a]:
            yield from (Move("NR", (z, a, c)) for c in _within(graph, a, z, reach))


def _within(graph: Graph, a: int, z: int, reach: int | None) -> list[int]:
    """Latents at most ``reach`` steps from a that are not reached through z."""
    found: list[int] = []
    ahead, seen, steps = [a], {a, z}, 0
    while ahead and (reach is None or steps < reach):
        ahead = [u for v in ahead for u in graph.neighbours[v] if graph.is_latent(u) and u not in seen]
        seen |= set(ahead)
        found += ahead
        steps += 1
    return sorted(found)
