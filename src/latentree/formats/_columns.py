"""Raw columns of any origin as codes into a list of distinct values.

A column of a million cells rarely has more than a few values. All later questions (what is missing, what is a number,
which states there are, where to cut) are asked of the distinct values only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import IntArray
from ..errors import Advice, DataError, Row, Surface

__all__ = ["Column", "Frame", "column_from"]


NARROW = 1 << 16
"""Whole numbers that span at most this range, or the number of rows, are counted instead of sorted."""

UNREADABLE = {
    "Date": "dates",
    "Datetime": "dates and times",
    "Duration": "durations",
    "Time": "times of day",
    "List": "lists",
    "Array": "arrays",
    "Struct": "records",
    "Binary": "bytes",
}


@dataclass(frozen=True, eq=False)
class Column:
    """Distinct values and, row by row, which of them a cell holds.

    Parameters
    ----------
    codes : int32 array [rows]
        Positions in ``levels``, -1 where the cell is empty.
    levels : array or tuple
        Distinct values as they came. Two of them may still mean the same state (``1`` and ``numpy.int64(1)``).
    declared : bool
        The owner of the data listed the levels: their order counts, and levels that no row has are known.
    ordered : bool
        Neighbouring levels are close in meaning.
    untyped : bool
        Text cells of a file, in which ``1`` may be a number.
    measured : bool
        The cells come from a plain array of floats: measurements, even if all happen to be whole.
    label : str
        What the column is in words, if the file says so.
    given : bool
        A person, not the file, gave the order of the levels.
    synonyms : mapping
        Levels that the file knows by another name too: labelled answers by their codes, numbers by their labels.
    """

    codes: IntArray
    levels: Sequence[Any] | NDArray[Any]
    declared: bool = False
    ordered: bool = False
    untyped: bool = False
    measured: bool = False
    label: str = ""
    given: bool = False
    synonyms: Mapping[Any, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def is_numeric(self) -> bool:
        """Whether the levels are an array of whole or real numbers."""
        return isinstance(self.levels, np.ndarray) and self.levels.dtype.kind in "iuf"

    def counts(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Total weight of each level."""
        found = np.bincount(self.codes + 1, weights=weights, minlength=len(self.levels) + 1)
        return found[1:].astype(np.float64)

    def values(self) -> NDArray[np.object_]:
        """Return the cells, ``None`` where empty."""
        plain = self.levels.tolist() if isinstance(self.levels, np.ndarray) else list(self.levels)
        return objects([*plain, None])[self.codes]


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns read from a file, in the file's order, and what each row counts for if the file says so.

    Columns are of type :class:`Column`, or PyArrow's own if the file is of Parquet.

    Examples
    --------
    >>> frame = Frame({"a": column_from(["x", None, "y"])})
    >>> frame.n_rows, frame.values()
    (3, {'a': ['x', None, 'y']})
    """

    columns: Mapping[str, Any]
    weights: NDArray[np.float64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return next((len(c) for c in self.columns.values()), 0)

    def values(self) -> dict[str, list[Any]]:
        """Return the cells of every column as they stand in the file, ``None`` where one is empty."""
        return {
            name: column.values().tolist() if isinstance(column, Column) else column.to_pylist()
            for name, column in self.columns.items()
        }


def objects(values: Iterable[Any]) -> NDArray[np.object_]:
    """Put objects into an array that is never nested."""
    kept = list(values)
    return np.fromiter(kept, dtype=object, count=len(kept))


def check_cells(raw: Any, name: str) -> None:
    """Refuse what has no cells, or none in order."""
    in_order = not isinstance(raw, (str, bytes, set, frozenset, Mapping)) and getattr(raw, "shape", None) != ()
    if not (in_order and hasattr(raw, "__len__")):
        raise DataError(
            "Column '{column}' must hold one value for each row, in order. Got {got!r}.", column=name, got=raw
        )


def column_from(raw: Any, name: str = "x1") -> Column:
    """Find the distinct values of one column.

    Examples
    --------
    >>> column = column_from(["yes", "no", None, "yes"])
    >>> column.values().tolist()
    ['yes', 'no', None, 'yes']
    """
    if isinstance(raw, Column):
        return raw
    if isinstance(raw, np.ma.MaskedArray):
        inner = column_from(np.asarray(raw), name)
        return Column(np.where(np.ma.getmaskarray(raw), -1, inner.codes).astype(np.int32), inner.levels)
    if isinstance(raw, np.ndarray):
        return _from_array(raw, name)
    check_cells(raw, name)
    import narwhals as nw

    series = nw.from_native(raw, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _from_series(series, name)
    return _from_objects(objects(raw), name)


# ---- series of data frames ---------------------------------------------------------------------------------------


def _from_series(series: Any, name: str) -> Column:
    import narwhals as nw

    kind = series.dtype
    label = type(kind).__name__
    if label in UNREADABLE:
        raise unreadable(name, UNREADABLE[label])
    if kind == nw.Categorical or isinstance(kind, nw.Enum):
        return _from_categories(series, name)
    if kind == nw.String:
        return _from_texts(series, name)
    if label in ("Int128", "UInt128"):  # which NumPy does not have
        return _from_objects(objects(series.to_list()), name)
    if kind == nw.Boolean or kind.is_integer():
        empty = series.is_null().to_numpy()
        if not empty.any():
            return _from_array(series.to_numpy(), name)
        inner = _from_array(series.fill_null(False if kind == nw.Boolean else 0).to_numpy(), name)
        return Column(np.where(empty, -1, inner.codes).astype(np.int32), inner.levels)
    if kind.is_numeric():
        return _from_array(series.cast(nw.Float64).to_numpy(), name)
    return _from_array(series.to_numpy(), name)


def _from_categories(series: Any, name: str) -> Column:
    """Read declared levels where the library keeps them, which narwhals does not show for all of them."""
    native = series.to_native()
    if series.implementation.is_pandas_like():
        if not hasattr(native, "cat"):  # a dictionary of PyArrow inside pandas
            return _from_objects(objects(series.to_list()), name)
        codes = native.cat.codes.to_numpy()
        return _declared(codes, list(native.cat.categories), bool(native.cat.ordered))
    if series.implementation.is_pyarrow():
        whole = native.combine_chunks()
        codes = whole.indices.cast("int32").fill_null(-1).to_numpy()
        return _declared(codes, whole.dictionary.to_pylist(), bool(native.type.ordered))
    categories = getattr(native.dtype, "categories", None)
    if type(series.dtype).__name__ != "Enum" or categories is None:
        # The categories of Polars' Categorical are shared between columns: only those present are this column's.
        import narwhals as nw

        return _by_replacing(series.cast(nw.String))
    return _declared(native.to_physical().cast(int).fill_null(-1).to_numpy(), list(categories), True)


def _declared(codes: NDArray[Any], levels: list[Any], ordered: bool) -> Column:
    """Put declared levels beside their codes; PyArrow's may hold nulls, and a value twice."""
    place: dict[tuple[type, Any], int] = {}
    to = np.full(len(levels) + 1, -1, dtype=np.int32)  # the last entry serves empty cells
    for i, level in enumerate(levels):
        if not is_empty(level):
            readable = level if isinstance(level, (str, bool, int, float, np.generic)) else str(level)
            to[i] = place.setdefault((type(readable), readable), len(place))
    return Column(to[codes], tuple(level for _, level in place), declared=True, ordered=ordered)


def _from_texts(series: Any, name: str) -> Column:
    import narwhals as nw

    if series.implementation.is_polars():
        return _by_replacing(series)
    if series.implementation.is_pyarrow() or _is_pure_text(series):
        coded = _from_categories(series.cast(nw.Categorical), name)
        return Column(coded.codes, coded.levels)
    return _from_array(series.to_numpy(), name)


def _is_pure_text(series: Any) -> bool:
    """Whether a pandas column is of a text type: one of objects could hold anything."""
    return bool(str(series.to_native().dtype) != "object")


def _by_replacing(series: Any) -> Column:
    import narwhals as nw

    levels = series.drop_nulls().unique(maintain_order=True).to_list()
    if not levels:
        return Column(np.full(len(series), -1, dtype=np.int32), ())
    numbers = series.replace_strict([*levels, None], [*range(len(levels)), -1], return_dtype=nw.Int32)
    return Column(numbers.to_numpy(), tuple(levels))


# ---- arrays ------------------------------------------------------------------------------------------------------


def _from_array(array: NDArray[Any], name: str) -> Column:
    if array.ndim != 1:
        raise DataError(
            "Column '{column}' must have one dimension. Got an array of shape {shape}.", column=name, shape=array.shape
        )
    match array.dtype.kind:
        case "b":
            return Column(array.astype(np.int32), np.array([False, True]))
        case "i" | "u":
            return _from_whole(array)
        case "f":
            return _from_real(array.astype(np.float64))
        case "U" | "T":
            return _from_objects(objects(array.tolist()), name)
        case "S":
            return _from_objects(objects(_decoded(v, name, i) for i, v in enumerate(array.tolist())), name)
        case "O":
            return _from_objects(array, name)
        case "M" | "m":
            raise unreadable(name, "dates or durations")
    raise unreadable(name, f"values of type {array.dtype}")


def _decoded(cell: bytes, name: str, row: int) -> str:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        message = (
            "Column '{column}', {row}: the bytes {cell!r} are not UTF-8 text. Decode the column first, for example "
            "with numpy.char.decode(column, 'latin-1')."
        )
        raise DataError(message, column=name, row=Row(row), cell=cell) from None


def _from_whole(array: NDArray[Any]) -> Column:
    if len(array) == 0:
        return Column(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))
    low, high = int(array.min()), int(array.max())
    if high - low > max(NARROW, len(array)) or high > np.iinfo(np.int64).max:
        levels, codes = np.unique(array, return_inverse=True)
        return Column(codes.astype(np.int32), levels)
    shifted = array.astype(np.int64) - low
    seen = np.bincount(shifted) > 0
    position = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    return Column(position[shifted], np.flatnonzero(seen).astype(np.int64) + low)


def _from_real(array: NDArray[np.float64]) -> Column:
    empty = np.isnan(array)
    filled = np.where(empty, 0.0, array) if empty.any() else array
    small = len(filled) > 0 and float(np.abs(filled).max()) < 2**53
    if small and (whole := filled.astype(np.int64), bool((whole == filled).all()))[1]:
        inner = _from_whole(whole)
        levels, codes = np.asarray(inner.levels, dtype=np.float64), inner.codes
    else:
        levels, inverse = np.unique(filled, return_inverse=True)
        codes = inverse.astype(np.int32)
    return Column(np.where(empty, np.int32(-1), codes) if empty.any() else codes, levels)


def _from_objects(array: NDArray[np.object_], name: str) -> Column:
    cells = array.tolist()
    kinds = set(map(type, cells))
    if kinds and kinds <= {float}:
        return _from_real(array.astype(np.float64))
    # One dict serves all types as long as no two of them can be equal, as 1, 1.0 and True are.
    alike = kinds - {str, type(None)}
    apart = len(alike) > 1
    keys: list[Any] = list(zip(map(type, cells), cells, strict=True)) if apart else cells
    try:
        code_of: dict[Any, int] = dict.fromkeys(keys, -1)
    except TypeError:
        row = next(i for i, v in enumerate(cells) if not _hashable(v))
        raise unreadable(name, f"values of type {type(cells[row]).__name__} (row {row})") from None
    levels: list[Any] = []
    for key in code_of:
        level = key[1] if apart else key
        if not is_empty(level):
            code_of[key] = len(levels)
            levels.append(level)
    codes = np.fromiter(map(code_of.__getitem__, keys), dtype=np.int32, count=len(keys))
    return Column(codes, tuple(levels))


def is_empty(value: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, NaT or pandas' NA, whose comparisons have no truth value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, (float, np.floating)) and bool(value != value)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


class InPython(Advice):
    """An option of a table, which in Python has a counterpart for those who hand whole data frames to an estimator."""

    def __init__(self, option: str, value: Any, counterpart: str) -> None:
        super().__init__(option, value)
        object.__setattr__(self, "counterpart", counterpart)

    counterpart: str

    def shown(self, surface: Surface) -> str:
        """Put it into the words of a surface."""
        said = super().shown(surface)
        return f"{said} of Table.from_frame, or {self.counterpart}" if surface == "python" else said


def drop_advice(*names: str) -> Advice:
    """Say how columns are left out.

    Examples
    --------
    >>> drop_advice("id").shown("shell"), drop_advice("id").shown("python")
    ('--drop id', "drop=['id'] of Table.from_frame, or X.drop(columns=['id']) of a data frame")
    """
    return InPython("drop", list(names), f"X.drop(columns={list(names)!r}) of a data frame")


def unreadable(name: str, what: str) -> DataError:
    """Say that a column holds something that cannot be a state."""
    message = (
        "Column '{column}' holds {what}, which cannot be states. Turn it into text or numbers first, "
        "or leave it out with {drop}."
    )
    return DataError(message, column=name, what=what, drop=drop_advice(name))


def some(values: Sequence[Any], most: int = 8) -> str:
    """List values in a message, the first few if they are many."""
    return ", ".join(repr(v) for v in values[:most]) + (", ..." if len(values) > most else "")


def listed(names: Sequence[str], between: str = ", ", most: int = 12) -> str:
    """List names in a message, the first dozen if they are many."""
    shown = between.join(f"'{name}'" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
