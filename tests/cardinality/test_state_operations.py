"""Introduce, split, remove and merge, against enumeration; directions against Karciauskas' formulas."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from hypothesis import assume, given, settings, strategies as st
from strategies import models, parameters, tables

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.cardinality import DIRECTIONS, Neighbourhood, States, introduce, merge, remove, split
from latentree.cardinality._states import FLOOR
from latentree.errors import ModelError, ParameterError
from latentree.infer import sample_table


@st.composite
def models_with_latent(draw, **options):
    """A model and one of its latent nodes by name."""
    model = draw(models(max_nodes=6, latent_leaves=False, **options))
    assume(len(model.tree.latent))
    z = draw(st.sampled_from(model.tree.latent.tolist()))
    return model, model.tree.names[z]


def width(model: Model, node: str) -> int:
    z = model.tree.node(node)
    return int(sum(model.tree.cardinality[v] for v in model.tree.neighbours(z)))


def distribution(model: Model) -> np.ndarray:
    return oracle.pattern_probabilities(model)


@settings(max_examples=50)
@given(models_with_latent(), st.data())
def test_splitting_nowhere_changes_nothing_and_merging_undoes_a_split(given_, data):
    model, node = given_
    k = int(model.tree.cardinality[model.tree.node(node)])
    s = data.draw(st.integers(0, k - 1))
    still = split(model, node, s, np.zeros(width(model, node)))
    np.testing.assert_allclose(distribution(still), distribution(model), atol=1e-12)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    direction = _random_direction(model, node, rng)
    halved = split(model, node, s, direction)
    assert halved.tree.cardinality[halved.tree.node(node)] == k + 1
    again = merge(halved, node, s, k)
    np.testing.assert_allclose(distribution(again), distribution(model), atol=1e-12)


def _random_direction(model: Model, node: str, rng: np.random.Generator) -> np.ndarray:
    rooted = model.rerooted(node)
    parts = [rng.uniform(-0.1, 0.1, rooted.tree.cardinality[v]) for v in rooted.tree.children[0]]
    return np.concatenate([p - p.mean() for p in parts])


@settings(max_examples=50)
@given(models_with_latent(), st.floats(0.01, 0.9))
def test_removing_undoes_introducing_and_introducing_mixes(given_, p):
    model, node = given_
    k = int(model.tree.cardinality[model.tree.node(node)])
    more = introduce(model, node, p=p)
    np.testing.assert_allclose(distribution(remove(more, node, k)), distribution(model), atol=1e-12)
    if (
        len(model.tree.latent) == 1
        and model.tree.n_nodes == model.tree.n_variables + 1 == len(model.tree.children[0]) + 1
    ):
        even = 1.0 / np.prod([v.cardinality for v in model.variables])
        np.testing.assert_allclose(distribution(more), (1 - p) * distribution(model) + p * even, atol=1e-12)


@settings(max_examples=50)
@given(models_with_latent(), st.data())
def test_operations_do_not_depend_on_the_root(given_, data):
    model, node = given_
    k = int(model.tree.cardinality[model.tree.node(node)])
    assume(k > 1 and min(m.min() for m in model.marginals()) > 1e-9)
    a, b = data.draw(st.permutations(range(k)))[:2]
    elsewhere = model.rerooted(data.draw(st.integers(0, model.tree.n_nodes - 1)))
    for operation in (lambda m: merge(m, node, a, b), lambda m: remove(m, node, a)):
        np.testing.assert_allclose(distribution(operation(elsewhere)), distribution(operation(model)), atol=1e-9)


@settings(max_examples=50)
@given(models_with_latent(), st.data())
def test_merging_keeps_the_marginals_of_all_neighbours(given_, data):
    model, node = given_
    rooted = model.rerooted(node)
    k = int(rooted.tree.cardinality[0])
    assume(k > 1)
    a, b = data.draw(st.permutations(range(k)))[:2]
    merged = merge(rooted, node, a, b)
    assert merged.table(0)[0, a - (b < a)] == pytest.approx(rooted.table(0)[0, [a, b]].sum())
    for v in rooted.tree.children[0]:
        np.testing.assert_allclose(merged.marginals()[v], rooted.marginals()[v], atol=1e-12)


@given(st.data())
def test_a_split_keeps_to_the_inside(data):
    widths = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    tree = Tree.star(1, widths)
    states = States.of(data.draw(parameters(tree, extreme=True)), widths)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    parts = [rng.uniform(-1, 1, w) for w in widths]
    halved = states.split(0, np.concatenate([p - p.mean() for p in parts]))
    for b in states.blocks:
        own, two = states.profiles[0, b], halved.profiles[:, b]
        np.testing.assert_allclose(two.mean(axis=0), own, atol=1e-15)
        if ((own < FLOOR) | (own > 1 - FLOOR)).any():
            assert (two == own).all()
        else:
            assert two.min() >= FLOOR * (1 - 1e-9)
            assert two.max() <= 1 - FLOOR * (1 - 1e-9)


@given(st.lists(st.integers(1, 4), min_size=0, max_size=5).map(tuple), st.integers(1, 4))
def test_states_and_flat_vectors_are_the_same_thing(widths, k):
    tree = Tree.star(k, widths)
    flat = np.arange(tree.size, dtype=float)
    states = States.of(flat, widths)
    np.testing.assert_array_equal(states.flat, flat)
    for v, b in enumerate(states.blocks, start=1):
        own = flat[tree.offsets[v] : tree.offsets[v + 1]].reshape(k, -1)
        np.testing.assert_array_equal(states.profiles[:, b], own)


# ---- directions -----------------------------------------------------------------------------------------------------


def star_of(table: Table) -> Neighbourhood:
    tree = Tree.star(1, table.cardinalities)
    counts = [
        np.bincount(c[c >= 0], weights=table.weights[c >= 0], minlength=k)
        for c, k in zip(table.codes.T, table.cardinalities, strict=True)
    ]
    flat = np.concatenate([[1.0], *(c / c.sum() for c in counts)])
    return Neighbourhood.around(Model(tree, table.variables, flat), table, 0)


@st.composite
def stars(draw, binary: bool = False):
    widths = draw(st.lists(st.just(2) if binary else st.integers(2, 3), min_size=2, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    codes = np.column_stack([rng.integers(0, w, 40) for w in widths])
    codes[:3] = np.arange(3)[:, None] % np.array(widths)  # every value is there
    return star_of(Table.from_codes(codes, numbered(widths), rng.uniform(0.5, 2, 40)))


@settings(max_examples=50)
@given(stars(), st.sampled_from(sorted({*DIRECTIONS} - {"uniform"})))
def test_directions_sum_to_zero_and_are_no_longer_than_p(star, name):
    p = 0.01
    direction = DIRECTIONS[name](star, star.states.profiles[0], p, np.random.default_rng(0))
    for b in star.states.blocks:
        assert abs(direction[b].sum()) < 1e-12
    assert np.abs(direction).max() <= p * np.sqrt(2) + 1e-12
    if name == "random":
        assert all(np.abs(direction[b]).max() == pytest.approx(p) for b in star.states.blocks)


@given(stars(binary=True))
def test_alternating_and_variance_are_k_s_for_binary_neighbours(star):
    p, rng, profile = 0.01, np.random.default_rng(0), star.states.profiles[0]
    signs = DIRECTIONS["alternating"](star, profile, p, rng).reshape(-1, 2)
    assert signs[:, 1].tolist() == [p * (-1) ** i for i in range(len(signs))]
    codes = np.column_stack([e.ids for e in star.evidence])
    covariance = np.cov(codes.T, aweights=star.weights, bias=True)
    values, vectors = np.linalg.eigh(covariance)
    assume(values[-1] - values[-2] > 1e-3)
    found = DIRECTIONS["variance"](star, profile, p, rng).reshape(-1, 2)[:, 1]
    expected = p * vectors[:, -1]
    assert min(np.abs(found - expected).max(), np.abs(found + expected).max()) < 1e-6


@settings(max_examples=50)
@given(stars(binary=True))
def test_greedy_takes_the_better_sign_of_each_neighbour(star):
    p, profile = 0.01, star.states.profiles[0]
    found = DIRECTIONS["greedy"](star, profile, p, np.random.default_rng(0))
    one = States(np.ones(1), profile[None], star.widths)
    codes = np.column_stack([e.ids for e in star.evidence])

    def likelihood(direction):  # by hand
        two = one.split(0, direction)
        rows = np.zeros(len(codes))
        for h in range(2):
            columns = [two.profiles[h, b][codes[:, i]] for i, b in enumerate(one.blocks)]
            rows += 0.5 * np.prod(columns, axis=0)
        return star.weights @ np.log(rows)

    order = np.argsort([np.abs(profile[b] - 0.5).sum() for b in one.blocks], kind="stable")
    chosen = np.zeros_like(profile)
    for i, at in enumerate(order):
        b = one.blocks[at]
        tried = [chosen.copy() for _ in range(2)]
        tried[0][b], tried[1][b] = (-p, p), (p, -p)
        values = [likelihood(t) for t in tried]
        assume(i == 0 or abs(values[0] - values[1]) > 1e-9)
        chosen = tried[0] if i == 0 or values[0] > values[1] else tried[1]
    np.testing.assert_allclose(found, chosen)


# ---- stars ----------------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.data())
def test_a_star_says_what_the_whole_model_says(data):
    model = data.draw(models(max_nodes=6, latent_leaves=False))
    assume(len(model.tree.latent))
    table = data.draw(tables(model.variables))
    assume(table.n_patterns)
    z = data.draw(st.sampled_from(model.tree.latent.tolist()))
    star = Neighbourhood.around(model, table, z)
    evidence = oracle.table_evidence(model, table)
    truth = oracle.evaluate(model.tree, model.parameters, evidence, table.weights)
    assume(np.isfinite(truth.log_likelihood))
    states = star.states
    assert star.plan(states.n).log_likelihood(states.flat) == pytest.approx(truth.log_likelihood, rel=1e-9, abs=1e-9)
    assert star.weights.sum() == pytest.approx(table.weights.sum())
    same = star.whole(states)
    np.testing.assert_allclose(distribution(same), distribution(model), atol=1e-12)
    log_joint = star.log_joint(states)
    rows = np.logaddexp.reduce(log_joint, axis=1)
    assert star.weights @ rows == pytest.approx(truth.log_likelihood, rel=1e-9, abs=1e-9)


# ---- what is wrong ----------------------------------------------------------------------------------------------


def test_errors_say_what_is_wrong():
    model = Model.random(Tree.star(2, [2, 2]), numbered([2, 2]), np.random.default_rng(0))
    with pytest.raises(ModelError, match="'x1' is observed"):
        merge(model, "x1", 0, 1)
    with pytest.raises(ModelError, match=r"states are 0 to 1\. Got 2"):
        remove(model, "z", 2)
    with pytest.raises(ModelError, match="cannot be merged with itself"):
        merge(model, "z", 1, 1)
    with pytest.raises(ModelError, match="only state"):
        remove(merge(model, "z", 0, 1), "z", 0)
    with pytest.raises(ModelError, match="4 entries"):
        split(model, "z", 0, np.zeros(3))
    with pytest.raises(ParameterError, match="'p'"):
        introduce(model, "z", p=1.0)


@pytest.mark.parametrize("tree", ["star", "d7"])
def test_whole_vectors_are_the_parameters_of_whole_models(tree):
    made = datasets.generator("d7")
    table = sample_table(made, 200, np.random.default_rng(0))
    model = Model.random(Tree.star(3, table.cardinalities, table.names), table.variables, np.random.default_rng(1))
    model = model if tree == "star" else made
    for z in model.tree.latent:
        star = Neighbourhood.around(model, table, int(z))
        candidates = [star.states.merge(0, b) for b in range(1, star.states.n)]
        vectors = star.whole_vectors(candidates)
        np.testing.assert_array_equal(vectors, [star.whole(states).parameters for states in candidates])
