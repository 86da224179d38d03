"""All regular trees: none missing, none twice, and the searches among them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from studies import search, search_climbing, search_granularity
from studies.search_climbing import generated
from studies.search_exhaustive import ranked, regular_trees
from studies.searching import plain_tree, timed
from studies.tree_pictures import draw_trees

from latentree import Model, Tree, datasets
from latentree.estimation import em
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
    monkeypatch.setattr(search_climbing, "CLIMBERS", {"SHC": ("shc", {}), "HSHC3": ("hshc", {"k": 3})})
    kept, pages, made = tmp_path / "kept.jsonl", [], []
    for i in range(2):
        out = tmp_path / f"{i}.md"
        arguments = ["--parts", *search_climbing.PARTS, "--rows", "300", "--variables", "6", "--results", str(kept)]
        search.main([*arguments, "--out", str(out)])
        pages.append(out.read_text("utf-8"))
        made.append(kept.read_text("utf-8"))
    assert pages[0] == pages[1] and made[0] == made[1]
    assert "300 rows from models with 6 to 6" in pages[0] and "| 6 |" in pages[0]
    assert "All regular trees" not in pages[0]  # not made
    assert (tmp_path / "search-climbing.svg").exists() and (tmp_path / "search-generator.svg").exists()


def test_a_search_by_score_alone_takes_the_higher_score_whatever_it_costs():
    """On these data SI scores higher than any NI at first; unit improvement prefers NI."""
    alone = search_climbing._by_score(6, 2_000, 0)
    first = alone["first"]
    assert first["start"] < first["NI"] < first["SI"]
    assert alone["kinds"][0] == "SI"
    table = search_climbing._drawn(6, 2_000, 0)[1]
    by_ratio, _ = timed(table, "shc", [0, 2])
    assert by_ratio.trace[1].kind == "NI"


def test_fat_latents_are_set_free_one_by_one():
    """A star of five states on data of one latent with two: EAST0 goes on from four, and ends higher."""
    table = search_climbing._drawn(6, 1_000, 0)[1]
    start = Model.random(Tree.star(5, table.cardinalities), table.variables, np.random.default_rng(0))
    fit = em(start, table)
    run = SimpleNamespace(fit=fit)
    told = search_granularity._set_free(run, 0, 0)
    assert [free["states"] for free in told] == [5]
    assert told[0]["bic"] >= told[0]["less"] and told[0]["kinds"]


@pytest.mark.parametrize("tree", [Tree.star(3, [2, 2, 2]), generated(9, 0).tree])
def test_trees_are_kept_whole_and_drawn(tree):
    plain = plain_tree(tree)
    states = {**{name: int(k) for name, k in zip(tree.names, tree.cardinality, strict=True)}, **plain["states"]}
    names = [tree.names[v] for v in tree.manifest]
    assert Tree.from_edges(plain["edges"], states, names, root=plain["edges"][0][0]) == tree
    svg = draw_trees([("a tree", plain)])
    assert svg.count("<circle") == len(tree.latent) and svg.count("<path") == tree.n_nodes - 1
    assert all(f">{name}</text>" in svg for name in names)
