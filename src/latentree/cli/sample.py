"""``latentree sample``: Bayesian latent class analysis."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from .app import INTERRUPTED
from .command import command as command_, file, flag, option, session, whole
from .options import (
    assign_option,
    data_argument,
    force_option,
    jobs_option,
    learning_options,
    model_out_option,
    resume_option,
    seed_option,
    time_limit_option,
)
from .output import emit, note, print_report, tell_resumed
from .types import Choice, Number

if TYPE_CHECKING:
    from .._table import Table
    from ..bayes import Draws
    from ..runner import Progress
    from .data import Source
    from .files import Outputs

__all__ = ["command"]

EXAMPLES = """
latentree sample carcinoma --max-classes 6
latentree sample survey.csv --drop id --max-classes 8 --out draws.nc --plots pictures
latentree sample survey.csv --drop id --classes 3 --assign rows.csv
latentree sample counts.csv --weights n --prior-k geometric --delta2 0.5 --draws 5000 --n-jobs 2 --json > sample.json
"""

PICTURES = ("n_classes.png", "trace_n_classes.png", "trace_log_likelihood.png", "profiles.png")
"""What ``--plots`` writes."""

MODELS, SAMPLING, OUTPUT = "Which models", "How they are sampled", "Output"


@command_("sample", examples=EXAMPLES)
@data_argument
@whole("--max-classes", MODELS, "Most classes: any number from 1 to this is possible.", default=8)
@whole(
    "--classes",
    MODELS,
    "Exactly this number of classes, by Gibbs sampling; --max-classes and --prior-k do not count then.",
)
@option(
    "--prior-k NAME",
    MODELS,
    "Probability of each number of classes beforehand: uniform, poisson (mean 1 for those above one) or geometric "
    "(halved with every further class).",
    type=Choice(["uniform", "poisson", "geometric"]),
    default="uniform",
)
@option(
    "--delta1 NUMBER",
    MODELS,
    "Dirichlet parameter of the class sizes; 1 is flat.",
    type=Number(min=0, min_open=True),
    default=1.0,
)
@option(
    "--delta2 NUMBER",
    MODELS,
    "Dirichlet parameter of the answers of a class; 1 is flat.",
    type=Number(min=0, min_open=True),
    default=1.0,
)
@whole("--draws", SAMPLING, "Models to keep of each chain.", max=10**8, default=1000)
@whole("--burn", SAMPLING, "Sweeps of each chain to throw away before.", min=0, max=10**9, default=1000)
@whole("--thin", SAMPLING, "Sweeps from one kept model to the next.", max=10**9, default=5)
@whole("--chains", SAMPLING, "Chains, each from its own start; they should agree.", max=1000, default=4)
@option(
    "--method NAME",
    SAMPLING,
    "Reversible jump without the allocation of rows to classes (marginal), which mixes best, or with it.",
    type=Choice(["marginal", "reversible-jump"]),
    default="marginal",
)
@option(
    "--set NAME=VALUE",
    "settings",
    SAMPLING,
    "How jumps between numbers of classes are proposed, such as split=source or tries=8; an unknown name lists all.",
    multiple=True,
)
@seed_option(SAMPLING, "draws")
@jobs_option(1, SAMPLING, "Chains at a time")
@time_limit_option(SAMPLING, "what was drawn")
@resume_option(SAMPLING, "draws")
@learning_options
@whole("--show", OUTPUT, "Show the models with this number of classes. Default: the most probable.")
@option(
    "--level SHARE",
    OUTPUT,
    "What the intervals hold of the posterior.",
    type=Number(0, 1, min_open=True, max_open=True),
    default=0.95,
)
@file("--out", OUTPUT, "Write all draws to this netCDF file (.nc), which ArviZ and xarray read.")
@model_out_option("--model", "the posterior means, as a model for the other commands,")
@assign_option(OUTPUT)
@force_option
@option(
    "--plots FOLDER",
    OUTPUT,
    "Write pictures there: posterior of the number of classes, traces, profiles with intervals.",
    type=click.Path(),
)
@flag("--all", "everything", OUTPUT, "Show all variables and states, however many.")
def command(
    data: str,
    out: str | None,
    model: str | None,
    assign: str | None,
    plots: str | None,
    force: bool,
    everything: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Bayesian latent class analysis: how many classes, with what certainty.

    DATA is a file, '-' for standard input, or a data set of latentree by name, read as in 'fit'. Weights that
    are not counts are rounded up or down at random, on average to the weight itself; --seed decides.

    Models are drawn from the posterior distribution over the number of classes and all their probabilities. Classes are
    relabelled so that each is the same class in every draw. R-hat near 1 says that the chains agree.

    Ctrl-C stops the sampling; what was drawn is shown and written, and the exit status is 130.
    """
    from ..errors import bad_parameter
    from ..report import describe_draws
    from ..runner import StopReason
    from .data import read_to_learn
    from .files import CHECKPOINT, DRAWS, MODEL, PICTURE, ROWS, Kind, Outputs
    from .rows import header

    files: dict[str, tuple[Kind, str | None]] = {"--out": (DRAWS, out), "--model": (MODEL, model)}
    files["--assign"] = (ROWS, assign)
    if plots is not None and os.path.isdir(plots):
        files |= {f"--plots {name}": (PICTURE, os.path.join(plots, name)) for name in PICTURES}
    outputs = Outputs("sample", {**files, "--resume": (CHECKPOINT, options["resume"])}, [data], force=force)
    _check_libraries(out, plots)
    source, table = read_to_learn(data, options)
    outputs.check_rows("--assign", assign, header(source.frame))
    draws = _sampled(table, options)
    if options["show"] is not None and not (draws.k == options["show"]).any():
        drawn = ", ".join(map(str, sorted(set(draws.k.ravel().tolist()))))
        raise bad_parameter("show", "sample", f"a number of classes that was drawn ({drawn})", options["show"])
    report = describe_draws(draws, k=options["show"], level=options["level"], seed=options["seed"])
    _write(draws, report["n_classes"], source, outputs, {"out": out, "model": model, "assign": assign, "plots": plots})
    if as_json:
        emit(
            {
                "data": source.name,
                **report,
                "interrupted": draws.reason is StopReason.INTERRUPTED,
                "warnings": [*session().warnings, *report["warnings"]],
                "notes": [*session().notes, *report["notes"]],
            }
        )
    else:
        print_report(report, everything=everything)
    if draws.reason is StopReason.INTERRUPTED:
        note(f"Interrupted: this is what {draws.n_draws:,} draws of each chain say.")
        return INTERRUPTED
    return 0


def _check_libraries(out: str | None, plots: str | None) -> None:
    """Long sampling should not end at a library that is not there."""
    if out is not None:
        from ..bayes._layout import check_libraries

        check_libraries()
    if plots is not None:
        from ..report.figures._axes import pyplot

        pyplot()


def _sampled(table: Table, options: dict[str, Any]) -> Draws:
    import numpy as np

    from ..bayes import ClassPrior, JumpOptions, prior_on_classes, sample
    from .limit import clock_for
    from .progress import meter
    from .settings import settings_of

    fixed = options["classes"]
    if fixed and options["settings"]:
        raise click.UsageError("--set is for numbers of classes that vary. Leave out --set or --classes.")
    jumps = settings_of(JumpOptions, options["method"], options["settings"])
    tell_resumed(options["resume"])
    kinds = prior_on_classes(fixed or options["max_classes"], "uniform" if fixed else options["prior_k"])
    with meter(1) as shown:

        def on_event(event: Progress) -> None:
            share = event.done / event.total if event.total else 0.0
            many = f"{event.done:,} of {event.total:,}"
            said = f"{many}  classes {event.detail['classes']}" if event.detail else many
            shown.bar.update(shown.task, completed=share, description=event.stage, status=said)

        return sample(
            table,
            ClassPrior(kinds, options["delta1"], options["delta2"]),
            rng=np.random.default_rng(options["seed"]),
            method="gibbs" if fixed else options["method"].replace("-", "_"),
            n_draws=options["draws"],
            n_burn=options["burn"],
            thin=options["thin"],
            n_chains=options["chains"],
            n_jobs=options["n_jobs"],
            budget=clock_for(options["time_limit"], table).left(),
            on_progress=None if shown.bar is None else on_event,
            checkpoint=options["resume"],
            **jumps,
        )


def _write(draws: Draws, k: int, source: Source, outputs: Outputs, files: dict[str, str | None]) -> None:
    from ..bayes import relabel, summarise

    if files["out"] is not None:
        draws.save(files["out"])
        note(f"Draws written to '{files['out']}'.")
    if files["plots"] is not None:
        from ..report._sampled_figures import save_plots

        names = save_plots(draws, files["plots"], k=k)
        note(f"{', '.join(names)} written to '{files['plots']}'.")
    if files["model"] is None and files["assign"] is None:
        return
    means = summarise(relabel(draws.given(k))).model()
    if files["model"] is not None:
        from .. import __version__

        told = {
            "command": "latentree sample",
            "latentree": __version__,
            "data": source.name,
            "n_draws": int(draws.k.size),
        }
        named = means.with_parameters(means.parameters, provenance=told)
        outputs.write_model(source.recipe.kept_in(named), files["model"])
    if files["assign"] is not None:
        from .rows import assigned, joined, weighed

        outputs.write_rows(joined(weighed(source.frame), assigned(means, draws.table)), files["assign"])
