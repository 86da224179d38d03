"""Chains side by side, what is made of their draws, and the files they go to."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import permutations, product

import libraries
import numpy as np
import pytest
from enumeration import log_marginals
from exact import two_classes

from latentree import Budget, DataError, FileFormatError, LatentreeError, ParameterError, StopReason, Table
from latentree._variables import Variable
from latentree.bayes import (
    ClassDraws,
    ClassPrior,
    Draws,
    Target,
    candidate,
    classification,
    delta_loss,
    effective_samples,
    load,
    log_predictive,
    predictive_loss,
    predictive_rows,
    prior_on_classes,
    r_hat,
    relabel,
    sample,
    similarity,
    standard_error,
    summarise,
    with_counts,
)
from latentree.bayes._candidate import _log_permanent
from latentree.bayes._loss import _mixture
from latentree.bayes._relabel import responsibilities

SIZES = np.array([0.45, 0.35, 0.2])
ONES = np.array([[0.9, 0.9, 0.1, 0.9, 0.2], [0.1, 0.2, 0.9, 0.8, 0.9], [0.2, 0.9, 0.8, 0.1, 0.1]])


def three_classes(n: int = 400, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    z = rng.choice(3, size=n, p=SIZES)
    return Table.from_codes((rng.random((n, 5)) < ONES[z]).astype(int), [2] * 5)


@pytest.fixture(scope="module")
def draws() -> Draws:
    prior = ClassPrior(prior_on_classes(6, "geometric"))
    return sample(three_classes(), prior, rng=np.random.default_rng(0), n_draws=250, n_burn=400, n_chains=3)


@pytest.fixture(scope="module")
def labelled(draws) -> ClassDraws:
    return relabel(draws.given(3))


# ---- running ----------------------------------------------------------------------------------------------------


def test_threads_and_blocks_change_nothing(monkeypatch):
    table, prior = three_classes(100), ClassPrior(prior_on_classes(4))
    runs = []
    for n_jobs, seconds in ((1, 0.2), (2, 0.2), (2, 1e-9)):
        monkeypatch.setattr("latentree.bayes._sampler.BLOCK_SECONDS", seconds)
        runs.append(
            sample(table, prior, rng=np.random.default_rng(5), n_draws=40, n_burn=30, n_chains=3, n_jobs=n_jobs)
        )
    for other in runs[1:]:
        assert np.array_equal(runs[0].k, other.k)
        assert np.array_equal(runs[0].theta, other.theta, equal_nan=True)
        assert {k: v.tolist() for k, v in runs[0].tried.items()} == {k: v.tolist() for k, v in other.tried.items()}
    assert len({tuple(chain) for chain in runs[0].k}) == 3  # chains differ


def test_it_finds_three_classes(draws):
    assert draws.k_mode == 3 and draws.reason is StopReason.FINISHED
    assert draws.k_posterior.sum() == pytest.approx(1)
    assert draws.k_r_hat < 1.1 and draws.k_effective > 50
    assert all(0 < rate < 1 for rate in draws.acceptance.values())


def test_methods_agree():
    table, prior = three_classes(60), ClassPrior(prior_on_classes(4), 1.0, 1.0)
    found = []
    for method, n in (("marginal", 3_000), ("reversible_jump", 20_000)):
        drawn = sample(table, prior, rng=np.random.default_rng(1), method=method, n_draws=n, thin=2, n_chains=2)
        found.append((drawn.k.mean(), standard_error(drawn.k)))
    (a, s), (b, t) = found
    assert abs(a - b) < 4.5 * np.hypot(s, t) < 0.5


def test_ctrl_c_keeps_what_was_drawn():
    def press(event):
        if event.stage == "draws" and event.done > 20:
            raise KeyboardInterrupt

    kept = sample(
        three_classes(100),
        ClassPrior(prior_on_classes(3)),
        rng=np.random.default_rng(0),
        n_draws=10**6,
        n_burn=10,
        on_progress=press,
    )
    assert kept.reason is StopReason.INTERRUPTED and 20 < kept.n_draws < 10**6
    whole = sample(
        three_classes(100), ClassPrior(prior_on_classes(3)), rng=np.random.default_rng(0), n_draws=21, n_burn=10
    )
    assert np.array_equal(kept.k[:, :21], whole.k)


def test_time_limit():
    table, prior = three_classes(100), ClassPrior(prior_on_classes(3))
    kept = sample(
        table, prior, rng=np.random.default_rng(0), n_draws=10**7, n_burn=0, budget=Budget(seconds=0.1), n_chains=1
    )
    assert kept.reason is StopReason.TIME and kept.n_draws > 0
    with pytest.raises(LatentreeError, match="before the first draw"):
        sample(table, prior, rng=np.random.default_rng(0), n_burn=10**7, budget=Budget(seconds=0.05))


# ---- survey weights ---------------------------------------------------------------------------------------------


def survey(seed: int = 0, n: int = 60) -> Table:
    rng = np.random.default_rng(seed)
    return Table.from_codes(rng.integers(0, 3, (n, 2)), [3, 3], rng.uniform(0.2, 3.0, n))


def test_weights_become_counts_next_to_them_and_on_average_the_weights():
    table = Table.from_codes([[0], [1], [2], [3]], weights=[0.25, 2.0, 1.7, 3.3])
    found = np.zeros((4000, 4))
    for seed in range(len(found)):
        counted = with_counts(table, np.random.default_rng(seed))
        found[seed, counted.codes[:, 0]] = counted.weights
    assert (np.abs(found - table.weights) < 1).all() and (found == np.rint(found)).all()
    assert (np.abs(found.sum(axis=1) - table.n) < 1).all()
    np.testing.assert_allclose(found.mean(axis=0), table.weights, atol=5 * 0.5 / np.sqrt(len(found)))


def test_weights_that_are_counts_stay_and_take_no_random_number():
    table, rng = three_classes(), np.random.default_rng(0)
    assert with_counts(table, rng) is table
    assert rng.random() == np.random.default_rng(0).random()
    own = Table.from_codes([[0], [1]], weights=[2, 5], n=100)
    assert with_counts(own, rng).weights.tolist() == [2.0, 5.0]


def test_survey_weights_are_scaled_to_the_sample_size():
    table = Table.from_codes([[0], [1]], weights=[1000.5, 3000.2], n=40)
    assert with_counts(table, np.random.default_rng(0)).weights.tolist() == [10.0, 30.0]


def test_survey_weights_give_the_posterior_of_the_weighted_likelihood():
    """With one class it is known: Dirichlet, with the prior's parameters and the weighted counts."""
    table = survey(n=400)
    drawn = sample(table, ClassPrior([1.0]), rng=np.random.default_rng(1), n_draws=2000, n_burn=10, thin=1)
    weighted = np.concatenate([np.bincount(table.codes[:, i], table.weights, 3) for i in range(2)])
    expected = (1 + weighted) / (3 + table.weights.sum())
    np.testing.assert_allclose(drawn.theta[..., 0, :].mean(axis=(0, 1)), expected, atol=2.0 / table.n)
    assert drawn.table is table  # rows are classified, and classes counted, with their own weights


def test_survey_weights_can_be_resumed_and_compared(tmp_path):
    table, prior, options = survey(), ClassPrior(prior_on_classes(3)), {"n_draws": 40, "n_burn": 10, "n_chains": 2}
    whole = sample(table, prior, rng=np.random.default_rng(3), **options)
    sample(table, prior, rng=np.random.default_rng(3), checkpoint=tmp_path / "c", **{**options, "n_draws": 5})
    rest = sample(table, prior, rng=np.random.default_rng(3), checkpoint=tmp_path / "c", **options)
    assert np.array_equal(rest.theta, whole.theta, equal_nan=True)
    assert np.isfinite(candidate(table, 2, rng=np.random.default_rng(0), n_sweeps=200, n_burn=20).log_marginal)
    assert classification(relabel(whole.given())).shape[0] == table.n_patterns


def test_a_checkpoint_is_gone_on_from(tmp_path):
    table, prior, file = three_classes(100), ClassPrior(prior_on_classes(3)), tmp_path / "chains.json"
    options = {"n_draws": 60, "n_burn": 20, "n_chains": 2}
    whole = sample(table, prior, rng=np.random.default_rng(3), **options)
    heard = []

    def stop(event):
        heard.append(event)
        if event.stage == "draws":
            raise KeyboardInterrupt

    part = sample(table, prior, rng=np.random.default_rng(3), checkpoint=file, on_progress=stop, **options)
    assert 0 < part.n_draws < 60 and heard[0].stage == "burn-in"
    rest = sample(table, prior, rng=np.random.default_rng(3), checkpoint=file, **options)
    assert np.array_equal(rest.k, whole.k) and np.array_equal(rest.theta, whole.theta, equal_nan=True)
    assert {k: v.tolist() for k, v in rest.accepted.items()} == {k: v.tolist() for k, v in whole.accepted.items()}
    with pytest.raises(ParameterError, match="seed"):
        sample(table, prior, rng=np.random.default_rng(4), checkpoint=file, **options)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: prior_on_classes(0), "at least 1"),
        (lambda: ClassPrior([1.0], delta1=0.0), "'delta1'.*above 0"),
        (lambda: ClassPrior([1.0], delta2=-1.0), "'delta2'.*above 0"),
        (lambda: ClassPrior([1.0], delta2=float("nan")), "'delta2'.*above 0"),
        (lambda: ClassPrior([]), "at least one number"),
        (lambda: ClassPrior([1.0, 0.0]), "above 0"),
        (lambda: prior_on_classes(3, [1, 2]), "1 to 3 classes"),
        (lambda: prior_on_classes(3, "normal"), "uniform"),
        (lambda: sample(three_classes(5), ClassPrior(prior_on_classes(6)), rng=None), "5 rows for 6 classes"),
        (lambda: Target.of(Table.from_codes([[0], [1]], weights=[1.5, 3]), ClassPrior([1])), "must be counts"),
        (
            lambda: sample(
                Table.from_codes([[0], [1]], weights=[0.7, 0.9]), ClassPrior([1] * 3), rng=np.random.default_rng(0)
            ),
            "for 3 classes",
        ),
        (
            lambda: sample(
                Table.from_codes([[0], [1]], weights=[1e-9, 1e-9]), ClassPrior([1]), rng=np.random.default_rng(0)
            ),
            "not one row",
        ),
        (lambda: sample(three_classes(), ClassPrior([1]), rng=None, splitt="source"), "Did you mean 'split'"),
        (lambda: sample(three_classes(), ClassPrior([1]), rng=None, method="nuts"), "marginal"),
        (lambda: sample(three_classes(), ClassPrior([1]), rng=None, n_draws=0), "at least 1"),
        (lambda: sample(three_classes(), ClassPrior([1]), rng=None, split="half"), "simplex"),
        (lambda: candidate(three_classes(), 0, rng=None), "from 1 to"),
        (lambda: candidate(three_classes(), 2, rng=None, at="best"), "completion"),
    ],
)
def test_wrong_arguments_are_explained(call, told):
    with pytest.raises((ParameterError, DataError), match=told):
        call()


def test_one_class_is_enough():
    drawn = sample(three_classes(50), ClassPrior([1]), rng=np.random.default_rng(0), n_draws=50, n_burn=0, thin=1)
    assert (drawn.k == 1).all() and np.isnan(drawn.k_r_hat)
    assert summarise(relabel(drawn.given())).weights.tolist() == [1.0]


# ---- diagnostics ------------------------------------------------------------------------------------------------


def test_diagnostics_are_arviz():
    az = libraries.arviz()
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.normal(size=(4, 500)), axis=1) * 0.05 + rng.normal(size=(4, 500))
    assert effective_samples(x) == pytest.approx(float(az.ess(x, method="mean")), rel=0.02)
    assert r_hat(x) == pytest.approx(float(az.rhat(x)), rel=1e-6)


def test_effective_samples_of_a_known_chain():
    rng, rho = np.random.default_rng(1), 0.9
    x = np.zeros(200_000)
    noise = rng.normal(size=len(x))
    for i in range(1, len(x)):
        x[i] = rho * x[i - 1] + noise[i]
    assert effective_samples(x) == pytest.approx(len(x) * (1 - rho) / (1 + rho), rel=0.1)
    assert np.isnan(effective_samples(np.ones((2, 10)))) and np.isnan(r_hat(np.ones((2, 10))))


# ---- labels -----------------------------------------------------------------------------------------------------


def scrambled(draws: ClassDraws, seed: int = 0) -> ClassDraws:
    rng = np.random.default_rng(seed)
    return draws.permuted(np.argsort(rng.random(draws.weights.shape), axis=1))


@pytest.mark.parametrize("method", ["stephens", "pivot"])
def test_relabelling_undoes_any_scrambling(labelled, method):
    once = relabel(scrambled(labelled), method)
    again = relabel(scrambled(labelled, 1), method)
    assert np.array_equal(once.weights, again.weights) and np.array_equal(once.theta, again.theta)
    assert once.theta.mean(axis=0)[:, 1::2] == pytest.approx(ONES, abs=0.15)
    assert once.weights.mean(axis=0) == pytest.approx(SIZES, abs=0.1)
    assert (np.diff(once.weights.mean(axis=0)) < 0).all()


def test_ordering_by_weight_orders(labelled):
    ordered = relabel(scrambled(labelled), "weight")
    assert (np.diff(ordered.weights, axis=1) <= 0).all()


def test_celeux_follows_the_first_mode(labelled):
    """After draws of one mode, a draw with its classes exchanged is put back."""
    start, rest = labelled.part(slice(0, 100)), labelled.part(slice(100, None))
    joined = ClassDraws(
        labelled.table,
        *(
            np.concatenate([getattr(start, name), getattr(scrambled(rest), name)])
            for name in ("weights", "theta", "log_likelihood", "chain")
        ),
    )
    done = relabel(joined, "celeux")
    assert np.mean(np.all(done.weights == labelled.weights, axis=1)) > 0.95


def test_relabelling_keeps_the_models(labelled):
    done = relabel(scrambled(labelled))
    assert np.sort(done.weights, axis=1).tolist() == np.sort(labelled.weights, axis=1).tolist()
    with pytest.raises(ParameterError, match="stephens"):
        relabel(labelled, "guess")


# ---- what the draws say -----------------------------------------------------------------------------------------


def test_summary_and_model(labelled):
    told = summarise(labelled)
    assert (told.weights_interval[0] < told.weights).all() and (told.weights < told.weights_interval[1]).all()
    inside = (told.theta_interval[0, :, 1::2] < ONES) & (told.theta_interval[1, :, 1::2] > ONES)
    assert inside.mean() > 0.7
    narrow = summarise(labelled, level=0.5)
    assert (np.diff(narrow.weights_interval, axis=0) < np.diff(told.weights_interval, axis=0)).all()
    model = told.model()
    assert model.table(0)[0] == pytest.approx(told.weights)
    assert model.table("x2") == pytest.approx(told.theta[:, 2:4])
    with pytest.raises(ParameterError, match="between 0 and 1"):
        summarise(labelled, level=1.0)


def test_similarity_and_classification(draws, labelled):
    r = responsibilities(labelled)
    assert r.sum(axis=2) == pytest.approx(np.ones(r.shape[:2]))
    assert classification(labelled) == pytest.approx(r.mean(axis=0))
    assert similarity(labelled) == pytest.approx(np.einsum("dpk,dqk->pq", r, r) / len(r))
    of_all = similarity(draws)
    assert of_all == pytest.approx(of_all.T) and 0 <= of_all.min() <= of_all.max() <= 1
    assert similarity(scrambled(labelled)) == pytest.approx(similarity(labelled))


def test_predictive_distribution(draws):
    everything = Table.from_codes(list(product((0, 1), repeat=5)), [2] * 5)
    p = np.exp(log_predictive(draws, everything))
    assert p.sum() == pytest.approx(1)
    rows = predictive_rows(draws, 20_000, np.random.default_rng(0))
    found = Table.from_codes(rows, [2] * 5)
    shares = {tuple(c): w / 20_000 for c, w in zip(found.codes.tolist(), found.weights, strict=True)}
    for code, chance in zip(everything.codes.tolist(), p, strict=True):
        assert abs(shares.get(tuple(code), 0.0) - chance) < 5 * np.sqrt(chance / 20_000) + 1e-4
    unknown = Table.from_codes([[-1] * 5], [2] * 5)
    assert log_predictive(draws, unknown) == pytest.approx(0, abs=1e-12)
    with pytest.raises(DataError, match="other variables"):
        log_predictive(draws, Table.from_codes([[0, 1]]))


def test_loss_functions(labelled):
    rng = np.random.default_rng(0)
    mixed = scrambled(labelled)
    by_delta = delta_loss(mixed, rng=rng, n_points=100, n_steps=4_000)
    by_prediction = predictive_loss(mixed, rng=rng, n_steps=4_000)
    cells = np.array(list(product((0, 1), repeat=5))) + labelled.offsets[:-1]
    expected = np.mean([_mixture(w, t, cells) for w, t in zip(labelled.weights, labelled.theta, strict=True)], axis=0)
    for found in (by_delta, by_prediction):
        assert found.weights.sum() == pytest.approx(1) and (np.diff(found.weights) <= 0).all()
        off = [np.abs(found.theta[list(order), 1::2] - ONES).max() for order in permutations(range(3))]
        assert min(off) < 0.25
    # The predictive estimate is at least as near the predictive distribution as any draw.
    gap = ((_mixture(by_prediction.weights, by_prediction.theta, cells) - expected) ** 2).sum()
    of_draws = [
        ((_mixture(w, t, cells) - expected) ** 2).sum() for w, t in zip(mixed.weights, mixed.theta, strict=True)
    ]
    assert gap < min(of_draws)
    wide = ClassDraws(
        Table.from_codes(np.zeros((3, 20), int), [2] * 20),
        mixed.weights[:3],
        np.full((3, 3, 40), 0.5),
        np.zeros(3),
        np.zeros(3, int),
    )
    with pytest.raises(DataError, match="1,048,576 patterns"):
        predictive_loss(wide, rng=rng)
    with pytest.raises(ParameterError, match="two draws"):
        delta_loss(mixed.part(slice(0, 1)), rng=rng)


# ---- the candidate method ---------------------------------------------------------------------------------------


def test_permanent():
    match = np.random.default_rng(0).normal(size=(5, 4, 4))
    expected = [sum(np.exp(sum(m[i, s[i]] for i in range(4))) for s in permutations(range(4))) for m in match]
    assert np.exp(_log_permanent(match)) == pytest.approx(expected)


@pytest.mark.parametrize("at", ["map", "completion"])
@pytest.mark.parametrize(("d1", "d2"), [(1.0, 1.0), (0.7, 1.5)])
def test_candidate_method_is_exact(at, d1, d2):
    rows = [[0, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 1, 1], [2, -1, 1]]
    exact = log_marginals(rows, (3, 2, 2), 3, d1, d2)
    table = Table.from_codes(rows, [3, 2, 2])
    for k in (1, 2, 3):
        found = candidate(table, k, rng=np.random.default_rng(2), delta1=d1, delta2=d2, at=at, n_sweeps=20_000)
        assert found.standard_error < 0.05
        assert abs(found.log_marginal - exact[k - 1]) < 4.5 * found.standard_error + 1e-9


def test_candidate_method_on_counts():
    codes, weights = [[0, 0, 0], [1, 1, 1], [0, 1, 1], [1, 0, 0]], [12, 9, 3, 2]
    table = Table.from_codes(codes, [2, 2, 2], weights=weights)
    found = candidate(table, 2, rng=np.random.default_rng(0), n_sweeps=20_000)
    assert abs(found.log_marginal - two_classes(codes, weights)) < 4.5 * found.standard_error < 0.3


def test_candidate_without_relabelling_misses_the_other_names():
    """Where a chain never exchanges two clear classes, the density of one name is taken for that of both."""
    rows = np.repeat([[0] * 8, [1] * 8], 40, axis=0)
    table = Table.from_codes(rows, [2] * 8)
    both = [
        candidate(table, 2, rng=np.random.default_rng(1), n_sweeps=2_000, relabellings=x).log_marginal
        for x in (True, False)
    ]
    off = both[1] - both[0]
    assert off == pytest.approx(-np.log(2), abs=0.2) or off > 20  # the chain kept the mode's names, or the others


# ---- files ------------------------------------------------------------------------------------------------------


def test_datatree_has_arviz_layout(draws):
    tree = draws.to_datatree()
    assert set(tree.children) == {"posterior", "sample_stats", "observed_data"}
    posterior = tree["posterior"]
    assert posterior["n_classes"].dims == ("chain", "draw")
    assert posterior["theta"].dims == ("chain", "draw", "class", "cell")
    assert posterior["variable"].values.tolist()[:3] == ["x1", "x1", "x2"]
    assert posterior["n_classes"].values.tolist() == draws.k.tolist()
    assert posterior.attrs["inference_library"] == "latentree"


@pytest.mark.parametrize("method", ["marginal", "gibbs"])
def test_files_round_trip(tmp_path, method):
    rows = [["<b>ja</b>", 1, "x/y"], ["nein", 2, "x/y"], ["nein", 2, "[z]"], ["nein", 1, None]] * 5
    table = Table.from_frame({name: [r[i] for r in rows] for i, name in enumerate(("ant:wort", "2 b", "$c"))})
    own = ClassPrior(prior_on_classes(3, "geometric"), 0.5, 2.0)
    made = sample(table, own, rng=np.random.default_rng(0), method=method, n_draws=30, n_burn=10, n_chains=2)
    made.save(tmp_path / "draws.nc")
    back = load(tmp_path / "draws.nc")
    assert back.k.tolist() == made.k.tolist() and back.method == method and back.prior.delta2 == 2.0
    assert np.sort(back.weights, axis=2) == pytest.approx(np.sort(made.weights, axis=2), nan_ok=True)
    if method == "marginal":
        assert np.array_equal(back.theta, made.theta, equal_nan=True)
    assert back.table.variables == table.variables
    assert back.table.codes[back.table.inverse].tolist() == table.codes[table.inverse].tolist()
    assert back.acceptance == pytest.approx(made.acceptance, nan_ok=True)
    assert list(tmp_path.iterdir()) == [tmp_path / "draws.nc"]


def test_old_arviz_reads_the_files(draws, tmp_path):
    """Releases before 1.0 have InferenceData."""
    az = libraries.arviz()
    if not az.__version__.startswith("0."):
        pytest.skip("this is a new ArviZ")
    draws.save(tmp_path / "draws.nc")
    data = az.from_netcdf(tmp_path / "draws.nc", engine="h5netcdf")
    assert isinstance(data, az.InferenceData)
    assert float(az.rhat(data, var_names=["n_classes"])["n_classes"]) == pytest.approx(draws.k_r_hat, rel=1e-6)


def test_new_arviz_takes_the_tree_and_the_files(draws, tmp_path):
    """Releases from 1.0 on are made of arviz-base, -stats and -plots, and work on DataTree."""
    import scipy.stats
    import xarray

    if not hasattr(scipy.stats, "wasserstein_distance_nd"):
        pytest.skip("new ArviZ needs SciPy 1.13")
    import arviz_stats as stats

    draws.save(tmp_path / "draws.nc")
    with xarray.open_datatree(tmp_path / "draws.nc", engine="h5netcdf") as saved:
        for tree in (draws.to_datatree(), saved):
            found = stats.rhat(tree, var_names=["n_classes"])["n_classes"]
            assert float(found) == pytest.approx(draws.k_r_hat, rel=1e-6)
            size = stats.ess(tree, var_names=["n_classes"], method="mean")["n_classes"]
            assert float(size) == pytest.approx(draws.k_effective, rel=0.05)


def test_damaged_files_are_explained(tmp_path):
    (tmp_path / "bad.nc").write_bytes(b"no netCDF")
    with pytest.raises(FileFormatError, match=r"bad\.nc"):
        load(tmp_path / "bad.nc")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.nc")


def test_only_drawn_numbers_of_classes_can_be_asked_for(draws):
    with pytest.raises(ParameterError, match="was drawn"):
        draws.given(1)
    assert len(draws.given(3)) == (draws.k == 3).sum()
    assert replace(draws, k=draws.k * 0 + 2).k_mode == 2


def test_draws_that_a_checkpoint_cannot_hold_are_refused_at_once(tmp_path):
    table, prior = Table.from_codes([[0, 0], [1, 1]], weights=[9, 9]), ClassPrior(prior_on_classes(8))
    with pytest.raises(ParameterError, match="Draw fewer and thin more"):
        sample(table, prior, rng=np.random.default_rng(0), n_draws=10**7, checkpoint=tmp_path / "state")


# ---- the state of the machine -----------------------------------------------------------------------------------


def fresh(tmp_path, code, *args):
    """Run Python in an empty home."""
    places = {"HOME": "home", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config", "TMPDIR": "tmp"}
    for name in places.values():
        (tmp_path / name).mkdir()
    env = {**os.environ, **{key: str(tmp_path / name) for key, name in places.items()}}
    line = [sys.executable, "-c", code, *args]
    return subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)


def test_arviz_is_imported_whatever_the_cache_holds(tmp_path):
    """It warns once a day otherwise, and remembers that only where it can write."""
    (tmp_path / "cache").write_text("not a folder")
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "MPLCONFIGDIR": str(tmp_path)}
    code = "import libraries; print(libraries.arviz().__version__)"
    line = [sys.executable, "-W", "error::FutureWarning", "-c", code]
    done = subprocess.run(line, env=env, cwd=os.path.dirname(libraries.__file__), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


WATCHED = """
import sys
import numpy.testing  # of NumPy 1.26, asks lscpu about the processor
started = []
def watch(event, args):
    if event.startswith(("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork")):
        started.append(args[0])
sys.addaudithook(watch)
from latentree.cli import main
sys.argv = ["latentree", *sys.argv[1].split()]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("STARTED", sorted(set(started) - {"fc-list"}))  # Matplotlib asks it for fonts, once on a machine
import platform
print("PROCESSOR", "processor" in vars(platform.uname()))
"""


def test_draws_and_pictures_start_no_program(tmp_path):
    """When it is imported h5py looks at all of platform.uname(), for which Python would run uname -p."""
    line = "sample carcinoma --max-classes 3 --draws 20 --burn 5 --chains 2 --plots pictures --out draws.nc"
    done = fresh(tmp_path, WATCHED, line)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-2:] == ["STARTED []", "PROCESSOR False"]  # and what others see is as it was
    assert (tmp_path / "draws.nc").exists() and (tmp_path / "pictures").is_dir()


def test_a_long_way_from_one_draw_to_the_next_is_cut_into_pieces(monkeypatch):
    table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 1, 1]], weights=[30, 20, 3])
    prior, length = ClassPrior(prior_on_classes(4)), {"n_draws": 3, "n_burn": 5, "thin": 40, "n_chains": 2}
    monkeypatch.setattr("latentree.bayes._sampler._Chains.sweeps", 1000)
    whole = sample(table, prior, rng=np.random.default_rng(0), **length)
    monkeypatch.setattr("latentree.bayes._sampler.BLOCK_SECONDS", 0.0)  # a sweep at a time
    pieces = sample(table, prior, rng=np.random.default_rng(0), **length)
    for name in ("k", "weights", "theta", "log_likelihood"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(pieces, name))
    assert {j: n.tolist() for j, n in whole.tried.items()} == {j: n.tolist() for j, n in pieces.tried.items()}


def test_files_keep_how_values_are_read(tmp_path):
    pytest.importorskip("h5netcdf")
    own = Variable("a", ("x", "(other)"), None, ((), ("y", "z")), 1, ("never",))
    table = Table.from_codes([[0, 0], [1, 1], [0, 1]], [own, Variable("b", (0, 1))], [5, 6, 7])
    drawn = sample(table, ClassPrior(prior_on_classes(2)), rng=np.random.default_rng(0), n_draws=5, n_burn=2)
    drawn.save(tmp_path / "d.nc")
    again = load(tmp_path / "d.nc").table.variables
    assert [(v.merged, v.other, v.never_seen) for v in again] == [(own.merged, 1, ("never",)), ((), None, ())]
