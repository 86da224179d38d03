"""Manifest variables: a name and typed states in order."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from .errors import DataError, ModelError

__all__ = ["KnownStates", "State", "Variable", "number_in"]

State = str | int | float | bool
"""What a state can be. ``1``, ``"1"``, ``True`` and ``1.0`` are four different states."""

MAX_STATES = 32_767
"""Codes are 16-bit integers."""

OTHER = "(other)"
"""The state of rare values without order. In brackets, so as not to be taken for an answer someone gave."""

JOIN = " | "
"""Between the names of ordered values that were merged."""

WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)")
REAL = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE)
MOST_DIGITS = 17
"""Whole numbers of more digits are read as floats: they may not fit into 64 bits."""


def number_in(text: str) -> int | float | None:
    """Read a text as a number, None if it is none. A leading zero as in ``007`` makes text: such codes are names.

    Examples
    --------
    >>> number_in("-2"), number_in("2.50"), number_in("007")
    (-2, 2.5, None)
    """
    if WHOLE.fullmatch(text) and len(text) <= MOST_DIGITS:
        return int(text)
    return float(text) if REAL.fullmatch(text) else None


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


class KnownStates:
    """The states of a variable and the values that stand for them.

    A value that is a state is that state. Otherwise 1.0 stands for 1, text with blanks around it for the text without,
    a number for the bin it falls into, and one of several merged values for what they were merged into.

    Parameters
    ----------
    variable : Variable
        The variable.

    Examples
    --------
    >>> age = KnownStates(Variable("age", ("<= 30", "> 30"), (30,)))
    >>> age.code(41), age.code("41", untyped=True), age.code("old")
    (1, 1, None)
    """

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.codes = variable._codes
        self.other = self.codes.get(typed(OTHER))
        self.parts = {
            part: i for i, s in enumerate(variable.states) if isinstance(s, str) and JOIN in s for part in s.split(JOIN)
        }

    def code(self, value: State, *, untyped: bool = False) -> int | None:
        """Code of a value, None if it is no state; ``untyped`` text may be a number or a truth value."""
        edges = self.variable.edges
        for form in _forms(value, untyped or edges is not None):
            if typed(form) in self.codes:
                return self.codes[typed(form)]
            if edges is not None and _is_finite(form):
                return bisect_left(edges, float(form))
        return self.parts.get(str(value).strip())


def _forms(value: State, untyped: bool) -> list[State]:
    """Return the value as it is and as what it may have been: 1.0 for 1, and, if untyped, text for anything."""
    forms: list[State] = [value]
    if isinstance(value, str):
        text = value.strip()
        forms.append(text)
        number = number_in(text) if untyped else None
        if number is not None:
            value = number
            forms.append(value)
        elif untyped and text.lower() in ("true", "false"):
            forms.append(text.lower() == "true")
    if type(value) is int and abs(value) < 2**53:
        forms.append(float(value))
    elif isinstance(value, float) and value.is_integer():
        forms.append(int(value))
    return forms


def _is_finite(value: State) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def numbered(cardinalities: Iterable[int]) -> tuple[Variable, ...]:
    """Variables ``x1``, ``x2``, ... with states ``0``, ``1``, ..."""
    return tuple(Variable(f"x{i + 1}", tuple(range(int(k)))) for i, k in enumerate(cardinalities))
