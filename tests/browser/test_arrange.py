"""The page's layout is Python's, with and without folded branches; trees of a search's steps hang together."""

from __future__ import annotations

import numpy as np
import pytest
from examples import growth
from hypothesis import HealthCheck, given, settings, strategies as st
from strategies import trees

from latentree import datasets
from latentree.report._html import source
from latentree.report._layout import arrange, places, shortened, text_width

ARRANGE = """([root, children, folded, widths, style]) => {
  const found = LT.arrange(root, children, new Set(folded));
  return [found, [...LT.places(found, children, widths, style)]];
}"""


@pytest.fixture(scope="module")
def blank(browser):
    page = browser.new_page()
    page.add_script_tag(content=source("arrange.js") + source("replay.js").replace("LT.h", "null"))
    yield page
    page.close()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees(max_nodes=14), st.data())
def test_places_are_the_same(blank, tree, data):
    folded = data.draw(st.sets(st.integers(0, tree.n_nodes - 1)))
    style = data.draw(st.sampled_from(["rows", "radial"]))
    widths = data.draw(st.lists(st.integers(20, 200), min_size=tree.n_nodes, max_size=tree.n_nodes))
    own = arrange(tree, folded=folded)
    at = places(own, widths, style)
    found, theirs = blank.evaluate(ARRANGE, [own.root, own.children, sorted(folded), widths, style])
    assert found["order"] == own.order and found["depth"] == own.depth
    np.testing.assert_allclose(found["slot"], own.slot)
    assert {v for v, _ in theirs} == set(at)
    for v, place in theirs:
        np.testing.assert_allclose([place["x"], place["y"]], [at[v].x, at[v].y], atol=1e-9)


@pytest.mark.parametrize("text", ["abc", "x" * 60, "ein Name   mit Lücken und mehr", "漢字かな", ""])
def test_names_are_cut_and_measured_alike(blank, text):
    assert blank.evaluate("(t) => [LT.shortened(t), LT.textWidth(t)]", text) == [
        shortened(text),
        pytest.approx(text_width(text)),
    ]


def test_steps_of_a_search_hang_together(blank):
    for step in growth(datasets.generator("d12")):
        names = list(step["states"])
        made = blank.evaluate("([n, e]) => LT.orient(n, e, () => 0)", [names, step["edges"]])
        pairs = {frozenset((names[v], names[p])) for v, p in enumerate(made["parent"]) if p >= 0}
        assert pairs == {frozenset(edge) for edge in step["edges"]}
        assert made["parent"].count(-1) == 1


def test_what_a_step_changed(blank):
    before = {"edges": [["z", "a"], ["z", "b"], ["z", "c"]], "states": {"z": 2, "a": 2, "b": 2, "c": 2}}
    after = {
        "edges": [["y", "a"], ["y", "b"], ["y", "z"], ["z", "c"]],
        "states": {"z": 3, "y": 2, "a": 2, "b": 2, "c": 2},
    }
    change = blank.evaluate("([a, b]) => LT.differences(a, b)", [before, after])
    assert change == {"fresh": ["y"], "resized": ["z"], "moved": ["a", "b"], "gone": []}
