"""``refit`` and ``dimension``: what is known of a tree that is given, from the command line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from latentree import datasets, effective_dimension, load
from latentree.cli.app import application


def run(*args, code=0):
    done = CliRunner().invoke(application, [*map(str, args)])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    path = tmp_path_factory.mktemp("refit") / "tree.json"
    run("learn", "hiv_test", "--prior", "none", "--out", path)
    return path


def document(*args):
    return json.loads(run(*args, "--json").stdout)


def test_estimation_of_the_same_tree_ends_at_the_same_likelihood(tree):
    expected = load(tree).provenance["log_likelihood"]
    for method in ("accelerated", "gcg", "restarts"):
        found = document("refit", tree, "hiv_test", "--method", method)
        assert found["log_likelihood"] == pytest.approx(expected, abs=1e-4)
        assert found["method"] == method


def test_other_data_give_other_probabilities_and_the_file_says_so(tree, tmp_path):
    frame = datasets.load_frame("hiv_test")
    frame["freq"] = frame["freq"] * 2
    frame.to_csv(tmp_path / "twice.csv", index=False)
    out = tmp_path / "refitted.json"
    run("refit", tree, tmp_path / "twice.csv", "--out", out)
    known, before = load(out).provenance, load(tree).provenance
    assert known["command"] == "latentree refit"
    assert known["log_likelihood"] == pytest.approx(2 * before["log_likelihood"], abs=1e-4)
    assert known["n"] == 2 * before["n"]
    assert "trace" not in known


def test_numbers_of_states_are_learned_on_the_skeleton(tree):
    before = load(tree)
    improved = document("refit", tree, "hiv_test", "--states")
    assert improved["bic"] >= before.provenance["bic"] - 1e-6
    scratch = document("refit", tree, "hiv_test", "--states", "--from-scratch", "--method", "HLCSplitMerge")
    assert set(scratch["states"]) == {before.tree.names[z] for z in before.tree.latent}


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--method", "nope"], "must be one of 'accelerated'"),
        (["--method", "em", "--set", "tol=abc"], "--set tol must be a number"),
        (["--states", "--set", "n_jobs=1"], "--set n_jobs cannot be used here"),
        (["--states", "--method", "Splitting"], "--time-limit must be given"),
        (["--from-scratch"], "--from-scratch is for --states"),
        (["--set", "tol"], "must have the form NAME=VALUE"),
    ],
)
def test_wrong_options_are_named(tree, args, told):
    done = CliRunner().invoke(application, ["refit", str(tree), "hiv_test", *args])
    assert done.exit_code in (1, 2)
    assert told in " ".join(done.output.split())


def test_dimension_says_what_the_library_says(tree):
    found = document("dimension", tree)
    model = load(tree)
    assert (found["standard"], found["effective"]) == (model.tree.n_parameters, effective_dimension(model.tree))
    assert found["structural"] and [z["name"] for z in found["latents"]] == [
        model.tree.names[z] for z in model.tree.latent
    ]
    assert "effective dimension" in run("dimension", tree).output


def test_dimension_of_too_many_classes(tmp_path):
    run("fit", "hiv_test", "--classes", "4", "--out", tmp_path / "four.json")
    assert "not identifiable" in run("dimension", tmp_path / "four.json").output
