"""Estimation with the structure fixed: one function, any method by its name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._model import Model
from .._options import Flag, OneOf, option
from .._registry import Registry
from .._table import Table
from ..errors import LatentreeWarning
from ._annealing import Annealing, AnnealingOptions
from ._approximate_conjugate import acg_phi, acg_theta, acg_theta_chi2
from ._ascent import climbing
from ._conjugate import CgOptions, Conjugate, GcgOptions
from ._em import fit_em
from ._em_options import AscentOptions, EmOptions, FitOptions
from ._fit import Fit
from ._helmbold import RateOptions, eg_eta, em_eta, gp_eta
from ._incremental import (
    BlockOptions,
    Incremental,
    Nowlan,
    NowlanOptions,
    Preferential,
    Sparse,
    SparseOptions,
)
from ._independence import INDEPENDENT, at_independence
from ._local import LocalOptions, fit_local
from ._one_step_late import LateOptions, OneStepLate
from ._partial import PartialOptions, fit_partial
from ._restarts import RestartOptions, fit_restarts
from ._winner_take_all import winner_take_all

__all__ = ["METHODS", "EstimationMethod", "estimate"]


@dataclass(frozen=True)
class EstimationMethod:
    """An entry of :data:`METHODS`.

    Attributes
    ----------
    options : type
        A class of options.
    fit : callable
        ``fit(model, table, options)`` gives the :class:`Fit`.
    """

    options: type[FitOptions]
    fit: Callable[[Model, Table, Any], Fit]


@dataclass(frozen=True, eq=False)
class PlainEmOptions(EmOptions):
    """Options of plain EM."""

    accelerate: bool = option(False, OneOf(False), "plain EM takes no Newton steps")


@dataclass(frozen=True, eq=False)
class WinnerOptions(AscentOptions):
    """Options of winner-take-all EM."""

    finish: bool = option(True, Flag(), "go on with EM when no row changes its state any more")


def _winner_take_all(model: Model, table: Table, options: WinnerOptions) -> Fit:
    return winner_take_all(model, table, **options.plain())


METHODS: Registry[EstimationMethod] = Registry(
    "method",
    {
        "accelerated": EstimationMethod(EmOptions, fit_em),
        "em": EstimationMethod(PlainEmOptions, fit_em),
        "restarts": EstimationMethod(RestartOptions, fit_restarts),
        "local": EstimationMethod(LocalOptions, fit_local),
        "partial": EstimationMethod(PartialOptions, fit_partial),
        "incremental": EstimationMethod(BlockOptions, climbing(Incremental)),
        "preferential": EstimationMethod(BlockOptions, climbing(Preferential)),
        "sparse": EstimationMethod(SparseOptions, climbing(Sparse)),
        "winner-take-all": EstimationMethod(WinnerOptions, _winner_take_all),
        "nowlan": EstimationMethod(NowlanOptions, climbing(Nowlan)),
        "one-step-late": EstimationMethod(LateOptions, climbing(partial(OneStepLate, "one-step-late"))),
        "cg": EstimationMethod(CgOptions, climbing(partial(Conjugate, "cg"))),
        "gcg": EstimationMethod(GcgOptions, climbing(partial(Conjugate, "gcg"))),
        "gp-eta": EstimationMethod(RateOptions, climbing(gp_eta)),
        "eg-eta": EstimationMethod(RateOptions, climbing(eg_eta)),
        "em-eta": EstimationMethod(RateOptions, climbing(em_eta)),
        "acg-theta": EstimationMethod(RateOptions, climbing(acg_theta)),
        "acg-theta-chi2": EstimationMethod(RateOptions, climbing(acg_theta_chi2)),
        "acg-phi": EstimationMethod(RateOptions, climbing(acg_phi)),
        "annealing": EstimationMethod(AnnealingOptions, climbing(Annealing)),
    },
)
"""Methods of :func:`estimate` by name."""


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
        temperatures). ``METHODS[name].options.described()`` lists the options of each; the guide
        ``docs/guides/estimation.md`` says which to use when.
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
        the bit. Of the methods ``accelerated``, ``em``, ``partial`` and ``restarts``.
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
    entry = METHODS.find(method, owner="estimate")
    fit = entry.fit(model, table, entry.options.of(options, owner=f"estimate with method='{method}'"))
    if at_independence(fit):
        remedy = " Annealing leaves it with escape=True." if method == "annealing" else ""
        warnings.warn(INDEPENDENT + remedy, LatentreeWarning, stacklevel=2)
    return fit
