"""Giving the classes of every draw the same names: the posterior does not know which class is which.

See [Whiley1999, section 5.3.1].
All methods permute the classes of each draw. ``stephens`` is the practical default; ``weight`` and ``celeux`` are the
source's, and fail where it says they fail.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._types import FloatArray, IndexArray
from ..errors import bad_parameter
from ._draws import ClassDraws

CHUNK = 2_000_000
"""Numbers worked on at a time."""

LEAST = 1e-12


def relabel(draws: ClassDraws, method: str = "stephens") -> ClassDraws:
    """Permute the classes of each draw so that class i is the same class throughout, the largest first.

    Parameters
    ----------
    draws : ClassDraws
        Models with the same number of classes.
    method : {"stephens", "pivot", "weight", "celeux"}
        Stephens' algorithm; assignment to the best draw; largest class first; or the on-line classification of Celeux,
        Hurn & Robert.

    Examples
    --------
    >>> from latentree import Table
    >>> from latentree.bayes import ClassPrior, sample
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1]], weights=[30, 29])
    >>> drawn = sample(table, ClassPrior([1, 1]), rng=np.random.default_rng(0), method="gibbs", n_draws=100)
    >>> relabel(drawn.given(2)).profile("x1")[:, :, 0].mean(axis=0).round(1).tolist()
    [1.0, 0.0]
    """
    if method not in METHODS:
        raise bad_parameter("method", "relabel", f"one of {', '.join(METHODS)}", method)
    done = METHODS[method](draws)
    order = np.argsort(-done.weights.mean(axis=0), kind="stable")
    return done.permuted(np.tile(order, (len(done), 1)))


def by_weight(draws: ClassDraws) -> ClassDraws:
    """Order the classes of each draw by size, the "naive" way: classes of like size are mixed up."""
    return draws.permuted(np.argsort(-draws.weights, axis=1, kind="stable"))


def by_pivot(draws: ClassDraws) -> ClassDraws:
    """Match each draw to the one of highest likelihood, by how the rows are shared out (an ECR method).

    A class of a draw costs, as class j of the pivot, the rows that the pivot has in j with certainty and the draw not.
    """
    pivot = responsibilities(draws.part([int(draws.log_likelihood.argmax())]))[0]
    order = np.empty((len(draws), draws.k), dtype=np.int64)
    weights = draws.table.weights
    for at in _chunks(draws):
        own = responsibilities(draws.part(at))
        agreement = np.einsum("p,pj,dpi->dji", weights, pivot, own)
        order[at] = [linear_sum_assignment(-a)[1] for a in agreement]
    return draws.permuted(order)


def stephens(draws: ClassDraws, *, most: int = 50) -> ClassDraws:
    """Stephens' algorithm (J. R. Statist. Soc. B 62, 2000): classes are what makes the classification most constant.

    In turn: the mean classification q of all draws, then each draw permuted so that the Kullback-Leibler divergence of
    its own classification from q is least. It begins with :func:`by_pivot`.
    """
    draws = by_pivot(draws)
    for _ in range(most):
        mean = np.zeros((draws.table.n_patterns, draws.k))
        for at in _chunks(draws):
            mean += responsibilities(draws.part(at)).sum(axis=0)
        log_mean = np.log(np.maximum(mean / len(draws), LEAST))
        order = np.empty((len(draws), draws.k), dtype=np.int64)
        for at in _chunks(draws):
            own = responsibilities(draws.part(at))
            # sum_p w_p r_pi (ln r_pi - ln q_pj): the first term is the same for every permutation
            gain = np.einsum("p,pj,dpi->dji", draws.table.weights, log_mean, own, optimize=True)
            order[at] = [linear_sum_assignment(-g)[1] for g in gain]
        if (order == np.arange(draws.k)).all():
            break
        draws = draws.permuted(order)
    return draws


def celeux(draws: ClassDraws, *, first: int = 100) -> ClassDraws:
    """Celeux, Hurn & Robert's on-line classification: nearest centre, in units of running variances.

    See [Whiley1999, section 5.3.1].
    The first draws, of one chain, set centres and variances; every further draw is permuted to be nearest to the
    centres, and updates them. The nearest of k! permutations is found as an assignment.
    """
    points = np.concatenate([draws.weights[:, :, None], draws.theta], axis=2)
    v = min(first, len(points))
    centre, variance = points[:v].mean(axis=0), np.maximum(points[:v].var(axis=0), LEAST)
    order = np.tile(np.arange(draws.k), (len(points), 1))
    for r in range(v, len(points)):
        distance = ((points[r][None] - centre[:, None]) ** 2 / variance[:, None]).sum(axis=2)
        order[r] = linear_sum_assignment(distance)[1]
        x, before = points[r][order[r]], centre
        centre = (r * before + x) / (r + 1)
        variance = (r * (variance + (before - centre) ** 2) + (x - centre) ** 2) / (r + 1)
        variance = np.maximum(variance, LEAST)
    return draws.permuted(order.astype(np.int64))


METHODS: dict[str, Callable[[ClassDraws], ClassDraws]] = {
    "stephens": stephens,
    "pivot": by_pivot,
    "weight": by_weight,
    "celeux": celeux,
}


def responsibilities(draws: ClassDraws) -> FloatArray:
    """P(class | pattern) under every draw; [draws, patterns, k]."""
    hits = _hits(draws)
    with np.errstate(divide="ignore"):
        log_theta = np.maximum(np.log(draws.theta), -1e4)
        joint = np.log(draws.weights)[:, None, :] + np.einsum("pc,dkc->dpk", hits, log_theta, optimize=True)
    joint -= joint.max(axis=2, keepdims=True)
    chance: FloatArray = np.exp(joint)
    chance /= chance.sum(axis=2, keepdims=True)
    return chance


def _hits(draws: ClassDraws) -> FloatArray:
    """1 where a pattern has a cell; [patterns, cells]."""
    codes, offsets = draws.table.codes, draws.offsets
    hits = np.zeros((len(codes), int(offsets[-1])))
    rows, columns = np.nonzero(codes >= 0)
    hits[rows, offsets[columns] + codes[rows, columns]] = 1.0
    return hits


def _chunks(draws: ClassDraws) -> list[IndexArray]:
    each = max(1, CHUNK // (draws.table.n_patterns * draws.k))
    return [np.arange(a, min(a + each, len(draws))) for a in range(0, len(draws), each)]
