"""The SMART-LCA checklist, filled in with what was done ([VanLissa2023]).

Its fourteen steps are told in our own words. What a program cannot know, such as why a sample is as large as it is, is
left to the author: nothing is called done that was not seen to be done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .._table import Table
from ..diagnostics import starts_at_best
from ..estimation import Fit
from ..score import McarTest

__all__ = ["ChecklistItem", "smart_checklist"]

Status = Literal["done", "not done", "not needed", "yours"]


@dataclass(frozen=True)
class ChecklistItem:
    """One line of the checklist.

    Attributes
    ----------
    step : str
        The step of the checklist.
    item : str
        What it asks.
    status : {"done", "not done", "not needed", "yours"}
        ``yours`` is what only the author can know.
    comment : str
        What was done, or what is left to do.
    """

    step: str
    item: str
    status: Status
    comment: str


@dataclass(frozen=True, eq=False)
class Analysis:
    """What is known of an analysis."""

    table: Table
    mcar: McarTest
    fits: Sequence[Fit]
    chosen: Fit
    n_tests: int  # bootstrap tests done
    n_replicates: int
    has_errors: bool
    boundary: int
    seed: int | None


def smart_checklist(known: Analysis) -> tuple[ChecklistItem, ...]:
    """Fill in the checklist."""
    return tuple(ChecklistItem(*line) for line in (*_before(known), *_models(known), *_after(known)))


Line = tuple[str, str, Status, str]


def _before(known: Analysis) -> Iterator[Line]:
    yield "1 Before the analysis", "Research question and design", "yours", "State them."
    yield "1 Before the analysis", "Confirmatory or exploratory", "yours", "State which."
    yield "1 Before the analysis", "Valid and reliable indicators", "yours", "Say why these."
    yield (
        "1 Before the analysis",
        "Sample size justified",
        "yours",
        "'latentree power' shows what a sample size can find.",
    )
    yield "1 Before the analysis", "Preregistration (optional)", "yours", "Say whether, and where."
    yield "2 Looking at the data", "Distributions of the indicators", "done", "Counts of every variable are reported."
    yield "2 Looking at the data", "Rare or skewed answers", "yours", "Judge them by the counts."
    yield "3 Preparing the data", "Types of the variables", "done", "All were taken as unordered categories."
    yield "3 Preparing the data", "Recoding and cutting explained", "yours", "Say what was recoded, merged or cut."
    missing = bool((known.table.codes < 0).any())
    none = "No cell is missing."
    yield "4 Missing data", "Missing cells by variable", "done", "Reported." if missing else none
    tested = known.mcar.p_value is not None
    said = "Little's test with indicators of the states." if tested else known.mcar.reason or ""
    yield "4 Missing data", "Test of missing completely at random", "done" if tested else "not needed", said
    full = "Full information maximum likelihood, right if cells are missing at random."
    yield "4 Missing data", "Way of handling them", *(("done", full) if missing else ("not needed", none))


def _models(known: Analysis) -> Iterator[Line]:
    numbers = [int(fit.model.tree.cardinality[0]) for fit in known.fits]
    one = 1 in numbers
    every = one and numbers == list(range(1, max(numbers) + 1))
    yield "5 Specification", "Model stated", "done", "Local independence within classes; all probabilities are free."
    yield "5 Specification", "Alternatives listed", "yours", "Other specifications than these were not fitted here."
    listed = ", ".join(map(str, numbers))
    yield "6 Number of classes", "1 to k classes", "done" if every else "not done", f"Fitted: {listed}."
    yield "6 Number of classes", "Largest number justified", "yours", f"Say why at most {max(numbers)}."
    yield "7 Choosing", "Information criteria", "done", "AIC, BIC, SABIC and CAIC of all models."
    lrt = f"{known.n_tests} bootstrap tests with up to {known.n_replicates} replicates."
    yield "7 Choosing", "Likelihood-ratio tests", *(("done", lrt) if known.n_tests else ("not done", "None was run."))
    yield "7 Choosing", "Theory", "yours", "Say which number was expected, and why this one was chosen."
    bad = [k for k, fit in zip(numbers, known.fits, strict=True) if not fit.converged]
    told = "All converged." if not bad else f"Did not converge: {', '.join(map(str, bad))} classes."
    yield "8 Ruling out", "Convergence", "done" if not bad else "not done", told
    yield "8 Ruling out", "Classification and rows per parameter", "done", "Reported for all models."
    yield "8 Ruling out", "Classes make sense", "yours", "Say which models were dropped for this reason."
    seed = "Seed not known." if known.seed is None else f"Seed {known.seed}."
    yield "9 Transparency", "Free software", "done", f"latentree. {seed}"
    yield (
        "9 Transparency",
        "Code and data shared",
        "yours",
        "'latentree sample-data' draws data from the model to share.",
    )
    found, tried = starts_at_best(known.chosen), len(known.chosen.starts)
    how = f"Maximum likelihood by EM; {found} of {tried} starts that were run to the end found the best."
    yield "10 Estimation", "Method and starts", "done" if found > 1 or tried == 1 else "not done", how
    yield "10 Estimation", "Convergence of all models", "done" if not bad else "not done", told


def _after(known: Analysis) -> Iterator[Line]:
    yield "11 Results", "Fit of all models", "done", "In one table."
    yield "11 Results", "Classification of all models", "done", "Average posteriors and odds of correct classification."
    yield "11 Results", "Smallest class of all models", "done", "In the table of models."
    yield "11 Results", "Class sizes of the final model", "done", "In the table of profiles."
    some = f" {known.boundary} at 0 or 1 have none." if known.boundary else ""
    yield (
        "11 Results",
        "Standard errors and intervals",
        "done" if known.has_errors else "not done",
        f"From the observed information, intervals on the logit scale.{some}"
        if known.has_errors
        else "None could be found.",
    )
    yield "11 Results", "Names of the classes", "yours", "Names are shorthand: say so."
    items = int(known.chosen.model.tree.cardinality[0]) > 1 and known.has_errors
    yield "12 Inference", "Tests between classes", "done" if items else "not done", "Wald tests of every item."
    yield "12 Inference", "Many tests", "done" if items else "not done", "Holm's correction over the items."
    yield "13 Pictures", "Estimates shown", "yours", "'latentree explore' and 'report --figure' draw profiles."
    relate = "Do not treat assigned classes as observed: 'latentree relate' allows for their uncertainty."
    yield "14 Follow-up", "Uncertain classes accounted for", "yours", relate
