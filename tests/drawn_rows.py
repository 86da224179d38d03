"""Rows of a tree of two latents, as drawn and sorted, for tests of priors."""

from __future__ import annotations

import numpy as np

from latentree import Model, Table, Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.infer import sample_table

QUICK = {"trials": 0}


def log_likelihood(model, table):
    return Plan.of(model, table).log_likelihood(model.parameters)


def drawn(n, seed=0, states=2):
    """Rows of a tree of two latents and six variables."""
    edges = [("a", "b"), *(("a", f"x{i}") for i in (1, 2, 3)), *(("b", f"x{i}") for i in (4, 5, 6))]
    names = [f"x{i}" for i in range(1, 7)]
    tree = Tree.from_edges(edges, {"a": states, "b": states, **dict.fromkeys(names, 3)}, names)
    model = Model.random(tree, numbered([3] * 6), np.random.default_rng(seed), dominant=0.7)
    return model, sample_table(model, n, np.random.default_rng(seed + 100))


def sorted_table(n=600, seed=0, states=3):
    """Rows of the tree of :func:`drawn`, sorted by three columns."""
    model, table = drawn(n, seed, states)
    rows = table.codes[table.inverse]
    return Table.from_codes(rows[np.lexsort(rows.T[[3, 1, 0]])], model.variables)
