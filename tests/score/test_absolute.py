"""G2, X2 and their relatives: published figures, enumeration of all cells, and what is undefined."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import strategies as own
from fits import standing
from hypothesis import given, settings, strategies as st

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import Variable, numbered
from latentree.errors import DataError, ParameterError
from latentree.estimation import fit_classes
from latentree.score._absolute import fit_statistics, power_divergence


def numbers(found):
    return {key: value for key, value in found.to_dict().items() if isinstance(value, int | float)}


def fitted(name, k, **options):
    return fit_classes(datasets.load(name), k, rng=np.random.default_rng(0), n_init=64, finalists=16, **options)


@pytest.mark.parametrize(
    ("name", "k", "g2", "x2", "df", "residual_df"),
    [
        ("carcinoma", 2, 62.36543, 92.64814, 112, 103),
        ("carcinoma", 3, 15.26171, 20.50335, 104, 95),
        ("carcinoma", 4, 6.423, 10.086, 96, 87),
        ("values", 2, 2.719922, 2.719764, 6, 6),
        ("values", 3, 0.3868563, 0.4225484, 1, 1),
    ],
)
def test_what_polca_prints(name, k, g2, x2, df, residual_df):
    """R package poLCA 1.6 on its own data; it stops a little short of the maximum with 4 classes."""
    found = fit_statistics(fitted(name, k, tol=1e-10))
    assert found.g2 == pytest.approx(g2, abs=1e-3)
    assert found.x2 == pytest.approx(x2, abs=3e-3)
    assert found.degrees_of_freedom == df
    assert found.capped_degrees_of_freedom == residual_df


def test_p_values_of_the_chi_square_distribution():
    from scipy import stats

    found = fit_statistics(fitted("values", 2))
    assert found.p_g2 == pytest.approx(stats.chi2.sf(found.g2, 6), rel=1e-9)
    assert found.p_x2 == pytest.approx(stats.chi2.sf(found.x2, 6), rel=1e-9)
    assert found.note is None
    assert "too few" in fit_statistics(fitted("carcinoma", 2)).note


@settings(max_examples=60)
@given(own.models(max_nodes=5), st.data())
def test_statistics_are_sums_over_all_cells(model, data):
    table = data.draw(own.tables(model.variables, missing=False))
    found = fit_statistics(standing(model, table))
    n = table.weights.sum()
    e = n * oracle.pattern_probabilities(model)
    o = np.zeros(e.shape)
    o[tuple(table.codes.T)] = table.weights
    with np.errstate(divide="ignore", invalid="ignore"):
        x2 = np.where(o == e, 0.0, (o - e) ** 2 / e).sum()
        g2 = 2 * np.where(o > 0, o * np.log(o / e), 0.0).sum()
        cr = 9 / 5 * np.where(o > 0, o * ((o / e) ** (2 / 3) - 1), 0.0).sum()
    ft = 4 * ((np.sqrt(o) - np.sqrt(e)) ** 2).sum()
    close = {"rtol": 1e-7, "atol": 1e-7 * n}
    np.testing.assert_allclose(found.g2, g2, **close)
    np.testing.assert_allclose(found.x2, x2, **close)
    np.testing.assert_allclose(found.cressie_read, cr, **close)
    np.testing.assert_allclose(found.freeman_tukey, ft, **close)
    np.testing.assert_allclose(found.dissimilarity, np.abs(o - e).sum() / (2 * n), atol=1e-9)
    assert found.n_cells == e.size
    assert found.degrees_of_freedom == e.size - 1 - model.tree.n_parameters


def test_a_weight_is_a_repetition():
    codes = np.random.default_rng(0).integers(0, 2, (40, 4))
    weights = np.random.default_rng(1).integers(1, 4, 40)
    model = Model.random(Tree.star(2, [2] * 4), numbered([2] * 4), np.random.default_rng(2))
    a = fit_statistics(standing(model, Table.from_codes(codes, model.variables, weights)))
    b = fit_statistics(standing(model, Table.from_codes(np.repeat(codes, weights, axis=0), model.variables)))
    assert numbers(a) == pytest.approx(numbers(b), rel=1e-9)


def test_perfect_fit_and_no_degrees_of_freedom():
    table = Table.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], weights=[3.5, 1, 2, 4])
    found = fit_statistics(fit_classes(table, 2, rng=np.random.default_rng(0), tol=1e-12))
    assert found.g2 == pytest.approx(0, abs=1e-6)
    assert found.degrees_of_freedom == -2
    assert found.p_g2 is None
    assert found.p_x2 is None
    assert "fewer states" in found.reason


def test_missing_cells_are_undefined_unless_left_out():
    codes = np.array([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, -1]])
    model = Model.random(Tree.star(1, [2] * 3), numbered([2] * 3), np.random.default_rng(0))
    fit = standing(model, Table.from_codes(codes, model.variables, [4, 3, 2, 5]))
    found = fit_statistics(fit)
    assert found.g2 is None
    assert found.p_g2 is None
    assert "5 of 14 rows" in found.reason
    with pytest.raises(DataError, match="complete_rows=True"):
        power_divergence(fit, 1)
    left = standing(model, Table.from_codes(codes[:3], model.variables, [4, 3, 2]))
    assert numbers(fit_statistics(fit, complete_rows=True)) == pytest.approx(numbers(fit_statistics(left)))
    assert power_divergence(fit, 1, complete_rows=True) == pytest.approx(fit_statistics(left).x2)
    hollow = standing(model, Table.from_codes([[0, 0, -1], [1, -1, 1]], model.variables))
    assert "No row is complete" in fit_statistics(hollow, complete_rows=True).reason


def test_more_cells_than_a_float_can_count():
    m = 1200
    model = Model.random(Tree.star(2, [2] * m), numbered([2] * m), np.random.default_rng(0))
    found = fit_statistics(
        standing(model, Table.from_codes(model.sample(5, np.random.default_rng(1)), model.variables))
    )
    assert found.n_cells == 2**m
    assert found.degrees_of_freedom == 2**m - 1 - model.tree.n_parameters
    assert found.p_g2 is None
    assert "bivariate_residuals" in found.reason


def test_columns_are_matched_by_name_and_others_passed_over():
    rng = np.random.default_rng(0)
    two = [Variable("a", (0, 1)), Variable("b", (0, 1, 2))]
    model = Model.random(Tree.star(2, [2, 3], ["a", "b"]), two, rng)
    codes = model.sample(50, rng)
    plain = Table.from_codes(codes, model.variables)
    extra = Variable("c", (0, 1))
    other = np.column_stack([rng.integers(0, 2, 50), codes[:, 1], codes[:, 0]])
    wide = Table.from_codes(other, [extra, model.variables[1], model.variables[0]])
    a, b = fit_statistics(standing(model, plain)), fit_statistics(standing(model, wide))
    assert numbers(a) == pytest.approx(numbers(b), rel=1e-9)


def test_parameters_and_powers_are_checked():
    fit = fitted("values", 1)
    assert fit_statistics(fit, n_parameters=3).degrees_of_freedom == 12
    for bad in (-1, 1.5, True):
        with pytest.raises(ParameterError, match="n_parameters"):
            fit_statistics(fit, n_parameters=bad)
    with pytest.raises(ParameterError, match="above -1"):
        power_divergence(fit, -1)
    assert power_divergence(fit, 0) == fit_statistics(fit).g2


def test_a_model_without_latents_can_be_judged():
    tree = Tree([-1, 0], [2, 2], [0, 1])
    table = Table.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], weights=[3, 1, 2, 4])
    model = Model(tree, table.variables, np.array([0.4, 0.6, 0.75, 0.25, 1 / 3, 2 / 3]))
    assert fit_statistics(standing(model, table)).g2 == pytest.approx(0, abs=1e-12)
