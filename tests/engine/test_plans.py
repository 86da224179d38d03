"""Several plans as one."""

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import models_and_tables

from latentree._table import Table
from latentree.engine._plan import Plan
from latentree.engine._plans import Plans
from latentree.estimation import em, restart_em


def cut(table, n):
    """The rows of a table dealt out to several."""
    at = [np.arange(i, table.n_patterns, n) for i in range(min(n, table.n_patterns))]
    return [Table.from_codes(table.codes[rows], table.variables, table.weights[rows]) for rows in at]


def as_plans(model, parts, memory=1e9):
    return Plans(model, parts.__getitem__, len(parts), weight=sum(p.n for p in parts), memory=memory)


@given(st.data(), st.integers(1, 4), st.sampled_from([0.0, 1e9]))
def test_counts_of_parts_add_up(data, n, memory):
    model, table = data.draw(models_and_tables())
    whole = Plan.of(model, table).evaluate(model.parameters)
    plans = as_plans(model, cut(table, n), memory)
    for n_jobs in (1, 2):
        seen = plans.evaluate(model.parameters, n_jobs=n_jobs)
        assert seen.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(seen.vector, whole.vector, rtol=1e-10, atol=1e-12 * whole.weight)
        assert plans.log_likelihood(model.parameters, n_jobs=n_jobs) == seen.log_likelihood
    assert seen.weight == pytest.approx(whole.weight)


def test_asking_in_two_halves_is_the_loop_itself(voting_fit):
    """EM driven from outside takes the very steps of the loop in C++."""
    model, table = voting_fit
    near = em(model, table)
    away = em(model, table, plan=as_plans(model, [table]))
    assert away.trace.tolist() == near.trace.tolist()
    assert away.model.parameters.tolist() == near.model.parameters.tolist()
    assert (away.evaluations, away.reason) == (near.evaluations, near.reason)


def test_starts_race_over_parts_as_over_one_table(voting_fit):
    model, table = voting_fit
    whole, parts = (
        restart_em(model, table, rng=np.random.default_rng(3), n_init=16, tol=1e-9, plan=plan)
        for plan in (None, as_plans(model, cut(table, 3)))
    )
    assert parts.log_likelihood == pytest.approx(whole.log_likelihood, abs=1e-9)
    assert (np.diff(parts.trace) >= 0).all()
    plan = as_plans(model, cut(table, 3))
    again = restart_em(model, table, rng=np.random.default_rng(3), n_init=16, tol=1e-9, n_jobs=8, plan=plan)
    assert again.trace.tolist() == parts.trace.tolist()


def test_a_plan_can_be_sent(voting_fit):
    model, table = voting_fit
    plan = Plan.of(model, table)
    there = pickle.loads(pickle.dumps(plan))
    assert there.log_likelihood(model.parameters) == plan.log_likelihood(model.parameters)


@pytest.fixture(scope="module")
def voting_fit():
    from latentree._model import Model
    from latentree._tree import Tree
    from latentree.datasets import load

    table = load("voting")
    return Model.random(Tree.star(3, table.cardinalities), table.variables, np.random.default_rng(0)), table
