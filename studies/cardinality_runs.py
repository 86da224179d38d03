"""Run a learner and keep what a page needs of it: score, states, seconds of work, and the score against time."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from latentree._files import write_atomically
from latentree._table import Table
from latentree._trace import Step
from latentree.cardinality import learn
from latentree.runner import Budget, Clock

__all__ = ["Bench", "Run", "mean", "states_of"]


@dataclass(frozen=True)
class Run:
    """One run of a learner.

    Attributes
    ----------
    score, log_likelihood
        Of the model found.
    states : dict of str to int
        States of every latent node.
    seconds : float
        Processor seconds; on an idle machine and with one thread, those on the clock.
    ended : bool
        Whether it ended by its own rule.
    times, scores : list of float
        Processor seconds after each step, and the best score by then.
    """

    score: float
    log_likelihood: float
    states: dict[str, int]
    seconds: float
    ended: bool
    times: list[float]
    scores: list[float]


@dataclass(frozen=True)
class Bench:
    """Runs learners, and keeps the results in a folder so that a long study can go on where it was.

    Attributes
    ----------
    folder : path or None
        Where results are kept; None: nowhere.
    seed : int
        Seed of the first runs; the others have a stream of their own.
    limit : float
        Most processor seconds of a run.
    """

    folder: Path | None
    seed: int
    limit: float

    def run(
        self, table: Table, key: Sequence[str | int], *, method: str, limit: float | None = None, **options: Any
    ) -> Run:
        """Run a learner, or fetch what it found before; ``key``: data, method, and the number of the run."""
        name = "-".join(str(part).replace(" ", "_").replace(",", "").replace(":", "_") for part in key)
        file = None if self.folder is None else self.folder / f"{name}-{self.seed}.json"
        if file is not None and file.exists():
            return Run(**json.loads(file.read_text("utf-8")))
        number = int(key[-1])
        rng = np.random.default_rng([self.seed, number] if number else self.seed)
        found = _run(table, method, rng, limit or self.limit, options)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, json.dumps(asdict(found)) + "\n")
        return found


class ProcessorClock(Clock):
    """A clock that counts the work done, whatever else the machine does."""

    @property
    def elapsed(self) -> float:
        """Processor seconds since the start."""
        return time.process_time() - self.started


def _run(table: Table, method: str, rng: np.random.Generator, limit: float, options: Mapping[str, Any]) -> Run:
    began = time.process_time()
    times: list[float] = []
    scores: list[float] = []

    def record(line: Step) -> None:
        times.append(time.process_time() - began)
        scores.append(line.score)

    clock = ProcessorClock(Budget(seconds=limit if np.isfinite(limit) else None), began)
    found = learn(table, method=method, rng=rng, budget=clock, on_step=record, **options)
    return Run(
        found.score,
        found.fit.log_likelihood,
        found.cardinality,
        time.process_time() - began,
        found.reason.complete,
        times,
        scores,
    )


def mean(runs: Sequence[Run]) -> str:
    """Mean score, with half a 95 % interval if there are several runs, as in [Karciauskas2005]."""
    values = np.array([run.score for run in runs])
    if len(values) == 1:
        return f"{values[0]:.1f}"
    from scipy.stats import t

    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.1f} ± {half:.1f}"


def states_of(runs: Sequence[Run]) -> str:
    """States of the best run, biggest first if there are several latent nodes."""
    best = max(runs, key=lambda run: run.score)
    return ",".join(map(str, best.states.values()))
