"""Reversible jump with the allocation integrated out, in NumPy: slow and obvious.

Jumps are judged by the likelihood of the mixture, so a birth need not be empty nor a death meet an empty class; the
number of empty classes is drawn exactly. See docs/mathematics/reversible-jump.md. The kernels do the same, with the
same random numbers; tests compare them draw by draw.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, expm1, log

import numpy as np
from scipy.special import gammaln

from .._types import FloatArray
from ._chain import State, Target
from ._gibbs import dirichlets, log_densities, log_likelihood
from ._reversible_jump import (
    added,
    chance_up,
    choose_pair,
    combined,
    doubled,
    log_split_terms,
    propose_split,
    rest_of,
    restored,
    without,
)
from ._stream import Stream


def jump(target: Target, state: State, stream: Stream) -> State:
    """Some jumps of both kinds. The members do not fit any more: the allocation must be drawn next."""
    if target.max_classes == 1:
        return state
    for _ in range(target.jumps.tries):
        state = _birth_or_death(target, _split_or_combine(target, state, stream), stream)
    return state


def _accepted(target: Target, before: State, after: State, log_terms: float, stream: Stream) -> State:
    ratio = log_likelihood(target, after) - log_likelihood(target, before) + log_terms
    return after if log(stream.uniform()) < ratio else before


def _split_or_combine(target: Target, state: State, stream: Stream) -> State:
    if stream.uniform() < chance_up(target, state.k):
        j = stream.below(state.k)
        split = propose_split(target, float(state.log_weights[j]), state.log_theta[j], stream)
        if split is None:
            return state
        two = replace(doubled(state, split, j), members=np.vstack([state.members, state.members[:1]]))
        return _accepted(target, state, two, log_split_terms(target, split, state.k), stream)
    j1, j2 = choose_pair(state, stream)
    split = restored(target, state, j1, j2)
    one = combined(state, split, j1, j2)
    return _accepted(target, state, one, -log_split_terms(target, split, state.k - 1), stream)


def _birth_or_death(target: Target, state: State, stream: Stream) -> State:
    if stream.uniform() < chance_up(target, state.k):
        b = state.k if stream.uniform() < 0.5 else target.jumps.small
        log_rest = log(stream.uniform()) / b  # 1 - p*, p* ~ Beta(1, b)
        log_p = log(-expm1(log_rest))
        theta = _drawn(target, stream)
        more = added(state, log_p, log_rest, theta)
        terms = log_birth_terms(target, state.k, log_p, log_rest) + log_prior_over_proposal(target, theta)
        return _accepted(target, state, more, terms, stream)
    j = stream.below(state.k)
    log_rest = rest_of(state, j)
    fewer = without(state, j)
    fewer = replace(fewer, log_weights=fewer.log_weights - log_rest)
    terms = log_birth_terms(target, state.k - 1, float(state.log_weights[j]), log_rest)
    terms += log_prior_over_proposal(target, state.log_theta[j])
    return _accepted(target, state, fewer, -terms, stream)


def log_birth_terms(target: Target, k: int, log_p: float, log_rest: float) -> float:
    """Return ln A_B from k to k+1 classes without data and theta. Any class may die: its choice cancels."""
    d1, log_k, small = target.prior.delta1, target.prior.log_k, target.jumps.small
    weights = gammaln((k + 1) * d1) - gammaln(k * d1) - gammaln(d1) + (d1 - 1) * log_p + k * (d1 - 1) * log_rest
    proposal = log(0.5) + np.logaddexp(log(k) + (k - 1) * log_rest, log(small) + (small - 1) * log_rest)
    chances = log(1 - chance_up(target, k + 1)) - log(chance_up(target, k))
    return float(log_k[k] - log_k[k - 1] + weights + chances - proposal + (k - 1) * log_rest)


def _drawn(target: Target, stream: Stream) -> FloatArray:
    """The parameters of a new class: from the prior, or from the prior after seeing a row."""
    alpha = np.full(target.n_cells, float(target.prior.delta2))
    if target.n and stream.uniform() < 0.5:
        row = stream.below(target.n)
        codes = target.codes[np.searchsorted(np.cumsum(target.weights), row, side="right")]
        alpha[target.offsets[:-1][codes >= 0] + codes[codes >= 0]] += target.jumps.informed
    return dirichlets(target, alpha, stream)


def log_prior_over_proposal(target: Target, theta: FloatArray) -> float:
    """Return ln pi(theta) / q(theta) of what :func:`_drawn` draws."""
    if not target.n:
        return 0.0
    c, d2, r = target.jumps.informed, target.prior.delta2, target.cardinalities
    changed = gammaln(r * d2 + c) - gammaln(r * d2) + gammaln(d2) - gammaln(d2 + c)
    seen = (target.codes >= 0) @ changed + c * log_densities(target, theta[None])[0]
    informed = np.logaddexp.reduce(np.log(target.weights / target.n) + seen)
    return float(log(2) - np.logaddexp(0.0, informed))


def log_k_given(target: Target, t: int) -> FloatArray:
    """Return ln P(k | partition into t classes), k = 1 ... kmax; weights and parameters integrated out."""
    d1, k = target.prior.delta1, np.arange(1, target.max_classes + 1)
    ways = np.where(k >= t, gammaln(k + 1) - gammaln(np.maximum(k - t, 0) + 1), -np.inf)
    total = target.prior.log_k + ways + gammaln(k * d1) - gammaln(k * d1 + target.n)
    given: FloatArray = total - np.logaddexp.reduce(total)
    return given


def update_n_classes(target: Target, state: State, stream: Stream) -> State:
    """Draw k given the partition; weights and parameters must be drawn next."""
    members = state.members[state.sizes > 0]
    t, chance = len(members), log_k_given(target, len(members))
    k, left = max(t, 1), stream.uniform()
    while k < target.max_classes:
        left -= exp(chance[k - 1])
        if left <= 0.0:
            break
        k += 1
    empty = np.zeros((k - t, members.shape[1]), dtype=np.int64)
    return State(np.full(k, -log(k)), np.zeros((k, target.n_cells)), np.vstack([members, empty]), state.stream)
