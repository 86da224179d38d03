"""Reversible jump over the number of classes: [Whiley1999] tables 5.1-5.3, figures 5.2-5.14 and 4.6.

The source's data are not published: data of the same kind are drawn. kmax, which it does not give, is 10 here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from latentree._table import Table
from latentree.bayes import (
    ClassDraws,
    ClassPrior,
    Draws,
    PointEstimate,
    Target,
    candidate,
    delta_loss,
    init,
    predictive_loss,
    prior_on_classes,
    relabel,
    sample,
    step,
    summarise,
)
from latentree.bayes._chain import SWEEPS, State
from latentree.bayes._reversible_jump import (
    added,
    birth_or_death,
    chance_up,
    choose_pair,
    combined,
    log_birth_ratio,
    log_split_ratio,
    rest_of,
    restored,
    split_or_combine,
    without,
)
from latentree.bayes._stream import Stream

from .page import deliver, markdown, options

__all__ = ["main"]

FloatArray = NDArray[np.float64]

K_MAX = 10
DELTAS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0)
JUMPS = ("birth", "death", "split", "combine")
SOURCE_51 = {
    0.01: "1.1 / 4.5 / 0.0 / 0.0",
    0.1: "1.4 / 4.0 / 0.5 / 1.0",
    0.5: "2.1 / 5.1 / 3.4 / 3.3",
    1.0: "1.9 / 5.5 / 4.1 / 4.4",
    2.0: "1.4 / 5.4 / 3.1 / 6.2",
    5.0: "1.0 / 8.6 / 1.0 / 6.0",
}
SOURCE_52 = {
    0.01: "1.3 / 1.9 / 0.8 / 0.9",
    0.1: "2.1 / 4.7 / 2.3 / 2.9",
    0.5: "2.0 / 5.1 / 3.4 / 3.7",
    1.0: "1.3 / 3.5 / 3.7 / 3.3",
    2.0: "0.2 / 1.0 / 3.8 / 3.5",
    5.0: "0.0 / 0.0 / 3.2 / 3.3",
}
SOURCE_514 = {
    "Celeux' classification": ("same", "same"),
    "Baddeley's Delta": ("21 %", "3 %"),
    "predictive loss": ("54 %", "85 %"),
    "Stephens' relabelling": ("-", "-"),
}
SOURCE_53 = {100: (1, 7, 15, 2), 500: (0, 3, 15, 7), 1000: (0, 0, 12, 13)}


@dataclass(frozen=True, eq=False)
class Problem:
    """A latent class model with binary leaves, parameters drawn uniformly, and data from it."""

    weights: FloatArray
    ones: FloatArray
    table: Table

    @classmethod
    def drawn(cls, n_classes: int, n_leaves: int, n: int, rng: np.random.Generator) -> Problem:
        """Draw one."""
        weights, ones = rng.dirichlet(np.ones(n_classes)), rng.random((n_classes, n_leaves))
        z = rng.choice(n_classes, size=n, p=weights)
        rows = (rng.random((n, n_leaves)) < ones[z]).astype(int)
        return cls(weights, ones, Table.from_codes(rows, [2] * n_leaves))


# ---- tables 5.1 and 5.2, figures 5.2 and 5.3 ---------------------------------------------------------------------


def sensitivity(sweeps: int, seed: int) -> str:
    """How priors change acceptance and the posterior of k."""
    problem = Problem.drawn(3, 4, 200, np.random.default_rng([seed, 1]))
    parts = [SENSITIVITY]
    for number, vary, told in (("5.1", "delta2", SOURCE_51), ("5.2", "delta1", SOURCE_52)):
        rows = []
        for delta in DELTAS:
            d1, d2 = (0.5, delta) if vary == "delta2" else (delta, 0.5)
            prior = ClassPrior(prior_on_classes(K_MAX), d1, d2)
            as_source, ours = (
                sample(
                    problem.table,
                    prior,
                    rng=np.random.default_rng([seed, 2]),
                    method="reversible_jump",
                    n_draws=sweeps // 10,
                    n_burn=sweeps // 2,
                    thin=10,
                    n_chains=1,
                    split=split,
                )
                for split in ("source", "simplex")
            )
            rows.append([f"{delta:g}", told[delta], _rates(as_source), _rates(ours), *_shares(ours)])
        head = [vary, "source", "ours, source's split", "ours, simplex split", *map(str, range(1, K_MAX + 1))]
        parts.append(f"\n### Table {number}: {vary} varies, the other is 0.5\n\n" + markdown(head, rows))
    return "".join(parts)


def _rates(draws: Draws) -> str:
    return " / ".join(f"{100 * draws.acceptance[name]:.1f}" for name in JUMPS)


def _shares(draws: Draws) -> list[str]:
    return [f"{p:.2f}" for p in draws.k_posterior]


# ---- the printed ratios ------------------------------------------------------------------------------------------

FIVE_ROWS = [[0, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 1, 1]]


def printed_ratios(sweeps: int, seed: int) -> str:
    """What a sampler with the ratios printed in (5.12) to (5.15) draws, beside a right one."""
    prior = ClassPrior(prior_on_classes(4))
    target = Target.of(Table.from_codes(FIVE_ROWS), prior, split="source")
    rng = np.random.default_rng([seed, 3])
    rows = []
    for name, make in (("as printed", _printed_sweep), ("corrected", _corrected_sweep)):
        state = init(target, rng, k=1)
        stream, k = Stream(rng.integers(1, 2**63, size=4).tolist()), []
        for _ in range(sweeps):
            state, _ = step(target, state, sweep=SWEEPS["gibbs"])
            state = make(target, state, stream)
            k.append(state.k)
        rows.append([name, *(f"{np.mean(np.array(k) == i):.3f}" for i in range(1, 5))])
    rows.append(["kernel, 200,000 sweeps", *(f"{p:.3f}" for p in _long_run(target, seed))])
    return PRINTED.format(sweeps=f"{sweeps:,}") + markdown(["P(k given 5 rows)", "1", "2", "3", "4"], rows)


def _long_run(target: Target, seed: int) -> FloatArray:
    start = init(target, np.random.default_rng([seed, 4]), k=1)
    k = step(target, start, n_sweeps=200_000)[1].k
    return np.bincount(k, minlength=5)[1:] / len(k)


def _corrected_sweep(target: Target, state: State, stream: Stream) -> State:
    return birth_or_death(target, split_or_combine(target, state, stream), stream)


def _printed_sweep(target: Target, state: State, stream: Stream) -> State:
    return _printed_birth_or_death(target, _printed_split_or_combine(target, state, stream), stream)


def _printed_split_or_combine(target: Target, state: State, stream: Stream) -> State:
    """(5.12) is right; (5.13) has the factor k where 1/(k-1) belongs."""
    ahead = stream.copy()
    if ahead.uniform() < chance_up(target, state.k):
        return split_or_combine(target, state, stream)
    stream.words = ahead.words
    j1, j2 = choose_pair(state, stream)
    split = restored(target, state, j1, j2)
    one = combined(state, split, j1, j2)
    ratio = -log_split_ratio(target, one, state, split, j1, j2) + log(state.k * (state.k - 1))
    return one if log(stream.uniform()) < ratio else state


def _printed_birth_or_death(target: Target, state: State, stream: Stream) -> State:
    """(5.14) and (5.15) lack the choice of the empty class and the number of places: (k+1)/(k0+1)."""
    k, empty = state.k, np.flatnonzero(state.sizes == 0).tolist()
    if stream.uniform() < chance_up(target, k):
        log_rest = log(stream.uniform()) / k
        log_p = float(np.log(-np.expm1(log_rest)))
        ratio = log_birth_ratio(target, k, len(empty), log_p, log_rest) - log((k + 1) / (len(empty) + 1))
        theta = np.concatenate([stream.dirichlet([1.0] * r) for r in target.cardinalities.tolist()])
        return added(state, log_p, log_rest, theta) if log(stream.uniform()) < ratio else state
    if not empty:
        return state
    j = empty[stream.below(len(empty))]
    rest = rest_of(state, j)
    ratio = log(k / len(empty)) - log_birth_ratio(target, k - 1, len(empty) - 1, float(state.log_weights[j]), rest)
    if not log(stream.uniform()) < ratio:
        return state
    fewer = without(state, j)
    return replace(fewer, log_weights=fewer.log_weights - rest)


# ---- table 5.3, figures 5.4 to 5.6 -------------------------------------------------------------------------------


def sizes_of_data(models: int, draws: int, seed: int) -> str:
    """Most probable number of classes of models with 4 classes and 8 binary leaves."""
    rows, posteriors, worst = [], [], 0.0
    for n, told in SOURCE_53.items():
        modes = []
        for i in range(models):
            problem = Problem.drawn(4, 8, n, np.random.default_rng([seed, 5, i]))
            drawn = sample(
                problem.table,
                ClassPrior(prior_on_classes(K_MAX)),
                rng=np.random.default_rng([seed, 6, i]),
                n_draws=draws,
                n_burn=500,
                thin=2,
                n_chains=2,
            )
            modes.append(drawn.k_mode)
            if not np.isnan(drawn.k_r_hat):
                worst = max(worst, drawn.k_r_hat)
            posteriors.append([str(n), str(i + 1), f"{problem.weights.min():.2f}", *_shares(drawn)])
        counts = [*(sum(m == k for m in modes) for k in range(1, 7)), sum(m > 6 for m in modes)]
        rows.append([str(n), " / ".join(map(str, told)), " / ".join(map(str, counts))])
    head = ["rows", "source, k = 1 / 2 / 3 / 4", "ours, k = 1 / 2 / 3 / 4 / 5 / 6 / more"]
    each = markdown(["rows", "model", "smallest class", *map(str, range(1, K_MAX + 1))], posteriors)
    return SIZES.format(models=models, worst=worst) + markdown(head, rows) + FIGURES_54 + each


# ---- figures 5.7 to 5.14 -----------------------------------------------------------------------------------------


def one_data_set(seed: int) -> str:
    """Posterior of k and of the parameters of one data set, by weight and relabelled."""
    rng = np.random.default_rng([seed, 7])
    problem = Problem.drawn(3, 4, 200, rng)
    while not _tellable(problem):
        problem = Problem.drawn(3, 4, 200, rng)
    drawn = sample(
        problem.table, ClassPrior(prior_on_classes(K_MAX)), rng=np.random.default_rng([seed, 8]), n_draws=5_000
    )
    k = markdown(["k", *map(str, range(1, K_MAX + 1))], [["P(k given data)", *_shares(drawn)]])
    given = drawn.given(3)
    columns = []
    for method in ("weight", "celeux", "stephens"):
        told = summarise(relabel(given, method))
        order = _matched(problem, told.weights, told.theta)
        columns.append((told, order))
    rows = []
    for j in range(3):
        parameters: list[tuple[str, float, int | None]] = [("size", problem.weights[j], None)]
        parameters += [(f"P(x{i + 1} = 1)", problem.ones[j, i], 2 * i + 1) for i in range(4)]
        for name, true, cell in parameters:
            cells = []
            for told, order in columns:
                c = order[j]
                mean = told.weights[c] if cell is None else told.theta[c, cell]
                ends = told.weights_interval[:, c] if cell is None else told.theta_interval[:, c, cell]
                cells.append(f"{mean:.2f} ({ends[0]:.2f}-{ends[1]:.2f})")
            rows.append([f"{j + 1}", name, f"{true:.2f}", *cells])
    head = ["class", "parameter", "true", "ordered by weight", "Celeux' classification", "Stephens"]
    return ONE.format(n_given=len(given), of=drawn.k.size) + k + "\n" + markdown(head, rows)


def _tellable(problem: Problem) -> bool:
    """Whether there are three classes well apart, two of them of about the same size."""
    apart = min(float(np.linalg.norm(problem.ones[i] - problem.ones[j])) for i, j in ((0, 1), (0, 2), (1, 2)))
    gaps = np.diff(np.sort(problem.weights))
    return bool(problem.weights.min() > 0.2 and gaps.min() < 0.05 and apart > 1.1)


def estimates(problems: int, steps: int, seed: int) -> str:
    """How often each estimate is nearer the truth than that of ordering by weight."""
    methods: dict[str, Callable[[ClassDraws, np.random.Generator], tuple[FloatArray, FloatArray]]] = {
        "Celeux' classification": lambda d, rng: _means(relabel(d, "celeux")),
        "Baddeley's Delta": lambda d, rng: _point(delta_loss(d, rng=rng, n_steps=steps)),
        "predictive loss": lambda d, rng: _point(predictive_loss(d, rng=rng, n_steps=steps)),
        "Stephens' relabelling": lambda d, rng: _means(relabel(d)),
    }
    wins = {name: [0, 0] for name in methods}
    for i in range(problems):
        rng = np.random.default_rng([seed, 9, i])
        problem = Problem.drawn(3, 4, 200, rng)
        drawn = sample(
            problem.table, ClassPrior([1.0] * 3), rng=rng, method="gibbs", n_draws=500, n_chains=2, thin=4, n_burn=500
        ).given(3)
        naive = _errors(problem, *_means(relabel(drawn, "weight")))
        for name, method in methods.items():
            for what, (a, b) in enumerate(zip(_errors(problem, *method(drawn, rng)), naive, strict=True)):
                wins[name][what] += a < b - 1e-12
    rows = [
        [name, SOURCE_514[name][0], _share(own[0], problems), SOURCE_514[name][1], _share(own[1], problems)]
        for name, own in wins.items()
    ]
    head = ["estimate", "parameters better, source", "ours", "distribution better, source", "ours"]
    return ESTIMATES.format(problems=problems) + markdown(head, rows)


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %"


def _means(draws: ClassDraws) -> tuple[FloatArray, FloatArray]:
    told = summarise(draws)
    return told.weights, told.theta


def _point(found: PointEstimate) -> tuple[FloatArray, FloatArray]:
    return found.weights, found.theta


def _matched(problem: Problem, weights: FloatArray, theta: FloatArray) -> NDArray[np.intp]:
    """The estimated class for each true one, nearest in all parameters together."""
    true = np.column_stack([problem.weights, problem.ones])
    own = np.column_stack([weights, theta[:, 1::2]])
    cost = ((true[:, None] - own[None]) ** 2).sum(axis=2)
    order: NDArray[np.intp] = linear_sum_assignment(cost)[1]
    return order


def _errors(problem: Problem, weights: FloatArray, theta: FloatArray) -> tuple[float, float]:
    """Distance of the parameters, and of the probabilities of all patterns, from the truth."""
    order = _matched(problem, weights, theta)
    true = np.column_stack([problem.weights, problem.ones])
    own = np.column_stack([weights[order], theta[order][:, 1::2]])
    patterns = np.array(list(product((0, 1), repeat=problem.ones.shape[1])))

    def distribution(w: FloatArray, ones: FloatArray) -> FloatArray:
        f: FloatArray = w @ np.where(patterns[None], ones[:, None], 1 - ones[:, None]).prod(axis=2)
        return f

    gap = distribution(problem.weights, problem.ones) - distribution(weights, theta[:, 1::2])
    return float(np.linalg.norm(true - own)), float(np.linalg.norm(gap))


# ---- figure 4.6 --------------------------------------------------------------------------------------------------


def candidates(runs: int, sweeps: Sequence[int], seed: int) -> str:
    """Spread of the candidate method's estimates, 8 binary leaves, 50 rows of a model with 4 classes."""
    table = Problem.drawn(4, 8, 50, np.random.default_rng([seed, 10])).table
    rows = []
    for k in (2, 4, 6):
        for n in sweeps:
            cells = []
            for at, names in (("map", False), ("map", True), ("completion", True)):
                found = np.array(
                    [
                        candidate(
                            table, k, rng=np.random.default_rng([seed, 11, i]), at=at, n_sweeps=n, relabellings=names
                        ).log_marginal
                        for i in range(runs)
                    ]
                )
                cells.append(f"{found.mean():.2f} ± {found.std(ddof=1):.2f} ({np.ptp(found):.2f})")
            rows.append([str(k), f"{n:,}", *cells])
    head = ["classes", "sweeps", "at the mode, one labelling", "at the mode, all labellings", "at the usual completion"]
    return CANDIDATES.format(runs=runs) + markdown(head, rows)


# ---- the page ----------------------------------------------------------------------------------------------------

HEAD = """\
# Reversible jump over the number of classes ([Whiley1999] 5)

Made by `python -m studies.reversible_jump {arguments}` in {seconds:.0f} s.

The source's data sets are not published, so data of the same kind are drawn: parameters uniform, binary leaves. It does
not give kmax; here it is 10. The ratios are those of [the mathematics](../mathematics/reversible-jump.md), which pass
the exact tests that the printed ones fail.
"""

SENSITIVITY = """
## How priors matter (tables 5.1 and 5.2, figures 5.2 and 5.3)

200 rows of a model with 3 classes and 4 leaves. Percentages accepted: birth / death / split / combine. The last columns
are P(k given the data), which the source draws as figures 5.2 and 5.3. As there, both parameters matter much, and more
classes are believed in at a small delta1. Acceptance differs from data set to data set; the pattern (splits hardly ever
accepted at a small delta2, deaths hardly ever at a large delta1) is the source's.
"""

PRINTED = """
## What the printed ratios would draw

Five rows and three leaves, for which P(k given data) is known by summing over all partitions (the tests check the
kernel against that). {sweeps} sweeps of a sampler with (5.12) to (5.15) as printed, and of the corrected one, both in
NumPy. (5.13) makes combinations too easy by k(k-1), (5.14) makes births too hard by (k+1)/(k0+1): both lead to too few
classes.

"""

SIZES = """
## Size of the data (table 5.3, figures 5.4 to 5.6)

{models} models with 4 classes and 8 leaves for each size; how often each number of classes is the most probable one.
Here the same models are used for all sizes. Largest R-hat of k over all runs: {worst:.2f}. Our posteriors reach further
up than the source's, where more than 4 classes are never the most probable, which its ratios would explain. With few
rows and flat priors many numbers of classes are nearly equally probable, and the mode says little.

"""

FIGURES_54 = """
P(k given data) of each model (figures 5.4 to 5.6):

"""

ONE = """
## One data set (figures 5.7 to 5.12)

200 rows of a model with 3 classes and 4 leaves, two classes of about the same size, all well apart; both deltas are 1.
Estimates are means with 95 % intervals of the {n_given:,} of {of:,} draws that have 3 classes. Ordering by weight mixes
up classes of like size, which shows in wide intervals and in means drawn to each other, as the source found.

"""

ESTIMATES = """
## Point estimates (figures 5.13 and 5.14)

{problems} data sets like that, 3 classes given. How often an estimate is nearer the true parameters, and how often its
distribution is nearer the true one, than the mean of draws ordered by weight. (The source: 72 data sets.)

"""

CANDIDATES = """
## The candidate method (figure 4.6)

50 rows of a model with 4 classes and 8 leaves; {runs} runs each. Mean ± standard deviation (range) of the estimates of
ln P(D given k). The source evaluates at the mode, one labelling. A run that settles in another labelling than that one
then sees hardly any density there: with 2 classes, which seldom change places, half of the runs are far off; with more
classes, which do, estimates spread over some units, as in the source's figure. Averaging over all labellings, by
dynamic programming over subsets of classes, takes nearly all of the spread away, with either point: the method is
usable, and its failure with few leaves was one of labels.

"""


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = options("reversible_jump", __doc__ or "")
    parser.add_argument("--models", type=int, default=25, help="models of each size in table 5.3")
    parser.add_argument("--problems", type=int, default=72, help="data sets in figures 5.13 and 5.14")
    parser.add_argument("--sweeps", type=int, default=100_000, help="sweeps of tables 5.1 and 5.2")
    parser.add_argument("--draws", type=int, default=3_000, help="draws of each chain in table 5.3")
    parser.add_argument("--runs", type=int, default=15, help="runs of the candidate method")
    parser.add_argument("--longest", type=int, default=100_000, help="sweeps of its longer runs")
    parser.add_argument("--quick", action="store_true", help="a hundredth of everything, to see that it runs")
    given = parser.parse_args(arguments)
    if given.quick:
        given.models, given.problems, given.sweeps, given.draws, given.runs = 1, 2, 1_000, 100, 2
    began = time.perf_counter()
    parts = [
        sensitivity(given.sweeps, given.seed),
        printed_ratios(max(given.sweeps // 5, 200), given.seed),
        sizes_of_data(given.models, given.draws, given.seed),
        one_data_set(given.seed),
        estimates(given.problems, 300 if given.quick else 3_000, given.seed),
        candidates(given.runs, (200,) if given.quick else (10_000, given.longest), given.seed),
    ]
    head = HEAD.format(seconds=time.perf_counter() - began, arguments=" ".join(arguments))
    deliver(head + "".join(parts), given.out)


if __name__ == "__main__":
    main(sys.argv[1:])
