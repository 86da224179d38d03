"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ..formats import DATA_FORMATS
from ..score._registry import SCORES
from .command import file, flag, option, whole
from .files import MODEL, ROWS
from .types import BINS, DELIMITER, LEARNER_PRIOR, Choice, Number

__all__ = [
    "assign_option",
    "data_argument",
    "estimating_options",
    "fitting_options",
    "force_option",
    "jobs_option",
    "learning_options",
    "matching_options",
    "model_argument",
    "model_out_option",
    "prior_option",
    "resume_option",
    "rows_out_option",
    "score_option",
    "searching_options",
    "seed_option",
    "shown_data_option",
    "time_limit_option",
    "trace_option",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]

READING = "How the file is read"
LEARNING = "Which data are used"
FITTING = "How they are fitted"


def _complete_data(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ..datasets import names

    own = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
    return [*own, CompletionItem(incomplete, type="file")]


def data_argument(function: Function) -> Function:
    """Add the argument DATA: a file, or a data set by name."""
    return click.argument("data", shell_complete=_complete_data)(function)


def model_argument(function: Function) -> Function:
    """Add the argument MODEL: a model file."""
    return click.argument("model", type=click.Path())(function)


def shown_data_option(function: Function) -> Function:
    """Add ``--data``: rows to show and judge a model by."""
    return option(
        "--data DATA",
        "Data beside the model",
        "A file, '-' for standard input, or a data set of latentree by name. Columns are found by name.",
        shell_complete=_complete_data,
    )(function)


def trace_option(function: Function) -> Function:
    """Add ``--trace``: how a search grew the tree."""
    return file(
        "--trace",
        "Data beside the model",
        "Steps of a search, as JSON. Default: those in the model file, if there are any.",
    )(function)


def assign_option(section: str, what: str = "class") -> Callable[[Function], Function]:
    """Add ``--assign``: a file of the rows with their classes."""
    return file(
        "--assign",
        section,
        f"Write the rows of DATA to this file, with the {what} of each row and its probabilities appended. "
        f"It ends in {ROWS}.",
    )


def rows_out_option(what: str) -> Callable[[Function], Function]:
    """Add ``--out`` for a file of rows."""
    return file("--out", "Output", f"Write {what} to this file, which ends in {ROWS}. Default: CSV on standard output.")


def model_out_option(name: str, what: str) -> Callable[[Function], Function]:
    """Add ``--out`` or the like for a model file."""
    return file(
        name,
        "Output",
        f"Write {what} to this file: .json, which keeps everything, or another kind of model file by its ending "
        f"({MODEL}); see 'convert'.",
    )


def force_option(function: Function) -> Function:
    """Add ``--force``."""
    return flag(
        "--force",
        "Output",
        "Replace existing files, even those that this command did not write. The data are never replaced.",
    )(function)


def score_option(section: str, what: str) -> Callable[[Function], Function]:
    """Add ``--score``: what models can be chosen by, of the scores that cost no more than a fit."""
    names = [name for name, score in SCORES.items() if score.searchable]
    return option(
        "--score NAME", section, f"{what}: {', '.join(names[:-1])} or {names[-1]}.", type=Choice(names), default="bic"
    )


def resume_option(section: str, what: str = "models") -> Callable[[Function], Function]:
    """Add ``--resume``: a checkpoint."""
    return file(
        "--resume",
        section,
        "Save the work in this file as it proceeds. If the file exists, continue from it: a run that "
        f"was stopped, or killed, ends with the same {what} as one that was not.",
    )


_FILE: tuple[Any, ...] = (
    option(
        "--format KIND",
        READING,
        f"Kind of file: {', '.join(DATA_FORMATS)}. Default: by its ending.",
        type=Choice(list(DATA_FORMATS)),
    ),
    option(
        "--delimiter CHARACTER",
        READING,
        "What separates cells; also 'tab', 'space', 'bar'. Default: comma, semicolon or tab, as found.",
        type=DELIMITER,
    ),
    option("--encoding NAME", READING, "Encoding of the text, such as cp1252 or latin-1. Default: UTF-8."),
    option(
        "--no-header/--header",
        "no_header",
        READING,
        "The first line is data, and the columns are x1, x2, ...; or it names them (the default).",
        default=None,
    ),
    option("--sheet NAME", READING, "Sheet of a workbook. Default: the first."),
    option(
        "--missing TEXT|NAME=TEXT,...",
        READING,
        "Cells that count as missing, besides empty ones, ?, ., NA, N/A, NaN, NULL and the like; NAME=TEXT applies to "
        "the column NAME only.",
        multiple=True,
    ),
    option(
        "--no-default-missing/--default-missing",
        "no_default_missing",
        READING,
        "NA, ? and the like are answers, and only empty cells and those of --missing are missing; or they are "
        "missing too (the default).",
        default=None,
    ),
)


_DECIMAL = option("--decimal MARK", READING, "Decimal mark of numbers: . or , (default: .)", type=Choice([".", ","]))

_RECIPE = file(
    "--recipe",
    READING,
    "Read the data as this file says, which 'latentree check' writes; it ends in .toml or .json. Options on "
    "the command line take precedence.",
)


_WEIGHTS = option(
    "--weights COLUMN", LEARNING, "Column that says how often each row counts. Rows of weight 0 are ignored."
)

_LEARNING: tuple[Any, ...] = (
    option(
        "--columns NAME,...",
        LEARNING,
        "Use these columns only. Default: all. Names with commas: one option each, or in double quotes.",
        multiple=True,
    ),
    option("--drop NAME,...", LEARNING, "Leave these columns out.", multiple=True),
    _WEIGHTS,
    option(
        "--bins N|NAME=N,...",
        LEARNING,
        "Cut columns of numbers into N bins of equal frequency: all that have fractions or more than 20 different "
        "numbers, or only those named, whatever numbers they have. NAME=18:40:65 cuts at these values (a single one: "
        "NAME=40:). Two bins cut at the median.",
        multiple=True,
        type=BINS,
    ),
    option(
        "--merge-rare N",
        LEARNING,
        "Merge values that fewer than N rows have: numbers and answers of a known scale with a neighbour, others "
        "into '(other)'. A note says what was merged.",
        type=Number(min=0, min_open=True),
    ),
    option(
        "--order NAME: VALUE,...",
        LEARNING,
        "Answers of the column NAME from low to high, as in --order 'trust: low, middle, high'. Default: as the file "
        "declares, or that of a well-known scale, which a note then reports.",
        multiple=True,
    ),
    flag(
        "--keep-levels",
        LEARNING,
        "Count levels that the data declare but no row has as states. Default: leave them out.",
    ),
)


LONG = "Long data: one line for each item of a row"

_LONG: tuple[Any, ...] = (
    option("--rows COLUMN", LONG, "Column that says which row a line belongs to, such as the customer."),
    option("--items COLUMN", LONG, "Column that says what the row has, such as the product. Each becomes a variable."),
    whole("--counts", LONG, "Count items up to N or more. Default: 0 and 1, whether a row has it.", max=1_000),
    option("--quantity COLUMN", LONG, "Column of whole numbers to add up instead of counting lines."),
    option("--min-rows N", LONG, "Leave out items that fewer than N rows have.", type=Number(min=0)),
)


def prior_option(section: str, default: str | None) -> Callable[[Function], Function]:
    """Add ``--prior`` of learners."""
    usual = "auto" if default else "none"
    both = "auto: shuffled, or the mean of both estimates if rows that stand together are unlike the others"
    auto = both if default else "auto: shuffled"
    return option(
        "--prior NUMBER|auto|shuffled|blocks|none",
        section,
        "What keeps probabilities away from 0 and 1: the Dirichlet parameter of every distribution, 1 being flat; "
        "shuffled: chosen by rows held out at random; blocks: for each table by rows that stand together in the data, "
        f"for new rows from another time or place; {auto}; or none: maximum likelihood. Default: {usual}.",
        type=LEARNER_PRIOR,
        default=default,
        show_default=False,
    )


_PRIOR = option(
    "--prior NUMBER",
    FITTING,
    "Dirichlet parameter of every distribution: 1 is flat, more keeps probabilities away from 0 and 1. "
    "Default: maximum likelihood.",
    type=Number(min=1, max=1e9),
)

_FITTING: tuple[Any, ...] = (
    whole(
        "--n-init",
        FITTING,
        "Random starts for each model; the best of them are run to the end.",
        min=1,
        max=1_000_000,
        default=64,
    ),
    option(
        "--tol GAIN",
        FITTING,
        "A run ends when a step gains less log-likelihood than this.",
        type=Number(min=0),
        default=1e-6,
    ),
)


def seed_option(section: str = FITTING, what: str = "models") -> Callable[[Function], Function]:
    """Add ``--seed``."""
    return whole(
        "--seed", section, f"Seed of the random numbers: the same seed gives the same {what}.", min=0, default=0
    )


def jobs_option(default: int | None, section: str = FITTING, what: str = "Threads") -> Callable[[Function], Function]:
    """Add ``--n-jobs``; without a default, all cores."""
    return whole(
        "--n-jobs",
        section,
        f"{what}; they do not change the result." + ("" if default else " Default: all cores."),
        default=default,
        show_default=default is not None,
    )


def time_limit_option(section: str = FITTING, what: str = "the best so far") -> Callable[[Function], Function]:
    """Add ``--time-limit``."""
    return option(
        "--time-limit SECONDS",
        section,
        f"Seconds for the whole command, from reading to the last file; it ends with {what}.",
        type=Number(min=0, infinite=True),
    )


_MATCHING: tuple[Any, ...] = (
    _WEIGHTS,
    flag("--no-weights", LEARNING, "Count every row once, although the model had weights."),
    option(
        "--unseen",
        LEARNING,
        "What to do with a value that the model does not know: an error, a missing cell, or smooth, a missing cell "
        "that counts in the log-likelihood with the probability of something new, 1/(n + 1). Default: error.",
        type=Choice(["error", "missing", "smooth"]),
    ),
)
"""Whatever is not given is as it was for the model's own data."""


def _all(decorators: tuple[Any, ...], function: Function) -> Function:
    return reduce(lambda inner, decorate: decorate(inner), reversed(decorators), function)


def learning_options(function: Function) -> Function:
    """Add the options by which data are read to learn from; see :func:`.data.read_to_learn`."""
    return _all((*_LEARNING, _RECIPE, *_FILE, _DECIMAL, *_LONG), function)


def matching_options(function: Function) -> Function:
    """Add the options by which data are read for a model that exists; see :func:`.data.read_for`."""
    return _all((*_MATCHING, _RECIPE, *_FILE, _DECIMAL), function)


def fitting_options(function: Function, prior: Any = _PRIOR) -> Function:
    """Add the options of how latent class models are fitted; see :func:`.fit.fitted`."""
    return _all((prior, *_FITTING, seed_option(), jobs_option(1), time_limit_option()), function)


def estimating_options(function: Function) -> Function:
    """Add the same for a command that writes one model, whose prior may be chosen by the data."""
    return fitting_options(function, prior_option(FITTING, None))


def searching_options(function: Function) -> Function:
    """Add the options that every search has; see :mod:`.learn`."""
    return _all((seed_option(), jobs_option(None), time_limit_option()), function)
