"""The published 10-fold study: its folds, its page, and that the page says what was measured."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from studies import ten_fold
from studies.page import linked
from studies.results import Question, Results

PAGE = Path(__file__).parents[2] / "docs" / "reproduction" / "ten-fold-study.md"


@pytest.fixture
def folder(tmp_path):
    """Forty-three rows of three binary variables that depend on each other; the first declares a state nobody has."""
    rng = np.random.default_rng(0)
    z = rng.random(43) < 0.5
    codes = (z[:, None] ^ (rng.random((43, 3)) < 0.1)).astype(int)
    lines = ["@relation x", "@attribute a {0,1,2}", "@attribute b {0,1}", "@attribute c {0,1}", "@data"]
    lines += [",".join(map(str, row)) for row in codes]
    (tmp_path / "study10").mkdir()
    with gzip.open(tmp_path / "study10" / "hiv_test.arff.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    published = ["data,method,fold,train_bic,test_log_likelihood,seconds"]
    published += [f"hiv_test,{m},{f},-90.{f},-9.5,0.5" for m in ("EAST", "BI", "LCM", "IL") for f in range(1, 11)]
    (tmp_path / "study10" / "published.csv").write_text("\n".join(published) + "\n")
    return tmp_path, codes


def test_folds_are_those_of_the_study(folder):
    data, codes = folder
    for fold, tested in ((1, slice(0, 4)), (2, slice(4, 8)), (10, slice(36, 43))):
        train = ten_fold.training_rows("hiv_test", fold, data)
        assert train.cardinalities.tolist() == [3, 2, 2]  # declared states count
        np.testing.assert_array_equal(train.codes[train.inverse], np.delete(codes, tested, axis=0))


def test_parts_are_kept_and_the_page_is_made_of_them(folder, monkeypatch):
    data, _ = folder
    file, page = data / "kept.jsonl", data / "page.md"
    common = ["--data", str(data), "--sets", "hiv_test", "--results", str(file), "--out", str(page)]
    ten_fold.main([*common, "--folds", "1"])
    ten_fold.main([*common, "--folds", "1-2"])
    records = Results(file).read()
    assert [r["fold"] for r in records] == [1, 2] and [r["train_rows"] for r in records] == [39, 39]
    assert records[0]["published"]["EAST"] == {"bic": -90.1, "test": -9.5, "seconds": 0.5}
    assert set(records[0]["published"]) == {"EAST", "BI", "LCM"}
    text = page.read_text()
    for r in records:
        gap = r["value"] + 90 + r["fold"] / 10
        assert f"| {r['fold']} | {r['value']:,.2f} | -90.{r['fold']}0 | {gap:+,.2f} | {r['latents']} |" in text
    assert "2 of 110 folds,\n1 of 11 sets, seed 0, 1 thread;" in text
    monkeypatch.setattr(ten_fold, "searched", None)  # nothing is searched again
    ten_fold.main([*common, "--folds", "1-2"])
    page.unlink()
    ten_fold.main(["--table", "--results", str(file), "--out", str(page)])
    assert page.read_text() == text
    with pytest.raises(SystemExit):
        ten_fold.main(["--folds", "0-3"])


def made(name, fold, value, cpu=1.0, **more):
    published = {p: {"bic": -100.0, "test": -20.0, "seconds": 50.0} for p in ("EAST", "BI", "LCM")}
    if name == "news_100":
        published = {"BI": published["BI"], "LCM": {"bic": -90.0, "test": -30.0, "seconds": 5.0}}
    limit = ten_fold.SETS[name].time_limit
    asked = Question(f"{name}/{fold}", 0, time_limit=limit).plain()
    size = {"train_rows": 90.0, "test_rows": 10.0, "variables": 4}
    how = {"code": "c", "commit": "k", "date": "2026-01-01", "jobs": 1, "wall": 2.0, "latents": 2, "ended": "exhausted"}
    tested = {"test_log_likelihood": -25.0, "impossible": 0}
    return {**asked, **how, **size, **tested, "set": name, "fold": fold, "value": value, "cpu": cpu} | {
        "published": published,
        **more,
    }


def test_what_is_missed_is_told():
    records = [made("car_evaluation", 1, -99.0), made("car_evaluation", 2, -100.2, cpu=5.0)]
    text = ten_fold.page(records)
    line = next(line for line in text.splitlines() if line.startswith("| car_evaluation | 90 x 4"))
    assert "| EAST | -0.2 | +0.4 | 1 of 2 | 3.0 | 5.0 | 50.0 | 10.00% | 3% | 1 of 2 |" in line
    assert "| hiv_test | 90 x 4 | 1 | EAST | +0.0 |" in ten_fold.page([made("hiv_test", 1, -100.0)])
    assert "| 2 s | 0 of 1 |" in ten_fold.page([made("hiv_test", 1, -100.0, cpu=2.1)])


def test_news_is_compared_with_the_better_of_two_programs():
    text = ten_fold.page([made("news_100", 4, -95.0)])
    assert "| 4 | -95.00 | -100.00 | -90.00 | -5.00 |" in text
    assert "| news_100 | 90 x 4 | 1 | BI and LCM | -5.0 | -5.0 | 0 of 1 |" in text


def test_every_figure_of_the_page_is_that_of_the_kept_results():
    records = Results(ten_fold.RESULTS).read()
    page = PAGE.read_text("utf-8")
    again = "make it again: python -m studies.ten_fold --table --out docs/reproduction/ten-fold-study.md"
    assert page == linked(ten_fold.page(records)), again
    assert linked(ten_fold.page([{**r, "value": r["value"] - 1.0} for r in records])) != page
    assert all(f"| {r['value']:,.2f} |" in page for r in ten_fold.latest(records, by=("set",)) if not r["options"])
