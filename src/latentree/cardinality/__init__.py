"""Learning the number of states of latent nodes: splitting, merging, adjusting ([Karciauskas2005] chapters 4 to 7)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._adapt import adapt
    from ._classes import learn_classes
    from ._directions import DIRECTIONS
    from ._learn import Learned, learn
    from ._learner import Learner, LearnerState, Visited
    from ._neighbourhood import Neighbourhood
    from ._operations import introduce, merge, remove, split
    from ._registry import LEARNERS, Entry
    from ._states import States
    from ._task import Settings, Task

_HOME = {
    **dict.fromkeys(("Entry", "LEARNERS"), "._registry"),
    **dict.fromkeys(("Learned", "learn"), "._learn"),
    **dict.fromkeys(("Learner", "LearnerState", "Visited"), "._learner"),
    **dict.fromkeys(("Settings", "Task"), "._task"),
    **dict.fromkeys(("introduce", "merge", "remove", "split"), "._operations"),
    "DIRECTIONS": "._directions",
    "Neighbourhood": "._neighbourhood",
    "States": "._states",
    "adapt": "._adapt",
    "learn_classes": "._classes",
}
_RENAMED = {"Position": "LearnerState", "Step": "latentree.search.Step"}

__all__ = [
    "DIRECTIONS",
    "LEARNERS",
    "Entry",
    "Learned",
    "Learner",
    "LearnerState",
    "Neighbourhood",
    "Settings",
    "States",
    "Task",
    "Visited",
    "adapt",
    "introduce",
    "learn",
    "learn_classes",
    "merge",
    "remove",
    "split",
]


def __getattr__(name: str) -> Any:
    # Loaded when first used (PEP 562), so that the registry can be read without NumPy.
    if name in _HOME:
        value = globals()[name] = getattr(importlib.import_module(_HOME[name], __name__), name)
        return value
    renamed = f"; it is called {_RENAMED[name]} now" if name in _RENAMED else ""
    raise AttributeError(f"module 'latentree.cardinality' has no attribute {name!r}{renamed}")


def __dir__() -> list[str]:
    return sorted(__all__)
