"""Karciauskas' procedures Split, Merge and Adjust (6.2-6.4), at every latent node of a tree (7.2-7.4).

A latent class model is a tree with one latent node, so that HLCSplit is Split there, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from .._types import FloatArray
from ..estimation._fit import Fit
from ._directions import split_along
from ._neighbourhood import Neighbourhood
from ._states import States
from ._task import Task


def split(task: Task, fit: Fit, rng: np.random.Generator) -> Fit | None:
    """HLCSplit (7.2): one state more for the latent node where that scores highest; None if none can have more."""
    return best_of(task, (split_at(task, fit, name, rng) for name in growing(task, fit)))


def merge(task: Task, fit: Fit, rng: np.random.Generator) -> Fit | None:
    """HLCMerge (7.3): one state less for the latent node where that scores highest; None if all have only one."""
    tree = fit.model.tree
    names = [tree.names[z] for z in tree.latent if tree.cardinality[z] > 1]
    return best_of(task, (merge_at(task, fit, name, rng) for name in names))


def adjust(task: Task, fit: Fit, rng: np.random.Generator, enough: float) -> Fit | None:
    """HLCAdjust (7.4): the first latent node at which both changes together score above ``enough``; None if none does.

    [Karciauskas2005] keeps the models of the last Merge and the last Split and begins with them; here both are made
    again.
    """
    tree = fit.model.tree
    for name in (tree.names[z] for z in tree.latent if tree.cardinality[z] > 1):
        for attempt in (_merge_then_split, _split_then_merge):
            found = attempt(task, fit, name, rng)
            if found is not None and task.score(found) > enough:
                return found
    return None


def growing(task: Task, fit: Fit) -> list[str]:
    """The latent nodes that can have more states."""
    tree = fit.model.tree
    return [tree.names[z] for z in tree.latent if tree.cardinality[z] < task.max_states]


def best_of(task: Task, fits: Iterable[Fit]) -> Fit | None:
    """The fit with the highest score."""
    return max(fits, key=task.score, default=None)


# ---- at one latent node --------------------------------------------------------------------------------------------


def split_at(task: Task, fit: Fit, node: str, rng: np.random.Generator) -> Fit:
    """Split (6.2): the state whose best split is the most likely, then EM."""
    star = task.star(fit.model, node)
    candidates = _split_candidates(task, star, rng)
    plan = star.plan(star.states.n + 1)
    likelihood = plan.evaluate_batch(np.stack([c.flat for c in candidates]), n_jobs=task.settings.n_jobs)[0]
    return task.fit_from(star, candidates[int(np.argmax(likelihood))])


def merge_at(task: Task, fit: Fit, node: str, rng: np.random.Generator) -> Fit:
    """Merge (6.3): multiple restart EM from all pairs merged."""
    star = task.star(fit.model, node)
    pairs = combinations(range(star.states.n), 2)
    return _best_fit(task, star, [star.states.merge(a, b) for a, b in pairs], rng)


def _merge_then_split(task: Task, fit: Fit, node: str, rng: np.random.Generator) -> Fit | None:
    """Adjust (6.4), lines 1-4."""
    return split_at(task, merge_at(task, fit, node, rng), node, rng)


def _split_then_merge(task: Task, fit: Fit, node: str, rng: np.random.Generator) -> Fit | None:
    """Adjust (6.4), lines 5-18: each state split, then one of its halves merged with an old state."""
    star = task.star(fit.model, node)
    k = star.states.n
    if k >= task.max_states:
        return None
    merged = [
        candidate.merge(old, half)
        for s, candidate in enumerate(_split_candidates(task, star, rng))
        for half in (s, k)
        for old in range(k)
        if old != s
    ]
    return _best_fit(task, star, merged, rng)


def _split_candidates(task: Task, star: Neighbourhood, rng: np.random.Generator) -> list[States]:
    """Models L_s of Split, lines 1-5: each state replaced by the two that partial EM makes of it."""
    states = star.states
    return [
        states.replace(s, halves(task, data, states.profiles[s], rng)) for s, data in enumerate(star.shares(states))
    ]


def halves(task: Task, data: Neighbourhood, profile: FloatArray, rng: np.random.Generator) -> States:
    """Partial EM (6.2, lines 2-3): the best two states for the data of one, from N0 splits of it."""
    one = States(np.ones(1), profile[None], data.widths)
    own = task.settings
    n = own.n_splits if own.direction in ("random", "uniform") else 1
    starts = [split_along(own.direction, one, 0, data, own.p, rng) for _ in range(n)]
    return task.fit_states(data, starts)[0] if len(data.weights) else starts[0]


def _best_fit(task: Task, star: Neighbourhood, candidates: list[States], rng: np.random.Generator) -> Fit:
    """Multiple restart EM on the whole model (or by ``local`` around the node first) from states at one node."""
    q = task.settings.q_merge
    if task.settings.local and not star.is_whole:
        return task.fit(star.whole(task.fit_states(star, candidates, q=q)[0]))
    return task.restart_from(star, candidates, rng, q=q)
