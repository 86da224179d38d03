"""The samplers draw from the posterior they claim: against enumeration, against the prior, and move by move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from enumeration import posterior_of_k

from latentree._table import Table
from latentree.bayes._chain import SWEEPS, JumpOptions, State, Target, init, step
from latentree.bayes._diagnostics import effective_samples
from latentree.bayes._gibbs import log_densities
from latentree.bayes._marginal import log_birth_terms
from latentree.bayes._prior import ClassPrior, prior_on_classes
from latentree.bayes._reversible_jump import (
    Split,
    added,
    chance_up,
    combined,
    log_birth_ratio,
    log_jacobian,
    log_joint,
    log_proposal,
    log_split_ratio,
    log_split_terms,
    log_theta_prior,
    propose_split,
    restored,
)
from latentree.bayes._stream import Stream

MOVES = {
    **{name: SWEEPS[name] for name in ("reversible_jump", "marginal")},
    "split_combine": ("weights", "parameters", "allocation", "split_combine"),
    "birth_death": ("weights", "parameters", "allocation", "birth_death"),
    "marginal without n_classes": ("weights", "parameters", "marginal", "allocation"),
    "n_classes": ("n_classes", "parameters", "weights", "allocation"),
}
FIVE = [[0, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 1, 1]]
DATA = {
    "5 rows, binary": (FIVE, (2, 2, 2)),
    "6 rows, ternary, missing": ([[0, 0, 1], [2, -1, 2], [2, 1, 2], [0, 0, -1], [1, 0, 0], [2, 1, 2]], (3, 2, 3)),
    "8 rows, binary": ([*FIVE, [1, 1, 1], [0, 0, 1], [1, 0, 1]], (2, 2, 2)),
}
PRIORS = {
    "flat": ("uniform", 1.0, 1.0),
    "sparse": ("geometric", 0.4, 0.6),
    "even": ([1, 2, 3, 4], 2.5, 0.5),
}


def check_k(k: np.ndarray, exact: np.ndarray, precision: float = 0.012) -> None:
    """Shares of k agree with the exact ones within 4.5 standard errors, which are small enough to tell."""
    for i, p in enumerate(exact, start=1):
        shown = (k == i).astype(float)
        if not 0 < shown.mean() < 1:
            assert p < 1e-3
            continue
        error = np.sqrt(p * (1 - p) / effective_samples(shown))
        assert error < precision
        assert abs(shown.mean() - p) < 4.5 * error, (i, shown.mean(), p, error)


def run(target: Target, sweep: tuple[str, ...], n: int, seed: int = 0) -> np.ndarray:
    state = init(target, np.random.default_rng(seed), k=1)
    return step(target, state, sweep=sweep, n_sweeps=n)[1].k


@pytest.mark.parametrize("data", list(DATA))
@pytest.mark.parametrize("prior", list(PRIORS))
@pytest.mark.parametrize("moves", list(MOVES))
def test_posterior_of_k_is_exact(moves, prior, data):
    rows, cardinalities = DATA[data]
    kind, d1, d2 = PRIORS[prior]
    own = ClassPrior(prior_on_classes(4, kind), d1, d2)
    exact = posterior_of_k(rows, cardinalities, own.n_classes, d1, d2)
    table = Table.from_codes(rows, list(cardinalities))
    target = Target.of(table, own, tries=1)
    n = {"marginal": 25_000, "marginal without n_classes": 25_000, "birth_death": 90_000}.get(moves, 50_000)
    check_k(run(target, MOVES[moves], n), exact)


@pytest.mark.parametrize("data", list(DATA))
def test_posterior_of_k_is_exact_with_the_sources_split(data):
    rows, cardinalities = DATA[data]
    own = ClassPrior(prior_on_classes(4), 1.0, 1.0)
    exact = posterior_of_k(rows, cardinalities, own.n_classes, 1.0, 1.0)
    for moves, n in (("reversible_jump", 40_000), ("split_combine", 150_000), ("marginal", 30_000)):
        target = Target.of(Table.from_codes(rows, list(cardinalities)), own, split="source", tries=1)
        check_k(run(target, MOVES[moves], n, seed=1), exact)


def test_the_printed_birth_ratio_would_be_noticed():
    """(5.10) lacks (k+1)/(k0+1): a chain over (k, k0) with it has another distribution than the exact one."""
    exact = posterior_of_k(FIVE, (2, 2, 2), prior_on_classes(4), 1.0, 1.0)
    target = Target.of(Table.from_codes(FIVE), ClassPrior(prior_on_classes(4)))
    rng, k, kept = np.random.default_rng(0), 1, []
    state = init(target, rng, k=1)
    for _ in range(4_000):
        state, _ = step(target, state, sweep=SWEEPS["gibbs"])
        k0 = int((state.sizes == 0).sum())
        if rng.random() < (0.0 if state.k == 4 else 1.0 if state.k == 1 else 0.5):
            log_rest = np.log(rng.random()) / state.k
            log_p = float(np.log(-np.expm1(log_rest)))
            printed = log_birth_ratio(target, state.k, k0, log_p, log_rest) - np.log((state.k + 1) / (k0 + 1))
            if np.log(rng.random()) < printed:
                theta = np.log(np.concatenate([rng.dirichlet([1, 1]) for _ in range(3)]))
                state = added(state, log_p, log_rest, theta)
        elif k0:
            j = int(rng.choice(np.flatnonzero(state.sizes == 0)))
            others = [i for i in range(state.k) if i != j]
            rest = float(np.logaddexp.reduce(state.log_weights[others]))
            ratio = log_birth_ratio(target, state.k - 1, k0 - 1, float(state.log_weights[j]), rest)
            if np.log(rng.random()) < -(ratio - np.log(state.k / k0)):
                state = replace(
                    state,
                    log_weights=state.log_weights[others] - rest,
                    log_theta=state.log_theta[others],
                    members=state.members[others],
                )
        kept.append(state.k)
    k = np.array(kept)
    with pytest.raises(AssertionError):
        check_k(k, exact, precision=1.0)


# ---- no data ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moves", list(MOVES))
@pytest.mark.parametrize("prior", list(PRIORS))
def test_without_data_k_follows_its_prior(moves, prior):
    kind, d1, d2 = PRIORS[prior]
    own = ClassPrior(prior_on_classes(4, kind), d1, d2)
    target = Target(
        np.empty((0, 2), np.int16), np.empty(0, np.int64), np.array([2, 3], np.int32), own, JumpOptions(tries=1)
    )
    check_k(run(target, MOVES[moves], 40_000), np.exp(own.log_k))


# ---- Geweke: parameters and data simulated in turn are jointly as the prior has them -----------------------------


def simulated(rng: np.random.Generator, prior: ClassPrior, cardinalities, n: int) -> tuple[State, np.ndarray]:
    k = int(rng.choice(prior.max_classes, p=np.exp(prior.log_k))) + 1
    p = rng.dirichlet(np.full(k, prior.delta1))
    theta = np.stack(
        [np.concatenate([rng.dirichlet(np.full(r, prior.delta2)) for r in cardinalities]) for _ in range(k)]
    )
    z = rng.choice(k, size=n, p=p)
    with np.errstate(divide="ignore"):
        state = State(np.log(p), np.log(theta), np.zeros((k, 0), np.int64), rng.integers(1, 2**63, 4, dtype=np.uint64))
    return state, z


def answers(rng: np.random.Generator, state: State, z: np.ndarray, cardinalities) -> np.ndarray:
    columns, at = [], 0
    for r in cardinalities:
        chance = np.exp(state.log_theta[z, at : at + r]).cumsum(axis=1)
        columns.append((rng.random((len(z), 1)) > chance[:, :-1]).sum(axis=1))
        at += r
    return np.stack(columns, axis=1)


def quantities(state: State, rows: np.ndarray, z: np.ndarray) -> list[float]:
    p, theta = np.exp(state.log_weights), np.exp(state.log_theta)
    return [
        state.k,
        state.k**2,
        float((p**2).sum()),
        float(p @ theta[:, 0]),
        float((p[:, None] * theta**2).sum()),
        float(len(np.unique(z))),
        float(rows[:, 0].mean() * theta[z, 0].mean()),
        float((rows[:, 0] == rows[:, 1]).mean()),
        float(len(np.unique(rows, axis=0)) * state.k),
    ]


def classes_of(members: np.ndarray, inverse: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A class for each row, so that every class has its members."""
    z = np.empty(len(inverse), dtype=int)
    for p in range(members.shape[1]):
        z[inverse == p] = rng.permutation(np.repeat(np.arange(len(members)), members[:, p]))
    return z


@pytest.mark.parametrize("method", ["reversible_jump", "marginal"])
def test_joint_distribution(method):
    prior, cardinalities, n, rng = ClassPrior(prior_on_classes(3), 0.8, 1.3), (2, 3), 5, np.random.default_rng(11)
    direct = []
    for _ in range(4_000):
        state, z = simulated(rng, prior, cardinalities, n)
        direct.append(quantities(state, answers(rng, state, z, cardinalities), z))
    chain = []
    state, z = simulated(rng, prior, cardinalities, n)
    for _ in range(4_000):
        rows = answers(rng, state, z, cardinalities)
        codes, inverse, weights = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        members = np.zeros((state.k, len(codes)), dtype=np.int64)
        np.add.at(members, (z, inverse.ravel()), 1)
        target = Target(
            codes.astype(np.int16),
            weights.astype(np.int64),
            np.array(cardinalities, np.int32),
            prior,
            JumpOptions(tries=1),
        )
        state, _ = step(target, replace(state, members=members), sweep=SWEEPS[method])
        z = classes_of(state.members, inverse.ravel(), rng)
        chain.append(quantities(state, rows, z))
    a, b = np.array(direct), np.array(chain)
    for x, y in zip(a.T, b.T, strict=True):
        error = np.sqrt(x.var() / len(x) + y.var() / effective_samples(y))
        assert abs(x.mean() - y.mean()) < 4.5 * error
        assert error < 0.15 * x.std()


# ---- the moves themselves ---------------------------------------------------------------------------------------


def random_case(seed: int, split: str) -> tuple[Target, State, Stream]:
    rng = np.random.default_rng(seed)
    cardinalities = rng.integers(2, 5, size=3)
    rows = np.stack([rng.integers(-1, r, size=12) for r in cardinalities], axis=1)
    prior = ClassPrior(rng.random(6) + 0.1, float(rng.uniform(0.3, 3)), float(rng.uniform(0.3, 3)))
    table = Table.from_codes(rows, cardinalities.tolist())
    target = Target.of(table, prior, split=split, scale=float(rng.uniform(0.3, 2)))
    state = init(target, rng, k=int(rng.integers(1, 6)))
    # Not too near the edge: most of the source's splits leave the simplex there.
    theta = [np.concatenate([rng.dirichlet([4.0] * r) for r in cardinalities]) for _ in range(state.k)]
    return target, replace(state, log_theta=np.log(theta)), Stream(rng.integers(1, 2**63, 4))


def proposed(target: Target, state: State, stream: Stream, j: int) -> Split:
    for _ in range(10_000):
        split = propose_split(target, float(state.log_weights[j]), state.log_theta[j], stream)
        if split is not None:
            return split
    raise AssertionError("no split stays inside")


@pytest.mark.parametrize("split", ["simplex", "source"])
def test_a_split_and_its_combination_are_inverse(split):
    for seed in range(30):
        target, state, stream = random_case(seed, split)
        j = stream.below(state.k)
        cut = proposed(target, state, stream, j)
        stay = np.array([stream.binomial(int(m), 0.4) for m in state.members[j]])
        two = State(
            np.append(state.log_weights, cut.log_p + cut.log_v),
            np.vstack([state.log_theta, cut.second]),
            np.vstack([state.members, state.members[j] - stay]),
            state.stream,
        )
        two.log_weights[j], two.log_theta[j], two.members[j] = cut.log_p + cut.log_u, cut.first, stay
        back = restored(target, two, j, state.k)
        one = combined(two, back, j, state.k)
        assert one.log_weights == pytest.approx(state.log_weights, abs=1e-12)
        assert one.log_theta == pytest.approx(state.log_theta, rel=1e-9, abs=1e-9)
        assert one.members.tolist() == state.members.tolist()
        forward = log_split_ratio(target, state, two, cut, j, state.k)
        backward = -log_split_ratio(target, one, two, back, j, state.k)
        assert forward + backward == pytest.approx(0, abs=1e-8)
        # Named the other way round, the two classes are the same two classes.
        swapped = restored(target, two, state.k, j)
        assert log_split_ratio(target, one, two, swapped, state.k, j) == pytest.approx(forward, abs=1e-8)
        # The allocation cancels: what is left is the likelihood of the two as a mixture.
        scores = np.array([[cut.log_u], [cut.log_v]]) + log_densities(target, np.stack([cut.first, cut.second]))
        gain = np.logaddexp.reduce(scores, axis=0) - log_densities(target, cut.one[None])[0]
        short = state.members[j] @ gain + log_split_terms(target, cut, state.k)
        assert short == pytest.approx(forward, abs=1e-8)


def free(theta: np.ndarray, target: Target) -> np.ndarray:
    """Probabilities without the first of each variable, which follows from the others."""
    return np.concatenate([theta[a + 1 : b] for a, b in zip(target.offsets[:-1], target.offsets[1:], strict=True)])


def whole(x: np.ndarray, target: Target) -> np.ndarray:
    out, at = [], 0
    for r in target.cardinalities.tolist():
        part = x[at : at + r - 1]
        out += [1 - part.sum(), *part]
        at += r - 1
    return np.array(out)


@pytest.mark.parametrize("split", ["simplex", "source"])
def test_the_jacobian_by_finite_differences(split):
    for seed in range(8):
        target, state, stream = random_case(seed, split)
        cut = proposed(target, state, stream, 0)
        d = target.n_cells - len(target.cardinalities)
        u = np.exp(cut.log_u)

        def forward(x: np.ndarray, target=target, d=d) -> np.ndarray:
            """(p*, u1, theta*, u2 or v) -> (p1, p2, theta1, theta2), from the definitions."""
            p, u, one, w = x[0], x[1], whole(x[2 : 2 + d], target), x[2 + d :]
            parts = []
            for sign in (0, 1):
                if target.jumps.split == "source":
                    factor = w / u if sign == 0 else (1 - w) / (1 - u)
                    parts.append(free(one, target) * factor)
                else:
                    out, at = [], 0
                    for a, b in zip(target.offsets[:-1], target.offsets[1:], strict=True):
                        v = np.append(w[at : at + b - a - 1], 0.0)
                        at += b - a - 1
                        new = one[a:b] * np.exp((1 - u) * v if sign == 0 else -u * v)
                        out.append(new / new.sum())
                    parts.append(free(np.concatenate(out), target))
            return np.concatenate([[u * p, (1 - u) * p], *parts])

        if split == "source":
            w = u * np.exp(free(cut.first, target) - free(cut.one, target))
        else:
            difference = cut.first - cut.second
            w = np.concatenate(
                [
                    difference[a : b - 1] - difference[b - 1]
                    for a, b in zip(target.offsets[:-1], target.offsets[1:], strict=True)
                ]
            )
        x = np.concatenate([[np.exp(cut.log_p), u], free(np.exp(cut.one), target), w])
        reached = np.concatenate(
            [np.exp([cut.log_p + cut.log_u, cut.log_p + cut.log_v])]
            + [free(np.exp(t), target) for t in (cut.first, cut.second)]
        )
        assert forward(x) == pytest.approx(reached, rel=1e-9)
        h = 1e-6
        columns = [(forward(x + h * e) - forward(x - h * e)) / (2 * h) for e in np.eye(len(x))]
        sign, log_det = np.linalg.slogdet(np.array(columns))
        assert sign != 0
        assert log_det == pytest.approx(log_jacobian(target, cut), abs=1e-5)


def test_the_density_of_a_split_on_the_simplex():
    """q is the density of v: its covariance, and its integral over a grid for three states."""
    target, _, stream = random_case(1, "simplex")
    target = replace(target, cardinalities=np.array([3], np.int32), codes=target.codes[:, :1].clip(max=2))
    one = np.log([0.2, 0.3, 0.5])
    grid = np.linspace(-12, 12, 161)
    total = 0.0
    for a in grid:
        for b in grid:
            first, second = np.array([a, b, 0.0]), np.zeros(3)
            total += np.exp(log_proposal(target, Split(np.log(0.3), np.log(0.7), 0.0, one, first, second)))
    assert total * (grid[1] - grid[0]) ** 2 == pytest.approx(1, abs=1e-3)
    drawn = []
    for _ in range(4_000):
        cut = propose_split(target, 0.0, one, stream)
        assert cut is not None
        difference = cut.first - cut.second
        drawn.append(difference[:2] - difference[2])
    expected = target.jumps.scale**2 * (np.eye(2) + 1)
    assert np.cov(np.array(drawn).T) == pytest.approx(expected, abs=0.15 * target.jumps.scale**2 * 2)


def test_a_birth_and_its_death_are_inverse():
    """The ratio is that of the joint densities, times the chances of the two moves."""
    for seed in range(30):
        target, state, stream = random_case(seed, "simplex")
        k, k0 = state.k, int((state.sizes == 0).sum())
        p = stream.beta(1, k)
        theta = np.log(np.concatenate([np.random.default_rng(seed).dirichlet([1.0] * r) for r in target.cardinalities]))
        more = added(state, np.log(p), np.log1p(-p), theta)
        assert more.log_weights.size == k + 1 and np.exp(more.log_weights).sum() == pytest.approx(1)
        joint = log_joint(target, more) - log_joint(target, state) - log_theta_prior(target, theta)
        up, down = chance_up(target, k), 1 - chance_up(target, k + 1)
        beta_density = np.log(k) + (k - 1) * np.log1p(-p)
        jacobian = (k - 1) * np.log1p(-p)
        # k+1 places for the new class, one of k0+1 empty ones to die
        by_definition = joint + np.log(down / up) - beta_density + jacobian + np.log((k + 1) / (k0 + 1))
        assert log_birth_ratio(target, k, k0, np.log(p), np.log1p(-p)) == pytest.approx(by_definition, abs=1e-9)
        # Without the allocation any of the k+1 may die, and the weight's density is a mixture.
        small = target.jumps.small
        mixed = np.log(0.5) + np.logaddexp(beta_density, np.log(small) + (small - 1) * np.log1p(-p))
        data = state.sizes.sum() * np.log1p(-p)
        assert log_birth_terms(target, k, np.log(p), np.log1p(-p)) == pytest.approx(
            joint - data + np.log(down / up) - mixed + jacobian, abs=1e-9
        )
