"""All node relocations at once: where each branch would hang best, all else staying as it is.

The likelihood is concave in the one table that a relocation changes, so a few steps of EM from the expected counts find
it. The node that a branch would hang at is judged without the branch: its own influence must not speak for it.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..engine import _core
from ..model import FloatArray
from .beliefs import Beliefs
from .operators import Move
from .restricted import Evaluated

__all__ = ["relocations"]

PASSES = 30
"""Most passes over the data: one counts, the others are steps of EM."""


def relocations(
    beliefs: Beliefs, *, only: Collection[int] | None = None, threads: int = 1, passes: int = PASSES
) -> list[Evaluated]:
    """Restricted likelihood of all moves of kind NR.

    Parameters
    ----------
    beliefs : Beliefs
        Messages of the current model.
    only : collection of int, optional
        Nodes of which one must be the branch's top or where it hangs. Default: all branches.
    threads : int
        Threads to use; the result is the same for any number.
    passes : int
        Passes over the data.
    """
    network, graph = beliefs.network, beliefs.network.graph
    latents = graph.latents
    at = {v: i for i, v in enumerate(latents)}
    pairs = [(u, v) for u in latents for v in graph.near[u] if v in at]
    cavity = {(u, v): np.ascontiguousarray(beliefs.cavity(u, v).T) for u, v in pairs}
    links = [(at[u], at[v], cavity[u, v], np.ascontiguousarray(network.given(u, v))) for u, v in pairs]
    tops, branches = [], []
    for a in latents:
        for z in graph.near[a]:
            if only is not None and z not in only and a not in only:
                continue
            tops.append((z, a))
            likelihood = cavity[z, a] if z in at else _seen(beliefs, z)
            table, prior = np.ascontiguousarray(network.given(z, a)), np.ascontiguousarray(network.alone[z])
            branches.append((at[a], at.get(z, -1), likelihood, table, prior))
    posteriors = [np.ascontiguousarray(beliefs.posterior(v).T) for v in latents]
    moved = _core.relocations(posteriors, links, branches, beliefs.weights, passes, threads)
    now, fresh = float(beliefs.weights @ beliefs.log_likelihood), graph.fresh()
    out = []
    for (z, a), (stays, goes, tables) in zip(tops, moved, strict=True):
        for c, gain, table in zip(latents, goes - stays, tables, strict=True):
            if c != a and not np.isnan(gain):
                own = {(z, c): table[: graph.states[c]]}
                out.append(Evaluated(Move("NR", (z, a, c)), now + float(gain), c, network.alone[c], own, fresh))
    return out


def _seen(beliefs: Beliefs, v: int) -> FloatArray:
    """What a leaf's values say about it: 1 for the value seen, for all where none was."""
    codes, k = beliefs.codes(v), beliefs.network.graph.states[v]
    return np.ascontiguousarray((codes == np.arange(k)[:, None]) | (codes < 0), dtype=np.float64)
