"""One look at every column of data before anything is fitted: what it holds, what is suspicious, and what to do."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._types import FloatArray
from ..errors import DataError, LatentreeError, amount
from ._coding import (
    CASES_PER_NUMBER,
    DECIMAL_COMMA,
    FEW_NUMBERS,
    IDENTIFIER_ROWS,
    IDENTIFIER_SHARE,
    MANY_NUMBERS,
    numbers_of,
    with_points,
)
from ._columns import Column, column_from
from ._frame import raw_columns
from ._long_form import long_form
from ._recipe import Recipe
from ._scales import scale_order
from ._suspects import (
    DATE,
    DATES,
    ID_NAME,
    WEIGHT_NAME,
    WEIGHT_WORD,
    missing_among_words,
    missing_numbers,
    missing_words,
)
from ._warnings import MANY_STATES, alike_groups

__all__ = ["Check", "ColumnCheck", "check"]

BINS = 3
"""Into how many bins a measurement is proposed to be cut."""

LONG_WORDS, LONG_SHARE = 4, 0.3
"""Text of so many words on average, of which so large a share differ, was typed freely."""

SINGLE_SHARE = 0.5
"""Text of many values of which more than this share occur once was typed freely too."""

RARE = 5
"""Values that fewer rows have are named."""

SHOWN = 6
"""Values that are shown."""


@dataclass(frozen=True)
class ColumnCheck:
    """What one column holds.

    Attributes
    ----------
    name, label : str
        Its name, and what it is in words if the file says so.
    kind : str
        ``answers``, ``numbers``, ``weights``, ``identifier``, ``date``, ``free text``, ``constant`` or ``empty``; of
        long data also ``row`` and ``item``.
    n_values, missing : int
        How many different values it has, and how many cells are missing.
    values : tuple of (str, float)
        The most frequent values and how many rows have each.
    findings : tuple of str
        What is suspicious, in words.
    treatment : str
        What is proposed.
    """

    name: str
    label: str
    kind: str
    n_values: int
    missing: int
    values: tuple[tuple[str, float], ...]
    findings: tuple[str, ...]
    treatment: str


@dataclass(frozen=True)
class Check:
    """What the columns of data hold, and how to read them.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    columns : tuple of ColumnCheck
        One for each column.
    recipe : Recipe
        The treatment that is proposed: ``check.recipe.table(data)`` makes the table, and
        ``check.recipe.save("survey.toml")`` writes it to a file.
    error : LatentreeError or None
        What would still be wrong then.
    """

    n_rows: int
    columns: tuple[ColumnCheck, ...]
    recipe: Recipe
    error: LatentreeError | None = None

    def __str__(self) -> str:
        wide = max(len(own.name) for own in self.columns)
        lines = [f"{self.n_rows:,} rows, {len(self.columns)} columns"]
        for own in self.columns:
            lines.append(
                f"{own.name:<{wide}}  {own.kind}, {own.n_values:,} values, {own.missing:,} missing: {own.treatment}"
            )
            lines += [f"{'':<{wide}}    {text}" for text in own.findings]
        plain = self.recipe.to_plain()
        lines.append(f"Proposed: {plain}" if plain else "Nothing to do: the data can be used as they are.")
        return "\n".join([*lines, *([f"Still wrong: {self.error}"] if self.error is not None else [])])


def check(data: Any, recipe: Recipe | None = None) -> Check:
    """Look at every column of data, and propose how to read them.

    Nothing is changed: what is suspicious is named, and the recipe that is returned says what would be done about it.

    Parameters
    ----------
    data : data frame, mapping, sequence of rows, or Frame
        As :meth:`latentree.Table.from_frame` takes it.
    recipe : Recipe, optional
        What is decided already: columns left out, weights, bins and so on are not looked at again.

    Returns
    -------
    Check
        ``print`` shows it.

    Examples
    --------
    >>> found = check({"id": range(100, 140), "smokes": ["no", "yes"] * 20, "income": [1, 2, 3, 99] * 10})
    >>> found.recipe.to_plain()
    {'drop': ['id'], 'missing_in': {'income': ['99']}}
    >>> print(found.columns[2].findings[0])
    99 looks like a code for a missing answer (10 cells).
    """
    own = recipe or Recipe()
    raw = raw_columns(data)
    columns = {name: column_from(cells, name) for name, cells in raw.items() if _readable(cells, name)}
    own = replace(own, decimal=_decimal(own, columns))
    if own.rows is None and own.items is None and own.columns is None:
        own = _long({name: column for name, column in columns.items() if name not in own.drop}, own)
    looks = [_Look(name, columns.get(name), own) for name in raw]
    weights = own.weights or next((look.name for look in looks if look.may_weigh), None)
    used = [look for look in looks if own.columns is None or look.name in (*own.columns, weights)]
    found = [look.checked(weights) for look in used if look.name not in own.drop]
    proposed = _proposed(own, used, found, weights)
    n_rows = len(next(iter(raw.values()), ()))
    return Check(n_rows, tuple(found), proposed, _remaining(proposed, data))


def _long(columns: dict[str, Column], recipe: Recipe) -> Recipe:
    """Propose to read long data as such."""
    found = long_form(columns)
    return recipe if found is None else replace(recipe, rows=found[0], items=found[1])


def _readable(cells: Any, name: str) -> bool:
    try:
        column_from(cells, name)
    except DataError:
        return False
    return True


def _decimal(recipe: Recipe, columns: dict[str, Column]) -> str:
    """Take commas for decimal marks if some column holds numbers with commas and nothing else."""
    if recipe.decimal == ",":
        return ","
    for name, column in columns.items():
        gone = recipe.missing_for(name)
        texts = [v.strip() for v in column.levels if isinstance(v, str) and v not in gone]
        commas = sum(DECIMAL_COMMA.fullmatch(t) is not None for t in texts)
        pointed = with_points(column, gone, every=False)
        left = [v for v in pointed.levels if isinstance(v, str) and v not in gone and not missing_words([v])]
        if commas and len(left) and numbers_of(left) is not None:
            return ","
    return "."


def _proposed(own: Recipe, looks: Sequence[_Look], found: Sequence[ColumnCheck], weights: str | None) -> Recipe:
    if own.rows is not None:
        return own  # rows and items are all that is read
    kinds = {one.name: one.kind for one in found}
    drop = [look.name for look in looks if kinds.get(look.name) in DROPPED]
    codes = {**(own.missing_in or {})}
    for look in looks:
        if look.codes and look.name in kinds and look.name not in drop:
            codes[look.name] = (*codes.get(look.name, ()), *look.codes)
    cuts = {look.name: BINS for look in looks if kinds.get(look.name) == "numbers" and look.to_cut}
    bins = own.bins if own.bins is not None else cuts or None
    return replace(own, drop=(*own.drop, *drop), missing_in=codes or None, bins=bins, weights=weights)


def _remaining(recipe: Recipe, data: Any) -> LatentreeError | None:
    """Try what is proposed, so that it is not proposed in vain."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            recipe.table(data)
    except LatentreeError as error:
        return error
    return None


DROPPED = ("identifier", "date", "free text", "constant", "empty", "unreadable")


class _Look:
    """A column, its values without what is missing, and what is suspicious about them."""

    def __init__(self, name: str, column: Column | None, recipe: Recipe) -> None:
        self.name, self.column = name, column
        self.role = _role(name, recipe)
        self.codes: tuple[str, ...] = ()
        self.values: list[Any] = []
        self.counts: FloatArray = np.zeros(0)
        self.numbers: FloatArray | None = None
        if column is None:
            return
        gone = recipe.missing_for(name)
        if recipe.decimal == ",":
            column = with_points(column, gone, every=False)
        counts = column.counts(None)
        kept = (counts > 0) & ~gone.of(column)
        self.values, self.counts = _merged([column.levels[i] for i in np.flatnonzero(kept).tolist()], counts[kept])
        self.n_cells = len(column)
        by_label = [_shown(v) for v in self.values if missing_words([column.synonyms.get(v, "")])]
        self.codes = (*missing_words(self.values), *by_label)
        left = np.array([_shown(v) not in self.codes for v in self.values], dtype=bool)
        self._read_numbers(column, left)
        self._set_aside()

    def _read_numbers(self, column: Column, left: Any) -> None:
        values = [v for v, stays in zip(self.values, left, strict=True) if stays]
        texts = [str(v) for v in values]
        are_text = column.untyped or all(isinstance(v, str) for v in values)
        plain = all(isinstance(v, int | float | np.number) and not isinstance(v, bool | np.bool_) for v in values)
        if not values or column.declared or not (are_text or plain):
            return
        found = numbers_of(texts) if are_text and column.untyped else np.array(values, float) if plain else None
        if found is None:
            self.codes = (*self.codes, *missing_among_words(values))
            return
        numbers = np.asarray(found, dtype=np.float64)
        self.codes = (*self.codes, *(_shown(x) for x in missing_numbers(numbers, self.counts[left])))
        self.numbers = numbers[[_shown(x) not in self.codes for x in numbers.tolist()]]

    def _set_aside(self) -> None:
        """Keep the suspects apart from the values."""
        stays = np.array([_shown(v) not in self.codes for v in self.values], dtype=bool)
        self.suspects = {_shown(v): c for v, c, s in zip(self.values, self.counts, stays, strict=True) if not s}
        self.values = [v for v, s in zip(self.values, stays, strict=True) if s]
        self.counts = self.counts[stays]

    @property
    def total(self) -> float:
        return float(self.counts.sum())

    @property
    def is_whole(self) -> bool:
        return self.numbers is not None and bool((self.numbers == np.floor(self.numbers)).all())

    @property
    def to_cut(self) -> bool:
        """Whether numbers would be refused as states."""
        if self.numbers is None:
            return False
        n = len(self.values)
        return not self.is_whole or n > MANY_NUMBERS or (n > FEW_NUMBERS and self.total < CASES_PER_NUMBER * n)

    @property
    def may_weigh(self) -> bool:
        numbers = self.numbers
        if numbers is None or len(numbers) < 2 or not WEIGHT_NAME.fullmatch(self.name):
            return False
        label = "" if self.column is None else self.column.label
        about_weights = not label or WEIGHT_WORD.search(label) is not None
        return bool(numbers.min() >= 0) and not self.codes and about_weights

    @property
    def _differ(self) -> bool:
        return self.total >= IDENTIFIER_ROWS and len(self.values) > IDENTIFIER_SHARE * self.total

    @property
    def _numbers_cases(self) -> bool:
        return self.numbers is not None and (ID_NAME.fullmatch(self.name) is not None or _runs(self.numbers))

    def kind(self) -> str:
        """What kind of column it is."""
        if self.column is None:
            return "unreadable"
        if not self.values:
            return "empty"
        if len(self.values) == 1:
            return "constant"
        texts = [v for v in self.values if isinstance(v, str)]
        if any(isinstance(v, DATES) for v in self.values):
            return "date"
        if self.numbers is None and texts and not self.column.declared:
            if sum(DATE.fullmatch(t) is not None for t in texts) > IDENTIFIER_SHARE * len(texts):
                return "date"
            words = float(np.mean([len(t.split()) for t in texts]))
            if words >= LONG_WORDS and len(texts) > LONG_SHARE * self.total:
                return "free text"
        if self._differ and (self.numbers is None or (self.is_whole and self._numbers_cases)):
            return "identifier"
        once = float((self.counts == 1).mean())
        if len(texts) > MANY_STATES and once > SINGLE_SHARE and not self.column.declared and self.numbers is None:
            return "free text"
        return "numbers" if self.to_cut else "answers"

    def checked(self, weights: str | None) -> ColumnCheck:
        """Put it into words."""
        kind = self.role if self.role in ("row", "item") else "weights" if self.name == weights else self.kind()
        order = np.argsort(-self.counts, kind="stable")[:SHOWN].tolist()
        shown = tuple((_shown(self.values[i]), float(self.counts[i])) for i in order)
        lost = 0 if self.column is None else self.n_cells - int(self.total + sum(self.suspects.values()))
        label = "" if self.column is None else self.column.label
        findings = tuple(self._findings(kind))
        return ColumnCheck(
            self.name, label, kind, len(self.values), lost, shown, findings, self._treatment(kind, findings)
        )

    def _findings(self, kind: str) -> list[str]:
        if self.column is None:
            return ["It holds dates, lists or other things that cannot be states."]
        found = [
            f"{_shown(code)} looks like a code for a missing answer ({amount(count)} cells)."
            for code, count in self.suspects.items()
        ]
        labels = self.column.synonyms if self.numbers is not None else {}
        found += [
            f"{_shown(v)} has the label {labels[v]!r}, and counts as a number." for v in self.values if v in labels
        ]
        if kind == "row":
            lines = f"{len(self.values):,} rows in {amount(self.total)} lines, each of which names an item of its row."
            return [*found, f"Long data: {lines}"]
        if kind in ("identifier", "date", "free text"):
            return [*found, f"{len(self.values):,} different values in {amount(self.total)} cells."]
        alike = alike_groups(self.values)
        found += [f"{', '.join(map(repr, own))} differ only in capitals or blanks: write them alike." for own in alike]
        if kind == "answers":
            rare = [f"{_shown(v)} ({c:g})" for v, c in zip(self.values, self.counts, strict=True) if c < RARE]
            if rare and self.total >= IDENTIFIER_ROWS:
                more = f" and {len(rare) - SHOWN} more" if len(rare) > SHOWN else ""
                found.append(f"Rare: {', '.join(rare[:SHOWN])}{more}.")
            if len(self.values) > MANY_STATES:
                found.append(
                    f"{len(self.values)} values: if this is not a question with so many answers, leave it out."
                )
            scale = None if self.column.declared else scale_order(self.values)
            if scale is not None and len(scale) > 2:
                found.append(f"Order guessed: {' < '.join(str(self.values[i]) for i in scale)}.")
        return found

    def _treatment(self, kind: str, findings: Sequence[str]) -> str:
        codes = f", {', '.join(self.codes)} missing" if self.codes and kind not in DROPPED else ""
        if self.role:
            return ROLES[self.role]
        if kind in DROPPED:
            return "leave out"
        if kind == "weights":
            return "use as weights"
        if kind == "numbers":
            return f"cut into {BINS} bins{codes}"
        return f"use{codes}"


ROLES = {"row": "one row for each", "item": "one column for each", "quantity": "how many", "other": "not used"}
"""What becomes of the columns of long data."""


def _role(name: str, recipe: Recipe) -> str:
    """What a column is in long data; nothing in others."""
    if recipe.rows is None:
        return ""
    return {recipe.rows: "row", recipe.items: "item", recipe.quantity: "quantity"}.get(name, "other")


def _merged(levels: Sequence[Any], counts: FloatArray) -> tuple[list[Any], FloatArray]:
    """Values without the blanks around them, each once."""
    total: dict[tuple[type, Any], float] = {}
    for level, count in zip(levels, counts.tolist(), strict=True):
        value = level.strip() if isinstance(level, str) else level
        total[type(value), value] = total.get((type(value), value), 0.0) + count
    return [value for _, value in total], np.array(list(total.values()))


def _shown(value: Any) -> str:
    number = value.item() if isinstance(value, np.generic) else value
    return str(int(number)) if isinstance(number, float) and number.is_integer() else str(number)


def _runs(numbers: FloatArray) -> bool:
    """Whether whole numbers look like those of cases: most of them follow one another, or all have many digits."""
    ordered = np.sort(numbers)
    steps = np.diff(ordered)
    return bool((steps == 1).mean() > 0.5 or ordered[0] >= 10_000)
