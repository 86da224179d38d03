"""Criteria with a penalty, classification scores, and all scores in one call."""

from __future__ import annotations

from math import lgamma, log, pi

import numpy as np
import oracle
import pytest
from fits import standing
from hypothesis import given, settings
from strategies import models_and_tables

from latentree import DataError, ModelError, Table, Tree, datasets, fit_classes, score
from latentree._model import Model
from latentree.dimension import effective_dimension
from latentree.estimation import em
from latentree.estimation._two_latents import fit_two_latents
from latentree.score import SCORES, scores
from latentree.score._classification import assigned_counts


@pytest.fixture(scope="module")
def carcinoma():
    return fit_classes(datasets.load("carcinoma"), 3, rng=np.random.default_rng(0))


def test_penalties(carcinoma):
    ll, d, n = carcinoma.log_likelihood, carcinoma.n_parameters, 118
    assert d == 23
    want = {
        "aic": ll - d,
        "aic3": ll - 1.5 * d,
        "bic": ll - d / 2 * log(n),
        "sabic": ll - d / 2 * log((n + 2) / 24),
        "caic": ll - d / 2 * (log(n) + 1),
        "draper": ll - d / 2 * log(n) + d / 2 * log(2 * pi),
    }
    found = scores(carcinoma, list(want))
    assert {name: s.value for name, s in found.items()} == pytest.approx(want)
    assert found["bic"].value == pytest.approx(-348.57, abs=0.01)  # poLCA: BIC 697.1357


def test_effective_dimension_in_bic_and_cs():
    # [ZhangKocka2004] figure 1: M1 has ds 45 and de 43
    tree = Tree.from_edges(
        [("X1", "X2"), ("X1", "X3"), *[("X2", f"Y{i}") for i in (1, 2, 3)], *[("X3", f"Y{i}") for i in (4, 5, 6)]],
        {"X1": 2, "X2": 3, "X3": 3, **{f"Y{i}": 3 for i in range(1, 7)}},
        [f"Y{i}" for i in range(1, 7)],
    )
    table = Table.from_codes(np.random.default_rng(0).integers(0, 3, (200, 6)), [3] * 6)
    fit = standing(Model.random(tree, table.variables, np.random.default_rng(1)), table)
    assert effective_dimension(tree) == 43
    assert score.bice(fit) - score.bic(fit) == pytest.approx(log(200))
    assert score.cse(fit) - score.cs(fit) == pytest.approx(log(200))


def test_classification_scores(carcinoma):
    posterior = score.entropy(carcinoma)
    expected = carcinoma.log_likelihood - posterior
    assert score.classification_likelihood(carcinoma) == pytest.approx(expected)
    assert score.icl_bic(carcinoma) == pytest.approx(score.bic(carcinoma) - posterior)
    assert score.awe(carcinoma) == pytest.approx(expected - 23 * (1.5 + log(118)))


def test_icl_counts_the_components_parameters_only():
    table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], weights=[30, 40, 5, 4])
    fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    fitted = 30 * log(30 / 35) + 5 * log(5 / 35) + 40 * log(40 / 44) + 4 * log(4 / 44)
    integrated = lgamma(1) - 2 * lgamma(0.5) + lgamma(35.5) + lgamma(44.5) - lgamma(79 + 1)
    assert score.icl(fit) == pytest.approx(fitted - 6 / 2 * log(79) + integrated)


def completed_by_enumeration(model, table):
    """Counts of the rows in their most probable joint state, leaves whose cells are missing summed out first."""
    tree, evidence = model.tree, oracle.table_evidence(model, table)
    counts = np.zeros(tree.size)
    for row, weight in enumerate(table.weights):
        absent = oracle.absent(tree, evidence, row)
        joint = oracle.row_joint(tree, model.parameters, evidence, row)[0].sum(axis=tuple(absent), keepdims=True)
        state = np.unravel_index(joint.argmax(), joint.shape)
        for v in set(range(tree.n_nodes)) - absent:
            above = state[tree.parent[v]] if v else 0
            counts[tree.offsets[v] + above * tree.cardinality[v] + state[v]] += weight
    return counts


@given(models_and_tables(max_nodes=5, max_rows=4))
@settings(max_examples=60)
def test_assignment_is_the_most_probable_joint_state_of_what_is_known(drawn):
    """The completed likelihood is the largest there is, for rows with and without missing cells."""
    model, table = drawn
    p = 0.9 * model.parameters + 0.1 / np.repeat(model.tree.cardinality, model.tree.rows * model.tree.cardinality)
    model = model.with_parameters(p)
    counts, truth = assigned_counts(model, table), completed_by_enumeration(model, table)
    assert (counts * np.log(p)).sum() == pytest.approx((truth * np.log(p)).sum(), abs=1e-9)
    for v in range(model.tree.n_nodes):
        own = slice(*model.tree.offsets[v : v + 2])
        assert counts[own].sum() == pytest.approx(truth[own].sum())


@pytest.mark.parametrize("k", [2, 3])
def test_icl_leaves_missing_leaves_out(k):
    """Every row of voting is assigned by what is known of it; maximising over missing cells moved ICL by up to 0.9."""
    table = datasets.load("voting")
    fit = fit_classes(table, k, rng=np.random.default_rng(0))
    posterior = np.zeros((table.n_patterns, k))
    filled = posterior.copy()
    for i in range(len(table.variables)):
        seen = np.log(fit.model.table(fit.model.tree.manifest[i])).T
        posterior += np.where(table.codes[:, i, None] >= 0, seen[table.codes[:, i]], 0.0)
        filled += np.where(table.codes[:, i, None] >= 0, seen[table.codes[:, i]], seen.max(axis=0))
    posterior += np.log(fit.model.table(0)[0])
    filled += np.log(fit.model.table(0)[0])

    def by_hand(classes):
        value, d = 0.0, 0
        sizes = np.bincount(classes, table.weights, k)
        for codes, variable in zip(table.codes.T, table.variables, strict=True):
            for c in range(k):
                own = (classes == c) & (codes >= 0)
                n = np.bincount(codes[own], table.weights[own], variable.cardinality)
                value += (n[n > 0] * np.log(n[n > 0] / n.sum())).sum()
                d += variable.cardinality - 1
        integrated = lgamma(k / 2) - k * lgamma(0.5) + sum(lgamma(n + 0.5) for n in sizes) - lgamma(table.n + k / 2)
        return value - d / 2 * log(table.n) + integrated

    assert score.icl(fit) == pytest.approx(by_hand(posterior.argmax(axis=1)), abs=1e-6)
    assert (posterior.argmax(axis=1) != filled.argmax(axis=1)).any()


def cases():
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 2, (80, 5))
    weights = rng.integers(1, 4, 80)
    once = Table.from_codes(codes, [2] * 5, weights)
    order = rng.permutation(weights.sum())
    often = Table.from_codes(np.repeat(codes, weights, axis=0)[order], [2] * 5)
    return once, often


@pytest.mark.parametrize("name", SCORES)
def test_weight_is_repetition(name):
    once, often = cases()
    tree = Tree([-1, 0, 0, 1, 1, 1, 0], [2, 2, 2, 2, 2, 2, 2], [-1, -1, 0, 1, 2, 3, 4])
    if name == "marginal_likelihood":
        tree = Tree.star(1, [2] * 5)
    model = Model.random(tree, once.variables, np.random.default_rng(3))
    a, b = (SCORES[name](em(model, t, prior=1.0, tol=1e-9)) for t in (once, often))
    assert a == pytest.approx(b, abs=1e-6)


@pytest.mark.parametrize("name", [n for n, s in SCORES.items() if n != "marginal_likelihood" and s.paired is None])
def test_weight_is_repetition_with_two_latents(name):
    once, often = cases()
    a, b = (
        SCORES[name](fit_two_latents(t, (2, 2), rng=np.random.default_rng(0), n_init=1, max_iterations=300, prior=2.0))
        for t in (once, often)
    )
    assert a == pytest.approx(b, abs=1e-5)


def test_all_scores_in_one_call_are_the_single_ones(carcinoma):
    found = scores(carcinoma)
    assert list(found) == list(SCORES)
    for name, s in found.items():
        if name == "marginal_likelihood":
            assert s.value is None and "'z' is latent" in s.reason
        else:
            assert s.value == pytest.approx(SCORES[name](carcinoma), abs=1e-6), name
            assert s.reason == ""
    assert found["bic"].at == "parameters of the fit"
    assert "softmax" in found["laplace"].at and "1.01" in found["laplace_traditional"].at
    assert found["cs_ml"].at == "maximum likelihood"
    corrected = scores(carcinoma, aliasing=True)
    for name in SCORES:
        if found[name].value is not None:
            more = log(6) if SCORES[name].estimates_evidence else 0.0
            assert corrected[name].value - found[name].value == pytest.approx(more)


def test_scores_of_a_tree_without_latents():
    table = Table.from_codes(np.random.default_rng(0).integers(0, 2, (50, 3)))
    model = Model.random(Tree([-1, 0, 1], [2, 2, 2], [0, 1, 2]), table.variables, np.random.default_rng(0))
    found = scores(em(model, table))
    assert {name for name, s in found.items() if s.value is None} == {"awe", "icl", "icl_bic"}
    assert found["cs"].value == pytest.approx(found["marginal_likelihood"].value)
    assert found["bice"].value == pytest.approx(found["bic"].value)


def test_scores_of_two_latents_say_what_is_not_defined():
    once, _ = cases()
    fit = fit_two_latents(once, (2, 2), rng=np.random.default_rng(0), n_init=2, max_iterations=500)
    found = scores(fit, aliasing=True)
    missing = {name for name, s in found.items() if s.value is None}
    assert missing - {"laplace", "laplace_traditional"} == {"marginal_likelihood", "cv", "cv10", "holdout"}
    assert found["bice"].value == pytest.approx(found["bic"].value)  # de = ds = 22
    assert found["bic"].value == pytest.approx(fit.log_likelihood - 22 / 2 * log(once.n) + log(8))


def test_too_few_cases():
    fit = fit_classes(Table.from_codes([[0, 1], [1, 0]], weights=[3, 2]), 1, rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="SABIC needs a sample size above 22"):
        score.sabic(fit)
    with pytest.raises(DataError, match=r"above 6\.283"):
        score.draper(fit)
    single = fit_classes(Table.from_codes([[0, 1]], [2, 2]), 1, rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="BIC needs"):
        score.bic(single)
    assert scores(single, "bic")["bic"].value is None


def test_impossible_data_have_no_score():
    table = Table.from_codes([[0], [1]])
    fit = standing(Model(Tree.star(1, [2]), table.variables, [1.0, 1.0, 0.0]), table)
    with pytest.raises(ModelError, match="impossible"):
        score.aic(fit)


def test_unknown_score(carcinoma):
    with pytest.raises(ValueError, match="'names' parameter of scores"):
        scores(carcinoma, ["bicc"])
    alone = scores(carcinoma, ["holdout"])["holdout"].value  # without test data, a part of the data is held out
    assert alone != scores(carcinoma, ["holdout"], test=carcinoma.table)["holdout"].value
