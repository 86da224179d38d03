"""What reports say of trees that fall into independent parts, and what they keep silent about."""

from __future__ import annotations

import json

import numpy as np
import pytest
from parts import in_parts, rows_of

from latentree import Table, datasets
from latentree._information import Neighbours
from latentree.diagnostics import run_findings
from latentree.dimension import identifiability
from latentree.naming import latent_names, presented
from latentree.report import Report, describe_tree, explore, paper_tables, search_result, write_report
from latentree.score import average_posteriors
from latentree.search import learn

ROOTS = ("z", "y", "k", "a", "g")


@pytest.fixture(scope="module")
def model():
    return presented(in_parts())


@pytest.fixture(scope="module")
def table(model):
    return Table.from_frame(rows_of(model))


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("root", ROOTS)
def test_a_latent_of_one_state_has_a_plain_name(root):
    names = latent_names(in_parts(root=root))
    assert names["k"] == "cut1" and set(names) == {"k", "y", "z"}
    assert set(names["z"].split("+")) < set("abc") and set(names["y"].split("+")) < set("def")


def test_the_name_gives_way_to_a_column():
    model = in_parts()
    columns = [type(v)(("cut1" if v.name == "g" else v.name), v.states) for v in model.variables]
    renamed = type(model)(model.tree.renamed({"g": "cut1"}), columns, model.parameters)
    assert latent_names(renamed)["k"] == "cut2"


def test_nothing_beyond_is_informative():
    model = in_parts()
    own = [model.tree.names[v] for v, _, _ in Neighbours(model).most_informative(model.tree.node("z"))]
    assert sorted(own) == ["a", "b", "c"]


# ---- the dict and the text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("root", ROOTS)
def test_parts_are_told(root):
    report = describe_tree(presented(in_parts(root=root)))
    assert report["n_latents"] == 2 and len(report["latents"]) == 2 and len(report["cuts"]) == 1
    assert report["parts"] == [["a", "b", "c"], ["d", "e", "f"], ["g"]]
    assert report["independence"] == [
        "Independent of all others: g.",
        "The other variables form 2 independent parts: (1) a, b, c; (2) d, e, f.",
    ]
    leaves = [{report["nodes"][u["node"]]["name"] for u in z["leaves"]} for z in report["latents"]]
    assert sorted(map(sorted, leaves)) == [["a", "b", "c"], ["d", "e", "f"]]
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_one_variable_that_is_independent():
    report = describe_tree(presented(in_parts(several=False)))
    assert report["independence"] == ["Independent of all others: g."]
    assert report["n_latents"] == 1


def test_the_text_names_no_cut(model, table):
    text = Report.of(model, table).to_text()
    assert "2 latent variables" in text and "cut1" not in text and "1.000 " not in text
    lines = text.splitlines()
    assert "(independent) g" in lines
    tops = [line for line in lines if line.startswith("(independent) ") and "(2)" in line]
    assert len(tops) == 2 and all(":" in line for line in tops)
    one = Report.of(presented(in_parts(several=False))).to_text().splitlines()
    assert [line for line in one if "(independent)" in line] == ["(independent) g"]


@pytest.mark.parametrize("root", ROOTS)
def test_the_drawing_in_text_names_no_cut(root):
    drawn = in_parts(root=root).tree.to_text()
    assert "k (1)" not in drawn and "(independent) " in drawn
    assert len(drawn.splitlines()) == 9


def test_a_tree_in_one_part_says_nothing():
    report = describe_tree(datasets.generator("d7"))
    assert report["cuts"] == report["independence"] == [] and len(report["parts"]) == 1
    assert "ndependent" not in Report.of(datasets.generator("d7")).to_text()


# ---- pages, tables and statistics ------------------------------------------------------------------------------------


def test_pages_draw_it_as_broken(model, table):
    for page in (write_report(model, table).html, explore(model, table).html):
        assert "Independent of all others: g." in page
        assert page.count("stroke-dasharray=") == 3 and ">cut</text>" in page
    assert "<h3" in write_report(model).html and ">cut1</h3>" not in write_report(model).html
    assert "stroke-dasharray=" not in write_report(datasets.generator("d7")).html


def test_tables_and_statistics_pass_over_it(model, table):
    assert len(paper_tables(model)) == 4
    fit = Report.of(model, table).fit
    assert fit is not None and len(average_posteriors(fit).average) == 2
    found = identifiability(model)
    assert len(found.latents) == 2 and found.standard == found.effective == 15
    assert "cut1" not in str(found)


def test_a_search_that_cuts():
    table = Table.from_frame(rows_of(in_parts(several=False), 2000))
    run = search_result(learn(table, rng=np.random.default_rng(0), trials=0))
    assert run.structure
    report = Report.of(run)
    assert report.contents["parts"] == [["a", "b", "c"], ["g"]] and report.contents["n_latents"] == 1
    assert [run.tree.names[v] for v in run.tree.cuts] == ["cut1"]
    assert "cut" not in " ".join(f.text for f in run_findings(run))


def test_no_structure_keeps_its_words():
    noise = np.random.default_rng(0).integers(2, size=(80, 4))
    run = search_result(learn(Table.from_codes(noise), rng=np.random.default_rng(0), trials=0))
    assert not run.structure
    report = Report.of(run)
    assert report.contents["independence"] == [] and report.contents["cuts"] == []
    assert any("No structure found" in text for text in report.contents["warnings"])
    assert "1 class" in report.to_text()
