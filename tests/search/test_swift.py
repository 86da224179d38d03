"""Our own search: relocations against restricted likelihood, screening against counts, bundles, and what it finds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from slow_search import SlowBeliefs, relocated
from structures import drawn_table, graphs, models_and_tables

from latentree import LatentTreeClassifier, datasets
from latentree._model import Model
from latentree._table import Table
from latentree._variables import numbered
from latentree.cardinality import adapt
from latentree.engine import _core
from latentree.engine._plan import Plan
from latentree.runner import Budget, Clock
from latentree.search import learn
from latentree.search._beliefs import Beliefs
from latentree.search._criterion import Criterion
from latentree.search._network import Graph, Network
from latentree.search._operators import Move, added_parameters, moves
from latentree.search._proposals import _cuts, _information, carried_out, propose, together
from latentree.search._relocate import relocations
from latentree.search._restricted import Effort, dimension_change, evaluate, model_of
from latentree.search._swift import Swift
from latentree.search._swift_options import WIDE
from latentree.search._task import Task


def searching(table):
    return Task(table, Criterion.of("bic", table), 1, Clock(Budget()))


# ---- relocations ---------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(models_and_tables(max_leaves=7, max_moves=7))
def test_relocations_are_restricted_likelihoods(case):
    """What the kernel finds on all places at once is what EM on one place finds, and a model has that likelihood."""
    model, table = case
    network = Network.from_model(model)
    beliefs = Beliefs(network, table)
    rng = np.random.default_rng(0)
    for found in relocations(beliefs, passes=400):
        slow = evaluate(found.move, beliefs, Effort(1, 400, 0.0), rng).log_likelihood
        assert found.log_likelihood <= slow + 1e-6 * table.n + 1e-3
        made = model_of(found, network, table.variables)
        if dimension_change(found.move, network.graph) == added_parameters(network.graph, found.move):
            reached = Plan.of(made, table).log_likelihood(made.parameters)
            assert reached >= found.log_likelihood - 1e-9 * table.n  # the table is one step of EM further


@settings(max_examples=100)
@given(models_and_tables(max_leaves=7, max_moves=7), st.integers(0, 100))
def test_relocations_are_steps_of_em_from_the_counts(case, seed):
    model, table = case
    network = Network.from_model(Model.random(model.tree, model.variables, np.random.default_rng(seed)))
    beliefs, slow = Beliefs(network, table), SlowBeliefs(network, table)
    now = float(table.weights @ beliefs.log_likelihood)
    for found in relocations(beliefs, passes=2):
        z, _, c = found.move.nodes
        gain, after = relocated(slow, *found.move.nodes)
        assert found.log_likelihood - now == pytest.approx(gain, abs=1e-8 * table.n)
        np.testing.assert_allclose(found.tables[z, c], after, atol=1e-8)


def test_relocations_converge_where_there_are_data():
    truth = datasets.generator("d7")
    table = drawn_table(truth, 500, 1)
    network = Network.from_model(Model.random(truth.tree, truth.variables, np.random.default_rng(2)))
    beliefs = Beliefs(network, table)
    now = float(table.weights @ beliefs.log_likelihood)
    rng = np.random.default_rng(0)
    found = [f for f in relocations(beliefs, passes=300) if f.log_likelihood > now]
    assert found
    for f in found:
        slow = evaluate(f.move, beliefs, Effort(1, 500, 1e-9), rng).log_likelihood
        assert f.log_likelihood == pytest.approx(slow, abs=0.5)


@settings(max_examples=40)
@given(models_and_tables(max_leaves=7, max_moves=7), st.floats(-30, 30))
def test_the_best_place_of_a_branch_is_the_same_when_others_are_given_up(case, least):
    """Whatever is needed: a place is only given up where it cannot be the best, or cannot do."""
    model, table = case
    beliefs = Beliefs(Network.from_model(model), table)
    graph = beliefs.network.graph
    now = float(table.weights @ beliefs.log_likelihood)

    def needed(z, a, places):
        return np.array([least + 3.0 * (graph.cardinality[c] - graph.cardinality[a]) for c in places])

    def best(found):
        out = {}
        for f in found:
            z, a, c = f.move.nodes
            beyond = f.log_likelihood - now - float(needed(z, a, [c])[0])
            if beyond > 0.0:
                out[z, a] = max(out.get((z, a), 0.0), beyond)
        return out

    def alone(place):
        """Only one place is tried, which is then followed to the end."""
        return lambda z, a, places: np.where(np.array(places) == place, -1e4, np.inf)

    every: dict[tuple[int, int], float] = {}
    for place in graph.latents:
        for branch, beyond in best(relocations(beliefs, passes=60, needed=alone(place))).items():
            every[branch] = max(every.get(branch, 0.0), beyond)
    few = best(relocations(beliefs, passes=60, needed=needed))
    assert few == pytest.approx(every, abs=1e-9)


def test_threads_and_instruction_sets_change_nothing():
    truth = datasets.generator("d12")
    beliefs = Beliefs(Network.from_model(truth), drawn_table(truth, 400, 0))
    one = list(relocations(beliefs))
    for other in (relocations(beliefs, n_jobs=2), relocations(beliefs, n_jobs=8)):
        assert [f.log_likelihood for f in one] == [f.log_likelihood for f in other]
    before = _core.kernels()
    try:
        for name in _core.available_kernels():
            _core.use_kernels(name)
            again = list(relocations(beliefs))
            assert [f.move for f in again] == [f.move for f in one]
            np.testing.assert_allclose(
                [f.log_likelihood for f in again], [f.log_likelihood for f in one], rtol=0, atol=1e-6
            )
    finally:
        _core.use_kernels(before)


# ---- screening -----------------------------------------------------------------------------------------------------


@given(models_and_tables(max_leaves=6))
def test_dependence_is_conditional_information_of_the_counts(case):
    model, table = case
    beliefs = Beliefs(Network.from_model(model), table)
    slow = SlowBeliefs(beliefs.network, table)
    for a, near in slow.graph.neighbours.items():
        if not slow.graph.is_latent(a):
            continue
        found = beliefs.dependence(a)
        for i, j in combinations(range(len(near)), 2):
            assert found[i, j] == pytest.approx(slow.dependence(a, near[i], near[j]), abs=1e-8 * max(table.n, 1))


def test_dependence_block_by_block(monkeypatch):
    n = 12
    rng = np.random.default_rng(0)
    model = Model.random(Graph.star(2, [2] * n).to_tree(), numbered([2] * n), rng)
    beliefs = Beliefs(Network.from_model(model), drawn_table(model, 20, 1))
    whole, looks = beliefs.dependence(n), []
    monkeypatch.setattr("latentree.search._beliefs._BLOCK", 3 * n * len(beliefs.weights))
    assert (beliefs.dependence(n, between=lambda: looks.append(1)) == whole).all()
    assert len(looks) == 4


@given(models_and_tables(max_leaves=6))
def test_expected_counts_of_three_are_those_of_completed_rows(case):
    model, table = case
    beliefs = Beliefs(Network.from_model(model), table)
    slow = SlowBeliefs(beliefs.network, table)
    for a in slow.graph.latents:
        for b, c in combinations(slow.graph.neighbours[a], 2):
            assert beliefs.triple(a, b, c) == pytest.approx(slow.triple(a, b, c), abs=1e-10 * max(table.n, 1))


@given(models_and_tables(max_leaves=6), st.sampled_from([0.0113, 0.0717]))
def test_counts_of_similar_messages_are_of_as_many_rows_and_nearly_the_same(case, width):
    model, table = case
    network = Network.from_model(model)
    exact, beliefs = SlowBeliefs(network, table), Beliefs(network, table, width)
    for a in network.graph.latents:
        for b, c in combinations(network.graph.neighbours[a], 2):
            counts = beliefs.triple(a, b, c)
            assert counts.sum() == pytest.approx(table.n)
            assert np.abs(counts - exact.triple(a, b, c)).sum() < 8.0 * width * table.n


@settings(max_examples=300)
@given(graphs(max_leaves=8, max_moves=8))
def test_parameters_told_from_the_surroundings(graph):
    unions = [Move("UN", (b, a, k)) for a, b in graph.edges if graph.is_latent(a) for k in (2, 3, 4)]
    for move in [*moves(graph), *unions]:
        told = added_parameters(graph, move)
        assert told is None or told == dimension_change(move, graph)
        regular, more = graph.after(move.applied(graph))
        everywhere = move.applied(graph).regularised()
        assert (regular, more) == (everywhere, everywhere.n_parameters - graph.n_parameters)


# ---- bundles ---------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(graphs(max_leaves=8, max_moves=8, min_leaves=5), st.integers(0, 100))
def test_bundles_leave_a_tree(graph, seed):
    rng = np.random.default_rng(seed)
    variables = numbered([graph.cardinality[v] for v in range(graph.n_manifest)])
    model = Model.random(graph.to_tree(), variables, rng)
    table = drawn_table(model, 60, seed)
    network = Network.from_model(Model.random(graph.to_tree(), variables, rng))
    found = propose(searching(table), Beliefs(network, table), np.random.default_rng(0), parallel=True, least=-100.0)
    chosen = together(found, network.graph)
    after, done = carried_out(chosen, network)
    assert done or not found
    tree = after.graph.to_tree()  # which checks that it is one
    assert tree.n_nodes == len(after.graph.neighbours)
    assert tree.n_variables == graph.n_manifest
    assert all(len(after.graph.neighbours[v]) == 1 for v in range(graph.n_manifest))
    assert tree.is_regular or not network.graph.to_tree().is_regular
    after.to_model(variables)


def test_unions_make_one_of_two():
    graph = Move("NI", (5, 0, 1)).applied(Graph.star(2, [3] * 5))
    (a, b) = graph.latents
    united = Move("UN", (b, a, 3)).applied(graph)
    assert united.latents == [a] and united.cardinality[a] == 3 and united.neighbours[a] == (0, 1, 2, 3, 4)
    assert Move("UN", (b, a, 3)).inverse(graph) is None


# ---- what it finds --------------------------------------------------------------------------------------------------


def test_the_generating_tree_comes_back():
    truth = datasets.generator("d7")
    table = drawn_table(truth, 5_000, 3)
    run = learn(table, rng=np.random.default_rng(0))
    tree = run.tree
    near = {frozenset(tree.names[c] for c in tree.children[z] if tree.variable[c] >= 0) for z in tree.latent}
    assert {frozenset({"X1", "X2", "X3"}), frozenset({"X5", "X6", "X7"})} <= near


@pytest.mark.parametrize("seed", range(6))
def test_the_best_tree_of_small_data_from_every_seed(seed):
    assert learn(datasets.load("hiv_test"), rng=np.random.default_rng(seed)).score == pytest.approx(-656.62, abs=0.01)
    house = learn(datasets.load("house_building"), rng=np.random.default_rng(seed))
    assert house.score > -2962.16


def test_very_wide_data_are_forecast():
    def wide(n):
        return Swift().forecast(searching(Table.from_codes(np.random.default_rng(0).integers(0, 2, (50, n)))))

    assert wide(50) is None and wide(WIDE) is None
    assert "minutes" in wide(10_000) and "GB" in wide(10_000)


def test_a_new_latent_may_be_narrow_and_may_sit_on_an_edge():
    graph = Graph.star(4, [3, 4, 3, 4, 3])
    narrow = Move("NI", (5, 0, 1, 2)).applied(graph)
    assert narrow.cardinality[6] == 2 and narrow.neighbours[6] == (0, 1, 5)
    between = Move("NE", (5, 1, 2)).applied(graph)
    assert between.neighbours[6] == (1, 5) and between.regularised() == between
    assert Move("NE", (5, 0, 3)).applied(graph).regularised().key() == graph.key()  # as many states as the leaf has
    assert Move("SI", (5, 7)).applied(graph).cardinality[5] == 7


@settings(max_examples=200)
@given(graphs(max_leaves=8, max_moves=8))
def test_parameters_of_narrow_latents_are_told_from_the_surroundings(graph):
    narrow = [
        Move("NI", (a, *graph.neighbours[a][:2], h))
        for a in graph.latents
        if len(graph.neighbours[a]) > 3
        for h in (2, 3)
    ]
    between = [Move("NE", (b, a, h)) for a, b in graph.edges if graph.is_latent(b) for h in (1, 2, 3)]
    several = [Move("SI", (a, graph.cardinality[a] + 2)) for a in graph.latents]
    for move in [*narrow, *between, *several]:
        told = added_parameters(graph, move)
        if told is not None and move.kind != "SI":
            assert told == move.applied(graph).regularised().n_parameters - graph.n_parameters
        assert graph.after(move.applied(graph))[1] == dimension_change(move, graph)


@settings(max_examples=25)
@given(models_and_tables(max_leaves=6), st.integers(0, 5))
def test_restricted_likelihoods_of_new_moves_are_those_of_their_models(case, seed):
    model, table = case
    beliefs = Beliefs(Network.from_model(model), table)
    graph = beliefs.network.graph
    rng = np.random.default_rng(seed)
    tried = [Move("SI", (a, graph.cardinality[a] + 2)) for a in graph.latents]
    tried += [Move("SI", (a, graph.cardinality[a])) for a in graph.latents if graph.cardinality[a] > 1]
    tried += [Move("NE", (b, a, 1)) for a, b in graph.edges if graph.is_latent(b)]
    tried += [Move("NI", (a, *graph.neighbours[a][:2], 2)) for a in graph.latents if len(graph.neighbours[a]) > 3]
    tried += [
        Move("NE", (b, a, 2))
        for a, b in graph.edges
        if graph.is_latent(b) and min(graph.cardinality[a], graph.cardinality[b]) > 2
    ]
    for move in tried:
        if move.applied(graph).regularised().key() != move.applied(graph).key():
            continue
        found = evaluate(move, beliefs, Effort(2, 5, 0.0), rng)
        made = model_of(found, beliefs.network, model.variables)
        truth = Plan.of(made, table).evaluate_batch(made.parameters[None])[0][0]
        assert found.log_likelihood == pytest.approx(truth, rel=1e-5, abs=1e-4)


# ---- cuts, and perturbations in one part of a tree -------------------------------------------------------------------


def with_an_independent_leaf(n, seed):
    """Five leaves of a latent class model, and one that has nothing to do with them."""
    rng = np.random.default_rng(seed)
    z = rng.integers(2, size=n)
    five = np.where(rng.random((n, 5)) < 0.85, z[:, None], 1 - z[:, None])
    return Table.from_codes(np.column_stack([five, rng.integers(3, size=n)]), numbered([2] * 5 + [3]))


def test_edges_that_share_little_are_proposed_for_a_cut():
    table = with_an_independent_leaf(1_000, 0)
    run = learn(
        table,
        rng=np.random.default_rng(0),
        prior=None,
        start=Model.random(Graph.star(2, [2] * 5 + [3]).to_tree(), table.variables, np.random.default_rng(0)),
        trials=0,
        starts=1,
    )
    star = Network.from_model(
        Model.random(Graph.star(2, [2] * 5 + [3]).to_tree(), table.variables, np.random.default_rng(1))
    )
    assert run.score > learn(table, method="east", rng=np.random.default_rng(0), prior=None).score + 1.0
    task = searching(table)
    sure = Beliefs(Network.from_model(run.fit.model), table)
    assert not list(_cuts(sure, task, task.criterion.penalty(sure.network.graph), None, 0.1))  # nothing is left to cut
    assert {m.nodes[:2] for m in _cuts(Beliefs(star, table), task, 0.0, {6}, -np.inf)} == {(6, i) for i in range(6)}
    assert list(_cuts(Beliefs(star, table), task, 0.0, set(), -np.inf)) == []


@pytest.mark.parametrize("seed", range(3))
def test_an_independent_variable_is_cut_off(seed):
    table = with_an_independent_leaf(1_000, seed)
    run = learn(table, rng=np.random.default_rng(seed), prior=None)
    tree = run.fit.model.tree
    leaf = tree.names.index("x6")
    beside = [tree.parent[leaf]] if tree.parent[leaf] >= 0 else list(tree.children[leaf])
    assert [int(tree.cardinality[v]) for v in beside] == [1]
    free = sum(v.cardinality - 1 for v in table.variables[5:])
    five = learn(
        Table.from_codes(table.codes[:, :5], table.variables[:5], weights=table.weights),
        rng=np.random.default_rng(seed),
        prior=None,
    )
    assert run.fit.n_parameters == five.fit.n_parameters + free


def test_without_cuts_all_variables_stay_in_one_tree():
    table = with_an_independent_leaf(1_000, 0)
    run = learn(table, rng=np.random.default_rng(0), prior=None, cuts=False)
    free = learn(table, rng=np.random.default_rng(0), prior=None)
    assert len(run.tree.parts) == 1 and len(free.tree.parts) == 2 and free.score > run.score


def test_a_classifier_keeps_a_weak_target_in_the_tree():
    rng = np.random.default_rng(0)
    table = with_an_independent_leaf(400, 0)
    X = table.codes[table.inverse][:, :5]
    y = np.where(rng.random(400) < 0.1, X[:, 0], rng.integers(2, size=400))
    model = LatentTreeClassifier(random_state=0).fit(X, y)
    assert len(model.tree_.parts) == 1 and np.ptp(model.predict_proba(X)[:, 0]) > 0.0
    cut = LatentTreeClassifier(random_state=0, options={"cuts": True}).fit(X, y)
    assert len(cut.tree_.parts) == 2


@given(st.integers(2, 4), st.integers(2, 4), st.integers(0, 50))
def test_what_the_ends_of_an_edge_share_is_zero_if_independent(a, b, seed):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(a)), rng.dirichlet(np.ones(b))
    assert _information(np.outer(p, q)) == pytest.approx(0.0, abs=1e-12)
    assert _information(np.diag(p)) == pytest.approx(-(p * np.log(p)).sum())


@given(graphs(max_leaves=8, max_moves=8), st.integers(1, 9))
def test_the_nearest_latents_are_connected(graph, size):
    for centre in graph.latents:
        found = graph.latents_around(centre, size)
        assert centre in found and len(found) == min(size, len(graph.latents))
        assert all(found.intersection(graph.path(v, centre)) == set(graph.path(v, centre)) for v in found)


@pytest.mark.parametrize("seed", range(3))
def test_no_split_or_merge_of_states_is_left_at_the_end(seed):
    table = datasets.load("d12_1k") if "d12_1k" in datasets.names() else datasets.load("voting")
    run = learn(table, rng=np.random.default_rng(seed), prior=None, starts=1, trials=0)
    bic = Criterion.of("bic", table)
    names = [run.fit.model.tree.names[z] for z in run.fit.model.tree.latent]
    for name in names:
        assert bic(adapt(run.fit.model, table, name, rng=np.random.default_rng(9))) < run.score + 1.0
