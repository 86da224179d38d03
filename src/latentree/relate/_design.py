"""Terms of a formula as columns of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._registry import suggestion
from .._types import FloatArray
from .._variables import number_in
from ..errors import Advice, DataError, Row, missing_extra
from ..formats._coding import DECIMAL_COMMA, Missing
from ..formats._columns import column_from, listed
from ..formats._frame import MISSING_TEXTS

__all__ = ["Design", "Reading", "Values", "check_terms", "design_of", "lacking", "term_of", "values_of"]

INTERCEPT = "intercept"
BEYOND = re.compile(r"[()\-^~{}|/\[\]`]")
"""What only formulaic reads."""

MOST_LEVELS = 20
"""A text column with more values than this is not a covariate that was meant."""


@dataclass(frozen=True)
class Reading:
    """How cells of columns beside the items are read."""

    missing: Iterable[str] = MISSING_TEXTS
    decimal: str = "."


READING = Reading()


@dataclass(frozen=True, eq=False)
class Values:
    """A column beside the items: numbers, or categories with their levels.

    Attributes
    ----------
    name : str
        Of the column.
    numbers : float array [rows]
        The numbers, or the positions of the levels; nan where missing.
    levels : tuple or None
        The levels of categories; None for numbers.
    """

    name: str
    numbers: FloatArray
    levels: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: NDArray[Any]) -> Values:
        """Some rows."""
        return Values(self.name, self.numbers[rows], self.levels)

    def cells(self) -> list[Any]:
        """The cells, None where missing."""
        if self.levels is None:
            return [None if x != x else x for x in self.numbers.tolist()]
        return [None if x != x else self.levels[int(x)] for x in self.numbers.tolist()]


def values_of(raw: Any, name: str, reading: Reading = READING, levels: tuple[Any, ...] | None = None) -> Values:
    """Read a column: numbers as numbers, text, categories and truth values as categories.

    Parameters
    ----------
    raw : column
        Of any kind that tables are made from.
    name : str
        Its name.
    reading : Reading
        What is missing, and the decimal mark.
    levels : tuple, optional
        Levels of earlier data, of which all cells must be.
    """
    column = column_from(raw, name)
    plain = column.levels.tolist() if isinstance(column.levels, np.ndarray) else list(column.levels)
    gone = Missing(reading.missing).of(column) if plain else np.zeros(0, dtype=bool)
    pairs = zip(plain, gone, strict=True)
    cells = [None if lost else _read(cell, column.untyped, reading.decimal) for cell, lost in pairs]
    numeric = not column.declared and all(_is_number(c) for c in cells if c is not None)
    if levels is None and numeric:
        numbers = np.array([np.nan if c is None else float(c) for c in cells] + [np.nan])
        _refuse_infinite(name, numbers[column.codes])
        return Values(name, numbers[column.codes])
    return _categories(name, column, cells, levels)


def _refuse_infinite(name: str, numbers: FloatArray) -> None:
    rows = np.flatnonzero(np.isinf(numbers))
    if len(rows):
        raise DataError(
            "Column '{column}', {row}: the value is infinite. Correct it, or name it in {missing}.",
            column=name,
            row=Row(int(rows[0])),
            missing=Advice("missing"),
        )


def _categories(name: str, column: Any, cells: list[Any], levels: tuple[Any, ...] | None) -> Values:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(cells))
    seen = {c for c, n in zip(cells, counts, strict=True) if c is not None and n}
    if levels is None:
        kept = [c for c in cells if c in seen] if column.declared else sorted(seen, key=lambda c: (str(type(c)), c))
        levels = tuple(dict.fromkeys(kept))
    unknown = [c for c in seen if c not in levels]
    if unknown:
        raise DataError(
            "Column '{column}' has {value!r}, which the rows of the estimate did not have. They had {known}.",
            column=name,
            value=unknown[0],
            known=", ".join(map(repr, levels[:12])),
        )
    place = {c: float(i) for i, c in enumerate(levels)}
    codes = np.array([place.get(c, np.nan) if c is not None else np.nan for c in cells] + [np.nan])
    return Values(name, codes[column.codes], levels)


def _read(cell: Any, untyped: bool, decimal: str) -> Any:
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    if untyped:
        number = number_in(text.replace(",", ".") if decimal == "," and DECIMAL_COMMA.fullmatch(text) else text)
        return text if number is None else number
    return text


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float | np.number) and not isinstance(cell, bool | np.bool_)


# ---- formulas ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Design:
    """Terms of a formula, which make columns of numbers of data.

    Attributes
    ----------
    terms : tuple of str
        Names of the columns, ``intercept`` first.
    levels : dict
        The covariates, with the levels of categories; None for numbers.
    """

    terms: tuple[str, ...]
    levels: Mapping[str, tuple[Any, ...] | None]
    _products: tuple[tuple[str, ...], ...] = ()
    _spec: Any = field(default=None, repr=False)

    def matrix(self, values: Mapping[str, Values]) -> FloatArray:
        """The columns of data, [rows, terms]; nan in rows that lack a covariate."""
        n = len(next(iter(values.values()))) if values else 0
        if self._spec is not None:
            return _by_formulaic(self._spec, values, self.levels, n)
        columns = [np.ones(n)]
        for product in self._products:
            columns += [own for _, own in _product([values[name] for name in product], n)]
        return np.column_stack(columns)

    def read(self, columns: Mapping[str, Any], reading: Reading) -> dict[str, Values]:
        """The covariates of new data."""
        return {name: values_of(_column(columns, name), name, reading, own) for name, own in self.levels.items()}


def design_of(
    covariates: str | Sequence[str] | None, columns: Mapping[str, Any], reading: Reading = READING
) -> tuple[Design, dict[str, Values]]:
    """Terms of a formula, and the covariates that it asks for.

    Column names joined by ``+``, ``:`` (an interaction) and ``*`` (both, and their interaction) need no library;
    whatever else a formula may hold is read by formulaic.
    """
    if covariates is None:
        return Design((INTERCEPT,), {}), {}
    text = covariates if isinstance(covariates, str) else " + ".join(f"{c}" for c in covariates)
    whole = [text] if isinstance(covariates, str) else list(covariates)
    if all(name in columns for name in whole):
        products: list[tuple[str, ...]] = [(name,) for name in whole]
    elif BEYOND.search(text):
        return _with_formulaic(text, columns, reading)
    else:
        products = _products(text)
    names = list(dict.fromkeys(name for product in products for name in product))
    values = {name: values_of(_column(columns, name), name, reading) for name in names}
    for own in values.values():
        _check_levels(own)
    terms = [INTERCEPT]
    for product in products:
        terms += [label for label, _ in _product([values[name] for name in product], 0)]
    levels = {name: own.levels for name, own in values.items()}
    return Design(tuple(terms), levels, tuple(products)), values


def _products(text: str) -> list[tuple[str, ...]]:
    """The products of columns in a formula, those of fewer columns first."""
    found: list[tuple[str, ...]] = []
    for part in text.split("+"):
        factors = [[name.strip() for name in factor.split(":")] for factor in part.split("*")]
        if any(not name for factor in factors for name in factor):
            raise DataError("The formula '{text}' has an empty term. Write it as 'age + sex'.", text=text)
        for size in range(1, len(factors) + 1):
            for chosen in combinations(factors, size):
                product = tuple(dict.fromkeys(name for factor in chosen for name in factor))
                if product != ("1",) and not any(set(product) == set(own) for own in found):
                    found.append(product)
    return sorted(found, key=len)


def _product(values: Sequence[Values], n: int) -> list[tuple[str, FloatArray]]:
    """Names and columns of a product: one column, or one for each level but the first of categories."""
    out: list[tuple[str, FloatArray]] = [("", np.ones(n))]
    for own in values:
        numbers = own.numbers[:n]
        if own.levels is None:
            columns = [(own.name, numbers)]
        else:
            columns = [
                (f"{own.name}[T.{level}]", np.where(np.isnan(numbers), np.nan, numbers == i))
                for i, level in enumerate(own.levels)
                if i
            ]
        out = [(f"{a}:{b}" if a else b, x * y) for a, x in out for b, y in columns]
    return out


def _column(columns: Mapping[str, Any], name: str) -> Any:
    if name not in columns:
        raise DataError(
            "The data have no column '{name}'.{meant} They have {known}.",
            name=name,
            meant=suggestion(name, list(columns)),
            known=listed(list(columns)),
        )
    return columns[name]


def odd_text(levels: Sequence[Any]) -> Any:
    """What keeps a column from being numbers: the first level that is none, or the first of all."""

    def is_number(level: Any) -> bool:
        try:
            float(level)
        except (TypeError, ValueError):
            return False
        return True

    return next((own for own in levels if not is_number(own)), levels[0])


def _check_levels(own: Values) -> None:
    if own.levels is not None and len(own.levels) > MOST_LEVELS:
        raise DataError(
            "Column '{column}' holds text with {n} different values, each of which would be a term. If they are "
            "numbers, clean cells such as {cell!r}; otherwise group them.",
            column=own.name,
            n=len(own.levels),
            cell=odd_text(own.levels),
        )


def _with_formulaic(text: str, columns: Mapping[str, Any], reading: Reading) -> tuple[Design, dict[str, Values]]:
    try:
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    except ImportError:
        raise missing_extra(f"The formula '{text}' needs formulaic", "formula") from None
    try:
        formula = Formula(text)
        names = [str(name) for name in formula.required_variables]
    except (FormulaicError, SyntaxError) as error:
        raise DataError("The formula '{text}' cannot be read: {error}", text=text, error=error) from None
    if hasattr(formula, "lhs"):
        raise DataError("The formula '{text}' has a left side; give the covariates alone.", text=text)
    values = {name: values_of(_column(columns, name), name, reading) for name in names}
    for own in values.values():
        _check_levels(own)
    try:
        spec = formula.get_model_matrix(_native(values), na_action="ignore", output="numpy").model_spec
    except (FormulaicError, TypeError, ValueError) as error:
        raise DataError("The formula '{text}' cannot be computed: {error}", text=text, error=error) from None
    terms = tuple(INTERCEPT if name == "Intercept" else str(name) for name in spec.column_names)
    if INTERCEPT not in terms:
        raise DataError("The formula '{text}' has no intercept, which class sizes need. Leave '- 1' out.", text=text)
    return Design(terms, {name: own.levels for name, own in values.items()}, (), spec), values


def _by_formulaic(spec: Any, values: Mapping[str, Values], levels: Mapping[str, Any], n: int) -> FloatArray:
    out = np.array(spec.get_model_matrix(_native(values), na_action="ignore", output="numpy"), dtype=np.float64)
    lost = np.zeros(n, dtype=bool)
    for own in values.values():
        lost |= np.isnan(own.numbers)
    out[lost] = np.nan
    return out


def _native(values: Mapping[str, Values]) -> Any:
    import narwhals as nw

    columns = {
        name: own.numbers if own.levels is None else [str(c) if c is not None else None for c in own.cells()]
        for name, own in values.items()
    }
    return nw.from_dict(columns, backend="pandas").to_native()


# ---- what cannot be estimated --------------------------------------------------------------------------------------


def check_terms(x: FloatArray, weights: FloatArray, terms: Sequence[str]) -> None:
    """Refuse terms that are constant, or follow from the others."""
    kept = weights > 0
    own = x[kept]
    mean = weights[kept] @ own / weights.sum()
    spread = np.sqrt(np.maximum(weights[kept] @ (own - mean) ** 2 / weights.sum(), 0.0))
    for j, term in enumerate(terms):
        if term != INTERCEPT and spread[j] <= 1e-10 * abs(mean[j]):
            raise DataError(
                "The covariate '{term}' has the same value, {value:.10g}, in all rows that are used, so that nothing "
                "can be said of it. Leave it out.",
                term=term,
                value=mean[j],
            )
    basis = np.sqrt(weights[kept] / weights.sum())[:, None]
    done: list[FloatArray] = [basis[:, 0]]
    for j, term in enumerate(terms):
        if term == INTERCEPT:
            continue
        column = basis[:, 0] * (own[:, j] - mean[j]) / spread[j]
        before = np.column_stack(done)
        rest = column - before @ np.linalg.lstsq(before, column, rcond=None)[0]
        if np.linalg.norm(rest) < 1e-6:
            raise DataError(
                "The covariate '{term}' follows from the terms before it ({others}): they are collinear. Leave one of "
                "them out.",
                term=term,
                others=listed([t for t in terms[:j] if t != INTERCEPT]),
            )
        done.append(rest / np.linalg.norm(rest))


def lacking(rows: NDArray[np.int64], names: Sequence[str]) -> DataError:
    """Say which rows lack a value."""
    some = {f"row{i}": Row(int(r)) for i, r in enumerate(rows[:5].tolist())}
    shown = ", ".join(f"{{{name}}}" for name in some) + (", ..." if len(rows) > len(some) else "")
    many = "1 row lacks" if len(rows) == 1 else "{n:,} rows lack"
    return DataError(
        many + " a value of {names}: " + shown + ". Leave such rows out with {drop}, or impute them.",
        n=len(rows),
        names=listed(list(names)),
        drop=Advice("missing_covariates", "drop"),
        **some,
    )


def term_of(term: str, covariate: str) -> bool:
    """Whether a term is a covariate itself: the column or one of its levels, not a product with another."""
    return term == covariate or (term.startswith(f"{covariate}[") and ":" not in term.removeprefix(covariate))
