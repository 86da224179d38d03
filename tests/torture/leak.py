"""Memory after many fits, searches and samplers: ``python tests/torture/leak.py 10000``, or ``make leak``.

Memory is looked at after a tenth of the rounds, when all caches are warm, and at the end: what the system has given to
the process (resident), and what the allocator has given out and not got back (in use), which is exact where the first
also shows how free memory lies about. Growth in use is told in bytes for each round; more than the limit is a leak.

With ``PYTHONMALLOC=malloc``, as ``make leak`` runs it, small objects of Python are counted too.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import latentree as lt
from latentree import bayes, cardinality, datasets, search
from latentree._table import Table
from latentree.estimation import fit_classes
from latentree.infer import posterior
from latentree.runner import Budget

LIMIT = 32.0
"""Bytes a round: less than any array or object takes that would be forgotten in each."""
SLACK = 200_000
"""Bytes that may come and go."""


class Mallinfo(ctypes.Structure):
    """What glibc's mallinfo2 returns."""

    NAMES = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    _fields_ = [(name, ctypes.c_size_t) for name in NAMES]


def resident() -> int:
    """Bytes that the system has given to the process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def in_use() -> int:
    """Bytes that the allocator has given out, all threads together; what is resident where it cannot be asked."""
    gc.collect()
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return resident()
    ask.restype = Mallinfo
    told = ask()
    return int(told.uordblks + told.hblkhd)


@dataclass(frozen=True)
class Memory:
    """Bytes of memory at one moment."""

    in_use: int
    resident: int

    @classmethod
    def now(cls) -> Memory:
        return cls(in_use(), resident())


def leaked(early: Memory, late: Memory, rounds: int) -> float:
    """Bytes a round that did not come back, beyond what comes and goes."""
    return max(late.in_use - early.in_use - SLACK, 0) / rounds


def one_fit(i: int) -> None:
    """Build a table, fit it with threads, ask for posteriors."""
    rng = np.random.default_rng(i)
    table = Table.from_codes(rng.integers(-1, 2, (60, 6)), np.full(6, 2))
    fit = fit_classes(table, 2, rng=rng, n_init=4, finalists=2, max_iterations=30, n_jobs=1 + i % 2)
    posterior(fit.model, table)


def one_estimator(i: int) -> None:
    rows = np.random.default_rng(i).integers(0, 2, (60, 6))
    lt.LatentClass(2, n_init=4, max_iter=20, tol=1e9, random_state=i).fit(rows).predict_proba(rows)


def one_search(i: int) -> None:
    search.learn(HIV, method="east", rng=np.random.default_rng(i), n_jobs=1 + i % 2, budget=Budget(iterations=2))


def one_learner(i: int) -> None:
    cardinality.learn(HIV, rng=np.random.default_rng(i), budget=Budget(iterations=2), n_jobs=1 + i % 2)


def one_sampler(i: int) -> None:
    prior = bayes.ClassPrior(bayes.prior_on_classes(3))
    bayes.sample(HIV, prior, rng=np.random.default_rng(i), n_draws=10, n_burn=5, n_chains=2, n_jobs=1 + i % 2)


HIV = datasets.load("hiv_test")
WORK: dict[str, tuple[Callable[[int], None], float]] = {
    "fit": (one_fit, 1.0),
    "estimator": (one_estimator, 0.1),
    "search": (one_search, 0.05),
    "cardinality": (one_learner, 0.05),
    "sampler": (one_sampler, 0.1),
}
"""What is repeated, and how often in comparison with fits."""


def growth(work: Callable[[int], None], rounds: int) -> tuple[Memory, Memory]:
    """Memory after a tenth of the rounds, and after all."""
    early = Memory.now()
    for i in range(rounds):
        if i == rounds // 10:
            early = Memory.now()
        work(i)
    return early, Memory.now()


def main() -> None:
    """Repeat everything and say what it left behind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n", type=int, nargs="?", default=10_000, help="how many fits (10000)")
    parser.add_argument("--only", help="what to repeat, with commas between (all)")
    given = parser.parse_args()
    leaks = 0
    for name in given.only.split(",") if given.only else WORK:
        work, share = WORK[name]
        rounds, began = max(int(given.n * share), 10), time.perf_counter()
        early, late = growth(work, rounds)
        leaks += leaked(early, late, rounds - rounds // 10) > LIMIT
        more = late.in_use - early.in_use
        print(
            f"{name:12} {rounds // 10:>6,} to {rounds:>6,} rounds: resident {early.resident / 2**20:.1f} "
            f"to {late.resident / 2**20:.1f} MiB, in use {more:+,} bytes ({more / (rounds - rounds // 10):+,.1f} a "
            f"round); {time.perf_counter() - began:.0f} s",
            flush=True,
        )
    sys.exit(1 if leaks else 0)


if __name__ == "__main__":
    main()
