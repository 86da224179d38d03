"""Learning the tree: operators, restricted likelihood, and the searches built on them; see :func:`learn`."""

from __future__ import annotations

from .._trace import Step, trace_from_plain, trace_to_plain
from ._learn import DEFAULT, METHODS, Run, learn

__all__ = ["DEFAULT", "METHODS", "Run", "Step", "learn", "trace_from_plain", "trace_to_plain"]
