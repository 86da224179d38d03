"""``latentree impute``: missing cells filled by a model."""

from __future__ import annotations

from typing import Any

from .command import command as command_, whole
from .options import data_argument, force_option, matching_options, model_argument, rows_out_option
from .output import emit, note

__all__ = ["command"]

EXAMPLES = """
latentree impute model.json survey.csv --out completed.csv
latentree impute model.json survey.csv --copies 20 --seed 1 --out copies.csv
"""

HOW = "How cells are filled"


@command_("impute", examples=EXAMPLES)
@model_argument
@data_argument
@whole("--copies", HOW, "Write N completed copies, drawn from the posterior, for multiple imputation.", max=10_000)
@whole("--seed", HOW, "Where the draws come from: the same seed gives the same copies.", min=0, default=0)
@matching_options
@rows_out_option("the completed rows")
@force_option
def command(
    model: str,
    data: str,
    copies: int | None,
    seed: int,
    out: str | None,
    force: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Fill the missing cells of data.

    MODEL is a model file, DATA the data: a file, '-' for standard input, a data set of latentree by name, a folder of
    files or a pattern. They are read piece by piece, whatever their size, as the model's own data were, unless options
    say otherwise. The result has all rows and columns of DATA in their order. Every missing cell of a variable of the
    model has its most probable value, given the other cells of its row; a column that was cut into bins gets the name
    of the bin. Cells that hold a value which the model does not know stay as they are, and so do rows that the model
    cannot produce.

    With --copies each row is written N times, the first column, 'copy', counting from 1: the missing cells of a row are
    drawn together from what the model says of them. Analyse each copy and pool the results by Rubin's rules.
    """
    import numpy as np

    from .data import load_model
    from .files import ROWS, Outputs
    from .imputing import completed
    from .stream import Reader, rows_out

    loaded = load_model(model)
    outputs = Outputs("impute", {"--out": (ROWS, out)}, [model, data], force=force)
    reader = Reader(loaded, data, reading)
    outputs.check_rows("--out", out, [], ["?"])
    filled: dict[str, int] = {v.name: 0 for v in loaded.variables}
    left, rng = 0, np.random.default_rng(seed)
    if as_json and out is None:
        from ..errors import ParameterError

        raise ParameterError("With --json the rows are written to a file: give --out completed.csv.")
    with rows_out(out) as write:
        for piece in reader:
            for columns, counted in completed(loaded, reader, piece, copies, rng):
                write(columns)
                for name, n in counted.items():
                    filled[name] += n
            left += int((piece.table.codes[piece.table.inverse] < 0).sum())
    total, n_copies = sum(filled.values()), copies or 1
    left -= total // n_copies
    if as_json:
        found = {"n_rows": reader.n_rows, "n_copies": n_copies, "n_filled": total // n_copies, "n_left": left}
        by_column = {name: n // n_copies for name, n in filled.items() if n}
        emit({"data": reader.name, **found, "filled": by_column, "seed": seed})
    else:
        more = f" in each of {n_copies} copies" if copies else ""
        stay = f"; {left:,} stay as they are" if left else ""
        note(f"{total // n_copies:,} missing cells filled{more}{stay}.")
