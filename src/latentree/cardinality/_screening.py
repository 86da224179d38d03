"""Which states to split and which to merge, from bounds on the log-likelihood ([Karciauskas2005] 8: promising states).

Let r_s(d) be the posterior of state s for row d, and keep it fixed. By Jensen's inequality, replacing state s by two
states changes the log-likelihood by at least

    gain_s = LL(D_s | two) - LL(D_s | one),

where D_s are the data weighted by r_s: |D_s| times the fall of Karciauskas' KL divergence between state and data.
Merging a and b changes it by at least

    loss_ab = sum_d w (r_a + r_b) log P(d, merged) - sum_d w (r_a + r_b) log P(d, a or b),

where the merged profiles are the expected counts of both (for observed neighbours that is the maximum, in closed form).
Changes of different states add up. So all splits, all merges, and all pairs of a split and a merge are ranked without
EM on the whole data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ..engine._plan import Evidence
from ._neighbourhood import Neighbourhood, posterior_of
from ._states import States, blocks_of, flat_states, xlogx
from ._task import Task

SHARE = 0.3
"""How much a half follows the row it is built around at the start; the rest is the state's own profile."""

SAME = 0.02
"""A state none of whose probabilities moved by more is not split anew."""

PRESENT = 1e-6
"""A state with a smaller posterior has nothing to do with a row."""


@dataclass(frozen=True, eq=False)
class Screen:
    """What splits and merges of the states of a node promise: bounds on changes of the log-likelihood."""

    states: States
    halves: dict[int, States]  # the two states that would replace each
    gains: FloatArray  # of splitting each; minus infinity where nothing can be split
    losses: FloatArray  # [k, k], of merging two, above the diagonal; elsewhere minus infinity

    def split(self, state: int) -> States:
        """The states with one of them split."""
        return self.states.replace(state, self.halves[state])


def screen(
    task: Task,
    star: Neighbourhood,
    states: States,
    rng: np.random.Generator,
    *,
    n_init: int = 8,
    before: Screen | None = None,
) -> Screen:
    """Rank all splits (partial EM on the data of each state) and all merges (in closed form).

    States that were there in nearly the same form ``before`` are not split anew.
    """
    log_joint = star.log_joint(states)
    log_row = np.logaddexp.reduce(log_joint, axis=1)
    posterior = posterior_of(log_joint)
    known = {} if before is None else _unchanged(states, before.states)
    halves, gains = {}, np.full(states.n, -np.inf)
    for s in range(states.n):
        if before is not None and s in known:
            if known[s] in before.halves:
                halves[s], gains[s] = before.halves[known[s]], before.gains[known[s]]
            continue
        weights = star.weights * posterior[:, s]
        data = star.share(weights)
        if len(data.weights) < 2 or states.n >= task.max_states:
            continue
        near_rows = around_rows(data, states.profiles[s], rng, 2 * n_init)  # pairs of states
        starts = flat_states(np.full((n_init, 2), 0.5), near_rows.reshape(n_init, 2, -1), data.widths)
        two, likelihood = task.fit_states(data, starts, tol=0.1, max_iterations=60)
        own = np.flatnonzero(weights > 0)
        one = float(weights[own] @ (log_joint[own, s] - np.log(states.sizes[s])))
        halves[s], gains[s] = two, likelihood - one
    return Screen(states, halves, gains, merge_losses(star, states, posterior, log_row))


def _unchanged(states: States, before: States) -> dict[int, int]:
    """Which states were there before, and where: no probability differs by more than 0.02, nor the size by a tenth."""
    out = {}
    for s in range(states.n):
        same = np.abs(before.profiles - states.profiles[s]).max(axis=1) < SAME
        same &= np.abs(before.sizes - states.sizes[s]) < 0.1 * states.sizes[s]
        if same.any():
            out[s] = int(np.argmax(same))
    return out


def around_rows(data: Neighbourhood, profile: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
    """Profiles that follow a row of the data each, and otherwise the profile given."""
    rows = rng.choice(len(data.weights), size=n, p=data.weights / data.weights.sum())
    return following(data, profile, rows)


def following(data: Neighbourhood, profile: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
    """A profile for each of these rows: it follows the row, and otherwise the profile given."""
    seen, known = data.indicators(rows)
    own = np.maximum(profile, 1e-6)  # no value is ruled out from the start
    near = np.where(known, SHARE * seen + (1 - SHARE) * own, own)
    sums = np.add.reduceat(near, data.begin, axis=1)
    out: FloatArray = near / np.repeat(sums, data.widths, axis=1)
    return out


def merge_losses(star: Neighbourhood, states: States, posterior: FloatArray, log_row: FloatArray) -> FloatArray:
    """Bounds on what merging each pair of states changes in the log-likelihood; see the head of this module."""
    k, w = states.n, star.weights
    losses = np.full((k, k), -np.inf)
    if k == 1:
        return losses
    counts = States.of(star.plan(k).evaluate(states.flat).vector, states.widths)
    soft = [(e, _by_id(e, w, posterior)) for e in star.evidence if e.likelihood is not None]
    at_row = (w * np.nan_to_num(log_row, neginf=0.0)) @ posterior
    entropy = w @ xlogx(posterior)
    for a in range(k - 1):
        others = slice(a + 1, k)
        # sum_d w r log r with r = r_a + r_b differs from that of b alone only where a is present
        here = np.flatnonzero(posterior[:, a] > PRESENT)
        r_a, r_b = posterior[here, a, None], posterior[here, others]
        both = entropy[others] + w[here] @ (xlogx(r_a + r_b) - xlogx(r_b))
        size = counts.sizes[a] + counts.sizes[others]
        best = xlogx(size) - size * np.log(w.sum())
        best += _profile_terms(star, soft, counts.profiles[a] + counts.profiles[others], a, others)
        losses[a, others] = best - (at_row[a] + at_row[others] + both)
    return losses


def _by_id(e: Evidence, weights: FloatArray, posterior: FloatArray) -> FloatArray:
    """How much of each sub-pattern of a frozen branch belongs to each state."""
    out = np.zeros((len(e.likelihood), posterior.shape[1]))  # type: ignore[arg-type]
    np.add.at(out, e.ids, weights[:, None] * posterior)
    return out


def _profile_terms(
    star: Neighbourhood, soft: list[tuple[Evidence, FloatArray]], merged: FloatArray, a: int, others: slice
) -> FloatArray:
    """Log-likelihood of what is seen of the neighbours, the merged states having their expected counts as profiles."""
    sums = np.add.reduceat(merged, star.begin, axis=1)
    out: FloatArray = xlogx(merged).sum(axis=1) - xlogx(sums).sum(axis=1)
    blocks = blocks_of(star.widths) if soft else []
    for e, mass in soft:
        own = merged[:, blocks[e.node - 1]]
        total = own.sum(axis=1, keepdims=True)
        out -= xlogx(own).sum(axis=1) - xlogx(total[:, 0])  # what a frozen branch shows is not its state
        with np.errstate(divide="ignore"):
            log_p = np.log(np.asarray(e.likelihood) @ (own / np.maximum(total, 1e-300)).T)
        if e.log_scale is not None:
            log_p += e.log_scale[:, None]
        together = mass[:, a, None] + mass[:, others]
        out += np.where(together > 0, together * np.where(together > 0, log_p, 0.0), 0.0).sum(axis=0)
    return out
