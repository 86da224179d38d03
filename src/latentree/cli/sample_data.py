"""``latentree sample-data``: rows drawn from a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .command import command as command_, flag, whole
from .options import force_option, model_argument, rows_out_option, seed_option
from .output import emit

if TYPE_CHECKING:
    from .._model import Model

__all__ = ["command"]

EXAMPLES = """
latentree sample-data model.json -n 1000 --out rows.csv
latentree sample-data model.json -n 5 --seed 1 --latent
"""

DRAWING = "What is drawn"


@command_("sample-data", examples=EXAMPLES)
@model_argument
@whole("-n", "n", DRAWING, "How many rows.", max=1_000_000_000, required=True)
@seed_option(DRAWING, "rows")
@flag("--latent", DRAWING, "Add the states of the latent variables.")
@rows_out_option("the rows")
@force_option
def command(model: str, n: int, seed: int, latent: bool, out: str | None, force: bool, as_json: bool) -> None:
    """Draw rows from a model.

    MODEL is a model file. Columns that were cut into bins hold the names of the bins. With --json and without --out
    the JSON object holds the columns.
    """
    from .data import load_model
    from .files import ROWS, Outputs, print_rows

    outputs = Outputs("sample-data", {"--out": (ROWS, out)}, [model], force=force)
    columns = drawn(load_model(model), n, seed, latent)
    outputs.check_rows("--out", out, list(columns), list(columns))
    if out is not None:
        outputs.write_rows(columns, out)
    elif not as_json:
        print_rows(columns)
    if as_json:
        document: dict[str, Any] = {"n": n, "seed": seed}
        emit(document | ({"columns": columns} if out is None else {}))


def drawn(model: Model, n: int, seed: int, latent: bool) -> dict[str, list[Any]]:
    """Rows of states, column by column."""
    import numpy as np

    from ..infer import sample

    codes = sample(model, n, np.random.default_rng(seed), latent=latent)
    nodes = [*model.tree.manifest, *(model.tree.latent_variables if latent else ())]
    columns: dict[str, list[Any]] = {}
    for i, v in enumerate(nodes):
        states = model.states(int(v))
        columns[model.tree.names[v]] = [states[code] for code in codes[:, i].tolist()]
    return columns
