"""Bootstrap tests: the same answer for any number of threads, stopped at any time, and about right."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.errors import DataError, ParameterError
from latentree.estimation import fit_classes
from latentree.runner import Budget, StopReason
from latentree.score._bootstrap import BootstrapLrt, Resampler, bootstrap_fit, bootstrap_lrt, bootstrap_p, replicate
from latentree.score._uncertainty import standard_errors


def seeded(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def carcinoma():
    return datasets.load("carcinoma")


# ---- the likelihood-ratio test --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "statistic"), [(2, 414.416), (3, 47.1037), (4, 8.8383)])
def test_carcinoma_has_three_classes(carcinoma, k, statistic):
    """The statistic is twice the difference of the log-likelihoods that poLCA prints."""
    found = bootstrap_lrt(carcinoma, k, rng=seeded(), n_replicates=99, n_jobs=2)
    assert found.statistic == pytest.approx(statistic, abs=2e-3)
    assert found.n_replicates == 99
    assert found.reason is StopReason.FINISHED
    assert (found.p_value == 0.01) if k < 4 else (found.p_value > 0.05)  # 0.14 with many replicates
    assert found.null.model.tree.cardinality[0] == k - 1
    assert found.alternative.model.tree.cardinality[0] == k
    assert found.to_dict()["n_classes"] == k


def test_threads_do_not_change_the_answer(carcinoma):
    one, two = (
        bootstrap_lrt(carcinoma, 3, rng=seeded(5), n_replicates=8, n_init=4, n_jobs=t).replicates for t in (1, 2)
    )
    np.testing.assert_array_equal(one, two)
    fit = fit_classes(carcinoma, 2, rng=seeded())
    one, two = (bootstrap_fit(fit, rng=seeded(5), n_replicates=8, n_jobs=t).g2_replicates for t in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_p_values_under_the_null_are_spread():
    rng = seeded(1)
    truth = Model.random(Tree.star(1, [2] * 5), numbered([2] * 5), rng)
    p = [
        bootstrap_lrt(
            Table.from_codes(truth.sample(100, rng), truth.variables), 2, rng=rng, n_replicates=19, n_init=8
        ).p_value
        for _ in range(20)
    ]
    assert 0.3 < np.mean(p) < 0.75
    assert np.mean(np.array(p) <= 0.05) <= 0.2


def test_repeated_rows_and_weights_are_the_same_data():
    rng = seeded(1)
    codes, weights = rng.integers(0, 2, (20, 4)), rng.integers(1, 4, 20)
    a = bootstrap_lrt(Table.from_codes(codes, weights=weights), 2, rng=seeded(), n_replicates=5)
    b = bootstrap_lrt(Table.from_codes(np.repeat(codes, weights, axis=0)), 2, rng=seeded(), n_replicates=5)
    assert a.statistic == pytest.approx(b.statistic, abs=1e-3)
    np.testing.assert_allclose(a.replicates, b.replicates, atol=1e-3)


def test_warm_starts_and_full_restarts_agree():
    """On the same data sets, drawn by the same generators; where they differ is what the benchmark measures."""
    rng = seeded(2)
    theta = np.array([[0.9, 0.8, 0.85, 0.2, 0.1], [0.2, 0.15, 0.3, 0.8, 0.7]])
    codes = (rng.random((300, 5)) < theta[rng.integers(0, 2, 300)]).astype(int)
    warm, full = (
        bootstrap_lrt(Table.from_codes(codes, [2] * 5), 3, rng=seeded(), n_replicates=60, restarts=how)
        for how in ("warm", "full")
    )
    assert warm.statistic == full.statistic
    assert abs(warm.p_value - full.p_value) <= 0.1
    assert np.median(np.abs(warm.replicates - full.replicates)) < 0.05  # the same tables, nearly always the same maxima
    with pytest.raises(ParameterError, match="restarts"):
        bootstrap_lrt(Table.from_codes(codes, [2] * 5), 3, rng=seeded(), restarts="some")


def test_warm_starts_with_missing_cells_fractional_weights_and_a_prior(carcinoma):
    rng = seeded(3)
    codes = np.array(carcinoma.codes)
    codes[rng.random(codes.shape) < 0.2] = -1
    table = Table.from_codes(codes, carcinoma.variables, carcinoma.weights * 1.3)
    found = bootstrap_lrt(table, 2, rng=seeded(), n_replicates=19, prior=1.5)
    assert found.p_value == 0.05
    assert np.isfinite(found.replicates).all()


def test_stopping_early_gives_besag_and_cliffords_p_value(carcinoma):
    kinds = [bootstrap_lrt(carcinoma, 4, rng=seeded(), n_replicates=200, stop_after=5, n_jobs=t) for t in (1, 2)]
    found = kinds[0]
    np.testing.assert_array_equal(found.replicates, kinds[1].replicates)
    assert found.stopped_early
    assert found.n_exceeding == 5
    assert found.p_value == 5 / found.n_replicates
    assert found.replicates[-1] >= found.statistic - 1e-4
    lower, upper = found.interval()
    assert lower < found.p_value < upper
    sure = bootstrap_lrt(carcinoma, 2, rng=seeded(), n_replicates=30, stop_after=5)
    assert not sure.stopped_early
    assert sure.p_value == 1 / 31
    assert sure.interval()[0] == 0
    assert sure.to_dict()["stop_after"] == 5


def test_intervals_of_p_values_are_exact():
    """Clopper-Pearson for a fixed number; for inverse sampling, the bounds of the negative binomial distribution."""
    from scipy.stats import binom, nbinom

    fixed = BootstrapLrt(2, 1.0, 0.1, np.r_[np.full(4, 2.0), np.zeros(36)], None, None, StopReason.FINISHED)
    lower, upper = fixed.interval()
    assert binom.sf(3, 40, lower) == pytest.approx(0.025)
    assert binom.cdf(4, 40, upper) == pytest.approx(0.025)
    early = BootstrapLrt(2, 1.0, 0.1, np.r_[np.zeros(36), np.full(4, 2.0)], None, None, StopReason.FINISHED, 4)
    lower, upper = early.interval()
    assert nbinom.cdf(36, 4, lower) == pytest.approx(0.025)
    assert nbinom.sf(35, 4, upper) == pytest.approx(0.025)


def test_one_class_in_closed_form():
    from latentree.score._replicates import independent_log_likelihood

    codes = seeded().integers(-1, 3, (50, 4))
    table = Table.from_codes(codes, [3] * 4)
    assert independent_log_likelihood(table) == pytest.approx(fit_classes(table, 1, rng=seeded()).log_likelihood)


def test_drawn_counts_have_the_models_probabilities(carcinoma):
    """Drawing all cells at once and drawing row by row are the same distribution."""
    model = fit_classes(carcinoma, 2, rng=seeded()).model
    few = Resampler.of(model, Table.from_codes(carcinoma.codes, carcinoma.variables, carcinoma.weights * 1000))
    assert few.cells is not None
    drawn = few.draw(seeded())
    assert drawn.n == 118_000
    for v, variable in enumerate(model.variables):
        share = float(drawn.weights[drawn.codes[:, v] == 0].sum() / drawn.n)
        assert share == pytest.approx(model.marginals()[model.tree.node(variable.name)][0], abs=0.008)


# ---- absolute fit -------------------------------------------------------------------------------------------------


def test_two_classes_do_not_fit_carcinoma_but_three_do(carcinoma):
    """The chi-square distribution calls the fit of two classes perfect (p near 1): the table is nearly empty."""
    two = bootstrap_fit(fit_classes(carcinoma, 2, rng=seeded()), rng=seeded(), n_replicates=99, n_jobs=2)
    three = bootstrap_fit(fit_classes(carcinoma, 3, rng=seeded()), rng=seeded(), n_replicates=99, n_jobs=2)
    assert two.p_g2 <= 0.02
    assert three.p_g2 > 0.05
    assert three.to_dict()["n_replicates"] == 99


def test_bootstrap_agrees_with_chi_square_where_that_is_good():
    from latentree.score._absolute import fit_statistics

    fit = fit_classes(datasets.load("values"), 2, rng=seeded())
    found = bootstrap_fit(fit, rng=seeded(), n_replicates=200)
    assert found.p_g2 == pytest.approx(fit_statistics(fit).p_g2, abs=0.12)
    assert found.p_x2 == pytest.approx(fit_statistics(fit).p_x2, abs=0.12)


def test_any_tree_can_be_tested():
    tree = Tree([-1, 0, 0, 0, 1, 1, 1], [2, 2, 2, 2, 2, 2, 2], [-1, -1, 0, 1, 2, 3, 4])
    truth = Model.random(tree, numbered([2] * 5), seeded(3), 0.7)
    from latentree.estimation import em

    fit = em(truth, Table.from_codes(truth.sample(500, seeded(4)), truth.variables))
    found = bootstrap_fit(fit, rng=seeded(), n_replicates=19)
    assert found.p_g2 > 0.05


# ---- stopping -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_returns_what_was_done(carcinoma, n_jobs):
    seen = []

    def press(progress):
        seen.append(progress)
        if progress.done == 3:
            signal.raise_signal(signal.SIGINT)

    found = bootstrap_lrt(carcinoma, 2, rng=seeded(), n_replicates=500, n_init=4, n_jobs=n_jobs, on_progress=press)
    assert found.reason is StopReason.INTERRUPTED
    assert found.n_replicates == 3
    assert found.p_value == 0.25
    assert [p.done for p in seen] == [1, 2, 3]
    assert seen[0].total == 500


def test_time_limits(carcinoma):
    fit = fit_classes(carcinoma, 2, rng=seeded())
    found = bootstrap_fit(fit, rng=seeded(), budget=Budget(seconds=0))
    assert found.reason is StopReason.TIME
    assert found.p_g2 is None
    assert found.to_dict()["p_x2"] is None
    for seconds in (0.3, 3.0, 30.0):  # a busy machine may not come to its first replicate in the shortest time
        some = bootstrap_fit(fit, rng=seeded(), n_replicates=20_000, budget=Budget(seconds=seconds))
        if some.n_replicates > 0:
            break
    assert 0 < some.n_replicates < 20_000
    whole = bootstrap_fit(fit, rng=seeded(), n_replicates=some.n_replicates)
    # Generators do not depend on how many replicates were asked for.
    np.testing.assert_array_equal(whole.g2_replicates, some.g2_replicates)


def test_an_error_in_a_replicate_is_raised():
    def fails(rng):
        raise ZeroDivisionError("as asked")

    with pytest.raises(ZeroDivisionError, match="as asked"):
        replicate(fails, 5, seeded(), stage="x", n_jobs=2)


# ---- what is drawn, and what cannot be ---------------------------------------------------------------------------


def test_missing_cells_stay_missing():
    rng = seeded(2)
    model = Model.random(Tree.star(2, [2, 3, 2]), numbered([2, 3, 2]), rng)
    codes = model.sample(200, rng)
    codes[rng.random(codes.shape) < 0.3] = -1
    table = Table.from_codes(codes, model.variables)
    drawn = Resampler.of(model, table).draw(rng)
    for t in (table, drawn):
        t_missing = np.repeat(t.codes < 0, t.weights.astype(int), axis=0)
        counts = np.unique(t_missing @ [1, 2, 4], return_counts=True)[1]
        if t is table:
            before = counts
    np.testing.assert_array_equal(before, counts)
    found = bootstrap_lrt(table, 2, rng=rng, n_replicates=5)
    assert found.n_replicates == 5
    with pytest.raises(DataError, match=r"nothing to bootstrap.*missing cells"):
        bootstrap_fit(found.null, rng=rng)


def gappy(rng, n=60, m=4):
    """Rows of two classes with a quarter of the cells missing."""
    codes = Model.random(Tree.star(2, [2] * m), numbered([2] * m), rng).sample(n, rng)
    codes[rng.random(codes.shape) < 0.25] = -1
    return codes


def weight_of_gaps(table):
    """Total weight of each pattern of missing cells."""
    patterns, group = np.unique(table.codes < 0, axis=0, return_inverse=True)
    weights = np.bincount(group.ravel(), table.weights)
    return {tuple(p): w for p, w in zip(patterns.tolist(), weights.tolist(), strict=True)}


def test_whole_weights_are_repeated_rows_with_missing_cells_too():
    """The same seed gives the same statistic, the same replicates and the same p-value."""
    rng = seeded(1)
    codes, weights = gappy(rng), rng.integers(1, 4, 60)
    a = bootstrap_lrt(Table.from_codes(codes, weights=weights), 2, rng=seeded(), n_replicates=9)
    b = bootstrap_lrt(Table.from_codes(np.repeat(codes, weights, axis=0)), 2, rng=seeded(), n_replicates=9)
    assert a.statistic == pytest.approx(b.statistic, abs=1e-3)
    np.testing.assert_allclose(a.replicates, b.replicates, atol=1e-3)
    assert a.p_value == b.p_value


def test_real_weights_and_missing_cells_are_kept_in_every_replicate():
    """However a weight is given, as one row or as parts of it, replicates weigh as much and miss the same cells."""
    rng = seeded(2)
    codes, weights = gappy(rng), rng.uniform(0.1, 2.5, 60)
    table = Table.from_codes(codes, weights=weights)
    halves = Table.from_codes(np.vstack([codes, codes]), weights=np.tile(weights / 2, 2))
    a, b = (bootstrap_lrt(t, 2, rng=seeded(), n_replicates=9) for t in (table, halves))
    assert a.n_replicates == 9 and 0 < a.p_value <= 1
    np.testing.assert_allclose(a.replicates, b.replicates, atol=1e-3)
    resampler, before = Resampler.of(a.null.model, table), weight_of_gaps(table)
    for seed in range(3):
        assert weight_of_gaps(resampler.draw(seeded(seed))) == pytest.approx(before)
    fit = fit_classes(Table.from_codes(np.abs(codes), weights=weights), 1, rng=seeded())
    assert bootstrap_fit(fit, rng=seeded(), n_replicates=3).n_replicates == 3
    assert np.isfinite(standard_errors(fit, method="bootstrap", rng=seeded(), n_replicates=5).errors).all()


def test_real_weights_do_not_bend_the_test():
    """Data of one class, weights that sum to the number of rows: p-values are spread as they should be."""
    rng = seeded(5)
    truth = Model.random(Tree.star(1, [2] * 5), numbered([2] * 5), rng)
    p = []
    for _ in range(20):
        codes = truth.sample(100, rng)
        codes[rng.random(codes.shape) < 0.1] = -1
        table = Table.from_codes(codes, truth.variables, rng.uniform(0.9, 1.1, 100))
        p.append(bootstrap_lrt(table, 2, rng=rng, n_replicates=19, n_init=8).p_value)
    assert 0.3 < np.mean(p) < 0.75
    assert np.mean(np.array(p) <= 0.05) <= 0.2


@pytest.mark.parametrize("weight", [1e-12, 1e9])
def test_weights_that_are_no_number_of_rows(weight):
    codes = seeded().integers(0, 2, (10, 3))
    table = Table.from_codes(codes, weights=np.full(10, weight))
    with pytest.raises(DataError, match=r"weights sum to 1e.*draws from 1 to 100,000,000 rows. Scale the weights"):
        bootstrap_lrt(table, 2, rng=seeded(), n_replicates=2)
    with pytest.raises(DataError, match="Scale the weights"):
        bootstrap_fit(fit_classes(table, 1, rng=seeded()), rng=seeded())


def test_arguments_are_checked(carcinoma):
    for bad in (1, 2.0, True, "2"):
        with pytest.raises(ParameterError, match="'k'"):
            bootstrap_lrt(carcinoma, bad, rng=seeded())
    with pytest.raises(ParameterError, match="n_replicates"):
        bootstrap_lrt(carcinoma, 2, rng=seeded(), n_replicates=0)
    with pytest.raises(ParameterError, match="n_jobs"):
        bootstrap_lrt(carcinoma, 2, rng=seeded(), n_jobs=0)
    with pytest.raises(ParameterError, match="n_init"):
        bootstrap_lrt(carcinoma, 2, rng=seeded(), n_init=0)


def test_p_values_are_never_zero():
    assert bootstrap_p(5.0, np.array([1.0, 2.0, 3.0])) == 0.25
    assert bootstrap_p(2.0, np.array([1.0, 2.0, 3.0])) == 0.75
    assert bootstrap_p(2.0, np.empty(0)) is None
