"""From a fitted thing to one plain dict, and from that to what people read."""

from __future__ import annotations

from .compare import Comparison, compare_classes
from .latent_class import class_label, describe, profiles, state_labels
from .sampled import describe_draws
from .statistics import statistics
from .text import Shown, render, to_text
from .warn import Finding, findings

__all__ = [
    "Comparison",
    "Finding",
    "Shown",
    "class_label",
    "compare_classes",
    "describe",
    "describe_draws",
    "findings",
    "profiles",
    "render",
    "state_labels",
    "statistics",
    "to_text",
]
