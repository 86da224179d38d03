"""What a variable is in words, as data files say it, is on the pages and below the tables of the terminal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, strategies as st
from rich.cells import cell_len

from latentree import datasets, fit_classes
from latentree._model import Model
from latentree.report import describe, describe_tree, explore, to_text, write_report
from latentree.report._legend import legend_lines
from latentree.report._printable import printable

ASKED = "Does <B> see a tumour & is it malign?"


def asked() -> Model:
    model = fit_classes(datasets.load("carcinoma"), 2, rng=np.random.default_rng(0)).model
    variables = tuple(replace(v, label=ASKED if v.name == "B" else "") for v in model.variables)
    return replace(model, variables=variables)


def test_questions_are_described_and_shown_as_text():
    described = {node["name"]: node["question"] for node in describe_tree(asked())["nodes"]}
    assert described["B"] == ASKED and not described["A"]
    page = write_report(asked()).html
    assert "What the variables are" in page
    assert "Does &lt;B&gt; see a tumour &amp; is it malign?" in page and ASKED not in page
    assert "see a tumour" in explore(asked()).html and ASKED not in explore(asked()).html


def test_texts_stand_below_the_tables_of_the_terminal():
    text = to_text(describe_tree(asked()))
    assert text.endswith(f"What the variables are\nB  {ASKED}")
    fit = fit_classes(datasets.load("heart"), 2, rng=np.random.default_rng(0))
    found = to_text(describe(fit)).split("What the variables are\n")[1].splitlines()
    assert found[:2] == ["age       Age in years", "cp        Type of chest pain"]
    assert not any(line.startswith("sex ") for line in found)  # "Sex" says no more than the name
    assert max(map(len, to_text(describe(fit)).splitlines())) <= 80


def test_of_a_tree_the_texts_of_the_variables_in_its_tables_are_shown():
    model = datasets.generator("d7")
    asking = replace(model, variables=tuple(replace(v, label=f"Text of {v.name}?") for v in model.variables))
    shown, everything = to_text(describe_tree(asking)), to_text(describe_tree(asking), max_variables=None)
    assert "What the variables are" in shown
    assert all(f"Text of {v.name}?" in everything for v in model.variables)


@given(
    st.lists(st.tuples(st.text(max_size=40), st.text(max_size=200)), max_size=8),
    st.integers(20, 120),
)
def test_a_legend_keeps_the_words_and_the_width(texts, width):
    lines = legend_lines(texts, width)
    kept = " ".join(lines).split()
    for name, text in texts:
        if legend_lines([(name, text)], width):
            assert set(printable(text).split()) <= set(kept)
    longest = max((cell_len(word) for pair in texts for word in printable(" ".join(pair)).split()), default=0)
    assert all(cell_len(line.strip()) <= max(width, longest + 26, 46, cell_len(line.split("  ")[0])) for line in lines)
    assert not any("\x1b" in line or "\n" in line for line in lines)


def test_without_questions_there_is_no_section():
    model = replace(asked(), variables=tuple(replace(v, label="") for v in asked().variables))
    assert "What the variables are" not in write_report(model).html
