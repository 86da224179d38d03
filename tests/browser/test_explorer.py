"""The explorer page in a real browser: clicks do what they say, and the numbers are the library's."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from examples import growth, large_model
from hypothesis import HealthCheck, given, settings
from PIL import Image
from strategies import models_and_tables

import latentree as lt
from latentree import datasets, report
from latentree._model import Model
from latentree._tree import Tree
from latentree._variables import Variable
from latentree.infer import predict

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def model():
    return datasets.generator("d12")


@pytest.fixture(scope="module")
def table():
    return datasets.sample_from("d12", 400, 0)


@pytest.fixture(scope="module")
def made(model, table):
    return report.explore(model, table, trace=growth(model))


def node(page, name: str):
    return page.locator(f'#tree .n[aria-label^="{name}, "]')


def beliefs(page) -> dict[str, list[float]]:
    pairs = page.evaluate("LT.page.model.name.map((name, v) => [name, Array.from(LT.page.model.beliefs[v])])")
    return dict(pairs)


def rows_of(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8"))))


# ---- what is there ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["small", "large"])
def test_the_tree_is_there(tabs, made, scheme, kind):
    """A picture of the page holds the colours of edges and boxes where the tree is, in both schemes."""
    tab = tabs(color_scheme=scheme)
    page = tab.show(made if kind == "small" else report.explore(large_model()))
    shot = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)
    box = page.locator("main").bounding_box()
    middle = shot[int(box["y"]) : int(box["y"] + box["height"]), int(box["x"]) : int(box["x"] + box["width"])]
    back = middle[5, 5]
    assert (back.sum() < 200) == (scheme == "dark")
    drawn = np.abs(middle - back).sum(axis=2) > 40
    assert 0.01 < drawn.mean() < 0.6
    # Not in one corner only: every quarter of the middle has some of it.
    height, width = drawn.shape
    for part in (drawn[: height // 2], drawn[height // 2 :], drawn[:, : width // 2], drawn[:, width // 2 :]):
        assert part.mean() > 0.004
    colours = {"light": (0xE6, 0xEF, 0xF4), "dark": (0x22, 0x33, 0x3D)}[scheme]
    assert (np.abs(middle - colours).sum(axis=2) < 6).sum() > 400


def test_every_name_is_drawn_and_nothing_overlaps(tab, made, model):
    page = tab.show(made)
    texts = page.locator("#tree .n text").all_text_contents()
    assert {t.split(" (")[0] for t in texts} == set(model.tree.names)
    boxes = page.evaluate(
        "[...document.querySelectorAll('#tree .n text')].map((t) => t.getBoundingClientRect().toJSON())"
    )
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart = (
                a["right"] <= b["left"]
                or b["right"] <= a["left"]
                or a["bottom"] <= b["top"] + 3
                or b["bottom"] <= a["top"] + 3
            )
            assert apart


def test_a_page_without_data_or_search_has_no_panels_for_them(tab, model):
    page = tab.show(report.explore(model))
    assert page.locator("#tabs button").all_text_contents() == ["Model", "Selected", "What if"]


def test_theme_can_be_turned(tab, made):
    page = tab.show(made)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == before


# ---- nodes and edges -------------------------------------------------------------------------------------------------


def test_a_click_on_a_latent_tells_about_it(tab, made, model, table):
    page = tab.show(made)
    node(page, "Z2").click()
    panel = page.locator("#panel-node")
    assert panel.locator("h2").text_content() == "Z2"
    sizes = [float(t) for t in panel.locator("table.states").first.locator("tbody td:nth-child(3)").all_text_contents()]
    np.testing.assert_allclose(sizes, model.query("Z2"), atol=6e-4)
    told = report.describe_tree(model, table)["latents"][model.tree.latent.tolist().index(model.tree.node("Z2"))]
    first = panel.locator("table.curve tbody th").all_text_contents()
    assert first == [model.tree.names[u["node"]] for u in told["leaves"]]
    # Profiles of its best leaf, as saved: P(leaf | Z2).
    saved = rows_of(tab.saved(lambda: panel.get_by_label("Save as CSV: profiles of Z2").click()))
    best = first[0]
    own = np.array([[float(x) for x in row[2:]] for row in saved[1:] if row[0] == best])
    joint = model.query([best, "Z2"])
    np.testing.assert_allclose(own, joint / joint.sum(axis=0), atol=1e-9)


def test_a_click_on_an_edge_shows_its_table(tab, made, model):
    page = tab.show(made)
    leaf = model.tree.names[int(model.tree.manifest[0])]
    parent = model.tree.names[int(model.tree.parent[model.tree.node(leaf)])]
    spot = page.evaluate(
        """(name) => {
          const v = LT.page.model.name.indexOf(name), path = LT.page.view.edges[v];
          const point = path.getPointAtLength(path.getTotalLength() * 0.6).matrixTransform(path.getScreenCTM());
          return [point.x, point.y];
        }""",
        leaf,
    )
    page.mouse.click(*spot)
    panel = page.locator("#panel-node")
    assert panel.locator("h2").text_content() == f"{parent} – {leaf}"
    saved = rows_of(tab.saved(lambda: panel.get_by_label("Save as CSV").click()))
    found = np.array([[float(x) for x in row[1:]] for row in saved[1:]])
    np.testing.assert_array_equal(found, model.table(leaf))
    panel.get_by_text("Turn round").click()
    saved = rows_of(tab.saved(lambda: panel.get_by_label("Save as CSV").click()))
    joint = model.query([leaf, parent])
    found = np.array([[float(x) for x in row[1:]] for row in saved[1:]])
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), atol=1e-9)


def test_branches_fold_and_unfold(tab, made, model):
    page = tab.show(made)
    latent = next(z for z in map(int, model.tree.latent) if z != page.evaluate("LT.page.view.root"))
    name = model.tree.names[latent]
    below = page.evaluate("(v) => LT.below(LT.page.view.children, v)", latent)
    node(page, name).dblclick()
    hidden = page.evaluate("[...document.querySelectorAll('#tree .n.gone')].map((g) => +g.dataset.v)")
    assert sorted(hidden) == sorted(below)
    assert node(page, name).get_attribute("aria-expanded") == "false"
    assert node(page, name).locator("text").text_content().endswith(f"+{len(below)}")
    node(page, name).dblclick()
    assert page.locator("#tree .n.gone").count() == 0
    page.click("#fold")
    assert page.locator("#tree .n.gone").count() > 0
    page.click("#unfold")
    assert page.locator("#tree .n.gone").count() == 0


def test_search_finds_unfolds_and_selects(tab, made):
    page = tab.show(made)
    page.click("#fold")
    page.keyboard.press("/")
    page.keyboard.type("x1")
    assert page.locator("#tree .n.found").count() == 4  # X1, X10, X11, X12
    assert page.locator("#matches").text_content() == "4 found"
    page.keyboard.press("Enter")
    chosen = page.locator("#panel-node h2").text_content()
    assert chosen.startswith("X1") and node(page, chosen).is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#tree .n.found").count() == 0


def test_pan_zoom_and_styles(tab, made):
    page = tab.show(made)
    box = page.locator("main").bounding_box()
    start = page.evaluate("LT.page.view.box")
    page.mouse.move(box["x"] + 30, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 130, box["y"] + 80, steps=4)
    page.mouse.up()
    moved = page.evaluate("LT.page.view.box")
    zoom = page.evaluate("LT.page.view.zoom")
    assert (start["x"] - moved["x"]) * zoom == pytest.approx(100, abs=1)
    assert page.locator("#tree .n.selected").count() == 0
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(50)
    assert page.evaluate("LT.page.view.zoom") > zoom
    page.click("#zoom-fit")
    page.select_option("#style", "radial")
    inside = page.evaluate(
        """(() => {
          const m = document.querySelector("main").getBoundingClientRect();
          return [...document.querySelectorAll("#tree .n")].map((g) => g.getBoundingClientRect())
            .every((r) => r.left >= m.left && r.right <= m.right && r.top >= m.top && r.bottom <= m.bottom);
        })()"""
    )
    assert inside


# ---- what if ---------------------------------------------------------------------------------------------------------


def test_posteriors_are_the_library_s(tab, made, model):
    page = tab.show(made)
    page.click("#tab-what")
    given = {}
    for name, state in (("X3", 1), ("X8", 0), ("X12", 2)):
        state = min(state, len(model.states(name)) - 1)
        page.select_option("#what-variable", label=name)
        page.select_option("#what-state", str(state))
        page.get_by_role("button", name="Assume", exact=True).click()
        given[name] = model.states(name)[state]
        found = beliefs(page)
        for other in model.tree.names:
            np.testing.assert_allclose(found[other], model.query(other, given), atol=1e-9, rtol=0)
    saved = rows_of(tab.saved(lambda: page.get_by_label("Save as CSV: what if").click()))
    told = [float(row[2]) for row in saved[1:] if row[0] == "Z1"]
    np.testing.assert_allclose(told, model.query("Z1", given), atol=1e-9)
    assert page.locator("#tab-what").text_content() == "What if (3)"
    assert page.locator("#tree .n.given").count() == 3
    page.click("#what-clear")
    for name in model.tree.names:
        np.testing.assert_allclose(beliefs(page)[name], model.query(name), atol=1e-9, rtol=0)


def test_the_bars_in_the_tree_move(tab, made, model):
    page = tab.show(made)
    node(page, "Z1").click()
    page.get_by_label("Assume Z1 = 1").click()
    leaf = int(model.tree.manifest[4])
    widths = page.evaluate("(v) => LT.page.view.bars[v].map((r) => +r.getAttribute('width'))", leaf)
    np.testing.assert_allclose(np.array(widths) / 30, model.query(model.tree.names[leaf], {"Z1": 1}), atol=0.01)
    page.get_by_label("Forget Z1 = 1").click()
    assert page.locator("#tree .n.given").count() == 0


def test_impossible_evidence_is_said_to_be(tab):
    tables = {"z": [0.5, 0.5], "x1": [[1, 0], [0, 1]], "x2": [[1, 0], [0, 1]]}
    variables = [Variable("x1", ("a", "b")), Variable("x2", ("a", "b"))]
    page = tab.show(report.explore(Model.from_tables(Tree.star(2, [2, 2]), variables, tables)))
    page.click("#tab-what")
    page.evaluate("LT.page.model.assume(1, 0); LT.page.model.assume(2, 1)")
    assert "cannot happen" in page.locator("#panel-what [role=status]").text_content()
    page.get_by_label("Forget x2").click()
    assert beliefs(page)["class"] == [1, 0]


# ---- data ------------------------------------------------------------------------------------------------------------


def test_rows_of_a_state(tab, made, model, table):
    page = tab.show(made)
    page.click("#tab-rows")
    page.locator("#rows-latent").wait_for()
    states = predict(model, table)
    page.select_option("#rows-latent", label="Z2")
    page.select_option("#rows-state", "1")
    shown = page.locator("#panel-rows section").first.locator("p").first.text_content()
    assert shown.startswith(f"{(states['Z2'] == 1).sum():,} rows")
    saved = rows_of(tab.saved(lambda: page.get_by_label("Save as CSV: rows").click()))
    assert {row[0] for row in saved[1:]} == {"1"}
    assert sum(float(row[2]) for row in saved[1:]) == (states["Z2"] == 1).sum()
    # Sorted by any column, up and down.
    page.get_by_role("button", name="P(state)").click()
    falling = [float(x.strip("<>")) for x in page.locator("table.rows tbody td:nth-child(2)").all_text_contents()]
    assert falling == sorted(falling, reverse=True)
    page.get_by_role("button", name="P(state)").click()
    rising = [float(x.strip("<>")) for x in page.locator("table.rows tbody td:nth-child(2)").all_text_contents()]
    assert rising == sorted(rising)
    # Filtered by a variable's value.
    page.select_option("#rows-state", "")
    page.fill("#rows-filter", "X4=0")
    wanted = int((table.codes[table.inverse][:, table.names.index("X4")] == 0).sum())
    assert page.locator("#panel-rows section").first.locator("p").first.text_content().startswith(f"{wanted:,} rows")


def test_two_latents_against_each_other(tab, made, model, table):
    page = tab.show(made)
    page.click("#tab-rows")
    page.locator("#cross-a").wait_for()
    page.select_option("#cross-a", label="Z1")
    page.select_option("#cross-b", label="Z3")
    saved = rows_of(tab.saved(lambda: page.get_by_label("Save as CSV: Z1 by Z3").click()))
    found = np.array([[float(x) for x in row[1:-1]] for row in saved[1:-1]])
    states = predict(model, table)
    wanted = np.zeros(found.shape)
    np.add.at(wanted, (states["Z1"], states["Z3"]), 1)
    np.testing.assert_array_equal(found, wanted)


def test_weights_and_missing_cells(tab):
    frame = datasets.load_frame("carcinoma")
    frame = frame.astype("object").where(np.random.default_rng(0).random(frame.shape) > 0.2, None)
    weights = np.random.default_rng(1).uniform(0.5, 3, len(frame))
    lca = lt.LatentClass(2, random_state=0, prior=2).fit(frame, sample_weight=weights)
    page = tab.show(lca.explore())
    page.click("#tab-rows")
    page.locator("#rows-latent").wait_for()
    page.select_option("#rows-state", "0")
    saved = rows_of(tab.saved(lambda: page.get_by_label("Save as CSV: rows").click()))
    assert sum(float(row[2]) for row in saved[1:]) == pytest.approx(weights[lca.predict(frame) == 0].sum())
    assert any("" in row for row in saved[1:])


def test_an_unfinished_search_is_said_before_anything_else(tab, model):
    stopped = Model(
        model.tree, model.variables, model.parameters, {"method": "swift", "score": "bic", "reason": "time"}
    )
    page = tab.show(report.explore(stopped, trace=growth(model)))
    assert "was not finished" in page.locator("#panel-overview .warning").first.text_content()
    page.click("#tab-growth")
    assert "BIC (lower is better)" in page.locator("#panel-growth h3").all_text_contents()[1]


# ---- growth, saving --------------------------------------------------------------------------------------------------


def test_the_replay_steps_through_the_search(tab, made, model):
    steps = growth(model)
    page = tab.show(made)
    page.click("#tab-growth")
    assert page.locator("#growth").is_visible() and not page.locator("#tree").is_visible()
    for i in (0, 2, len(steps) - 1):
        page.locator(".steps button").nth(i).click()
        drawn = {t.split(" (")[0] for t in page.locator("#growth text").all_text_contents()}
        assert drawn == set(steps[i]["states"])
        assert page.locator("#growth .edges path").count() == len(steps[i]["edges"])
        assert steps[i]["operation"] in page.locator(".step h3").text_content()
    page.locator(".steps button").nth(2).click()
    fresh = page.locator("#growth .fresh text").all_text_contents()
    assert len(fresh) == 1 and fresh[0].split(" (")[0] in steps[2]["operation"]
    page.get_by_label("Step back").click()
    assert page.locator("#step").input_value() == "1"
    page.click("#play")
    tab.until("document.querySelector('#step').value === '2'")
    page.click("#play")
    page.click("#tab-overview")
    assert page.locator("#tree").is_visible()


@pytest.mark.parametrize("style", ["rows", "radial"])
def test_the_tree_is_saved_as_svg_and_png(tab, made, model, style):
    page = tab.show(made)
    page.select_option("#style", style)
    svg = ElementTree.fromstring(tab.saved(lambda: page.click("#save-svg")))
    texts = {t.text.split(" (")[0] for t in svg.iter(f"{SVG}text")}
    assert texts == set(model.tree.names)
    assert not [e for e in svg.iter() if "style" in e.attrib or "class" in e.attrib]
    rect = next(e for e in svg.iter(f"{SVG}rect") if e.get("stroke") not in (None, "none"))
    assert rect.get("fill").startswith("rgb")
    image = Image.open(io.BytesIO(tab.saved(lambda: page.click("#save-png"))))
    assert image.width == pytest.approx(2 * float(svg.get("width")), abs=2)
    pixels = np.asarray(image.convert("RGB")).astype(int)
    assert (np.abs(pixels - pixels[2, 2]).sum(axis=2) > 40).mean() > 0.01


# ---- whoever uses it -------------------------------------------------------------------------------------------------


def test_the_keyboard_is_enough(tab, made, model):
    page = tab.show(made)
    page.evaluate("LT.page.view.focus(LT.page.view.root)")
    root = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("ArrowRight")
    child = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert child != root
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == root
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.locator("#panel-node").is_visible()
    chosen = page.locator("#panel-node h2").text_content()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(chosen)
    assert page.locator("#said").text_content() == f"{chosen} selected"
    page.focus("#tab-node")
    page.keyboard.press("ArrowRight")
    assert page.locator("#panel-what").is_visible()
    # One stop in the tree, whatever was focused.
    assert page.locator("#tree [tabindex='0']").count() == 1
    # Tab alone reaches the tree and the panels.
    reached = set()
    page.focus("#search")
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "(({ id, tagName } = {}) => id || tagName)"
                "(document.activeElement.closest('header, #tree, #tabs, #panels') ?? {})"
            )
        )
    assert {"HEADER", "tree", "tabs", "panels"} <= reached


def test_everything_has_a_name_for_screen_readers(tab, made, model):
    page = tab.show(made)
    for panel in ("overview", "what", "rows", "growth"):
        page.click(f"#tab-{panel}")
        page.wait_for_timeout(150)
    node(page, "Z1").click() if page.locator("#tree").is_visible() else page.evaluate("LT.page.showNode(0)")
    nameless = page.evaluate(
        """[...document.querySelectorAll(
          "button, input, select, [role=treeitem], [role=tabpanel], svg[role=img]")].filter((e) => {
          const labelled = e.getAttribute("aria-label") || e.textContent.trim() || e.getAttribute("aria-labelledby") ||
            (e.id && document.querySelector(`label[for="${e.id}"]`));
          return !labelled;
        }).map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    assert page.locator("#tree[role=tree] [role=treeitem]").count() == model.tree.n_nodes
    twice = page.evaluate(
        "[...document.querySelectorAll('[id]')].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)"
    )
    assert twice == []
    assert page.locator("html").get_attribute("lang") == "en"


def colour(page, name: str) -> np.ndarray:
    value = page.evaluate("(n) => getComputedStyle(document.documentElement).getPropertyValue(n)", name).strip("# ")
    return np.array([int(value[i : i + 2], 16) / 255 for i in (0, 2, 4)])


def contrast(a: np.ndarray, b: np.ndarray) -> float:
    def luminance(rgb: np.ndarray) -> float:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read(tabs, made, scheme):
    """WCAG AA: a contrast of at least 4.5 for all text, on the darkest cells of tables too."""
    page = tabs(color_scheme=scheme).show(made)
    for text in ("--ink", "--muted", "--accent", "--given", "--warning"):
        for back in ("--surface", "--back"):
            assert contrast(colour(page, text), colour(page, back)) >= 4.5, (text, back)
    assert contrast(colour(page, "--given"), colour(page, "--given-soft")) >= 4.5
    heat = float(page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--heat')"))
    cell = heat * colour(page, "--accent") + (1 - heat) * colour(page, "--surface")
    assert contrast(colour(page, "--ink"), cell) >= 4.5


# ---- names from anywhere ---------------------------------------------------------------------------------------------


NASTY = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    '"><b>bold</b>',
    "a & b",
    "__proto__",
    "O'Hara\\",
)


def test_names_are_only_names(tab):
    rng = np.random.default_rng(0)
    variables = [Variable(name, (f"{name}?", "<i>no</i>")) for name in NASTY]
    tree = Tree.from_edges(
        [("z<b>", name) for name in NASTY[:3]]
        + [("z<b>", "y</script>")]
        + [("y</script>", name) for name in NASTY[3:]],
        {"z<b>": 2, "y</script>": 2, **dict.fromkeys(NASTY, 2)},
        NASTY,
    )
    model = Model.random(tree, variables, rng)
    table = lt.Table.from_codes(model.sample(30, rng), variables)
    made = report.explore(model, table, trace=growth(model), title="</title><script>alert(3)</script>")
    page = tab.show(made)
    assert page.title() == "</title><script>alert(3)</script>"
    for name in (*NASTY, "z<b>"):
        page.evaluate("(n) => LT.page.showNode(LT.page.model.name.indexOf(n), true)", name)
        assert page.locator("#panel-node h2").text_content() == name
    for panel in ("what", "rows", "growth", "overview"):
        page.click(f"#tab-{panel}")
        page.wait_for_timeout(100)
    assert "__proto__" in page.locator("#growth text").all_text_contents()
    page.evaluate("LT.page.model.assume(1, 1)")
    assert page.locator("img, b:not(.legend b), i, script").count() == 2  # the page's data and its script
    drawn = page.locator("#tree .n text").all_text_contents()
    assert any(t.startswith("<script>alert(1)") for t in drawn)
    ElementTree.fromstring(tab.saved(lambda: page.click("#save-svg")))


def test_the_policy_stops_what_is_not_ours(tabs, made, tmp_path):
    tab = tabs()
    page = tab.show(made)
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "globalThis.stolen = true";
          document.body.append(script);
          document.body.insertAdjacentHTML("beforeend", '<img src="data:," onerror="globalThis.stolen = true">');
        }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("globalThis.stolen") is None
    assert page.evaluate("fetch('https://example.org').then(() => 'sent', () => 'stopped')") == "stopped"
    assert tab.complaints and all("Content Security Policy" in text for text in tab.complaints)
    tab.complaints.clear()


# ---- size ------------------------------------------------------------------------------------------------------------


def test_a_thousand_leaves(tab):
    model = large_model()
    made = report.explore(model)
    assert len(made.html) < 700_000
    page = tab.show(made)
    assert page.locator("#tree .n").count() == 1329
    given = {"x500": model.states("x500")[1], "x20": model.states("x20")[0]}
    for name, value in given.items():
        v = model.tree.node(name)
        page.evaluate("([v, s]) => LT.page.model.assume(v, s)", [v, model.states(name).index(value)])
    found = beliefs(page)
    for name in ("z1", "z100", "z329", "x7", "x499"):
        np.testing.assert_allclose(found[name], model.query(name, given), atol=1e-9, rtol=0)
    page.fill("#search", "x777")
    page.press("#search", "Enter")
    assert page.locator("#panel-node h2").text_content() == "x777"
    page.select_option("#style", "rows")
    page.click("#fold")
    page.click("#unfold")
    page.click("#tab-what")


# ---- elsewhere -------------------------------------------------------------------------------------------------------


def test_in_a_notebook(tabs, made):
    """A frame without the right to anything but its own scripts."""
    tab = tabs()
    tab.page.set_content(f"<!doctype html><p>cell</p>{made._repr_html_()}")
    frame = tab.page.frame_locator("iframe")
    frame.locator("#tab-overview").wait_for()
    frame.locator('#tree .n[aria-label^="Z2, "]').click()
    assert frame.locator("#panel-node h2").text_content() == "Z2"


def test_narrow_screens(tabs, made):
    tab = tabs()
    tab.page.set_viewport_size({"width": 420, "height": 800})
    page = tab.show(made)
    main, aside = page.locator("main").bounding_box(), page.locator("aside").bounding_box()
    assert aside["y"] >= main["y"] + main["height"] - 1 and main["height"] > 200
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report(tabs, model, table, scheme):
    page = tabs(color_scheme=scheme).show(
        report.write_report(model, table, trace=growth(model)), "report.html", wait=None
    )
    assert page.locator("h1").text_content() == "Latent tree model"
    names = {t.split(" (")[0] for t in page.locator("svg.tree text").all_text_contents()}
    assert names == set(model.tree.names)
    assert page.locator("h3[id^=z]").count() == len(model.tree.latent)
    shade = page.evaluate("getComputedStyle(document.querySelector('td.s20, td.s19, td.s18, td.s17')).backgroundColor")
    assert shade != "rgba(0, 0, 0, 0)"
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert not re.search(r"NaN|undefined|None", page.locator("body").text_content())


def test_rows_without_numbers(tab, model, table, monkeypatch):
    monkeypatch.setattr("latentree.report._explorer.MOST_NUMBERS", 1)
    page = tab.show(report.explore(model, table))
    page.click("#tab-rows")
    page.locator("#rows-latent").wait_for()
    heads = page.locator("table.rows thead th").all_text_contents()
    assert heads[:3] == ["state", "P(state)", "count ▾"] and heads[3] in model.tree.names


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(models_and_tables(max_nodes=8))
def test_every_node_of_any_model_can_be_opened(tab, pair):
    """Observed roots and inner nodes, latent leaves, nodes of one state, names of any characters, impossible rows."""
    model, table = pair
    names = model.tree.names
    edges = [[names[model.tree.parent[v]], names[v]] for v in range(1, len(names))]
    states = dict(zip(names, model.tree.cardinality.tolist(), strict=True))
    page = tab.show(report.explore(model, table, trace=[{"operation": "all", "edges": edges, "states": states}]))
    for v in range(model.tree.n_nodes):
        page.evaluate("(v) => LT.page.showNode(v, true)", v)
        assert page.locator("#panel-node h2").text_content() == page.evaluate("(v) => LT.page.model.name[v]", v)
        for u in model.tree.neighbours(v):
            page.evaluate("([a, b]) => LT.page.showEdge(a, b)", [v, u])
    for panel in page.locator("#tabs button").all():
        panel.click()
    if page.locator("#style").is_visible():  # a latent class model shows its profiles instead
        page.select_option("#style", "radial")
        page.click("#fold")


def test_a_star_and_a_single_variable(tab):
    lca = lt.LatentClass(3, random_state=0).fit(datasets.load_frame("carcinoma"))
    page = tab.show(lca.explore())
    page.locator("#profiles [data-class]").first.click()
    heads = page.locator("#panel-node table.states").first.locator("tbody th").all()
    assert [head.get_attribute("title") for head in heads] == ["class0", "class1", "class2"]
    assert all(text.startswith("mostly") for text in page.locator("#panel-node .said").all_text_contents())
    alone = Model.random(Tree([-1], [3], [0]), [Variable("x", ("a", "b", "c"))], np.random.default_rng(0))
    page = tab.show(report.explore(alone), "alone.html")
    node(page, "x").click()
    assert page.locator("#panel-node h2").text_content() == "x"
