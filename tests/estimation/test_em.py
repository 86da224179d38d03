"""EM in all its forms: it climbs, it does what its twin does, and nothing irrelevant changes it."""

from __future__ import annotations

import signal
import sys
import threading

import numpy as np
import pytest
import slow_engine as reference
import strategies as own
from hypothesis import given, settings, strategies as st

import latentree as lt
from latentree import datasets
from latentree._model import Model, random_parameters, row_sums, spread
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.errors import ModelError, ParameterError
from latentree.estimation import em, estimate, evaluate, fit_classes, local_em, partial_em, random_starts, restart_em
from latentree.estimation._em import EmRuns
from latentree.estimation._fit import held_mask, pseudo_counts
from latentree.runner import Budget, StopReason


def nested(n_states=3):
    """A tree with two layers of latents."""
    leaves = [f"x{i}{j}" for i in range(3) for j in range(3)]
    edges = [("r", f"z{i}") for i in range(3)] + [(f"z{x[1]}", x) for x in leaves]
    return Tree.from_edges(edges, {"r": 2, **{f"z{i}": n_states for i in range(3)}, **dict.fromkeys(leaves, 3)}, leaves)


def sampled(tree, n, seed=0, missing=0.0, dominant=0.6):
    rng = np.random.default_rng(seed)
    truth = Model.random(tree, numbered(tree.cardinality[tree.manifest]), rng, dominant)
    codes = truth.sample(n, rng)
    codes[rng.random(codes.shape) < missing] = -1
    return truth, Table.from_codes(codes, truth.variables)


def started(tree, table, seed=1):
    return Model(tree, table.variables, random_parameters(tree, np.random.default_rng(seed)))


def climbs(trace):
    return bool((np.diff(trace) >= 0).all())


# ---- it climbs ----------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(own.models_and_tables(max_nodes=6), st.data())
def test_every_trace_never_falls(pair, data):
    model, table = pair
    parameters = data.draw(own.parameters(model.tree, zeros=False))
    prior = data.draw(st.sampled_from([None, 1.5, 3.0]))
    held = data.draw(st.lists(st.sampled_from(model.tree.names), max_size=2, unique=True))
    fit = em(
        model.with_parameters(parameters),
        table,
        prior=prior,
        basis=data.draw(st.sampled_from(["probability", "softmax"])),
        held=held,
        accelerate=data.draw(st.booleans()),
        max_iterations=200,
        tol=1e-12,
    )
    assert climbs(fit.trace)
    for name in held:
        assert np.array_equal(fit.model.table(name), Model(model.tree, model.variables, parameters).table(name))
    np.testing.assert_allclose(row_sums(fit.model.tree, fit.model.parameters), 1.0, rtol=1e-9)
    check = reference.evaluate(model.tree, fit.model.parameters, Plan.of(model, table).evidence, table.weights)
    assert fit.log_likelihood == pytest.approx(check.log_likelihood, rel=1e-9, abs=1e-9)


@settings(max_examples=40)
@given(own.models_and_tables(max_nodes=6), st.sampled_from([None, 2.0]), st.sampled_from(["probability", "softmax"]))
def test_one_step_equals_its_twin(pair, prior, basis):
    model, table = pair
    plan = Plan.of(model, table)
    climb = EmRuns(plan, model.parameters[None], prior=prior, basis=basis, accelerate=False)
    climb.advance(1, 0.0, Budget().start())
    if len(climb.trace(0)) < 2:  # impossible data, or nothing to gain
        return
    counts = reference.evaluate(model.tree, model.parameters, plan.evidence, table.weights).vector
    pseudo = pseudo_counts(model.tree, prior, basis)
    total = counts if pseudo is None else counts + pseudo
    sums = spread(model.tree, row_sums(model.tree, total))
    expected = np.divide(total, sums, out=model.parameters.copy(), where=sums > 0)
    np.testing.assert_allclose(climb.parameters(0), expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_accelerated_reaches_what_plain_em_reaches_in_fewer_passes(seed):
    _, table = sampled(nested(), 1500, seed, missing=0.1)
    start = started(nested(), table, seed)
    plain = em(start, table, accelerate=False, tol=1e-9, max_iterations=50_000)
    fast = em(start, table, tol=1e-9)
    assert plain.converged and fast.converged and climbs(fast.trace)
    assert fast.log_likelihood >= plain.log_likelihood - 1e-5
    assert fast.evaluations < plain.evaluations


def test_a_saddle_is_left():
    """Two equal classes are a fixed point of EM; the accelerated run notices that it is no maximum."""
    _, table = sampled(Tree.star(2, [2] * 6), 500, dominant=0.8)
    tree = Tree.star(2, [2] * 6)
    near = random_parameters(tree, np.random.default_rng(0))
    tables = [near[tree.offsets[v] : tree.offsets[v + 1]].reshape(tree.rows[v], -1) for v in range(7)]
    for t in tables[1:]:
        t[1] = t[0] + 1e-7 * np.array([1, -1])
    start = Model(tree, table.variables, near)
    stuck = em(start, table, accelerate=False, tol=1e-3)
    free = em(start, table, tol=1e-3)
    one = fit_classes(table, 1, rng=np.random.default_rng(0))
    assert stuck.converged and stuck.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-2)
    assert free.log_likelihood > stuck.log_likelihood + 3


# ---- what must not change it ------------------------------------------------------------------------------------


def test_weight_is_repetition_all_along_the_path():
    _, table = sampled(nested(), 200)
    times = np.random.default_rng(0).integers(1, 4, table.n_patterns)
    weighted = Table.from_codes(table.codes, table.variables, times)
    repeated = Table.from_codes(np.repeat(table.codes, times, axis=0), table.variables)
    start = started(nested(), table)
    a, b = em(start, weighted, tol=1e-8), em(start, repeated, tol=1e-8)
    assert np.array_equal(a.trace, b.trace)
    assert np.array_equal(a.model.parameters, b.model.parameters)


def test_rooting_changes_no_step_of_em():
    _, table = sampled(nested(), 300, missing=0.2)
    start = started(nested(), table)
    paths = [em(start.rerooted(z), table, accelerate=False, max_iterations=20, tol=0).trace for z in ("r", "z0", "z2")]
    for other in paths[1:]:
        np.testing.assert_allclose(other, paths[0], rtol=1e-11)


def test_equal_trees_get_equal_starts():
    tree = nested()
    turned, _ = tree.rerooted("z1")
    a = random_starts(tree, 3, np.random.default_rng(5))
    b = random_starts(turned, 3, np.random.default_rng(5))
    _, table = sampled(tree, 100)
    for p, q in zip(a, b, strict=True):
        first, second = Model(tree, table.variables, p), Model(turned, table.variables, q)
        assert first.rerooted("z1").parameters == pytest.approx(q, rel=1e-9)
        assert Plan.of(first, table).log_likelihood(p) == pytest.approx(Plan.of(second, table).log_likelihood(q))


@pytest.mark.parametrize("n_rows", [300, 40_000])
def test_same_seed_same_answer_for_any_number_of_threads(n_rows):
    tree = Tree.star(4, [3] * 11)
    _, table = sampled(tree, n_rows)
    start = started(tree, table)
    fits = [
        restart_em(start, table, rng=np.random.default_rng(3), n_init=6, finalists=2, max_iterations=40, n_jobs=t)
        for t in (1, 2, 8)
    ]
    for other in fits[1:]:
        assert np.array_equal(other.model.parameters, fits[0].model.parameters)
        assert np.array_equal(other.trace, fits[0].trace)


def test_slices_of_time_change_nothing(monkeypatch):
    _, table = sampled(nested(), 800)
    start = started(nested(), table)
    whole = em(start, table)
    monkeypatch.setattr(sys.modules["latentree.estimation._em"], "_SLICE", 1e-9)
    assert np.array_equal(em(start, table).trace, whole.trace)


# ---- how it ends -------------------------------------------------------------------------------------------------


def test_reasons_to_stop():
    _, table = sampled(nested(), 500)
    start = started(nested(), table)
    assert em(start, table).reason is StopReason.CONVERGED
    short = em(start, table, max_iterations=5)
    assert short.reason is StopReason.ITERATIONS and len(short.trace) == 6
    late = em(start, table, tol=0.0, budget=Budget(seconds=0.0))
    assert late.reason is StopReason.TIME and len(late.trace) >= 1
    assert "Allow more time" in str(late.reason)


def test_impossible_data_say_so():
    tree = Tree.star(2, [2, 2])
    zero = np.array([0.5, 0.5, 1, 0, 1, 0, 0.5, 0.5, 0.5, 0.5])
    table = Table.from_codes([[1, 0], [0, 0]])
    fit = em(Model(tree, Table.from_codes([[1, 1]]).variables, zero), table)
    assert fit.reason is StopReason.IMPOSSIBLE and fit.log_likelihood == -np.inf
    assert "prior" in str(fit.reason)


def test_ctrl_c_keeps_the_best_so_far():
    tree = Tree.star(9, [3] * 14)
    _, table = sampled(tree, 60_000)
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    fit = em(started(tree, table), table, accelerate=False, tol=0.0, max_iterations=10**9)
    assert fit.reason is StopReason.INTERRUPTED
    assert len(fit.trace) > 1 and climbs(fit.trace)
    assert Plan.of(fit.model, table).log_likelihood(fit.model.parameters) == pytest.approx(fit.log_likelihood)


def test_empty_states_and_unseen_values_keep_their_rows():
    tree = Tree.star(2, [3, 2])
    parameters = np.array([1.0, 0.0, *[0.2, 0.3, 0.5] * 2, *[0.5, 0.5] * 2])
    start = Model(tree, numbered([3, 2]), parameters)
    table = Table.from_codes([[0, 1], [1, 1]], start.variables)
    fit = em(start, table)
    assert fit.model.table("z")[0].tolist() == [1.0, 0.0]
    assert fit.model.table(1)[1].tolist() == [0.2, 0.3, 0.5]  # nobody is there: nothing learned
    assert fit.model.table(1)[0, 2] == 0.0


# ---- priors and held tables --------------------------------------------------------------------------------------


def test_pseudo_counts_by_basis():
    tree = Tree.star(2, [2, 3])
    assert pseudo_counts(tree, None) is None
    assert pseudo_counts(tree, 1.0) is None  # flat: maximum likelihood
    assert set(pseudo_counts(tree, 1.0, "softmax")) == {1.0}
    mixed = pseudo_counts(tree, {"x1": 3.0}, "probability")
    assert mixed.tolist() == [0.0] * 2 + [2.0] * 4 + [0.0] * 6


def test_map_of_a_single_class_is_known():
    table = Table.from_codes([[0], [0], [0], [1]])
    fit = fit_classes(table, 1, rng=np.random.default_rng(0), prior=2.0)
    np.testing.assert_allclose(fit.model.table(1), [[4 / 6, 2 / 6]])
    fit = fit_classes(table, 1, rng=np.random.default_rng(0), prior=2.0, basis="softmax")
    np.testing.assert_allclose(fit.model.table(1), [[5 / 8, 3 / 8]])


def test_known_components_leave_a_concave_problem():
    """The proportion vector problem ([Whiley1999] 2.8.1): with the components held every start ends in one place."""
    truth, table = sampled(Tree.star(4, [2] * 5), 300, dominant=0.5)
    leaves = [n for n in truth.tree.names if n != truth.tree.names[0]]
    ends = []
    for seed in range(5):
        p = truth.parameters.copy()
        p[:4] = np.random.default_rng(seed).dirichlet(np.ones(4))
        fit = em(truth.with_parameters(p), table, held=leaves, tol=1e-12, max_iterations=100_000)
        assert np.array_equal(fit.model.parameters[4:], truth.parameters[4:])
        ends.append(fit.log_likelihood)
    assert np.ptp(ends) < 1e-6


def test_held_entries_keep_their_value_and_the_rest_share():
    _, table = sampled(Tree.star(3, [2] * 5), 400)
    start = started(Tree.star(3, [2] * 5), table)
    mask = {"z": [[True, False, False]]}
    for fit in (
        em(start, table, held=mask),
        restart_em(start, table, held=mask, rng=np.random.default_rng(0), n_init=4),
    ):
        assert fit.model.table("z")[0, 0] == start.table("z")[0, 0]
        assert fit.model.table("z").sum() == pytest.approx(1.0, abs=1e-12)
        assert fit.model.table("z")[0, 1] != start.table("z")[0, 1]
        assert climbs(fit.trace)


# ---- restarts ----------------------------------------------------------------------------------------------------


def test_restarts_find_the_best_of_many_runs():
    _, table = sampled(Tree.star(4, [3] * 6), 400)
    model = started(Tree.star(4, [3] * 6), table)
    starts = random_starts(model.tree, 24, np.random.default_rng(9))
    alone = [em(model.with_parameters(p), table).log_likelihood for p in starts]
    everyone = restart_em(model, table, rng=np.random.default_rng(9), n_init=24, finalists=24)
    np.testing.assert_allclose(everyone.starts, np.sort(alone)[::-1], atol=1e-4)  # side by side, rounding differs
    few = restart_em(model, table, rng=np.random.default_rng(9), n_init=24, finalists=3)
    assert len(few.starts) == 3 and few.evaluations < everyone.evaluations
    assert few.log_likelihood == few.starts[0] <= everyone.starts[0] + 1e-9


def test_the_halving_schedule_of_the_sources():
    """1, 3, 7, 15, ... steps: 8 starts cost 8x2 + 4x2 + 2x4 passes before one is left (Chickering & Heckerman)."""
    _, table = sampled(Tree.star(3, [2] * 6), 500)
    model = started(Tree.star(3, [2] * 6), table)
    fit = restart_em(model, table, rng=np.random.default_rng(0), n_init=8, accelerate=False, max_iterations=8, tol=0.0)
    assert fit.evaluations == 8 * 2 + 4 * 2 + 2 * 4 + 1 * 1
    assert len(fit.trace) == 9


# ---- local and partial -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [["r"], ["z1"], ["r", "z0"], ["z2", "r", "z1"]])
def test_local_em_climbs_the_whole_likelihood(nodes):
    _, table = sampled(nested(), 600, missing=0.15)
    start = started(nested(), table)
    before = Plan.of(start, table).log_likelihood(start.parameters)
    fit = local_em(start, table, nodes, max_iterations=30)
    assert climbs(fit.trace) and fit.trace[0] == pytest.approx(before, rel=1e-12)
    assert fit.trace[-1] == pytest.approx(fit.log_likelihood, rel=1e-12)
    assert fit.log_likelihood > before
    moved = start.rerooted(nodes[0])
    for v, name in enumerate(moved.tree.names):
        near = name in nodes or moved.tree.names[moved.tree.parent[v]] in nodes
        assert np.array_equal(fit.model.table(name), moved.table(v)) != near


def test_local_em_equals_em_with_the_other_tables_held():
    _, table = sampled(nested(), 400, missing=0.1)
    start = started(nested(), table).rerooted("z1")
    near = {"z1", *(start.tree.names[c] for c in start.tree.children[0])}
    held = [n for n in start.tree.names if n not in near]
    a = local_em(start, table, ["z1"], max_iterations=15, tol=0.0)
    b = em(start, table, held=held, accelerate=False, max_iterations=15, tol=0.0)
    np.testing.assert_allclose(a.trace, b.trace, rtol=1e-12)
    np.testing.assert_allclose(a.model.parameters, b.model.parameters, rtol=1e-8, atol=1e-12)


def test_local_em_needs_a_connected_place():
    _, table = sampled(nested(), 50)
    with pytest.raises(ModelError, match="neighbouring nodes; 'z1' is not joined"):
        local_em(started(nested(), table), table, ["z0", "z1"])


@pytest.mark.parametrize("node", ["r", "z1"])
def test_partial_em_moves_two_states_only(node):
    tree = nested(n_states=4)
    if node == "r":
        tree = tree.with_cardinality("r", 3)
    _, table = sampled(tree, 600)
    start = started(tree, table)
    fit = partial_em(start, table, node, [0, 2])
    assert climbs(fit.trace) and fit.objective > fit.trace[0]
    other = [s for s in range(int(tree.cardinality[tree.node(node)])) if s not in (0, 2)]
    assert np.array_equal(fit.model.table(node)[:, other], start.table(node)[:, other])
    assert not np.array_equal(fit.model.table(node), start.table(node))
    for c in tree.children[tree.node(node)]:
        assert np.array_equal(fit.model.table(c)[other], start.table(c)[other])
        assert not np.array_equal(fit.model.table(c)[[0, 2]], start.table(c)[[0, 2]])


# ---- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "'method' parameter of estimate must be one of 'accelerated', 'em'"),
        ({"tol": -1}, "'tol' parameter of estimate with method='accelerated' must be a number of at least 0"),
        ({"method": "local"}, "'nodes' parameter .* must be neighbouring nodes. Got None"),
        ({"method": "partial", "node": "z"}, "'states' parameter .* must be states of the node. Got None"),
        ({"method": "partial", "states": [0]}, "'node' parameter .* must be the name or position of a node. Got None"),
        ({"method": "restarts"}, "'rng' parameter .* must be a numpy.random.Generator. Got None"),
        ({"method": "em", "accelerate": True}, "'accelerate' parameter of estimate with method='em' must be False"),
        ({"threads": 2}, "'threads' of estimate with method='accelerated' is called 'n_jobs' now"),
        ({"method": "cg", "threads": 2}, "'threads' .* is called 'n_jobs' now"),
        ({"method": "restarts", "rng": np.random.default_rng(0), "n_starts": 2}, "'n_starts' .* 'n_init' now"),
        ({"held": 3}, "'held' parameter"),
        ({"prior": "flat"}, "'prior' parameter"),
        ({"budget": 3.0}, "'budget' parameter .* must be a Budget"),
        ({"max_iterations": 0}, "'max_iterations' parameter"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
        ({"prior": 0.5}, "at least 1 in the probability basis"),
        ({"prior": -1, "basis": "softmax"}, "at least 0 in the softmax basis"),
        ({"basis": "log"}, "'probability' or 'softmax'"),
        ({"method": "restarts", "rng": np.random.default_rng(0), "n_init": 0}, "'n_init' parameter"),
        ({"method": "restarts", "rng": np.random.default_rng(0), "q": 1}, "'q' parameter"),
    ],
)
def test_bad_arguments(options, message):
    table = Table.from_codes([[0, 1], [1, 0]])
    with pytest.raises(ParameterError, match=message):
        estimate(started(Tree.star(2, [2, 2]), table), table, **options)


@pytest.mark.parametrize("call", [em, lambda m, t, **o: fit_classes(t, 2, rng=np.random.default_rng(0), **o)])
def test_old_names_of_options_are_answered_with_the_new_ones(call):
    table = Table.from_codes([[0, 1], [1, 0]])
    with pytest.raises(ParameterError, match="is called 'n_jobs' now"):
        call(started(Tree.star(2, [2, 2]), table), table, threads=2)


@pytest.mark.parametrize(
    ("call", "new"),
    [
        (lambda t: lt.score.standard_errors(None, threads=2), "n_jobs"),
        (lambda t: lt.score.standard_errors(None, n_starts=2), "n_init"),
        (lambda t: lt.bayes.prior_on_classes(k_max=2), "max_classes"),
        (lambda t: lt.learn_classes(t, rng=None, threads=2), "n_jobs"),
    ],
)
def test_old_names_of_other_options_are_answered_too(call, new):
    with pytest.raises(ParameterError, match=f"is called '{new}' now"):
        call(Table.from_codes([[0, 1, 0], [1, 0, 0], [1, 1, 1]]))


def test_partial_em_holds_what_is_held_besides():
    _, table = sampled(Tree.star(3, [2, 3, 2, 3]), 300)
    start = started(Tree.star(3, [2, 3, 2, 3]), table)
    fit = estimate(start, table, method="partial", node="z", states=[0, 1], held=("x2",))
    assert np.array_equal(fit.model.table("x2"), start.table("x2"))
    assert np.array_equal(fit.model.table("x1")[2], start.table("x1")[2])
    assert not np.array_equal(fit.model.table("x1")[:2], start.table("x1")[:2])


def test_a_model_is_evaluated_as_it_is():
    truth, table = sampled(nested(), 50)
    fit = evaluate(truth, table)
    expected = reference.evaluate(truth.tree, truth.parameters, Plan.of(truth, table).evidence, table.weights)
    assert fit.model is truth and fit.evaluations == 1 and fit.reason is StopReason.FINISHED
    assert fit.log_likelihood == fit.objective == pytest.approx(expected.log_likelihood)
    np.testing.assert_allclose(fit.counts.vector, expected.vector, atol=1e-9)
    assert evaluate(truth, table, counts=fit.counts).counts is fit.counts


def test_bad_masks_and_priors():
    tree = Tree.star(2, [2, 3])
    with pytest.raises(ModelError, match="no node 'y'"):
        held_mask(tree, ["y"])
    with pytest.raises(ModelError, match="must be 1 x 2"):
        held_mask(tree, {"z": [True]})
    with pytest.raises(ModelError, match="must fit a table of 2 x 3"):
        pseudo_counts(tree, {"x2": [1.0, 2.0]})
    table = Table.from_codes([[0, 1]])
    with pytest.raises(ModelError, match="states 0 to 1"):
        partial_em(started(Tree.star(2, [1, 2]), table), table, "z", [0, 5])


def test_bad_number_of_classes():
    with pytest.raises(ParameterError, match="'n_classes' parameter of fit_classes must be a whole number"):
        fit_classes(Table.from_codes([[0]]), 0, rng=np.random.default_rng(0))


def test_a_few_points_at_a_time_change_nothing(monkeypatch):
    table = datasets.load("carcinoma")
    whole = fit_classes(table, 3, rng=np.random.default_rng(0))
    monkeypatch.setattr("latentree.estimation._em._WORK", 0)
    few = fit_classes(table, 3, rng=np.random.default_rng(0))
    assert few.log_likelihood == pytest.approx(whole.log_likelihood, abs=1e-9) and len(few.trace) == len(whole.trace)


def test_starts_that_had_no_turn_are_given_up_when_time_ends(monkeypatch):
    monkeypatch.setattr("latentree.estimation._em._WORK", 0)
    monkeypatch.setattr("latentree.estimation._classes.FEW_STARTS", 64)
    fit = fit_classes(datasets.load("carcinoma"), 3, rng=np.random.default_rng(0), budget=Budget(seconds=0))
    assert fit.reason is StopReason.TIME and len(fit.starts) == 8 and np.isfinite(fit.starts).all()
    assert fit.log_likelihood == pytest.approx(evaluate(fit.model, fit.table).log_likelihood)


def test_an_interrupt_in_a_long_first_pass_still_gives_a_model(monkeypatch):
    class Struck(Plan):
        calls = 0

        def evaluate_batch(self, *args, **options):
            Struck.calls += 1
            if Struck.calls == 1:
                raise KeyboardInterrupt
            return super().evaluate_batch(*args, **options)

    monkeypatch.setattr("latentree.estimation._em._WORK", 0)
    table = datasets.load("carcinoma")
    model = Model.random(Tree.star(2, table.cardinalities, table.names), table.variables, np.random.default_rng(0))
    fit = restart_em(model, table, rng=np.random.default_rng(0), n_init=20, plan=Struck.of(model, table))
    assert fit.reason is StopReason.INTERRUPTED and len(fit.starts) == 8
    assert fit.log_likelihood == pytest.approx(evaluate(fit.model, table).log_likelihood)


@pytest.mark.parametrize("work", [0, 10**9])
def test_an_interrupt_before_the_first_pass_still_gives_a_model(monkeypatch, work):
    """Ctrl-C between two looks of the engine: there was a fit without any pass, which nothing could be said of."""

    def struck(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("latentree.estimation._em._WORK", work)
    monkeypatch.setattr("latentree.estimation._em.EmRuns._slice", struck)
    table = datasets.load("carcinoma")
    fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    assert fit.reason is StopReason.INTERRUPTED and len(fit.trace) >= 1
    assert fit.log_likelihood == pytest.approx(evaluate(fit.model, table).log_likelihood)
