"""``latentree power``: how many rows it takes to find classes and effects."""

from __future__ import annotations

import csv
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..score._registry import SCORES
from .app import INTERRUPTED
from .command import command as command_, file, option, session, whole
from .options import force_option, jobs_option, seed_option, time_limit_option
from .output import emit, note
from .types import Choice, Number, pairs, split

if TYPE_CHECKING:
    from ..planning import PowerStudy

__all__ = ["command"]

EXAMPLES = """
latentree power model.json --n 200,500,1000
latentree power --classes 3 --items 6 --separation 0.8 --n 250,500,1000
latentree power --sizes 0.5,0.3,0.2 --separation 0.9 --n 300 --effect 0.5 --bootstrap 0
latentree power --classes 3 --n 500 --effect class1=0.5,class2=-0.5 --effect 0.3 --covariate binary
latentree power --profiles profiles.csv --n 200,400,800 --simulations 500 --report power.html
"""

POPULATION, ANALYSIS, OUTPUT = "What the data come from", "What is done with them", "Output"


@command_("power", examples=EXAMPLES)
@click.argument("model", required=False, type=click.Path())
@whole("--classes", POPULATION, "Without a model: so many classes of equal size.")
@option("--sizes P,...", POPULATION, "Without a model: sizes of the classes.")
@whole("--items", POPULATION, "Binary items of the stated classes.", default=6)
@option(
    "--separation P",
    POPULATION,
    "Probability of the typical answer: the first class gives 1 to all items, the last to none, those between to fewer "
    "and fewer.",
    type=Number(0.5, 1, min_open=True, max_open=True),
    default=0.8,
)
@file(
    "--profiles",
    POPULATION,
    "Without a model: a CSV file with a line for each class, its size in the column 'size', and in a column for each "
    "item the probability of 1.",
)
@option("--n N,...", POPULATION, "Sample sizes.", required=True)
@option(
    "--effect B,...",
    POPULATION,
    "What one unit of a covariate adds to the log-odds of the last class, of all classes (0,0.5,-0.5), or of some "
    "(class1=0.5). Once for each covariate. Default: no covariate.",
    multiple=True,
)
@option("--covariate KIND", POPULATION, "Its distribution.", type=Choice(["normal", "binary"]), default="normal")
@whole("--simulations", ANALYSIS, "Data sets of each size.", default=100)
@option(
    "--scores NAME,...", ANALYSIS, f"What chooses the number of classes: {', '.join(SCORES)}.", default="bic,aic,sabic"
)
@whole("--max-classes", ANALYSIS, "Most classes that are fitted. Default: one more than there are.")
@whole("--bootstrap", ANALYSIS, "Replicates of each bootstrap test; 0 for no tests.", min=0, default=99)
@option("--alpha P", ANALYSIS, "Level of the tests.", type=Number(0, 1, min_open=True, max_open=True), default=0.05)
@option(
    "--method NAME",
    ANALYSIS,
    "How classes are related to the covariate.",
    type=Choice(["one-step", "two-step", "three-step", "bch"]),
    default="three-step",
)
@whole("--n-init", ANALYSIS, "Starts of each fit.", default=16)
@seed_option(ANALYSIS, "result")
@jobs_option(1, ANALYSIS, "Data sets at the same time")
@time_limit_option(ANALYSIS, "what is done by then")
@file("--report", OUTPUT, "Write a page with the table and curves to this file (.html).")
@file("--plot", OUTPUT, "Draw power against sample size to this file (.png); needs Matplotlib.")
@force_option
def command(model: str | None, report: str | None, plot: str | None, force: bool, as_json: bool, **options: Any) -> int:
    """Plan a sample size by simulation.

    Data are drawn from the latent class model of the file MODEL, such as that of a pilot study, or from classes that
    are stated. Each data set is fitted with 1, 2, ... classes. Shown is the share of data sets in which each criterion,
    and bootstrap tests one after the other, find the right number, and with --effect the power of the Wald test of the
    covariate; all with Monte Carlo standard errors.

    Ctrl-C ends the simulation; what was done is shown and written, and the exit status is 130.
    """
    from ..planning import power
    from ..runner import StopReason
    from .files import PAGE, PICTURE, Outputs
    from .progress import meter

    files = {"--report": (PAGE, report), "--plot": (PICTURE, plot)}
    outputs = Outputs("power", files, [model, options["profiles"]], force=force)
    if plot is not None:
        from ..report.figures._axes import pyplot

        pyplot()  # which says how to get Matplotlib before the work begins
    drawn_from = _population(model, options)
    names = ("covariate", "max_classes", "alpha", "method", "n_init", "seed", "n_jobs", "time_limit")
    own = {name: options[name] for name in names}
    if own["time_limit"] is not None:  # which began with the command
        own["time_limit"] = max(own["time_limit"] - (time.monotonic() - session().started), 0.0)
    with meter(options["simulations"]) as shown:
        study = power(
            **drawn_from,
            n=_wholes(options["n"]),
            n_simulations=options["simulations"],
            n_bootstrap=options["bootstrap"],
            effect=_effects(options["effect"]),
            scores=[name.strip() for name in options["scores"].split(",") if name.strip()],
            on_progress=None
            if shown.bar is None
            else lambda event: shown.bar.update(
                shown.task, completed=event.done, description="simulations", status=f"{event.done} of {event.total}"
            ),
            **own,
        )
    with outputs.until_interrupted():
        if report is not None:
            outputs.write_page(study.to_html(), report)
            note(f"Report written to '{report}'.")
        if plot is not None:
            _draw(study, plot, outputs.mark)
            note(f"Picture written to '{plot}'.")
        if as_json:
            emit(study.to_dict())
        else:
            click.echo(study.to_text())
    if study.reason is StopReason.INTERRUPTED:
        note("Interrupted: this is what was done until then.")
        return INTERRUPTED
    return 0


def _population(model: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """What to draw from; exactly one way of saying it."""
    ways = {
        "MODEL": model,
        "--classes": options["classes"],
        "--sizes": options["sizes"],
        "--profiles": options["profiles"],
    }
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        found = "none" if not given else " and ".join(given)
        raise click.UsageError(f"Say what to draw data from by one of {', '.join(ways)}. Got {found}.")
    if model is not None:
        from .data import load_model

        return {"model": load_model(model)}
    if options["profiles"] is not None:
        sizes, profiles = _read_profiles(options["profiles"])
        return {"class_sizes": sizes, "profiles": profiles}
    sizes = options["classes"] if options["sizes"] is None else _numbers(split(options["sizes"]), "--sizes")
    return {"class_sizes": sizes, "n_items": options["items"], "separation": options["separation"]}


def _read_profiles(path: str) -> tuple[list[float], list[list[float]]]:
    """Sizes of classes, and P(1 | class) of the items."""
    with open(path, newline="", encoding="utf-8-sig") as lines:
        head, *rows = [row for row in csv.reader(lines) if row] or [[]]
    if "size" not in head or len(head) < 2 or not rows:
        raise click.UsageError(f"'{path}' needs a first line with 'size' and the items, and a line for each class.")
    if any(len(row) != len(head) for row in rows):
        raise click.UsageError(f"'{path}' has lines with more or fewer cells than the first.")
    at = head.index("size")
    numbers = [_numbers(row, f"'{path}'") for row in rows]
    return [row[at] for row in numbers], [row[:at] + row[at + 1 :] for row in numbers]


def _numbers(texts: list[str], where: str) -> list[float]:
    try:
        return [float(text) for text in texts]
    except ValueError:
        raise click.UsageError(f"{where}: numbers are expected. Got {', '.join(texts)}.") from None


def _effects(texts: Sequence[str]) -> Any:
    """What --effect says: of one covariate, or a list for several."""
    found = [_effect(text) for text in texts]
    return found if len(found) > 1 else next(iter(found), None)


def _effect(text: str) -> Any:
    """A number, a number for each class, or numbers by class."""
    parts = split(text)
    if "=" not in text:
        found = _numbers(parts, "--effect")
        return found[0] if len(found) == 1 else found
    named = pairs(parts, "--effect")
    return dict(zip(named, _numbers(list(named.values()), "--effect"), strict=True))


def _wholes(text: str) -> list[int]:
    try:
        return [int(part) for part in split(text)]
    except ValueError:
        raise click.UsageError(f"--n takes whole numbers, such as 200,500. Got {text}.") from None


def _draw(study: PowerStudy, path: str, mark: str) -> None:
    import io

    from .._files import write_atomically
    from ..report.figures._axes import pyplot

    figure, picture = study.plot().figure, io.BytesIO()
    figure.savefig(picture, format="png", dpi=150, metadata={"Software": mark})
    pyplot().close(figure)
    write_atomically(path, picture.getvalue())
