"""Pictures. Every function takes an Axes, or makes one, and returns it.

They need Matplotlib: ``pip install 'latentree[plot]'``.
"""

from __future__ import annotations

from ._fits import plot_residuals, plot_scores, plot_trace
from ._lines import plot_profile_lines, save_figure
from ._power import plot_power
from ._related import plot_curve, plot_curves
from ._states import plot_profiles, plot_sizes, plot_uncertainty
from ._studies import plot_growth, plot_progress, plot_race, save_panels, to_svg
from ._tree import plot_tree

__all__ = [
    "plot_curve",
    "plot_curves",
    "plot_growth",
    "plot_power",
    "plot_profile_lines",
    "plot_profiles",
    "plot_progress",
    "plot_race",
    "plot_residuals",
    "plot_scores",
    "plot_sizes",
    "plot_trace",
    "plot_tree",
    "plot_uncertainty",
    "save_figure",
    "save_panels",
    "to_svg",
]
