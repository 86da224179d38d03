"""Small pictures in SVG: panels of bars, lines, points and tiles. The same numbers give the same text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10

__all__ = ["COLOURS", "Bars", "Line", "Panel", "Points", "Tiles", "Vertical", "picture"]

COLOURS = ("#1b6ca8", "#c8553d", "#4f772d", "#7b4b94", "#b8860b", "#3d3d3d", "#2a9d8f", "#9b2226", "#6c757d")
"""Of series, in their order."""

Pair = tuple[float, float]
LEFT, RIGHT, TOP, BOTTOM = 44.0, 8.0, 20.0, 30.0


@dataclass(frozen=True)
class Bars:
    """Bars from zero at whole numbers 1, 2, ...; one may be marked."""

    heights: Sequence[float]
    marked: int | None = None


@dataclass(frozen=True)
class Line:
    """Points joined by lines; those that are not finite break it."""

    points: Sequence[Pair]
    colour: str = COLOURS[0]
    dashed: bool = False
    label: str = ""
    thin: bool = False  # drawn to a whole point only, where there are many


@dataclass(frozen=True)
class Points:
    """Dots."""

    points: Sequence[Pair]
    colour: str = COLOURS[0]
    label: str = ""
    radius: float = 2.0


@dataclass(frozen=True)
class Vertical:
    """A line from bottom to top."""

    x: float
    colour: str = COLOURS[5]
    dashed: bool = False
    label: str = ""


@dataclass(frozen=True)
class Tiles:
    """Squares around points, the darker the lower the value."""

    values: Sequence[tuple[float, float, float]]
    ringed: Pair | None = None


Mark = Bars | Line | Points | Vertical | Tiles


@dataclass(frozen=True)
class Panel:
    """One diagram: what is drawn, and over which range (found from what is drawn if it is not given)."""

    title: str
    marks: Sequence[Mark]
    x: Pair | None = None
    y: Pair | None = None
    x_label: str = ""
    y_label: str = ""


def picture(panels: Sequence[Panel], *, columns: int = 3, width: float = 230, height: float = 160) -> str:
    """Panels in rows, with one legend of all their labels at the bottom.

    Examples
    --------
    >>> text = picture([Panel("a < b", [Bars([0.5, 1.0], marked=2), Line([(1, 0.2), (2, 0.4)], label="line")])])
    >>> text.startswith("<svg") and "a &lt; b" in text and ">line</text>" in text
    True
    """
    columns = min(columns, len(panels))
    rows = ceil(len(panels) / columns)
    legend = _legend([m for p in panels for m in p.marks], columns * width)
    total = columns * width, rows * height + legend[1]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(total[0])} {_n(total[1])}" width="{_n(total[0])}" '
        'font-family="sans-serif" font-size="10"><rect width="100%" height="100%" fill="#fff"/>'
    ]
    for i, panel in enumerate(panels):
        down, across = divmod(i, columns)
        parts.append(f'<g transform="translate({_n(across * width)} {_n(down * height)})">')
        parts.extend(_drawn(panel, width, height))
        parts.append("</g>")
    parts.append(f'<g transform="translate(0 {_n(rows * height)})">{legend[0]}</g></svg>')
    return "\n".join(parts) + "\n"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _drawn(panel: Panel, width: float, height: float) -> list[str]:
    xs, ys = panel.x or _range(panel.marks, 0), panel.y or _range(panel.marks, 1)

    def at(x: float, y: float) -> Pair:
        return (
            LEFT + (x - xs[0]) / (xs[1] - xs[0]) * (width - LEFT - RIGHT),
            height - BOTTOM - (y - ys[0]) / (ys[1] - ys[0]) * (height - TOP - BOTTOM),
        )

    (x0, y0), (x1, y1) = at(xs[0], ys[0]), at(xs[1], ys[1])
    out = [f'<path d="M{_n(x0)} {_n(y1)}V{_n(y0)}H{_n(x1)}" fill="none" stroke="#999"/>']
    for tick in _ticks(*xs, most=int((width - LEFT - RIGHT) / 28)):
        out.append(_text(at(tick, ys[0])[0], y0 + 11, f"{tick:g}", "middle"))
    for tick in _ticks(*ys, most=int((height - TOP - BOTTOM) / 18)):
        out.append(_text(x0 - 3, at(xs[0], tick)[1] + 3, f"{tick:g}", "end"))
    out.append(_text((x0 + x1) / 2, y0 + 23, panel.x_label, "middle"))
    if panel.y_label:
        out.append(
            f'<g transform="translate(9 {_n((y0 + y1) / 2)}) rotate(-90)">{_text(0, 0, panel.y_label, "middle")}</g>'
        )
    out.append(_text((x0 + x1) / 2, 12, panel.title, "middle"))
    for mark in panel.marks:
        out.extend(_mark(mark, at, xs, ys))
    return [line for line in out if line]


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">{escape(text)}</text>' if text else ""


def _mark(mark: Mark, at, xs: Pair, ys: Pair) -> list[str]:  # type: ignore[no-untyped-def]
    if isinstance(mark, Bars):
        return [_bar(at, i, h, mark.marked == i) for i, h in enumerate(mark.heights, 1) if h > 0]
    if isinstance(mark, Tiles):
        return _tiles(mark, at)
    if isinstance(mark, Vertical):
        (x, low), high = at(mark.x, ys[0]), at(mark.x, ys[1])[1]
        return [f'<path d="M{_n(x)} {_n(low)}V{_n(high)}" stroke="{mark.colour}"{_dash(mark.dashed)}/>']
    inside = [(x, min(max(y, ys[0]), ys[1])) for x, y in mark.points if isfinite(y) and xs[0] <= x <= xs[1]]
    if isinstance(mark, Points):
        dots = "".join(
            f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(mark.radius)}"/>' for x, y in (at(*p) for p in inside)
        )
        return [f'<g fill="{mark.colour}" fill-opacity=".7">{dots}</g>']
    spots = [(_n(round(x)), _n(round(y))) if mark.thin else (_n(x), _n(y)) for x, y in (at(*p) for p in inside)]
    bends = [s for a, s, b in zip([None, *spots], spots, [*spots[1:], None], strict=False) if not _level(a, s, b)]
    path = " ".join(f"{x},{y}" for x, y in bends)
    stroke = f'stroke="{mark.colour}" stroke-width="{0.6 if mark.thin else 1.3}"{_dash(mark.dashed)}'
    return [f'<polyline points="{path}" fill="none" {stroke}/>']


def _level(before: tuple[str, str] | None, spot: tuple[str, str], after: tuple[str, str] | None) -> bool:
    """Whether a point lies on a level line between its neighbours, so that it need not be drawn."""
    return before is not None and after is not None and before[1] == spot[1] == after[1]


def _bar(at, i: int, height: float, marked: bool) -> str:  # type: ignore[no-untyped-def]
    (left, top), (right, bottom) = at(i - 0.4, height), at(i + 0.4, 0)
    size = f'width="{_n(right - left)}" height="{_n(bottom - top)}"'
    return f'<rect x="{_n(left)}" y="{_n(top)}" {size} fill="{COLOURS[1] if marked else COLOURS[0]}"/>'


def _tiles(mark: Tiles, at) -> list[str]:  # type: ignore[no-untyped-def]
    low, high = min(v for *_, v in mark.values), max(v for *_, v in mark.values)
    out = []
    for x, y, value in mark.values:
        (left, top), (right, bottom) = at(x - 0.5, y + 0.5), at(x + 0.5, y - 0.5)
        light = 25 + 70 * (value - low) / (high - low or 1)
        size = f'width="{_n(right - left)}" height="{_n(bottom - top)}"'
        out.append(f'<rect x="{_n(left)}" y="{_n(top)}" {size} fill="hsl(207 60% {light:.0f}%)"/>')
    if mark.ringed:
        x, y = at(*mark.ringed)
        out.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="6" fill="none" stroke="{COLOURS[1]}" stroke-width="2"/>')
    return out


def _dash(dashed: bool) -> str:
    return ' stroke-dasharray="4 3"' if dashed else ""


def _range(marks: Sequence[Mark], axis: int) -> Pair:
    """From the least to the greatest drawn, with a little room."""
    values: list[float] = []
    for mark in marks:
        if isinstance(mark, Bars):
            values += [0.4, len(mark.heights) + 0.6] if axis == 0 else [0.0, max(mark.heights)]
        elif isinstance(mark, Tiles):
            values += [v[axis] + d for v in mark.values for d in (-0.5, 0.5)]
        elif isinstance(mark, Vertical):
            values += [mark.x] if axis == 0 else []
        else:
            values += [p[axis] for p in mark.points if isfinite(p[axis])]
    low, high = min(values), max(values)
    if low == high:
        return low - 0.5, high + 0.5
    room = 0.0 if axis == 0 or low == 0 else 0.04 * (high - low)
    return low - room, high + 0.04 * (high - low) * (axis == 1)


def _ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers with at most so many steps between them, and never more than five.

    Examples
    --------
    >>> _ticks(0, 1), _ticks(-310, -255), _ticks(0, 0.5, most=2)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [-300.0, -280.0, -260.0], [0.0, 0.5])
    """
    most = min(max(most, 2), 5)
    power = 10 ** floor(log10((high - low) / most))
    step = next(power * m for m in (1, 2, 5, 10) if (high - low) / (power * m) <= most)
    return [round(float(i * step), 10) for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def _legend(marks: Sequence[Mark], width: float) -> tuple[str, float]:
    """The labels with their colours, and how high they are."""
    named: dict[str, Line | Points | Vertical] = {}
    for mark in marks:
        if isinstance(mark, Line | Points | Vertical) and mark.label:
            named.setdefault(mark.label, mark)
    parts, x, y = [], LEFT, 12.0
    for label, mark in named.items():
        needed = 24 + 5.6 * len(label)
        if x + needed > width and x > LEFT:
            x, y = LEFT, y + 15
        dash = _dash(not isinstance(mark, Points) and mark.dashed)
        parts.append(f'<path d="M{_n(x)} {_n(y - 3)}h16" stroke="{mark.colour}" stroke-width="2"{dash}/>')
        parts.append(_text(x + 20, y, label, "start"))
        x += needed + 10
    return "".join(parts), y + 6 if named else 0.0
