"""``latentree report``: a model, and how well it fits data, told in words, tables and pictures."""

from __future__ import annotations

import time
from typing import Any

import click

from .command import command as command_, option, session
from .options import matching_options, model_argument, shown_data_option, trace_option
from .output import emit, note, print_report

__all__ = ["command"]

EXAMPLES = """
latentree report model.json
latentree report model.json --data survey.csv
latentree report model.json --data survey.csv --out report.html
latentree report model.json --json > report.json
"""


@command_("report", examples=EXAMPLES)
@model_argument
@option(
    "--out",
    type=click.Path(),
    section="Output",
    metavar="FILE",
    help="Write an HTML page to this file: the tree, its latent variables and their profiles, fit statistics; one file "
    "that needs no network. Default: text on standard output.",
)
@option("--title", metavar="TEXT", section="Output", help="Title of the page.")
@option("--all", "everything", is_flag=True, section="Output", help="Show all latent variables and leave nothing out.")
@shown_data_option
@trace_option
@matching_options
def command(
    model: str,
    out: str | None,
    title: str | None,
    everything: bool,
    data: str | None,
    trace: str | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Tell what a model says of its variables, and how it fits data.

    MODEL is a model file. With --data, also log-likelihood, AIC and BIC, expected cases, how certain the rows' states
    are and, on the page, fit statistics and residuals.
    """
    from ..report import Report
    from .data import load_model, load_trace, shown_table
    from .files import check_outputs

    started = time.perf_counter()
    loaded = load_model(model)
    check_outputs({"--out": out}, inputs=(model, data, trace))
    table, _ = shown_table(loaded, data, **reading)
    report = Report.of(loaded, table, trace=load_trace(trace))
    if out is not None:
        report.to_html(out, title=title)
        note(f"Report written to '{out}'.")
        if not as_json:
            return
    found = report.to_dict()
    if as_json:
        seconds = time.perf_counter() - started
        warnings = [*session().warnings, *found["warnings"]]
        emit({"command": "report", **found, "seconds": seconds, "warnings": warnings})
    else:
        print_report(found, everything=everything)
