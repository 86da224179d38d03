"""``latentree refit``: the probabilities, or the numbers of states, of a tree that is given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from .app import INTERRUPTED
from .command import command as command_, file, flag, option, warn
from .options import (
    data_argument,
    force_option,
    matching_options,
    model_argument,
    model_out_option,
    score_option,
    searching_options,
)
from .output import emit, note, print_report
from .types import Number

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from ..estimation import Fit
    from ..runner import Clock

__all__ = ["command"]

EXAMPLES = """
latentree refit tree.json new.csv --out refitted.json
latentree refit tree.json survey.csv --method restarts --set n_init=200
latentree refit tree.json survey.csv --method gcg --json
latentree refit tree.json survey.csv --states --out improved.json
latentree refit tree.json survey.csv --states --from-scratch --method HLCSplitMerge --time-limit 60
"""

REFIT, OUTPUT = "What is refitted", "Output"


@command_("refit", examples=EXAMPLES)
@model_argument
@data_argument
@flag("--states", REFIT, "Learn how many states the latent variables have, too; only the tree's shape is kept.")
@flag("--from-scratch", REFIT, "With --states: begin with one state each. Default: improve the model as it is.")
@option(
    "--method NAME",
    REFIT,
    "How: a method of estimation (accelerated by default; em, restarts, annealing, gcg, ...), or with --states a "
    "learner of numbers of states (screened by default; HLCSplitMerge, HLCStandard3, ...). An unknown one is answered "
    "with a list.",
)
@option("--set NAME=VALUE", "settings", REFIT, "An option of the method, such as n_init=200.", multiple=True)
@score_option(REFIT, "With --states: what to maximise")
@option(
    "--prior NUMBER",
    REFIT,
    "Dirichlet parameter of every distribution: 1 is flat, more keeps probabilities away from 0 and 1. "
    "Default: maximum likelihood.",
    type=Number(min=1, max=1e9),
)
@searching_options
@matching_options
@model_out_option("--out", "the model")
@file("--report", OUTPUT, "Write a report to this file (.html).")
@force_option
def command(
    model: str, data: str, out: str | None, report: str | None, force: bool, as_json: bool, **options: Any
) -> int:
    """Fit a given tree to data again, or its numbers of states too.

    MODEL is a model file, whose tree is kept, DATA the data: a file, '-' for standard input, or a data set of latentree
    by name, with the values that the model knows. Estimation starts from the model's own probabilities.

    With --states the tree is only a skeleton: how many states each latent variable has is learned by the methods of
    Karciauskas' thesis or by ours.
    """
    from ..report import Report
    from .data import load_model, read_for
    from .files import MODEL, PAGE, Outputs
    from .limit import Limit

    if options["from_scratch"] and not options["states"]:
        raise click.UsageError("--from-scratch is for --states.")
    outputs = Outputs("refit", {"--out": (MODEL, out), "--report": (PAGE, report)}, [model, data], force=force)
    loaded = load_model(model)
    source, table = read_for(loaded, data, options)
    limit = Limit(options["time_limit"], table, pages=report is not None)
    fit, told = (_states if options["states"] else _probabilities)(loaded, table, options, limit.work)
    fit = replace(fit, model=replace(fit.model, provenance={}))  # what the file knows is of another fit
    stopped = fit.reason.value == "interrupted"
    with limit.finishing(stopped):
        described = Report.of(fit)
    found = {**described.to_dict(), "seed": options["seed"], "reason": fit.reason.value}
    for text in found["warnings"]:
        warn(text)
    with outputs.until_interrupted():
        if out is not None:
            from .origin import with_origin

            outputs.write_model(with_origin(fit.model, "refit", source, options, found, ("n_variables",)), out)
        if report is not None:
            outputs.write_page(described.to_html(title="Latent tree"), report)
        if as_json:
            emit({"data": source.name, **found, **told, "interrupted": stopped})
        else:
            print_report({**described.contents, "warnings": []})
            click.echo(told["message"])
    if stopped:
        note("Interrupted: this is the best so far.")
    return INTERRUPTED if stopped else 0


def _probabilities(model: Model, table: Table, options: dict[str, Any], clock: Clock) -> tuple[Fit, dict[str, Any]]:
    import numpy as np

    from ..estimation import estimate
    from ..estimation._estimate import METHODS
    from .settings import settings_of

    name = options["method"] or "accelerated"
    kind = METHODS.find(name, owner="refit").options
    own: dict[str, Any] = {"prior": options["prior"], "budget": clock, "n_jobs": options["n_jobs"] or 1}
    if "rng" in kind.names():
        own["rng"] = np.random.default_rng(options["seed"])
    fit = estimate(model, table, method=name, **own, **settings_of(kind, name, options["settings"], **own))
    message = (
        f"Estimated by {name}, {len(fit.trace) - 1:,} steps: log-likelihood {fit.log_likelihood:,.4f}. {fit.reason}"
    )
    return fit, {"method": name, "message": message}


def _states(model: Model, table: Table, options: dict[str, Any], clock: Clock) -> tuple[Fit, dict[str, Any]]:
    import numpy as np

    from .._registry import loaded
    from ..cardinality import learn
    from ..cardinality._registry import DEFAULT, LEARNERS, require_time_limit
    from .settings import settings_of

    name = options["method"] or DEFAULT
    own = {"prior": options["prior"], "n_jobs": options["n_jobs"] or 1}
    given = settings_of(loaded(LEARNERS.find(name, owner="refit").reference).Options, name, options["settings"], **own)
    require_time_limit(name, options["time_limit"], "refit")
    where: dict[str, Any] = {"skeleton": model.tree} if options["from_scratch"] else {"start": model}
    found = learn(
        table,
        method=name,
        score=options["score"],
        rng=np.random.default_rng(options["seed"]),
        budget=clock,
        options={**own, **given},
        **where,
    )
    told = {"score": found.criterion, "states": found.cardinality, "message": found.describe()}
    return found.fit, {"method": name, **told}
