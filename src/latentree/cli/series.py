"""Models of several numbers of classes, fitted one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .progress import Meter

if TYPE_CHECKING:
    from ..estimation import Fit
    from ..report import Comparison
    from ..runner import Clock, OnProgress
    from ..table import Table

__all__ = ["Recipe", "Series", "compared", "fit_series"]

SCORES = ("bic", "aic")
"""What models can be chosen by."""


@dataclass(frozen=True)
class Recipe:
    """How every model of the series is fitted."""

    seed: int
    starts: int
    tol: float
    prior: float | None
    threads: int


@dataclass
class Series:
    """What was fitted.

    Attributes
    ----------
    fits : dict
        The fit of each number of classes, as far as it got.
    left : list
        Numbers that were not begun.
    interrupted : bool
        Whether Ctrl-C was pressed.
    """

    fits: dict[int, Fit] = field(default_factory=dict)
    left: list[int] = field(default_factory=list)
    interrupted: bool = False


def fit_series(
    table: Table, numbers: Sequence[int], recipe: Recipe, *, time_limit: float | None, meter: Meter
) -> Series:
    """Fit them in turn until they are done, the time is over or Ctrl-C is pressed; nothing fitted is lost.

    Every number of classes starts from the seed anew, so that a model does not depend on which others are asked for.
    """
    from ..runner import Budget, StopReason

    clock = Budget(seconds=time_limit).start()
    series = Series(left=list(numbers))
    try:
        while series.left and not (series.fits and clock.expired):
            k = series.left[0]
            fit = _fit(table, k, recipe, clock, meter.watch(k))
            series.left.pop(0)
            if math.isfinite(fit.log_likelihood):
                series.fits[k] = fit
            if fit.reason is StopReason.INTERRUPTED:
                series.interrupted = True
                break
    except KeyboardInterrupt:  # between two looks of the engine; the fit under way is lost, those before are not
        series.interrupted = True
    return series


def _fit(table: Table, n_classes: int, recipe: Recipe, clock: Clock, heard: OnProgress | None) -> Fit:
    import numpy as np

    from ..estimation import fit_classes

    fit = fit_classes(
        table,
        n_classes,
        rng=np.random.default_rng(recipe.seed),
        n_starts=recipe.starts,
        tol=recipe.tol,
        prior=recipe.prior,
        threads=recipe.threads,
        budget=clock,
        on_progress=heard,
    )
    return replace(fit, seed=recipe.seed)


def compared(series: Series, score: str, prior: float | None) -> Comparison:
    """Return the fits side by side, the score that decides first."""
    from ..report.compare import Comparison, _mark_lower, _row

    names = (score, *(name for name in SCORES if name != score))
    fits = tuple(series.fits[k] for k in sorted(series.fits))
    rows = [_row(fit, names) for fit in fits]
    if prior is None:
        _mark_lower(rows)
    # What Ctrl-C left out was not skipped for lack of time, which is what the comparison would say.
    return Comparison(fits, names, rows, () if series.interrupted else tuple(series.left))
