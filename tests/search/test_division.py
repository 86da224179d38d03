"""Divisions of a latent: what they cost, what they start from, and that they undo unions."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
import slow_search
from hypothesis import given, settings, strategies as st
from structures import drawn_table, graphs, models_and_tables

from latentree._model import Model
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.estimation import em, restart_em
from latentree.runner import Budget, Clock
from latentree.search._beliefs import Beliefs
from latentree.search._criterion import Criterion
from latentree.search._division import divisions
from latentree.search._network import Graph, Network
from latentree.search._operators import Move, added_parameters
from latentree.search._proposals import carried_out, divide
from latentree.search._restricted import Effort, dimension_change, evaluate, model_of
from latentree.search._task import Task


def every_division(graph, *, wider=True):
    """All divisions with two or three states on both sides; unless ``wider``, no more than the latent has."""
    for a in graph.latents:
        neighbours = graph.neighbours[a]
        for size in range(2, len(neighbours) - 1):
            for below in combinations(neighbours, size):
                yield from (
                    Move("DI", (a, *below, k, h))
                    for k in (2, 3)
                    for h in (2, 3)
                    if wider or max(k, h) <= graph.cardinality[a]
                )


@settings(max_examples=150)
@given(graphs(max_leaves=8, max_moves=8))
def test_parameters_of_divisions_are_told_from_the_surroundings(graph):
    for move in every_division(graph):
        told = added_parameters(graph, move)
        assert told is None or told == dimension_change(move, graph)


def test_a_division_undoes_a_union():
    graph = Graph.star(4, [3] * 5)
    move = Move("DI", (5, 0, 1, 3, 2))
    divided = move.applied(graph)
    assert divided.neighbours[6] == (0, 1, 5) and divided.neighbours[5] == (2, 3, 4, 6)
    assert (divided.cardinality[5], divided.cardinality[6]) == (3, 2)
    assert move.inverse(graph).applied(divided).key() == graph.key()


@settings(max_examples=25)
@given(models_and_tables(max_leaves=6), st.integers(0, 5))
def test_restricted_likelihoods_of_divisions_are_those_of_their_models(case, seed):
    model, table = case
    beliefs = Beliefs(Network.from_model(model), table)
    graph = beliefs.network.graph
    rng = np.random.default_rng(seed)
    for move in every_division(graph, wider=False):
        if move.applied(graph).regularised().key() != move.applied(graph).key():
            continue
        found = evaluate(move, beliefs, Effort(2, 5, 0.0), rng)
        made = model_of(found, beliefs.network, model.variables)
        truth = Plan.of(made, table).log_likelihood(made.parameters)
        assert found.log_likelihood == pytest.approx(truth, rel=1e-5, abs=1e-4)


@given(st.integers(3, 6), st.integers(0, 50))
def test_what_merging_loses_is_mutual_information(k, seed):
    """With two states left to merge, no choice of pairs loses less than the first; all lose what it says."""
    rng = np.random.default_rng(seed)
    marginal = rng.dirichlet(np.ones(k))
    rows = [rng.dirichlet(np.ones(3), k), rng.dirichlet(np.ones(2), k)]

    def loss(s, t):
        both = marginal[[s, t]]
        out = 0.0
        for own in rows:
            mean = both @ own[[s, t]] / both.sum()
            out += float((both[:, None] * own[[s, t]] * np.log(own[[s, t]] / mean)).sum())
        return out

    lost = {len(groups): own for groups, own in slow_search.merges(marginal, np.hstack(rows))}
    assert lost[k] == 0.0
    assert lost[k - 1] == pytest.approx(min(loss(s, t) for s, t in combinations(range(k), 2)))
    assert all(lost[size] >= lost[size + 1] - 1e-12 for size in range(2, k))


def star_beliefs(k, leaves, rng):
    """A latent of k states with random probabilities; one row of data."""
    model = Model.random(Tree.star(k, leaves), numbered(leaves), rng, dominant=float(rng.uniform(0.3, 0.9)))
    return Beliefs(Network.from_model(model), drawn_table(model, 1, 0))


@settings(max_examples=150)
@given(
    st.integers(2, 5),
    st.lists(st.integers(2, 4), min_size=3, max_size=7),
    st.sampled_from([30.0, 300.0, 5_000.0]),
    st.sampled_from([-1e4, -50.0, 0.0, 5.0]),
    st.sampled_from([1, 2, 1_000]),
    st.integers(0, 1_000),
)
def test_divisions_and_branches_are_those_of_their_slow_twins(k, leaves, n, least, sizes, seed):
    beliefs = star_beliefs(k, leaves, np.random.default_rng(seed))
    a, rate, most = len(leaves), 0.5 * np.log(n), 1_000
    found = [(tuple(below), own, fresh) for below, own, fresh in beliefs.core.divisions(a, n, rate, least, most, sizes)]
    first = 0
    divided = slow_search.divisions(beliefs.network, a, n, rate, least, sizes)
    for exact in (divided, slow_search.branches(beliefs.network, a, n, rate, least)):
        own = found[first : first + len(exact)]
        assert set(own) == set(exact)
        worth = [exact[one] for one in own]
        assert all(w >= x - 1e-9 * n for w, x in pairwise(worth))  # the most promising first
        first += len(exact)
    assert first == len(found)
    few = [(tuple(below), own, fresh) for below, own, fresh in beliefs.core.divisions(a, n, rate, least, 1, sizes)]
    assert few == [own[0] for own in (found[: -len(exact) or None], found[len(found) - len(exact) :]) if own]


@pytest.mark.parametrize("seed", range(3))
def test_the_right_division_of_a_latent_that_stands_for_two_is_found(seed):
    rng = np.random.default_rng(seed)
    sharp = np.array([[0.9, 0.1], [0.1, 0.9]])
    prior = np.full(4, 0.25)
    pair = np.array([(s, t) for s in (0, 1) for t in (0, 1)])
    table = drawn_table(_four_states(prior, sharp, pair), 2_000, seed)
    network = Network.from_model(_four_states(prior, sharp, pair))
    beliefs = Beliefs(network, table)
    (first, *_) = divisions(beliefs, 6, table.n, 0.5 * np.log(table.n), -100.0)
    assert set(first.nodes[1:-2]) in ({0, 1, 2}, {3, 4, 5}) and first.nodes[-2:] == (2, 2)
    found = evaluate(first, beliefs, Effort(2, 20, 0.01), rng)
    now = Plan.of(_four_states(prior, sharp, pair), table).log_likelihood(network.to_model(table.variables).parameters)
    assert found.log_likelihood > now - 3.0  # three times fewer parameters say the same
    begun = evaluate(first, beliefs, Effort(1, 1, 0.0), rng)  # the states of either are merged in the right pairs
    assert begun.log_likelihood > now - 3.0


def _four_states(prior, sharp, pair):
    tree = Tree.star(4, [2] * 6)
    tables = [sharp[pair[:, 0]]] * 3 + [sharp[pair[:, 1]]] * 3
    return Model(tree, numbered([2] * 6), np.concatenate([prior, *(t.ravel() for t in tables)]))


def test_latents_of_two_states_or_of_many_neighbours_are_not_divided():
    for k, leaves in ((2, 5), (4, slow_search.MOST_NEIGHBOURS + 1), (4, 3)):
        beliefs = star_beliefs(k, [2] * leaves, np.random.default_rng(0))
        moves = divisions(beliefs, leaves, 100.0, 1.0, -np.inf)
        assert [move for move in moves if move.nodes[-2] < k] == []  # branches are for any number
    widest = star_beliefs(4, [2] * slow_search.MOST_NEIGHBOURS, np.random.default_rng(0))
    moves = divisions(widest, slow_search.MOST_NEIGHBOURS, 100.0, 1.0, -np.inf)
    assert any(move.nodes[-2] < 4 for move in moves)


# ---- branches that need not know all states ------------------------------------------------------------------------


def hub_of_two_kinds(k, few, fine, coarse, rng):
    """A star whose last leaves only tell in which of ``few`` groups its k states are."""
    sharp = 0.9 * np.eye(3)[:, :] + 0.1 / 3
    tables = [sharp[rng.permutation(np.arange(k) % 3)] for _ in range(fine)]
    tables += [sharp[(np.arange(k) % few + i) % 3] for i in range(coarse)]
    leaves = [3] * (fine + coarse)
    prior = np.full(k, 1.0 / k)
    return Model(Tree.star(k, leaves), numbered(leaves), np.concatenate([prior, *(t.ravel() for t in tables)]))


@pytest.mark.parametrize("seed", range(4))
def test_neighbours_that_do_not_tell_states_apart_form_a_branch(seed):
    model = hub_of_two_kinds(9, 3, 5, 4, np.random.default_rng(seed))
    table = drawn_table(model, 5_000, seed)
    beliefs = Beliefs(Network.from_model(model), table)
    moves = [m for m in divisions(beliefs, 9, 5_000.0, 0.5 * np.log(5_000.0), 0.1) if m.nodes[-2] == 9]
    *below, k, h = moves[0].nodes[1:]
    assert (set(below), k, h) == ({5, 6, 7, 8}, 9, 3)
    now = Plan.of(model, table).log_likelihood(model.parameters)
    found = evaluate(moves[0], beliefs, Effort(2, 40, 0.01), np.random.default_rng(0))
    assert found.log_likelihood > now - 10.0  # 8 parameters for 24: nothing much is lost


def test_where_all_neighbours_need_all_states_there_is_no_branch():
    rng = np.random.default_rng(0)
    rows = [np.eye(4)[rng.permutation(4)] * 0.8 + 0.05 for _ in range(6)]
    model = Model(
        Tree.star(4, [4] * 6), numbered([4] * 6), np.concatenate([np.full(4, 0.25), *(r.ravel() for r in rows)])
    )
    beliefs = Beliefs(Network.from_model(model), drawn_table(model, 1, 0))
    assert list(divisions(beliefs, 6, 5_000.0, 0.5 * np.log(5_000.0), 0.1)) == []
    for k, leaves in ((2, 6), (4, 3)):
        assert list(divisions(star_beliefs(k, [2] * leaves, rng), leaves, 100.0, 1.0, -np.inf)) == []


@given(st.integers(2, 6), st.integers(0, 50))
def test_entropies_given_groups_of_states_are_those_of_the_mixture(k, seed):
    rng = np.random.default_rng(seed)
    marginal, table = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(3), k)
    entropy = -(table * np.log(table)).sum(axis=1)
    alone, together = (
        slow_search.grouped(marginal, table, [[s] for s in range(k)]),
        slow_search.grouped(marginal, table, [list(range(k))]),
    )
    mixture = marginal @ table
    assert alone == pytest.approx(marginal @ entropy)
    assert together == pytest.approx(-(mixture * np.log(mixture)).sum())


def test_all_ways_to_divide_a_latent_are_looked_at_closely():
    """A latent class model of rows from two latents, which the best division brings back."""
    truth = Model.random(two_latents(3, 3), numbered([3] * 6), np.random.default_rng(0), dominant=0.8)
    table = drawn_table(truth, 3_000, 1)
    task = Task(table, Criterion.of("bic", table), 1, Clock(Budget()))
    start = Model.random(Tree.star(6, [3] * 6), table.variables, np.random.default_rng(0))
    star = restart_em(start, table, rng=np.random.default_rng(0), n_init=8)
    network = Network.from_model(star.model)
    beliefs = Beliefs(network, table)
    found = divide(task, beliefs, np.random.default_rng(0), most=5)
    assert len(found) == 5 and all(p.gain >= q.gain for p, q in pairwise(found))
    assert all(p.move.applied(network.graph).regularised() == p.move.applied(network.graph) for p in found)
    side_by_side = divide(replace(task, n_jobs=3), beliefs, np.random.default_rng(0), most=5)
    assert [(p.move, p.gain) for p in side_by_side] == [(p.move, p.gain) for p in found]
    divided = [em(carried_out([p], network)[0].to_model(table.variables), table) for p in found]
    assert task.criterion(divided[0]) > task.criterion(star) + found[0].gain > task.criterion(star) + 100
    assert {*found[0].move.nodes[1:-2]} in ({3, 4, 5}, {0, 1, 2})
    narrow = Network.from_model(Model.random(Tree.star(2, [3] * 6), table.variables, np.random.default_rng(0)))
    assert divide(task, Beliefs(narrow, table), np.random.default_rng(0), most=5) == []


def two_latents(k, h):
    """Three leaves each below two latents."""
    edges = [("u", "v"), *(("u", x) for x in "abc"), *(("v", x) for x in "def")]
    return Tree.from_edges(edges, {"u": k, "v": h, **dict.fromkeys("abcdef", 3)}, list("abcdef"))
