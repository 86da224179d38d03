"""Blurred states: what they are, and that EM from them leaves rivals which splits and merges do not leave."""

from __future__ import annotations

import numpy as np
import pytest

from latentree import Model, Tree
from latentree._table import Table
from latentree.cardinality._learn import criterion_of
from latentree.cardinality._rounds import improve, settle
from latentree.cardinality._screened import ScreenedOptions
from latentree.cardinality._screening import screen
from latentree.cardinality._starts import BLUR, blurred_starts, run_starts
from latentree.cardinality._states import States
from latentree.cardinality._task import Task

CLASSES = 8


@pytest.fixture(scope="module")
def task():
    """Overlapping classes in columns of three values: a table, of several tried, on which moves alone mostly fail."""
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.ones(3), size=(10, CLASSES))
    member = rng.integers(CLASSES, size=400)
    codes = [(rng.random(400)[:, None] > np.cumsum(t, axis=1)[member]).sum(axis=1) for t in tables]
    table = Table.from_codes(np.minimum(np.stack(codes, axis=1), 2), [3] * 10)
    return Task(table, criterion_of("bic")[0], ScreenedOptions())


@pytest.fixture(scope="module")
def star(task):
    tree = Tree.star(1, task.table.cardinalities, task.table.names)
    model = Model.random(tree, task.table.variables, np.random.default_rng(0))
    return task.star(task.fit(model).model, 0)


def test_blurred_states_are_probabilities_that_keep_a_share_of_the_given_ones(task, star):
    states, _ = run_starts(task, star, 3, 4, 1, np.random.default_rng(0))
    keep = 1 - BLUR[1]
    for flat in blurred_starts(star, states, 50, np.random.default_rng(1)):
        blurred = States.of(flat, star.widths)
        assert blurred.sizes.sum() == pytest.approx(1)
        np.testing.assert_allclose(np.add.reduceat(blurred.profiles, star.begin, axis=1), 1)
        assert (blurred.sizes >= keep * states.sizes).all()
        assert (blurred.profiles >= keep * states.profiles).all()
        assert not np.allclose(blurred.profiles, states.profiles, atol=0.05)


def test_blurring_leads_to_the_best_fit_from_where_moves_alone_do_not(task, star):
    def ends(work):
        found = []
        for seed in range(15):
            rng = np.random.default_rng(seed)
            states, _ = run_starts(task, star, CLASSES, 2, 1, rng)
            found.append(task.score(task.evaluate(star, work(states, rng))))
        return np.array(found)

    moved = ends(lambda states, rng: improve(task, star, screen(task, star, states, rng), rng, 16)[1])
    settled = ends(lambda states, rng: settle(task, star, states, rng, 16, known=lambda states, score: False))
    best = max(moved.max(), settled.max())
    assert (settled > best - 0.1).mean() >= 0.9
    assert (moved > best - 0.1).mean() <= 0.5


def test_what_is_known_is_left_as_it_is(task, star):
    states, _ = run_starts(task, star, 3, 4, 1, np.random.default_rng(0))
    assert settle(task, star, states, np.random.default_rng(0), 16, known=lambda states, score: True) is states
