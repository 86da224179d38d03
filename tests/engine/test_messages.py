"""Passing messages in NumPy, sums and maxima, against enumeration of every joint state."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from hypothesis import given, settings, strategies as st
from strategies import models_and_tables

from latentree import Tree
from latentree.engine._messages import Messages
from latentree.engine._plan import Evidence


@st.composite
def problems(draw):
    """A tree (inner nodes may be observed), its parameters, some of them zero, evidence with gaps, and weights."""
    model, table = draw(models_and_tables(max_nodes=5, max_rows=4))
    parameters = model.parameters.copy()
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        parameters[rng.random(len(parameters)) < 0.2] = 0.0  # rows need not sum to one
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], table.n_patterns)
    return model.tree, parameters, oracle.table_evidence(model, table), weights


@given(problems())
@settings(max_examples=150)
def test_sums_are_those_of_enumeration(problem):
    tree, parameters, evidence, weights = problem
    # a leaf that is left out takes no factor: enumeration must not see its table either
    found = Messages(tree, parameters, evidence, n_rows=len(weights))
    counts = np.zeros(tree.size)
    for row in range(len(weights)):
        out = oracle.absent(tree, evidence, row)
        flat = parameters.copy()
        for v in out:
            flat[tree.offsets[v] : tree.offsets[v + 1]] = 1.0 / tree.cardinality[v]
        joint = oracle.row_joint(tree, flat, evidence, row)[0]
        with np.errstate(divide="ignore"):
            assert found.log_likelihood[row] == pytest.approx(np.log(joint.sum()), abs=1e-9)
        if joint.sum() == 0:
            assert all((found.edge(v)[row] == 0).all() for v in range(tree.n_nodes))
            continue
        for v in range(tree.n_nodes):
            nodes = [int(tree.parent[v]), v] if v else [v]
            pair = oracle.marginal(tree, joint, nodes).reshape(tree.rows[v], -1)
            assert np.allclose(found.nodes[v][row], oracle.marginal(tree, joint, [v]), atol=1e-12) or v in out
            if v not in out:
                np.testing.assert_allclose(found.edge(v)[row], pair, atol=1e-12)
                counts[tree.offsets[v] : tree.offsets[v + 1]] += weights[row] * pair.ravel()
    np.testing.assert_allclose(found.counts(weights), counts, atol=1e-9)


@given(problems())
@settings(max_examples=150)
def test_maxima_are_those_of_enumeration(problem):
    tree, parameters, evidence, weights = problem
    found = Messages(tree, parameters, evidence, "max", n_rows=len(weights))
    expected = 0.0
    for row, weight in enumerate(weights):
        out = tuple(oracle.absent(tree, evidence, row))
        flat = parameters.copy()
        for v in out:
            flat[tree.offsets[v] : tree.offsets[v + 1]] = 1.0 / tree.cardinality[v]
        joint = oracle.row_joint(tree, flat, evidence, row)[0].sum(axis=out, keepdims=True)
        with np.errstate(divide="ignore"):
            best = np.log(joint.max())
        assert found.log_likelihood[row] == pytest.approx(best, abs=1e-9)
        expected += weight * best if weight > 0 else 0.0
        chosen = tuple(0 if v in out else int(s) for v, s in enumerate(found.states[row]))
        assert joint[chosen] == pytest.approx(joint.max())
        assert {v for v in range(tree.n_nodes) if found.states[row, v] < 0} == set(out)
    assert found.evaluated(weights).log_likelihood == pytest.approx(expected, abs=1e-9)
    assert found.counts(weights)[: tree.cardinality[0]].sum() == pytest.approx(weights.sum())


@given(problems(), st.sampled_from(["sum", "max"]))
@settings(max_examples=60)
def test_a_weight_is_a_repetition(problem, semiring):
    tree, parameters, evidence, weights = problem
    times = np.array([0, 1, 3, 2])[: len(weights)]
    often = [Evidence(e.node, np.repeat(e.ids, times)) for e in evidence]
    a = Messages(tree, parameters, evidence, semiring, n_rows=len(times)).evaluated(times.astype(float))
    b = Messages(tree, parameters, often, semiring, n_rows=int(times.sum())).evaluated(np.ones(times.sum()))
    assert a.log_likelihood == pytest.approx(b.log_likelihood)
    np.testing.assert_allclose(a.vector, b.vector, atol=1e-9)


def test_likelihoods_and_missing_cells_of_one_leaf():
    """A leaf whose cell is missing but of which something else is known is part of the completed data."""
    tree = Tree.star(2, [2, 3])
    parameters = np.array([0.3, 0.7, 0.9, 0.1, 0.2, 0.8, 0.2, 0.3, 0.5, 0.6, 0.3, 0.1])
    soft = Evidence(2, np.array([0, 1]), np.array([[1.0, 0.5, 0.0], [0.2, 0.0, 1.0]]), np.array([0.3, -2.0]))
    gone = Evidence(2, np.array([-1, -1], dtype=np.int32))
    hard = Evidence(1, np.array([-1, 1], dtype=np.int32))
    for evidence in ([hard, soft, gone], [gone, soft, hard]):
        found = Messages(tree, parameters, evidence)
        np.testing.assert_allclose(found.log_likelihood, oracle.log_likelihood(tree, parameters, evidence, 2))
        assert found.absent.tolist() == [[False, True, False], [False, False, False]]
        truth = oracle.evaluate(tree, parameters, evidence, np.array([2.0, 1.5]))
        np.testing.assert_allclose(found.counts(np.array([2.0, 1.5])), truth.vector)
