"""``latentree assign``: which class each row belongs to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .command import command as command_
from .options import data_argument, force_option, matching_options, model_argument, rows_out_option
from .output import emit, note

if TYPE_CHECKING:
    from .._model import Model
    from .files import Outputs

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
@force_option
def command(model: str, data: str, out: str | None, force: bool, as_json: bool, **reading: Any) -> None:
    """Assign each row to its most probable class.

    MODEL is a model file, DATA the data: a file, '-' for standard input, or a data set of latentree by name. They
    are read as the model's own data were, unless options say otherwise. The result has all rows and columns of DATA
    in their order and, appended, the most probable class and the probability of every class: 'class', 'p_class0',
    'p_class1', ... A model with several latent variables gives a column NAME and columns 'p_NAME_0', ... for each.
    Classes and states that were named appear by their names. A column name that DATA already has gets an
    underscore. The cells are empty in rows to which --weights gives the weight 0 and in rows that the model cannot
    produce.

    With --json and without --out the JSON object holds the appended columns.

    DATA may also be a folder of files or a pattern such as 'data/*.parquet'. These are read piece by piece, whatever
    their size, and the rows are written to --out.
    """
    from .data import in_pieces, load_model, read_for
    from .files import ROWS, Outputs, print_rows
    from .rows import assigned, header, joined, weighed

    outputs = Outputs("assign", {"--out": (ROWS, out)}, [model, data], force=force)
    loaded = load_model(model)
    if in_pieces(data):
        return _in_pieces(loaded, data, outputs, out, as_json, reading)
    source, table = read_for(loaded, data, reading, need_weights=False)
    outputs.check_rows("--out", out, header(source.frame))
    given = reading["weights"] is not None or source.used.weights is None
    # The class of a row does not depend on how often rows like it were counted for the model.
    lines = source.frame if source.lines is None else source.lines
    every = table if given else replace(source.used, weights=None).table(lines, model=loaded)
    added = assigned(loaded, every)
    if out is not None:
        outputs.write_rows(joined(weighed(source.frame), added), out)
    elif not as_json:
        print_rows(joined(weighed(source.frame), added))
    if as_json:
        from ..formats._cells import plain_cells
        from .score import scores

        document: dict[str, Any] = {"data": source.name, **scores(loaded, table)}
        document |= {"seed": loaded.provenance.get("seed")}
        emit(document | ({"columns": {n: plain_cells(c) for n, c in added.items()}} if out is None else {}))


def _in_pieces(
    model: Model, data: str, outputs: Outputs, out: str | None, as_json: bool, reading: dict[str, Any]
) -> None:
    """Read a folder piece by piece, and write every row."""
    from ..errors import ParameterError
    from ..scale import assign
    from .data import options_of, recipe_for

    if out is None:
        raise ParameterError("The rows of a folder are written to a file: give --out rows.parquet.")
    recipe = recipe_for(model, data, reading)
    outputs.check_rows("--out", out, ())
    rows = assign(model, data, out, missing=recipe.missing_for, unseen=recipe.unseen, **options_of(recipe))
    note(f"{rows:,} rows written to '{out}'.")
    if as_json:
        emit({"data": data, "n_rows": rows})
