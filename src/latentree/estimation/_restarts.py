"""Multiple restart EM (Chickering & Heckerman 1997): many random starts, fewer and fewer of them going on."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._model import Model, random_parameters, row_sums, spread, walk_root
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..engine._plan import Passes
from ..errors import bad_parameter
from ..runner import Budget, Clock, OnProgress, Progress, StopReason
from ._em import ITERATIONS, TOLERANCE, EmRuns, check_limits, finished
from ._fit import Basis, Fit, Held, Prior, held_mask
from ._fit_checkpoint import FitLocation, fit_slot

__all__ = ["random_starts", "restart_em", "successive_halving"]


def random_starts(tree: Tree, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw flat vectors, every row uniform on the simplex, in the tree's canonical rooting.

    Equal trees get equal starts from equal generators, however they are rooted.
    """
    canonical, where = tree.canonically_rooted()
    path = [int(where[v]) for v in canonical.path_from_root(int(np.flatnonzero(where == 0)[0]))]
    out = np.empty((n, tree.size))
    for start in out:
        drawn = random_parameters(canonical, rng)
        tables = {
            int(where[v]): drawn[canonical.offsets[v] : canonical.offsets[v + 1]].reshape(canonical.rows[v], -1)
            for v in range(tree.n_nodes)
        }
        walk_root(tables, path)
        start[:] = np.concatenate([tables[v].ravel() for v in range(tree.n_nodes)])
    return out


def restart_em(
    model: Model,
    table: Table,
    *,
    rng: np.random.Generator,
    n_init: int = 64,
    q: float = 2.0,
    finalists: int = 1,
    include: bool = False,
    starts: FloatArray | None = None,
    prior: Prior = None,
    basis: Basis = "probability",
    held: Held = (),
    accelerate: bool = True,
    tol: float = TOLERANCE,
    max_iterations: int = ITERATIONS,
    budget: Budget | Clock | None = None,
    n_jobs: int = 1,
    on_progress: OnProgress | None = None,
    plan: Passes | None = None,
    checkpoint: FitLocation = None,
) -> Fit:
    """Fit from many random starts.

    After 1, 3, 7, 15, ... steps the best ``1/q`` of the starts go on, until ``finalists`` are left; these are run to
    the end and the best is returned. (K: 64 or 16 starts, q = 2 or 10, one finalist, plain EM, tolerance 0.01, at most
    200 steps.)

    Parameters
    ----------
    model : Model
        Gives structure, variables and the values of held entries; its own parameters are a start if ``include``.
    table : Table
        The data.
    rng : numpy.random.Generator
        Source of the starts.
    n_init, q, finalists, include
        See above.
    starts : array of float [starts, size], optional
        Starts to use instead of the first of the random ones.
    prior, basis, held, accelerate, tol, max_iterations, budget, n_jobs, on_progress, plan, checkpoint
        As in :func:`latentree.estimation.estimate`.
    """
    began = time.perf_counter()
    check_limits(tol, max_iterations, n_jobs)
    if int(n_init) != n_init or n_init < 1:
        raise bad_parameter("n_init", "restart_em", "a whole number of at least 1", n_init)
    if not q > 1:
        raise bad_parameter("q", "restart_em", "a number above 1", q)
    if int(finalists) != finalists or finalists < 1:
        raise bad_parameter("finalists", "restart_em", "a whole number of at least 1", finalists)
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    plan = plan or table.compiled(model)
    given = np.empty((0, model.tree.size)) if starts is None else np.asarray(starts, dtype=np.float64)[:n_init]
    if include:
        given = np.vstack([model.parameters, given])[:n_init]
    starts = np.vstack([given, random_starts(model.tree, n_init - len(given), rng)])
    mask = held_mask(model.tree, held)
    if mask is not None:
        starts = with_held(model, starts, mask.astype(bool))
    own: dict[str, Any] = {"prior": prior, "basis": basis, "held": held, "accelerate": accelerate}
    limits: dict[str, Any] = {"q": q, "finalists": finalists, "tol": tol, "max_iterations": max_iterations}
    section = fit_slot(checkpoint, model, table, {**own, **limits, "starts": starts})
    if section is not None and section.fit is not None:
        return section.finished(model, table)
    climb = EmRuns(plan, starts, n_jobs=n_jobs, section=section, **own)
    stopped = successive_halving(climb, clock, n_init=n_init, on_progress=on_progress, **limits)
    return finished(climb, model, table, stopped, began)


def successive_halving(
    climb: EmRuns,
    clock: Clock,
    *,
    n_init: int | None = None,
    q: float = 2.0,
    finalists: int = 1,
    tol: float = TOLERANCE,
    early_tol: float | None = None,
    max_iterations: int = ITERATIONS,
    on_progress: OnProgress | None = None,
) -> StopReason | None:
    """Let the best ``1/q`` of some runs go on after 1, 3, 7, 15, ... steps, and the finalists to the end.

    ``early_tol`` is the tolerance before the finalists are chosen, ``tol`` unless given. A climb that was resumed has
    fewer runs than its ``n_init``: how many tells how far it was. Returns why it stopped early, if it did.
    """
    n = left = len(climb) if n_init is None else n_init
    steps, stopped = 1, None
    while stopped is None and left > finalists and steps < max_iterations:
        fewer = max(finalists, int(left / q))
        if len(climb) == left:
            stopped = climb.advance(steps, tol if early_tol is None else early_tol, clock)
            if on_progress is not None:
                on_progress(Progress("starts", n - left, n, float(climb.objectives.max()), clock.elapsed))
            if stopped is None:
                best = np.argsort(-climb.objectives, kind="stable")[:fewer]
                climb.keep(sorted(best.tolist()))
        left, steps = fewer, 2 * steps + 1
    return stopped or climb.advance(max_iterations, tol, clock, on_progress)


def with_held(model: Model, starts: FloatArray, held: NDArray[np.bool_]) -> FloatArray:
    """Give held entries the model's values; the others of their row share what is left."""
    tree = model.tree
    kept = np.where(held, model.parameters, 0.0)
    left = spread(tree, 1.0 - row_sums(tree, kept))
    out = np.empty_like(starts)
    for i, start in enumerate(starts):
        free = np.where(held, 0.0, start)
        total = spread(tree, row_sums(tree, free))
        out[i] = kept + np.divide(free * left, total, out=np.zeros_like(free), where=total > 0)
    return out
