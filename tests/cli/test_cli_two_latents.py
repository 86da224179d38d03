"""``two-latents``, ``compare --candidate``, ``fit --set``, ``sample --set``: what was in reach of Python only."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from latentree import datasets, fit_two_latents, learn_classes, load
from latentree.bayes import candidate
from latentree.cli.app import application
from latentree.runner import Budget
from latentree.score import bic


def run(*args, code=0):
    done = CliRunner().invoke(application, [*map(str, args)])
    assert done.exit_code == code, done.output
    return done


def document(*args):
    return json.loads(run(*args, "--json").stdout)


def test_two_latents_are_fitted_compared_and_written(tmp_path):
    out = tmp_path / "pairs.json"
    told = document("two-latents", "carcinoma", "--states", "2x2,1x3", "--out", out)
    table = datasets.load("carcinoma")
    fits = [fit_two_latents(table, pair, rng=np.random.default_rng([0, *pair])) for pair in ((2, 2), (1, 3))]
    assert [own["states"] for own in told["comparison"]] == [[2, 2], [1, 3]]
    for own, fit in zip(told["comparison"], fits, strict=True):
        assert own["log_likelihood"] == pytest.approx(fit.log_likelihood, abs=1e-6)
        assert own["bic"] == pytest.approx(bic(fit), abs=1e-6) and own["n_parameters"] == fit.n_parameters
    assert told["states"] == [1, 3] and told["n_parameters"] == 23
    model = load(out)
    assert model.provenance["states"] == "1x3" and model.tree.cardinality[0] == 3
    assert "1x3" in run("show", out).stdout


def test_pairs_of_states_come_in_the_order_of_both_sizes(tmp_path):
    out = tmp_path / "pairs.json"
    told = document("two-latents", "values", "--states", "2x2", "--out", out)
    first, second = (np.array(own) for own in told["sizes"])
    assert (np.diff(first) <= 0).all() and (np.diff(second) <= 0).all()
    np.testing.assert_allclose(np.outer(first, second).ravel(), load(out).table(0)[0], atol=1e-12)
    assert told["n_parameters"] < load(out).tree.n_parameters
    shown = run("show", out).stdout
    assert f" {told['n_parameters']} parameters" in shown and f" {load(out).tree.n_parameters} " not in shown
    assert document("show", out)["n_parameters"] == told["n_parameters"]
    shown = run("two-latents", "values", "--states", "2x2").stdout
    assert "The two latent variables" in shown and "1x1" in shown and "2x2" in shown


@pytest.mark.parametrize("given", ["2", "2x", "x3", "0x2", "2x3x4", "200x200", "2x3,"])
def test_pairs_that_are_none_are_refused(given):
    assert "--states" in run("two-latents", "carcinoma", "--states", given, code=2).output


def test_pairs_that_there_is_no_time_for_are_named():
    done = run("two-latents", "carcinoma", "--states", "2x2,2x3", "--time-limit", "0")
    assert "2x3 not fitted" in done.stderr


def test_the_candidate_method_is_that_of_python():
    told = document("compare", "carcinoma", "--classes", "2,3", "--candidate", "300")["candidate"]
    assert [own["n_classes"] for own in told] == [1, 2, 3]
    assert sum(own["posterior"] for own in told) == pytest.approx(1)
    assert [own["n_sweeps"] for own in told] == [300] * 3
    one = candidate(datasets.load("carcinoma"), 1, rng=np.random.default_rng(0), n_sweeps=50)
    assert told[0]["log_marginal"] == pytest.approx(one.log_marginal, abs=1e-9)  # known exactly
    shown = run("compare", "carcinoma", "--classes", "2", "--candidate", "100").stdout
    assert "P(classes | data)" in shown and "100 sweeps" in shown


def test_the_candidate_method_says_where_it_is_not_reliable(tmp_path):
    """On noise few sweeps come near any parameters of several classes: no probability is made of that."""
    data = tmp_path / "noise.csv"
    cells = np.random.default_rng(0).choice(["a", "b"], (500, 10))
    data.write_text("\n".join(",".join(row) for row in [[f"q{i}" for i in range(10)], *cells.tolist()]))
    done = run("compare", data, "--classes", "1-3", "--candidate", "300", "--json")
    told = json.loads(done.stdout)["candidate"]
    assert told[0]["reliable"] and not told[2]["reliable"]
    assert all(own["posterior"] is None for own in told)
    assert "not reliable here for" in run("compare", data, "--classes", "3", "--candidate", "300").output


def test_the_candidate_method_makes_counts_of_weights_once(tmp_path, monkeypatch):
    """Weights that are not whole become counts at random, but the same for all numbers of classes."""
    table = datasets.load("carcinoma")
    lines = ["w," + ",".join(table.names)]
    lines += [f"{w + 0.5}," + ",".join(f"s{c}" for c in row) for w, row in zip(table.weights, table.codes, strict=True)]
    data = tmp_path / "weighted.csv"
    data.write_text("\n".join(lines))
    seen = []

    def spy(table, k, **options):
        seen.append(table.weights)
        return candidate(table, k, **options)

    monkeypatch.setattr("latentree.bayes.candidate", spy)
    document("compare", data, "--weights", "w", "--candidate", "20", "--classes", "1-4")
    assert len(seen) == 4 and all(np.array_equal(own, seen[0]) for own in seen)
    assert np.array_equal(seen[0], np.round(seen[0]))
    short = candidate(table, 2, rng=np.random.default_rng(0), n_sweeps=1)
    assert np.isnan(short.standard_error)


def test_the_candidate_method_has_a_limit_of_classes_and_of_time():
    assert "at most 12 classes" in run("compare", "values", "--classes", "13", "--candidate", "10", code=2).output
    table = datasets.load("carcinoma")
    short = candidate(table, 2, rng=np.random.default_rng(0), n_sweeps=10**7, budget=Budget(seconds=0))
    assert 0 < short.n_sweeps < 10**7
    whole = candidate(table, 2, rng=np.random.default_rng(0), n_sweeps=short.n_sweeps)
    assert short.log_marginal == whole.log_marginal


def test_options_of_learners_are_set_and_unknown_ones_listed():
    told = document("fit", "carcinoma", "--method", "SplitMerge", "--set", "direction=greedy", "--set", "n_splits=4")
    asked = {"direction": "greedy", "n_splits": 4}
    found = learn_classes(datasets.load("carcinoma"), method="SplitMerge", rng=np.random.default_rng(0), **asked)
    assert told["log_likelihood"] == pytest.approx(found.fit.log_likelihood, abs=1e-6)
    assert told["log_likelihood"] != document("fit", "carcinoma", "--method", "SplitMerge")["log_likelihood"]
    wrong = run("fit", "carcinoma", "--method", "SplitMerge", "--set", "directoin=greedy", code=1).output
    assert "direction" in wrong and "n_splits" in wrong
    told = run("fit", "carcinoma", "--set", "max_states=3", code=2).output
    assert "--set max_states cannot be used here: use --max-classes." in told
    assert "--set prior cannot be used here: use --prior." in run("fit", "carcinoma", "--set", "prior=2", code=2).output
    assert "--set is for a number" in run("fit", "carcinoma", "--classes", "2", "--set", "p=0.1", code=2).output


def test_jumps_of_the_sampler_are_set():
    common = ("sample", "values", "--max-classes", "3", "--draws", "40", "--burn", "10", "--chains", "1")
    by = ("--method", "reversible-jump", "--set")
    told = {name: document(*common, *by, f"split={name}") for name in ("simplex", "source")}
    assert told["simplex"]["acceptance"] != told["source"]["acceptance"]
    assert "simplex" in run(*common, *by, "split=other", code=1).output
    assert "--set is for numbers" in run("sample", "values", "--classes", "2", "--set", "tries=2", code=2).output
