"""A messy survey, a model fitted to it, and a way to call commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from messy import USE, survey_rows, write_csv

from latentree.cli import application


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Call a command in an empty folder and check its exit code."""
    monkeypatch.chdir(tmp_path)

    def call(*args: object, code: int = 0):
        result = CliRunner().invoke(application, [str(a) for a in args], prog_name="latentree")
        assert result.exit_code == code, f"{result.exit_code}: {result.stdout}{result.stderr}{result.exception!r}"
        return result

    return call


@pytest.fixture
def survey(tmp_path) -> Path:
    return write_csv(tmp_path / "survey.csv", survey_rows())


@pytest.fixture
def fitted(run, survey, tmp_path) -> Path:
    """The file of a model fitted to the survey."""
    run("fit", survey, *USE, "--classes", "2", "--out", "model.json")
    return tmp_path / "model.json"
