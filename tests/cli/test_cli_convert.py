"""``latentree convert``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from messy import strict

import latentree as lt
from latentree.cli.convert import EXAMPLES
from latentree.formats._models import FORMATS

DATA = Path(__file__).parents[1] / "formats" / "data"


@pytest.fixture
def model(tmp_path) -> lt.Model:
    made = lt.datasets.generator("d7")
    made.save(tmp_path / "model.json")
    return made


@pytest.mark.parametrize("kind", [k for k, one in FORMATS.items() if one.is_read])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_there_and_back(run, model, kind, packed):
    done = run("convert", "model.json", f"there.{kind}{packed}")
    assert f"written to 'there.{kind}{packed}' ({kind}): 7 variables, 3 latent." in done.stderr and done.stdout == ""
    run("convert", f"there.{kind}{packed}", "back.json")
    assert lt.load("back.json") == model
    assert run("show", f"there.{kind}{packed}").stdout


def test_kinds_can_be_said(run, model):
    run("convert", "model.json", "some.thing", "--to", "net")
    run("convert", "some.thing", "back", "--from", "net", "--to", "json")
    assert lt.load("back") == model


def test_standard_output(run, model):
    assert run("convert", "model.json", "-", "--to", "dot").stdout.startswith("digraph latentree {\n")
    assert "Give --to" in run("convert", "model.json", "-", code=2).stderr
    assert "cannot hold both" in run("convert", "model.json", "-", "--to", "bif", "--json", code=2).stderr


def test_latent_nodes(run):
    report = strict(run("convert", DATA / "hlta.bif", "m.json", "--inner-latent", "--json").stdout)
    assert report["latent"] == ["flu", "fever"] and report["from"] == "bif" and report["to"] == "json"
    assert report["n_parameters"] == 10 and report["n_variables"] == 2
    report = strict(run("convert", DATA / "hlta.bif", "m.json", "--latent", "flu,cough", "--force", "--json").stdout)
    assert report["latent"] == ["flu", "cough"]
    assert "give one" in run("convert", DATA / "hlta.bif", "m.json", "--latent", "a", "--inner-latent", code=2).stderr
    assert "no node 'nobody'" in run("convert", DATA / "hlta.bif", "m.json", "--latent", "nobody", code=1).stderr
    assert (
        "--latent is for files of other programs" in run("convert", "m.json", "m.bif", "--latent", "flu", code=1).stderr
    )


def test_changed_names_are_a_warning(run, tmp_path):
    own = [lt.Variable("a b", ("x", "y")), lt.Variable("c", (1, 2))]
    lt.Model.random(lt.Tree.star(2, [2, 2]), own, np.random.default_rng(0)).save(tmp_path / "m.json")
    done = run("convert", "m.json", "m.bif", "--json")
    assert "Warning: BIF cannot hold all names as they are. Changed were 'a b' to a_b." in done.stderr
    assert "a_b" in strict(done.stdout)["warnings"][0]
    assert lt.load(tmp_path / "m.bif").variables[0].name == "a b"


def test_what_cannot_be_done(run, model, tmp_path):
    assert "ending in none of .json, .bif" in run("convert", "model.json", "m.xyz", code=2).stderr
    assert "Got 'dot' instead" in run("convert", "m.dot", "m.json", code=1).stderr
    assert "is the file that is read" in run("convert", "model.json", "model.json", code=1).stderr
    assert "no model file 'none.bif'" in run("convert", "none.bif", "m.json", code=1).stderr
    (tmp_path / "bad.bif").write_text("variable x {")
    assert "bad.bif': Line 1: " in run("convert", "bad.bif", "m.json", code=1).stderr
    assert not (tmp_path / "m.json").exists()


def test_encoding(run, tmp_path):
    (tmp_path / "m.bif").write_bytes((DATA / "bnlearn.bif").read_text().replace("mild", "mäßig").encode("latin-1"))
    assert "--encoding latin-1" in run("convert", "m.bif", "m.json", code=1).stderr
    run("convert", "m.bif", "m.json", "--encoding", "latin-1")
    assert lt.load(tmp_path / "m.json").variable("fever").states[1] == "mäßig"


def test_fit_writes_other_formats(run, tmp_path):
    run("fit", "carcinoma", "--classes", "2", "--out", "m.bif")
    assert (tmp_path / "m.bif").read_text().startswith("network latentree {")
    assert lt.load(tmp_path / "m.bif").tree.cardinality[0] == 2


def test_the_help_lists_every_kind(run):
    text = run("convert", "--help").stdout
    for kind, one in FORMATS.items():
        assert f"\n  {kind} " in text and one.suffixes[0] in text
    assert len(EXAMPLES.strip().splitlines()) == 5
