"""From a fitted thing to one plain dict, and from that to what people read."""

from __future__ import annotations

from .compare import Comparison, compare_classes, compared
from .document import write_report
from .explorer import explore
from .html import Page
from .latent_class import class_label, describe_classes, profiles, state_labels
from .learned import describe_run, learned, run_findings
from .names import latent_names, named, presented
from .sampled import describe_draws
from .statistics import statistics
from .text import Shown, render, to_text
from .tree import describe, describe_tree
from .warn import Finding, findings

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
