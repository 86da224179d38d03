"""Trees as SVG. All text is escaped; colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from .._lazy import cached_property
from .._tree import Tree
from ._contents import DrawnNode, DrawnTree, TreeReport
from ._layout import LONGEST, Arrangement, Place, arrange, branches, places, shortened, style_for, text_width
from ._printable import printable

__all__ = ["Drawing", "shown", "tree_svg"]

BAR, TEXT_AT = 30.0, 36.0
"""Length of the small bar before a leaf's name, and where the name begins."""

PILL = 22.0
"""Height of a node with children."""

CUT = "cut"
"""What stands at a latent node of one state, whose edges are broken lines: what it joins is independent."""

INDEPENDENT = "What is joined by broken lines is independent of each other."

RADIAL = 18
"""Characters of the names of latent variables in a radial tree, whose rings are as far apart as these are long."""

FAR = 2400.0
"""Drawings wider than this are seen from so far at first that the names of leaves cannot be read."""

THINNEST, THICKEST = 0.8, 7.0
"""Width of edges without information, and of the most informative edge."""


def shown(text: object) -> str:
    r"""Escape text for a page; characters that cannot be seen, or that no page may hold, are shown by their codes.

    Examples
    --------
    >>> print(shown("<script>\x1b"))
    &lt;script&gt;\x1b
    """
    return escape(printable(str(text)))


class Drawing:
    """A tree of a report with places for its nodes, in "rows" (default up to some 60 leaves) or "radial"."""

    def __init__(self, report: TreeReport | DrawnTree, style: str | None = None) -> None:
        nodes: Sequence[DrawnNode] = report["nodes"]
        manifest = iter(range(len(nodes)))
        self.tree = Tree(
            np.array([-1 if n["parent"] is None else n["parent"] for n in nodes]),
            np.array([n["cardinality"] for n in nodes]),
            np.array([-1 if n["latent"] else next(manifest) for n in nodes]),
            tuple(n["name"] for n in nodes),
        )
        self.information = [0.0] * len(nodes)
        for edge in report["edges"]:
            self.information[edge["child"]] = edge["information"]
        self.most = max(self.information, default=0.0)
        self.style = style or style_for(self.tree)
        self.arrangement: Arrangement = arrange(self.tree, self.information)
        self.cuts = frozenset(self.tree.cuts.tolist())
        self._nodes = nodes
        self._above = self.tree.parent.tolist()

    @cached_property
    def labels(self) -> list[str]:
        """What stands at each node."""
        with_children = enumerate(zip(self._nodes, self.arrangement.children, strict=True))
        most = RADIAL if self.style == "radial" else LONGEST
        return [
            CUT if v in self.cuts else _label(n["name"], n["cardinality"], bool(c), most) for v, (n, c) in with_children
        ]

    @cached_property
    def widths(self) -> list[float]:
        """How wide each node is drawn. Names of latent variables are bold, and so a little wider."""
        named = zip(self.labels, self._nodes, strict=True)
        return [text_width(label, 14.0 if n["latent"] else 12.0) + 20.0 for label, n in named]

    @cached_property
    def branch(self) -> list[int]:
        """Which branch each node belongs to."""
        return branches(self.arrangement)

    @cached_property
    def places(self) -> dict[int, Place]:
        """Where each node is drawn."""
        return places(self.arrangement, self.widths, self.style)

    def edge_of(self, v: int) -> int:
        """The lower end, in the model, of the edge between a node and its parent in the drawing."""
        up = self.arrangement.parent[v]
        return v if self._above[v] == up else up

    def is_broken(self, v: int) -> bool:
        """Whether the edge between a node and its parent in the drawing leads to or from a cut."""
        return v in self.cuts or self.arrangement.parent[v] in self.cuts

    def edge_width(self, v: int) -> float:
        """How thick the edge between a node and its parent in the drawing is."""
        share = self.information[self.edge_of(v)] / self.most if self.most > 0 else 0.0
        return THINNEST + (THICKEST - THINNEST) * share

    def bounds(self) -> tuple[float, float, float, float]:
        """Left, top, width and height, texts included."""
        left, top, right, bottom = 0.0, 0.0, 0.0, 0.0
        for v, place in self.places.items():
            inner = bool(self.arrangement.children[v])
            reach = self.widths[v] if inner else TEXT_AT + text_width(self.labels[v])
            if place.angle is None:
                ends = [(place.x, place.y - 14), (place.x + reach, place.y + 14)]
            elif place.radius == 0:
                ends = [(-reach / 2, -14.0), (reach / 2, 14.0)]
            else:
                out = place.radius + (reach / 2 if inner else reach)
                ends = [(place.x, place.y), (out * math.cos(place.angle), out * math.sin(place.angle))]
            left, right = min(left, *(x for x, _ in ends)), max(right, *(x for x, _ in ends))
            top, bottom = min(top, *(y for _, y in ends)), max(bottom, *(y for _, y in ends))
        return left - 12, top - 12, right - left + 24, bottom - top + 24


def _label(name: str, cardinality: int, inner: bool, most: int) -> str:
    return f"{shortened(printable(name), most)} ({cardinality})" if inner else shortened(printable(name))


def tree_svg(drawing: Drawing, *, title: str = "The tree", still: bool = False) -> str:
    """Draw a tree: edges as thick as the mutual information of their ends, latent nodes as boxes with cardinalities.

    A drawing that stays as it is (``still``) has its own size; others have room for a bar before each leaf's name.
    """
    left, top, width, height = drawing.bounds()
    order = drawing.arrangement.order
    # Edges and nodes stand in the order of the arrangement, which is how scripts know them.
    edges = "".join(_edge(drawing, v) for v in order[1:])
    nodes = "".join(_node(drawing, v, 6.0 if still else TEXT_AT) for v in order)
    kind = "tree far" if width > FAR and not still else "tree"
    size = f' width="{short(width)}"' if still else ""
    box = " ".join(map(short, (left, top, width, height)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="tree" class="{kind}" role="group"{size} '
        f'aria-label="{shown(title)}" viewBox="{box}"><g class="edges">{edges}</g>'
        f'<g class="nodes">{nodes}</g></svg>'
    )


def _edge(drawing: Drawing, v: int) -> str:
    up = drawing.arrangement.parent[v]
    d = edge_path(drawing.places[up], drawing.places[v], drawing.widths[up])
    broken = ' stroke-dasharray="4 4"' if drawing.is_broken(v) else ""
    return f'<path{_coloured(drawing, v)} stroke-width="{drawing.edge_width(v):.1f}"{broken} d="{d}"/>'


def _coloured(drawing: Drawing, v: int) -> str:
    """The class that gives an edge or node the colour of its branch."""
    return f' class="b{drawing.branch[v]}"' if drawing.branch[v] >= 0 else ""


def edge_path(start: Place, end: Place, width: float) -> str:
    """The curve from a node of some width to a child."""
    if start.angle is None or end.angle is None:
        x = start.x + width
        middle = (x + end.x) / 2
        points = (x, start.y, middle, start.y, middle, end.y, end.x, end.y)
    else:
        half, turn = (start.radius + end.radius) / 2, start.angle if start.radius else end.angle
        first = half * math.cos(turn), half * math.sin(turn)
        second = half * math.cos(end.angle), half * math.sin(end.angle)
        points = (start.x, start.y, *first, *second, end.x, end.y)
    a, b, c, d, e, f, g, h = map(short, points)
    return f"M{a} {b}C{c} {d} {e} {f} {g} {h}"


def _node(drawing: Drawing, v: int, text_at: float) -> str:
    place, label = drawing.places[v], escape(drawing.labels[v])
    kind = "z" if drawing.tree.variable[v] < 0 else "x"
    name = printable(drawing.tree.names[v])
    hover = f"<title>{escape(name)}</title>" if not drawing.labels[v].startswith(name) else ""
    if v in drawing.cuts:
        kind, hover = f"{kind} cut", f"<title>{INDEPENDENT}</title>"
    if drawing.branch[v] >= 0:
        kind += f" b{drawing.branch[v]}"
    turn, flip = _turned(place)
    move = f"translate({short(place.x)} {short(place.y)}){turn}"
    if drawing.arrangement.children[v]:
        width = drawing.widths[v]
        left = 0.0 if place.angle is None else -width / 2
        return (
            f'<g class="{kind} inner" transform="{move}"><g><rect x="{short(left)}" '
            f'y="{short(-PILL / 2)}" width="{short(width)}" height="{short(PILL)}" rx="11"/>'
            f'<text x="{short(left + width / 2)}" y="3">{label}</text></g>{hover}</g>'
        )
    at = -text_at if flip else text_at
    anchor = ' text-anchor="end"' if flip else ""
    return f'<g class="{kind}" transform="{move}"><text x="{short(at)}" y="4"{anchor}>{label}</text>{hover}</g>'


def _turned(place: Place) -> tuple[str, bool]:
    """Names point away from the centre, and are never upside down."""
    if place.angle is None or place.radius == 0:
        return "", False
    degrees = math.degrees(place.angle)
    flip = math.cos(place.angle) < 0
    return f"rotate({short(degrees + 180 if flip else degrees)})", flip


def short(value: float) -> str:
    """A number in as few characters as a tenth of a pixel needs."""
    text = f"{value:.1f}"
    return text if text[-1] != "0" else text[:-2] if text != "-0.0" else "0"
