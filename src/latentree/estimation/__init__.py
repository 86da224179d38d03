"""Estimation with the structure fixed: one function, any method by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import bad_parameter
from ..model import Model
from ..table import Table
from .classes import fit_classes
from .em import ITERATIONS, TOLERANCE, em
from .fit import Fit
from .local import local_em
from .partial import partial_em
from .restarts import random_starts, restart_em

__all__ = [
    "ITERATIONS",
    "METHODS",
    "TOLERANCE",
    "Fit",
    "em",
    "estimate",
    "fit_classes",
    "local_em",
    "partial_em",
    "random_starts",
    "restart_em",
]


def _plain(model: Model, table: Table, **options: Any) -> Fit:
    return em(model, table, accelerate=False, **options)


METHODS: dict[str, Callable[..., Fit]] = {
    "accelerated": em,
    "em": _plain,
    "restarts": restart_em,
    "local": local_em,
    "partial": partial_em,
}
"""Methods of :func:`estimate` by name."""


def estimate(model: Model, table: Table, *, method: str = "accelerated", **options: Any) -> Fit:
    """Fit a model's parameters to data.

    Parameters
    ----------
    model : Model
        The structure, and the parameters to start from.
    table : Table
        The data; columns are matched by name, variables the data do not have are missing.
    method : {"accelerated", "em", "restarts", "local", "partial"}
        ``accelerated``: EM with safeguarded Newton steps. ``em``: plain EM. ``restarts``: multiple restart EM, needs
        ``rng``. ``local``: only the tables around ``nodes``. ``partial``: only ``states`` of ``node``.
    prior : float, mapping or None
        Dirichlet parameter of every row (1 is flat), or one for each node named. Default: maximum likelihood.
    basis : {"probability", "softmax"}
        Basis in which the posterior mode is sought; the M-step adds ``prior - 1`` or ``prior``.
    held : sequence of names, mapping of masks, or boolean vector
        Tables, or entries of them, that keep their value.
    tol : float
        EM ends when a plain step gains less than this.
    max_iterations : int
        Most steps.
    budget : Budget, optional
        Time limit; the best so far is returned when it is over, or at Ctrl-C.
    threads : int
        Threads; they do not change the result.
    on_progress : callable, optional
        Takes :class:`~latentree.runner.Progress` events.

    Returns
    -------
    Fit

    Examples
    --------
    >>> import numpy as np
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], weights=[30, 40, 5, 4])
    >>> from latentree.tree import Tree
    >>> start = Model.random(Tree.star(2, table.cardinalities), table.variables, np.random.default_rng(1))
    >>> fit = estimate(start, table, method="em")
    >>> fit.converged, bool((np.diff(fit.trace) >= 0).all())
    (True, True)
    """
    if method not in METHODS:
        raise bad_parameter("method", "estimate", f"one of {', '.join(map(repr, METHODS))}", method)
    return METHODS[method](model, table, **options)
