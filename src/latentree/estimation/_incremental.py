"""Incremental EM and its kin ([Whiley1999] 2.3; Neal & Hinton 1998): E-steps for a part of the data or of the states.

All but Nowlan's climb the free energy F = E_q log P(x) + H(q) in turn over q, the guess at what is hidden, and the
parameters; with q the posterior everywhere F is the log-likelihood. What is traced is F.

A visit takes a block of patterns: equal rows share their posterior, so that a weight means repetition, and blocks of
many patterns share sub-patterns as the engine does (Thiesson, Meek & Heckerman 2001). Blocks are made by what the
patterns hold, not by the order of the data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._data import Data
from .._model import Model
from .._options import AnyOf, Number, OneOf, Whole, option
from .._table import as_table
from .._types import FloatArray
from ..engine._plan import Evidence, Plan
from ..runner import StopReason
from ._ascent import ClimbingMethod, Task, started
from ._classes import order_of_rows
from ._em_options import AscentOptions
from ._surface import Point, Surface

BLOCKS = 16
"""Most blocks unless more are asked for; with fewer patterns, each is a block. More save few sweeps and cost time."""


@dataclass(frozen=True, eq=False)
class BlockOptions(AscentOptions):
    """Options of methods that visit blocks of patterns; a step is a sweep, as many visits as blocks."""

    n_blocks: int | None = option(
        None,
        AnyOf(Whole(1), OneOf(None)),
        "blocks of patterns; as many as patterns is Whiley's algorithm; None: that, but at most 16",
    )


@dataclass(frozen=True, eq=False)
class NowlanOptions(BlockOptions):
    """Options of Nowlan's variant.

    The best sweep is returned; it ends when three have not been better by ``tol``. The trace is the objective after
    every sweep, and may fall.
    """

    decay: float | None = option(
        None,
        AnyOf(Number(above=0, below=1), OneOf(None)),
        "what an observation leaves of the statistics before it (Whiley's lambda); None: 1 - 1/(4 N), a memory of four "
        "data sets",
    )


@dataclass(frozen=True, eq=False)
class SparseOptions(AscentOptions):
    """Options of sparse EM."""

    plausible: float = option(
        0.01,
        Number(above=0, below=1),
        "least posterior probability at which a latent state counts as plausible for a row",
    )
    every: int = option(5, Whole(1), "one E-step in this many is whole")


# ---- what they share ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Blocks(Task):
    """A surface, and the data in blocks."""

    plans: tuple[Plan, ...]


@dataclass(frozen=True)
class _State:
    """Parameters, the method's objective there, and what it remembers."""

    parameters: FloatArray
    objective: float
    memory: Any
    point: Point | None = None  # whole E-step at the parameters, if there was one
    reason: StopReason | None = None


class _PartialSteps(ClimbingMethod[_Blocks, _State]):
    """A method with partial E-steps: a first state at a point, and a sweep."""

    traces_free_energy = True

    def begin(self, task: _Blocks, point: Point) -> _State:
        """The state at the first point."""
        raise NotImplementedError

    def sweep(self, task: _Blocks, state: _State) -> _State:
        """As many visits as there are blocks."""
        raise NotImplementedError

    def task(self, model: Model, table: Data) -> _Blocks:
        """The surface and the blocks."""
        own = self.options
        surface = Surface(own.whole_plan(model, table), model.parameters, own)
        n_blocks = getattr(own, "n_blocks", 1)
        return _Blocks(surface, model.parameters, own.tol, _blocks(surface, table, n_blocks))

    def init(self, task: _Blocks, rng: np.random.Generator) -> _State:
        """The first state."""
        point = started(task.surface, task.start)
        if not np.isfinite(point.objective):
            return _State(point.parameters, point.objective, None, point, StopReason.IMPOSSIBLE)
        return self.begin(task, point)

    def step(self, task: _Blocks, state: _State, rng: np.random.Generator) -> tuple[_State, float]:
        """One sweep."""
        after = self.sweep(task, state)
        return after, after.objective

    def end(self, task: _Blocks, state: _State) -> Point:
        """The last point, after a whole E-step."""
        return state.point or task.surface.at(state.parameters)


def _settled(surface: Surface, state: _State, gain: float, tol: float) -> _State:
    """When a sweep gains little, look with a whole E-step whether that is because the climb is over."""
    if gain >= tol:
        return state
    point = surface.at(state.parameters)
    return replace(state, point=point, reason=StopReason.CONVERGED if point.promise < tol else None)


def _log(parameters: FloatArray) -> FloatArray:
    return np.log(np.where(parameters > 0, parameters, 1.0))


# ---- some patterns at a time --------------------------------------------------------------------------------


def _blocks(surface: Surface, table: Data, n_blocks: int | None) -> tuple[Plan, ...]:
    whole = surface.plan
    assert isinstance(whole, Plan)
    if n_blocks == 1 or table.n_patterns <= 1:
        return (whole,)
    blocks = np.array_split(
        order_of_rows(as_table(table)), min(table.n_patterns, BLOCKS if n_blocks is None else n_blocks)
    )
    return tuple(
        Plan(whole.tree, [replace(e, ids=e.ids[rows]) for e in whole.evidence], whole.weights[rows]) for rows in blocks
    )


@dataclass(frozen=True)
class _Sums:
    """Expected counts and H(q) block by block, how much each moved when last visited, and whether all are due."""

    each: FloatArray
    entropy: FloatArray
    unrest: FloatArray
    whole_next: bool
    visits: int = 0  # since the last that made up a pass over the data


class Incremental(_PartialSteps):
    """One block's posterior at a time, exact statistics kept."""

    def begin(self, task: _Blocks, point: Point) -> _State:
        """Statistics of all blocks."""
        n, theta = len(task.plans), point.parameters
        each, entropy = np.empty((n, len(theta))), np.empty(n)
        for b, plan in enumerate(task.plans):
            seen = plan.evaluate(theta)
            each[b], entropy[b] = seen.vector, seen.log_likelihood - seen.vector @ _log(theta)
        s = task.surface
        s.evaluations += 1
        first = s.maximised(np.where(s.free, each.sum(axis=0) + s.pseudo, 0.0), theta)
        return _State(first, point.objective, _Sums(each, entropy, np.zeros(n), True))

    def sweep(self, task: _Blocks, state: _State) -> _State:
        """Visit the blocks that are due, with an M-step after each."""
        s, theta, sums = task.surface, state.parameters, state.memory
        each, entropy, unrest = sums.each.copy(), sums.entropy.copy(), sums.unrest.copy()
        total = each.sum(axis=0)  # anew for every sweep: rounding does not add up
        chosen = self.chosen(sums)
        for b in chosen:
            seen = task.plans[b].evaluate(theta)
            unrest[b] = np.abs(seen.vector - each[b]).sum()
            total += seen.vector - each[b]  # (2.5)
            each[b], entropy[b] = seen.vector, seen.log_likelihood - seen.vector @ _log(theta)
            theta = s.maximised(np.where(s.free, np.maximum(total, 0.0) + s.pseudo, 0.0), theta)
        passes, visits = divmod(sums.visits + len(chosen), len(task.plans))
        s.evaluations += passes
        energy = float(entropy.sum() + total @ _log(theta)) + s.log_prior(theta)
        whole = len(chosen) == len(task.plans)
        after = _State(theta, max(energy, state.objective), _Sums(each, entropy, unrest, not whole, visits))
        return _settled(s, after, energy - state.objective if whole else np.inf, task.tol)

    def chosen(self, sums: _Sums) -> list[int]:
        """The blocks to visit: all in turn."""
        return list(range(len(sums.unrest)))


class Preferential(Incremental):
    """Incremental EM that visits first what has yet to settle."""

    def chosen(self, sums: _Sums) -> list[int]:
        """After every whole sweep, the blocks that moved more than the average."""
        if not sums.whole_next and sums.unrest.any():
            return np.flatnonzero(sums.unrest >= sums.unrest.mean()).tolist()
        return super().chosen(sums)


class Nowlan(_PartialSteps):
    """Statistics that decay. Quick at first; it does not converge to the maximum."""

    traces_free_energy = False

    def begin(self, task: _Blocks, point: Point) -> _State:
        """Statistics of all data, as they are in the long run."""
        total = point.counts / (task.surface.weight * self._rate(task))  # what decaying statistics add up to
        return _State(point.em_step, point.objective, (total, 0, point), point)

    def sweep(self, task: _Blocks, state: _State) -> _State:
        """Visit all blocks, with an M-step after each."""
        s, (total, worse, best) = task.surface, state.memory
        theta, rate = state.parameters, self._rate(task)
        for plan in task.plans:
            # A block counts as its observations, one after the other without M-steps between them.
            keep = (1.0 - rate) ** float(plan.weights.sum())
            seen = plan.evaluate(theta).vector
            total = keep * total + seen * (1.0 - keep) / (rate * float(plan.weights.sum()))
            theta = s.maximised(np.where(s.free, total * rate * s.weight + s.pseudo, 0.0), theta)
        s.evaluations += 1
        point = s.at(theta)
        worse = 0 if point.objective > best.objective + task.tol else worse + 1
        best = point if point.objective > best.objective else best
        reason = StopReason.CONVERGED if worse >= 3 else None
        return _State(theta, point.objective, (total, worse, best), best, reason)

    def _rate(self, task: _Blocks) -> float:
        """What one observation takes from the statistics before it."""
        decay: float | None = self.options.decay
        return 1.0 / max(4.0 * task.surface.weight, 1.0 + 1e-9) if decay is None else 1.0 - decay


# ---- some states at a time ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plausible:
    """The plausible states of every row, and what stays as it was of the others."""

    plan: Plan
    frozen: FloatArray  # expected counts of what is not plausible
    entropy: float  # H(q) less that within the plausible states
    left: int  # sparse steps before the next whole one


class Sparse(_PartialSteps):
    """Between whole E-steps only the plausible states of each row are looked at again."""

    def begin(self, task: _Blocks, point: Point) -> _State:
        """A whole E-step; the trace begins before the M-step that follows it."""
        return replace(self._whole(point), objective=point.objective)

    def sweep(self, task: _Blocks, state: _State) -> _State:
        """An E-step, whole or of the plausible states, and an M-step."""
        known: _Plausible | None = state.memory
        s, theta = task.surface, state.parameters
        if known is None or known.left == 0:
            point = s.at(theta)
            if point.promise < task.tol:
                return _State(theta, max(point.objective, state.objective), None, point, StopReason.CONVERGED)
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
        theta, every = point.em_step, self.options.every
        energy = _energy(point, theta)
        if every == 1:
            return _State(theta, energy, None)
        s = point.surface
        plan, at = s.plan, point.parameters
        assert isinstance(plan, Plan)
        latents = [int(z) for z in s.tree.latent if s.tree.cardinality[z] > 1]
        masks = []
        for z, p in zip(latents, plan.posteriors(at, latents) if latents else [], strict=True):
            mask = (p >= self.options.plausible) | (p == p.max(axis=1, keepdims=True))
            rows, ids = np.unique(mask, axis=0, return_inverse=True)
            masks.append(Evidence(z, ids.reshape(-1).astype(np.int32), rows.astype(np.float64)))
        restricted = Plan(s.tree, [*plan.evidence, *masks], plan.weights)
        share = np.exp(np.minimum(restricted.row_log_likelihood(at) - plan.row_log_likelihood(at), 0.0))
        restricted = Plan(s.tree, [*plan.evidence, *masks], plan.weights * share)
        seen = restricted.evaluate(at, n_jobs=s.n_jobs)
        s.evaluations += 2
        within = seen.log_likelihood - float(seen.vector @ _log(at))
        entropy = point.log_likelihood - float(point.counts @ _log(at)) - within
        frozen = np.maximum(point.counts - seen.vector, 0.0)
        return _State(theta, energy, _Plausible(restricted, frozen, entropy, every - 1))


def _energy(point: Point, theta: FloatArray) -> float:
    """F after the M-step that follows a whole E-step."""
    rise = float(point.counts @ (_log(theta) - _log(point.parameters)))
    return point.log_likelihood + rise + point.surface.log_prior(theta)
