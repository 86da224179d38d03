"""The parametric bootstrap: what a statistic would be if the model were true.

Replicates run in threads. Each has a generator of its own, and results are taken in order, so that the answer depends
on the seed alone; a time limit or Ctrl-C leaves those that were done.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from .._data import Data
from .._model import Model
from .._options import Number, OneOf, Whole, check
from .._table import Table
from .._types import FloatArray
from ..errors import DataError
from ..estimation import Fit, fit_classes, restart_em
from ..infer import sample
from ..runner import Budget, Clock, OnProgress, Progress, StopReason, run, spawn, until
from ._absolute import cells, divergence, expected_counts, fit_statistics, matched
from ._mode import refit
from ._replicates import ClassStarts, WarmFits, one_class_more, ratio

Result = TypeVar("Result")
Restarts = Literal["warm", "full"]

SPLIT = 0.2
"""How far the halves of the class that is split to start from are moved when the data are fitted."""

ALL_CELLS = 2**16
"""Up to so many possible rows, replicates are drawn as counts of all of them, if that is less than the rows to draw."""

NEARLY = 1e-9
"""Weights this close to whole numbers, relatively, are whole."""

MOST_ROWS = 10**8
"""More rows than this are not drawn."""

TIE = 1e-4
"""Statistics that differ by less are equal: EM stops about this far from its limit."""


# ---- the tests --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BootstrapFit:
    """Bootstrap p-values of G2 and X2; see :func:`bootstrap_fit`.

    Attributes
    ----------
    g2, x2 : float
        The statistics of the data.
    p_g2, p_x2 : float or None
        Share of the data and the replicates with a statistic at least as large, (1 + #) / (1 + n); None if no replicate
        was done.
    g2_replicates, x2_replicates : float array [replicates]
        The statistics of the replicates.
    reason : StopReason
        Why it ended.
    """

    g2: float
    x2: float
    p_g2: float | None
    p_x2: float | None
    g2_replicates: FloatArray
    x2_replicates: FloatArray
    reason: StopReason

    @property
    def n_replicates(self) -> int:
        """How many replicates were done."""
        return len(self.g2_replicates)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "g2": self.g2,
            "x2": self.x2,
            "p_g2": self.p_g2,
            "p_x2": self.p_x2,
            "n_replicates": self.n_replicates,
            "reason": self.reason.value,
        }


def bootstrap_fit(
    fit: Fit,
    *,
    rng: np.random.Generator,
    n_replicates: int = 100,
    n_init: int = 4,
    n_jobs: int = 1,
    on_progress: OnProgress | None = None,
    budget: Budget | Clock | None = None,
    **options: Any,
) -> BootstrapFit:
    """Test absolute fit without the chi-square approximation, which needs about five rows for each possible one.

    Data are drawn from the fitted model, as many rows as there were, and the model is fitted to them again (Langeheine,
    Pannekoek & van de Pol, Sociological Methods & Research 24 (1996) 492-516).

    Parameters
    ----------
    fit : Fit
        A fitted model, any tree, or two independent latents. Weights: as in :func:`bootstrap_lrt`.
    rng : numpy.random.Generator
        Source of the replicates.
    n_replicates : int, default 100
        How many data sets to draw.
    n_init : int, default 4
        Starts of each fit; the first is the model that the data were drawn from.
    n_jobs : int, default 1
        Replicates at the same time; the answer does not depend on it.
    on_progress : callable, optional
        Takes a :class:`~latentree.runner.Progress` after each replicate.
    budget : Budget or Clock, optional
        Time limit; what was done until then is returned, as after Ctrl-C.
    **options
        Those of :func:`latentree.estimation.restart_em` (for two independent latents, of ``fit_two_latents``), for
        instance the prior that the fit was made with.

    Returns
    -------
    BootstrapFit

    Examples
    --------
    >>> from latentree import datasets
    >>> fit = fit_classes(datasets.load("values"), 2, rng=np.random.default_rng(0))
    >>> found = bootstrap_fit(fit, rng=np.random.default_rng(0), n_replicates=20)
    >>> round(found.g2, 2), found.n_replicates, 0.5 < found.p_g2 <= 1
    (2.72, 20, True)
    """
    found = fit_statistics(fit)
    if found.g2 is None or found.x2 is None:
        raise DataError(f"There is nothing to bootstrap. {found.reason}")
    resampler = Resampler.of(fit.model, fit.table)
    finalists = min(2, n_init)

    def one(own: np.random.Generator) -> tuple[float, float]:
        table = resampler.draw(own)
        again = refit(fit, table, rng=own, n_init=n_init, finalists=finalists, **options)
        expected = expected_counts(again.model, table, float(table.weights.sum()))
        return divergence(table.weights, expected, 0.0), divergence(table.weights, expected, 1.0)

    done, reason = replicate(
        one, n_replicates, rng, stage="bootstrap", n_jobs=n_jobs, on_progress=on_progress, budget=budget
    )
    drawn = np.array(done, dtype=np.float64).reshape(-1, 2)
    p_g2, p_x2 = bootstrap_p(found.g2, drawn[:, 0]), bootstrap_p(found.x2, drawn[:, 1])
    return BootstrapFit(found.g2, found.x2, p_g2, p_x2, drawn[:, 0], drawn[:, 1], reason)


@dataclass(frozen=True, eq=False)
class BootstrapLrt:
    """Bootstrap likelihood-ratio test of k - 1 against k classes; see :func:`bootstrap_lrt`.

    Attributes
    ----------
    k : int
        Number of classes of the alternative.
    statistic : float
        Twice the difference of the log-likelihoods.
    p_value : float or None
        Share of the data and the replicates with a statistic at least as large, (1 + #) / (1 + n); None if no replicate
        was done.
    replicates : float array
        The statistics of the replicates.
    null, alternative : Fit
        The fits with k - 1 and with k classes.
    reason : StopReason
        Why it ended.
    stop_after : int or None
        How many replicates at least as large end the test, if it may end early.
    """

    k: int
    statistic: float
    p_value: float | None
    replicates: FloatArray
    null: Fit
    alternative: Fit
    reason: StopReason
    stop_after: int | None = None

    @property
    def n_replicates(self) -> int:
        """How many replicates were done."""
        return len(self.replicates)

    @property
    def n_exceeding(self) -> int:
        """How many replicates have a statistic at least as large as that of the data."""
        return exceeding(self.statistic, self.replicates)

    @property
    def stopped_early(self) -> bool:
        """Whether the test ended because enough replicates were at least as large."""
        return self.stop_after is not None and self.n_exceeding >= self.stop_after

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Bounds of what the p-value would be with any number of replicates: exact, also after stopping early.

        Clopper and Pearson's, of a binomial number of replicates that are at least as large; of a test that ended early
        the negative binomial number of replicates that it took. (0, 1) without replicates.
        """
        check("BootstrapLrt.interval", level=(level, Number(above=0, below=1)))
        n, k, tail = self.n_replicates, self.n_exceeding, (1 - level) / 2
        lower = float(betaincinv(k, n - k + 1, tail)) if k else 0.0
        least = k if self.stopped_early else k + 1  # the last replicate of a test that ended early had to be large
        upper = float(betaincinv(least, n - k, 1 - tail)) if n > k else 1.0
        return lower, upper

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        lower, upper = self.interval()
        return {
            "n_classes": self.k,
            "statistic": self.statistic,
            "p_value": self.p_value,
            "n_replicates": self.n_replicates,
            "n_exceeding": self.n_exceeding,
            "interval": [lower, upper],
            "stop_after": self.stop_after,
            "stopped_early": self.stopped_early,
            "reason": self.reason.value,
        }


def bootstrap_lrt(
    table: Table,
    k: int,
    *,
    rng: np.random.Generator,
    n_replicates: int = 100,
    stop_after: int | None = None,
    restarts: Restarts = "warm",
    fits: Sequence[Fit] = (),
    n_init: int = 64,
    finalists: int = 16,
    n_jobs: int = 1,
    on_progress: OnProgress | None = None,
    budget: Budget | Clock | None = None,
    **options: Any,
) -> BootstrapLrt:
    """Test k - 1 classes against k.

    Twice the difference of the log-likelihoods has no chi-square distribution here, because k - 1 classes lie on the
    boundary of k. Its distribution is found by drawing data from the model with k - 1 classes (McLachlan, Applied
    Statistics 36 (1987) 318-324; Nylund, Asparouhov & Muthen, Structural Equation Modeling 14 (2007) 535-569). Cells
    that are missing in the data are missing in what is drawn.

    Parameters
    ----------
    table : Table
        The data. A weight is a number of rows: where those that miss the same cells have a total weight of 12.4, twelve
        rows that miss them are drawn, and one more that counts 0.4. So the replicates weigh as much as the data, and
        whole weights are the same as repeated rows. Scale survey weights so that they sum to the effective number of
        respondents, ``w * w.sum() / (w**2).sum()`` (Kish): the test believes that it has seen as many rows as they say.
    k : int
        Number of classes of the alternative, at least 2.
    rng : numpy.random.Generator
        Source of the starts and the replicates.
    n_replicates : int, default 100
        How many data sets to draw.
    stop_after : int, optional
        End as soon as this many replicates are at least as large, h of l say: the p-value is then h / l (Besag &
        Clifford, Biometrika 78 (1991) 301-304). Its standard error is at most about 1 / sqrt(h) of it, and far fewer
        replicates are needed where it is not small. If fewer are large, nothing changes.
    restarts : {"warm", "full"}, default "warm"
        How replicates are fitted. ``warm``: from the model that they were drawn from, from its classes split and from
        a few random starts; those whose statistic is close to that of the data from more. ``full``: as the data are,
        which takes five to ten times as long. With too few starts the p-value may be wrong either way.
    fits : sequence of Fit, optional
        Fits of the data that are known already; one with k - 1 or k classes is used if it is better than what is found.
    n_init, finalists
        Starts of each fit of the data, and how many are run to the end: more than a fit usually has, since a maximum
        that is missed here makes the test of something else. One of the starts of k classes is the fit of k - 1 with a
        class split.
    n_jobs, on_progress, budget
        As in :func:`bootstrap_fit`. The time limit holds for the replicates.
    **options
        Those of :func:`latentree.estimation.restart_em`.

    Returns
    -------
    BootstrapLrt

    Examples
    --------
    >>> from latentree import datasets
    >>> found = bootstrap_lrt(datasets.load("values"), 2, rng=np.random.default_rng(0), n_replicates=19, n_init=8)
    >>> round(found.statistic, 2), found.p_value
    (78.36, 0.05)
    """
    check("bootstrap_lrt", k=(k, Whole(2)), restarts=(restarts, OneOf("warm", "full")))
    if stop_after is not None:
        check("bootstrap_lrt", stop_after=(stop_after, Whole(1)))
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    settings = {"n_init": n_init, "finalists": finalists, **options}
    null, alternative = (_better(own, fits) for own in _both(table, int(k), rng, **settings)[:2])
    statistic = ratio(null.log_likelihood, alternative.log_likelihood)
    if StopReason.INTERRUPTED in (null.reason, alternative.reason):
        return BootstrapLrt(int(k), statistic, None, np.empty(0), null, alternative, StopReason.INTERRUPTED, stop_after)
    resampler = Resampler.of(null.model, table)
    warm = WarmFits.of(null.model, statistic, options) if restarts == "warm" else None

    def one(own: np.random.Generator) -> float:
        drawn = resampler.draw(own)
        return _both(drawn, int(k), own, **settings)[2] if warm is None else warm.statistic(drawn, own)

    def enough(done: Sequence[float]) -> bool:
        return stop_after is not None and exceeding(statistic, np.array(done)) >= stop_after

    done, reason = replicate(
        one,
        n_replicates,
        rng,
        stage="likelihood ratio",
        enough=enough,
        n_jobs=n_jobs,
        on_progress=on_progress,
        budget=clock,
    )
    drawn = np.array(done, dtype=np.float64)
    p = bootstrap_p(statistic, drawn, stop_after)
    return BootstrapLrt(int(k), statistic, p, drawn, null, alternative, reason, stop_after)


def bootstrap_p(statistic: float, replicates: FloatArray, stop_after: int | None = None) -> float | None:
    """(1 + #{replicates at least as large}) / (1 + n), never zero (Davison & Hinkley 1997, 4.2.3); None if n is 0.

    If the replicates ended with the one that made it ``stop_after``, # / n (Besag & Clifford 1991).
    """
    n, large = len(replicates), exceeding(statistic, replicates)
    if n == 0:
        return None
    return large / n if stop_after is not None and large >= stop_after else (1 + large) / (1 + n)


def exceeding(statistic: float, replicates: FloatArray) -> int:
    """How many replicates are at least as large; differences that come from where EM stopped do not count."""
    return int((replicates >= statistic - TIE).sum())


def _better(found: Fit, known: Sequence[Fit]) -> Fit:
    """The best of fits with the same number of classes, by the objective that was climbed."""
    k = found.model.tree.cardinality[0]
    alike = [fit for fit in known if fit.model.tree.is_star and fit.model.tree.cardinality[0] == k]
    best = max([found, *alike], key=lambda fit: fit.objective)
    return best if best.objective > found.objective + TIE else found


def _both(table: Table, k: int, rng: np.random.Generator, **options: Any) -> tuple[Fit, Fit, float]:
    null = fit_classes(table, k - 1, rng=rng, **options)
    shares = null.model.table(0)[0]
    own = int(rng.choice(len(shares), p=shares / shares.sum()))
    starts = ClassStarts.of(one_class_more(null.model.tree))
    # with it as a start, k classes hardly fit worse than k - 1
    halved = Model(
        starts.tree, null.model.variables, starts.split(null.model.parameters, np.array([own]), rng, SPLIT)[0]
    )
    finalists = min(options.pop("finalists"), options["n_init"])
    alternative = restart_em(halved, table, rng=rng, include=True, finalists=finalists, **options)
    return null, alternative, ratio(null.log_likelihood, alternative.log_likelihood)


# ---- replicates -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Resampler:
    """Draws data from a model that weigh as much as a table, with the same cells missing."""

    model: Model  # what to draw from
    n_rows: NDArray[np.int64]  # rows to draw for each pattern of missing cells
    rest: FloatArray  # weight of one more row for each of these patterns; 0 for none
    missing: NDArray[np.bool_]  # the patterns of missing cells
    cells: NDArray[np.int16] | None = None  # all possible rows, if they are few
    chances: FloatArray | None = None  # and their probabilities

    @classmethod
    def of(cls, model: Model, table: Data) -> Resampler:
        """Prepare to draw data like the table from the model."""
        own = matched(model, table)
        missing, group = np.unique(own.codes < 0, axis=0, return_inverse=True)
        weights = np.bincount(group.ravel(), weights=own.weights).astype(np.float64)
        n_rows, rest = whole_and_rest(weights)
        if cells(model) * len(missing) > min(ALL_CELLS, int(n_rows.sum())):
            return cls(model, n_rows, rest, missing)
        sizes = [v.cardinality for v in model.variables]
        every = np.stack(np.unravel_index(np.arange(cells(model)), sizes), axis=1).astype(np.int16)
        chances = expected_counts(model, Table.from_codes(every, model.variables), 1.0)
        return cls(model, n_rows, rest, missing, every, chances / chances.sum())

    def draw(self, rng: np.random.Generator) -> Table:
        """Draw a data set."""
        codes, weights = self._whole_rows(rng)
        parts = self.rest > 0
        if parts.any():
            more = sample(self.model, int(parts.sum()), rng)
            more[self.missing[parts]] = -1
            codes, weights = np.vstack([codes, more]), np.concatenate([weights, self.rest[parts]])
        return Table.from_codes(codes, self.model.variables, weights)

    def _whole_rows(self, rng: np.random.Generator) -> tuple[NDArray[np.int16], FloatArray]:
        if self.cells is None or self.chances is None:
            codes = sample(self.model, int(self.n_rows.sum()), rng)
            codes[np.repeat(self.missing, self.n_rows, axis=0)] = -1
            return codes, np.ones(len(codes))
        counts = rng.multinomial(self.n_rows, self.chances).reshape(len(self.n_rows), -1)
        pattern, cell = np.nonzero(counts)
        codes = self.cells[cell]
        codes[self.missing[pattern]] = -1
        return codes, counts[pattern, cell].astype(np.float64)


def whole_and_rest(weights: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Weights as numbers of rows to draw, and what one more row counts."""
    total = float(weights.sum())
    if not 1 - NEARLY <= total <= MOST_ROWS:
        raise DataError(
            "The bootstrap takes a weight for a number of rows, and the weights sum to {total:.6g}; it draws from 1 to "
            "{most:,} rows. Scale the weights, for instance so that they sum to the number of rows.",
            total=total,
            most=MOST_ROWS,
        )
    nearest = np.rint(weights)
    near = np.abs(weights - nearest) <= NEARLY * np.maximum(weights, 1.0)
    whole = np.where(near, nearest, np.floor(weights))
    counts: NDArray[np.int64] = whole.astype(np.int64)
    return counts, np.where(near, 0.0, weights - whole)


def replicate(
    task: Callable[[np.random.Generator], Result],
    n: int,
    rng: np.random.Generator,
    *,
    stage: str,
    enough: Callable[[Sequence[Result]], bool] | None = None,
    n_jobs: int = 1,
    on_progress: OnProgress | None = None,
    budget: Budget | Clock | None = None,
) -> tuple[list[Result], StopReason]:
    """Do a task with ``n`` generators of its own, in threads, and return the results in order.

    It ends when ``enough`` says so of the results in this order, so that threads do not change where. Tasks under way
    when the time is over, or Ctrl-C is pressed, are given up.
    """
    check("a bootstrap", n_replicates=(n, Whole(1)), n_jobs=(n_jobs, Whole(1)))
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    generators = iter(spawn(rng, int(n)))
    last: tuple[Result, ...] = ()
    with _pool(int(n_jobs)) as (pool, over):
        waiting: deque[Future[Result]] = deque()

        def step(done: tuple[Result, ...]) -> tuple[tuple[Result, ...], int]:
            nonlocal last
            last = done
            while len(waiting) < 2 * n_jobs and (own := next(generators, None)) is not None:
                waiting.append(pool.submit(until, over, task, own))
            result = _finished(waiting[0], clock)
            waiting.popleft()
            return (*done, result), len(done) + 1

        def tell(_: tuple[Result, ...], i: int) -> None:
            if on_progress is not None:
                on_progress(Progress(stage, i, int(n), None, clock.elapsed))

        def ended(done: tuple[Result, ...], i: int) -> StopReason | None:
            return StopReason.FINISHED if i == n or (enough is not None and enough(done)) else None

        try:
            end = run(last, step, budget=clock, done=ended, on_step=tell)
        except _TimeOverError:
            return list(last), StopReason.TIME
    return list(end.state), end.reason


@contextmanager
def _pool(n_jobs: int) -> Iterator[tuple[ThreadPoolExecutor, threading.Event]]:
    """Threads, and what tells them that they are left; what has not begun by then is dropped."""
    pool, over = ThreadPoolExecutor(n_jobs, thread_name_prefix="latentree"), threading.Event()
    try:
        yield pool, over
    finally:
        over.set()
        pool.shutdown(wait=True, cancel_futures=True)


class _TimeOverError(Exception):
    """The time is over, and the task under way has not ended."""


def _finished(future: Future[Result], clock: Clock) -> Result:
    while True:  # in short waits, which Ctrl-C can end on every system
        try:
            return future.result(timeout=min(0.2, max(clock.remaining, 0.001)))
        except TimeoutError:
            if future.done():
                return future.result()
            if clock.expired:
                raise _TimeOverError from None
