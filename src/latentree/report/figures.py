"""Pictures of fits. Every function takes an Axes, or makes one, and returns it.

They need matplotlib: ``pip install latentree[plot]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import LatentreeError
from ..score import BivariateResiduals

__all__ = ["plot_residuals"]


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise LatentreeError("Pictures need matplotlib: pip install latentree[plot]") from None
    return plt.subplots()[1]


def plot_residuals(residuals: BivariateResiduals, ax: Any = None, *, most: float = 10.0) -> Any:
    """Draw bivariate residuals as a heat map.

    Parameters
    ----------
    residuals : BivariateResiduals
        From :func:`latentree.score.bivariate_residuals`.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    most : float, default 10
        Where the colours end. Values well above about 4 tell of pairs that the classes do not explain.

    Returns
    -------
    Axes
    """
    ax = _axes(ax)
    values = np.ma.masked_invalid(residuals.residuals)
    image = ax.imshow(values, vmin=0.0, vmax=most, cmap="viridis")
    ax.set_xticks(range(len(residuals.names)), [_plain(n) for n in residuals.names], rotation=90)
    ax.set_yticks(range(len(residuals.names)), [_plain(n) for n in residuals.names])
    ax.set_title("Bivariate residuals")
    ax.figure.colorbar(image, ax=ax, label="X² / df", extend="max")
    return ax


def _plain(name: str) -> str:
    return name.replace("$", r"\$")  # a dollar sign would begin a formula
