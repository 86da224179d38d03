"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from .command import option
from .types import BINS, DELIMITER

__all__ = [
    "assign_option",
    "data_argument",
    "fitting_options",
    "learning_options",
    "matching_options",
    "model_argument",
    "resume_option",
    "rows_out_option",
    "score_option",
    "searching_options",
    "seed_option",
    "shown_data_option",
    "threads_option",
    "time_limit_option",
    "trace_option",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]

READING = "How the file is read"
LEARNING = "Which data are used"
FITTING = "How they are fitted"
SCORES = ("bic", "aic", "aic3", "bice", "sabic", "caic", "awe", "draper", "icl", "icl_bic", "cs", "cse")
"""What models can be chosen by, of the scores that cost no more than a fit."""


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
        "--data",
        section="Data beside the model",
        metavar="DATA",
        shell_complete=_complete_data,
        help="A file, '-' for standard input, or a data set of latentree by name. Columns are found by name.",
    )(function)


def trace_option(function: Function) -> Function:
    """Add ``--trace``: how a search grew the tree."""
    return option(
        "--trace",
        type=click.Path(),
        section="Data beside the model",
        metavar="FILE",
        help="Steps of a search, as JSON. Default: those in the model file, if there are any.",
    )(function)


def assign_option(section: str) -> Callable[[Function], Function]:
    """Add ``--assign``: a file of the rows with their classes."""
    return option(
        "--assign",
        type=click.Path(),
        metavar="FILE",
        section=section,
        help="Write the rows of DATA to this file, with the class of each and the probability of every class appended; "
        "CSV, TSV if it ends in .tsv, gzipped if in .gz.",
    )


def rows_out_option(what: str) -> Callable[[Function], Function]:
    """Add ``--out`` for a file of rows."""
    return option(
        "--out",
        type=click.Path(),
        section="Output",
        metavar="FILE",
        help=f"Write {what} to this file: CSV, TSV if it ends in .tsv, gzipped if in .gz. Default: standard output.",
    )


def score_option(section: str, what: str) -> Callable[[Function], Function]:
    """Add ``--score``."""
    return option(
        "--score",
        type=click.Choice(SCORES),
        default="bic",
        show_default=True,
        metavar="NAME",
        section=section,
        help=f"{what}: {', '.join(SCORES[:-1])} or {SCORES[-1]}.",
    )


def resume_option(section: str) -> Callable[[Function], Function]:
    """Add ``--resume``: a file that fits are kept in."""
    return option(
        "--resume",
        type=click.Path(),
        metavar="FILE",
        section=section,
        help="Keep the work in this file as it goes on. If it is there already, go on from it: a run that was stopped, "
        "or killed, ends with the same models as one that was not.",
    )


_FILE: tuple[Any, ...] = (
    option(
        "--format",
        type=click.Choice(["csv", "tsv", "parquet", "arff", "hlcm"]),
        section=READING,
        metavar="KIND",
        help="What kind of file it is: csv, tsv, parquet, arff or hlcm. Default: as its name ends.",
    ),
    option(
        "--delimiter",
        type=DELIMITER,
        section=READING,
        metavar="CHARACTER",
        help="What stands between cells; also 'tab', 'space', 'bar'. Default: comma, semicolon or tab, as found.",
    ),
    option(
        "--encoding",
        section=READING,
        metavar="NAME",
        help="Encoding of the text, such as cp1252 or latin-1. Default: UTF-8.",
    ),
    option("--no-header", is_flag=True, section=READING, help="The first line is data; columns are x1, x2, ..."),
    option(
        "--missing",
        multiple=True,
        section=READING,
        metavar="TEXT,...",
        help="Cells that count as missing, beside empty ones, ?, ., NA, N/A, NaN, NULL and the like. 'assign' and "
        "'score' know those of 'fit' from the model.",
    ),
    option(
        "--no-default-missing",
        is_flag=True,
        section=READING,
        help="Only empty cells and those of --missing are missing; NA, ? and the like are answers.",
    ),
    option(
        "--decimal",
        type=click.Choice([".", ","]),
        default=".",
        show_default=True,
        section=READING,
        metavar="MARK",
        help="Decimal mark of numbers: . or ,",
    ),
)

_WEIGHTS = option(
    "--weights",
    metavar="COLUMN",
    section=LEARNING,
    help="Column that says how often each row counts. Rows of weight 0 are passed over.",
)

_LEARNING: tuple[Any, ...] = (
    option(
        "--columns",
        multiple=True,
        metavar="NAME,...",
        section=LEARNING,
        help="Use these columns only. Default: all. Names with commas: one option each, or in double quotes.",
    ),
    option("--drop", multiple=True, metavar="NAME,...", section=LEARNING, help="Leave these columns out."),
    _WEIGHTS,
    option(
        "--bins",
        multiple=True,
        type=BINS,
        metavar="N|NAME=N,...",
        section=LEARNING,
        help="Cut columns of numbers into N bins of equal frequency: all that have fractions or more than 20 different "
        "numbers, or only those named, whatever numbers they have. NAME=18:40:65 cuts at these values (a single one: "
        "NAME=40:). Two bins cut at the median.",
    ),
    option(
        "--merge-rare",
        type=click.FloatRange(min=0, min_open=True),
        metavar="N",
        section=LEARNING,
        help="Merge values that fewer than N rows have: numbers and answers of a known scale with a neighbour, others "
        "into '(other)'. It is said what was merged.",
    ),
)

_FITTING: tuple[Any, ...] = (
    option(
        "--prior",
        type=click.FloatRange(min=1),
        section=FITTING,
        metavar="NUMBER",
        help="Dirichlet parameter of every distribution: 1 is flat, more keeps probabilities away from 0 and 1. "
        "Default: maximum likelihood.",
    ),
    option(
        "--n-init",
        type=click.IntRange(min=1),
        default=64,
        show_default=True,
        section=FITTING,
        metavar="N",
        help="Random starts for each model; the best of them are run to the end.",
    ),
    option(
        "--tol",
        type=click.FloatRange(min=0),
        default=1e-6,
        show_default=True,
        section=FITTING,
        metavar="GAIN",
        help="A run ends when a step gains less log-likelihood than this.",
    ),
)


def seed_option(section: str = FITTING, what: str = "models") -> Callable[[Function], Function]:
    """Add ``--seed``."""
    return option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        section=section,
        metavar="N",
        help=f"Where randomness comes from: the same seed gives the same {what}.",
    )


def threads_option(
    default: int | None, section: str = FITTING, what: str = "Threads"
) -> Callable[[Function], Function]:
    """Add ``--n-jobs``; without a default, all cores."""
    return option(
        "--n-jobs",
        type=click.IntRange(min=1),
        default=default,
        show_default=default is not None,
        section=section,
        metavar="N",
        help=f"{what}; they do not change the result." + ("" if default else " Default: all cores."),
    )


def time_limit_option(section: str = FITTING, what: str = "the best so far") -> Callable[[Function], Function]:
    """Add ``--time-limit``."""
    return option(
        "--time-limit",
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        section=section,
        help=f"Stop after this time in all, with {what}.",
    )


_MATCHING: tuple[Any, ...] = (
    _WEIGHTS,
    option(
        "--unseen",
        type=click.Choice(["error", "missing"]),
        default="error",
        show_default=True,
        section=LEARNING,
        help="What to do with a value that the model does not know.",
    ),
)


def _all(decorators: tuple[Any, ...], function: Function) -> Function:
    return reduce(lambda inner, decorate: decorate(inner), reversed(decorators), function)


def learning_options(function: Function) -> Function:
    """Add the options by which data are read to learn from; see :func:`.data.table_to_learn_from`."""
    return _all((*_LEARNING, *_FILE), function)


def matching_options(function: Function) -> Function:
    """Add the options by which data are read for a model that exists; see :func:`.data.table_for`."""
    return _all((*_MATCHING, *_FILE), function)


def fitting_options(function: Function) -> Function:
    """Add the options of how latent class models are fitted; see :func:`.fit.fitted`."""
    return _all((*_FITTING, seed_option(), threads_option(1), time_limit_option()), function)


def searching_options(function: Function) -> Function:
    """Add the options that every search has; see :mod:`.learn`."""
    return _all((seed_option(), threads_option(None), time_limit_option()), function)
