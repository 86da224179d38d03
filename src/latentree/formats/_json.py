"""latentree's own model file: JSON that people can read, with a published schema (``model.schema.json``).

What the file holds
-------------------
``format``, ``version``
    ``"latentree-model"`` and 1. A reader refuses versions above its own.
``written_by``, ``provenance``
    Which latentree wrote it, and where the model comes from, as far as it knows.
``recipe``
    How the data were read, if it is known: see :class:`latentree.formats.Recipe`.
``variables``
    The manifest variables in order: name, states, the bin edges of a variable that was cut, the values that were
    merged into each state (``merged``), the position of the state that rare values were pooled in (``other``),
    levels that the data declared but no row had (``never_seen``), what it is in words (``label``), and where the order
    of the states comes from (``order``: declared, given or guessed). Without ``merged``, as in files of version 0.1,
    ``a | b`` stands for the values ``a`` and ``b``, and ``(other)`` for a pool. A state is text, a
    whole number or a truth value as JSON has them, or ``{"float": 1.0}``: the number 1.0 is not the state 1, and not
    every program keeps them apart.
``nodes``
    The nodes of the tree: name, parent (a name, null for the root), cardinality, whether latent, and the table
    P(node | parent) with a row for each state of the parent. Numbers are written so that reading gives the very same
    float.

Other keys beside these are passed over, so that later versions can add to the file without shutting out this one.
Reading checks everything and runs nothing.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import cache
from importlib import metadata, resources
from typing import Any

import numpy as np

from .._files import MAX_BYTES
from .._model import Model
from .._tree import Tree
from .._variables import State, Variable, looks_merged, read_from_text
from ..errors import FileFormatError, LatentreeError, ModelError
from ._network import check_different, from_the_root
from ._recipe import KEY, Recipe

__all__ = ["FORMAT", "VERSION", "dumps", "loads", "schema"]

FORMAT = "latentree-model"
VERSION = 1

SUM_TOLERANCE = 1e-6
"""How far the probabilities of a row may be from one in all."""


def schema() -> dict[str, Any]:
    """Return the JSON schema of the model file.

    Examples
    --------
    >>> schema()["properties"]["format"]["const"]
    'latentree-model'
    """
    text = resources.files(__package__).joinpath("model.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


# ---- writing ----------------------------------------------------------------------------------------------------


def dumps(model: Model) -> str:
    """Turn a model into the text of a model file, the same text for the same model.

    Examples
    --------
    >>> from latentree import Variable
    >>> x = Variable("x", ("no", "yes"))
    >>> tree = Tree.from_edges([("z", "x")], {"z": 2, "x": 2}, ["x"])
    >>> model = Model.from_tables(tree, [x], {"z": [0.25, 0.75], "x": [[0.5, 0.5], [0, 1]]}, provenance={"seed": 1})
    >>> print(dumps(model))  # doctest: +ELLIPSIS
    {
      "format": "latentree-model",
      "version": 1,
      "written_by": "latentree ...",
      "provenance": {"seed": 1},
      "variables": [
        {"name": "x", "states": ["no", "yes"]}
      ],
      "nodes": [
        {"name": "z", "parent": null, "cardinality": 2, "latent": true, "table": [
          [0.25, 0.75]
        ]},
        {"name": "x", "parent": "z", "cardinality": 2, "latent": false, "table": [
          [0.5, 0.5],
          [0.0, 1.0]
        ]}
      ]
    }
    <BLANKLINE>
    """
    provenance = dict(model.provenance)
    recipe = provenance.pop(KEY, None)
    parts = [
        f'  "format": {_text(FORMAT)}',
        f'  "version": {VERSION}',
        f'  "written_by": {_text(_written_by())}',
        f'  "provenance": {_any_text(provenance, "provenance")}',
        *([] if recipe is None else [f'  "recipe": {_any_text(recipe, KEY)}']),
        f'  "variables": [\n{_lines(variable_text(v) for v in model.variables)}\n  ]',
        f'  "nodes": [\n{_lines(_node_texts(model))}\n  ]',
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(items: Iterable[str]) -> str:
    return ",\n".join(f"    {item}" for item in items)


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _text(value: Any) -> str:
    text = _ENCODER.encode(value)
    if text.isascii():
        return text
    # Half a surrogate pair has no UTF-8; its escape is good JSON.
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def _any_text(value: Any, where: str) -> str:
    try:
        return _text(value)
    except (TypeError, ValueError):  # something that JSON does not have is in it
        return _text(_plain(value, where))


@cache
def _written_by() -> str:
    try:
        return f"latentree {metadata.version('latentree')}"
    except metadata.PackageNotFoundError:
        return "latentree"


def variable_text(variable: Variable) -> str:
    """A variable as it stands in a file."""
    out: dict[str, Any] = {"name": variable.name, "states": [_stored(s, variable) for s in variable.states]}
    if variable.edges is not None:
        out["edges"] = [_number(e, f"An edge of variable '{variable.name}'") for e in variable.edges]
    if variable.merged or looks_merged(variable.states):  # where the text alone could mislead, it is said either way
        out["merged"] = [[_stored(s, variable) for s in group] for group in variable.merged]
    if variable.other is not None:
        out["other"] = variable.other
    if variable.never_seen:
        out["never_seen"] = [_stored(s, variable) for s in variable.never_seen]
    out |= {name: own for name in ("label", "order") if (own := getattr(variable, name))}
    return _text(out)


def _stored(state: State, variable: Variable) -> Any:
    if isinstance(state, float):
        return {"float": _number(state, f"A state of variable '{variable.name}'")}
    return state


def _number(value: float, what: str) -> float | str:
    if math.isnan(value):
        raise ModelError(f"{what} is not a number (NaN), which a model file cannot hold.")
    return value if math.isfinite(value) else _INFINITE[value > 0]


_INFINITE = ("-Infinity", "Infinity")


def _node_texts(model: Model) -> Iterator[str]:
    tree, names = model.tree, [_text(name) for name in model.tree.names]
    above = ["null", *(names[p] for p in tree.parent[1:].tolist())]
    latent = ["true" if i < 0 else "false" for i in tree.variable.tolist()]
    for v, cardinality in enumerate(tree.cardinality.tolist()):
        # Numbers, which are finite here, are in JSON what they are in Python.
        rows = ",\n".join([f"      {row}" for row in model.table(v).tolist()])
        head = f'"name": {names[v]}, "parent": {above[v]}, "cardinality": {cardinality}, "latent": {latent[v]}'
        yield f'{{{head}, "table": [\n{rows}\n    ]}}'


def _plain(value: Any, where: str) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else "NaN" if math.isnan(value) else _INFINITE[value > 0]
    if isinstance(value, Mapping):
        return {str(k): _plain(v, f"{where}[{k!r}]") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, f"{where}[{i}]") for i, v in enumerate(value)]
    if isinstance(value, Enum):
        return _plain(value.value, where)
    if isinstance(value, date | os.PathLike):
        return str(value)
    raise ModelError(f"The model's {where} is a {type(value).__name__}, which a model file cannot hold.")


# ---- reading ----------------------------------------------------------------------------------------------------


def loads(text: str) -> Model:
    """Make a model from the text of a model file.

    Examples
    --------
    >>> from latentree._variables import numbered
    >>> model = Model.random(Tree.star(2, [2, 3]), numbered([2, 3]), np.random.default_rng(0))
    >>> loads(dumps(model)) == model
    True
    >>> loads('{"format": "latentree-model", "version": 2}')
    Traceback (most recent call last):
    ...
    latentree.errors.FileFormatError: The file has version 2, written by a newer latentree; update latentree to read it.
    """
    if len(text) > MAX_BYTES:
        raise FileFormatError(f"The text is longer than {MAX_BYTES:,} characters; no model file is.")
    document = _parsed(text)
    _check_marker(document)
    variables = [variable_from(v, i) for i, v in enumerate(_field(document, "variables", list, "The file"))]
    nodes = [_node(v, i) for i, v in enumerate(_field(document, "nodes", list, "The file"))]
    _check_names(variables, nodes)
    nodes = from_the_root(nodes)
    provenance = _field({"provenance": {}, **document}, "provenance", dict, "The file")
    if KEY in document:
        provenance = {**provenance, KEY: Recipe.from_plain(document[KEY]).to_plain()}
    try:
        tree = _tree(nodes, variables)
        return Model(tree, tuple(variables), _parameters(nodes), provenance)
    except FileFormatError:
        raise
    except LatentreeError as error:  # a rule of the types that no check here foresaw
        raise FileFormatError(str(error)) from None


def _parsed(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text, object_pairs_hook=_without_twins, parse_constant=_refused)
    except json.JSONDecodeError as error:
        whole = text.strip()
        if not whole:
            raise FileFormatError("The file is empty.") from None
        if whole.startswith("{") and (error.pos >= len(text.rstrip()) or not whole.endswith("}")):
            raise FileFormatError(f"The file breaks off at line {error.lineno}; it was cut short.") from None
        raise FileFormatError(f"Not JSON: line {error.lineno}, column {error.colno}: {error.msg}.") from None
    except RecursionError:
        raise FileFormatError("Lists are nested too deeply; this is not a model file.") from None
    except ValueError as error:
        raise FileFormatError(f"Not a model file: {error}") from None
    if not isinstance(document, dict):
        raise FileFormatError(f"This is JSON, but not a model file: {_kind(document)} instead of an object.")
    return document


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise ValueError(f"the key '{twice}' stands twice in one object.")
    return out


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON.")


def _check_marker(document: Mapping[str, Any]) -> None:
    if "format" not in document:
        raise FileFormatError("This is JSON, but not a model file of latentree: it has no 'format'.")
    if document["format"] != FORMAT:
        raise FileFormatError(f"This is not a model file: its format is {document['format']!r} instead of '{FORMAT}'.")
    version = _field(document, "version", int, "The file")
    if version > VERSION:
        raise FileFormatError(
            f"The file has version {version}, written by a newer latentree; update latentree to read it."
        )
    if version < 1:
        raise FileFormatError(f"The file has version {version}; there is no such version.")


_KINDS = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a whole number",
    bool: "true or false",
    float: "a number",
}


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "null")


def _field(holder: Mapping[str, Any], key: str, kind: type, where: str) -> Any:
    if key not in holder:
        raise FileFormatError(f"{where} has no '{key}'.")
    value = holder[key]
    if type(value) is not kind:  # not isinstance: true is no whole number here
        raise FileFormatError(f"{where}: '{key}' must be {_KINDS[kind]}. Got {_kind(value)}.")
    return value


def variable_from(raw: Any, position: int) -> Variable:
    """Read a variable of a file; the position is for errors."""
    where = f"Variable {position + 1}"
    if not isinstance(raw, dict):
        raise FileFormatError(f"{where} must be an object. Got {_kind(raw)}.")
    name = _field(raw, "name", str, where)
    where = f"Variable '{name}'"
    states = tuple(_state(s, where) for s in _field(raw, "states", list, where))
    edges = None if raw.get("edges") is None else tuple(_float(e, where) for e in _field(raw, "edges", list, where))
    groups = _field(raw, "merged", list, where) if "merged" in raw else []
    if not all(isinstance(group, list) for group in groups):
        raise FileFormatError("{where}: 'merged' must hold a list for each state.", where=where)
    merged = tuple(tuple(_state(s, where) for s in group) for group in groups)
    other = None if raw.get("other") is None else _field(raw, "other", int, where)
    never_seen = tuple(_state(s, where) for s in _field(raw, "never_seen", list, where)) if "never_seen" in raw else ()
    label, order = (_field(raw, key, str, where) if key in raw else "" for key in ("label", "order"))
    try:
        variable = Variable(name, states, edges, merged, other, never_seen, label, order)
    except LatentreeError as error:
        raise FileFormatError(str(error)) from None
    return read_from_text(variable) if "merged" not in raw and looks_merged(states) else variable


def _state(raw: Any, where: str) -> State:
    if isinstance(raw, str | bool | int):
        return raw
    if isinstance(raw, dict) and raw.keys() == {"float"}:
        return _float(raw["float"], where)
    if isinstance(raw, float):
        raise FileFormatError(f'{where}: the state {raw!r} must be written {{"float": {raw!r}}}.')
    raise FileFormatError(f"{where}: a state cannot be {_kind(raw)}.")


def _float(raw: Any, where: str) -> float:
    if raw in _INFINITE:
        return math.inf if raw == "Infinity" else -math.inf
    if type(raw) not in (int, float):
        raise FileFormatError(f"{where}: a number is wanted. Got {_kind(raw)}.")
    try:
        return float(raw)
    except OverflowError:
        raise FileFormatError(f"{where}: a number is too large.") from None


@dataclass(frozen=True)
class _Node:
    """One entry of 'nodes', its types checked."""

    name: str
    parent: str | None
    cardinality: int
    latent: bool
    table: list[Any]


def _node(raw: Any, position: int) -> _Node:
    where = f"Node {position + 1}"
    if not isinstance(raw, dict):
        raise FileFormatError(f"{where} must be an object. Got {_kind(raw)}.")
    name = _field(raw, "name", str, where)
    where = f"Node '{name}'"
    is_root = raw.get("parent", ...) is None
    return _Node(
        name,
        None if is_root else _field(raw, "parent", str, where),
        _field(raw, "cardinality", int, where),
        _field(raw, "latent", bool, where),
        _field(raw, "table", list, where),
    )


def _check_names(variables: Sequence[Variable], nodes: Sequence[_Node]) -> None:
    check_different([v.name for v in variables], "variables")
    check_different([n.name for n in nodes], "nodes")
    states = {v.name: v.cardinality for v in variables}
    shown = {n.name for n in nodes if not n.latent}
    for node in nodes:
        if node.latent and node.name in states:
            raise FileFormatError(f"Node '{node.name}' is marked latent, but there is a variable of that name.")
        if not node.latent and node.name not in states:
            raise FileFormatError(f"Node '{node.name}' is not latent, but there is no variable of that name.")
        if not node.latent and node.cardinality != states[node.name]:
            raise FileFormatError(
                f"Node '{node.name}' has cardinality {node.cardinality}, but its variable {states[node.name]} states."
            )
    for name in states:
        if name not in shown:
            raise FileFormatError(f"Variable '{name}' has no node.")


def _tree(nodes: Sequence[_Node], variables: Sequence[Variable]) -> Tree:
    at = {n.name: i for i, n in enumerate(nodes)}
    which = {v.name: i for i, v in enumerate(variables)}
    for node in nodes:
        _check_shape(node, 1 if node.parent is None else nodes[at[node.parent]].cardinality)
    return Tree(
        np.array([-1 if n.parent is None else at[n.parent] for n in nodes]),
        np.array([n.cardinality for n in nodes]),
        np.array([which.get(n.name, -1) for n in nodes]),
        tuple(n.name for n in nodes),
    )


def _check_shape(node: _Node, n_rows: int) -> None:
    # Also what keeps a made-up cardinality from asking for memory: the file must hold that many numbers.
    if node.cardinality < 1:
        raise FileFormatError(f"Node '{node.name}' has cardinality {node.cardinality}; at least 1 is possible.")
    if len(node.table) != n_rows:
        given = "the root has 1" if node.parent is None else f"its parent '{node.parent}' has {n_rows} states"
        raise FileFormatError(f"The table of '{node.name}' has {len(node.table)} rows, but {given}.")
    for i, row in enumerate(node.table):
        if not isinstance(row, list):
            raise FileFormatError(f"Row {i + 1} of the table of '{node.name}' must be a list. Got {_kind(row)}.")
        if len(row) != node.cardinality:
            raise FileFormatError(
                f"Row {i + 1} of the table of '{node.name}' has {len(row)} entries, but the node has "
                f"{node.cardinality} states."
            )


def _parameters(nodes: Sequence[_Node]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([p for n in nodes for i, row in enumerate(n.table) for p in _probabilities(row, n, i)])


def _probabilities(row: list[Any], node: _Node, i: int) -> list[float]:
    where = f"Row {i + 1} of the table of '{node.name}'"
    for p in row:
        if type(p) not in (int, float):
            raise FileFormatError(f"{where}: a probability must be a number. Got {_kind(p)}.")
        if not 0 <= p <= 1 + SUM_TOLERANCE:
            raise FileFormatError(f"{where}: a probability must lie between 0 and 1. Got {p!r}.")
    total = math.fsum(row)
    if abs(total - 1) > SUM_TOLERANCE:
        raise FileFormatError(f"{where} sums to {total:.6g}, not 1.")
    return [float(p) for p in row]
