"""Estimates that hold for rows not seen: folds, the choice of a prior, and what learners make of it."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from strategies import models_and_tables

import latentree as lt
from latentree import (
    DataError,
    LatentClass,
    LatentTree,
    LatentTreeClassifier,
    Model,
    ParameterError,
    Table,
    Tree,
    datasets,
)
from latentree._folds import (
    block_weights,
    check_row_order,
    fold_weights,
    has_row_order,
    shuffled_block_weights,
    training_parts,
)
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.estimation import evaluate, smoothed
from latentree.estimation._em import EmRuns
from latentree.estimation._pulls import STEP_GAIN, STRENGTHS, Pull, choose_pull, drift
from latentree.estimation._smoothing import Estimate, _counts_like
from latentree.infer import sample_table
from latentree.runner import Budget, StopReason

QUICK = {"trials": 0}


def log_likelihood(model, table):
    return Plan.of(model, table).log_likelihood(model.parameters)


def drawn(n, seed=0, states=2):
    """Rows of a tree of two latents and six variables."""
    edges = [("a", "b"), *(("a", f"x{i}") for i in (1, 2, 3)), *(("b", f"x{i}") for i in (4, 5, 6))]
    names = [f"x{i}" for i in range(1, 7)]
    tree = Tree.from_edges(edges, {"a": states, "b": states, **dict.fromkeys(names, 3)}, names)
    model = Model.random(tree, numbered([3] * 6), np.random.default_rng(seed), dominant=0.7)
    return model, sample_table(model, n, np.random.default_rng(seed + 100))


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


# ---- blocks of rows that stand together ----------------------------------------------------------------------------


def sorted_table(n=600, seed=0, states=3):
    """Rows of the tree of :func:`drawn`, sorted by three columns."""
    model, table = drawn(n, seed, states)
    rows = table.codes[table.inverse]
    return Table.from_codes(rows[np.lexsort(rows.T[[3, 1, 0]])], model.variables)


def strengths(estimate, model):
    """How many cases each table is pulled by."""
    if estimate.pulls is None:
        return np.full(len(model.tree.names), estimate.strength)
    return np.array([pull.strength for _, pull in estimate.pulls])


def as_runs(codes):
    """The rows with what each weighs, equal ones that stand together being one."""
    first = np.flatnonzero(np.r_[True, (codes[1:] != codes[:-1]).any(axis=1)])
    return codes[first], np.diff(np.r_[first, len(codes)])


@given(weights=st.lists(st.integers(0, 5), min_size=8, max_size=20), n_blocks=st.integers(2, 8))
@settings(max_examples=60, deadline=None)
def test_a_weight_is_a_repetition_in_blocks(weights, n_blocks):
    assume(sum(weights) >= n_blocks)
    codes = np.array([[i % 3, i % 2] for i in range(len(weights))])
    table = Table.from_codes(codes, [3, 2], weights)
    assume(table.n_patterns < np.count_nonzero(weights))
    repeated = np.repeat(codes, weights, axis=0)
    borders = np.round(np.arange(n_blocks + 1) * len(repeated) / n_blocks).astype(int)
    for own, low, high in zip(block_weights(table, n_blocks), borders[:-1], borders[1:], strict=True):
        rows = [tuple(row) for row in repeated[low:high].tolist()]
        assert own.tolist() == [rows.count(tuple(row)) for row in table.codes.tolist()]
    for own in (table.ordered(), table.select(["x2", "x1"]).select(["x1", "x2"])):
        place = [table.codes.tolist().index(row) for row in own.codes.tolist()]
        assert np.array_equal(block_weights(own, n_blocks), block_weights(table, n_blocks)[:, place])


def test_weights_that_are_not_whole_are_shared_at_the_borders():
    table = Table.from_codes([[0], [1], [0], [2]], [3], [0.5, 1.0, 0.5, 1.0])
    assert block_weights(table, 2).tolist() == [[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]
    assert block_weights(table, 3) == pytest.approx(np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]))


@pytest.mark.parametrize("seed", range(3))
def test_blocks_of_sorted_rows_choose_a_stronger_pull(seed):
    table = sorted_table(seed=seed)
    run = lt.learn(table, prior="blocks", rng=np.random.default_rng(0), **QUICK)
    at_random = lt.learn(table, prior="shuffled", rng=np.random.default_rng(0), **QUICK)
    assert strengths(run.estimate, run.model).mean() > 3 * at_random.estimate.strength
    assert run.score == at_random.score and run.estimate.kind == "map"
    assert run.estimate.chosen == "blocks" and run.estimate.folds == 10
    assert "10 blocks of rows that stand together" in run.estimate.text
    assert run.estimate.to_plain()["chosen"] == "blocks" and (run.model.parameters > 0).all()


def test_the_default_looks_whether_rows_that_stand_together_are_unlike_the_others():
    table = sorted_table()
    run, blocks, at_random = (
        lt.learn(table, prior=prior, rng=np.random.default_rng(0), **QUICK) for prior in ("auto", "blocks", "shuffled")
    )
    for name in table.names:  # a leaf's table is the same in any rooting
        both = (blocks.model.table(name) + at_random.model.table(name)) / 2
        assert run.model.table(name) == pytest.approx(both, abs=1e-12)
    assert run.fit.log_likelihood == blocks.fit.log_likelihood == at_random.fit.log_likelihood
    assert run.estimate.drift > 0.05 and blocks.estimate.drift is None
    assert f"{run.estimate.drift:.0%} lower" in run.estimate.text and "'shuffled'" in run.estimate.text
    assert "order" not in blocks.estimate.text and run.estimate.to_plain()["drift"] == run.estimate.drift
    assert run.estimate.chosen == "both" and run.estimate.dirichlet(run.model, 1.0) is None
    assert run.estimate.log_likelihood == pytest.approx(log_likelihood(run.model, table))
    rows = table.codes[table.inverse][np.random.default_rng(5).permutation(600)]
    other = Table.from_codes(rows, table.variables)
    models = [
        lt.learn(own, prior=prior, rng=np.random.default_rng(0), **QUICK).model.parameters
        for own, prior in ((other, "auto"), (other, "shuffled"), (table, "shuffled"))
    ]
    assert all(np.array_equal(models[0], own) for own in models[1:])


def test_pulls_of_sorted_rows_hold_for_blocks_that_are_not_there():
    """A tenth of sorted rows is on average more probable under blocks than under parts drawn at random."""
    gains = []
    for seed, tenth in itertools.product(range(3), (0, 4, 9)):
        table = sorted_table(1000, seed)
        codes = table.codes[table.inverse]
        out = np.arange(1000) // 100 == tenth
        rest, own = (Table.from_codes(codes[out == of], table.variables) for of in (False, True))
        fit = lt.learn(rest, prior=None, rng=np.random.default_rng(0), **QUICK).fit
        blocks, at_random = (log_likelihood(smoothed(fit, prior)[0].model, own) for prior in ("auto", "shuffled"))
        gains.append(blocks - at_random)
    assert np.mean(gains) > 10


@pytest.mark.parametrize("seed", range(3))
def test_blocks_of_shuffled_rows_choose_about_the_same_pull(seed):
    table = sorted_table(seed=seed)
    rows = table.codes[table.inverse][np.random.default_rng(seed).permutation(600)]
    fit = lt.learn(Table.from_codes(rows, table.variables), prior=None, rng=np.random.default_rng(0), **QUICK).fit
    at_random, in_blocks = (smoothed(fit, prior)[1] for prior in ("auto", "blocks"))
    ratio = strengths(in_blocks, fit.model) / at_random.strength
    assert 0.3 < np.exp(np.log(ratio).mean()) < 4  # at most the next strength, on average


def test_weights_and_threads_do_not_change_the_choice_by_blocks():
    table = sorted_table(states=2)
    codes = table.codes[table.inverse]
    run = lt.learn(table, prior="blocks", rng=np.random.default_rng(0), **QUICK)
    short, weights = as_runs(codes)
    weighted = Table.from_codes(short, table.variables, weights)
    columns = [3, 1, 5, 0, 2, 4]
    moved = Table.from_codes(codes[:, columns], [table.variables[i] for i in columns])
    for other, n_jobs in ((weighted, 1), (moved, 1), (table, 2)):
        again = lt.learn(other, prior="blocks", rng=np.random.default_rng(0), n_jobs=n_jobs, **QUICK)
        assert again.estimate.pulls == run.estimate.pulls is not None
        assert again.estimate.log_likelihood == pytest.approx(run.estimate.log_likelihood, abs=1e-9)


def test_a_block_does_not_know_its_own_rows():
    """The distributions that are pulled towards are those of the other rows."""
    table = Table.from_codes(np.repeat([[0, 0, 0], [1, 1, 1]], [90, 10], axis=0), [2, 2, 2])
    fit = lt.fit_classes(table, 1, rng=np.random.default_rng(0))
    choice = choose_pull(fit.model, table, blocks=True)
    strength, never = 1000.0, 0.5 / 91  # half a case of 91: the last block has all rows of the other state
    last = 3 * np.log(strength * never / (90 + strength))
    others = 3 * np.log((80 + strength * 80.5 / 91) / (90 + strength))
    assert choice.tried[Pull(strength, "marginal")] == pytest.approx((9 * others + last) / 10)


def test_tables_choose_their_pulls_as_by_hand():
    """With one class nothing is hidden: each variable takes the pull that is best for it, less what a step costs."""
    rng = np.random.default_rng(4)
    codes = np.c_[np.repeat([0, 1, 2], 200), rng.integers(3, size=600), rng.random(600) < 0.1].astype(int)
    table = Table.from_codes(codes, [3, 3, 2])
    fit = lt.fit_classes(table, 1, rng=np.random.default_rng(0))
    choice = choose_pull(fit.model, table, blocks=True)
    steps = {s: i for i, s in enumerate(STRENGTHS)}
    for v, k in ((1, 3), (2, 3), (3, 2)):
        best = {}
        for s in STRENGTHS:
            for towards in ("uniform", "marginal"):
                total = 0.0
                for block in range(10):
                    held_out = np.arange(600) // 60 == block
                    own, rest = (np.bincount(codes[held_out == of, v - 1], minlength=k) for of in (True, False))
                    plain = np.full(k, 1 / k) if towards == "uniform" else (rest + 0.5) / (540 + 0.5 * k)
                    total += own @ np.log((rest + s * plain) / (540 + s))
                away = abs(steps[s] - steps[choice.pull.strength]) + (towards != choice.pull.towards)
                best[Pull(s, towards)] = total - STEP_GAIN * away
        assert best[choice.pulls[v]] == pytest.approx(max(best.values()), abs=1e-6)
    assert len(set(choice.pulls)) > 1


# ---- whether the order of rows matters -----------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), n=st.integers(2, 60), weights=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_rows_change_as_often_whatever_the_columns_and_repetitions(seed, n, weights):
    codes = np.random.default_rng(seed).integers((2, 3), size=(n, 2))
    changes = 1 + int((codes[1:] != codes[:-1]).any(axis=1).sum())
    for rows in (codes, np.repeat(codes, weights, axis=0), codes[:, ::-1]):
        table = Table.from_codes(rows)
        assert has_row_order(table, changes) and not has_row_order(table, changes + 1)
        assert not has_row_order(table.without_order(), 1)


@pytest.mark.parametrize("name", ["voting", "heart", "hiv_test", "lsat", "carcinoma"])
def test_the_order_of_ordinary_data_and_of_counts_does_not_matter(name):
    fit = lt.fit_classes(datasets.load(name), 2, rng=np.random.default_rng(0))
    (one, auto), (other, at_random) = smoothed(fit), smoothed(fit, "shuffled")
    assert auto == at_random and auto.drift is None and np.array_equal(one.model.parameters, other.model.parameters)


def test_drift_is_what_blocks_lose():
    """Rows of one class whose first half answers otherwise than the second: by hand, with an order of their own."""
    codes = np.c_[np.repeat([0, 1], 300), np.tile([0, 1, 1], 200)]
    table = Table.from_codes(codes, [2, 2])
    fit = lt.fit_classes(table, 1, rng=np.random.default_rng(0))
    pull = choose_pull(fit.model, table).pull

    def held_out(blocks):
        total = 0.0
        for own in blocks:
            for v in range(2):
                test, rest = (
                    np.bincount(table.codes[:, v], weights=w, minlength=2) for w in (own, table.weights - own)
                )
                plain = np.full(2, 0.5) if pull.towards == "uniform" else (rest + 0.5) / (rest.sum() + 1)
                total += test @ np.log((rest + pull.strength * plain) / (rest.sum() + pull.strength))
        return total / 600

    sorted_rows, shuffled = (held_out(make(table, 10)) for make in (block_weights, shuffled_block_weights))
    lost, stopped = drift(fit.model, table, pull, clock=Budget().start())
    assert stopped is None and lost == pytest.approx(sorted_rows / shuffled - 1, abs=1e-9) and lost > 0.05


@pytest.mark.parametrize("weigh", [lambda rng, n: rng.lognormal(sigma=1.5, size=n), lambda rng, n: np.full(n, 20.0)])
def test_weights_in_no_order_are_no_drift(weigh):
    _, table = drawn(300, 1)
    codes, rng = table.codes[table.inverse], np.random.default_rng(3)
    weights, found = weigh(rng, 300), []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(300)
        own = Table.from_codes(codes[order], table.variables, weights[order])
        run = lt.learn(own, rng=np.random.default_rng(0), **QUICK)
        found.append((run.estimate.strength, run.estimate.towards))
        assert run.estimate.drift is None
    assert len(set(found)) == 1


def test_the_order_of_rows_changes_no_bit_with_any_weights():
    _, table = drawn(300, 2)
    codes, rng = table.codes[table.inverse], np.random.default_rng(7)
    weights = rng.lognormal(size=300)
    tables = [
        Table.from_codes(codes[order], table.variables, weights[order])
        for order in (rng.permutation(300) for _ in range(3))
    ]
    bits = {(own.n, own.ordered().weights.tobytes(), own.ordered().codes.tobytes()) for own in tables}
    assert len(bits) == 1
    runs = [lt.learn(own, rng=np.random.default_rng(0), **QUICK) for own in tables]
    assert all(np.array_equal(run.model.parameters, runs[0].model.parameters) for run in runs)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_shuffled_blocks_are_the_same_for_any_order_of_rows_and_columns(seed):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.unique(rng.integers((2, 3, 4), size=(40, 3)), axis=0))  # each once: no runs to be broken
    assume(len(codes) > 5)
    table = Table.from_codes(codes)
    blocks = shuffled_block_weights(table, 3)
    assert blocks.sum(axis=0) == pytest.approx(table.weights) and np.ptp(blocks.sum(axis=1)) <= 1
    rows, columns = rng.permutation(len(codes)), rng.permutation(3)
    moved = Table.from_codes(codes[rows][:, columns], [table.variables[i] for i in columns])
    place = [moved.codes.tolist().index(row) for row in table.codes[:, columns].tolist()]
    assert np.array_equal(shuffled_block_weights(moved, 3)[:, place], blocks)


def test_ctrl_c_and_time_while_looking_at_the_order_keep_what_is_known(monkeypatch):
    fit = lt.learn(sorted_table(), prior=None, rng=np.random.default_rng(0), **QUICK).fit
    whole, at_random = smoothed(fit)[1], smoothed(fit, "shuffled")
    calls, advance, raised = [], EmRuns.advance, []

    def count(self, *args, **more):
        calls.append(1)
        return advance(self, *args, **more)

    monkeypatch.setattr(EmRuns, "advance", count)
    smoothed(fit, "shuffled")
    before = len(calls)
    smoothed(fit)
    n = len(calls) - before
    assert whole.chosen == "both" and n > before + 20
    for at in (1, before // 2, before, before + 5, before + 15, n - 5, n):
        for reason in (StopReason.INTERRUPTED, StopReason.TIME, KeyboardInterrupt):
            calls.clear()
            raised.clear()

            def stop(self, *args, at=at, reason=reason, **more):
                calls.append(1)
                if len(calls) == at:
                    raised.append(1)
                    if reason is KeyboardInterrupt:
                        raise KeyboardInterrupt
                done = advance(self, *args, **more)
                return reason if len(calls) == at else done

            monkeypatch.setattr(EmRuns, "advance", stop)
            again, estimate = smoothed(fit)
            expected = StopReason.TIME if reason is StopReason.TIME else StopReason.INTERRUPTED
            assert raised and again.reason is expected and (again.model.parameters > 0).all()
            assert estimate.log_likelihood == pytest.approx(log_likelihood(again.model, fit.table))
            if before < at <= before + 20:
                assert estimate.strength == at_random[1].strength and estimate.order_unknown
                assert "no time to look" in estimate.text


def test_tables_that_lost_the_order_of_their_rows_are_refused(tmp_path):
    table = sorted_table(states=2)
    rng = np.random.default_rng(0)
    counts = Table.from_codes(table.codes, table.variables, table.weights)
    with pytest.raises(DataError, match=r"prior='blocks'.*look like counts.*prior='shuffled'.*repeat the rows"):
        lt.learn(counts, prior="blocks", rng=rng, **QUICK)
    pieces = lt.Table.from_chunks([{"a": [0, 1, 1], "b": [1, 0, 1], "c": [0, 0, 1]}] * 9)
    for lost in (table.reweighted(table.weights), pieces):
        with pytest.raises(DataError, match=r"order of the rows is lost.*prior='shuffled'"):
            lt.learn(lost, prior="blocks", rng=rng, **QUICK)
    from latentree.scale import Partitions

    parts = Partitions.write([(table.codes, table.weights)], tmp_path / "parts", table.variables, n_tables=2)
    for lost in (parts, parts.joined(), parts.sample(50, rng)):
        with pytest.raises(DataError, match="order of the rows is lost"):
            check_row_order(lost)
    with pytest.raises(DataError, match="order of the rows is lost"):
        smoothed(lt.fit_classes(parts, 2, rng=rng), "blocks")
    with pytest.raises(ParameterError, match=r"hidden-chow-liu.*prior='blocks' is not for it.*prior='auto'"):
        lt.learn(table, method="hidden-chow-liu", score="holdout", prior="blocks", rng=rng)


def test_blocks_of_estimators():
    import pandas as pd

    table = sorted_table(300)
    frame = pd.DataFrame(table.codes[table.inverse], columns=list(table.names))
    tree = LatentTree(prior="blocks", random_state=0, options=QUICK).fit(frame)
    assert tree.estimate_.chosen == "blocks" and tree.report()["estimate"]["chosen"] == "blocks"
    classifier = LatentTreeClassifier(prior="blocks", random_state=0, options=QUICK).fit(frame.iloc[:, :5], frame["x6"])
    assert classifier.estimate_.chosen == "blocks"
    assert LatentClass(2, prior="blocks", random_state=0).fit(frame).estimate_.chosen == "blocks"
    assert lt.compare(frame, [2], prior="blocks", random_state=0).best_estimator().estimate_.chosen == "blocks"
    for own in (LatentClass(2, prior="blocks"), LatentTree(prior="blocks")):
        with pytest.raises(DataError, match="look like counts"):
            own.fit(table.codes, sample_weight=table.weights)


def test_a_search_that_is_continued_makes_the_same_blocks(tmp_path):
    table, file = sorted_table(300), tmp_path / "search.json"
    whole = lt.learn(table, prior="blocks", rng=np.random.default_rng(0), **QUICK)
    lt.learn(table, prior="blocks", rng=np.random.default_rng(0), checkpoint=file, budget=Budget(iterations=1), **QUICK)
    again = lt.learn(table, prior="blocks", rng=np.random.default_rng(0), checkpoint=file, **QUICK)
    assert again.estimate == whole.estimate


def test_large_data_hold_out_some_of_the_blocks(monkeypatch):
    from latentree.estimation import _pulls

    monkeypatch.setattr(_pulls, "WORK", 1.0)
    table = sorted_table(200)
    fit = lt.fit_classes(table, 2, rng=np.random.default_rng(0))
    choice = choose_pull(fit.model, table, blocks=True)
    assert choice.chosen == "blocks" and choice.folds == 1
    assert "1 block of rows" in smoothed(fit, "blocks")[1].text


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
