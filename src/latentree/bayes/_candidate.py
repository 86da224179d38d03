"""Chib's candidate method: the marginal likelihood from Gibbs sampling [Whiley1999, section 4.2]."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, nan

import numpy as np
from scipy.special import gammaln, xlogy

from .._table import Table
from .._types import FloatArray, IndexArray
from ..errors import bad_parameter
from ..estimation import Fit, fit_classes
from ..infer import log_likelihood_rows
from ..runner import Budget, Clock
from ..score._mode import posterior_mode
from ._chain import SWEEPS, Info, Target, init, step, with_counts
from ._diagnostics import effective_samples
from ._posterior import ClassSummary
from ._prior import ClassPrior

MOST_CLASSES = 12
"""Relabellings are averaged over subsets of classes, 2^k of them."""

CHUNK, ROWS_AT_ONCE = 2_000, 10_000_000
"""Most sweeps between two looks at the clock, and most distinct rows times classes times sweeps."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """An estimate of ln P(D | m).

    Attributes
    ----------
    log_marginal : float
        The estimate.
    standard_error : float
        Its Monte Carlo standard error, from one run: too small if the chain has not been everywhere; nan after
        one sweep. Near 1, a single sweep decides, and the estimate is far too high.
    weights, theta : float arrays [k] and [k, cells]
        The parameters theta* it was taken at.
    n_sweeps : int
        The sweeps it is an average over: fewer than asked for if the time ran out.
    """

    log_marginal: float
    standard_error: float
    weights: FloatArray
    theta: FloatArray
    n_sweeps: int


def candidate(
    table: Table,
    n_classes: int,
    *,
    rng: np.random.Generator,
    delta1: float = 1.0,
    delta2: float = 1.0,
    at: str = "map",
    n_sweeps: int = 10_000,
    n_burn: int = 1_000,
    relabellings: bool = True,
    fit: Fit | None = None,
    budget: Budget | Clock | None = None,
) -> Candidate:
    """Estimate ln P(D | m) by P(D | theta*) P(theta*) / P(theta* | D), (4.2).

    The denominator is averaged over the sweeps of a Gibbs sampler: given a completed data set it is known.

    Parameters
    ----------
    table : Table
        The data; weights that are not counts are made so as in :func:`sample`.
    n_classes : int
        Number of classes.
    rng : numpy.random.Generator
        Source of randomness.
    delta1, delta2 : float
        Dirichlet parameters of the class sizes and of the leaves.
    at : {"map", "completion"}
        theta*: a posterior mode (Chib), or the best parameters for the completed data visited most often, the most
        probable among equals (Chickering & Heckerman). Both in the softmax basis.
    n_sweeps, n_burn : int
        Sweeps to average over, and to throw away before.
    relabellings : bool, default True
        Whether to average over all k! names of the classes, without which a sampler that never exchanges classes is
        off by ln k!.
    fit : Fit, optional
        Where to look for the mode from. Default: the best of 64 starts.
    budget : Budget or Clock, optional
        Limit of time, looked at between sweeps that are averaged; some are made in any case.

    Examples
    --------
    >>> table = Table.from_codes([[0, 0], [1, 1]], weights=[3, 1])
    >>> found = candidate(table, 1, rng=np.random.default_rng(0))
    >>> round(found.log_marginal, 6)  # 2 ln(3! 1! / 5!)
    -5.991465
    """
    if at not in ("map", "completion"):
        raise bad_parameter("at", "candidate", "'map' or 'completion'", at)
    if not 1 <= n_classes <= MOST_CLASSES:
        raise bad_parameter("n_classes", "candidate", f"a whole number from 1 to {MOST_CLASSES}", n_classes)
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    table = with_counts(table, rng)
    target = Target.of(table, ClassPrior([1.0] * n_classes, delta1, delta2))
    state = init(target, rng, k=n_classes)
    state, _ = step(target, state, sweep=SWEEPS["gibbs"], n_sweeps=n_burn, thin=n_burn + 1)
    if at == "map":
        weights, theta = _mode(target, table, n_classes, rng, fit)
    else:
        state, info = step(target, state, sweep=SWEEPS["gibbs"], n_sweeps=n_sweeps, with_counts=True)
        weights, theta = _usual_completion(target, info)
    logs: list[FloatArray] = []
    chunk = min(CHUNK, max(ROWS_AT_ONCE // (len(target.weights) * n_classes), 1))
    for done in range(0, n_sweeps, chunk):
        if logs and clock.expired:
            break
        sweeps = min(chunk, n_sweeps - done)
        state, info = step(target, state, sweep=SWEEPS["gibbs"], n_sweeps=sweeps, with_counts=True)
        logs.append(_log_conditionals(target, info, weights, theta, relabellings))
    log_density = np.concatenate(logs)
    top = float(log_density.max())
    ratio = np.exp(log_density - top)
    error = nan if len(ratio) < 2 else 0.0
    if np.ptp(ratio) > 0:
        error = float(ratio.std() / ratio.mean() / np.sqrt(effective_samples(ratio)))
    denominator = top + log(float(ratio.mean())) if top > -inf else -inf
    estimate = _log_joint(target, table, weights, theta) - denominator
    return Candidate(estimate, error, weights, theta, len(log_density))


# ---- theta* -----------------------------------------------------------------------------------------------------


def _mode(
    target: Target, table: Table, k: int, rng: np.random.Generator, fit: Fit | None
) -> tuple[FloatArray, FloatArray]:
    fit = fit_classes(table, k, rng=rng) if fit is None else fit
    names = fit.model.tree.names
    prior = {names[0]: target.prior.delta1} | dict.fromkeys(names[1:], target.prior.delta2)
    model = posterior_mode(fit, prior, "softmax").model
    return model.table(0)[0], np.hstack([model.table(v) for v in range(1, model.tree.n_nodes)])


def _usual_completion(target: Target, info: Info) -> tuple[FloatArray, FloatArray]:
    """The parameters that fit the completed data visited most often, whatever its classes are called."""
    counts = np.concatenate([info.sizes[:, :, None], info.cells], axis=2)
    k = counts.shape[1]
    for row in counts:  # one name for all relabellings of the same completed data
        row[:] = row[np.lexsort(row.T[::-1])]
    found, times = np.unique(counts.reshape(len(counts), -1), axis=0, return_counts=True)
    found = found[times == times.max()].reshape(-1, k, counts.shape[2])
    score = [_log_complete(target, own[:, 0], own[:, 1:]) for own in found]
    best = found[int(np.argmax(score))]
    weights = target.prior.delta1 + best[:, 0].astype(float)
    theta = target.prior.delta2 + best[:, 1:].astype(float)
    sums = np.add.reduceat(theta, target.offsets[:-1], axis=1)
    return weights / weights.sum(), theta / np.repeat(sums, np.diff(target.offsets), axis=1)


def _log_complete(target: Target, sizes: IndexArray, cells: IndexArray) -> float:
    """Return ln P(D' | m) of completed data, up to a constant (4.1)."""
    seen = np.add.reduceat(cells, target.offsets[:-1], axis=1)
    d1, d2 = target.prior.delta1, target.prior.delta2
    total = gammaln(d1 + sizes).sum() + gammaln(d2 + cells).sum()
    return float(total - gammaln(target.cardinalities * d2 + seen).sum())


# ---- the three factors of (4.2) ---------------------------------------------------------------------------------


def _log_joint(target: Target, table: Table, weights: FloatArray, theta: FloatArray) -> float:
    """Return ln P(D | theta*) P(theta*)."""
    k, d1, d2, r = len(weights), target.prior.delta1, target.prior.delta2, target.cardinalities
    nothing = np.empty((2, 0))
    model = ClassSummary(weights, theta, nothing, nothing, 0.0, 0, table).model()
    patterns = Table.from_codes(table.codes, table.variables)
    likelihood = float(table.weights @ log_likelihood_rows(model, patterns))
    prior = gammaln(k * d1) - k * gammaln(d1) + xlogy(d1 - 1, weights).sum()
    prior += k * (gammaln(r * d2).sum() - r.sum() * gammaln(d2)) + xlogy(d2 - 1, theta).sum()
    return likelihood + float(prior)


def _log_conditionals(
    target: Target, info: Info, weights: FloatArray, theta: FloatArray, relabellings: bool
) -> FloatArray:
    """Return ln P(theta* | D') for every completed data set D', averaged over the names of the classes if asked."""
    d1, d2, k = target.prior.delta1, target.prior.delta2, len(weights)
    sizes, cells = info.sizes.astype(float), info.cells.astype(float)
    seen = np.add.reduceat(cells, target.offsets[:-1], axis=2)
    shared = gammaln(k * d1 + target.n) - gammaln(d1 + sizes).sum(axis=1)
    shared += gammaln(target.cardinalities * d2 + seen).sum(axis=(1, 2)) - gammaln(d2 + cells).sum(axis=(1, 2))
    with np.errstate(divide="ignore"):
        log_weights, log_theta = np.log(weights), np.log(theta)
    # [draws, class of theta*, class of D']
    match = (d1 - 1 + sizes)[:, None, :] * log_weights[None, :, None]
    match += np.einsum("ic,djc->dij", log_theta, d2 - 1 + cells)
    if not relabellings:
        density: FloatArray = shared + np.trace(match, axis1=1, axis2=2)
        return density
    density = shared + _log_permanent(match) - gammaln(k + 1)
    return density


def _log_permanent(match: FloatArray) -> FloatArray:
    """Return ln of the sum over permutations s of exp(sum_i match[i, s(i)]), by subsets: nothing cancels."""
    n, k, _ = match.shape
    total: dict[int, FloatArray] = {0: np.zeros(n)}
    for subset in range(1, 2**k):
        members = [i for i in range(k) if subset >> i & 1]
        terms = [total[subset & ~(1 << i)] + match[:, i, len(members) - 1] for i in members]
        total[subset] = np.logaddexp.reduce(terms, axis=0)
    return total[2**k - 1]
