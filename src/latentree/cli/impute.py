"""``latentree impute``: missing cells filled by a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .command import command as command_, whole
from .options import data_argument, force_option, matching_options, model_argument, rows_out_option
from .output import emit, note

if TYPE_CHECKING:
    from .._model import Model
    from .stream import Piece, Reader

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
    from .data import load_model
    from .files import ROWS, Outputs
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
            for columns, counted in _completed(loaded, reader, piece, copies, rng):
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


def _completed(model: Model, reader: Reader, piece: Piece, copies: int | None, rng: np.random.Generator) -> Any:
    """Columns of the completed rows, copy by copy, and how many cells of each column were filled."""
    from ..prediction import imputed

    own = piece.frame.values()
    n, nodes = len(piece.table.inverse), model.tree.n_nodes
    # by row first, so that the size of the pieces changes nothing
    uniform = None if copies is None else rng.random((n, copies, nodes))
    empty = {v.name: _empty(own[v.name], reader.recipe.missing_codes) for v in model.variables}
    for copy in range(copies or 1):
        codes = imputed(model, piece.table, None if uniform is None else uniform[:, copy])
        columns: dict[str, Any] = {} if copies is None else {_copy_name(own): [copy + 1] * n}
        counted = {}
        columns |= own
        for i, variable in enumerate(model.variables):
            name = variable.name
            cells, at = list(own[name]), np.flatnonzero(empty[name] & (codes[:, i] >= 0))
            for row in at.tolist():
                cells[row] = variable.states[codes[row, i]]
            columns[name], counted[name] = cells, len(at)
        yield {name: ["" if x is None else x for x in cells] for name, cells in columns.items()}, counted


def _copy_name(own: dict[str, Any]) -> str:
    from .rows import free_name

    return free_name("copy", own)


def _empty(cells: list[Any], missing: frozenset[str]) -> Any:
    """Which cells hold nothing."""
    return np.array([x is None or x != x or str(x).strip() in missing for x in cells], dtype=bool)
