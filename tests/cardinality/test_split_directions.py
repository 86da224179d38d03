"""Splits follow the data of the state that is split, computed here row by row; the random split (4.4.2) is its own."""

from __future__ import annotations

import numpy as np
import pytest

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree.cardinality import DIRECTIONS, Settings, States, Task, learn
from latentree.cardinality._learner import first_state
from latentree.cardinality._split_merge import Splitting, SplittingOptions
from latentree.cardinality._states import FLOOR
from latentree.cardinality._ueda import Ueda, UedaOptions
from latentree.estimation import evaluate
from latentree.runner import Budget
from latentree.score import bic

P = 0.001


@pytest.fixture(scope="module")
def voting() -> Table:
    return datasets.load("voting")


@pytest.fixture(scope="module")
def model(voting) -> Model:
    """Four states, with all probabilities well inside."""
    drawn = Model.random(Tree.star(4, voting.cardinalities), voting.variables, np.random.default_rng(3))
    even = np.repeat(1.0 / drawn.tree.cardinality, drawn.tree.rows * drawn.tree.cardinality)
    return Model(drawn.tree, drawn.variables, 0.8 * drawn.parameters + 0.2 * even)


def by_hand(model: Model, table: Table) -> tuple[np.ndarray, np.ndarray]:
    """P(state | row) by Bayes' rule, and P(variable = 1 | state); cells below zero are missing."""
    k, ones = int(model.tree.cardinality[0]), np.column_stack([model.table(v)[:, 1] for v in model.tree.manifest])
    posterior = np.empty((table.n_patterns, k))
    for r, row in enumerate(np.asarray(table.codes)):
        for s in range(k):
            seen = [ones[s, i] if x == 1 else 1 - ones[s, i] for i, x in enumerate(row) if x >= 0]
            posterior[r, s] = model.table(0)[0, s] * np.prod(seen)
    return posterior / posterior.sum(axis=1, keepdims=True), ones


def variance_by_hand(table: Table, weights: np.ndarray, ones: np.ndarray) -> np.ndarray:
    """Leading eigenvector of the covariance of the data; a missing cell counts as its expectation."""
    codes = np.asarray(table.codes)
    values = np.where(codes >= 0, codes, ones)
    return np.linalg.eigh(np.cov(values.T, aweights=weights, bias=True))[1][:, -1]


def greedy_by_hand(table: Table, weights: np.ndarray, ones: np.ndarray) -> np.ndarray:
    """Karciauskas' signs: those nearest to one half first, each the way that makes two halves more likely."""
    codes = np.asarray(table.codes)

    def likelihood(signs):
        rows = np.zeros(len(codes))
        for side in (1, -1):
            p = ones + side * P * signs
            rows += 0.5 * np.prod(np.where(codes < 0, 1.0, np.where(codes == 1, p, 1 - p)), axis=1)
        return weights @ np.log(rows)

    signs = np.zeros(len(ones))
    for n, i in enumerate(np.argsort(np.abs(ones - 0.5), kind="stable")):
        up, down = signs.copy(), signs.copy()
        up[i], down[i] = 1, -1
        signs = up if n == 0 or likelihood(up) > likelihood(down) else down
    return signs


def agree(direction: np.ndarray, expected: np.ndarray) -> float:
    """Cosine without regard to sign; of each variable the second entry is Karciauskas'."""
    own = direction.reshape(-1, 2)[:, 1]
    return abs(own @ expected) / np.linalg.norm(own) / np.linalg.norm(expected)


BY_HAND = {"variance": variance_by_hand, "greedy": greedy_by_hand}


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_splitting_follows_the_data_of_the_state_it_splits(voting, model, monkeypatch, name):
    starts: list[States] = []

    def restart_from(self, star, candidates, rng):
        starts.extend(candidates)
        return evaluate(star.whole(candidates[0]), voting)

    monkeypatch.setattr(Task, "restart_from", restart_from)
    options = SplittingOptions(direction=name, p=P)
    task = Task(voting, bic, options)
    Splitting(options).advance(task, first_state(task, evaluate(model, voting)), np.random.default_rng(0))
    posterior, ones = by_hand(model, voting)
    elsewhere = []
    assert len(starts) == 4
    for s, start in enumerate(starts):
        two = start.profiles[[s, 4]]
        own = BY_HAND[name](voting, voting.weights * posterior[:, s], ones[s])
        assert agree(two[0] - two[1], own) == pytest.approx(1.0, abs=1e-6)
        elsewhere.append(agree(BY_HAND[name](voting, voting.weights, ones[s]).repeat(2), own))
    assert min(elsewhere) < 0.9  # all data would lead another way


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_ueda_follows_the_data_of_the_state_it_splits(voting, model, monkeypatch, name):
    moved: list[States] = []

    def fit_from(self, star, states):
        moved.append(states)
        return evaluate(model, voting)

    monkeypatch.setattr(Task, "fit_from", fit_from)
    options = UedaOptions(direction=name, p=P, n_states=4, candidates=12)
    task = Task(voting, bic, options)
    Ueda(options).advance(task, first_state(task, evaluate(model, voting)), np.random.default_rng(0))
    posterior, ones = by_hand(model, voting)
    profiles, split = task.star(model, "z").states.profiles, set()
    assert len(moved) == 12
    for states in moved:
        # the state that was split is there no longer; its halves lie on both sides of it
        centres = (states.profiles[:, None] + states.profiles[None]) / 2
        distance = np.abs(centres[:, :, None] - profiles).max(axis=3)
        distance[np.arange(states.n), np.arange(states.n)] = np.inf
        a, b, s = np.unravel_index(np.argmin(distance), distance.shape)
        assert distance[a, b, s] < 1e-12
        own = BY_HAND[name](voting, voting.weights * posterior[:, s], ones[s])
        assert agree(states.profiles[a] - states.profiles[b], own) == pytest.approx(1.0, abs=1e-6)
        split.add(int(s))
    assert len(split) > 1


def test_a_state_without_data_can_be_split_in_every_direction(voting, model):
    task = Task(voting, bic, Settings())
    star = task.star(model, "z")
    nothing = star.share(np.zeros_like(star.weights))
    for way in DIRECTIONS.values():
        assert np.isfinite(way(nothing, star.states.profiles[0], P, np.random.default_rng(0))).all()


# ---- the random split of [Karciauskas2005] 4.4.2 --------------------------------------------------------------------


def test_the_split_of_k_4_draws_every_entry_alone_then_clips_and_normalises():
    widths, p, rng = (3, 2), 0.4, np.random.default_rng(0)
    states = States(np.ones(1), np.array([[0.9, 0.08, 0.02, 0.5, 0.5]]), widths)
    clipped = 0
    for _ in range(200):
        data = type("Data", (), {"widths": widths})
        r = DIRECTIONS["uniform"](data, states.profiles[0], p, rng)
        assert (np.abs(r) <= p).all()
        assert abs(r[:3].sum()) > 1e-9  # not a direction of [Karciauskas2005] 6, whose entries sum to zero
        halves = states.split(0, r, clip=True)
        assert halves.sizes.tolist() == [0.5, 0.5]
        for half, side in zip(halves.profiles, (1, -1), strict=True):
            moved = [min(max(x + side * d, FLOOR), 1 - FLOOR) for x, d in zip(states.profiles[0], r, strict=True)]
            clipped += moved != list(states.profiles[0] + side * r)
            expected = [x / sum(moved[:3]) for x in moved[:3]] + [x / sum(moved[3:]) for x in moved[3:]]
            np.testing.assert_allclose(half, expected, atol=1e-15)
    assert clipped > 100


def test_splitting_is_that_of_k_4_by_default():
    own = SplittingOptions()
    assert (own.direction, own.p) == ("uniform", 0.1)
    assert Settings().direction == "random"


def test_the_uniform_split_serves_split_merge_too():
    found = learn(datasets.load("carcinoma"), method="SplitMerge", direction="uniform", rng=np.random.default_rng(0))
    assert found.score > -353.1
    again = learn(
        datasets.load("carcinoma"), method="Splitting", rng=np.random.default_rng(0), budget=Budget(iterations=3)
    )
    assert again.score == pytest.approx(-348.57, abs=0.01)
