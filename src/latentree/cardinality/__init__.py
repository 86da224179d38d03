"""Learning the number of states of latent nodes: splitting, merging, adjusting (K chapters 4 to 7)."""

from __future__ import annotations

from ._adapt import adapt
from ._classes import learn_classes
from ._directions import DIRECTIONS
from ._learn import LEARNERS, Learned, learn
from ._neighbourhood import Neighbourhood
from ._operations import introduce, merge, remove, split
from ._progress import Position, Step
from ._states import States
from ._task import Settings, Task

__all__ = [
    "DIRECTIONS",
    "LEARNERS",
    "Learned",
    "Neighbourhood",
    "Position",
    "Settings",
    "States",
    "Step",
    "Task",
    "adapt",
    "introduce",
    "learn",
    "learn_classes",
    "merge",
    "remove",
    "split",
]
