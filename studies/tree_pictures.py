"""Trees in SVG: latents as circles with their numbers of states, manifest variables by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from .searching import Plain

__all__ = ["draw_trees"]

ACROSS, DOWN, TITLE = 34.0, 42.0, 26.0


def draw_trees(trees: Sequence[tuple[str, Plain]]) -> str:
    """Trees one below the other, each hung up at its middle; the same trees give the same text.

    Examples
    --------
    >>> star = {"edges": [["z", "x1"], ["z", "a<b"]], "states": {"z": 3}}
    >>> text = draw_trees([("one & only", star)])
    >>> text.startswith("<svg"), "a&lt;b" in text, "one &amp; only" in text, text.count("<circle")
    (True, True, True, 1)
    """
    width, top, parts = 0.0, 0.0, []
    for title, tree in trees:
        own, wide, high = _drawn(tree)
        parts.append(f'<g transform="translate(0 {top:g})"><text x="6" y="14">{escape(title)}</text>{own}</g>')
        width, top = max(width, wide), top + high
    size = f'viewBox="0 0 {width:g} {top:g}" width="{width:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    return "\n".join([head + '<rect width="100%" height="100%" fill="#fff"/>', *parts, "</svg>"]) + "\n"


def _drawn(tree: Plain) -> tuple[str, float, float]:
    """One tree, how wide and how high it is."""
    near: dict[str, list[str]] = {}
    for a, b in tree["edges"]:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    root = min(tree["states"], key=lambda z: max(depth for _, _, depth in _walk(near, z)))
    order = list(_walk(near, root))
    x: dict[str, float] = {}
    leaves = [v for v, _, _ in order if v not in tree["states"]]
    for i, leaf in enumerate(leaves):
        x[leaf] = (i + 0.5) * ACROSS + 8
    y = {v: TITLE + 14 + DOWN * depth for v, _, depth in order}
    for v, parent, _ in reversed(order):
        if v in tree["states"]:
            below = [x[u] for u in near[v] if u != parent]
            x[v] = sum(below) / len(below)
    lines = [_line(x[p], y[p], x[v], y[v]) for v, p, _ in order if p]
    marks = [_mark(v, x[v], y[v], tree["states"].get(v)) for v, _, _ in order]
    deepest = max(y.values())
    return "".join([*lines, *marks]), len(leaves) * ACROSS + 16, deepest + 24


def _walk(near: dict[str, list[str]], root: str) -> Iterator[tuple[str, str, int]]:
    """Nodes with their parents and depths, the leaves of a branch side by side."""
    ahead = [(root, "", 0)]
    while ahead:
        v, parent, depth = ahead.pop()
        yield v, parent, depth
        ahead += [(u, v, depth + 1) for u in reversed(near[v]) if u != parent]


def _line(x0: float, y0: float, x1: float, y1: float) -> str:
    return f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="#999"/>'


def _mark(name: str, x: float, y: float, states: int | None) -> str:
    if states is None:
        back = f'<rect x="{x - 15:.1f}" y="{y - 8:.1f}" width="30" height="15" fill="#fff"/>'
        return back + f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{escape(name)}</text>'
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="10" fill="#1b6ca8"/>'
    return circle + f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" fill="#fff">{states}</text>'
