"""The test of Vuong, Lo, Mendell and Rubin: k - 1 classes against k, by a weighted sum of chi-squares.

Vuong (Econometrica 57 (1989) 307-333) finds the distribution of a likelihood ratio of two models, neither of which need
be true: a sum of chi-squares of one degree of freedom, weighted by the eigenvalues of a matrix made of the models'
scores and Hessians. Lo, Mendell and Rubin (Biometrika 88 (2001) 767-778) use it for the number of components of a
mixture, and correct the statistic for small samples. Jeffries (Biometrika 90 (2003) 991-994) shows that their proof
assumes what does not hold: with k - 1 classes the parameters of k are not identified.

Scores and Hessians are those of logits within each distribution, by Louis' formula.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table import Table, as_table
from .._types import FloatArray
from ..engine._plan import Plan
from ..errors import ModelError
from ..estimation._fit import Fit
from ._absolute import matched

BOUNDARY = 1e-6
"""Probabilities this close to 0 are held there."""

NO_INFORMATION = 1e-7
"""Directions with a smaller share of the largest information are left out."""

MOST_PANELS = 20_000
"""Panels of the integral. With few weights it falls slowly, but its sign changes: what is left after them is small."""

CRITICISM = (
    "The proof behind the Vuong-Lo-Mendell-Rubin test assumes conditions that mixtures do not meet (Jeffries 2003), so "
    "that its p-values have no guarantee; in simulations the bootstrap test is nearer to its level and finds the "
    "number of classes more often (Nylund, Asparouhov & Muthen 2007)."
)


@dataclass(frozen=True, eq=False)
class VuongTest:
    """Test of k - 1 classes against k; see :func:`vuong_lrt`.

    Attributes
    ----------
    k : int
        Number of classes of the alternative.
    statistic : float
        Twice the difference of the log-likelihoods.
    p_value : float
        Upper tail of the weighted sum of chi-squares.
    adjusted_statistic : float
        The statistic over 1 + 1 / ((difference of the numbers of parameters) ln N) (Lo, Mendell and Rubin).
    adjusted_p_value : float
        Upper tail at the adjusted statistic.
    weights : float array
        Weights of the chi-squares.
    note : str
        What speaks against the test.
    """

    k: int
    statistic: float
    p_value: float
    adjusted_statistic: float
    adjusted_p_value: float
    weights: FloatArray
    note: str = CRITICISM

    @property
    def mean(self) -> float:
        """Mean of the statistic by this distribution."""
        return float(self.weights.sum())

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the statistic by this distribution."""
        return float(np.sqrt(2 * (self.weights**2).sum()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        plain = asdict(self)
        del plain["k"], plain["weights"]
        return {"n_classes": self.k, **plain, "mean": self.mean, "standard_deviation": self.standard_deviation}


def vuong_lrt(null: Fit, alternative: Fit) -> VuongTest:
    """Test k - 1 classes against k by the distribution of Vuong, Lo, Mendell and Rubin.

    Parameters
    ----------
    null, alternative : Fit
        Latent class models with k - 1 and with k classes, fitted to the same data by maximum likelihood.

    Returns
    -------
    VuongTest
        With p-values that have no proof (Jeffries 2003): report the bootstrap test, and these where they are asked for.

    Examples
    --------
    >>> from latentree import datasets
    >>> from latentree.estimation import fit_classes
    >>> table = datasets.load("values")
    >>> one, two = (fit_classes(table, k, rng=np.random.default_rng(0)) for k in (1, 2))
    >>> found = vuong_lrt(one, two)
    >>> round(found.statistic, 2), round(found.adjusted_statistic, 2), found.p_value < 0.001
    (78.36, 75.55, True)
    """
    k = int(alternative.model.tree.cardinality[0])
    if not (null.model.tree.is_star and alternative.model.tree.is_star) or null.model.tree.cardinality[0] != k - 1:
        raise ModelError("The test takes two latent class models, the second with one class more than the first.")
    small, large = matched(null.model, null.table), matched(alternative.model, alternative.table)
    if not np.array_equal(small.codes, large.codes) or not np.array_equal(small.weights, large.weights):
        raise ModelError("The two models must be fitted to the same data.")
    w, n = large.weights, float(large.weights.sum())
    f, g = row_scores(alternative), row_scores(null)
    a_f, a_g = (_inverse(own.hessian) for own in (f, g))
    crossed = (f.scores * w[:, None]).T @ g.scores
    b_f, b_g = ((own.scores * w[:, None]).T @ own.scores for own in (f, g))
    whole = np.block([[-b_f @ a_f, -crossed @ a_g], [crossed.T @ a_f, b_g @ a_g]])
    weights = np.linalg.eigvals(whole).real
    statistic = max(2 * (alternative.log_likelihood - null.log_likelihood), 0.0)
    free = alternative.n_parameters - null.n_parameters
    adjusted = statistic / (1 + 1 / (free * np.log(n))) if n > 1 else statistic
    tails = (weighted_chi_square_tail(x, weights) for x in (statistic, adjusted))
    return VuongTest(k, statistic, next(tails), float(adjusted), next(tails), np.sort(weights)[::-1])


@dataclass(frozen=True, eq=False)
class RowScores:
    """Derivatives of the log-likelihood by the free logits of a latent class model.

    Attributes
    ----------
    scores : float array [patterns, free]
        Of each distinct row.
    hessian : float array [free, free]
        Second derivatives, summed over the rows with their weights.
    """

    scores: FloatArray
    hessian: FloatArray


def row_scores(fit: Fit) -> RowScores:
    """Scores of the rows and the Hessian, in logits against the most probable state of each distribution.

    Entries at zero, which have no logit, are left out.
    """
    model, table = fit.model, matched(fit.model, as_table(fit.table))
    k = int(model.tree.cardinality[0])
    posterior = np.asarray(Plan.of(model, table).posteriors(model.parameters, [0])[0])
    shares = model.table(0)[0]
    own = _free(shares[None])[0]
    blocks = [_class_block(table, [model.table(int(v))[c] for v in model.tree.manifest]) for c in range(k)]
    begin = np.cumsum([int(own.sum()), *(len(b.at) for b in blocks)])
    size = int(begin[-1])
    w = table.weights
    scores, second = np.zeros((len(w), size)), np.zeros((size, size))
    for c, block in enumerate(blocks):
        complete = np.zeros((len(w), size))
        complete[:, : begin[0]] = (np.arange(k) == c)[own] - shares[own]
        complete[:, begin[c] : begin[c + 1]] = block.scores
        p = posterior[:, c]
        scores += p[:, None] * complete
        second += (complete * (w * p)[:, None]).T @ complete
        second[begin[c] : begin[c + 1], begin[c] : begin[c + 1]] -= block.information(w * p)
    second[: begin[0], : begin[0]] -= w.sum() * (np.diag(shares[own]) - np.outer(shares[own], shares[own]))
    second -= (scores * w[:, None]).T @ scores
    return RowScores(scores, second)


@dataclass(frozen=True, eq=False)
class _Block:
    """The free logits of the items in one class."""

    at: NDArray[np.int64]  # the item of each
    theta: FloatArray
    scores: FloatArray  # [patterns, free], of rows that are in the class
    known: NDArray[np.bool_]  # [patterns, free]

    def information(self, weights: FloatArray) -> FloatArray:
        """What complete data would tell."""
        n = weights @ self.known
        same = self.at[:, None] == self.at[None, :]
        made: FloatArray = np.diag(n * self.theta) - same * np.outer(self.theta, self.theta) * n[:, None]
        return made


def _class_block(table: Table, profiles: list[FloatArray]) -> _Block:
    at, theta, columns, known = [], [], [], []
    for v, profile in enumerate(profiles):
        codes = table.codes[:, v]
        for state in np.flatnonzero(_free(profile[None])[0]):
            at.append(v)
            theta.append(profile[state])
            known.append(codes >= 0)
            columns.append(np.where(codes >= 0, (codes == state) - profile[state], 0.0))
    n = table.n_patterns
    made, seen = (np.stack(own, axis=1) if own else np.empty((n, 0)) for own in (columns, known))
    return _Block(np.array(at, dtype=np.int64), np.array(theta), made, seen.astype(bool))


def _free(rows: FloatArray) -> NDArray[np.bool_]:
    """Entries with a logit: not at zero, and not the largest, which is what they are compared with."""
    free: NDArray[np.bool_] = rows > BOUNDARY
    free[np.arange(len(rows)), rows.argmax(axis=1)] = False
    return free


def _inverse(hessian: FloatArray) -> FloatArray:
    """Inverse on the directions of which the rows say something."""
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    kept = np.abs(values) > NO_INFORMATION * np.abs(values).max(initial=0.0)
    made: FloatArray = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return made


def weighted_chi_square_tail(x: float, weights: FloatArray) -> float:
    """P(sum of weights times independent chi-squares of one degree of freedom > x), by Imhof's (1961) integral.

    Examples
    --------
    >>> round(weighted_chi_square_tail(3.841459, np.array([1.0])), 4)
    0.05
    >>> round(weighted_chi_square_tail(0.0, np.array([1.0, -1.0])), 4)
    0.5
    """
    scale = float(np.abs(weights).max(initial=0.0))
    own = weights[np.abs(weights) > 1e-6 * scale] / scale if scale > 0 else weights[:0]
    if len(own) == 0:
        return float(x < 0)
    x = x / scale

    # Panels no longer than a turn of the sine, each by Gauss and Legendre; the sizes shrink the rest.
    end = _end_of_integral(own)
    turn = 2 * np.pi / (abs(x) + float(np.abs(own).sum()))
    edges = turn * np.arange(min(int(np.ceil(end / turn)), MOST_PANELS) + 1)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    nodes, gauss = np.polynomial.legendre.leggauss(16)
    total = 0.0
    for part in np.array_split(np.arange(len(half)), max(len(half) // 4096, 1)):  # not all in memory at once
        u = (middle[part, None] + half[part, None] * nodes).ravel()
        angle = 0.5 * sum(np.arctan(weight * u) for weight in own) - 0.5 * x * u
        size = np.exp(0.25 * sum(np.log1p((weight * u) ** 2) for weight in own))
        total += float(half[part] @ ((np.sin(angle) / (u * size)).reshape(len(part), -1) @ gauss))
    return float(np.clip(0.5 + total / np.pi, 0.0, 1.0))


def _end_of_integral(weights: FloatArray) -> float:
    """Where what is left of Imhof's integral is negligible."""
    end = 1.0
    while end < 1e9:
        left = 2 / (len(weights) * np.exp(0.25 * np.log1p((weights * end) ** 2).sum()))
        if left < 1e-8:
            break
        end *= 2
    return min(end, 1e9)
