"""``latentree predict``: one column from the others."""

from __future__ import annotations

from typing import Any

from .command import command as command_, option, whole
from .options import data_argument, force_option, matching_options, model_argument, rows_out_option
from .output import emit, note

__all__ = ["command"]

EXAMPLES = """
latentree predict model.json customers.csv --target buys --out predicted.csv
latentree predict model.json customers.csv --target buys --top 800 --out best.csv
latentree predict model.json tested.csv --target buys --json --out predicted.csv
"""

WHAT = "What is predicted"


@command_("predict", examples=EXAMPLES)
@model_argument
@data_argument
@option("--target COLUMN", WHAT, "The column to predict, from all others.", required=True)
@whole("--top", WHAT, "Only the N rows in which --state is most probable, the most probable first.")
@option(
    "--state VALUE", WHAT, "The value of the target that --top asks for. Of a target with two values, the last if none."
)
@matching_options
@rows_out_option("the predictions")
@force_option
def command(
    model: str,
    data: str,
    target: str,
    top: int | None,
    state: str | None,
    out: str | None,
    force: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Predict a column of each row from its other columns.

    MODEL is a model file, DATA the data: a file, '-' for standard input, a data set of latentree by name, a folder of
    files or a pattern. They are read piece by piece, whatever their size, as the model's own data were, unless options
    say otherwise. The target may be missing from them; what they say of it is never used to predict it.

    The result has a line for each row: its number, counted from 1, the probability of every value of the target, and
    the most probable value. Cells are empty in rows of weight 0 and in rows that the model cannot produce.

    With --json: accuracy, log_loss (the mean of -log P(truth)), brier (the mean squared error of the probabilities),
    auc and calibration, over the rows in which DATA know the target; and without --out the columns.
    """
    from ..prediction import PredictionScores, target_node
    from .data import load_model
    from .files import ROWS, Outputs
    from .predicting import Asked, in_words
    from .stream import Reader, rows_out

    loaded = load_model(model)
    node = target_node(loaded, target, "predict")
    if [node] in map(list, loaded.tree.parts):
        name = loaded.tree.names[node]
        note(f"In this model '{name}' is independent of all others: all rows get the same probabilities.")
    asked = Asked(loaded, node, top, state)
    outputs = Outputs("predict", {"--out": (ROWS, out)}, [model, data], force=force)
    outputs.check_rows("--out", out, asked.header, asked.header[-1:])
    scores = PredictionScores(len(asked.labels))
    reader = Reader(loaded, data, reading, optional=[asked.name])
    kept: dict[str, list[Any]] = {}

    def write_all(write: Any) -> None:
        for columns in asked.predictions(reader, scores):
            write(columns)

    if as_json and out is None:
        from ..scale._predict import rounded

        for columns in asked.predictions(reader, scores):
            for name, cells in columns.items():
                kept.setdefault(name, []).extend(None if x == "" else x for x in rounded(cells))
    else:
        with rows_out(out) as write:
            write_all(write)
    document = asked.document(reader, scores)
    if as_json:
        emit({**document, **({"columns": kept} if out is None else {})})
    elif document["n_known"]:
        note(in_words(document))
