"""Divisions of a latent: what they cost, what they start from, and that they undo unions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from structures import drawn_table, graphs, models_and_tables

from latentree._model import Model
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.search._beliefs import Beliefs
from latentree.search._division import MOST_NEIGHBOURS, _losses, _merged, branches, divisions, start_tables
from latentree.search._network import Graph, Network
from latentree.search._operators import Move, added_parameters
from latentree.search._restricted import Effort, dimension_change, evaluate, model_of


def every_division(graph):
    """All divisions with two or three states on both sides that change nothing else."""
    for a in graph.latents:
        neighbours = graph.neighbours[a]
        for size in range(2, len(neighbours) - 1):
            for below in combinations(neighbours, size):
                yield from (Move("DI", (a, *below, k, h)) for k in (2, 3) for h in (2, 3))


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
    for move in every_division(graph):
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

    lost = _losses(marginal, np.hstack(rows))
    assert lost[k] == 0.0
    assert lost[k - 1] == pytest.approx(min(loss(s, t) for s, t in combinations(range(k), 2)))
    assert np.all(np.diff(lost[2:]) <= 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_right_division_of_a_latent_that_stands_for_two_is_found(seed):
    rng = np.random.default_rng(seed)
    sharp = np.array([[0.9, 0.1], [0.1, 0.9]])
    prior = np.full(4, 0.25)
    pair = np.array([(s, t) for s in (0, 1) for t in (0, 1)])
    table = drawn_table(_four_states(prior, sharp, pair), 2_000, seed)
    network = Network.from_model(_four_states(prior, sharp, pair))
    (first, *_) = divisions(network, 6, table.n, 0.5 * np.log(table.n), -100.0)
    assert set(first.nodes[1:-2]) in ({0, 1, 2}, {3, 4, 5}) and first.nodes[-2:] == (2, 2)
    found = evaluate(first, Beliefs(network, table), Effort(2, 20, 0.01), rng)
    now = Plan.of(_four_states(prior, sharp, pair), table).log_likelihood(network.to_model(table.variables).parameters)
    assert found.log_likelihood > now - 3.0  # three times fewer parameters say the same
    prior, own, across, new = start_tables(network, 6, first.nodes[1:-2], 2, 2, 1, rng)[0]
    for distribution in (prior[None], *own, across, *new):
        np.testing.assert_allclose(distribution.sum(axis=1), 1.0)


def _four_states(prior, sharp, pair):
    tree = Tree.star(4, [2] * 6)
    tables = [sharp[pair[:, 0]]] * 3 + [sharp[pair[:, 1]]] * 3
    return Model(tree, numbered([2] * 6), np.concatenate([prior, *(t.ravel() for t in tables)]))


def test_latents_of_two_states_or_of_many_neighbours_are_not_divided():
    for k, leaves in ((2, 5), (4, MOST_NEIGHBOURS + 1), (4, 3)):
        model = Model.random(Tree.star(k, [2] * leaves), numbered([2] * leaves), np.random.default_rng(0))
        assert list(divisions(Network.from_model(model), leaves, 100.0, 1.0, -np.inf)) == []


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
    moves = list(branches(Network.from_model(model), 9, 5_000.0, 0.5 * np.log(5_000.0), 0.1))
    *below, k, h = moves[0].nodes[1:]
    assert (set(below), k, h) == ({5, 6, 7, 8}, 9, 3)
    table = drawn_table(model, 5_000, seed)
    now = Plan.of(model, table).log_likelihood(model.parameters)
    found = evaluate(moves[0], Beliefs(Network.from_model(model), table), Effort(2, 40, 0.01), np.random.default_rng(0))
    assert found.log_likelihood > now - 10.0  # 8 parameters for 24: nothing much is lost


def test_where_all_neighbours_need_all_states_there_is_no_branch():
    rng = np.random.default_rng(0)
    rows = [np.eye(4)[rng.permutation(4)] * 0.8 + 0.05 for _ in range(6)]
    model = Model(
        Tree.star(4, [4] * 6), numbered([4] * 6), np.concatenate([np.full(4, 0.25), *(r.ravel() for r in rows)])
    )
    assert list(branches(Network.from_model(model), 6, 5_000.0, 0.5 * np.log(5_000.0), 0.1)) == []
    for k, leaves in ((2, 6), (4, 3)):
        small = Model.random(Tree.star(k, [2] * leaves), numbered([2] * leaves), rng)
        assert list(branches(Network.from_model(small), leaves, 100.0, 1.0, -np.inf)) == []


@given(st.integers(2, 6), st.integers(0, 50))
def test_entropies_given_groups_of_states_are_those_of_the_mixture(k, seed):
    rng = np.random.default_rng(seed)
    marginal, table = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(3), k)
    entropy = -(table * np.log(table)).sum(axis=1)
    alone, together = (
        _merged(marginal, [table], [[s] for s in range(k)])[0],
        _merged(marginal, [table], [list(range(k))])[0],
    )
    mixture = marginal @ table
    assert alone == pytest.approx(marginal @ entropy)
    assert together == pytest.approx(-(mixture * np.log(mixture)).sum())
