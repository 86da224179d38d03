"""``latentree explore``: the explorer page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..formats._models import format_of
from .command import command as command_, file, option, whole
from .options import force_option, matching_options, model_argument, shown_data_option, trace_option
from .output import emit, note
from .types import Choice

__all__ = ["command"]

EXAMPLES = """
latentree explore model.json
latentree explore model.json --data survey.csv
latentree explore model.json --data survey.csv --out survey.html --no-open
"""


@command_("explore", examples=EXAMPLES)
@model_argument
@file(
    "--out",
    "Output",
    "Where the page is written, ending in .html. Default: the model's name with .explorer.html, in the current folder.",
)
@option(
    "--open/--no-open",
    "opening",
    "Output",
    "Show it in the browser, or only write it.",
    default=True,
    show_default=False,
)
@option("--title TEXT", "Output", "Title of the page.")
@option(
    "--style",
    "Output",
    "How the tree is drawn at first: from left to right, or around a circle. Default: rows up to some 60 leaves.",
    type=Choice(["rows", "radial"]),
)
@whole(
    "--max-rows",
    "Output",
    "Most distinct rows of the data that go into the page; the heaviest come first. Default: 20,000, fewer if "
    "they have many columns.",
)
@shown_data_option
@trace_option
@matching_options
@force_option
def command(
    model: str,
    out: str | None,
    opening: bool,
    title: str | None,
    style: str | None,
    max_rows: int | None,
    data: str | None,
    trace: str | None,
    force: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Write the explorer page of a model and open it.

    MODEL is a model file. The page is one file that works without a network: the tree to pan, zoom, fold and search;
    what is behind each node and edge; what follows when values are assumed; with --data, the rows of each latent state
    and two latent variables against each other; and, if a search left its steps, how the tree grew.

    The page holds the rows of --data. Do not send it to people who must not see them.
    """
    from ..report import Report
    from .data import load_model, load_trace, read_for, say_other_data
    from .files import PAGE, Outputs

    loaded = load_model(model)
    path = out or f"{_stem(model)}.explorer.html"
    outputs = Outputs("explore", {"--out": (PAGE, path)}, [model, data, trace], force=force)
    source, table = (None, None) if data is None else read_for(loaded, data, reading)
    report = Report.of(loaded, table, trace=load_trace(trace))
    if source is not None:
        say_other_data(loaded, source, report.contents)
    page = report.explore(title=title or _stem(model), style=style, max_rows=max_rows)
    outputs.write_page(page, path)
    note(f"Page written to '{path}' ({len(page.html) / 1e6:.1f} MB).")
    if opening and not _open(path):
        note("No browser could be opened here; open the file in one.")
    if as_json:
        tree = loaded.tree
        emit(
            {
                "page": path,
                "n_variables": tree.n_variables,
                "n_latents": len(tree.latent_variables),
                "n_parameters": tree.n_parameters,
            }
        )


def _stem(model: str) -> str:
    name = Path(model).name.removesuffix(".gz")
    return (Path(name).stem if format_of(name) else name) or "model"


def _open(path: str) -> bool:
    import webbrowser

    try:
        return webbrowser.open(Path(os.path.abspath(path)).as_uri())
    except webbrowser.Error:
        return False
