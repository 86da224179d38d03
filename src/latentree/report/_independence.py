"""Which parts of a tree are independent of each other, in words."""

from __future__ import annotations

from collections.abc import Sequence

from .._tree import Tree

__all__ = ["independence_in_words", "parts_of"]

MOST_NAMED = 20
"""Variables of one part that a sentence names."""

MOST_PARTS = 12
"""Parts that a sentence lists."""


def parts_of(tree: Tree) -> list[list[str]]:
    """The variables of each independent part, in the order of the data; a single part if all depend on each other."""
    found = [[v for v in own if tree.variable[v] >= 0] for own in tree.parts]
    return [[tree.names[v] for v in sorted(own, key=lambda v: int(tree.variable[v]))] for own in found]


def independence_in_words(tree: Tree) -> list[str]:
    """Say which variables are independent of all others, and which parts of the tree of each other.

    Nothing is said of a tree in one part, nor of a latent class model, which has its own words for it.

    Examples
    --------
    >>> states = {"z": 2, "cut1": 1, "a": 2, "b": 2, "c": 2}
    >>> edges = [("z", "a"), ("z", "b"), ("z", "cut1"), ("cut1", "c")]
    >>> independence_in_words(Tree.from_edges(edges, states, ["a", "b", "c"]))
    ['Independent of all others: c.']
    """
    if not len(tree.cuts):
        return []
    parts = parts_of(tree)
    single = [name for own in parts if len(own) == 1 for name in own]
    several = [own for own in parts if len(own) > 1]
    if single and not several:
        return ["All variables are independent of each other."]
    told = [f"Independent of all others: {_some(single)}."] if single else []
    if len(several) > 1:
        whole = "The other variables form" if single else "The tree consists of"
        listed = "; ".join(f"({i}) {_some(own)}" for i, own in enumerate(several[:MOST_PARTS], 1))
        more = f"; and {len(several) - MOST_PARTS:,} more" if len(several) > MOST_PARTS else ""
        told.append(f"{whole} {len(several):,} independent parts: {listed}{more}.")
    return told


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
