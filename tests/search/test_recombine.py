"""Recombination: partitions that two trees share, children that are trees, and what they take from whom."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st
from structures import drawn_table, graphs

from latentree import datasets
from latentree._model import Model
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.cardinality import learn_classes
from latentree.search import learn
from latentree.search._beliefs import Beliefs
from latentree.search._network import Graph, Network
from latentree.search._operators import Move, moves
from latentree.search._proposals import carried_out, propose
from latentree.search._recombine import children, sides
from latentree.search._restricted import Effort, Question, evaluate_all, model_of
from latentree.search._starts import kind_of


def random_network(graph: Graph, seed: int) -> Network:
    variables = numbered([graph.cardinality[v] for v in range(graph.n_manifest)])
    return Network.from_model(Model.random(graph.to_tree(), variables, np.random.default_rng(seed)))


def paired(cards, pairs) -> Graph:
    """A star in which pairs of leaves hang on latents of their own."""
    graph = Graph.star(3, cards)
    for a, b, h in pairs:
        graph = Move("NI", (graph.n_manifest, a, b, h)).applied(graph)
    return graph


def test_sides_of_edges_between_latents():
    graph = paired([3] * 6, [(0, 1, 2), (2, 3, 2)])
    assert {tuple(sorted(side)) for side in sides(graph)} == {(0, 1), (2, 3, 4, 5), (2, 3), (0, 1, 4, 5)}


def test_a_child_has_what_is_right_in_each():
    """One tree has the left half right, the other the right half: a child has both."""
    cards = [3] * 8
    left = Move("NI", (8, 0, 1, 3)).applied(paired(cards, []))
    # a hub over 0..3 and one over 4..7, so that both trees share a partition
    tree = Tree.from_edges(
        [("r", "a"), *(("a", f"x{i + 1}") for i in range(4)), *(("r", f"x{i + 1}") for i in range(4, 8))],
        {"r": 3, "a": 3, **{f"x{i + 1}": 3 for i in range(8)}},
        [f"x{i + 1}" for i in range(8)],
        root="r",
    )
    base, _ = Graph.from_tree(tree)
    r, a = (next(v for v in base.latents if base.neighbours[v][0] == first) for first in (4, 0))
    one = Move("NI", (a, 0, 1, 2)).applied(base)
    two = Move("NI", (r, 4, 5, 2)).applied(base)
    both = Move("NI", (r, 4, 5, 2)).applied(one)
    table = drawn_table(Model.random(tree, numbered(cards), np.random.default_rng(0)), 100, 0)
    keys = {child.graph.key() for child in children(random_network(one, 1), random_network(two, 2), table)}
    assert both.key() in keys
    assert base.key() in keys  # and one has neither
    assert left.key() not in keys


@settings(max_examples=30)
@given(graphs(max_leaves=8, max_moves=8, min_leaves=5), st.integers(0, 100))
def test_children_are_regular_trees_with_fitting_tables(graph, seed):
    other = graph
    rng = np.random.default_rng(seed)
    for _ in range(3):
        possible = moves(other)
        other = possible[int(rng.integers(len(possible)))].applied(other).regularised() if possible else other
    one, two = random_network(graph, seed), random_network(other, seed + 1)
    variables = numbered([graph.cardinality[v] for v in range(graph.n_manifest)])
    table = drawn_table(Model.random(graph.to_tree(), variables, rng), 50, seed)
    for child in children(one, two, table):
        tree = child.graph.to_tree()
        assert tree.is_regular and tree.n_nodes == len(child.graph.neighbours)
        assert all(len(child.graph.neighbours[v]) == 1 for v in range(graph.n_manifest))
        assert all(child.joint[a, b].shape == tuple(child.graph.cardinality[v] for v in (a, b)) for a, b in child.joint)
        assert set(child.joint) == set(child.graph.edges)
        model = child.to_model(variables)
        assert np.isfinite(model.parameters).all()


def test_nothing_comes_of_equal_trees():
    graph = paired([3] * 6, [(0, 1, 2)])
    network = random_network(graph, 0)
    table = drawn_table(network.to_model(numbered([3] * 6)), 40, 0)
    assert list(children(network, random_network(graph, 1), table)) == []


# ---- random tables -------------------------------------------------------------------------------------------------


def test_new_states_are_found_from_random_tables():
    """Two states that mean the wrong thing: splitting one helps little, three states from random tables a lot."""
    truth = Model.random(Tree.star(3, [4] * 6), numbered([4] * 6), np.random.default_rng(3), dominant=0.8)
    table = drawn_table(truth, 2000, 0)
    wrong = Network.from_model(Model.random(Tree.star(2, [4] * 6), numbered([4] * 6), np.random.default_rng(0)))
    from test_swift import searching

    beliefs, asked = Beliefs(wrong, table), Question(Move("SI", (6,)), Effort(8, 40, 0.05), start="random")
    (found,) = evaluate_all(searching(table), beliefs, [asked], np.random.default_rng(0))
    model = model_of(found, wrong, truth.variables)
    reached = learn(table, rng=np.random.default_rng(0), effort="low", prior=None).fit.log_likelihood
    assert model.tree.cardinality[model.tree.latent].tolist() == [3]
    assert found.log_likelihood > reached - 20


def test_states_that_mean_the_wrong_thing_are_replaced():
    """A move with as many states as there are costs nothing and is proposed if it gains."""
    from test_swift import searching

    truth = Model.random(Tree.star(2, [3] * 6), numbered([3] * 6), np.random.default_rng(1), dominant=0.8)
    table = drawn_table(truth, 1000, 0)
    wrong = Network.from_model(Model.random(Tree.star(2, [3] * 6), numbered([3] * 6), np.random.default_rng(5)))
    again = Move("SI", (6, 2))
    found = propose(searching(table), Beliefs(wrong, table), np.random.default_rng(0), anew=True)
    (own,) = [p for p in found if p.move == again]
    assert own.price == 0 and own.gain > 100
    after, _ = carried_out([own], wrong)
    assert after.graph.key() == wrong.graph.key()
    assert not any(p.move == again for p in propose(searching(table), Beliefs(wrong, table), np.random.default_rng(0)))


def test_starts_are_different():
    for largest in (None, 7, 12):
        kinds = [kind_of(i, 12, largest=largest) for i in range(5)]
        assert len(set(kinds)) == 5 and {"pieces", "star"} == {kind for kind, _ in kinds}
        assert "pieces" not in {kind for kind, _ in (kind_of(i, 5, largest=largest) for i in range(12))}
    assert kind_of(2, 7) == ("star", 16)  # too few variables for pieces: otherwise small trees agree too soon
    many = [kind_of(i, 6, largest=7)[1] for i in range(8)]
    assert many[:2] == [2, 3] and sum(size > 8 for size in many) >= 4  # few states first, then many
    for largest in (2, 4):  # stars of very many states would be dear and would not help
        assert {kind_of(i, 6, largest=largest)[1] <= max(4, 3 * largest) for i in range(20)} == {True}


def test_every_kind_of_start_is_made():
    table = drawn_table(datasets.generator("d12"), 150, 0)
    run = learn(table, rng=np.random.default_rng(0), trials=0, starts=5, agree=6)
    assert len(run.ends) == 5 and sum(step.kind == "start" for step in run.trace) == 5


def test_no_search_ends_below_the_latent_class_model():
    table = datasets.load("house_building")
    classes = learn_classes(table, rng=np.random.default_rng(0))
    assert learn(table, rng=np.random.default_rng(8), prior=None).score > classes.score - 0.01
