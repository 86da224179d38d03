"""Data of any size, read piece by piece for a model, and rows written as they come."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DataError
from .output import note, printable

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from .._types import FloatArray
    from ..formats._columns import Frame
    from ..formats._recipe import Recipe

__all__ = ["Piece", "Reader", "Rows", "rows_out"]

CELLS = 2_000_000
"""Cells of a piece, about."""

Rows = Callable[[Mapping[str, Any]], None]
"""Takes columns of some more rows."""


@dataclass(frozen=True)
class Piece:
    """Some rows: as they came, as a table, and what each counts for; ``first`` is the number of the first, from 1."""

    first: int
    frame: Frame
    table: Table
    weights: FloatArray | None
    new: Any
    """How many cells of each row hold a value that the model does not know."""

    @property
    def numbers(self) -> list[int]:
        """The numbers of its rows."""
        return list(range(self.first, self.first + len(self.table.inverse)))


@dataclass(eq=False)
class Reader:
    """Goes through data once; how they are read is that of the model's own data, unless options say otherwise.

    Columns in ``optional`` may be missing from the data.
    """

    model: Model
    data: str
    options: Mapping[str, Any]
    optional: Sequence[str] = ()
    name: str = ""
    n_rows: int = 0
    recipe: Recipe = field(init=False)
    _source: Any = None
    _say: Callable[[Collection[str] | None], None] = field(init=False)

    def __post_init__(self) -> None:
        from .data import is_data_set, opened, recipe_and_note

        self.recipe, self._say = recipe_and_note(self.model, self.data, self.options)
        self.name = Path(self.data).name
        if self.recipe.rows is not None:
            raise DataError(
                "The model was made from long data, whose rows are not lines of a file. 'latentree assign' and "
                "'latentree score' read such data."
            )
        if self.data == "-" or is_data_set(self.data):
            source = opened(self.data, self.recipe, own_weights=not self.options["no_weights"])
            self.name, self.recipe = source.name, replace(source.used, columns=None, drop=())
            self._source = [source.frame]

    def __iter__(self) -> Iterator[Piece]:
        from ..formats._warnings import warn_of_never_seen

        never_seen: dict[str, list[Any]] = {}
        for frame in self._frames():
            yield self._piece(frame, never_seen)
        warn_of_never_seen(never_seen)

    def _frames(self) -> Iterator[Any]:
        from ..scale._sources import Pieces
        from .data import options_of

        if self._source is None:
            reading = {name: value for name, value in options_of(self.recipe).items() if name != "decimal"}
            self._source = Pieces(self.data, None, reading, CELLS)
        return (frame for frame in self._source if frame.n_rows)

    def _piece(self, frame: Frame, never_seen: dict[str, list[Any]]) -> Piece:
        from ..formats._frame import coded_by, raw_columns, read_weights

        raw, recipe = raw_columns(frame), self.recipe
        if not self.n_rows:
            self._say(raw)
        own = [v for v in self.model.variables if v.name in raw or v.name not in self.optional]
        named = recipe.weights if recipe.weights in raw or self.options["weights"] is not None else None
        if named is not None and named not in raw:
            from ..formats._asked import no_column

            raise no_column(str(named), list(raw), "weights")
        given = named if named is not None else frame.weights
        weights = read_weights(raw, given, frame.n_rows, decimal=recipe.decimal)
        reading: dict[str, Any] = {"missing": recipe.missing_for, "decimal": recipe.decimal, "unseen": recipe.unseen}
        drop = [named] if named is not None else None
        new: list[Any] = []
        table = coded_by(own, frame, never_seen, weights=weights, drop=drop, new=new, **reading)
        first, self.n_rows = self.n_rows + 1, self.n_rows + frame.n_rows
        return Piece(first, frame, table, weights, sum(new[1:], start=new[0].astype(int)) if new else 0)

    def log_likelihoods(self, piece: Piece) -> FloatArray:
        """Log-likelihood of each row of a piece; with ``--unseen smooth`` something new has a probability too."""
        from ..errors import ModelError
        from ..infer import log_likelihood_rows
        from ..prediction import with_new_values

        rows = log_likelihood_rows(self.model, piece.table)
        if self.recipe.unseen != "smooth":
            return rows
        n = self.model.provenance.get("n")
        if not isinstance(n, int | float) or not n > 0:
            raise ModelError("--unseen smooth needs a model file that says from how many rows the model was made.")
        known = (piece.table.codes[piece.table.inverse] >= 0).sum(axis=1)
        return with_new_values(rows, known, piece.new, float(n))


@contextmanager
def rows_out(path: str | None) -> Iterator[Rows]:
    """What writes columns of rows to a file, which appears when it is whole, or as CSV to standard output."""
    if path is None:
        yield _Printed()
        return
    from ..scale._predict import row_writer

    with row_writer(path) as writer:
        yield lambda columns: writer.write({}, columns)
    note(f"{writer.rows:,} rows written to '{path}'.")


class _Printed:
    """Lines of CSV on standard output, in UTF-8; on a terminal, characters that would steer it are shown as codes."""

    def __init__(self) -> None:
        self._begun = False

    def __call__(self, columns: Mapping[str, Any]) -> None:
        from ..scale._predict import rounded

        out = io.StringIO(newline="")
        lines = csv.writer(out, lineterminator="\n")
        if not self._begun:
            lines.writerow(columns)
            self._begun = True
        lines.writerows(zip(*map(rounded, columns.values()), strict=True))
        text = printable(out.getvalue()) if sys.stdout.isatty() else out.getvalue()
        click.echo(text.encode("utf-8", "surrogatepass"), nl=False)
