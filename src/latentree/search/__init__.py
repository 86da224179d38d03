"""Learning the tree: operators, restricted likelihood, and the searches built on them; see :func:`learn`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._registry import DEFAULT, METHODS, MethodEntry

if TYPE_CHECKING:
    from .._trace import Step as Step, trace_from_plain as trace_from_plain, trace_to_plain as trace_to_plain
    from ._learn import Run as Run, learn as learn

_HOME = {
    **dict.fromkeys(("Step", "trace_from_plain", "trace_to_plain"), ".._trace"),
    **dict.fromkeys(("Run", "learn"), "._learn"),
    **dict.fromkeys(("Point", "SearchMethod", "State", "Task"), "._task"),
}
__all__ = ["DEFAULT", "METHODS", "MethodEntry", *_HOME]


def __getattr__(name: str) -> Any:
    # Loaded when first used: the command line reads METHODS, and that shall not load NumPy.
    if name not in _HOME:
        raise AttributeError(f"module 'latentree.search' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name], __name__), name)
    return value
