"""Tests that reviewers ask for: missing completely at random, Vuong-Lo-Mendell-Rubin, items between classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.errors import ModelError
from latentree.estimation import fit_classes
from latentree.score import item_tests, mcar_test, standard_errors, vuong_lrt
from latentree.score._vuong import row_scores, weighted_chi_square_tail


def seeded(seed=0):
    return np.random.default_rng(seed)


def two_class_codes(rng, n, items=4):
    z = rng.random(n) < 0.4
    theta = np.where(z[:, None], 0.8, 0.25)
    return (rng.random((n, items)) < theta).astype(np.int16)


# ---- missing completely at random -----------------------------------------------------------------------------------


def gaps(rng, codes, how):
    codes = codes.copy()
    if how == "random":
        codes[rng.random(codes.shape) < 0.15] = -1
    else:  # more often where the first item, always known, is 1
        gone = rng.random((len(codes), codes.shape[1] - 1)) < np.where(codes[:, :1] == 1, 0.3, 0.1)
        codes[:, 1:][gone] = -1
    return Table.from_codes(codes, [2] * codes.shape[1])


def test_mcar_has_its_level():
    rng = seeded(3)
    p = np.array([mcar_test(gaps(rng, two_class_codes(rng, 400), "random")).p_value for _ in range(150)])
    assert 0.01 <= np.mean(p <= 0.05) <= 0.11  # 0.05 +- 3.4 standard errors
    assert 0.42 <= np.mean(p) <= 0.58


def test_mcar_finds_what_depends_on_a_value():
    rng = seeded(4)
    p = np.array([mcar_test(gaps(rng, two_class_codes(rng, 400), "dependent")).p_value for _ in range(20)])
    assert np.mean(p <= 0.05) >= 0.9


def test_mcar_two_groups_by_hand():
    """One variable always known, the other missing in a part: the statistic compares the shares of the first."""
    rng = seeded(5)
    codes = rng.integers(0, 2, (300, 2)).astype(np.int16)
    codes[:120, 1] = -1
    found = mcar_test(Table.from_codes(codes, [2, 2]))
    share = codes[:, 0].mean()
    variance = share * (1 - share)
    # the means of the second variable are fitted exactly; Mahalanobis distances reduce to those of the first
    by_hand = sum(len(g) * (g.mean() - share) ** 2 / variance for g in (codes[:120, 0], codes[120:, 0]))
    assert found.degrees_of_freedom == 1
    assert found.statistic == pytest.approx(by_hand, abs=1e-4)
    assert found.p_value == pytest.approx(chi2.sf(by_hand, 1), abs=1e-4)


def test_mcar_weights_are_repetitions_and_nothing_missing_is_no_test():
    rng = seeded(6)
    codes, weights = two_class_codes(rng, 60), rng.integers(1, 4, 60)
    codes[rng.random(codes.shape) < 0.2] = -1
    once = mcar_test(Table.from_codes(codes, [2] * 4, weights))
    again = mcar_test(Table.from_codes(np.repeat(codes, weights, axis=0), [2] * 4))
    assert once.statistic == pytest.approx(again.statistic)
    assert once.to_dict()["n_patterns"] == again.n_patterns
    none = mcar_test(datasets.load("carcinoma"))
    assert none.p_value is None
    assert none.reason == "No cell is missing."


# ---- Vuong, Lo, Mendell and Rubin -----------------------------------------------------------------------------------


@pytest.mark.parametrize("df", [1, 2, 5, 40])
@pytest.mark.parametrize("p", [0.9, 0.5, 0.05, 0.001])
def test_equal_weights_are_a_chi_square(df, p):
    assert weighted_chi_square_tail(2.5 * chi2.isf(p, df), np.full(df, 2.5)) == pytest.approx(p, abs=1e-5)


def test_weighted_chi_squares_by_simulation():
    weights = np.array([3.0, 1.5, 0.7, 0.7, -0.4, 0.1])
    draws = seeded().chisquare(1, (200_000, len(weights))) @ weights
    for x in (0.0, 3.0, 10.0, 25.0):
        share = np.mean(draws > x)
        error = np.sqrt(max(share * (1 - share), 1e-6) / len(draws))
        assert weighted_chi_square_tail(x, weights) == pytest.approx(share, abs=5 * error)


@pytest.mark.parametrize("missing", [False, True])
def test_scores_and_hessian_are_derivatives(missing):
    """Against differences of the log-likelihood in the logits, with weights, three states and missing cells."""
    from latentree.engine._plan import Plan
    from latentree.estimation import evaluate

    rng = seeded(2)
    model = Model.random(Tree.star(2, [2, 3, 2]), numbered([2, 3, 2]), rng)
    codes = model.sample(60, rng)
    if missing:
        codes[rng.random(codes.shape) < 0.2] = -1
    table = Table.from_codes(codes, model.variables, rng.integers(1, 4, 60))
    fit = evaluate(model, table)
    found = row_scores(fit)
    plan = Plan.of(model, table)
    rows = []  # a direction in the logits for each free entry, in the order of row_scores
    widths = [2, *[m for c in range(2) for m in (2, 3, 2)]]
    offsets = model.tree.offsets
    starts = [0] + [int(offsets[v]) + c * m for c in range(2) for v, m in zip((1, 2, 3), (2, 3, 2), strict=True)]
    theta = model.parameters
    for start, width in zip(starts, widths, strict=True):
        own = theta[start : start + width]
        rows += [(start, width, j) for j in range(width) if j != own.argmax()]

    def at(moves):
        moved = np.log(theta)
        for (start, _, j), by in moves:
            moved[start + j] += by
        for start, width in zip(starts, widths, strict=True):
            part = np.exp(moved[start : start + width])
            moved[start : start + width] = np.log(part / part.sum())
        return float(table.weights @ plan.row_log_likelihood(np.exp(moved)))

    h = 1e-4
    gradient = [(at([(r, h)]) - at([(r, -h)])) / (2 * h) for r in rows]
    np.testing.assert_allclose(table.weights @ found.scores, gradient, atol=1e-4)
    hessian = [
        [
            (at([(r, h), (s, h)]) - at([(r, h), (s, -h)]) - at([(r, -h), (s, h)]) + at([(r, -h), (s, -h)]))
            / (4 * h * h)
            for s in rows
        ]
        for r in rows
    ]
    np.testing.assert_allclose(found.hessian, hessian, atol=1e-3)


def test_vuong_on_carcinoma():
    table = datasets.load("carcinoma")
    fits = [fit_classes(table, k, rng=seeded()) for k in (1, 2, 3)]
    found = vuong_lrt(fits[0], fits[1])
    assert found.statistic == pytest.approx(414.416, abs=2e-3)
    assert found.p_value < 0.01
    assert found.adjusted_statistic == pytest.approx(found.statistic / (1 + 1 / (8 * np.log(118))))
    assert found.adjusted_p_value >= found.p_value - 1e-9
    assert "Jeffries" in found.to_dict()["note"]
    with pytest.raises(ModelError, match="one class more"):
        vuong_lrt(fits[0], fits[2])


def test_vuong_keeps_many_classes_from_being_found():
    """Two classes far apart and many rows: one against two is clear; the third is hardly ever."""
    rng = seeded(8)
    table = Table.from_codes(two_class_codes(rng, 1500, 6), [2] * 6)
    one, two, three = (fit_classes(table, k, rng=seeded(), n_init=32) for k in (1, 2, 3))
    assert vuong_lrt(one, two).p_value < 1e-6
    assert vuong_lrt(two, three).p_value > 0.01


# ---- items between classes ------------------------------------------------------------------------------------------


def test_two_classes_and_a_binary_item_by_hand():
    fit = fit_classes(datasets.load("values"), 2, rng=seeded(), tol=1e-9)
    errors = standard_errors(fit)
    for test in item_tests(errors):
        v = fit.model.tree.node(test.variable)
        a = int(fit.model.tree.offsets[v])
        (p,), (q,) = fit.model.table(v)[:1, 0:1].tolist(), fit.model.table(v)[1:, 0:1].tolist()
        c = errors.covariance
        expected = (p[0] - q[0]) ** 2 / (c[a, a] + c[a + 2, a + 2] - 2 * c[a, a + 2])
        assert test.statistic == pytest.approx(expected)
        assert test.p_value == pytest.approx(chi2.sf(expected, 1))
        assert not test.boundary


def test_an_item_that_says_nothing_is_not_found_and_labels_do_not_matter():
    rng = seeded(9)
    codes = np.column_stack([two_class_codes(rng, 2000, 5), rng.integers(0, 2, 2000)])
    fit = fit_classes(Table.from_codes(codes, [2] * 6), 2, rng=seeded(), tol=1e-9)
    tests = item_tests(standard_errors(fit))
    assert all(t.p_value < 1e-4 for t in tests[:5])
    assert tests[5].p_value > 0.01
    from latentree.estimation._classes import reordered_states

    turned = item_tests(standard_errors(reordered_states(fit, 0, np.array([1, 0]))))
    np.testing.assert_allclose([t.statistic for t in turned], [t.statistic for t in tests], rtol=1e-6)


def test_pairs_of_classes_and_one_class():
    fit = fit_classes(datasets.load("carcinoma"), 3, rng=seeded())
    tests = item_tests(standard_errors(fit), pairwise=True)
    assert len(tests) == 7 * 4
    assert tests[1].classes == (0, 1)
    assert any(t.boundary for t in tests)
    assert tests[0].to_dict()["variable"] == tests[0].variable
    with pytest.raises(ModelError, match="two at least"):
        item_tests(standard_errors(fit_classes(datasets.load("carcinoma"), 1, rng=seeded())))
