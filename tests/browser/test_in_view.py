"""What a visitor sees when the page opens: all of it, on any screen, with labels that can be read."""

from __future__ import annotations

import json
from itertools import combinations, pairwise

import numpy as np
import pytest
from examples import large_model

import latentree as lt
from latentree import datasets, report
from latentree._model import Model
from latentree._variables import Variable
from latentree.report._html import source

SCREENS = {"phone": (390, 844), "small": (800, 600), "cell": (940, 720), "desk": (1280, 800)}

SEEN = """() => {
  const main = document.querySelector("main").getBoundingClientRect();
  const shown = [...document.querySelectorAll("#tree .n")].filter((n) => !n.classList.contains("gone"));
  const box = (e) => e.getBoundingClientRect().toJSON();
  const visible = (t) => getComputedStyle(t).display !== "none";
  return {
    main: main.toJSON(),
    places: shown.map(box),
    labels: shown.flatMap((n) => [...n.querySelectorAll("text")]).filter(visible).map(box),
    pills: shown.filter((n) => n.classList.contains("inner") && !n.classList.contains("tiny"))
      .map((n) => [box(n.querySelector("rect")), box(n.querySelector("text"))]),
    wide: document.documentElement.scrollWidth > innerWidth,
  };
}"""


def long_names(model: Model) -> Model:
    """The same model with names as long as questions are."""
    variables = [
        Variable(f"How often do you use {v.name} in a typical week, all told?", v.states) for v in model.variables
    ]
    return Model(model.tree, variables, model.parameters)


MODELS = {
    "17 nodes": lambda: large_model(4, 13),
    "28 nodes": lambda: datasets.generator("d18"),
    "questions": lambda: long_names(datasets.generator("d12")),
    "75 nodes": lambda: large_model(15, 60),
    "160 nodes": lambda: large_model(40, 120),
    "1,000 nodes": lambda: large_model(247, 753),
}


@pytest.fixture(scope="module", params=MODELS, ids=str)
def made(request):
    return report.explore(MODELS[request.param]())


@pytest.mark.parametrize("screen", SCREENS)
def test_all_is_in_view_and_labels_neither_overlap_nor_clip(tabs, made, screen):
    tab = tabs()
    width, height = SCREENS[screen]
    tab.page.set_viewport_size({"width": width, "height": height})
    page = tab.show(made)
    seen = page.evaluate(SEEN)
    main = seen["main"]
    assert not seen["wide"] and main["width"] > 200 and main["height"] > 200
    for box in seen["places"] + seen["labels"]:
        assert box["left"] >= main["left"] - 2 and box["right"] <= main["right"] + 2
        assert box["top"] >= main["top"] - 2 and box["bottom"] <= main["bottom"] + 2
    assert seen["labels"]
    if len(seen["labels"]) < 150 and page.evaluate("LT.page.view.style") == "rows":
        for a, b in combinations(seen["labels"], 2):
            assert (
                a["right"] <= b["left"] + 1
                or b["right"] <= a["left"] + 1
                or a["bottom"] <= b["top"] + 4
                or b["bottom"] <= a["top"] + 4
            )
    for rect, text in seen["pills"]:
        assert text["width"] * text["height"] <= rect["width"] * rect["height"] * 1.1  # no name spills out of its box


@pytest.mark.parametrize("screen", SCREENS)
def test_boxes_of_folded_latents_are_apart(tabs, screen):
    """Boxes, not only the names in them; and there is room to type into the search field."""
    tab = tabs()
    width, height = SCREENS[screen]
    tab.page.set_viewport_size({"width": width, "height": height})
    page = tab.show(report.explore(long_names(datasets.generator("d12"))))
    assert page.locator("#search").bounding_box()["width"] >= 100
    page.click("#fold")
    boxes = [rect for rect, _ in page.evaluate(SEEN)["pills"]]
    assert len(boxes) > 2
    for a, b in combinations(boxes, 2):
        apart = (a["right"] <= b["left"], b["right"] <= a["left"], a["bottom"] <= b["top"], b["bottom"] <= a["top"])
        assert any(apart)


def test_folding_refits_the_view(tab):
    page = tab.show(report.explore(datasets.generator("d18")))
    before = page.evaluate("LT.page.view.zoom")
    page.click("#fold")
    seen = page.evaluate(SEEN)
    assert page.evaluate("LT.page.view.zoom") >= before
    assert max(box["right"] for box in seen["places"]) <= seen["main"]["right"]
    middle = (min(b["left"] for b in seen["places"]) + max(b["right"] for b in seen["places"])) / 2
    assert middle == pytest.approx((seen["main"]["left"] + seen["main"]["right"]) / 2, abs=20)


@pytest.mark.parametrize("screen", SCREENS)
def test_a_latent_class_model_shows_its_profiles(tabs, screen):
    lca = lt.LatentClass(3, random_state=0).fit(datasets.load_frame("carcinoma"))
    tab = tabs()
    width, height = SCREENS[screen]
    tab.page.set_viewport_size({"width": width, "height": height})
    page = tab.show(lca.explore())
    assert not page.locator("#tree").is_visible()
    main, chart = page.locator("main").bounding_box(), page.locator("#profiles svg").bounding_box()
    assert chart["x"] >= main["x"] and chart["x"] + chart["width"] <= main["x"] + main["width"] + 1
    assert chart["y"] >= main["y"] and chart["y"] + chart["height"] <= main["y"] + main["height"] + 1
    assert page.locator("#profiles .row").count() == 7
    legend = page.locator("#profiles [data-class]").all_text_contents()
    assert [text.split("(")[0].strip() for text in legend] == ["class0", "class1", "class2"]
    page.locator("#profiles .row").nth(2).click()
    assert page.locator("#panel-node h2").text_content() == "C"


def test_long_names_beside_profiles_are_not_clipped(tabs):
    fit = lt.fit_classes(datasets.load("carcinoma"), 2, rng=np.random.default_rng(0))
    page = tabs().show(report.explore(long_names(fit.model)))
    left = page.locator("#profiles svg").bounding_box()["x"]
    labels = page.locator("#profiles .label")
    assert labels.count() >= 7
    assert all(label.bounding_box()["x"] >= left for label in labels.all())


def test_names_are_given_on_the_page_and_saved(tab):
    page = tab.show(report.explore(datasets.generator("d7")))
    page.evaluate("LT.page.showNode(1)")
    page.get_by_label("Name of latent variable").fill("Taste")
    page.get_by_label("Name of latent variable").press("Tab")
    page.get_by_label("Name of state 0").fill("sweet")
    page.get_by_label("Name of state 0").press("Tab")
    assert page.locator("#panel-node h2").text_content() == "Taste"
    assert any("Taste" in text for text in page.locator("#tree text").all_text_contents())
    page.click("#tab-overview")
    saved = json.loads(tab.saved(lambda: page.click("#save-names")))
    assert saved == {"latents": {"Z2": "Taste"}, "states": {"Z2": {"0": "sweet"}}}
    named = datasets.generator("d7").renamed(saved["latents"], states=saved["states"])
    assert named.state_names("Taste")[0] == "sweet"


def test_profiles_come_before_information_and_columns_have_heads(tab):
    page = tab.show(report.explore(datasets.generator("d7"), datasets.sample_from("d7", 200, 0)))
    page.evaluate("LT.page.showNode(0)")
    heads = [text.removesuffix("CSV") for text in page.locator("#panel-node h3").all_text_contents()]
    assert heads.index("Profiles") < heads.index("What defines it")
    columns = page.locator("#panel-node table.states").first.locator("thead th")
    assert columns.first.is_visible() and columns.first.text_content() == "state"
    assert page.locator("#panel-node .shades").is_visible()


# ---- colours ---------------------------------------------------------------------------------------------------------


def lab(colour: str, seen=None) -> np.ndarray:
    """CIELAB of a colour, as seen with another matrix of linear RGB."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    if seen is not None:
        linear = np.clip(seen @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


# Machado, Oliveira and Fernandes (2009), full severity
PROTAN = np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]])
DEUTAN = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]])


@pytest.mark.parametrize("which", [0, 2], ids=["light", "dark"])
def test_branches_differ_without_full_colour_vision(which):
    import re

    found = re.findall(r"--b(\d): (#\w{6});", source("base.css"))
    colours = [colour for _, colour in found][8 * which : 8 * which + 8]
    assert len(colours) == 8
    for seen in (None, PROTAN, DEUTAN):
        own = [lab(colour, seen) for colour in colours]
        assert min(np.linalg.norm(a - b) for a, b in combinations(own, 2)) > 9
    light = [lab(colour)[0] for colour in colours]
    # neighbouring branches differ in lightness alone
    assert min(abs(a - b) for a, b in pairwise(light)) > 12


def test_the_tree_of_a_report_can_be_read_on_a_phone(tabs, tmp_path):
    """It scrolls in its own frame: names keep a size that can be read, and the page does not scroll sideways."""
    page = tabs().page
    page.set_viewport_size({"width": 390, "height": 844})
    report.write_report(long_names(datasets.generator("d12")), path=tmp_path / "report.html")
    page.goto((tmp_path / "report.html").as_uri())
    seen = page.evaluate(
        """() => [document.documentElement.scrollWidth, ...[...document.querySelectorAll(".tree text")].map((t) =>
          parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a)]"""
    )
    assert seen[0] <= 390 and min(seen[1:]) >= 7
