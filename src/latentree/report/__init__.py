"""From a fitted thing to one description, and from that to what people read.

Names are loaded when they are first used, so that a command pays only for what it shows.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..comparison import Comparison, bootstrap_tests, compare_classes, compared, searched
    from ..diagnostics import Finding, findings, run_findings
    from ..naming import class_label, latent_names, named, presented, state_labels
    from ..search_result import search_result
    from ._explorer import explore
    from ._html import Page
    from ._html_report import write_report
    from ._latent_class import describe_classes, profiles
    from ._paper import PaperTable, paper_tables, table_of, write_tables
    from ._printable import printable
    from ._report import Report, describe, describe_run, describe_tree
    from ._reviewer import ReviewerReport, reviewer_report
    from ._sampled import describe_draws
    from ._statistics import statistics
    from ._text import Shown, render, to_text
    from ._tree import checked_trace

_NAMES = {
    "..comparison": ("Comparison", "bootstrap_tests", "compare_classes", "compared", "searched"),
    "..diagnostics": ("Finding", "findings", "run_findings"),
    "..naming": ("class_label", "latent_names", "named", "presented", "state_labels"),
    "..search_result": ("search_result",),
    "._explorer": ("explore",),
    "._html": ("Page",),
    "._html_report": ("write_report",),
    "._latent_class": ("describe_classes", "profiles"),
    "._paper": ("PaperTable", "paper_tables", "table_of", "write_tables"),
    "._printable": ("printable",),
    "._report": ("Report", "describe", "describe_run", "describe_tree"),
    "._reviewer": ("ReviewerReport", "reviewer_report"),
    "._sampled": ("describe_draws",),
    "._statistics": ("statistics",),
    "._text": ("Shown", "render", "to_text"),
    "._tree": ("checked_trace",),
}
_HOME = {name: home for home, names in _NAMES.items() for name in names}
_RENAMED = {"learned": "search_result"}

__all__ = [
    "Comparison",
    "Finding",
    "Page",
    "PaperTable",
    "Report",
    "ReviewerReport",
    "Shown",
    "bootstrap_tests",
    "checked_trace",
    "class_label",
    "compare_classes",
    "compared",
    "describe",
    "describe_classes",
    "describe_draws",
    "describe_run",
    "describe_tree",
    "explore",
    "findings",
    "latent_names",
    "named",
    "paper_tables",
    "presented",
    "printable",
    "profiles",
    "render",
    "reviewer_report",
    "run_findings",
    "search_result",
    "searched",
    "state_labels",
    "statistics",
    "table_of",
    "to_text",
    "write_report",
    "write_tables",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name], __name__), name)
        globals()[name] = value
        return value
    if name == "figures":
        return importlib.import_module(".figures", __name__)
    now = f"; it is called {_RENAMED[name]!r} now" if name in _RENAMED else ""
    raise AttributeError(f"module 'latentree.report' has no attribute {name!r}{now}")


def __dir__() -> list[str]:
    return sorted(__all__)
