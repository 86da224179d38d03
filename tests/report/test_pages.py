"""Pages as text: whole, escaped, closed to the outside. What they do in a browser is in tests/browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import models

import latentree as lt
from latentree import datasets, report
from latentree._model import Model
from latentree._tree import Tree
from latentree._variables import Variable
from latentree.report._html import source

NASTY = ("<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", '"><b>&amp;', "$tree ${x}", "\ud800\x00")


class Elements(HTMLParser):
    """Tags, text and the policy of a page, as a browser's parser sees them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text: list[str] = []
        self.policy = ""
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.at = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.at = tag
        if ("http-equiv", "Content-Security-Policy") in attrs:
            self.policy = dict(attrs)["content"]

    def handle_data(self, data):
        (self.raw.get(self.at, self.text)).append(data)

    def handle_endtag(self, tag):
        self.at = ""


def nasty_model() -> Model:
    states = [Variable(name, (f"{name}a", f"{name}b")) for name in NASTY]
    return Model.random(Tree.star(2, [2] * len(NASTY)), states, np.random.default_rng(0))


@pytest.mark.parametrize("make", [report.explore, report.write_report])
def test_names_are_only_names(make, tmp_path):
    page = make(nasty_model(), path=tmp_path / "page.html", title="<img src=x>")
    found = Elements((tmp_path / "page.html").read_text("utf-8"))
    assert "img" not in found.tags
    assert not [name for name in found.attributes if name.startswith("on") or name == "style"]
    assert any("<script>alert(1)</script>" in text for text in found.text)
    assert found.tags.count("script") == (2 if make is report.explore else 0)
    assert "$tree ${x}" in page.html


@pytest.mark.parametrize("make", [report.explore, report.write_report])
def test_the_policy_allows_what_is_ours_and_nothing_else(make):
    found = Elements(make(datasets.generator("d7")).html)
    rules = dict(rule.strip().split(" ", 1) for rule in found.policy.split(";"))
    assert rules["default-src"] == "'none'" and "unsafe" not in found.policy and "http" not in found.policy
    digest = {kind: [hashlib.sha256(t.encode()).digest() for t in texts] for kind, texts in found.raw.items()}
    for kind in ("script", "style"):
        wanted = re.findall(r"'sha256-(.*?)'", rules[f"{kind}-src"])
        assert {base64.b64decode(w) for w in wanted} <= set(digest[kind])
    assert "connect-src" not in rules  # falls back to default-src: no request to anywhere


def test_nothing_is_fetched():
    html = report.explore(datasets.generator("d7")).html
    assert not re.search(r'(src|href)="(?!data:|#)', html)
    assert "@import" not in html and "url(" not in html
    for name in ("fetch(", "XMLHttpRequest", "eval(", "innerHTML", "insertAdjacentHTML", "document.write"):
        assert name not in html


def page_data(page: report.Page) -> dict:
    return json.loads(re.search(r'id="page-data">(.*?)</script>', page.html, re.DOTALL)[1])


def test_probabilities_arrive_bit_for_bit():
    model = datasets.generator("d12")
    theta = np.frombuffer(base64.b64decode(page_data(report.explore(model))["theta"]), "<f8")
    np.testing.assert_array_equal(theta, model.parameters)


def test_rows_arrive_as_they_are():
    table = datasets.sample_from("d7", 300, 0)
    data = page_data(report.explore(datasets.generator("d7"), table))["data"]
    codes = np.frombuffer(base64.b64decode(data["codes"]), "i1").reshape(7, -1).T
    inverse = np.frombuffer(base64.b64decode(data["inverse"]), "<i4")
    np.testing.assert_array_equal(codes[inverse], table.codes[table.inverse])
    weights = np.frombuffer(base64.b64decode(data["weights"]), "<f8")
    assert weights.sum() == 300 and (np.diff(weights) <= 0).all()
    cut = page_data(report.explore(datasets.generator("d7"), table, max_rows=10))["data"]
    assert cut["patterns"] == 10 and "were left out" in cut["note"]


def test_pages_of_large_data_stay_small(monkeypatch):
    table = datasets.sample_from("d7", 300, 0)
    monkeypatch.setattr("latentree.report._explorer.MOST_CELLS", 70)
    monkeypatch.setattr("latentree.report._explorer.MOST_NUMBERS", 299)
    data = page_data(report.explore(datasets.generator("d7"), table))["data"]
    assert data["patterns"] == 10 and data["inverse"] == ""
    assert page_data(report.explore(datasets.generator("d7"), table, max_rows=25))["data"]["patterns"] == 25


def test_wide_codes_need_two_bytes():
    states = Variable("x", tuple(range(300)))
    model = Model.random(Tree.star(2, [300, 2]), [states, Variable("y", (0, 1))], np.random.default_rng(0))
    table = lt.Table.from_codes([[299, 1], [0, -1]], model.variables)
    data = page_data(report.explore(model, table))["data"]
    assert data["wide"]
    assert np.frombuffer(base64.b64decode(data["codes"]), "<i2").tolist() == [299, 0, 1, -1]


@settings(max_examples=40)
@given(models())
def test_any_model_makes_pages(model):
    for made in (report.explore(model), report.write_report(model)):
        made.html.encode("utf-8")
        assert "<title>" in made.html


def test_conveniences(tmp_path):
    model = datasets.generator("d7")
    page = model.explore(tmp_path / "a.html", table=datasets.sample_from("d7", 50, 0), style="radial", title="Seven")
    assert (tmp_path / "a.html").read_text("utf-8") == page.html and "<title>Seven</title>" in page.html
    lca = lt.LatentClass(2, random_state=0).fit(datasets.load_frame("carcinoma"))
    assert "Latent class model, 2 classes" in lca.explore().html
    assert "MB" in repr(page)
    frame = page._repr_html_()
    assert frame.startswith("<iframe sandbox=") and "allow-same-origin" not in frame and "<script" not in frame


def test_opening_writes_a_file(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = report.explore(datasets.generator("d7")).open()
    assert opened == [path.as_uri()] and Path(path).read_text("utf-8").startswith("<!doctype html>")


def test_scripts_are_ours_and_small():
    """No library: every script is a file of the package, and all of them together stay small."""
    from latentree.report._explorer import SCRIPTS

    assert sum(len(source(name)) for name in SCRIPTS) < 100_000


def test_the_guide_can_be_followed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda url: True)
    guide = (Path(__file__).parents[2] / "docs" / "explorer.md").read_text("utf-8")
    exec(compile(re.search(r"```python\n(.*?)```", guide, re.DOTALL)[1], "explorer.md", "exec"), {})
    assert Path("d18.html").exists()
    steps = json.loads(re.search(r"```json\n(.*?)```", guide, re.DOTALL)[1])
    assert page_data(report.explore(datasets.generator("d7"), trace=steps))["trace"]["steps"][0]["candidates"] == 74


def test_a_scale_of_several_answers_names_none_of_them():
    """Beside variables with a row for each answer, one of two values says which answer its row shows."""
    codes = np.array([[i % 2, i % 3, i // 2 % 2] for i in range(24)], dtype=np.int16)
    three, two = Variable("often", ("never", "sometimes", "always")), ("no", "yes")
    table = lt.Table.from_codes(codes, [Variable("smokes", two), three, Variable("drinks", two)])
    fit = lt.fit_classes(table, 2, rng=np.random.default_rng(0), n_init=2)
    page = report.explore(fit.model).html
    assert "probability of the answer" in page and ">smokes: yes</text>" in page and "probability of yes" not in page
    binary = lt.fit_classes(table.select(["smokes", "drinks"]), 2, rng=np.random.default_rng(0), n_init=2)
    page = report.explore(binary.model).html
    assert "probability of yes" in page and ">smokes: yes</text>" not in page
