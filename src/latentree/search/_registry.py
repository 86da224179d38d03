"""The searches by name. Pure data: reading it loads neither NumPy nor any search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._registry import Registry, loaded


@dataclass(frozen=True)
class MethodEntry:
    """Where a search is, and the options that its name stands for.

    Attributes
    ----------
    method : str or type
        The class, or ``module:Class``, which is loaded when the search is first used.
    preset : mapping, optional
        Options with other values than the class's own defaults.
    """

    method: str | type
    preset: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Any:
        """The class; see :class:`latentree.search.SearchMethod`."""
        return loaded(self.method) if isinstance(self.method, str) else self.method


METHODS: Registry[MethodEntry] = Registry(
    "method",
    {
        "swift": MethodEntry("latentree.search._swift:Swift"),
        "east": MethodEntry("latentree.search._east:East"),
        "east0": MethodEntry("latentree.search._east:East", {"ratio": False}),
        "dhc": MethodEntry("latentree.search._dhc:DoubleHillClimbing"),
        "shc": MethodEntry("latentree.search._shc:SingleHillClimbing"),
        "hshc": MethodEntry("latentree.search._hshc:HeuristicHillClimbing"),
        "hidden-chow-liu": MethodEntry("latentree.search._hidden_chow_liu:HiddenChowLiu"),
    },
)
"""Searches by name; ``METHODS.register("mine", MethodEntry(Mine))`` adds one of one's own."""

DEFAULT = "swift"
"""The search that is used unless another is named."""
