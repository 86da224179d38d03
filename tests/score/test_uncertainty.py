"""Standard errors: published, textbook and numerical ones; what has none; the bootstrap and its labels."""

from __future__ import annotations

import numpy as np
import pytest
import strategies as own
from fits import standing
from hypothesis import assume, given, settings, strategies as st

from latentree import datasets
from latentree._model import Model, row_starts
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.errors import DataError, ModelError, ParameterError
from latentree.estimation import em, fit_classes
from latentree.runner import Budget, StopReason
from latentree.score._moments import information_sums
from latentree.score._uncertainty import matched_labels, reordered, standard_errors


def seeded(seed=0):
    return np.random.default_rng(seed)


def values(k=2, **options):
    return fit_classes(datasets.load("values"), k, rng=seeded(), **{"tol": 1e-12, **options})


def clear_model(k=2, m=6, seed=0):
    """Classes that rows tell apart well."""
    rng = seeded(seed)
    tables = {"z": np.arange(1, k + 1) / np.arange(1, k + 1).sum()}
    for i in range(m):
        tables[f"x{i + 1}"] = 0.15 + 0.7 * np.eye(k)[rng.permutation(k)][:, :2]
        tables[f"x{i + 1}"] /= tables[f"x{i + 1}"].sum(axis=1, keepdims=True)
    return Model.from_tables(Tree.star(k, [2] * m), numbered([2] * m), tables)


# ---- right where the answer is known --------------------------------------------------------------------------------


def test_what_polca_prints():
    """Values, two classes, R package poLCA with broom's tidy(); it sums products of the rows' scores."""
    found = standard_errors(values(), method="scores")
    published = {"A": (0.0393, 0.0254), "B": (0.0489, 0.0649), "C": (0.0482, 0.0642), "D": (0.0379, 0.0929)}
    for name, errors in published.items():
        np.testing.assert_allclose(found.table(name)[:, 0], errors, atol=5.1e-5)
        np.testing.assert_allclose(found.table(name)[:, 1], errors, atol=5.1e-5)


@pytest.mark.parametrize("method", ["information", "robust"])
def test_one_class_is_the_binomial(method):
    fit = values(1)
    p, n = fit.model.parameters, fit.table.n
    found = standard_errors(fit, method=method)
    np.testing.assert_allclose(found.errors, np.sqrt(p * (1 - p) / n), rtol=1e-6, atol=1e-9)
    assert found.table("z").tolist() == [[0.0]]  # one state is certain


def test_an_observed_tree_is_the_multinomial():
    tree = Tree([-1, 0, 1], [2, 3, 2], [0, 1, 2])
    truth = Model.random(tree, numbered([2, 3, 2]), seeded(1))
    fit = em(truth, Table.from_codes(truth.sample(400, seeded(2)), truth.variables), tol=1e-12)
    found = standard_errors(fit)
    for v in range(3):
        p = fit.model.table(v)
        a, b = tree.offsets[v : v + 2]
        n = fit.counts.vector[a:b].reshape(p.shape).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found.table(v), np.sqrt(p * (1 - p) / n), rtol=1e-6)


@settings(max_examples=60)
@given(own.models_and_tables(max_nodes=7), st.data())
def test_second_derivatives_against_differences(pair, data):
    """Along the simplex, for any tree with observed inner nodes, latent leaves and missing cells."""
    model, table = pair
    model = model.with_parameters(data.draw(own.parameters(model.tree, zeros=False)))
    tree, theta = model.tree, model.parameters
    starts = set(row_starts(tree).tolist())
    ways = [np.eye(tree.size)[i] - np.eye(tree.size)[i - 1] for i in range(tree.size) if i not in starts]
    assume(ways)
    b = np.array(ways).T
    plan = Plan.of(model, table)

    def slopes(p):
        return b.T @ (plan.evaluate(p).vector / p)

    h = 1e-5
    numeric = np.array([(slopes(theta + h * d) - slopes(theta - h * d)) / (2 * h) for d in ways])
    first, second, third = information_sums(model, table)
    exact = b.T @ ((third - second) / np.outer(theta, theta)) @ b
    np.testing.assert_allclose(exact, numeric, rtol=1e-4, atol=1e-4 * max(1.0, np.abs(exact).max()))
    np.testing.assert_allclose(b.T @ (first / theta), slopes(theta), atol=1e-8)


def test_covariances_keep_rows_distributions_and_intervals_stay_inside():
    fit = values()
    found = standard_errors(fit, level=0.9)
    np.testing.assert_allclose(found.covariance.sum(axis=1), 0, atol=1e-9)
    assert ((found.lower > 0) & (found.lower < fit.model.parameters)).all()
    assert ((found.upper < 1) & (found.upper > fit.model.parameters)).all()
    wider = standard_errors(fit, level=0.99)
    assert (wider.upper > found.upper).all()
    p, se = fit.model.table("D")[0, 0], found.table("D")[0, 0]
    ends = np.log(p / (1 - p)) + np.array([-1, 1]) * 1.6448536 * se / (p * (1 - p))
    np.testing.assert_allclose([found.table("D", w)[0, 0] for w in ("lower", "upper")], 1 / (1 + np.exp(-ends)))


def test_a_weight_is_a_repetition():
    fit = values()
    codes = np.repeat(fit.table.codes, fit.table.weights.astype(int), axis=0)
    again = standing(fit.model, Table.from_codes(codes, fit.table.variables))
    doubled = standing(fit.model, fit.table.reweighted(2 * fit.table.weights))
    for method in ("information", "scores", "robust"):
        a = standard_errors(fit, method=method).errors
        np.testing.assert_allclose(a, standard_errors(again, method=method).errors, rtol=1e-9)
        np.testing.assert_allclose(a, np.sqrt(2) * standard_errors(doubled, method=method).errors, rtol=1e-9)


def test_blocks_change_nothing(monkeypatch):
    fit = values()
    a = standard_errors(fit).errors
    monkeypatch.setattr("latentree.score._moments.BLOCK_CELLS", 60)
    np.testing.assert_allclose(standard_errors(fit).errors, a, rtol=1e-10)


def test_a_prior_adds_information_and_what_is_held_has_no_error():
    fit = values(prior=3.0)
    plain, known = standard_errors(fit), standard_errors(fit, prior=3.0)
    assert any("not at a maximum" in text for text in plain.warnings)
    assert not any("not at a maximum" in text for text in known.warnings)
    assert (known.errors < plain.errors).all()
    one = values(1, prior=3.0)  # a Dirichlet posterior with alpha - 1 = 2 added to each state
    p = one.model.parameters[1:]
    np.testing.assert_allclose(standard_errors(one, prior=3.0).errors[1:], np.sqrt(p * (1 - p) / 220), rtol=1e-5)
    held = standard_errors(values(), held=("z",))
    assert held.table("z").tolist() == [[0.0, 0.0]]
    assert held.table("z", "lower").tolist() == held.model.table("z").tolist()
    assert (held.table("A") < standard_errors(values()).table("A")).all()


# ---- what has none ------------------------------------------------------------------------------------------------


def test_the_boundary_is_left_out_and_said():
    fit = fit_classes(datasets.load("carcinoma"), 3, rng=seeded())
    found = standard_errors(fit)
    p = fit.model.parameters
    np.testing.assert_array_equal(found.boundary, (p < 1e-6) | (p > 1 - 1e-6))
    assert found.boundary.sum() == 20
    assert np.isnan(found.errors[found.boundary]).all()
    assert np.isfinite(found.errors[~found.boundary]).all()
    assert any("20 of the 45 probabilities are 0 or 1" in text for text in found.warnings)
    assert found.to_dict()["nodes"]["C"]["lower"][1] == [None, None]
    assert any("within one standard error" in text for text in standard_errors(values()).warnings)


@pytest.mark.parametrize("tol", [1e-5, 1e-9])
def test_too_many_classes_are_not_determined(tol):
    """3:2,2,2,2 has 14 parameters but dimension 13 (SPEC 3): no probability of it is determined."""
    rng = seeded(3)
    truth = Model.random(Tree.star(3, [2] * 4), numbered([2] * 4), rng)
    fit = fit_classes(Table.from_codes(truth.sample(2000, rng), truth.variables), 3, rng=seeded(), tol=tol)
    assert fit.model.parameters.min() > 1e-6
    found = standard_errors(fit)
    assert found.unidentified.all()
    assert np.isnan(found.errors).all()
    assert any("do not determine" in text for text in found.warnings)


def test_states_that_coincide_do_not_hide_the_others():
    good = clear_model(3, 8)
    table = Table.from_codes(good.sample(1000, seeded(1)), good.variables)
    fit = em(good, table, tol=1e-12)
    m = fit.model
    share = m.table(0)[0]
    double = {"z": [*share[:2], share[2] / 2, share[2] / 2]}
    double |= {f"x{i}": np.vstack([m.table(f"x{i}"), m.table(f"x{i}")[2:]]) for i in range(1, 9)}
    twice = standing(Model.from_tables(Tree.star(4, [2] * 8), m.variables, double), table)
    a, b = standard_errors(fit), standard_errors(twice)
    for i in range(1, 9):
        np.testing.assert_allclose(b.table(f"x{i}")[:2], a.table(f"x{i}")[:2], rtol=1e-6)
        assert np.isnan(b.table(f"x{i}")[2:]).all()
    assert any("do not determine" in text or "negative eigenvalue" in text for text in b.warnings)


def test_an_empty_state_is_not_determined():
    m = values().model
    tables = {"z": [*m.table("z")[0], 0.0]}
    tables |= {v: np.vstack([m.table(v), [0.5, 0.5]]) for v in "ABCD"}
    wide = Model.from_tables(Tree.star(3, [2] * 4, list("ABCD")), m.variables, tables)
    found = standard_errors(standing(wide, values().table))
    assert found.table("A")[:2] == pytest.approx(standard_errors(values()).table("A"), rel=1e-6)
    assert np.isnan(found.table("A")[2]).all()


def test_a_saddle_is_no_maximum():
    model = Model.random(Tree.star(2, [2] * 4), numbered([2] * 4), seeded())
    table = Table.from_codes(clear_model(2, 4).sample(500, seeded(1)), model.variables)
    one = fit_classes(table, 1, rng=seeded())
    tables = {"z": [0.5, 0.5]} | {f"x{i}": np.repeat(one.model.table(f"x{i}"), 2, axis=0) for i in range(1, 5)}
    found = standard_errors(standing(Model.from_tables(model.tree, model.variables, tables), table))
    assert any("negative eigenvalue" in text for text in found.warnings)


def test_impossible_rows_have_no_information():
    model = Model.from_tables(Tree.star(1, [2]), numbered([2]), {"z": [1], "x1": [[1, 0]]})
    with pytest.raises(DataError, match="cannot produce"):
        standard_errors(standing(model, Table.from_codes([[1]], model.variables)))


# ---- the bootstrap ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parametric", [False, True])
def test_the_bootstrap_agrees_with_the_information_on_good_data(parametric):
    truth = clear_model(2, 6)
    fit = em(truth, Table.from_codes(truth.sample(1500, seeded(1)), truth.variables), tol=1e-10)
    options = {"method": "bootstrap", "n_replicates": 200, "n_init": 2, "parametric": parametric}
    found = standard_errors(fit, rng=seeded(), n_jobs=2, **options)
    np.testing.assert_allclose(found.errors, standard_errors(fit).errors, rtol=0.3)
    assert found.n_replicates == 200
    assert (found.lower < fit.model.parameters).all()
    assert (found.upper > fit.model.parameters).all()
    again = standard_errors(fit, rng=seeded(), n_jobs=1, **options)
    np.testing.assert_array_equal(again.errors, found.errors)


def test_labels_are_matched_in_every_latent():
    tree = Tree([-1, 0, 0, 0, 1, 1, 1], [3, 3, 2, 2, 2, 2, 2], [-1, -1, 0, 1, 2, 3, 4])
    model = Model.random(tree, numbered([2] * 5), seeded(0))
    moved = reordered(tree, model.parameters, 0, np.array([2, 0, 1]))
    moved = reordered(tree, moved, 1, np.array([1, 0, 2]))
    assert matched_labels(model.with_parameters(moved), model) == model
    with pytest.raises(ModelError, match="same structure"):
        matched_labels(model, clear_model())


def test_the_bootstrap_stops_when_told():
    fit = values()
    none = standard_errors(fit, method="bootstrap", rng=seeded(), budget=Budget(seconds=0))
    assert none.reason is StopReason.TIME
    assert np.isnan(none.errors).all()
    assert "Fewer than two" in none.warnings[0]


def test_arguments_are_checked():
    fit = values()
    with pytest.raises(ParameterError, match="method"):
        standard_errors(fit, method="magic")
    with pytest.raises(ParameterError, match="level"):
        standard_errors(fit, level=95)
    with pytest.raises(ParameterError, match="Generator for the bootstrap"):
        standard_errors(fit, method="bootstrap")
    odd = fit_classes(fit.table.reweighted(fit.table.weights / 7), 2, rng=seeded())
    assert np.isfinite(standard_errors(odd).errors).all()
    few = standard_errors(odd, method="bootstrap", rng=seeded(), n_replicates=5)  # 30.86 rows
    assert np.isfinite(few.errors).all()
