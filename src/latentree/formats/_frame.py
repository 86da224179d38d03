"""Tables from data frames, arrays, dicts of columns and lists of rows."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table import Table, checked_weights
from .._types import FloatArray
from .._variables import State, Variable, number_in
from ..errors import Advice, DataError, Row, bad_parameter
from ._asked import (
    MISSING_TEXTS,
    MissingCodes,
    all_at_once,
    check_options,
    cuts_of,
    missing_by_column,
    nearest,
    no_column,
    orders_of,
)
from ._bins import OWNER
from ._coding import DECIMAL, DECIMAL_ADVICE, DECIMAL_COMMA, Coding, Missing, first_cell, learn, match, with_points
from ._columns import Column, Frame, check_cells, column_from, listed
from ._order import in_order
from ._warnings import warn_of_labelled_numbers, warn_of_many_states, warn_of_never_seen, warn_of_variables

__all__ = ["MISSING_TEXTS", "table_from", "values_of"]


def table_from(
    data: Any,
    *,
    variables: Sequence[Variable] | None = None,
    columns: str | Sequence[Any] | None = None,
    drop: str | Sequence[Any] | None = None,
    weights: Any = None,
    bins: int | Mapping[str, int | Sequence[float]] | None = None,
    unseen: str = "error",
    missing: MissingCodes = MISSING_TEXTS,
    decimal: str = ".",
    order: Mapping[str, Sequence[Any]] | None = None,
    merge_rare: float | None = None,
    keep_levels: bool = False,
    n: float | None = None,
    note: Callable[[str], None] | None = None,
) -> Table:
    """Build a table from a data frame, an array, a dict of columns or a list of rows.

    Parameters
    ----------
    data : data frame, array, mapping or sequence of rows
        A pandas, Polars or PyArrow table, or any other that narwhals knows; a NumPy array or a sparse matrix, whose
        columns are called ``x1``, ``x2``, ... unless it has names of its own; a dict of columns; a list of rows or of
        dicts. Names that are not text become text.
    variables : sequence of Variable, optional
        States of earlier data, such as a model's. Columns are found by name, others are passed over, and continuous
        ones are cut where they were cut then.
    columns, drop : str or sequence of str, optional
        Columns to use, in this order, and columns to leave out.
    weights : str or array, optional
        What each row counts for, or the name of the column that says it, which then is not a variable. A weight means
        what repeating the row means. Rows of weight zero are dropped; values seen only there do not exist.
    bins : int or dict, optional
        An int cuts every continuous column into that many bins of equal frequency, two bins being ``x > median``
        ([Karciauskas2005] 6.3.3). A dict says for each column by name how many bins it gets or at which edges it is
        cut. Continuous are numbers with fractions, whole numbers with more than 20 values, and every column of an array
        of floats.
    unseen : {"error", "missing", "smooth"}
        With ``variables``: what to do with a value that is not a state. A level that the earlier data declared but no
        row had is missing, with a warning, unless this is ``"smooth"``: then both are missing in the table, and
        estimators and commands that score rows give them the probability of something new.
    missing : collection or dict
        Cells that count as missing, *in place of* the usual ones, :data:`MISSING_TEXTS` (``?``, ``NA`` and some more);
        ``missing=[*MISSING_TEXTS, "999"]`` adds one to them. A text that reads as a number stands for the number too.
        Empty text, None, NaN, NaT and pandas' NA are missing whatever is given here. A dict names codes of single
        columns, besides the usual ones: ``missing={"income": [99, -1]}``; its key None goes for all columns.
    decimal : {".", ","}
        With ``","``, text columns whose cells all read as numbers with decimal commas hold numbers.
    order : dict, optional
        The answers of some columns in their order, ``{"trust": ["low", "middle", "high"]}``. Every answer of the column
        must be there.
    merge_rare : float, optional
        Merge values that fewer cases have ([Zhang2004] 5.2 uses 30). Numbers merge with the smaller neighbour into
        bins, ordered categories and answers of a well-known scale with the smaller neighbour into ``a | b``, until each
        has as many. Other rare values become ``(other)``, which may be rare itself: no frequent value joins it. Values
        that come later and are not known belong to ``(other)`` too. The variable says what was merged.
    keep_levels : bool
        Make states of declared levels (categories of a data frame, nominal values of an ARFF file) that no row has.
        Otherwise they are left out, with a warning, and the variable remembers them.
    n : float, optional
        Sample size, if it is not the sum of the weights.
    note : callable, optional
        Is told in words what ``merge_rare`` did.

    Returns
    -------
    Table
        Its ``inverse`` has one entry for each row of the data, in order.

    Raises
    ------
    DataError
        When the data cannot be used; the message names column and row (counted from 0) and says what to do.

    Notes
    -----
    Blanks around text do not count. States keep their type: ``1``, ``"1"`` and ``True`` differ. Floats that are all
    whole are whole numbers, so that missing cells, which make floats of a pandas column, change nothing. -1 is a number
    like others here; where it stands for missing cells, name it in ``missing``, or use :meth:`Table.from_codes`.

    States are in the order given, or that of the categories. Text that is not declared so but all of one well-known
    scale (strongly disagree to strongly agree, never to always, poor to excellent, low to high and some more, in
    English, German, French, Spanish, Italian, Dutch or Portuguese; capitals do not count) is in the order of the scale,
    and the variable says that this was guessed (``Variable.order``). Otherwise states are sorted, by type (truth
    values, whole numbers, numbers, text) and then by value.

    Without ``bins`` a continuous column is an error, and so is a number column with more than 50 values, or more than
    20 and fewer than 15 cases a value, and text with more than 20 values that are all numbers with decimal commas. A
    column of at least 20 cases of which more than 90 % differ is taken for an identifier, which is an error too. So is
    a column without any value; a row without any value is not, it just says nothing. What is wrong with several columns
    is said at once; :func:`latentree.check` proposes what to do with each.

    A column with one value only is a variable of one state, with a warning. There is a warning too of columns, not cut
    into bins, with more than 20 states, or more than 8 and fewer than 10 cases a state.

    Examples
    --------
    >>> table = table_from({"smokes": ["no", "yes", None, "no"], "age": [23.5, 41.0, 67.2, 30.1]}, bins=2)
    >>> [v.states for v in table.variables]
    [('no', 'yes'), ('<= 35.55', '> 35.55')]
    >>> table_from({"smokes": ["yes"], "age": [80.0]}, variables=table.variables).codes.tolist()
    [[1, 1]]
    """
    check_options(variables, bins, unseen, merge_rare, n)
    options: dict[str, Any] = {"columns": columns, "drop": drop, "weights": weights}
    options |= {"missing": missing, "decimal": decimal}
    if variables is not None:
        found: dict[str, list[State]] = {}
        table = coded_by(variables, data, found, unseen=unseen, n=n, **options)
        warn_of_never_seen(found)
        return table
    chosen = _Chosen(data, variables=None, **options)
    general, cuts = cuts_of(bins, chosen.names)
    orders = orders_of(order, chosen.names)
    measured = isinstance(data, np.ndarray) and data.dtype.kind == "f"
    declared: set[str] = set()

    def code(name: str, column: Column) -> Coding:
        column, gone = replace(column, measured=measured), chosen.missing(name)
        if name in orders:
            column = in_order(name, column, orders[name], gone)
        declared.update([name] if column.declared else [])
        warn_of_labelled_numbers(name, column, gone.of(column))
        if decimal == ",":
            column = read_commas(column, gone, every=True)
        return learn(
            name, column, chosen.weights, missing=gone, bins=general, cut=cuts.get(name),
            merge_rare=merge_rare, keep_levels=keep_levels, note=note,
        )  # fmt: skip

    table = code_columns(chosen.raw, chosen.names, chosen.weights, code, n=n)
    warn_of_variables(table.variables)
    warn_of_many_states(table, declared)
    return table


def coded_by(
    variables: Sequence[Variable],
    data: Any,
    never_seen: dict[str, list[State]],
    *,
    unseen: str = "error",
    n: float | None = None,
    new: list[NDArray[np.bool_]] | None = None,
    **options: Any,
) -> Table:
    """Build a table whose states are those of variables that are given.

    Levels that no earlier row had are missing; they are added to ``never_seen`` by the name of their column, for one
    warning about all pieces of the data. With ``unseen="smooth"`` they are values like others that are not known. To
    ``new`` is added, column by column, which rows hold a value that is not known.
    """
    chosen = _Chosen(data, variables=variables, **options)
    given = {v.name: v for v in variables}

    def code(name: str, column: Column) -> Coding:
        own = given[name]
        if chosen.decimal == "," and (own.edges is not None or not all(isinstance(s, str) for s in own.states)):
            column = read_commas(column, chosen.missing(name), every=False)
        coding = match(own, column, chosen.weights, missing=chosen.missing(name), unseen=unseen)
        if new is not None and coding.unknown is not None:
            new.append(coding.unknown[column.codes])
        if coding.never_seen and unseen != "smooth":
            known = never_seen.setdefault(name, [])
            known += [level for level in coding.never_seen if level not in known]
        return coding

    return code_columns(chosen.raw, chosen.names, chosen.weights, code, n=n)


class _Chosen:
    """The columns to use, the rows' weights, and what counts as missing."""

    def __init__(
        self,
        data: Any,
        *,
        variables: Sequence[Variable] | None,
        columns: Any = None,
        drop: Any = None,
        weights: Any = None,
        missing: Any = MISSING_TEXTS,
        decimal: str = ".",
    ) -> None:
        if decimal not in (".", ","):
            raise bad_parameter("decimal", OWNER, "'.' or ','", decimal)
        self.raw, self.decimal = raw_columns(data), decimal
        weights = data.weights if weights is None and isinstance(data, Frame) else weights
        by_name = weights if isinstance(weights, str) else None
        self.names = chosen_columns(self.raw, columns, drop, by_name, variables)
        n_rows = _same_length(self.raw, self.names)
        self.missing = missing_by_column(missing, self.names)
        self.weights = read_weights(self.raw, weights, n_rows, decimal=decimal)
        if self.weights is not None and not self.weights.any():
            raise DataError("All rows have weight zero.")


def read_commas(column: Column, missing: Missing, *, every: bool) -> Column:
    """Read a column of text with decimal commas as numbers, if it is one; see :func:`with_points`."""
    pointed = with_points(column, missing, every=every)
    return column if pointed is column else replace(pointed, untyped=True)


def code_columns(
    raw: Mapping[str, Any],
    names: Sequence[str],
    weights: FloatArray | None,
    code: Callable[[str, Column], Coding],
    *,
    n: float | None = None,
) -> Table:
    """Code some columns, each by the function given, and merge equal rows."""
    variables: list[Variable] = []
    codes = np.empty((len(raw[names[0]]), len(names)), dtype=np.int16, order="F")
    wrong: list[DataError] = []
    for i, name in enumerate(names):
        try:
            column = column_from(raw[name], name)
            coding = code(name, column)
        except DataError as error:
            wrong.append(error)
            continue
        codes[:, i] = coding.recode[column.codes]
        variables.append(coding.variable)
    if wrong:
        raise all_at_once(wrong)
    return Table.from_codes(codes, variables, weights, n)


def values_of(table: Table) -> dict[str, list[State | None]]:
    """Return the states of every input row, column by column; None where missing and in rows that were dropped.

    Examples
    --------
    >>> values_of(table_from({"a": ["x", None, "y", "x"]}))
    {'a': ['x', None, 'y', 'x']}
    """
    out: dict[str, list[State | None]] = {}
    for i, variable in enumerate(table.variables):
        codes = np.where(table.inverse >= 0, table.codes[table.inverse, i], -1)
        states = (*variable.states, None)
        out[variable.name] = [states[c] for c in codes.tolist()]
    return out


# ---- columns of whatever data ------------------------------------------------------------------------------------


def raw_columns(data: Any) -> dict[str, Any]:
    """Columns of whatever data, by name."""
    if isinstance(data, Frame):
        return dict(data.columns)
    if hasattr(data, "toarray") and not isinstance(data, np.ndarray):  # a sparse matrix
        data = data.toarray()
    if isinstance(data, np.ndarray):
        return _array_columns(data)
    if isinstance(data, Mapping):
        return named(list(data), list(data.values()))
    import narwhals as nw

    try:
        frame = nw.from_native(data, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError:
        raise _twice(_first_twin(data)) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.Series):
        return {str(frame.name or "x1"): frame}
    if isinstance(frame, nw.DataFrame):
        return named(frame.columns, _columns_of(frame, data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _row_columns(data)
    raise DataError(
        "Data must be a data frame, an array, a dict of columns or a list of rows. Got {kind}.{path}",
        kind=type(data).__name__,
        path=" Read a file with Table.read." if isinstance(data, str | os.PathLike) else "",
    )


def _first_twin(data: Any) -> str:
    names = [str(name) for name in getattr(data, "column_names", data.columns)]
    return next((name for name in names if names.count(name) > 1), "")


def _columns_of(frame: Any, data: Any) -> list[Any]:
    """Columns of a data frame. Libraries that allow two of one name, as PyArrow does, fail on them when asked."""
    names = list(frame.columns)
    if len(set(names)) < len(names):
        raise _twice(_first_twin(data))
    return list(frame.iter_columns())


def _array_columns(array: NDArray[Any]) -> dict[str, Any]:
    if array.dtype.names:
        return {name: array[name] for name in array.dtype.names}
    if array.ndim != 2:
        raise DataError("An array of data must have rows and columns. Got {n} dimension(s).", n=array.ndim)
    names = [f"x{i + 1}" for i in range(array.shape[1])]
    return dict(zip(names, array.T, strict=True))


def _row_columns(rows: Sequence[Any]) -> dict[str, Any]:
    if not rows:
        raise DataError("The data have no rows.")
    if all(isinstance(row, Mapping) for row in rows):
        keys = list(dict.fromkeys(key for row in rows for key in row))
        return named(keys, [[row.get(key) for row in rows] for key in keys])
    for i, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not isinstance(row, (Sequence, np.ndarray)):
            raise DataError(
                "A list of data must hold rows, each a list of values. {row} is {got!r}.", row=Row(i, True), got=row
            )
        if len(row) != len(rows[0]):
            message = "{row} has {found} values but {first} has {expected}. All rows need the same number."
            raise DataError(message, row=Row(i, True), found=len(row), first=Row(0), expected=len(rows[0]))
    return {f"x{i + 1}": list(cells) for i, cells in enumerate(zip(*rows, strict=True))}


def named(names: Sequence[Any], columns: Sequence[Any]) -> dict[str, Any]:
    """Columns by name, names being text and all different."""
    found: dict[str, Any] = {}
    for name, column in zip(names, columns, strict=True):
        if str(name) in found:
            raise _twice(str(name))
        found[str(name)] = column
    return found


def _twice(name: str) -> DataError:
    return DataError("Two columns are called '{column}'. Rename one of them.", column=name)


def chosen_columns(
    raw: Mapping[str, Any], columns: Any, drop: Any, weights: str | None, variables: Sequence[Variable] | None
) -> list[str]:
    """Names of the columns that are variables, in the order wanted."""
    wanted, out = names_of(columns), names_of(drop)
    for names, option in ((wanted, "columns"), (out, "drop"), ([weights] if weights else [], "weights")):
        for name in names:
            if name not in raw:
                raise no_column(name, list(raw), option)
    wanted = list(raw) if columns is None else wanted
    if variables is not None:
        lost = [v.name for v in variables if v.name not in raw]
        if lost:
            raise _lacking(lost, [name for name in raw if name not in {v.name for v in variables}])
        wanted = [v.name for v in variables if columns is None or v.name in wanted]
    chosen = [name for name in wanted if name not in out and name != weights]
    if not chosen:
        if not raw:
            raise DataError("The data have no columns.")
        options = {name: Advice(name) for name in ("columns", "drop", "weights")}
        raise DataError("No column is left after {columns}, {drop} and {weights}.", **options)
    return chosen


def _lacking(lost: Sequence[str], spare: Sequence[str]) -> DataError:
    """Say which columns of a model the data lack, and which of the others may be meant."""
    near = {name: match for name in lost if (match := nearest(name, spare, 1))}
    return DataError(
        "The data lack {lost}, which the model has.{meant} Add a column of missing values if it was not asked.",
        lost=listed(lost),
        meant="".join(f" Is '{found[0]}' meant to be '{name}'? Then rename it." for name, found in near.items()),
    )


def names_of(given: Any) -> list[str]:
    """Names as a list of text, whether one or several were given."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else [str(name) for name in given]


def _same_length(raw: Mapping[str, Any], chosen: Sequence[str]) -> int:
    n_rows = common_length(raw, chosen)
    if n_rows == 0:
        raise DataError("The data have no rows.")
    return n_rows


def common_length(raw: Mapping[str, Any], chosen: Sequence[str]) -> int:
    """Number of rows, which all columns must have."""
    first = chosen[0]
    for name in chosen:
        check_cells(raw[name], name)
        if len(raw[name]) != len(raw[first]):
            message = (
                "Column '{column}' has {found} values but '{first}' has {expected}. All columns need the same number."
            )
            raise DataError(message, column=name, found=len(raw[name]), first=first, expected=len(raw[first]))
    return len(raw[first])


# ---- weights -----------------------------------------------------------------------------------------------------


def read_weights(raw: Mapping[str, Any], weights: Any, n_rows: int, *, decimal: str = ".") -> FloatArray | None:
    """Return the weight of each row, from an array or from the column of that name."""
    if weights is None:
        return None
    name = weights if isinstance(weights, str) else None
    column = column_from(weights if name is None else raw[name], "weights" if name is None else name)
    empty = Missing(MISSING_TEXTS)
    if decimal == ",":
        column = with_points(column, empty, every=False)
    numbers = np.full(len(column.levels) + 1, np.nan)  # the last one serves empty cells
    bad = np.zeros(len(column.levels), dtype=bool)
    for i, level in enumerate(column.levels):
        if isinstance(level, str) and level in empty:
            continue
        number = number_in(level.strip()) if isinstance(level, str) and column.untyped else level
        if isinstance(number, (int, float, Decimal, np.integer, np.floating)) and not isinstance(number, bool):
            numbers[i] = _as_float(number)
        else:
            bad[i] = True
    if bad.any():
        raise _no_weight(column, bad, name)
    w = numbers[column.codes]
    refuse_missing_weights(w)
    return checked_weights(w, n_rows)


def _as_float(number: Any) -> float:
    """Return a number as a float, one that is too large for it as infinity, which no weight can be."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _no_weight(column: Column, bad: NDArray[np.bool_], name: str | None) -> DataError:
    row, found = first_cell(column, bad, None)
    level = column.levels[column.codes[row]]
    comma = isinstance(level, str) and DECIMAL_COMMA.fullmatch(level.strip())
    return DataError(
        "{what} must be numbers. Got {value!r} in {row}{many}." + (f" {DECIMAL_ADVICE}" if comma else ""),
        what="The weights" if name is None else f"The weights in column '{name}'",
        value=level,
        row=Row(row),
        many=f" and {found - 1:,} more" if found > 1 else "",
        decimal=DECIMAL,
    )


def refuse_missing_weights(weights: NDArray[Any]) -> None:
    """Refuse weights that are missing: nothing tells how much such a row counts."""
    empty = np.isnan(weights)
    if empty.any():
        found = int(empty.sum())
        raise DataError(
            "{row}: the weight is missing{many}. Give it a number; 0 leaves the row out.",
            row=Row(int(np.argmax(empty)), True),
            many=f" (the first of {found:,})" if found > 1 else "",
        )
