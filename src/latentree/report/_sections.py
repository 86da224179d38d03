"""Sections of a report that are a title, some words and a table: as text, HTML and data frames."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from ._printable import printable
from ._svg import shown
from ._text import RULED

__all__ = ["Section", "frame_of", "sections_html", "sections_text"]


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes
    ----------
    name : str
        Short name, by which its data frame is asked for.
    title : str
        Heading.
    rows : sequence of dict
        One for each line of the table, all with the same keys; values are plain, None where there is none.
    columns : mapping of str to str
        What the shown columns are called, by key, in their order.
    text : sequence of str
        Sentences above the table.
    digits : mapping of str to int
        Decimals of numbers by key; 3 unless said.
    """

    name: str
    title: str
    rows: Sequence[Mapping[str, Any]]
    columns: Mapping[str, str]
    text: Sequence[str] = ()
    digits: Mapping[str, int] | None = None

    def cell(self, row: Mapping[str, Any], key: str) -> str:
        """A value as people read it."""
        value = row[key]
        if key.startswith("p_") or key.endswith("_p"):
            return "-" if value is None else "<0.001" if value < 0.0005 else f"{value:.3f}"
        return written(row[key], (self.digits or {}).get(key, 3))


def written(value: Any, digits: int = 3) -> str:
    """Write a value: numbers with decimals, truth as yes and no, nothing as a dash.

    Examples
    --------
    >>> written(1234.5678, 1), written(None), written(True), written([0.25, 0.5], 2)
    ('1,234.6', '-', 'yes', '0.25, 0.50')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.{digits}f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(written(item, digits) for item in value)
    return str(value)


def sections_text(title: str, sections: Sequence[Section], *, width: int = 80) -> str:
    """Write sections as plain text. Tables are as wide as they need to be where that is more than the width."""
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=False, force_jupyter=False, color_system=None, _environ={})
    console.print(Group(*_texts(title, sections)), crop=False, overflow="fold")
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def _texts(title: str, sections: Sequence[Section]) -> Iterator[RenderableType]:
    yield Text(printable(title), style="bold")
    for section in sections:
        yield Text(f"\n{printable(section.title)}", style="bold")
        for sentence in section.text:
            yield Text(printable(sentence))
        if section.rows:
            yield _grid(section)


def _grid(section: Section) -> Grid:
    grid = Grid(box=RULED, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False, header_style="bold")
    for key, name in section.columns.items():
        numbers = all(isinstance(row[key], int | float | None) for row in section.rows)
        justify: Literal["right", "left"] = "right" if numbers else "left"
        grid.add_column(Text(printable(name)), justify=justify, overflow="fold", no_wrap=numbers)
    for row in section.rows:
        # Text, not str: what the data hold is never read as markup.
        grid.add_row(*(Text(printable(section.cell(row, key))) for key in section.columns))
    return grid


def sections_html(sections: Sequence[Section]) -> Iterator[str]:
    """Write sections as HTML, everything escaped."""
    for section in sections:
        yield f"<h2>{shown(section.title)}</h2>"
        yield from (f"<p>{shown(sentence)}</p>" for sentence in section.text)
        if section.rows:
            heads = "".join(f'<th scope="col">{shown(name)}</th>' for name in section.columns.values())
            body = "".join(
                "<tr>" + "".join(_html_cell(section, row, key) for key in section.columns) + "</tr>"
                for row in section.rows
            )
            yield f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _html_cell(section: Section, row: Mapping[str, Any], key: str) -> str:
    kind = ' class="number"' if isinstance(row[key], int | float | None) else ""
    return f"<td{kind}>{shown(section.cell(row, key))}</td>"


def frame_of(section: Section, backend: str = "pandas") -> Any:
    """The rows of a section as a data frame of pandas, Polars or PyArrow; lists are joined to one text."""
    import narwhals as nw

    keys = list(section.rows[0]) if section.rows else list(section.columns)
    plain = [
        {key: written(value, 6) if isinstance(value, list | tuple) else value for key, value in row.items()}
        for row in section.rows
    ]
    columns = {key: [row[key] for row in plain] for key in keys}
    return nw.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]
