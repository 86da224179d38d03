"""``latentree report``: a model, and how well it fits data, told in words, tables and pictures."""

from __future__ import annotations

from typing import Any

from .command import command as command_, file, flag, option, session
from .options import force_option, matching_options, model_argument, shown_data_option, trace_option
from .output import emit, note, print_report

__all__ = ["command"]

EXAMPLES = """
latentree report model.json
latentree report model.json --data survey.csv
latentree report model.json --data survey.csv --out model.report.html
latentree report model.json --json > report.json
"""


@command_("report", examples=EXAMPLES)
@model_argument
@file(
    "--out",
    "Output",
    "Write an HTML page to this file, ending in .html: the tree, its latent variables and their profiles, fit "
    "statistics; one file that needs no network. Default: text on standard output.",
)
@option("--title TEXT", "Output", "Title of the page.")
@flag("--all", "everything", "Output", "Show all latent variables and leave nothing out.")
@shown_data_option
@trace_option
@matching_options
@force_option
def command(
    model: str,
    out: str | None,
    title: str | None,
    everything: bool,
    data: str | None,
    trace: str | None,
    force: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Describe a model, and how well it fits data.

    MODEL is a model file. With --data, also log-likelihood, AIC and BIC, expected cases, how certain the rows' states
    are and, on the page, fit statistics and residuals. The data are read as the model's own were, with its weights,
    unless options say otherwise.
    """
    from ..report import Report
    from .data import load_model, load_trace, read_for, say_other_data
    from .files import PAGE, Outputs

    loaded = load_model(model)
    outputs = Outputs("report", {"--out": (PAGE, out)}, [model, data, trace], force=force)
    source, table = (None, None) if data is None else read_for(loaded, data, reading)
    report = Report.of(loaded, table, trace=load_trace(trace))
    if source is not None:
        say_other_data(loaded, source, report.contents)
    if out is not None:
        outputs.write_page(report.to_html(title=title), out)
        note(f"Report written to '{out}'.")
    if as_json:
        found = report.to_dict()
        warned = [*session().warnings, *found["warnings"]]
        emit({**found, "warnings": warned})
    elif out is None:
        print_report(report.to_dict(), everything=everything)
