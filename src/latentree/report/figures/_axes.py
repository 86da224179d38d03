"""What all pictures need."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._model import Model
from ..._types import FloatArray
from ...errors import bad_parameter, missing_extra

__all__ = ["axes", "found_in", "latent_node", "lengths", "plain", "pyplot"]


def axes(ax: Any, **size: Any) -> Any:
    """The Axes given, or a new one."""
    return pyplot().subplots(layout="constrained", **size)[1] if ax is None else ax


def found_in(thing: Any) -> Any:
    """The fit or model of an estimator; anything else as it is."""
    for name in ("fit_", "model_"):
        if hasattr(thing, name):
            return getattr(thing, name)
    return thing


def pyplot() -> Any:
    """Matplotlib's drawing module, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise missing_extra("Pictures need Matplotlib", "plot") from None
    return plt


def plain(name: str) -> str:
    """A name as it is: a dollar sign would begin a formula, and characters that cannot be seen are shown by codes."""
    seen = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)
    return seen.replace("$", r"\$")


def latent_node(model: Model, node: str | int | None) -> int:
    """The node meant, or the first latent one."""
    if node is not None:
        return model.tree.node(node)
    if not len(model.tree.latent_variables):
        raise bad_parameter("thing", "the picture", "a model with a latent variable", model)
    return int(model.tree.latent_variables[0])


def lengths(row: FloatArray, ends: tuple[FloatArray, FloatArray]) -> FloatArray:
    """How far intervals reach down and up; nowhere where there are none."""
    reach: FloatArray = np.nan_to_num(np.maximum([row - ends[0], ends[1] - row], 0.0))
    return reach
