"""Where nodes are drawn: nothing meets, order and depth are those of the tree."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import trees

from latentree import datasets
from latentree._tree import Tree
from latentree.report import describe_tree
from latentree.report._layout import ROW, arrange, places, shortened, style_for, text_width
from latentree.report._svg import Drawing, tree_svg


@given(trees(max_nodes=12), st.data())
def test_slots_are_apart_and_parents_between_their_children(tree, data):
    folded = data.draw(st.sets(st.integers(0, tree.n_nodes - 1)))
    found = arrange(tree, folded=folded)
    assert found.order[0] == found.root
    seen = set(found.order)
    for v in found.order[1:]:
        assert found.parent[v] in seen and found.parent[v] not in folded
        assert found.depth[v] == found.depth[found.parent[v]] + 1
        assert found.parent[v] in tree.neighbours(v)
    ends = sorted(found.slot[v] for v in found.order if v in folded or not found.children[v])
    assert all(b - a >= 1 - 1e-9 for a, b in itertools.pairwise(ends))  # sums of gaps of 0.6
    for v in found.order:
        own = [] if v in folded else found.children[v]
        if own:
            assert found.slot[own[0]] <= found.slot[v] <= found.slot[own[-1]]
    hidden = set(range(tree.n_nodes)) - seen
    assert all(found.parent[v] in folded or found.parent[v] in hidden for v in hidden)


@given(trees(max_nodes=12), st.sampled_from(["rows", "radial"]))
def test_every_node_has_a_place_of_its_own(tree, style):
    found = arrange(tree)
    at = places(found, [50.0] * tree.n_nodes, style)
    assert set(at) == set(range(tree.n_nodes))
    points = [(round(p.x, 6), round(p.y, 6)) for p in at.values()]
    assert len(set(points)) == len(points)
    leaves = [at[v] for v in found.order if not found.children[v]]
    for i, a in enumerate(leaves):
        for b in leaves[:i]:
            far = abs(a.y - b.y) if style == "rows" else math.dist((a.x, a.y), (b.x, b.y))
            assert far >= 0.6 * ROW or tree.n_nodes == 1


def test_the_middle_of_a_chain_comes_first():
    n = 3001
    chain = Tree([-1, *range(n - 1)], [2] * n, [-1] * (n - 1) + [0])
    found = arrange(chain)
    assert found.root == n // 2 and max(found.depth) == n // 2


def test_names_do_not_overlap_in_rows():
    """Boxes end before the next column begins."""
    drawing = Drawing(describe_tree(datasets.generator("d18")), "rows")
    for v, place in drawing.places.items():
        for child in drawing.arrangement.children[v]:
            assert place.x + drawing.widths[v] < drawing.places[child].x


def test_edges_are_as_thick_as_their_information():
    report = describe_tree(datasets.generator("d18"))
    drawing = Drawing(report)
    by_width = sorted(drawing.arrangement.order[1:], key=drawing.edge_width)
    told = [drawing.information[drawing.edge_of(v)] for v in by_width]
    assert told == sorted(told)


def test_styles():
    assert style_for(Tree.star(2, [2] * 60)) == "rows"
    assert style_for(Tree.star(2, [2] * 61)) == "radial"


def test_drawn_names_are_escaped_and_cut():
    report = describe_tree(datasets.generator("d7"))
    report["nodes"][0]["name"] = '<script>alert("x")</script>' + "y" * 50
    svg = tree_svg(Drawing(report))
    assert "<script" not in svg and "&lt;script&gt;" in svg
    assert shortened("a" * 20 + "b" * 20) == "a" * 14 + "…" + "b" * 13
    assert text_width("漢字") == pytest.approx(24)
    import xml.etree.ElementTree as ElementTree

    found = ElementTree.fromstring(svg)
    assert len(found.findall(".//{http://www.w3.org/2000/svg}path")) == len(report["edges"])


@pytest.mark.parametrize("style", ["rows", "radial"])
def test_all_is_within_the_bounds(style):
    drawing = Drawing(describe_tree(datasets.generator("d12")), style)
    left, top, width, height = drawing.bounds()
    for place in drawing.places.values():
        assert left < place.x < left + width and top < place.y < top + height
    assert np.isfinite([left, top, width, height]).all()
