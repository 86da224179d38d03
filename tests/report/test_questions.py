"""What a variable is in words, as data files say it, is on the pages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from latentree import datasets, fit_classes
from latentree._model import Model
from latentree.report import describe_tree, explore, write_report

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


def test_without_questions_there_is_no_section():
    model = replace(asked(), variables=tuple(replace(v, label="") for v in asked().variables))
    assert "What the variables are" not in write_report(model).html
