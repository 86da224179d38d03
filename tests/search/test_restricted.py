"""Messages, completed-data counts and restricted likelihood, against enumeration and against the engine."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from hypothesis import given, settings, strategies as st
from structures import drawn_table, models_and_tables

from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan, evidence_of
from latentree.search._beliefs import Beliefs
from latentree.search._network import Graph, Network
from latentree.search._operators import moves
from latentree.search._restricted import Effort, applied, dimension_change, evaluate, model_of, together, triple


@given(models_and_tables())
def test_messages_are_posteriors(case):
    model, table = case
    network = Network.from_model(model)
    beliefs = Beliefs(network, table)
    evidence = evidence_of(model, table)
    _, number = Graph.from_tree(model.tree)
    np.testing.assert_allclose(
        beliefs.log_likelihood,
        oracle.log_likelihood(model.tree, model.parameters, evidence, table.n_patterns),
        atol=1e-12,
    )
    for v in map(int, model.tree.latent):
        exact = oracle.posterior(model.tree, model.parameters, evidence, table.n_patterns, [v])
        np.testing.assert_allclose(beliefs.posterior(number[v]), exact, atol=1e-12)


@given(models_and_tables(), st.data())
def test_completed_counts_of_three(case, data):
    model, table = case
    network = Network.from_model(model)
    graph = network.graph
    a = data.draw(st.sampled_from(graph.latents))
    b, c = data.draw(st.permutations(graph.neighbours[a]))[:2]
    _, number = Graph.from_tree(model.tree)
    at = [number.index(v) for v in (a, b, c)]
    evidence = evidence_of(model, table)
    exact = oracle.posterior(model.tree, model.parameters, evidence, table.n_patterns, at)
    np.testing.assert_allclose(
        triple(Beliefs(network, table), a, b, c), np.tensordot(table.weights, exact, axes=1), atol=1e-11
    )


@given(models_and_tables(), st.data())
def test_messages_without_a_branch(case, data):
    """Taking a branch away is what having no evidence there is."""
    model, table = case
    network = Network.from_model(model)
    graph = network.graph
    a = data.draw(st.sampled_from(graph.latents))
    z = data.draw(st.sampled_from(graph.neighbours[a]))
    behind = _behind(graph, z, a)
    blank = table.codes.astype(int).copy()
    blank[:, [v for v in behind if v < graph.n_manifest]] = -1
    # the rows stay as they are, in the same order: nothing is merged
    bare = Beliefs(
        network,
        Table(np.asfortranarray(blank.astype(np.int16)), table.weights, table.variables, table.inverse, table.n),
    )
    left = Beliefs(network, table).without(z, a)
    assert set(left) == set(graph.latents) - behind
    for v, logs in left.items():
        np.testing.assert_allclose(logs, bare.total[v], atol=1e-9)


def _behind(graph: Graph, z: int, a: int) -> set[int]:
    found, ahead = {z}, [z]
    for v in ahead:
        fresh = [u for u in graph.neighbours[v] if u not in found and u != a]
        found |= set(fresh)
        ahead += fresh
    return found


@settings(max_examples=150)
@given(models_and_tables(), st.data())
def test_restricted_likelihood_is_that_of_the_model_made(case, data):
    model, table = case
    network = Network.from_model(model)
    possible = moves(network.graph)
    if not possible:
        return
    move = data.draw(st.sampled_from(possible))
    found = evaluate(move, Beliefs(network, table), Effort(3, 5, 0.0), np.random.default_rng(0))
    whole = applied(found, network)
    reached = whole.to_model(model.variables)
    assert found.log_likelihood == pytest.approx(_log_likelihood(reached, table), abs=1e-7)
    regular = model_of(found, network, model.variables)
    goal = move.applied(network.graph).regularised()
    assert regular.tree.canonical == goal.key()
    assert regular.tree.n_parameters == network.graph.n_parameters + dimension_change(move, network.graph)
    narrowed = any(whole.graph.cardinality[v] > goal.cardinality[v] for v in goal.latents)
    if not narrowed:
        assert found.log_likelihood == pytest.approx(_log_likelihood(regular, table), abs=1e-7)


def _log_likelihood(model: Model, table: Table) -> float:
    return Plan.of(model, table).log_likelihood(model.parameters)


@pytest.fixture(scope="module")
def two_latents() -> tuple[Model, Table]:
    tree = Tree.from_edges(
        [("y", "x1"), ("y", "x2"), ("y", "x3"), ("y", "w"), ("w", "x4"), ("w", "x5"), ("w", "x6")],
        {"y": 3, "w": 2, **{f"x{i}": 3 for i in range(1, 7)}},
        [f"x{i}" for i in range(1, 7)],
    )
    model = Model.random(tree, numbered([3] * 6), np.random.default_rng(1), dominant=0.6)
    return model, drawn_table(model, 400, 2)


def test_states_and_nodes_introduced_include_the_model(two_latents):
    """SI and NI can always represent what they start from, and EM finds at least that."""
    model, table = two_latents
    network = Network.from_model(model)
    before = _log_likelihood(model, table)
    beliefs = Beliefs(network, table)
    for move in moves(network.graph, ("SI", "NI")):
        found = evaluate(move, beliefs, Effort(16, 300, 1e-6), np.random.default_rng(0))
        assert found.log_likelihood > before


def test_deleting_a_wide_enough_node_is_included(two_latents):
    """What ND gives is included if the deleted node had at least as many states as its target, else not always."""
    model, table = two_latents
    network = Network.from_model(model)
    beliefs = Beliefs(network, table)
    y, w = network.graph.latents
    assert network.graph.cardinality[y] == 3
    assert network.graph.cardinality[w] == 2
    for deleted, target in ((y, w), (w, y)):
        move = next(m for m in moves(network.graph, ("ND",)) if m.nodes == (deleted, target))
        found = evaluate(move, beliefs, Effort(4, 100, 1e-6), np.random.default_rng(0))
        smaller = model_of(found, network, model.variables)
        k = network.graph.cardinality[target]
        if network.graph.cardinality[deleted] >= k:
            copy = _divided(smaller, network.graph, deleted, target)
            assert _log_likelihood(copy, table) == pytest.approx(_log_likelihood(smaller, table), abs=1e-8)
            assert copy.tree == model.tree
        else:  # three states of y cannot pass through the two of w
            star = Tree.star(k, table.cardinalities)
            assert star == smaller.tree
            assert star.n_parameters > model.tree.n_parameters


def _divided(star: Model, graph: Graph, deleted: int, target: int) -> Model:
    """The larger structure, its parameters such that it says what the smaller one says: the nodes copy each other."""
    small = Network.from_model(star)
    (z,) = small.graph.latents
    k, wide = small.graph.cardinality[z], graph.cardinality[deleted]
    rows = [u for u in graph.neighbours[deleted] if u != target]
    copy = np.zeros((k, wide))
    copy[np.arange(k), np.arange(k)] = small.marginals[z]
    tables = {tuple(sorted((target, deleted))): copy if target < deleted else copy.T}
    for u in range(graph.n_manifest):
        both = small.marginals[z][:, None] * small.conditional(u, z)
        if u in rows:
            both = np.vstack([both, np.zeros((wide - k, both.shape[1]))])
            tables[u, deleted] = np.ascontiguousarray(both.T)
        else:
            tables[u, target] = np.ascontiguousarray(both.T)
    marginals = {target: small.marginals[z], deleted: np.r_[small.marginals[z], np.zeros(wide - k)]}
    marginals |= {u: small.marginals[u] for u in range(graph.n_manifest)}
    return Network(graph, tables, marginals).to_model(star.variables)


@pytest.mark.parametrize("kind", ["ND", "NR", "SD"])
def test_rooting_changes_no_evaluation(two_latents, kind):
    model, table = two_latents
    one, two = (_evaluations(m, table, kind) for m in (model, model.rerooted("w")))
    assert one.keys() == two.keys()
    for key, value in one.items():
        assert two[key] == pytest.approx(value, abs=1e-3)  # EM is stopped at a gain of 1e-7


def _evaluations(model: Model, table: Table, kind: str) -> dict:
    network = Network.from_model(model)
    beliefs = Beliefs(network, table)
    out = {}
    for move in moves(network.graph, (kind,)):
        found = evaluate(move, beliefs, Effort(8, 2_000, 1e-7), np.random.default_rng(0))
        out[move.applied(network.graph).regularised().key()] = found.log_likelihood
    assert out
    return out


@given(models_and_tables(missing=True), st.data())
def test_weights_are_repetitions(case, data):
    model, table = case
    whole = table.reweighted(np.round(table.weights) + 1)
    rows = np.repeat(np.arange(whole.n_patterns), whole.weights.astype(int))
    # every row for itself, none merged
    repeated = Table(
        np.asfortranarray(whole.codes[rows]),
        np.ones(len(rows)),
        whole.variables,
        np.arange(len(rows), dtype=np.int32),
        whole.n,
    )
    network = Network.from_model(model)
    possible = moves(network.graph)
    if not possible:
        return
    move = data.draw(st.sampled_from(possible))
    one, two = (
        evaluate(move, Beliefs(network, t), Effort(2, 4, 0.0), np.random.default_rng(0)) for t in (whole, repeated)
    )
    assert one.log_likelihood == pytest.approx(two.log_likelihood, rel=1e-9, abs=1e-8)


def test_relocation_counts_fill_missing_cells_with_nothing(two_latents):
    model, table = two_latents
    holes = table.codes.astype(int).copy()
    holes[::3, 0] = -1
    table = Table.from_codes(holes, table.variables, table.weights)
    network = Network.from_model(model)
    beliefs = Beliefs(network, table)
    a = next(v for v in network.graph.neighbours[0])
    c = next(v for v in network.graph.latents if v != a)
    counts = together(0, a, c, beliefs, beliefs.without(0, a))
    assert counts.sum() == pytest.approx(table.weights[table.codes[:, 0] >= 0].sum())
