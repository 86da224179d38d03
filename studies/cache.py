"""Searches that are kept: a study that is broken off goes on where it was."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from latentree._files import write_atomically
from latentree._table import Table
from latentree.search import Run, learn

__all__ = ["StudyCache"]


@dataclass(frozen=True)
class StudyCache:
    """Runs searches, and keeps them in a folder if there is one.

    Attributes
    ----------
    folder : Path or None
        Where checkpoints and processor seconds of finished searches are.
    jobs : int
        Threads.
    """

    folder: Path | None = None
    jobs: int = 1

    def run(
        self, name: str, table: Table, method: str, seed: list[int], options: Mapping[str, Any]
    ) -> tuple[Run, float]:
        """Search, or take up what was found; with the processor time it took, which other programs do not lengthen."""
        began = time.process_time()
        rng = np.random.default_rng(seed)
        if self.folder is None:
            run = learn(table, method=method, rng=rng, n_jobs=self.jobs, **options)
            return run, time.process_time() - began
        self.folder.mkdir(parents=True, exist_ok=True)
        file, spent = self.folder / f"{name}.json", self.folder / f"{name}.seconds"
        before = float(spent.read_text()) if spent.exists() else 0.0
        run = learn(table, method=method, rng=rng, n_jobs=self.jobs, checkpoint=file, **options)
        if not before or not run.reason.complete:
            before += time.process_time() - began
            write_atomically(spent, f"{before!r}\n")
        return run, before
