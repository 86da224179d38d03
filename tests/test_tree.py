"""Trees: their rules, rooting, canonical form and regularity."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import oracle
import pytest
import strategies as own
from hypothesis import given, settings, strategies as st

from latentree._model import random_parameters
from latentree._tree import Tree
from latentree.errors import ModelError


def edges(tree: Tree) -> set[frozenset[str]]:
    return {frozenset((tree.names[v], tree.names[tree.parent[v]])) for v in range(1, tree.n_nodes)}


def by_name(tree: Tree) -> dict[str, tuple[int, int]]:
    return {n: (int(k), int(i)) for n, k, i in zip(tree.names, tree.cardinality, tree.variable, strict=True)}


def shuffled(tree: Tree, order: list[int]) -> Tree:
    """The same edges, cardinalities and variables, put together in another order with other latent names."""
    new = {n: n if tree.variable[v] >= 0 else f"hidden {order.index(v)}" for v, n in enumerate(tree.names)}
    pairs = [(new[tree.names[v]], new[tree.names[tree.parent[v]]]) for v in order if v]
    states = {new[tree.names[v]]: int(tree.cardinality[v]) for v in order}
    manifest = [new[tree.names[v]] for v in tree.manifest]
    return Tree.from_edges(pairs, states, manifest, root=new[tree.names[order[0]]])


def isomorphic(a: Tree, b: Tree) -> bool:
    """Whether some matching of latents makes two trees the same: by trying them all."""
    if (a.n_nodes, a.n_variables) != (b.n_nodes, b.n_variables):
        return False
    if a.cardinality[a.manifest].tolist() != b.cardinality[b.manifest].tolist():
        return False
    there = {frozenset((v, int(b.parent[v]))) for v in range(1, b.n_nodes)}
    for latents in permutations(b.latent.tolist()):
        to = dict(zip(a.latent.tolist(), latents, strict=True)) | dict(
            zip(a.manifest.tolist(), b.manifest.tolist(), strict=True)
        )
        same_states = all(a.cardinality[v] == b.cardinality[to[v]] for v in range(a.n_nodes))
        if same_states and {frozenset((to[v], to[int(a.parent[v])])) for v in range(1, a.n_nodes)} == there:
            return True
    return False


def dimension(tree: Tree, seed: int) -> int:
    """Rank of the map from parameters to P(manifest) at random parameters, by enumeration."""
    p = random_parameters(tree, np.random.default_rng(seed))
    latent = tuple(int(v) for v in tree.latent)
    columns = []
    for v in range(tree.n_nodes):
        k = int(tree.cardinality[v])
        for row in range(int(tree.rows[v])):
            last = tree.offsets[v] + row * k + k - 1
            for x in range(k - 1):
                moved = p.copy()  # P is linear in each table, so that a difference is a derivative
                moved[last - k + 1 + x] += 1.0
                moved[last] -= 1.0
                change = oracle.joint(tree, moved) - oracle.joint(tree, p)
                columns.append(change.sum(axis=latent).ravel())
    if not columns:
        return 0
    values = np.linalg.svd(np.array(columns), compute_uv=False)
    return int((values > 1e-11).sum())  # entries are of order one, rounding is some 1e-16


# ---- rules ---------------------------------------------------------------------------------------------------


def test_a_star_counts_its_parameters():
    tree = Tree.star(3, [2, 2, 4])
    assert tree.n_parameters == 2 + 3 * (1 + 1 + 3)
    assert tree.size == 3 + 3 * 8
    assert tree.names == ("z", "x1", "x2", "x3")
    assert tree.rows.tolist() == [1, 3, 3, 3]
    assert tree.offsets.tolist() == [0, 3, 9, 15, 27]


@pytest.mark.parametrize(
    ("parent", "cardinality", "variable", "says"),
    [
        ([], [], [], "at least one node"),
        ([-1, 0], [2], [-1, 0], "a cardinality"),
        ([0, -1], [2, 2], [-1, 0], "Node 0 must be the only root"),
        ([-1, -1], [2, 2], [-1, 0], "only root"),
        ([-1, 2, 0], [2, 2, 2], [-1, 0, 1], "before its children"),
        ([-1, 1], [2, 2], [-1, 0], "before its children"),
        ([-1, 0], [2, 0], [-1, 0], "at least one state"),
        ([-1, 0], [2, 2], [-1, 1], "exactly once"),
        ([-1, 0], [2, 2], [0, 0], "exactly once"),
        ([-1, 0], [2, 2], [-2, 0], "exactly once"),
    ],
)
def test_a_tree_that_breaks_a_rule_is_refused(parent, cardinality, variable, says):
    with pytest.raises(ModelError, match=says):
        Tree(parent, cardinality, variable)


def test_names_are_one_a_node_and_different():
    with pytest.raises(ModelError, match="different"):
        Tree([-1, 0], [2, 2], [-1, 0], ("a", "a"))
    with pytest.raises(ModelError, match="one name for each"):
        Tree([-1, 0], [2, 2], [-1, 0], ("a",))


def test_arrays_cannot_be_written():
    tree = Tree.star(2, [2])
    for array in (tree.parent, tree.cardinality, tree.variable):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("pairs", "states", "manifest", "root", "says"),
    [
        ([("a", "b")], {"a": 2}, [], None, "'b' stands in an edge but has no cardinality"),
        ([("a", "b")], {"a": 2, "b": 2}, ["c"], None, "'c' has no cardinality"),
        ([("a", "b")], {"a": 2, "b": 2}, ["b"], "c", "no node 'c' to be the root"),
        ([("a", "b"), ("b", "c"), ("c", "a")], {"a": 2, "b": 2, "c": 2}, [], None, "do not form a tree"),
        ([("a", "b")], {"a": 2, "b": 2, "c": 2}, [], None, "do not form a tree"),
        ([("a", "b"), ("b", "a")], {"a": 2, "b": 2}, [], None, "do not form a tree"),
        ([("a", "a")], {"a": 2}, [], None, "do not form a tree"),
        ([("b", "c"), ("c", "d"), ("d", "b")], dict.fromkeys("abcd", 2), [], None, "do not form a tree"),
        ([("a", "b")], {"a": 2, "b": 2}, ["b", "b"], None, "exactly once"),
    ],
)
def test_edges_that_are_no_tree_are_refused(pairs, states, manifest, root, says):
    with pytest.raises(ModelError, match=says):
        Tree.from_edges(pairs, states, manifest, root)


def test_edges_give_the_tree_they_draw():
    tree = Tree.from_edges([("x", "z"), ("y", "z"), ("w", "y")], dict(w=2, x=3, y=4, z=5), ["w", "x", "y"])
    assert tree.names[0] == "z"  # the first latent, unless told
    assert edges(tree) == {frozenset("xz"), frozenset("yz"), frozenset("wy")}
    assert by_name(tree) == {"w": (2, 0), "x": (3, 1), "y": (4, 2), "z": (5, -1)}


def test_a_node_that_is_not_there_is_named_with_those_that_are():
    tree = Tree.star(2, [2, 2])
    with pytest.raises(ModelError, match="There are 'z', 'x1', 'x2'"):
        tree.node("y")
    with pytest.raises(ModelError, match="nodes are 0 to 2"):
        tree.node(3)
    assert tree.node("x2") == tree.node(2) == 2


def test_the_drawing():
    tree = Tree([-1, 0, 0, 2], [2, 3, 4, 5], [-1, 0, -1, 1])
    assert tree.to_text() == "*z1 (2)\n  x1 (3)\n  *z2 (4)\n    x2 (5)"


# ---- rooting and identity ------------------------------------------------------------------------------------


@given(own.trees(max_nodes=9), st.data())
def test_rerooting_keeps_edges_names_and_identity(tree, data):
    v = data.draw(st.integers(0, tree.n_nodes - 1))
    other, was = tree.rerooted(tree.names[v])
    assert other.names[0] == tree.names[v] and was[0] == v
    assert edges(other) == edges(tree) and by_name(other) == by_name(tree)
    assert [tree.names[u] for u in was] == list(other.names)
    assert other == tree and hash(other) == hash(tree)
    back, _ = other.rerooted(tree.names[0])
    assert edges(back) == edges(tree) and back.names[0] == tree.names[0]


@given(own.trees(max_nodes=9), st.data())
def test_order_rooting_and_latent_names_do_not_count(tree, data):
    other = shuffled(tree, data.draw(st.permutations(range(tree.n_nodes))))
    assert other == tree and hash(other) == hash(tree)
    mine, was = tree.canonically_rooted()
    theirs, _ = other.canonically_rooted()
    assert mine.parent.tolist() == theirs.parent.tolist()
    assert mine.cardinality.tolist() == theirs.cardinality.tolist()
    assert mine.variable.tolist() == theirs.variable.tolist()
    assert [tree.names[v] for v in was] == list(mine.names)


@given(own.trees(max_nodes=6, max_states=2), own.trees(max_nodes=6, max_states=2))
def test_trees_are_equal_exactly_when_their_latents_can_be_matched(a, b):
    assert (a == b) == isomorphic(a, b)


@given(own.trees(max_nodes=7, max_states=2, min_nodes=2), st.data())
def test_trees_one_change_apart_are_equal_exactly_when_their_latents_can_be_matched(tree, data):
    # Trees drawn apart seldom come close; one moved node or changed cardinality does.
    v = data.draw(st.integers(1, tree.n_nodes - 1))
    parent = tree.parent.copy()
    parent[v] = data.draw(st.integers(0, v - 1))
    moved = Tree(parent, tree.cardinality, tree.variable)
    assert (tree == moved) == isomorphic(tree, moved)
    wider = tree.with_cardinality(v, int(tree.cardinality[v]) + 1)
    assert tree != wider
    states = tree.cardinality.copy()
    states[0], states[v] = states[v], states[0]
    swapped = Tree(tree.parent, states, tree.variable)
    assert (tree == swapped) == isomorphic(tree, swapped)


def test_which_variable_a_leaf_is_counts():
    a = Tree([-1, 0, 0, 0, 1, 1], [2] * 6, [-1, -1, 0, 1, 2, 3])
    b = Tree([-1, 0, 0, 0, 1, 1], [2] * 6, [-1, -1, 0, 2, 1, 3])
    c = Tree([-1, 0, 0, 0, 1, 1], [2] * 6, [-1, -1, 3, 2, 1, 0])
    assert a != b and a == c and a != "a tree"


# ---- regularity ----------------------------------------------------------------------------------------------


@given(own.trees(max_nodes=9, max_states=4))
def test_regularising_ends_in_a_tree_that_stays(tree):
    small = tree.regularised()
    assert small.n_parameters <= tree.n_parameters
    assert small.n_variables == tree.n_variables
    assert small.cardinality[small.manifest].tolist() == tree.cardinality[tree.manifest].tolist()
    again = small.regularised()
    assert again == small and again.n_parameters == small.n_parameters


@given(own.trees(max_nodes=9, max_states=4))
def test_what_stays_irregular_is_a_narrow_latent_between_two_manifests(tree):
    small = tree.regularised()
    for z in small.irregular:
        near = small.neighbours(z)
        assert len(near) == 2 and (small.variable[list(near)] >= 0).all()
        assert small.cardinality[z] < small.cardinality[list(near)].min()
    assert all(len(small.neighbours(int(z))) > 1 for z in small.latent)


@given(own.trees(max_nodes=9, max_states=4), st.data())
def test_regularising_does_not_depend_on_the_rooting(tree, data):
    other = shuffled(tree, data.draw(st.permutations(range(tree.n_nodes))))
    assert other.regularised() == tree.regularised()


@given(own.trees(max_nodes=6, max_states=3), st.integers(0, 99))
@settings(max_examples=60)
def test_regularised_trees_reach_as_many_distributions(tree, seed):
    assert dimension(tree.regularised(), seed) == dimension(tree, seed)


def test_a_narrow_latent_between_two_manifests_stays():
    tree = Tree.star(2, [3, 3])
    assert tree.regularised() == tree
    assert dimension(tree, 0) == 7 < 8


@pytest.mark.parametrize("n_states", [3, 4])
def test_a_wide_latent_between_two_manifests_goes(n_states):
    small = Tree.star(n_states, [3, 4]).regularised()
    assert small.n_nodes == 2 and len(small.latent) == 0 and small.n_parameters == 11


def test_a_binary_root_between_two_binary_latents_goes():
    # as in the generating model of D12: the root adds nothing, its neighbours are joined
    inner = [("root", "a"), ("root", "b")]
    leaves = [("a", f"x{i}") for i in range(3)] + [("b", f"x{i}") for i in range(3, 6)]
    states = {"root": 2, "a": 2, "b": 2} | {f"x{i}": 2 for i in range(6)}
    tree = Tree.from_edges(inner + leaves, states, [f"x{i}" for i in range(6)])
    small = tree.regularised()
    assert not tree.is_regular and small.is_regular
    assert tree.irregular == (tree.node("root"),)
    assert edges(small) == {frozenset(("a", "b")), *(frozenset(e) for e in leaves)}


def test_a_latent_is_cut_to_what_its_neighbours_can_tell_apart():
    tree = Tree.star(10, [2, 2, 3])
    assert tree.irregular == (0,)
    assert tree.regularised() == Tree.star(4, [2, 2, 3])
    assert Tree.star(4, [2, 2, 3]).is_regular


def test_latent_leaves_go_one_after_the_other():
    tree = Tree([-1, 0, 0, 0, 3, 4], [2] * 6, [-1, 0, 1, -1, -1, -1])
    assert tree.regularised().n_nodes == 2
    alone = Tree([-1], [3], [-1])
    assert alone.regularised() == alone


def test_a_latent_of_one_state_keeps_its_neighbours_apart():
    tree = Tree.star(1, [2, 2])
    assert tree.regularised() == tree  # two independent variables: not the same as two joined ones


# ---- depth ---------------------------------------------------------------------------------------------------


def test_a_chain_of_five_thousand_nodes_meets_no_limit():
    n = 5000
    tree = Tree([-1, *range(n - 1)], [3, *[2] * (n - 2), 3], [0, *[-1] * (n - 2), 1])
    other, _ = tree.rerooted(n - 1)
    assert other == tree and hash(other) == hash(tree)
    assert tree != tree.with_cardinality(n // 3, 3)
    assert tree.canonically_rooted()[0].n_nodes == n
    assert not tree.is_regular
    assert tree.regularised() == Tree.star(2, [3, 3])


def test_a_star_of_many_leaves_meets_no_limit():
    tree = Tree.star(2, [2] * 3000)
    assert tree.is_regular and tree.regularised() == tree


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Tree.from_edges([], {}, []), "at least one node"),
        (lambda: Tree([-1], [2], [0], (1,)), "names must be text"),
        (lambda: Tree([-1, 0, 0], [2, 2, 2], [-1, 0, 1], ("z", "a", "a")), "Two nodes are called 'a'"),
    ],
)
def test_faults_are_named(make, says):
    with pytest.raises(ModelError, match=says):
        make()


def test_a_leaf_called_z_leaves_the_latent_another_name():
    assert Tree.star(2, [2, 2], ["z", "y"]).names == ("z_", "z", "y")


def test_regularity_of_ends_and_narrow_middles():
    assert not Tree([-1, 0, 0], [2, 2, 1], [0, 1, -1]).is_regular  # a latent leaf
    narrow = Tree.star(2, [3, 3])  # irregular by definition, but removing it would change the model
    assert not narrow.is_regular
    assert narrow.regularised() == narrow


@given(own.trees())
def test_a_star_is_one_latent_above_everything(tree):
    observed = int((tree.variable >= 0).sum())
    assert tree.is_star == (tree.variable[0] < 0 and observed == tree.n_nodes - 1 and set(tree.parent[1:]) <= {0})
