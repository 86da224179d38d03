"""From distinct values to a variable's states, and from values to the states of a variable that is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from .._variables import (
    JOIN,
    MAX_STATES,
    MOST_DIGITS,
    OTHER,
    REAL,
    WHOLE,
    KnownStates,
    State,
    Variable,
    number_in,
    plain,
    typed,
)
from ..errors import Advice, DataError, Row, amount
from ._bins import bin_labels, equal_frequency, explicit_edges, merge_neighbours, merge_rest
from ._columns import Column, InPython, drop_advice, some, unreadable
from ._scales import scale_order

__all__ = ["Coding", "Missing", "first_cell", "learn", "match", "numbers_of", "with_points"]

Recode = NDArray[np.int16]

FEW_NUMBERS = 20
"""A number column with more distinct values may be a measurement: a general ``bins`` cuts it."""

MANY_NUMBERS = 50
"""A number column with more distinct values is a measurement."""

CASES_PER_NUMBER = 15
"""Above FEW_NUMBERS, a number column with fewer cases a value than this is a measurement too."""

IDENTIFIER_ROWS, IDENTIFIER_SHARE = 20, 0.9
"""From this many cases on, a column with more than this share of distinct values is an identifier."""

DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
DECIMAL_ADVICE = "If the comma is a decimal mark, read the file with {decimal}."
DECIMAL = Advice("decimal", ",")

Note = Callable[[str], None]


class Missing:
    """Cells that count as missing: an empty one, and texts and numbers that the user names.

    A text that reads as a number stands for that number too, in columns of numbers as in files.

    Examples
    --------
    >>> codes = Missing(["NA", "999"])
    >>> "NA " in codes, 999.0 in codes, "" in codes, "x" in codes
    (True, True, True, False)
    """

    def __init__(self, given: Iterable[Any] = ()) -> None:
        texts = {str(t).strip() for t in given}
        self.texts = frozenset({"", *texts})
        # Floats cannot tell whole numbers of 17 digits and more apart: they are compared as floats with floats only.
        self._exact = frozenset(Decimal(t) for t in texts if REAL.fullmatch(t) and number_in(t) is not None)
        self._floats = frozenset(map(float, self._exact))

    def __contains__(self, value: object) -> bool:
        if isinstance(value, str):
            return value.strip() in self.texts
        if not self._exact or isinstance(value, bool):
            return False
        if isinstance(value, np.number):
            value = value.item()
        if isinstance(value, float):
            return value in self._floats
        return isinstance(value, (int, Decimal)) and value in self._exact

    def among(self, levels: Sequence[Any] | NDArray[Any], untyped: bool) -> NDArray[np.bool_]:
        """Which levels of a column are missing; in a file, ``999.0`` is 999."""
        if not self._exact or not (untyped or isinstance(levels, np.ndarray)):
            return np.array([v in self for v in levels], dtype=bool)
        if isinstance(levels, np.ndarray) and levels.dtype.kind == "f":
            return np.isin(levels, list(self._floats))
        if isinstance(levels, np.ndarray):
            levels = levels.tolist()
        return np.array([v in self or (untyped and self._reads_as_one(v)) for v in levels], dtype=bool)

    def of(self, column: Column) -> NDArray[np.bool_]:
        """Which levels of a column are missing, by their own names or those that the file has for them too.

        Examples
        --------
        >>> column = Column(np.zeros(1, np.int32), ("no", "refused"), synonyms={"no": "1", "refused": "9"})
        >>> Missing(["9"]).of(column).tolist()
        [False, True]
        """
        found = self.among(column.levels, column.untyped)
        if not column.synonyms:
            return found
        levels = column.levels.tolist() if isinstance(column.levels, np.ndarray) else column.levels
        own = {str(level) for level in levels}
        named = [column.synonyms.get(level, "") for level in levels]
        by_synonym: NDArray[np.bool_] = np.array(
            [bool(text) and self._names(text) and text not in own for text in named], dtype=bool
        )
        return np.logical_or(found, by_synonym)

    def _names(self, text: str) -> bool:
        return text in self or self._reads_as_one(text)

    def _reads_as_one(self, value: Any) -> bool:
        """Whether a text is another way to write a number that is missing."""
        text = value.strip() if isinstance(value, str) else ""
        return number_in(text) is not None and Decimal(text) in self._exact


@dataclass(frozen=True, eq=False)
class Coding:
    """A variable, and the code of each level of a column; one more entry, -1, serves empty cells."""

    variable: Variable
    recode: Recode
    never_seen: tuple[State, ...] = ()
    """Levels in the column that were declared in earlier data but that no row had then: they became missing."""
    unknown: NDArray[np.bool_] | None = None
    """Which levels are no state though they are not missing; one more entry, False, serves empty cells."""


@dataclass(frozen=True, eq=False)
class _Values:
    """Distinct states-to-be of a column: where each level went, and the weight of each."""

    items: list[State] | NDArray[Any]
    to: NDArray[np.int64]
    counts: FloatArray

    @property
    def are_numbers(self) -> bool:
        return isinstance(self.items, np.ndarray)

    def seen(self) -> tuple[_Values, tuple[State, ...]]:
        """Return those that some row has, and the others."""
        kept = self.counts > 0
        if kept.all() or not kept.any():
            return self, ()
        position = np.r_[np.where(kept, np.cumsum(kept) - 1, -1), -1]
        items = [item for item, stays in zip(self.items, kept, strict=True) if stays]
        never = tuple(item for item, stays in zip(self.items, kept, strict=True) if not stays)
        return _Values(items, position[self.to], self.counts[kept]), never


def learn(
    name: str,
    column: Column,
    weights: FloatArray | None,
    *,
    missing: Missing | Collection[str],
    bins: int | None = None,
    cut: int | Sequence[float] | None = None,
    merge_rare: float | None = None,
    keep_levels: bool = False,
    note: Note | None = None,
) -> Coding:
    """Find the states of a column.

    Values of weight zero do not exist. ``bins`` cuts the column if it is continuous, ``cut`` (a number of bins, or
    edges) whatever numbers it holds. Values that fewer than ``merge_rare`` cases have are merged, which ``note`` is
    told in words. Declared levels that no row has are states with ``keep_levels``; otherwise they are remembered.

    Examples
    --------
    >>> from latentree.formats._columns import column_from
    >>> learn("x", column_from([2.0, float("nan"), 1.0]), None, missing=()).variable.states
    (1, 2)
    """
    gone = missing if isinstance(missing, Missing) else Missing(missing)
    values = _values(name, column, column.counts(weights), gone)
    if cut is not None and not values.are_numbers and not column.declared and not column.untyped:
        # Who asks to cut text says that it holds numbers.
        column = replace(column, levels=tuple(map(str, column.levels)), untyped=True)
        values = _values(name, column, column.counts(weights), gone)
    if not (values.counts > 0).any():
        raise _refused(name, "has no values: every cell is missing. Leave it out with {drop}.")
    never_seen: tuple[State, ...] = ()
    if column.declared and not keep_levels and not (column.ordered and merge_rare is not None):
        # Levels of a scale that merge with their neighbours cost nothing, and keep their place on it.
        values, never_seen = values.seen()
    where = _Where(name, column, weights, values, never_seen, note)
    if values.are_numbers and not column.declared:
        return _learn_numbers(where, bins, cut, merge_rare)
    if cut is not None:
        raise _not_numbers(where)
    return _learn_states(where, merge_rare)


def _not_numbers(where: _Where) -> DataError:
    """Name the first cell that is not a number, and how many there are."""
    if where.column.declared:
        return _refused(
            where.name, "cannot be cut by {bins}: it has categories of its own. Turn it into numbers first."
        )
    bad = np.array([number_in(str(v)) is None for v in where.values.items], dtype=bool)
    row, found = where.first(bad)
    value = where.values.items[where.value_in(row)]
    comma = isinstance(value, str) and DECIMAL_COMMA.fullmatch(value)
    text = "cannot be cut by {bins}: it holds {value!r} in {row}, which is not a number{many}. "
    text += DECIMAL_ADVICE if comma else "Make it missing or a number, or leave the column out with {drop}."
    return _refused(where.name, text, value=value, row=Row(row), many=_of_many(found))


def _refused(column: str, text: str, **more: Any) -> DataError:
    """Say what is wrong with a column; the text may name ways to cut it, to leave it out and to read its numbers."""
    ways = {"bins": Advice("bins"), "cut": Advice("bins", {column: 3}), "drop": drop_advice(column), "decimal": DECIMAL}
    return DataError("Column '{column}' " + text, column=column, **ways, **more)


def _of_many(found: int) -> str:
    return f" (the first of {found:,} such cells)" if found > 1 else ""


def match(
    variable: Variable, column: Column, weights: FloatArray | None, *, missing: Missing | Collection[str], unseen: str
) -> Coding:
    """Code a column by the states of a variable that is given; numbers are cut at its edges, if it has any.

    Rows of weight zero may hold anything. A cell that is ``missing`` is so unless the variable has a state of that
    name; a variable that was cut has none.
    """
    gone = (missing if isinstance(missing, Missing) else Missing(missing)).of(column)
    recode = np.full(len(column.levels) + 1, -1, dtype=np.int16)
    if column.is_numeric and variable.edges is not None:
        numbers = np.asarray(column.levels, dtype=np.float64)
        _refuse_infinite(variable.name, column, weights, np.isinf(numbers))
        recode[:-1] = np.where(gone, -1, np.searchsorted(variable.edges, numbers, side="left"))
        return Coding(variable, recode)
    known = KnownStates(variable)
    unknown, declared = np.zeros((2, len(column.levels)), dtype=bool)
    never_seen: list[State] = []
    for i in np.flatnonzero(column.counts(weights) > 0).tolist():
        if gone[i] and variable.edges is not None:
            continue
        value = _plain(variable.name, column.levels[i])
        code = known.code(value, untyped=column.untyped)
        if code is None and not gone[i]:
            code = known.other
            if code is None and known.is_never_seen(value, untyped=column.untyped):
                never_seen.append(value)
                declared[i] = True
            else:
                unknown[i] = code is None
        recode[i] = -1 if code is None else code
    if unknown.any() and unseen == "error":
        raise _unknown_state(variable, column, weights, unknown)
    return Coding(variable, recode, tuple(never_seen), np.append(unknown | declared, False))


def _unknown_state(
    variable: Variable, column: Column, weights: FloatArray | None, unknown: NDArray[np.bool_]
) -> DataError:
    row, found = first_cell(column, unknown, weights)
    return DataError(
        "Column '{column}', {row}: the value {value!r} is not a known state{many}. Known are {states}. "
        "Use {remedy} to treat it as missing.",
        column=variable.name,
        row=Row(row),
        value=column.levels[column.codes[row]],
        many=_of_many(found),
        states=some(variable.states),
        remedy=Advice("unseen", "missing"),
    )


def with_points(column: Column, missing: Missing, *, every: bool) -> Column:
    """Put points for decimal commas in cells that look like numbers; with ``every``, only if all are numbers then."""
    if len(column.levels) == 0 or not all(isinstance(v, str) for v in column.levels):
        return column
    bare = [v.strip() for v in column.levels]
    pointed = tuple(v.replace(",", ".") if DECIMAL_COMMA.fullmatch(v) else v for v in bare)
    numbers = [v for v in pointed if v not in missing]
    if every and numbers_of(numbers) is None:
        return column
    return replace(column, levels=pointed)


def numbers_of(texts: Sequence[str]) -> NDArray[Any] | None:
    """Read texts as numbers if all are: whole ones as int64, else as floats; None if one is not a number.

    A leading zero as in ``007`` makes text: such codes are names, and 7 would be another.

    Examples
    --------
    >>> numbers_of(["1", "-2"]).tolist(), numbers_of(["1", "2.5"]).tolist(), numbers_of(["1", "007"])
    ([1, -2], [1.0, 2.5], None)
    """
    if all(WHOLE.fullmatch(t) for t in texts) and all(len(t) <= MOST_DIGITS for t in texts):
        return np.array([int(t) for t in texts], dtype=np.int64)
    if all(REAL.fullmatch(t) for t in texts):
        return np.array([float(t) for t in texts])
    return None


def first_cell(column: Column, chosen: NDArray[np.bool_], weights: FloatArray | None) -> tuple[int, int]:
    """First row of positive weight that holds one of the levels chosen, and how many rows do."""
    held = np.r_[chosen, False][column.codes]
    if weights is not None:
        held &= weights > 0
    return int(np.argmax(held)), int(held.sum())


# ---- distinct values ---------------------------------------------------------------------------------------------


def _values(name: str, column: Column, counts: FloatArray, missing: Missing) -> _Values:
    kept = np.ones(len(counts), dtype=bool) if column.declared else counts > 0
    kept = kept & ~missing.of(column)
    if column.is_numeric:
        return _merged_numbers(np.asarray(column.levels)[kept], kept, counts)
    levels = [str(v).strip() if isinstance(v, str) else v for v in column.levels]
    if column.declared:
        _refuse_twins(name, [levels[i] for i in np.flatnonzero(kept).tolist()])
    chosen = [levels[i] for i in np.flatnonzero(kept).tolist()]
    numbers = numbers_of(chosen) if column.untyped else _numbers(chosen)
    if numbers is not None and not column.declared:
        return _merged_numbers(numbers, kept, counts)
    if numbers is not None:  # declared whole floats are whole numbers that met a missing cell
        chosen = (numbers.astype(np.int64) if _are_whole(numbers) else numbers).tolist()
    return _merged_states([_whole(_plain(name, v)) for v in chosen], kept, counts)


def _refuse_twins(name: str, levels: list[Any]) -> None:
    """Refuse declared categories that differ by blanks only: they cannot both have their place in the order."""
    texts = [v for v in levels if isinstance(v, str)]
    if len(set(texts)) < len(texts):
        twice = next(t for i, t in enumerate(texts) if t in texts[:i])
        text = "has several categories that are '{twice}' but for blanks around it. Make them one, for example by "
        raise _refused(name, text + "stripping the text before it becomes a category.", twice=twice)


def _numbers(levels: list[Any]) -> NDArray[Any] | None:
    """Numbers of an object column, if it holds nothing else."""
    kinds = {type(v) for v in levels}
    real = {k for k in kinds if issubclass(k, (float, np.floating, Decimal))}
    if not kinds or bool in kinds or not all(issubclass(k, (int, np.integer)) for k in kinds - real):
        return None
    try:
        numbers = np.array(levels, dtype=np.float64 if real else np.int64)
    except OverflowError:
        return None
    return numbers.astype(np.int64) if real < kinds and _are_whole(numbers) else numbers


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


def _plain(name: str, value: Any) -> State:
    if isinstance(value, Decimal):
        value = int(value) if value.is_finite() and value == int(value) else float(value)
    if type(value).__module__ == "datetime":
        raise unreadable(name, "dates or times")
    try:
        return plain(value)
    except (DataError, ValueError):
        raise unreadable(name, f"values of type {type(value).__name__}") from None


def _whole(value: State) -> State:
    """Return 1 for 1.0, which a column, or a piece of it, may hold side by side."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


# ---- states of numbers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Where:
    """What an error needs to name column, row and value."""

    name: str
    column: Column
    weights: FloatArray | None
    values: _Values
    never_seen: tuple[State, ...] = ()
    note: Note | None = None

    def first(self, chosen: NDArray[np.bool_]) -> tuple[int, int]:
        """First row that holds one of the values chosen, and how many rows do."""
        return first_cell(self.column, np.r_[chosen, False][self.values.to], self.weights)

    def value_in(self, row: int) -> int:
        """Position of the value that a row holds."""
        return int(self.values.to[self.column.codes[row]])

    def tell(self, text: str) -> None:
        if self.note is not None:
            self.note(f"Column '{self.name}': {text}")

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
    _refuse_infinite(name, where.column, where.weights, np.r_[np.isinf(numbers), False][values.to])
    whole = _are_whole(numbers)
    if cut is None and bins is not None and (not whole or len(numbers) > FEW_NUMBERS or where.column.measured):
        cut = bins
    if cut is not None:
        edges = equal_frequency(numbers, values.counts, cut) if isinstance(cut, int) else explicit_edges(name, cut)
        return _cut(where, edges, whole)
    if not whole:
        raise _continuous(where, numbers)
    _refuse_identifier(where)
    if merge_rare is not None and (values.counts < merge_rare).any():
        groups = merge_neighbours(values.counts, merge_rare)
        merged = _cut(where, np.array([float(numbers[g[-1]]) for g in groups[:-1]]), whole)
        where.tell(f"{len(numbers):,} numbers became {len(groups):,} bins, fewer than {merge_rare:g} rows having some.")
        return merged
    _refuse_many(where)
    variable = Variable(name, tuple(int(x) for x in numbers), label=where.column.label)
    return where.coding(variable, np.arange(len(numbers)))


def _continuous(where: _Where, numbers: NDArray[Any]) -> DataError:
    row, _ = where.first(numbers != np.floor(numbers))
    weights = " If it says how much each row counts, use it as weights with {weights}." if numbers.min() >= 0 else ""
    text = f"is continuous ({{row}}: {{value!r}}). {CUT_OR_DROP}{weights}"
    own = InPython("weights", where.name, "sample_weight= of fit")
    return _refused(where.name, text, row=Row(row), value=float(numbers[where.value_in(row)]), weights=own)


def _cut(where: _Where, edges: FloatArray, whole: bool) -> Coding:
    labels, label = bin_labels(edges, whole=whole), where.column.label
    variable = Variable(where.name, labels, tuple(edges.tolist()), label=label)
    return where.coding(variable, np.searchsorted(edges, np.asarray(where.values.items), side="left"))


CUT_OR_DROP = "Cut it with {bins}, for example {cut}, or leave it out with {drop}."


def _refuse_many(where: _Where) -> None:
    found = len(where.values.items)
    if found > MANY_NUMBERS or (found > FEW_NUMBERS and where.total < CASES_PER_NUMBER * found):
        text = "has {found:,} different numbers in {total} cases, like a measurement. "
        text += f"{CUT_OR_DROP} If they are names of categories, make them text."
        raise _refused(where.name, text, found=found, total=amount(where.total))


def _refuse_identifier(where: _Where) -> None:
    found = int((where.values.counts > 0).sum())
    if where.total >= IDENTIFIER_ROWS and found > IDENTIFIER_SHARE * where.total:
        text = "has {found:,} different values in {total} cases, like an identifier. Leave it out with {drop}"
        text += ", or cut it with {cut} if it is a measurement." if where.values.are_numbers else "."
        raise _refused(where.name, text, found=found, total=amount(where.total))


def _refuse_infinite(name: str, column: Column, weights: FloatArray | None, endless: NDArray[np.bool_]) -> None:
    """Refuse levels that are infinite, in rows that count."""
    row, found = first_cell(column, endless, weights)
    if found:
        message = "Column '{column}', {row}: the value is infinite{many}. Make it missing or a finite number."
        raise DataError(message, column=name, row=Row(row), many=_of_many(found))


# ---- states of text and the like ---------------------------------------------------------------------------------


def _learn_states(where: _Where, merge_rare: float | None) -> Coding:
    values, column = where.values, where.column
    states = list(values.items)
    _refuse_decimal_commas(where)
    _refuse_identifier(where)
    scale = None if column.declared else scale_order(states)
    order = scale or _usual_order(states, column.declared)
    groups = [[i] for i in order]
    names: list[State] = [states[i] for i in order]
    pool: int | None = None
    if merge_rare is not None and (values.counts < merge_rare).any():
        # A scale of two has no neighbours to choose from: merging them would leave nothing.
        ordered = column.ordered or (scale is not None and len(states) > 2)
        groups, names, pool = _merged(states, values.counts, order, merge_rare, ordered)
        _tell_merged(where, states, groups, names, merge_rare)
    if len(groups) > MAX_STATES:
        text = f"has {len(groups):,} different values; at most {MAX_STATES:,} are possible. "
        text += "Merge the rare ones with {merge}, or leave it out with {drop}."
        raise _refused(where.name, text, merge=Advice("merge_rare", 30))
    code_of = np.empty(len(states), dtype=np.int64)
    for code, group in enumerate(groups):
        code_of[group] = code
    merged = tuple(
        tuple(states[i] for i in group) if len(group) > 1 or states[group[0]] != name else ()
        for group, name in zip(groups, names, strict=True)
    )
    variable = Variable(
        where.name, tuple(names), merged=merged, other=pool, never_seen=where.never_seen, label=column.label,
        order=_order_of(column, scale),
    )  # fmt: skip
    return where.coding(variable, code_of)


def _order_of(column: Column, scale: list[int] | None) -> str:
    """Where the order of the states comes from; that of two answers needs no word."""
    if column.declared:
        return "given" if column.given else "declared" if column.ordered else ""
    return "guessed" if scale is not None and len(scale) > 2 else ""


def _usual_order(states: list[State], declared: bool) -> list[int]:
    return list(range(len(states))) if declared else sorted(range(len(states)), key=lambda i: _rank(states[i]))


def _refuse_decimal_commas(where: _Where) -> None:
    """Refuse numbers with decimal commas that were read as text, if they are too many for answers."""
    texts = [v for v in where.values.items if isinstance(v, str)]
    if where.column.declared or len(texts) <= FEW_NUMBERS or len(texts) < len(where.values.items):
        return
    commas = [DECIMAL_COMMA.fullmatch(t) is not None for t in texts]
    if any(commas) and all(c or number_in(t) is not None for c, t in zip(commas, texts, strict=True)):
        row, _ = where.first(np.array(commas, dtype=bool))
        text = f"has {len(texts):,} different values that look like numbers with decimal commas "
        text += "({row}: {value!r}). Read the file with {decimal}, or leave it out with {drop}."
        raise _refused(where.name, text, row=Row(row), value=texts[where.value_in(row)])


def _tell_merged(where: _Where, states: list[State], groups: list[list[int]], names: list[State], least: float) -> None:
    for group, name in zip(groups, names, strict=True):
        if len(group) > 1 or states[group[0]] != name:
            counts = ", ".join(f"'{states[i]}' ({amount(where.values.counts[i])})" for i in group[:8])
            more = f" and {len(group) - 8:,} more" if len(group) > 8 else ""
            which = "it is" if len(group) == 1 else "one or more of them are"
            where.tell(f"{counts}{more} became '{name}', because {which} in fewer than {least:g} rows.")


def _rank(state: State) -> tuple[int, Any]:
    """Truth values before whole numbers before numbers before text; by value within a type."""
    return ((bool, int, float, str).index(type(state)), state)


def _merged(
    states: list[State], counts: FloatArray, order: list[int], least: float, ordered: bool
) -> tuple[list[list[int]], list[State], int | None]:
    """Groups of values, what each is called, and which of them is the pool."""
    if ordered:
        groups = [[order[i] for i in group] for group in merge_neighbours(counts[order], least)]
        return groups, [states[g[0]] if len(g) == 1 else _joined([states[i] for i in g], states) for g in groups], None
    pool = merge_rest(counts, least, [i for i in order if states[i] == OTHER])
    if not pool:
        return [[i] for i in order], [states[i] for i in order], None
    pooled = set(pool)
    stay = [i for i in order if i not in pooled]
    return [*([i] for i in stay), pool], [*(states[i] for i in stay), OTHER], len(stay)


def _joined(values: list[State], states: list[State]) -> str:
    name = JOIN.join(map(str, values))
    while name in states:  # someone's own answer
        name = f"({name})"
    return name
