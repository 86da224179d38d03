"""Hypothesis strategies for what a search meets: regular trees with all manifest nodes as leaves, models, data."""

from __future__ import annotations

import numpy as np
import strategies as shared
from hypothesis import strategies as st

from latentree._model import Model
from latentree._table import Table
from latentree._variables import numbered
from latentree.search._network import Graph
from latentree.search._operators import moves


@st.composite
def graphs(draw, max_leaves: int = 6, max_states: int = 3, max_moves: int = 5, min_leaves: int = 3):
    """A regular tree: a star to which some moves were applied."""
    leaves = draw(st.lists(st.integers(2, max_states), min_size=min_leaves, max_size=max_leaves))
    graph = Graph.star(2, leaves)
    for _ in range(draw(st.integers(0, max_moves))):
        possible = moves(graph, ("SI", "NI", "NR"))
        if not possible:
            break
        graph = draw(st.sampled_from(possible)).applied(graph).regularised()
    return graph


@st.composite
def models(draw, *, zeros: bool = False, **options):
    """A model on a regular tree."""
    tree = draw(graphs(**options)).to_tree()
    variables = numbered([int(tree.cardinality[v]) for v in tree.manifest])
    return Model(tree, variables, draw(shared.parameters(tree, zeros=zeros)))


@st.composite
def models_and_tables(draw, max_rows: int = 8, missing: bool = True, **options):
    """A model and weighted rows, some cells missing."""
    model = draw(models(**options))
    n = draw(st.integers(1, max_rows))
    codes = [[draw(st.integers(-1 if missing else 0, v.cardinality - 1)) for v in model.variables] for _ in range(n)]
    return model, Table.from_codes(np.array(codes), model.variables, draw(shared.weights(n)))


def drawn_table(model: Model, n: int, seed: int) -> Table:
    """Rows sampled from a model."""
    return Table.from_codes(model.sample(n, np.random.default_rng(seed)), model.variables)
