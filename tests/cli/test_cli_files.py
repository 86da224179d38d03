"""The ending of a name chooses what is written, and nothing is replaced that another command made."""

from __future__ import annotations

import pytest
from messy import read_csv, strict, write_csv

import latentree as lt
from latentree.cli.sample import PICTURES

FIT = ("fit", "carcinoma", "--classes", "2")


@pytest.fixture
def model(run, tmp_path):
    run(*FIT, "--out", "m.json")
    return tmp_path / "m.json"


@pytest.mark.parametrize("command", [FIT, ("learn", "hiv_test", "--set", "trials=0")])
def test_models_are_written_in_the_format_of_their_ending(run, tmp_path, command):
    run(*command, "--out", "m.json")
    run(*command, "--out", "m.bif.gz")
    assert lt.load(tmp_path / "m.bif.gz") == lt.load(tmp_path / "m.json")
    assert "network" in run("convert", "m.bif.gz", "-", "--to", "bif").stdout


@pytest.mark.parametrize(
    ("args", "known"),
    [
        ((*FIT, "--out", "m.pdf"), ".bif"),
        ((*FIT, "--out", "m"), ".json"),
        ((*FIT, "--assign", "o.dta"), ".parquet"),
        (("learn", "hiv_test", "--report", "x.docx"), ".html"),
        (("learn", "hiv_test", "--trace", "x.csv"), ".json"),
        (("report", "m.json", "--out", "x.docx"), ".html"),
        (("explore", "m.json", "--no-open", "--out", "x.pdf"), ".html"),
        (("assign", "m.json", "carcinoma", "--out", "o.xlsx"), ".csv"),
        (("sample-data", "m.json", "-n", "3", "--out", "o.json"), ".csv"),
        (("sample", "carcinoma", "--out", "draws.csv"), ".nc"),
        (("datasets", "carcinoma", "--out", "c.dta"), ".tsv"),
    ],
)
def test_unknown_endings_are_refused_with_those_that_are_known(run, model, tmp_path, args, known):
    before = sorted(path.name for path in tmp_path.iterdir())
    told = run(*args, code=1).stderr
    assert "It must end in" in told and known in told
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_rows_go_to_parquet_too(run, model, tmp_path):
    run("assign", "m.json", "carcinoma", "--out", "rows.parquet")
    run("assign", "m.json", "carcinoma", "--out", "rows.tsv.gz")
    own, other = (lt.Table.read(tmp_path / name, columns=["class"]) for name in ("rows.parquet", "rows.tsv.gz"))
    assert own.n == other.n == 118 and own.variables == other.variables


def test_report_and_explorer_have_names_of_their_own(run, model, tmp_path):
    """Neither replaces the page of the other, nor any page that latentree did not write."""
    run("explore", "m.json", "--no-open")
    page = tmp_path / "m.explorer.html"
    before = page.read_bytes()
    assert "did not write it" in run("report", "m.json", "--out", page.name, code=1).stderr
    assert page.read_bytes() == before
    run("explore", "m.json", "--no-open")
    run("report", "m.json", "--out", page.name, "--force")
    run("report", "m.json", "--out", page.name)
    page.write_text("<html><head></head>mine</html>")
    assert "--force" in run("report", "m.json", "--out", page.name, code=1).stderr
    assert "--force" in run("learn", "hiv_test", "--report", page.name, code=1).stderr


def test_models_of_other_commands_are_kept(run, model, tmp_path):
    before = model.read_bytes()
    for command in (("learn", "hiv_test", "--out"), ("convert", "n.json")):
        lt.datasets.generator("d7").save(tmp_path / "n.json")
        assert "--force" in run(*command, "m.json", code=1).stderr
        assert model.read_bytes() == before
    run(*FIT, "--out", "m.json")
    run("convert", "m.json", "m.bif")
    run("convert", "m.json", "m.bif")  # nothing in it changes
    assert "--force" in run("convert", "n.json", "m.bif", code=1).stderr
    assert "--force" in run(*FIT, "--out", "m.bif", code=1).stderr
    run(*FIT, "--out", "m.bif", "--force")


def test_rows_of_another_kind_are_kept(run, model, tmp_path):
    """A file of rows is replaced only if its header is the one to be written."""
    mine = write_csv(tmp_path / "mine.csv", [{"a": 1, "b": 2}])
    before = mine.read_bytes()
    for args in (
        (*FIT, "--assign"),
        ("assign", "m.json", "carcinoma", "--out"),
        ("sample-data", "m.json", "-n", "3", "--out"),
        ("datasets", "carcinoma", "--out"),
    ):
        assert "--force" in run(*args, "mine.csv", code=1).stderr
        assert mine.read_bytes() == before
        run(*args, "own.csv", "--force")
        run(*args, "own.csv")
    assert "is the file that is read" in run("assign", "m.json", mine, "--out", mine, "--force", code=1).stderr
    assert read_csv(mine) == [{"a": "1", "b": "2"}]


def test_steps_draws_and_pictures_of_other_origin_are_kept(run, tmp_path):
    pytest.importorskip("h5netcdf")
    search = ("learn", "hiv_test", "--set", "trials=0", "--trace", "s.json")
    few = ("sample", "carcinoma", "--classes", "2", "--draws", "20", "--burn", "5", "--chains", "1")
    for args, file in ((search, "s.json"), ((*few, "--out", "d.nc"), "d.nc"), ((*few, "--plots", "."), PICTURES[0])):
        (tmp_path / file).write_text("mine")
        assert "--force" in run(*args, code=1).stderr
        assert (tmp_path / file).read_text() == "mine"
        run(*args, "--force")
        run(*args)
    assert all((tmp_path / name).exists() for name in PICTURES)


def test_special_files_and_empty_ones_are_written(run, tmp_path):
    (tmp_path / "m.json").touch()
    run(*FIT, "--out", "m.json", "--assign", "/dev/null")
    assert strict(run("show", "m.json", "--json").stdout)["command"] == "show"
