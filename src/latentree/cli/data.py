"""Data and models as the command line names them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError, FileFormatError
from .command import session
from .output import note
from .rows import free_name
from .types import Bins, merged_bins, split

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from ..formats._columns import Frame

__all__ = ["Source", "load_model", "load_trace", "open_source", "shown_table", "table_for", "table_to_learn_from"]

STANDARD_INPUT = "/dev/stdin"


@dataclass(frozen=True, eq=False)
class Source:
    """Data as they came.

    Attributes
    ----------
    name : str
        What to call them: the file's name without its folder, or the data set's.
    path : str or None
        The file, if they came from one that must not be overwritten.
    frame : Frame
        All columns.
    columns : tuple of str or None
        Columns to use unless the user says others.
    weights : str or None
        Column of weights unless the user names another.
    dropped : tuple of str
        Columns that the user did not want and that were not even read.
    """

    name: str
    path: str | None
    frame: Frame
    columns: tuple[str, ...] | None = None
    weights: str | None = None
    dropped: tuple[str, ...] = ()


def open_source(
    data: str, *, format: str | None, delimiter: str | None, encoding: str | None, no_header: bool, **rest: Any
) -> Source:
    """Read a file, standard input (``-``), or a data set by its name if there is no such file."""
    from ..formats import read_frame

    if in_pieces(data):
        header = False if no_header else None
        reading = {"format": format, "delimiter": delimiter, "encoding": encoding, "header": header}
        chosen = {name: rest.get(name) for name in ("columns", "drop", "weights")}
        return _in_pieces(data, {**reading, "decimal": rest.get("decimal")}, **chosen)
    if not os.path.exists(data) and data != "-":
        return _data_set(data)
    path, name = (STANDARD_INPUT, "standard input") if data == "-" else (data, Path(data).name)
    frame = read_frame(
        path,
        format=format or ("csv" if data == "-" else None),
        delimiter=delimiter,
        encoding=encoding,
        header=False if no_header else None,
    )
    return Source(name, None if data == "-" else data, frame)


def in_pieces(data: str) -> bool:
    """Whether the data are a folder of files, or all files that fit a pattern."""
    return os.path.isdir(data) or (not os.path.exists(data) and any(c in data for c in "*?["))


def _in_pieces(data: str, reading: Mapping[str, Any], columns: Any, drop: Any, weights: str | None) -> Source:
    """Read a folder or all files that fit a pattern, piece by piece; equal rows become one with a weight."""
    from ..formats._columns import Frame
    from ..scale import read_pieces

    chosen = [name for text in columns or () for name in split(text)] or None
    dropped = [name for text in drop or () for name in split(text)]
    given: dict[str, Any] = {name: value for name, value in reading.items() if value is not None}
    found = read_pieces(data, columns=chosen, drop=dropped, weights=weights, **given)
    assert found.weights is not None
    count = weights or free_name("rows", found.columns)
    frame = Frame({**found.columns, count: found.weights})
    note(f"'{data}': {found.weights.sum():,.6g} rows, {frame.n_rows:,} of them distinct. Those are used, with weights.")
    return Source(Path(data).name, None, frame, weights=count, dropped=tuple(dropped))


def _data_set(name: str) -> Source:
    from .. import datasets

    if name not in (*datasets.names(), *datasets.names(shipped=False)):
        raise DataError(
            f"There is no file '{name}', nor a data set of that name. "
            "Check the path, or see 'latentree datasets' for what there is."
        )
    about = datasets.describe(name)
    frame = datasets.read(name)
    some = f" {len(about.use)} of its {len(frame.columns)} columns are used; see --columns." if about.use else ""
    note(f"There is no file '{name}': using the data set of that name.{some}")
    return Source(name, None, frame, about.use or None, about.weights)


def table_to_learn_from(
    source: Source,
    *,
    columns: Sequence[str],
    drop: Sequence[str],
    weights: str | None,
    bins: Sequence[Bins],
    merge_rare: float | None,
    missing: Sequence[str],
    no_default_missing: bool,
    decimal: str = ".",
    **rest: Any,
) -> Table:
    """Make a table whose states are those of the data."""
    from ..formats._frame import table_from

    known = source.frame.columns
    return table_from(
        source.frame,
        columns=_names(columns, known) or source.columns,
        drop=[name for name in _names(drop, known) if name not in source.dropped],
        weights=weights or source.weights,
        bins=merged_bins(bins),
        merge_rare=merge_rare,
        missing=missing_texts(missing, no_default_missing),
        decimal=decimal,
        note=_note_of_data,
    )


def _note_of_data(text: str) -> None:
    """Tell what was done to the data, and keep it for ``--json``."""
    session().notes.append(text)
    note(text, label="Note:")


def table_for(
    model: Model,
    source: Source,
    *,
    weights: str | None,
    unseen: str,
    missing: Sequence[str],
    no_default_missing: bool,
    decimal: str = ".",
    **rest: Any,
) -> Table:
    """Make a table whose states are those of a model; what was missing for 'fit' is missing again."""
    from ..formats._frame import table_from

    return table_from(
        source.frame,
        variables=model.variables,
        weights=weights or source.weights,
        unseen=unseen,
        missing=missing_for(model, missing, no_default_missing),
        decimal=decimal,
    )


def missing_for(model: Model, given: Sequence[str], no_default: bool) -> set[str]:
    """Return the cells that count as missing, those that did for the model among them."""
    told = model.provenance.get("options")
    options: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    codes = [*given, *(text for text in options.get("missing", ()) if isinstance(text, str))]
    return missing_texts(codes, no_default or options.get("no_default_missing") is True)


def missing_texts(given: Sequence[str], no_default: bool) -> set[str]:
    """Return the cells that count as missing."""
    from ..formats._frame import MISSING_TEXTS

    return {"", *(() if no_default else MISSING_TEXTS), *(part for text in given for part in split(text))}


def _names(given: Sequence[str], known: Any) -> list[str]:
    # A name that holds a comma needs no quotes if it is the whole of the option.
    return [name for text in given for name in ([text] if text in known else split(text))]


def shown_table(model: Model, data: str | None, **reading: Any) -> tuple[Table | None, str | None]:
    """Rows to show beside a model, if any were named, and the file they are from."""
    if data is None:
        return None, None
    source = open_source(data, **reading)
    return table_for(model, source, **reading), source.path


def load_trace(path: str | None) -> list[Any] | None:
    """Read the steps of a search: a list, an object with the list under ``trace``, a model file or a checkpoint."""
    import json

    from .._files import read_text

    if path is None:
        return None
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"'{path}' is no JSON file: {error}.") from None
    steps = found
    if isinstance(found, dict):
        inside = next((found[key] for key in ("provenance", "payload") if isinstance(found.get(key), dict)), found)
        steps = found.get("trace", inside.get("trace"))
    if not isinstance(steps, list):
        raise FileFormatError(f"'{path}' holds no list of steps, nor an object with one under 'trace'.")
    return steps


def load_model(path: str, **options: Any) -> Model:
    """Read a model file; see :func:`latentree.formats._models.load` for the options."""
    from ..formats._models import load

    try:
        return load(path, **options)
    except FileNotFoundError:
        raise FileFormatError(f"There is no model file '{path}'.") from None
    except IsADirectoryError:
        raise FileFormatError(f"'{path}' is a folder. Give a model file in it.") from None
