"""The comparison of estimation algorithms: what its figures and tables are made of."""

from __future__ import annotations

import numpy as np
from studies import estimation as study

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
    np.testing.assert_allclose(study.share(course, np.array([1.0, 3.0])), share[[0, 2]])


def test_known_components_stay_as_they_are():
    problem = study.proportion_vector(np.random.default_rng(0))
    fit = study.fitted(problem, "gcg")
    assert fit.converged and np.array_equal(fit.model.parameters[4:], problem.model.parameters[4:])


def test_figures_and_tables_name_every_method(monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.setattr(study, "METHODS", {"GCG": ("gcg", {}), "CG": ("cg", {})})
    monkeypatch.setattr(study, "LENGTH", 5)
    courses = study.compare(2, 0, lambda text: None)
    for name, own in courses.items():
        assert list(own) == ["EM", "GCG", "CG"]
        table = study.winners(name, own)
        assert "| GCG |" in table and "| CG |" in table
    pictures = study.figures(courses["unknown components"])
    assert set(pictures) == {"iterations", "passes"} and all("GCG" in svg for svg in pictures.values())


def test_the_table_of_definiteness_agrees_with_the_curvature():
    text = study.definiteness(2, 0, lambda text: None)
    assert "disagree in 0." in text and "| 0.5 | " in text
