"""Karciauskas' theorems 4.1 and 4.2, the counter-example of table 4.1, and table 5.1 by our own operations."""

from __future__ import annotations

from itertools import product

import numpy as np
import oracle
import pytest
from hypothesis import assume, given, settings, strategies as st
from studies import merging

from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.cardinality import introduce, merge, split
from latentree.engine._plan import Plan
from latentree.estimation import em

WIDTHS = (2, 3, 2)
PATTERNS = np.array(list(product(*map(range, WIDTHS))))


def full_table(probabilities: np.ndarray, widths=WIDTHS) -> Table:
    patterns = np.array(list(product(*map(range, widths))))
    return Table.from_codes(patterns, numbered(widths), 1000 * np.asarray(probabilities).ravel())


def log_likelihood(model: Model, table: Table) -> float:
    return Plan.of(model, table).log_likelihood(model.parameters)


@st.composite
def imperfect(draw):
    """A random distribution and a random model that does not describe it."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    k = draw(st.integers(1, 3))
    model = Model.random(Tree.star(k, WIDTHS), numbered(WIDTHS), rng)
    return model, full_table(rng.dirichlet(np.ones(len(PATTERNS))))


@given(imperfect())
def test_theorem_4_1_introducing_a_state_raises_the_likelihood(given_):
    model, table = given_
    of_model = oracle.pattern_probabilities(model).ravel()
    of_data = np.zeros(len(PATTERNS))
    of_data[[int(np.flatnonzero((row == PATTERNS).all(axis=1))[0]) for row in table.codes]] = table.weights / table.n
    at = int(np.argmax(of_data - of_model))
    profile = np.concatenate([np.eye(w)[v] for w, v in zip(WIDTHS, PATTERNS[at], strict=True)])
    # so close to 0 that the new model's probability of the pattern stays below the data's
    p = 0.5 * (of_data[at] - of_model[at]) / (1 - of_model[at])
    more = introduce(model, "z", profile=profile, p=p)
    assert oracle.pattern_probabilities(more).ravel()[at] < of_data[at]
    assert log_likelihood(more, table) > log_likelihood(model, table)


@settings(max_examples=25)
@given(imperfect(), st.floats(1e-3, 1e-2))
def test_theorem_4_2_some_split_raises_the_likelihood_of_a_fitted_model(given_, length):
    model, table = given_
    fit = em(model, table, tol=1e-12, max_iterations=50_000)
    assume(fit.model.parameters.min() > 0.02)
    before = fit.log_likelihood
    posterior = Plan.of(fit.model, table).posteriors(fit.model.parameters, [0])[0]
    best = -np.inf
    for s in range(posterior.shape[1]):
        own = table.weights * posterior[:, s]
        for direction in _pair_directions(fit.model, table, own / own.sum(), s, length):
            best = max(best, log_likelihood(split(fit.model, "z", s, direction), table) - before)
    perfect = _distance(fit.model, table) < 1e-4
    assert perfect or best > 0


def _distance(model, table):
    of_model = oracle.pattern_probabilities(model)
    return max(abs(of_model[tuple(row)] - w / table.n) for row, w in zip(table.codes, table.weights, strict=True))


def _pair_directions(model, table, share, s, length):
    """The splits of the proof (4.28-4.35): two values of each of two variables, moved by the root of epsilon."""
    blocks = np.cumsum((0, *WIDTHS))
    for a, b in ((0, 1), (0, 2), (1, 2)):
        for a1, a2 in product(range(WIDTHS[a]), repeat=2):
            for b1, b2 in product(range(WIDTHS[b]), repeat=2):
                if a1 < a2 and b1 != b2:
                    r = np.zeros(blocks[-1])
                    r[blocks[a] + np.array([a1, a2])] = length, -length
                    r[blocks[b] + np.array([b1, b2])] = length, -length
                    yield r


TABLE_4_1 = np.array([[[0.05, 0.07], [0.10, 0.08]], [[0.15, 0.13], [0.20, 0.22]]])


@given(st.integers(0, 10**6), st.floats(1e-4, 0.1))
def test_table_4_1_no_equal_split_of_one_state_raises_the_likelihood(seed, length):
    table = full_table(TABLE_4_1, (2, 2, 2))
    one = em(Model.random(Tree.star(1, [2] * 3), numbered([2] * 3), np.random.default_rng(0)), table).model
    assert np.abs(oracle.pattern_probabilities(one) - TABLE_4_1).max() > 0.01
    up = np.random.default_rng(seed).uniform(-length, length, 3)
    halved = split(one, "z", 0, np.column_stack([up, -up]).ravel())
    assert log_likelihood(halved, table) <= log_likelihood(one, table) + 1e-9


def test_table_4_1_is_not_what_two_independent_variables_give():
    assert TABLE_4_1.sum() == pytest.approx(1)
    for axis in range(3):
        pair = TABLE_4_1.sum(axis=axis)
        np.testing.assert_allclose(pair, np.outer(pair.sum(axis=1), pair.sum(axis=0)), atol=1e-12)


@pytest.mark.parametrize(("structure", "works"), [(merging.STRUCTURES[1], True), (merging.STRUCTURES[12], False)])
def test_table_5_1_merging_two_states_gives_the_model_back_where_it_says_so(structure, works):
    rng = np.random.default_rng([5, structure.n_states])
    patterns = np.array(list(product(*map(range, structure.leaves))))
    small = merging._random_model(structure.n_states, structure.leaves, rng)
    target = oracle.pattern_probabilities(small).ravel()
    large = merging._perfect_fit(structure, patterns, target, 40, rng)
    assert large is not None
    k = structure.n_states + 1
    merged = [merge(large, "z", a, b) for a in range(k) for b in range(a + 1, k)]
    nearest = min(np.abs(oracle.pattern_probabilities(m).ravel() - target).max() for m in merged)
    assert (nearest < merging.SAME) == works
