"""All regular trees over a few variables, and how often each search finds the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree.estimation import restart_em
from latentree.score import bic
from latentree.search._network import Graph, edge

from .page import markdown
from .parts import Answers, Parts
from .searching import Plain, timed

__all__ = ["PARTS", "Ranking", "make", "ranked", "regular_trees", "section"]

PARTS = ("regular trees", "small data")

DATA = ("hiv_test", "house_building", "values", "lsat")
LABELS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "DHC": ("dhc", {}),
    "SHC": ("shc", {}),
    "HSHC (K = 1)": ("hshc", {"k": 1}),
    "HSHC (K = 3)": ("hshc", {"k": 3}),
    "EAST0": ("east0", {}),
    "EAST": ("east", {}),
    "default (ours)": ("swift", {}),
}
NEAR = 0.01
"""Scores that differ by less are equal."""


def regular_trees(cardinalities: Sequence[int], most: int) -> Iterator[Graph]:
    """All regular trees with these leaves whose latents have 2 to ``most`` states, each once.

    Examples
    --------
    >>> len(list(regular_trees([2, 2, 2], 4))), len(list(regular_trees([2, 2, 2, 2], 2)))
    (3, 4)
    """
    seen = set()
    for skeleton in _skeletons(cardinalities):
        for states in product(range(2, most + 1), repeat=len(skeleton.latents)):
            graph = skeleton.edited(cardinality=dict(zip(skeleton.latents, states, strict=True)))
            for full in _with_narrow_nodes(graph):
                key = full.key()
                if key not in seen and full.to_tree().is_regular:
                    seen.add(key)
                    yield full


def _skeletons(cardinalities: Sequence[int]) -> list[Graph]:
    """Trees in which every latent has at least three neighbours: leaves are added one by one, everywhere."""
    n = len(cardinalities)
    first = Graph({0: (n,), 1: (n,), 2: (n,), n: (0, 1, 2)}, {**dict(enumerate(cardinalities[:3])), n: 2}, n)
    found = [first]
    for leaf in range(3, n):
        grown = []
        for graph in found:
            states = {leaf: cardinalities[leaf]}
            grown += [graph.edited(join=[edge(leaf, z)], cardinality=states) for z in graph.latents]
            new = graph.fresh()
            for a, b in graph.edges:
                joined = [edge(leaf, new), edge(a, new), edge(b, new)]
                grown.append(graph.edited(cut=[(a, b)], join=joined, cardinality={**states, new: 2}))
        found = grown
    return found


def _with_narrow_nodes(graph: Graph) -> Iterator[Graph]:
    """The graph, and all that have latents of strictly fewer states between some neighbours ([Zhang2004] 2)."""
    choices = [
        range(1, min(graph.cardinality[a], graph.cardinality[b])) for a, b in graph.edges
    ]  # 1 stands for no node
    for states in product(*choices):
        full = graph
        for (a, b), k in zip(graph.edges, states, strict=True):
            if k > 1:
                new = full.fresh()
                full = full.edited(cut=[(a, b)], join=[edge(a, new), edge(b, new)], cardinality={new: k})
        yield full


@dataclass(frozen=True)
class Ranking:
    """All regular trees of a data set, fitted.

    Attributes
    ----------
    scores : array
        BIC of every tree, the best first.
    best : Graph
        The best tree.
    """

    scores: np.ndarray
    best: Graph


def ranked(table: Table, *, most: int, starts: int, seed: int) -> Ranking:
    """Fit all regular trees and rank them by BIC."""
    rng = np.random.default_rng(seed)
    found = []
    for graph in regular_trees(table.cardinalities.tolist(), most):
        model = Model.random(graph.to_tree(dict(enumerate(table.names))), table.variables, rng)
        found.append((bic(restart_em(model, table, rng=rng, n_init=starts, finalists=4)), graph))
    found.sort(key=lambda pair: -pair[0])
    return Ranking(np.array([score for score, _ in found]), found[0][1])


def make(parts: Parts, *, runs: int, most: int, starts: int, seed: int) -> None:
    """Rank all trees of every data set, and search them with every method from several seeds."""
    for name in DATA:
        size = {"most": most, "starts": starts, "seed": seed}
        parts.make("regular trees", {"data": name}, size, partial(_ranking, name, most, starts, seed))
        for label in LABELS:
            size = {"runs": runs, "seed": seed}
            parts.make("small data", {"data": name, "method": label}, size, partial(_ends, name, label, runs, seed))


def _ranking(name: str, most: int, starts: int, seed: int) -> Plain:
    found = ranked(datasets.load(name), most=most, starts=starts, seed=seed)
    second = next((s for s in found.scores if s < found.scores[0] - NEAR), None)
    return {"trees": len(found.scores), "best": found.scores[0], "second": second, "tree": _described(found.best)}


def _ends(name: str, label: str, runs: int, seed: int) -> list[float]:
    method, options = LABELS[label]
    return [timed(datasets.load(name), method, [seed, i], **options)[0].score for i in range(runs)]


def section(kept: Answers) -> str:
    """The results as part of a page."""
    size, rows = kept.size("regular trees"), []
    for name in DATA:
        own = kept.of("regular trees", data=name)
        ends = [kept.of("small data", data=name, method=label) for label in LABELS]
        told = [name, str(own["trees"]), f"{own['best']:.2f}", f"{own['second']:.2f}", own["tree"]]
        rows.append([*told, *(_cell(values, own["best"]) for values in ends)])
    head = ["data", "trees", "best BIC", "second", "best tree", *LABELS]
    return f"""
## All regular trees

Every regular tree over the variables, latents having 2 to {size["most"]} states (and narrower latents between wider
ones), is fitted by EM from {size["starts"]} starts. Then every method searches from {kept.size("small data")["runs"]}
seeds; the cells say how often it ends within {NEAR} of the best BIC of all trees, and with what its worst seed ends.
({kept.made("regular trees", "small data")}.)

{markdown(head, rows)}"""


def _cell(values: Sequence[float], best: float) -> str:
    hits = sum(v > best - NEAR for v in values)
    return f"{hits} of {len(values)} ({min(values):.2f})"


def _described(graph: Graph) -> str:
    """Each latent as its number of states and the variables (from 1) and latents (z1, ...) around it."""
    name = {v: f"z{i + 1}" for i, v in enumerate(graph.latents)} | {v: str(v + 1) for v in range(graph.n_manifest)}
    return "; ".join(
        f"{name[z]} ({graph.cardinality[z]}): {' '.join(name[u] for u in graph.neighbours[z])}" for z in graph.latents
    )
