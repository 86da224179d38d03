"""Distinct rows of codes, merged as pieces come, and written to the disk when they outgrow the memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._table import row_keys
from .._types import FloatArray
from ..engine import _core

__all__ = ["Codes", "Merger", "Run", "distinct", "joined", "table_of_rows"]

Codes: TypeAlias = NDArray[np.int16]
Run: TypeAlias = tuple[Codes, FloatArray]

PENDING = 1 << 20
"""Rows that may wait before they are merged with what is there, or as many as that is."""


def distinct(codes: Codes, weights: FloatArray) -> Run:
    """Merge equal rows; the first of them keeps its place."""
    small = np.asfortranarray(codes, dtype=np.int16)
    states = np.maximum(small.max(axis=0, initial=0).astype(np.int32) + 1, 1)
    pattern, first = _core.distinct_rows(small, states)
    merged = np.bincount(pattern, weights=weights, minlength=len(first))
    return np.asfortranarray(small[first]), merged.astype(np.float64)


def joined(runs: Sequence[Run]) -> Run:
    """Merge the equal rows of several runs."""
    return distinct(np.vstack([c for c, _ in runs]), np.concatenate([w for _, w in runs]))


def table_of_rows(codes: Codes, n_tables: int) -> NDArray[np.uint64]:
    """Which of several tables each row belongs to: ranges of its hash, in order."""
    return ((row_keys(codes) >> np.uint64(32)) * np.uint64(n_tables)) >> np.uint64(32)


class Merger:
    """Rows seen so far, equal ones merged.

    New rows wait until there are as many as were merged before, so that each is merged a few times only. When the
    merged rows take more than a quarter of the memory they become a run on the disk, and merging starts anew: a row may
    then be in several runs.

    Examples
    --------
    >>> merger = Merger(1e9, Path("unused"))
    >>> merger.add(np.array([[0, 1], [1, 1], [0, 1]], dtype=np.int16), np.ones(3))
    >>> codes, weights = merger.merged()
    >>> codes.tolist(), weights.tolist()
    ([[0, 1], [1, 1]], [2.0, 1.0])
    """

    def __init__(self, memory: float, folder: Path) -> None:
        self._most = memory / 4
        self._folder = folder
        self._settled: Run | None = None
        self._pending: list[Run] = []
        self.n_runs = 0

    def add(self, codes: Codes, weights: FloatArray) -> None:
        """Take in the rows of one more piece."""
        self._pending.append(distinct(codes, weights))
        waiting = sum(len(w) for _, w in self._pending)
        full = sum(c.nbytes + w.nbytes for c, w in self._pending) > self._most
        if full or waiting >= max(PENDING, 0 if self._settled is None else len(self._settled[1])):
            self._settle()

    def merged(self) -> Run | None:
        """All rows, if none were written to the disk; None if there are none."""
        assert self.n_runs == 0
        self._settle(last=True)
        return self._settled

    def runs(self) -> Iterator[Run]:
        """All rows, those on the disk run by run; the runs are then gone."""
        self._settle(last=True)
        for i in range(self.n_runs):
            files = [self._folder / f"run-{i:05d}-{what}.npy" for what in ("codes", "weights")]
            yield np.load(files[0]), np.load(files[1])
            for file in files:
                file.unlink()
        self.n_runs = 0
        if self._settled is not None:
            yield self._settled

    def _settle(self, *, last: bool = False) -> None:
        parts = [*([self._settled] if self._settled is not None else []), *self._pending]
        self._pending = []
        if len(parts) > 1:
            self._settled = joined(parts)
        elif parts:
            self._settled = parts[0]
        if not last and self._settled is not None and sum(a.nbytes for a in self._settled) > self._most:
            self._write(*self._settled)
            self._settled = None

    def _write(self, codes: Codes, weights: FloatArray) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        np.save(self._folder / f"run-{self.n_runs:05d}-codes.npy", codes)
        np.save(self._folder / f"run-{self.n_runs:05d}-weights.npy", weights)
        self.n_runs += 1
