"""The order of the columns, and what they are called, change no result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from latentree import datasets
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import Variable
from latentree.search import learn
from latentree.search._columns import by_content


def shuffled(table: Table, seed: int) -> tuple[Table, np.ndarray]:
    """Columns and rows in another order, columns with other names; and where each column was."""
    rng = np.random.default_rng(seed)
    columns, rows = rng.permutation(table.n_variables), rng.permutation(table.n_patterns)
    named = [Variable(f"n{i}", table.variables[c].states) for i, c in enumerate(columns)]
    return Table.from_codes(table.codes[rows][:, columns], named, table.weights[rows]), columns


def put_back(tree: Tree, columns: np.ndarray) -> Tree:
    """The tree of a shuffled table, its variables numbered as in the original one."""
    return Tree(tree.parent, tree.cardinality, np.where(tree.variable < 0, -1, columns[tree.variable]))


def exchanged(tree: Tree, a: int, b: int) -> Tree:
    """The tree with two variables in each other's place."""
    swap = {a: b, b: a}
    return Tree(tree.parent, tree.cardinality, np.array([swap.get(int(v), int(v)) for v in tree.variable]))


EQUAL = (0, 4)


@pytest.fixture(scope="module")
def table() -> Table:
    """Two groups of columns, two columns equal, one that never varies, and some cells missing."""
    rng = np.random.default_rng(8)
    hidden = rng.integers(0, 2, (300, 2)).repeat(4, axis=1)
    codes = np.where(rng.random(hidden.shape) < 0.15, 1 - hidden, hidden)
    codes[:, 3] = codes[:, 0]
    codes[rng.random(300) < 0.1, 5] = -1
    return Table.from_codes(np.insert(codes, 2, 0, axis=1), [2] * 9)


@pytest.mark.parametrize("method", ["swift", "east", "hshc"])
def test_order_and_names_of_columns_change_no_result(method, table):
    quick = {"trials": 4, "starts": 2} if method == "swift" else {"full": (4, 60, 0.01)}
    one = learn(table, method=method, rng=np.random.default_rng(0), **quick)
    assert one.structure and len(one.tree.latent) > 1
    for seed in range(2):
        other, columns = shuffled(table, seed)
        two = learn(other, method=method, rng=np.random.default_rng(0), **quick)
        assert two.score == pytest.approx(one.score, abs=1e-9)
        assert two.fit.log_likelihood == pytest.approx(one.fit.log_likelihood, abs=1e-9)
        assert put_back(two.tree, columns) in (one.tree, exchanged(one.tree, *EQUAL))
        assert [(s.kind, s.score) for s in two.trace] == [(s.kind, s.score) for s in one.trace]


def test_results_come_in_the_order_of_the_data(table):
    other, _ = shuffled(table, 5)
    run = learn(other, rng=np.random.default_rng(0), trials=0)
    assert run.model.variables == run.fit.table.variables == other.variables
    for z in run.tree.latent:
        leaves = [run.tree.variable[c] for c in run.tree.children[z] if run.tree.variable[c] >= 0]
        assert leaves == sorted(leaves)
    fresh = other.compiled(run.fit.model).evaluate(run.fit.model.parameters)
    assert run.fit.log_likelihood == pytest.approx(fresh.log_likelihood, abs=1e-9)
    np.testing.assert_allclose(run.fit.counts.vector, fresh.vector, atol=1e-8)


def test_voting_has_one_score_whatever_the_order_of_its_columns():
    voting = datasets.load("voting")
    tables = [voting, *(shuffled(voting, seed)[0] for seed in range(2))]
    scores = [learn(t, rng=np.random.default_rng(0), trials=0).score for t in tables]
    assert scores == pytest.approx([scores[0]] * 3, abs=1e-9)


def test_a_start_in_the_order_of_the_data_is_the_same_start(table):
    first = learn(table, rng=np.random.default_rng(0), trials=0)
    again = learn(table, rng=np.random.default_rng(1), trials=0, start=first.model)
    assert again.trace[0].log_likelihood == pytest.approx(first.fit.log_likelihood, abs=0.05)
    assert again.score >= first.score - 1e-6


# ---- the order itself ----------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.integers(2, 6), st.integers(1, 12), st.integers(0, 10**6))
def test_the_order_depends_on_content_alone(n, rows, seed):
    """Few values and rows, so that many columns are alike: in order, shuffled columns are the same matrix."""
    rng = np.random.default_rng(seed)
    table = Table.from_codes(rng.integers(-1, 2, (rows, n)), [2] * n, rng.integers(1, 3, rows))
    other, _ = shuffled(table, seed + 1)
    one, two = (t.select([t.names[i] for i in by_content(t)]).ordered() for t in (table, other))
    assert one.codes.tolist() == two.codes.tolist() and one.weights.tolist() == two.weights.tolist()


def test_columns_that_only_their_neighbours_tell_apart():
    """All columns have as many ones; only which rows they share makes the difference."""
    codes = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 1], [0, 0, 1, 0]])
    table = Table.from_codes(codes, [2] * 4)
    order = by_content(table)
    for seed in range(20):
        other, columns = shuffled(table, seed)
        again = [int(columns[i]) for i in by_content(other)]
        assert codes[:, again].sum(axis=0).tolist() == codes[:, order].sum(axis=0).tolist()
        one, two = (Table.from_codes(codes[:, o], [2] * 4).ordered() for o in (order, again))
        assert one.codes.tolist() == two.codes.tolist()


def test_many_columns_that_are_the_same_from_all_sides_take_no_time():
    assert sorted(by_content(Table.from_codes(np.eye(300, dtype=int)))) == list(range(300))
