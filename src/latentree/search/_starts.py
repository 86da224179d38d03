"""Where climbs of our own search begin: stars, the best latent class model, pieces, an observed root, a larger tree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._model import Model
from .._table import Table
from .._tree import Tree
from ..errors import bad_parameter
from ..estimation import evaluate
from ._network import Graph
from ._task import Point, Task

Generator = np.random.Generator

LEAST_PIECE = 4
"""Least variables of a piece of a start that is put together."""
FEW, MANY = (2, 3, 16, 4, 5, 8, 12), (16, 8, 12, 20, 16, 10)
"""States of the stars that climbs begin from as long as they end alike, and where they do not; the latter for latents
of seven states or more, fewer for smaller ones."""
LADDER = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
"""Classes of the latent class models of which a start takes the best, until two in a row have not gained."""


def kind_of(number: int, n_variables: int, *, largest: int | None = None) -> tuple[str, int]:
    """What a start begins with: ("star", its states) or ("pieces", their size).

    As long as earlier starts have ended alike stars have few states, but for the third where variables are too few for
    pieces: climbs that come down from many states end at other trees than those that go up. If earlier starts have not
    ended alike, ``largest`` are the most states of a latent so far: stars have up to three times as many. More would
    take longer and not help where latents are small.

    Examples
    --------
    >>> [kind_of(i, 12) for i in range(5)]
    [('star', 2), ('star', 3), ('pieces', 4), ('star', 4), ('star', 5)]
    >>> [kind_of(i, 6, largest=7)[1] for i in range(2, 7)], [kind_of(i, 6, largest=3)[1] for i in range(2, 7)]
    ([16, 8, 12, 20, 16], [7, 4, 5, 9, 7])
    """
    turn, kind = divmod(number - 2, 5)
    pieces = turn + 1 if number >= 2 and n_variables >= 2 * LEAST_PIECE else 0
    if pieces and kind == 0:
        return "pieces", max(LEAST_PIECE, n_variables // (3 - turn % 2))
    if number < 2 or largest is None:
        return "star", FEW[number % len(FEW)]
    share = min(1.0, 3 * largest / max(MANY))
    return "star", max(4, round(share * MANY[(number - pieces - 2) % len(MANY)]))


def latent_classes(task: Task, refitted: Callable[[Task, Point, Generator], Point], rng: Generator) -> Point:
    """The best latent class model, as far as few starts find it: a search ends no lower.

    ``refitted`` fits the tree of a point from random starts.
    """
    best: Point | None = None
    missed = 0
    for k in LADDER:
        task.check_time()
        model = Model.random(Tree.star(k, task.table.cardinalities), task.table.variables, rng)
        if not model.tree.is_regular:
            break
        point = refitted(task, Point(evaluate(model, task.table), -np.inf), rng)
        if best is None or point.score > best.score:
            best, missed = point, 0
        else:
            missed += 1
        if missed == 2:
            break
    assert best is not None  # a star of two states is regular from three variables on
    return best


def with_more_states(graph: Graph, more: int, table: Table, rng: Generator) -> Model:
    """The same tree with so many more states for every latent, as far as they can be used, and random probabilities."""
    larger = graph.edited(cardinality={a: graph.cardinality[a] + more for a in graph.latents})
    return Model.random(larger.regularised().to_tree(), table.variables, rng)


def under(root: str, table: Table, latents: int) -> Tree:
    """All other variables below one of them (naive Bayes), or below one latent that hangs on it."""
    states = {v.name: v.cardinality for v in table.variables}
    if root not in states:
        raise bad_parameter("root", "learn", "the name of a variable that varies", root)
    z = "z"
    while z in states:
        z += "_"
    edges = [(z if latents else root, name) for name in states if name != root]
    return Tree.from_edges(
        [*([(root, z)] * latents), *edges], {**states, **({z: 2} if latents else {})}, table.names, root=root
    )
