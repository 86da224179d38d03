from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
from rich.console import Console

from latentree import ModelError, Table, Tree, Variable, datasets, score
from latentree._model import Model
from latentree._variables import numbered
from latentree.estimation import em, estimate, fit_classes
from latentree.report import (
    compare_classes,
    describe,
    describe_classes,
    findings,
    profiles,
    render,
    state_labels,
    to_text,
)
from latentree.runner import Budget, StopReason


def fit_of(codes, k, weights=None, variables=None, seed=0, **options):
    table = Table.from_codes(codes, variables, weights)
    return fit_classes(table, k, rng=np.random.default_rng(seed), **options)


def codes_of(fit):
    return {finding.code: finding for finding in findings(fit)}


@pytest.fixture(scope="module")
def carcinoma():
    return fit_classes(datasets.load("carcinoma"), 3, rng=np.random.default_rng(0))


# ---- the dict ------------------------------------------------------------------------------------------------------


def test_describe_is_plain(carcinoma):
    report = describe(carcinoma)
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_describe_says_the_truth(carcinoma):
    report = describe(carcinoma)
    assert report["n"] == 118 and report["n_patterns"] == 20 and report["n_variables"] == 7
    assert report["n_classes"] == 3 and report["n_parameters"] == 23 and report["degrees_of_freedom"] == 104
    assert report["bic"] == pytest.approx(score.bic(carcinoma))
    assert report["aic"] == pytest.approx(score.aic(carcinoma))
    assert report["entropy"] == pytest.approx(score.entropy(carcinoma))
    assert report["relative_entropy"] == pytest.approx(score.relative_entropy(carcinoma))
    assert report["converged"] and report["reason"] == "converged" and report["message"]
    assert len(report["starts"]["objectives"]) == 8 and report["starts"]["at_best"] == 8
    assert sum(c["size"] for c in report["classes"]) == pytest.approx(1)
    assert sum(c["count"] for c in report["classes"]) == pytest.approx(118)
    first = report["classes"][0]
    assert first["label"] == "class0"
    assert first["profile"]["A"] == pytest.approx(dict(zip("12", carcinoma.model.table("A")[0], strict=True)))
    assert report["missing"] == 0 and report["seed"] is None


def test_information_is_mutual_information(carcinoma):
    report = describe(carcinoma)
    sizes = np.array([c["size"] for c in report["classes"]])
    p = sizes[:, None] * carcinoma.model.table("C")
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = p * np.log(p / (p.sum(axis=0) * p.sum(axis=1, keepdims=True)))
    assert report["variables"][2]["information"] == pytest.approx(np.nansum(terms))


def test_share_of_missing_cells():
    fit = fit_of([[0, -1], [1, 1], [0, 0], [1, 0]], 1, weights=[3, 1, 1, 1])
    assert describe(fit)["missing"] == pytest.approx(3 / 12)


def test_too_many_cells_to_count():
    fit = fit_of(np.random.default_rng(0).integers(0, 2, (50, 80)), 2)
    assert describe(fit)["degrees_of_freedom"] is None
    assert "very many" in to_text(describe(fit))


def test_other_trees_are_described_as_trees():
    tree = Tree.from_edges([("a", "b"), ("a", "x"), ("b", "y"), ("b", "w")], dict.fromkeys("abxyw", 2), ["x", "y", "w"])
    model = Model.random(tree, numbered([2, 2, 2]), np.random.default_rng(0))
    fit = estimate(model, Table.from_codes([[0, 1, 1], [1, 0, 1]], model.variables), max_iterations=3)
    assert describe(fit)["kind"] == "latent tree"
    with pytest.raises(ModelError, match="not a latent class model"):
        describe_classes(fit)
    with pytest.raises(ModelError, match="not a latent class model"):
        profiles(model)


def test_labels_of_states_differ_whatever_the_states():
    for states in [(1, "1", True, "True", 1.0), ("a", "b"), (1, "1", "'1'"), ("'1'", "1", 1, "1 (int)")]:
        labels = state_labels(Variable("x", states))
        assert len(set(labels)) == len(states)


# ---- what is found -------------------------------------------------------------------------------------------------


def test_a_good_fit_has_no_warnings(carcinoma):
    found = codes_of(carcinoma)
    assert set(found) == {"boundary"}
    assert not found["boundary"].loud


def test_not_converged(carcinoma):
    fit = fit_classes(carcinoma.table, 3, rng=np.random.default_rng(0), max_iterations=3)
    assert fit.reason is StopReason.ITERATIONS
    assert "Allow more iterations" in codes_of(fit)["not-converged"].text
    assert codes_of(fit)["not-converged"].loud
    assert "Not converged after" in to_text(describe(fit))
    fit = fit_classes(carcinoma.table, 3, rng=np.random.default_rng(0), budget=Budget(seconds=0))
    assert "The time limit was reached" in codes_of(fit)["not-converged"].text


def test_undetermined_and_few_patterns():
    found = codes_of(fit_of([[0, 0], [1, 1]], 3, weights=[30, 30]))
    assert found["undetermined"].loud and found["few-patterns"].loud
    assert "3 classes but only 2 distinct rows" in found["few-patterns"].text


def with_parameters(fit, tables):
    """The fit as if it had ended elsewhere."""
    model = Model.from_tables(fit.model.tree, fit.model.variables, tables)
    return em(model, fit.table, accelerate=False, max_iterations=1, held=model.tree.names)


def test_empty_and_coinciding_classes():
    fit = fit_of([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], 4, weights=[30, 40, 5, 5])
    row, other = [0.3, 0.7], [0.8, 0.2]
    tables = {name: [row, row, other, row] for name in ("x1", "x2", "x3")}
    found = codes_of(with_parameters(fit, {"z": [0.5, 0.3, 0.2 - 1e-9, 1e-9], **tables}))
    assert found["empty"].text.startswith("Class 3 holds less than one case: use fewer classes")
    assert found["coinciding"].text.startswith("Classes 0 and 1 are the same")
    assert found["empty"].loud and found["coinciding"].loud
    found = codes_of(with_parameters(fit, {"z": [0.5, 0.5 - 1e-9, 5e-10, 5e-10], **tables}))
    assert found["empty"].text.startswith("Classes 2 and 3 hold less than one case each")
    tables = {name: [row, other, row, other] for name in ("x1", "x2", "x3")}
    fit = with_parameters(fit, {"z": [0.25] * 4, **tables})
    assert [f.text[:15] for f in findings(fit) if f.code == "coinciding"] == ["Classes 0 and 2", "Classes 1 and 3"]


def test_one_probability_at_the_boundary_is_named():
    fit = fit_of([[0, 0, 0], [1, 1, 1], [2, 1, 0], [1, 0, 1]], 2, weights=[30, 40, 5, 5])
    row = [0.3, 0.7]
    tables = {"z": [0.6, 0.4], "x1": [[0.2, 0.3, 0.5], [0.0, 0.4, 0.6]], "x2": [row, row[::-1]], "x3": [row, row[::-1]]}
    text = codes_of(with_parameters(fit, tables))["boundary"].text
    assert text.startswith("One of the 14 probabilities is 0 or 1, P(x1: 0 | class1) = 0, so some rows")
    many = codes_of(with_parameters(fit, {**tables, "x2": [[0, 1], row]}))["boundary"].text
    assert many.startswith("3 of the 14 probabilities are 0 or 1, so some rows")


def test_weights_that_sum_to_one_make_no_class_empty():
    fit = fit_of([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], 2, weights=[0.4, 0.4, 0.1, 0.1])
    found = codes_of(fit)
    assert "empty" not in found
    assert "sum to 1" in found["small-weights"].text and not found["small-weights"].loud
    assert "few-rows" in found


def test_starts_that_disagree(carcinoma):
    fit = fit_classes(datasets.load("icu"), 4, rng=np.random.default_rng(0))
    found = codes_of(fit)
    assert "one of the 8 starts" in found["found-once"].text and not found["found-once"].loud
    one = fit_classes(carcinoma.table, 3, rng=np.random.default_rng(0), n_init=1)
    assert "Only one start" in codes_of(one)["one-start"].text
    alone = fit_classes(carcinoma.table, 1, rng=np.random.default_rng(0))
    assert "one-start" not in codes_of(alone)


def test_warnings_come_first():
    loud = [f.loud for f in findings(fit_of([[0, 0], [1, 1]], 3, weights=[30, 30]))]
    assert loud == sorted(loud, reverse=True)


# ---- the text ------------------------------------------------------------------------------------------------------


def widest(text):
    return max(map(len, text.splitlines()))


def test_text_of_80_plain_columns(carcinoma):
    text = to_text(describe(carcinoma))
    assert widest(text) <= 80
    assert text.isascii() and "\x1b" not in text
    assert "44.5 %   52.5" in text
    assert "1.000" in text and "-293.705" in text
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_a_notebook_gets_the_text_and_does_not_show_it_by_itself(carcinoma, monkeypatch):
    plain = to_text(describe(carcinoma))
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert plain and to_text(describe(carcinoma)) == plain


def test_environment_does_not_colour_the_text(carcinoma, monkeypatch):
    plain = to_text(describe(carcinoma))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    assert to_text(describe(carcinoma)) == plain


def test_many_classes_are_shown_in_parts():
    fit = fit_classes(datasets.load("mushroom"), 15, rng=np.random.default_rng(0), n_init=2)
    text = to_text(describe(fit), max_variables=2)
    assert widest(text) <= 80
    assert text.count("P(state | class)") > 1
    assert all(f"class{i}" in text for i in range(15))
    assert "The 2 most informative variables are shown, 20 more are not" in text
    assert "more are not" not in to_text(describe(fit), max_variables=None)
    few = to_text(describe(fit), max_variables=2, max_states=3)
    assert "(6 more)" in few or "(9 more)" in few


def test_markup_and_control_characters_are_shown_not_obeyed():
    states = ("[red]no[/red]", "yes\x1b[31m\n", "ja ✓ 漢字")
    variables = [Variable("[bold]", states), Variable("[/]", (0, 1)), Variable("c\td", (True, "True"))]
    fit = fit_of([[0, 1, 0], [1, 0, 1], [2, 1, 1]], 1, weights=[5, 4, 3], variables=variables)
    for text in (to_text(describe(fit)), printed(describe(fit))):
        assert "[bold]" in text and "[/]" in text and "[red]no[/red]" in text
        assert "yes\\x1b[31m\\n" in text and "漢字" in text
        assert "c\\td" in text and "'True'" in text
        assert "\x1b[31m" not in text


def printed(report):
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    console.print(render(report))
    return console.file.getvalue()


def test_dominant_answers_are_bold(carcinoma):
    shown = printed(describe(carcinoma))
    assert re.search(r"\x1b\[1m *0\.943", shown)
    assert "0.057" in shown and not re.search(r"\x1b\[1m *0\.057", shown)


def test_long_names_are_cut():
    long = Variable(
        "a very long question that someone asked in a survey", ("no", "a very long answer indeed, is it not")
    )
    fit = fit_of([[0, 1], [1, 0], [1, 1]], 1, weights=[5, 4, 3], variables=[long, Variable("b", (0, 1))])
    text = to_text(describe(fit))
    assert "a very long question that someo..." in text and "a very long answer indeed, is i..." in text
    assert widest(text) <= 80
    assert long.name in to_text(describe(fit), width=120) and long.states[1] in to_text(describe(fit), width=120)


def test_names_that_begin_alike_are_cut_in_the_middle():
    questions = ["how content are you with the buses of your town", "how content are you with the trains of your town"]
    states = ("a very long answer that ends in one", "a very long answer that ends in two")
    fit = fit_of([[0, 1], [1, 0]], 1, weights=[5, 4], variables=[Variable(q, states) for q in questions])
    for width in (50, 70):
        text = to_text(describe(fit), width=width)
        assert widest(text) <= width
        assert re.search(r"how.*\.\.\..*town", text) and re.search(r"a .*\.\.\..*two", text)


@pytest.mark.parametrize("width", [30, 36, 45, 59])
def test_numbers_are_never_cut(carcinoma, width):
    text = to_text(describe(carcinoma), width=width)
    assert widest(text) <= width
    for number in ("-293.705", "633.410", f"{-2 * score.bic(carcinoma):.3f}", "104", "0.926", "44.5 %", "0.943"):
        assert number in text
    assert all(f"class{i}" in text for i in range(3))


def test_weights_are_told_from_rows():
    fit = fit_of([[0, 0], [1, 1], [0, 1], [0, 0]], 1, weights=[0.5, 1.25, 0.75, 0])
    assert "3 rows, weights adding up to 2.5 (3 distinct)" in " ".join(to_text(describe(fit)).split())
    counts = fit_of([[0, 0], [1, 1], [0, 1]], 1, weights=[5, 4, 3])
    assert "12 rows (3 distinct)" in to_text(describe(counts)) and describe(counts)["n_weighted"] is None


def test_one_class_and_one_state():
    variables = [Variable("constant", ("only",)), Variable("b", (0, 1))]
    fit = fit_of([[0, 1], [0, 0]], 1, weights=[5, 4], variables=variables)
    text = to_text(describe(fit))
    assert "Latent class model: 1 class, 2 variables, 9 rows (2 distinct)" in text
    assert describe(fit)["relative_entropy"] == 1


# ---- comparisons ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compared():
    return compare_classes(datasets.load("icu"), range(1, 4), rng=0, scores=["bic", "aic"], n_init=64)


def test_compare_icu(compared):
    assert [row["bic"] for row in compared.table] == pytest.approx([-1135.32, -1079.62, -1086.87], abs=0.005)
    assert compared.best_n_classes() == 2 and compared.best_n_classes("aic") == 3
    assert compared.best().seed == 0
    assert compared.to_dict()["best"] == {"bic": 2, "aic": 3}


def test_comparison_as_text(compared):
    text = repr(compared)
    assert widest(text) <= 80 and text.isascii()
    assert "*2,159.24" in text and "bic: 2 classes. aic: 3 classes." in text
    narrow = to_text(compared.to_dict(), width=40)
    assert widest(narrow) <= 40 and narrow.count("classes  ") > 1


def test_one_class_is_always_there_and_fits_do_not_depend_on_each_other(compared):
    again = compare_classes(datasets.load("icu"), [3, 3], rng=0, n_init=64)
    assert [row["n_classes"] for row in again.table] == [1, 3]
    assert (again.fits[1].model.parameters == compared.fits[2].model.parameters).all()
    generator = np.random.default_rng(0)
    third = compare_classes(datasets.load("icu"), [3], rng=generator, n_init=64)
    assert (third.fits[1].model.parameters == compared.fits[2].model.parameters).all()
    assert third.fits[1].seed is None


def test_time_is_shared():
    late = compare_classes(datasets.load("icu"), [2, 3], rng=0, budget=Budget(seconds=0))
    assert len(late.fits) == 1 and late.skipped == (2, 3)
    assert "The time was over before 2, 3 classes were fitted." in " ".join(repr(late).split())


def test_less_likelihood_with_more_classes_is_marked():
    found = compare_classes(datasets.load("mushroom"), [14, 15], rng=11, n_init=1, max_iterations=1)
    lower = [b["log_likelihood"] < a["log_likelihood"] for a, b in zip(found.table, found.table[1:], strict=False)]
    marked = [any("below that of" in w for w in row["warnings"]) for row in found.table[1:]]
    assert marked == lower
