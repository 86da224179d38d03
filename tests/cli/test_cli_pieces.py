"""Folders and patterns of files on the command line."""

import json

import pandas as pd
import pytest
from messy import USE, survey_rows, write_csv


@pytest.fixture
def visits(tmp_path):
    """The survey in one file, and in a folder of three."""
    rows, folder = survey_rows(), tmp_path / "visits"
    folder.mkdir()
    write_csv(tmp_path / "all.csv", rows)
    for i in range(3):
        write_csv(folder / f"{i}.csv", rows[i * 70 : (i + 1) * 70])
    return folder


def numbers(done):
    found = json.loads(done.stdout)
    return found["n"], found["n_variables"], pytest.approx(found["log_likelihood"], abs=1e-5)


@pytest.mark.parametrize("what", ["visits", "visits/*.csv"])
@pytest.mark.parametrize("weights", [("--drop", "n"), ("--weights", "n")], ids=["counted", "weighted"])
def test_a_folder_is_fitted_like_one_file(run, visits, what, weights):
    options = ("--drop", "id", "--drop", "name", *weights, "--bins", "age=2", "--classes", 2, "--seed", 0, "--json")
    assert numbers(run("fit", what, *options)) == numbers(run("fit", "all.csv", *options))


def test_rows_of_a_folder_are_assigned_piece_by_piece(run, visits):
    run("fit", "all.csv", *USE, "--classes", 2, "--out", "model.json")
    run("assign", "model.json", "all.csv", "--out", "all-rows.csv")
    done = run("assign", "model.json", "visits", "--out", "rows.csv", "--json")
    assert json.loads(done.stdout)["n_rows"] == len(pd.read_csv("all.csv"))
    pd.testing.assert_frame_equal(pd.read_csv("rows.csv"), pd.read_csv("all-rows.csv"), atol=1e-6)
    run("assign", "model.json", "visits", "--out", "rows.parquet")
    assert (pd.read_parquet("rows.parquet")["class"] == pd.read_csv("rows.csv")["class"]).all()
    assert "--out rows.parquet" in run("assign", "model.json", "visits", code=1).stderr


def test_a_folder_without_data_is_told(run, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "holds no file of data" in run("fit", "empty", code=1).stderr
    assert "There is no file" in run("fit", "no*.csv", code=1).stderr
