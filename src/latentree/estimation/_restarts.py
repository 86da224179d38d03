"""Multiple restart EM (Chickering & Heckerman 1997): many random starts, fewer and fewer of them going on."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data import Data
from .._model import Model, random_parameters, row_sums, spread, walk_root
from .._options import Flag, Number, Whole, option
from .._tree import Tree
from .._types import FloatArray
from ..runner import Clock, OnProgress, Progress, StopReason
from ._em import EmRuns, best_fit
from ._em_options import ITERATIONS, TOLERANCE, EmOptions, Value
from ._fit import Fit, held_mask
from ._fit_checkpoint import fit_slot


@dataclass(frozen=True, eq=False)
class RestartOptions(EmOptions):
    """Options of multiple restart EM."""

    rng: np.random.Generator | None = option(
        None,
        Value("a numpy.random.Generator", lambda value: isinstance(value, np.random.Generator)),
        "source of the starts",
    )
    n_init: int = option(64, Whole(1), "starts")
    q: float = option(2.0, Number(above=1), "one in so many starts goes on")
    finalists: int = option(1, Whole(1), "starts that are run to the end")
    include: bool = option(False, Flag(), "whether the model's own parameters are a start")
    starts: FloatArray | None = option(
        None,
        Value("an array with a start in each row, or None", lambda value: value is None or np.ndim(value) == 2),
        "starts to use instead of the first of the random ones",
    )


def random_starts(tree: Tree, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw flat vectors, every row uniform on the simplex, in the tree's canonical rooting.

    Equal trees get equal starts from equal generators, however they are rooted.
    """
    canonical, where = tree.canonically_rooted()
    path = [int(where[v]) for v in canonical.path_from_root(int(np.flatnonzero(where == 0)[0]))]
    out = np.empty((n, tree.size))
    own = {int(v): slice(*tree.offsets[v : v + 2]) for v in range(tree.n_nodes)}
    drawn_at = {int(where[v]): slice(*canonical.offsets[v : v + 2]) for v in range(tree.n_nodes)}
    beside = [v for v in own if v not in path]  # whose tables stay as they are
    to, come = (np.concatenate([np.arange(at[v].start, at[v].stop) for v in beside] or [np.arange(0)])
                for at in (own, drawn_at))  # fmt: skip
    rows = {int(where[v]): int(canonical.rows[v]) for v in range(tree.n_nodes)}
    for start in out:
        drawn = random_parameters(canonical, rng)
        start[to] = drawn[come]
        tables = {v: drawn[drawn_at[v]].reshape(rows[v], -1) for v in path}
        walk_root(tables, path)
        for v in path:
            start[own[v]] = tables[v].ravel()
    return out


def restart_em(model: Model, table: Data, *, rng: np.random.Generator, **options: Any) -> Fit:
    """Fit from many random starts.

    After 1, 3, 7, 15, ... steps the best ``1/q`` of the starts go on, until ``finalists`` are left; these are run to
    the end and the best is returned. ([Karciauskas2005]: 64 or 16 starts, q = 2 or 10, one finalist, plain EM,
    tolerance 0.01, at most 200 steps.)

    Parameters
    ----------
    model : Model
        Gives structure, variables and the values of held entries; its own parameters are a start if ``include``.
    table : Data
        The data.
    rng : numpy.random.Generator
        Source of the starts.
    **options
        ``n_init`` (default: 64), ``q`` (2), ``finalists`` (1), ``include`` (False), see above; ``starts``, an array
        of float [starts, size] to use instead of the first of the random ones; and those of
        :func:`latentree.estimation.em`.
    """
    return fit_restarts(model, table, RestartOptions.of({"rng": rng, **options}, owner="restart_em"))


def fit_restarts(model: Model, table: Data, options: RestartOptions) -> Fit:
    """Fit from many random starts, with options that are checked already."""
    began = time.perf_counter()
    clock = options.clock()
    plan = options.passes(model, table)
    starts = _starts(model, options)
    racing: dict[str, Any] = {"q": options.q, "finalists": options.finalists}
    slot = fit_slot(options.checkpoint, model, table, {**options.settings(), **racing, "starts": starts})
    if slot is not None and slot.fit is not None:
        return slot.finished(model, table)
    runs = EmRuns(plan, starts, options, slot=slot)
    stopped = successive_halving(
        runs,
        clock,
        n_init=options.n_init,
        tol=options.tol,
        max_iterations=options.max_iterations,
        on_progress=options.on_progress,
        **racing,
    )
    return best_fit(runs, model, table, stopped, began)


def _starts(model: Model, options: RestartOptions) -> FloatArray:
    """The starts that are given, then random ones; held entries have the model's values."""
    tree, n = model.tree, options.n_init
    given = np.empty((0, tree.size)) if options.starts is None else np.asarray(options.starts, dtype=np.float64)[:n]
    if options.include:
        given = np.vstack([model.parameters, given])[:n]
    assert options.rng is not None
    starts = np.vstack([given, random_starts(tree, n - len(given), options.rng)])
    mask = held_mask(tree, options.held)
    return starts if mask is None else with_held(model, starts, mask.astype(bool))


def successive_halving(
    runs: EmRuns,
    clock: Clock,
    *,
    n_init: int | None = None,
    q: float = 2.0,
    finalists: int = 1,
    tol: float = TOLERANCE,
    early_tol: float | None = None,
    first: int = 1,
    max_iterations: int = ITERATIONS,
    on_progress: OnProgress | None = None,
) -> StopReason | None:
    """Let the best ``1/q`` of some runs go on after 1, 3, 7, 15, ... steps, and the finalists to the end.

    ``first`` is how many steps come before the first choice: a later one costs more and judges better. ``early_tol`` is
    the tolerance before the finalists are chosen, ``tol`` unless given. Of runs that were resumed fewer are left than
    ``n_init``: how many tells how far they were. Returns why it stopped early, if it did.
    """
    n = left = len(runs) if n_init is None else n_init
    steps, stopped = first, None
    while stopped is None and left > finalists and steps < max_iterations:
        fewer = max(finalists, int(left / q))
        if len(runs) == left:
            stopped = runs.advance(steps, tol if early_tol is None else early_tol, clock)
            if on_progress is not None:
                on_progress(Progress("starts", n - left, n, float(runs.objectives.max()), clock.elapsed))
            if stopped is None:
                best = np.argsort(-runs.objectives, kind="stable")[:fewer]
                runs.keep(sorted(best.tolist()))
        left, steps = fewer, 2 * steps + 1
    return stopped or runs.advance(max_iterations, tol, clock, on_progress)


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
