"""Fitting again: to where a score is taken ([Whiley1999] 4.8.2, [Karciauskas2005] 3.6), or to other data."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._table import Table
from ..errors import ModelError
from ..estimation._em import em
from ..estimation._fit import Basis, Fit, Held, Prior
from ..estimation._restarts import restart_em
from ..estimation._two_latents import TwoLatentsFit, fit_two_latents, two_latents_em
from ._layout import one_number

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
        return em(fit.model, fit.table, prior=prior, basis=basis, tol=TOLERANCE)
    return two_latents_em(fit, prior=one_number(prior), basis=basis, tol=TOLERANCE)


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
    """Fit the model of a fit, its constraint included, to other data."""
    if not isinstance(fit, TwoLatentsFit):
        given = {"include": include, "prior": prior, "held": held, "n_init": n_init, **options}
        return restart_em(fit.model, table, rng=rng, **given)
    if len(held):
        raise ModelError("With two latents above every leaf no table can be held.")
    options.pop("finalists", None)
    start = fit.model if include else None
    own = one_number(prior)
    return fit_two_latents(table, fit.n_states, rng=rng, n_init=n_init, start=start, prior=own, **options)
