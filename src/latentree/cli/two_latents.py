"""``latentree two-latents``: two independent latent variables above all columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from .._scale import shown_score
from ..score._registry import SCORES
from .app import INTERRUPTED
from .command import command as command_, option, session
from .fit import MODELS
from .options import data_argument, fitting_options, force_option, learning_options, model_out_option
from .output import emit, note, print_report
from .types import PAIRS, Choice

if TYPE_CHECKING:
    from .._table import Table
    from ..estimation import TwoLatentsFit
    from ..runner import Clock

__all__ = ["command"]

EXAMPLES = """
latentree two-latents carcinoma
latentree two-latents survey.csv --drop id --states 2x2,2x3,3x3
latentree two-latents survey.csv --drop id --states 2x3 --out model.json
"""

PENALISED = [name for name, score in SCORES.items() if score.penalty]


@command_("two-latents", examples=EXAMPLES)
@data_argument
@option(
    "--states PAIRS",
    MODELS,
    "Numbers of states of the two latent variables: 2x3, or several such as 2x2,2x3, of which the best is shown. With "
    "1x3 it is a latent class model with three classes.",
    type=PAIRS,
    default="2x2",
)
@option(
    "--score NAME", MODELS, f"What decides between them: {', '.join(PENALISED)}.", type=Choice(PENALISED), default="bic"
)
@fitting_options
@learning_options
@model_out_option("--out", "the best model")
@force_option
def command(data: str, out: str | None, force: bool, as_json: bool, **options: Any) -> int:
    """Latent class analysis with two independent latent variables.

    DATA is a file, '-' for standard input, or a data set of latentree by name, read as in 'fit'.

    Every column depends on both latent variables, and these do not depend on each other: people differ in two respects
    at once. In a latent tree each column would hang on one of them. The result is shown as a latent class model whose
    classes are the pairs of states, '1.2' being state 1 of the first and state 2 of the second; --out writes that
    model, which all other commands read. Its class sizes are products, so that there are fewer parameters than other
    commands would count in the model file; this command counts them rightly.
    """
    from ..report import describe
    from .data import read_to_learn
    from .files import MODEL, Outputs
    from .limit import Limit

    outputs = Outputs("two-latents", {"--out": (MODEL, out)}, [data], force=force)
    source, table = read_to_learn(data, options)
    limit = Limit(options["time_limit"], table)
    fits, stopped = _fitted(table, options, limit.work)
    rate = SCORES[options["score"]]
    best = _ordered(max(fits, key=rate))
    with limit.finishing(stopped):
        described = describe(best)
    with outputs.until_interrupted(stopped):
        if out is not None:
            from .origin import with_origin

            told = {**described, "states": "x".join(map(str, best.n_states)), "seed": options["seed"]}
            outputs.write_model(with_origin(best.model, "two-latents", source, options, told, ("states",)), out)
        if as_json:
            emit(_document(fits, best, {**described, "seed": options["seed"]}, source.name, options, stopped))
        else:
            if len(fits) > 1:
                _show_all(fits, options["score"])
            print_report(described)
            _show_factors(best)
    if stopped:
        note("Interrupted: this is the best so far.")
    return INTERRUPTED if stopped else 0


def _fitted(table: Table, options: dict[str, Any], clock: Clock) -> tuple[list[TwoLatentsFit], bool]:
    """Fit all pairs that there is time for, at least one; and whether Ctrl-C ended it."""
    import numpy as np

    from ..estimation import fit_two_latents
    from ..runner import StopReason

    own = {name: options[name] for name in ("n_init", "tol", "prior", "n_jobs")}
    fits: list[TwoLatentsFit] = []
    for pair in options["states"]:
        if fits and clock.expired:
            left = ", ".join(f"{a}x{b}" for a, b in options["states"][len(fits) :])
            note(f"The time is up: {left} not fitted.")
            break
        rng = np.random.default_rng([options["seed"], *pair])
        fits.append(fit_two_latents(table, pair, rng=rng, budget=clock, **own))
        if fits[-1].reason is StopReason.INTERRUPTED:
            return fits, True
    return fits, False


def _ordered(fit: TwoLatentsFit) -> TwoLatentsFit:
    """States of both latents by size, the largest first, and the classes named after their pairs."""
    import numpy as np

    from ..estimation._classes import reordered_states
    from ..naming import renamed

    first, second = (np.argsort(-own, kind="stable") for own in fit.factors)
    k1, k2 = fit.n_states
    order = (first[:, None] * k2 + second).ravel()
    ordered = reordered_states(fit, 0, order)
    names = [f"{i + 1}x{j + 1}" for i in range(k1) for j in range(k2)]
    found: TwoLatentsFit = replace(fit, model=renamed(ordered.model, classes=names), counts=ordered.counts)
    return found


def _show_all(fits: list[TwoLatentsFit], score: str) -> None:
    from .tables import grid

    values = [SCORES[score](fit) for fit in fits]
    rows = [
        [
            "x".join(map(str, fit.n_states)),
            f"{fit.log_likelihood:,.2f}",
            str(fit.n_parameters),
            ("*" if value == max(values) else "") + f"{shown_score(value, score):,.2f}",
        ]
        for fit, value in zip(fits, values, strict=True)
    ]
    grid(["states", "log-lik.", "parameters", score], rows, right=["log-lik.", "parameters", score])
    click.echo()


def _show_factors(fit: TwoLatentsFit) -> None:
    from .tables import grid

    click.echo("\nThe two latent variables")
    rows = [
        [str(i + 1), f"{state + 1}", f"{100 * share:.1f} %"]
        for i, own in enumerate(fit.factors)
        for state, share in enumerate(own)
    ]
    grid(["latent", "state", "size"], rows, right=["size"])


def _document(
    fits: list[TwoLatentsFit], best: TwoLatentsFit, described: Any, data: str, options: dict[str, Any], stopped: bool
) -> dict[str, Any]:
    rate = SCORES[options["score"]]
    return {
        "data": data,
        "score": options["score"],
        "states": list(best.n_states),
        "sizes": [own.tolist() for own in best.factors],
        **described,
        "comparison": [
            {
                "states": list(fit.n_states),
                "log_likelihood": fit.log_likelihood,
                "n_parameters": fit.n_parameters,
                options["score"]: rate(fit),
            }
            for fit in fits
        ],
        "interrupted": stopped,
        "warnings": [*session().warnings, *described["warnings"]],
    }
