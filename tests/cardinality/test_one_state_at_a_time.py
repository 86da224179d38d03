"""Learners that add states to those there are: introducing and removing, and Blekas and Likas' partial EM."""

from __future__ import annotations

import numpy as np
import pytest

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.cardinality import Neighbourhood, Settings, Task, learn
from latentree.cardinality._blekas_likas import partition, with_new_state
from latentree.estimation._fit import evaluate
from latentree.infer import sample_table
from latentree.runner import Budget, StopReason
from latentree.score import bic


def apart(k: int) -> Model:
    """A model whose states no learner can miss."""
    leaves = [2] * 8
    tables = {"z": np.full(k, 1 / k)}
    for i in range(8):
        high = [0.95 if (i + s) % k == 0 or i // 2 == s else 0.05 for s in range(k)]
        tables[f"x{i + 1}"] = np.column_stack([1 - np.array(high), high])
    return Model.from_tables(Tree.star(k, leaves), numbered(leaves), tables)


@pytest.mark.parametrize("method", ["IntroduceRemove", "BlekasLikas"])
def test_states_that_are_far_apart_are_found(method):
    truth = apart(3)
    table = sample_table(truth, 3000, np.random.default_rng(5))
    found = learn(table, method=method, rng=np.random.default_rng(0))
    assert found.cardinality == {"z": 3} and found.reason is StopReason.EXHAUSTED
    assert found.fit.log_likelihood > evaluate(truth, table).log_likelihood


def test_a_state_too_many_is_removed():
    truth = apart(3)
    table = sample_table(truth, 3000, np.random.default_rng(6))
    states = np.vstack([truth.table("z").T * 0.9, [[0.1]]])[:, 0]
    tables = {"z": states, **{f"x{i}": np.vstack([truth.table(f"x{i}"), [0.5, 0.5]]) for i in range(1, 9)}}
    start = Model.from_tables(Tree.star(4, [2] * 8), table.variables, tables)
    found = learn(table, method="IntroduceRemove", start=start, rng=np.random.default_rng(0))
    assert found.cardinality == {"z": 3} and "remove" in {step.operation for step in found.trace}


def test_removing_a_state_that_alone_explains_some_rows_leaves_them_possible():
    codes = np.array([[0, 0, 0]] * 40 + [[1, 1, 1]] * 40 + [[2, 2, 2]] * 2)
    found = learn(Table.from_codes(codes, numbered([3] * 3)), method="IntroduceRemove", rng=np.random.default_rng(0))
    assert np.isfinite(found.score) and found.cardinality["z"] >= 2


def test_introducing_works_at_every_latent_node_of_a_tree():
    made = datasets.generator("d7")
    table = sample_table(made, 3000, np.random.default_rng(1))
    found = {
        new: learn(table, method="IntroduceRemove", skeleton=made.tree, rng=np.random.default_rng(0), new=new)
        for new in ("uniform", "rows")
    }
    one = learn(table, method="BlekasLikas", rng=np.random.default_rng(0))
    assert len(found["rows"].cardinality) == 3 and max(found["rows"].cardinality.values()) > 1
    assert found["rows"].score > one.score and found["rows"].score >= found["uniform"].score - 1.0


def test_the_data_are_divided_into_as_many_parts_as_asked():
    table = datasets.load("voting")
    tree = Tree.star(1, table.cardinalities, table.names)
    even = np.repeat(1.0 / tree.cardinality, tree.cardinality)
    star = Neighbourhood.around(Model(tree, table.variables, even), table, "z")
    for wanted in (1, 2, 17):
        parts = partition(star, wanted)
        assert len(parts) == wanted
        assert sorted(np.concatenate(parts).tolist()) == list(range(len(star.weights)))
    alike = Table.from_codes(np.zeros((5, 2), dtype=int), numbered([2, 2]))
    tree = Tree.star(1, [2, 2])
    single = Neighbourhood.around(Model(tree, alike.variables, np.array([1.0, 0.5, 0.5, 0.5, 0.5])), alike, "z")
    assert len(partition(single, 8)) == 1  # nothing to divide


def test_partial_em_raises_the_likelihood_and_leaves_the_other_states_alone():
    table = datasets.load("carcinoma")
    two = learn(table, method="StandardFixed", rng=np.random.default_rng(0), n_states=2, budget=Budget(iterations=2))
    task = Task(table, bic, Settings(), start=two.fit.model, given=True)
    star = task.star(two.fit.model, "z")
    states = with_new_state(task, star, partition(star, 16))
    assert states.n == 3
    np.testing.assert_array_equal(states.profiles[:2], star.states.profiles)
    np.testing.assert_allclose(states.sizes[:2] / states.sizes[:2].sum(), star.states.sizes)
    assert task.evaluate(star, states).log_likelihood > two.fit.log_likelihood + 1
