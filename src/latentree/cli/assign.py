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
    """
    from .data import load_model, open_source, table_for
    from .files import check_outputs, check_rows_file, print_rows, write_rows
    from .rows import assigned, joined, weighed

    started = time.perf_counter()
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
