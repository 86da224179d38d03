"""Trees and small charts as SVG. All text is escaped; colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ..tree import Tree
from .layout import Arrangement, Place, arrange, places, shortened, style_for, text_width

__all__ = ["Drawing", "bars_svg", "curve_svg", "line_svg", "shown", "tree_svg"]

Report = Mapping[str, Any]

BAR, TEXT_AT = 30.0, 36.0
"""Length of the small bar before a leaf's name, and where the name begins."""

PILL = 22.0
"""Height of a node with children."""

FAR = 2400.0
"""Drawings wider than this are seen from so far at first that the names of leaves cannot be read."""

THINNEST, THICKEST = 0.8, 7.0
"""Width of edges that tell nothing, and of the edge that tells most."""


def shown(text: object) -> str:
    r"""Escape text for a page; characters that cannot be seen, or that no page may hold, are shown by their codes.

    Examples
    --------
    >>> print(shown("<script>\x1b"))
    &lt;script&gt;\x1b
    """
    return escape(visible(str(text)))


def visible(text: str) -> str:
    """Show control characters and lone surrogates by their codes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


class Drawing:
    """A tree of a report with places for its nodes.

    Parameters
    ----------
    report : dict
        From :func:`latentree.report.describe_tree`.
    style : {"rows", "radial"}, optional
        Default: rows up to some 60 leaves.
    """

    def __init__(self, report: Report, style: str | None = None) -> None:
        nodes = report["nodes"]
        manifest = iter(range(len(nodes)))
        self.tree = Tree(
            [-1 if n["parent"] is None else n["parent"] for n in nodes],
            [n["cardinality"] for n in nodes],
            [-1 if n["latent"] else next(manifest) for n in nodes],
            tuple(n["name"] for n in nodes),
        )
        self.information = [0.0] * len(nodes)
        for edge in report["edges"]:
            self.information[edge["child"]] = edge["information"]
        self.style = style or style_for(self.tree)
        self.arrangement: Arrangement = arrange(self.tree, self.information)
        self.labels = [_label(n["name"], n["cardinality"], bool(c)) for n, c in self._with_children(nodes)]
        self.widths = [text_width(label) + 20.0 for label in self.labels]
        self.places: dict[int, Place] = places(self.arrangement, self.widths, self.style)

    def _with_children(self, nodes: Sequence[Report]) -> list[tuple[Report, list[int]]]:
        return list(zip(nodes, self.arrangement.children, strict=True))

    def edge_of(self, v: int) -> int:
        """The lower end, in the model, of the edge between a node and its parent in the drawing."""
        up = self.arrangement.parent[v]
        return v if int(self.tree.parent[v]) == up else up

    def edge_width(self, v: int) -> float:
        """How thick the edge between a node and its parent in the drawing is."""
        most = max(self.information, default=0.0)
        share = self.information[self.edge_of(v)] / most if most > 0 else 0.0
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


def _label(name: str, cardinality: int, inner: bool) -> str:
    return f"{shortened(visible(name))} ({cardinality})" if inner else shortened(visible(name))


def tree_svg(drawing: Drawing, *, title: str = "The tree", still: bool = False) -> str:
    """Draw a tree: edges as thick as the mutual information of their ends, latent nodes as boxes with cardinalities.

    A drawing that stays as it is (``still``) has its own size; otherwise there is room for a bar before each leaf's name.
    """
    left, top, width, height = drawing.bounds()
    order = drawing.arrangement.order
    # Edges and nodes stand in the order of the arrangement, which is how scripts know them.
    edges = "".join(_edge(drawing, v) for v in order[1:])
    nodes = "".join(_node(drawing, v, 6.0 if still else TEXT_AT) for v in order)
    kind = "tree far" if width > FAR and not still else "tree"
    size = f' width="{_n(width)}"' if still else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="tree" class="{kind}" role="group" aria-label="{shown(title)}"{size} '
        f'viewBox="{_n(left)} {_n(top)} {_n(width)} {_n(height)}"><g class="edges">{edges}</g>'
        f'<g class="nodes">{nodes}</g></svg>'
    )


def _edge(drawing: Drawing, v: int) -> str:
    up = drawing.arrangement.parent[v]
    d = edge_path(drawing.places[up], drawing.places[v], drawing.widths[up])
    return f'<path stroke-width="{drawing.edge_width(v):.1f}" d="{d}"/>'


def edge_path(start: Place, end: Place, width: float) -> str:
    """The curve from a node of some width to a child."""
    if start.angle is None or end.angle is None:
        x, middle = start.x + width, (start.x + width + end.x) / 2
        return f"M{_n(x)} {_n(start.y)}C{_n(middle)} {_n(start.y)} {_n(middle)} {_n(end.y)} {_n(end.x)} {_n(end.y)}"
    half = (start.radius + end.radius) / 2
    turn = start.angle if start.radius else end.angle
    first = half * math.cos(turn), half * math.sin(turn)
    second = half * math.cos(end.angle), half * math.sin(end.angle)
    points = (start.x, start.y, *first, *second, end.x, end.y)
    a, b, c, d, e, f, g, h = map(_n, points)
    return f"M{a} {b}C{c} {d} {e} {f} {g} {h}"


def _node(drawing: Drawing, v: int, text_at: float) -> str:
    place, label = drawing.places[v], shown(drawing.labels[v])
    kind = "z" if drawing.tree.variable[v] < 0 else "x"
    turn, flip = _turned(place)
    move = f"translate({_n(place.x)} {_n(place.y)}){turn}"
    if drawing.arrangement.children[v]:
        width = drawing.widths[v]
        left = 0.0 if place.angle is None else -width / 2
        return (
            f'<g class="{kind} inner" transform="{move}"><g><rect x="{_n(left)}" '
            f'y="{_n(-PILL / 2)}" width="{_n(width)}" height="{_n(PILL)}" rx="11"/>'
            f'<text x="{_n(left + width / 2)}" y="3">{label}</text></g></g>'
        )
    at = -text_at if flip else text_at
    anchor = ' text-anchor="end"' if flip else ""
    return f'<g class="{kind}" transform="{move}"><text x="{_n(at)}" y="4"{anchor}>{label}</text></g>'


def _turned(place: Place) -> tuple[str, bool]:
    """Names point away from the centre, and are never upside down."""
    if place.angle is None or place.radius == 0:
        return "", False
    degrees = math.degrees(place.angle)
    flip = math.cos(place.angle) < 0
    return f"rotate({_n(degrees + 180 if flip else degrees)})", flip


def _n(value: float) -> str:
    """A number in as few characters as a tenth of a pixel needs."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


# ---- small charts --------------------------------------------------------------------------------------------------


def bars_svg(labels: Sequence[str], values: Sequence[float], notes: Sequence[str], *, title: str) -> str:
    """Horizontal bars between 0 and 1, one a label, each with what is written beside it."""
    left = min(max((text_width(shortened(t), 12) for t in labels), default=0.0) + 10, 220.0)
    rows = []
    for i, (label, value, text) in enumerate(zip(labels, values, notes, strict=True)):
        y = 22 * i
        rows.append(
            f'<text class="label" x="{_n(left - 8)}" y="{y + 15}" text-anchor="end">{shown(shortened(visible(label)))}</text>'
            f'<rect class="back" x="{_n(left)}" y="{y + 4}" width="240" height="14" rx="2"/>'
            f'<rect class="bar" x="{_n(left)}" y="{y + 4}" width="{_n(240 * min(max(value, 0.0), 1.0))}" height="14" rx="2"/>'
            f'<text x="{_n(left + 248)}" y="{y + 15}">{shown(text)}</text>'
        )
    size = f"0 0 {_n(left + 340)} {22 * len(labels)}"
    return _chart(size, title, "".join(rows), width=left + 340)


def line_svg(xs: Sequence[float], ys: Sequence[float | None], *, title: str, x_label: str, y_label: str) -> str:
    """One line through points, with the ends of both axes written."""
    points = [(x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
    if not points:
        return ""
    low, high = min(y for _, y in points), max(y for _, y in points)
    first, last = min(x for x, _ in points), max(x for x, _ in points)

    def at(x: float, y: float) -> tuple[float, float]:
        across = (x - first) / (last - first) if last > first else 0.5
        up = (y - low) / (high - low) if high > low else 0.5
        return 70 + 380 * across, 130 - 110 * up

    path = "M" + "L".join(f"{_n(a)} {_n(b)}" for a, b in (at(x, y) for x, y in points))
    dots = "".join(
        f'<circle class="dot" cx="{_n(a)}" cy="{_n(b)}" r="2.5"><title>{shown(f"{x_label} {x:g}: {y:,.6g}")}</title></circle>'
        for x, y, (a, b) in ((x, y, at(x, y)) for x, y in points)
    )
    body = (
        f'<path class="axis" d="M70 12V130H460"/><path class="line" d="{path}"/>{dots}'
        f'<text x="64" y="24" text-anchor="end">{shown(f"{high:,.6g}")}</text>'
        f'<text x="64" y="130" text-anchor="end">{shown(f"{low:,.6g}")}</text>'
        f'<text x="70" y="148">{shown(f"{first:g}")}</text><text x="450" y="148" text-anchor="end">{shown(f"{last:g}")}</text>'
        f'<text x="260" y="148" text-anchor="middle">{shown(x_label)}</text><text x="78" y="20">{shown(y_label)}</text>'
    )
    return _chart("0 0 470 154", title, body, width=470)


def curve_svg(names: Sequence[str], alone: Sequence[float], together: Sequence[float], total: float, *, title: str) -> str:
    """An information curve: bars for what each variable tells alone, a line for what the first ones tell together."""
    most = max(total, *alone, *together, 1e-300)
    left = min(max((text_width(shortened(t), 12) for t in names), default=0.0) + 10, 220.0)
    rows, line = [], []
    for i, (name, own, so_far) in enumerate(zip(names, alone, together, strict=True)):
        y = 22 * i
        reach = left + 240 * so_far / most
        line.append(f"{_n(reach)} {y + 11}")
        covered = f"{100 * so_far / total:.0f} %" if total > 0 else "-"
        rows.append(
            f'<text class="label" x="{_n(left - 8)}" y="{y + 15}" text-anchor="end">{shown(shortened(visible(name)))}</text>'
            f'<rect class="bar" x="{_n(left)}" y="{y + 4}" width="{_n(240 * own / most)}" height="14" rx="2"/>'
            f'<circle class="dot" cx="{_n(reach)}" cy="{y + 11}" r="3"/><text x="{_n(left + 252)}" y="{y + 15}">{covered}</text>'
        )
    path = f'<path class="line" d="M{"L".join(line)}"/>' if line else ""
    return _chart(f"0 0 {_n(left + 300)} {22 * len(names)}", title, "".join(rows) + path, width=left + 300)


def _chart(box: str, title: str, body: str, *, width: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-label="{shown(title)}" viewBox="{box}" '
        f'width="{_n(width)}">{body}</svg>'
    )
