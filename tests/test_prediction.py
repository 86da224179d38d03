"""Models on new rows: predictions and their scores, completed cells, quantiles, and the imputer."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import latentree as lt
from latentree import LatentClass, LatentTree, LatentTreeImputer, Model, ModelError, ParameterError, Table, Tree
from latentree._variables import numbered
from latentree.infer import query, sample
from latentree.prediction import PredictionScores, _Ranks, imputed, predicted, quantiles_of, row_quantiles


@pytest.fixture(scope="module")
def model():
    edges = [("a", "b"), ("a", "x1"), ("a", "x2"), ("b", "x3"), ("b", "x4")]
    names = ["x1", "x2", "x3", "x4"]
    tree = Tree.from_edges(edges, {"a": 2, "b": 3, "x1": 2, "x2": 3, "x3": 2, "x4": 2}, names)
    return Model.random(tree, numbered([2, 3, 2, 2]), np.random.default_rng(3), dominant=0.6)


def test_a_prediction_is_a_query_and_does_not_look_at_the_target(model):
    rows = [[0, 2, -1, 1], [1, 0, 1, 0], [-1, -1, -1, -1]]
    for truth in (-1, 0, 2):
        p = predicted(model, Table.from_codes([[a, truth, c, d] for a, _, c, d in rows], model.variables), "x2")
        for own, (a, _, c, d) in zip(p, rows, strict=True):
            given = {n: v for n, v in zip(("x1", "x3", "x4"), (a, c, d), strict=True) if v >= 0}
            assert own == pytest.approx(query(model, "x2", given))


def test_a_target_that_no_row_has(model):
    table = Table.from_codes([[0, 0, 0, 0]], model.variables)
    with pytest.raises(ParameterError, match="'a' is latent"):
        predicted(model, table, "a")
    with pytest.raises(ModelError, match="no variable 'x9'"):
        predicted(model, table, "x9")


@pytest.mark.parametrize("k", [2, 4])
def test_scores_are_those_of_scikit_learn(k):
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.ones(k), 200).round(2) + 1e-3
    p /= p.sum(axis=1, keepdims=True)
    truth, weights = rng.integers(-1, k, 200), rng.integers(0, 4, 200).astype(float)
    whole, pieces, repeated = PredictionScores(k), PredictionScores(k), PredictionScores(k)
    whole.add(p, truth, weights)
    for part in np.array_split(np.arange(200), 7):
        pieces.add(p[part], truth[part], weights[part])
    again = np.repeat(np.arange(200), weights.astype(int))
    repeated.add(p[again], truth[again])
    found = whole.to_dict()
    for other in (pieces.to_dict(), repeated.to_dict()):
        assert {n: other[n] for n in ("n", "accuracy", "log_loss", "brier", "auc")} == pytest.approx(
            {n: found[n] for n in ("n", "accuracy", "log_loss", "brier", "auc")}
        )
    known = truth >= 0
    y, w, q = truth[known], weights[known], p[known]
    assert found["log_loss"] == pytest.approx(log_loss(y, q, sample_weight=w, labels=range(k)))
    assert found["accuracy"] == pytest.approx(np.average(q.argmax(axis=1) == y, weights=w))
    if k == 2:
        assert found["auc"] == pytest.approx(roc_auc_score(y, q[:, 1], sample_weight=w))
        assert found["brier"] == pytest.approx(brier_score_loss(y, q[:, 1], sample_weight=w))
    else:
        areas = [roc_auc_score(y == s, q[:, s], sample_weight=w) for s in range(k)]
        assert found["auc"] == pytest.approx(np.mean(areas))
    cells = found["calibration"]
    assert sum(c["n"] for c in cells) == pytest.approx(k * found["n"])
    assert all(c["from"] - 1e-9 <= c["predicted"] <= c["to"] + 1e-9 for c in cells)


def test_nothing_known_has_no_score():
    scores = PredictionScores(2)
    scores.add(np.array([[0.5, 0.5], [np.nan, np.nan]]), np.array([-1, 1]))
    assert scores.to_dict()["accuracy"] is None and scores.to_dict()["n"] == 0


def test_many_probabilities_are_merged(monkeypatch):
    from latentree import prediction

    monkeypatch.setattr(prediction, "MOST_DISTINCT", 50)
    rng = np.random.default_rng(0)
    ranks, p, y = _Ranks(), rng.random(5000), rng.random(5000)
    hit = (y < p).astype(float)
    for part in np.array_split(np.arange(5000), 9):
        ranks.add(p[part], hit[part], 1 - hit[part])
    assert ranks.area() == pytest.approx(roc_auc_score(hit, p), abs=1e-4)


# ---- cells ---------------------------------------------------------------------------------------------------------


def test_the_most_probable_value_of_each_cell(model):
    rows = np.array(list(itertools.product((-1, 0, 1), (-1, 2), (-1, 0), (-1, 1))))
    filled = imputed(model, Table.from_codes(rows, model.variables))
    assert (filled >= 0).all() and (filled[rows >= 0] == rows[rows >= 0]).all()
    for own, row in zip(filled, rows, strict=True):
        given = {f"x{i + 1}": v for i, v in enumerate(row) if v >= 0}
        for i in np.flatnonzero(row < 0):
            assert own[i] == query(model, f"x{i + 1}", given).argmax()


def test_draws_have_the_joint_distribution_of_the_missing_cells(model):
    n = 40_000
    table = Table.from_codes(np.tile([1, -1, -1, 0], (n, 1)), model.variables)
    rng = np.random.default_rng(1)
    drawn = imputed(model, table, rng.random((n, model.tree.n_nodes)))
    assert (drawn[:, 0] == 1).all() and (drawn[:, 3] == 0).all()
    truth = query(model, ["x2", "x3"], {"x1": 1, "x4": 0})
    share = np.histogram2d(drawn[:, 1], drawn[:, 2], bins=[range(4), range(3)])[0] / n
    assert np.abs(share - truth).max() < 4 * np.sqrt(0.25 / n)


def test_impossible_rows_stay_as_they_are():
    tables = {"z": [0.5, 0.5], "x1": [[1, 0], [0, 1]], "x2": [[1, 0], [0, 1]], "x3": [[0.5, 0.5]] * 2}
    certain = Model.from_tables(Tree.star(2, [2, 2, 2]), numbered([2, 2, 2]), tables)
    table = Table.from_codes([[0, 1, -1], [0, -1, 1]], certain.variables)
    for uniform in (None, np.full((2, 4), 0.5)):
        assert imputed(certain, table, uniform).tolist() == [[0, 1, -1], [0, 0, 1]]


# ---- quantiles -----------------------------------------------------------------------------------------------------


def test_quantiles_are_shares_of_the_training_rows(model):
    codes = sample(model, 1000, np.random.default_rng(0))
    table = Table.from_codes(codes, model.variables)
    known = row_quantiles(model, table)
    rows = lt.infer.log_likelihood_rows(model, table)
    share = np.array([(rows <= x + 1e-12).mean() for x in rows])
    found = quantiles_of(known, rows)
    assert (found <= share + 1e-9).all() and (found >= share - 0.011).all()
    assert known == pytest.approx(row_quantiles(model, Table.from_codes(np.repeat(codes, 3, 0), model.variables)))
    assert quantiles_of(known, np.array([-np.inf, 0.0, np.nan]))[:2].tolist() == [0.0, 1.0]
    assert quantiles_of({}, rows) is None and quantiles_of({"row_quantiles": [1.0]}, rows) is None


# ---- estimators ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ratings():
    return lt.datasets.load_frame("carcinoma")


@pytest.mark.parametrize("make", [lambda: LatentTree(random_state=0), lambda: LatentClass(3, random_state=0)])
def test_estimators_on_new_rows(make, ratings, tmp_path):
    own = make().fit(ratings)
    p = own.predict_column_proba(ratings, "G")
    assert p.shape == (118, 2) and np.allclose(p.sum(axis=1), 1)
    hidden = ratings.assign(G=None)
    assert np.allclose(own.predict_column_proba(hidden, "G"), p)
    assert (own.predict_column(ratings, "G") == ratings["G"]).mean() > 0.9
    with pytest.raises(ModelError, match="no variable 'H'"):
        own.predict_column(ratings, "H")
    share = own.score_quantiles(ratings)
    assert share.min() >= 0 and share.max() == 1 and (np.argsort(share) == np.argsort(share, kind="stable")).any()
    own.save(tmp_path / "m.json")
    model = lt.load(tmp_path / "m.json")
    assert np.allclose(quantiles_of(model.provenance, own.score_samples(ratings)), share)
    gaps = ratings.astype("float").mask(np.random.default_rng(0).random(ratings.shape) < 0.2)
    filled = own.impute(gaps)
    assert list(filled.columns) == list(ratings.columns) and (filled.dtypes == ratings.dtypes).all()
    seen = gaps.notna().to_numpy()
    assert (filled.to_numpy()[seen] == ratings.to_numpy()[seen]).all()
    assert (filled.to_numpy() == ratings.to_numpy()).mean() > 0.95
    copies = own.impute(gaps, n_copies=3, random_state=1)
    assert len(copies) == 3 and not copies[0].equals(copies[1])
    assert all(a.equals(b) for a, b in zip(copies, own.impute(gaps, n_copies=3, random_state=1), strict=True))
    with pytest.raises(ParameterError, match="n_copies"):
        own.impute(gaps, n_copies=0)


def test_the_imputer_in_a_pipeline(ratings):
    target = ratings["G"]
    gaps = ratings.drop(columns="G").astype("float").mask(np.random.default_rng(1).random((118, 6)) < 0.15)
    steps = make_pipeline(LatentTreeImputer(random_state=0), OneHotEncoder(), LogisticRegression())
    assert steps.fit(gaps, target).score(gaps, target) > 0.9
    imputer = steps[0]
    assert imputer.get_feature_names_out().tolist() == list(gaps.columns)
    array = LatentTreeImputer(random_state=0).fit_transform(gaps.to_numpy())
    assert isinstance(array, np.ndarray) and not np.isnan(array.astype(float)).any()
    drawn = LatentTreeImputer(draw=True, random_state=0).fit(gaps)
    assert drawn.transform(gaps).equals(drawn.transform(gaps))
    with pytest.raises(ParameterError, match="draw"):
        LatentTreeImputer(draw="yes").fit(gaps)
    assert isinstance(pd.DataFrame(drawn.transform(gaps)), pd.DataFrame)


# ---- values that were not there ------------------------------------------------------------------------------------


def test_something_new_has_a_probability():
    old = pd.DataFrame({"a": list("xy") * 20, "b": list("uv") * 20, "c": list("xy") * 20})
    rows = pd.DataFrame({"a": ["x", "z", "z", None], "b": ["u", "u", "w", "u"], "c": ["x", "x", "x", "x"]})
    for own in (LatentTree(unseen="smooth", random_state=0), LatentClass(2, unseen="smooth", random_state=0)):
        own.fit(old)
        known = lt.infer.log_likelihood_rows(own.model_, own._table(rows))
        p, q = np.log(1 / 41), np.log(40 / 41)
        assert own.score_samples(rows) - known == pytest.approx([3 * q, 2 * q + p, q + 2 * p, 2 * q])
        assert np.isfinite(own.score(rows))
        total = 0.0  # over all rows, "something new" being one more value of each column
        for a, b, c in itertools.product("xyz", "uvw", "xyz"):
            total += np.exp(own.score_samples(pd.DataFrame({"a": [a], "b": [b], "c": [c]})))[0]
        assert total == pytest.approx(1)
    declared = old.astype({"a": pd.CategoricalDtype(["x", "y", "z"])})
    with pytest.warns(lt.LatentreeWarning, match="left out"):
        own = LatentClass(2, unseen="smooth", random_state=0).fit(declared)
    assert own.score_samples(rows.astype(declared.dtypes))[1] == pytest.approx(
        lt.infer.log_likelihood_rows(own.model_, own._table(rows))[1] + 2 * np.log(40 / 41) + np.log(1 / 41)
    )
