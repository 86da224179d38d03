"""Radial trees: names are turned, so that what overlaps is measured by turned boxes; at any size, zoomed and folded."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from examples import large_model
from test_in_view import SCREENS, long_names

from latentree import datasets, report

SEEN = """() => {
  const main = document.querySelector("main").getBoundingClientRect().toJSON();
  const shown = [...document.querySelectorAll("#tree .n")].filter((n) => !n.classList.contains("gone"));
  const corners = (e) => {
    const b = e.getBBox(), m = e.getScreenCTM();
    return [[b.x, b.y], [b.x + b.width, b.y], [b.x + b.width, b.y + b.height], [b.x, b.y + b.height]]
      .map(([x, y]) => [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f]);
  };
  const visible = (t) => getComputedStyle(t).display !== "none";
  const named = shown.filter((n) => visible(n.querySelector("text")));
  return {
    main,
    labels: named.map((n) => corners(n.querySelector(n.classList.contains("inner") ? "rect" : "text"))),
    inside: named.filter((n) => n.classList.contains("inner"))
      .map((n) => [corners(n.querySelector("rect")), corners(n.querySelector("text"))]),
    pixels: named.map((n) => {
      const t = n.querySelector("text"), m = t.getScreenCTM();
      return parseFloat(getComputedStyle(t).fontSize) * Math.hypot(m.a, m.b);
    }),
    leaves: named.filter((n) => !n.classList.contains("inner")).length,
    covered: named.filter((n) => n.classList.contains("inner")).flatMap((n) => shown
      .slice(shown.indexOf(n) + 1)
      .filter((other) => other.classList.contains("tiny"))
      .map((other) => other.querySelector("rect"))
      .filter((rect) => getComputedStyle(rect).fill !== "none")
      .map((rect) => [corners(n.querySelector("text")), corners(rect)])),
  };
}"""


def long_latents(model):
    """The same model with names of latents as long as those that are given to them by themselves."""
    return model.renamed({model.tree.names[z]: f"government+rights{z}" for z in model.tree.latent})


MODELS = {
    "17 nodes": lambda: large_model(4, 13),
    "28 nodes": lambda: datasets.generator("d18"),
    "75 nodes": lambda: large_model(15, 60),
    "160 nodes, long names": lambda: long_names(large_model(40, 120)),
    "136 nodes, long names of latents": lambda: long_latents(large_model(36, 100)),
    "400 nodes": lambda: large_model(100, 300),
    "1,000 nodes": lambda: large_model(247, 753),
}


@pytest.fixture(scope="module", params=MODELS, ids=str)
def made(request):
    return report.explore(MODELS[request.param]())


def common(a, b) -> float:
    """How deep two turned boxes reach into each other; 0 if some line keeps them apart."""
    depths = []
    for box in (a, b):
        for axis in (box[1] - box[0], box[2] - box[1]):
            axis = axis / max(float(np.linalg.norm(axis)), 1e-9)
            depths.append(min((a @ axis).max(), (b @ axis).max()) - max((a @ axis).min(), (b @ axis).min()))
    return max(min(depths), 0.0)


def test_names_around_a_tree_can_be_read_from_afar(tabs):
    """Names of leaves have room around the tree although it is seen from too far for their own size."""
    page = tabs().show(report.explore(large_model(40, 120)))
    page.select_option("#style", "radial")
    page.evaluate("LT.page.view.foldAll(false)")
    seen = page.evaluate(SEEN)
    assert page.evaluate("LT.page.view.zoom") < 0.62 and seen["leaves"] == 120
    assert min(seen["pixels"]) >= 9


def test_turned_boxes_are_told_apart():
    box = np.array([[0.0, 0.0], [10, 0], [10, 2], [0, 2]])
    turn = np.array([[1, 1], [-1, 1]]) / 2**0.5
    assert common(box, box + np.array([0, 1.5])) == pytest.approx(0.5)
    assert common(box @ turn, box @ turn + np.array([0, 3.0])) == 0  # their upright boxes overlap


def looked_at(page, *, all_in_view: bool) -> None:
    seen = page.evaluate(SEEN)
    main, labels = seen["main"], [np.array(own) for own in seen["labels"]]
    edges = (main["left"], main["right"], main["top"], main["bottom"])
    assert labels and min(seen["pixels"]) >= 7
    if all_in_view:
        for own in labels:
            assert own[:, 0].min() >= edges[0] - 2 and own[:, 0].max() <= edges[1] + 2
            assert own[:, 1].min() >= edges[2] - 2 and own[:, 1].max() <= edges[3] + 2
    for a, b in combinations(labels, 2):  # the box of a text is a quarter higher than its letters
        assert common(a, b) <= 0.28 * min(seen["pixels"])
    for text, box in seen["covered"]:  # boxes without a name that are drawn later
        assert common(np.array(text), np.array(box)) <= 0.28 * min(seen["pixels"])
    for box, text in seen["inside"]:
        assert np.ptp(text[0:2], axis=0).max() <= np.ptp(box, axis=0).max() + 1  # no name spills out of its box
        assert np.linalg.norm(np.subtract(text[1], text[0])) <= np.linalg.norm(np.subtract(box[1], box[0]))


@pytest.mark.parametrize("screen", SCREENS)
def test_names_neither_overlap_nor_clip(tabs, made, screen):
    tab = tabs()
    width, height = SCREENS[screen]
    tab.page.set_viewport_size({"width": width, "height": height})
    page = tab.show(made)
    page.select_option("#style", "radial")
    looked_at(page, all_in_view=True)
    page.evaluate("LT.page.view.foldAll(false)")
    looked_at(page, all_in_view=True)
    if screen in ("phone", "desk"):
        page.evaluate("LT.page.view.zoomBy(2.5)")
        looked_at(page, all_in_view=False)
