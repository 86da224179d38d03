"""Data and models as the command line names them, read by the recipe that a model keeps."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Advice, DataError, FileFormatError, LatentreeError, amount
from .command import session, warn
from .output import note
from .rows import free_name
from .types import merged_bins, split

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from ..formats._columns import Frame
    from ..formats._recipe import Recipe

__all__ = [
    "Source",
    "as_options",
    "check_blocks",
    "in_pieces",
    "in_rows",
    "is_data_set",
    "load_model",
    "load_search",
    "load_trace",
    "opened",
    "options_of",
    "read_for",
    "read_to_learn",
    "reading_of",
    "recipe_and_note",
    "recipe_for",
    "say_other_data",
    "source_to_learn",
]

STANDARD_INPUT = "/dev/stdin"

SAME = 0.01
"""Difference of log-likelihoods that rounding and a last step of EM explain."""


@dataclass(frozen=True, eq=False)
class Source:
    """Data as they came."""

    name: str
    path: str | None
    frame: Frame
    recipe: Recipe
    used: Recipe
    lines: Frame | None = None
    """The lines of long data, if ``frame`` holds the rows that they make."""


# ---- data to learn from ------------------------------------------------------------------------------------------


def read_to_learn(data: str, options: Mapping[str, Any]) -> tuple[Source, Table]:
    """Read data whose states are those that they have."""
    source = source_to_learn(data, options)
    table = source.used.table(source.frame, note=_note_of_data)
    return in_rows(source), table.without_order() if in_pieces(data) else table


def check_blocks(options: Mapping[str, Any], table: Table) -> None:
    """Refuse a prior that needs the order of the rows where that is lost."""
    if options["prior"] == "blocks":
        from .._folds import check_row_order

        check_row_order(table)


GIVEN = (
    "weights", "format", "encoding", "delimiter", "decimal", "sheet", "merge_rare", "rows", "items", "counts",
    "quantity", "min_rows",
)  # fmt: skip


def source_to_learn(data: str, options: Mapping[str, Any]) -> Source:
    """Open data as the recipe file says, and as options say, which go before it."""
    from ..formats._recipe import Recipe

    base = Recipe() if options["recipe"] is None else Recipe.load(options["recipe"])
    given: dict[str, Any] = {name: options[name] for name in GIVEN if options[name] is not None}
    if options["no_header"] is not None:
        given["header"] = not options["no_header"]
    if options["no_default_missing"] is not None:
        given["default_missing"] = not options["no_default_missing"]
    bins = merged_bins(options["bins"])
    given |= {} if bins is None else {"bins": bins}
    given |= {"keep_levels": True} if options["keep_levels"] else {}
    drop = list(options["drop"])
    if drop:  # more than the file leaves out already
        drop += [f'"{name}"' if "," in name else name for name in base.drop]
    source = opened(data, replace(base, **given), options["columns"], drop)
    known = source.frame.columns
    needed = [_without_left_out(own, given, known) for own in (source.recipe, source.used)]
    source = replace(source, recipe=needed[0], used=needed[1])
    more = {**_missing(source.recipe, options["missing"], known), **_orders(source.recipe, options["order"], known)}
    return replace(source, recipe=replace(source.recipe, **more), used=replace(source.used, **more))


def _without_left_out(recipe: Recipe, given: Collection[str], known: Collection[str]) -> Recipe:
    """What a recipe file says of columns that options leave out is not needed; what options say of them is refused."""
    chosen = set(recipe.columns or known) - set(recipe.drop)
    needed: dict[str, Any] = {}
    for name in ("bins", "missing_in", "order"):
        own = getattr(recipe, name)
        if name not in given and isinstance(own, Mapping):
            kept = {column: how for column, how in own.items() if column in chosen or column not in known}
            needed[name] = kept or None
    return replace(recipe, **needed)


def in_rows(source: Source) -> Source:
    """The same with the rows of the table, for files of results: of long data, not its lines."""
    if source.used.rows is None:
        return source
    return replace(source, frame=source.used.row_frame(source.frame), lines=source.frame)


def _missing(recipe: Recipe, given: Sequence[str], known: Collection[str]) -> dict[str, Any]:
    """Tell codes of single columns, NAME=CODE, from codes of all columns, and add them to those of a recipe."""
    everywhere, by_column = list(recipe.missing), {name: list(own) for name, own in (recipe.missing_in or {}).items()}
    for part in _parts(given):
        name, equals, code = part.partition("=")
        own = by_column.setdefault(name, []) if equals and name in known else everywhere
        text = code if own is not everywhere else part
        own += [] if text in own else [text]
    return {
        "missing": tuple(everywhere),
        "missing_in": {name: tuple(own) for name, own in by_column.items()} or None,
    }


def _orders(recipe: Recipe, given: Sequence[str], known: Collection[str]) -> dict[str, Any]:
    found = dict(recipe.order or {})
    for text in given:
        name = max((own for own in known if text.startswith(f"{own}:")), key=len, default=None)
        if name is None:
            raise DataError(
                "--order '{text}' must be the name of a column, a colon and its answers from low to high, as in "
                "--order 'trust: low, middle, high'. There are {known}.",
                text=text,
                known=", ".join(f"'{own}'" for own in list(known)[:12]) + (", ..." if len(known) > 12 else ""),
            )
        found[name] = tuple(split(text[len(name) + 1 :]))
    return {"order": found or None}


def _note_of_data(text: str) -> None:
    """Tell what was done to the data, and keep it for ``--json``."""
    session().notes.append(text)
    note(text, label="Note:")


def opened(
    data: str, recipe: Recipe, columns: Sequence[str] = (), drop: Sequence[str] = (), *, own_weights: bool = True
) -> Source:
    """Read a file, standard input (``-``), or a data set by its name if there is no such file."""
    if in_pieces(data):
        own = replace(recipe, columns=_parts(columns) or recipe.columns, drop=_parts(drop) or recipe.drop)
        return _from_pieces(data, own)
    if not os.path.exists(data) and data != "-":
        source = _data_set(data, recipe, own_weights)
    elif data == "-":
        own = replace(recipe, format=recipe.format or "csv")
        source = Source("standard input", None, own.frame(STANDARD_INPUT), recipe, recipe)
    else:
        source = Source(Path(data).name, data, recipe.frame(data), recipe, recipe)
    known = source.frame.columns
    kept = source.recipe
    chosen = replace(kept, columns=_names(columns, known) or kept.columns, drop=_names(drop, known) or kept.drop)
    return replace(source, recipe=chosen, used=chosen)


def in_pieces(data: str) -> bool:
    """Whether the data are a folder of files, or all files that fit a pattern."""
    return os.path.isdir(data) or (not os.path.exists(data) and any(c in data for c in "*?["))


def options_of(recipe: Recipe) -> dict[str, Any]:
    """Return how files are read, as functions that read in pieces take it."""
    told = {name: getattr(recipe, name) for name in ("format", "encoding", "delimiter", "sheet")}
    told |= {"header": None if recipe.header else False, "decimal": recipe.decimal}
    return {name: value for name, value in told.items() if value is not None}


def _from_pieces(data: str, recipe: Recipe) -> Source:
    """Read a folder or all files that fit a pattern, piece by piece; equal rows become one with a weight."""
    from ..formats._columns import Frame
    from ..scale import read_pieces

    columns = None if recipe.columns is None else list(recipe.columns)
    found = read_pieces(data, columns=columns, drop=list(recipe.drop), weights=recipe.weights, **options_of(recipe))
    assert found.weights is not None
    count = recipe.weights or free_name("rows", found.columns)
    frame = Frame({**found.columns, count: found.weights})
    total = amount(found.weights.sum())
    note(f"'{data}': {total} rows, {frame.n_rows:,} of them distinct. Those are used, with weights.")
    return Source(Path(data).name, None, frame, recipe, replace(recipe, weights=count, drop=()))


def _data_set(name: str, recipe: Recipe, own_weights: bool) -> Source:
    from .. import datasets
    from .._registry import suggestion

    known = [*datasets.names(), *datasets.names(shipped=False)]
    if name not in known:
        raise DataError(
            f"There is no file '{name}', nor a data set of that name.{suggestion(name, known)} "
            "Check the path, or list the bundled data sets with 'latentree datasets'."
        )
    about = datasets.describe(name)
    frame = datasets.read(name)
    some = f" {len(about.use)} of its {len(frame.columns)} columns are used; see --columns." if about.use else ""
    note(f"No file '{name}' was found; using the bundled data set of that name.{some}")
    weights = recipe.weights or (about.weights if own_weights else None)
    own = replace(recipe, columns=recipe.columns or about.use or None, weights=weights)
    return Source(name, None, frame, own, own)


def _names(given: Sequence[str], known: Any) -> tuple[str, ...]:
    # A name that holds a comma needs no quotes if it is the whole of the option.
    return tuple(name for text in given for name in ([text] if text in known else split(text)))


def _parts(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(part for text in given for part in split(text))


# ---- data for a model ----------------------------------------------------------------------------------------------


def read_for(model: Model, data: str, options: Mapping[str, Any], *, need_weights: bool = True) -> tuple[Source, Table]:
    """Read data whose states are those of a model, as its own data were read unless options say otherwise."""
    recipe, say = recipe_and_note(model, data, options)
    if in_pieces(data):
        say(None)
        source = _from_pieces(data, replace(recipe, columns=tuple(own.name for own in model.variables)))
    else:
        try:
            source = opened(data, recipe, own_weights=not options["no_weights"])
        except LatentreeError:
            say(None)  # which may be why
            raise
        say(source.frame.columns)
    used = replace(source.used, columns=None, drop=())
    if used.weights is not None and not need_weights and used.weights not in source.frame.columns:
        note(f"There is no column '{used.weights}' of weights, and none is needed: every row counts once.")
    try:
        table = used.table(source.frame, model=model, need_weights=need_weights)
        return in_rows(replace(source, used=used)), table
    except DataError as error:
        told = _reading(recipe, ("encoding", "delimiter", "header", "decimal"))
        if not told:
            raise
        raise DataError(
            "{error} The data were read with {told}; give other options if these data differ.",
            error=error.shown("shell"),
            told=told,
        ) from None


def is_data_set(data: str) -> bool:
    """Whether data are one of our data sets by name, there being no such file."""
    return data != "-" and not os.path.exists(data) and not in_pieces(data)


def recipe_for(model: Model, data: str, options: Mapping[str, Any]) -> Recipe:
    """Return how to read data for a model: as its own were, unless options say otherwise, which is told."""
    recipe, say = recipe_and_note(model, data, options)
    say(None)
    return recipe


def recipe_and_note(
    model: Model, data: str, options: Mapping[str, Any]
) -> tuple[Recipe, Callable[[Collection[str] | None], None]]:
    """Return the same, and what tells it once it is known which columns the data have; None if it is not."""
    from ..formats._recipe import Recipe

    kept = Recipe.of(model) if options["recipe"] is None else Recipe.load(options["recipe"])
    kept = replace(kept, columns=None, drop=(), format=None)
    kept = _fitting(kept, data, options["format"])
    given: dict[str, Any] = {
        name: options[name]
        for name in ("weights", "encoding", "delimiter", "decimal", "sheet", "unseen")
        if options[name] is not None
    }
    if options["no_weights"]:
        if options["weights"] is not None:
            raise DataError("--weights and --no-weights exclude each other. Give one of them.")
        given["weights"] = None
    if options["no_header"] is not None:
        given["header"] = not options["no_header"]
    if options["no_default_missing"] is not None:
        given["default_missing"] = not options["no_default_missing"]
    given |= _missing(kept, options["missing"], [own.name for own in model.variables])
    recipe = replace(kept, **given, format=options["format"])
    return recipe, lambda columns: _say(kept, recipe, columns)


def _fitting(kept: Recipe, data: str, format: str | None) -> Recipe:
    """Leave out what files of another kind do not have."""
    from ..formats import DATA_FORMATS, SUFFIXES

    kind = format or SUFFIXES.get(Path(data.lower().removesuffix(".gz")).suffix)
    taken = () if is_data_set(data) else DATA_FORMATS.get(kind or "csv", DATA_FORMATS["csv"]).options
    plain = {name: _default(kept, name) for name in ("encoding", "delimiter", "header", "sheet") if name not in taken}
    return replace(kept, **plain)


TOLD = ("weights", "encoding", "delimiter", "header", "decimal", "sheet", "missing", "missing_in", "default_missing")


def _say(kept: Recipe, recipe: Recipe, columns: Collection[str] | None) -> None:
    """Tell what is read as for the model, and what otherwise; weights only if the data have their column."""
    same = [name for name in TOLD if getattr(recipe, name) == getattr(kept, name)]
    if "weights" in same and columns is not None and recipe.weights not in columns:
        same.remove("weights")
    differ = [name for name in TOLD if getattr(recipe, name) != getattr(kept, name)]
    other = [name for name in differ if getattr(kept, name) != _default(kept, name)]
    told = [f"Read as for the model, with {said}." if (said := _reading(recipe, same)) else ""]
    told += [f"The model was made with {_reading(kept, other)}; here it is otherwise, as asked." if other else ""]
    if any(told):
        note(" ".join(filter(None, told)))


def _default(recipe: Recipe, name: str) -> Any:
    return next(own.default for own in fields(recipe) if own.name == name)


def reading_of(model: Model) -> str:
    """Return how the data of a model were read, as options; empty if nothing is special."""
    from ..formats._recipe import Recipe

    recipe = Recipe.of(model)
    return _reading(recipe, [own.name for own in fields(recipe)])


def _reading(recipe: Recipe, names: Sequence[str]) -> str:
    """Return what differs from the defaults, as options."""
    values = {name: getattr(recipe, name) for name in names}
    return " ".join(
        part for name, value in values.items() if value != _default(recipe, name) for part in as_options(name, value)
    )


def as_options(name: str, value: Any) -> list[str]:
    """Write a part of a recipe as options of a command.

    Examples
    --------
    >>> as_options("missing_in", {"age": ("99", "-1")}), as_options("order", {"trust": ("low", "high")})
    (['--missing age=99,age=-1'], ["--order 'trust: low, high'"])
    """
    if name == "missing_in":
        return [Advice("missing", [f"{own}={c}" for own, codes in value.items() for c in codes]).shown("shell")]
    if name == "order":
        return [Advice("order", f"{own}: {', '.join(map(_in_quotes, v))}").shown("shell") for own, v in value.items()]
    if name == "bins" and isinstance(value, Mapping):
        value = {own: cut if isinstance(cut, int) else ":".join([*map(str, cut), ""]) for own, cut in value.items()}
    if name in ("columns", "drop", "missing") and any("," in own for own in value):
        return [Advice(name, [_in_quotes(own)]).shown("shell") for own in value]
    return [Advice(name, value).shown("shell")]


def _in_quotes(text: str) -> str:
    return f'"{text}"' if "," in text else text


def say_other_data(model: Model, source: Source, found: Mapping[str, Any]) -> None:
    """Warn if data of the name that the model knows have another ``n`` or ``log_likelihood``."""
    if model.provenance.get("data") != source.name:
        return
    for name, what, slack in (("n", "{:,.10g} rows", 0.0), ("log_likelihood", "the log-likelihood {:,.10g}", SAME)):
        known = _known(model, name)
        if isinstance(known, int | float) and abs(known - found[name]) > slack + 1e-6 * abs(known):
            warn(
                f"By the model file, '{source.name}' has {what.format(known)}; as read now, it has "
                f"{what.format(found[name])}. "
                "These are not the data that the model was made from, or they are read in another way."
            )
            return


def _known(model: Model, name: str) -> Any:
    """What the file of a model says, at the probabilities that it holds."""
    estimate = model.provenance.get("estimate")
    own = estimate.get(name) if isinstance(estimate, Mapping) else None
    return model.provenance.get(name) if own is None else own


# ---- models ----------------------------------------------------------------------------------------------------------


def load_trace(path: str | None) -> list[Any] | None:
    """Read the steps of a search, if a file is named; see :func:`load_search`."""
    return None if path is None else load_search(path)[0]


def load_search(path: str) -> tuple[list[Any], str]:
    """Read the steps of a search and the name of its score.

    The file holds a list, an object with the list under ``trace``, a model or a checkpoint.
    """
    import json

    from .._files import read_text

    try:
        found = json.loads(read_text(path))
    except LatentreeError:
        raise
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"'{path}' is not a JSON file: {error}.") from None
    steps, score = found, None
    if isinstance(found, dict):
        inside = next((found[key] for key in ("provenance", "payload") if isinstance(found.get(key), dict)), found)
        steps, score = found.get("trace", inside.get("trace")), found.get("score", inside.get("score"))
    if not isinstance(steps, list):
        raise FileFormatError(f"'{path}' holds no list of steps, nor an object with one under 'trace'.")
    return steps, score if isinstance(score, str) else "bic"


def load_model(path: str, **options: Any) -> Model:
    """Read a model file; see :func:`latentree.formats._models.load` for the options."""
    from ..formats._models import load

    try:
        return load(path, **options)
    except FileNotFoundError:
        raise FileFormatError(f"There is no model file '{path}'.") from None
    except IsADirectoryError:
        raise FileFormatError(f"'{path}' is a folder. Give a model file in it.") from None
