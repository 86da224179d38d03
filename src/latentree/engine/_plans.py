"""Several plans as one: log-likelihoods and expected counts of rows that lie in several tables are sums over them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np

from .._model import Model
from .._table import Table
from .._types import FloatArray
from . import _core
from ._plan import Passes, Plan


class Plans(Passes):
    """The plans of several tables; counts of a + counts of b = counts of a and b.

    Plans are compiled when first needed. They stay in memory as long as there is room; those for which there is none
    are compiled for every pass, without shared sub-patterns, which would take longer to find than they save.

    Tables are worked on by several threads at a time and summed in their order: the result does not depend on the
    number of threads, nor on the memory beyond rounding.
    """

    def __init__(
        self, model: Model, load: Callable[[int], Table], n_tables: int, *, weight: float, memory: float
    ) -> None:
        self.tree = model.tree
        self.weight = weight
        self._model, self._load, self._n_tables = model, load, n_tables
        self._kept: dict[int, _core.Engine] = {}
        self._room = memory
        self._lock = Lock()

    def evaluate_batch(
        self, parameters: FloatArray, *, counts: bool = True, n_jobs: int = 1, lanes: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Log-likelihoods [sets] and expected counts [sets, size], summed over the tables."""
        p = np.ascontiguousarray(parameters, dtype=np.float64)
        side_by_side = min(n_jobs, self._n_tables)
        each = max(n_jobs // side_by_side, 1)
        log_likelihood, total = np.zeros(len(p)), np.zeros(p.shape)
        with ThreadPoolExecutor(side_by_side) as pool:
            for found, own in pool.map(lambda i: self._plan(i).evaluate(p, counts, each, lanes), range(self._n_tables)):
                log_likelihood += found
                if counts:
                    total += own
        return log_likelihood, total

    def _plan(self, i: int) -> _core.Engine:
        """One plan, from memory if it is there."""
        kept = self._kept.get(i)
        if kept is not None:
            return kept
        table = self._load(i)
        with self._lock:
            wanted = _BYTES_A_CELL * table.codes.size
            fits = wanted <= self._room
            self._room -= wanted if fits else 0.0
        core = Plan.of(self._model, table, share=fits).core  # the core alone: it does not keep the columns twice
        if fits:
            with self._lock:
                self._room += wanted - (core.n_bytes if i not in self._kept else 0)  # another may have been faster
                core = self._kept.setdefault(i, core)
        return core


_BYTES_A_CELL = 12.0
"""What a plan takes at most, as long as it is not known exactly."""
