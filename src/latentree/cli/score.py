"""``latentree score``: how well a model fits data."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from .command import command as command_, session, warn
from .options import data_argument, matching_options, model_argument
from .output import emit

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table

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

    MODEL is a model file, DATA the data: a file, '-' for standard input, or a data set of latentree by name. Columns
    are found by name; those that the model does not have are passed over.

    AIC = LL - d and BIC = LL - d/2 ln N, where d is the number of the model's parameters: higher is better.
    """
    from .data import load_model, open_source, table_for

    started = time.perf_counter()
    loaded = load_model(model)
    source = open_source(data, **reading)
    table = table_for(loaded, source, **reading)
    found = scores(loaded, table) | {"seconds": time.perf_counter() - started}
    if found["n_impossible"]:
        warn(
            f"Rows that the model holds impossible: {found['n_impossible']:,.10g}. "
            "A model fitted with --prior 2 has no probabilities of zero."
        )
    if as_json:
        seed = loaded.provenance.get("seed")
        emit({"command": "score", "data": source.name, **found, "seed": seed, "warnings": session().warnings})
    else:
        _show(found)


def scores(model: Model, table: Table) -> dict[str, Any]:
    """Scores of a model on data, by name."""
    import numpy as np

    from .._model import Counts
    from ..engine._plan import Plan
    from ..estimation._fit import Fit
    from ..runner import StopReason
    from ..score import aic, bic

    per_row = Plan.of(model, table).row_log_likelihood(model.parameters)
    log_likelihood = float(table.weights @ per_row)
    # Nothing was fitted; the criteria ask only for the log-likelihood, the parameters and the sample size.
    counts = Counts(np.zeros(model.tree.size), log_likelihood, float(table.weights.sum()))
    trace = np.array([log_likelihood])
    given = Fit(model, table, counts, trace, StopReason.FINISHED, None, 0.0, 1, trace)
    return {
        "log_likelihood": log_likelihood,
        "log_likelihood_per_row": log_likelihood / float(table.weights.sum()),
        "n_parameters": given.n_parameters,
        "n": table.n,
        "n_rows": len(table.inverse),
        "n_impossible": float(table.weights[np.isneginf(per_row)].sum()),
        "aic": aic(given) if math.isfinite(log_likelihood) else log_likelihood,
        "bic": bic(given) if math.isfinite(log_likelihood) else log_likelihood,
    }


def _show(found: dict[str, Any]) -> None:
    from .tables import pairs

    pairs(
        {
            "log-likelihood": f"{found['log_likelihood']:.4f}",
            "per row": f"{found['log_likelihood_per_row']:.6f}",
            "parameters": f"{found['n_parameters']:,}",
            "rows": f"{found['n']:,.10g}",
            "AIC": f"{found['aic']:.4f}",
            "BIC": f"{found['bic']:.4f}",
        }
    )
