"""``adapt``: the best number of states for one latent node of a tree, everything beyond its neighbours being frozen."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._model import Model
from .._table import Table
from ..estimation._fit import Fit
from ..runner import Budget, Clock
from ._learn import OURS, score_function
from ._rounds import climbed
from ._screening import screened
from ._task import ScoreFunction, Settings, Task

__all__ = ["adapt"]


def adapt(
    model: Model,
    table: Table,
    node: str | int,
    *,
    rng: np.random.Generator,
    score: str | ScoreFunction = "bic",
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
        Fields of :class:`Settings`.

    Returns
    -------
    Fit
        The model rooted at the node, as it stands: no EM on its other tables was run. Its score is not below that of
        the model given.

    Examples
    --------
    >>> from latentree import datasets, Tree
    >>> table = datasets.load("carcinoma")
    >>> names = [v.name for v in table.variables]
    >>> flat = Model.random(Tree.star(1, table.cardinalities, names), table.variables, np.random.default_rng(0))
    >>> adapt(flat, table, "z", rng=np.random.default_rng(0)).model.tree.cardinality[0].item()
    3
    """
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    task = Task(table, score_function(score), Settings(**{**OURS, **settings}), clock)
    star = task.star(model, node)
    _, states = climbed(task, star, screened(task, star, star.states, rng), rng, width)
    return task.judged(star, states)
