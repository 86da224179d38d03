"""``latentree learn``: a latent tree from data, the main job."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..search._registry import METHODS as SEARCHES
from .app import INTERRUPTED
from .command import command as command_, option, session, warn
from .options import data_argument, learning_options, score_option, searching_options
from .output import emit, note, print_report, tell_resumed

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from ..report import Report
    from ..search import Run
    from .data import Source

__all__ = ["command"]

EXAMPLES = """
latentree learn voting --out model.json
latentree learn survey.csv --drop id --bins age=3 --out model.json --report report.html
latentree learn survey.csv --drop id --assign rows.csv --json > learned.json
latentree learn big.csv --resume big.checkpoint --time-limit 3600 --out model.json
latentree learn survey.csv --drop id --method east --score bice --trace steps.json
"""

METHODS = tuple(SEARCHES)
"""The methods of :func:`latentree.search.learn`."""

SEARCH, OUTPUT = "How the tree is found", "Output"


@command_("learn", examples=EXAMPLES)
@data_argument
@option(
    "--method",
    type=click.Choice(METHODS),
    default="swift",
    show_default=True,
    metavar="NAME",
    section=SEARCH,
    help=f"How to search: {', '.join(METHODS[:-1])} or {METHODS[-1]}. swift is the fast one, the others are those of "
    "the literature.",
)
@score_option(SEARCH, "What to maximise")
@option("--start", type=click.Path(), metavar="MODEL", section=SEARCH, help="Start from the tree of this model file.")
@option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    section=SEARCH,
    help="An option of the method, such as trials=0; an unknown one is answered with a list.",
)
@option(
    "--resume",
    type=click.Path(),
    metavar="FILE",
    section=SEARCH,
    help="Save the search in this file after every step. If it is there already, go on from it: a run that was "
    "stopped, or killed, ends with the same tree as one that was not.",
)
@searching_options
@learning_options
@option("--out", type=click.Path(), metavar="FILE", section=OUTPUT, help="Write the model to this file (JSON).")
@option(
    "--assign",
    type=click.Path(),
    metavar="FILE",
    section=OUTPUT,
    help="Write the rows of DATA to this file, with the state of each latent variable and the probability of every "
    "state appended; CSV, TSV if it ends in .tsv, gzipped if in .gz.",
)
@option(
    "--report", type=click.Path(), metavar="FILE", section=OUTPUT, help="Write a report to this file, a page of HTML."
)
@option("--trace", type=click.Path(), metavar="FILE", section=OUTPUT, help="Write the steps to this file (JSON).")
@option("--all", "everything", is_flag=True, section=OUTPUT, help="Show all variables and states, however many.")
def command(
    data: str,
    out: str | None,
    assign: str | None,
    report: str | None,
    trace: str | None,
    everything: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Learn a latent tree: which variables go together, and why.

    DATA is a file, '-' for standard input, or a data set of latentree by name. Every column is a categorical variable,
    whatever it holds; cells may be missing. Columns of numbers need --bins, and identifiers --drop.

    Found are latent variables in a tree, how many states each has, and all probabilities. Latent variables are named
    after the two variables they explain best. BIC = LL - d/2 ln N, where d is the number of parameters: higher is
    better.

    Ctrl-C stops the search; the best tree so far is shown and written, and the exit status is 130.
    """
    from .data import open_source, table_to_learn_from
    from .files import check_outputs, check_rows_file

    started = time.perf_counter()
    check_rows_file("--assign", assign)
    start, resume = options["start"], options["resume"]
    outputs = {"--out": out, "--assign": assign, "--report": report, "--trace": trace, "--resume": resume}
    check_outputs(outputs, [data, start])
    source = open_source(data, **options)
    table = table_to_learn_from(source, **options)
    described = _searched(table, options)
    run, found = described.run, _described(described)
    assert run is not None
    if out is not None:
        _save(run, source, options, found, out)
    _write(described, run, source, assign, report, trace)
    if as_json:
        emit(_document(run, found, source, time.perf_counter() - started))
    else:
        # The steps are for 'latentree trace'; warnings have been told.
        print_report({**found, "trace": [], "warnings": []}, everything=everything)
    interrupted = run.reason.value == "interrupted"
    if interrupted:
        kept = f" Go on with --resume {resume}." if resume else ""
        note(f"Interrupted: this is the best so far.{kept}")
    return INTERRUPTED if interrupted else 0


def _searched(table: Table, options: dict[str, Any]) -> Report:
    import numpy as np

    from ..report import Report
    from ..runner import Budget
    from ..search import learn
    from .data import load_model
    from .progress import search_meter

    start, resume = options["start"], options["resume"]
    tell_resumed(resume)
    with search_meter(options["score"], table.n_variables) as shown:
        run = learn(
            table,
            method=options["method"],
            score=options["score"],
            rng=np.random.default_rng(options["seed"]),
            budget=Budget(seconds=options["time_limit"]),
            start=None if start is None else load_model(start),
            n_jobs=options["n_jobs"] or -1,
            checkpoint=resume,
            on_step=shown.step,
            on_progress=shown.progress,
            **_settings(options["settings"]),
        )
    return Report.of_search(run, seed=options["seed"])


def _settings(given: tuple[str, ...]) -> dict[str, Any]:
    """Read NAME=VALUE: whole numbers, numbers, true, false and lists of numbers."""
    import json

    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"--set '{text}' must have the form NAME=VALUE.")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value.strip()
    return found


# ---- what comes out ------------------------------------------------------------------------------------------------


def _described(report: Report) -> dict[str, Any]:
    """The contents of the report; its warnings are told here, as those of the data were."""
    found = report.to_dict()
    for text in found["warnings"]:
        warn(text)
    return {**found, "seed": found["search"]["seed"], "reason": found["search"]["reason"]}


def _save(run: Run, source: Source, options: dict[str, Any], found: dict[str, Any], out: str) -> None:
    from ..formats._json import save
    from .origin import with_origin

    model: Model = with_origin(run.model, "learn", source, options, found, ("n_variables", "n_latents"))
    save(model, out)
    if run.trace and "trace" not in model.provenance:
        note("The model has no steps in it, which are many; --trace FILE writes them.")
    note(f"Model written to '{out}'.")


def _write(
    described: Report, run: Run, source: Source, assign: str | None, report: str | None, trace: str | None
) -> None:
    from .files import write_rows
    from .rows import assigned, joined, weighed

    if assign is not None:
        write_rows(joined(weighed(source.frame), assigned(run.model, run.fit.table)), assign)
        note(f"{len(run.fit.table.inverse):,} rows written to '{assign}'.")
    if report is not None:
        described.to_html(report, title=f"Latent tree of {Path(source.name).stem}")
        note(f"Report written to '{report}'.")
    if trace is not None:
        import json

        from .._files import write_atomically
        from ..search import trace_to_plain
        from .output import plain

        write_atomically(trace, json.dumps({"trace": plain(trace_to_plain(run.trace))}, indent=1) + "\n")
        note(f"{len(run.trace):,} steps written to '{trace}'.")


def _document(run: Run, found: dict[str, Any], source: Source, seconds: float) -> dict[str, Any]:
    return {
        "command": "learn",
        "data": source.name,
        **found,
        "method": run.method,
        "score": run.criterion,
        "value": run.score,
        "structure": run.structure,
        "message": run.message or run.reason.message,
        "n_rows": len(run.fit.table.inverse),
        "seconds": seconds,
        "interrupted": run.reason.value == "interrupted",
        "warnings": session().warnings,
        "notes": [*session().notes, *found["notes"]],
    }
