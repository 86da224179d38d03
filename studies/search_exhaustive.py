"""All regular trees over a few variables, and how often each search finds the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree.estimation import restart_em
from latentree.score import bic
from latentree.search import METHODS, learn
from latentree.search._network import Graph, edge

from .page import markdown

__all__ = ["Ranking", "page", "ranked", "regular_trees", "study"]

DATA = ("hiv_test", "house_building", "values", "lsat")
LABELS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "DHC": ("dhc", {}),
    "SHC": ("shc", {}),
    "HSHC (K = 1)": ("hshc", {"k": 1}),
    "HSHC (K = 3)": ("hshc", {"k": 3}),
    "EAST0": ("east0", {}),
    "EAST": ("east", {}),
    "swift (ours)": ("swift", {}),
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


def study(*, runs: int, most: int, starts: int, seed: int) -> list[tuple[str, Ranking, dict[str, list[float]]]]:
    """Rank all trees of every data set, and search them with every method from several seeds."""
    out = []
    for name in DATA:
        table = datasets.load(name)
        values = {
            label: [
                learn(table, method=method, rng=np.random.default_rng([seed, i]), **options).score  # type: ignore[arg-type]
                for i in range(runs)
            ]
            for label, (method, options) in LABELS.items()
            if method in METHODS
        }
        out.append((name, ranked(table, most=most, starts=starts, seed=seed), values))
    return out


def page(found: Sequence[tuple[str, Ranking, dict[str, list[float]]]], *, runs: int, most: int, starts: int) -> str:
    """Write the results as part of a page."""
    text = f"""
## All regular trees

Every regular tree over the variables, latents having 2 to {most} states (and narrower latents between wider ones), is
fitted by EM from {starts} starts. Then every method searches from {runs} seeds; the cells say how often it ends within
{NEAR} of the best BIC of all trees, and what it ends with in the middle case.

"""
    rows = []
    for name, ranking, values in found:
        second = next((s for s in ranking.scores if s < ranking.scores[0] - NEAR), np.nan)
        rows.append(
            [
                name,
                str(len(ranking.scores)),
                f"{ranking.scores[0]:.2f}",
                f"{second:.2f}",
                _described(ranking.best),
                *(_cell(v, float(ranking.scores[0])) for v in values.values()),
            ]
        )
    head = ["data", "trees", "best BIC", "second", "best tree", *found[0][2]]
    return text + markdown(head, rows)


def _cell(values: Sequence[float], best: float) -> str:
    hits = sum(v > best - NEAR for v in values)
    return f"{hits} of {len(values)} ({np.median(values):.2f})"


def _described(graph: Graph) -> str:
    """Each latent as its number of states and the variables (from 1) and latents (z1, ...) around it."""
    name = {v: f"z{i + 1}" for i, v in enumerate(graph.latents)} | {v: str(v + 1) for v in range(graph.n_manifest)}
    return "; ".join(
        f"{name[z]} ({graph.cardinality[z]}): {' '.join(name[u] for u in graph.neighbours[z])}" for z in graph.latents
    )
