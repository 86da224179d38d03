"""Trees of many variables: pairs, pieces and bridges against slow twins, and what is found with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from structures import models_and_tables

from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.errors import ParameterError
from latentree.runner import Budget, StopReason
from latentree.score import bic
from latentree.search import _chow_liu as pairs, learn
from latentree.search._beliefs import Beliefs
from latentree.search._chow_liu import chow_liu
from latentree.search._divide import LEAST, assembled, bridge, centred, cut, likelihoods, part
from latentree.search._network import Network
from latentree.search._operators import moves
from latentree.search._relocate import relocations
from latentree.search._restricted import Effort, applied, evaluate
from latentree.search._wide_start import expected


def islands(n_islands=4, leaves=5, rows=600, seed=0, missing=0.0):
    """Groups of variables that copy a value of their own, which copies that of the group before."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 2, rows)
    columns = []
    for _ in range(n_islands):
        hidden = np.where(rng.random(rows) < 0.25, 1 - hidden, hidden)
        columns += [np.where(rng.random(rows) < 0.1, 1 - hidden, hidden) for _ in range(leaves)]
    codes = np.column_stack(columns)
    codes[rng.random(codes.shape) < missing] = -1
    return codes


def groups(tree):
    """The variables that hang at each latent."""
    near = [[int(tree.variable[u]) for u in tree.neighbours(int(z))] for z in tree.latent]
    return {frozenset(v for v in own if v >= 0) for own in near} - {frozenset()}


# ---- pairs ----------------------------------------------------------------------------------------------------------


def information(table, i, j):
    k, m = (table.variables[v].cardinality for v in (i, j))
    counts = np.zeros((k, m))
    for row, weight in zip(table.codes, table.weights, strict=True):
        if row[i] >= 0 and row[j] >= 0:
            counts[row[i], row[j]] += weight
    apart = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0)
    seen = counts > 0
    return float((counts[seen] * np.log(counts[seen] * counts.sum() / apart[seen])).sum())


def strongest_tree(table):
    """Kruskal's way, by hand."""
    n = table.n_variables
    links = sorted((-information(table, i, j), i, j) for i in range(n) for j in range(i + 1, n))
    group, total = list(range(n)), 0.0
    for strength, i, j in links:
        if group[i] != group[j]:
            total -= strength
            group = [group[i] if g == group[j] else g for g in group]
    return total


@st.composite
def tables(draw):
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    n, rows = draw(st.integers(3, 7)), draw(st.integers(2, 40))
    codes = np.column_stack([rng.integers(-1 if rng.random() < 0.5 else 0, rng.integers(1, 4), rows) for _ in range(n)])
    codes[:, 1] = np.where(rng.random(rows) < 0.7, codes[:, 0], codes[:, 1])
    weights = rng.random(rows) if draw(st.booleans()) else rng.integers(1, 5, rows).astype(float)
    return Table.from_codes(codes, weights=weights)


@settings(max_examples=60)
@given(tables(), st.sampled_from([1, 2, 512]), st.booleans())
def test_the_tree_of_strongest_pairs(table, block, sparse):
    before = pairs.BLOCK, pairs.SPARSE
    pairs.BLOCK, pairs.SPARSE = block, 2.0 if sparse else 0.0
    try:
        links = chow_liu(table)
    finally:
        pairs.BLOCK, pairs.SPARSE = before
    assert len(links) == table.n_variables - 1
    for i, j, strength in links:
        assert strength == pytest.approx(information(table, i, j), abs=1e-7)
    assert sum(s for _, _, s in links) == pytest.approx(strongest_tree(table), abs=1e-6)


def test_weights_are_repetitions_in_pairs():
    codes = islands(rows=80)
    times = np.random.default_rng(1).integers(1, 4, len(codes))
    weighed = chow_liu(Table.from_codes(codes, weights=times).ordered())
    assert weighed == chow_liu(Table.from_codes(np.repeat(codes, times, axis=0)).ordered())


# ---- pieces ---------------------------------------------------------------------------------------------------------


@given(st.integers(4, 120), st.integers(1, 30), st.integers(0, 1000), st.booleans())
def test_every_variable_is_in_one_piece(n, size, seed, hub):
    rng = np.random.default_rng(seed)
    ends = [(0 if hub and rng.random() < 0.9 else int(rng.integers(0, v)), v) for v in range(1, n)]
    links = sorted(((i, j, float(s)) for (i, j), s in zip(ends, rng.random(n - 1), strict=True)), key=lambda x: -x[2])
    pieces, cuts = cut(links, n, size)
    assert sorted(v for own in pieces for v in own) == list(range(n))
    assert all(LEAST <= len(own) <= max(size, 2 * LEAST) + LEAST - 1 for own in pieces)
    assert len(cuts) == len(pieces) - 1
    owner = {v: i for i, own in enumerate(pieces) for v in own}
    joined = {0}
    while more := {owner[b] for a, b in [*cuts, *((j, i) for i, j in cuts)] if owner[a] in joined} - joined:
        joined |= more
    assert len(joined) == len(pieces)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_two_pieces_and_a_bridge_are_one_model(missing):
    table = Table.from_codes(islands(2, 4, 200, missing=missing), [2] * 8).ordered()
    pieces = [[0, 1, 2, 3], [4, 5, 6, 7]]
    parts = [part(table, own) for own in pieces]
    models = [centred(own, 1) for own in parts]
    told = [likelihoods(m, own) for m, own in zip(models, parts, strict=True)]
    built = bridge((0, 1), tuple(models), tuple(told), table.weights)
    whole = assembled(table, pieces, models, [built])
    assert np.isclose(built.joint.sum(), 1.0) and (built.joint > 0).all()
    # row by row: the table of the bridge, and what each piece says about its latent
    rows = np.exp(Plan.of(whole, table).row_log_likelihood(whole.parameters))
    logs = [Plan.of(m, own).row_log_likelihood(m.parameters) for m, own in zip(models, parts, strict=True)]
    shares = [np.exp(own)[piece.inverse] for own, piece in zip(logs, parts, strict=True)]
    left, right = (t[n] for t, n in zip(told, built.nodes, strict=True))
    marginals = [m.marginals()[n] for m, n in zip(models, built.nodes, strict=True)]
    expected = np.einsum("ri,ij,rj->r", left, built.joint, right)
    scale = shares[0] / (left @ marginals[0]) * shares[1] / (right @ marginals[1])
    # the walk from the first piece keeps its prior: equal where the bridge's margin is that prior
    given_left = built.joint / built.joint.sum(axis=1, keepdims=True)
    kept = np.einsum("ri,i,ij,rj->r", left, marginals[0], given_left, right)
    np.testing.assert_allclose(rows, kept * scale, rtol=1e-9)
    independent = np.einsum("ri,i,j,rj->r", left, marginals[0], marginals[1], right)
    assert table.weights @ np.log(expected) > table.weights @ np.log(independent) + 10


# ---- moves in wide trees --------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(models_and_tables(max_leaves=7, max_moves=7), st.integers(0, 5))
def test_a_move_leaves_consistent_probabilities(case, seed):
    model, table = case
    network = Network.from_model(model)
    beliefs = Beliefs(network, table)
    rng = np.random.default_rng(seed)
    some = moves(network.graph)
    for i in rng.permutation(len(some))[:3]:
        after = applied(evaluate(some[i], beliefs, Effort(2, 3, 0.0), rng), network)
        assert set(after.joint) == set(after.graph.edges)
        assert set(after.marginals) == set(after.graph.neighbours)
        for (a, b), both in after.joint.items():
            np.testing.assert_allclose(both.sum(axis=1), after.marginals[a], atol=1e-7)
            np.testing.assert_allclose(both.sum(axis=0), after.marginals[b], atol=1e-7)


def test_near_places_are_found_chunk_by_chunk(monkeypatch):
    from latentree.search import _relocate as relocate

    rng = np.random.default_rng(0)
    n = 24  # a chain of latents with two leaves each
    edges = [(f"z{i}", f"x{2 * i + j}") for i in range(n) for j in (0, 1)]
    edges += [(f"z{i}", f"z{i + 1}") for i in range(n - 1)]
    names = [f"x{i}" for i in range(2 * n)]
    tree = Tree.from_edges(edges, {v: 2 for e in edges for v in e}, names, root="z0")
    model = Model.random(tree, numbered([2] * 2 * n), rng)
    beliefs = Beliefs(Network.from_model(model), Table.from_codes(model.sample(50, rng), model.variables))
    few = {f.move: f.log_likelihood for f in relocations(beliefs, n_places=6, passes=400)}
    monkeypatch.setattr(relocate, "CHUNK", 4)
    chunks = {f.move: f.log_likelihood for f in relocations(beliefs, n_places=6, passes=400)}
    assert {m.nodes[0] for m in chunks} >= set(range(2 * n))
    for move in rng.permutation(np.array(list(chunks), dtype=object))[:40]:
        slow = evaluate(move, beliefs, Effort(1, 400, 0.0), rng).log_likelihood
        assert chunks[move] <= slow + 1e-3
        if move in few:
            assert chunks[move] == pytest.approx(few[move], abs=1e-9)
    assert all(len(beliefs.network.graph.path(m.nodes[1], m.nodes[2])) <= 7 for m in chunks)


# ---- whole searches -------------------------------------------------------------------------------------------------


def learned(table, **more):
    more = {"pieces": 8, "trials": 0, "starts": 1, "rng": np.random.default_rng(0), **more}
    return learn(table, **more)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_islands_are_found(missing):
    table = Table.from_codes(islands(6, 5, 800, seed=1, missing=missing))
    run = learned(table)
    assert groups(run.tree) == {frozenset(range(5 * i, 5 * i + 5)) for i in range(6)}
    built = [step for step in run.trace if step.phase == "pieces"]
    assert built and built[-1].score > run.trace[0].score
    assert run.score == pytest.approx(bic(run.fit))


def test_weights_are_repetitions_and_threads_change_nothing():
    codes = islands(5, 4, 150)
    times = np.random.default_rng(1).integers(1, 4, len(codes))
    one = learned(Table.from_codes(codes, weights=times))
    repeated = learned(Table.from_codes(np.repeat(codes, times, axis=0)))
    for other in (repeated, learned(Table.from_codes(codes, weights=times), n_jobs=2)):
        assert other.tree == one.tree
        assert other.score == one.score


def test_a_stopped_construction_goes_on_as_if_it_had_not(tmp_path, monkeypatch):
    from latentree.search import _wide_start as construct

    monkeypatch.setattr(construct, "STEPS", 2)
    table = Table.from_codes(islands(8, 4, 200))
    whole = learned(table)
    phases = [step.phase for step in whole.trace]
    assert phases.count("pieces") >= 2
    for steps in (1, 2, 3):
        file = tmp_path / f"{steps}.json"
        some = learned(table, budget=Budget(iterations=steps), checkpoint=file)
        assert len(some.trace) == steps and some.structure
        again = learned(table, checkpoint=file)
        assert again.score == whole.score and again.tree == whole.tree
        assert [s.score for s in again.trace] == [s.score for s in whole.trace]


def test_the_end_of_time_and_ctrl_c_within_the_construction(monkeypatch):
    from latentree.search import _wide_start as construct

    monkeypatch.setattr(construct, "STEPS", 2)
    table = Table.from_codes(islands(8, 4, 200))
    none = learned(table, budget=Budget(seconds=0.0))
    assert none.reason is StopReason.TIME and "before a tree was found" in none.message

    def press(progress, stage, done):
        if progress.stage == stage and progress.done == done:
            raise KeyboardInterrupt

    early = learned(table, on_progress=lambda p: press(p, "pairs of variables", 1))
    assert early.reason is StopReason.INTERRUPTED and not early.structure
    late = learned(table, on_progress=lambda p: press(p, "pieces", 1))
    assert late.reason is StopReason.INTERRUPTED and late.structure
    assert [s.phase for s in late.trace] == ["start"]


@pytest.mark.parametrize("size", [-1, 2.5, True, "8"])
def test_the_size_of_pieces_is_checked(size):
    with pytest.raises(ParameterError, match="option 'pieces' of the method 'swift' must be"):
        learned(Table.from_codes(islands(3, 4, 50)), pieces=size)


def test_a_thousand_variables(monkeypatch):
    from latentree.search import _wide_start as construct

    monkeypatch.setattr(construct, "STEPS", 6)
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, (60, 200)).repeat(5, axis=1)
    codes = np.where(rng.random(hidden.shape) < 0.1, 1 - hidden, hidden)
    run = learn(Table.from_codes(codes), rng=rng, budget=Budget(iterations=2))
    assert run.structure and run.reason is StopReason.ITERATIONS
    assert [s.phase for s in run.trace] == ["start", "pieces"]
    assert run.tree.n_variables == 1000 and len(run.tree.latent) >= 40 and run.trace[1].score > run.trace[0].score


def test_the_forecast_grows_with_the_data():
    small, large = (Table.from_codes(np.random.default_rng(0).integers(0, 2, (20, n))) for n in (200, 400))
    a, b = expected(small), expected(large)
    assert 1.9 < b.pieces / a.pieces < 2.1 and 1.9 < b.megabytes / a.megabytes < 2.1
    assert 1.9 < b.sweep / a.sweep < 2.1 and b.pairs > 2 * a.pairs
