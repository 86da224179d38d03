"""``latentree report`` and ``latentree explore``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from latentree import datasets
from latentree.cli import application


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    datasets.generator("d7").save("seven.json")
    step = {"operation": "start", "score": -1, "edges": [["Z1", "X1"]], "states": {"Z1": 2, "X1": 3}}
    Path("steps.json").write_text(json.dumps([step]))

    def invoke(*args: str):
        return CliRunner().invoke(application, args, prog_name="latentree")

    rows = invoke("sample-data", "seven.json", "-n", "60", "--out", "rows.csv")
    assert rows.exit_code == 0, rows.output
    return invoke


def test_a_report_as_text_json_and_page(run):
    assert run("report", "seven.json").output.startswith("Latent tree model: 7 variables, 3 latent variables\n")
    told = run("report", "seven.json", "--data", "rows.csv", "--trace", "steps.json")
    assert "60 rows" in told.output and "start" in told.output
    found = json.loads(run("report", "seven.json", "--data", "rows.csv", "--json").stdout)
    assert found["command"] == "report" and found["n"] == 60 and len(found["latents"]) == 3
    assert found["bic"] < found["log_likelihood"] < 0
    done = run("report", "seven.json", "--data", "rows.csv", "--out", "page.html", "--title", "Seven & more")
    assert done.exit_code == 0 and "Report written to 'page.html'." in done.output
    assert "<h1>Seven &amp; more</h1>" in Path("page.html").read_text("utf-8")


def test_exploring_writes_and_opens(run, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    done = run("explore", "seven.json", "--data", "rows.csv", "--trace", "steps.json")
    assert done.exit_code == 0 and "Page written to 'seven.explorer.html'" in done.output
    assert opened == [Path("seven.explorer.html").absolute().as_uri()]
    assert "<title>seven</title>" in Path("seven.explorer.html").read_text("utf-8")
    again = run("explore", "seven.json", "--no-open", "--out", "x.html", "--style", "radial", "--json")
    found = json.loads(again.stdout)
    assert found["page"] == "x.html" and found["n_latents"] == 3 and len(opened) == 1


def test_no_browser_is_said(run, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert "No browser could be opened here" in run("explore", "seven.json").output


@pytest.mark.parametrize("name", ["report", "explore"])
def test_what_is_wrong_is_told(run, name):
    assert "There is no model file" in run(name, "nothing.json").output
    assert "is the file that is read" in run(name, "seven.json", "--out", "seven.json").output
    Path("bad.json").write_text("{")
    assert "not a JSON file" in run(name, "seven.json", "--trace", "bad.json").output
    Path("bad.json").write_text('{"a": 1}')
    assert "no list of steps" in run(name, "seven.json", "--trace", "bad.json").output
    Path("bad.json").write_text('[{"operation": "x"}]')
    assert "Step 0 of the trace cannot be read" in run(name, "seven.json", "--trace", "bad.json").output
    assert "no file 'none.csv'" in run(name, "seven.json", "--data", "none.csv").output
    assert "there is no folder" in run(name, "seven.json", "--out", "none/x.html").output
