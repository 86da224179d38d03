"""Laplace's approximation of the marginal likelihood ([Whiley1999] 4.3, appendix C), for any tree.

The negative Hessian A comes from Louis' identity: the information of the completed data less the variance of their
score. In the traditional basis the free parameters are theta_2, ..., theta_r of each row; in the softmax basis
phi_k = ln(theta_k / theta_1) (MacKay). A Dirichlet prior counts as alpha - 1 more cases in the first, alpha in the
second.
"""

from __future__ import annotations

from math import log, pi
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from .._options import OneOf, check
from .._types import FloatArray
from ..errors import ModelError
from ..estimation._fit import Basis, Fit, Prior
from ._aliasing import aliasing as log_aliases
from ._dirichlet import log_normaliser, log_product
from ._layout import Layout, layout_of
from ._mode import posterior_mode
from ._moments import moments_of_counts

Hessian = Literal["full", "block", "diagonal"]
HESSIANS = OneOf("full", "block", "diagonal")

PRIORS: dict[str, float] = {"softmax": 1.0, "probability": 1.01}
"""Dirichlet parameters of [Whiley1999] 4.8.2: nearly flat, but no mode on the boundary."""


def laplace(
    fit: Fit,
    *,
    basis: Basis = "softmax",
    hessian: Hessian = "full",
    prior: Prior = None,
    at: Literal["map", "given"] = "map",
    aliasing: bool = False,
) -> float:
    """Laplace's approximation of log P(D | m), at a posterior mode.

    ``log P(D | theta) + log P(theta) + d/2 ln(2 pi) - 1/2 ln |A|`` ([Whiley1999] 4.5).

    Parameters
    ----------
    fit : Fit
        The fitted model.
    basis : {"softmax", "probability"}
        The parameters that are taken to be normally distributed, and among which the mode is sought.
    hessian : {"full", "block", "diagonal"}
        Which entries of the Hessian are used: all, those of one row of a table, or the diagonal (which depends on the
        state that is left out, the first).
    prior : float or mapping, optional
        Dirichlet parameters. Default: 1 in the softmax basis, 1.01 in the other ([Whiley1999] 4.8.2).
    at : {"map", "given"}
        Take it at a posterior mode, to which EM goes from the fit's parameters; or at those, being a mode, as they are.
    aliasing : bool
        Add the logarithm of the number of relabellings ([Whiley1999] 4.8.5).

    Examples
    --------
    >>> from latentree import Table, fit_classes
    >>> table = Table.from_codes([[0], [1]], weights=[60, 40])
    >>> fit = fit_classes(table, 1, rng=np.random.default_rng(0))
    >>> from math import lgamma
    >>> exact = lgamma(61) + lgamma(41) - lgamma(102)
    >>> round(laplace(fit) - exact, 3)
    -0.003
    """
    check("laplace", basis=(basis, OneOf(*PRIORS)), at=(at, OneOf("map", "given")), hessian=(hessian, HESSIANS))
    prior = PRIORS[basis] if prior is None else prior
    mode = posterior_mode(fit, prior, basis) if at == "map" else fit
    value = laplace_at(mode, information(mode, prior, basis), basis=basis, hessian=hessian, prior=prior)
    return value + (log_aliases(mode) if aliasing else 0.0)


def laplace_at(mode: Fit, a: FloatArray, *, basis: Basis, hessian: Hessian, prior: Prior) -> float:
    """The approximation at a given mode, A being its :func:`information` there ([Whiley1999] 4.5)."""
    layout = layout_of(mode)
    alpha = layout.alphas(prior)
    log_prior = log_normaliser(layout, alpha) + log_product(_added(alpha, basis), layout.parameters(mode.model))
    return mode.log_likelihood + log_prior + 0.5 * layout.n_free * log(2 * pi) - 0.5 * _log_det(layout, a, hessian)


def information(mode: Fit, prior: Prior, basis: Basis) -> FloatArray:
    """Negative Hessian of the log-posterior in its free parameters, the first state of each row left out.

    Parameters
    ----------
    mode : Fit
        Where: a mode of the posterior, if the result is to be positive definite.
    prior, basis
        As in :func:`laplace`; without a prior it is that of the log-likelihood.

    Returns
    -------
    float array [d, d]
    """
    layout = layout_of(mode)
    theta = layout.parameters(mode.model)
    added = np.zeros(len(theta)) if prior is None else _added(layout.alphas(prior), basis)
    mean, covariance = _moments(mode)
    n, variance = layout.counts(mean) + added, layout.covariance(covariance)
    free = np.ones(len(theta), dtype=bool)
    free[layout.starts] = False
    same_row = np.equal.outer(*[np.repeat(np.arange(len(layout.widths)), layout.widths)] * 2)
    if basis == "softmax":
        # completed score n - n_row theta; its information n_row (diag theta - theta theta')
        to_score = np.eye(len(theta)) - same_row * theta[:, None]
        of_row = layout.spread(layout.sums(n))
        full: FloatArray = of_row[:, None] * (np.diag(theta) - same_row * np.outer(theta, theta))
        full -= to_score @ variance @ to_score.T
        a: FloatArray = full[np.ix_(free, free)]
        return a
    if (theta[np.repeat(layout.widths > 1, layout.widths)] <= 0).any():
        raise ModelError("A probability is 0: on the boundary there is no Hessian. Use a prior or the softmax basis.")
    # completed score n / theta; its information diag(n / theta^2)
    full = np.diag(n / theta**2) - variance / np.outer(theta, theta)
    first = np.repeat(layout.starts, layout.widths)[free]  # theta_1 = 1 - theta_2 - ... - theta_r
    own = np.flatnonzero(free)
    a = full[np.ix_(own, own)] - full[np.ix_(first, own)] - full[np.ix_(own, first)]
    a += full[np.ix_(first, first)]
    return a


_LATEST: WeakKeyDictionary[Fit, tuple[FloatArray, FloatArray]] = WeakKeyDictionary()
"""The moments of the latest fit: the Hessians of all kinds are taken from them."""


def _moments(mode: Fit) -> tuple[FloatArray, FloatArray]:
    kept = _LATEST.get(mode)
    if kept is None:
        model = mode.model
        found = mode.table.map_parts(lambda rows: moments_of_counts(model, rows))
        kept = np.sum([own[0] for own in found], axis=0), np.sum([own[1] for own in found], axis=0)
        _LATEST.clear()
        _LATEST[mode] = kept
    return kept


def _added(alpha: FloatArray, basis: Basis) -> FloatArray:
    return alpha if basis == "softmax" else alpha - 1.0


def _log_det(layout: Layout, a: FloatArray, hessian: Hessian) -> float:
    if hessian == "full":
        parts = [a]
    elif hessian == "block":
        ends = np.cumsum(layout.widths - 1)
        parts = [a[i:j, i:j] for i, j in zip(ends - layout.widths + 1, ends, strict=True)]
    else:
        parts = [a[i : i + 1, i : i + 1] for i in range(len(a))]
    try:
        return float(sum(2.0 * np.log(np.diag(np.linalg.cholesky(part))).sum() for part in parts))
    except np.linalg.LinAlgError:
        raise ModelError(
            "The Hessian is not negative definite at the posterior mode: the data do not determine the model, states "
            "coincide, or EM sits on a saddle. Use fewer states, more starts, or another score."
        ) from None
