"""Marginal likelihood of the expected data, and Cheeseman & Stutz' correction of it.

[Whiley1999] 4.6, [Karciauskas2005] 3.3, [ZhangKocka2004] 3.3.

D' are the data completed by the fitted model. A leaf whose cell is missing is left out of D', since it integrates to
one exactly; every other hidden value is in it.
"""

from __future__ import annotations

from typing import Literal

from .._options import OneOf, check
from ..estimation._fit import Basis, Fit, Prior
from ._aliasing import aliasing as log_aliases
from ._criteria import effective_dimension_of, log_n
from ._dirichlet import log_evidence, log_product
from ._layout import layout_of
from ._mode import likelihood_mode, posterior_mode

At = Literal["map", "ml", "given"]


def mled(fit: Fit, *, prior: Prior = 1.0, basis: Basis = "softmax", at: At = "map", aliasing: bool = False) -> float:
    """Marginal likelihood of the expected data, log P(D' | m) ([Whiley1999] 4.6.1, which omits the logarithm).

    Parameters are those of :func:`cs`.
    """
    mode = evaluated_at(fit, at, prior, basis)
    layout = layout_of(mode)
    value = log_evidence(layout, layout.counts(mode.counts.vector), layout.alphas(prior))
    return value + (log_aliases(mode) if aliasing else 0.0)


def cs(fit: Fit, *, prior: Prior = 1.0, basis: Basis = "softmax", at: At = "map", aliasing: bool = False) -> float:
    """Cheeseman-Stutz score, log P(D' | m) + log P(D | theta) - log P(D' | theta).

    [Karciauskas2005] 3.3, [Whiley1999] 4.6.2. Exact when nothing is hidden.

    Parameters
    ----------
    fit : Fit
        The fitted model.
    prior : float or mapping
        Dirichlet parameter alpha of every row, or by node.
    basis : {"softmax", "probability"}
        Where the posterior mode is sought: EM adds alpha ([Karciauskas2005]) or alpha - 1.
    at : {"map", "ml", "given"}
        Take it at a posterior mode or a maximum of the likelihood, to which EM goes from the fit's parameters; or at
        those as they are.
    aliasing : bool
        Add the logarithm of the number of relabellings ([Whiley1999] 4.8.5).

    Examples
    --------
    >>> import numpy as np
    >>> from latentree import Table, fit_classes
    >>> table = Table.from_codes([[0, 0], [1, 1]], weights=[3, 1])
    >>> round(cs(fit_classes(table, 1, rng=np.random.default_rng(0))), 6)  # 2 ln(3! 1! / 5!)
    -5.991465
    """
    mode = evaluated_at(fit, at, prior, basis)
    layout = layout_of(mode)
    counts = layout.counts(mode.counts.vector)
    completed = log_product(counts, layout.parameters(mode.model))
    value = mode.log_likelihood - completed + log_evidence(layout, counts, layout.alphas(prior))
    return value + (log_aliases(mode) if aliasing else 0.0)


def cs_ml(fit: Fit, *, prior: Prior = 1.0, aliasing: bool = False) -> float:
    """Cheeseman-Stutz score at maximum likelihood."""
    return cs(fit, prior=prior, at="ml", aliasing=aliasing)


def cse(fit: Fit, *, prior: Prior = 1.0, basis: Basis = "softmax", at: At = "map", aliasing: bool = False) -> float:
    """Cheeseman-Stutz score with the effective dimension, CS + (ds - de)/2 ln N ([ZhangKocka2004] 3.3)."""
    spared = fit.n_parameters - effective_dimension_of(fit)
    return cs(fit, prior=prior, basis=basis, at=at, aliasing=aliasing) + 0.5 * spared * log_n(fit, "CSe")


def evaluated_at(fit: Fit, at: At, prior: Prior, basis: Basis) -> Fit:
    """The fit whose parameters a score is taken at."""
    check("cs", at=(at, OneOf("map", "ml", "given")))
    if at == "map":
        return posterior_mode(fit, prior, basis)
    return likelihood_mode(fit) if at == "ml" else fit
