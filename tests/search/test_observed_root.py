"""A variable as an inner node whose values are seen: what hangs on it, and what the search makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.errors import ParameterError
from latentree.score import bic
from latentree.search import learn
from latentree.search._beliefs import Beliefs
from latentree.search._network import Graph, Network
from latentree.search._operators import moves
from latentree.search._proposals import _unions
from latentree.search._relocate import relocations


def rooted(seed, missing=0.1):
    """x1 above two latents, one of which has a latent below, and rows with missing cells, x1's too."""
    rng = np.random.default_rng(seed)
    edges = [("x1", "a"), ("x1", "b"), ("b", "c"), ("x1", "x2")]
    edges += [("a", "x3"), ("a", "x4"), ("b", "x5"), ("c", "x6"), ("c", "x7")]
    states = {v: 2 for e in edges for v in e} | {"x1": 3, "x4": 3}
    names = [f"x{i + 1}" for i in range(7)]
    tree = Tree.from_edges(edges, states, names, root="x1")
    model = Model.random(tree, numbered([states[v] for v in names]), rng)
    codes = model.sample(80, rng)
    codes[rng.random(codes.shape) < missing] = -1
    return model, Table.from_codes(codes, model.variables)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_a_network_says_what_the_model_says(seed):
    model, table = rooted(seed)
    network = Network.from_model(model)
    assert list(network.graph.observed.values()) == [0]
    assert network.graph.n_parameters == model.tree.n_parameters
    rows = Plan.of(model, table).row_log_likelihood(model.parameters)
    np.testing.assert_allclose(Beliefs(network, table).log_likelihood, rows[: table.n_patterns], atol=1e-8)
    back = network.to_model(model.variables)
    assert back.tree == model.tree and back.tree.names[0] == "x1"
    np.testing.assert_allclose(Plan.of(back, table).row_log_likelihood(back.parameters), rows, atol=1e-9)


def test_the_node_stays_as_it_is():
    model, table = rooted(0)
    graph = Network.from_model(model).graph
    (node,) = graph.observed
    assert all(move.nodes != (node,) for move in moves(graph, ("SI", "SD")))
    assert all(node not in move.nodes[:2] for move in _unions(graph, None))
    assert all(found.move.nodes[0] != 0 for found in relocations(Beliefs(Network.from_model(model), table)))
    many = Graph({0: (3,), 1: (3,), 2: (3,), 3: (0, 1, 2)}, {0: 9, 1: 2, 2: 2, 3: 9}, 3, {3: 0})
    assert many.regularised() == many  # a latent would keep four of nine states


def caused():
    """x1 above two hidden values with four variables each."""
    rng = np.random.default_rng(0)
    cause = rng.integers(0, 3, 800)
    hidden = [np.where(rng.random(800) < 0.8, own, rng.integers(0, 2, 800)) for own in (cause % 2, (cause > 1) * 1)]
    codes = np.column_stack([cause, *(np.where(rng.random(800) < 0.15, 1 - h, h) for h in hidden for _ in range(4))])
    return Table.from_codes(codes)


def test_the_generating_tree_is_found():
    table = caused()
    run = learn(table, rng=np.random.default_rng(0), trials=0, root="x1")
    tree = run.tree
    near = {frozenset(int(tree.variable[u]) for u in tree.neighbours(int(z))) for z in tree.latent}
    assert near == {frozenset({0, 1, 2, 3, 4}), frozenset({0, 5, 6, 7, 8})}
    assert run.score == pytest.approx(bic(run.fit))
    assert run.score > learn(table, rng=np.random.default_rng(0), trials=0).score


def test_it_stays_a_root_where_one_branch_is_left():
    model, _ = rooted(3)
    names = [v.name for v in model.variables]
    edges = [("x1", "a"), *(("a", name) for name in names[1:])]
    tree = Tree.from_edges(edges, {v.name: v.cardinality for v in model.variables} | {"a": 2}, names, root="x1")
    network = Network.from_model(Model.random(tree, model.variables, np.random.default_rng(0)))
    assert network.graph.observed and network.graph.regularised() == network.graph
    assert network.to_model(model.variables).tree.names[0] == "x1"
    run = learn(caused(), rng=np.random.default_rng(0), starts=1, trials=8, root="x1")
    assert run.reason.complete and run.tree.names[0] == "x1"


def test_an_unknown_root_is_refused():
    with pytest.raises(ParameterError, match="'root' parameter of learn"):
        learn(rooted(0)[1], rng=np.random.default_rng(0), root="y")
    with pytest.raises(ParameterError, match="no 'pieces'"):
        learn(rooted(0)[1], rng=np.random.default_rng(0), root="x1", pieces=8)
