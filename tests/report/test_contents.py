"""What reports hold is what their types say: every key, and values of those types."""

from __future__ import annotations

import types
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
import pytest

from latentree import datasets, fit_classes
from latentree.bayes import ClassPrior, prior_on_classes, sample
from latentree.cardinality import learn_classes
from latentree.comparison import compare_classes, searched
from latentree.report import Report, _contents as contents, describe, describe_draws
from latentree.score import Assignment, FitStatistics
from latentree.search import learn


def mismatch(value: Any, kind: Any, where: str = "report", extra: tuple[str, ...] = ()) -> str | None:
    """The first place where a value is not of a type; keys called ``extra`` may be anywhere."""
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        if not isinstance(value, dict):
            return f"{where} is not a dict"
        if wrong := (kind.__required_keys__ - set(value)) | (set(value) - set(hints) - set(extra)):
            return f"{where}: {sorted(wrong)}"
        return first(mismatch(v, hints[k], f"{where}.{k}", extra) for k, v in value.items() if k in hints)
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        found = [mismatch(value, own, where, extra) for own in args]
        return None if None in found else found[0]
    if origin is Literal:
        return None if value in args else f"{where}: {value!r}"
    if origin is list and isinstance(value, list):
        return first(mismatch(v, args[0], f"{where}[{i}]", extra) for i, v in enumerate(value))
    if origin is dict and isinstance(value, dict):
        return first(mismatch(v, args[1], f"{where}[{k!r}]", extra) for k, v in value.items())
    if kind is Any or type(value) is (kind or type(None)):
        return None
    return f"{where}: {value!r} is not of type {kind}"


def first(found):
    return next((text for text in found if text is not None), None)


@pytest.fixture(scope="module")
def table():
    return datasets.load("carcinoma")


@pytest.fixture(scope="module")
def fit(table):
    return fit_classes(table, 2, rng=np.random.default_rng(0))


@pytest.fixture(scope="module")
def found(table):
    return learn_classes(table, rng=np.random.default_rng(0))


def test_trees(fit, table):
    for report in (Report.of(datasets.generator("d7")), Report.of(fit), Report.of(fit.model, table)):
        assert mismatch(report.to_dict(statistics=True), contents.TreeReport) is None


def test_searches():
    report = Report.of_search(learn(datasets.load("hiv_test"), rng=np.random.default_rng(0)), seed=0)
    assert mismatch(report.to_dict(statistics=True), contents.TreeReport) is None
    assert report.contents["trace"] and "search" in report.contents


def test_classes(fit, found):
    assert mismatch(describe(fit, statistics=True), contents.ClassReport) is None
    search = searched(found, ("bic",), seed=0).search
    assert mismatch(describe(found.fit, search=search), contents.ClassReport) is None


def test_comparisons(table, found):
    compared = compare_classes(table, [2, 3], rng=0, scores=("bic", "aic")).to_dict()
    for report in (compared, searched(found, ("bic", "aic"), seed=0).to_dict()):
        assert mismatch(report, contents.ComparisonReport, extra=("bic", "aic")) is None


def test_posterior_draws(table):
    draws = sample(table, ClassPrior(prior_on_classes(4)), rng=np.random.default_rng(0), n_draws=100)
    assert mismatch(describe_draws(draws), contents.PosteriorReport) is None


def test_statistics_that_make_their_own_dicts():
    """mypy cannot compare these."""
    assert [own.name for own in fields(FitStatistics)] == list(get_type_hints(contents.AbsoluteFit))
    assert [own.name for own in fields(Assignment)] == list(get_type_hints(contents.AssignmentContents))


def test_a_renamed_key_and_a_value_of_another_type_are_found(fit):
    report = describe(fit)
    assert mismatch({**report, "size": 1}, contents.ClassReport) == "report: ['size']"
    assert mismatch({**report, "n": None}, contents.ClassReport).startswith("report.n: None")
