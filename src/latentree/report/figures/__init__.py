"""Pictures. Every function takes an Axes, or makes one, and returns it.

They need Matplotlib: ``pip install 'latentree[plot]'``.
"""

from __future__ import annotations

from ._profiles import plot_profiles
from ._residuals import plot_residuals
from ._scores import plot_scores
from ._sizes import plot_sizes
from ._studies import plot_growth, plot_progress, plot_race, save_panels, to_svg
from ._trace import plot_trace
from ._tree import plot_tree
from ._uncertainty import plot_uncertainty

__all__ = [
    "plot_growth",
    "plot_profiles",
    "plot_progress",
    "plot_race",
    "plot_residuals",
    "plot_scores",
    "plot_sizes",
    "plot_trace",
    "plot_tree",
    "plot_uncertainty",
    "save_panels",
    "to_svg",
]
