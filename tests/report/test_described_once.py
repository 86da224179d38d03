"""One description of a result, whatever it is rendered as; what it must say, and what it may cost."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import latentree as lt
from latentree import datasets, report
from latentree.comparison import bootstrap_tests, compare_classes
from latentree.engine._plan import Plan, sharing
from latentree.errors import DataError
from latentree.report import Report
from latentree.runner import Budget
from latentree.search import learn

UNFINISHED = "The search was not finished; this is the best tree so far."


@pytest.fixture(scope="module")
def finished():
    return Report.of_search(learn(datasets.load("hiv_test"), rng=np.random.default_rng(0)), seed=0)


@pytest.fixture(scope="module")
def stopped():
    run = learn(datasets.load("hiv_test"), rng=np.random.default_rng(0), budget=Budget(iterations=2))
    assert not run.reason.complete
    return Report.of_search(run, seed=0)


def test_every_rendering_of_an_unfinished_search_says_so(stopped):
    """Text, page, explorer, JSON and notebook: none may look like the result of a whole search."""
    assert UNFINISHED in " ".join(stopped.to_text().split())
    assert UNFINISHED in stopped.to_html().html
    assert UNFINISHED in stopped.explore().html
    assert any(UNFINISHED in text for text in stopped.to_dict()["warnings"])
    assert UNFINISHED in stopped._repr_html_()


def test_every_rendering_of_a_finished_search_is_without_that(finished):
    for text in (finished.to_text(), finished.to_html().html, finished.explore().html):
        assert "was not finished" not in " ".join(text.split())


def test_a_model_file_of_an_unfinished_search_still_says_so(stopped, tmp_path):
    """Whoever opens the file later, with data or without, sees it too."""
    stopped.model.save(tmp_path / "m.json")
    model = lt.load(tmp_path / "m.json")
    assert UNFINISHED in report.write_report(model).html
    assert UNFINISHED in report.explore(model, datasets.load("hiv_test")).html
    assert UNFINISHED in " ".join(report.to_text(report.describe_tree(model)).split())


def test_estimators_show_that_their_search_is_unfinished():
    frame = datasets.load_frame("carcinoma")
    tree = lt.LatentTree(random_state=0, time_limit=0.0)
    with pytest.warns(lt.LatentreeWarning, match="was not finished"):
        tree.fit(frame)
    assert "The search was not finished" in tree.explore().html
    assert "The search was not finished" in " ".join(tree.summary().split())


def test_after_a_search_at_most_two_plans_are_compiled(monkeypatch):
    """One for the data and one for the information curves, whatever is made of the result."""
    run = learn(datasets.load("hiv_test"), rng=np.random.default_rng(0))
    compiled = []
    make = Plan.__init__
    monkeypatch.setattr(
        Plan, "__init__", lambda self, *args, **more: (compiled.append(1), make(self, *args, **more))[1]
    )
    described = Report.of_search(run, seed=0)
    described.to_dict(statistics=True)
    described.to_html()
    described.explore()
    described.to_text()
    assert len(compiled) == 2


def test_plans_are_shared_within_the_block_only_and_for_the_same_data_only():
    model = datasets.generator("d7")
    table, other = datasets.sample_from("d7", 50, 0), datasets.sample_from("d7", 50, 1)
    with sharing({}):
        assert Plan.of(model, table) is Plan.of(model, table)
        assert Plan.of(model, table) is not Plan.of(model, other)
        assert Plan.of(model, table) is not Plan.of(model, table, share=False)
    assert Plan.of(model, table) is not Plan.of(model, table)


def test_sharing_changes_no_number(finished):
    alone = report.describe_tree(finished.model, finished.fit.table)
    for key in ("nodes", "edges", "latents"):
        assert finished.contents[key] == alone[key]
    assert finished.contents["estimate"]["log_likelihood"] == pytest.approx(alone["log_likelihood"], abs=1e-9)
    at_maximum = report.describe_tree(finished.run.fit.model, finished.fit.table)
    for key in ("log_likelihood", "bic", "aic"):
        assert finished.contents[key] == at_maximum[key]


def test_reporting_a_search_does_not_load_the_samplers():
    code = (
        "import sys, numpy as np; from latentree import datasets; from latentree.search import learn;"
        "from latentree.report import Report;"
        "Report.of_search(learn(datasets.load('hiv_test'), rng=np.random.default_rng(0))).to_text();"
        "print('latentree.bayes' in sys.modules, 'latentree.estimators' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_all_names_of_the_package_are_there_and_old_ones_say_the_new():
    for name in report.__all__:
        assert getattr(report, name) is not None
    with pytest.raises(AttributeError, match="it is called 'search_result' now"):
        report.learned  # noqa: B018


# ---- one scale for people ------------------------------------------------------------------------------------------


def test_people_see_minus_twice_the_score_and_programs_the_score(finished):
    """Text, pages and frames: -2 LL + penalty, marked; the dict that JSON is made from: LL - penalty."""
    bic = finished.contents["bic"]
    assert bic < 0 and finished.contents["higher_is_better"] is True
    assert f"{-2 * bic:,.3f}" in finished.to_text() and "BIC (lower is better)" in finished.to_text()
    for html in (finished.to_html().html, finished.explore().html):
        assert "BIC (lower is better)" in html and f"{-2 * bic:,.2f}" in html
        assert "igher is better" not in html and f"{bic:,.2f}" not in html
    assert f"BIC (lower is better) {-2 * bic:,.1f}" in finished.explore().html


def test_steps_of_a_search_are_on_the_scale_of_their_criterion(finished):
    last = finished.contents["trace"][-1]["score"]
    assert f"{-2 * last:,.2f}" in finished.to_text()
    mine = Report.of(finished.model, trace=[{**step, "score": 0.25} for step in finished.contents["trace"]])
    mine.contents["provenance"]["score"] = "a score of one's own"
    assert "0.25" in mine.to_text() and "0.25" in mine.to_html().html and "higher is better" in mine.to_html().html


def test_comparisons_are_shown_lower_is_better():
    found = compare_classes(datasets.load("carcinoma"), [2, 3], rng=0, scores=["bic", "cs"])
    assert found.best_n_classes() == 3 and found.table[2]["bic"] == pytest.approx(-348.57, abs=0.01)
    frame = found.to_frame()
    assert frame["bic"].tolist() == pytest.approx([-2 * row["bic"] for row in found.table])
    assert frame["cs"].tolist() == pytest.approx([-2 * row["cs"] for row in found.table])
    assert frame["log_likelihood"].tolist() == [row["log_likelihood"] for row in found.table]
    assert "*697.14" in repr(found) and "lower is better" in repr(found) and "higher" not in repr(found)


# ---- a number of classes that was searched -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def searched():
    from latentree.cardinality import learn_classes

    table = datasets.load("carcinoma")
    found = learn_classes(table, rng=np.random.default_rng(0))
    return found, report.searched(found, ("bic", "aic"), seed=0)


def test_a_searched_number_of_classes_shows_every_number_it_looked_at(searched):
    found, comparison = searched
    assert [row["n_classes"] for row in comparison.table] == [own.n_states for own in found.visited]
    assert len(comparison.table) > 2 and comparison.best() is comparison.fits[-1]
    row = next(row for row in comparison.table if row["n_classes"] == comparison.best_n_classes())
    assert row["log_likelihood"] == found.fit.log_likelihood


def test_only_the_criterion_that_was_searched_by_has_a_best(searched):
    _, comparison = searched
    assert list(comparison.to_dict()["best"]) == ["bic"]
    lines = report.to_text(comparison.to_dict()).splitlines()
    assert sum("*" in line for line in lines if line.lstrip()[:1].isdigit()) == 1
    assert "By aic, another number may be best" in " ".join(" ".join(lines).split())


def test_a_searched_fit_tells_of_the_search_and_not_of_the_last_em(searched):
    found, comparison = searched
    text = " ".join(report.to_text(report.describe(found.fit, search=comparison.search)).split())
    assert found.describe() in text and f"{found.steps} steps" in text
    assert "Converged after" not in text and "starts run to the end found this fit" not in text
    lca = lt.LatentClass("auto", random_state=0).fit(datasets.load_frame("carcinoma"))
    assert "Converged after" not in lca.summary() and "Searched" in lca.summary()


# ---- tests that cannot be made -------------------------------------------------------------------------------------


def test_a_bootstrap_test_that_cannot_be_made_keeps_its_reason_and_spoils_no_other(monkeypatch):
    table = datasets.load("carcinoma")
    real = lt.score.bootstrap_lrt

    def refused(table, k, **options):
        if k == 2:
            raise DataError("not with these weights")
        return real(table, k, **options)

    monkeypatch.setattr("latentree.score.bootstrap_lrt", refused)
    found = bootstrap_tests(table, [1, 2, 3], seed=0, n_replicates=2)
    assert list(found) == [2, 3]
    assert str(found[2]) == "not with these weights" and found[3].n_replicates == 2
