"""The reviewer's pack: complete, on the scale that people know, and honest in its checklist."""

from __future__ import annotations

import json

import numpy as np
import pytest

import latentree as lt
from latentree import Table, datasets
from latentree.errors import ModelError, ParameterError
from latentree.estimation import fit_classes
from latentree.report import reviewer_report
from latentree.report._reviewer import _holm

NAMES = ["variables", "models", "tests", "classification", "residuals", "items", "profiles", "checklist"]


@pytest.fixture(scope="module")
def fits():
    table = datasets.load("carcinoma")
    return [fit_classes(table, k, rng=np.random.default_rng(0)) for k in (1, 2, 3)]


@pytest.fixture(scope="module")
def pack(fits):
    return reviewer_report(fits, 3, n_replicates=19)


def test_models_are_shown_so_that_lower_is_better(pack, fits):
    frame = pack.frame("models")
    n = 118
    for row, fit in zip(frame.to_dict("records"), fits, strict=True):
        d = fit.n_parameters
        assert row["bic"] == pytest.approx(-2 * fit.log_likelihood + d * np.log(n))
        assert row["caic"] == pytest.approx(-2 * fit.log_likelihood + d * (np.log(n) + 1))
        assert row["sabic"] == pytest.approx(-2 * fit.log_likelihood + d * np.log((n + 2) / 24))
        assert row["aic"] == pytest.approx(-2 * fit.log_likelihood + 2 * d)
        smallest = fit.model.table(0).min()
        assert row["rows_per_parameter"] == pytest.approx(smallest * n / 7)
        assert row["starts_at_best"] <= row["starts"]
    assert pack.to_dict()["higher_is_better"] is False


def test_all_tables_as_frames_and_json(pack):
    assert [section.name for section in pack.sections] == NAMES
    for name in NAMES:
        assert len(pack.frame(name)) == len(pack.to_dict()[name]) > 0
    json.dumps(pack.to_dict(), allow_nan=False)
    tests = pack.frame("tests")
    assert tests["n_classes"].tolist() == [2, 3]
    assert tests["bootstrap_p"].tolist() == [0.05, 0.05]
    assert (tests["vlmr_p"] < 0.01).all()
    assert len(pack.frame("residuals")) == 21
    assert len(pack.frame("profiles")) == 3 + 7 * 2 * 3
    with pytest.raises(ParameterError, match="'models'"):
        pack.frame("model")


def test_text_and_page_say_the_same(pack, tmp_path):
    text, html = pack.to_text(), pack.to_html(tmp_path / "pack.html").html
    for words in ("SMART-LCA checklist", "Jeffries 2003", "Bivariate residuals", "Wald", "lower is better"):
        assert words in text
        assert words in html
    assert (tmp_path / "pack.html").read_text() == html
    assert repr(pack) == text


def test_text_of_the_data_is_escaped():
    rng = np.random.default_rng(1)
    frame = {
        "<b>x</b>": rng.choice(["<i>", "\x1b[2J"], 60),
        "y": rng.choice(["a", "b"], 60),
        "z": rng.choice([0, 1], 60),
    }
    table = Table.from_frame(frame)
    made = reviewer_report([fit_classes(table, 1, rng=rng)], 1, n_replicates=0)
    assert "<i>" not in made.to_html().html
    assert "\x1b" not in made.to_text()


def test_checklist_says_what_was_not_done(fits):
    status = {item.item: item.status for item in reviewer_report(fits[1:], 3, n_replicates=0).checklist}
    assert status["1 to k classes"] == "not done"
    assert status["Likelihood-ratio tests"] == "not done"
    assert status["Research question and design"] == "yours"
    assert status["Test of missing completely at random"] == "not needed"
    whole = {item.item: item.status for item in reviewer_report(fits, 3, n_replicates=19).checklist}
    assert whole["1 to k classes"] == "done"
    assert whole["Likelihood-ratio tests"] == "done"


def test_missing_cells_are_counted_and_tested():
    table = datasets.load("carcinoma")
    codes = np.array(table.codes)
    codes[np.random.default_rng(0).random(codes.shape) < 0.1] = -1
    gaps = Table.from_codes(codes, table.variables, table.weights)
    fitted = [fit_classes(gaps, k, rng=np.random.default_rng(0)) for k in (1, 2)]
    made = reviewer_report(fitted, 2, n_replicates=0)
    assert made.mcar.p_value is not None
    shares = made.frame("variables").groupby("variable")["missing"].first()
    expected = [(gaps.weights[gaps.codes[:, v] < 0].sum() / gaps.n) for v in range(7)]
    np.testing.assert_allclose(shares.to_numpy(), expected)


def test_holm():
    assert _holm([0.01, None, 0.04, 0.03]) == [pytest.approx(0.03), None, pytest.approx(0.06), pytest.approx(0.06)]


def test_from_an_estimator():
    data = datasets.load_frame("carcinoma")
    lca = lt.LatentClass(2, random_state=0).fit(data)
    made = lca.reviewer_report(n_replicates=0)
    assert made.frame("models")["n_classes"].tolist() == [1, 2, 3]
    assert made.chosen is lca.fit_
    early = lca.reviewer_report(4, n_replicates=60, stop_after=2)
    last = early.frame("tests").iloc[-1]
    assert last["stopped_early"]
    assert last["replicates"] < 60
    with pytest.raises(ModelError, match="without a prior"):
        lt.LatentClass(2, prior=2.0, random_state=0).fit(data).reviewer_report()
    with pytest.raises(ParameterError, match="one of those"):
        reviewer_report([lca.fit_], 3)
