"""Graphs and moves: regularity, inverses, no candidate twice, names and rooting of no account."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import strategies as shared
from hypothesis import given, strategies as st
from structures import graphs, models

from latentree._model import Model
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.search._network import Graph, Network
from latentree.search._operators import moves, reachable
from latentree.search._restricted import regularised

FIVE = [2, 2, 2, 2, 2]


@given(shared.trees(max_nodes=9, min_variables=2, observed_inner=False, min_states=2))
def test_graphs_regularise_as_trees_do(tree):
    graph, _ = Graph.from_tree(tree)
    assert graph.regularised().to_tree() == tree.regularised()


@given(graphs())
def test_graphs_keep_the_tree(graph):
    tree = graph.to_tree()
    again, _ = Graph.from_tree(tree)
    assert again.key() == graph.key() == tree.canonical
    assert graph.n_parameters == tree.n_parameters
    assert tree.is_regular
    assert graph.regularised().key() == graph.key()
    for root in graph.latents:
        assert graph.to_tree(root=root) == tree


@given(graphs(), st.data())
def test_moves_are_undone_by_their_inverse(graph, data):
    """Except where regularisation acted or a wide node was deleted."""
    possible = moves(graph)
    if not possible:
        return
    move = data.draw(st.sampled_from(possible))
    after = move.applied(graph)
    back = move.inverse(graph)
    if back is None:  # NI moves two neighbours and copies the states of the node it divides: other nodes stay deleted
        b, a = move.nodes
        assert move.kind == "ND"
        assert len(graph.neighbours[b]) != 3 or graph.cardinality[a] != graph.cardinality[b]
        return
    assert back.applied(after).key() == graph.key()


@given(graphs())
def test_candidates_are_regular_and_all_different(graph):
    found = list(reachable(graph))
    keys = {after.key() for _, after in found}
    assert len(keys) == len(found)
    assert graph.key() not in keys
    assert keys == {m.applied(graph).regularised().key() for m in moves(graph)} - {graph.key()}
    assert all(after.to_tree().is_regular for _, after in found)
    assert all(after.n_manifest == graph.n_manifest for _, after in found)


@given(graphs())
def test_relocations_one_step_away_are_among_all(graph):
    near, far = set(moves(graph, ("NR",), reach=1)), set(moves(graph, ("NR",)))
    assert near <= far
    assert near == {m for m in far if m.nodes[2] in graph.neighbours[m.nodes[1]]}


@given(graphs(), st.randoms(use_true_random=False))
def test_numbers_of_latents_do_not_matter(graph, random):
    latents = graph.latents
    other = dict(zip(latents, random.sample(range(50, 50 + 2 * len(latents)), len(latents)), strict=True))
    name = {v: other.get(v, v) for v in graph.neighbours}
    renamed = Graph(
        {name[v]: tuple(sorted(name[u] for u in near)) for v, near in graph.neighbours.items()},
        {name[v]: k for v, k in graph.cardinality.items()},
        graph.n_manifest,
    )
    assert renamed.key() == graph.key()
    assert {g.key() for _, g in reachable(renamed)} == {g.key() for _, g in reachable(graph)}


def test_moves_of_a_star():
    star = Graph.star(2, FIVE)
    kinds = [m.kind for m in moves(star)]
    assert kinds.count("NI") == 10
    assert kinds.count("SI") == 1
    assert not {"NR", "ND", "SD"} & set(kinds)
    assert len(moves(Graph.star(2, FIVE[:4]), ("NI",))) == 3  # parting two of four parts the other two
    assert not moves(Graph.star(2, FIVE[:3]), ("NI",))
    assert not moves(Graph.star(16, FIVE), ("SI",))  # prod|x| / max|x|


def test_moves_say_what_they_do():
    star = Graph.star(2, FIVE)
    names = {0: "a", 1: "b", 5: "z"}
    said = {m.kind: m.describe(names) for m in moves(star) if m.nodes in ((5,), (5, 0, 1))}
    assert said == {"SI": "one more state for z", "NI": "a new latent between z and a, b"}


@pytest.mark.parametrize("root", ["z1", "z2", "x1"])
def test_networks_forget_the_root(root):
    model = Model.random(
        Tree.from_edges(
            [("z1", "x1"), ("z1", "x2"), ("z1", "z2"), ("z2", "x3"), ("z2", "x4")],
            {"z1": 2, "z2": 3, "x1": 2, "x2": 3, "x3": 2, "x4": 3},
            ["x1", "x2", "x3", "x4"],
        ),
        numbered([2, 3, 2, 3]),
        np.random.default_rng(0),
    )
    again = Network.from_model(model.rerooted(root)).to_model(model.variables)
    np.testing.assert_allclose(_distribution(again), _distribution(model), atol=1e-14)


@given(models())
def test_networks_keep_the_distribution(model):
    again = Network.from_model(model).to_model(model.variables)
    np.testing.assert_allclose(_distribution(again), _distribution(model), atol=1e-13)


@given(models(), st.data())
def test_regularising_a_network_keeps_what_it_can(model, data):
    """Nodes that regularisation takes out lose nothing; only narrowing a node does."""
    network = Network.from_model(model)
    v = data.draw(st.sampled_from(network.graph.latents))
    u = data.draw(st.sampled_from(network.graph.neighbours[v]))
    wide = _with_copy(network, v, u)
    reached = regularised(wide)
    assert reached.graph.key() == wide.graph.regularised().key()
    np.testing.assert_allclose(_distribution(reached.to_model(model.variables)), _distribution(model), atol=1e-12)


def _with_copy(network: Network, v: int, u: int) -> Network:
    """A node between v and u that is v again: it says nothing, and regularisation takes it out."""
    graph = network.graph
    new = graph.fresh()
    longer = graph.edited(cut=[(v, u)], join=[(v, new), (u, new)], cardinality={new: graph.cardinality[v]})
    tables = {(v, new): np.diag(network.marginals[v])}
    both = network.marginals[v][:, None] * network.conditional(u, v)
    tables[u, new] = np.ascontiguousarray(both.T)
    joint = {e: tables[e] if e in tables else network.joint[e] for e in longer.edges}
    return Network(longer, joint, {**network.marginals, new: network.marginals[v]})


def _distribution(model: Model) -> np.ndarray:
    """P(manifest), an axis for each variable in order."""
    p = oracle.joint(model.tree, model.parameters)
    hidden = tuple(int(v) for v in model.tree.latent)
    kept = [v for v in range(model.tree.n_nodes) if v not in hidden]
    return p.sum(axis=hidden).transpose([kept.index(int(v)) for v in model.tree.manifest])
