"""Manifest variables: a name and typed states in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from .errors import DataError, ModelError

__all__ = ["State", "Variable"]

State = str | int | float | bool
"""What a state can be. ``1``, ``"1"``, ``True`` and ``1.0`` are four different states."""

MAX_STATES = 32_767
"""Codes are 16-bit integers."""


def plain(value: Any) -> State:
    """Turn a NumPy scalar or the like into a plain ``str``, ``bool``, ``int`` or ``float``."""
    item = value.item() if hasattr(value, "item") and not isinstance(value, str) else value
    if isinstance(item, (str, bool, int, float)):
        return str(item) if isinstance(item, str) else item
    raise DataError(
        "A state must be text, a whole number, a number or a truth value. "
        f"Got {value!r} of type {type(value).__name__}."
    )


def typed(state: State) -> tuple[str, State]:
    """Return a key under which ``1``, ``"1"``, ``True`` and ``1.0`` differ."""
    return (type(state).__name__, state)


@dataclass(frozen=True)
class Variable:
    """A categorical variable.

    Parameters
    ----------
    name : str
        Its name, as in the data.
    states : sequence of str, int, float or bool
        Its states in order; a code in a table is a position in this sequence.
    edges : sequence of float, optional
        Where a continuous column was cut: state ``i`` holds values in ``(edges[i-1], edges[i]]``,
        the first and last state being open below and above.

    Examples
    --------
    >>> v = Variable("smokes", ("no", "yes"))
    >>> v.cardinality, v.code("yes")
    (2, 1)
    """

    name: str
    states: tuple[State, ...]
    edges: tuple[float, ...] | None = None
    _codes: dict[tuple[str, State], int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ModelError(f"A variable's name must be text. Got {self.name!r}.")
        states = tuple(plain(s) for s in self.states)
        object.__setattr__(self, "states", states)
        if not 1 <= len(states) <= MAX_STATES:
            raise ModelError(f"Variable '{self.name}' has {len(states)} states; 1 to {MAX_STATES:,} are possible.")
        if any(isinstance(s, float) and s != s for s in states):
            raise ModelError(f"Variable '{self.name}' has the state nan; missing values are no state.")
        codes = {typed(s): i for i, s in enumerate(states)}
        if len(codes) != len(states):
            twice = next(s for i, s in enumerate(states) if codes[typed(s)] != i)
            raise ModelError(f"Variable '{self.name}' has the state {twice!r} twice.")
        object.__setattr__(self, "_codes", codes)
        if self.edges is not None:
            edges = tuple(float(e) for e in self.edges)
            rising = all(a < b for a, b in pairwise(edges)) and all(e == e for e in edges)
            if len(edges) != len(states) - 1 or not rising:
                raise ModelError(
                    f"Variable '{self.name}': {len(states)} bins need {len(states) - 1} rising edges. Got {edges}."
                )
            object.__setattr__(self, "edges", edges)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variable):
            return NotImplemented
        return (self.name, self._typed, self.edges) == (other.name, other._typed, other.edges)

    def __hash__(self) -> int:
        return hash((self.name, self._typed, self.edges))

    @property
    def _typed(self) -> tuple[tuple[str, State], ...]:
        return tuple(typed(s) for s in self.states)

    @property
    def cardinality(self) -> int:
        """Number of states."""
        return len(self.states)

    def begins_like(self, other: Variable) -> bool:
        """Whether the states of the shorter of the two are the first of the longer, types included."""
        n = min(self.cardinality, other.cardinality)
        return self._typed[:n] == other._typed[:n]

    def code(self, state: Any) -> int:
        """Position of a state; an error lists what there is."""
        try:
            return self._codes[typed(plain(state))]
        except KeyError:
            shown = ", ".join(repr(s) for s in self.states[:8]) + (", ..." if len(self.states) > 8 else "")
            raise DataError(f"Variable '{self.name}' has no state {state!r}. It has {shown}.") from None


def numbered(cardinalities: Iterable[int]) -> tuple[Variable, ...]:
    """Variables ``x1``, ``x2``, ... with states ``0``, ``1``, ..."""
    return tuple(Variable(f"x{i + 1}", tuple(range(int(k)))) for i, k in enumerate(cardinalities))
