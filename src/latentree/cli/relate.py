"""``latentree relate``: classes and other variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .command import command as command_, file, flag, option, whole
from .options import data_argument, force_option, matching_options, model_argument, model_out_option
from .output import emit, note
from .types import PRIOR, Choice, Number

if TYPE_CHECKING:
    from .._model import Model
    from .data import Source

__all__ = ["command"]

EXAMPLES = """
latentree relate model.json survey.csv --covariates "party * age" --method one-step --json
latentree relate model.json survey.csv --outcome recovered,visits --kind visits=count
latentree relate model.json survey.csv --covariates sex --clusters school --strata region --weights w
latentree relate model.json survey.csv --covariates sex --dif score
latentree relate model.json survey.csv --covariates "age + sex" --effects --plot classes-by-age.pdf
"""

WHAT = "What the classes are related to"
HOW = "How it is estimated"
ERRORS = "Standard errors"


@command_("relate", examples=EXAMPLES)
@model_argument
@data_argument
@option("--covariates FORMULA", WHAT, "What the class depends on: columns joined by +, : and *, such as 'party * age'.")
@option("--outcome NAME,...", WHAT, "Columns to compare between classes by means, proportions or rates.", multiple=True)
@option(
    "--kind NAME=KIND",
    WHAT,
    "Kind of an outcome: continuous, categorical or count. Default: text and what has two values is categorical.",
    multiple=True,
)
@option("--latent NAME", WHAT, "The latent variable of a tree that has several.")
@option(
    "--direct-effects ITEM=FORMULA",
    WHAT,
    "With --method one-step: covariates that act on an item beside the class; ITEM='class * FORMULA' by class.",
    multiple=True,
)
@option(
    "--dif TEST",
    WHAT,
    "Test every item for direct effects of the covariates: score, or lr for likelihood ratios.",
    type=Choice(["score", "lr"]),
)
@option(
    "--method NAME",
    HOW,
    "one-step, two-step, three-step or bch. Default: three-step for covariates, bch for outcomes.",
    type=Choice(["one-step", "two-step", "three-step", "bch"]),
)
@option(
    "--assignment KIND",
    HOW,
    "In three steps: rows belong to the most probable class (modal) or to all in shares (proportional).",
    type=Choice(["modal", "proportional"]),
    default="modal",
)
@option("--reference CLASS", HOW, "The class that others are compared with. Default: the first.")
@flag("--complete", HOW, "Leave out rows that lack an item or covariate, as poLCA does.")
@option(
    "--missing-covariates",
    HOW,
    "What to do with rows that lack a covariate: an error, or drop. Default: error.",
    type=Choice(["error", "drop"]),
    default="error",
    show_default=False,
)
@option(
    "--penalty NUMBER",
    HOW,
    "Precision of a normal prior on coefficients, for covariates that separate classes.",
    type=Number(min=0, min_open=True),
)
@option(
    "--prior NUMBER|auto|none",
    HOW,
    "Dirichlet parameter that the items' probabilities are estimated again with; auto, in two and three steps one that "
    "takes the bias from small samples, if the model has maximum likelihood; or none, as they are. Default: auto.",
    type=PRIOR,
    default="auto",
    show_default=False,
)
@option(
    "--information KIND",
    ERRORS,
    "Of one-step estimates: observed (second derivatives), or opg (products of scores, as poLCA).",
    type=Choice(["observed", "opg"]),
    default="observed",
)
@flag("--robust", ERRORS, "Standard errors that hold even if the model is wrong.")
@option("--clusters COLUMN", ERRORS, "Clusters that were drawn; 'rows': each row is one. Weights are then a survey's.")
@option("--strata COLUMN", ERRORS, "Strata that clusters were drawn in.")
@whole("--bootstrap", ERRORS, "Standard errors from N bootstrap samples.", min=2)
@whole("--seed", ERRORS, "Where the bootstrap samples come from.", min=0, default=0)
@option("--level", ERRORS, "Coverage of intervals.", type=Number(min=0, max=1), default=0.95)
@matching_options
@model_out_option("--out", "the model that one-step estimation finds")
@file(
    "--plot",
    "Output",
    "Draw the class probabilities along each covariate to this file: .pdf, .svg or .png; needs Matplotlib.",
)
@flag("--effects", "Output", "Show average marginal effects: by how much a covariate changes the class probabilities.")
@force_option
def command(
    model: str,
    data: str,
    outcome: tuple[str, ...],
    kind: tuple[str, ...],
    direct_effects: tuple[str, ...],
    dif: str | None,
    out: str | None,
    plot: str | None,
    effects: bool,
    force: bool,
    as_json: bool,
    seed: int,
    **given: Any,
) -> None:
    """Relate classes to covariates and outcomes.

    MODEL is a model file, DATA the data: a file, '-' for standard input, or a data set of latentree by name, with the
    items of the model and the other variables. Columns of numbers are numbers, text becomes a term for each value but
    the first. Rows that lack items stay in.

    With --json: method, log_likelihood, n, coefficients (class, reference, term, estimate, standard_error, z, p, lower,
    upper, odds_ratio: one entry for each class but the reference and each term), outcomes, tests and marginal_effects.
    """
    import numpy as np

    from ..relate import item_tests, relate
    from .data import load_model, read_for
    from .files import FIGURE, MODEL, Outputs
    from .types import pairs, split

    outputs = Outputs("relate", {"--out": (MODEL, out), "--plot": (FIGURE, plot)}, [model, data], force=force)
    if out is not None and given["method"] != "one-step":
        raise click.UsageError("--out is for --method one-step, which estimates a new model.")
    if (plot is not None or effects) and not given["covariates"]:
        raise click.UsageError("--plot and --effects show what covariates do: give --covariates.")
    if plot is not None:
        from ..report.figures._axes import pyplot

        pyplot()  # which says how to get Matplotlib before the work begins
    loaded = load_model(model)
    own = {name: given.pop(name) for name in list(given) if name not in OPTIONS}
    source, table = read_for(loaded, data, own)
    given |= {"table": table, "reading": _reading(source), "sample_weight": _weights(source)}
    if dif is not None:
        kept = {name: given[name] for name in TESTED}
        tests = item_tests(loaded, source.frame, given["covariates"], test=dif, **kept)  # type: ignore[arg-type]
    found = relate(
        loaded,
        source.frame,
        given.pop("covariates"),
        [name for text in outcome for name in ([text] if text in source.frame.columns else split(text))],
        outcome_kind=pairs(kind, "--kind") or None,
        direct_effects=pairs(direct_effects, "--direct-effects") or None,
        rng=np.random.default_rng(seed),
        **given,
    )
    if out is not None:
        outputs.write_model(_kept(found.model, loaded, source, found), out)
    if plot is not None:
        from ..report.figures import plot_curves, save_figure

        save_figure(plot_curves(found), plot)
        note(f"Figure written to '{plot}'.")
    if as_json:
        document = {"data": source.name, **found.to_dict(), "seed": seed if given["bootstrap"] else None}
        emit(document | ({"dif": tests.rows} if dif is not None else {}))
        return
    _show(found, effects=effects)
    if dif is not None:
        _show_tests(tests)


OPTIONS = (
    "covariates", "latent", "method", "assignment", "reference", "complete", "missing_covariates", "penalty", "prior",
    "information", "robust", "clusters", "strata", "bootstrap", "level",
)  # fmt: skip
TESTED = ("complete", "missing_covariates", "penalty", "table", "reading", "sample_weight")


def _reading(source: Source) -> Any:
    from ..relate._design import Reading

    return Reading(source.used.missing_codes, source.used.decimal)


def _weights(source: Source) -> Any:
    """What each row counts for."""
    from ..relate._design import values_of

    if source.frame.weights is not None:
        return source.frame.weights
    name = source.used.weights
    return None if name is None else values_of(source.frame.columns[name], name, _reading(source)).numbers


def _kept(model: Model, old: Model, source: Source, found: Any) -> Model:
    """The new model with what its file says about it."""
    from dataclasses import replace

    known = {"command": "latentree relate", "data": source.name, "kind": "latent class model", "n": found.n}
    known |= {"log_likelihood": found.log_likelihood}
    return source.used.kept_in(replace(model, provenance={**model.provenance, **known}))


def _show(found: Any, *, effects: bool) -> None:
    from ..relate._text import effects as effects_of, headline, sections
    from .tables import grid

    click.echo(headline(found))
    more = [effects_of(found)] if effects else []
    for title, head, cells in (*sections(found), *more):
        click.echo(f"\n{title}")
        grid(head, cells, right=[name for name in head if name in RIGHT])
    for own in found.notes:
        click.echo(f"\nNote: {own.shown('shell')}")


RIGHT = ("estimate", "s.e.", "z", "p", "odds ratio", "statistic", "df", "variance")


def _show_tests(tests: Any) -> None:
    from ..relate._text import number, p_value
    from .tables import grid

    click.echo(f"\nDirect effects of covariates on items, {tests.test} tests")
    cells = [
        [
            row["item"],
            row["covariate"],
            number(row["statistic"], 2),
            str(row["df"]),
            p_value(row["p"]),
            p_value(row["p_adjusted"]),
        ]
        for row in tests.rows
    ]
    head = ["item", "covariate", "statistic", "df", "p", f"p, {tests.correction}"]
    grid(head, cells, right=head[2:])
