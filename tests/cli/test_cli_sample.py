"""latentree sample: the report, files written, JSON, wrong usage, Ctrl-C."""

from __future__ import annotations

import numpy as np
import pytest
from messy import MARKUP, USE, read_csv, strict, write_csv

import latentree as lt
from latentree.bayes import load

FEW = ("--draws", "60", "--burn", "60", "--chains", "2", "--thin", "2")


def test_a_messy_survey(run, survey):
    done = run("sample", survey, *USE, *FEW, "--max-classes", "4")
    assert "Bayesian latent class model: 5 variables" in done.stdout
    assert MARKUP in done.stdout and "intervals" in done.stdout and "R-hat" in done.stdout


def test_json_is_one_object_and_the_same_for_any_threads(run, survey):
    runs = [
        strict(run("sample", survey, *USE, *FEW, "--max-classes", "4", "--n-jobs", t, "--json").stdout)
        for t in ("1", "2")
    ]
    for own in runs:
        own.pop("seconds")
    assert runs[0] == runs[1]
    told = runs[0]
    assert told["command"] == "sample" and told["kind"] == "posterior" and told["bic"] is None
    assert sum(p["probability"] for p in told["posterior"]) == pytest.approx(1)
    for own in told["classes"]:
        low, high = own["interval"]
        assert low <= own["size"] <= high
        for name, profile in own["profile"].items():
            assert sum(profile.values()) == pytest.approx(1)
            assert set(own["intervals"][name]) == set(profile)
    assert told["log_likelihood"] < 0 and told["n_parameters"] > 0


def test_files(run, survey, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    files = ("--out", "draws.nc", "--model", "model.json", "--assign", "rows.csv", "--plots", "pictures")
    run("sample", survey, *USE, *FEW, "--classes", "2", *files)
    assert load(tmp_path / "draws.nc").k.tolist() == [[2] * 60] * 2
    model = lt.load(tmp_path / "model.json")
    assert model.tree.cardinality[0] == 2 and model.provenance["command"] == "latentree sample"
    rows = read_csv(tmp_path / "rows.csv")
    assert len(rows) == 200 and {"class", "p_class0", "p_class1"} <= set(rows[0])
    names = {p.name for p in (tmp_path / "pictures").iterdir()}
    assert names == {"n_classes.png", "trace_n_classes.png", "trace_log_likelihood.png", "profiles.png"}
    run("assign", "model.json", survey)


def test_a_fixed_number_and_another_number_shown(run):
    fixed = run("sample", "carcinoma", *FEW, "--classes", "2")
    assert "2 classes: means" in fixed.stdout
    other = strict(
        run("sample", "carcinoma", *FEW, "--max-classes", "6", "--show", "4", "--draws", "400", "--json").stdout
    )
    assert other["n_classes"] == 4 and len(other["classes"]) == 4
    assert other["level"] == 0.95 and other["n_used"] < 800


def test_a_checkpoint_is_gone_on_from(run, tmp_path):
    first = strict(run("sample", "carcinoma", *FEW, "--resume", "state.json", "--json").stdout)
    assert (tmp_path / "state.json").exists()
    again = strict(run("sample", "carcinoma", *FEW, "--resume", "state.json", "--json").stdout)
    assert again["posterior"] == first["posterior"]
    refused = run("sample", "carcinoma", *FEW, "--resume", "state.json", "--seed", "5", code=1)
    assert "seed" in refused.stderr


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--max-classes", "0"), 2, "--max-classes"),
        (("--delta1", "0"), 2, "--delta1"),
        (("--delta2", "-1"), 2, "--delta2"),
        (("--prior-k", "normal"), 2, "--prior-k"),
        (("--max-classes", "500"), 1, "118 rows for 500 classes"),
        (("--show", "7", "--max-classes", "3"), 1, "--show must be a number of classes that was drawn"),
        (("--out", "no/such/folder/x.nc"), 1, "no/such/folder"),
    ],
)
def test_wrong_usage_is_explained(run, options, code, told):
    refused = run("sample", "carcinoma", *FEW, *options, code=code)
    assert told in refused.stderr and "Traceback" not in refused.stderr


def test_survey_weights_are_taken_unless_there_are_fewer_rows_than_classes(run, tmp_path):
    rows = [{"a": i % 2, "b": i % 3 % 2, "w": 1.3} for i in range(12)]
    found = strict(run("sample", write_csv(tmp_path / "w.csv", rows), "--weights", "w", *FEW, "--json").stdout)
    assert found["n"] == pytest.approx(15.6) and found["n_classes"] >= 1
    few = write_csv(tmp_path / "few.csv", [{**row, "w": 0.3} for row in rows])
    refused = run("sample", few, "--weights", "w", *FEW, code=1)
    assert "rows for 8 classes" in refused.stderr


def test_ctrl_c_shows_what_was_drawn(run, monkeypatch):
    from latentree.bayes import _sampler as sampler

    real, calls = sampler.step, []

    def interrupted(*args, **options):
        calls.append(1)
        if len(calls) > 40:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(sampler, "step", interrupted)
    done = run("sample", "carcinoma", "--burn", "10", "--draws", "1000000", "--chains", "1", "--json", code=130)
    told = strict(done.stdout)
    assert told["interrupted"] and told["reason"] == "interrupted" and 0 < told["n_draws"] < 10**6
    assert "Interrupted" in done.stderr
    assert np.isfinite(told["log_likelihood"])
