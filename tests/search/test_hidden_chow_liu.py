"""Hidden Chow-Liu trees: the tree, states that are divided, and what cases held out decide."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import latentree as lt
from latentree import Model, ParameterError, Table, Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.infer import sample_table
from latentree.runner import Budget
from latentree.search import _hidden_chow_liu as hidden, learn
from latentree.search._hidden_chow_liu import divided, hidden_tree

OPTIONS = {"method": "hidden-chow-liu", "score": "holdout"}


def rng(seed=0):
    return np.random.default_rng(seed)


def drawn(n, seed=0, variables=7):
    """Rows of a chain of latents with three states, two variables of three states on each but the last."""
    latents = (variables + 1) // 2
    names = [f"x{i + 1}" for i in range(variables)]
    edges = [(f"z{i}", f"z{i + 1}") for i in range(latents - 1)] + [
        (f"z{i // 2}", name) for i, name in enumerate(names)
    ]
    states = {f"z{i}": 3 for i in range(latents)} | dict.fromkeys(names, 3)
    model = Model.random(Tree.from_edges(edges, states, names), numbered([3] * variables), rng(seed), dominant=0.8)
    return model, sample_table(model, n, rng(seed + 100))


def log_likelihood(model, table):
    return Plan.of(model, table).log_likelihood(model.parameters)


def shown(table, columns=None):
    """The rows as they came, in another order of columns if asked."""
    codes = table.codes[table.inverse]
    return codes if columns is None else codes[:, columns]


def edges(tree):
    return {frozenset((tree.names[v], tree.names[tree.parent[v]])) for v in range(1, tree.n_nodes)}


# ---- the tree ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_latents_take_over_the_links(seed):
    n = 9
    links = [(int(rng([seed, v]).integers(v)), v) for v in range(1, n)]
    table = Table.from_codes([[0] * n, [1] * n])
    tree = hidden_tree(links, table, 4)
    degree = np.bincount(np.ravel(links), minlength=n)
    other = {v: a + b - v for a, b in links for v in (a, b)}  # the neighbour of a variable that has one
    of = {v: f"x{(v if degree[v] > 1 else other[v]) + 1}*" for v in range(n)}
    expected = {frozenset((f"x{v + 1}", of[v])) for v in range(n)}
    expected |= {frozenset((of[a], of[b])) for a, b in links if degree[a] > 1 < degree[b]}
    assert edges(tree) == expected
    assert all(len(tree.neighbours(int(v))) == 1 for v in tree.manifest)
    for v in tree.latent:  # no more states than neighbours can tell apart
        own = sorted(int(tree.cardinality[w]) for w in tree.neighbours(int(v)))
        assert 2 <= tree.cardinality[v] <= max(2, np.prod(own[:-1]))


def test_names_of_latents_are_new():
    table = Table.from_codes([[0, 0, 0, 0], [1, 1, 1, 1]])
    table = Table.from_codes(table.codes, [lt.Variable(n, (0, 1)) for n in ("a", "b", "b*", "c")])
    tree = hidden_tree([(0, 1), (1, 2), (2, 3)], table, 2)
    assert len(set(tree.names)) == tree.n_nodes and {"b**", "b***"} & set(tree.names)


@pytest.mark.parametrize("seed", range(5))
def test_dividing_states_alone_changes_no_probability(seed, monkeypatch):
    _, table = drawn(120, seed)
    tree = hidden_tree([(i, i + 1) for i in range(6)], table, 2)
    model = Model.random(tree, table.variables, rng(seed))
    monkeypatch.setattr(hidden, "NOISE", 0.0)
    for states in (3, 4, 9):
        wider = divided(model, states, rng())
        assert wider.tree.cardinality[wider.tree.latent].max() == states
        own = [Plan.of(m, table).row_log_likelihood(m.parameters) for m in (model, wider)]
        np.testing.assert_allclose(own[0], own[1], atol=1e-10)


# ---- learning ------------------------------------------------------------------------------------------------------


def test_it_predicts_fresh_rows_nearly_as_the_truth_does():
    model, table = drawn(2000)
    fresh = sample_table(model, 2000, rng(7))
    run = learn(table, rng=rng(), **OPTIONS)
    truth, ours = (log_likelihood(m, fresh) / fresh.n for m in (model, run.model))
    alone = learn(table, rng=rng(), most_states=2, **OPTIONS)
    assert truth - 0.06 < ours < truth + 0.01 and ours > log_likelihood(alone.model, fresh) / fresh.n
    assert run.structure and run.criterion == "holdout" and run.reason.complete
    assert run.estimate.chosen == "search" and run.estimate.kind == "map" and run.estimate.strength == 1
    assert run.estimate.log_likelihood == pytest.approx(log_likelihood(run.model, table))
    assert "cases held out" in run.estimate.text and run.estimated is None
    rising = [step.score for step in run.trace]
    assert rising == sorted(rising)


def test_every_known_row_is_possible():
    """States that no row has, columns that never vary, missing cells."""
    _, table = drawn(80, variables=5)
    codes = np.column_stack([shown(table), np.zeros(80, dtype=int)])
    codes[rng().random(codes.shape) < 0.1] = -1
    known = Table.from_codes(codes, [4, 3, 3, 3, 3, 2])
    run = learn(known, rng=rng(), **OPTIONS)
    every = np.array(list(itertools.product(range(4), *[range(3)] * 4, range(2))))
    rows = Plan.of(run.model, Table.from_codes(every, known.variables)).row_log_likelihood(run.model.parameters)
    assert np.isfinite(rows).all() and np.exp(rows).sum() == pytest.approx(1)


def test_order_weights_and_threads_change_nothing():
    _, table = drawn(300, 1)
    columns = rng(3).permutation(7)
    moved = Table.from_codes(shown(table, columns)[rng(4).permutation(300)], [table.variables[i] for i in columns])
    run = learn(table, rng=rng(), **OPTIONS)
    for other in (
        learn(Table.from_codes(table.codes, table.variables, table.weights), rng=rng(), **OPTIONS),
        learn(moved, rng=rng(), **OPTIONS),
        learn(table, rng=rng(), n_jobs=2, **OPTIONS),
    ):
        assert other.score == pytest.approx(run.score, abs=1e-8)
        assert edges(other.tree) == edges(run.tree)
        assert log_likelihood(other.model, table) == pytest.approx(log_likelihood(run.model, table), abs=1e-7)


def test_priors():
    _, table = drawn(200, 2)
    exact = learn(table, prior=None, rng=rng(), **OPTIONS)
    given = learn(table, prior=2, rng=rng(), **OPTIONS)
    assert exact.estimate.kind == "ml" and given.estimate.prior == 2
    assert (given.model.parameters > 1e-6).all()


def test_independent_variables_seldom_have_a_structure():
    """By two standard errors, about one table in twenty seems to have one; one standard error finds it in five."""
    runs = [learn(Table.from_codes(rng(seed).integers(3, size=(400, 6))), rng=rng(), **OPTIONS) for seed in range(20)]
    none = [run for run in runs if not run.structure]
    assert len(none) >= 17
    assert all("No structure" in run.message and (run.model.parameters > 0).all() for run in none)


def test_time_and_checkpoints(tmp_path):
    _, table = drawn(1500, 3)
    nothing = learn(table, rng=rng(), budget=Budget(seconds=0), **OPTIONS)
    assert not nothing.structure and not nothing.reason.complete
    whole = learn(table, rng=rng(), **OPTIONS)
    part = learn(table, rng=rng(), budget=Budget(iterations=2), checkpoint=tmp_path / "c", **OPTIONS)
    assert len(part.trace) == 2 and part.score < whole.score
    with pytest.raises(lt.LatentreeError, match="settings"):
        learn(table, rng=rng(), prior=2, checkpoint=tmp_path / "c", **OPTIONS)
    again = learn(table, rng=rng(), checkpoint=tmp_path / "c", **OPTIONS)
    assert np.array_equal(again.model.parameters, whole.model.parameters)


def test_what_it_cannot_do():
    _, table = drawn(60)
    with pytest.raises(ParameterError, match=r"score='holdout'"):
        learn(table, rng=rng(), method="hidden-chow-liu")
    start = learn(table, rng=rng(), trials=0).model
    with pytest.raises(ParameterError, match="starts from no other model"):
        learn(table, rng=rng(), start=start, **OPTIONS)
    with pytest.raises(ParameterError, match="most_states"):
        learn(table, rng=rng(), most_states=1, **OPTIONS)
