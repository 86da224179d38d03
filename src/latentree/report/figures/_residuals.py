"""Bivariate residuals as a heat map."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...score import BivariateResiduals
from ._axes import axes, plain

__all__ = ["plot_residuals"]


def plot_residuals(residuals: BivariateResiduals, ax: Any = None, *, most: float = 10.0) -> Any:
    """Draw bivariate residuals as a heat map.

    Parameters
    ----------
    residuals : BivariateResiduals
        From :func:`latentree.score.bivariate_residuals`.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    most : float, default 10
        Where the colours end. Values well above about 4 show pairs that the classes do not explain.

    Returns
    -------
    Axes
    """
    ax = axes(ax)
    values = np.ma.masked_invalid(residuals.residuals)
    image = ax.imshow(values, vmin=0.0, vmax=most, cmap="viridis")
    ax.set_xticks(range(len(residuals.names)), [plain(n) for n in residuals.names], rotation=90)
    ax.set_yticks(range(len(residuals.names)), [plain(n) for n in residuals.names])
    ax.set_title("Bivariate residuals")
    ax.figure.colorbar(image, ax=ax, label="X² / df", extend="max")
    return ax
