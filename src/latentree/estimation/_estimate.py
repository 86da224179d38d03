"""Estimation with the structure fixed: one function, any method by its name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._data import Data
from .._model import Model
from .._options import OneOf, option
from .._registry import Registry
from ..errors import LatentreeWarning
from ._annealing import Annealing, AnnealingOptions
from ._approximate_conjugate import METRICS, ApproximateConjugate
from ._ascent import ClimbingMethod, climb
from ._conjugate import CgOptions, Conjugate, GcgOptions
from ._em import fit_em
from ._em_options import AscentOptions, EmOptions, FitOptions
from ._fit import Fit
from ._helmbold import DISTANCES, Helmbold, RateOptions
from ._incremental import BlockOptions, Incremental, Nowlan, NowlanOptions, Preferential, Sparse, SparseOptions
from ._independence import INDEPENDENT, at_independence
from ._local import LocalOptions, fit_local
from ._one_step_late import LateOptions, OneStepLate
from ._partial import PartialOptions, fit_partial
from ._restarts import RestartOptions, fit_restarts
from ._winner_take_all import WinnerOptions, winner_take_all


@dataclass(frozen=True)
class EstimationMethod:
    """A method of estimation: its name, the class of its options, and ``fit(model, table, options)``."""

    name: str
    options: type[FitOptions]
    fit: Callable[[Model, Data, Any], Fit]

    def __call__(self, model: Model, table: Data, **options: Any) -> Fit:
        """Fit a model's parameters to data; see :func:`estimate`."""
        return self.fit(model, table, self.options.of(options, owner=f"estimate with method='{self.name}'"))


@dataclass(frozen=True, eq=False)
class PlainEmOptions(EmOptions):
    """Options of plain EM."""

    accelerate: bool = option(False, OneOf(False), "plain EM takes no Newton steps")


def _climbing(name: str, options: type[AscentOptions], method: type[ClimbingMethod[Any, Any]]) -> EstimationMethod:
    return EstimationMethod(name, options, lambda model, table, own: climb(method(name, own), model, table))


METHODS: Registry[EstimationMethod] = Registry(
    "method",
    {
        method.name: method
        for method in (
            EstimationMethod("accelerated", EmOptions, fit_em),
            EstimationMethod("em", PlainEmOptions, fit_em),
            EstimationMethod("restarts", RestartOptions, fit_restarts),
            EstimationMethod("local", LocalOptions, fit_local),
            EstimationMethod("partial", PartialOptions, fit_partial),
            _climbing("incremental", BlockOptions, Incremental),
            _climbing("preferential", BlockOptions, Preferential),
            _climbing("sparse", SparseOptions, Sparse),
            EstimationMethod("winner-take-all", WinnerOptions, winner_take_all),
            _climbing("nowlan", NowlanOptions, Nowlan),
            _climbing("one-step-late", LateOptions, OneStepLate),
            _climbing("cg", CgOptions, Conjugate),
            _climbing("gcg", GcgOptions, Conjugate),
            *(_climbing(name, RateOptions, Helmbold) for name in DISTANCES),
            *(_climbing(name, RateOptions, ApproximateConjugate) for name in METRICS),
            _climbing("annealing", AnnealingOptions, Annealing),
        )
    },
)
"""Methods of :func:`estimate` by name."""


def estimate(model: Model, table: Data, *, method: str = "accelerated", **options: Any) -> Fit:
    """Fit a model's parameters to data.

    Parameters
    ----------
    model : Model
        The structure, and the parameters to start from.
    table : Data
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
    >>> from latentree import Table, Tree
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], weights=[30, 40, 5, 4])
    >>> start = Model.random(Tree.star(2, table.cardinalities), table.variables, np.random.default_rng(1))
    >>> fit = estimate(start, table, method="em")
    >>> fit.converged, bool((np.diff(fit.trace) >= 0).all())
    (True, True)
    """
    fit = METHODS.find(method, owner="estimate")(model, table, **options)
    if at_independence(fit):
        remedy = " Annealing leaves it with escape=True." if method == "annealing" else ""
        warnings.warn(INDEPENDENT + remedy, LatentreeWarning, stacklevel=2)
    return fit
