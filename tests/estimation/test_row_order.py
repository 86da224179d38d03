"""Priors chosen by rows that stand together, and whether the order of rows matters."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from drawn_rows import QUICK, drawn, log_likelihood, sorted_table
from hypothesis import assume, given, settings, strategies as st

import latentree as lt
from latentree import (
    DataError,
    LatentClass,
    LatentTree,
    LatentTreeClassifier,
    ParameterError,
    Table,
    datasets,
)
from latentree._folds import (
    block_weights,
    check_row_order,
    has_row_order,
    shuffled_block_weights,
)
from latentree.estimation import smoothed
from latentree.estimation._em import EmRuns
from latentree.estimation._pulls import STEP_GAIN, STRENGTHS, Pull, choose_pull, drift
from latentree.runner import Budget, StopReason

# ---- blocks of rows that stand together ----------------------------------------------------------------------------


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
