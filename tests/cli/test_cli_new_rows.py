"""latentree predict, impute and score --by-row: rows that a model has not seen."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from messy import strict

import latentree as lt
from latentree.cli import stream


@pytest.fixture
def learned(run, tmp_path):
    """A model of carcinoma without its last rows, and these, with gaps."""
    ratings = lt.datasets.load_frame("carcinoma").sample(frac=1, random_state=0)
    ratings.iloc[:90].to_csv(tmp_path / "old.csv", index=False)
    new = ratings.iloc[90:].astype("Int64")
    new.to_csv(tmp_path / "new.csv", index=False)
    new.mask(np.random.default_rng(0).random(new.shape) < 0.2).to_csv(tmp_path / "gaps.csv", index=False)
    run("learn", "old.csv", "--set", "trials=0", "--n-jobs", "1", "--out", "m.json")
    return tmp_path


def test_predictions_and_their_scores(run, learned):
    done = run("predict", "m.json", "new.csv", "--target", "G", "--out", "p.csv", "--json")
    found, rows = strict(done.stdout), pd.read_csv("p.csv")
    truth = pd.read_csv("new.csv")["G"]
    assert list(rows.columns) == ["row", "p_1", "p_2", "choice"] and rows["row"].tolist() == list(range(1, 29))
    assert found["accuracy"] == pytest.approx((rows["choice"] == truth).mean()) and found["n_known"] == 28
    p = np.where(truth == 2, rows["p_2"], rows["p_1"])
    assert found["log_loss"] == pytest.approx(-np.log(p).mean(), abs=1e-4)
    assert found["brier"] == pytest.approx(((rows["p_2"] - (truth == 2)) ** 2).mean(), abs=1e-5)
    assert 0.9 < found["auc"] <= 1 and found["calibration"] and found["states"] == [1, 2]
    model, table = lt.load("m.json"), lt.Table.read("new.csv", variables=lt.load("m.json").variables)
    assert rows[["p_1", "p_2"]].to_numpy() == pytest.approx(lt.prediction.predicted(model, table, "G"), abs=1e-6)
    without = pd.read_csv("new.csv").drop(columns="G")
    without.to_csv("without.csv", index=False)
    unknown = strict(run("predict", "m.json", "without.csv", "--target", "G", "--json").stdout)
    assert unknown["accuracy"] is None and unknown["columns"]["choice"] == rows["choice"].tolist()
    assert "accuracy" in run("predict", "m.json", "new.csv", "--target", "G").stderr


def test_the_most_probable_rows(run, learned):
    every = pd.read_csv(learned / "new.csv")
    run("predict", "m.json", "new.csv", "--target", "G", "--out", "p.csv")
    best = strict(
        run("predict", "m.json", "new.csv", "--target", "G", "--top", 5, "--out", "best.csv", "--json").stdout
    )
    rows, ranked = pd.read_csv("best.csv"), pd.read_csv("p.csv").sort_values("p_2", ascending=False, kind="stable")
    assert rows["row"].tolist() == ranked["row"].tolist()[:5]
    assert best["top"] == {"n": 5, "state": 2, "hits": float((every["G"].iloc[rows["row"] - 1] == 2).sum())}
    other = ("--target", "G", "--top", 5, "--state", 1, "--json")
    assert strict(run("predict", "m.json", "new.csv", *other).stdout)["top"]["state"] == 1
    assert "has no state '9'" in run("predict", "m.json", "new.csv", *other[:5], "9", code=1).stderr


def test_what_cannot_be_predicted(run, learned):
    latent = lt.load("m.json").tree.names[0]
    assert "is latent" in run("predict", "m.json", "new.csv", "--target", latent, code=1).stderr
    assert "Did you mean 'G'" in run("predict", "m.json", "new.csv", "--target", "g", code=1).stderr
    pd.read_csv("new.csv").drop(columns="B").to_csv("less.csv", index=False)
    for call in (("predict", "--target", "G"), ("impute",), ("score", "--by-row")):
        assert "lack 'B'" in run(call[0], "m.json", "less.csv", *call[1:], code=1).stderr
    pd.read_csv("new.csv").assign(C="x").to_csv("odd.csv", index=False)
    assert "Column 'C'" in run("predict", "m.json", "odd.csv", "--target", "G", code=1).stderr
    assert "is latent" not in run("predict", "m.json", "odd.csv", "--target", "G", "--unseen", "missing").stderr
    assert "--by-row" in run("score", "m.json", "new.csv", "--out", "x.csv", code=2).stderr


def test_rows_are_scored_and_outliers_seen(run, learned):
    total = strict(run("score", "m.json", "new.csv", "--json").stdout)
    each = strict(run("score", "m.json", "new.csv", "--by-row", "--out", "rows.csv", "--json").stdout)
    rows = pd.read_csv("rows.csv")
    assert each["log_likelihood"] == pytest.approx(total["log_likelihood"], abs=1e-6) and each["n"] == total["n"] == 28
    assert rows["log_likelihood"].sum() == pytest.approx(total["log_likelihood"], abs=1e-4)
    own = run("score", "m.json", "old.csv", "--by-row").stdout.splitlines()
    shares = sorted(float(line.split(",")[2]) for line in own[1:])
    assert own[0] == "row,log_likelihood,quantile" and shares[-1] == 1 and shares[0] <= 0.02
    odd = pd.DataFrame([dict(zip("ABCDEFG", (1, 2, 1, 2, 1, 2, 1), strict=True))])
    odd.to_csv("odd.csv", index=False)
    assert run("score", "m.json", "odd.csv", "--by-row").stdout.splitlines()[1].endswith(",0.0")
    old = lt.load("m.json")
    lt.Model(old.tree, old.variables, old.parameters).save("bare.json")
    bare = run("score", "bare.json", "odd.csv", "--by-row")
    assert "no quantiles" in bare.stderr and bare.stdout.splitlines()[1].endswith(",")


def test_missing_cells_are_filled(run, learned):
    gaps = pd.read_csv("gaps.csv").assign(note="as it was")
    gaps.to_csv("gaps.csv", index=False)
    found = strict(run("impute", "m.json", "gaps.csv", "--out", "full.csv", "--json").stdout)
    full = pd.read_csv("full.csv")
    assert list(full.columns) == list(gaps.columns) and not full.isna().any().any()
    seen = gaps.notna()
    assert (full.where(seen) == gaps.where(seen)).where(seen, True).all().all()
    assert found["n_filled"] == int(gaps.isna().sum().sum()) and found["n_left"] == 0
    assert found["filled"] == {name: int(n) for name, n in gaps.isna().sum().items() if n}
    run("impute", "m.json", "gaps.csv", "--copies", 3, "--seed", 1, "--out", "copies.csv.gz")
    copies = pd.read_csv("copies.csv.gz")
    assert copies["copy"].value_counts().to_dict() == {1: 28, 2: 28, 3: 28}
    run("impute", "m.json", "gaps.csv", "--copies", 3, "--seed", 1, "--out", "again.csv.gz")
    with gzip.open("copies.csv.gz") as one, gzip.open("again.csv.gz") as two:
        assert one.read() == two.read()
    assert "did not write it" in run("impute", "m.json", "gaps.csv", "--out", "full.csv", code=1).stderr


def test_files_of_any_size_are_read_in_pieces(run, learned, monkeypatch):
    calls = (
        ("predict", "--target", "G"),
        ("predict", "--target", "G", "--top", "7"),
        ("score", "--by-row"),
        ("impute", "--copies", "2"),
    )
    once = [run(call[0], "m.json", "gaps.csv", *call[1:]).stdout for call in calls]
    monkeypatch.setattr("latentree.scale._sources._rows", lambda *_: 5)
    assert stream.CELLS < 10**7
    for call, whole in zip(calls, once, strict=True):
        pieces = run(call[0], "m.json", "gaps.csv", *call[1:]).stdout
        assert sorted(pieces.splitlines()) == sorted(whole.splitlines())
        if call[0] != "impute":  # whose copies come piece by piece
            assert pieces == whole
    (learned / "folder").mkdir()
    rows = pd.read_csv("gaps.csv")
    for i in range(2):
        rows.iloc[i * 14 : i * 14 + 14].to_csv(f"folder/{i}.csv", index=False)
    assert run("predict", "m.json", "folder", "--target", "G").stdout == once[0]
    rows.to_parquet("gaps.parquet")
    assert run("score", "m.json", "gaps.parquet", "--by-row").stdout == once[2]


def test_weights_are_repetitions(run, tmp_path):
    run("learn", "hiv_test", "--n-jobs", "1", "--out", "m.json")
    weighted = strict(run("predict", "m.json", "hiv_test", "--target", "V4", "--json").stdout)
    frame = lt.datasets.load_frame("hiv_test")
    frame.loc[frame.index.repeat(frame["freq"])].drop(columns="freq").to_csv(tmp_path / "long.csv", index=False)
    long = strict(run("predict", "m.json", "long.csv", "--target", "V4", "--json").stdout)
    names = ("accuracy", "log_loss", "brier", "auc", "n_known")
    assert {n: weighted[n] for n in names} == pytest.approx({n: long[n] for n in names})
    assert weighted["n_rows"] == 16 and long["n_rows"] == 428


def test_something_new_has_a_probability(run, learned):
    odd = pd.read_csv("new.csv").astype(object)
    odd.iloc[0, 0], odd.iloc[1, 2] = 7, None
    odd.to_csv("odd.csv", index=False)
    assert "not a known state" in run("score", "m.json", "odd.csv", code=1).stderr
    missing = pd.read_csv(_rows(run, "missing"))["log_likelihood"]
    smooth = pd.read_csv(_rows(run, "smooth"))["log_likelihood"]
    n = 90
    cells = np.array([[6, 1], [6, 0], *[[7, 0]] * 26])
    assert (smooth - missing).to_numpy() == pytest.approx(cells @ [np.log(n / (n + 1)), -np.log(n + 1)], abs=1e-5)
    total = strict(run("score", "m.json", "odd.csv", "--unseen", "smooth", "--json").stdout)
    assert total["log_likelihood"] == pytest.approx(smooth.sum(), abs=1e-4)
    d = total["n_parameters"]
    assert total["bic"] == pytest.approx(total["log_likelihood"] - d / 2 * np.log(28)) and total["n"] == 28


def _rows(run, unseen):
    run("score", "m.json", "odd.csv", "--unseen", unseen, "--by-row", "--out", f"{unseen}.csv")
    return f"{unseen}.csv"
