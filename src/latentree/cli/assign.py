"""``latentree assign``: which class each row belongs to."""

from __future__ import annotations

import time
from typing import Any

from .command import command as command_, session
from .options import data_argument, matching_options, model_argument, rows_out_option
from .output import emit, note

__all__ = ["command"]

EXAMPLES = """
latentree assign model.json survey.csv --out rows.csv
latentree assign model.json survey.csv | head
"""


@command_("assign", examples=EXAMPLES)
@model_argument
@data_argument
@matching_options
@rows_out_option("the rows")
def command(model: str, data: str, out: str | None, as_json: bool, **reading: Any) -> None:
    """Tell which class each row belongs to.

    MODEL is a model file, DATA the data: a file, '-' for standard input, or a data set of latentree by name. The
    result has all rows and columns of DATA in their order and, appended, the most probable class and the probability
    of every class: 'class', 'p_class0', 'p_class1', ... A model with several latent variables gives a column NAME and
    columns 'p_NAME_0', ... for each. A name that DATA has already gets an underscore. The cells are empty in rows of
    weight 0 and in rows that the model cannot produce.

    With --json and without --out the JSON object holds the appended columns.

    DATA may also be a folder of files or a pattern such as 'data/*.parquet'. These are read piece by piece, whatever
    their size, and the rows are written to --out, which ends in .parquet, .csv or .tsv.
    """
    from .data import in_pieces, load_model, open_source, table_for
    from .files import check_outputs, check_rows_file, print_rows, write_rows
    from .rows import assigned, joined, weighed

    started = time.perf_counter()
    if in_pieces(data):
        return _in_pieces(model, data, out, as_json, started, reading)
    check_rows_file("--out", out)
    check_outputs({"--out": out}, [model, data])
    loaded = load_model(model)
    source = open_source(data, **reading)
    table = table_for(loaded, source, **reading)
    added = assigned(loaded, table)
    if out is not None:
        write_rows(joined(weighed(source.frame), added), out)
        note(f"{len(table.inverse):,} rows written to '{out}'.")
    elif not as_json:
        print_rows(joined(weighed(source.frame), added))
    if as_json:
        from .score import scores

        document: dict[str, Any] = {"command": "assign", "data": source.name, **scores(loaded, table)}
        document |= {"seed": loaded.provenance.get("seed")}
        document |= {"seconds": time.perf_counter() - started, "warnings": session().warnings}
        emit(document | ({"columns": added} if out is None else {}))


def _in_pieces(model: str, data: str, out: str | None, as_json: bool, started: float, reading: dict[str, Any]) -> None:
    """Read a folder piece by piece, and write every row."""
    from ..errors import ParameterError
    from ..scale import assign
    from .data import load_model, missing_for
    from .files import check_outputs

    if out is None:
        raise ParameterError("The rows of a folder are written to a file: give --out rows.parquet.")
    check_outputs({"--out": out}, [model])
    told = ("format", "encoding", "delimiter", "unseen", "decimal")
    options: dict[str, Any] = {name: reading[name] for name in told if reading.get(name) is not None}
    options |= {"header": False} if reading.get("no_header") else {}
    loaded = load_model(model)
    missing = missing_for(loaded, reading.get("missing", ()), bool(reading.get("no_default_missing")))
    rows = assign(loaded, data, out, missing=missing, **options)
    note(f"{rows:,} rows written to '{out}'.")
    if as_json:
        emit({"command": "assign", "data": data, "n_rows": rows, "seconds": time.perf_counter() - started})
