"""The reviewer's pack: what reviewers of a latent class analysis ask for, from one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._lazy import cached_property
from .._scale import shown_score
from .._table import Table, as_table
from ..comparison import bootstrap_tests
from ..diagnostics import starts_at_best
from ..engine._plan import sharing
from ..errors import LatentreeError, bad_parameter
from ..estimation import Fit
from ..estimation._classes import column_counts
from ..naming import class_label
from ..runner import Budget, Clock, OnProgress, StopReason
from ..score import (
    Assignment,
    BivariateResiduals,
    BootstrapLrt,
    ItemTest,
    McarTest,
    StandardErrors,
    VuongTest,
    aic,
    average_posteriors,
    bic,
    bivariate_residuals,
    caic,
    item_tests,
    mcar_test,
    relative_entropy,
    sabic,
    standard_errors,
    vuong_lrt,
)
from ..score._vuong import CRITICISM
from ._checklist import Analysis, ChecklistItem, smart_checklist
from ._html import Page, page
from ._sections import Section, frame_of, sections_html, sections_text

__all__ = ["ReviewerReport", "reviewer_report"]

Row = dict[str, Any]

MOST_RESIDUALS = 15
"""Bivariate residuals that are shown; the data frame has all."""


@dataclass(frozen=True, eq=False, repr=False)
class ReviewerReport:
    """What reviewers ask for. Printing it shows it as text, a notebook as a page.

    Attributes
    ----------
    table : Table
        The data.
    fits : tuple of Fit
        All models, by their number of classes.
    chosen : Fit
        The one that is reported in full.
    mcar : McarTest
        Whether cells are missing completely at random.
    bootstrap : dict of int to BootstrapLrt or LatentreeError
        Bootstrap tests by the larger number of classes.
    vuong : dict of int to VuongTest or LatentreeError
        Vuong-Lo-Mendell-Rubin tests.
    assignments : dict of int to Assignment
        How surely rows belong to their classes, by number of classes.
    residuals : BivariateResiduals
        Of the chosen model.
    errors : StandardErrors
        Of the chosen model.
    items : tuple of ItemTest
        Wald tests of each item between the classes of the chosen model.
    checklist : tuple of ChecklistItem
        The SMART-LCA checklist.
    """

    table: Table
    fits: tuple[Fit, ...]
    chosen: Fit
    mcar: McarTest
    bootstrap: Mapping[int, BootstrapLrt | LatentreeError]
    vuong: Mapping[int, VuongTest | LatentreeError]
    assignments: Mapping[int, Assignment]
    residuals: BivariateResiduals
    errors: StandardErrors
    items: tuple[ItemTest, ...]
    checklist: tuple[ChecklistItem, ...]

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All tables, in the order in which they are shown."""
        return tuple(_sections(self))

    def frame(self, name: str, backend: str = "pandas") -> Any:
        """Return one table as a tidy data frame of pandas, Polars or PyArrow.

        Parameters
        ----------
        name : str
            ``variables``, ``models``, ``tests``, ``classification``, ``residuals``, ``items``, ``profiles`` or
            ``checklist``.
        backend : str, default "pandas"
            Whose frame.
        """
        for section in self.sections:
            if section.name == name:
                return frame_of(section, backend)
        known = ", ".join(repr(section.name) for section in self.sections)
        raise bad_parameter("name", "ReviewerReport.frame", f"one of {known}", name)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold. Here, too, lower is better: criteria are -2 LL + penalty."""
        return {
            "kind": "reviewer report",
            "n_classes": _k(self.chosen),
            "higher_is_better": False,
            "mcar": self.mcar.to_dict(),
            **{section.name: [dict(row) for row in section.rows] for section in self.sections},
            "notes": [CRITICISM, *self.errors.warnings],
        }

    def to_text(self, *, width: int = 100) -> str:
        """Return it as plain text."""
        return sections_text(self.title, [_shortened(section) for section in self.sections], width=width)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> Page:
        """Make it an HTML page, and write it to a file if one is named."""
        from ._svg import shown

        body = "\n".join([f"<h1>{shown(self.title)}</h1>", *sections_html(self.sections)])
        made = page(self.title, body, styles=("base.css", "report.css"))
        if path is not None:
            made.save(path)
        return made

    @property
    def title(self) -> str:
        """What it is about."""
        k = _k(self.chosen)
        return f"Reviewer's pack: {k} class{'es' if k > 1 else ''} of {self.table.n:,.10g} rows"

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()._repr_html_()


def reviewer_report(
    fits: Iterable[Fit],
    n_classes: int,
    *,
    seed: int = 0,
    n_replicates: int = 99,
    stop_after: int | None = None,
    n_jobs: int = 1,
    budget: Budget | Clock | None = None,
    watch: Callable[[int], OnProgress | None] | None = None,
    **options: Any,
) -> ReviewerReport:
    """Collect what reviewers of a latent class analysis ask for.

    Parameters
    ----------
    fits : iterable of Fit
        Latent class models of the same data, by maximum likelihood, with different numbers of classes.
    n_classes : int
        Which of them is reported in full.
    seed : int, default 0
        Of the bootstrap tests.
    n_replicates : int, default 99
        Data sets that each bootstrap test draws; 0 leaves the tests out.
    stop_after, n_jobs, budget
        As in :func:`latentree.score.bootstrap_lrt`.
    watch : callable, optional
        Told the number of classes before each bootstrap test; gives what takes its progress events.
    **options
        Further ones of :func:`latentree.score.bootstrap_lrt`.

    Returns
    -------
    ReviewerReport

    Examples
    --------
    >>> from latentree import datasets, fit_classes
    >>> table = datasets.load("carcinoma")
    >>> fits = [fit_classes(table, k, rng=np.random.default_rng(0)) for k in (1, 2, 3)]
    >>> pack = reviewer_report(fits, 2, n_replicates=19)
    >>> pack.frame("models")[["n_classes", "bic"]].round(2).to_dict("list")
    {'n_classes': [1, 2, 3], 'bic': [1082.32, 706.07, 697.14]}
    """
    ordered = tuple(sorted(fits, key=_k))
    chosen = next((fit for fit in ordered if _k(fit) == n_classes), None)
    if chosen is None:
        listed = ", ".join(str(_k(fit)) for fit in ordered)
        raise bad_parameter("n_classes", "reviewer_report", f"one of those that were fitted, {listed}", n_classes)
    table = as_table(chosen.table)
    numbers = [_k(fit) for fit in ordered]
    with sharing():
        errors = standard_errors(chosen)
        tests: dict[int, BootstrapLrt | LatentreeError] = {}
        if n_replicates:
            own: dict[str, Any] = {"n_replicates": n_replicates, "stop_after": stop_after, "n_jobs": n_jobs}
            own |= {"fits": ordered, "budget": budget, **options}
            tests = bootstrap_tests(table, numbers, seed=seed, watch=watch, **own)
            if any(isinstance(t, BootstrapLrt) and t.reason is StopReason.INTERRUPTED for t in tests.values()):
                raise KeyboardInterrupt
        mcar = mcar_test(table)
        done = [test for test in tests.values() if isinstance(test, BootstrapLrt) and test.p_value is not None]
        bound = int(errors.boundary.sum())
        known = bool(np.isfinite(errors.errors).any())
        analysis = Analysis(table, mcar, ordered, chosen, len(done), n_replicates, known, bound, chosen.seed)
        return ReviewerReport(
            table,
            ordered,
            chosen,
            mcar,
            tests,
            _vuong_tests(ordered),
            {_k(fit): average_posteriors(fit) for fit in ordered if _k(fit) > 1},
            bivariate_residuals(chosen),
            errors,
            item_tests(errors) if n_classes > 1 else (),
            smart_checklist(analysis),
        )


def _k(fit: Fit) -> int:
    return int(fit.model.tree.cardinality[0])


def _vuong_tests(fits: Sequence[Fit]) -> dict[int, VuongTest | LatentreeError]:
    found: dict[int, VuongTest | LatentreeError] = {}
    by_number = {_k(fit): fit for fit in fits}
    for k, fit in by_number.items():
        if k - 1 in by_number:
            try:
                found[k] = vuong_lrt(by_number[k - 1], fit)
            except (LatentreeError, np.linalg.LinAlgError) as error:
                found[k] = error if isinstance(error, LatentreeError) else LatentreeError(str(error))
    return found


# ---- the tables -----------------------------------------------------------------------------------------------------


def _sections(pack: ReviewerReport) -> Iterator[Section]:
    yield _variables(pack)
    yield _models(pack)
    yield _tests(pack)
    yield _classification(pack)
    yield _residuals(pack)
    yield _items(pack)
    yield _profiles(pack)
    yield _checklist(pack)


def _variables(pack: ReviewerReport) -> Section:
    rows: list[Row] = []
    n = pack.table.weight
    for variable, counts in zip(pack.table.variables, column_counts(pack.table), strict=True):
        missing = max(n - float(counts.sum()), 0.0)
        for state, count in zip(variable.states, counts, strict=True):
            rows.append({"variable": variable.name, "state": str(state), "count": float(count)})
            rows[-1] |= {"share": float(count / counts.sum()) if counts.sum() else None, "missing": missing / n}
    test = pack.mcar
    said = f"Missing completely at random? {test.reason}"
    if test.p_value is not None and test.statistic is not None:
        said = (
            f"Missing completely at random? X2 = {test.statistic:.2f}, {test.degrees_of_freedom} degrees of freedom, "
            f"p = {test.p_value:.3f}; {test.n_patterns} patterns of missing cells, {test.rows_in_small_patterns:g} "
            f"rows in patterns of fewer than five. {test.method}"
        )
    columns = {"variable": "variable", "state": "state", "count": "count", "share": "share", "missing": "missing"}
    return Section("variables", "Variables", rows, columns, (said,), {"count": 1})


def _models(pack: ReviewerReport) -> Section:
    rows = []
    for fit in pack.fits:
        k, sizes = _k(fit), fit.model.table(0)[0]
        own = sum(v.cardinality - 1 for v in fit.model.variables)
        per = [float(size * fit.table.n / own) if own else None for size in sizes]
        scores = {"aic": aic, "bic": bic, "sabic": sabic, "caic": caic}
        rows.append(
            {
                "n_classes": k,
                "log_likelihood": fit.log_likelihood,
                "n_parameters": fit.n_parameters,
                **{name: shown_score(_value(score, fit), name) for name, score in scores.items()},
                "entropy": relative_entropy(fit) if k > 1 else None,
                "smallest_class": float(sizes.min()),
                "rows_per_parameter": min((x for x in per if x is not None), default=None),
                "rows_per_parameter_by_class": per,
                "converged": fit.converged,
                "starts_at_best": starts_at_best(fit),
                "starts": len(fit.starts),
            }
        )
    columns = {
        "n_classes": "classes",
        "log_likelihood": "LL",
        "n_parameters": "par.",
        "aic": "AIC",
        "bic": "BIC",
        "sabic": "SABIC",
        "caic": "CAIC",
        "entropy": "entropy",
        "smallest_class": "smallest",
        "rows_per_parameter": "rows/par.",
        "converged": "conv.",
        "starts_at_best": "best",
        "starts": "of",
    }
    text = (
        "Of AIC, BIC, SABIC and CAIC lower is better. Entropy is relative: 1 if the class of every row is certain. "
        "rows/par.: rows for each parameter of the class that has fewest. best: starts that found the best fit, of "
        "those run to the end.",
    )
    return Section(
        "models",
        "Models",
        rows,
        columns,
        text,
        dict.fromkeys(("aic", "bic", "sabic", "caic", "log_likelihood"), 2) | {"rows_per_parameter": 1},
    )


def _value(score: Callable[[Fit], float], fit: Fit) -> float | None:
    try:
        return float(score(fit))
    except LatentreeError:
        return None


def _tests(pack: ReviewerReport) -> Section:
    rows: list[Row] = []
    for k in sorted({*pack.bootstrap, *pack.vuong}):
        test, other = pack.bootstrap.get(k), pack.vuong.get(k)
        row: Row = {"classes": f"{k - 1} against {k}", "n_classes": k}
        blank = ("statistic", "bootstrap_p", "lower", "upper", "replicates", "stopped_early")
        row |= dict.fromkeys((*blank, "vlmr_p", "adjusted_statistic", "adjusted_p"))
        if isinstance(other, VuongTest):
            row |= {"statistic": other.statistic, "vlmr_p": other.p_value}
            row |= {"adjusted_statistic": other.adjusted_statistic, "adjusted_p": other.adjusted_p_value}
        if isinstance(test, BootstrapLrt):
            lower, upper = test.interval()
            row |= {"statistic": test.statistic, "bootstrap_p": test.p_value, "lower": lower, "upper": upper}
            row |= {"replicates": test.n_replicates, "stopped_early": test.stopped_early}
        rows.append(row)
    columns = {
        "classes": "classes",
        "statistic": "2 diff. LL",
        "bootstrap_p": "bootstrap p",
        "lower": "from",
        "upper": "to",
        "replicates": "replicates",
        "vlmr_p": "VLMR p",
        "adjusted_statistic": "adj. LMR",
        "adjusted_p": "adj. p",
    }
    text = ["A small p is evidence for the larger number. from, to: 95 % bounds of the bootstrap p, by its replicates."]
    if any(isinstance(test, BootstrapLrt) and test.stopped_early for test in pack.bootstrap.values()):
        text.append("Tests ended early once enough replicates were at least as large (Besag & Clifford 1991).")
    failed = (*pack.bootstrap.items(), *pack.vuong.items())
    text += [f"{k - 1} against {k} not tested: {e}" for k, e in failed if isinstance(e, LatentreeError)]
    return Section(
        "tests", "How many classes: tests", rows, columns, (*text, CRITICISM), {"statistic": 2, "adjusted_statistic": 2}
    )


def _classification(pack: ReviewerReport) -> Section:
    rows = [
        {
            "n_classes": k,
            "class": class_label(c),
            "expected_share": float(own.expected[c] / own.expected.sum()),
            "assigned_share": float(own.modal[c] / own.modal.sum()),
            "average_posterior": _finite(own.average[c, c]),
            "odds_correct": _finite(own.odds[c]),
        }
        for k, own in pack.assignments.items()
        for c in range(k)
    ]
    columns = {
        "n_classes": "classes",
        "class": "class",
        "expected_share": "share",
        "assigned_share": "assigned",
        "average_posterior": "average posterior",
        "odds_correct": "odds correct",
    }
    text = ("Odds of correct classification above 5 and average posteriors above 0.7 are called good (Nagin 2005).",)
    return Section("classification", "Classification", rows, columns, text, {"odds_correct": 1})


def _finite(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


def _residuals(pack: ReviewerReport) -> Section:
    found = pack.residuals.largest(len(pack.residuals.names) ** 2)
    rows = [
        {"variable": a.names[0], "with": a.names[1], "x2": a.x2, "degrees_of_freedom": a.degrees_of_freedom}
        | {"residual": a.residual, "p_value": a.p}
        for a in found
    ]
    columns = {"variable": "variable", "with": "with", "x2": "X2", "degrees_of_freedom": "df", "residual": "X2/df"}
    text = ("Of the chosen model, largest first; well above 4, the classes leave something of the pair unexplained.",)
    return Section("residuals", "Bivariate residuals", rows, columns, text, {"x2": 2, "residual": 2})


def _items(pack: ReviewerReport) -> Section:
    holm = _holm([test.p_value for test in pack.items])
    rows = [
        {
            "variable": test.variable,
            "wald": test.statistic,
            "degrees_of_freedom": test.degrees_of_freedom,
            "p_value": test.p_value,
            "p_holm": corrected,
            "boundary": test.boundary,
        }
        for test, corrected in zip(pack.items, holm, strict=True)
    ]
    columns = {"variable": "variable", "wald": "Wald", "degrees_of_freedom": "df", "p_value": "p", "p_holm": "p (Holm)"}
    text = ["Whether all classes answer an item alike. A small p says that the item tells classes apart."]
    if any(test.boundary for test in pack.items):
        text.append("Some probabilities are 0 or 1 and count as known, so these tests are rough.")
    if not pack.items:
        text = ["There is one class: nothing to compare."]
    return Section("items", "Items between classes", rows, columns | {"boundary": "boundary"}, text, {"wald": 2})


def _holm(p: Sequence[float | None]) -> list[float | None]:
    """Holm's correction for the number of tests."""
    order = sorted((i for i, x in enumerate(p) if x is not None), key=lambda i: p[i] or 0.0)
    out: list[float | None] = [None] * len(p)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * (p[i] or 0.0)))
        out[i] = largest
    return out


def _profiles(pack: ReviewerReport) -> Section:
    model, errors = pack.chosen.model, pack.errors
    rows: list[Row] = []

    def add(variable: str, state: str, c: int, p: float, at: int) -> None:
        values = {what: _finite(getattr(errors, name)[at]) for what, name in _ENDS.items()}
        rows.append({"variable": variable, "state": state, "class": class_label(c), "probability": p, **values})

    for c, share in enumerate(model.table(0)[0]):
        add("(class size)", "", c, float(share), c)
    for v in model.tree.manifest:
        variable = model.variables[int(model.tree.variable[v])]
        begin, m = int(model.tree.offsets[v]), variable.cardinality
        for j, state in enumerate(variable.states):
            for c in range(_k(pack.chosen)):
                add(variable.name, str(state), c, float(model.table(int(v))[c, j]), begin + c * m + j)
    columns = {"variable": "variable", "state": "state", "class": "class", "probability": "P"}
    columns |= {"standard_error": "s.e.", "lower": "from", "upper": "to"}
    text = (f"{100 * errors.level:g} % intervals on the logit scale, from the observed information.", *errors.warnings)
    return Section("profiles", "Profiles of the chosen model", rows, columns, text)


_ENDS = {"standard_error": "errors", "lower": "lower", "upper": "upper"}


def _checklist(pack: ReviewerReport) -> Section:
    rows = [{"step": i.step, "item": i.item, "status": i.status, "comment": i.comment} for i in pack.checklist]
    columns = {"step": "step", "item": "item", "status": "status", "comment": "comment"}
    text = ("After van Lissa, Garnier-Villarreal & Anadria (2023). 'yours' is what only the authors can say.",)
    return Section("checklist", "SMART-LCA checklist", rows, columns, text)


def _shortened(section: Section) -> Section:
    """A section with fewer residuals."""
    return replace(section, rows=section.rows[:MOST_RESIDUALS]) if section.name == "residuals" else section
