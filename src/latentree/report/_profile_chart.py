"""The class-profile plot that everybody knows, as SVG: a line for each class through its answers.

Variables stand below each other, so that long names have room and a phone shows it too. Of a variable with two values
one is drawn; of others a row for each. Lines differ in colour, dashes and markers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ._answers import shown_answer
from ._contents import TreeReport
from ._layout import shortened, text_width
from ._printable import printable
from ._svg import short, shown

__all__ = ["ProfileRow", "profile_rows", "profiles_svg"]

ROW, SCALE = 22.0, 250.0
"""Height of a row, and length of the scale from 0 to 1."""

LONGEST, LETTERS = 26, 13.0
"""Most characters of a name, and the size of letters to leave room for: some fonts are wider than most."""

MOST_DRAWN = 40
"""Most variables that are drawn; of more, the most informative."""

DASHES = ("", "6 3", "2 3", "8 3 2 3", "10 4", "1 3", "5 2 1 2 1 2", "12 3 3 3")

Interval = tuple[float | None, float | None]


@dataclass(frozen=True)
class ProfileRow:
    """One row: an answer of a variable and its probability in each class; without probabilities, a heading."""

    name: str
    node: int
    answer: str
    values: tuple[float, ...] = ()
    intervals: tuple[Interval, ...] = ()
    joined: bool = False


def profile_rows(
    report: TreeReport, intervals: dict[int, list[list[Interval]]] | None = None, most: int | None = MOST_DRAWN
) -> list[ProfileRow]:
    """The rows for a latent class model; ``intervals`` are [class][state] by node."""
    information = {edge["child"]: edge["information"] for edge in report["edges"]}
    leaves = sorted(information, key=lambda v: -information[v])[:most]
    rows: list[ProfileRow] = []
    for v in sorted(leaves):
        node, ends = report["nodes"][v], (intervals or {}).get(v)

        def row(j: int, *, name: str, joined: bool, v: int = v, ends: list[list[Interval]] | None = ends) -> ProfileRow:
            own = report["nodes"][v]
            values = tuple(given[j] for given in own["table"])
            between = () if ends is None else tuple(given[j] for given in ends)
            return ProfileRow(name, v, own["labels"][j], values, between, joined)

        at = shown_answer(node["labels"])
        if at is not None:
            joined = bool(rows) and shown_answer(report["nodes"][rows[-1].node]["labels"]) is not None
            rows.append(row(at, name=node["name"], joined=joined))
            continue
        rows.append(ProfileRow(node["name"], v, ""))
        rows += [row(j, name="", joined=j > 0) for j in range(len(node["labels"]))]
    return rows


def profiles_svg(rows: Sequence[ProfileRow], classes: Sequence[tuple[str, float]], *, title: str) -> str:
    """Draw the rows, with a line for each class, given with its size."""
    single = {row.answer for row in rows if row.name and row.values}
    one = len(single) == 1 and all(row.values for row in rows)
    labels = [_label(row, not one) for row in rows]
    left = max((text_width(shortened(printable(t), LONGEST), LETTERS) for t in labels), default=0.0) + 12
    legend, top = _legend(classes, left + SCALE + 20)
    body = [legend]
    height = top + ROW * len(rows)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = left + SCALE * share
        body.append(f'<line class="grid" x1="{short(x)}" y1="{short(top)}" x2="{short(x)}" y2="{short(height)}"/>')
        body.append(_quiet(x, height + 14, f"{share:g}"))
    what = f"probability of {shortened(single.pop(), 24)}" if one else "probability of the answer"
    body.append(_quiet(left + SCALE / 2, height + 29, what))
    body += [_line(rows, i, left, top) for i in range(len(classes))]
    body += [_row(row, label, i, left, top, classes) for i, (row, label) in enumerate(zip(rows, labels, strict=True))]
    width = left + SCALE + 20
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart profiles" role="group" aria-label="{shown(title)}" '
        f'viewBox="0 0 {short(width)} {short(height + 36)}" width="{short(width)}">{"".join(body)}</svg>'
    )


def _quiet(x: float, y: float, text: str) -> str:
    return f'<text class="quiet" x="{short(x)}" y="{short(y)}" text-anchor="middle">{shown(text)}</text>'


def _label(row: ProfileRow, several: bool) -> str:
    if not row.name:
        return row.answer
    return f"{row.name}: {row.answer}" if several and row.values else row.name


def _legend(classes: Sequence[tuple[str, float]], width: float) -> tuple[str, float]:
    """Marks, names and sizes of the classes, in as many lines as they need; and where the rows begin."""
    parts, x, y = [], 8.0, 12.0
    for i, (name, size) in enumerate(classes):
        text = f"{shortened(printable(name), 26)} ({100 * size:.0f} %)"
        need = 22 + text_width(text, 12.5) + 12
        if x > 8 and x + need > width:
            x, y = 8.0, y + 18
        dash = f' stroke-dasharray="{DASHES[i % 8]}"' if DASHES[i % 8] else ""
        parts.append(
            f'<g class="b{i % 8}" data-class="{i}"><path class="path"{dash} d="M{short(x)} {short(y - 4)}h18"/>'
            f"{_mark(i, x + 9, y - 4)}"
            f'<text x="{short(x + 23)}" y="{short(y)}">{shown(text)}<title>{shown(name)}</title></text></g>'
        )
        x += need
    return "".join(parts), y + 14


def _line(rows: Sequence[ProfileRow], i: int, left: float, top: float) -> str:
    path = ""
    for at, row in enumerate(rows):
        if row.values:
            x, y = left + SCALE * row.values[i], top + ROW * (at + 0.5)
            path += f"{'L' if row.joined else 'M'}{short(x)} {short(y)}"
    dash = f' stroke-dasharray="{DASHES[i % 8]}"' if DASHES[i % 8] else ""
    return f'<g class="b{i % 8}"><path class="path"{dash} d="{path}"/></g>' if path else ""


def _row(row: ProfileRow, label: str, at: int, left: float, top: float, classes: Sequence[tuple[str, float]]) -> str:
    y = top + ROW * (at + 0.5)
    text = shown(shortened(printable(label), LONGEST))
    kind = "label strong" if not row.values else "label"
    parts = [
        f'<rect x="0" y="{short(y - ROW / 2)}" width="{short(left + SCALE + 20)}" height="{short(ROW)}" '
        'fill="transparent"/>',
        f'<text class="{kind}" x="{short(left - 10)}" y="{short(y + 4)}" text-anchor="end">{text}</text>',
        f"<title>{shown(_told(row, classes))}</title>",
    ]
    for i, p in enumerate(row.values):
        x = left + SCALE * p
        low, high = row.intervals[i] if row.intervals else (None, None)
        reach = ""
        if low is not None and high is not None:
            a, b = left + SCALE * max(low, 0.0), left + SCALE * min(high, 1.0)
            reach = f'<line class="reach" x1="{short(a)}" y1="{short(y)}" x2="{short(b)}" y2="{short(y)}"/>'
        parts.append(f'<g class="b{i % 8}">{reach}{_mark(i, x, y)}</g>')
    return f'<g class="row" data-v="{row.node}">{"".join(parts)}</g>'


def _told(row: ProfileRow, classes: Sequence[tuple[str, float]]) -> str:
    """The row in words, one hover away."""
    told = [f"{row.name or ''}{': ' if row.name and row.answer else ''}{row.answer}".strip(": ")]
    for i, ((name, _), p) in enumerate(zip(classes, row.values, strict=False)):
        ends = row.intervals[i] if row.intervals else (None, None)
        between = f" ({ends[0]:.2f} to {ends[1]:.2f})" if ends[0] is not None and ends[1] is not None else ""
        told.append(f"{name}: {p:.3f}{between}")
    return "\n".join(told)


def _mark(i: int, x: float, y: float) -> str:
    """A marker whose shape tells the class without its colour."""
    a, b = short(x), short(y)
    shapes = (
        f'<circle class="mark" cx="{a}" cy="{b}" r="4.6"/>',
        f'<rect class="mark" x="{short(x - 4)}" y="{short(y - 4)}" width="8" height="8"/>',
        f'<path class="mark" d="M{a} {short(y - 5.2)}L{short(x + 5)} {short(y + 3.8)}H{short(x - 5)}Z"/>',
        f'<path class="mark" d="M{a} {short(y - 5.6)}l5.6 5.6l-5.6 5.6l-5.6-5.6Z"/>',
        f'<path class="mark" d="M{a} {short(y + 5.2)}L{short(x + 5)} {short(y - 3.8)}H{short(x - 5)}Z"/>',
        f'<path class="mark" d="M{short(x - 1.8)} {short(y - 5)}h3.6v3.2h3.2v3.6h-3.2v3.2h-3.6v-3.2h-3.2v-3.6h3.2z"/>',
        f'<rect class="mark" x="{short(x - 5)}" y="{short(y - 2.2)}" width="10" height="4.4"/>',
        f'<rect class="mark" x="{short(x - 2.2)}" y="{short(y - 5)}" width="4.4" height="10"/>',
    )
    return shapes[i % len(shapes)]
