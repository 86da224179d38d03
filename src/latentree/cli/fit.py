"""``latentree fit``: latent class analysis."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import click

from ..cardinality._registry import DEFAULT, learning_methods, require_time_limit
from .app import INTERRUPTED
from .command import command as command_, file, flag, option, session, warn, whole
from .options import (
    assign_option,
    data_argument,
    estimating_options,
    force_option,
    learning_options,
    model_out_option,
    resume_option,
    score_option,
)
from .output import emit, note, print_report, tell_resumed
from .types import CLASSES, Choice

if TYPE_CHECKING:
    from .._table import Table
    from ..comparison import Comparison
    from ..estimation import Estimate, Fit
    from ..report import Page, ReviewerReport
    from ..report._contents import ClassReport, TreeReport
    from ..runner import Clock
    from .data import Source
    from .files import Outputs

__all__ = ["command", "fitted"]

EXAMPLES = """
latentree fit carcinoma
latentree fit carcinoma --classes 1-4
latentree fit survey.csv --drop id --classes 1-6 --out model.json --assign rows.csv
latentree fit survey.csv --columns sex,smokes,age --bins age=3 --classes 3
latentree fit counts.csv --weights n --classes 2-5 --score aic --n-init 200 --seed 1
latentree fit survey.csv --drop id --max-classes 6 --score aic
latentree fit survey.csv --drop id --method SplitMerge --set adjust=false
latentree fit survey.csv --drop id --classes 1-5 --reviewer --report pack.html
latentree fit big.csv --classes 2-20 --time-limit 60 --json > fit.json
latentree fit big.csv --classes 2-20 --resume big.checkpoint --out model.json
"""

MODELS, OUTPUT = "Which models", "Output"


@command_("fit", examples=EXAMPLES)
@data_argument
@option(
    "--classes NUMBERS",
    MODELS,
    "Numbers of classes to try: 3, 2,4 or 1-6. With more than one, a single class is always compared too. "
    "Default: the number is learned, by random starts and by splitting and merging classes.",
    type=CLASSES,
)
@score_option(MODELS, "What decides between them")
@whole(
    "--max-classes", MODELS, "Most classes when their number is learned. Default: as many as there are distinct rows."
)
@option(
    "--method NAME",
    MODELS,
    f"How the number is learned: {', '.join(learning_methods())}. The first looks at starts, splits and merges; the "
    "others are those of the literature, and some need --time-limit.",
    type=Choice(learning_methods()),
)
@option(
    "--set NAME=VALUE",
    "settings",
    MODELS,
    "An option of the method, such as direction=greedy or n_splits=4; an unknown name lists all of them.",
    multiple=True,
)
@option(
    "--start MODEL",
    MODELS,
    "Improve the latent class model of this file when the number is learned.",
    type=click.Path(),
)
@resume_option(MODELS)
@estimating_options
@learning_options
@model_out_option("--out", "the best model")
@assign_option(OUTPUT)
@force_option
@flag("--all", "everything", OUTPUT, "Show all variables and states, however many.")
@flag(
    "--statistics",
    OUTPUT,
    "Also G2 and X2, bivariate residuals, how certain the classes of rows are, and more scores.",
)
@flag(
    "--reviewer",
    OUTPUT,
    "Also what reviewers ask for: missing cells, all models in one table, bootstrap and Vuong-Lo-Mendell-Rubin tests, "
    "classification, residuals, items between classes, intervals and the SMART-LCA checklist.",
)
@whole(
    "--bootstrap", OUTPUT, "Data sets that each bootstrap test of --reviewer draws. Default: 99; 0 for no test.", min=0
)
@whole(
    "--stop-after", OUTPUT, "End a bootstrap test once N of them have a likelihood ratio as large as that of the data."
)
@file("--report", OUTPUT, "Write a report to this file (.html); with --reviewer, what reviewers ask for.")
def command(
    data: str,
    out: str | None,
    assign: str | None,
    force: bool,
    everything: bool,
    statistics: bool,
    reviewer: bool,
    report: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Latent class analysis: find groups of rows that answer alike.

    DATA is a file, '-' for standard input, or a data set of latentree by name. Every column is a categorical variable,
    whatever it holds; cells may be missing. Columns of numbers need --bins, and identifiers --drop.

    How many classes there are is learned, unless --classes says which numbers to compare. The best model is shown: how
    large its classes are and how they answer. AIC = -2 LL + 2 d and BIC = -2 LL + d ln N, where d is the number of
    parameters: lower is better (with --json, these divided by -2). Relative entropy says how certain the classes of the
    rows are: 1 certain, 0 not at all.

    Ctrl-C stops the fitting; the best model so far is shown and written, and the exit status is 130.
    """
    from ..engine._plan import SharedPlans, sharing
    from ..report import describe
    from ..report._html_report import with_statistics
    from ..runner import StopReason
    from .data import check_blocks, read_to_learn
    from .files import CHECKPOINT, MODEL, PAGE, ROWS, Outputs
    from .limit import NO_STATISTICS, Limit
    from .rows import header

    resume = options["resume"]
    files = {"--out": (MODEL, out), "--assign": (ROWS, assign), "--resume": (CHECKPOINT, resume)}
    files["--report"] = (PAGE, report)
    _check_reviewer(reviewer, options)
    outputs = Outputs("fit", files, [data, options["start"]], force=force)
    if options["classes"] is not None:
        _refuse_learning(options)
    source, table = read_to_learn(data, options)
    check_blocks(options, table)
    outputs.check_rows("--assign", assign, header(source.frame))
    score = options["score"]
    scores = (score, *(name for name in ("bic", "aic") if name != score))
    asked = options["classes"]
    page = report is not None
    on_page = page and not reviewer and with_statistics(table.n_variables)
    limit = Limit(options["time_limit"], table, pages=page, rows=assign is not None, statistics=statistics or on_page)
    if asked is None:
        comparison = learned(table, options, scores, limit.work)
        best = comparison.best()
    else:
        comparison = fitted(table, options, scores, baseline=len(asked) > 1, clock=limit.work)
        best = _best(comparison, asked)
    best, estimate = _estimated(best, options, None if comparison.interrupted else limit.work)
    plans: SharedPlans = {}
    cut = comparison.interrupted or best.reason is StopReason.INTERRUPTED
    with limit.finishing(cut) as finishing, sharing(plans):
        intervals = limit.for_intervals(best.model, table) if page and not reviewer else 0.0
        late = finishing.without_statistics(intervals, complete=best.reason.complete)
        short = late and bool(statistics or on_page or intervals)
        described = describe(best, statistics=statistics and not short, search=comparison.search, estimate=estimate)
        described["notes"] += [NO_STATISTICS] if short and statistics else []
    stopped = cut or finishing.interrupted
    pack = _reviewed(best, comparison, options, limit.work) if reviewer and not stopped else None
    unreviewed = reviewer and pack is None
    with outputs.until_interrupted(stopped or unreviewed), sharing(plans):
        _write(best, described, source, options, outputs, out, assign)
        if report is not None and not unreviewed:
            outputs.write_page(_page(best, pack, short), report)
            note(f"Report written to '{report}'.")
        if as_json:
            document = _document(best, described, comparison, source)
            emit(document if pack is None else {**document, "reviewer": pack.to_dict()})
        else:
            _show(described, comparison, everything)
            if pack is not None:
                click.echo("\n" + pack.to_text(width=max(shutil.get_terminal_size().columns, 100)))
    if unreviewed:
        left = f", and '{report}' is not written" if report is not None else ""
        note(f"Interrupted: what reviewers ask for is missing{left}.")
    if (stopped or unreviewed) and not comparison.interrupted:
        note("Interrupted after the fitting: this is its result.")
        return INTERRUPTED
    if comparison.interrupted:
        left = f" Not fitted: {', '.join(map(str, comparison.skipped))} classes." if comparison.skipped else ""
        kept = f" Continue with --resume {resume}." if resume else ""
        note(f"Interrupted: this is the best so far.{left}{kept}")
    return INTERRUPTED if comparison.interrupted else 0


def fitted(table: Table, options: dict[str, Any], scores: Sequence[str], *, baseline: bool, clock: Clock) -> Comparison:
    """Fit the numbers of classes asked for, showing how far it is."""
    from ..comparison import compare_classes
    from .progress import meter

    tell_resumed(options["resume"])
    asked = options["classes"]
    with meter(len({1, *asked} if baseline else asked)) as shown:
        return compare_classes(
            table,
            asked,
            rng=options["seed"],
            scores=scores,
            budget=clock,
            baseline=baseline,
            watch=shown.watch,
            checkpoint=options["resume"],
            n_init=options["n_init"],
            tol=options["tol"],
            prior=_number(options["prior"]),
            n_jobs=options["n_jobs"],
        )


def learned(table: Table, options: dict[str, Any], scores: Sequence[str], clock: Clock) -> Comparison:
    """Learn the number of classes, showing how far it is."""
    import numpy as np

    from .._registry import loaded
    from ..cardinality import LEARNERS, learn_classes
    from ..comparison import searched
    from .data import load_model
    from .progress import meter
    from .settings import settings_of

    method, start = options["method"] or DEFAULT, options["start"]
    own = {"prior": _number(options["prior"]), "n_jobs": options["n_jobs"], "max_states": options["max_classes"]}
    kind = loaded(LEARNERS.find(method, owner="fit").reference).Options
    given = settings_of(kind, method, options["settings"], called={"max_states": "max_classes"}, **own)
    require_time_limit(method, options["time_limit"], "fit")
    tell_resumed(options["resume"])
    with meter(None) as shown:
        found = learn_classes(
            table,
            method=method,
            max_classes=options["max_classes"],
            start=None if start is None else load_model(start),
            rng=np.random.default_rng(options["seed"]),
            score=scores[0],
            budget=clock,
            polish={"tol": options["tol"]},
            checkpoint=options["resume"],
            on_progress=shown.follow(scores[0]),
            prior=own["prior"],
            n_jobs=own["n_jobs"],
            options=given,
        )
    return searched(found, scores, seed=options["seed"])


def _check_reviewer(reviewer: bool, options: dict[str, Any]) -> None:
    """Refuse what does not go together with, or without, the reviewer's pack."""
    for name in ("bootstrap", "stop_after"):
        if options[name] is not None and not reviewer:
            raise click.UsageError(f"--{name.replace('_', '-')} is for --reviewer: add it, or use 'latentree compare'.")
    if reviewer and options["prior"] not in (None, 1):
        raise click.UsageError("--reviewer is about maximum likelihood: leave out --prior.")


def _reviewed(best: Fit, comparison: Comparison, options: dict[str, Any], clock: Clock) -> ReviewerReport | None:
    """What reviewers ask for, or nothing after Ctrl-C."""
    try:
        return _pack(best, comparison, options, clock)
    except KeyboardInterrupt:
        return None


def _pack(best: Fit, comparison: Comparison, options: dict[str, Any], clock: Clock) -> ReviewerReport:
    """What reviewers ask for; if the number of classes was learned, of 1 to one more than that."""
    from ..comparison import compare_classes
    from ..report import reviewer_report
    from .progress import meter

    k = int(best.model.tree.cardinality[0])
    fits = {int(fit.model.tree.cardinality[0]): fit for fit in comparison.fits}
    if comparison.search is not None:
        own = {name: options[name] for name in ("n_init", "tol", "n_jobs")}
        numbers = {*range(1, k + 2)} - {k}
        others = compare_classes(best.table, numbers, rng=options["seed"], baseline=False, budget=clock.left(), **own)
        if others.interrupted:
            raise KeyboardInterrupt
        fits |= {int(fit.model.tree.cardinality[0]): fit for fit in others.fits}
    replicates = 99 if options["bootstrap"] is None else options["bootstrap"]
    with meter(len(fits) - 1) as shown:
        return reviewer_report(
            fits.values(),
            k,
            seed=options["seed"],
            n_replicates=replicates,
            stop_after=options["stop_after"],
            n_jobs=options["n_jobs"],
            budget=clock,
            watch=shown.watch,
        )


def _page(best: Fit, pack: ReviewerReport | None, short: bool) -> Page:
    from ..report import Report
    from .limit import NO_STATISTICS

    if pack is not None:
        return pack.to_html()
    described = Report.of(best)
    return (described.without_statistics(NO_STATISTICS) if short else described).to_html()


def _refuse_learning(options: dict[str, Any]) -> None:
    """Say that an option has nothing to do when the numbers of classes are given."""
    for name in ("max_classes", "method", "settings", "start"):
        if options[name]:
            own = "--set" if name == "settings" else f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{own} is for a number of classes that is learned. Leave out {own} or --classes.")


def _number(prior: Any) -> float | None:
    """The prior of the fits; one that the data choose comes when they are compared."""
    return None if isinstance(prior, str) else prior


def _estimated(best: Fit, options: dict[str, Any], clock: Clock | None) -> tuple[Fit, Estimate]:
    """The fit with the probabilities asked for, and what they are; without a clock there is no time to choose them."""
    from ..estimation import Estimate
    from ..estimation._smoothing import smoothed_classes
    from ..runner import Budget

    prior = options["prior"]
    if isinstance(prior, str):
        return smoothed_classes(best, prior=prior, budget=clock or Budget(seconds=0), n_jobs=options["n_jobs"])
    return best, Estimate("ml" if prior in (None, 1) else "map", best.log_likelihood, prior=prior)


def _best(comparison: Comparison, asked: tuple[int, ...]) -> Fit:
    """Choose among the numbers of classes asked for; a single class is there to compare with."""
    from ..comparison import chosen

    score = comparison.scores[0]
    at = chosen(comparison.table, score, asked)
    if comparison.table[at]["n_classes"] in asked and comparison.best_n_classes() not in asked:
        warn(f"A single class has the better {score.upper()}: by it, the data give no reason for more.")
    return comparison.fits[at]


# ---- what comes out ------------------------------------------------------------------------------------------------


def _show(report: ClassReport | TreeReport, comparison: Comparison, everything: bool) -> None:
    if len(comparison.table) > 1 or comparison.skipped:
        print_report(comparison.to_dict())
        click.echo()
    expected = report.get("estimate", {}).get("kind") == "ml"  # what everybody expects need not be told
    shown = {name: own for name, own in report.items() if not (expected and name == "estimate")}
    print_report(cast("ClassReport", shown), everything=everything)


def _document(best: Fit, report: ClassReport | TreeReport, comparison: Comparison, source: Source) -> dict[str, Any]:
    from .._table import as_table

    return {
        "data": source.name,
        "score": comparison.scores[0],
        **report,
        "n_rows": len(as_table(best.table).inverse),
        "interrupted": comparison.interrupted,
        "not_fitted": list(comparison.skipped),
        "comparison": comparison.to_dict(),
        "warnings": [*session().warnings, *report["warnings"]],
        "notes": [*session().notes, *report["notes"]],
    }


def _write(
    best: Fit,
    report: ClassReport | TreeReport,
    source: Source,
    options: dict[str, Any],
    outputs: Outputs,
    out: str | None,
    assign: str | None,
) -> None:
    from .._table import as_table
    from .origin import with_origin
    from .rows import assigned, joined, weighed

    if out is not None:
        from ..prediction import row_quantiles

        model = with_origin(best.model, "fit", source, options, report, ("n_classes", "estimate"))
        known = {"row_quantiles": row_quantiles(best.model, as_table(best.table))}
        outputs.write_model(replace(model, provenance={**model.provenance, **known}), out)
    if assign is not None:
        outputs.write_rows(joined(weighed(source.frame), assigned(best.model, as_table(best.table))), assign)
