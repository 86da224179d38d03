"""Estimation with the structure fixed: one function, any method by its name."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from .._model import Model
from .._table import Table
from ..errors import LatentreeWarning, ParameterError, bad_parameter
from ._annealing import annealing
from ._approximate_conjugate import acg_phi, acg_theta, acg_theta_chi2
from ._classes import fit_classes
from ._conjugate import cg, gcg
from ._em import ITERATIONS, TOLERANCE, em
from ._fit import Fit, evaluate
from ._helmbold import eg_eta, em_eta, gp_eta
from ._incremental import incremental, nowlan, preferential, sparse
from ._independence import INDEPENDENT, at_independence
from ._local import local_em
from ._one_step_late import one_step_late
from ._partial import partial_em
from ._restarts import random_starts, restart_em
from ._winner_take_all import winner_take_all

__all__ = [
    "ITERATIONS",
    "METHODS",
    "TOLERANCE",
    "Fit",
    "at_independence",
    "em",
    "estimate",
    "evaluate",
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
    "incremental": incremental,
    "preferential": preferential,
    "sparse": sparse,
    "winner-take-all": winner_take_all,
    "nowlan": nowlan,
    "one-step-late": one_step_late,
    "cg": cg,
    "gcg": gcg,
    "gp-eta": gp_eta,
    "eg-eta": eg_eta,
    "em-eta": em_eta,
    "acg-theta": acg_theta,
    "acg-theta-chi2": acg_theta_chi2,
    "acg-phi": acg_phi,
    "annealing": annealing,
}
"""Methods of :func:`estimate` by name."""


_COMMON = {"prior", "basis", "held", "tol", "max_iterations", "budget", "n_jobs", "on_progress", "plan"}


def estimate(model: Model, table: Table, *, method: str = "accelerated", **options: Any) -> Fit:
    """Fit a model's parameters to data.

    Parameters
    ----------
    model : Model
        The structure, and the parameters to start from.
    table : Table
        The data; columns are matched by name, variables the data do not have are missing.
    method : str
        ``accelerated``: EM with safeguarded Newton steps. ``em``: plain EM. ``restarts``: multiple restart EM, needs
        ``rng``. ``local``: only the tables around ``nodes``. ``partial``: only ``states`` of ``node``.

        From the literature: ``incremental``, ``preferential``, ``sparse``, ``winner-take-all``, ``nowlan`` (E-steps for
        a part of the data or of the states); ``one-step-late`` (EM with a ``penalty``); ``cg``, ``gcg`` (conjugate
        gradients, plain and generalised); ``gp-eta``, ``eg-eta``, ``em-eta`` (Helmbold's); ``acg-theta``,
        ``acg-theta-chi2``, ``acg-phi`` (approximate conjugate gradients); ``annealing`` (a ``schedule`` of
        temperatures). Each has a page of its own in ``latentree.estimation``; the guide ``docs/guides/estimation.md``
        says which to use when.
    prior : float, mapping or None
        Dirichlet parameter of every row (1 is flat), or one for each node named. Default: maximum likelihood.
    basis : {"probability", "softmax"}
        Basis in which the posterior mode is sought; the M-step adds ``prior - 1`` or ``prior``.
    held : sequence of names, mapping of masks, or boolean vector
        Tables, or entries of them, that keep their value.
    tol : float
        EM ends when a plain step gains less than this, the other methods when such a step promises less.
    max_iterations : int
        Most steps.
    budget : Budget, optional
        Time limit; the best so far is returned when it is over, or at Ctrl-C.
    n_jobs : int
        Threads; they do not change the result.
    on_progress : callable, optional
        Takes :class:`~latentree.runner.Progress` events.
    checkpoint : str or path, optional
        A file to keep the runs in, and to go on from if it is there: the result is that of an uninterrupted fit, to
        the bit. Of the methods ``accelerated``, ``em`` and ``restarts``.
    rate : float, optional
        Learning rate of Helmbold's methods and of approximate conjugate gradients, on the scale of the mean
        log-likelihood. Default: it chooses itself. A step that would lose is shortened in either case.
    **options
        Further options of the method.

    Warns
    -----
    LatentreeWarning
        When the fit ended at an independence model.

    Returns
    -------
    Fit

    Examples
    --------
    >>> import numpy as np
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], weights=[30, 40, 5, 4])
    >>> from latentree import Tree
    >>> start = Model.random(Tree.star(2, table.cardinalities), table.variables, np.random.default_rng(1))
    >>> fit = estimate(start, table, method="em")
    >>> fit.converged, bool((np.diff(fit.trace) >= 0).all())
    (True, True)
    """
    if method not in METHODS:
        raise bad_parameter("method", "estimate", f"one of {', '.join(map(repr, METHODS))}", method)
    known = _options(METHODS[method])
    for name in options:
        if name not in known:
            raise ParameterError(f"Method '{method}' has no option '{name}'. It has {', '.join(sorted(known))}.")
    fit = METHODS[method](model, table, **options)
    if at_independence(fit):
        remedy = " Annealing leaves it with escape=True." if method == "annealing" else ""
        warnings.warn(INDEPENDENT + remedy, LatentreeWarning, stacklevel=2)
    return fit


def _options(method: Callable[..., Fit]) -> set[str]:
    """Names of the options a method takes; those it passes on are common to all."""
    own = list(inspect.signature(method).parameters.values())[2:]
    names = {p.name for p in own if p.kind is not p.VAR_KEYWORD}
    if len(names) < len(own):
        names |= _COMMON | ({"accelerate"} if method in (partial_em, local_em) else set())
    return names
