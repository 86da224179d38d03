"""Small tables for notebooks, which bring their own style."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ._paper import table_of
from ._printable import printable

__all__ = ["table_html"]


def table_html(frame: Any, *, title: str = "", best: Mapping[str, object] | None = None, note: str = "") -> str:
    """A data frame as an HTML table; ``best`` is the first cell of the row to mark, for each column.

    Examples
    --------
    >>> print(table_html({"k": [1, 2], "bic": [3.5, 2.5]}, best={"bic": 2}))
    <table><thead><tr><th>k</th><th>bic</th></tr></thead><tbody><tr><td>1</td><td>3.50</td></tr><tr><td>2</td><td><b>2.50</b></td></tr></tbody></table>
    """
    table = table_of(frame, title)
    rows = []
    for row, texts in zip(table.rows, table.texts, strict=True):
        cells = []
        for head, text in zip(table.heads, texts, strict=True):
            marked = best is not None and best.get(head) is not None and best[head] == row[0]
            cells.append(f"<td><b>{escape(text)}</b></td>" if marked else f"<td>{escape(text)}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    heads = "".join(f"<th>{escape(printable(head))}</th>" for head in table.heads)
    above = f"<caption>{escape(title)}</caption>" if title else ""
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<table>{above}<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>{below}"
