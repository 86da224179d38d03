"""``learn_classes``: a latent class model whose number of classes is learned too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._table import Table
from .._trace import Step
from ..estimation._classes import reordered_states
from ..runner import OnProgress, Progress
from ._learn import Learned, learn


def learn_classes(
    table: Table, *, rng: np.random.Generator, on_progress: OnProgress | None = None, **options: Any
) -> Learned:
    """Learn a latent class model and how many classes it has.

    Parameters
    ----------
    table : Table
        The data.
    rng : numpy.random.Generator
        Source of randomness.
    on_progress : callable, optional
        Takes :class:`~latentree.runner.Progress` events.
    **options
        Those of :func:`learn`.

    Returns
    -------
    Learned
        Class 0 is the largest.

    Examples
    --------
    >>> from latentree import datasets
    >>> found = learn_classes(datasets.load("carcinoma"), rng=np.random.default_rng(0))
    >>> found.fit.model.table("z").round(3).tolist()
    [[0.445, 0.374, 0.182]]
    """

    def report(line: Step) -> None:
        if on_progress is not None:
            (k,) = line.states.values()
            on_progress(Progress(line.operation, line.number, None, line.score, line.seconds, {"classes": k}))

    found = learn(table, rng=rng, on_step=report, **options)
    order = np.argsort(-found.fit.model.table(0)[0], kind="stable")
    return replace(found, fit=reordered_states(found.fit, 0, order))
