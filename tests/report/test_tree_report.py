"""The report of any tree: numbers against the library, plain values, and as text."""

from __future__ import annotations

import json

import numpy as np
import pytest
from fits import standing
from hypothesis import given, settings
from strategies import models_and_tables

from latentree import datasets, fit_classes
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.errors import DataError, ParameterError
from latentree.infer import posterior
from latentree.report import describe, describe_tree, to_text
from latentree.report._tree import checked_trace
from latentree.score import bic, relative_entropy

STEP = {"operation": "start", "score": -3.5, "edges": [["z", "a"]], "states": {"z": 2, "a": 2}}


@settings(max_examples=60)
@given(models_and_tables())
def test_any_model_and_data_can_be_described(pair):
    model, table = pair
    report = describe_tree(model, table)
    json.dumps(report, allow_nan=False)
    assert report["n_latents"] == len(model.tree.latent_variables) == len(report["latents"])
    for v, node in enumerate(report["nodes"]):
        assert node["table"] == model.table(v).tolist()
        assert len(node["labels"]) == len(set(node["labels"])) == node["cardinality"]
        assert sum(node["marginal"]) == pytest.approx(1)
    to_text(report)
    to_text(report, max_variables=None)


def test_numbers_are_the_library_s():
    model, table = datasets.generator("d12"), datasets.sample_from("d12", 500, 0)
    report, fit = describe_tree(model, table), standing(model, table)
    assert report["bic"] == pytest.approx(bic(fit))
    assert report["n"] == 500 and report["impossible"] == 0
    said = posterior(model, table)
    for z in report["latents"]:
        np.testing.assert_allclose(z["counts"], said[z["name"]].sum(axis=0), atol=1e-8)
        assert z["relative_entropy"] == pytest.approx(relative_entropy(fit, z["name"]))


def test_a_weight_is_a_repetition():
    model = datasets.generator("d7")
    codes = datasets.sample_from("d7", 40, 0).codes
    weights = np.arange(1, len(codes) + 1)
    once = describe_tree(model, Table.from_codes(codes, model.variables, weights))
    often = describe_tree(model, Table.from_codes(np.repeat(codes, weights, axis=0), model.variables))
    for key in ("log_likelihood", "bic", "aic", "n"):
        assert once[key] == pytest.approx(often[key])
    for a, b in zip(once["latents"], often["latents"], strict=True):
        np.testing.assert_allclose(a["counts"], b["counts"])
        assert a["relative_entropy"] == pytest.approx(b["relative_entropy"])


def test_a_fit_tells_how_it_went_and_other_data_do_not():
    fit = fit_classes(datasets.load("carcinoma"), 2, rng=np.random.default_rng(0))
    assert describe_tree(fit)["fit"]["converged"]
    assert describe_tree(fit)["log_likelihood"] == pytest.approx(-317.2568, abs=1e-4)
    assert describe_tree(fit, datasets.load("carcinoma"))["fit"] is None
    assert "statistics" in describe_tree(fit, statistics=True)
    assert describe(fit)["kind"] == "latent class"
    with pytest.raises(ParameterError, match="Model or a Fit"):
        describe_tree("model.json")


def test_impossible_rows_are_counted():
    tables = {"z": [0.5, 0.5], "x1": [[1, 0], [0.5, 0.5]], "x2": [[1, 0], [1, 0]]}
    model = Model.from_tables(Tree.star(2, [2, 2]), numbered([2, 2]), tables)
    report = describe_tree(model, Table.from_codes([[0, 0], [1, 0], [0, 1]], model.variables))
    assert report["impossible"] == 1 and report["log_likelihood"] is None and report["bic"] is None
    assert "impossible under the model  1" in to_text(report)
    assert sum(report["latents"][0]["counts"]) == pytest.approx(2)


def test_text_of_a_tree():
    text = to_text(describe_tree(datasets.generator("d7"), datasets.sample_from("d7", 100, 0), trace=[STEP]))
    assert text.startswith("Latent tree model: 7 variables, 3 latent variables, 100 rows")
    assert "Z1 (3)" in text and "start" in text and max(map(len, text.splitlines())) <= 80


def test_text_of_a_star_shows_profiles_with_and_without_data():
    fit = fit_classes(datasets.load("carcinoma"), 2, rng=np.random.default_rng(0))
    assert "Latent class model: 2 classes" in to_text(describe_tree(fit.model))
    assert "cases" in to_text(describe_tree(fit)) and "cases" not in to_text(describe_tree(fit.model))


@pytest.mark.parametrize(
    "step",
    [
        {"operation": "x"},
        {**STEP, "edges": [["z"]]},
        {**STEP, "edges": [["z", "q"]]},
        {**STEP, "edges": []},
        {**STEP, "score": "high"},
        "step",
    ],
)
def test_traces_that_cannot_be_read_are_refused(step):
    with pytest.raises(DataError, match="Step 1 of the trace"):
        checked_trace([STEP, step])


def test_steps_may_know_how_to_be_plain():
    class Step:
        def to_plain(self):
            return {**STEP, "phase": "start", "number": 0}

    assert checked_trace(iter([Step()])) == checked_trace([{**STEP, "phase": "start"}])


def test_infinite_scores_of_a_trace_become_none():
    assert checked_trace([{**STEP, "score": -np.inf}])[0]["score"] is None


def test_traces_with_numbers_that_are_none_are_refused():
    with pytest.raises(DataError, match="Step 0 of the trace cannot be read"):
        checked_trace([{**STEP, "states": dict.fromkeys(STEP["states"], np.inf)}])
