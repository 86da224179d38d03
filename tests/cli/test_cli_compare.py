"""``latentree compare`` and the statistics of ``latentree fit``."""

from __future__ import annotations

import json

import pytest

from latentree.cli.options import SCORES
from latentree.score import SCORES as KNOWN


def test_scores_side_by_side(run):
    done = run("compare", "values", "--classes", "2,3", "--scores", "bic,bice,icl")
    assert "?3" in done.stdout and "? not identified" in done.stdout and "bice: 2 classes" in done.stdout
    report = json.loads(run("compare", "values", "--classes", "2,3", "--scores", "bice,bic", "--json").stdout)
    assert report["n_classes"] == 2 and [row["n_classes"] for row in report["fits"]] == [1, 2, 3]
    assert report["fits"][2]["bice"] > report["fits"][2]["bic"]  # 13 dimensions, 14 parameters
    for key in ("log_likelihood", "n_parameters", "n", "bic", "aic", "seconds", "seed"):
        assert key in report


def test_bootstrap_tests(run):
    done = run("compare", "carcinoma", "--classes", "2", "--bootstrap", "9")
    assert "1 against 2     414.42  0.100           9" in done.stdout
    report = json.loads(run("compare", "carcinoma", "--classes", "2", "--bootstrap", "9", "--json").stdout)
    assert report["bootstrap"][0]["p_value"] == pytest.approx(0.1)


def test_unknown_scores_are_refused(run):
    assert "--scores must be one of 'aic'" in run("compare", "values", "--scores", "luck", code=1).stderr


def test_statistics_of_a_fit(run):
    assert "G2 2.72, X2 2.72, 6 degrees of freedom" in run("fit", "values", "--classes", "2", "--statistics").stdout
    report = json.loads(run("fit", "values", "--classes", "2", "--statistics", "--json").stdout)
    assert report["statistics"]["absolute"]["degrees_of_freedom"] == 6
    assert "statistics" not in json.loads(run("fit", "values", "--classes", "2", "--json").stdout)


def test_every_score_to_choose_by_exists(run):
    assert set(SCORES) <= set(KNOWN)
    report = json.loads(run("fit", "values", "--classes", "1-3", "--score", "bice", "--json").stdout)
    assert report["n_classes"] == 2 and report["score"] == "bice"


def test_every_command_keeps_the_json_contract(run, tmp_path):
    run("fit", "carcinoma", "--classes", "2", "--out", "m.json")
    run("datasets", "carcinoma", "--out", "c.csv")
    for command in (
        ("fit", "carcinoma", "--classes", "2"),
        ("compare", "carcinoma", "--classes", "2"),
        ("score", "m.json", "c.csv"),
        ("assign", "m.json", "c.csv"),
        ("query", "m.json", "--ask", "A"),
        ("sample-data", "m.json", "-n", "3"),
        ("show", "m.json"),
        ("datasets", "carcinoma"),
        ("datasets",),
        ("completion", "bash"),
    ):
        told = json.loads(run(*command, "--json").stdout)
        assert {"log_likelihood", "n_parameters", "n", "bic", "aic", "seconds", "seed"} <= set(told), command
        if command[0] in ("fit", "compare", "score", "assign", "show"):
            assert told["log_likelihood"] == pytest.approx(-317.2568, abs=1e-3)


def test_cases_held_out(run):
    found = json.loads(
        run("compare", "carcinoma", "--classes", "1-4", "--scores", "cv,bic", "--n-init", "8", "--json").stdout
    )
    errors = [row["cv_error"] for row in found["fits"]]
    values = [row["cv"] for row in found["fits"]]
    best = max(range(4), key=lambda i: values[i])
    near = [i for i in range(4) if values[best] - values[i] <= errors[i]]
    assert errors[best] == 0 and found["best"]["cv"] == found["fits"][near[0]]["n_classes"]
    shown = run("fit", "carcinoma", "--classes", "1-4", "--score", "cv", "--n-init", "8")
    assert f"{found['best']['cv']} classes" in shown.stdout.split("Latent class model:")[1].splitlines()[0]
    assert "+-" in shown.stdout
