"""Where the nodes of a tree are drawn.

Trees are unrooted; a drawing begins at the middle, so that branches are short. Nodes without visible children get one
slot after the other, an inner node stands half way between its first and its last child. Slots and depths become places
in two ways: in *rows*, from left to right, every leaf on a line of its own; or *radial*, leaves around a circle, which
shows a tree of a thousand leaves on one screen. ``page/arrange.js`` does the same when branches are folded.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .._tree import Tree

__all__ = ["Arrangement", "Place", "arrange", "branches", "places", "shortened", "style_for", "text_width"]

GROUP_GAP = 0.6
"""Slots left free after the children of a node."""

ROW, RING_ROW = 22.0, 15.0
"""Height of a slot in rows, and its length on the circle."""

COLUMN_GAP, RING_GAP = 72.0, 120.0
"""Room for edges between columns, and between rings."""

BOX_GAP = 40.0
"""Room between boxes that follow each other on the way outwards."""

BRANCHES = 8
"""Most branches that have a colour of their own."""

LONGEST = 28
"""Names are cut to this many characters where they are drawn."""

MANY_LEAVES = 60
"""Trees of more leaves are drawn radially unless asked otherwise."""


@dataclass(frozen=True)
class Arrangement:
    """Order and slots of a tree's nodes.

    In the drawing the root has no parent (-1), children come in order (leaves first, the strongest edge on top), and
    visible nodes are listed with every parent before its children.
    """

    root: int
    parent: list[int]
    children: list[list[int]]
    order: list[int]
    slot: list[float]
    depth: list[int]
    n_slots: float


@dataclass(frozen=True)
class Place:
    """Where a node is drawn, in pixels: its left end in rows, its middle in a radial drawing (with an angle)."""

    x: float
    y: float
    angle: float | None = None
    radius: float = 0.0


def arrange(tree: Tree, strength: Sequence[float] | None = None, folded: Collection[int] = ()) -> Arrangement:
    """Give every node its slot and depth; leaves with strong edges come first, children of folded nodes are hidden.

    Examples
    --------
    >>> arrange(Tree.star(2, [2, 2, 2])).slot
    [1.0, 0.0, 1.0, 2.0]
    """
    root = _middle(tree)
    parent = _reached(tree, root)
    order = list(parent)
    n_leaves = [0] * tree.n_nodes
    for v in reversed(order):
        n_leaves[v] = n_leaves[v] or 1
        if parent[v] >= 0:
            n_leaves[parent[v]] += n_leaves[v]
    above = [int(tree.parent[v]) for v in range(tree.n_nodes)]

    def key(v: int) -> tuple[bool, float, int]:
        inner = len(tree.neighbours(v)) > 1
        # The edge between v and its parent in the drawing is the one above whichever is lower in the tree.
        edge = v if above[v] == parent[v] else parent[v]
        return inner, -float(n_leaves[v] if inner else (strength[edge] if strength is not None else 0.0)), v

    children: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    for v in order[1:]:
        children[parent[v]].append(v)
    children = [sorted(own, key=key) for own in children]
    visible, slot, depth, n_slots = _slots(root, children, set(folded))
    return Arrangement(root, [parent[v] for v in range(tree.n_nodes)], children, visible, slot, depth, n_slots)


def _slots(root: int, children: list[list[int]], folded: set[int]) -> tuple[list[int], list[float], list[int], float]:
    order: list[int] = []
    slot, depth = [0.0] * len(children), [0] * len(children)
    free = 0.0
    stack = [(root, False)]
    while stack:
        v, done = stack.pop()
        own = [] if v in folded else children[v]
        if done:
            slot[v] = (slot[own[0]] + slot[own[-1]]) / 2
            free += GROUP_GAP
            continue
        order.append(v)
        if not own:
            slot[v] = free
            free += 1 + GROUP_GAP if children[v] else 1  # the box of a folded node is as high as a row
            continue
        stack.append((v, True))
        for c in reversed(own):
            depth[c] = depth[v] + 1
            stack.append((c, False))
    return order, slot, depth, free


def _reached(tree: Tree, start: int) -> dict[int, int]:
    """All nodes, the nearest first, with the node before each on the way from the start."""
    before, order = {start: -1}, [start]
    for v in order:
        for u in tree.neighbours(v):
            if u not in before:
                before[u] = v
                order.append(u)
    return before


def _middle(tree: Tree) -> int:
    """The middle of a longest path, and a latent node if one is there."""
    farthest = list(_reached(tree, 0))[-1]
    before = _reached(tree, farthest)
    end = list(before)[-1]
    path = [end]
    while before[path[-1]] >= 0:
        path.append(before[path[-1]])
    middle = path[len(path) // 2]
    if tree.variable[middle] < 0:
        return middle
    return next((u for u in tree.neighbours(middle) if tree.variable[u] < 0), middle)


def branches(arrangement: Arrangement) -> list[int]:
    """Number the branches of a drawing, so that each can have a colour; -1 for what is between them.

    A branch is a latent variable and all beyond it, seen from the middle. The largest are divided as long as there
    are colours for the parts.

    Examples
    --------
    >>> tree = Tree([-1, 0, 0, 1, 1, 2, 2], [2] * 7, [-1, -1, -1, 0, 1, 2, 3])
    >>> branches(arrange(tree))
    [-1, 0, 1, 0, 0, 1, 1]
    """
    children = arrangement.children
    size = [1] * len(children)
    for v in reversed(arrangement.order):
        size[v] += sum(size[c] for c in children[v])

    def parts(v: int) -> list[int]:
        return [c for c in children[v] if children[c]]

    found = parts(arrangement.root)[:BRANCHES]
    while found:
        large = max((v for v in found if len(parts(v)) > 1), key=lambda v: size[v], default=-1)
        if large < 0 or len(found) - 1 + len(parts(large)) > BRANCHES:
            break
        at = found.index(large)
        found[at : at + 1] = parts(large)
    number = [-1] * len(children)
    for i, top in enumerate(found):
        below = [top]
        for v in below:
            number[v] = i
            below.extend(children[v])
    return number


def style_for(tree: Tree) -> str:
    """Which way suits a tree: ``"rows"`` or ``"radial"``."""
    n_leaves = sum(1 for v in range(tree.n_nodes) if len(tree.neighbours(v)) <= 1)
    return "rows" if n_leaves <= MANY_LEAVES else "radial"


def places(arrangement: Arrangement, widths: Sequence[float], style: str = "rows") -> dict[int, Place]:
    """Turn slots and depths into places on the drawing, in "rows" or "radial".

    Examples
    --------
    >>> found = places(arrange(Tree.star(2, [2, 2, 2])), [40] * 4)
    >>> found[0], found[1]
    (Place(x=0.0, y=22.0, angle=None, radius=0.0), Place(x=112.0, y=0.0, angle=None, radius=0.0))
    """
    inner = [v for v in arrangement.order if arrangement.children[v]]
    deepest = max((arrangement.depth[v] for v in inner), default=0)
    if style == "rows":
        starts = [0.0]
        for d in range(deepest + 1):
            widest = max((widths[v] for v in inner if arrangement.depth[v] == d), default=0.0)
            starts.append(starts[-1] + widest + COLUMN_GAP)
        return {v: Place(starts[arrangement.depth[v]], arrangement.slot[v] * ROW) for v in arrangement.order}
    # Rings by how far the leaves below are: nodes above leaves stand far out, where there is room for them.
    height = [0] * len(arrangement.children)
    for v in reversed(arrangement.order[1:]):
        up = arrangement.parent[v]
        height[v] = max(height[v], 1 if arrangement.children[v] else 0)
        height[up] = max(height[up], height[v] + 1)
    rings = max(height[arrangement.root], 1)
    gap = max(RING_GAP, max((widths[v] for v in inner), default=0.0) + BOX_GAP)
    outer = max(arrangement.n_slots * RING_ROW / math.tau, rings * gap)
    found = {}
    for v in arrangement.order:
        angle = math.tau * (arrangement.slot[v] + 0.5) / max(arrangement.n_slots, 1.0) - math.pi / 2
        radius = 0.0 if v == arrangement.root else outer * (1 - height[v] / rings)
        found[v] = Place(radius * math.cos(angle), radius * math.sin(angle), angle, radius)
    return found


def text_width(text: str, size: float = 12.0) -> float:
    """Estimate how wide a text is drawn; wide characters count double.

    Examples
    --------
    >>> round(text_width("abc"), 2)
    20.16
    """
    return size * sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.56 for c in text)


def shortened(text: str, most: int = LONGEST) -> str:
    """Cut a name that is too long to draw in its middle: beginnings are often the same, and ends tell more.

    Examples
    --------
    >>> shortened("a very long name indeed", 12)
    'a very…ndeed'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return text[: most - 1 - tail].rstrip() + "…" + text[len(text) - tail :].lstrip()
