"""Estimates that hold for rows not seen: folds, the choice of a prior, and what learners make of it."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from drawn_rows import QUICK, drawn, log_likelihood
from hypothesis import given, settings, strategies as st
from strategies import models_and_tables

import latentree as lt
from latentree import (
    DataError,
    LatentClass,
    LatentTree,
    LatentTreeClassifier,
    ParameterError,
    Table,
)
from latentree._folds import (
    fold_weights,
    training_parts,
)
from latentree.engine._plan import Plan
from latentree.estimation import evaluate, smoothed
from latentree.estimation._em import EmRuns
from latentree.estimation._pulls import STRENGTHS, Pull, choose_pull
from latentree.estimation._smoothing import Estimate, _counts_like
from latentree.infer import sample_table
from latentree.runner import Budget, StopReason

# ---- folds ---------------------------------------------------------------------------------------------------------


@given(
    weights=st.lists(st.integers(1, 9) | st.floats(0.1, 5), min_size=2, max_size=12),
    n_folds=st.integers(2, 5),
    seed=st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_folds_share_the_weights_out(weights, n_folds, seed):
    table = Table.from_codes([[i, i % 2] for i in range(len(weights))], weights=weights)
    if n_folds > max(sum(weights), len(weights)):
        with pytest.raises(DataError, match=f"{n_folds} parts cannot be made"):
            fold_weights(table, n_folds)
        return
    parts = fold_weights(table, n_folds, seed=seed)
    assert (parts >= 0).all() and np.allclose(parts.sum(axis=0), table.weights)
    if all(isinstance(w, int) for w in weights):
        assert np.array_equal(parts, parts.round()) and np.ptp(parts.sum(axis=1)) <= 1
    for rest, own in training_parts(table, parts):
        assert rest.weight + own.weight == pytest.approx(table.weight)


def test_a_weight_is_a_repetition_and_order_does_not_matter_to_folds():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=(40, 4))
    table = Table.from_codes(codes, [3] * 4)

    def found(table):
        parts = fold_weights(table, 4)
        at = [table.names.index(f"x{i}") for i in (1, 2, 3, 4)]
        return {tuple(row[at].tolist()): own.tolist() for row, own in zip(table.codes, parts.T, strict=True)}

    known = found(table)
    assert found(Table.from_codes(table.codes, table.variables, table.weights)) == known
    assert found(Table.from_codes(codes[rng.permutation(40)], table.variables)) == known
    assert found(table.select(["x3", "x1", "x4", "x2"])) == known
    assert any(fold_weights(table, 4)[0] != fold_weights(table, 4, seed=1)[0])


def test_leaving_one_out():
    table = Table.from_codes([[0, 1], [1, 0], [1, 1]], weights=[2, 1, 1])
    assert fold_weights(table, 4).sum(axis=1).tolist() == [1, 1, 1, 1]
    with pytest.raises(DataError, match="5 parts cannot be made of 4 rows"):
        fold_weights(table, 5)
    with pytest.raises(ParameterError, match="at least 2"):
        fold_weights(table, 1)


# ---- the estimate of one model -----------------------------------------------------------------------------------


def test_known_answer_of_one_class():
    """One class: every distribution is its counts and those of the prior, whatever chose it."""
    table = Table.from_codes([[0, 0], [0, 1], [1, 1]], [2, 3], weights=[5, 3, 2])
    fit = lt.fit_classes(table, 1, rng=np.random.default_rng(0))
    for alpha in (2.0, 1.5):
        again, estimate = smoothed(fit, alpha)
        for name, counts in (("x1", np.array([8, 2])), ("x2", np.array([5, 5, 0]))):
            expected = (counts + alpha - 1) / (counts + alpha - 1).sum()
            assert again.model.table(name)[0] == pytest.approx(expected, abs=1e-9)
        assert estimate.kind == "map" and estimate.prior == alpha
        assert estimate.log_likelihood == pytest.approx(log_likelihood(again.model, table))
    again, estimate = smoothed(fit)
    spread = np.full(3, 1 / 3) if estimate.towards == "uniform" else np.array([5.5, 5.5, 0.5]) / 11.5
    expected = (np.array([5, 5, 0]) + estimate.strength * spread) / (10 + estimate.strength)
    assert again.model.table("x2")[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("prior", [None, 1])
def test_without_a_prior_nothing_changes(prior):
    fit = lt.fit_classes(drawn(200)[1], 2, rng=np.random.default_rng(0))
    again, estimate = smoothed(fit, prior)
    assert again is fit and estimate.kind == "ml" and estimate.log_likelihood == fit.log_likelihood


@pytest.mark.parametrize("prior", [0.5, -1, "many", float("nan"), True])
def test_what_is_no_prior(prior):
    with pytest.raises(ParameterError, match="prior"):
        lt.learn(drawn(50)[1], prior=prior, rng=np.random.default_rng(0), **QUICK)
    with pytest.raises(ParameterError, match="prior"):
        LatentTree(prior=prior).fit(drawn(50)[1].codes)


@pytest.mark.parametrize("seed", range(4))
def test_every_known_row_is_possible(seed):
    """Also states that are declared and that no row has."""
    _, table = drawn(60, seed, states=3)
    wide = Table.from_codes(table.codes[table.inverse], [4, *([3] * 5)])  # x1 has a state that no row has
    run = lt.learn(wide, rng=np.random.default_rng(0), **QUICK)
    every = np.array(list(itertools.product(range(4), *[range(3)] * 5)))
    rows = Plan.of(run.model, Table.from_codes(every, wide.variables)).row_log_likelihood(run.model.parameters)
    assert np.isfinite(rows).all() and np.exp(rows).sum() == pytest.approx(1)
    assert run.estimate.kind == "map" and run.estimate.strength in STRENGTHS
    assert run.estimate.log_likelihood <= run.fit.log_likelihood


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_is_near_the_best_on_fresh_rows(seed):
    model, table = drawn(150, seed, states=3)
    fresh = sample_table(model, 4000, np.random.default_rng(seed + 1000))
    run = lt.learn(table, prior=None, rng=np.random.default_rng(0), **QUICK)
    known = {"ml": log_likelihood(run.model, fresh), "auto": log_likelihood(smoothed(run.fit)[0].model, fresh)}
    for alpha in (1.01, 1.1, 1.5, 2, 4):
        known[alpha] = log_likelihood(smoothed(run.fit, alpha)[0].model, fresh)
    assert known["auto"] >= max(known.values()) - 0.01 * abs(max(known.values()))
    assert known["auto"] > known["ml"] - 1e-9


def test_weights_order_names_and_threads_change_nothing():
    _, table = drawn(300, 1)
    codes, rng = table.codes[table.inverse], np.random.default_rng(5)
    run = lt.learn(table, rng=np.random.default_rng(0), **QUICK)
    columns = rng.permutation(6)
    moved = Table.from_codes(codes[rng.permutation(300)][:, columns], [table.variables[i] for i in columns])
    others = [
        lt.learn(Table.from_codes(table.codes, table.variables, table.weights), rng=np.random.default_rng(0), **QUICK),
        lt.learn(moved, rng=np.random.default_rng(0), **QUICK),
        lt.learn(table, rng=np.random.default_rng(0), n_jobs=2, **QUICK),
    ]
    for other in others:
        assert (other.estimate.strength, other.estimate.towards) == (run.estimate.strength, run.estimate.towards)
        assert other.estimate.log_likelihood == pytest.approx(run.estimate.log_likelihood, abs=1e-9)
        assert log_likelihood(other.model, table) == pytest.approx(log_likelihood(run.model, table), abs=1e-9)


def test_the_rooting_does_not_matter():
    _, table = drawn(200, 2)
    run = lt.learn(table, prior=None, rng=np.random.default_rng(0), **QUICK)
    found = []
    for name in run.tree.names:
        model = run.model.rerooted(name)
        again, _ = smoothed(lt.estimation.evaluate(model, table), 2.0)
        assert again.model.tree.names[0] == name
        found.append(again.log_likelihood)
    assert np.ptp(found) < 1e-4


def test_no_time_still_leaves_no_zeros():
    fit = lt.fit_classes(drawn(100)[1], 3, rng=np.random.default_rng(0))
    again, estimate = smoothed(fit, budget=Budget(seconds=0))
    assert (
        (again.model.parameters > 0).all() and estimate.chosen == "default" and "nothing can be chosen" in estimate.text
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_strongest_pull_that_costs_little_is_chosen(seed):
    _, table = drawn(400, seed)
    fit = lt.fit_classes(table, 3, rng=np.random.default_rng(0))
    choice = choose_pull(fit.model, table)
    best = max(choice.tried.values())
    least = best - min(choice.error, 0.005 * abs(best))
    assert choice.tried[choice.pull] >= least
    assert all(value < least for pull, value in choice.tried.items() if pull.strength > choice.pull.strength)
    rows = Plan.of(fit.model, table).row_log_likelihood(fit.model.parameters)[table.inverse]
    assert choice.error == pytest.approx(rows.std() / np.sqrt(400), rel=0.3)


def test_large_data_are_held_out_once(monkeypatch):
    from latentree.estimation import _pulls

    monkeypatch.setattr(_pulls, "WORK", 1.0)
    _, table = drawn(200)
    fit = lt.fit_classes(table, 2, rng=np.random.default_rng(0))
    choice = choose_pull(fit.model, table)
    assert choice.chosen == "hold-out" and choice.folds == 1
    assert "20% of the rows, held out" in smoothed(fit)[1].text


def test_one_row_has_nothing_to_choose_by():
    table = Table.from_codes([[0, 0, 0]], [2, 2, 2])
    fit = lt.fit_classes(table, 1, rng=np.random.default_rng(0))
    again, estimate = smoothed(fit)
    assert estimate.chosen == "default" and (again.model.parameters > 0).all()


def test_pulls_and_words():
    model, _ = drawn(10)
    alpha = Pull(10.0, "marginal").prior(model, 100.0)
    for v, marginal in zip(model.tree.names, model.marginals(), strict=True):
        assert alpha[v].shape[1] == len(marginal) and (alpha[v] > 1).all()
        assert (alpha[v] - 1).sum(axis=1) == pytest.approx(10.0)
    assert Estimate("ml", -1.0).text == "The probabilities are those of maximum likelihood."
    assert "parameter 2" in Estimate("map", -1.0, prior=2.0).text
    assert "by 1 case for" in Estimate("map", -1.0, strength=1.0, towards="marginal", chosen="hold-out").text


# ---- estimators ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frame():
    data = lt.datasets.load_frame("hiv_test")
    return data.loc[data.index.repeat(data.pop("freq"))].reset_index(drop=True)


def test_latent_tree_has_an_estimate(frame):
    tree = LatentTree(random_state=0).fit(frame)
    assert tree.estimate_.kind == "map" and (tree.model_.parameters > 0).all()
    assert tree.log_likelihood_ == pytest.approx(-623.2971, abs=1e-3)  # as published, at the maximum of the likelihood
    assert tree.score_samples(frame).sum() == pytest.approx(tree.estimate_.log_likelihood)
    report = tree.report()
    assert report["estimate"]["kind"] == "map" and report["log_likelihood"] == pytest.approx(tree.log_likelihood_)
    assert " ".join(tree.estimate_.text.split()[:5]) in tree.summary()
    assert pickle.loads(pickle.dumps(tree)).estimate_ == tree.estimate_
    sizes = [p for z in tree.tree_.latent for p in [tree.model_.marginals()[z]]]
    assert all((np.diff(p) <= 0).all() for p in sizes)


def test_latent_class_keeps_maximum_likelihood_and_offers_the_rest(frame):
    plain = LatentClass(2, random_state=0).fit(frame)
    assert plain.estimate_.kind == "ml"
    auto = LatentClass(2, prior="auto", random_state=0).fit(frame)
    assert auto.estimate_.kind == "map" and auto.estimate_.strength >= 1 and (auto.model_.parameters > 0).all()
    assert auto.log_likelihood_ == auto.estimate_.log_likelihood < plain.log_likelihood_
    assert auto.class_sizes_[0] >= auto.class_sizes_[1] and auto.fit_.starts.tolist() == plain.fit_.starts.tolist()
    assert "pulled towards" in " ".join(auto.summary().split()) and "pulled" not in plain.summary()
    assert np.isfinite(auto.standard_errors().errors).all()
    given = LatentClass(2, prior=2, random_state=0).fit(frame)
    assert given.estimate_ == Estimate("map", given.log_likelihood_, prior=2.0)
    assert LatentClass("auto", prior="auto", random_state=0).fit(frame).estimate_.kind == "map"
    both = lt.compare(frame, [2], prior="auto", random_state=0)
    assert both.best_estimator().estimate_ == auto.estimate_


def test_classifier_has_no_impossible_rows(frame):
    clf = LatentTreeClassifier(random_state=0).fit(frame[["V1", "V2", "V3"]], frame["V4"])
    every = np.array(list(itertools.product(*[sorted(set(frame[c])) for c in ("V1", "V2", "V3")])))
    import pandas as pd

    p = clf.predict_proba(pd.DataFrame(every, columns=["V1", "V2", "V3"]))
    assert (p > 0).all() and clf.estimate_.kind == "map"
    exact = LatentTreeClassifier(prior=None, random_state=0).fit(frame[["V1", "V2", "V3"]], frame["V4"])
    assert exact.estimate_.kind == "ml" and exact.score_ == pytest.approx(clf.score_)


def test_no_plan_is_compiled_to_choose_a_prior_when_the_time_is_over(monkeypatch):
    """One plan for the step towards the prior, none for parts of the data, none for the counts of a star."""
    table = lt.datasets.load("hiv_test")
    fit = lt.fit_classes(table, 2, rng=np.random.default_rng(0))
    made, compile_ = [], Plan.__init__
    monkeypatch.setattr(Plan, "__init__", lambda self, *a, **o: (made.append(1), compile_(self, *a, **o))[1])
    again, estimate = smoothed(fit, "auto", budget=Budget(seconds=0))
    assert len(made) == 1 and estimate.chosen == "default"
    assert again.counts.log_likelihood == pytest.approx(log_likelihood(again.model, table), abs=1e-9)
    np.testing.assert_allclose(
        again.counts.vector, Plan.of(again.model, table).evaluate(again.model.parameters).vector, atol=1e-9
    )


def test_an_interrupted_search_chooses_no_prior(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    run = lt.learn(lt.datasets.load("carcinoma"), rng=np.random.default_rng(0), on_step=interrupt)
    assert run.reason.value == "interrupted" and run.estimate.chosen == "default"


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_counts_are_the_same_in_every_rooting(data):
    """So that they need no pass of their own; None only where a root is the end of a branch."""
    model, table = data.draw(models_and_tables())
    found = evaluate(model, table)
    inner = [v for v in range(model.tree.n_nodes) if len(model.tree.neighbours(v)) > 1] or [0]
    turned = model.rerooted(data.draw(st.sampled_from(inner)))
    counts = _counts_like(found, turned)
    if counts is None:
        assert len(model.tree.children[0]) < 2
    elif np.isfinite(found.log_likelihood):
        np.testing.assert_allclose(counts.vector, evaluate(turned, table).counts.vector, atol=1e-9)


def test_without_time_probabilities_are_pulled_by_the_counts_that_are_known(monkeypatch):
    """After Ctrl-C hardly anything is computed: the counts are those of the fit, and one pass judges the result."""
    fit = lt.learn(lt.datasets.load("hiv_test"), rng=np.random.default_rng(0), prior=None).fit
    passes, evaluated = [], Plan.evaluate
    monkeypatch.setattr(Plan, "evaluate", lambda self, p, **more: passes.append(p) or evaluated(self, p, **more))
    monkeypatch.setattr("latentree.estimation._smoothing.fit_em", None)
    again, estimate = smoothed(fit, budget=Budget(seconds=0))
    monkeypatch.undo()
    assert len(passes) == 1 and estimate.chosen == "default" and again.reason is StopReason.TIME
    assert again.log_likelihood == pytest.approx(evaluate(again.model, fit.table).log_likelihood)
    assert (again.model.parameters > 1e-9).all()


def test_ctrl_c_ends_the_choice_of_a_prior(monkeypatch):
    """In the midst of it, no other prior is looked at; between two looks of the engine, nothing is lost."""
    fit = lt.fit_classes(lt.datasets.load("carcinoma"), 2, rng=np.random.default_rng(0))
    calls, advance = [], EmRuns.advance

    def stopped(self, *args, **more):
        calls.append(1)
        return StopReason.INTERRUPTED if len(calls) == 3 else advance(self, *args, **more)

    monkeypatch.setattr(EmRuns, "advance", stopped)
    choice = choose_pull(fit.model, fit.table)
    assert choice.stopped is StopReason.INTERRUPTED and len(calls) == 3
    monkeypatch.undo()

    def broken(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("latentree.estimation._pulls.training_parts", broken)
    again, estimate = smoothed(fit)
    assert again.reason is StopReason.INTERRUPTED and estimate.chosen == "default"
    assert (again.model.parameters > 0).all()
