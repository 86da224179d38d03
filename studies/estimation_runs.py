"""What the study of estimation algorithms computes and keeps: see :mod:`studies.estimation`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from latentree import datasets
from latentree._model import Model, random_parameters
from latentree._table import Table
from latentree._tree import Tree
from latentree._types import FloatArray
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.errors import LatentreeWarning
from latentree.estimation import Fit, at_independence, estimate
from latentree.estimation._annealing import AnnealedSurface, curvature
from latentree.runner import Budget

from .parts import Parts

__all__ = ["BETAS", "LENGTH", "METHODS", "OTHERS", "PARTS", "PROBLEMS", "RATES", "STATES", "make_all"]

Options = dict[str, Any]
Answer = dict[str, Any]

PARTS = ("courses", "rates", "default", "definiteness")
BETAS = tuple(round(0.1 * i, 1) for i in range(1, 10))
STATES = (2, 3, 4, 5, 6)
"""Of the leaves in table 2.5."""
ROWS = 100
"""Of the data sets of 2.8; [Whiley1999] gives it for the proportion vector only."""

METHODS: dict[str, tuple[str, Options]] = {
    "IEM": ("incremental", {"n_blocks": 10**6}),
    "GCG": ("gcg", {}),
    "CG": ("cg", {}),
    "EM-eta": ("em-eta", {}),
    "EG-eta": ("eg-eta", {}),
    "GP-eta": ("gp-eta", {}),
    "ACG-phi": ("acg-phi", {}),
    "ACG-theta": ("acg-theta", {}),
    "ACG-theta-chi2": ("acg-theta-chi2", {}),
    "GCG, golden section": ("gcg", {"line_search": "golden"}),
    "preferential IEM": ("preferential", {"n_blocks": 10**6}),
    "accelerated": ("accelerated", {}),
}
"""What is compared with EM: Whiley's nine, Whiley's own line search, and two more."""

OTHERS: dict[str, tuple[str, Options]] = {
    "EM": ("em", {}),
    **{label: own for label, own in METHODS.items() if "IEM" not in label},
    "IEM, 16 blocks": ("incremental", {}),
    "preferential IEM, 16 blocks": ("preferential", {}),
    "sparse": ("sparse", {}),
    "winner-take-all": ("winner-take-all", {}),
    "Nowlan": ("nowlan", {}),
    "one-step-late": ("one-step-late", {}),
}
"""What is compared with the default on real data."""

LENGTH = 40
"""Iterations, and passes, that the curves show."""
CLOSE = 1e-3
"""A run has arrived when its log-likelihood is this close to its limit."""


def make_all(parts: Parts, *, n_sets: int, n_tables: int, seed: int) -> None:
    """Make every part that is not kept."""
    size = {"seed": seed}
    for i in range(n_sets):
        for number, name in enumerate(PROBLEMS):
            which = {"problem": name, "set": i}
            parts.make("courses", which, size, partial(_courses, name, [seed, number, i]))
            parts.make("rates", which, size, partial(_rates, name, [seed, number, i]))
    for label in OTHERS:
        parts.make("default", {"method": label}, {"seconds": SECONDS, **size}, partial(_default, label, seed))
    for r in STATES:
        own = {"sets": n_tables, **size}
        parts.make("definiteness", {"states": r}, own, partial(_definiteness, r, n_tables, seed))


# ---- [Whiley1999] 2.8: the two problems -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """A start, data, and what is known."""

    model: Model
    table: Table
    held: tuple[str, ...]


@dataclass(frozen=True)
class Course:
    """One run: log-likelihood and passes after each iteration, where it ended, and after how long."""

    log_likelihood: FloatArray
    passes: FloatArray
    limit: float
    iterations_needed: int
    passes_needed: int
    independent: bool


def proportion_vector(rng: np.random.Generator, n: int = ROWS) -> Problem:
    """[Whiley1999] 2.8.1: four latent states, five binary leaves, components known."""
    tree, variables = Tree.star(4, [2] * 5), numbered([2] * 5)
    truth = Model.random(tree, variables, rng)
    table = Table.from_codes(truth.sample(n, rng), variables)
    start = truth.parameters.copy()
    start[:4] = rng.dirichlet(np.ones(4))
    return Problem(truth.with_parameters(start), table, table.names)


def unknown_components(rng: np.random.Generator, n: int = ROWS) -> Problem:
    """[Whiley1999] 2.8.2: two latent states, four binary leaves, nothing known. The size of the data is not given."""
    tree, variables = Tree.star(2, [2] * 4), numbered([2] * 4)
    truth = Model.random(tree, variables, rng)
    table = Table.from_codes(truth.sample(n, rng), variables)
    return Problem(Model(tree, variables, random_parameters(tree, rng)), table, ())


PROBLEMS: Mapping[str, Callable[[np.random.Generator], Problem]] = {
    "proportion vector": proportion_vector,
    "unknown components": unknown_components,
}


def fitted(problem: Problem, method: str, plan: Plan | None = None, **more: Any) -> Fit:
    """Fit without words about independence: the page counts it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentreeWarning)
        return estimate(problem.model, problem.table, method=method, held=problem.held, plan=plan, **more)


def course(problem: Problem, method: str, own: Options, length: int = LENGTH) -> Course:
    """Follow a method step by step: being deterministic, it is run again for every number of iterations."""
    plan = Plan.of(problem.model, problem.table)
    end = fitted(problem, method, plan, tol=1e-8, max_iterations=20_000, **own)
    values, passes = [plan.log_likelihood(problem.model.parameters)], [1.0]
    last = len(end.trace) - 1
    looks = int(method in ("incremental", "preferential"))  # a last pass, which only tells the log-likelihood

    def after(t: int) -> Fit:
        return end if t >= last else fitted(problem, method, plan, tol=0.0, max_iterations=t, **own)

    for t in range(1, length + 1):
        fit = after(t)
        values.append(fit.log_likelihood)
        passes.append(float(fit.evaluations - looks))
    near = max(int(np.argmax(end.trace >= end.log_likelihood - CLOSE)), 1)
    needed = after(near).evaluations - looks
    return Course(np.array(values), np.array(passes), end.log_likelihood, near, needed, at_independence(end))


def share(run: Course) -> FloatArray:
    """Share of the way gone after each iteration ([Whiley1999] 2.8.1)."""
    way = max(run.limit - run.log_likelihood[0], 1e-300)
    gone: FloatArray = np.clip((run.log_likelihood - run.log_likelihood[0]) / way, 0.0, 1.0)
    return gone


def _courses(name: str, seed: list[int]) -> Answer:
    """How every method gets on with one data set."""
    problem = PROBLEMS[name](np.random.default_rng(seed))
    told = {}
    for label, (method, own) in {"EM": ("em", {}), **METHODS}.items():
        run = course(problem, method, own, LENGTH)
        told[label] = {
            "share": [round(float(s), 4) for s in share(run)],
            "passes": [int(p) for p in run.passes],
            "limit": run.limit,
            "iterations": run.iterations_needed,
            "passes_needed": run.passes_needed,
            "independent": run.independent,
        }
    return told


# ---- tables 2.1 and 2.2: the best constant learning rate ----------------------------------------------------------

RATES: Mapping[str, tuple[float, float]] = {
    "em-eta": (1.0, 6.0),
    "eg-eta": (0.3, 8.0),
    "gp-eta": (0.002, 2.0),
    "acg-phi": (1.0, 100.0),
    "acg-theta": (0.003, 3.0),
    "acg-theta-chi2": (0.03, 30.0),
}
"""Methods with a learning rate, and between which constants the best is looked for, on the scale of the mean
log-likelihood."""
TRIED = 24
MOST = 1_000


def _rates(name: str, seed: list[int]) -> Answer:
    """For each method the constant rate that arrives first at EM's limit, and after how many iterations it does.

    Of those only with which no step loses: latentree would shorten such steps, [Whiley1999] does not.
    """
    problem = PROBLEMS[name](np.random.default_rng(seed))
    plan = Plan.of(problem.model, problem.table)
    limit = fitted(problem, "em", plan, tol=1e-8, max_iterations=20_000).log_likelihood
    told = {}
    for method, (low, high) in RATES.items():
        best: tuple[int, float] | None = None
        worse = 0
        for rate in np.geomspace(high, low, TRIED).tolist():
            fit = fitted(problem, method, plan, tol=1e-6, max_iterations=best[0] if best else MOST, rate=rate)
            near = np.flatnonzero(np.abs(fit.trace - limit) < CLOSE)
            if fit.evaluations > len(fit.trace):  # some steps lost and were shortened: the rate is too large
                continue
            if len(near) and (best is None or near[0] < best[0]):
                best, worse = (int(near[0]), rate), 0
            elif (worse := worse + 1) == 3:
                break
        told[method] = None if best is None else [best[1], best[0]]
    return told


# ---- against the default, on real data ----------------------------------------------------------------------------


SETS = (("carcinoma", 2), ("hiv_test", 2), ("lsat", 2), ("house_building", 3), ("voting", 3))
SECONDS = 60.0
SHORT, TIMES = 0.1, 7


def real_problems(seed: int) -> list[tuple[str, Problem]]:
    """Bundled data sets and a tree of two layers, two starts each."""
    out = []
    for name, k in SETS:
        table = datasets.load(name)
        tree = Tree.star(k, table.cardinalities)
        for i in range(2):
            rng = np.random.default_rng([seed, k, i])
            model = Model(tree, table.variables, random_parameters(tree, rng))
            out.append((f"{name} ({k})", Problem(model, table, ())))
    leaves = [f"x{i}{j}" for i in range(3) for j in range(3)]
    edges = [("r", f"z{i}") for i in range(3)] + [(f"z{x[1]}", x) for x in leaves]
    states = {"r": 2, **{f"z{i}": 3 for i in range(3)}, **dict.fromkeys(leaves, 3)}
    tree = Tree.from_edges(edges, states, leaves)
    for i in range(2):
        rng = np.random.default_rng([seed, 99, i])
        truth = Model.random(tree, numbered([3] * 9), rng, 0.6)
        codes = truth.sample(1000, rng)
        codes[rng.random(codes.shape) < 0.05] = -1
        table = Table.from_codes(codes, truth.variables)
        out.append(("tree of 9 leaves", Problem(Model(tree, table.variables, random_parameters(tree, rng)), table, ())))
    return out


def _default(label: str, seed: int) -> Answer:
    """Passes and processor time relative to the accelerated default's, and how a method ends, over all problems."""
    rows = []
    for _, problem in real_problems(seed):
        (fit, spent), (first, usual) = (_to_the_end(problem, *OTHERS[name]) for name in (label, "accelerated"))
        higher = fit.log_likelihood - first.log_likelihood
        ends = [higher > 0.01, higher < -0.01, at_independence(fit), fit.reason.complete]
        rows.append([np.log(fit.evaluations / first.evaluations), np.log(spent / usual), *ends])
    passes, seconds, *counts = np.array(rows, dtype=float).T
    names = ("higher", "lower", "independent", "converged")
    told = {name: int(own.sum()) for name, own in zip(names, counts, strict=True)}
    return {"passes": np.exp(passes.mean()), "time": np.exp(seconds.mean()), **told, "runs": len(rows)}


def _to_the_end(problem: Problem, method: str, own: Mapping[str, Any]) -> tuple[Fit, float]:
    """A fit, and its processor seconds: of a short one the least of several times, which others disturb less."""
    spent: list[float] = []
    while not spent or (sum(spent) < SHORT and len(spent) < TIMES):
        began = time.process_time()
        fit = fitted(problem, method, tol=1e-6, max_iterations=20_000, budget=Budget(seconds=SECONDS), **own)
        spent.append(time.process_time() - began)
    return fit, min(spent)


# ---- [Whiley1999] 2.11: the independence model ----------------------------------------------------------------------


def equal_weight_independence(table: Table, n_states: int) -> Model:
    """The point (2.26): classes of equal weight that all answer as everybody does."""
    parts = [np.full((1, n_states), 1.0 / n_states)]
    for column, r in zip(table.codes.T, table.cardinalities, strict=True):
        share_of = np.bincount(column, weights=table.weights, minlength=int(r)) / table.weights.sum()
        parts.append(np.repeat(share_of[None], n_states, axis=0))
    tree = Tree.star(n_states, table.cardinalities)
    return Model(tree, table.variables, np.concatenate([part.ravel() for part in parts]))


def indicator_correlations(table: Table) -> FloatArray:
    """R: correlations between the whitened indicators of complete columns.

    Within a column the identity; between columns a and b the standardised residuals of their cross-table,
    (p_ij - p_i p_j) / sqrt(p_i p_j), in a basis without the constant.
    """
    w = table.weights / table.weights.sum()
    blocks, frames = [], []
    for column, r in zip(table.codes.T, table.cardinalities, strict=True):
        shown = np.eye(int(r))[column]
        p = w @ shown
        seen = p > 0
        root = np.sqrt(p[seen])
        blocks.append((shown[:, seen] - p[seen]) / root)
        start = np.column_stack([root, np.eye(len(root))[:, :-1]])
        frames.append(np.linalg.qr(start)[0][:, 1:])
    sizes = [f.shape[1] for f in frames]
    at = np.concatenate([[0], np.cumsum(sizes)])
    out = np.eye(int(at[-1]))
    for a, b in combinations(range(len(blocks)), 2):
        cross = frames[a].T @ ((blocks[a] * w[:, None]).T @ blocks[b]) @ frames[b]
        out[at[a] : at[a + 1], at[b] : at[b + 1]] = cross
        out[at[b] : at[b + 1], at[a] : at[a + 1]] = cross.T
    return out


def _definiteness(r: int, n_sets: int, seed: int) -> Answer:
    """Table 2.5: the largest eigenvalue of R, and how often the curvature itself contradicts the criterion."""
    rng = np.random.default_rng([seed, 25, r])
    tops, checked, disagree = [], 0, 0
    for _ in range(n_sets):
        truth = Model.random(Tree.star(2, [r] * 3), numbered([r] * 3), rng)
        table = Table.from_codes(truth.sample(500, rng), truth.variables)
        top = float(np.linalg.eigvalsh(indicator_correlations(table))[-1])
        tops.append(top)
        model = equal_weight_independence(table, 2)
        plan = Plan.of(model, table)
        for beta in BETAS[::2]:
            if abs(beta * top - 1.0) > 1e-4:
                at = AnnealedSurface(plan, model.parameters, beta).at(model.parameters)
                checked += 1
                disagree += bool(curvature(at)[0][-1] < 0) != (beta * top < 1.0)
    return {"top": tops, "checked": checked, "disagree": disagree}
