"""``latentree compare``: how many classes there are, by any score and by test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import click

from ..score._registry import SCORES
from .app import INTERRUPTED
from .command import command as command_, file, option, session, whole
from .fit import MODELS
from .options import data_argument, fitting_options, learning_options, resume_option
from .output import emit, note, print_report
from .types import CLASSES

if TYPE_CHECKING:
    from .._table import Table
    from ..comparison import Comparison
    from ..errors import LatentreeError
    from ..score import BootstrapLrt

    Tests = dict[int, BootstrapLrt | LatentreeError]

__all__ = ["command"]

RELIABLE = 0.5
"""Standard error of ln P(data | classes) up to which the candidate method is believed: near 1, one sweep decides."""

EXAMPLES = """
latentree compare carcinoma --classes 1-5
latentree compare survey.csv --drop id --classes 1-8 --scores bic,bice,icl,cs
latentree compare survey.csv --drop id --classes 1-4 --bootstrap 200
latentree compare survey.csv --drop id --classes 1-4 --candidate 10000
"""


@command_("compare", examples=EXAMPLES)
@data_argument
@option(
    "--classes NUMBERS",
    MODELS,
    "Numbers of classes, such as 1-6 or 2,4,8; 1 is always among them.",
    type=CLASSES,
    default="1-6",
)
@option("--scores NAME,...", MODELS, f"What to compare by, the first deciding: {', '.join(SCORES)}.", default="bic,aic")
@whole(
    "--bootstrap",
    MODELS,
    "Also test each number of classes against one class fewer by the likelihood ratio, with N data sets drawn "
    "from the smaller model.",
)
@whole(
    "--candidate",
    MODELS,
    "Also estimate ln P(data | number of classes), all probabilities integrated out under flat priors, by Chib's "
    "candidate method from N sweeps of Gibbs sampling. At most 12 classes.",
)
@file("--tables", "Output", "Write the comparison as a table for a paper: .docx, .xlsx, .tex or .html.")
@resume_option(MODELS)
@fitting_options
@learning_options
def command(
    data: str, bootstrap: int | None, candidate: int | None, tables: str | None, as_json: bool, **options: Any
) -> int:
    """Compare latent class models with different numbers of classes.

    Scores are shown so that lower is better, as in AIC = -2 LL + 2 d; with --json they are divided by -2. A fit marked
    ! did not converge; one marked ? has a structure whose parameters the data cannot tell apart. The bootstrap
    likelihood-ratio test asks whether one class more fits better than chance: a small p-value is evidence for it. The
    candidate method estimates how probable the data are with each number of classes; P(classes | data) then follows if
    all of the numbers compared were equally probable before.
    """
    from .data import read_to_learn
    from .files import CHECKPOINT, TABLES, Outputs
    from .fit import fitted
    from .limit import clock_for

    scores = tuple(name.strip() for name in options.pop("scores").split(",") if name.strip())
    for name in scores:
        SCORES.find(name, owner="compare", parameter="scores")
    Outputs("compare", {"--resume": (CHECKPOINT, options["resume"]), "--tables": (TABLES, tables)}, [data])
    if candidate is not None:
        _check_candidate(options["classes"])
    source, table = read_to_learn(data, options)
    comparison = fitted(table, options, scores, baseline=True, clock=clock_for(options["time_limit"], table))
    tests: Tests = {}
    stopped = comparison.interrupted
    if bootstrap is not None and not stopped:
        stopped = _tested(tests, table, comparison, bootstrap, options)
    marginals: list[Marginal] = []
    if candidate is not None and not stopped:
        stopped = _estimated(marginals, table, comparison, candidate, options)
    if tables is not None:
        comparison.save_tables(tables)
        note(f"Tables written to '{tables}'.")
    if as_json:
        emit({**_document(comparison, tests, source.name, options["seed"]), "candidate": marginals})
    else:
        print_report(comparison.to_dict())
        if tests:
            click.echo()
            _show_tests(tests)
        if marginals:
            click.echo()
            _show_marginals(marginals)
    if stopped:
        note(f"Interrupted: these are the {'fits' if comparison.interrupted else 'results'} so far.")
    return INTERRUPTED if stopped else 0


def _show_tests(tests: Tests) -> None:
    from ..errors import LatentreeError
    from .tables import grid

    rows = []
    for k, test in tests.items():
        if isinstance(test, LatentreeError):
            cells = [f"not done: {test.shown('shell')}", "-", "-"]
        else:
            p = "-" if test.p_value is None else f"{test.p_value:.3f}"
            cells = [f"{test.statistic:.2f}", p, f"{test.n_replicates:,}"]
        rows.append([f"{k - 1} against {k}", *cells])
    click.echo("Bootstrap likelihood-ratio tests; a small p is evidence for the larger number of classes")
    grid(["classes", "statistic", "p", "replicates"], rows, right=["statistic", "p", "replicates"])


def _tested(tests: Tests, table: Table, comparison: Comparison, n_replicates: int, options: dict[str, Any]) -> bool:
    """Test each number of classes against one less, as ``tests``; whether Ctrl-C ended it."""
    from ..comparison import bootstrap_tests
    from ..errors import LatentreeError
    from ..runner import StopReason
    from .limit import clock_for
    from .progress import meter

    numbers = [row["n_classes"] for row in comparison.table if row["n_classes"] > 1]
    own = {"n_replicates": n_replicates, "n_jobs": options["n_jobs"], "budget": clock_for(options["time_limit"], table)}
    known = list(comparison.fits)
    try:
        with meter(len(numbers)) as shown:
            for k in numbers:
                tests |= bootstrap_tests(table, [k], seed=options["seed"], fits=known, watch=shown.watch, **own)
                test = tests[k]
                if isinstance(test, LatentreeError):
                    continue
                if test.reason is StopReason.INTERRUPTED:
                    return True
                known += [test.null, test.alternative]
    except KeyboardInterrupt:  # between two looks at it
        return True
    return False


def _check_candidate(numbers: Sequence[int]) -> None:
    from ..bayes._candidate import MOST_CLASSES

    if max(numbers) > MOST_CLASSES:
        raise click.UsageError(f"--candidate is for at most {MOST_CLASSES} classes: leave out larger numbers.")


class Marginal(TypedDict):
    """An estimate of ln P(data | number of classes); the posterior is None where one of them is not reliable."""

    n_classes: int
    log_marginal: float
    standard_error: float
    n_sweeps: int
    reliable: bool
    posterior: float | None


def _estimated(
    found: list[Marginal], table: Table, comparison: Comparison, n_sweeps: int, options: dict[str, Any]
) -> bool:
    """Estimate the marginal likelihood of each number of classes, as ``found``; whether Ctrl-C ended it."""
    import numpy as np

    from ..bayes import candidate, with_counts
    from .limit import clock_for
    from .progress import meter

    clock = clock_for(options["time_limit"], table)
    numbers = [row["n_classes"] for row in comparison.table]
    table = with_counts(table, np.random.default_rng(options["seed"]))  # the same for all numbers of classes
    try:
        with meter(len(numbers)) as shown:
            for k, fit in zip(numbers, comparison.fits, strict=True):
                shown.watch(k)
                rng = np.random.default_rng([options["seed"], k])
                own = candidate(table, k, rng=rng, n_sweeps=n_sweeps, at="completion", fit=fit, budget=clock)
                # no probability of the data averaged over a prior is above the largest
                possible = own.log_marginal <= fit.log_likelihood + RELIABLE
                found.append(
                    {
                        "n_classes": k,
                        "log_marginal": own.log_marginal,
                        "standard_error": own.standard_error,
                        "n_sweeps": own.n_sweeps,
                        "reliable": own.standard_error <= RELIABLE and possible,
                        "posterior": None,
                    }
                )
    except KeyboardInterrupt:
        return True
    finally:
        _set_posteriors(found)
    return False


def _set_posteriors(found: list[Marginal]) -> None:
    """P(classes | data) of the numbers that were reached, all of them equally probable before."""
    from math import exp

    if not all(own["reliable"] for own in found):
        return
    top = max((own["log_marginal"] for own in found), default=0.0)
    total = sum(exp(own["log_marginal"] - top) for own in found)
    for own in found:
        own["posterior"] = exp(own["log_marginal"] - top) / total


def _show_marginals(found: list[Marginal]) -> None:
    from .tables import grid

    rows = [
        [
            str(own["n_classes"]),
            f"{own['log_marginal']:,.2f}",
            f"{own['standard_error']:.2f}" if own["n_sweeps"] > 1 else "-",
            "-" if own["posterior"] is None else f"{own['posterior']:.3f}",
        ]
        for own in found
    ]
    sweeps = min(own["n_sweeps"] for own in found)
    plural = "sweep" if sweeps == 1 else "sweeps"
    click.echo(f"ln P(data | classes) by the candidate method, {sweeps:,} {plural}; higher is better")
    head = ["classes", "ln P(data | classes)", "s.e.", "P(classes | data)"]
    grid(head, rows, right=head)
    doubtful = [str(own["n_classes"]) for own in found if not own["reliable"]]
    if doubtful:
        note(
            f"The candidate method is not reliable here for {', '.join(doubtful)} classes: too few sweeps come near "
            "the parameters that it is taken at. Use more sweeps, or 'latentree sample' for P(classes | data)."
        )


def _plain_test(k: int, test: BootstrapLrt | LatentreeError) -> dict[str, Any]:
    from ..errors import LatentreeError

    if isinstance(test, LatentreeError):
        nothing = {"statistic": None, "p_value": None, "n_replicates": 0}
        return {"n_classes": k, **nothing, "reason": "not done", "message": test.shown("shell")}
    return test.to_dict()


def _document(comparison: Comparison, tests: Tests, data: str, seed: int) -> dict[str, Any]:
    from ..score import aic, bic

    best = comparison.best()
    return {
        "data": data,
        "n": best.table.n,
        "n_classes": comparison.best_n_classes(),
        "log_likelihood": best.log_likelihood,
        "n_parameters": best.n_parameters,
        "aic": aic(best),
        "bic": bic(best),
        "seed": seed,
        **comparison.to_dict(),
        "bootstrap": [_plain_test(k, test) for k, test in tests.items()],
        "warnings": session().warnings,
    }
