"""Messages, completed-data counts and restricted likelihood, against enumeration and against the engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import oracle
import pytest
from hypothesis import given, settings, strategies as st
from slow_search import SlowBeliefs, behind, place_log_likelihood, rows_of
from structures import drawn_table, models_and_tables

from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan, evidence_of
from latentree.search._beliefs import Beliefs
from latentree.search._network import Graph, Network
from latentree.search._operators import Move, moves
from latentree.search._restricted import (
    Effort,
    Evaluated,
    Question,
    applied,
    dimension_change,
    evaluate,
    evaluate_all,
    model_of,
)


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
        Beliefs(network, table).triple(a, b, c), np.tensordot(table.weights, exact, axes=1), atol=1e-11
    )


@given(models_and_tables(), st.data())
def test_messages_without_a_branch(case, data):
    """Taking a branch away is what having no evidence there is."""
    model, table = case
    network = Network.from_model(model)
    graph = network.graph
    a = data.draw(st.sampled_from(graph.latents))
    z = data.draw(st.sampled_from(graph.neighbours[a]))
    gone = behind(graph, z, a)
    blank = table.codes.astype(int).copy()
    blank[:, [v for v in gone if v < graph.n_manifest]] = -1
    # the rows stay as they are, in the same order: nothing is merged
    bare = Beliefs(
        network,
        Table(np.asfortranarray(blank.astype(np.int16)), table.weights, table.variables, table.inverse, table.n),
    )
    left = Beliefs(network, table).without(z, a)
    assert set(left) == set(graph.latents) - gone
    for v, logs in left.items():
        np.testing.assert_allclose(logs, bare.total(v), atol=1e-9)


@given(models_and_tables(), st.floats(0.0, 0.3).filter(lambda width: width == 0.0 or width > 1e-3))
def test_messages_are_those_of_their_slow_twin(case, width):
    """Alike messages are merged to judge moves, but stay what they are: their width changes none."""
    model, table = case
    network = Network.from_model(model)
    slow, beliefs = SlowBeliefs(network, table), Beliefs(network, table, width)
    np.testing.assert_allclose(beliefs.log_likelihood, slow.log_likelihood(), atol=1e-9)
    for v in network.graph.latents:
        np.testing.assert_allclose(beliefs.total(v), slow.about(v), atol=1e-9)
        np.testing.assert_allclose(beliefs.posterior(v), slow.posterior(v), atol=1e-9)
        for z in network.graph.neighbours[v]:
            bare = SlowBeliefs(network, table, cut=(z, v))
            for u, logs in beliefs.without(z, v).items():
                np.testing.assert_allclose(logs, bare.about(u), atol=1e-9)


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


# ---- all operators ---------------------------------------------------------------------------------------------------

TASK: Any = SimpleNamespace(executor=None, check_time=lambda: None)


def every_move(graph: Graph) -> list[Move]:
    """Moves of all kinds, with the numbers of states that may be named."""
    k, near = graph.cardinality, graph.neighbours
    found = [*moves(graph)]
    for a in graph.latents:
        found += [Move("SI", (a, k[a] + 2)), *([Move("SI", (a, k[a]))] if k[a] > 1 else [])]
        if len(near[a]) > 3:
            found += [Move("NI", (a, *near[a][:2], h)) for h in range(2, k[a])]
            found += [Move("DI", (a, *near[a][1:3], own, h)) for own in (2, k[a]) for h in (2, k[a]) if k[a] > 1]
        for b in near[a]:
            found += [Move("NE", (a, b, h)) for h in (1, 2) if h <= k[a]]
            if graph.is_latent(b):
                found += [Move("UN", (a, b, h)) for h in (1, 2, 3, 4) if h <= k[a] * k[b]]
    return found


@st.composite
def moves_of_random_models(draw):
    """A network whose probabilities are all different, a table, and a move."""
    model, table = draw(models_and_tables())
    rng = np.random.default_rng(draw(st.integers(0, 1_000)))
    network = Network.from_model(Model.random(model.tree, model.variables, rng))
    return network, table, draw(st.sampled_from(every_move(network.graph)))


def whole_log_likelihood(found: Evaluated, network: Network, table: Table) -> float:
    """What the whole model makes of the tables found."""
    return float(table.weights @ SlowBeliefs(applied(found, network), table).log_likelihood())


@settings(max_examples=200)
@given(moves_of_random_models(), st.integers(1, 3), st.integers(0, 10), st.sampled_from(["model", "random", "both"]))
def test_the_tables_returned_have_the_likelihood_told(case, starts, seed, start):
    network, table, move = case
    asked = [Question(move, Effort(starts, 4, 0.0), start=start)]
    (found,) = evaluate_all(TASK, Beliefs(network, table), asked, np.random.default_rng(seed))
    assert found is not None
    assert found.log_likelihood == pytest.approx(whole_log_likelihood(found, network, table), rel=1e-6, abs=1e-6)
    for own in (found.marginal[None], *found.tables.values()):
        np.testing.assert_allclose(own.sum(axis=1), 1.0, atol=1e-9)


@settings(max_examples=100)
@given(moves_of_random_models(), st.integers(2, 5), st.integers(0, 10), st.sampled_from(["model", "random"]))
def test_starts_that_are_dropped_late_end_no_lower(case, starts, seed, start):
    network, table, move = case
    beliefs = Beliefs(network, table)
    early, late = (
        evaluate_all(
            TASK, beliefs, [Question(move, Effort(starts, 12, 0.0, first), start=start)], np.random.default_rng(seed)
        )[0].log_likelihood
        for first in (1, 12)
    )
    assert late >= early - 1e-9 * table.n


def test_starts_that_begin_poorly_may_be_the_best(two_latents):
    """Half of them are dropped after one step, or after seven: the same starts end higher more often."""
    model, table = two_latents
    beliefs = Beliefs(Network.from_model(model), table)
    (move, *_) = moves(beliefs.network.graph, ("SI",))
    ends = []
    for first in (1, 7):
        asked = [Question(move, Effort(16, 30, 0.0, first), start="random")] * 40
        found = evaluate_all(TASK, beliefs, asked, np.random.default_rng(0))
        ends.append(np.array([own.log_likelihood for own in found]))
    assert ends[1].mean() > ends[0].mean() + 0.1 and (ends[1] > ends[0] - 1e-6).mean() > 0.9


@settings(max_examples=200)
@given(moves_of_random_models(), st.integers(1, 4))
def test_a_step_on_a_place_is_a_step_of_the_whole_model_in_the_tables_of_the_move(case, steps):
    network, table, move = case
    beliefs = Beliefs(network, table)
    before, after = (evaluate(move, beliefs, Effort(1, n, 0.0), np.random.default_rng(0)) for n in (steps, steps + 1))
    assert after.log_likelihood >= before.log_likelihood - 1e-9 * table.n
    if after.log_likelihood - before.log_likelihood < 1e-6:
        return  # it may have ended
    slow = SlowBeliefs(applied(before, network), table)
    for (child, parent), tables in after.tables.items():
        both = slow.completed(child, parent) * (slow.posterior(parent) * slow.weights[:, None]).T[:, :, None]
        if not slow.graph.is_latent(child):
            both = both[:, slow.codes[:, child] >= 0]  # cells that are missing say nothing
        expected = rows_of(both.sum(axis=1), before.tables[child, parent])
        np.testing.assert_allclose(tables, expected, atol=1e-6)
    if move.kind in ("SI", "SD", "UN", "DI"):
        np.testing.assert_allclose(after.marginal, slow.weights @ slow.posterior(before.root) / table.n, atol=1e-6)
    else:
        np.testing.assert_array_equal(after.marginal, network.marginals[before.root])


@settings(max_examples=200)
@given(moves_of_random_models(), st.sampled_from([0.0003, 0.0113, 0.0717, 0.3131]))
def test_similar_messages_are_merged_cell_by_cell(case, width):
    """The likelihood told is that of a table whose messages are the means of those in the same cell of that width."""
    network, table, move = case
    slow = SlowBeliefs(network, table)
    found = evaluate(move, Beliefs(network, table, width), Effort(2, 4, 0.0), np.random.default_rng(0))
    assert found.log_likelihood == pytest.approx(place_log_likelihood(found, slow, width), rel=1e-9, abs=1e-8)
    exact = place_log_likelihood(found, slow, 0.0)
    assert exact == pytest.approx(whole_log_likelihood(found, network, table), rel=1e-9, abs=1e-8)
    if width < 0.001:  # a message p differs from the mean by 2 sqrt(p) width and less: see the next test for data
        assert found.log_likelihood == pytest.approx(exact, abs=0.1 * table.n)


@pytest.mark.parametrize("width", [0.02, 0.05, 0.1])
def test_what_merging_changes_is_small_beside_what_is_judged(two_latents, width):
    """Of fits to data: a row's likelihood with a mean in place of a message is off by little, to either side."""
    model, table = two_latents
    network = Network.from_model(model)
    slow = SlowBeliefs(network, table)
    for move in every_move(network.graph):
        found = evaluate(move, Beliefs(network, table, width), Effort(2, 10, 0.0), np.random.default_rng(0))
        assert found.log_likelihood == pytest.approx(
            place_log_likelihood(found, slow, 0.0), abs=2.0 * width**2 * table.n
        )


@pytest.mark.parametrize("width", [0.0, 0.05])
def test_answers_depend_neither_on_threads_nor_on_what_is_asked_beside(two_latents, width):
    """Of many candidates: a stream for each, and plans that do not depend on who asks first."""
    model, table = two_latents
    network = Network.from_model(model)
    asked = [Question(move, Effort(3, 6, 0.0), start="both") for move in every_move(network.graph)]
    packed = [question.packed() for question in asked]

    one, *others = (Beliefs(network, table, width).core.evaluate(packed, 5, 0, threads) for threads in (1, 2, 4, 4, 4))
    for other in others:
        for a, b in zip(one, other, strict=True):
            assert a[:4] == b[:4] and (a[4] == b[4]).all()
    core = Beliefs(network, table, width).core
    for i in reversed(range(len(asked))):  # one by one, the last first
        (own,) = core.evaluate(packed[i : i + 1], 5, i, 1)
        assert own[:4] == one[i][:4] and (own[4] == one[i][4]).all()


@settings(max_examples=100)
@given(moves_of_random_models(), st.sampled_from([0.0, 0.0113, 0.0717]), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing_but_rounding(case, width, chance):
    network, table, move = case
    order = [*range(table.n_patterns)]
    chance.shuffle(order)
    turned = Table(np.asfortranarray(table.codes[order]), table.weights[order], table.variables, table.inverse, table.n)
    one, two = Beliefs(network, table, width), Beliefs(network, turned, width)
    np.testing.assert_array_equal(one.log_likelihood[order], two.log_likelihood)
    for v in network.graph.latents:
        np.testing.assert_array_equal(one.posterior(v)[order], two.posterior(v))
    if move.kind == "NI" and width > 0.0:
        return  # its starts are from counts in which one of several similar rows speaks for them
    found = [evaluate(move, b, Effort(2, 4, 0.0), np.random.default_rng(0)).log_likelihood for b in (one, two)]
    assert found[0] == pytest.approx(found[1], rel=1e-9, abs=1e-7)


@settings(max_examples=100)
@given(moves_of_random_models(), st.sampled_from([0.0113, 0.0717]))
def test_weights_are_repetitions_of_similar_rows_too(case, width):
    network, table, move = case
    whole = table.reweighted(np.round(table.weights) + 1)
    rows = np.repeat(np.arange(whole.n_patterns), whole.weights.astype(int))
    inverse = np.arange(len(rows), dtype=np.int32)
    repeated = Table(np.asfortranarray(whole.codes[rows]), np.ones(len(rows)), whole.variables, inverse, whole.n)
    one, two = (
        evaluate(move, Beliefs(network, t, width), Effort(2, 4, 0.0), np.random.default_rng(0)).log_likelihood
        for t in (whole, repeated)
    )
    assert one == pytest.approx(two, rel=1e-9, abs=1e-7)


def test_a_candidate_that_misses_its_goal_is_none(two_latents):
    model, table = two_latents
    network = Network.from_model(model)
    beliefs = Beliefs(network, table)
    now = float(table.weights @ beliefs.log_likelihood)
    (move, *_) = moves(network.graph, ("SI",))
    asked = [Question(move, Effort(2, 5, 0.0), now + more) for more in (1e6, -1e6)]
    missed, found = evaluate_all(TASK, beliefs, asked, np.random.default_rng(0))
    assert missed is None
    assert found is not None and found.log_likelihood > now - 1e6
