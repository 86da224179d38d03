"""From distinct values to a variable's states, and from values to the states of a variable that is given."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..variables import MAX_STATES, State, Variable, plain, typed
from .bins import bin_labels, equal_frequency, explicit_edges, merge_neighbours, merge_rest
from .columns import Column, unreadable

__all__ = ["Coding", "learn", "match", "numbers_of"]

FloatArray = NDArray[np.float64]
Recode = NDArray[np.int16]

FEW_NUMBERS = 20
"""A number column with more distinct values may be a measurement: a general ``bins`` cuts it."""

MANY_NUMBERS = 100
"""A number column with more distinct values is a measurement."""

CASES_PER_NUMBER = 5
"""Above FEW_NUMBERS, a number column with fewer cases a value than this is a measurement too."""

IDENTIFIER_ROWS, IDENTIFIER_SHARE = 20, 0.9
"""From this many cases on, a column with more than this share of distinct values is an identifier."""

OTHER = "(other)"
"""The state of rare values without order. In brackets, so as not to be taken for an answer someone gave."""

JOIN = " | "
"""Between the names of ordered values that were merged."""

WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)")
REAL = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Coding:
    """A variable, and the code of each level of a column; one more entry, -1, serves empty cells."""

    variable: Variable
    recode: Recode


@dataclass(frozen=True, eq=False)
class _Values:
    """Distinct states-to-be of a column: where each level went, and the weight of each."""

    items: list[State] | NDArray[Any]
    to: NDArray[np.int64]
    counts: FloatArray

    @property
    def are_numbers(self) -> bool:
        return isinstance(self.items, np.ndarray)


def learn(
    name: str,
    column: Column,
    weights: FloatArray | None,
    *,
    missing: Collection[str],
    bins: int | None = None,
    cut: int | Sequence[float] | None = None,
    merge_rare: float | None = None,
) -> Coding:
    """Find the states of a column.

    Parameters
    ----------
    name : str
        The variable's name.
    column : Column
        The data.
    weights : array, optional
        Weight of each row; values of weight zero do not exist.
    missing : collection of str
        Text that stands for a missing cell.
    bins : int, optional
        How many bins to cut the column into if it is continuous.
    cut : int or sequence of float, optional
        How many bins to cut this column into, or at which edges, whatever numbers it holds.
    merge_rare : float, optional
        Merge values until each has this many cases.

    Examples
    --------
    >>> from latentree.formats.columns import column_from
    >>> learn("x", column_from([2.0, float("nan"), 1.0]), None, missing=()).variable.states
    (1, 2)
    """
    values = _values(name, column, column.counts(weights), missing)
    if not (values.counts > 0).any():
        raise DataError(f"Column '{name}' has no values: every cell is missing. Leave it out with drop=['{name}'].")
    where = _Where(name, column, weights, values)
    if values.are_numbers and not column.declared:
        return _learn_numbers(where, bins, cut, merge_rare)
    if cut is not None:
        raise DataError(f"Column '{name}' cannot be cut by bins=: it holds {values.items[0]!r}, not numbers.")
    return _learn_states(where, merge_rare)


def match(
    variable: Variable, column: Column, weights: FloatArray | None, *, missing: Collection[str], unseen: str
) -> Coding:
    """Code a column by the states of a variable that is given.

    Parameters
    ----------
    variable : Variable
        The variable; if it has edges, numbers are cut at them.
    column : Column
        The data.
    weights : array, optional
        Weight of each row; rows of weight zero may hold anything.
    missing : collection of str
        Text that stands for a missing cell, unless the variable has a state of that name.
    unseen : {"error", "missing"}
        What to do with a value that is no state.
    """
    counts = column.counts(weights)
    recode = np.full(len(column.levels) + 1, -1, dtype=np.int16)
    if column.is_numeric and variable.edges is not None:
        numbers = np.asarray(column.levels, dtype=np.float64)
        _refuse_infinite(variable.name, column, weights, numbers, np.arange(len(numbers)), counts)
        recode[:-1] = np.searchsorted(variable.edges, numbers, side="left")
        return Coding(variable, recode)
    known = _Known(variable)
    for i in np.flatnonzero(counts > 0).tolist():
        level = column.levels[i]
        code = known.code(_plain(variable.name, level), column.untyped)
        if code is None and not (isinstance(level, str) and level.strip() in missing):
            code = known.other
            if code is None and unseen == "error":
                raise DataError(
                    f"Column '{variable.name}', row {first_row(column, i, weights)}: the value {level!r} is no known "
                    f"state. Known are {_some(variable.states)}. Use unseen='missing' to treat it as missing."
                )
        recode[i] = -1 if code is None else code
    return Coding(variable, recode)


def numbers_of(texts: Sequence[str]) -> NDArray[Any] | None:
    """Read texts as numbers if all are: whole ones as int64, else as floats; None if one is no number.

    A leading zero as in ``007`` makes text: such codes are names, and 7 would be another.

    Examples
    --------
    >>> numbers_of(["1", "-2"]).tolist(), numbers_of(["1", "2.5"]).tolist(), numbers_of(["1", "007"])
    ([1, -2], [1.0, 2.5], None)
    """
    if all(WHOLE.fullmatch(t) for t in texts) and all(len(t) < 18 for t in texts):
        return np.array([int(t) for t in texts], dtype=np.int64)
    if all(REAL.fullmatch(t) for t in texts):
        return np.array([float(t) for t in texts])
    return None


def first_row(column: Column, level: int, weights: FloatArray | None) -> int:
    """First row of positive weight that holds a level."""
    held = column.codes == level
    return int(np.argmax(held if weights is None else held & (weights > 0)))


# ---- distinct values ---------------------------------------------------------------------------------------------


def _values(name: str, column: Column, counts: FloatArray, missing: Collection[str]) -> _Values:
    kept = np.ones(len(counts), dtype=bool) if column.declared else counts > 0
    if column.is_numeric:
        return _merged_numbers(np.asarray(column.levels)[kept], kept, counts)
    levels = [_text(v) if isinstance(v, str) else v for v in column.levels]
    if column.untyped:
        levels = [v.strip() for v in levels]
    kept = kept & np.array([not (isinstance(v, str) and v.strip() in missing) for v in levels], dtype=bool)
    chosen = [levels[i] for i in np.flatnonzero(kept).tolist()]
    numbers = numbers_of(chosen) if column.untyped else _numbers(chosen)
    if numbers is not None and not column.declared:
        return _merged_numbers(numbers, kept, counts)
    if numbers is not None:  # declared whole floats are whole numbers that met a missing cell
        chosen = (numbers.astype(np.int64) if _are_whole(numbers) else numbers).tolist()
    return _merged_states([_plain(name, v) for v in chosen], kept, counts)


def _numbers(levels: list[Any]) -> NDArray[Any] | None:
    """Numbers of an object column, if it holds nothing else. Whole 1 and 1.0 side by side stay two states."""
    kinds = {type(v) for v in levels}
    real = {k for k in kinds if issubclass(k, (float, np.floating, Decimal))}
    if not kinds or bool in kinds or not all(issubclass(k, (int, np.integer)) for k in kinds - real):
        return None
    try:
        numbers = np.array(levels, dtype=np.float64 if real else np.int64)
    except OverflowError:
        return None
    return numbers if real in (kinds, set()) or not _are_whole(numbers) else None


def _are_whole(numbers: NDArray[Any]) -> bool:
    """Whether all are whole and small enough for a float to tell them from their neighbours."""
    if numbers.dtype.kind in "iu":
        return True
    return bool((numbers == np.floor(numbers)).all() and np.abs(numbers).max(initial=0.0) < 2**53)


def _merged_numbers(numbers: NDArray[Any], kept: NDArray[np.bool_], counts: FloatArray) -> _Values:
    items, inverse = np.unique(numbers, return_inverse=True)
    to = np.full(len(kept), -1, dtype=np.int64)
    to[kept] = inverse
    merged = np.bincount(inverse, weights=counts[kept], minlength=len(items)).astype(np.float64)
    return _Values(items, to, merged)


def _merged_states(items: list[State], kept: NDArray[np.bool_], counts: FloatArray) -> _Values:
    position: dict[tuple[str, State], int] = {}
    inverse = np.array([position.setdefault(typed(v), len(position)) for v in items], dtype=np.int64)
    to = np.full(len(kept), -1, dtype=np.int64)
    to[kept] = inverse
    merged = np.bincount(inverse, weights=counts[kept], minlength=len(position)).astype(np.float64)
    return _Values([state for _, state in position], to, merged)


def _text(value: str) -> str:
    return value if type(value) is str else str(value)


def _plain(name: str, value: Any) -> State:
    if isinstance(value, Decimal):
        value = int(value) if value == int(value) else float(value)
    if type(value).__module__ == "datetime":
        raise unreadable(name, "dates or times")
    try:
        return plain(value)
    except (DataError, ValueError):
        raise unreadable(name, f"a value of type {type(value).__name__}") from None


# ---- states of numbers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Where:
    """What an error needs to name column, row and value."""

    name: str
    column: Column
    weights: FloatArray | None
    values: _Values

    def row(self, value: int) -> int:
        held = np.r_[self.values.to == value, False][self.column.codes]
        return int(np.argmax(held if self.weights is None else held & (self.weights > 0)))

    @property
    def total(self) -> float:
        return float(self.values.counts.sum())

    def coding(self, variable: Variable, code_of: NDArray[Any]) -> Coding:
        """Follow levels to values, and values to codes."""
        return Coding(variable, np.r_[np.r_[code_of, -1][self.values.to], -1].astype(np.int16))


def _learn_numbers(
    where: _Where, bins: int | None, cut: int | Sequence[float] | None, merge_rare: float | None
) -> Coding:
    values, name = where.values, where.name
    numbers = np.asarray(values.items)
    _refuse_infinite(name, where.column, where.weights, numbers, values.to, values.counts)
    whole = _are_whole(numbers)
    if cut is None and bins is not None and (not whole or len(numbers) > FEW_NUMBERS or where.column.measured):
        cut = bins
    if cut is not None:
        edges = equal_frequency(numbers, values.counts, cut) if isinstance(cut, int) else explicit_edges(name, cut)
        return _cut(where, edges, whole)
    if not whole:
        fraction = int(np.argmax(numbers != np.floor(numbers)))
        seen = f"row {where.row(fraction)}: {float(numbers[fraction])!r}"
        raise DataError(f"Column '{name}' is continuous ({seen}). {_cut_or_drop(name)}")
    _refuse_identifier(where)
    if merge_rare is not None and (values.counts < merge_rare).any():
        groups = merge_neighbours(values.counts, merge_rare)
        return _cut(where, np.array([float(numbers[g[-1]]) for g in groups[:-1]]), whole)
    _refuse_many(where)
    return where.coding(Variable(name, tuple(int(x) for x in numbers)), np.arange(len(numbers)))


def _cut(where: _Where, edges: FloatArray, whole: bool) -> Coding:
    variable = Variable(where.name, bin_labels(edges, whole=whole), tuple(edges.tolist()))
    return where.coding(variable, np.searchsorted(edges, np.asarray(where.values.items), side="left"))


def _cut_or_drop(name: str) -> str:
    return f"Cut it with bins=, for example bins={{'{name}': 3}}, or leave it out with drop=['{name}']."


def _refuse_many(where: _Where) -> None:
    found = len(where.values.items)
    if found > MANY_NUMBERS or (found > FEW_NUMBERS and where.total < CASES_PER_NUMBER * found):
        raise DataError(
            f"Column '{where.name}' has {found:,} different numbers in {where.total:,.6g} cases, like a measurement. "
            f"{_cut_or_drop(where.name)} If they are names of categories, make them text."
        )


def _refuse_identifier(where: _Where) -> None:
    found = int((where.values.counts > 0).sum())
    if where.total >= IDENTIFIER_ROWS and found > IDENTIFIER_SHARE * where.total:
        cut = f", or cut it with bins={{'{where.name}': 3}} if it is a measurement" if where.values.are_numbers else ""
        raise DataError(
            f"Column '{where.name}' has {found:,} different values in {where.total:,.6g} cases, like an identifier. "
            f"Leave it out with drop=['{where.name}']{cut}."
        )


def _refuse_infinite(
    name: str,
    column: Column,
    weights: FloatArray | None,
    numbers: NDArray[Any],
    to: NDArray[Any],
    counts: FloatArray,
) -> None:
    endless = np.isinf(numbers) & (counts > 0)
    if endless.any():
        at = int(np.argmax(endless))
        row = first_row(column, int(np.argmax(to == at)), weights)
        raise DataError(f"Column '{name}', row {row}: the value is infinite. Make it missing or a finite number.")


# ---- states of text and the like ---------------------------------------------------------------------------------


def _learn_states(where: _Where, merge_rare: float | None) -> Coding:
    values, column = where.values, where.column
    states = list(values.items)
    _refuse_identifier(where)
    order = list(range(len(states))) if column.declared else sorted(range(len(states)), key=lambda i: _rank(states[i]))
    groups = [[i] for i in order]
    names: list[State] = [states[i] for i in order]
    if merge_rare is not None and (values.counts < merge_rare).any():
        groups, names = _merged(states, values.counts, order, merge_rare, column.ordered)
    if len(groups) > MAX_STATES:
        raise DataError(
            f"Column '{where.name}' has {len(groups):,} different values; at most {MAX_STATES:,} are possible. "
            f"Merge the rare ones with merge_rare=30, or leave it out with drop=['{where.name}']."
        )
    code_of = np.empty(len(states), dtype=np.int64)
    for code, group in enumerate(groups):
        code_of[group] = code
    return where.coding(Variable(where.name, tuple(names)), code_of)


def _rank(state: State) -> tuple[int, Any]:
    """Truth values before whole numbers before numbers before text; by value within a type."""
    return ((bool, int, float, str).index(type(state)), state)


def _merged(
    states: list[State], counts: FloatArray, order: list[int], least: float, ordered: bool
) -> tuple[list[list[int]], list[State]]:
    if ordered:
        groups = [[order[i] for i in group] for group in merge_neighbours(counts[order], least)]
        return groups, [states[g[0]] if len(g) == 1 else JOIN.join(str(states[i]) for i in g) for g in groups]
    pool = merge_rest(counts, least, [i for i in order if states[i] == OTHER])
    stay = [i for i in order if i not in set(pool)]
    rest: list[State] = [OTHER] if pool else []
    return [*([i] for i in stay), *([pool] if pool else [])], [*(states[i] for i in stay), *rest]


# ---- states of a given variable ----------------------------------------------------------------------------------


class _Known:
    """The states of a variable and the values that stand for them."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.codes = {typed(s): i for i, s in enumerate(variable.states)}
        self.other = self.codes.get(typed(OTHER))
        self.parts = {
            part: i for i, s in enumerate(variable.states) if isinstance(s, str) and JOIN in s for part in s.split(JOIN)
        }

    def code(self, value: State, untyped: bool) -> int | None:
        """Code of a value, None if it is no state."""
        for form in self._forms(value, untyped):
            if typed(form) in self.codes:
                return self.codes[typed(form)]
            if self.variable.edges is not None and _is_finite(form):
                return int(np.searchsorted(self.variable.edges, float(form), side="left"))
        return self.parts.get(str(value).strip())

    def _forms(self, value: State, untyped: bool) -> list[State]:
        """Return the value as it is and as what it may have been: 1.0 for 1, and, in a file, text for anything."""
        forms: list[State] = [value]
        if isinstance(value, str) and untyped:
            text = value.strip()
            forms.append(text)
            numbers = numbers_of([text])
            if numbers is not None:
                value = numbers[0].item()
                forms.append(value)
            elif text.lower() in ("true", "false"):
                forms.append(text.lower() == "true")
        if type(value) is int and abs(value) < 2**53:
            forms.append(float(value))
        elif isinstance(value, float) and value.is_integer():
            forms.append(int(value))
        return forms


def _is_finite(value: State) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _some(states: Sequence[State], most: int = 8) -> str:
    return ", ".join(repr(s) for s in states[:most]) + (", ..." if len(states) > most else "")
