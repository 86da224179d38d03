"""Latent class models with different numbers of classes, side by side."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from . import score as criteria
from ._data import Data
from ._options import Whole
from ._scale import direction, lower_is_better, shown_score
from ._table import Table
from .diagnostics import SAME_OPTIMUM, findings, starts_at_best
from .dimension import effective_dimension
from .engine._plan import sharing
from .errors import LatentreeError, ModelError, bad_parameter
from .estimation import Fit, fit_classes
from .estimation._fit_checkpoint import FitCheckpoint
from .runner import Budget, Clock, OnProgress, StopReason

if TYPE_CHECKING:
    from .cardinality import Learned
    from .report._contents import ClassSearch, ComparedFit, ComparisonReport

__all__ = ["Comparison", "bootstrap_tests", "chosen", "compare_classes", "compared", "search_summary", "searched"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Fits with different numbers of classes. Printing it shows them as a table.

    Attributes
    ----------
    fits : tuple of Fit
        In ascending order of the number of classes. If the number was searched, the fit that was found, alone.
    scores : tuple of str
        What they are compared by.
    table : list of dict
        One row for each number of classes: ``n_classes``, ``log_likelihood``, ``n_parameters``, the scores (LL -
        penalty, higher being better), ``relative_entropy``, ``smallest_class`` (its probability), ``starts_at_best``,
        ``converged``, ``identified`` (whether the structure has no more parameters than dimensions), ``reason``,
        ``seconds`` and ``warnings``. What is not defined or not known is None. Scores made of cases held out (``cv``,
        ``cv10``, ``holdout``) have another column, ``cv_error``: the standard error of the difference from the best.
    skipped : tuple of int
        Numbers of classes that the time limit left no time for, or that came after Ctrl-C.
    interrupted : bool
        Whether Ctrl-C was pressed.
    search : dict, optional
        If the number of classes was searched: ``criterion``, the only score that was searched by, ``method``,
        ``steps``, ``seconds``, ``complete``, ``reason``, ``message`` and ``text``, the same in words.
    """

    fits: tuple[Fit, ...]
    scores: tuple[str, ...]
    table: list[dict[str, Any]]
    skipped: tuple[int, ...] = ()
    interrupted: bool = False
    search: ClassSearch | None = None

    def best(self, score: str | None = None) -> Fit:
        """Return the best fit by a score.

        Parameters
        ----------
        score : str, optional
            One of ``scores``. Default: the first of them.
        """
        return self.fits[-1] if self.search is not None else self.fits[self._at(score)]

    def best_n_classes(self, score: str | None = None) -> int:
        """Return the best number of classes by a score; if it has standard errors, the least within one of the best."""
        return int(self.table[self._at(score)]["n_classes"])

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the table as a data frame of pandas, Polars or PyArrow; warnings are joined to one text.

        Scores are as people see them, -2 LL + penalty: lower is better.
        """
        import narwhals as nw

        rows = [
            {
                **row,
                **{name: shown_score(row[name], name) for name in self.scores},
                "warnings": " ".join(row["warnings"]),
            }
            for row in self.table
        ]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return nw.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]

    def to_dict(self) -> ComparisonReport:
        """Return plain values that JSON can hold; scores are LL - penalty, of which higher is better."""
        by = self.scores if self.search is None else (self.search["criterion"],)
        contents: ComparisonReport = {
            "kind": "comparison of latent class models",
            "scores": list(self.scores),
            "higher_is_better": True,
            "deviance_scores": {
                name: [None if row[name] is None else -2.0 * row[name] for row in self.table]
                for name in self.scores
                if lower_is_better(name)
            },
            "best": {
                name: self.best_n_classes(name) for name in by if any(row[name] is not None for row in self.table)
            },
            "fits": [cast("ComparedFit", dict(row)) for row in self.table],
            "skipped": list(self.skipped),
            "interrupted": self.interrupted,
        }
        if self.search is not None:
            contents["search"] = self.search
        return contents

    def _at(self, score: str | None) -> int:
        name = self.scores[0] if score is None else score
        if name not in self.scores:
            raise bad_parameter("score", "best", f"one of {', '.join(map(repr, self.scores))}", score)
        return chosen(self.table, name)

    def save_tables(self, path: str | os.PathLike[str], *more: Any) -> None:
        """Write it as a table of a paper, with others if they are given; see :func:`latentree.report.write_tables`."""
        from .report import write_tables

        write_tables(path, self, *more)

    def __repr__(self) -> str:
        from .report import to_text

        return to_text(self.to_dict())

    def _repr_html_(self) -> str:
        from .report._notebook import table_html

        best = {name: self.best_n_classes(name) for name in self.scores[:1]}
        return table_html(self.to_frame(), best=best, note=f"{self.scores[0]}: {direction(self.scores[0])}.")


def compare_classes(
    table: Data,
    n_classes: Iterable[int] = range(1, 7),
    *,
    rng: np.random.Generator | int,
    scores: str | Sequence[str] = ("bic",),
    budget: Budget | Clock | None = None,
    baseline: bool = True,
    watch: Callable[[int], OnProgress | None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Comparison:
    """Fit latent class models with several numbers of classes.

    Parameters
    ----------
    table : Data
        The data.
    n_classes : iterable of int
        How many classes; 1, where the variables are independent, is always among them unless ``baseline`` is False.
    rng : numpy.random.Generator or int
        Source of the starts, or its seed. Every fit begins with the generator in the same state, so that each is what
        fitting that number of classes alone gives.
    scores : str or sequence of str
        Functions of :mod:`latentree.score` by name.
    budget : Budget or Clock, optional
        Time for all fits together. Fits it leaves no time for are skipped, and so are those after Ctrl-C.
    watch : callable, optional
        Told the number of classes before each fit; gives what takes its progress events.
    checkpoint : str or path, optional
        A file to keep the fits in, also the one under way, and to go on from if it is there. The result is that of an
        uninterrupted call; other numbers of classes may be asked for.
    **options
        Those of :func:`latentree.estimation.fit_classes`.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from latentree import datasets
    >>> compared = compare_classes(datasets.load("carcinoma"), range(1, 5), rng=0)
    >>> compared.best_n_classes("bic")
    3
    >>> [round(row["bic"], 2) for row in compared.table]
    [-541.16, -353.04, -348.57, -363.23]
    """
    numbers = _numbers(n_classes, baseline)
    names = _names(scores)
    seed = None if isinstance(rng, np.random.Generator) else int(rng)
    source = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    kept = None
    if checkpoint is not None:
        said = {name: value for name, value in options.items() if name not in ("n_jobs", "on_progress", "plan")}
        kept = FitCheckpoint.open(checkpoint, {"data": table, "seed": source.bit_generator.state, "settings": said})
    fits: list[Fit] = []
    interrupted = False
    try:
        for i, k in enumerate(numbers):
            if interrupted or (fits and clock.expired):
                break
            own = source if i == len(numbers) - 1 else copy.deepcopy(source)
            if watch is not None:
                options["on_progress"] = watch(k)
            if kept is not None:
                options["checkpoint"] = kept.section(f"{k} classes")
            fit = fit_classes(table, k, rng=own, budget=clock, **options)
            fits.append(replace(fit, seed=seed))
            interrupted = fit.reason is StopReason.INTERRUPTED
            if not interrupted:  # what takes long is kept with the fit: little is left to do after Ctrl-C
                _row(fits[-1], _alone(names))
    except KeyboardInterrupt:  # between two looks of the engine: the fit under way is lost, those before are not
        if not fits:
            raise
        interrupted = True
    return compared(
        fits, names, options.get("prior") is None, skipped=tuple(numbers[len(fits) :]), interrupted=interrupted
    )


def chosen(rows: Sequence[Mapping[str, Any]], score: str, among: Collection[int] | None = None) -> int:
    """Position of the best row by a score; of a score with standard errors, the first within one error of the best.

    Rows are in ascending order of the number of classes; ``among`` are the numbers that may be chosen.
    """
    known = [i for i, row in enumerate(rows) if row[score] is not None]
    if not known:
        raise ModelError(f"The score '{score}' is not defined for any of these fits.")
    allowed = [i for i in known if among is None or rows[i]["n_classes"] in among] or known
    best = max(allowed, key=lambda i: (rows[i][score], -i))
    error = f"{score}_error"
    near = [i for i in allowed if rows[best][score] - rows[i][score] <= (rows[i].get(error) or 0.0)]
    return near[0] if rows[best].get(error) is not None else best


def compared(fits: Sequence[Fit], scores: Sequence[str], by_likelihood: bool, **more: Any) -> Comparison:
    """Put fits with rising numbers of classes side by side."""
    alone = _alone(scores)
    with sharing():
        rows = [_row(fit, alone) for fit in fits]
    for name in (name for name in scores if name not in alone):
        found = [criteria.SCORES[name].by_case(fit) for fit in fits]
        best = max(found, key=lambda own: own.value)
        for row, own in zip(rows, found, strict=True):
            row |= {name: own.value, f"{name}_error": best.difference(own)[1]}
    if by_likelihood:  # a prior may well prefer less likelihood
        _mark_lower(rows)
    return Comparison(tuple(fits), tuple(scores), rows, **more)


def searched(found: Learned, scores: Sequence[str], *, seed: int | None = None) -> Comparison:
    """Show a search of the number of classes: every number that it looked at, by the score that it searched by.

    Parameters
    ----------
    found : Learned
        What :func:`latentree.cardinality.learn_classes` returned.
    scores : sequence of str
        What to show; AIC and BIC follow from the likelihoods, others are shown where they are known.
    seed : int, optional
        What the search came from.
    """
    fit = replace(found.fit, seed=seed)
    with sharing():
        own = {**_row(fit, scores), found.criterion: found.score}
    rows = [
        own if visited.n_states == own["n_classes"] else _visited_row(visited, fit, found.criterion, own)
        for visited in found.visited
    ]
    names, interrupted = tuple(dict.fromkeys((found.criterion, *scores))), found.reason is StopReason.INTERRUPTED
    return Comparison((fit,), names, rows, (), interrupted, search_summary(found))


def search_summary(found: Learned) -> ClassSearch:
    """How a number of classes was searched, as plain values; see :class:`Comparison`."""
    return {
        "criterion": found.criterion,
        "method": found.method,
        "steps": found.steps,
        "seconds": found.seconds,
        "complete": found.reason.complete,
        "reason": found.reason.value,
        "message": found.reason.message,
        "text": found.describe(),
    }


def _visited_row(visited: Any, fit: Fit, criterion: str, like: dict[str, Any]) -> dict[str, Any]:
    """What a search knows of a number of classes that it passed through."""
    log_likelihood, d = visited.log_likelihood, visited.n_parameters
    penalties = {"aic": d, "bic": 0.5 * d * np.log(fit.table.n)} if fit.table.n > 1 else {"aic": d}
    known = {name: float(log_likelihood - penalty) for name, penalty in penalties.items() if name in like}
    return {
        **dict.fromkeys(like),
        "n_classes": visited.n_states,
        "log_likelihood": log_likelihood,
        "n_parameters": d,
        **known,
        criterion: visited.score,
        "warnings": [],
    }


def bootstrap_tests(
    table: Table,
    n_classes: Iterable[int],
    *,
    seed: int,
    fits: Sequence[Fit] = (),
    watch: Callable[[int], OnProgress | None] | None = None,
    **options: Any,
) -> dict[int, criteria.BootstrapLrt | LatentreeError]:
    """Test each number of classes against one class fewer; a test that cannot be done is given as its error.

    Parameters
    ----------
    table : Table
        The data.
    n_classes : iterable of int
        Numbers of classes; 1 has nothing to be tested against.
    seed : int
        Every test begins with it.
    fits : sequence of Fit, optional
        Fits of the data that are known already. What a test finds is known to the next.
    watch : callable, optional
        Told the number of classes before each test; gives what takes its progress events.
    **options
        Those of :func:`latentree.score.bootstrap_lrt`.

    After Ctrl-C in one of the tests, those that would follow are not made.
    """
    found: dict[int, criteria.BootstrapLrt | LatentreeError] = {}
    known = list(fits)
    for k in n_classes:
        if k > 1:
            try:
                on_progress = None if watch is None else watch(k)
                rng = np.random.default_rng(seed)
                test = criteria.bootstrap_lrt(table, k, rng=rng, fits=known, on_progress=on_progress, **options)
                known += [test.null, test.alternative]
                found[k] = test
                if test.reason is StopReason.INTERRUPTED:
                    break
            except LatentreeError as error:
                found[k] = error
    return found


def _numbers(given: Iterable[int], baseline: bool) -> list[int]:
    wanted = "whole numbers of at least 1"
    numbers = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]
    for k in numbers:
        if not Whole(1).check(k):
            raise bad_parameter("n_classes", "compare", wanted, k.item() if isinstance(k, np.generic) else k)
    return sorted({*((1,) if baseline or not numbers else ()), *map(int, numbers)})


def _names(scores: str | Sequence[str]) -> tuple[str, ...]:
    names = (scores,) if isinstance(scores, str) else tuple(scores)
    known = tuple(criteria.SCORES)
    for name in names or (None,):
        if name not in known:
            raise bad_parameter("scores", "compare", f"among {', '.join(map(repr, known))}", name)
    return tuple(dict.fromkeys(names))


def _alone(scores: Sequence[str]) -> list[str]:
    """Those that are found of one fit alone."""
    return [name for name in scores if criteria.SCORES[name].paired is None]


def _row(fit: Fit, scores: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = fit.once(("compared", *scores), lambda: _found(fit, scores))
    return {**found, "warnings": [*found["warnings"]]}


def _found(fit: Fit, scores: Sequence[str]) -> dict[str, Any]:
    return {
        "n_classes": int(fit.model.tree.cardinality[0]),
        "log_likelihood": fit.log_likelihood,
        "n_parameters": fit.n_parameters,
        **{name: _score(fit, name) for name in scores},
        "relative_entropy": criteria.relative_entropy(fit),
        "smallest_class": float(fit.model.table(0).min()),
        "starts_at_best": starts_at_best(fit),
        "converged": fit.converged,
        "identified": effective_dimension(fit.model.tree) == fit.n_parameters,
        "reason": fit.reason.value,
        "seconds": fit.seconds,
        "warnings": [f.text for f in findings(fit) if f.loud],
    }


def _score(fit: Fit, name: str) -> float | None:
    """A score, None where it is not defined."""
    try:
        return float(criteria.SCORES[name](fit))
    except LatentreeError:
        return None


def _mark_lower(rows: list[dict[str, Any]]) -> None:
    """More classes can do all that fewer can: less likelihood shows a local optimum."""
    for before, row in pairwise(rows):
        if row["log_likelihood"] < before["log_likelihood"] - SAME_OPTIMUM:
            row["warnings"].append(
                f"Its log-likelihood is below that of {before['n_classes']} classes, so a better fit exists. Use "
                "more starts."
            )
