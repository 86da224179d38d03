"""``adapt``: the best number of states for one latent node of a tree, everything beyond its neighbours being frozen."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._model import Model
from .._table import Table
from ..estimation._fit import Fit
from ..runner import Budget, Clock
from ._learn import criterion_of
from ._rounds import improve
from ._screened import ScreenedOptions
from ._screening import screen
from ._task import Criterion, Task


def adapt(
    model: Model,
    table: Table,
    node: str | int,
    *,
    rng: np.random.Generator,
    score: str | Criterion = "bic",
    width: int = 8,
    budget: Budget | Clock | None = None,
    **settings: Any,
) -> Fit:
    """Split and merge states of one latent node while that raises the score of the model.

    The messages into the node are computed once; only its own table and its neighbours' move.

    Parameters
    ----------
    model, table
        The model and the data.
    node : str or int
        A latent node.
    rng : numpy.random.Generator
        Source of the starts.
    score : str or callable
        As in :func:`learn`.
    width : int
        Candidates of each kind that are fitted side by side.
    budget : Budget or Clock, optional
        Time limit.
    **settings
        Options of the method ``screened``.

    Returns
    -------
    Fit
        The model rooted at the node; no EM was run on its other tables. Its score is not below that of
        the model given.

    Examples
    --------
    >>> from latentree import datasets, Tree
    >>> table = datasets.load("carcinoma")
    >>> flat = Model.random(Tree.star(1, table.cardinalities, table.names), table.variables, np.random.default_rng(0))
    >>> adapt(flat, table, "z", rng=np.random.default_rng(0)).model.tree.cardinality[0].item()
    3
    """
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    options = ScreenedOptions.of({"width": width, **settings}, owner="cardinality.adapt")
    task = Task(table, criterion_of(score)[0], options, clock)
    star = task.star(model, node)
    _, states = improve(task, star, screen(task, star, star.states, rng), rng, width)
    return task.evaluate(star, states)
