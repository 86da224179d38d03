"""Kernels = NumPy twin = enumeration, on random trees, weights, missing cells, zeros and soft evidence."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import slow_engine as reference
import strategies as own
from hypothesis import given, settings, strategies as st
from scipy.special import logsumexp

from latentree._model import Model, normalised, random_parameters
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import Variable
from latentree.engine import _core
from latentree.engine._plan import Evidence, Plan
from latentree.errors import DataError, ModelError

LANES = {"baseline": 2, "avx2": 4, "avx512": 8}
KERNELS = _core.available_kernels()


@pytest.fixture(params=KERNELS)
def kernels(request):
    before = _core.kernels()
    _core.use_kernels(request.param)
    yield request.param
    _core.use_kernels(before)


def meeting_points(tree):
    return [v for v in range(tree.n_nodes) if v == 0 or tree.children[v]]


def assert_same(counts, truth, scale=1.0):
    if np.isinf(truth.log_likelihood):
        assert counts.log_likelihood == truth.log_likelihood
    else:
        assert counts.log_likelihood == pytest.approx(truth.log_likelihood, rel=1e-11, abs=1e-11 * scale)
    np.testing.assert_allclose(counts.vector, truth.vector, rtol=1e-10, atol=1e-10 * scale)


@st.composite
def problems(draw):
    tree = draw(own.trees())
    evidence = draw(own.evidence(tree, soft=True))
    n_rows = len(evidence[0].ids) if evidence else 1
    return tree, draw(own.parameters(tree)), evidence, draw(own.weights(n_rows))


@settings(max_examples=150)
@given(problems(), st.data())
def test_kernels_equal_twin_equal_enumeration(problem, data):
    tree, parameters, evidence, weights = problem
    truth = oracle.evaluate(tree, parameters, evidence, weights)
    assert_same(reference.evaluate(tree, parameters, evidence, weights), truth)
    before = _core.kernels()
    try:
        for name in KERNELS:
            _core.use_kernels(name)
            root = data.draw(st.none() | st.sampled_from(meeting_points(tree)))
            plan = Plan(tree, evidence, weights, root=root, share=data.draw(st.booleans()))
            assert_same(plan.evaluate(parameters), truth)
            log_likelihood, counts = plan.evaluate_batch(np.stack([parameters] * 3), lanes=LANES[name])
            np.testing.assert_allclose(counts, np.stack([truth.vector] * 3), rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(log_likelihood, truth.log_likelihood, rtol=1e-11, atol=1e-11)
            up_only = plan.log_likelihood(parameters)
            assert up_only == pytest.approx(plan.evaluate(parameters).log_likelihood, rel=1e-14)
    finally:
        _core.use_kernels(before)


def wide_problem(rng, n_nodes, max_states, n_rows, missing=0.1):
    """A random tree too large to enumerate, its rows alike enough for sharing to have something to share."""
    parent = np.array([-1] + [int(rng.integers(max(0, v - 12), v)) for v in range(1, n_nodes)])
    inner = np.isin(np.arange(n_nodes), parent)
    tree = Tree(parent, rng.integers(1, max_states + 1, n_nodes), np.where(inner, -1, np.cumsum(~inner) - 1))
    seeds = [rng.integers(0, k, 7) for k in tree.cardinality]
    evidence = []
    for v in tree.manifest:
        ids = seeds[v][rng.integers(0, 7, n_rows)].astype(np.int32)
        ids[rng.random(n_rows) < missing] = -1
        evidence.append(Evidence(int(v), ids))
    return tree, random_parameters(tree, rng), evidence, rng.exponential(1.0, n_rows)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(30, 4, 150), (60, 9, 80), (25, 30, 60), (12, 3, 900)])
def test_kernels_equal_twin_on_larger_trees(kernels, seed, shape):
    tree, parameters, evidence, weights = wide_problem(np.random.default_rng(seed), *shape)
    truth = reference.evaluate(tree, parameters, evidence, weights)
    for root in (None, 0, meeting_points(tree)[-1]):
        for share in (True, False):
            plan = Plan(tree, evidence, weights, root=root, share=share)
            assert_same(plan.evaluate(parameters), truth, scale=100.0)
    others = np.stack([random_parameters(tree, np.random.default_rng(i)) for i in range(5)])
    batch = Plan(tree, evidence, weights).evaluate_batch(others, lanes=LANES[kernels])
    for p, log_likelihood, counts in zip(others, *batch, strict=True):
        single = Plan(tree, evidence, weights).evaluate(p)
        assert log_likelihood == pytest.approx(single.log_likelihood, rel=1e-12)
        np.testing.assert_allclose(counts, single.vector, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5, 8, 9, 16, 17, 24, 25, 40])
def test_every_width_of_row(kernels, n_classes):
    rng = np.random.default_rng(n_classes)
    tree = Tree.star(n_classes, [3, 2, 4, 2, 5])
    codes = rng.integers(-1, tree.cardinality[1:], (300, 5))
    evidence = [Evidence(v + 1, codes[:, v].astype(np.int32)) for v in range(5)]
    parameters = random_parameters(tree, rng)
    weights = rng.random(300)
    truth = reference.evaluate(tree, parameters, evidence, weights)
    assert_same(Plan(tree, evidence, weights).evaluate(parameters), truth, scale=100.0)


def star_truth(tree, parameters, codes, weights):
    """Log-likelihood and class posteriors of a latent class model in logarithms."""
    k = tree.cardinality[0]
    with np.errstate(divide="ignore"):
        log_p = np.log(parameters)
    terms = np.tile(log_p[:k], (len(codes), 1))
    for j in range(codes.shape[1]):
        table = log_p[tree.offsets[j + 1] : tree.offsets[j + 2]].reshape(k, -1)
        terms += np.where(codes[:, [j]] >= 0, table.T[codes[:, j]], 0.0)
    rows = logsumexp(terms, axis=1)
    return float(weights @ rows), weights @ np.exp(terms - rows[:, None]), np.exp(terms - rows[:, None])


@pytest.mark.parametrize("n_leaves", [200, 700, 1000, 3000])
def test_a_thousand_conflicting_leaves_do_not_underflow(kernels, n_leaves):
    tree = Tree.star(2, np.full(n_leaves, 2))
    one = np.array([[0.99, 0.01], [0.01, 0.99]])
    parameters = np.concatenate([[0.3, 0.7], np.tile(one.ravel(), n_leaves)])
    codes = np.zeros((6, n_leaves), dtype=np.int64)
    codes[1, : n_leaves // 2] = 1  # half point each way
    codes[2, 1::2] = 1
    codes[3, : n_leaves // 2 + 1] = 1
    codes[4] = 1
    codes[5, ::3] = -1
    weights = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
    log_likelihood, root, posterior = star_truth(tree, parameters, codes, weights)
    evidence = [Evidence(j + 1, codes[:, j].astype(np.int32)) for j in range(n_leaves)]
    for share in (True, False):
        plan = Plan(tree, evidence, weights, share=share)
        counts = plan.evaluate(parameters)
        assert counts.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)
        np.testing.assert_allclose(counts.vector[:2], root, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(plan.posteriors(parameters, [0])[0], posterior, rtol=1e-9, atol=1e-12)
        batch = plan.evaluate_batch(np.stack([parameters] * 2), lanes=LANES[kernels])
        np.testing.assert_allclose(batch[0], log_likelihood, rtol=1e-12)
        np.testing.assert_allclose(batch[1], np.stack([counts.vector] * 2), rtol=1e-9, atol=1e-9)


def test_wide_rows_without_conflict_stay_on_the_fast_path():
    """A thousand leaves that agree: the row's other states underflow, which must not send it to the slow path."""
    rng = np.random.default_rng(0)
    tree = Tree.star(3, np.full(1000, 4))
    parameters = random_parameters(tree, rng, dominant=0.6)
    model = Model(tree, Table.from_codes(np.zeros((1, 1000), int), np.full(1000, 4)).variables, parameters)
    codes = model.sample(200, rng)
    log_likelihood, root, _ = star_truth(tree, parameters, codes.astype(int), np.ones(200))
    counts = Plan.of(model, Table.from_codes(codes, model.variables)).evaluate(parameters)
    assert counts.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)
    np.testing.assert_allclose(counts.vector[:3], root, rtol=1e-9)


@pytest.mark.parametrize("weight", [1e-300, 1e12])
@pytest.mark.parametrize("probability", [0.0, 1e-300, 1e-30])
def test_nasty_weights_and_probabilities(kernels, weight, probability):
    tree = Tree.star(3, [2, 3, 2])
    parameters = normalised(tree, np.where(np.arange(tree.size) % 3 == 0, probability, 1.0))
    evidence = [Evidence(v, np.array([0, 1, 1, -1], dtype=np.int32)) for v in (1, 2, 3)]
    weights = np.array([weight, 1.0, weight, 2.0])
    truth = oracle.evaluate(tree, parameters, evidence, weights)
    counts = Plan(tree, evidence, weights).evaluate(parameters)
    assert counts.log_likelihood == pytest.approx(truth.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(counts.vector, truth.vector, rtol=1e-9, atol=1e-12 * weights.max())


def test_impossible_rows_have_no_counts():
    tree = Tree.star(2, [2, 2])
    parameters = np.array([0.5, 0.5, 1.0, 0.0, 1.0, 0.0, 0.5, 0.5, 0.5, 0.5])
    evidence = [Evidence(1, np.array([0, 1], dtype=np.int32)), Evidence(2, np.array([0, 0], dtype=np.int32))]
    plan = Plan(tree, evidence, np.array([1.0, 1.0]))
    counts = plan.evaluate(parameters)
    assert counts.log_likelihood == -np.inf
    assert counts.vector[:2].tolist() == [0.5, 0.5]
    np.testing.assert_allclose(plan.row_log_likelihood(parameters), [np.log(0.5), -np.inf])
    assert np.isnan(plan.posteriors(parameters, [0])[0][1]).all()


# ---- what must not change anything ----------------------------------------------------------------------------


def shared_setting(seed=0, n_rows=400):
    rng = np.random.default_rng(seed)
    tree, parameters, evidence, _ = wide_problem(rng, 20, 4, n_rows)
    return rng, tree, parameters, evidence


def test_weight_is_repetition():
    rng, tree, parameters, evidence = shared_setting()
    times = rng.integers(0, 4, 400)
    repeated = [Evidence(e.node, np.repeat(e.ids, times)) for e in evidence]
    a = Plan(tree, evidence, times.astype(float)).evaluate(parameters)
    b = Plan(tree, repeated, np.ones(times.sum())).evaluate(parameters)
    assert_same(a, b, scale=100.0)


def test_counts_add_up():
    _, tree, parameters, evidence = shared_setting()
    parts = [
        Plan(tree, [Evidence(e.node, e.ids[half]) for e in evidence], np.ones(200)).evaluate(parameters)
        for half in (slice(0, 200), slice(200, 400))
    ]
    both = Plan(tree, evidence, np.ones(400)).evaluate(parameters)
    assert_same(parts[0] + parts[1], both, scale=100.0)
    assert (parts[0] + parts[1]).weight == both.weight


def test_row_order_changes_nothing():
    rng, tree, parameters, evidence = shared_setting()
    order = rng.permutation(400)
    plan = Plan(tree, evidence, np.ones(400))
    turned = Plan(tree, [Evidence(e.node, e.ids[order]) for e in evidence], np.ones(400))
    assert_same(turned.evaluate(parameters), plan.evaluate(parameters), scale=100.0)
    np.testing.assert_allclose(
        turned.row_log_likelihood(parameters), plan.row_log_likelihood(parameters)[order], rtol=1e-12
    )


@settings(max_examples=60)
@given(own.models_and_tables(max_nodes=6), st.data())
def test_rooting_and_state_order_change_nothing(pair, data):
    model, table = pair
    truth = Plan.of(model, table).log_likelihood(model.parameters)
    turned = model.rerooted(data.draw(st.integers(0, model.tree.n_nodes - 1)))
    assert Plan.of(turned, table).log_likelihood(turned.parameters) == pytest.approx(truth, rel=1e-9)
    z = data.draw(st.sampled_from(list(range(model.tree.n_nodes))))
    if model.tree.variable[z] < 0:  # reorder the states of a latent node
        order = data.draw(st.permutations(range(int(model.tree.cardinality[z]))))
        tables = {n: model.table(v) for v, n in enumerate(model.tree.names)}
        tables[model.tree.names[z]] = model.table(z)[:, order]
        for c in model.tree.children[z]:
            tables[model.tree.names[c]] = model.table(c)[order]
        moved = Model.from_tables(model.tree, model.variables, tables)
        assert Plan.of(moved, table).log_likelihood(moved.parameters) == pytest.approx(truth, rel=1e-9)


def many_rows(seed=1, n_rows=60_000):
    rng = np.random.default_rng(seed)
    tree = Tree.star(7, np.full(12, 3))
    codes = rng.integers(0, 3, (n_rows, 12))
    table = Table.from_codes(codes, np.full(12, 3))
    return Model(tree, table.variables, random_parameters(tree, rng)), table


def test_threads_change_not_a_bit(kernels):
    model, table = many_rows()
    plan = Plan.of(model, table)
    one = plan.evaluate(model.parameters, n_jobs=1)
    for n_jobs in (2, 3, 8):
        more = plan.evaluate(model.parameters, n_jobs=n_jobs)
        assert more.log_likelihood == one.log_likelihood
        assert np.array_equal(more.vector, one.vector)


def test_instruction_sets_agree():
    model, table = many_rows(n_rows=5000)
    before, results = _core.kernels(), []
    for name in KERNELS:
        _core.use_kernels(name)
        results.append(Plan.of(model, table).evaluate(model.parameters))
    _core.use_kernels(before)
    for other in results[1:]:
        assert other.log_likelihood == pytest.approx(results[0].log_likelihood, rel=1e-10)
        np.testing.assert_allclose(other.vector, results[0].vector, rtol=1e-10, atol=1e-10)


def test_unknown_kernels_are_refused():
    with pytest.raises(ValueError, match="no kernels called 'abacus'"):
        _core.use_kernels("abacus")


def test_sharing_saves_work():
    rng = np.random.default_rng(0)
    tree = Tree.from_edges(
        [("r", f"z{i}") for i in range(5)] + [(f"z{i}", f"x{i}{j}") for i in range(5) for j in range(4)],
        {"r": 2, **{f"z{i}": 3 for i in range(5)}, **{f"x{i}{j}": 2 for i in range(5) for j in range(4)}},
        [f"x{i}{j}" for i in range(5) for j in range(4)],
    )
    evidence = [Evidence(int(v), rng.integers(0, 2, 5000).astype(np.int32)) for v in tree.manifest]
    shared, flat = (Plan(tree, evidence, np.ones(5000), share=share).core.work for share in (True, False))
    assert flat > 10 * shared


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (Evidence(1, np.array([0, 2])), "states must be -1 .missing. to 1. Got 0 to 2"),
        (Evidence(1, np.array([0])), r"\(1,\) ids for 2 rows"),
        (Evidence(0, np.array([0, 1]), np.ones((1, 2))), "ids must be 0 to 0. Got 0 to 1"),
        (Evidence(0, np.array([0, 0]), np.ones((1, 3))), "likelihoods must have 2 columns"),
        (Evidence(0, np.array([0, 0]), np.full((1, 2), 7.0)), "must lie between 0 and 1"),
        (Evidence(0, np.array([0, 0]), np.ones((1, 2)), np.ones(3)), "one log-scale for each of the 1 ids"),
    ],
)
def test_evidence_that_does_not_fit(evidence, message):
    with pytest.raises(ModelError, match=message):
        Plan(Tree.star(2, [2, 2]), [evidence], np.ones(2))


def test_messages_cannot_meet_in_a_leaf():
    with pytest.raises(ModelError, match="end of a branch"):
        Plan(Tree.star(2, [2, 2]), [], np.ones(2), root=1)


# ---- distinct rows ---------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.data())
def test_distinct_rows_equal_numpy(data):
    n_rows, n_columns = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 30))
    most = data.draw(st.sampled_from([1, 2, 5, 300, 30000]))
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    pool = rng.integers(-1, most, (8, n_columns))
    codes = pool[rng.integers(0, 8, n_rows)]
    table = Table.from_codes(codes, np.full(n_columns, most))
    rows, first, times = np.unique(codes, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)  # patterns are numbered as they first appear
    assert np.array_equal(table.codes, rows[order])
    assert np.array_equal(table.weights, times[order])
    assert np.array_equal(table.codes[table.inverse], codes)


@settings(max_examples=60)
@given(st.data())
def test_a_leaf_spoken_of_twice(data):
    """A missing cell and soft evidence on one leaf: the leaf is not absent."""
    tree = Tree.star(2, [2, 3])
    hard = Evidence(1, np.array(data.draw(st.lists(st.integers(-1, 1), min_size=3, max_size=3))))
    soft = data.draw(own.soft_evidence(1, 2, 3))
    other = Evidence(2, np.array([0, 2, -1]))
    parameters = data.draw(own.parameters(tree))
    truth = oracle.evaluate(tree, parameters, [hard, soft, other], np.ones(3))
    assert_same(reference.evaluate(tree, parameters, [hard, soft, other], np.ones(3)), truth)
    assert_same(Plan(tree, [hard, soft, other], np.ones(3)).evaluate(parameters), truth)


def test_two_columns_of_values_on_one_node_are_refused():
    twice = Evidence(1, np.array([0]))
    with pytest.raises(ModelError, match="'x1' has two columns of values"):
        Plan(Tree.star(2, [2, 2]), [twice, twice], np.ones(1))


def test_states_of_other_types_or_bins_do_not_fit():
    model = Model.random(Tree.star(2, [2]), [Variable("x", (0, 1))], np.random.default_rng(0))
    for other in (Variable("x", (False, True)), Variable("x", (0, 1), (0.5,)), Variable("x", ("0", "1"))):
        with pytest.raises(DataError, match="Read the data with the model's variables"):
            Plan.of(model, Table.from_codes([[0], [1]], [other]))
    with pytest.raises(DataError, match="has the value 2, which the model does not know"):
        Plan.of(model, Table.from_codes([[0], [2]], [Variable("x", (0, 1, 2))]))
