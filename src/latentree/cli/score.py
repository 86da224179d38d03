"""``latentree score``: how well a model fits data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .command import command as command_, warn
from .options import data_argument, matching_options, model_argument
from .output import emit

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from ..estimation import Fit

__all__ = ["command"]

EXAMPLES = """
latentree score model.json holdout.csv
latentree score model.json holdout.csv --weights n --unseen missing --json
"""


@command_("score", examples=EXAMPLES)
@model_argument
@data_argument
@matching_options
def command(model: str, data: str, as_json: bool, **reading: Any) -> None:
    """Log-likelihood, AIC and BIC of data under a model.

    MODEL is a model file, DATA the data: a file, '-' for standard input, or a data set of latentree by name. They are
    read as the model's own data were, with its weights, unless options say otherwise. Columns are found by name; those
    that the model does not have are ignored.

    AIC = -2 LL + 2 d and BIC = -2 LL + d ln N, where d is the number of the model's parameters: lower is better. With
    --json, aic and bic are these divided by -2, so that higher is better.
    """
    from .data import load_model, read_for, say_other_data

    loaded = load_model(model)
    source, table = read_for(loaded, data, reading)
    found = scores(loaded, table)
    say_other_data(loaded, source, found)
    if found["n_impossible"]:
        warn(
            f"Rows that the model holds impossible: {found['n_impossible']:,.10g}. "
            "A model made with --prior auto has no probabilities of zero."
        )
    if as_json:
        seed = loaded.provenance.get("seed")
        emit({"data": source.name, **found, "seed": seed})
    else:
        _show(found)


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
    from .._scale import shown_score
    from .tables import pairs

    bic = shown_score(found["bic"], "bic")
    pairs(
        {
            "log-likelihood": f"{found['log_likelihood']:.4f}",
            "per row": f"{found['log_likelihood_per_row']:.6f}",
            "parameters": f"{found['n_parameters']:,}",
            "rows": f"{found['n']:,.10g}",
            "AIC": f"{shown_score(found['aic'], 'aic'):.4f}",
            "BIC": "needs more than one row" if bic is None else f"{bic:.4f}",
        }
    )
