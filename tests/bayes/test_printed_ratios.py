"""The study's sampler with printed ratios makes the moves that the source prints, draw by draw."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
from studies.jump_runs import FIVE_ROWS, Problem
from studies.printed_ratios import Printed, printed_posterior

from latentree import Table
from latentree.bayes import ClassPrior, Target
from latentree.bayes._chain import State, step
from latentree.bayes._gibbs import dirichlets
from latentree.bayes._reversible_jump import (
    added,
    chance_up,
    choose_pair,
    combined,
    log_birth_ratio,
    log_split_ratio,
    rest_of,
    restored,
    split_or_combine,
    without,
)
from latentree.bayes._stream import Stream


def printed_split_or_combine(target, state, stream):
    """(5.12) is right; (5.13) has the factor k where 1/(k-1) belongs."""
    ahead = stream.copy()
    if ahead.uniform() < chance_up(target, state.k):
        return split_or_combine(target, state, stream)
    stream.words = ahead.words
    j1, j2 = choose_pair(state, stream)
    split = restored(target, state, j1, j2)
    one = combined(state, split, j1, j2)
    ratio = -log_split_ratio(target, one, state, split, j1, j2) + log(state.k * (state.k - 1))
    return one if log(stream.uniform()) < ratio else state


def printed_birth_or_death(target, state, stream):
    """(5.14) and (5.15) for any prior of k: without the factor (k+1)/(k0+1)."""
    k, empty = state.k, np.flatnonzero(state.sizes == 0).tolist()
    if stream.uniform() < chance_up(target, k):
        log_rest = log(stream.uniform()) / k
        log_p = float(np.log(-np.expm1(log_rest)))
        ratio = log_birth_ratio(target, k, len(empty), log_p, log_rest) - log((k + 1) / (len(empty) + 1))
        if not log(stream.uniform()) < ratio:
            return state
        return added(state, log_p, log_rest, dirichlets(target, np.ones(target.n_cells), stream))
    if not empty:
        return state
    j = empty[stream.below(len(empty))]
    rest = rest_of(state, j)
    ratio = log(k / len(empty)) - log_birth_ratio(target, k - 1, len(empty) - 1, float(state.log_weights[j]), rest)
    if not log(stream.uniform()) < ratio:
        return state
    fewer = without(state, j)
    return replace(fewer, log_weights=fewer.log_weights - rest)


def test_the_chain_makes_the_printed_moves():
    table = Problem.drawn(3, 4, 30, np.random.default_rng(2)).table
    chain = Printed(table, 6, np.random.default_rng(1))
    target = Target.of(table, ClassPrior([1.0] * 6), split="source")
    seen = []
    for _ in range(400):
        k = chain.k
        state = State(
            chain.log_weights[:k].copy(), chain.log_theta[:k].copy(), chain.members[:k].copy(), chain.stream.copy()
        )
        after = chain.sweep()
        state = step(target, state, sweep=("weights", "parameters", "allocation"))[0]
        stream = Stream(state.stream.tolist())
        for move in (printed_split_or_combine, printed_birth_or_death):
            state = move(target, state, stream)
        seen.append(after)
        assert state.k == after and [int(w) for w in chain.stream] == [int(w) for w in stream.words]
        np.testing.assert_array_equal(state.members, chain.members[:after])
        np.testing.assert_allclose(state.log_weights, chain.log_weights[:after], rtol=1e-9)
        np.testing.assert_allclose(state.log_theta, chain.log_theta[:after], rtol=1e-9)
    assert len(set(seen)) >= 4  # jumps were made


def test_printed_ratios_believe_in_fewer_classes_than_there_are():
    """P(k = 1) of five rows is 0.11, exactly; the tests of the kernel compare it with the sum over partitions."""
    found = printed_posterior(Table.from_codes(FIVE_ROWS), 4, np.random.default_rng(0), burn=500, sweeps=6_000)
    assert found[0] > 0.3 and found[3] < 0.12
