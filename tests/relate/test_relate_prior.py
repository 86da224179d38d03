"""A prior on the measurement part, and what is said where it is called for or where the model does not fit."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from worlds import brute_log_likelihood, hessian, world

import latentree as lt
from latentree.relate import relate
from latentree.relate._doubts import warn_of_misfit
from latentree.relate._mixture import Point, curvature
from latentree.relate._parts import ClassLogit, ItemData, Items
from latentree.relate._relate import prepare

ITEMS = list("ABCDE")


@pytest.fixture(scope="module")
def data():
    frame, model = world(0, 500, missing=0.05, strength=4.0)
    return frame, lt.estimate(model, lt.Table.from_frame(frame[ITEMS], variables=model.variables), tol=1e-10).model


def test_the_prior_is_part_of_the_derivatives():
    rng = np.random.default_rng(2)
    codes = rng.integers(-1, 2, (30, 3)).astype(np.int16)
    tables = np.hstack([np.stack([1 - p, p], axis=1) for p in rng.uniform(0.2, 0.8, (3, 2))])
    items = Items(ItemData(codes, np.arange(30), np.array([2, 2, 2])), tables, prior=2.5)
    weights = rng.choice([1.0, 2.0], 30)
    point = Point([ClassLogit(np.ones((30, 1)), np.array([[0.0], [0.4]])), items], weights)

    def penalised(p):
        parts = [np.asarray(own) for own in p.parts[1].split()]
        value = brute_log_likelihood(p.parts[0], parts, codes, weights)
        return value + 1.5 * float(np.log(p.parts[1].tables).sum())

    assert point.objective == pytest.approx(penalised(point))
    found = curvature(point)
    gradient, second = hessian(lambda step: penalised(point.moved(step)), point.size)
    assert found.gradient == pytest.approx(gradient, abs=1e-2)
    assert found.information == pytest.approx(-second, abs=1e-2)
    assert point.em_step().objective > point.objective


def posterior_mode(model, frame, cases, steps=3000):
    """Class sizes and tables by EM in which every class has given every answer some times more: a slow twin."""
    sizes, tables = model.table(0)[0], {v.name: model.table(v.name) for v in model.variables}
    cells = {name: np.eye(t.shape[1])[frame[name].fillna(0).astype(int)] for name, t in tables.items()}
    seen = {name: frame[name].notna().to_numpy()[:, None] for name in tables}
    for _ in range(steps):
        tau = sizes * np.prod([np.where(seen[c], cells[c] @ tables[c].T, 1.0) for c in tables], axis=0)
        tau /= tau.sum(axis=1, keepdims=True)
        sizes = tau.mean(axis=0)
        for c in tables:
            counts = tau.T @ (cells[c] * seen[c]) + cases
            tables[c] = counts / counts.sum(axis=1, keepdims=True)
    return sizes, tables


def test_the_measurement_part_is_the_posterior_mode(data):
    frame, model = data
    sizes, tables = posterior_mode(model, frame, 1.0)
    found = relate(model, frame, "x", method="two-step", prior=2)
    np.testing.assert_allclose(found.model.table(0)[0], sizes, atol=1e-6)
    for name, own in tables.items():
        np.testing.assert_allclose(found.model.table(name), own, atol=1e-6)
    fixed = relate(found.model, frame, "x", method="two-step")
    assert found.beta == pytest.approx(fixed.beta, abs=1e-6)
    plain = relate(model, frame, "x", method="two-step", prior=None)
    assert found.beta != pytest.approx(plain.beta, abs=1e-4)
    assert relate(model, frame, "x", method="two-step", prior=1).beta == pytest.approx(plain.beta, abs=1e-12)


def fitted(model, frame):
    return lt.estimate(model, lt.Table.from_frame(frame[ITEMS], variables=model.variables), tol=1e-10).model


def test_the_default_prior_is_half_a_case_for_what_the_rows_tell(data):
    frame, model = data
    found = relate(model, frame, "x")
    sizes, tables = posterior_mode(model, frame, found.prior - 1.0)
    for name, own in tables.items():
        np.testing.assert_allclose(found.model.table(name), own, atol=1e-6)
    # The ratio of complete to observed information, by differences of the brute force log-likelihood
    codes = frame[ITEMS].fillna(-1).to_numpy().astype(np.int16)
    codes, counts = np.unique(codes, axis=0, return_counts=True)
    items = Items(
        ItemData(codes, np.arange(len(codes)), np.array([t.shape[1] for t in tables.values()])),
        np.hstack(list(tables.values())),
        found.prior,
    )
    logs = np.log(sizes / sizes[0])[:, None]
    point = Point([ClassLogit(np.ones((len(codes), 1)), logs), items], counts.astype(float))
    own = curvature(point)
    ratio = np.linalg.det(own.complete) / np.linalg.det(own.information)
    assert found.prior - 1.0 == pytest.approx(0.5 * ratio ** (1 / point.size), rel=0.01)
    assert found.prior > 1.5  # classes are not known, so that it is more than half a case
    assert found.prior == pytest.approx(relate(model, frame, outcome="y").prior)
    assert f"prior {found.prior:.2f}" in str(found) and found.to_dict()["prior"] == found.prior


def test_the_default_prior_is_for_maxima_of_the_likelihood_in_several_steps(data):
    frame, model = data
    assert relate(model, frame, "x", method="one-step").prior == 1.0
    assert relate(model, frame, "x", prior=None).prior == 1.0
    again = relate(model, frame, "x").model  # was fitted with a prior, and is taken as it is
    assert relate(again, frame, "x").prior == 1.0
    known, _ = world(1, 500, missing=0.05, strength=4.0)  # other rows: the model is known, not estimated from them
    kept = relate(model, known, "x", method="two-step")
    assert kept.prior == 1.0 and kept.model is model
    with pytest.raises(lt.ParameterError, match="'auto'"):
        relate(model, frame, "x", prior="some")


def test_the_default_prior_vanishes_as_rows_become_many():
    frame, model = world(3, 20000, strength=4.0)
    model = fitted(model, frame)
    found, plain = (relate(model, frame, "x", method="two-step", prior=own) for own in ("auto", None))
    assert 1.5 < found.prior < 2.5
    assert np.abs(found.beta - plain.beta).max() < 0.2 * np.sqrt(plain.covariance.diagonal()).min()


def test_the_scale_of_survey_weights_does_not_matter(data):
    frame, model = data
    design = {"clusters": "rows", "method": "two-step"}
    weights = np.random.default_rng(5).uniform(0.5, 1.5, len(frame))
    for prior in ("auto", 2):
        one, other = (relate(model, frame, "x", sample_weight=c * weights, prior=prior, **design) for c in (1.0, 250.0))
        assert other.beta == pytest.approx(one.beta, abs=1e-6)
        assert other.covariance == pytest.approx(one.covariance, rel=1e-4, abs=1e-9)
        assert other.prior == pytest.approx(one.prior, rel=1e-4)  # told in cases, as it is asked for
        assert prior == "auto" or one.prior == pytest.approx(prior)


def test_a_prior_that_would_dissolve_a_class_is_not_used():
    """Two classes that differ in one item: under the default prior one of them would have no member."""
    rng = np.random.default_rng(35)
    n, k, j = int(rng.choice([80, 150, 400])), int(rng.choice([2, 3])), 6
    x = rng.normal(size=(n, 2))
    beta = rng.normal(size=(k, 2)) * 1.2
    beta[0] = 0
    p = np.exp(x @ beta.T)
    member = np.array([rng.choice(k, p=q) for q in p / p.sum(axis=1, keepdims=True)])
    profiles = rng.choice([0.2, 0.8], size=(k, j))
    items = (rng.random((n, j)) < profiles[member]).astype(int)
    frame = pd.DataFrame(items, columns=[f"i{i}" for i in range(j)]).assign(x=x[:, 0], y=x[:, 1])
    table = lt.Table.from_frame(frame[[f"i{i}" for i in range(j)]])
    model = lt.fit_classes(table, k, rng=np.random.default_rng(0), n_init=8).model
    for method in ("two-step", "three-step"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = relate(model, frame, ["x", "y"], method=method)
            plain = relate(model, frame, ["x", "y"], method=method, prior=None)
        assert any("a class would vanish" in own for own in found.warnings)
        assert found.prior == 1.0 and found.beta == pytest.approx(plain.beta)


def test_the_bootstrap_wants_a_generator(data):
    frame, model = data
    with pytest.raises(lt.ParameterError, match="Generator"):
        relate(model, frame, "x", bootstrap=5, rng=5)


@pytest.mark.parametrize("method", ["one-step", "two-step", "three-step", "bch"])
@pytest.mark.parametrize("prior", [2, "auto"])
def test_weights_are_repetitions_with_a_prior_too(data, method, prior):
    frame, model = data
    frame = frame.head(300)
    own = np.arange(300) % 2 + 1
    model = fitted(model, frame.loc[frame.index.repeat(own)])
    weighted = relate(model, frame, "x", method=method, prior=prior, sample_weight=own)
    repeated = relate(model, frame.loc[frame.index.repeat(own)], "x", method=method, prior=prior)
    assert weighted.prior == pytest.approx(repeated.prior) and (weighted.prior > 1) == (
        prior == 2 or method != "one-step"
    )
    assert weighted.beta == pytest.approx(repeated.beta, abs=1e-7)
    assert weighted.covariance == pytest.approx(repeated.covariance, rel=1e-5, abs=1e-9)


def test_a_prior_is_kept_in_bootstrap_samples(data):
    frame, model = data
    found = relate(model, frame, "x", method="two-step", prior=200.0, bootstrap=3, rng=np.random.default_rng(0))
    # so strong a prior that no sample can move the tables, and all classes are alike
    assert found.model.table("A") == pytest.approx(np.full((3, 2), 0.5), abs=0.1)
    with pytest.raises(lt.ParameterError, match="'prior' parameter of relate"):
        relate(model, frame, "x", prior=0.5)


def test_a_note_where_rows_are_left_out_and_the_default_prior_is_not_applied(data):
    frame, model = data
    whole = relate(model, frame, "x", method="two-step")
    assert whole.prior > 1 and not any("not applied" in str(own) for own in whole.notes)
    found = relate(model, frame, "x", method="two-step", complete=True)
    lacking = int(frame[ITEMS].isna().any(axis=1).sum())
    assert found.prior == 1 and f"with {lacking} rows left out" in str(found) and "prior=2" in str(found)
    assert any("default prior was not applied" in own for own in found.to_dict()["notes"])
    rows = frame.dropna(subset=ITEMS)
    table = lt.Table.from_frame(rows[ITEMS], variables=model.variables)
    again = relate(lt.estimate(model, table, tol=1e-10).model, rows, "x", method="two-step", complete=True)
    assert again.prior > 1 and not any("not applied" in str(own) for own in again.notes)


def test_a_note_where_separation_is_moderate_and_rows_are_few():
    frame, model = world(0, 500, strength=3.4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = relate(model, frame, "x", method="two-step")
        assert 0.5 < found.entropy < 0.75
        assert "prior=2" in str(found) and "--prior 2" in found.notes[0].shown("shell")
        assert found.to_dict()["notes"] == [str(found.notes[0])]
        assert not relate(model, frame, "x", method="two-step", prior=2).notes
        assert not relate(model, frame, "x", method="one-step").notes
        many = frame.loc[frame.index.repeat(2)]
        assert not relate(model, many, "x", method="two-step").notes


def test_bootstrap_errors_that_show_misfit_are_warned_of(data):
    frame, model = data
    task = prepare(model, frame, "x", method="two-step")
    own = np.diag([1.0, 2.0, 3.0, 4.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_misfit(task, own, 1.5 * own)
        warn_of_misfit(task, own, own * np.array([1.0, 1.0, 1.0, 100.0]))
        warn_of_misfit(prepare(model, frame, "x", method="two-step", robust=True), own, 4 * own)
    with pytest.warns(lt.LatentreeWarning, match="are 2.0 times those that follow from the model"):
        warn_of_misfit(task, own, 4 * own)
