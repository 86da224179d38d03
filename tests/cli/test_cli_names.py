"""``latentree name``, tables and figures of ``report`` and ``compare``, and the scale of scores."""

from __future__ import annotations

import json

import pytest

import latentree as lt
from latentree import datasets
from latentree.naming import node_labels


@pytest.fixture(scope="module")
def lca():
    return lt.LatentClass(3, random_state=0).fit(datasets.load_frame("carcinoma"))


def test_the_command_names_and_takes_the_names_of_the_page(lca, tmp_path, run):
    lca.save(tmp_path / "m.json")
    model = str(tmp_path / "m.json")
    run("name", model, "--class", "0=Heavy users", "--latent", "class=Use")
    assert "Heavy users" in run("name", model).stdout
    (tmp_path / "n.json").write_text(json.dumps({"latents": {}, "states": {"Use": {"1": "Others"}}}))
    run("name", model, "--names", str(tmp_path / "n.json"), "--out", str(tmp_path / "out.json"))
    assert node_labels(lt.load(tmp_path / "out.json"), 0) == ("Heavy users", "Others", "class2")
    assert "Heavy users" in run("show", model).stdout
    (tmp_path / "n.json").write_text("[]")
    assert "holds no names" in run("name", model, "--names", str(tmp_path / "n.json"), code=1).stderr
    assert "after '='" in run("name", model, "--class", "0", code=2).stderr


def test_tables_and_figures_are_written(lca, tmp_path, run):
    lca.save(tmp_path / "m.json")
    run("report", "m.json", "--data", "carcinoma", "--tables", "t.tex", "--figure", "f.svg")
    assert "95\\% CI" in (tmp_path / "t.tex").read_text(encoding="utf-8")
    assert "class0 (44" in (tmp_path / "f.svg").read_text(encoding="utf-8")
    run("report", "m.json", "--data", "carcinoma", "--compare", "1-4", "--out", "r.html", "--tables", "c.tex")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Number of classes" in page and "697.14" in page and "726.46" in page and "Class profiles" in page
    assert "Fit of models" in (tmp_path / "c.tex").read_text(encoding="utf-8")
    run("report", "m.json", "--compare", "1-4", "--out", "s.html", code=2)
    assert "must end in" in run("report", "m.json", "--tables", "t.pdf", code=1).stderr
    run("compare", "carcinoma", "--classes", "1-2", "--tables", "c.html")
    assert "Fit of models" in (tmp_path / "c.html").read_text(encoding="utf-8")


def test_the_scale_of_scores_can_be_chosen(run):
    lower = run("compare", "carcinoma", "--classes", "1-2").stdout
    higher = run("compare", "carcinoma", "--classes", "1-2", "--scale", "likelihood").stdout
    assert "706.07" in lower and "lower is better" in lower
    assert "-353.04" in higher and "higher is better" in higher
    found = json.loads(run("compare", "carcinoma", "--classes", "1-2", "--json").stdout)
    assert found["deviance_scores"]["bic"][-1] == pytest.approx(-2 * found["fits"][-1]["bic"])
    assert found["deviance_scale"]["bic"] == pytest.approx(-2 * found["bic"]) and "higher" in found["score_scale"]


def test_named_classes_are_assigned_by_name(run, tmp_path):
    """In one piece and in pieces; models without names keep their numbers."""
    run("fit", "carcinoma", "--classes", "2", "--out", "m.json")
    run("sample-data", "m.json", "-n", "5", "--out", "d.csv")
    assert run("assign", "m.json", "d.csv").stdout.splitlines()[0].endswith("class,p_class0,p_class1")
    run("name", "m.json", "--class", "1=healthy", "--out", "named.json")
    lines = run("assign", "named.json", "d.csv").stdout.splitlines()
    assert lines[0].endswith(",class,p_class0,p_healthy")
    assert {line.split(",")[7] for line in lines[1:]} <= {"class0", "healthy"}
    model = lt.load(tmp_path / "named.json")
    lt.scale.assign(model, tmp_path / "d.csv", tmp_path / "pieces.csv")
    whole = [line.split(",")[7] for line in lines]
    assert [line.split(",")[7] for line in (tmp_path / "pieces.csv").read_text("utf-8").splitlines()] == whole
    assert "Latent variable 'class' has no state '7'" in run("name", "m.json", "--class", "7=x", code=1).stderr
