"""All regular trees: none missing, none twice, and the searches among them."""

from __future__ import annotations

import numpy as np
import pytest
from studies import search, search_climbing
from studies.search_climbing import generated
from studies.search_exhaustive import ranked, regular_trees

from latentree import datasets
from latentree.search._dhc import skeletons
from latentree.search._network import Graph
from latentree.search._operators import reachable


@pytest.mark.parametrize(("leaves", "most"), [([2] * 4, 4), ([2, 3, 2, 3], 3), ([2] * 5, 3)])
def test_searches_stay_among_all_trees(leaves, most):
    """Whatever the operators reach from the star within the bound on states is enumerated."""
    found = {graph.key() for graph in regular_trees(leaves, most)}
    seen, ahead = {Graph.star(2, leaves).key()}, [Graph.star(2, leaves)]
    for graph in ahead:
        for _, after in reachable(graph):
            if after.key() not in seen and max(after.cardinality[z] for z in after.latents) <= most:
                seen.add(after.key())
                ahead.append(after)
    assert seen <= found
    assert all(Graph.star(k, leaves).key() in seen for k in range(2, most + 1))


def test_trees_are_counted():
    """Of four binary leaves: 3 stars, and 3 ways to part them in two pairs, each with 9 pairs of states.

    Four of these nine leave room for a narrower node between: one each for states (3, 3), (3, 4), (4, 3), two for
    (4, 4).
    """
    assert len(list(regular_trees([2] * 4, 4))) == 3 + 3 * (9 + 5)
    assert len(list(regular_trees([2] * 5, 2))) == 1 + 10 + 15
    assert len(list(regular_trees([2] * 6, 2))) == 236  # trees with six labelled leaves


def test_the_best_tree_of_small_data():
    ranking = ranked(datasets.load("hiv_test"), most=3, starts=16, seed=0)
    assert ranking.scores[0] == pytest.approx(-656.62, abs=0.005)
    assert len(ranking.best.latents) == 2
    assert (np.diff(ranking.scores) <= 0).all()


def test_skeletons_are_binary_and_different():
    star = Graph.star(4, [2, 3, 2, 2, 2])
    found = [graph for _, graph in skeletons(star)]
    assert len({g.key() for g in found}) == len(found) == 10
    for graph in found:
        assert {graph.cardinality[z] for z in graph.latents} == {2}
        assert min(len(graph.neighbours[z]) for z in graph.latents) >= 3
    back = {g.key() for _, g in skeletons(found[0])}
    assert Graph.star(2, [2, 3, 2, 2, 2]).key() in back


def test_generated_models_follow_the_recipe():
    model = generated(12, 0)
    assert generated(12, 0) == model
    for v in range(1, model.tree.n_nodes):
        table = model.table(v)
        assert (table.max(axis=1) > 0.8).all()
        assert len(set(table.argmax(axis=1).tolist())) > 1


def test_a_study_that_was_broken_off_goes_on(tmp_path, monkeypatch):
    """What was kept is not searched again, and the page is the same."""
    monkeypatch.setattr(search_climbing, "CLIMBERS", {"HSHC1": ("hshc", {"k": 1})})
    pages = []
    for i in range(2):
        out = tmp_path / f"{i}.md"
        arguments = ["--only", "climbing", "--rows", "300", "--variables", "6"]
        search.main([*arguments, "--keep", str(tmp_path / "kept"), "--out", str(out)])
        pages.append(out.read_text("utf-8"))
    head, *rest = pages[0].split("##")
    assert "--keep DIR --out" in head
    assert rest == pages[1].split("##")[1:]
    assert "| 6 |" in rest[0]
