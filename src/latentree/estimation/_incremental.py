"""Incremental EM and its kin (W 2.3; Neal & Hinton 1998): E-steps for a part of the data, or a part of the states.

All but Nowlan's climb the free energy F = E_q log P(x) + H(q) in turn over q, the guess at what is hidden, and the
parameters; with q the posterior everywhere F is the log-likelihood. What is traced is F.

A visit takes a block of patterns: equal rows share their posterior, so that a weight means repetition, and blocks of
many patterns share sub-patterns as the engine does (Thiesson, Meek & Heckerman 2001). Blocks are made by what the
patterns hold, not by the order of the data.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._model import Model
from .._table import Table
from .._types import FloatArray
from ..engine._plan import Evidence, Plan
from ..errors import bad_parameter
from ..runner import Budget, Clock, OnProgress, StopReason, run
from ._ascent import ProgressReporter, clock_of, fitted, started
from ._classes import order_of_rows
from ._em import ITERATIONS, TOLERANCE, check_limits
from ._fit import Basis, Fit, Held, Prior
from ._surface import Point, Surface

__all__ = ["BLOCKS", "incremental", "nowlan", "preferential", "sparse"]

BLOCKS = 16
"""Most blocks unless more are asked for; with fewer patterns, each is a block. More save few sweeps and cost time."""


def incremental(model: Model, table: Table, *, n_blocks: int | None = None, **options: Any) -> Fit:
    """Incremental EM: one block's posterior at a time, exact statistics kept.

    Parameters
    ----------
    model, table
        Start and data.
    n_blocks : int, optional
        Blocks of patterns; as many as patterns is W's algorithm. Default: that, but at most 16.
    **options
        Those of :func:`latentree.estimation.estimate`. A step is a sweep: as many visits as blocks.
    """
    return _climb(model, table, "incremental", lambda surface: _Incremental(surface, table, n_blocks, False), **options)


def preferential(model: Model, table: Table, *, n_blocks: int | None = None, **options: Any) -> Fit:
    """Incremental EM that visits first what has yet to settle; parameters as in :func:`incremental`."""
    return _climb(model, table, "preferential", lambda surface: _Incremental(surface, table, n_blocks, True), **options)


def sparse(model: Model, table: Table, *, plausible: float = 0.01, every: int = 5, **options: Any) -> Fit:
    """Sparse EM: between whole E-steps only the plausible states of each row are looked at again.

    Parameters
    ----------
    model, table
        Start and data.
    plausible : float
        Least posterior probability at which a latent state counts as plausible for a row.
    every : int
        One E-step in this many is whole.
    **options
        Those of :func:`latentree.estimation.estimate`.
    """
    if not 0 < plausible < 1:
        raise bad_parameter("plausible", "estimate", "a number between 0 and 1", plausible)
    if int(every) != every or every < 1:
        raise bad_parameter("every", "estimate", "a whole number of at least 1", every)
    return _climb(model, table, "sparse", lambda surface: _Sparse(surface, plausible, int(every)), **options)


def nowlan(
    model: Model, table: Table, *, decay: float | None = None, n_blocks: int | None = None, **options: Any
) -> Fit:
    """Nowlan's variant: statistics that decay. Quick at first; it does not converge to the maximum.

    Parameters
    ----------
    model, table
        Start and data.
    decay : float, optional
        What an observation leaves of the statistics before it (W's lambda). Default: 1 - 1/(4 N), a
        memory of four data sets.
    n_blocks : int, optional
        As in :func:`incremental`.
    **options
        Those of :func:`latentree.estimation.estimate`. The best sweep is returned; it ends when three have not been
        better by ``tol``. The trace is the objective after every sweep, and may fall.
    """
    if decay is not None and not 0 < decay < 1:
        raise bad_parameter("decay", "estimate", "a number between 0 and 1, or None", decay)
    return _climb(model, table, "nowlan", lambda surface: _Nowlan(surface, table, n_blocks, decay), **options)


# ---- the loop -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _State:
    """Parameters, the method's objective there, and what it remembers."""

    parameters: FloatArray
    objective: float
    memory: Any
    point: Point | None = None  # whole E-step at the parameters, if there was one
    finished: bool = False


class _Partial:
    """A method with partial E-steps."""

    surface: Surface
    climbs = True

    def begin(self, point: Point) -> _State:
        raise NotImplementedError

    def step(self, state: _State, tol: float) -> _State:
        raise NotImplementedError


def _climb(
    model: Model,
    table: Table,
    name: str,
    make: Callable[[Surface], _Partial],
    *,
    prior: Prior = None,
    basis: Basis = "probability",
    held: Held = (),
    tol: float = TOLERANCE,
    max_iterations: int = ITERATIONS,
    budget: Budget | Clock | None = None,
    n_jobs: int = 1,
    on_progress: OnProgress | None = None,
    plan: Plan | None = None,
) -> Fit:
    began = time.perf_counter()
    check_limits(tol, max_iterations, n_jobs)
    clock = clock_of(budget)
    plan = plan or Plan.of(model, table)
    surface = Surface(plan, model.parameters, prior=prior, basis=basis, held=held, n_jobs=n_jobs)
    method = make(surface)
    point = started(surface, model.parameters)
    trace = [point.objective]
    if not np.isfinite(point.objective):
        return fitted(point, model, table, StopReason.IMPOSSIBLE, trace, began)
    told = ProgressReporter(name, max_iterations, clock, on_progress)

    def step(state: _State) -> tuple[_State, None]:
        after = method.step(state, tol)
        trace.append(after.objective)
        return after, None

    def done(state: _State, info: None) -> StopReason | None:
        told(len(trace) - 1, state.objective)
        if state.finished:
            return StopReason.CONVERGED
        return StopReason.ITERATIONS if len(trace) > max_iterations else None

    end = run(method.begin(point), step, budget=clock, done=done)
    last = end.state.point or surface.at(end.state.parameters)
    trace = trace[: end.steps + 1]
    if method.climbs:  # a whole E-step lifts the free energy to the objective itself
        trace[-1] = max(last.objective, trace[-1])
    return fitted(last, model, table, end.reason, trace, began)


def _settled(surface: Surface, state: _State, gain: float, tol: float) -> _State:
    """When a sweep gains little, look with a whole E-step whether that is because the climb is over."""
    if gain >= tol:
        return state
    point = surface.at(state.parameters)
    return replace(state, point=point, finished=point.promise < tol)


def _log(parameters: FloatArray) -> FloatArray:
    return np.log(np.where(parameters > 0, parameters, 1.0))


# ---- some patterns at a time --------------------------------------------------------------------------------


def _blocks(surface: Surface, table: Table, n_blocks: int | None) -> list[Plan]:
    n = table.n_patterns
    if n_blocks is not None and (int(n_blocks) != n_blocks or n_blocks < 1):
        raise bad_parameter("n_blocks", "estimate", "a whole number of at least 1, or None", n_blocks)
    pieces = np.array_split(order_of_rows(table), min(n, BLOCKS if n_blocks is None else int(n_blocks)))
    whole = surface.plan
    assert isinstance(whole, Plan)
    return [
        Plan(whole.tree, [replace(e, ids=e.ids[rows]) for e in whole.evidence], whole.weights[rows]) for rows in pieces
    ]


@dataclass(frozen=True)
class _Sums:
    """Expected counts and H(q) block by block, how much each moved when last visited, and whether all are due."""

    each: FloatArray
    entropy: FloatArray
    unrest: FloatArray
    whole_next: bool


class _Incremental(_Partial):
    def __init__(self, surface: Surface, table: Table, n_blocks: int | None, prefer: bool) -> None:
        self.surface, self.prefer = surface, prefer
        self.plans = _blocks(surface, table, n_blocks)
        self.visits = 0

    def begin(self, point: Point) -> _State:
        n, theta = len(self.plans), point.parameters
        each, entropy = np.empty((n, len(theta))), np.empty(n)
        for b, plan in enumerate(self.plans):
            seen = plan.evaluate(theta)
            each[b], entropy[b] = seen.vector, seen.log_likelihood - seen.vector @ _log(theta)
        s = self.surface
        s.evaluations += 1
        first = s.maximised(np.where(s.free, each.sum(axis=0) + s.pseudo, 0.0), theta)
        return _State(first, point.objective, _Sums(each, entropy, np.zeros(n), True))

    def step(self, state: _State, tol: float) -> _State:
        s, theta, sums = self.surface, state.parameters, state.memory
        each, entropy, unrest = sums.each.copy(), sums.entropy.copy(), sums.unrest.copy()
        total = each.sum(axis=0)  # anew for every sweep: rounding does not add up
        chosen = self._chosen(sums)
        for b in chosen:
            seen = self.plans[b].evaluate(theta)
            unrest[b] = np.abs(seen.vector - each[b]).sum()
            total += seen.vector - each[b]  # (2.5)
            each[b], entropy[b] = seen.vector, seen.log_likelihood - seen.vector @ _log(theta)
            theta = s.maximised(np.where(s.free, np.maximum(total, 0.0) + s.pseudo, 0.0), theta)
        passes, self.visits = divmod(self.visits + len(chosen), len(self.plans))
        s.evaluations += passes
        energy = float(entropy.sum() + total @ _log(theta)) + s.log_prior(theta)
        whole = len(chosen) == len(self.plans)
        after = _State(theta, max(energy, state.objective), _Sums(each, entropy, unrest, not whole))
        return _settled(s, after, energy - state.objective if whole else np.inf, tol)

    def _chosen(self, sums: _Sums) -> list[int]:
        """All blocks in turn; or, after every whole sweep, those that moved more than the average."""
        if self.prefer and not sums.whole_next and sums.unrest.any():
            return np.flatnonzero(sums.unrest >= sums.unrest.mean()).tolist()
        return list(range(len(self.plans)))


class _Nowlan(_Partial):
    climbs = False

    def __init__(self, surface: Surface, table: Table, n_blocks: int | None, decay: float | None) -> None:
        self.surface = surface
        self.plans = _blocks(surface, table, n_blocks)
        # A block counts as its observations, one after the other without M-steps between them.
        rate = 1.0 / max(4.0 * surface.weight, 1.0 + 1e-9) if decay is None else 1.0 - decay
        self.keep = [(1.0 - rate) ** float(p.weights.sum()) for p in self.plans]
        self.rate = rate

    def begin(self, point: Point) -> _State:
        s = self.surface
        scale = 1.0 / (s.weight * self.rate)  # what decaying statistics add up to in the long run
        return _State(point.em_step, point.objective, (point.counts * scale, 0, point), point)

    def step(self, state: _State, tol: float) -> _State:
        s, (total, worse, best) = self.surface, state.memory
        theta = state.parameters
        for plan, keep in zip(self.plans, self.keep, strict=True):
            weight = float(plan.weights.sum())
            seen = plan.evaluate(theta).vector
            total = keep * total + seen * (1.0 - keep) / (self.rate * weight)
            theta = s.maximised(np.where(s.free, total * self.rate * s.weight + s.pseudo, 0.0), theta)
        s.evaluations += 1
        point = s.at(theta)
        better = point.objective > best.objective + tol
        worse = 0 if better else worse + 1
        best = point if point.objective > best.objective else best
        return _State(theta, point.objective, (total, worse, best), best, worse >= 3)


# ---- some states at a time ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plausible:
    """The plausible states of every row, and what stays as it was of the others."""

    plan: Plan
    frozen: FloatArray  # expected counts of what is not plausible
    entropy: float  # H(q) less that within the plausible states
    left: int  # sparse steps before the next whole one


class _Sparse(_Partial):
    def __init__(self, surface: Surface, plausible: float, every: int) -> None:
        self.surface, self.plausible, self.every = surface, plausible, every

    def begin(self, point: Point) -> _State:
        return self._whole(point)

    def step(self, state: _State, tol: float) -> _State:
        known: _Plausible | None = state.memory
        s, theta = self.surface, state.parameters
        if known is None or known.left == 0:
            point = s.at(theta)
            if point.promise < tol:
                return _State(theta, max(point.objective, state.objective), None, point, True)
            return self._whole(point)
        seen = known.plan.evaluate(theta, n_jobs=s.n_jobs)
        s.evaluations += 1
        within = seen.log_likelihood - float(seen.vector @ _log(theta))
        total = known.frozen + seen.vector
        theta = s.maximised(np.where(s.free, total + s.pseudo, 0.0), theta)
        energy = float(total @ _log(theta)) + known.entropy + within + s.log_prior(theta)
        return _State(theta, max(energy, state.objective), replace(known, left=known.left - 1))

    def _whole(self, point: Point) -> _State:
        """A whole E-step, and the plausible states for the next ones."""
        theta = point.em_step
        energy = self._energy(point, theta)
        if self.every == 1:
            return _State(theta, energy, None)
        s, tree = self.surface, self.surface.tree
        plan, at = s.plan, point.parameters
        assert isinstance(plan, Plan)
        latents = [int(z) for z in tree.latent if tree.cardinality[z] > 1]
        masks = []
        for z, p in zip(latents, plan.posteriors(at, latents) if latents else [], strict=True):
            mask = (p >= self.plausible) | (p == p.max(axis=1, keepdims=True))
            rows, ids = np.unique(mask, axis=0, return_inverse=True)
            masks.append(Evidence(z, ids.reshape(-1).astype(np.int32), rows.astype(np.float64)))
        restricted = Plan(tree, [*plan.evidence, *masks], plan.weights)
        share = np.exp(np.minimum(restricted.row_log_likelihood(at) - plan.row_log_likelihood(at), 0.0))
        restricted = Plan(tree, [*plan.evidence, *masks], plan.weights * share)
        seen = restricted.evaluate(at, n_jobs=s.n_jobs)
        s.evaluations += 2
        within = seen.log_likelihood - float(seen.vector @ _log(at))
        entropy = point.log_likelihood - float(point.counts @ _log(at)) - within
        frozen = np.maximum(point.counts - seen.vector, 0.0)
        return _State(theta, energy, _Plausible(restricted, frozen, entropy, self.every - 1))

    def _energy(self, point: Point, theta: FloatArray) -> float:
        """F after the M-step that follows a whole E-step."""
        rise = float(point.counts @ (_log(theta) - _log(point.parameters)))
        return point.log_likelihood + rise + self.surface.log_prior(theta)
