"""Commands that use a model: score, assign, query, sample-data, show; and the data sets."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from messy import MARKUP, read_csv, strict, survey_rows, write_csv
from parts import in_parts, rows_of

import latentree as lt
from latentree import infer
from latentree.naming import presented


@pytest.fixture
def tree_model(tmp_path):
    """A file with a model of two latent variables."""
    lt.datasets.generator("d7").save(tmp_path / "tree.json")
    return tmp_path / "tree.json"


@pytest.fixture
def typed_model(tmp_path):
    """A file with a model whose states differ in type only."""
    x, y = lt.Variable("x", (1, "1", True, 1.5)), lt.Variable("a=b", ("c=d", "e"))
    tree = lt.Tree.star(2, [4, 2], ["x", "a=b"])
    tables = {"z": [0.3, 0.7], "x": [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]], "a=b": [[1, 0], [0.5, 0.5]]}
    lt.Model.from_tables(tree, [x, y], tables).save(tmp_path / "typed.json")
    return tmp_path / "typed.json"


# ---- score ---------------------------------------------------------------------------------------------------------


def test_score_of_the_data_it_was_fitted_to_is_that_of_the_fit(run, survey, fitted):
    told = lt.load(fitted).provenance
    report = strict(run("score", fitted, survey, "--weights", "n", "--json").stdout)
    for name in ("log_likelihood", "aic", "bic", "n", "n_parameters", "seed"):
        assert report[name] == pytest.approx(told[name], abs=1e-6)
    assert report["log_likelihood_per_row"] == pytest.approx(report["log_likelihood"] / report["n"])
    assert report["seconds"] > 0
    assert f"{report['log_likelihood']:.4f}" in run("score", fitted, survey, "--weights", "n").stdout


def test_values_that_the_model_does_not_know(run, fitted, tmp_path):
    rows = survey_rows(30)
    rows[7]["smokes"] = "sometimes"
    file = write_csv(tmp_path / "new.csv", rows)
    refused = run("score", fitted, file, code=1)
    assert "'sometimes'" in refused.stderr and "data row 8" in refused.stderr and "--unseen missing" in refused.stderr
    assert strict(run("score", fitted, file, "--unseen", "missing", "--no-weights", "--json").stdout)["n"] == 30


def test_rows_that_the_model_holds_impossible(run, typed_model, tmp_path):
    tables = {"z": [1.0], "x": [[1, 0]]}
    variable = lt.Variable("x", ("a", "b"))
    lt.Model.from_tables(lt.Tree.star(1, [2], ["x"]), [variable], tables).save(tmp_path / "sure.json")
    file = write_csv(tmp_path / "x.csv", [{"x": "a"}, {"x": "b"}])
    done = run("score", "sure.json", file, "--json")
    report = strict(done.stdout)
    assert report["log_likelihood"] is None and report["bic"] is None and report["n_impossible"] == 1
    assert "impossible" in done.stderr and report["warnings"]
    assert "-inf" in run("score", "sure.json", file).stdout
    run("assign", "sure.json", file, "--out", "rows.csv")
    assert [row["class"] for row in read_csv(tmp_path / "rows.csv")] == ["0", ""]


def test_missing_codes_of_columns_that_were_cut(run, tmp_path):
    rows = [{"age": 20 + i % 60, "a": i % 60 // 30, "b": ("x", "y", "none")[i % 3]} for i in range(120)]
    file = write_csv(tmp_path / "d.csv", rows)
    run("fit", file, "--bins", "age=2", "--classes", "2", "--missing", "none", "--out", "m.json")
    new = [{"age": age, "a": "", "b": "x"} for age in (999, "", 70)]
    write_csv(tmp_path / "new.csv", new)
    report = strict(run("assign", "m.json", "new.csv", "--missing", "999", "--json").stdout)
    first, empty, old = report["columns"]["p_class0"]
    assert first == empty != old
    # What was missing for 'fit' is missing again, without being said again.
    write_csv(tmp_path / "none.csv", [new[2] | {"b": "none"}, new[2] | {"b": ""}])
    assert len(set(strict(run("assign", "m.json", "none.csv", "--json").stdout)["columns"]["p_class0"])) == 1
    own = lt.Table.read(file, variables=lt.load(tmp_path / "m.json").variables, missing=["none"])
    assert strict(run("score", "m.json", file, "--json").stdout)["log_likelihood"] == pytest.approx(
        infer.log_likelihood_rows(lt.load(tmp_path / "m.json"), own).sum()
    )


# ---- assign --------------------------------------------------------------------------------------------------------


def test_assign_gives_what_fit_gave(run, survey, tmp_path):
    use = ("--drop", "id,name", "--bins", "age=2", "--weights", "n")
    run("fit", survey, *use, "--classes", "3", "--out", "m.json", "--assign", "a.csv")
    run("assign", "m.json", survey, "--weights", "n", "--out", "b.csv")
    printed = run("assign", "m.json", survey, "--weights", "n").stdout
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text() == printed


def test_assign_as_json(run, survey, fitted):
    report = strict(run("assign", fitted, survey, "--weights", "n", "--json").stdout)
    assert set(report["columns"]) == {"class", "p_class0", "p_class1"}
    assert len(report["columns"]["class"]) == report["n_rows"] == 200
    assert report["columns"]["class"][3] is None  # of weight zero
    report = strict(run("assign", fitted, survey, "--out", "rows.csv", "--json").stdout)
    assert "columns" not in report


def test_assign_with_several_latent_variables(run, tree_model, tmp_path):
    run("sample-data", tree_model, "-n", "50", "--out", "rows.csv")
    run("assign", tree_model, "rows.csv", "--out", "out.csv")
    model = lt.load(tree_model)
    rows = read_csv(tmp_path / "out.csv")
    table = lt.Table.read(tmp_path / "rows.csv", variables=model.variables)
    for name, states in infer.predict(model, table).items():
        assert [int(row[name]) for row in rows] == states.tolist()
        assert float(rows[0][f"p_{name}_0"]) == pytest.approx(infer.posterior(model, table)[name][0, 0], abs=1e-5)


def test_assign_does_not_overwrite_its_inputs(run, survey, fitted):
    before = survey.read_bytes(), fitted.read_bytes()
    run("assign", fitted, survey, "--out", survey, code=1)
    run("assign", fitted, survey, "--out", "x.json", code=1)
    (fitted.parent / "model.csv").hardlink_to(fitted)
    run("assign", fitted, survey, "--out", "model.csv", code=1)
    assert (survey.read_bytes(), fitted.read_bytes()) == before


def test_other_kinds_of_files(run, fitted, tmp_path):
    import pandas as pd

    rows = survey_rows()
    frame = pd.DataFrame(rows)
    frame["grade"] = pd.to_numeric(frame["grade"], errors="coerce").astype("Int64")
    frame["age"] = frame["age"].astype(float)
    frame.to_parquet(tmp_path / "survey.parquet")
    run("assign", fitted, "survey.parquet", "--out", "rows.csv")
    run("assign", fitted, "survey.csv", "--out", "same.csv")
    names = ("id", "class", "p_class0")
    parquet, text = ([[row[n] for n in names] for row in read_csv(tmp_path / f)] for f in ("rows.csv", "same.csv"))
    assert parquet == text and len(text) == len(rows)
    (tmp_path / "s.arff").write_text("@relation r\n@attribute a {x,y}\n@data\nx,{2}\ny,{3}\n")
    run("fit", "s.arff", "--classes", "1", "--assign", "arff.csv")
    assert [row["weight"] for row in read_csv(tmp_path / "arff.csv")] == ["2", "3"]


# ---- query ---------------------------------------------------------------------------------------------------------


def test_query_agrees_with_the_library(run, fitted):
    model = lt.load(fitted)
    report = strict(run("query", fitted, "--ask", "smokes", "--ask", "z", "--given", f"view={MARKUP}", "--json").stdout)
    np.testing.assert_allclose(report["probabilities"], model.query(["smokes", "z"], {"view": MARKUP}))
    assert report["states"] == {"smokes": ["no", "yes"], "z": [0, 1]}
    shown = run("query", fitted, "--ask", "view").stdout
    assert MARKUP in shown and f"{model.query('view')[1]:.6f}" in shown


def test_evidence_is_text_that_is_matched_to_typed_states(run, fitted, typed_model):
    assert strict(run("query", fitted, "--ask", "z", "--given", "grade=1", "--json").stdout)["given"] == {"grade": 1}
    cut = strict(run("query", fitted, "--ask", "z", "--given", "age=60.5", "--json").stdout)["given"]["age"]
    assert cut.startswith(">")
    label = strict(run("query", fitted, "--ask", "z", "--given", f"age={cut}", "--json").stdout)["given"]["age"]
    assert label == cut
    given = {
        text: strict(run("query", typed_model, "--ask", "z", "--given", f"x={text}", "--json").stdout)["given"]["x"]
        for text in ("1", "true", "1.5")
    }
    assert given == {"1": "1", "true": True, "1.5": 1.5}  # text comes first where both are states
    assert strict(run("query", typed_model, "--ask", "x", "--given", "a=b=c=d", "--json").stdout)["given"] == {
        "a=b": "c=d"
    }


def test_the_class_and_several_names_in_one_option(run, fitted):
    model = lt.load(fitted)
    shown = run("query", fitted, "--ask", "class", "--given", " smokes = yes ").stdout
    assert f"class1     {model.query('z', {'smokes': 'yes'})[1]:.6f}" in shown
    report = strict(run("query", fitted, "--ask", "smokes, class", "--given", "class=class1", "--json").stdout)
    np.testing.assert_allclose(report["probabilities"], model.query(["smokes", "z"], {"z": 1}))
    assert report["ask"] == ["smokes", "class"] and report["given"] == {"class": 1}


def test_latent_evidence(run, fitted):
    model = lt.load(fitted)
    report = strict(run("query", fitted, "--ask", "drinks", "--given", "z=1", "--json").stdout)
    np.testing.assert_allclose(report["probabilities"], model.table("drinks")[1])
    assert "0 to 1" in run("query", fitted, "--ask", "drinks", "--given", "z=2", code=1).stderr


def test_questions_that_cannot_be_answered(run, fitted):
    assert "no state 'maybe'" in run("query", fitted, "--ask", "z", "--given", "smokes=maybe", code=1).stderr
    assert "There is no variable 'q'" in run("query", fitted, "--ask", "q", code=1).stderr
    assert "There is no variable 'q'" in run("query", fitted, "--ask", "z", "--given", "q=1", code=1).stderr
    assert "Did you mean 'smokes'?" in run("query", fitted, "--ask", "smoke", code=1).stderr
    assert "Did you mean 'yes'?" in run("query", fitted, "--ask", "z", "--given", "smokes=Yes", code=1).stderr
    assert "NAME=STATE" in run("query", fitted, "--ask", "z", "--given", "smokes", code=2).stderr
    assert "--ask" in run("query", fitted, code=2).stderr


# ---- sample-data ---------------------------------------------------------------------------------------------------


def test_samples_follow_the_seed_and_can_be_read_again(run, fitted, tmp_path):
    for name, seed in (("a.csv", 1), ("b.csv", 1), ("c.csv", 2)):
        run("sample-data", fitted, "-n", "500", "--seed", seed, "--out", name)
    a, b, c = ((tmp_path / name).read_text() for name in ("a.csv", "b.csv", "c.csv"))
    assert a == b != c
    report = strict(run("score", fitted, "a.csv", "--no-weights", "--json").stdout)
    assert report["n"] == 500 and math.isfinite(report["log_likelihood"])
    again = strict(run("fit", "a.csv", "--classes", "2", "--json").stdout)
    assert again["n"] == 500


def test_samples_as_json_with_latent_states(run, fitted):
    report = strict(run("sample-data", fitted, "-n", "5", "--latent", "--json").stdout)
    assert report["n"] == 5 and report["seed"] == 0
    assert list(report["columns"]) == ["smokes", "drinks", "view", "grade", "age", "z"]
    assert set(report["columns"]["grade"]) <= {1, 2}
    assert run("sample-data", fitted, "-n", "5").stdout.count("\n") == 6
    run("sample-data", fitted, "-n", "0", code=2)


# ---- show ----------------------------------------------------------------------------------------------------------


def test_show(run, fitted, tree_model):
    shown = run("show", fitted).stdout
    for word in ("2 classes", "survey.csv", MARKUP, "never, or rarely", "class1"):
        assert word in shown
    report = strict(run("show", fitted, "--json").stdout)
    assert report["n_parameters"] == lt.load(fitted).tree.n_parameters and report["seed"] == 0
    assert report["log_likelihood"] == lt.load(fitted).provenance["log_likelihood"]
    assert "BIC (lower is better)" in shown and "log_likelihood" not in shown
    drawn = run("show", tree_model).stdout
    assert "*Z1" in drawn and "7 variables" in drawn
    assert strict(run("show", tree_model, "--json").stdout)["nodes"][0]["latent"] is True


# ---- files that are no models ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["score", "assign", "query", "sample-data", "show"])
def test_wrong_model_files(run, survey, tmp_path, command):
    rest = {"score": [survey], "assign": [survey], "query": ["--ask", "z"], "sample-data": ["-n", "1"], "show": []}[
        command
    ]
    assert "There is no model file 'none.json'" in run(command, "none.json", *rest, code=1).stderr
    assert "Cannot read the model file" in run(command, survey, *rest, code=1).stderr
    (tmp_path / "newer.json").write_text(json.dumps({"format": "latentree-model", "version": 99}))
    refused = run(command, "newer.json", *rest, code=1)
    assert "newer latentree" in refused.stderr and refused.stdout == ""


def test_data_that_lack_a_column_of_the_model(run, fitted, tmp_path):
    file = write_csv(tmp_path / "less.csv", [{"smokes": "yes"}, {"smokes": "no"}])
    refused = run("score", fitted, file, "--no-weights", code=1)
    assert "'drinks'" in refused.stderr and "which the model has" in refused.stderr


# ---- data sets -----------------------------------------------------------------------------------------------------


def test_data_sets_are_listed_described_and_exported(run, tmp_path):
    listed = run("datasets").stdout
    assert "carcinoma" in listed and "coil42" in listed
    assert "Licence:" in run("datasets", "carcinoma").stdout
    names = [d["name"] for d in strict(run("datasets", "--json").stdout)["datasets"]]
    assert set(lt.datasets.names()) <= set(names)
    about = strict(run("datasets", "carcinoma", "--json", "--out", "c.csv").stdout)
    assert about["n"] == 118 and about["citation"]
    assert lt.Table.read(tmp_path / "c.csv").variables == lt.datasets.load("carcinoma").variables
    assert "Did you mean 'carcinoma'" in run("datasets", "carcinom", code=1).stderr
    run("datasets", "--out", "x.csv", code=2)
    assert "by its name, 14 are used" in run("datasets", "icu", "--out", "icu.csv").stderr
    assert "Variables: " in run("datasets", "icu").stdout
    assert "14 of its 21 columns" in run("fit", "icu", "--classes", "1").stderr


def test_data_sets_that_are_elsewhere_say_where(run, monkeypatch):
    monkeypatch.delenv("LATENTREE_DATA", raising=False)
    assert "LATENTREE_DATA" in run("fit", "coil42", code=1).stderr


def test_more_rows_than_can_be_and_evidence_given_twice_are_refused(run):
    run("fit", "hiv_test", "--classes", "2", "--out", "twice.json")
    assert "is not in the range" in run("sample-data", "twice.json", "-n", "9" * 20, code=2).stderr
    told = run("query", "twice.json", "--ask", "V1", "--given", "V2=0", "--given", "V2=1", code=2).stderr
    assert "--given names 'V2' twice" in told


# ---- a tree in independent parts -------------------------------------------------------------------------------------


@pytest.fixture
def parted(tmp_path):
    """A file with a model of two parts and an independent variable, and one with rows, some cells of them missing."""
    model = presented(in_parts())
    model.save(tmp_path / "parts.json")
    columns = rows_of(model, 50)
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    rows[0]["g"] = rows[1]["a"] = ""
    return tmp_path / "parts.json", write_csv(tmp_path / "rows.csv", rows)


def test_show_and_dimension_name_no_cut(run, parted):
    model, _ = parted
    shown = run("show", model).stdout
    assert "2 latent variables, 3 independent parts" in shown and "Independent of all others: g." in shown
    assert "(independent) g (2)" in shown and "cut1" not in shown
    told = run("dimension", model).stdout
    assert "cut1" not in told and "locally identifiable" in told
    latents = strict(run("name", model, "--json").stdout)["latents"]
    assert sorted(z["name"] for z in latents) == ["a+b", "d+e"]


def test_rows_get_no_column_of_a_cut(run, parted, tmp_path):
    model, rows = parted
    run("assign", model, rows, "--out", "assigned.csv")
    added = list(read_csv(tmp_path / "assigned.csv")[0])[7:]
    assert len(added) == 6 and not any("cut" in name for name in added)
    drawn = strict(run("sample-data", model, "-n", "3", "--latent", "--json").stdout)["columns"]
    assert sorted(drawn) == ["a", "a+b", "b", "c", "d", "d+e", "e", "f", "g"]
    run("impute", model, rows, "--out", "full.csv")
    assert all(all(row.values()) for row in read_csv(tmp_path / "full.csv"))
    assert strict(run("score", model, rows, "--json").stdout)["log_likelihood"] < 0
    p = strict(run("query", model, "--ask", "g", "--given", "a=yes", "--json").stdout)
    assert p["probabilities"] == strict(run("query", model, "--ask", "g", "--json").stdout)["probabilities"]


def test_reports_and_pages_of_parts(run, parted, tmp_path):
    model, rows = parted
    text = run("report", model, "--data", rows).stdout
    assert "Independent of all others: g." in text and "2 independent parts" in text and "cut1" not in text
    report = strict(run("report", model, "--json").stdout)
    assert report["n_latents"] == 2 and report["parts"][-1] == ["g"]
    run("explore", model, "--out", "page.html", "--no-open")
    assert "Independent of all others: g." in (tmp_path / "page.html").read_text()
    for ending in ("bif", "xmlbif", "net", "xdsl"):
        run("convert", model, f"parts.{ending}")
        assert lt.load(tmp_path / f"parts.{ending}").tree == lt.load(model).tree


def test_relate_offers_no_cut(run, parted):
    model, rows = parted
    said = run("relate", model, rows, "--covariates", "g", code=1).stderr
    assert "2 latent variables" in said and "cut1" not in said
    assert "one state" in run("relate", model, rows, "--covariates", "g", "--latent", "cut1", code=1).stderr


def test_predict_says_that_nothing_is_known_of_an_independent_target(run, parted):
    model, rows = parted
    assert "'g' is independent of all others" in run("predict", model, rows, "--target", "g").stderr
    assert "independent" not in run("predict", model, rows, "--target", "a").stderr
