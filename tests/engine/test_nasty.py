"""Numerically nasty models: probabilities of 0 and 1, weights of 1e-300 and 1e12, a thousand leaves, 200 states.

Small ones are checked against exact sums of fractions, large ones against the NumPy twin, which works in logarithms.
"""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import slow_engine as reference
import strategies as own
from fits import standing
from hypothesis import given, settings, strategies as st

from latentree import score
from latentree._model import Model, normalised, row_starts
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine import _core
from latentree.engine._plan import Evidence, Plan
from latentree.errors import LatentreeError, LatentreeWarning
from latentree.estimation import em, fit_classes
from latentree.infer import log_likelihood_rows, posterior
from latentree.runner import StopReason

WEIGHTS = (1e-300, 1e-150, 1e-12, 1.0, 3.0, 1e12)
SMALL = (0.0, 1e-300, 1e-200, 1e-30, 1e-9)


@st.composite
def nasty_parameters(draw, tree: Tree):
    """Rows that are certain, rows with exact zeros, rows with entries next to zero, plain rows."""
    entries = st.sampled_from(SMALL) | st.integers(1, 6).map(float)
    p = np.array(draw(st.lists(entries, min_size=tree.size, max_size=tree.size)))
    starts = row_starts(tree)
    for start, end in itertools.pairwise([*starts.tolist(), tree.size]):
        if draw(st.booleans()) and draw(st.booleans()):
            p[start:end] = np.arange(end - start) == draw(st.integers(0, end - start - 1))  # exactly 0 and 1
        if not p[start:end].any():
            p[start] = 1.0
    return normalised(tree, p)


def nasty_weights(n_rows: int):
    return st.lists(st.sampled_from(WEIGHTS), min_size=n_rows, max_size=n_rows).map(np.array)


@st.composite
def nasty_problems(draw, max_nodes: int = 6):
    tree = draw(own.trees(max_nodes))
    evidence = draw(own.evidence(tree, max_rows=5))
    n_rows = len(evidence[0].ids) if evidence else 1
    return tree, draw(nasty_parameters(tree)), evidence, draw(nasty_weights(n_rows))


# ---- exact sums ------------------------------------------------------------------------------------------------


def log_of(x: Fraction) -> float:
    return math.log(x.numerator) - math.log(x.denominator) if x else -math.inf


def exact(tree: Tree, parameters: np.ndarray, evidence: list[Evidence], weights: np.ndarray):
    """Per row log P(row) and P(root | row); log-likelihood and expected counts: all from sums of fractions."""
    p = [Fraction(float(x)) for x in parameters]
    rows, roots, counts = [], [], [Fraction(0)] * tree.size
    for r, weight in enumerate(weights):
        known = {e.node: int(e.ids[r]) for e in evidence}
        absent = {v for v in range(1, tree.n_nodes) if known.get(v, 0) < 0 and not tree.children[v]}
        total, root, seen = Fraction(0), [Fraction(0)] * int(tree.cardinality[0]), [Fraction(0)] * tree.size
        choices = [[known[v]] if known.get(v, -1) >= 0 else range(int(k)) for v, k in enumerate(tree.cardinality)]
        for states in itertools.product(*choices):
            at = [
                int(tree.offsets[v]) + (states[tree.parent[v]] * int(tree.cardinality[v]) if v else 0) + states[v]
                for v in range(tree.n_nodes)
            ]
            joint = math.prod((p[i] for i in at), start=Fraction(1))
            total += joint
            root[states[0]] += joint
            for v, i in enumerate(at):
                if v not in absent:
                    seen[i] += joint
        rows.append(log_of(total))
        roots.append([float(x / total) if total else math.nan for x in root])
        if total:
            counts = [c + Fraction(float(weight)) * s / total for c, s in zip(counts, seen, strict=True)]
    log_likelihood = math.fsum(w * x for w, x in zip(weights.tolist(), rows, strict=True))
    return rows, np.array(roots), log_likelihood, np.array([float(c) for c in counts])


@settings(max_examples=60)
@given(nasty_problems())
def test_small_nasty_models_equal_exact_sums(problem):
    tree, parameters, evidence, weights = problem
    rows, roots, log_likelihood, counts = exact(tree, parameters, evidence, weights)
    before = _core.kernels()
    try:
        for name in _core.available_kernels():
            _core.use_kernels(name)
            plan = Plan(tree, evidence, weights)
            np.testing.assert_allclose(plan.row_log_likelihood(parameters), rows, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(plan.posteriors(parameters, [0])[0], roots, rtol=1e-10, atol=1e-280)
            found = plan.evaluate(parameters)
            assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-12, abs=1e-12 * weights.max())
            # What a row says of a state may be lost below 1e-280 of the row's weight, and below what a double holds.
            np.testing.assert_allclose(found.vector, counts, rtol=1e-10, atol=max(1e-280 * weights.max(), 1e-307))
    finally:
        _core.use_kernels(before)


@settings(max_examples=40)
@given(nasty_problems(), st.booleans(), st.sampled_from([None, 1.0, 1.5]))
def test_the_trace_never_falls(problem, accelerate, prior):
    tree, parameters, evidence, weights = problem
    if not evidence:
        return
    codes = np.array([e.ids for e in evidence]).T
    at = np.argsort([tree.variable[e.node] for e in evidence])
    table = Table.from_codes(codes[:, at], numbered(tree.cardinality[tree.manifest]), weights)
    start = Model(tree, table.variables, parameters)
    fit = em(start, table, accelerate=accelerate, prior=prior, max_iterations=200)
    possible = fit.trace[fit.trace > -np.inf]  # impossible data may come first, where a prior makes them possible
    assert len(possible) >= len(fit.trace) - 1 and (np.diff(possible) >= 0).all()
    assert (fit.reason is StopReason.IMPOSSIBLE) == (len(possible) == 0)
    assert np.isfinite(fit.model.parameters).all() and (fit.counts.vector >= 0).all()


@settings(max_examples=25)
@given(st.data())
def test_fits_scores_and_errors_of_nasty_data(data):
    """From reading to standard errors: numbers, or an error of ours that says why there are none."""
    n_rows = data.draw(st.integers(3, 8))
    cells = data.draw(st.lists(st.integers(-1, 1), min_size=4 * n_rows, max_size=4 * n_rows))
    codes = np.array(cells).reshape(n_rows, 4)
    weights = data.draw(nasty_weights(n_rows))
    table = Table.from_codes(codes, np.full(4, 2), weights)
    fit = fit_classes(table, 2, rng=np.random.default_rng(0), n_init=4, max_iterations=300)
    assert (np.diff(fit.trace) >= 0).all()
    total = math.fsum(weights.tolist())
    rows = [p.sum() for p in posterior(fit.model, table).values()]
    assert np.isfinite(rows).all()
    found = log_likelihood_rows(fit.model, table)
    assert fit.log_likelihood == pytest.approx(math.fsum((weights * found).tolist()), rel=1e-11, abs=1e-11 * total)
    assert score.aic(fit) == pytest.approx(fit.log_likelihood - fit.n_parameters, rel=1e-12)
    for name in score.SCORES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentreeWarning)
            try:
                value = score.SCORES[name](fit)
            except LatentreeError:
                continue
        assert not np.isnan(value), name
    assert 0 <= score.relative_entropy(fit) <= 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentreeWarning)
        try:
            errors = score.standard_errors(fit).errors
        except LatentreeError:
            return
    assert (errors[~np.isnan(errors)] >= 0).all()


# ---- a thousand leaves, 200 states --------------------------------------------------------------------------------


def nasty_vector(tree: Tree, rng: np.random.Generator, zeros: float = 0.3) -> np.ndarray:
    """Zeros, entries next to zero, and rows that are certain."""
    p = rng.exponential(1.0, tree.size)
    p[rng.random(tree.size) < zeros] = 0.0
    p[rng.random(tree.size) < 0.1] *= 1e-200
    for start, end in itertools.pairwise([*row_starts(tree).tolist(), tree.size]):
        if rng.random() < 0.1:
            p[start:end] = 0.0
            p[rng.integers(start, end)] = 1.0
        if not p[start:end].any():
            p[start] = 1.0
    return normalised(tree, p)


def random_tree(rng: np.random.Generator, n_latents: int, leaf_states: np.ndarray, latent_states: int) -> Tree:
    """Latents in a random tree, leaves hung anywhere on it."""
    latents = [-1] + [int(rng.integers(max(0, v - 5), v)) for v in range(1, n_latents)]
    where = np.r_[np.arange(n_latents), rng.integers(0, n_latents, len(leaf_states) - n_latents)]
    states = np.r_[rng.integers(2, latent_states + 1, n_latents), leaf_states]
    return Tree(np.r_[latents, where], states, np.r_[np.full(n_latents, -1), np.arange(len(leaf_states))])


def shapes(rng: np.random.Generator) -> dict[str, Tree]:
    mixed = rng.choice([2, 3, 200], 1000, p=[0.6, 0.38, 0.02])
    return {
        "star of 1,000 leaves": Tree.star(3, np.full(1000, 2)),
        "tree of 1,000 leaves": random_tree(rng, 150, rng.integers(2, 5, 1000), 4),
        "latent of 200 states": Tree.star(200, np.full(12, 5)),
        "leaves of 200 states": Tree.star(4, np.full(30, 200)),
        "200 states everywhere": Tree([-1, 0, 0, 1, 1, 2], np.full(6, 200), [-1, -1, -1, 0, 1, 2]),
        "all at once": random_tree(rng, 120, mixed, 6),
    }


@pytest.mark.parametrize("shape", shapes(np.random.default_rng(0)))
def test_large_nasty_models_equal_the_twin(shape):
    rng = np.random.default_rng(7)
    tree = shapes(np.random.default_rng(0))[shape]
    parameters = nasty_vector(tree, rng)
    codes = Model(tree, numbered(tree.cardinality[tree.manifest]), parameters).sample(4, rng)
    codes[1:3][rng.random(codes[1:3].shape) < 0.1] = -1
    codes[3] = rng.integers(0, tree.cardinality[tree.manifest])  # most likely impossible
    weights = np.array([1.0, 1e12, 1e-300, 1.0])
    evidence = [Evidence(int(v), codes[:, j].astype(np.int32)) for j, v in enumerate(tree.manifest)]
    told = [reference.row_messages(tree, parameters, evidence, row) for row in range(4)]
    for n in (3, 4):
        some = [Evidence(e.node, e.ids[:n]) for e in evidence]
        counts = sum(w * joint for w, (_, joint) in zip(weights[:n], told[:n], strict=True))
        rows = [log_p for log_p, _ in told[:n]]
        log_likelihood = math.fsum((weights[:n] * rows).tolist())
        before = _core.kernels()
        try:
            for name in _core.available_kernels():
                _core.use_kernels(name)
                plan = Plan(tree, some, weights[:n])
                found = plan.evaluate(parameters)
                assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-11)
                np.testing.assert_allclose(plan.row_log_likelihood(parameters), rows, rtol=1e-11)
                np.testing.assert_allclose(found.vector, counts, rtol=1e-9, atol=1e-260 * weights.max())
        finally:
            _core.use_kernels(before)


@pytest.mark.parametrize(
    ("shape", "accelerate"), [("star of 1,000 leaves", True), ("200 states everywhere", True), ("all at once", False)]
)
def test_large_nasty_fits_never_fall(shape, accelerate):
    rng = np.random.default_rng(8)
    tree = shapes(np.random.default_rng(0))[shape]
    truth = Model(tree, numbered(tree.cardinality[tree.manifest]), nasty_vector(tree, rng))
    codes = truth.sample(20, rng)
    codes[rng.random(codes.shape) < 0.05] = -1
    table = Table.from_codes(codes, truth.variables, rng.choice(WEIGHTS, 20))
    start = Model.random(tree, truth.variables, rng)
    fit = em(start, table, accelerate=accelerate, max_iterations=12)
    assert (np.diff(fit.trace) >= 0).all() and len(fit.trace) > 2
    whole = standing(fit.model, table)
    assert whole.log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-12)
