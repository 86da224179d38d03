"""Models: their rules, making, and root walking."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import oracle
import pytest
import strategies as own
from hypothesis import given, strategies as st

from latentree._model import Counts, Model, normalised, reordering, row_starts, row_sums, spread
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import Variable, numbered
from latentree.errors import LatentreeError, ModelError
from latentree.infer import log_likelihood_rows


def star(**more) -> Model:
    tables = {"z": [0.25, 0.75], "x1": [[0.5, 0.5], [0.0, 1.0]], "x2": [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]}
    return Model.from_tables(Tree.star(2, [2, 3]), numbered([2, 3]), tables, **more)


# ---- rules ---------------------------------------------------------------------------------------------------


@given(own.models())
def test_tables_are_rows_of_distributions(model):
    tree = model.tree
    for v in range(tree.n_nodes):
        table = model.table(v)
        assert table.shape == (tree.rows[v], tree.cardinality[v])
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
    flat = np.concatenate([model.table(v).ravel() for v in range(tree.n_nodes)])
    np.testing.assert_array_equal(flat, model.parameters)
    with pytest.raises(ValueError, match="read-only"):
        model.parameters[0] = 0.5


@given(own.models())
def test_nodes_take_the_names_of_the_variables(model):
    assert [model.tree.names[v] for v in model.tree.manifest] == [v.name for v in model.variables]
    for variable in model.variables:
        assert model.variable(variable.name) is variable
        assert model.states(variable.name) == variable.states
    for z in model.tree.latent:
        assert model.states(int(z)) == tuple(range(model.tree.cardinality[z]))


@given(own.models())
def test_marginals_are_the_enumerated_ones(model):
    joint = oracle.joint(model.tree, model.parameters)
    for v, p in enumerate(model.marginals()):
        np.testing.assert_allclose(p, oracle.marginal(model.tree, joint, [v]), atol=1e-12)


def test_a_latent_gives_way_to_a_variable_of_its_name():
    variables = [Variable("z", (0, 1)), Variable("z_", (0, 1))]
    model = Model.random(Tree.star(2, [2, 2]), variables, np.random.default_rng(0))
    assert model.tree.names == ("z__", "z", "z_")


def test_variables_may_swap_the_names_of_nodes():
    tree = Tree.star(2, [2, 3])
    model = Model.random(tree, [Variable("x2", (0, 1)), Variable("x1", (0, 1, 2))], np.random.default_rng(0))
    assert model.tree.names == ("z", "x2", "x1")
    assert model.table("x1").shape == (2, 3)


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        (numbered([2]), "2 manifest nodes but 1 variables"),
        (numbered([2, 3, 2]), "2 manifest nodes but 3 variables"),
        (numbered([3, 2]), "'x1' has 3 states but its node has 2"),
        ((Variable("a", (0, 1)), Variable("a", (0, 1, 2))), "Two variables are called 'a'"),
    ],
)
def test_variables_that_do_not_fit_the_tree_are_refused(variables, says):
    tree = Tree.star(2, [2, 3])
    with pytest.raises(LatentreeError, match=says):
        Model(tree, variables, star().parameters)


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (0, np.nan, "finite"),
        (0, np.inf, "finite"),
        (0, -0.25, "not below 0"),
        (0, 0.26, "'z' sums to 1.01, not 1"),
        (5, 0.9, "'x1' sums to 0.9, not 1"),
        (11, 0.5, "'x2' sums to 1.5, not 1"),
    ],
)
def test_probabilities_that_are_none_are_refused(at, value, says):
    p = star().parameters.copy()
    p[at] = value
    with pytest.raises(ModelError, match=says):
        star().with_parameters(p)


def test_tables_that_do_not_fit_are_refused():
    tree, variables = Tree.star(2, [2]), numbered([2])
    with pytest.raises(ModelError, match="needs 6 probabilities"):
        Model(tree, variables, np.ones(5) / 5)
    with pytest.raises(ModelError, match="no table for node 'x1'"):
        Model.from_tables(tree, variables, {"z": [1, 0]})
    with pytest.raises(ModelError, match="'x1' must be 2 x 2"):
        Model.from_tables(tree, variables, {"z": [1, 0], "x1": [1, 0]})
    with pytest.raises(ModelError, match="no manifest variable 'y'"):
        star().variable("y")


def test_equality_is_of_everything_but_the_provenance():
    assert star() == star(provenance={"seed": 1})
    assert star() != star().with_parameters(normalised(star().tree, star().parameters + 0.1))
    assert star() != star().rerooted("x1")
    assert star() != "a model"
    other = [Variable("x1", (False, True)), star().variables[1]]  # equal as numbers, other states
    assert star() != Model(star().tree, other, star().parameters)


def test_provenance_cannot_be_written():
    model = star(provenance={"seed": 1})
    with pytest.raises(TypeError):
        model.provenance["seed"] = 2


def test_counts_add_up_and_only_of_one_structure():
    a, b = Counts(np.ones(3), -1.0, 2.0), Counts(np.ones(3) * 2, -3.0, 1.0)
    both = a + b
    assert both.vector.tolist() == [3, 3, 3] and both.log_likelihood == -4 and both.weight == 3
    with pytest.raises(ModelError, match="different structures"):
        a + Counts(np.ones(2), 0.0, 0.0)


@given(own.trees())
def test_rows_in_the_flat_vector(tree):
    widths = np.repeat(tree.cardinality, tree.rows)
    assert np.diff([*row_starts(tree), tree.size]).tolist() == widths.tolist()
    assert row_sums(tree, np.ones(tree.size)).tolist() == widths.tolist()
    assert spread(tree, widths.astype(float)).tolist() == np.repeat(widths, widths).tolist()


# ---- random models -------------------------------------------------------------------------------------------


@given(own.trees(), st.integers(0, 2**32 - 1), st.none() | st.sampled_from([0.0, 0.6, 0.95]))
def test_random_models_follow_the_seed_and_have_dominant_states(tree, seed, dominant):
    variables = numbered(tree.cardinality[tree.manifest])
    model = Model.random(tree, variables, np.random.default_rng(seed), dominant)
    assert model == Model.random(tree, variables, np.random.default_rng(seed), dominant)
    np.testing.assert_allclose(row_sums(tree, model.parameters), 1.0)
    if dominant is not None:
        assert (np.maximum.reduceat(model.parameters, row_starts(tree)) > dominant).all()


def test_other_seeds_give_other_models():
    tree = Tree.star(2, [2, 2])
    a, b = (Model.random(tree, numbered([2, 2]), np.random.default_rng(seed)) for seed in (0, 1))
    assert a != b


def test_random_rows_are_uniform_on_the_simplex():
    tree = Tree([-1], [3], [0])
    rng = np.random.default_rng(0)
    first = np.array([Model.random(tree, numbered([3]), rng).parameters[0] for _ in range(4000)])
    # Beta(1, 2): P(first < t) = 1 - (1 - t)^2
    for t in (0.1, 0.3, 0.5, 0.8):
        assert abs((first < t).mean() - (1 - (1 - t) ** 2)) < 0.04


@pytest.mark.parametrize("dominant", [-0.1, 1.0, np.nan])
def test_a_dominant_share_that_is_none_is_refused(dominant):
    with pytest.raises(LatentreeError, match="dominant"):
        Model.random(Tree.star(2, [2]), numbered([2]), np.random.default_rng(0), dominant)


# ---- root walking --------------------------------------------------------------------------------------------


@given(own.models(), st.data())
def test_root_walking_changes_no_probability_of_any_pattern(model, data):
    v = data.draw(st.integers(0, model.tree.n_nodes - 1))
    other = model.rerooted(model.tree.names[v])
    assert other.tree.names[0] == model.tree.names[v] and other.tree == model.tree
    np.testing.assert_allclose(
        oracle.pattern_probabilities(other), oracle.pattern_probabilities(model), rtol=1e-9, atol=1e-13
    )
    mine, theirs = model.marginals(), other.marginals()
    for u, name in enumerate(model.tree.names):
        np.testing.assert_allclose(theirs[other.tree.node(name)], mine[u], atol=1e-12)


@given(own.models(extreme=True), st.data())
def test_root_walking_survives_extreme_probabilities(model, data):
    v = data.draw(st.integers(0, model.tree.n_nodes - 1))
    other = model.rerooted(v)
    np.testing.assert_allclose(row_sums(other.tree, other.parameters), 1.0, atol=1e-9)
    np.testing.assert_allclose(
        oracle.pattern_probabilities(other), oracle.pattern_probabilities(model), rtol=1e-6, atol=1e-13
    )


def entries_of_the_rerooted(model, target):
    """The tables along the way that a root takes to its new place, as exact fractions."""
    tree = model.tree
    exact = [[[Fraction(x) for x in row] for row in model.table(v)] for v in range(tree.n_nodes)]
    marginal = {0: exact[0][0]}
    for a, b in pairwise(tree.path_from_root(target)):
        marginal[b] = [
            sum(p * row[j] for p, row in zip(marginal[a], exact[b], strict=True)) for j in range(len(exact[b][0]))
        ]
        yield from marginal[b]
        for p, row in zip(marginal[a], exact[b], strict=True):
            yield from (p * x / total for x, total in zip(row, marginal[b], strict=True) if total)


@given(own.models(max_nodes=6, extreme=True), st.data())
def test_possible_rows_stay_possible_and_equally_probable_after_root_walking(model, data):
    """Entries as small as 1e-300: no row turns impossible, and none changes where doubles can hold the new tables."""
    v = data.draw(st.integers(0, model.tree.n_nodes - 1))
    sizes = [range(variable.cardinality) for variable in model.variables]
    table = Table.from_codes(list(product(*sizes)), model.variables)
    before, after = log_likelihood_rows(model, table), log_likelihood_rows(model.rerooted(v), table)
    np.testing.assert_array_equal(np.isneginf(after), np.isneginf(before))
    if all(x == 0 or x > Fraction(1e-307) for x in entries_of_the_rerooted(model, v)):
        np.testing.assert_allclose(after, before, rtol=1e-10, atol=1e-10)


def test_a_row_of_probability_below_all_doubles_stays_possible_when_the_root_walks():
    tables = {"z": [1.0, 1e-300], "x1": [[1.0, 0.0], [1.0, 1e-300]], "x2": [[0.5, 0.5], [0.25, 0.75]]}
    model = Model.from_tables(Tree.star(2, [2, 2]), numbered([2, 2]), tables)
    table = Table.from_codes([[1, 0], [1, 1]], model.variables)
    rows = log_likelihood_rows(model.rerooted("x1"), table)
    assert np.isfinite(rows).all() and rows[1] - rows[0] == pytest.approx(np.log(3))  # z is 1 in both


def test_a_state_that_never_occurs_gets_the_old_root_s_distribution():
    tables = {"z": [0.25, 0.75], "x1": [[1.0, 0.0], [1.0, 0.0]]}
    model = Model.from_tables(Tree.star(2, [2]), numbered([2]), tables, provenance={"method": "by hand"})
    other = model.rerooted("x1")
    np.testing.assert_allclose(other.table("x1"), [[1.0, 0.0]])
    np.testing.assert_allclose(other.table("z"), [[0.25, 0.75], [0.25, 0.75]])
    assert other.provenance == {"method": "by hand"}


@given(own.models(), st.randoms(use_true_random=False))
def test_tables_done_many_at_a_time_are_those_done_one_by_one(model, random):
    tree = model.tree
    expected = [model.table(0)[0]]
    for v in range(1, tree.n_nodes):
        expected.append(expected[tree.parent[v]] @ model.table(v))
    for ours, theirs in zip(model.marginals(), expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-14)
    nodes = list(range(tree.n_nodes))
    random.shuffle(nodes)
    flat = np.concatenate([model.table(v).ravel() for v in nodes])
    assert np.array_equal(model.parameters[tree.entries(np.array(nodes))], flat)
    for group, entries in tree.alike:
        assert all(
            np.array_equal(model.parameters[e], model.table(int(v))) for v, e in zip(group, entries, strict=True)
        )
    assert sorted(v for group, _ in tree.alike for v in group) == list(range(tree.n_nodes))


@given(own.models(), st.randoms(use_true_random=False))
def test_states_put_in_other_orders_all_at_once(model, random):
    tree = model.tree
    orders = {int(z): np.array(random.sample(range(k := int(tree.cardinality[z])), k)) for z in tree.latent}
    moved = model.with_parameters(model.parameters[reordering(tree, orders)])
    for v in range(tree.n_nodes):
        table = model.table(v)[:, orders.get(v, np.arange(tree.cardinality[v]))]
        above = orders.get(int(tree.parent[v])) if v else None
        assert np.array_equal(moved.table(v), table if above is None else table[above])
