"""Learning the number of states of latent nodes: splitting, merging, adjusting ([Karciauskas2005] chapters 4 to 7)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._learn import Learned as Learned, learn as learn, learn_classes as learn_classes
    from ._registry import LEARNERS as LEARNERS

_MODULES = {
    "_directions": ("DIRECTIONS",),
    "_learn": ("Learned", "learn", "learn_classes"),
    "_learner": ("Learner", "LearnerState", "Visited"),
    "_neighbourhood": ("Neighbourhood",),
    "_operations": ("introduce", "merge", "remove", "split"),
    "_registry": ("LEARNERS", "Entry"),
    "_screened": ("adapt",),
    "_states": ("States",),
    "_task": ("Settings", "Task"),
}
_HOME = {name: f".{module}" for module, names in _MODULES.items() for name in names}
_RENAMED = {"Position": "LearnerState", "Star": "Neighbourhood", "Step": "latentree.search.Step"}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    # Loaded when first used (PEP 562), so that the registry can be read without NumPy.
    if name in _HOME:
        value = globals()[name] = getattr(importlib.import_module(_HOME[name], __name__), name)
        return value
    renamed = f"; it is called {_RENAMED[name]} now" if name in _RENAMED else ""
    raise AttributeError(f"module 'latentree.cardinality' has no attribute {name!r}{renamed}")


def __dir__() -> list[str]:
    return sorted(__all__)
