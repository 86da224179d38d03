"""The start for data of many variables: a tree that is put together from pieces (:mod:`latentree.task._divide`).

First a whole tree from counts alone, each piece being one latent around its central variable; then the pieces are
learned, some in each step, and take their places. So there is a tree to return soon after all pairs have been counted,
it gets better with every step, and a search can stop and go on between any two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._model import Model
from .._table import Table
from .._trace import Step
from ..estimation import evaluate
from ._chow_liu import Link, chow_liu
from ._divide import Bridge, assembled, bridge, centred, cut, likelihoods, part
from ._network import Edge
from ._task import Point, State, Task

STEPS = 16
"""Pieces are learned in about so many steps, at least as many at a time; whatever the threads."""

PATIENCE = 120.0
"""Seconds beyond which a search of many variables is announced."""
SWEEPS = 7
"""Looks at all moves of a tree of many variables until nothing gains, as far as seen."""

Learner = Callable[[Task, Table, np.random.Generator], Model]
"""Learns the tree of a piece."""


def init(task: Task, size: int) -> State:
    """A tree of pieces of some ``size`` variables, as counted."""
    table = task.table
    links = chow_liu(table, between=lambda done, total: _between(task, done, total))
    pieces, cuts = cut(links, table.n_variables, size)
    parts = [part(table, own) for own in pieces]
    models = [centred(own, at) for own, at in zip(parts, _centres(pieces, links), strict=True)]
    bridges = _bridges(task, pieces, cuts, models, [None] * len(cuts), range(len(pieces)))
    memory = {"pieces": pieces, "cuts": cuts, "models": models, "bridges": bridges, "learned": 0}
    fit = evaluate(assembled(table, pieces, models, bridges), table)
    return State(Point(fit, task.criterion(fit)), "pieces", memory=_plain(memory))


def _between(task: Task, done: int, total: int) -> None:
    task.check_time()
    task.report("pairs of variables", done, total)


def _centres(pieces: Sequence[Sequence[int]], links: Sequence[Link]) -> list[int]:
    """The variable of each piece with the strongest links, as a position in it."""
    strength: dict[int, float] = {}
    for i, j, own in links:
        strength[i] = strength.get(i, 0.0) + own
        strength[j] = strength.get(j, 0.0) + own
    return [int(np.argmax([strength[v] for v in own])) for own in pieces]


def step(task: Task, state: State, learner: Learner, rng: np.random.Generator) -> tuple[State, Step]:
    """Learn the next pieces and put them in; after the last, the phase is ``climb``."""
    memory = state.memory
    pieces, cuts, models = memory["pieces"], memory["cuts"], list(memory["models"])
    first = memory["learned"]
    fresh = range(first, min(first + max(STEPS, -(-len(pieces) // STEPS)), len(pieces)))

    def learn(i: int, rng: np.random.Generator) -> Model:
        return learner(task, part(task.table, pieces[i]), rng)

    for i, model in zip(fresh, task.map(learn, fresh, rng, stage="pieces"), strict=True):
        models[i] = model
    bridges = _bridges(task, pieces, cuts, models, [_bridge(own) for own in memory["bridges"]], fresh)
    fit = evaluate(assembled(task.table, pieces, models, bridges), task.table)
    point = Point(fit, task.criterion(fit))
    learned = f"pieces {first + 1} to {fresh.stop} of {len(pieces)} learned"
    made = point.step("pieces", "pieces", learned, candidates=len(fresh))
    if fresh.stop == len(pieces):
        return State(point, "climb"), made
    now = _plain({**memory, "models": models, "bridges": bridges, "learned": fresh.stop})
    return State(point, "pieces", memory=now), made


def _bridges(
    task: Task,
    pieces: Sequence[Sequence[int]],
    cuts: Sequence[Edge],
    models: Sequence[Model],
    old: Sequence[Bridge | None],
    fresh: range,
) -> list[Bridge]:
    """Bridges over all cuts; those between pieces that have not changed stay."""
    owner = {v: i for i, own in enumerate(pieces) for v in own}
    ends = [(owner[i], owner[j]) for i, j in cuts]
    last = {p: i for i, pair in enumerate(ends) for p in pair}
    evidence: dict[int, Any] = {}
    out = []
    for i, ((a, b), before) in enumerate(zip(ends, old, strict=True)):
        if before is not None and a not in fresh and b not in fresh:
            out.append(before)
            continue
        task.check_time()
        for p in (a, b):
            if p not in evidence:
                evidence[p] = likelihoods(models[p], part(task.table, pieces[p]))
        out.append(bridge((a, b), (models[a], models[b]), (evidence[a], evidence[b]), task.table.weights))
        for p in (a, b):
            if last[p] == i:
                del evidence[p]
    return out


def _plain(memory: dict[str, Any]) -> dict[str, Any]:
    """What a checkpoint can hold."""
    bridges = [{"ends": list(b.ends), "nodes": list(b.nodes), "joint": b.joint} for b in memory["bridges"]]
    return {**memory, "cuts": [list(pair) for pair in memory["cuts"]], "bridges": bridges}


def _bridge(plain: dict[str, Any]) -> Bridge:
    return Bridge(tuple(plain["ends"]), tuple(plain["nodes"]), np.asarray(plain["joint"]))


# ---- what it will take --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """What a tree of many variables takes, in processor seconds.

    Attributes
    ----------
    pairs, pieces : float
        Counting all pairs, and learning all pieces.
    sweep : float
        One look at all moves in the whole tree; there are some five to ten.
    megabytes : float
        Memory beyond the data.
    """

    pairs: float
    pieces: float
    sweep: float
    megabytes: float


def expected(table: Table) -> Expected:
    """What the tree of a table will take, estimated from its size; measured in ``benchmarks/wide.py``."""
    n, rows, columns = table.n_variables, table.n_patterns, float(table.cardinalities.sum())
    tables = float((table.cardinalities.astype(float) ** 2).sum())
    pairs = rows * (columns - n) ** 2 / 4e10 + n**2 * 4e-8 + n * 1e-3
    pieces = n * 8e-3 + rows * tables * 1.3e-6
    sweep = n * 3e-3 + rows * tables * 3.5e-7
    return Expected(pairs, pieces, sweep, rows * columns * 3e-5)


def forecast(task: Task) -> str | None:
    """How long it may take, and what it needs, if that is much."""
    cost = expected(task.table)
    share = task.n_jobs**-0.7  # threads wait for each other now and then
    built = cost.pairs + share * cost.pieces
    whole = built + share * SWEEPS * cost.sweep
    if whole < PATIENCE and cost.megabytes < 1000:
        return None
    return (
        f"{task.table.n_variables:,} variables, {task.table.n_patterns:,} distinct rows: a first tree after about "
        f"{_duration(cost.pairs)}, all of it learned piece by piece after {_duration(built)}, improved by local "
        f"moves until {_duration(whole)} or longer; memory about {cost.megabytes / 1000:,.1f} GB. Stop it at any "
        "time (time limit or Ctrl-C): the best tree so far is kept."
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:,.0f} minutes" if seconds < 5400 else f"{seconds / 3600:,.1f} hours"
