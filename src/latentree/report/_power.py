"""The page of a power study: a table, and a curve for each criterion and test."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ._charts import line_svg
from ._html import Page, page
from ._sections import sections_html
from ._svg import shown

if TYPE_CHECKING:
    from ..planning import PowerStudy

__all__ = ["power_page"]


def power_page(study: PowerStudy, path: str | os.PathLike[str] | None = None) -> Page:
    """Make the page, and write it to a file if one is named."""
    rows = study.rows()
    curves = []
    for name in dict.fromkeys(row["what"] for row in rows):
        own = [row for row in rows if row["what"] == name]
        sizes, shares = [row["n"] for row in own], [row["power"] for row in own]
        if len(own) > 1:
            curves.append(line_svg(sizes, shares, title=f"Share by {name}", x_label="N", y_label=f"found by {name}"))
    body = "\n".join([f"<h1>{shown(study.title)}</h1>", *sections_html([study.section]), *curves])
    made = page(study.title, body, styles=("base.css", "report.css"))
    if path is not None:
        made.save(path)
    return made
