"""Models that fall into independent parts."""

from __future__ import annotations

import numpy as np

from latentree import Model, Tree, Variable

GOOD = [[0.9, 0.1], [0.2, 0.8]]
ALIKE = [[0.6, 0.4]]


def in_parts(several: bool = True, root: str | None = None) -> Model:
    """Three variables a, b, c that depend on each other, g that is independent of all, and perhaps a part d, e, f."""
    edges = [("z", "a"), ("z", "b"), ("z", "c"), ("z", "k"), ("k", "g")]
    states = {"z": 2, "k": 1, **dict.fromkeys("abcg", 2)}
    if several:
        edges += [("k", "y"), ("y", "d"), ("y", "e"), ("y", "f")]
        states |= {"y": 2, **dict.fromkeys("def", 2)}
    manifest = [name for name in "abcdefg" if name in states]
    tree = Tree.from_edges(edges, states, manifest, root="z")
    tables: dict[str, object] = {"z": [0.6, 0.4], "k": [[1.0], [1.0]], "g": ALIKE}
    tables |= {name: GOOD for name in manifest if name != "g"} | ({"y": [[0.7, 0.3]]} if several else {})
    model = Model.from_tables(tree, [Variable(name, ("no", "yes")) for name in manifest], tables)
    return model if root is None else model.rerooted(root)


def rows_of(model: Model, n: int = 600, seed: int = 0) -> dict[str, list[str]]:
    """Rows drawn from a model, column by column."""
    from latentree.infer import sample

    codes = sample(model, n, np.random.default_rng(seed))
    return {v.name: [v.states[c] for c in codes[:, i]] for i, v in enumerate(model.variables)}
