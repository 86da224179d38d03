"""The comparison of estimation algorithms: what its figures and tables are made of."""

from __future__ import annotations

import numpy as np
import pytest
from studies import estimation as page, estimation_runs as study
from studies.estimation_published import TABLE_2_3, TABLE_2_4
from studies.parts import Answers, Parts
from studies.results import Results

from latentree.estimation import em


def test_a_course_is_the_run_step_by_step():
    problem = study.unknown_components(np.random.default_rng(3))
    course = study.course(problem, "em", {}, length=10)
    trace = em(problem.model, problem.table, accelerate=False, max_iterations=10, tol=0).trace
    np.testing.assert_allclose(course.log_likelihood, trace, rtol=1e-12)
    assert course.passes.tolist() == list(range(1, 12))
    assert course.iterations_needed == course.passes_needed - 1
    share = study.share(course)
    assert share[0] == 0 and (np.diff(share) >= 0).all() and share[-1] <= 1
    kept = {"share": share.tolist(), "passes": course.passes.tolist()}
    np.testing.assert_allclose(page.gone(kept, np.array([1.0, 3.0])), share[[0, 2]])


def test_known_components_stay_as_they_are():
    problem = study.proportion_vector(np.random.default_rng(0))
    fit = study.fitted(problem, "gcg")
    assert fit.converged and np.array_equal(fit.model.parameters[4:], problem.model.parameters[4:])


def test_a_constant_rate_that_arrives_first_loses_nowhere():
    told = study._rates("proportion vector", [0, 0, 0])
    problem = study.proportion_vector(np.random.default_rng([0, 0, 0]))
    limit = study.fitted(problem, "em", tol=1e-8, max_iterations=20_000).log_likelihood
    rate, iterations = told["eg-eta"]
    fit = study.fitted(problem, "eg-eta", rate=rate, tol=1e-6, max_iterations=iterations)
    assert fit.evaluations == len(fit.trace) and abs(fit.log_likelihood - limit) < study.CLOSE
    shorter = study.fitted(problem, "eg-eta", rate=rate / 2, tol=1e-6, max_iterations=iterations)
    assert limit - shorter.log_likelihood > study.CLOSE


def test_operations_of_an_iteration_are_those_of_the_source():
    """EM, N = 100, c = 4, n = 5: Nc(3+n)+c; GCG costs more than CG by an EM step and two vectors."""
    assert TABLE_2_3["EM"](100, 4, 5, 0) == 3204 and TABLE_2_4["EM"](100, 2, 4, 0) == 2210
    assert TABLE_2_3["GCG"](100, 4, 5, 7) - TABLE_2_3["CG"](100, 4, 5, 7) == 3204 + 2 * 3
    assert TABLE_2_4["GCG"](100, 2, 4, 7) - TABLE_2_4["CG"](100, 2, 4, 7) == 2210 + 2 * 9


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A study of two data sets and three methods."""
    results = Results(tmp_path_factory.mktemp("kept") / "estimation.jsonl")
    with pytest.MonkeyPatch.context() as patch:
        for module in (study, page):
            patch.setattr(module, "METHODS", {k: study.METHODS[k] for k in ("GCG", "CG", "IEM", "EG-eta")})
        patch.setattr(study, "STATES", (2,))
        patch.setattr(study, "LENGTH", 5)
        patch.setattr(page, "LENGTH", 5)
        study.make_all(
            Parts(results, only=("courses", "definiteness"), say=lambda text: None), n_sets=2, n_tables=10, seed=0
        )
        yield results.read()


def test_tables_name_every_method(small):
    for problem in study.PROBLEMS:
        courses = {
            label: [r["answer"][label] for r in Answers(small).all("courses", problem=problem)]
            for label in ("EM", *page.METHODS)
        }
        table = page.winners(problem, courses)
        assert "of 2 |" in table and all(f"| {label} |" in table for label in page.METHODS)


def test_definiteness_agrees_with_the_curvature(small):
    own = Answers(small).of("definiteness", states=2)
    assert own["checked"] >= 40 and own["disagree"] == 0 and min(own["top"]) > 1


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_without_the_mixed_derivative(seed):
    """Second derivatives of [Whiley1999] appendix B, two classes: all of them, and without those between classes."""
    rng = np.random.default_rng(seed)
    truth = study.Model.random(study.Tree.star(2, [2] * 3), study.numbered([2] * 3), rng)
    table = study.Table.from_codes(truth.sample(60, rng), truth.variables)
    top = np.linalg.eigvalsh(study.indicator_correlations(table))[-1]
    rows = table.codes[table.inverse].astype(float)
    ones = rows.sum(axis=0)
    x = rows / ones - (1 - rows) / (len(rows) - ones)
    cross = x.T @ x * len(rows)  # its diagonal is N (1 / n1 + 1 / n0), that of the diagonal derivatives
    own = np.diag(np.diag(cross))
    for beta in (0.2, 0.9 / top, 1.1 / top, 1.9 / top, 2.1 / top):
        within = (beta + 2 * (1 - beta)) * own - beta * (cross - own)
        between = beta * cross
        whole = np.block([[within, between], [between, within]])
        assert (np.linalg.eigvalsh(whole)[0] > 0) == (beta < min(1 / top, 1))
        assert (np.linalg.eigvalsh(within)[0] > 0) == (beta * top < 2)
