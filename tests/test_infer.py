"""Inference against enumeration, and where enumeration cannot go."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import strategies as own
from hypothesis import given, settings, strategies as st

from latentree import infer
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import Variable, numbered
from latentree.errors import DataError, ModelError, ParameterError

CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def chain(n_inner: int, n_states: int) -> Tree:
    """Latents in a row, a leaf under each end."""
    parent = [-1, *range(n_inner - 1), 0, n_inner - 1]
    return Tree(parent, [n_states] * (n_inner + 2), [-1] * n_inner + [0, 1])


# ---- against enumeration -------------------------------------------------------------------------------------


@given(own.models_and_tables())
def test_log_likelihood_of_rows_is_the_enumerated_one(case):
    model, table = case
    expected = oracle.log_likelihood(
        model.tree, model.parameters, oracle.table_evidence(model, table), table.n_patterns
    )
    np.testing.assert_allclose(infer.log_likelihood_rows(model, table), oracle.by_row(expected, table), **CLOSE)


@given(own.models_and_tables())
def test_posteriors_of_all_nodes_are_the_enumerated_ones(case):
    model, table = case
    evidence = oracle.table_evidence(model, table)
    got = infer.posterior(model, table, model.tree.names)
    assert list(got) == list(model.tree.names)
    for v, name in enumerate(model.tree.names):
        expected = oracle.posterior(model.tree, model.parameters, evidence, table.n_patterns, [v])
        np.testing.assert_allclose(got[name], oracle.by_row(expected, table), **CLOSE)


@given(own.models_and_tables(), st.data())
def test_pair_posteriors_of_any_two_nodes_are_the_enumerated_ones(case, data):
    model, table = case
    if model.tree.n_nodes < 2:
        return
    a, b = data.draw(st.permutations(range(model.tree.n_nodes)))[:2]
    evidence = oracle.table_evidence(model, table)
    expected = oracle.posterior(model.tree, model.parameters, evidence, table.n_patterns, [a, b])
    got = infer.pair_posterior(model, table, model.tree.names[a], b)
    np.testing.assert_allclose(got, oracle.by_row(expected, table), **CLOSE)


@given(own.models(max_nodes=6), st.data())
def test_queries_with_hard_and_soft_evidence_are_the_enumerated_ones(model, data):
    tree = model.tree
    evidence, known = [], {}
    for v, name in enumerate(tree.names):
        kind = data.draw(st.sampled_from(["nothing", "none", "hard", "soft"]))
        k = int(tree.cardinality[v])
        if kind == "hard":
            code = data.draw(st.integers(0, k - 1))
            known[name] = model.states(v)[code]
            evidence.append(infer._hard(v, code, 1))
        elif kind == "soft":
            soft = data.draw(own.soft_evidence(v, k, 1))
            known[name] = soft.likelihood[soft.ids[0]] * 7.0
            evidence.append(soft)
        elif kind == "none":
            known[name] = None
    asked = data.draw(st.permutations(range(tree.n_nodes)))[: data.draw(st.integers(1, 3))]
    expected = oracle.posterior(tree, model.parameters, evidence, 1, asked)[0]
    ask = tree.names[asked[0]] if len(asked) == 1 else [tree.names[v] for v in asked]
    if np.isnan(expected).any():
        with pytest.raises(DataError, match="probability zero"):
            model.query(ask, known)
    else:
        np.testing.assert_allclose(model.query(ask, known), expected, **CLOSE)


@given(own.models_and_tables(extreme=True), st.data())
def test_extreme_probabilities_leave_posteriors_distributions(case, data):
    model, table = case
    a, b = data.draw(st.integers(0, model.tree.n_nodes - 1)), data.draw(st.integers(0, model.tree.n_nodes - 1))
    possible = np.isfinite(infer.log_likelihood_rows(model, table))
    for p in infer.posterior(model, table, model.tree.names).values():
        assert np.isnan(p[~possible]).all()
        np.testing.assert_allclose(p[possible].sum(axis=1), 1.0, atol=1e-9)
    if a != b:
        pair = infer.pair_posterior(model, table, a, b)
        np.testing.assert_allclose(pair[possible].sum(axis=(1, 2)), 1.0, atol=1e-9)


@given(own.models_and_tables(), st.data())
def test_ignored_variables_are_as_if_missing(case, data):
    model, table = case
    hidden = data.draw(st.lists(st.sampled_from([v.name for v in model.variables]), unique=True))
    codes = table.codes.copy()
    for name in hidden:
        codes[:, [v.name for v in model.variables].index(name)] = -1
    bare = Table.from_codes(codes, model.variables)
    got = infer.posterior(model, table, model.tree.names, ignore=hidden)
    expected = infer.posterior(model, bare, model.tree.names)
    kept = table.inverse >= 0
    for name in model.tree.names:
        by_pattern = expected[name][table.inverse[kept]]
        np.testing.assert_allclose(got[name][kept], by_pattern, **CLOSE)


@given(own.models_and_tables())
def test_predictions_are_the_first_most_probable_states(case):
    model, table = case
    soft, hard = infer.posterior(model, table), infer.predict(model, table)
    assert hard.keys() == soft.keys()
    for name, p in soft.items():
        for row, state in zip(p, hard[name], strict=True):
            assert state == (-1 if np.isnan(row).any() else int(np.argmax(row)))


# ---- beyond enumeration --------------------------------------------------------------------------------------


def test_a_thousand_conflicting_leaves_do_not_underflow():
    n = 1000
    tree = Tree.star(2, [2] * n)
    leaf = [[0.999, 0.001], [0.001, 0.999]]
    tables = {name: leaf if v else [0.5, 0.5] for v, name in enumerate(tree.names)}
    model = Model.from_tables(tree, numbered([2] * n), tables)
    even = np.array([[i % 2 for i in range(n)]])
    odd = even.copy()
    odd[0, 0] = 1  # 501 to 499: two leaves' worth of evidence for the second state
    table = Table.from_codes(np.vstack([even, odd]), model.variables)
    agree, differ = np.log(0.999), np.log(0.001)
    np.testing.assert_allclose(infer.log_likelihood_rows(model, table)[0], 500 * (agree + differ), rtol=1e-12)
    z = infer.posterior(model, table)["z"]
    np.testing.assert_allclose(z[0], [0.5, 0.5], rtol=1e-9)
    np.testing.assert_allclose(np.log(z[1, 0] / z[1, 1]), 2 * (differ - agree), rtol=1e-9)
    pair = infer.pair_posterior(model, table, "z", "x1")
    np.testing.assert_allclose(pair[1], [[0, z[1, 0]], [0, z[1, 1]]], rtol=1e-9)
    np.testing.assert_allclose(infer.query(model, "z", {"x1": 1}), [0.001, 0.999], rtol=1e-12)


def test_a_chain_of_a_thousand_nodes_forgets_slowly_and_exactly():
    n = 1000
    tree = chain(n, 2)
    step = np.array([[0.999, 0.001], [0.001, 0.999]])
    tables = {name: step if v else [0.5, 0.5] for v, name in enumerate(tree.names)}
    model = Model.from_tables(tree, numbered([2, 2]), tables)
    expected = np.linalg.matrix_power(step, n + 1)
    np.testing.assert_allclose(infer.query(model, "x2", {"x1": 0}), expected[0], rtol=1e-9)
    pair = infer.pair_posterior(model, Table.from_codes([[-1, -1]], model.variables), "x2", "x1")
    np.testing.assert_allclose(pair[0], expected / 2, rtol=1e-9)


def test_a_lone_observed_node_is_a_model():
    model = Model(Tree([-1], [3], [0]), numbered([3]), np.array([0.2, 0.0, 0.8]))
    table = Table.from_codes([[0], [-1], [1]], model.variables)
    np.testing.assert_allclose(np.exp(infer.log_likelihood_rows(model, table)), [0.2, 1.0, 0.0])
    np.testing.assert_allclose(infer.posterior(model, table, "x1")["x1"][:2], [[1, 0, 0], [0.2, 0, 0.8]])
    assert infer.posterior(model, table) == {}
    assert infer.predict(model, table, ["x1"])["x1"].tolist() == [0, 2, -1]


def test_columns_are_matched_by_name_and_may_be_absent():
    rng = np.random.default_rng(0)
    model = Model.random(Tree.star(2, [2, 2, 2]), numbered([2, 2, 2]), rng)
    full = Table.from_codes([[0, 1, -1], [1, 1, -1]], model.variables)
    two = Table.from_codes([[1, 0], [1, 1]], (model.variables[1], model.variables[0]))
    np.testing.assert_allclose(infer.log_likelihood_rows(model, two), infer.log_likelihood_rows(model, full))


# ---- what can be asked ---------------------------------------------------------------------------------------


@pytest.fixture
def smokers() -> Model:
    tree = Tree.star(2, [2, 2], ["smokes", "age"])
    variables = [Variable("smokes", ("no", "yes")), Variable("age", (1, "1"))]
    tables = {"z": [0.5, 0.5], "smokes": [[1, 0], [0.5, 0.5]], "age": [[0.9, 0.1], [0.5, 0.5]]}
    return Model.from_tables(tree, variables, tables)


@pytest.mark.parametrize(
    ("ask", "known", "error", "says"),
    [
        ("weight", {}, ModelError, "no variable 'weight'. There are 'class', 'smokes', 'age'."),
        ("z", {"weight": 1}, ModelError, "no variable 'weight'"),
        ("smoke", {}, ModelError, "no variable 'smoke'. Did you mean 'smokes'?"),
        ("Class", {}, ModelError, "Did you mean 'class'?"),
        ("z", {"smokes": "No"}, DataError, "no state 'No'. Did you mean 'no'?"),
        ("z", {"smokes": "maybe"}, DataError, "no state 'maybe'. It has 'no', 'yes'"),
        ("z", {"age": 1.5}, DataError, "no state 1.5. It has 1, '1'"),
        ("z", {"age": True}, DataError, "no state True"),
        ("smokes", {"z": 2}, DataError, "'class' has no state 2. Its states are 0 to 1"),
        ("smokes", {"z": "2"}, DataError, "'class' has no state '2'"),
        ("smokes", {"class": "class2"}, DataError, "'class' has no state 'class2'"),
        ("smokes", {"z": True}, DataError, "'class' has no state True"),
        ("z", {"smokes": "yes", "age": [0.0, 0.0]}, DataError, "not all 0"),
        ("z", {"age": [1.0, 0.5, 0.5]}, DataError, "2 likelihoods"),
        ("z", {"age": [1.0, -0.5]}, DataError, "at least 0"),
        ("z", {"age": [1.0, np.nan]}, DataError, "finite"),
        ("z", {"age": ["a", "b"]}, DataError, "must be numbers"),
        ("age", {"smokes": "yes", "z": 0}, DataError, "probability zero"),
        (["z", "z"], {}, ParameterError, "'z' is asked for twice"),
        ([], {}, ParameterError, "'ask' parameter"),
        ("z", "smokes=yes", ParameterError, "'given' parameter of query must be a mapping of variables to states"),
        ("z", ["smokes"], ParameterError, "'given' parameter of query must be a mapping"),
    ],
)
def test_a_query_that_cannot_be_answered_says_why(smokers, ask, known, error, says):
    with pytest.raises(error) as caught:
        smokers.query(ask, known)
    assert says in str(caught.value)


def test_states_of_different_types_are_told_apart(smokers):
    np.testing.assert_allclose(smokers.query("age", {"age": 1}), [1, 0])
    np.testing.assert_allclose(smokers.query("age", {"age": "1"}), [0, 1])


def test_the_class_of_a_latent_class_model_has_names(smokers):
    expected = smokers.query("z", {"smokes": "no"})
    np.testing.assert_array_equal(smokers.query("class", {"smokes": "no"}), expected)
    for given_class in (1, "1", "class1", np.int64(1)):
        np.testing.assert_array_equal(smokers.query("smokes", {"class": given_class}), smokers.table("smokes")[1])
    with pytest.raises(ParameterError, match="'z' is asked for twice"):
        smokers.query(["z", "class"])


def test_a_variable_called_class_is_that_variable():
    variables = [Variable("class", ("a", "b")), Variable("x", ("c", "d"))]
    model = Model.random(Tree.star(2, [2, 2]), variables, np.random.default_rng(0))
    np.testing.assert_allclose(model.query("class", {"z": 1}), model.table("class")[1])


def test_only_latent_class_models_have_a_class():
    model = Model.random(chain(2, 2), numbered([2, 2]), np.random.default_rng(0))
    with pytest.raises(ModelError, match="no variable 'class'"):
        model.query("class")


def test_values_that_stand_for_states():
    variables = [
        Variable("age", ("<= 30", "> 30"), (30,)),
        Variable("kids", (0, 4)),
        Variable("rest", ("a | b", "c"), merged=(("a", "b"), ())),
    ]
    model = Model.random(Tree.star(2, [2, 2, 2]), variables, np.random.default_rng(0))
    for name, value, code in [
        ("age", 41, 1),
        ("age", 30.0, 0),
        ("age", "25", 0),
        ("age", "> 30", 1),
        ("kids", "4", 1),
        ("kids", 4.0, 1),
        ("rest", "b", 0),
        ("rest", " c ", 1),
    ]:
        assert infer.find_state(model, name, value) == code
        np.testing.assert_allclose(model.query(name, {name: value}), np.eye(2)[code])


def test_a_joint_table_beyond_reason_is_refused():
    model = Model.random(Tree.star(2, [9] * 12), numbered([9] * 12), np.random.default_rng(0))
    with pytest.raises(ParameterError, match="cells"):
        model.query([f"x{i + 1}" for i in range(12)])


def test_a_pair_of_one_node_is_refused(smokers):
    table = Table.from_codes([[0, 0]], smokers.variables)
    with pytest.raises(ParameterError, match="twice"):
        infer.pair_posterior(smokers, table, "z", "z")


# ---- samples -------------------------------------------------------------------------------------------------


@given(own.models(max_nodes=5), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_samples_follow_the_distribution_and_never_show_the_impossible(model, seed):
    n = 4000
    codes = infer.sample(model, n, np.random.default_rng(seed), latent=True)
    order = [*model.tree.manifest, *model.tree.latent_variables]
    cuts = tuple(model.tree.cuts.tolist())
    p = oracle.joint(model.tree, model.parameters).transpose([*order, *cuts])
    p = p.reshape(p.shape[: len(order)])  # a cut has one state, and is not drawn
    seen = np.zeros(p.shape)
    np.add.at(seen, tuple(codes.T.astype(int)), 1)
    assert (seen[p == 0] == 0).all()
    # Every cell within six standard errors (and a little for very rare ones): seldom wrong by chance.
    assert (np.abs(seen - n * p) <= 6 * np.sqrt(n * p * (1 - p)) + 8).all()


def test_a_last_state_of_probability_zero_is_never_drawn_however_the_sums_round():
    p = np.array([0.1] * 10 + [0.0])
    p[:-1] /= p.sum()
    assert np.cumsum(p)[-1] < 1.0  # the case in question
    thresholds = infer._thresholds(p[None, :])
    drawn = infer._draw(thresholds, np.zeros(1, dtype=np.int16), np.array([np.nextafter(1.0, 0.0)]))
    assert drawn.tolist() == [9]


@pytest.mark.parametrize("n_states", [3, infer.FEW_STATES, infer.FEW_STATES + 1, 40])
def test_both_ways_of_drawing_agree(n_states):
    rng = np.random.default_rng(n_states)
    table = rng.dirichlet(np.full(n_states, 0.3), size=7)
    table[:, rng.integers(n_states)] = 0.0
    table /= table.sum(axis=1, keepdims=True)
    parent, u = rng.integers(0, 7, 5000).astype(np.int16), rng.random(5000)
    expected = [np.searchsorted(infer._thresholds(table)[q], x, side="right") for q, x in zip(parent, u, strict=True)]
    assert infer._draw(infer._thresholds(table), parent, u).tolist() == expected


def test_samples_do_not_depend_on_the_block(monkeypatch):
    model = Model.random(Tree.star(3, [2, 3, 4]), numbered([2, 3, 4]), np.random.default_rng(0))
    whole = model.sample(1000, np.random.default_rng(5))
    monkeypatch.setattr(infer, "BLOCK", 7)
    np.testing.assert_array_equal(model.sample(1000, np.random.default_rng(5)), whole)


def test_the_shape_of_samples():
    rng = np.random.default_rng(0)
    model = Model.random(Tree.star(2, [2, 3]), numbered([2, 3]), rng)
    codes = model.sample(10, rng)
    assert codes.shape == (10, 2) and codes.dtype == np.int16 and codes.flags.f_contiguous
    both = infer.sample(model, 10, np.random.default_rng(3), latent=True)
    np.testing.assert_array_equal(both[:, :2], infer.sample(model, 10, np.random.default_rng(3)))
    assert infer.sample(model, 0, rng).shape == (0, 2)
    table = infer.sample_table(model, 500, rng)
    assert table.n == 500 and table.variables == model.variables
    for n in (-1, 2.5, True):
        with pytest.raises(ParameterError, match="'n' parameter of sample"):
            infer.sample(model, n, rng)
