"""What studies of searches share: a search with its processor time, and a tree as results keep it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from latentree._table import Table
from latentree._trace import Step
from latentree._tree import Tree
from latentree.runner import StopReason
from latentree.search import Run, learn

__all__ = ["Plain", "plain_step", "plain_tree", "states_of", "timed"]

Plain = dict[str, Any]


def timed(table: Table, method: str, seed: Sequence[int], **options: Any) -> tuple[Run, float]:
    """Search by maximum likelihood; with the processor time it took, which other programs do not lengthen."""
    began = time.process_time()
    run = learn(table, method=method, rng=np.random.default_rng(list(seed)), prior=None, **options)
    if run.reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return run, time.process_time() - began


def plain_tree(tree: Tree) -> Plain:
    """A tree as results keep it: its edges, and the states of its latents.

    Examples
    --------
    >>> plain_tree(Tree.star(2, [3, 3]))
    {'edges': [['z', 'x1'], ['z', 'x2']], 'states': {'z': 2}}
    """
    names = tree.names
    edges = [[names[tree.parent[v]], names[v]] for v in range(1, tree.n_nodes)]
    return {"edges": edges, "states": {names[v]: int(tree.cardinality[v]) for v in tree.latent}}


def plain_step(step: Step, manifest: Sequence[str]) -> Plain:
    """The tree after a step of a search, as results keep it."""
    return plain_tree(step.tree(manifest))


def states_of(tree: Plain) -> str:
    """The numbers of states of the latents, in order of size.

    Examples
    --------
    >>> states_of({"edges": [], "states": {"a": 3, "b": 2}})
    '2 3'
    """
    return " ".join(map(str, sorted(tree["states"].values())))
