"""Gibbs sampling with a fixed number of classes in NumPy, slow and obvious.

These are moves (a) to (c) of [Whiley1999, section 5.2.1].
The kernels do the same, with the same random numbers; tests compare them draw by draw. For work, use
:func:`latentree.bayes.sample`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._types import FloatArray, IndexArray
from ._chain import State, Target
from ._stream import Stream


def update_weights(target: Target, state: State, stream: Stream) -> State:
    """(a) p | ... ~ Dirichlet(delta1 + N_1, ..., delta1 + N_k)."""
    return replace(state, log_weights=stream.dirichlet(np.float64(target.prior.delta1) + state.sizes))


def update_parameters(target: Target, state: State, stream: Stream) -> State:
    """(b) theta_ij | ... ~ Dirichlet(delta2 + N_ij1, ..., delta2 + N_ijr)."""
    counts = cell_counts(target, state.members)
    return replace(state, log_theta=np.array([dirichlets(target, target.prior.delta2 + own, stream) for own in counts]))


def update_allocation(target: Target, state: State, stream: Stream) -> State:
    """(c) P(z_l = j | ...) proportional to p_j f(y_l | theta_j): the copies of a pattern by one multinomial draw."""
    members = np.zeros((state.k, len(target.weights)), dtype=np.int64)
    joint = state.log_weights[:, None] + log_densities(target, state.log_theta)
    for p, left in enumerate(target.weights.tolist()):
        chance = np.exp(joint[:, p] - joint[:, p].max())
        for j in range(state.k):
            rest = chance[j + 1 :].sum()
            if rest <= 0.0:
                members[j, p] = left
                break
            if left:
                members[j, p] = stream.binomial(left, chance[j] / (chance[j] + rest))
                left -= members[j, p]
    return replace(state, members=members)


def dirichlets(target: Target, alpha: FloatArray, stream: Stream) -> FloatArray:
    """Return the logarithms of one Dirichlet variate for each variable."""
    parts = zip(target.offsets[:-1], target.offsets[1:], strict=True)
    return np.concatenate([stream.dirichlet(alpha[a:b]) for a, b in parts])


def cell_counts(target: Target, members: IndexArray) -> IndexArray:
    """N_ijx: how often each class has each value; [k, cells]."""
    counts = np.zeros((len(members), target.n_cells), dtype=np.int64)
    for i, column in enumerate(target.codes.T):
        seen = column >= 0
        for j in range(len(members)):
            np.add.at(counts[j], target.offsets[i] + column[seen], members[j, seen])
    return counts


def log_densities(target: Target, log_theta: FloatArray) -> FloatArray:
    """Return ln f(y | theta_j) of every class and pattern, missing cells left out; [k, patterns]."""
    out = np.zeros((len(log_theta), len(target.weights)))
    for i, column in enumerate(target.codes.T):
        seen = column >= 0
        out[:, seen] += log_theta[:, target.offsets[i] + column[seen]]
    return out


def log_likelihood(target: Target, state: State) -> float:
    """Return ln P(y | p, theta), the allocation summed out [Whiley1999, section 5.4]."""
    joint = state.log_weights[:, None] + log_densities(target, state.log_theta)
    return float(target.weights @ np.logaddexp.reduce(joint, axis=0))
