"""Series of searches in benchmarks/: kept one by one, made in parts, and their tables."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks import bice, fresh, seeds, trees
from studies import results as kept_results, search_scores, selection, ten_fold
from studies.results import Question, Results, code_version, latest, method_options

from latentree import datasets
from latentree.dimension import effective_dimension
from latentree.errors import ParameterError

ROOT = Path(__file__).parents[2]


def never(*_, **__):
    raise AssertionError("what is kept is not searched again")


@pytest.mark.parametrize("module", [kept_results, ten_fold, seeds, fresh, bice, trees])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_the_trees_of_figure_1_have_their_published_dimensions():
    assert doctest.run_docstring_examples(selection.figure_1, vars(selection)) is None
    assert [(t.n_parameters, effective_dimension(t)) for t in selection.figure_1()] == [(45, 43), (44, 44)]


def test_results_are_added_to_and_found(tmp_path):
    results = Results(tmp_path / "new" / "some.jsonl")
    assert results.read() == [] and results.find(data="x") is None
    results.add({"data": "x", "seed": 0, "value": -1.0})
    results.add({"data": "x", "seed": 0, "value": -2.0})
    assert results.find(data="x", seed=0)["value"] == -2.0  # the last answer
    assert results.find(data="x", seed=1) is None
    with pytest.raises(ValueError, match="JSON"):
        results.add({"value": float("inf")})
    assert len(results.read()) == 2


def test_of_each_set_the_last_code_counts():
    def made(data, seed, code, value=0.0):
        return {**Question(data, seed).plain(), "code": code, "value": value}

    old, new = made("a", 0, "x"), made("a", 1, "y")
    other, again = made("b", 0, "x", -1.0), made("b", 0, "x", -2.0)
    assert latest([old, other, new, again]) == [again, new]
    assert latest([old, other, new], code="x") == [old, other]


def test_what_is_asked_of_a_search_is_read_from_words():
    assert method_options("swift", ["trials=7", "tol=3.5"]) == {"trials": 7, "tol": 3.5}
    assert method_options("swift", ["resume=false"]) == {"resume": False}  # of learn itself
    with pytest.raises(ParameterError, match="NAME=VALUE"):
        method_options("swift", ["trials"])
    with pytest.raises(ParameterError):
        method_options("swift", ["nonsense=1"])


def test_seeds_are_searched_once_for_each_state_of_the_code(tmp_path, monkeypatch, capsys):
    file = tmp_path / "seeds.jsonl"
    arguments = ["--sets", "values", "--seeds", "0,1", "--results", str(file)]
    seeds.main(arguments)
    first = capsys.readouterr().out
    assert "| values | -528.7 |  | 2 | -528.7 | -528.7 | -528.7 | 2 of 2 (1) | yes |" in first
    records = Results(file).read()
    assert [r["seed"] for r in records] == [0, 1] and all(r["code"] == code_version()["code"] for r in records)
    assert all(r["cpu"] > 0 and r["wall"] > 0 and r["ended"] == "exhausted" and r["latents"] == 1 for r in records)
    with monkeypatch.context() as patch:
        patch.setattr(kept_results, "searched", never)
        seeds.main(arguments)
        assert capsys.readouterr().out == first
        seeds.main(["--table", "--results", str(file)])
        assert capsys.readouterr().out == first
    seeds.main([*arguments, "--set", "trials=0"])  # other options are another question
    assert len(Results(file).read()) == 4
    seeds.main([*arguments[:3], "0", *arguments[4:], "--fresh"])
    assert [r["seed"] for r in Results(file).read()] == [0, 1, 0, 1, 0]
    monkeypatch.setattr(seeds, "BASELINE", file)
    old = [{**r, "code": "another"} for r in records]
    file.write_text("".join(json.dumps(r) + "\n" for r in old))
    seeds.main(arguments)  # another state of the code
    assert len(Results(file).read()) == 4


def test_latent_class_models_stand_beside(tmp_path, monkeypatch, capsys):
    arguments = ["--sets", "values", "--seeds", "0", "--results", str(tmp_path / "seeds.jsonl")]
    seeds.main([*arguments, "--classes"])
    monkeypatch.setattr(seeds, "learn_classes", never)
    seeds.main([*arguments, "--classes"])
    capsys.readouterr()
    seeds.main(arguments)
    assert "| values | -528.7 | -528.7 | 1 | -528.7 |" in capsys.readouterr().out  # the best tree is such a model


def test_a_seed_below_the_best_is_seen():
    def run(seed, value, **more):
        made = {"cpu": 1.0 + seed, "ended": "exhausted", "latents": 2, "commit": "c1", "found": None}
        return {**Question("heart", seed).plain(), **made, "value": value, **more}

    best = {"heart": {"bic": -100.0, "source": "?"}}
    runs = [run(0, -100.5, found=[3, 6]), run(1, -101.5, ended="time", found=[1, 6]), run(2, -100.0)]
    line = seeds.table(runs, best, Results(Path("nowhere.jsonl")), {"heart": -120.0}).splitlines()[-1]
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    assert cells == [
        *("heart", "-100.0", "-120.0", "3", "-101.5", "-100.5", "-100.0", "2 of 3 (1)", "-0.5", "2.0", "3.0", "", ""),
        *("2 of 3", "1 of 6", "2", "c1"),
    ]
    better = seeds.raised(best, [run(3, -99.0, options={"loss": 400.0})])
    assert better == {"heart": {"bic": -99.0, "source": "swift, loss=400.0, seed 3, at c1"}}
    assert seeds.raised(best, runs) == best


def test_best_known_values_are_no_lower_than_the_baseline():
    best = seeds.best_known()
    assert set(best) == set(seeds.CASES) and all(entry["source"] for entry in best.values())
    baseline = Results(seeds.BASELINE).read()
    assert {r["data"] for r in baseline} <= set(seeds.CASES) and {r["commit"] for r in baseline} == {"41913b7"}
    for record in [*baseline, *Results(seeds.RESULTS).read()]:
        assert record["value"] <= best[record["data"]]["bic"] + 0.1, "python -m benchmarks.seeds --raise-best"


def test_fresh_sets_are_drawn_anew_and_alike():
    a, again, b = (fresh.drawn("d7", i, rows=500) for i in (0, 0, 1))
    np.testing.assert_array_equal(a.codes, again.codes)
    assert a.n == 500 and a.n_variables == 7 and set(a.cardinalities) == {3}
    assert not np.array_equal(a.codes[a.inverse], b.codes[b.inverse])
    assert fresh.drawn("d12", 0, rows=50).n_variables == 12
    other = fresh.drawn("d7", 0, rows=500, series=1)
    assert not np.array_equal(a.codes[a.inverse], other.codes[other.inverse])
    given = datasets.sample_from("d7", 500, seed=0)
    assert not np.array_equal(a.codes[a.inverse], given.codes[given.inverse])


def test_where_the_default_is_not_the_best_is_told(tmp_path):
    def run(i, method, value, seed=0):
        return {**Question(f"d7/1/100/{i}", seed, method).plain(), "code": "c", "value": value, "cpu": 2.0}

    results = Results(tmp_path / "fresh.jsonl")
    for record in (
        *(run(0, "swift", -10.0), run(0, "swift", -10.2, seed=1), run(0, "east", -9.5)),  # within one
        *(run(1, "swift", -10.0), run(1, "swift", -30.0, seed=1), run(1, "east", -12.0)),  # the worst seed counts
        run(2, "swift", -10.0),  # nothing to compare with
    ):
        results.add(record)
    text = fresh.table(fresh.kept(results, {}, None))
    assert "| d7, 100 rows | swift | 1 of 2 | -20.0 | 2.0 | 2.0 | 10 |" in text
    assert "| d7, 100 rows | east | 1 of 2 | -2.0 | 2.0 | 2.0 | 4 |" in text
    assert text.splitlines()[-1] == "| d7/1/100/1 | -20.0 | swift | -10.0 |"


def test_fresh_sets_are_searched_in_parts(tmp_path, capsys):
    file = tmp_path / "fresh.jsonl"
    common = ["--families", "d7", "--sets", "0", "--rows", "200", "--results", str(file)]
    fresh.main([*common, "--methods", "swift", "--set", "trials=0"])
    fresh.main([*common, "--methods", "east", "--set", "trials=0"])
    assert [(r["method"], r["options"]) for r in Results(file).read()] == [("swift", {"trials": 0}), ("east", {})]
    assert "| d7, 200 rows | east |" in capsys.readouterr().out


def test_data_of_figure_1_and_what_was_found_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(search_scores, "ROWS", 1000)
    monkeypatch.setattr(bice, "STARTS", 4)
    np.testing.assert_array_equal(search_scores.drawn_from_m1(0).codes, search_scores.drawn_from_m1(0).codes)
    file = tmp_path / "bice.jsonl"
    arguments = ["--sets", "0", "--methods", "east", "--seeds", "0", "--results", str(file)]
    bice.main(arguments)
    first = capsys.readouterr().out
    fitted, run = Results(file).read()
    assert fitted["method"] == "fitted" and run["score"] == "bice" and run["tree"] in ("M1", "M2", "other")
    monkeypatch.setattr(bice, "searched", never)
    bice.main(arguments)
    assert capsys.readouterr().out == first and len(Results(file).read()) == 2
    good = {**fitted, "m1": -10.0, "m2": -12.0}
    found = [{**run, "seed": 0, "tree": "M1", "value": -10.0}, {**run, "seed": 1, "tree": "M2", "value": -12.0}]
    text = bice.table([good, *found])
    assert "| east | 1 of 2 | 1 of 2 | 1 of 2 |" in text
    assert "| figure 1/0 | -10.00 | -12.00 | M1 | M1 1 of 2 (worst -2.00) |" in text
    assert "| east | 0 of 0 |" in bice.table(
        [{**good, "m1": -13.0}, *found]
    )  # sets of which BICe prefers M2 do not count


def test_every_figure_of_the_page_is_that_of_the_kept_results():
    page = (ROOT / "docs" / "benchmarks-trees.md").read_text("utf-8")
    assert page == trees.page(), "make it again: python -m benchmarks.trees --out docs/benchmarks-trees.md"
    values = {f"{r['value']:,.1f}" for r in Results(seeds.RESULTS).read()}
    lines = [line for line in page.split("## Fresh data")[0].splitlines() if re.match(r"\| \S+ \| -\d", line)]
    assert lines and all(line.split(" | ")[4] in values for line in lines)
