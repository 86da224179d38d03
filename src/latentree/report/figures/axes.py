"""What all pictures need."""

from __future__ import annotations

from typing import Any

from ...errors import LatentreeError

__all__ = ["axes", "plain"]


def axes(ax: Any, **size: Any) -> Any:
    """The Axes given, or a new one."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise LatentreeError("Pictures need matplotlib: pip install latentree[plot]") from None
    return plt.subplots(layout="constrained", **size)[1]


def plain(name: str) -> str:
    """A name as it is: a dollar sign would begin a formula, and characters that cannot be seen are shown by codes."""
    seen = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)
    return seen.replace("$", r"\$")
