"""Sizes, shapes and depths that must not reach the kernels unchecked, and rows that underflow in frozen branches."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from latentree._model import Model, random_parameters
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine import _core
from latentree.engine._plan import Evidence, Plan
from latentree.errors import ModelError
from latentree.estimation import em, local_em
from latentree.estimation._em import EmRuns
from latentree.runner import Budget, StopReason


def small():
    table = Table.from_codes([[0, 1], [1, 0], [1, 1]])
    model = Model.random(Tree.star(2, [2, 2]), table.variables, np.random.default_rng(0))
    return model, table, Plan.of(model, table)


def test_wrong_sizes_are_refused():
    model, table, plan = small()
    other = Model.random(Tree.star(5, [2, 2]), table.variables, np.random.default_rng(0))
    with pytest.raises(ModelError, match="needs 10 probabilities"):
        em(other, table, plan=plan)
    with pytest.raises(ModelError, match="10 probabilities a set"):
        plan.evaluate_batch(np.ones((2, 3)))
    for lanes in (3, 16, -1):
        with pytest.raises(ValueError, match="lanes"):
            plan.evaluate_batch(model.parameters[None], lanes=lanes)
    with pytest.raises(ModelError, match="nodes are 0 to 2"):
        Plan(model.tree, [Evidence(-1, np.zeros(3, np.int32))], np.ones(3))
    with pytest.raises(ValueError, match="no such node"):
        plan.posteriors(model.parameters, [-1])
    with pytest.raises(ValueError, match="each node once"):
        plan.posteriors(model.parameters, [0, 0])
    with pytest.raises(ModelError, match="finite numbers of at least 0"):
        Plan(model.tree, [], np.array([1.0, np.nan]))
    with pytest.raises(ModelError, match="log-scales must be finite"):
        Plan(model.tree, [Evidence(0, np.zeros(1, np.int32), np.ones((1, 2)), np.array([-np.inf]))], np.ones(1))


def test_the_core_checks_for_itself():
    model, _, plan = small()
    with pytest.raises(ValueError, match="as many parameters"):
        plan.core.row_log_likelihood(np.ones(3), 1)
    with pytest.raises(ValueError, match="as many parameters"):
        _core.Em(plan.core, np.ones((1, 3)), None, None, True)
    climb = _core.Em(plan.core, np.stack([model.parameters] * 2), None, None, True)
    for runs in ([0, 0], [5]):
        with pytest.raises(ValueError, match="named once each"):
            climb.keep(runs)


@pytest.mark.parametrize("length", [5_000, 30_000])
def test_deep_chains_need_no_deep_stack(length):
    parent = np.arange(-1, length)
    tree = Tree(parent, np.full(length + 1, 2), np.r_[np.full(length, -1), 0])
    plan = []

    def build():
        plan.append(Plan(tree, [Evidence(length, np.array([0, 1], dtype=np.int32))], np.ones(2)))

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=build)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    parameters = np.full(tree.size, 0.5)
    assert plan[0].log_likelihood(parameters) == pytest.approx(2 * np.log(0.5))


@pytest.mark.parametrize(("n_leaves", "eps"), [(60, 1e-6), (110, 1e-3), (400, 0.05), (700, 0.1)])
def test_frozen_branches_that_disagree_are_not_impossible(n_leaves, eps):
    """What a branch says of an unlikely state is far below what a double can hold, yet decides."""
    parent = np.r_[-1, 0, 0, np.full(n_leaves, 1), np.full(n_leaves, 2)]
    tree = Tree(parent, np.full(len(parent), 2), np.r_[-1, -1, -1, np.arange(2 * n_leaves)])
    sure, leaf = np.eye(2), np.array([[1 - eps, eps], [eps, 1 - eps]])
    sure = 0.999 * sure + 0.001 * (1 - sure)
    parameters = np.concatenate([[0.5, 0.5], sure.ravel(), sure.ravel(), np.tile(leaf.ravel(), 2 * n_leaves)])
    model = Model(tree, numbered([2] * 2 * n_leaves), parameters)
    table = Table.from_codes([[0] * n_leaves + [1] * n_leaves, [1] * 2 * n_leaves], model.variables)
    whole = Plan.of(model, table).log_likelihood(parameters)
    fit = local_em(model, table, [0], max_iterations=3)
    assert fit.trace[0] == pytest.approx(whole, rel=1e-12)
    assert fit.reason is not StopReason.IMPOSSIBLE
    assert fit.log_likelihood == pytest.approx(fit.trace[-1], rel=1e-12)


def test_rounding_under_huge_weights_is_no_defect():
    table = Table.from_codes([[0, 0, -1], [1, 0, 0]], weights=[1e10, 1e-3])
    for seed in range(40):
        start = Model.random(Tree.star(3, [2, 1, 1]), table.variables, np.random.default_rng(seed))
        assert em(start, table, tol=0.0, max_iterations=500).reason in (StopReason.CONVERGED, StopReason.ITERATIONS)


def test_held_entries_that_leave_nothing_do_not_run_forever():
    _, table, _ = small()
    parameters = np.concatenate([[1.0, 0.0], np.full(8, 0.5)])
    start = Model(Tree.star(2, [2, 2]), table.variables, parameters)
    for accelerate in (True, False):
        fit = em(start, table, prior=2.0, held={"z": [[True, False]]}, accelerate=accelerate)
        assert fit.reason is StopReason.CONVERGED and np.isfinite(fit.objective)


def test_a_prior_makes_impossible_data_possible():
    table = Table.from_codes([[0], [1]])
    start = Model(Tree.star(2, [2]), table.variables, np.array([0.5, 0.5, 1, 0, 1, 0]))
    assert em(start, table).reason is StopReason.IMPOSSIBLE
    assert em(start, table, prior=2.0).reason is StopReason.CONVERGED


def test_kernels_may_change_between_calls():
    model, _, plan = small()
    starts = np.stack([random_parameters(model.tree, np.random.default_rng(i)) for i in range(8)])
    climb = EmRuns(plan, starts, accelerate=False)
    before = _core.kernels()
    try:
        climb.advance(3, 0.0, Budget().start())
        first = climb.objectives
        _core.use_kernels("baseline")
        climb = EmRuns(plan, starts, accelerate=False)
        _core.use_kernels(before)
        climb.advance(3, 0.0, Budget().start())
        np.testing.assert_allclose(climb.objectives, first, rtol=1e-10)
    finally:
        _core.use_kernels(before)


def test_an_interrupt_before_the_first_pass_still_gives_a_model(monkeypatch):
    model, _, plan = small()

    class Struck:
        def __getattr__(self, name):
            if name == "advance":
                raise KeyboardInterrupt
            return getattr(climb, name)

    made = EmRuns(plan, model.parameters[None])
    climb, made._core = made._core, Struck()
    assert made.advance(5, 0.0, Budget().start()) is StopReason.INTERRUPTED
    assert np.array_equal(made.parameters(0), model.parameters)
