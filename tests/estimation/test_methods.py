"""Every estimation method: it climbs, it gets where EM gets, its slopes are right, and it leaves no simplex."""

from __future__ import annotations

import warnings

import numpy as np
import oracle
import pytest
import slow_engine as reference
import strategies as own
from hypothesis import given, settings, strategies as st

from latentree._model import Model, normalised, random_parameters, row_sums
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine._messages import Messages
from latentree.engine._plan import Evidence, Plan
from latentree.errors import LatentreeWarning, ParameterError
from latentree.estimation import METHODS, at_independence, em, estimate
from latentree.estimation._conjugate import BETAS
from latentree.estimation._line_search import Line, golden_section, wolfe
from latentree.estimation._simplex import furthest, projected, released, tangent
from latentree.estimation._surface import FLOOR, Surface
from latentree.estimation._winner_take_all import most_probable
from latentree.runner import Budget, StopReason

CLIMBING = (
    "incremental",
    "preferential",
    "sparse",
    "winner-take-all",
    "one-step-late",
    "cg",
    "gcg",
    "gp-eta",
    "eg-eta",
    "em-eta",
    "acg-theta",
    "acg-theta-chi2",
    "acg-phi",
)
"""Those that converge: all but Nowlan's and annealing."""
ALL = (*CLIMBING, "nowlan", "annealing")
RATED = ("gp-eta", "eg-eta", "em-eta", "acg-theta", "acg-theta-chi2", "acg-phi")
PAIR = Tree.from_edges(
    [("u", "v"), ("u", "a"), ("u", "b"), ("u", "c"), ("v", "d"), ("v", "e"), ("v", "f")],
    {"u": 2, "v": 2, "a": 2, "b": 3, "c": 2, "d": 2, "e": 3, "f": 2},
    list("abcdef"),
)


def quiet(*args, **options):
    """Estimate, without word of independence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentreeWarning)
        return estimate(*args, **options)


def problem(tree, n, seed, *, missing=0.0, weighted=False, dominant=0.7):
    """A start near a maximum that EM found, the table, and that maximum."""
    rng = np.random.default_rng(seed)
    truth = Model.random(tree, numbered(tree.cardinality[tree.manifest]), rng, dominant)
    codes = truth.sample(n, rng)
    codes[rng.random(codes.shape) < missing] = -1
    weights = rng.uniform(0.3, 2.5, n) if weighted else None
    table = Table.from_codes(codes, truth.variables, weights)
    return Model(tree, table.variables, random_parameters(tree, rng)), table, rng


def nearby(model, top, rng, share=0.03):
    """A point close to the top, on the same hill."""
    mixed = (1 - share) * top.model.parameters + share * random_parameters(model.tree, rng)
    return model.with_parameters(mixed)


# ---- slopes ---------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(own.models_and_tables(max_nodes=5), st.sampled_from([None, 2.5]), st.sampled_from([1.0, 0.4]), st.data())
def test_gradients_are_differences(pair, prior, beta, data):
    from latentree.estimation._annealing import AnnealedSurface

    model, table = pair
    theta = data.draw(own.parameters(model.tree, zeros=False))
    held = data.draw(st.lists(st.sampled_from(model.tree.names), max_size=1))
    s = AnnealedSurface(Plan.of(model, table), theta, beta, prior=prior, held=held)
    point = s.at(theta)
    rng = np.random.default_rng(0)
    for _ in range(3):
        d = np.where(s.free, rng.standard_normal(len(theta)) * theta, 0.0)
        d -= np.where(s.free, theta, 0.0) * s.spread(s.row_sums(d) / s.left)  # rows keep their sums
        h = 1e-6
        slope = (s.at(theta + h * d).objective - s.at(theta - h * d).objective) / (2 * h)
        scale = 1e-6 * (1 + abs(point.objective))
        assert point.gradient @ d == pytest.approx(slope, rel=1e-5, abs=scale)
        along = np.where(s.free, d / theta, 0.0)  # the same direction in the logarithms
        assert point.softmax_gradient @ along == pytest.approx(slope, rel=1e-5, abs=scale)


def test_gradient_at_zero_is_what_the_engine_sees():
    """An entry at zero: the slope is that of the likelihood when it leaves zero."""
    model, table, _ = problem(Tree.star(2, [2, 3, 2, 2]), 80, 0)
    theta = model.parameters.copy()
    row = slice(int(model.tree.offsets[2]), int(model.tree.offsets[2]) + 3)
    theta[row] = [0.0, 0.4, 0.6]
    s = Surface(Plan.of(model, table), model.parameters)
    point = s.at(s.tidied(np.where(theta == 0, 0.0, theta), np.full_like(theta, 1e-9)))
    h = 1e-7
    moved = point.parameters.copy()
    moved[row] = [h, 0.4 - h, 0.6]
    slope = (s.at(moved).objective - point.objective) / h
    d = np.zeros_like(theta)
    d[row] = [1, -1, 0]
    assert point.gradient @ d == pytest.approx(slope, rel=1e-4)


@settings(max_examples=40)
@given(own.models(5), st.floats(0.1, 0.95), st.data())
def test_the_annealed_objective_is_its_definition(model, beta, data):
    from latentree.estimation._annealing import AnnealedSurface

    table = data.draw(own.tables(model.variables, 5, missing=False))
    s = AnnealedSurface(Plan.of(model, table), model.parameters, beta)
    powers = np.where(model.parameters > 0, model.parameters**beta, 0.0)
    expected = oracle.evaluate(model.tree, powers, oracle.table_evidence(model, table), table.weights)
    seen = s.at(model.parameters)
    assert seen.objective == pytest.approx(expected.log_likelihood / beta, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(seen.counts, expected.vector, atol=1e-9)


# ---- climbing -------------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(own.models_and_tables(max_nodes=5), st.sampled_from(ALL), st.data())
def test_no_trace_falls_and_no_row_leaves_its_simplex(pair, method, data):
    model, table = pair
    theta = data.draw(own.parameters(model.tree))
    start = model.with_parameters(theta)
    prior = data.draw(st.sampled_from([None, 1.5]))
    held = data.draw(st.lists(st.sampled_from(model.tree.names), max_size=2, unique=True))
    fit = quiet(start, table, method=method, prior=prior, held=held, max_iterations=12, tol=1e-9)
    if method in CLIMBING:
        assert (np.diff(fit.trace) >= 0).all()
    assert len(fit.trace) <= 13 and fit.evaluations >= 1
    assert (fit.model.parameters >= 0).all()
    np.testing.assert_allclose(row_sums(model.tree, fit.model.parameters), 1.0, rtol=1e-9)
    for name in held:
        assert np.array_equal(fit.model.table(name), start.table(name))
    check = reference.evaluate(model.tree, fit.model.parameters, Plan.of(model, table).evidence, table.weights)
    assert fit.log_likelihood == pytest.approx(check.log_likelihood, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(fit.counts.vector, check.vector, atol=1e-7 * max(1.0, table.n))
    if prior is None:
        assert ((theta > 0) | (fit.model.parameters == 0)).all()  # zeros stay zeros, as in EM


PROBLEMS = {
    "two classes": (Tree.star(2, [2] * 5), 200, {}, {}),
    "three classes of mixed leaves": (Tree.star(3, [2, 3, 2, 4]), 200, {"missing": 0.1}, {"prior": 2.0}),
    "weights": (Tree.star(2, [3, 3, 3, 3]), 150, {"weighted": True}, {}),
    "a tree": (PAIR, 400, {"missing": 0.1}, {"prior": 1.2}),
    "known components": (Tree.star(4, [2] * 5), 100, {"dominant": None}, {"held": tuple(f"x{i}" for i in range(1, 6))}),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", CLIMBING)
def test_reaches_what_em_reaches_from_the_same_hill(method, name):
    tree, n, of_data, options = PROBLEMS[name]
    for seed in range(2):
        model, table, rng = problem(tree, n, seed, **of_data)
        top = em(model, table, tol=1e-13, accelerate=False, max_iterations=200_000, **options)
        if "held" in options:  # one hill: start anywhere
            start = model
        else:
            start = nearby(model, top, rng)
            top = em(start, table, tol=1e-13, accelerate=False, max_iterations=200_000, **options)
        fit = quiet(start, table, method=method, tol=1e-9, max_iterations=50_000, **options)
        assert fit.converged
        if method == "winner-take-all":  # its first stage may change hills: EM must have nothing to add
            top = em(fit.model, table, tol=1e-13, accelerate=False, max_iterations=200_000, **options)
        assert fit.objective >= top.objective - 1e-6
        assert fit.objective <= top.objective + 1e-4  # the same hill


@pytest.mark.parametrize("method", CLIMBING)
def test_a_maximum_on_the_boundary_is_reached_and_not_crossed(method):
    """Classes that never give one of the answers; the likelihood is highest with zeros."""
    table = Table.from_codes([[0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 0, 1]], weights=[30, 40, 6, 0.5])
    tables = {"z": [[0.4, 0.6]], **{x: [[0.8, 0.2], [0.3, 0.7]] for x in ("x1", "x2", "x3")}}
    start = Model.from_tables(Tree.star(2, [2, 2, 2]), table.variables, tables)
    top = em(start, table, tol=1e-13)
    fit = quiet(start, table, method=method, tol=1e-10, max_iterations=50_000)
    assert fit.converged and fit.objective == pytest.approx(top.objective, abs=1e-6)
    small = top.model.parameters < 1e-8
    assert small.any()
    assert (fit.model.parameters >= 0).all() and fit.model.parameters[small].max() < 1e-6
    if method in ("cg", "gcg", "acg-theta"):
        assert (fit.model.parameters == 0).any()  # zero itself, not only nearly so


def test_an_entry_at_zero_that_should_not_be_there_comes_back():
    model, table, _ = problem(Tree.star(2, [2, 3, 2, 2]), 200, 1)
    s = Surface(Plan.of(model, table), model.parameters)
    theta = model.parameters.copy()
    at = int(model.tree.offsets[2])
    theta[at : at + 3] = [0.5, 0.5, FLOOR]
    point = s.at(theta)
    higher = released(point)
    assert higher is not None and higher.objective > point.objective and higher.parameters[at + 2] > 1e-3
    for method in ("cg", "gcg", "gp-eta", "eg-eta", "em-eta", "acg-theta", "acg-theta-chi2", "acg-phi"):
        options = {} if method not in ("cg", "gcg") else {"warm_up": False}
        fit = quiet(model.with_parameters(theta), table, method=method, tol=1e-8, max_iterations=20_000, **options)
        end = s.at(s.tidied(fit.model.parameters, np.zeros_like(theta)))
        assert fit.converged and end.promise < 1e-6  # no entry is at zero that should not be


# ---- single methods -------------------------------------------------------------------------------------------------


def held_leaves(seed=0):
    model, table, _ = problem(Tree.star(4, [2] * 5), 100, seed, dominant=None)
    return model, table, tuple(f"x{i}" for i in range(1, 6))


def test_em_eta_at_one_is_em_for_the_root():
    model, table, leaves = held_leaves()
    a = quiet(model, table, method="em-eta", rate=1.0, held=leaves, max_iterations=8, tol=0)
    b = em(model, table, accelerate=False, held=leaves, max_iterations=8, tol=0)
    np.testing.assert_allclose(a.model.parameters, b.model.parameters, rtol=1e-9)
    c = quiet(model, table, method="em-eta", rate=1.0, max_iterations=1, tol=0)
    d = em(model, table, accelerate=False, max_iterations=1, tol=0)
    assert np.abs(c.model.parameters - d.model.parameters).max() > 1e-3  # elsewhere it is slower


def mean_gradient(model, table):
    return Plan.of(model, table).evaluate(model.parameters).vector / model.parameters / table.n


def test_one_step_of_each_of_helmbolds_methods_is_its_formula():
    model, table, _ = problem(Tree.star(2, [2, 3, 2]), 120, 3)
    theta, g, eta = model.parameters, mean_gradient(model, table), 1e-3
    tree = model.tree
    widths = np.repeat(tree.cardinality, tree.rows)

    def over(values):
        return np.repeat(row_sums(tree, values), widths)

    expected = {
        "gp-eta": theta + eta * (g - over(g) / np.repeat(widths, widths)),  # (2.17)
        "eg-eta": normalised(tree, theta * np.exp(eta * g)),  # (2.18)
        "em-eta": theta * (eta * (g - over(theta * g)) + 1),  # (2.19)
    }
    for method, place in expected.items():
        fit = quiet(model, table, method=method, rate=eta, max_iterations=1, tol=0)
        np.testing.assert_allclose(fit.model.parameters, place, rtol=1e-12)


def test_the_first_step_of_approximate_conjugate_gradients_is_along_the_gradient():
    model, table, _ = problem(Tree.star(2, [2, 3, 2]), 120, 3)
    theta, eta = model.parameters, 1e-3
    point = Surface(Plan.of(model, table), theta).at(theta)
    g = tangent(point)[0] / table.n
    first = quiet(model, table, method="acg-theta", rate=eta, max_iterations=1, tol=0)
    np.testing.assert_allclose(first.model.parameters, theta + eta * g, rtol=1e-10)
    first = quiet(model, table, method="acg-theta-chi2", rate=eta, max_iterations=1, tol=0)
    np.testing.assert_allclose(first.model.parameters, theta + eta * (g @ g) / (g**2 / theta).sum() * g, rtol=1e-10)
    first = quiet(model, table, method="acg-phi", rate=eta, max_iterations=1, tol=0)
    g = point.softmax_gradient / table.n
    np.testing.assert_allclose(first.model.parameters, normalised(model.tree, theta * np.exp(eta * g)), rtol=1e-10)


@pytest.mark.parametrize("method", RATED)
def test_no_rate_makes_a_method_diverge(method):
    model, table, _ = problem(Tree.star(2, [2] * 4), 100, 5)
    for rate in (1e-6, 1e6):
        fit = quiet(model, table, method=method, rate=rate, max_iterations=30)
        assert (np.diff(fit.trace) >= 0).all() and np.isfinite(fit.trace).all() and len(fit.trace) > 1


def test_conjugate_gradients_need_far_fewer_steps_than_em():
    for seed in range(4):
        model, table, _ = problem(Tree.star(2, [2] * 4), 100, seed, dominant=None)
        plain = em(model, table, accelerate=False, tol=1e-9, max_iterations=100_000)
        fit = quiet(model, table, method="gcg", tol=1e-9)
        assert fit.converged and len(fit.trace) < len(plain.trace) / 3 and fit.evaluations < plain.evaluations / 2


def test_all_betas_and_both_line_searches_climb_to_the_same_top():
    model, table, rng = problem(Tree.star(2, [3] * 4), 300, 2)
    top = em(model, table, tol=1e-13)
    start = nearby(model, top, rng)
    passes = {}
    for beta in BETAS:
        for search in ("wolfe", "golden"):
            fit = quiet(start, table, method="cg", beta=beta, line_search=search, tol=1e-9)
            assert fit.converged and fit.objective == pytest.approx(top.objective, abs=1e-6)
            passes[search] = fit.evaluations
    assert passes["wolfe"] < passes["golden"] / 3


def test_line_searches_find_the_top_of_a_line():
    model, table, _ = problem(Tree.star(3, [3] * 4), 300, 4)
    s = Surface(Plan.of(model, table), model.parameters)
    point = s.at(model.parameters)
    d, _ = tangent(point)
    line = Line(point, d, furthest(point.parameters, d))
    (a, step), (b, _) = golden_section(line), wolfe(line, line.likely())
    assert abs(a.gradient @ d) < 1e-2 * line.slope or step > 0.999 * line.most
    assert abs(b.gradient @ d) <= 0.1 * line.slope or b.objective >= a.objective - 1e-6
    assert 0 < line.likely() <= line.most


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.booleans())
def test_projection_is_the_nearest_point(seed, weighted):
    rng = np.random.default_rng(seed)
    tree = Tree.star(2, [3, 4])
    table = Table.from_codes([[0, 0], [1, 1]], [3, 4])
    theta = random_parameters(tree, rng)
    s = Surface(Plan.of(Model(tree, table.variables, theta), table), theta)
    target = theta + rng.standard_normal(tree.size)
    metric = theta if weighted else np.ones(tree.size)
    out = projected(s, target, metric, np.zeros(tree.size))
    assert (out >= 0).all()
    np.testing.assert_allclose(s.row_sums(out), 1.0)
    distance = ((out - target) ** 2 / metric).sum()
    for _ in range(20):  # no point of the simplices is nearer
        other = 0.9 * out + 0.1 * random_parameters(tree, rng)
        assert ((other - target) ** 2 / metric).sum() >= distance - 1e-9


# ---- parts of the data, parts of the states -------------------------------------------------------------------------


def test_incremental_with_one_block_is_em():
    model, table, _ = problem(PAIR, 200, 0, missing=0.1)
    a = quiet(model, table, method="incremental", n_blocks=1, max_iterations=9, tol=0)
    b = em(model, table, accelerate=False, max_iterations=10, tol=0)
    np.testing.assert_allclose(a.model.parameters, b.model.parameters, rtol=1e-8)


def test_incremental_statistics_are_exact():
    """One pattern at a time, done anew in the plainest way."""
    model, table, _ = problem(Tree.star(2, [2] * 3), 40, 1)
    from latentree.estimation._classes import order_of_rows

    order = order_of_rows(table)
    evidence = Plan.of(model, table).evidence
    rows = [Plan(model.tree, [Evidence(e.node, e.ids[[r]]) for e in evidence], table.weights[[r]]) for r in order]
    each = [p.evaluate(model.parameters).vector for p in rows]
    theta = normalised(model.tree, sum(each))
    for _ in range(3):
        for i, p in enumerate(rows):
            each[i] = p.evaluate(theta).vector
            theta = normalised(model.tree, sum(each))
    fit = quiet(model, table, method="incremental", n_blocks=10**6, max_iterations=3, tol=0)
    np.testing.assert_allclose(fit.model.parameters, theta, rtol=1e-9)


@pytest.mark.parametrize("method", ["incremental", "preferential", "nowlan", "sparse"])
def test_the_order_of_rows_changes_nothing(method):
    model, table, rng = problem(PAIR, 150, 0, missing=0.1)
    codes = table.codes[table.inverse]
    other = Table.from_codes(codes[rng.permutation(len(codes))], table.variables)
    a, b = (quiet(model, t, method=method, max_iterations=6, tol=0) for t in (table, other))
    np.testing.assert_allclose(a.model.parameters, b.model.parameters, rtol=1e-7)


def test_sparse_is_em_when_everything_is_plausible():
    model, table, _ = problem(PAIR, 200, 0, missing=0.1)
    b = em(model, table, accelerate=False, max_iterations=10, tol=0)
    for options in ({"every": 1}, {"plausible": 1e-12, "every": 4}):
        a = quiet(model, table, method="sparse", max_iterations=9, tol=0, **options)
        np.testing.assert_allclose(a.model.parameters, b.model.parameters, rtol=1e-6)


@settings(max_examples=60)
@given(own.models_and_tables(max_nodes=5))
def test_the_winner_is_the_most_probable_state(pair):
    model, table = pair
    plan = Plan.of(model, table)
    total = most_probable(plan, model.parameters).log_likelihood
    states = Messages(plan.tree, model.parameters, plan.evidence, "max").states
    evidence, expected = oracle.table_evidence(model, table), 0.0
    for row, weight in enumerate(table.weights):
        p, _ = oracle.row_joint(model.tree, model.parameters, evidence, row)
        out = tuple(sorted(oracle.absent(model.tree, evidence, row)))
        p = p.sum(axis=out, keepdims=True)
        with np.errstate(divide="ignore"):
            expected += weight * np.log(p.max())
        chosen = tuple(0 if v in out else int(states[row, v]) for v in range(model.tree.n_nodes))
        assert all(states[row, v] == -1 for v in out)
        if p.max() > 0:
            assert p[chosen] == pytest.approx(p.max(), rel=1e-9)
    assert total == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_winner_take_all_alone_ends_where_no_row_changes_its_state():
    model, table, _ = problem(PAIR, 200, 0)
    fit = quiet(model, table, method="winner-take-all", finish=False)
    assert fit.converged and fit.objective <= fit.log_likelihood
    total = most_probable(Plan.of(model, table), fit.model.parameters).log_likelihood
    assert total == pytest.approx(fit.objective, abs=1e-5)


def test_nowlans_variant_is_quick_and_dirty():
    model, table, _ = problem(Tree.star(2, [2] * 6), 500, 0, dominant=0.8)
    top = em(model, table, tol=1e-10)
    fit = quiet(model, table, method="nowlan")
    assert fit.log_likelihood > em(model, table, accelerate=False, max_iterations=2).log_likelihood
    assert fit.log_likelihood <= top.log_likelihood + 1e-6
    short = quiet(model, table, method="nowlan", decay=0.9)
    assert short.log_likelihood < top.log_likelihood - 1e-3  # a short memory never gets there


def test_a_penalty_one_step_late_does_what_a_prior_does():
    model, table, _ = problem(Tree.star(2, [2, 3, 2, 2]), 150, 0)

    def penalty(theta, strength=1.5):
        return -strength * np.log(theta).sum(), -strength / theta

    late = quiet(model, table, method="one-step-late", penalty=penalty, tol=1e-10)
    prior = em(model, table, prior=2.5, tol=1e-12)
    assert late.converged and late.objective == pytest.approx(prior.objective, abs=1e-6)
    np.testing.assert_allclose(late.model.parameters, prior.model.parameters, atol=1e-4)
    assert (np.diff(late.trace) >= 0).all()


# ---- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ALL)
def test_ctrl_c_keeps_the_last_whole_step(method, monkeypatch):
    model, table, _ = problem(Tree.star(2, [3] * 5), 200, 0)
    calls, evaluate = 0, Plan.evaluate

    def interrupted(self, *args, **options):
        nonlocal calls
        calls += 1
        if calls == (40 if method in ("incremental", "preferential", "nowlan") else 12):
            raise KeyboardInterrupt
        return evaluate(self, *args, **options)

    def stop(*_):
        raise KeyboardInterrupt

    if method == "winner-take-all":  # its first stage has passes of its own
        monkeypatch.setattr("latentree.estimation._winner_take_all.most_probable", stop)
    monkeypatch.setattr(Plan, "evaluate", interrupted)
    fit = quiet(model, table, method=method, tol=0)
    assert fit.reason is StopReason.INTERRUPTED
    assert np.isfinite(fit.log_likelihood) and len(fit.trace) < 14


@pytest.mark.parametrize("method", ALL)
def test_time_is_kept_and_progress_is_told(method, monkeypatch):
    monkeypatch.setattr("latentree.estimation._ascent._PAUSE", 0.0)
    model, table, _ = problem(Tree.star(2, [3] * 5), 200, 0)
    assert quiet(model, table, method=method, budget=Budget(seconds=0)).reason is StopReason.TIME
    told = []
    fit = quiet(model, table, method=method, max_iterations=2, tol=0, on_progress=told.append)
    assert fit.reason is StopReason.ITERATIONS and told and told[-1].total in (1, 2)
    assert {p.stage for p in told} <= {method, "EM"}


@pytest.mark.parametrize("method", ALL)
def test_threads_change_nothing_and_impossible_data_are_said_to_be_so(method):
    model, table, _ = problem(PAIR, 150, 0)
    a, b = (quiet(model, table, method=method, max_iterations=4, tol=0, n_jobs=t) for t in (1, 2))
    assert np.array_equal(a.model.parameters, b.model.parameters) and np.array_equal(a.trace, b.trace)
    theta = model.parameters.copy()
    theta[:2], at = [1.0, 0.0], int(PAIR.offsets[PAIR.node("a")])
    theta[at : at + 2] = [0.0, 1.0]
    fit = quiet(model.with_parameters(theta), table, method=method)
    assert fit.reason is StopReason.IMPOSSIBLE and fit.log_likelihood == -np.inf
    fit = quiet(model.with_parameters(theta), table, method=method, prior=1.5, max_iterations=3)
    assert np.isfinite(fit.log_likelihood)  # a prior makes them possible


@pytest.mark.parametrize("method", ALL)
def test_a_weight_is_a_repetition(method):
    model, table, rng = problem(PAIR, 60, 0, missing=0.1)
    times = rng.integers(1, 4, table.n_patterns)
    weighted = Table.from_codes(table.codes, table.variables, times)
    repeated = Table.from_codes(np.repeat(table.codes, times, axis=0), table.variables)
    a, b = (quiet(model, t, method=method, max_iterations=5, tol=0) for t in (weighted, repeated))
    np.testing.assert_allclose(a.trace, b.trace, rtol=1e-12)
    np.testing.assert_allclose(a.model.parameters, b.model.parameters, rtol=1e-9, atol=1e-15)


def test_bad_input_says_what_exists():
    model, table, _ = problem(Tree.star(2, [2] * 3), 20, 0)
    with pytest.raises(ParameterError, match=r"'method'.*'accelerated', 'em'.*'gcg'.*'annealing'.*Got 'newton'"):
        estimate(model, table, method="newton")
    for method in RATED:
        for rate in (0, -1.0, np.nan, np.inf, "fast", True):
            with pytest.raises(ParameterError, match=r"'rate'.*above 0"):
                estimate(model, table, method=method, rate=rate)
    for schedule in ((0.1, 0.5), (), (0.5, 0.2, 1.0), (0.0, 1.0), (0.5, 1.0, 1.5), "hot", 1.0):
        with pytest.raises(ParameterError, match=r"'schedule'.*end at 1"):
            estimate(model, table, method="annealing", schedule=schedule)
    for method, options in (
        ("cg", {"beta": "mine"}),
        ("gcg", {"line_search": "none"}),
        ("incremental", {"n_blocks": 0}),
        ("sparse", {"plausible": 1.0}),
        ("sparse", {"every": 0}),
        ("nowlan", {"decay": 1.0}),
        ("one-step-late", {"penalty": 3}),
        ("gp-eta", {"tol": -1}),
        ("annealing", {"max_iterations": 0}),
    ):
        with pytest.raises(ParameterError, match=next(iter(options))):
            estimate(model, table, method=method, **options)
    with pytest.raises(ParameterError, match=r"no option 'rate' of estimate with method='cg'. It has .*line_search"):
        estimate(model, table, method="cg", rate=1.0)
    with pytest.raises(ParameterError, match=r"'method'.*Did you mean 'annealing'"):
        estimate(model, table, method="anealing")
    with pytest.raises(ParameterError, match=r"no option 'line_serach'.*Did you mean 'line_search'"):
        estimate(model, table, method="gcg", line_serach="wolfe")
    assert set(ALL) < set(METHODS)


def test_a_fit_that_is_no_independence_model_does_not_warn():
    model, table, _ = problem(Tree.star(2, [2] * 5), 200, 0, dominant=0.8)
    for method in ("em", "accelerated", "incremental", "cg", "gcg"):
        assert not at_independence(estimate(model, table, method=method, max_iterations=300))
