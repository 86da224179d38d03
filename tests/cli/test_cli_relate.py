"""latentree relate: classes and other variables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from messy import strict

import latentree as lt


@pytest.fixture
def survey(run, tmp_path):
    """Three items with two clear classes, a covariate that matters, an outcome, and a few gaps."""
    rng = np.random.default_rng(0)
    n = 300
    age = rng.integers(20, 80, n)
    z = (rng.random(n) < 1 / (1 + np.exp(-(age - 50) / 15))).astype(int)
    yes = np.where(z[:, None] == 1, 0.9, 0.1)
    frame = pd.DataFrame(np.where(rng.random((n, 4)) < yes, "yes", "no"), columns=list("abcd"))
    frame["age"], frame["sex"] = age.astype(float), rng.choice(["f", "m"], n)
    frame["pain"] = (z * 2 + rng.normal(size=n)).round(2)
    frame.loc[::60, "age"] = np.nan
    frame.loc[::50, "a"] = None
    frame.to_csv(tmp_path / "s.csv", index=False)
    run("fit", "s.csv", "--columns", "a,b,c,d", "--classes", "2", "--out", "m.json")
    return frame


def test_coefficients_as_json(run, survey):
    done = run(
        "relate", "m.json", "s.csv", "--covariates", "age * sex", "--method", "one-step", "--complete", "--json",
        "--information", "opg", "--out", "new.json",
    )  # fmt: skip
    found = strict(done.stdout)
    complete = survey.dropna(subset=["a", "age"])
    assert found["method"] == "one-step" and found["n"] == len(complete) and found["outcomes"] == []
    keys = ["class", "reference", "term", "estimate", "standard_error", "z", "p", "lower", "upper", "odds_ratio"]
    assert [list(row) for row in found["coefficients"]] == [keys] * 4
    assert [row["term"] for row in found["coefficients"]] == ["intercept", "age", "sex[T.m]", "age:sex[T.m]"]
    assert {(row["class"], row["reference"]) for row in found["coefficients"]} == {("class1", "class0")}
    assert [row["term"] for row in found["tests"]] == ["age", "sex[T.m]", "age:sex[T.m]"]
    model = lt.load("m.json")
    same = lt.relate.relate(model, complete, "age * sex", method="one-step", information="opg")
    assert found["log_likelihood"] == pytest.approx(same.log_likelihood)
    assert [row["standard_error"] for row in found["coefficients"]] == pytest.approx(
        [row["standard_error"] for row in same.rows()], rel=1e-6
    )
    new = lt.load("new.json")
    assert new.parameters == pytest.approx(same.model.parameters, abs=1e-6)
    assert new.provenance["covariates"]["terms"][1] == "age"


def test_outcomes_items_and_text(run, survey):
    done = run("relate", "m.json", "s.csv", "--outcome", "pain,sex", "--json")
    found = strict(done.stdout)
    assert found["method"] == "bch" and found["coefficients"] == [] and found["log_likelihood"] is None
    assert [row["category"] for row in found["outcomes"]] == [None, None, "f", "m", "f", "m"]
    assert {row["outcome"] for row in found["tests"]} == {"pain", "sex"}
    shown = run("relate", "m.json", "s.csv", "--covariates", "age", "--missing-covariates", "drop", "--dif", "score")
    assert "Log-odds against class0" in shown.stdout and "Direct effects of covariates on items" in shown.stdout
    found = strict(
        run(
            "relate", "m.json", "s.csv", "--covariates", "age", "--complete", "--method", "one-step",
            "--direct-effects", "b=sex", "--reference", "class1", "--json",
        ).stdout
    )  # fmt: skip
    assert found["direct_effects"][0]["item"] == "b" and found["coefficients"][0]["class"] == "class0"
    done = run("relate", "m.json", "s.csv", "--outcome", "pain", "--bootstrap", "5", "--seed", "3", "--json")
    assert strict(done.stdout)["errors"] == "5 bootstrap samples"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--covariates", "age"], "5 rows lack a value of 'age': data row 1, data row 61"),
        (["--covariates", "age"], "--missing-covariates drop"),
        (["--covariates", "ago", "--complete"], "Did you mean 'age'?"),
        (["--covariates", "b"], "is an item of the model"),
        (["--outcome", "sex", "--kind", "sex=continuous"], "must be numbers to be continuous"),
        (["--outcome", "pain", "--method", "one-step"], "Use --method bch for outcomes"),
        ([], "give --covariates or --outcome"),
        (["--covariates", "sex", "--reference", "men"], "--reference must be one of class0, class1"),
        (["--covariates", "sex", "--clusters", "sex", "--strata", "sex"], "Merge them with others in --strata"),
        (["--covariates", "sex", "--clusters", "age"], "Data row 1 has no value of 'age': in --clusters"),
        (["--outcome", "pain", "--kind", "pian=count"], "--kind speaks of 'pian', which is not an outcome"),
        (["--outcome", "pain", "--kind", "pain=number"], "--kind must be 'continuous', 'categorical', 'count'"),
        (["--covariates", "sex", "--outcome", "sex"], "both a covariate and an outcome"),
    ],
)
def test_what_is_refused(run, survey, args, said):
    done = run("relate", "m.json", "s.csv", *args, code=1)
    assert said in done.stderr


def test_weights_and_other_data(run, survey):
    survey["w"] = 2.0  # which doubles the rows, but not the cases that the default prior adds
    survey.to_csv("w.csv", index=False)
    same = ("--covariates", "sex", "--prior", "none", "--json")
    once = strict(run("relate", "m.json", "s.csv", *same).stdout)
    twice = strict(run("relate", "m.json", "w.csv", "--weights", "w", *same).stdout)
    default = strict(run("relate", "m.json", "s.csv", "--covariates", "sex", "--json").stdout)
    assert once["prior"] == 1 < default["prior"]
    assert twice["n"] == 2 * once["n"]
    errors = [[row["standard_error"] for row in found["coefficients"]] for found in (once, twice)]
    assert errors[1] == pytest.approx(np.array(errors[0]) / np.sqrt(2), rel=1e-6)
    survey.drop(columns="c").to_csv("other.csv", index=False)
    assert "'c'" in run("relate", "m.json", "other.csv", "--covariates", "sex", code=1).stderr


def test_effects_and_plot(run, survey, tmp_path):
    pytest.importorskip("matplotlib")
    own = ("relate", "m.json", "s.csv", "--covariates", "age + sex", "--missing-covariates", "drop")
    done = run(*own, "--effects", "--plot", "curves.svg")
    assert "Average marginal effects" in done.stdout and "m against f" in done.stdout
    assert "P(class)" in (tmp_path / "curves.svg").read_text()
    effects = strict(run(*own, "--json").stdout)["marginal_effects"]
    by_change = {}
    for row in effects:
        by_change.setdefault(row["covariate"], []).append(row["estimate"])
    assert by_change.keys() == {"age", "sex"}
    assert all(abs(sum(values)) < 1e-9 for values in by_change.values())
    assert "did not write it" in run(*own, "--plot", "curves.svg", code=1).stderr
    assert "give --covariates" in run("relate", "m.json", "s.csv", "--outcome", "pain", "--effects", code=2).stderr


def test_a_prior_from_the_shell(run, survey):
    own = ("relate", "m.json", "s.csv", "--covariates", "sex", "--json")
    plain, prior = (strict(run(*own, *more).stdout)["coefficients"] for more in ((), ("--prior", "3")))
    assert plain != prior
    assert "--prior" in run(*own, "--prior", "0.5", code=2).stderr
