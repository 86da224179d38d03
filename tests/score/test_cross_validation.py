"""Scores of cases held out: known answers, standard errors, the one-standard-error rule, and where they are used."""

from __future__ import annotations

import numpy as np
import pytest

import latentree as lt
from latentree import DataError, Model, ModelError, ParameterError, Table, Tree
from latentree._folds import fold_weights
from latentree._variables import numbered
from latentree.comparison import chosen, compare_classes
from latentree.infer import sample_table
from latentree.score import SCORES, cross_validated


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def table():
    model = Model.random(Tree.star(3, [3] * 6), numbered([3] * 6), rng(4), dominant=0.7)
    return sample_table(model, 400, rng(5))


def test_known_answer_of_one_class():
    """One class: what is held out has the shares of the others, one case of the prior among them."""
    table = Table.from_codes([[0, 0], [0, 1], [1, 1]], [2, 2], weights=[9, 6, 5])
    fit = lt.fit_classes(table, 1, rng=rng())
    found = cross_validated(fit, folds=4)
    total, cases = 0.0, []
    for own in fold_weights(table, 4):
        rest = table.weights - own
        logs = np.zeros(3)
        for i, shares in enumerate(([15 / 20, 5 / 20], [9 / 20, 11 / 20])):
            counts = np.bincount(table.codes[:, i], rest, 2)
            spread = (rest.sum() * np.array(shares) + 0.5) / (rest.sum() + 1)
            logs += np.log((counts + spread) / (rest.sum() + 1))[table.codes[:, i]]
        total += own @ logs
        cases += np.repeat(logs, own.astype(int)).tolist()
    assert found.value == pytest.approx(total, abs=1e-6)
    assert found.standard_error == pytest.approx(np.std(cases) * np.sqrt(len(cases)), abs=1e-6)
    assert SCORES["cv"](fit) == pytest.approx(cross_validated(fit, folds=5).value)
    assert SCORES["cv10"](fit) == cross_validated(fit, folds=10).value
    assert SCORES["holdout"](fit) == cross_validated(fit, parts=1).value


def test_differences_are_paired(table):
    one, three = (cross_validated(lt.fit_classes(table, k, rng=rng())) for k in (1, 3))
    gain, error = three.difference(one)
    assert gain == pytest.approx(three.value - one.value) and 0 < error < three.standard_error + one.standard_error
    assert one.difference(three) == (pytest.approx(-gain), pytest.approx(error))
    assert three.difference(three) == (0.0, 0.0)
    with pytest.raises(ModelError, match="same cases"):
        one.difference(cross_validated(lt.fit_classes(table, 1, rng=rng()), seed=1))


def test_weights_order_and_threads_change_nothing(table):
    fit = lt.fit_classes(table, 2, rng=rng())
    known = cross_validated(fit)
    long = Table.from_codes(table.codes[table.inverse][rng().permutation(400)], table.variables)
    turned = long.select(list(long.names)[::-1])
    for other, jobs in ((long, 1), (turned, 1), (table, 2)):
        again = cross_validated(lt.estimation.evaluate(fit.model, other), n_jobs=jobs)
        assert again.value == pytest.approx(known.value, abs=1e-6)
        assert again.standard_error == pytest.approx(known.standard_error, abs=1e-6)


def test_more_folds_than_rows():
    table = Table.from_codes([[0, 0, 1], [1, 1, 0], [1, 0, 1]])
    fit = lt.fit_classes(table, 1, rng=rng())
    assert np.isfinite(cross_validated(fit, folds=3).value)  # leaving one out
    for folds in (4, 5):
        with pytest.raises(DataError, match=f"{folds} parts cannot be made of 3 rows"):
            cross_validated(fit, folds=folds)
    with pytest.raises(ParameterError, match="folds"):
        cross_validated(fit, folds=1)
    with pytest.raises(DataError, match="5 parts"):
        compare_classes(table, [1, 2], rng=0, scores="cv")


def test_the_simplest_within_one_standard_error():
    rows = [
        {"n_classes": 1, "cv": -100.0, "cv_error": 6.0},
        {"n_classes": 2, "cv": -92.0, "cv_error": 2.5},
        {"n_classes": 3, "cv": -91.0, "cv_error": 1.5},
        {"n_classes": 4, "cv": -90.0, "cv_error": 0.0},
    ]
    assert chosen(rows, "cv") == 1 and chosen(rows, "cv", {3, 4}) == 2
    plain = [{k: v for k, v in row.items() if k != "cv_error"} for row in rows]
    assert chosen(plain, "cv") == 3


def test_it_finds_the_classes_that_there_are(table):
    found = compare_classes(table, range(1, 6), rng=0, scores=("cv", "bic"))
    assert found.best_n_classes("cv") == found.best_n_classes("bic") == 3
    assert found.table[2]["cv_error"] >= 0 and "+-" in repr(found) and "within one" in repr(found)
    assert found.to_dict()["best"] == {"cv": 3, "bic": 3}
    assert {"cv", "cv_error"} <= set(found.to_frame().columns)
    assert found.table[4]["cv"] < found.table[4]["log_likelihood"]


def test_searches_maximise_it():
    data = lt.datasets.load("hiv_test")
    run = lt.learn(data, score="cv", rng=rng(), budget=lt.Budget(iterations=3))
    assert run.criterion == "cv" and run.score == pytest.approx(SCORES["cv"](run.fit))
    assert run.score > SCORES["cv"](lt.fit_classes(data, 1, rng=rng()))
    found = lt.learn_classes(data, score="cv", rng=rng(), budget=lt.Budget(iterations=3))
    assert found.score == pytest.approx(SCORES["cv"](found.fit), abs=0.5)
    assert (
        lt.LatentTree(score="holdout", random_state=0, options={"trials": 0}).fit(data.codes).run_.criterion
        == "holdout"
    )


def test_weights_too_small_to_be_dealt_into_parts_are_refused():
    codes = np.array([[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]])
    table = lt.Table.from_codes(codes, np.full(4, 2), np.full(5, 1e-300))
    fit = lt.fit_classes(table, 2, rng=np.random.default_rng(0), n_init=4)
    for seed in range(40):  # some deal all of them into one part, others do not
        try:
            assert np.isfinite(lt.score.cross_validated(fit, folds=2, seed=seed).value)
        except lt.DataError as error:
            assert "one part" in str(error)
