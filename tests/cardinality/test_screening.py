"""The bounds by which states are screened are bounds, and exact where they should be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from strategies import models, tables

from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree.cardinality import Neighbourhood, Settings, States, Task
from latentree.cardinality._screening import merge_losses, screen
from latentree.score import bic


@st.composite
def cases(draw):
    """A star in a random tree with data it can have produced, and the task it belongs to."""
    model = draw(models(max_nodes=6, latent_leaves=False, min_states=2))
    assume(len(model.tree.latent))
    model = Model(
        model.tree,
        model.variables,
        0.9 * model.parameters
        + 0.1 * np.repeat(1.0 / model.tree.cardinality, model.tree.rows * model.tree.cardinality),
    )
    table = draw(tables(model.variables, max_rows=12))
    assume(table.n_patterns >= 4)
    task = Task(table, bic, Settings(accelerate=True))
    return task, task.star(model, draw(st.sampled_from(model.tree.latent.tolist())))


def likelihood(star: Neighbourhood, states: States) -> float:
    return star.plan(states.n).log_likelihood(states.flat)


@settings(max_examples=40)
@given(cases(), st.integers(0, 99))
def test_a_split_gains_at_least_its_bound_and_splits_add_up(case, seed):
    task, star = case
    found = screen(task, star, star.states, np.random.default_rng(seed), n_init=2)
    before = likelihood(star, star.states)
    every = star.states
    for s in sorted(found.halves):
        assert likelihood(star, found.split(s)) >= before + found.gains[s] - 1e-6
        every = every.replace(s, found.halves[s])
    if found.halves:
        total = sum(found.gains[s] for s in found.halves)
        assert likelihood(star, every) >= before + total - 1e-6


@settings(max_examples=60)
@given(cases())
def test_a_merge_loses_at_most_its_bound(case):
    _, star = case
    states = star.states
    assume(states.n > 1)
    log_joint = star.log_joint(states)
    log_row = np.logaddexp.reduce(log_joint, axis=1)
    posterior = np.exp(log_joint - log_row[:, None])
    losses = merge_losses(star, states, posterior, log_row)
    counts = States.of(star.plan(states.n).evaluate(states.flat).vector, states.widths)
    before = likelihood(star, states)
    for a in range(states.n):
        for b in range(a + 1, states.n):
            # the merged state where the bound has its maximum: the expected counts of both
            merged = states.merge(a, b)
            own = counts.profiles[a] + counts.profiles[b]
            for block in states.blocks:
                if own[block].sum() > 0:
                    merged.profiles[a, block] = own[block] / own[block].sum()
            merged.sizes[a] = (counts.sizes[a] + counts.sizes[b]) / star.weights.sum()
            others = [s for s in range(merged.n) if s != a]
            old = [s for s in range(states.n) if s not in (a, b)]
            merged.sizes[others] = states.sizes[old]
            unscaled = star.plan(merged.n).log_likelihood(
                States(merged.sizes / merged.sizes.sum(), merged.profiles, merged.widths).flat
            )
            after = unscaled + star.weights.sum() * np.log(merged.sizes.sum())
            assert after >= before + losses[a, b] - 1e-6


def test_states_that_stay_are_not_split_anew():
    rng = np.random.default_rng(0)
    table = Table.from_codes(rng.integers(0, 2, (60, 5)))
    task = Task(table, bic, Settings(accelerate=True))
    star = task.star(Model.random(Tree.star(3, table.cardinalities), table.variables, rng), 0)
    first = screen(task, star, star.states, rng)
    again = screen(task, star, star.states, rng, before=first)
    assert all(again.halves[s] is first.halves[s] for s in range(3))
    moved = star.states.merge(0, 1)
    other = screen(task, star, moved, rng, before=first)
    assert other.halves[1] is first.halves[2]
    assert other.halves[0] is not first.halves[0]
    assert other.gains[1] == pytest.approx(first.gains[2])
