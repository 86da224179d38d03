"""Reversible jump over the number of classes in NumPy, slow and obvious.

These are moves (d) and (e) of [Whiley1999, section 5.2.1].
The acceptance ratios are those of docs/mathematics/reversible-jump.md; the ones printed in the source are wrong. The
kernels do the same, with the same random numbers; tests compare them draw by draw.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, expm1, inf, log, log1p, pi

import numpy as np
from scipy.special import gammaln

from .._types import FloatArray
from ._chain import State, Target
from ._gibbs import cell_counts, dirichlets, log_densities
from ._stream import Stream


def log_joint(target: Target, state: State) -> float:
    """Return the logarithm of P(k) P(p | k) P(theta | k) P(z | p) P(y | theta, z), (5.7)."""
    d1, k = target.prior.delta1, state.k
    counts = cell_counts(target, state.members)
    weights = gammaln(k * d1) - k * gammaln(d1) + (d1 - 1 + state.sizes) @ state.log_weights
    prior = sum(log_theta_prior(target, theta) for theta in state.log_theta)
    return float(target.prior.log_k[k - 1] + weights + prior + (counts * state.log_theta).sum())


def log_theta_prior(target: Target, log_theta: FloatArray) -> float:
    """Return ln pi(theta_j): one Dirichlet(delta2, ..., delta2) for each variable."""
    d2, r = target.prior.delta2, target.cardinalities
    return float(gammaln(r * d2).sum() - r.sum() * gammaln(d2) + (d2 - 1) * log_theta.sum())


def chance_up(target: Target, k: int) -> float:
    """b_k: the chance that a jump tries to make a class more; d_k = 1 - b_k."""
    return 0.0 if k == target.max_classes else 1.0 if k == 1 else 0.5


# ---- split and combine ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Split:
    """One class and the two it is split into: u1, ln p*, and ln theta of *, 1 and 2."""

    log_u: float
    log_v: float
    log_p: float
    one: FloatArray
    first: FloatArray
    second: FloatArray


def propose_split(target: Target, log_p: float, one: FloatArray, stream: Stream) -> Split | None:
    """Draw u and split a class; None if a probability leaves (0, 1)."""
    u = stream.uniform()
    log_u, log_v = log(u), log1p(-u)
    make = _on_the_simplex if target.jumps.split == "simplex" else _as_the_source
    parts = [make(target, u, one[a:b], stream) for a, b in _leaves(target)]
    first, second = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return None
    return Split(log_u, log_v, log_p, one, first, second)


def _leaves(target: Target) -> list[tuple[int, int]]:
    return list(zip(target.offsets[:-1].tolist(), target.offsets[1:].tolist(), strict=True))


def _on_the_simplex(target: Target, u: float, one: FloatArray, stream: Stream) -> tuple[FloatArray, FloatArray]:
    """Multiply by factors: theta1_x prop. to theta*_x exp((1-u) e_x), theta2_x to theta*_x exp(-u e_x)."""
    e = target.jumps.scale * np.array([stream.normal() for _ in one])
    first, second = one + (1 - u) * e, one - u * e
    return first - np.logaddexp.reduce(first), second - np.logaddexp.reduce(second)


def _as_the_source(target: Target, u: float, one: FloatArray, stream: Stream) -> tuple[FloatArray, FloatArray]:
    """theta1_x = u2/u1 theta*_x, theta2_x = (1-u2)/(1-u1) theta*_x for all states but the first, which has the rest."""
    w = np.array([stream.uniform() for _ in one[1:]])
    first, second = w / u * np.exp(one[1:]), (1 - w) / (1 - u) * np.exp(one[1:])
    with np.errstate(divide="ignore"):
        return (
            np.log(np.concatenate([[max(1 - first.sum(), 0.0)], first])),
            np.log(np.concatenate([[max(1 - second.sum(), 0.0)], second])),
        )


def restored(target: Target, state: State, j1: int, j2: int) -> Split:
    """Find the class that two come from: the opposite of :func:`propose_split`."""
    log_p = float(np.logaddexp(state.log_weights[j1], state.log_weights[j2]))
    log_u, log_v = state.log_weights[j1] - log_p, state.log_weights[j2] - log_p
    first, second = state.log_theta[j1], state.log_theta[j2]
    if target.jumps.split == "simplex":
        one = exp(log_u) * first + exp(log_v) * second
    else:
        one = np.logaddexp(log_u + first, log_v + second)
    for a, b in _leaves(target):
        one[a:b] -= np.logaddexp.reduce(one[a:b])
    return Split(float(log_u), float(log_v), log_p, one, first, second)


def log_proposal(target: Target, split: Split) -> float:
    """Return ln q(u): uniform in the source; on the simplex normal in v = ln(th1_x/th1_r) - ln(th2_x/th2_r), x < r."""
    if target.jumps.split == "source":
        return 0.0
    total, s2 = 0.0, target.jumps.scale**2
    for a, b in _leaves(target):
        r, difference = b - a, split.first[a:b] - split.second[a:b]
        v = (difference - difference[-1])[:-1]
        total -= (r - 1) / 2 * log(2 * pi * s2) + log(r) / 2 + (v @ v - v.sum() ** 2 / r) / (2 * s2)
    return total


def log_jacobian(target: Target, split: Split) -> float:
    """Return ln |J| of (p*, u1, theta*, u2) -> (p1, p2, theta1, theta2)."""
    if target.jumps.split == "simplex":
        return split.log_p + float((split.first + split.second - split.one).sum())
    moved = np.concatenate([np.arange(a + 1, b) for a, b in _leaves(target)])
    return split.log_p + float((split.one[moved] - split.log_u - split.log_v).sum())


def log_split_ratio(target: Target, one: State, two: State, split: Split, j1: int, j2: int) -> float:
    """Return ln A_S between a state of k classes and one of k+1, in which j1 and j2 are the two: (5.8), corrected."""
    k = one.k
    joint = log_joint(target, two) - log_joint(target, one)
    chances = log(1 - chance_up(target, k + 1)) - log(chance_up(target, k))
    allocation = _log_allocation(target, two, split, j1, j2)
    return joint + chances - allocation - log_proposal(target, split) + log_jacobian(target, split)


def _log_allocation(target: Target, two: State, split: Split, j1: int, j2: int) -> float:
    """Return ln P_alloc: every member goes to one of the two with probability proportional to p_c f(y | theta_c)."""
    scores = np.array([[split.log_u], [split.log_v]])
    scores = scores + log_densities(target, np.stack([split.first, split.second]))
    scores = scores - np.logaddexp.reduce(scores, axis=0)
    return float((two.members[[j1, j2]] * scores).sum())


def _allocated(target: Target, state: State, split: Split, j: int, stream: Stream) -> State:
    """The state of k+1 classes: the two at j and at the end, their members allocated at random."""
    first, second = log_densities(target, np.stack([split.first, split.second]))
    stay = np.zeros(len(target.weights), dtype=np.int64)
    for p, m in enumerate(state.members[j].tolist()):
        if m:
            odds = split.log_v - split.log_u + second[p] - first[p]
            stay[p] = stream.binomial(m, 1 / (1 + np.exp(odds)))
    members = np.vstack([state.members, state.members[j] - stay])
    members[j] = stay
    return replace(doubled(state, split, j), members=members)


def doubled(state: State, split: Split, j: int) -> State:
    """The two take the place of the one and the place after the last; members are left as they are."""
    weights = np.append(state.log_weights, split.log_p + split.log_v)
    theta = np.vstack([state.log_theta, split.second])
    weights[j], theta[j] = split.log_p + split.log_u, split.first
    return replace(state, log_weights=weights, log_theta=theta)


def combined(state: State, split: Split, j1: int, j2: int) -> State:
    """The state of k-1 classes: the one at j1, the last in the place of j2."""
    weights, theta, members = state.log_weights.copy(), state.log_theta.copy(), state.members.copy()
    weights[j1], theta[j1] = split.log_p, split.one
    members[j1] += members[j2]
    return without(replace(state, log_weights=weights, log_theta=theta, members=members), j2)


def without(state: State, j: int) -> State:
    """The state without a class; the last takes its place."""
    order = list(range(state.k - 1))
    if j < state.k - 1:
        order[j] = state.k - 1
    return replace(
        state, log_weights=state.log_weights[order], log_theta=state.log_theta[order], members=state.members[order]
    )


def split_or_combine(target: Target, state: State, stream: Stream) -> State:
    """(d) Split a class, or combine two."""
    if target.max_classes == 1:
        return state
    if stream.uniform() < chance_up(target, state.k):
        return _split(target, state, stream)
    j1, j2 = choose_pair(state, stream)
    split = restored(target, state, j1, j2)
    one = combined(state, split, j1, j2)
    return one if log(stream.uniform()) < -log_split_ratio(target, one, state, split, j1, j2) else state


def choose_pair(state: State, stream: Stream) -> tuple[int, int]:
    """Choose two classes, all pairs alike."""
    a, b = stream.below(state.k), stream.below(state.k - 1)
    b += b >= a
    return min(a, b), max(a, b)


def _split(target: Target, state: State, stream: Stream) -> State:
    j = stream.below(state.k)
    split = propose_split(target, float(state.log_weights[j]), state.log_theta[j], stream)
    if split is None:
        return state
    # The kernel decides first and allocates then, since the ratio is the same for every allocation; so here the
    # allocation is drawn ahead from a copy.
    ahead = stream.copy()
    ahead.uniform()
    two = _allocated(target, state, split, j, ahead)
    if not log(stream.uniform()) < log_split_ratio(target, state, two, split, j, state.k):
        return state
    stream.words = ahead.words
    return two


def log_split_terms(target: Target, split: Split, k: int) -> float:
    """Return ln A_S from k to k+1 classes without the data: priors, chances, proposal, Jacobian."""
    d1 = target.prior.delta1
    prior = target.prior.log_k[k] - target.prior.log_k[k - 1] + gammaln((k + 1) * d1) - gammaln(d1) - gammaln(k * d1)
    prior += (d1 - 1) * (split.log_u + split.log_v + split.log_p)
    theta = sum(log_theta_prior(target, x) for x in (split.first, split.second)) - log_theta_prior(target, split.one)
    chances = log(1 - chance_up(target, k + 1)) - log(chance_up(target, k))
    return float(prior + theta + chances - log_proposal(target, split) + log_jacobian(target, split))


# ---- birth and death --------------------------------------------------------------------------------------------


def log_birth_ratio(target: Target, k: int, empty: int, log_p: float, log_rest: float) -> float:
    """Return ln A_B from k classes, some of them empty, to k+1: (5.10) with the choice of the empty class."""
    d1, log_k = target.prior.delta1, target.prior.log_k
    weights = gammaln((k + 1) * d1) - gammaln(k * d1) - gammaln(d1)
    weights += (d1 - 1) * log_p + (target.n + k * (d1 - 1)) * log_rest
    chances = log(1 - chance_up(target, k + 1)) - log(chance_up(target, k))
    return float(log_k[k] - log_k[k - 1] + weights + chances + log((k + 1) / (k * (empty + 1))))


def birth_or_death(target: Target, state: State, stream: Stream) -> State:
    """(e) Add an empty class, or remove one."""
    if target.max_classes == 1:
        return state
    empty = np.flatnonzero(state.sizes == 0).tolist()
    if stream.uniform() < chance_up(target, state.k):
        return _birth(target, state, len(empty), stream)
    if not empty:
        return state
    j = empty[stream.below(len(empty))]
    log_rest = rest_of(state, j)
    ratio = -log_birth_ratio(target, state.k - 1, len(empty) - 1, float(state.log_weights[j]), log_rest)
    if not log(stream.uniform()) < ratio:
        return state
    fewer = without(state, j)
    return replace(fewer, log_weights=fewer.log_weights - log_rest)


def _birth(target: Target, state: State, empty: int, stream: Stream) -> State:
    log_rest = log(stream.uniform()) / state.k  # 1 - p*, p* ~ Beta(1, k)
    log_p = log(-expm1(log_rest))
    if not log(stream.uniform()) < log_birth_ratio(target, state.k, empty, log_p, log_rest):
        return state
    theta = dirichlets(target, np.full(target.n_cells, float(target.prior.delta2)), stream)
    return added(state, log_p, log_rest, theta)


def added(state: State, log_p: float, log_rest: float, theta: FloatArray) -> State:
    """The state with a class more, without members."""
    return replace(
        state,
        log_weights=np.append(state.log_weights + log_rest, log_p),
        log_theta=np.vstack([state.log_theta, theta]),
        members=np.vstack([state.members, np.zeros_like(state.members[:1])]),
    )


def rest_of(state: State, j: int) -> float:
    """Return ln (1 - p_j), from the others: the difference may be rounding only."""
    others = np.delete(state.log_weights, j)
    return float(np.logaddexp.reduce(others)) if len(others) else -inf
