"""How data were read for a model, so that data for the same model are read the same way later.

A recipe holds what a person chose: columns, weights, encoding, decimal mark, missing codes. What was learned from the
data (states and their order, bin edges, merged values, levels that no row has) is in the model's variables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from ..errors import Advice, DataError, FileFormatError

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from ._coding import Missing
    from ._columns import Frame
    from ._long import Long

__all__ = ["Recipe"]

KEY = "recipe"
"""Where a model keeps its recipe: in its provenance, and under this key of its file."""


@dataclass(frozen=True)
class Recipe:
    """How data are read. Values that are not given mean what they mean in :func:`latentree.formats.read_table`.

    Parameters
    ----------
    columns, drop : tuple of str
        Columns to use (None: all), and columns to leave out.
    weights : str, optional
        The column that says what each row counts for.
    format, encoding, delimiter : str, optional
        Kind of file, its encoding, and what separates its cells.
    header : bool
        Whether the first line names the columns.
    decimal : {".", ","}
        The decimal mark.
    sheet : str, optional
        The sheet of a workbook.
    missing : tuple of str
        Further cells that count as missing.
    missing_in : dict of str to tuple of str, optional
        The same for single columns.
    default_missing : bool
        Whether ``?``, ``NA`` and the other usual cells do, too.
    order : dict of str to tuple of str, optional
        The answers of some columns in their order.
    bins : int or dict, optional
        How continuous columns were cut.
    merge_rare : float, optional
        Values that fewer rows have were merged.
    keep_levels : bool
        Whether levels that no row has are states.
    unseen : {"error", "missing", "smooth"}
        What to do with a value of new rows that is not a state.
    rows, items : str, optional
        Columns of long data: which row a line belongs to, and what it has; see :meth:`latentree.Table.from_long`.
    counts, quantity, min_rows
        How the items of long data are counted, and how many rows must have one.

    Examples
    --------
    >>> recipe = Recipe(weights="n", missing=("999",))
    >>> recipe.to_plain()
    {'weights': 'n', 'missing': ['999']}
    >>> recipe.table({"sex": ["f", "m", "999"], "n": [40, 9, 3]})
    <Table: 52 rows, 3 distinct, 1 variables>
    """

    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    weights: str | None = None
    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: bool = True
    decimal: str = "."
    sheet: str | None = None
    missing: tuple[str, ...] = ()
    missing_in: Mapping[str, tuple[str, ...]] | None = None
    default_missing: bool = True
    order: Mapping[str, tuple[str, ...]] | None = None
    bins: int | Mapping[str, int | tuple[float, ...]] | None = None
    merge_rare: float | None = None
    keep_levels: bool = False
    unseen: str = "error"
    rows: str | None = None
    items: str | None = None
    counts: int | None = None
    quantity: str | None = None
    min_rows: float = 1

    def to_plain(self) -> dict[str, Any]:
        """Return what differs from the defaults, as JSON holds it.

        Examples
        --------
        >>> Recipe().to_plain()
        {}
        """
        plain = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}
        return {name: _listed(value) for name, (value, default) in plain.items() if value != default}

    @classmethod
    def from_plain(cls, plain: object) -> Recipe:
        """Make a recipe from what :meth:`to_plain` gave; keys of later versions are passed over.

        Examples
        --------
        >>> Recipe.from_plain({"missing": ["999"], "of_a_later_version": 1}).missing
        ('999',)
        """
        if not isinstance(plain, Mapping):
            raise FileFormatError("The recipe of the data must be an object. Got {got!r}.", got=plain)
        given = {name: _tupled(plain[name]) for name in _RULES if name in plain}
        for name, value in given.items():
            if not _RULES[name](value):
                raise FileFormatError(
                    "The recipe of the data has {name} = {got!r}, which cannot be.", name=name, got=plain[name]
                )
        return cls(**given)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recipe:
        """Read a recipe file, TOML or JSON by its ending."""
        from ._recipe_file import load_recipe

        return load_recipe(path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what differs from the defaults to a file that people can read, TOML or JSON by its ending."""
        from ._recipe_file import save_recipe

        save_recipe(self, path)

    @classmethod
    def of(cls, model: Model) -> Recipe:
        """Return the recipe of a model's data; for models that do not say, the defaults.

        Models that the command line of version 0.1 made have no recipe, but say which options were given.
        """
        if KEY in model.provenance:
            return cls.from_plain(model.provenance[KEY])
        options = model.provenance.get("options")
        if not isinstance(options, Mapping):
            return cls()
        told = {name: options[name] for name in ("weights", "encoding", "delimiter", "decimal") if name in options}
        missing = options.get("missing", ())
        told["missing"] = [t for t in missing if isinstance(t, str)] if isinstance(missing, list | tuple) else []
        told["default_missing"] = options.get("no_default_missing") is not True
        told["header"] = options.get("no_header") is not True
        return cls.from_plain({name: v for name, v in told.items() if _RULES[name](_tupled(v))})

    def kept_in(self, model: Model) -> Model:
        """Return the model with this recipe, which its file then holds."""
        return replace(model, provenance={**model.provenance, KEY: self.to_plain()})

    @property
    def missing_codes(self) -> frozenset[str]:
        """All cells that count as missing."""
        from ._asked import MISSING_TEXTS

        return frozenset({"", *(MISSING_TEXTS if self.default_missing else ()), *self.missing})

    def missing_for(self, column: str) -> Missing:
        """Return the cells of a column that count as missing."""
        from ._coding import Missing

        return Missing((*self.missing_codes, *(self.missing_in or {}).get(column, ())))

    def frame(self, path: str | os.PathLike[str]) -> Frame:
        """Read all columns of a file."""
        from . import read_frame

        header = None if self.header else False
        return read_frame(
            path, format=self.format, encoding=self.encoding, delimiter=self.delimiter, header=header, sheet=self.sheet
        )

    def read(self, path: str | os.PathLike[str], *, model: Model | None = None, **options: Any) -> Table:
        """Read a file: its own states, or those of a model; see :meth:`table` for the options."""
        return self.table(self.frame(path), model=model, **options)

    def table(
        self,
        data: Any,
        *,
        model: Model | None = None,
        weights: str | bool | None = None,
        need_weights: bool = True,
        n: float | None = None,
        note: Callable[[str], None] | None = None,
    ) -> Table:
        """Make a table of data that have been read.

        Parameters
        ----------
        data : Frame, data frame, array, mapping or sequence of rows
            The data.
        model : Model, optional
            Code the data by the states of this model. Default: find their states.
        weights : str or False, optional
            Another column of weights; False counts every row once.
        need_weights : bool
            With a model: whether data without the column of weights are an error. Rows that are only assigned to
            classes need none.
        n, note
            As in :meth:`latentree.Table.from_frame`.

        Raises
        ------
        DataError
            When the data lack the column of weights, or a column of the model; the message names it.
        """
        from ._frame import raw_columns, table_from

        name: Any = (weights or None) if isinstance(weights, str | bool) else self.weights
        options: dict[str, Any] = {"missing": self.missing_for, "decimal": self.decimal, "n": n}
        if self.rows is not None:
            if model is not None and not need_weights and name not in raw_columns(data):
                name = None
            return self.long(data, name).table(
                counts=self.counts, min_rows=self.min_rows, variables=None if model is None else model.variables
            )
        if model is None:
            self._check_names(raw_columns(data))
            return table_from(
                data, **options, columns=self.columns, drop=self.drop, weights=name, bins=self.bins, order=self.order,
                merge_rare=self.merge_rare, keep_levels=self.keep_levels, note=note,
            )  # fmt: skip
        if name is not None and weights is None and name not in (found := raw_columns(data)):
            if need_weights:
                raise _without_weights(str(name), found)
            name = None
        return table_from(data, **options, variables=model.variables, weights=name, unseen=self.unseen)

    def long(self, data: Any, weights: str | None = None) -> Long:
        """Read long data; what counts as a missing item is as in :meth:`missing_for`."""
        from ._long import Long

        if self.rows is None or self.items is None:
            raise DataError(
                "Long data need both {rows} and {items}: which row a line belongs to, and what it has.",
                rows=Advice("rows"),
                items=Advice("items"),
            )
        return Long.of(
            data,
            rows=self.rows,
            items=self.items,
            quantity=self.quantity,
            weights=weights,
            missing=self.missing_for,
        )

    def row_frame(self, frame: Frame) -> Frame:
        """Return what stands beside the rows in a file of results: their own columns, or of long data their names."""
        return frame if self.rows is None else self.long(frame).frame()

    def _check_names(self, found: Collection[str]) -> None:
        from ._asked import no_column

        for name in self.missing_in or ():
            if name not in found:
                raise no_column(name, list(found), "missing")


def _without_weights(name: str, found: Collection[str]) -> DataError:
    some = list(found)[:12]
    return DataError(
        "The model was fitted with the weights in column '{column}', which these data lack. They have {found}. Name "
        "the column of weights with {other}, or count every row once with {none}.",
        column=name,
        found=", ".join(f"'{own}'" for own in some) + (", ..." if len(found) > len(some) else ""),
        other=Advice("weights"),
        none=Advice("weights", False),
    )


def _listed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _listed(own) for name, own in value.items()}
    return [_listed(own) for own in value] if isinstance(value, list | tuple) else value


def _tupled(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _tupled(own) for name, own in value.items()}
    return tuple(_tupled(own) for own in value) if isinstance(value, list | tuple) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_bins(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return value is None or _is_number(value)
    return all(all(map(_is_number, cut if isinstance(cut, tuple) else (cut,))) for cut in value.values())


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(own, str) for own in value)


def _by_column(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and all(map(_are_texts, value.values())))


_RULES: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("drop", "missing"), _are_texts),
    **dict.fromkeys(("header", "default_missing", "keep_levels"), lambda value: isinstance(value, bool)),
    **dict.fromkeys(
        ("weights", "format", "encoding", "delimiter", "sheet", "rows", "items", "quantity"),
        lambda value: isinstance(value, str | None),
    ),
    **dict.fromkeys(("missing_in", "order"), _by_column),
    "counts": lambda value: value is None or (type(value) is int and value >= 1),
    "min_rows": _is_number,
    "columns": lambda value: value is None or _are_texts(value),
    "decimal": lambda value: value in (".", ","),
    "bins": _are_bins,
    "merge_rare": lambda value: value is None or _is_number(value),
    "unseen": lambda value: value in ("error", "missing", "smooth"),
}
