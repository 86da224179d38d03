"""From a fitted thing to one plain dict, and from that to what people read."""

from __future__ import annotations

from ._compare import Comparison, compare_classes, compared
from ._diagnostics import Finding, findings
from ._explorer import explore
from ._html import Page
from ._html_report import write_report
from ._latent_class import class_label, describe_classes, profiles, state_labels
from ._names import latent_names, named, presented
from ._sampled import describe_draws
from ._search_result import describe_run, learned, run_findings
from ._statistics import statistics
from ._text import Shown, render, to_text
from ._tree import describe, describe_tree

__all__ = [
    "Comparison",
    "Finding",
    "Page",
    "Shown",
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
    "learned",
    "named",
    "presented",
    "profiles",
    "render",
    "run_findings",
    "state_labels",
    "statistics",
    "to_text",
    "write_report",
]
