"""Small charts as SVG, for pages without scripts."""

from __future__ import annotations

from collections.abc import Sequence

from ._layout import shortened, text_width
from ._printable import printable
from ._svg import short, shown

__all__ = ["bars_svg", "curve_svg", "line_svg"]

LENGTH, ROW = 240.0, 22
"""Length of a bar from 0 to 1, and height of a row."""


def bars_svg(labels: Sequence[str], values: Sequence[float], notes: Sequence[str], *, title: str) -> str:
    """Horizontal bars between 0 and 1, one a label, each with what is written beside it."""
    left = _left(labels)
    rows = [
        _name(label, left, i)
        + _bar(left, i, 1.0, "back")
        + _bar(left, i, min(max(value, 0.0), 1.0))
        + _note(text, left + LENGTH + 8, i)
        for i, (label, value, text) in enumerate(zip(labels, values, notes, strict=True))
    ]
    return _chart(left + LENGTH + 140, ROW * len(labels), title, "".join(rows))


def curve_svg(
    names: Sequence[str], alone: Sequence[float], together: Sequence[float], total: float, *, title: str
) -> str:
    """An information curve: bars for each variable alone, a line for the first ones together."""
    most = max(total, *alone, *together, 1e-300)
    left = _left(names)
    rows, line = [], []
    for i, (name, own, so_far) in enumerate(zip(names, alone, together, strict=True)):
        x, y = short(left + LENGTH * so_far / most), ROW * i + 11
        line.append(f"{x} {y}")
        covered = f"{100 * so_far / total:.0f} %" if total > 0 else "-"
        dot = f'<circle class="dot" cx="{x}" cy="{y}" r="3"/>'
        rows.append(_name(name, left, i) + _bar(left, i, own / most) + dot + _note(covered, left + LENGTH + 12, i))
    path = f'<path class="line" d="M{"L".join(line)}"/>' if line else ""
    return _chart(left + LENGTH + 60, ROW * len(names), title, path + "".join(rows))


def line_svg(xs: Sequence[float], ys: Sequence[float | None], *, title: str, x_label: str, y_label: str) -> str:
    """One line through points, with the ends of both axes written."""
    points = [(x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
    if not points:
        return ""
    low, high = min(y for _, y in points), max(y for _, y in points)
    first, last = min(x for x, _ in points), max(x for x, _ in points)

    def at(x: float, y: float) -> tuple[str, str]:
        across = (x - first) / (last - first) if last > first else 0.5
        up = (y - low) / (high - low) if high > low else 0.5
        return short(70 + 380 * across), short(130 - 110 * up)

    places = [at(x, y) for x, y in points]
    path = "L".join(f"{x} {y}" for x, y in places)
    dots = "".join(f'<circle class="dot" cx="{x}" cy="{y}" r="2.5"/>' for x, y in places)
    words = (
        (64, 24, "end", f"{high:,.6g}"),
        (64, 130, "end", f"{low:,.6g}"),
        (70, 148, "start", f"{first:g}"),
        (450, 148, "end", f"{last:g}"),
        (260, 148, "middle", x_label),
        (78, 20, "start", y_label),
    )
    texts = "".join(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{shown(t)}</text>' for x, y, anchor, t in words)
    body = f'<path class="axis" d="M70 12V130H460"/><path class="line" d="M{path}"/>{dots}{texts}'
    return _chart(470, 154, title, body)


def _left(labels: Sequence[str]) -> float:
    """Room for the labels."""
    return min(max((text_width(shortened(printable(t))) for t in labels), default=0.0) + 10, 220.0)


def _name(label: str, left: float, i: int) -> str:
    text = shown(shortened(printable(label)))
    return f'<text class="label" x="{short(left - 8)}" y="{ROW * i + 15}" text-anchor="end">{text}</text>'


def _bar(left: float, i: int, share: float, kind: str = "bar") -> str:
    width = short(LENGTH * share)
    return f'<rect class="{kind}" x="{short(left)}" y="{ROW * i + 4}" width="{width}" height="14" rx="2"/>'


def _note(text: str, x: float, i: int) -> str:
    return f'<text x="{short(x)}" y="{ROW * i + 15}">{shown(text)}</text>'


def _chart(width: float, height: float, title: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-label="{shown(title)}" '
        f'viewBox="0 0 {short(width)} {short(height)}" width="{short(width)}">{body}</svg>'
    )
