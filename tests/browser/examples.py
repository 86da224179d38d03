"""Models for the pages, and what a search would have left of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentree._model import Model
from latentree._tree import Tree
from latentree._variables import numbered


def large_model(n_latents: int = 329, n_leaves: int = 1000, seed: int = 0) -> Model:
    """1,329 nodes: the size that pages are measured at."""
    rng = np.random.default_rng(seed)
    above = [-1] + [min(int(rng.integers(max(0, v // 4 - 3), v // 2 + 1)), v - 1) for v in range(1, n_latents)]
    spare = rng.integers(0, n_latents, n_leaves - 2 * n_latents).tolist()
    parent = [*above, *range(n_latents), *range(n_latents), *spare]
    states = rng.integers(2, 4, n_latents + n_leaves)
    tree = Tree(np.array(parent), states, np.r_[np.full(n_latents, -1), np.arange(n_leaves)])
    return Model.random(tree, numbered(states[n_latents:].tolist()), rng, dominant=0.6)


def growth(model: Model) -> list[dict[str, Any]]:
    """Steps towards a model's tree: its latent variables come one by one, with two states at first."""
    tree = model.tree
    latents = [int(z) for z in tree.latent]
    steps = []
    for n in range(1, len(latents) + 1):
        there = set(latents[:n])
        edges, states = [], {}
        for v in range(tree.n_nodes):
            if tree.variable[v] < 0 and v not in there:
                continue
            states[tree.names[v]] = 2 if v == latents[n - 1] else int(tree.cardinality[v])
            up = int(tree.parent[v])
            while up >= 0 and up not in there:
                up = int(tree.parent[up])
            if v:
                edges.append([tree.names[up], tree.names[v]])
        operation = f"NI: introduce {tree.names[latents[n - 1]]}" if n > 1 else "start"
        step = {"operation": operation, "score": -1000.0 + 50 * n - n * n, "log_likelihood": -900.0 + 45 * n}
        numbers = {"dimension": 20 + 7 * n, "candidates": 30 * n, "seconds": 0.5 * n}
        steps.append({**step, **numbers, "edges": edges, "states": states})
    return steps
