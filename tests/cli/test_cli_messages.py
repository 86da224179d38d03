"""What the command line says when something cannot be, in words of the shell."""

from __future__ import annotations

import numpy as np
import pytest

import latentree as lt
from latentree import datasets
from latentree.errors import ParameterError
from latentree.estimation import fit_classes


def test_a_drawing_is_no_model(run, tmp_path):
    (tmp_path / "x.dot").write_text("graph {}")
    told = run("show", "x.dot", code=1).stderr
    assert "'x.dot': files of format 'dot' are only written" in told and "--format" not in told


def test_latent_nodes_of_our_own_files(run):
    run("fit", "hiv_test", "--classes", "2", "--out", "m.json")
    told = run("convert", "m.json", "m.bif", "--latent", "z", code=1).stderr
    assert "--latent is for files of other programs: 'm.json' is of latentree" in told and "None" not in told


def test_edges_are_shown_as_they_are_written(run, tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n" + "".join(f"{i % 9},{i % 2}\n" for i in range(40)))
    assert "edges in ascending order. Got 3:1 instead." in run("fit", "d.csv", "--bins", "a=3:1", code=1).stderr


def test_options_that_a_format_does_not_know(run, tmp_path):
    pytest.importorskip("pyarrow")
    from latentree.formats._parquet import write_parquet

    write_parquet({"a": [1, 2, 1], "b": ["x", "y", "x"]}, tmp_path / "d.parquet")
    told = run("fit", "d.parquet", "--encoding", "latin-1", code=1).stderr
    assert "--encoding does not apply to files of format 'parquet'" in told


def test_decimal_commas_in_questions(run, tmp_path):
    rows = [f"{1 + i % 7 / 4:.2f};{'ja' if i % 3 else 'nein'}".replace(".", ",") for i in range(60)]
    (tmp_path / "d.csv").write_text("Größe;b\n" + "\n".join(rows) + "\n", encoding="utf-8")
    run("fit", "d.csv", "--decimal", ",", "--bins", "Größe=3", "--classes", "2", "--out", "m.json")
    comma, point = (run("query", "m.json", "--ask", "b", "--given", f"Größe={x}").stdout for x in ("1,75", "1.75"))
    assert comma == point and "ja" in comma


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--chains", "1000000"), "--chains"),
        (("--draws", "1000000000000"), "--draws"),
        (("--draws", "100000000"), "GB of memory. Draw fewer"),
    ],
)
def test_more_draws_than_a_machine_holds(run, options, told, monkeypatch):
    monkeypatch.setattr("latentree.bayes._sampler.memory", lambda: 10**10)
    result = run("sample", "carcinoma", *options, code=1 if told.startswith("GB") else 2)
    assert told in result.stderr


def test_more_classes_than_a_machine_holds(monkeypatch):
    table = datasets.load("carcinoma")
    with pytest.raises(ParameterError, match=r"at most 32,767\. Got 1,000,000,000 instead; there are 20 distinct"):
        fit_classes(table, 10**9, rng=np.random.default_rng(0))
    monkeypatch.setattr("latentree.estimation._classes.memory", lambda: 10**6)
    with pytest.raises(ParameterError, match="need about 0 GB of memory"):
        fit_classes(table, 10, rng=np.random.default_rng(0))


def test_a_prior_that_leaves_nothing_of_the_data():
    frame = {"a": [1, 2, 1, 2, 2], "b": [1, 1, 2, 2, 2]}
    pd = pytest.importorskip("pandas")
    with pytest.raises(ParameterError, match=r"at most 1e\+15"):
        lt.LatentClass(2, prior=1e308, random_state=0).fit(pd.DataFrame(frame))


def test_the_only_fit_is_not_starred(run):
    shown = run("fit", "carcinoma", "--classes", "2-3", "--time-limit", "0").stdout
    assert "*" not in shown and "The time was over before 2, 3 classes" in shown
    assert "-524.46" in shown  # one class needs no time: its probabilities are the shares in the data


def test_a_limit_that_reading_alone_exceeds_is_said(run):
    assert "longer than --time-limit allows" in run("fit", "carcinoma", "--time-limit", "0.000001").stderr
