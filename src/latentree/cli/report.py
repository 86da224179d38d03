"""``latentree report``: a model, and how well it fits data, told in words, tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .command import command as command_, file, flag, option, session
from .options import force_option, matching_options, model_argument, shown_data_option, trace_option
from .output import emit, note, print_report
from .types import CLASSES

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from ..comparison import Comparison

__all__ = ["command"]

EXAMPLES = """
latentree report model.json
latentree report model.json --data survey.csv
latentree report model.json --data survey.csv --out model.report.html
latentree report model.json --data survey.csv --tables tables.docx --figure profiles.pdf
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
@file(
    "--tables",
    "Output",
    "Write tables for a paper to this file, ending in .docx, .xlsx, .tex or .html: sizes and profiles of the classes, "
    "with --data also standard errors and intervals.",
)
@file("--figure", "Output", "Write the class profiles, or the tree, at print size: .pdf, .svg or .png (300 dpi).")
@option(
    "--compare NUMBERS",
    "Output",
    "Beside a latent class model, show models with these numbers of classes, such as 1-6, on the page and in the "
    "tables; they are fitted to --data.",
    type=CLASSES,
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
    tables: str | None,
    figure: str | None,
    compare: Sequence[int] | None,
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
    from .files import FIGURE, PAGE, TABLES, Outputs

    loaded = load_model(model)
    files = {"--out": (PAGE, out), "--tables": (TABLES, tables), "--figure": (FIGURE, figure)}
    outputs = Outputs("report", files, [model, data, trace], force=force)
    source, table = (None, None) if data is None else read_for(loaded, data, reading)
    report = Report.of(loaded, table, trace=load_trace(trace))
    if source is not None:
        say_other_data(loaded, source, report.contents)
    comparison = None if compare is None else _compared(loaded, table, compare)
    if out is not None:
        outputs.write_page(report.to_html(title=title, comparison=comparison), out)
        note(f"Report written to '{out}'.")
    if tables is not None:
        from ..report import write_tables

        first = () if comparison is None else (comparison,)
        write_tables(tables, *first, loaded if report.fit is None else report.fit)
        note(f"Tables written to '{tables}'.")
    if figure is not None:
        from ..report.figures import plot_profile_lines, plot_tree, save_figure

        thing = loaded if report.fit is None else report.fit
        save_figure(plot_profile_lines(thing) if loaded.tree.is_star else plot_tree(thing), figure)
        note(f"Figure written to '{figure}'.")
    if as_json:
        found = report.to_dict()
        warned = [*session().warnings, *found["warnings"]]
        emit({**found, "warnings": warned})
    elif out is None and tables is None and figure is None:
        print_report(report.to_dict(), everything=everything)


def _compared(model: Model, table: Table | None, numbers: Sequence[int]) -> Comparison:
    """Models with other numbers of classes, fitted to the same data from the seed of the model."""
    from ..comparison import compare_classes

    if table is None or not model.tree.is_star:
        raise click.UsageError("--compare needs a latent class model and --data, to which the others are fitted.")
    seed = model.provenance.get("seed")
    return compare_classes(table, numbers, rng=seed if isinstance(seed, int) else 0, scores=("bic", "aic"))
