"""Variational Bayes: a lower bound of the marginal likelihood ([Karciauskas2005] 3.1.3; Beal & Ghahramani 2003).

Hidden values and parameters are taken to be independent given the data. The parameters' distribution is then Dirichlet
with alpha plus expected counts, and the E-step is that of EM with exp(E ln theta) in the place of theta: the engine
does not mind that these rows do not sum to one.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from .._options import Whole, check
from .._types import FloatArray
from ..estimation._fit import Fit, Prior
from ._aliasing import aliasing as log_aliases
from ._dirichlet import log_normaliser
from ._layout import layout_of


def variational(
    fit: Fit, *, prior: Prior = 1.0, tol: float = 1e-8, max_iterations: int = 10_000, aliasing: bool = False
) -> float:
    """Variational lower bound of log P(D | m), raised by VB-EM from the fit's expected counts.

    Parameters
    ----------
    fit : Fit
        The fitted model.
    prior : float or mapping
        Dirichlet parameter of every row, or by node.
    tol, max_iterations
        VB-EM ends at a smaller gain, or after so many steps.
    aliasing : bool
        Add the logarithm of the number of relabellings ([Whiley1999] 4.8.5): better, but no longer sure to be a bound.

    Examples
    --------
    >>> from latentree import Table, fit_classes
    >>> table = Table.from_codes([[0], [1]], weights=[3, 1])
    >>> fit = fit_classes(table, 1, rng=np.random.default_rng(0))
    >>> round(variational(fit), 6)  # nothing is hidden: ln(3! 1! / 5!)
    -2.995732
    """
    value = float(variational_trace(fit, prior=prior, tol=tol, max_iterations=max_iterations)[-1])
    return value + (log_aliases(fit) if aliasing else 0.0)


def variational_trace(fit: Fit, *, prior: Prior = 1.0, tol: float = 1e-8, max_iterations: int = 10_000) -> FloatArray:
    """The bound after each step of VB-EM; it never falls. Parameters are those of :func:`variational`."""
    check("variational", max_iterations=(max_iterations, Whole(1)))
    layout, plan = layout_of(fit), fit.table.compiled(fit.model)
    alpha = layout.alphas(prior)
    posterior = alpha + layout.counts(fit.counts.vector)
    trace: list[float] = []
    for _ in range(max_iterations):
        log_mean = digamma(posterior) - layout.spread(digamma(layout.sums(posterior)))
        expected = plan.evaluate(layout.expanded(np.exp(log_mean)))
        # ln of the sum over hidden values, less the divergence of the parameters' distribution from the prior
        divergence = log_normaliser(layout, posterior) - log_normaliser(layout, alpha)
        divergence += float((posterior - alpha) @ log_mean)
        trace.append(expected.log_likelihood - divergence)
        if len(trace) > 1 and trace[-1] - trace[-2] < tol:
            break
        posterior = alpha + layout.counts(expected.vector)
    return np.array(trace)
