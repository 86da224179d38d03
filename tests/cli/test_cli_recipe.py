"""Commands read data for a model as its own data were read, and say when they do not fit."""

from __future__ import annotations

import pytest
from messy import strict

SAID = "log_likelihood"


def saved(tmp_path, text: str, encoding: str = "utf-8"):
    (tmp_path / "d.csv").write_text(text, encoding=encoding)


@pytest.fixture
def weighted(run, tmp_path) -> float:
    """The log-likelihood of a model fitted with weights, another encoding, decimal mark and missing codes."""
    rows = [f"{('groß', 'klein', '-9')[i % 3]};{('ja', 'nein')[i // 2 % 2]};{i % 7},5;{i % 4}" for i in range(84)]
    saved(tmp_path, "\n".join(["größe;b;alter;n", *rows]) + "\n", "cp1252")
    how = ("--encoding", "cp1252", "--decimal", ",", "--missing", "-9", "--weights", "n", "--bins", "alter=2")
    return strict(run("fit", "d.csv", *how, "--classes", "2", "--out", "m.json", "--json").stdout)[SAID]


@pytest.mark.parametrize("command", [("score",), ("report", "--data"), ("assign",)])
def test_the_recipe_of_the_model_is_used(run, weighted, command):
    """The log-likelihood of the model's own data is that of the model file, without any option."""
    name, *option = command
    done = run(name, "m.json", *option, "d.csv", "--json")
    assert strict(done.stdout)[SAID] == pytest.approx(weighted, abs=1e-3)
    assert "Read as for the model, with --weights n --encoding cp1252" in done.stderr
    assert "Warning" not in done.stderr


def test_explore_and_show_know_the_recipe(run, weighted):
    told = run("explore", "m.json", "--data", "d.csv", "--no-open").stderr
    assert "--weights n" in told and "Warning" not in told
    assert "--weights n --encoding cp1252 --decimal ',' --missing -9 --bins alter=2" in run("show", "m.json").stdout


def test_options_override_the_recipe_and_that_is_said(run, weighted, tmp_path):
    done = run("score", "m.json", "d.csv", "--no-weights", "--json")
    assert strict(done.stdout)["n"] == 84
    assert "The model was made with --weights n; here it is otherwise" in done.stderr
    assert "By the model file, 'd.csv' has 126 rows; as read now, it has 84 rows" in done.stderr
    text = (tmp_path / "d.csv").read_text("cp1252")
    saved(tmp_path, text)
    told = run("score", "m.json", "d.csv", code=1).stderr
    assert "were read with --encoding cp1252" in told
    assert strict(run("score", "m.json", "d.csv", "--encoding", "utf-8", "--json").stdout)["n"] == 126


def test_data_without_the_weights_are_refused_where_they_count(run, weighted, tmp_path):
    lines = (tmp_path / "d.csv").read_text("cp1252").splitlines()
    saved(tmp_path, "\n".join(line.rpartition(";")[0] for line in lines), "cp1252")
    assert "--no-weights" in run("score", "m.json", "d.csv", code=1).stderr
    assert "every row counts once" in run("assign", "m.json", "d.csv").stderr


def test_other_data_of_the_same_name_are_noticed(run, weighted, tmp_path):
    text = (tmp_path / "d.csv").read_text("cp1252")
    saved(tmp_path, text.replace("nein", "ja", 5), "cp1252")
    assert "has the log-likelihood" in run("report", "m.json", "--data", "d.csv").stderr


def test_scores_say_which_is_better_and_rows_are_not_weights(run, weighted):
    found = run("score", "m.json", "d.csv").stdout
    lines = {line[:22].strip(): line[22:].strip() for line in found.splitlines()}
    assert lines["rows"] == "84" and lines["sum of weights"] == "126"
    assert {"AIC (lower is better)", "BIC (lower is better)"} <= lines.keys()
    assert "BIC (higher is better)" in run("score", "m.json", "d.csv", "--scale", "likelihood").stdout
    assert "sum of weights" not in run("score", "m.json", "d.csv", "--no-weights").stdout


def test_the_log_likelihood_of_total_weight_one_is_shown(run, weighted, tmp_path):
    """BIC needs more than one row; the log-likelihood does not."""
    lines = (tmp_path / "d.csv").read_text("cp1252").splitlines()
    saved(tmp_path, "\n".join([lines[0], lines[2]]), "cp1252")
    found = strict(run("score", "m.json", "d.csv", "--json").stdout)
    assert found["n"] == 1 and found[SAID] < 0 and found["aic"] < found[SAID] and found["bic"] is None
    assert "needs more than one row" in run("score", "m.json", "d.csv").stdout


def test_levels_that_no_row_has_are_kept_if_asked(run, tmp_path):
    lines = ["@relation r", "@attribute a {x,y,never}", "@attribute b {0,1}", "@data"]
    rows = [f"{'xy'[i % 2]},{i // 2 % 2}" for i in range(40)]
    (tmp_path / "d.arff").write_text("\n".join([*lines, *rows]))
    plain = strict(run("fit", "d.arff", "--classes", "1", "--json").stdout)
    kept = strict(run("fit", "d.arff", "--classes", "1", "--keep-levels", "--json").stdout)
    assert (plain["n_parameters"], kept["n_parameters"]) == (2, 3)


@pytest.mark.parametrize("command", [("predict", "--target", "b"), ("impute",), ("score", "--by-row"), ("assign",)])
def test_weights_are_told_of_only_where_there_are_some(run, weighted, tmp_path, command):
    name, *more = command
    assert "with --weights n --encoding cp1252" in run(name, "m.json", "d.csv", *more).stderr
    lines = (tmp_path / "d.csv").read_text("cp1252").splitlines()
    saved(tmp_path, "\n".join(line.rpartition(";")[0] for line in lines), "cp1252")
    told = run(name, "m.json", "d.csv", *more).stderr
    assert "Read as for the model, with --encoding cp1252" in told and "--weights" not in told
