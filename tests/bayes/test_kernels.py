"""The C++ sampler does what its NumPy twin does, draw by draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from latentree._table import Table
from latentree.bayes import _gibbs as gibbs, _marginal as marginal, _reversible_jump as reversible_jump
from latentree.bayes._chain import SWEEPS, State, Target, init, step
from latentree.bayes._prior import ClassPrior, prior_on_classes
from latentree.bayes._stream import Stream
from latentree.engine import _core

WORDS = np.array([2**63 + 5, 12345, 2**40, 99], dtype=np.uint64)
TWINS = {
    "weights": gibbs.update_weights,
    "parameters": gibbs.update_parameters,
    "allocation": gibbs.update_allocation,
    "split_combine": reversible_jump.split_or_combine,
    "birth_death": reversible_jump.birth_or_death,
    "n_classes": marginal.update_n_classes,
    "marginal": marginal.jump,
}


def table(seed: int = 0, n: int = 40, cardinalities=(2, 3, 2, 1)) -> Table:
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(-1 if i == 1 else 0, r, size=n) for i, r in enumerate(cardinalities)], axis=1)
    return Table.from_codes(codes, list(cardinalities))


# ---- random numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "a", "b", "twin"),
    [
        (0, 0, 0, lambda s: s.uniform()),
        (1, 0, 0, lambda s: s.normal()),
        (2, 0.02, 0, lambda s: s.log_gamma_variate(0.02)),
        (2, 7.5, 0, lambda s: s.log_gamma_variate(7.5)),
        (3, 5, 0.3, lambda s: s.binomial(5, 0.3)),
        (3, 100_000, 0.7, lambda s: s.binomial(100_000, 0.7)),
    ],
)
def test_random_numbers_are_the_twins(kind, a, b, twin):
    stream = Stream(WORDS)
    assert _core.draw(WORDS, kind, a, b, 200) == pytest.approx([twin(stream) for _ in range(200)], rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "a", "b", "distribution"),
    [
        (0, 0, 0, stats.uniform()),
        (1, 0, 0, stats.norm()),
        (2, 0.3, 0, stats.loggamma(0.3)),
        (2, 4.0, 0, stats.loggamma(4.0)),
    ],
)
def test_random_numbers_have_their_distribution(kind, a, b, distribution):
    drawn = _core.draw(WORDS, kind, a, b, 20_000)
    assert stats.kstest(drawn, distribution.cdf).pvalue > 0.001


@pytest.mark.parametrize(("n", "p"), [(1, 0.2), (9, 0.8), (64, 0.5), (500, 0.3), (3000, 0.97), (10**6, 0.001)])
def test_binomial_numbers_have_their_distribution(n, p):
    drawn = _core.draw(WORDS, 3, n, p, 20_000).astype(int)
    cuts = np.unique(stats.binom.ppf(np.linspace(0.05, 0.95, 19), n, p)).astype(int)
    chance = np.diff(np.concatenate([[0], stats.binom.cdf(cuts, n, p), [1]]))
    kept = chance > 1e-6
    seen = np.bincount(np.searchsorted(cuts, drawn), minlength=len(chance))
    assert seen[~kept].sum() == 0
    if kept.sum() > 1:
        expected = chance[kept] / chance[kept].sum() * len(drawn)
        assert stats.chisquare(seen[kept], expected).pvalue > 0.001


def test_log_gamma():
    for x in (1e-3, 0.5, 1.0, 3.7, 9.999, 10.0, 123.4, 1e6):
        assert _core.draw(WORDS, 4, x, 0, 1)[0] == pytest.approx(gammaln(x), rel=1e-13, abs=1e-13)


# ---- moves ------------------------------------------------------------------------------------------------------


def twin_step(target: Target, state: State, sweep: tuple[str, ...]) -> State:
    stream = Stream(state.stream)
    for name in sweep:
        state = TWINS[name](target, state, stream)
    return replace(state, stream=np.array(stream.words, dtype=np.uint64))


@pytest.mark.parametrize("split", ["simplex", "source"])
@pytest.mark.parametrize(("d1", "d2"), [(1.0, 1.0), (0.3, 2.0)])
@pytest.mark.parametrize("method", list(SWEEPS))
def test_sweeps_are_the_twins(method, d1, d2, split):
    prior = ClassPrior(prior_on_classes(5, "geometric"), d1, d2)
    target = Target.of(table(3), prior, split=split, tries=2)
    state = init(target, np.random.default_rng(1), k=3)
    seen = set()
    for _ in range(60):
        expected = twin_step(target, state, SWEEPS[method])
        state, info = step(target, state, sweep=SWEEPS[method])
        assert state.stream.tolist() == expected.stream.tolist()
        assert state.members.tolist() == expected.members.tolist()
        assert state.log_weights == pytest.approx(expected.log_weights, rel=1e-9, abs=1e-9)
        assert state.log_theta == pytest.approx(expected.log_theta, rel=1e-9, abs=1e-9)
        assert info.log_likelihood[0] == pytest.approx(gibbs.log_likelihood(target, state), rel=1e-12)
        seen.add(state.k)
    assert seen == {3} if method == "gibbs" else len(seen) > 1


def test_extreme_priors_and_many_leaves():
    """Weights and probabilities below what a double holds, and rows that disagree by hundreds of digits."""
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((40, 400)) < 0.02, 1, 0) ^ (np.arange(40) % 2)[:, None]
    target = Target.of(Table.from_codes(rows, [2] * 400), ClassPrior(prior_on_classes(4), 0.01, 0.01), tries=2)
    state = init(target, np.random.default_rng(1), k=4)
    for _ in range(3):
        expected = twin_step(target, state, SWEEPS["marginal"])
        state, info = step(target, state)
        assert state.stream.tolist() == expected.stream.tolist()
        assert state.members.tolist() == expected.members.tolist()
        assert np.isfinite(state.log_weights).all() and np.isfinite(state.log_theta).all()
        assert np.isfinite(info.log_likelihood).all()
    state, info = step(target, state, n_sweeps=200)
    assert np.isfinite(info.log_likelihood).all()
    # Two kinds of rows that no class can share: every class holds one kind only.
    kind = (target.codes.mean(axis=1) > 0.5).astype(int)
    for own in state.members[state.sizes > 0]:
        assert len(np.unique(kind[own > 0])) == 1


def test_cutting_a_run_changes_nothing():
    target = Target.of(table(4), ClassPrior(prior_on_classes(4)))
    start = init(target, np.random.default_rng(2))
    whole, all_at_once = step(target, start, n_sweeps=50, thin=5)
    part, first = step(target, start, n_sweeps=20, thin=5)
    part, second = step(target, part, n_sweeps=30, thin=5)
    assert part.stream.tolist() == whole.stream.tolist()
    assert np.concatenate([first.k, second.k]).tolist() == all_at_once.k.tolist()
    assert np.array_equal(np.concatenate([first.theta, second.theta]), all_at_once.theta, equal_nan=True)


def test_draws_are_models():
    target = Target.of(table(5), ClassPrior(prior_on_classes(4)))
    _, info = step(target, init(target, np.random.default_rng(3)), n_sweeps=100, with_counts=True)
    for d, k in enumerate(info.k.tolist()):
        assert np.isnan(info.weights[d, k:]).all() and np.isnan(info.theta[d, k:]).all()
        assert info.weights[d, :k].sum() == pytest.approx(1)
        for a, b in zip(target.offsets[:-1], target.offsets[1:], strict=True):
            assert info.theta[d, :k, a:b].sum(axis=1) == pytest.approx(np.ones(k))
        assert info.sizes[d].sum() == target.n
    assert info.cells.sum(axis=1).tolist() == [gibbs.cell_counts(target, target.weights[None])[0].tolist()] * 100


def test_weights_are_repetitions():
    rows = np.repeat([[0, 1, 0, 0], [1, 2, 1, 0], [1, -1, 0, 0]], [4, 3, 2], axis=0)
    once = Table.from_codes([[0, 1, 0, 0], [1, 2, 1, 0], [1, -1, 0, 0]], [2, 3, 2, 1], weights=[4, 3, 2])
    prior = ClassPrior(prior_on_classes(3))
    runs = []
    for data in (Table.from_codes(rows, [2, 3, 2, 1]), once):
        target = Target.of(data, prior)
        runs.append(step(target, init(target, np.random.default_rng(0)), n_sweeps=50)[1].k.tolist())
    assert runs[0] == runs[1]


def test_wrong_sizes_do_not_reach_the_kernel():
    target = Target.of(table(), ClassPrior(prior_on_classes(3)))
    good = init(target, np.random.default_rng(0), k=2)
    bad_members = good.members.copy()
    bad_members[0, 0] += 1
    for bad in (
        replace(good, members=bad_members),
        replace(good, stream=np.zeros(4, dtype=np.uint64)),
        replace(good, stream=WORDS[:3]),
    ):
        with pytest.raises(ValueError):
            step(target, bad)
    with pytest.raises(ValueError, match="no such move"):
        target.kernel.advance(
            2, np.zeros(3), np.zeros((3, 8)), np.vstack([good.members, good.members[:1]]), WORDS, [9], 1, 1, False
        )
