"""Class profiles in columns, and the explorer page on paper."""

from __future__ import annotations

import numpy as np
import pytest
from test_in_view import SCREENS

from latentree import datasets, report
from latentree._model import Model
from latentree._tree import Tree
from latentree._variables import Variable


def scales(n: int) -> Model:
    """A latent class model of questions with five answers each."""
    words = ("strongly disagree", "disagree", "neither", "agree", "strongly agree")
    variables = [Variable(f"q{j}", words) for j in range(n)]
    return Model.random(Tree.star(3, [5] * n), variables, np.random.default_rng(0))


def test_many_answers_stand_in_columns_that_are_all_in_view(tabs):
    page = tabs().show(report.explore(scales(10)))
    main = page.locator("main").bounding_box()
    pieces = [own.bounding_box() for own in page.locator("#profiles svg:visible").all()]
    assert len({round(box["x"]) for box in pieces}) == 2  # columns
    for box in pieces:
        assert box["x"] >= main["x"] and box["x"] + box["width"] <= main["x"] + main["width"]
        assert box["y"] >= main["y"] and box["y"] + box["height"] <= main["y"] + main["height"]
    rows = page.locator("#profiles .side-by-side .row")
    assert rows.count() == 60  # a heading and five answers each, none twice
    assert {own.get_attribute("data-v") for own in rows.all()} == {str(v) for v in range(1, 11)}
    last = page.locator("#profiles .side-by-side .row[data-v='10']").last
    last.click()
    assert page.locator("#panel-node h2").text_content() == "q9"


@pytest.mark.parametrize("screen", SCREENS)
def test_no_variable_is_lost_between_columns(tabs, screen):
    tab = tabs()
    tab.page.set_viewport_size(dict(zip(("width", "height"), SCREENS[screen], strict=True)))
    page = tab.show(report.explore(scales(23)))
    found = page.evaluate("""() => [...document.querySelectorAll("#profiles .row")]
      .filter((own) => own.getBoundingClientRect().width > 0).map((own) => own.dataset.v)""")
    assert len(found) == 23 * 6 and set(found) == {str(v) for v in range(1, 24)}
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_renamed_classes_are_named_in_all_columns(tab):
    page = tab.show(report.explore(scales(10)))
    page.evaluate("LT.page.showNode(0)")
    page.get_by_label("Name of state 0").fill("Believers")
    page.get_by_label("Name of state 0").press("Tab")
    legend = page.locator("#profiles .profile-columns [data-class='0'] text").text_content()
    assert legend.startswith("Believers (")


@pytest.mark.parametrize("model", ["tree", "classes"])
def test_the_page_prints_what_it_shows(tab, model):
    made = report.explore(datasets.generator("d12") if model == "tree" else scales(6))
    page = tab.show(made)
    page.emulate_media(media="print")
    page.wait_for_timeout(200)  # columns are chosen again for the paper
    pieces = [own.bounding_box() for own in page.locator("main svg:visible").all()]
    assert max(box["height"] for box in pieces) > 150 and min(box["width"] for box in pieces) > 150
    assert not page.locator("aside").is_visible() and not page.locator("#theme").is_visible()
    page.emulate_media(media="screen")
