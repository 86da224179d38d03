"""Learning the number of states of latent nodes: splitting, merging, adjusting (K chapters 4 to 7)."""

from __future__ import annotations

from .adapt import adapt
from .classes import learn_classes
from .directions import DIRECTIONS
from .learn import LEARNERS, Learned, learn
from .operations import introduce, merge, remove, split
from .progress import Position, Step
from .star import Star
from .states import States
from .task import Settings, Task

__all__ = [
    "DIRECTIONS",
    "LEARNERS",
    "Learned",
    "Position",
    "Settings",
    "Star",
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
