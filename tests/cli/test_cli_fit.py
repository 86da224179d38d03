"""latentree fit: messy files, the comparison, files written, JSON."""

from __future__ import annotations

import gzip
import math
import warnings

import numpy as np
import pytest
from messy import MARKUP, USE, read_csv, strict, survey_rows, write_csv

import latentree as lt
from latentree import score

# ---- data as people have them ------------------------------------------------------------------------------------


def test_an_identifier_is_refused_with_advice_that_works(run, survey):
    refused = run("fit", survey, "--columns", "id,smokes", code=1)
    assert "'id'" in refused.stderr and "--drop id" in refused.stderr
    assert "Traceback" not in refused.stderr and refused.stdout == ""
    refused = run("fit", survey, "--drop", "id", code=1)
    assert "--drop name" in refused.stderr
    assert "drop=" not in refused.stderr


def test_numbers_are_refused_with_advice_that_works(run, survey):
    refused = run("fit", survey, "--drop", "id,name", code=1)
    assert "--bins age=3" in refused.stderr
    assert "data row " in refused.stderr  # the file's reader counts from 1
    done = run("fit", survey, "--drop", "id,name", "--bins", "age=3", "--classes", "2")
    assert "age" in done.stdout
    done = run("fit", survey, "--drop", "id,name", "--bins", "age=25:40", "--classes", "2", "--json")
    age = next(v for v in strict(done.stdout)["variables"] if v["name"] == "age")
    assert age["labels"] == ["<= 25", "25 to 40", "> 40"]


def test_one_number_of_bins_goes_for_all_columns(run, survey):
    done = run("fit", survey, "--drop", "id,name", "--bins", "2", "--classes", "2", "--json")
    assert len(next(v for v in strict(done.stdout)["variables"] if v["name"] == "age")["states"]) == 2


def test_text_of_the_data_is_shown_as_it_is(run, survey):
    done = run("fit", survey, *USE, "--classes", "2")
    assert MARKUP in done.stdout
    assert "never, or rarely" in done.stdout


def test_unknown_columns_are_named_with_what_may_have_been_meant(run, survey):
    for option, value in (("--drop", "idd"), ("--columns", "Smokes,drinks"), ("--weights", "m"), ("--bins", "ages=2")):
        refused = run("fit", survey, option, value, code=1)
        assert f"{option} names" in refused.stderr
        assert "Did you mean" in refused.stderr or "There are" in refused.stderr


def test_a_column_whose_name_holds_a_comma(run, tmp_path):
    rows = [{"a, b": i % 2, "c": i % 3 % 2, "d=e": i % 5 % 2} for i in range(40)]
    file = write_csv(tmp_path / "odd.csv", rows)
    whole = run("fit", file, "--columns", "a, b", "--columns", "c", "--classes", "1", "--json")
    quoted = run("fit", file, "--columns", '"a, b",c', "--classes", "1", "--json")
    assert [v["name"] for v in strict(whole.stdout)["variables"]] == ["a, b", "c"]
    assert strict(quoted.stdout)["log_likelihood"] == strict(whole.stdout)["log_likelihood"]
    cut = run("fit", file, "--bins", "d=e=2", "--classes", "1", "--json")
    assert strict(cut.stdout)["n_variables"] == 3


def test_delimiter_encoding_header_and_missing(run, tmp_path):
    rows = [{"größe": ("klein", "groß", "-9")[i % 3], "b": ("ja", "nein")[i % 2]} for i in range(30)]
    file = write_csv(tmp_path / "deutsch.csv", rows, delimiter="|", encoding="cp1252")
    refused = run("fit", file, "--delimiter", "bar", code=1)
    assert "--encoding cp1252" in refused.stderr
    done = run("fit", file, "--delimiter", "bar", "--encoding", "cp1252", "--missing", "-9", "--classes", "1", "--json")
    report = strict(done.stdout)
    assert report["variables"][0]["states"] == ["klein", "groß"]  # a scale
    assert report["missing"] == pytest.approx(1 / 6)
    bare = run("fit", file, "--delimiter", "|", "--encoding", "cp1252", "--no-header", "--classes", "1", "--json")
    assert [v["name"] for v in strict(bare.stdout)["variables"]] == ["x1", "x2"]


def test_na_can_be_an_answer(run, tmp_path):
    file = write_csv(tmp_path / "na.csv", [{"region": ("NA", "EU", "")[i % 3], "b": i % 2} for i in range(30)])
    usual = strict(run("fit", file, "--classes", "1", "--json").stdout)
    assert usual["variables"][0]["states"] == ["EU"]
    kept = strict(run("fit", file, "--classes", "1", "--no-default-missing", "--json").stdout)
    assert kept["variables"][0]["states"] == ["EU", "NA"]
    assert kept["missing"] > 0


def test_rare_values_can_be_merged(run, tmp_path):
    rows = [{"a": "rare" + str(i) if i < 6 else ("x", "y")[i % 2], "b": i % 2} for i in range(60)]
    file = write_csv(tmp_path / "rare.csv", rows)
    report = strict(run("fit", file, "--merge-rare", "5", "--classes", "1", "--json").stdout)
    assert report["variables"][0]["states"] == ["x", "y", "(other)"]
    slips = [{"car": "yess" if i < 2 else ("yes", "no")[i % 2], "b": i % 2} for i in range(100)]
    done = run("fit", write_csv(tmp_path / "slips.csv", slips), "--merge-rare", "5", "--classes", "1", "--json")
    assert strict(done.stdout)["variables"][0]["states"] == ["no", "yes", "(other)"]
    assert "Note: Column 'car': 'yess' (2) became '(other)'" in done.stderr
    assert strict(done.stdout)["notes"][0].startswith("Column 'car'")


def test_columns_of_many_values_are_not_taken_silently(run, tmp_path):
    rows = [{"age": i % 62, "day": f"2020-01-{i % 30 + 1:02}", "b": i % 2} for i in range(600)]
    file = write_csv(tmp_path / "many.csv", rows)
    assert "--bins age=3" in run("fit", file, code=1).stderr
    done = run("fit", file, "--drop", "age", "--classes", "1", "--json")
    assert "Warning: Column 'day' has 30 different values" in done.stderr
    assert "--merge-rare 30, or leave it out with --drop day." in done.stderr
    assert len(strict(done.stdout)["warnings"]) == 1


def test_messages_are_in_the_words_of_the_shell(run, tmp_path):
    rows = [{"w": f"{i % 7},5", "x": 0.5 + i % 3, "t": "abc"[i % 3], "n": i % 2} for i in range(60)]
    file = write_csv(tmp_path / "w.csv", rows, delimiter=";")
    told = [
        run("fit", file, *options, code=1).stderr
        for options in (
            (),
            ("--drop", "x", "--bins", "t=2"),
            ("--drop", "x", "--bins", "w=2"),
            ("--weights", "w"),
            ("--weights", "t"),
        )
    ]
    assert "use it as weights" in told[0] and "--weights x." in told[0]
    assert "cannot be cut by --bins: it holds 'a' in data row 1, which is not a number" in told[1]
    assert "--decimal ','" in told[2] and "--decimal ','" in told[3]
    assert "in data row 1 and 59 more" in told[4]
    for text in told:
        assert "=[" not in text and "bins=" not in text and "X." not in text and "Table." not in text
    done = run("fit", file, "--decimal", ",", "--weights", "w", "--bins", "x=2", "--classes", "1", "--json")
    assert strict(done.stdout)["n"] == sum(i % 7 + 0.5 for i in range(60))
    assert "cannot be read as a workbook" in run("fit", write_csv(tmp_path / "w.xlsx", rows), code=1).stderr
    assert "--format csv" in run("fit", write_csv(tmp_path / "w.dat", rows), code=1).stderr
    assert "there must be at least 1 class" in run("fit", file, "--classes", "0", code=2).stderr


def test_a_weight_means_repeating_the_row(run, tmp_path):
    rows = survey_rows()
    weighted = write_csv(tmp_path / "w.csv", rows)
    repeated = write_csv(tmp_path / "r.csv", [row for row in rows for _ in range(int(str(row["n"])))])
    use = ("--columns", "smokes,drinks,grade", "--classes", "2", "--json")
    a = strict(run("fit", weighted, *use, "--weights", "n").stdout)
    b = strict(run("fit", repeated, *use).stdout)
    assert a["n"] == b["n"] == sum(int(str(row["n"])) for row in rows)
    assert a["log_likelihood"] == pytest.approx(b["log_likelihood"], abs=1e-6)
    assert a["bic"] == pytest.approx(b["bic"], abs=1e-6)


def test_a_constant_column_is_noted_in_the_words_of_the_shell(run, tmp_path):
    file = write_csv(tmp_path / "c.csv", [{"a": i % 2, "b": "same"} for i in range(30)])
    done = run("fit", file, "--classes", "1", "--json")
    assert "Warning: Column 'b'" in done.stderr and "Leave it out with --drop b." in done.stderr
    assert any("'b'" in w for w in strict(done.stdout)["warnings"])


# ---- data sets by name -------------------------------------------------------------------------------------------


def test_a_data_set_by_name(run):
    done = run("fit", "carcinoma", "--classes", "2", "--json")
    assert "using the bundled data set" in done.stderr
    report = strict(done.stdout)
    assert report["log_likelihood"] == pytest.approx(-317.2568, abs=1e-4)
    assert report["data"] == "carcinoma"


def test_a_data_set_brings_its_weights_and_columns(run):
    assert strict(run("fit", "hiv_test", "--classes", "1", "--json").stdout)["n"] == 428
    assert strict(run("fit", "icu", "--classes", "1", "--json").stdout)["n_variables"] == 14


@pytest.mark.parametrize("name", lt.datasets.names())
def test_data_sets_are_read_as_the_library_reads_them(name):
    from latentree.cli.data import GIVEN, read_to_learn

    nothing = dict.fromkeys((*GIVEN, "no_header", "no_default_missing", "recipe"))
    options = {**nothing, "columns": (), "drop": (), "bins": (), "missing": (), "order": (), "keep_levels": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lt.LatentreeWarning)  # columns of one value, which some sets have
        _, own = read_to_learn(name, options)
    expected = lt.datasets.load(name)
    assert own.variables == expected.variables
    np.testing.assert_array_equal(own.codes, expected.codes)
    np.testing.assert_array_equal(own.weights, expected.weights)


def test_a_file_comes_before_a_data_set_of_its_name(run, tmp_path):
    write_csv(tmp_path / "carcinoma", [{"a": i % 2, "b": i % 3} for i in range(30)])
    done = run("fit", "carcinoma", "--format", "csv", "--classes", "1", "--json")
    assert strict(done.stdout)["n"] == 30
    assert done.stderr == ""


# ---- the comparison ----------------------------------------------------------------------------------------------


def test_the_comparison_and_the_best_model(run):
    done = run("fit", "carcinoma", "--classes", "1-4")
    for word in (
        "log-lik.",
        "parameters",
        "bic",
        "aic",
        "entropy",
        "*697.14",
        "class2",
        "Latent class model: 3 classes",
    ):
        assert word in done.stdout


@pytest.mark.parametrize(
    ("asked", "fitted"),
    [("2-3", [1, 2, 3]), ("2,4", [1, 2, 4]), ("3", [3]), ("1-2,4", [1, 2, 4])],
)
def test_a_single_class_is_compared_whenever_there_are_several(run, asked, fitted):
    report = strict(run("fit", "carcinoma", "--classes", asked, "--json").stdout)
    assert [row["n_classes"] for row in report["comparison"]["fits"]] == fitted


def test_a_learned_number_of_classes_says_what_was_done(run):
    """Every number that was looked at has a row; only the score that was searched by names a best one."""
    report = strict(run("fit", "carcinoma", "--json").stdout)
    looked_at = [row["n_classes"] for row in report["comparison"]["fits"]]
    assert looked_at[0] == 1 and len(looked_at) > 3 and report["n_classes"] == 3
    assert report["comparison"]["best"] == {"bic": 3}
    shown = " ".join(run("fit", "carcinoma").stdout.split())
    assert "Searched 1 to" in shown and "Converged after" not in shown and shown.count("*") == 2


def test_a_single_class_that_was_not_asked_for_is_not_chosen(run, tmp_path):
    rng = np.random.default_rng(0)
    file = write_csv(
        tmp_path / "noise.csv", [dict(zip("abc", row, strict=True)) for row in rng.integers(2, size=(50, 3))]
    )
    done = run("fit", file, "--classes", "2-3", "--json")
    assert strict(done.stdout)["n_classes"] == 2
    assert "A single class has the better BIC" in done.stderr
    assert any("single class" in w for w in strict(done.stdout)["warnings"])
    assert strict(run("fit", file, "--classes", "1-3", "--json").stdout)["n_classes"] == 1


def test_the_score_decides(run, survey):
    use = ("--drop", "id,name", "--bins", "3", "--classes", "1-5", "--json")
    by = {name: strict(run("fit", survey, *use, "--score", name).stdout) for name in ("aic", "bic")}
    for name, report in by.items():
        best = max(report["comparison"]["fits"], key=lambda row: row[name])
        assert report["n_classes"] == best["n_classes"]
        assert report["score"] == name


def test_a_model_does_not_depend_on_which_others_are_fitted(run):
    alone = strict(run("fit", "voting", "--classes", "3", "--json").stdout)
    among = strict(run("fit", "voting", "--classes", "2-4", "--json").stdout)
    row = next(r for r in among["comparison"]["fits"] if r["n_classes"] == 3)
    assert row["log_likelihood"] == alone["log_likelihood"]
    own = lt.LatentClass(3, random_state=0).fit(lt.datasets.load_frame("voting").drop(columns="party"))
    assert own.fit_.log_likelihood == pytest.approx(alone["log_likelihood"], abs=1e-6)


def test_a_time_limit_gives_the_best_so_far(run):
    done = run("fit", "letter", "--classes", "2-40", "--time-limit", "0.2", "--json")
    report = strict(done.stdout)
    assert report["not_fitted"] and report["comparison"]["skipped"] == report["not_fitted"]
    assert not report["interrupted"]
    assert "time was over" in run("fit", "letter", "--classes", "2-40", "--time-limit", "0.2").stdout


def test_a_prior_keeps_probabilities_inside(run, survey):
    report = strict(run("fit", survey, *USE, "--classes", "2", "--prior", "2", "--json").stdout)
    lowest = min(p for c in report["classes"] for states in c["profile"].values() for p in states.values())
    assert lowest > 0.001


def test_all_variables_are_shown_if_asked(run):
    assert "--all" in run("fit", "spambase", "--classes", "2").stdout
    assert "--all" not in run("fit", "spambase", "--classes", "2", "--all").stdout


# ---- JSON --------------------------------------------------------------------------------------------------------


def test_json_is_one_object_with_the_promised_keys(run, survey):
    done = run(
        "fit", survey, *USE, "--classes", "1-3", "--out", "m.json", "--assign", "rows.csv", "--json", "--seed", "7"
    )
    report = strict(done.stdout)
    n, d = report["n"], report["n_parameters"]
    assert report["seed"] == 7
    assert report["seconds"] > 0
    assert report["aic"] == pytest.approx(report["log_likelihood"] - d)
    assert report["bic"] == pytest.approx(report["log_likelihood"] - d / 2 * math.log(n))
    assert report["n_rows"] == 200
    assert report["data"] == "survey.csv"
    assert "written to" in done.stderr


def test_the_same_seed_gives_the_same_file(run, survey, tmp_path):
    for name in ("a.json", "b.json"):
        run("fit", survey, *USE, "--classes", "1-3", "--out", name, "--n-jobs", "1" if name < "b" else "2")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_the_model_file_says_where_it_comes_from(run, fitted, tmp_path):
    model = lt.load(fitted)
    told = model.provenance
    assert told["data"] == "survey.csv" and told["latentree"] == lt.__version__ and told["seed"] == 0
    assert told["options"]["bins"] == [{"age": 2}] and told["options"]["drop"] == ["id,name"]
    assert str(tmp_path) not in fitted.read_text()
    table = lt.Table.read(tmp_path / "survey.csv", variables=model.variables, weights="n")
    fit = lt.estimate(model, table, max_iterations=1)
    assert told["log_likelihood"] == pytest.approx(fit.log_likelihood, abs=1e-3)
    assert told["bic"] == pytest.approx(score.bic(fit), abs=1e-3)


# ---- assigned rows -----------------------------------------------------------------------------------------------


def test_assigned_rows_keep_order_columns_and_cells(run, survey, tmp_path):
    run("fit", survey, *USE, "--classes", "2", "--assign", "rows.csv")
    before, after = read_csv(survey), read_csv(tmp_path / "rows.csv")
    added = ["class", "p_class0", "p_class1"]
    assert list(after[0]) == [*before[0], *added]
    assert [{k: row[k] for k in before[0]} for row in after] == before
    (tmp_path / "blanks.csv").write_text("a,b\n no , 1\nyes ,2\n" * 10)
    run("fit", "blanks.csv", "--classes", "1", "--assign", "blank_rows.csv")
    assert (tmp_path / "blank_rows.csv").read_text().startswith("a,b,class,p_class0\n no , 1,0,1.0\nyes ,2,0,1.0\n")
    for row in after:
        if row["n"] == "0":
            assert [row[name] for name in added] == ["", "", ""]
        else:
            p = [float(row["p_class0"]), float(row["p_class1"])]
            assert sum(p) == pytest.approx(1, abs=1e-5)
            assert int(row["class"]) == p.index(max(p))


def test_appended_columns_give_way_to_those_of_the_data(run, tmp_path):
    rows = [{"class": i % 2, "p_class0": i % 3, "class_": i % 4, "b": i % 2} for i in range(48)]
    file = write_csv(tmp_path / "clash.csv", rows)
    run("fit", file, "--classes", "2", "--assign", "rows.tsv.gz")
    head = gzip.decompress((tmp_path / "rows.tsv.gz").read_bytes()).decode().splitlines()[0]
    assert head.split("\t") == [*rows[0], "class__", "p_class0_", "p_class1"]


# ---- files -------------------------------------------------------------------------------------------------------


def test_the_data_are_never_overwritten(run, survey, tmp_path):
    before = survey.read_bytes()
    (tmp_path / "link.csv").symlink_to(survey)
    for option, name in (("--out", "survey.csv"), ("--assign", "survey.csv"), ("--assign", "link.csv")):
        assert "is the file that is read" in run("fit", survey, *USE, option, name, code=1).stderr
    assert survey.read_bytes() == before


def test_places_that_cannot_be_written_are_refused_before_the_work(run, survey):
    assert "no folder" in run("fit", survey, *USE, "--out", "none/m.json", code=1).stderr
    assert "is a folder" in run("fit", survey, *USE, "--out", ".", code=1).stderr
    assert "same file" in run("fit", survey, *USE, "--out", "x.json", "--resume", "./x.json", code=1).stderr


def test_a_failed_run_leaves_no_file(run, survey, tmp_path):
    run("fit", survey, "--out", "m.json", code=1)
    assert [p.name for p in tmp_path.iterdir()] == ["survey.csv"]


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--tol", "inf", "--tol must be a finite number"),
        ("--tol", "abc", "'abc' is not a valid number"),
        ("--prior", "nan", "--prior must be a finite number"),
        ("--prior", "1e308", "is not in the range"),
        ("--time-limit", "nan", "--time-limit must be a finite number"),
        ("--merge-rare", "1e400", "--merge-rare must be a finite number"),
        ("--n-init", "1e9", "'1e9' is not a valid whole number"),
        ("--classes", "100000", "there can be at most 32,767 classes"),
        ("--classes", "3-1", "must go from the smaller number to the larger"),
        ("--bins", "age=99999999999999999999", "there can be at most 32,767 bins"),
        ("--bins", "age=2,age=3", "column 'age' is named twice"),
    ],
)
def test_numbers_that_cannot_be_are_refused_in_words_of_the_shell(run, survey, option, value, told):
    assert told in run("fit", survey, option, value, code=1 if "finite" in told else 2).stderr
