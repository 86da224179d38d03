"""The parameters at which a score is taken: those of maximum likelihood, or a posterior mode (SPEC: W 4.8.2, K 3.6)."""

from __future__ import annotations

from ..errors import ModelError
from ..estimation._em import ITERATIONS, em
from ..estimation._fit import Basis, Fit, Prior
from ..estimation._two_latents import TwoLatentsFit, two_latents_em

__all__ = ["TOLERANCE", "likelihood_mode", "posterior_mode"]

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
    if prior is not None and not isinstance(prior, int | float):
        raise ModelError("With two latents above every leaf the prior must be one number.")
    return two_latents_em(fit, prior=prior, basis=basis, tol=TOLERANCE)
