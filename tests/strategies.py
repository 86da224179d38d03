"""Hypothesis strategies for trees, parameters, evidence, models and tables, shared by all tests.

Small on purpose: every tree can be checked by enumerating all joint states (see ``oracle``).
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from latentree._model import Model, normalised, row_starts
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import Variable, typed
from latentree.engine._plan import Evidence


@st.composite
def trees(
    draw,
    max_nodes: int = 7,
    max_states: int = 3,
    *,
    min_nodes: int = 1,
    min_states: int = 1,
    min_variables: int = 1,
    latent_leaves: bool = True,
    observed_inner: bool = True,
):
    """Any tree: observed inner nodes and roots, latent leaves and nodes of one state unless ruled out."""
    n = draw(st.integers(max(min_nodes, min_variables), max_nodes))
    parent = [-1] + [draw(st.integers(0, v - 1)) for v in range(1, n)]
    states = draw(st.lists(st.integers(min_states, max_states), min_size=n, max_size=n))
    inner = set(parent)
    shown = []
    for v in range(n):
        choices = [True, False]
        if v in inner and not observed_inner:
            choices = [False]
        if v not in inner and not latent_leaves:
            choices = [True]
        shown.append(draw(st.sampled_from(choices)))
    for v in reversed(range(n)):  # leaves first, when there are too few
        if sum(shown) < min_variables:
            shown[v] = True
    order = iter(draw(st.permutations(range(sum(shown)))))
    return Tree(parent, states, [next(order) if s else -1 for s in shown])


@st.composite
def parameters(draw, tree: Tree, *, zeros: bool | None = None, extreme: bool = False):
    """A flat vector of probabilities, sometimes (or always, or never) with exact zeros, sometimes extreme."""
    zeros = draw(st.booleans()) if zeros is None else zeros
    values = st.integers(0 if zeros else 1, 6).map(float)
    if extreme:
        values = values | st.sampled_from([1e-300, 1e-30, 1e-9, 1e9])
    p = np.array(draw(st.lists(values, min_size=tree.size, max_size=tree.size)))
    starts = row_starts(tree)
    empty = np.add.reduceat(p, starts) == 0
    p[starts[empty]] = 1.0
    return normalised(tree, p)


@st.composite
def weights(draw, n_rows: int):
    """Positive weights, whole or not."""
    values = st.integers(1, 5).map(float) | st.floats(0.125, 8.0)
    return np.array(draw(st.lists(values, min_size=n_rows, max_size=n_rows)))


@st.composite
def evidence(draw, tree: Tree, max_rows: int = 6, *, min_rows: int = 1, soft: bool = False, missing: bool = True):
    """Hard values with missing cells on every manifest node; if ``soft``, likelihoods on some other nodes too."""
    n_rows = draw(st.integers(min_rows, max_rows))
    out = []
    for v in range(tree.n_nodes):
        k = int(tree.cardinality[v])
        if tree.variable[v] >= 0:
            ids = st.integers(-1 if missing else 0, k - 1)
            out.append(Evidence(v, np.array(draw(st.lists(ids, min_size=n_rows, max_size=n_rows)), dtype=np.int32)))
        elif soft and draw(st.booleans()):
            out.append(draw(soft_evidence(v, k, n_rows)))
    return out


@st.composite
def soft_evidence(draw, node: int, n_states: int, n_rows: int):
    """Likelihoods at a node, some zero, with or without log-scales."""
    n_ids = draw(st.integers(1, n_rows))
    ids = draw(st.lists(st.integers(0, n_ids - 1), min_size=n_rows, max_size=n_rows))
    cells = draw(st.lists(st.integers(0, 4), min_size=n_ids * n_states, max_size=n_ids * n_states))
    likelihood = np.array(cells, dtype=float).reshape(n_ids, n_states)
    likelihood[likelihood.sum(axis=1) == 0] = 1.0
    likelihood /= likelihood.max(axis=1, keepdims=True)
    scale = draw(st.none() | st.lists(st.floats(-50, 5), min_size=n_ids, max_size=n_ids).map(np.array))
    return Evidence(node, np.array(ids, dtype=np.int32), likelihood, scale)


def states():
    """One state of a variable: text, truth value, whole number or number."""
    numbers = st.integers(-9, 9) | st.integers() | st.sampled_from([0.0, 1.0]) | st.floats(allow_nan=False)
    return st.text(max_size=6) | st.booleans() | numbers


@st.composite
def variables(draw, name: str, cardinality: int):
    """A variable of that many states of any types, sometimes binned."""
    own = draw(st.lists(states(), min_size=cardinality, max_size=cardinality, unique_by=typed))
    edges = st.lists(st.floats(-1e6, 1e6), min_size=cardinality - 1, max_size=cardinality - 1, unique=True).map(sorted)
    return Variable(name, tuple(own), draw(st.none() | edges))


@st.composite
def models(draw, max_nodes: int = 7, max_states: int = 3, *, extreme: bool = False, **options):
    """A model over any tree, its variables with states of any types and any names."""
    tree = draw(trees(max_nodes, max_states, **options))
    names = draw(
        st.lists(st.text(max_size=6), min_size=tree.n_variables, max_size=tree.n_variables, unique=True)
        if draw(st.booleans())
        else st.just([f"x{i + 1}" for i in range(tree.n_variables)])
    )
    own = [draw(variables(name, int(tree.cardinality[node]))) for name, node in zip(names, tree.manifest, strict=True)]
    return Model(tree, own, draw(parameters(tree, extreme=extreme)))


@st.composite
def tables(draw, own: tuple[Variable, ...], max_rows: int = 6, *, weighted: bool = True, missing: bool = True):
    """Rows over the variables, some repeated, some of weight zero."""
    n_rows = draw(st.integers(1, max_rows))
    codes = [[draw(st.integers(-1 if missing else 0, v.cardinality - 1)) for v in own] for _ in range(n_rows)]
    w = None
    if weighted and draw(st.booleans()):
        w = draw(weights(n_rows))
        w[draw(st.lists(st.integers(1, n_rows), max_size=2).map(lambda at: [i for i in at if i < n_rows]))] = 0.0
    return Table.from_codes(np.array(codes), own, w)


@st.composite
def models_and_tables(draw, max_nodes: int = 7, max_states: int = 3, max_rows: int = 6, **options):
    """A model and a table over its variables."""
    model = draw(models(max_nodes, max_states, **options))
    return model, draw(tables(model.variables, max_rows))
