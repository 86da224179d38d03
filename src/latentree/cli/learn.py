"""``latentree learn``: a latent tree from data, the main job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..search import DEFAULT, METHODS
from .app import INTERRUPTED
from .command import command as command_, file, flag, option, session, warn
from .options import (
    assign_option,
    data_argument,
    force_option,
    learning_options,
    model_out_option,
    prior_option,
    resume_option,
    score_option,
    searching_options,
)
from .output import emit, note, print_report, tell_resumed
from .settings import settings_of
from .types import Choice

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from ..report import Report
    from ..runner import Clock
    from ..search import Run
    from .data import Source
    from .files import Outputs

__all__ = ["command"]

EXAMPLES = """
latentree learn voting --out model.json
latentree learn survey.csv --drop id --bins age=3 --out model.json --report report.html
latentree learn survey.csv --drop id --assign rows.csv --json > learned.json
latentree learn big.csv --resume big.checkpoint --time-limit 3600 --out model.json
latentree learn survey.csv --drop id --method east --score bice --trace steps.json
"""

SEARCH, OUTPUT = "How the tree is found", "Output"


@command_("learn", examples=EXAMPLES)
@data_argument
@option(
    "--method NAME",
    SEARCH,
    f"How to search: {', '.join(METHODS)}. swift is the fast one, the others are those of the literature.",
    type=Choice(list(METHODS)),
    default=DEFAULT,
)
@score_option(SEARCH, "What to maximise")
@option("--start MODEL", SEARCH, "Start from the tree of this model file.", type=click.Path())
@option(
    "--set NAME=VALUE",
    "settings",
    SEARCH,
    "An option of the method, such as trials=0; an unknown name lists all of them.",
    multiple=True,
)
@prior_option(SEARCH, "auto")
@resume_option(SEARCH, "tree")
@searching_options
@learning_options
@model_out_option("--out", "the model")
@assign_option(OUTPUT, "state of every latent variable")
@file("--report", OUTPUT, "Write a report to this file (.html).")
@file("--trace", OUTPUT, "Write the steps to this file (.json).")
@force_option
@flag("--all", "everything", OUTPUT, "Show all variables and states, however many.")
def command(
    data: str,
    out: str | None,
    assign: str | None,
    report: str | None,
    trace: str | None,
    force: bool,
    everything: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Learn a latent tree: which variables go together, and why.

    DATA is a file, '-' for standard input, or a data set of latentree by name. Every column is a categorical variable,
    whatever it holds; cells may be missing. Columns of numbers need --bins, and identifiers --drop.

    Finds latent variables in a tree, how many states each has, and all probabilities. Latent variables are named after
    the two variables they explain best. BIC = -2 LL + d ln N, where d is the number of parameters: lower is better
    (with --json, this divided by -2).

    The tree is found by maximum likelihood, and so are log-likelihood, AIC and BIC. The probabilities in the model
    file are pulled towards simpler distributions, as far as held-out rows support it, so that no row of known
    values is impossible; --prior says otherwise.

    Ctrl-C stops the search; the best tree so far is shown and written, and the exit status is 130.
    """
    from ..report import Report
    from ..report._html_report import with_statistics
    from .data import check_blocks, read_to_learn
    from .files import CHECKPOINT, MODEL, PAGE, ROWS, STEPS, Outputs
    from .limit import NO_STATISTICS, Limit
    from .rows import header

    start, resume = options["start"], options["resume"]
    files = {"--out": (MODEL, out), "--assign": (ROWS, assign), "--report": (PAGE, report), "--trace": (STEPS, trace)}
    outputs = Outputs("learn", {**files, "--resume": (CHECKPOINT, resume)}, [data, start], force=force)
    method = options["method"]
    settings = settings_of(METHODS[method].load().Options, method, options["settings"])
    source, table = read_to_learn(data, options)
    check_blocks(options, table)
    outputs.check_rows("--assign", assign, header(source.frame))
    page = report is not None
    limit = Limit(
        options["time_limit"],
        table,
        pages=page,
        rows=assign is not None,
        statistics=page and with_statistics(table.n_variables),
    )
    found_by = _searched(table, options, settings, limit.work)
    stopped = found_by.reason.value == "interrupted"
    with limit.finishing(stopped) as finishing:
        described = Report.of_search(found_by, seed=options["seed"], hurried=finishing.hurried)
    intervals = limit.for_intervals(described.model, table)
    late = finishing.without_statistics(intervals, complete=found_by.reason.complete)
    if page and late and (intervals or with_statistics(table.n_variables)):
        described = described.without_statistics(NO_STATISTICS)
    run = described.run
    assert run is not None
    found = _contents(described)
    with outputs.until_interrupted(stopped or finishing.interrupted):
        if out is not None:
            _save(run, source, options, found, outputs, out)
        _write(described, source, outputs, assign, report, trace)
        if as_json:
            emit(_document(run, found, source))
        else:
            # The steps are for 'latentree trace'; warnings have been told.
            print_report({**described.contents, "trace": [], "warnings": []}, everything=everything)
    if stopped:
        kept = f" Continue with --resume {resume}." if resume else ""
        note(f"Interrupted: this is the best so far.{kept}")
    elif finishing.interrupted:
        note("Interrupted after the search: this is its result.")
    return INTERRUPTED if stopped or finishing.interrupted else 0


def _searched(table: Table, options: dict[str, Any], settings: dict[str, Any], clock: Clock) -> Run:
    import numpy as np

    from ..search import learn
    from .data import load_model
    from .progress import search_meter

    start, resume = options["start"], options["resume"]
    tell_resumed(resume)
    with search_meter(options["score"], table.n_variables) as shown:
        return learn(
            table,
            method=options["method"],
            score=options["score"],
            prior=options["prior"],
            rng=np.random.default_rng(options["seed"]),
            budget=clock,
            start=None if start is None else load_model(start),
            n_jobs=options["n_jobs"] or -1,
            checkpoint=resume,
            on_step=shown.step,
            on_progress=shown.progress,
            **settings,
        )


# ---- what comes out ------------------------------------------------------------------------------------------------


def _contents(report: Report) -> dict[str, Any]:
    """The report as plain values; its warnings are told here, as those of the data were."""
    found = report.to_dict()
    assert report.run is not None
    for text in found["warnings"]:
        warn(text)
    return {**found, "seed": report.run.fit.seed, "reason": report.run.reason.value}


def _save(run: Run, source: Source, options: dict[str, Any], found: dict[str, Any], outputs: Outputs, out: str) -> None:
    from .origin import with_origin

    model: Model = with_origin(run.model, "learn", source, options, found, ("n_variables", "n_latents"))
    outputs.write_model(model, out)
    if run.trace and "trace" not in model.provenance:
        note("The model has no steps in it, since they are many; --trace FILE writes them.")


def _write(
    described: Report, source: Source, outputs: Outputs, assign: str | None, report: str | None, trace: str | None
) -> None:
    from .._table import as_table
    from .rows import assigned, joined, weighed

    run = described.run
    assert run is not None
    if assign is not None:
        with described.sharing():
            added = assigned(run.model, as_table(run.fit.table))
        outputs.write_rows(joined(weighed(source.frame), added), assign)
    if report is not None:
        outputs.write_page(described.to_html(title=f"Latent tree of {Path(source.name).stem}"), report)
        note(f"Report written to '{report}'.")
    if trace is not None:
        from ..search import trace_to_plain

        outputs.write_json({"score": run.criterion, "trace": trace_to_plain(run.trace)}, trace)
        note(f"{len(run.trace):,} steps written to '{trace}'.")


def _document(run: Run, found: dict[str, Any], source: Source) -> dict[str, Any]:
    from .._table import as_table

    return {
        "data": source.name,
        **found,
        "method": run.method,
        "score": run.criterion,
        "value": run.score,
        "structure": run.structure,
        "message": run.message or run.reason.message,
        "starts": {"made": len(run.ends), "found": run.found, "ends": list(run.ends)},
        "n_rows": len(as_table(run.fit.table).inverse),
        "interrupted": run.reason.value == "interrupted",
        "warnings": session().warnings,
        "notes": [*session().notes, *found["notes"]],
    }
