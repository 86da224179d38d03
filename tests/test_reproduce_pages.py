"""Pages of studies made in parts: every figure and picture on them is that of the kept results."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from studies import (
    cardinality,
    cardinality_runs,
    estimation,
    identifiability,
    merging,
    page,
    parts,
    pictures,
    printed_ratios,
    reuters,
    reversible_jump,
    search,
    search_granularity,
    search_scores,
    searching,
    selection,
    tree_pictures,
    trees,
)
from studies.page import linked
from studies.parts import Answers, Parts
from studies.results import Results

PAGES = Path(__file__).parents[1] / "docs" / "reproduction"
STUDIES = {
    "cardinality": cardinality,
    "estimation": estimation,
    "identifiability": identifiability,
    "merging": merging,
    "reversible-jump": reversible_jump,
    "search": search,
    "selection": selection,
    "trees": trees,
}


def scaled(value):
    """The same record with other numbers."""
    if isinstance(value, dict):
        return {k: scaled(v) for k, v in value.items()}
    if isinstance(value, list):
        return [scaled(v) for v in value]
    return value if isinstance(value, bool | str) or value is None else value * 1.25


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_says_what_was_kept(name):
    study = STUDIES[name]
    records = Results(study.RESULTS).read()
    again = f"make it again: python -m studies.{study.__name__.split('.')[1]} --table --out docs/reproduction/{name}.md"
    text = (PAGES / f"{name}.md").read_text("utf-8")
    assert text == linked(study.page(records)), again
    assert linked(study.page([{**r, "answer": scaled(r["answer"])} for r in records])) != text


@pytest.mark.parametrize("name", [name for name, study in STUDIES.items() if hasattr(study, "pictures")])
def test_pictures_show_what_was_kept_and_are_small(name):
    study = STUDIES[name]
    drawn = study.pictures(Results(study.RESULTS).read())
    text = (PAGES / f"{name}.md").read_text("utf-8")
    assert drawn and {p.name for p in PAGES.glob(f"{name}-*.svg")} == set(drawn)
    for file, svg in drawn.items():
        assert f"({file})" in text and (PAGES / file).read_text("utf-8") == svg
        assert len(svg) < 100_000


@pytest.mark.parametrize(
    "module",
    [page, parts, pictures, printed_ratios, searching, tree_pictures, cardinality_runs, reuters, merging],
)
def test_examples_in_docstrings(module):
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_parts_are_made_once_and_those_of_one_size_are_shown(tmp_path):
    results, made = Results(tmp_path / "kept.jsonl"), []

    def answer(n, size):
        made.append((n, size))
        return {"value": n + size / 7}

    def make(size, cases, **more):
        for n in cases:
            Parts(results, say=lambda text: None, **more).make(
                "a", {"n": n}, {"sweeps": size}, lambda n=n: answer(n, size)
            )

    make(10, (1, 2))
    make(10, (1, 2))
    assert made == [(1, 10), (2, 10)]
    make(20, (1,))
    kept = Answers(results.read())
    assert kept.size("a") == {"sweeps": 10} and kept.of("a", n=1)["value"] == pytest.approx(1 + 10 / 7, rel=1e-6)
    make(20, (2,))
    assert Answers(results.read()).size("a") == {"sweeps": 20}  # complete now
    make(10, (1,), only=("b",))
    assert len(made) == 4
    make(10, (1,), fresh=True)
    assert len(made) == 5 and Answers(results.read()).size("a") == {"sweeps": 10}
    make(10, (1,), left_out=("cli",))  # by another reckoning the code is another
    assert len(made) == 6
    make(10, (1, 2), left_out=("cli", "report"), any_code=True)
    assert len(made) == 6


@pytest.mark.parametrize("name", ["reversible-jump"])
def test_a_small_run_writes_a_page_that_says_so(name, tmp_path, capsys):
    file, out = tmp_path / "kept.jsonl", tmp_path / f"{name}.md"
    small = ["--sweeps", "60", "--models", "2", "--problems", "2", "--runs", "2", "--results", str(file)]
    reversible_jump.main([*small, "--out", str(out), "--parts", "priors", "five rows", "sizes", "one data set"])
    text = out.read_text("utf-8")
    assert "one chain each of 60 sweeps after 60" in text and "2 models with 4 classes" in text
    assert "Point estimates" not in text  # not made
    assert (tmp_path / "reversible-jump-sizes-100-printed.svg").exists()


def test_models_that_contradict_conjectures_are_found(monkeypatch):
    """The known exception of binary leaves, and matrices of rank two, which have (3 + 4 - 2) 2 - 1 dimensions."""
    monkeypatch.setattr(identifiability, "MOST_STATES", 4)
    monkeypatch.setattr(identifiability, "MOST_LEAVES", 4)
    monkeypatch.setattr(identifiability, "MOST_CLASSES", 3)
    found = identifiability._general()["false"]
    assert [3, [2, 2, 2, 2], 14, 13] in found and [2, [3, 4], 11, 9] in found
    assert all(de < ds for *_, ds, de in found)
    ranks = dict((tuple(cut), rank) for cut, rank in identifiability._inside(1)["ranks"])
    assert ranks[()] == 7 and all(rank < 7 for cut, rank in ranks.items() if cut)


def test_the_guide_to_scores_says_what_the_study_found():
    guide = (PAGES.parent / "guides" / "choosing-a-score.md").read_text("utf-8")
    chosen = selection._choices(Answers(Results(selection.RESULTS).read()), "one latent", "chosen", selection.CRITERIA)
    n = selection._number(chosen, "BIC")
    more, fewer, both = (
        selection._against(chosen, *pair) for pair in (("AIC", "Laplace"), ("BIC", "Laplace"), ("ICL", "BIC"))
    )
    assert more[0] == "0" and f"chose more states than Laplace in {more[2]} of {n} data sets, fewer in none" in guide
    assert fewer[2] == "0" and f"chose fewer states than Laplace in {fewer[0]} of {n}, more in none" in guide
    assert f"fewer states in {both[0]} of {n}, more in {both[2]}" in guide and f"from {n} data sets" in guide


def test_the_guide_to_estimation_says_what_the_study_found():
    guide = (PAGES.parent / "guides" / "estimation.md").read_text("utf-8")
    kept = Answers(Results(estimation.RESULTS).read())
    labels = ("GCG", "CG", "EM-eta", "EG-eta", "GP-eta", "ACG-theta", "ACG-phi", "accelerated")
    for problem, name in (("proportion vector", "known components"), ("unknown components", "unknown components")):
        own = estimation._by_method(kept, problem)
        pairs = [list(zip(own[label], own["EM"], strict=True)) for label in labels]
        line = " | ".join(f"{estimation._mean_ratio(pair, 'passes_needed'):.2f}" for pair in pairs)
        assert f"| {name} | {line} |" in guide and f"problems ({len(own['EM'])} data sets each)" in guide
    for label in ("GCG", "EM-eta", "EG-eta", "CG", "GP-eta", "EM", "winner-take-all"):
        told = kept.of("default", method=label)
        assert f"| `{label.lower()}` | {told['passes']:.2g} | {told['time']:.2g} | {told['lower']} |" in guide


def test_more_runs_of_east_are_shown_best_first():
    kept = {"part": "coil, EAST", "size": {}, "date": "2026-01-01", "commit": "c", "cpu": 60.0}
    stages = list(trees.EAST)
    ends = [(stages[0], 0, -51_700.0, 12.0), (stages[0], 1, -51_600.04, 18.4), (stages[1], 0, -51_500.0, 20.0)]
    records = [
        {**kept, "which": {"stages": s, "run": i}, "answer": {"bic": bic, "seconds": t, "latents": 20}}
        for s, i, bic, t in ends
    ]
    text = trees._east_section(Answers(records))
    assert f"| {stages[0]} | -51,600.0, -51,700.0 | 12 to 18 |" in text
    assert f"| {stages[1]} | -51,500.0 | 20 to 20 |" in text
    assert trees._east_section(Answers([])) == ""


def test_scores_of_dhc_say_how_often_the_skeleton_was_missed():
    kept = {"part": "four scores", "size": {}, "date": "2026-01-01", "commit": "c", "cpu": 1.0}
    records = [
        {
            **kept,
            "which": {"data": "d7_1k", "score": label, "run": i},
            "answer": {"kl": 0.1, "parameters": 49, "recovered": label != "hold-out" and (label != "AIC" or i > 0)},
        }
        for label in search_scores.SCORES
        for i in range(3)
    ]
    text = " ".join(search_scores._recovered(Answers(records)).split())
    assert "AIC 2 of 3 (49 parameters on average)" in text and "BIC 3 of 3" in text
    assert "AIC misses it in 1 of 3 runs and hold-out misses it in 3 of 3 runs here" in text


def test_times_of_different_code_are_not_to_be_compared():
    kept = {"size": {}, "date": "2026-01-01", "cpu": 1.0, "answer": {"seconds": 6.0}}
    pairs = (("EAST", "old"), ("default (ours)", "new"))
    records = [{**kept, "part": "granularity", "which": {"method": m}, "commit": c} for m, c in pairs]
    assert "later code" in search_granularity._other_times(Answers(records))
    asked = {"data": "d7_5k", "score": "BIC"}
    records += [
        {**kept, "part": "four scores", "which": {**asked, "run": i}, "commit": c, "answer": {"seconds": t}}
        for i, (c, t) in enumerate((("old", 6.0), ("new", 3.0)))
    ]
    assert "took 6.0 s on d7_5k then and 3.0 s now" in search_granularity._other_times(Answers(records))
    assert search_granularity._other_times(Answers([{**r, "commit": "new"} for r in records])) == ""
