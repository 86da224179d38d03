"""What the study of reversible jump computes and keeps: see :mod:`studies.reversible_jump`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from latentree._table import Table
from latentree._tree import Tree
from latentree._types import FloatArray, IndexArray
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
from latentree.dimension import effective_dimension

from .parts import Parts
from .printed_ratios import printed_posterior

__all__ = ["DELTAS", "JUMPS", "K_MAX", "MODELS", "PARTS", "PROBLEMS", "ROWS", "RUNS", "SWEEPS", "Problem", "make_all"]

K_MAX = 10
DELTAS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0)
JUMPS = ("birth", "death", "split", "combine")
ROWS = (100, 500, 1000)
SWEEPS, MODELS, PROBLEMS, RUNS = 100_000, 25, 72, 15
"""As in the source: sweeps after as many of burn-in; models of table 5.3; data sets of 5.13; runs of figure 4.6."""
FIVE_ROWS = [[0, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 1, 1]]
PARTS = ("priors", "five rows", "sizes", "one data set", "estimates", "candidate")
BINS = 40

Answer = dict[str, Any]


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


def make_all(parts: Parts, *, sweeps: int, models: int, problems: int, runs: int, seed: int) -> None:
    """Make every part that is not kept."""
    size = {"burn": sweeps, "sweeps": sweeps, "seed": seed}
    for vary, delta, split in product(("delta2", "delta1"), DELTAS, ("source", "simplex")):
        which = {"vary": vary, "delta": delta, "split": split}
        parts.make("priors", which, size, partial(_priors, vary, delta, split, sweeps, seed))
    for ratios in ("printed", "right"):
        parts.make("five rows", {"ratios": ratios}, size, partial(_five_rows, ratios, sweeps, seed))
    for model, n, ratios in product(range(models), ROWS, ("right", "printed")):
        which = {"rows": n, "model": model, "ratios": ratios}
        parts.make("sizes", which, size, partial(_sizes, n, model, ratios, sweeps, seed))
    parts.make("one data set", {}, size, partial(_one_data_set, sweeps, seed))
    for i in range(problems):
        parts.make("estimates", {"problem": i}, size, partial(_estimates, i, sweeps, seed))
    own = {"runs": runs, "seed": seed}
    for n, how, k in product((sweeps // 10, sweeps), CANDIDATES, range(1, 8)):
        if n < sweeps or "completion" not in how:  # which takes twice as long
            which = {"classes": k, "sweeps": n, "how": how}
            parts.make("candidate", which, own, partial(_candidates, k, n, how, runs, seed))


# ---- tables 5.1 to 5.3 -------------------------------------------------------------------------------------------


def _jumping(table: Table, prior: ClassPrior, split: str, sweeps: int, rng: np.random.Generator) -> Draws:
    """One chain of the source's sweeps, of its length."""
    size: Any = {"n_burn": sweeps, "n_draws": sweeps // 10, "thin": 10, "n_chains": 1}
    return sample(table, prior, rng=rng, method="reversible_jump", split=split, **size)


def _priors(vary: str, delta: float, split: str, sweeps: int, seed: int) -> Answer:
    """How priors change acceptance and the posterior of k."""
    problem = Problem.drawn(3, 4, 200, np.random.default_rng([seed, 1]))
    d1, d2 = (0.5, delta) if vary == "delta2" else (delta, 0.5)
    prior = ClassPrior(prior_on_classes(K_MAX), d1, d2)
    drawn = _jumping(problem.table, prior, split, sweeps, np.random.default_rng([seed, 2]))
    accepted, tried = (sum(own[name].sum() for name in JUMPS) for own in (drawn.accepted, drawn.tried))
    rates = [drawn.acceptance[name] for name in JUMPS]
    return {"accepted": [*rates, accepted / tried], "posterior": drawn.k_posterior}


def _five_rows(ratios: str, sweeps: int, seed: int) -> Answer:
    """Five rows of three leaves, up to four classes, for which the posterior is known exactly."""
    table, rng = Table.from_codes(FIVE_ROWS), np.random.default_rng([seed, 3])
    if ratios == "printed":
        return {"posterior": printed_posterior(table, 4, rng, burn=sweeps, sweeps=sweeps)}
    target = Target.of(table, ClassPrior(prior_on_classes(4)), split="source")
    moves = ("weights", "parameters", "allocation", "split_combine", "birth_death")
    burnt = step(target, init(target, rng, k=1), sweep=moves, n_sweeps=sweeps, thin=sweeps)[0]
    k = step(target, burnt, sweep=moves, n_sweeps=sweeps)[1].k
    return {"posterior": np.bincount(k, minlength=5)[1:] / len(k)}


def _sizes(rows: int, model: int, ratios: str, sweeps: int, seed: int) -> Answer:
    """The posterior of k of a model with 4 classes and 8 leaves."""
    problem = Problem.drawn(4, 8, rows, np.random.default_rng([seed, 5, model]))
    rng = np.random.default_rng([seed, 6, model])
    if ratios == "printed":
        posterior = printed_posterior(problem.table, K_MAX, rng, burn=sweeps, sweeps=sweeps)
    else:
        posterior = _jumping(problem.table, ClassPrior(prior_on_classes(K_MAX)), "source", sweeps, rng).k_posterior
    return {"posterior": posterior, "smallest": problem.weights.min()}


# ---- figures 5.7 to 5.14 -----------------------------------------------------------------------------------------


def _one_data_set(sweeps: int, seed: int) -> Answer:
    """Posterior of k and of the parameters of one data set, by weight and relabelled."""
    rng = np.random.default_rng([seed, 7])
    problem = Problem.drawn(3, 4, 200, rng)
    while not _tellable(problem):
        problem = Problem.drawn(3, 4, 200, rng)
    prior = ClassPrior(prior_on_classes(K_MAX))
    drawn = _jumping(problem.table, prior, "source", sweeps, np.random.default_rng([seed, 8]))
    given = drawn.given(3)
    true = np.column_stack([problem.weights, problem.ones])[problem.weights.argsort()[::-1]]
    labels = {}
    for method in ("weight", "celeux", "stephens"):
        named = relabel(given, method)
        values = np.concatenate([named.weights[:, :, None], named.theta[:, :, 1::2]], axis=2)
        order = linear_sum_assignment(((true[:, None] - values.mean(axis=0)[None]) ** 2).sum(axis=2))[1]
        values = values[:, order if method != "weight" else slice(None)]
        labels[method] = {
            "mean": values.mean(axis=0),
            "interval": np.quantile(values, [0.025, 0.975], axis=0),
            "mode": values[given.log_likelihood.argmax()],  # of the draws: the priors are flat
            "histogram": [
                [np.histogram(values[:, j, i], BINS, (0, 1))[0] for i in range(values.shape[2])] for j in range(3)
            ],
        }
    tree = Tree.star(3, [2] * 4)
    return {
        "posterior": drawn.k_posterior,
        "true": true,
        "drawn": [len(given), drawn.k.size],
        "labels": labels,
        "dimension": [tree.n_parameters, effective_dimension(tree)],
    }


def _tellable(problem: Problem) -> bool:
    """Whether there are three classes well apart, two of them of about the same size."""
    apart = min(float(np.linalg.norm(problem.ones[i] - problem.ones[j])) for i, j in ((0, 1), (0, 2), (1, 2)))
    gaps = np.diff(np.sort(problem.weights))
    return bool(problem.weights.min() > 0.2 and gaps.min() < 0.05 and apart > 1.1)


Method = Callable[[ClassDraws, np.random.Generator], tuple[FloatArray, FloatArray]]


def _means(draws: ClassDraws) -> tuple[FloatArray, FloatArray]:
    told = summarise(draws)
    return told.weights, told.theta


def _point(found: PointEstimate) -> tuple[FloatArray, FloatArray]:
    return found.weights, found.theta


METHODS: Mapping[str, Method] = {
    "weight": lambda d, rng: _means(relabel(d, "weight")),
    "celeux": lambda d, rng: _means(relabel(d, "celeux")),
    "delta": lambda d, rng: _point(delta_loss(d, rng=rng, n_steps=3_000)),
    "predictive": lambda d, rng: _point(predictive_loss(d, rng=rng, n_steps=3_000)),
    "stephens": lambda d, rng: _means(relabel(d)),
}


def _estimates(problem: int, sweeps: int, seed: int) -> Answer:
    """Distances of each method's estimate from the truth: of the parameters, and of the distribution."""
    rng = np.random.default_rng([seed, 9, problem])
    drawn_from = Problem.drawn(3, 4, 200, rng)
    size: Any = {"n_burn": sweeps, "n_draws": 1_000, "thin": max(sweeps // 1_000, 1), "n_chains": 1}
    drawn = sample(drawn_from.table, ClassPrior([1.0] * 3), rng=rng, method="gibbs", **size).given(3)
    return {name: _errors(drawn_from, *method(drawn, rng)) for name, method in METHODS.items()}


def _matched(problem: Problem, weights: FloatArray, theta: FloatArray) -> IndexArray:
    """The estimated class for each true one, nearest in all parameters together."""
    true = np.column_stack([problem.weights, problem.ones])
    own = np.column_stack([weights, theta[:, 1::2]])
    order: IndexArray = linear_sum_assignment(((true[:, None] - own[None]) ** 2).sum(axis=2))[1]
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

CANDIDATES: Mapping[str, tuple[str, bool]] = {
    "mode, one labelling": ("map", False),
    "mode, all labellings": ("map", True),
    "completion, all labellings": ("completion", True),
}
"""How the candidate method is used: where its density is taken, and whether it is averaged over relabellings."""


def _candidates(classes: int, sweeps: int, how: str, runs: int, seed: int) -> Sequence[float]:
    """Estimates of ln P(D | m) of 50 rows of a model with 4 classes and 8 leaves."""
    table = Problem.drawn(4, 8, 50, np.random.default_rng([seed, 10])).table
    at, names = CANDIDATES[how]
    rngs = [np.random.default_rng([seed, 11, i]) for i in range(runs)]
    made = [candidate(table, classes, rng=r, at=at, n_sweeps=sweeps, relabellings=names) for r in rngs]
    return [m.log_marginal for m in made]
