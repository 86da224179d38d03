"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ..formats import DATA_FORMATS
from ..score._registry import SCORES
from .command import option
from .files import MODEL, ROWS
from .types import BINS, DELIMITER, Choice

__all__ = [
    "assign_option",
    "data_argument",
    "fitting_options",
    "force_option",
    "jobs_option",
    "learning_options",
    "matching_options",
    "model_argument",
    "model_out_option",
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


def assign_option(section: str, what: str = "class") -> Callable[[Function], Function]:
    """Add ``--assign``: a file of the rows with their classes."""
    return option(
        "--assign",
        type=click.Path(),
        metavar="FILE",
        section=section,
        help=f"Write the rows of DATA to this file, with the {what} of each row and its probabilities appended. "
        f"It ends in {ROWS}.",
    )


def rows_out_option(what: str) -> Callable[[Function], Function]:
    """Add ``--out`` for a file of rows."""
    return option(
        "--out",
        type=click.Path(),
        section="Output",
        metavar="FILE",
        help=f"Write {what} to this file, which ends in {ROWS}. Default: CSV on standard output.",
    )


def model_out_option(name: str, what: str) -> Callable[[Function], Function]:
    """Add ``--out`` or the like for a model file."""
    return option(
        name,
        type=click.Path(),
        metavar="FILE",
        section="Output",
        help=f"Write {what} to this file: .json, which keeps everything, or another kind of model file by its ending "
        f"({MODEL}); see 'convert'.",
    )


def force_option(function: Function) -> Function:
    """Add ``--force``."""
    return option(
        "--force",
        is_flag=True,
        section="Output",
        help="Replace files that are there already, also those that this command did not make. The data are never "
        "replaced.",
    )(function)


def score_option(section: str, what: str) -> Callable[[Function], Function]:
    """Add ``--score``: what models can be chosen by, of the scores that cost no more than a fit."""
    names = [name for name, score in SCORES.items() if score.searchable]
    return option(
        "--score",
        type=Choice(names),
        default="bic",
        show_default=True,
        metavar="NAME",
        section=section,
        help=f"{what}: {', '.join(names[:-1])} or {names[-1]}.",
    )


def resume_option(section: str, what: str = "models") -> Callable[[Function], Function]:
    """Add ``--resume``: a checkpoint."""
    return option(
        "--resume",
        type=click.Path(),
        metavar="FILE",
        section=section,
        help="Save the work in this file as it proceeds. If the file is there already, continue from it: a run that "
        f"was stopped, or killed, ends with the same {what} as one that was not.",
    )


_FILE: tuple[Any, ...] = (
    option(
        "--format",
        type=Choice(list(DATA_FORMATS)),
        section=READING,
        metavar="KIND",
        help=f"Kind of file: {', '.join(DATA_FORMATS)}. Default: by its ending.",
    ),
    option(
        "--delimiter",
        type=DELIMITER,
        section=READING,
        metavar="CHARACTER",
        help="What separates cells; also 'tab', 'space', 'bar'. Default: comma, semicolon or tab, as found.",
    ),
    option(
        "--encoding",
        section=READING,
        metavar="NAME",
        help="Encoding of the text, such as cp1252 or latin-1. Default: UTF-8.",
    ),
    option(
        "--no-header/--header",
        "no_header",
        default=None,
        section=READING,
        help="The first line is data, and the columns are x1, x2, ...; or it names them (the default).",
    ),
    option(
        "--missing",
        multiple=True,
        section=READING,
        metavar="TEXT,...",
        help="Cells that count as missing, besides empty ones, ?, ., NA, N/A, NaN, NULL and the like.",
    ),
    option(
        "--no-default-missing/--default-missing",
        "no_default_missing",
        default=None,
        section=READING,
        help="NA, ? and the like are answers, and only empty cells and those of --missing are missing; or they are "
        "missing too (the default).",
    ),
)


def _decimal(default: str | None) -> Callable[[Function], Function]:
    return option(
        "--decimal",
        type=Choice([".", ","]),
        default=default,
        show_default=True,
        section=READING,
        metavar="MARK",
        help="Decimal mark of numbers: . or ,",
    )


_WEIGHTS = option(
    "--weights",
    metavar="COLUMN",
    section=LEARNING,
    help="Column that says how often each row counts. Rows of weight 0 are ignored.",
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
        "into '(other)'. A note says what was merged.",
    ),
    option(
        "--keep-levels",
        is_flag=True,
        section=LEARNING,
        help="Count levels that the data declare but no row has as states. Default: leave them out.",
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
        type=click.IntRange(min=1, max=1_000_000),
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


def jobs_option(default: int | None, section: str = FITTING, what: str = "Threads") -> Callable[[Function], Function]:
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
        help=f"Seconds for the whole command, from reading to the last file; it ends with {what}.",
    )


_MATCHING: tuple[Any, ...] = (
    _WEIGHTS,
    option(
        "--no-weights", is_flag=True, section=LEARNING, help="Count every row once, although the model had weights."
    ),
    option(
        "--unseen",
        type=Choice(["error", "missing"]),
        section=LEARNING,
        help="What to do with a value that the model does not know. Default: error.",
    ),
)
"""Whatever is not given is as it was for the model's own data."""


def _all(decorators: tuple[Any, ...], function: Function) -> Function:
    return reduce(lambda inner, decorate: decorate(inner), reversed(decorators), function)


def learning_options(function: Function) -> Function:
    """Add the options by which data are read to learn from; see :func:`.data.read_to_learn`."""
    return _all((*_LEARNING, *_FILE, _decimal(".")), function)


def matching_options(function: Function) -> Function:
    """Add the options by which data are read for a model that exists; see :func:`.data.read_for`."""
    return _all((*_MATCHING, *_FILE, _decimal(None)), function)


def fitting_options(function: Function) -> Function:
    """Add the options of how latent class models are fitted; see :func:`.fit.fitted`."""
    return _all((*_FITTING, seed_option(), jobs_option(1), time_limit_option()), function)


def searching_options(function: Function) -> Function:
    """Add the options that every search has; see :mod:`.learn`."""
    return _all((seed_option(), jobs_option(None), time_limit_option()), function)
