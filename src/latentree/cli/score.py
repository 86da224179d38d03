"""``latentree score``: how well a model fits data."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from .command import command as command_, file, flag, warn
from .files import ROWS
from .options import data_argument, force_option, matching_options, model_argument
from .output import emit

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from ..estimation import Fit

__all__ = ["command"]

EXAMPLES = """
latentree score model.json holdout.csv
latentree score model.json holdout.csv --weights n --unseen missing --json
latentree score model.json new.csv --by-row --out rows.csv
"""

OUTPUT = "Output"


@command_("score", examples=EXAMPLES)
@model_argument
@data_argument
@flag("--by-row", OUTPUT, "The log-likelihood of each row, and how unusual it is among the rows of the training data.")
@matching_options
@file("--out", OUTPUT, f"With --by-row: write the rows to this file, which ends in {ROWS}. Default: standard output.")
@force_option
def command(model: str, data: str, by_row: bool, out: str | None, force: bool, as_json: bool, **reading: Any) -> None:
    """Log-likelihood, AIC and BIC of data under a model.

    MODEL is a model file, DATA the data: a file, '-' for standard input, or a data set of latentree by name. They are
    read as the model's own data were, with its weights, unless options say otherwise. Columns are found by name; those
    that the model does not have are ignored.

    AIC = -2 LL + 2 d and BIC = -2 LL + d ln N, where d is the number of the model's parameters: lower is better. With
    --json, aic and bic are these divided by -2, so that higher is better.

    With --by-row there is a line for each row: its number, counted from 1, its log-likelihood, and the share of the
    training rows that are at most as probable, as far as the model file knows it: near 0, the row is an outlier. DATA
    may then be of any size, also a folder of files or a pattern.
    """
    from .data import load_model, read_for, say_other_data

    loaded = load_model(model)
    if by_row:
        return _each(loaded, model, data, out, force, as_json, reading)
    if out is not None:
        raise click.UsageError("--out is for --by-row.")
    source, table = read_for(loaded, data, reading)
    found = scores(loaded, table)
    if source.used.unseen == "smooth":
        found |= _smooth(loaded, data, reading)
    say_other_data(loaded, source, found)
    if found["n_impossible"]:
        warn(
            f"Rows impossible under the model: {found['n_impossible']:,.10g}. "
            "A model made with --prior auto has no probabilities of zero."
        )
    if as_json:
        seed = loaded.provenance.get("seed")
        emit({"data": source.name, **found, "seed": seed})
    else:
        _show(found)


def _each(
    model: Model, file: str, data: str, out: str | None, force: bool, as_json: bool, reading: dict[str, Any]
) -> None:
    """Score row by row, whatever the size of the data."""
    import numpy as np

    from ..prediction import quantiles_of
    from .files import Outputs
    from .output import note
    from .stream import Reader, rows_out

    outputs = Outputs("score", {"--out": (ROWS, out)}, [file, data], force=force)
    header = ["row", "log_likelihood", "quantile"]
    outputs.check_rows("--out", out, header, header[-1:])
    if as_json and out is None:
        raise click.UsageError("With --json the rows are written to a file: give --out rows.csv.")
    reader, total, weight, impossible = Reader(model, data, reading), 0.0, 0.0, 0.0
    with rows_out(out) as write:
        for piece in reader:
            rows = reader.log_likelihoods(piece)
            own = np.where(np.isnan(rows), 0.0, 1.0 if piece.weights is None else piece.weights)
            total += float(own[own > 0] @ rows[own > 0])
            weight, impossible = weight + float(own.sum()), impossible + float(own[np.isneginf(rows)].sum())
            share = quantiles_of(model.provenance, rows)
            write(dict(zip(header, (piece.numbers, rows, rows * np.nan if share is None else share), strict=True)))
    if quantiles_of(model.provenance, np.zeros(1)) is None:
        note("The model file has no record of its training rows, so there are no quantiles: learn or fit it again.")
    if as_json:
        found = {"log_likelihood": total, "log_likelihood_per_row": total / weight, "n": weight}
        more = {"n_rows": reader.n_rows, "n_impossible": impossible, "n_parameters": model.tree.n_parameters}
        emit({"data": reader.name, **found, **more, "seed": model.provenance.get("seed")})


def _smooth(model: Model, data: str, reading: dict[str, Any]) -> dict[str, Any]:
    """The log-likelihood and what follows from it, values that are not known counting as something new."""
    import numpy as np

    from .._model import Counts
    from ..estimation import evaluate
    from .stream import Reader

    if data == "-":
        raise click.UsageError(
            "--unseen smooth reads the data twice, which is not possible from standard input. Give a file."
        )
    total, weight, reader = 0.0, 0.0, Reader(model, data, reading)
    for piece in reader:
        rows = reader.log_likelihoods(piece)
        own = np.where(np.isnan(rows), 0.0, 1.0 if piece.weights is None else piece.weights)
        total, weight = total + float(own[own > 0] @ rows[own > 0]), weight + float(own.sum())
        table = piece.table
    fit = evaluate(model, replace(table, n=weight), counts=Counts(np.zeros(model.tree.size), total, weight))
    criteria = {name: _criterion(name, fit) for name in ("aic", "bic")}
    return {"log_likelihood": total, "log_likelihood_per_row": total / weight, **criteria}


def scores(model: Model, table: Table) -> dict[str, Any]:
    """Scores of a model on data, by name; None for those that the data do not have."""
    import numpy as np

    from .._model import Counts
    from ..engine._plan import Plan
    from ..estimation import evaluate

    per_row = Plan.of(model, table).row_log_likelihood(model.parameters)
    log_likelihood = float(table.weights @ per_row)
    # The criteria ask only for the log-likelihood, the parameters and the sample size.
    fit = evaluate(model, table, counts=Counts(np.zeros(model.tree.size), log_likelihood, float(table.weights.sum())))
    return {
        "log_likelihood": log_likelihood,
        "log_likelihood_per_row": log_likelihood / float(table.weights.sum()),
        "n_parameters": fit.n_parameters,
        "n": table.n,
        "n_rows": len(table.inverse),
        "n_impossible": float(table.weights[np.isneginf(per_row)].sum()),
        "aic": _criterion("aic", fit),
        "bic": _criterion("bic", fit),
    }


def _criterion(name: str, fit: Fit) -> float | None:
    from ..errors import DataError
    from ..score import SCORES

    if not math.isfinite(fit.log_likelihood):
        return fit.log_likelihood
    try:
        return SCORES[name](fit)
    except DataError:  # BIC needs more than one row
        return None


def _show(found: dict[str, Any]) -> None:
    from .._scale import score_label, shown_score
    from ..errors import amount
    from .tables import pairs

    weights = {} if found["n"] == found["n_rows"] else {"sum of weights": amount(found["n"])}
    bic = shown_score(found["bic"], "bic")
    pairs(
        {
            "log-likelihood": f"{found['log_likelihood']:.4f}",
            "per row": f"{found['log_likelihood_per_row']:.6f}",
            "parameters": f"{found['n_parameters']:,}",
            "rows": f"{found['n_rows']:,}",
            **weights,
            score_label("aic"): f"{shown_score(found['aic'], 'aic'):.4f}",
            score_label("bic"): "needs more than one row" if bic is None else f"{bic:.4f}",
        }
    )
