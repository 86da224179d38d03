"""Manifest variables: a name and typed states in order."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
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

ORDERS = ("", "declared", "given", "guessed")
"""Where the order of a variable's states comes from."""

WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)")
REAL = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE)
MOST_DIGITS = 17
"""Whole numbers of more digits are read as floats: they may not fit into 64 bits."""


def number_in(text: str) -> int | float | None:
    """Read a text as a number, None if it is not one. A leading zero as in ``007`` makes text: such codes are names.

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
        "A state must be text, a whole number, a number or a truth value. Got {value!r} of type {kind}.",
        value=value,
        kind=type(value).__name__,
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
    merged : sequence of sequences of states, optional
        For each state the values that were merged into it, none if it stands for itself. Default: nothing was merged.
    other : int, optional
        Position of the state that rare values were pooled in: values that are not known belong there too.
    never_seen : sequence of states, optional
        Levels that the data declared but no row had. They have no probability, and are missing in new rows.
    label : str, optional
        What it is in words: the text of a question, or the label of a column in a file of SPSS, Stata or SAS.
    order : {"", "declared", "given", "guessed"}, optional
        Where the order of the states comes from if it has a meaning: the data declare it, a person gave it, or it is
        that of a well-known scale. It changes no likelihood.

    Notes
    -----
    Two variables are equal if name, states and edges are: how values are read is not part of what a variable is.

    Examples
    --------
    >>> v = Variable("smokes", ("no", "yes"))
    >>> v.cardinality, v.code("yes")
    (2, 1)
    """

    name: str
    states: tuple[State, ...]
    edges: tuple[float, ...] | None = None
    merged: tuple[tuple[State, ...], ...] = field(default=(), repr=False)
    other: int | None = field(default=None, repr=False)
    never_seen: tuple[State, ...] = field(default=(), repr=False)
    label: str = field(default="", repr=False)
    order: str = field(default="", repr=False)
    _codes: dict[tuple[str, State], int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ModelError("A variable's name must be text. Got {name!r}.", name=self.name)
        states = tuple(plain(s) for s in self.states)
        object.__setattr__(self, "states", states)
        if not 1 <= len(states) <= MAX_STATES:
            raise self._wrong("has {found} states; 1 to {most:,} are possible", found=len(states), most=MAX_STATES)
        if not isinstance(self.label, str):
            raise self._wrong("needs a text as its label. Got {label!r}", label=self.label)
        if self.order not in ORDERS:
            raise self._wrong("cannot have the order {order!r}; there are {all}", order=self.order, all=ORDERS)
        if any(isinstance(s, float) and s != s for s in states):
            raise self._wrong("has the state nan; a missing value is not a state")
        codes = {typed(s): i for i, s in enumerate(states)}
        if len(codes) != len(states):
            twice = next(s for i, s in enumerate(states) if codes[typed(s)] != i)
            raise self._wrong("has the state {twice!r} twice", twice=twice)
        object.__setattr__(self, "_codes", codes)
        if self.edges is not None:
            edges = tuple(float(e) for e in self.edges)
            rising = all(a < b for a, b in pairwise(edges)) and all(e == e for e in edges)
            if len(edges) != len(states) - 1 or not rising:
                needed = len(states) - 1
                raise self._wrong("needs {needed} edges in ascending order. Got {edges}", needed=needed, edges=edges)
            object.__setattr__(self, "edges", edges)
        self._check_reading()

    def _check_reading(self) -> None:
        """Check what says how values are read: each value must stand for one state only."""
        merged = tuple(tuple(plain(v) for v in group) for group in self.merged)
        never_seen = tuple(plain(v) for v in self.never_seen)
        object.__setattr__(self, "merged", merged if any(merged) else ())
        object.__setattr__(self, "never_seen", never_seen)
        if merged and len(merged) != len(self.states):
            raise self._wrong("needs merged values for each of its {n} states, or none at all", n=len(self.states))
        if self.other is not None and not (type(self.other) is int and 0 <= self.other < len(self.states)):
            raise self._wrong("has no state at position {other!r} for other values", other=self.other)
        own = [{typed(state)} for state in self.states]
        for i, group in enumerate(merged):
            if any(self._codes.get(typed(v), i) != i for v in group):
                raise self._wrong("has a state that was merged into another")
            own[i] |= {typed(v) for v in group}
        values = [*chain.from_iterable(own), *map(typed, never_seen)]
        if len(set(values)) < len(values):
            twice = next(v for i, (_, v) in enumerate(values) if values.index(values[i]) < i)
            raise self._wrong("has the value {twice!r} in two places", twice=twice)

    def _wrong(self, what: str, **fields: Any) -> ModelError:
        return ModelError(f"Variable '{{variable}}' {what}.", variable=self.name, **fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variable):
            return NotImplemented
        return self is other or (self.name, self._typed, self.edges) == (other.name, other._typed, other.edges)

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
            message = "Variable '{variable}' has no state {state!r}. It has {states}."
            raise DataError(message, variable=self.name, state=state, states=shown) from None


class KnownStates:
    """The states of a variable and the values that stand for them.

    A value that is a state is that state. Otherwise 1.0 stands for 1, text with blanks around it for the text without,
    a number for the bin it falls into, and one of several merged values for what they were merged into.

    Examples
    --------
    >>> age = KnownStates(Variable("age", ("<= 30", "> 30"), (30,)))
    >>> age.code(41), age.code("41", untyped=True), age.code("old")
    (1, 1, None)
    """

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.other = variable.other
        self.codes = {typed(value): i for i, group in enumerate(variable.merged) for value in group} | variable._codes
        self.never_seen = frozenset(map(typed, variable.never_seen))

    def code(self, value: State, *, untyped: bool = False) -> int | None:
        """Code of a value, None if it is not known; ``untyped`` text may be a number or a truth value."""
        edges = self.variable.edges
        for form in _forms(value, untyped or edges is not None):
            if typed(form) in self.codes:
                return self.codes[typed(form)]
            if edges is not None and _is_finite(form):
                return bisect_left(edges, float(form))
        return None

    def is_never_seen(self, value: State, *, untyped: bool = False) -> bool:
        """Whether a value is a level that the data declared but no row had."""
        return any(typed(form) in self.never_seen for form in _forms(value, untyped))


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


def looks_merged(states: Iterable[State]) -> bool:
    """Whether states could be taken for merged values by their text alone, as the first model files have it."""
    return any(isinstance(s, str) and (JOIN in s or s == OTHER) for s in states)


def read_from_text(variable: Variable) -> Variable:
    """Take ``a | b`` for merged values and ``(other)`` for a pool, for files that do not say what was merged.

    Examples
    --------
    >>> read_from_text(Variable("x", ("low | middle", "high", "(other)"))).merged
    (('low', 'middle'), (), ())
    """
    place: dict[tuple[str, State], int] = {}
    for i, state in enumerate(variable.states):
        for part in state.split(JOIN) if isinstance(state, str) and JOIN in state else ():
            truth = {"True": True, "False": False}.get(part)
            number = number_in(part)
            place |= {typed(form): i for form in (part, number, truth) if form is not None}
    groups: list[list[State]] = [[] for _ in variable.states]
    for key, i in place.items():
        if key not in variable._codes:
            groups[i].append(key[1])
    merged = tuple(map(tuple, groups))
    return replace(variable, merged=merged, other=variable._codes.get(typed(OTHER)))
