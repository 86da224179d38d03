"""Fitting again: to the parameters at which a score is taken ([Whiley1999] 4.8.2, [Karciauskas2005] 3.6), or to other data."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._table import Table
from ..errors import ModelError
from ..estimation._em import ITERATIONS, em
from ..estimation._fit import Basis, Fit, Held, Prior
from ..estimation._restarts import restart_em
from ..estimation._two_latents import TwoLatentsFit, fit_two_latents, two_latents_em

__all__ = ["TOLERANCE", "likelihood_mode", "posterior_mode", "refit"]

TOLERANCE = 1e-9
"""Gain at which EM ends here: derivatives are taken at its result."""


def posterior_mode(fit: Fit, prior: Prior = 1.0, basis: Basis = "softmax") -> Fit:
    """EM to a posterior mode, from the parameters of a fit.

    Parameters
    ----------
    fit : Fit
        Where to begin.
    prior, basis
        As in :func:`latentree.estimation.estimate`.

    Examples
    --------
    >>> import numpy as np
    >>> from latentree import Table, fit_classes
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1]], weights=[3, 1])
    >>> fit = fit_classes(table, 1, rng=np.random.default_rng(0))
    >>> posterior_mode(fit, 1.0, "softmax").model.table("x1").round(6).tolist()
    [[0.666667, 0.333333]]
    """
    return _refitted(fit, prior, basis)


def likelihood_mode(fit: Fit) -> Fit:
    """EM to a maximum of the likelihood, from the parameters of a fit."""
    return _refitted(fit, None, "probability")


def _refitted(fit: Fit, prior: Prior, basis: Basis) -> Fit:
    if not isinstance(fit, TwoLatentsFit):
        return em(fit.model, fit.table, prior=prior, basis=basis, tol=TOLERANCE, max_iterations=ITERATIONS)
    return two_latents_em(fit, prior=_one_number(prior), basis=basis, tol=TOLERANCE)


def refit(
    fit: Fit,
    table: Table,
    *,
    rng: np.random.Generator,
    n_init: int,
    include: bool = True,
    prior: Prior = None,
    held: Held = (),
    **options: Any,
) -> Fit:
    """Fit the model of a fit, its constraint included, to other data.

    Parameters
    ----------
    fit : Fit
        Structure and constraint: with two independent latents the root stays a product.
    table : Table
        The data.
    rng : numpy.random.Generator
        Source of the starts.
    n_init : int
        Starts.
    include : bool, default True
        Whether the fit's own parameters are one of them.
    prior, held, **options
        Those of :func:`latentree.estimation.restart_em`, or of ``fit_two_latents``, which holds nothing.
    """
    if not isinstance(fit, TwoLatentsFit):
        given = {"include": include, "prior": prior, "held": held, "n_init": n_init, **options}
        return restart_em(fit.model, table, rng=rng, **given)
    if len(held):
        raise ModelError("With two latents above every leaf no table can be held.")
    options.pop("finalists", None)
    start = fit.model if include else None
    own = _one_number(prior)
    return fit_two_latents(table, fit.n_states, rng=rng, n_init=n_init, start=start, prior=own, **options)


def _one_number(prior: Prior) -> float | None:
    if prior is not None and not isinstance(prior, int | float):
        raise ModelError("With two latents above every leaf the prior must be one number.")
    return prior
