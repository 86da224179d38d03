"""BIF, the interchange format for Bayesian networks, as many programs write it.

Read are tables given row by row, ``(yes) 0.1, 0.9;``, with or without a ``default``, and whole, ``table 0.1 0.9;``;
names with and without quotes; numbers and states with and without commas; parents after a bar, or after a blank as
JavaBayes has them; comments and properties. A whole table lists the node's first state for every state of the parent,
then its second, and so on (JavaBayes, HLTA, aGrUM). One that makes sense only the other way round (old pgmpy) is read
so.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._model import Model
from .._types import FloatArray
from ..errors import FileFormatError, LatentreeWarning
from ._network import (
    CARELESS,
    IDENTIFIER,
    WORD,
    Dialect,
    Latent,
    Node,
    Room,
    network_of,
    only_parent,
    properties_in,
    table_of,
    to_model,
)
from ._tokens import QUOTED, Tokens, number, text_in

__all__ = ["DIALECT", "dumps", "loads"]

TOKEN = re.compile(
    rf"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
    |{QUOTED}
    |[{{}}()\[\];|,]
    |(?!/[/*])[^\s{{}}()\[\];|,"]+?(?=[\s{{}}()\[\];|,"]|/[/*]|\Z)""",
    re.VERBOSE | re.DOTALL,
)

DIALECT = Dialect(
    "BIF",
    names=IDENTIFIER,
    states=WORD,
    reserved=frozenset({"network", "variable", "probability", "property", "type", "discrete", "default", "table"}),
)


def dumps(model: Model) -> str:
    """Turn a model into the text of a BIF file, row by row.

    Names of nodes and states are made of letters, digits and ``_``; others are changed, with a warning, and kept in a
    property, where :func:`loads` finds them. So are latent nodes, types of states and bins. The provenance is not kept.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree import Variable
    >>> tree = Tree.from_edges([("z", "x")], {"z": 2, "x": 2}, ["x"])
    >>> tables = {"z": [0.25, 0.75], "x": [[0.5, 0.5], [0, 1]]}
    >>> print(dumps(Model.from_tables(tree, [Variable("x", ("no", "yes"))], tables)))
    network latentree {
    }
    variable z {
      type discrete [ 2 ] { s0, s1 };
      property latentree_latent = yes ;
    }
    variable x {
      type discrete [ 2 ] { no, yes };
    }
    probability ( z ) {
      table 0.25, 0.75;
    }
    probability ( x | z ) {
      (s0) 0.5, 0.5;
      (s1) 0.0, 1.0;
    }
    <BLANKLINE>
    """
    nodes = network_of(model, DIALECT)
    states = {node.name: node.states for node in nodes}
    lines = ["network latentree {", "}"]
    for node in nodes:
        lines += [f"variable {node.name} {{", f"  type discrete [ {len(node.states)} ] {{ {', '.join(node.states)} }};"]
        lines += [f"  property {name} = {value} ;" for name, value in node.properties.items()]
        lines.append("}")
    for node in nodes:
        given = "" if node.parent is None else f" | {node.parent}"
        lines.append(f"probability ( {node.name}{given} ) {{")
        heads = ["table"] if node.parent is None else [f"({state})" for state in states[node.parent]]
        for head, row in zip(heads, node.table.tolist(), strict=True):
            lines.append(f"  {head} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def loads(text: str, *, latent: Latent = None) -> Model:
    """Make a model from the text of a BIF file.

    Examples
    --------
    >>> model = loads('''
    ... network "n" {}
    ... variable "sick" { type discrete[2] { "no" "yes" }; }
    ... variable "test" { type discrete[2] { "neg" "pos" }; }
    ... probability ("sick") { table 0.9 0.1; }
    ... probability ("test" | "sick") { table 0.95 0.2 0.05 0.8; }
    ... ''', latent=["sick"])
    >>> model.table("test").tolist()
    [[0.95, 0.05], [0.2, 0.8]]
    """
    tokens = Tokens(text, TOKEN)
    variables: dict[str, _Declared] = {}
    tables: dict[str, tuple[str | None, FloatArray]] = {}
    room = Room(len(text))
    while tokens.now:
        match tokens.expect("network", "variable", "probability", "edge"):
            case "network" | "edge":  # edges with bends in them, of HLTA
                tokens.skip("{")
                tokens.skip("}")
            case "variable":
                name, declared = _variable(tokens)
                if name in variables:
                    raise tokens.error(f"two variables are called '{name}'")
                variables[name] = declared
            case _:
                name, parent, table = _probability(tokens, variables, room)
                if name in tables:
                    raise tokens.error(f"the variable '{name}' has two tables")
                tables[name] = parent, table
    for name in variables:
        if name not in tables:
            raise FileFormatError(f"The variable '{name}' has no table of probabilities.")
    nodes = [Node(name, own.states, *tables[name], own.properties) for name, own in variables.items()]
    return to_model(nodes, latent)


@dataclass(frozen=True, eq=False)
class _Declared:
    """States of a variable, where each stands, and properties."""

    states: tuple[str, ...]
    position: dict[str, int]
    properties: dict[str, str]


def _words(tokens: Tokens, ends: Sequence[str]) -> list[str]:
    """Words up to one of these signs. Between commas they are one: pgmpy puts blanks into names without quotes."""
    parts: list[list[str]] = [[]]
    commas = False
    while tokens.now not in ends:
        token = tokens.take()
        if not token or token in "{}()[];|":
            raise tokens.error(f"a name must come here. {tokens.got(token)}")
        if token == ",":
            commas = True
            parts.append([])
        else:
            parts[-1].append(text_in(token))
    if commas:
        return [" ".join(part) for part in parts if part]
    return parts[0]


def _variable(tokens: Tokens) -> tuple[str, _Declared]:
    name = " ".join(_words(tokens, "{"))
    tokens.expect("{")
    states: list[str] | None = None
    lines: list[str] = []
    while not tokens.accept("}"):
        if tokens.expect("type", "property") == "property":
            lines.append(tokens.skip(";"))
            continue
        states = _states(tokens, name)
    if states is None:
        raise tokens.error(f"the variable '{name}' has no 'type'")
    position = {state: i for i, state in enumerate(states)}
    if len(position) < len(states):
        raise tokens.error(f"the variable '{name}' has a state twice")
    return name, _Declared(tuple(states), position, properties_in(lines))


def _states(tokens: Tokens, name: str) -> list[str]:
    kind = tokens.take()
    if kind.lower() != "discrete":
        raise tokens.error(f"the variable '{name}' must be discrete. {tokens.got(kind)}")
    tokens.expect("[")
    said = tokens.take()
    tokens.expect("]")
    tokens.expect("{")
    states = _words(tokens, "}")
    tokens.take()
    tokens.accept(";")
    if said != str(len(states)):
        raise tokens.error(f"the variable '{name}' lists {len(states)} states, but says that it has {said[:20]}")
    return states


def _probability(tokens: Tokens, variables: dict[str, _Declared], room: Room) -> tuple[str, str | None, FloatArray]:
    tokens.expect("(")
    head = _words(tokens, "|)")
    if tokens.accept("|"):
        child, parents = " ".join(head), _words(tokens, ")")
        if len(parents) > 1 and " ".join(parents) in variables:
            parents = [" ".join(parents)]
    else:
        child, parents = (head[0], head[1:]) if head else ("", [])
        if " ".join(head) in variables:
            child, parents = " ".join(head), []
    tokens.expect(")")
    for name in (child, *parents):
        if name not in variables:
            raise tokens.error(f"the variable '{name[:60]}' has not been declared")
    parent = only_parent(child, parents)
    own, given = variables[child], None if parent is None else variables[parent]
    room.take(child, len(own.states) * (1 if given is None else len(given.states)))
    return child, parent, _rows(tokens, child, own, given)


def _rows(tokens: Tokens, name: str, own: _Declared, given: _Declared | None) -> FloatArray:
    """P(own | given) from its rows, a default for those that are not there, or a whole table."""
    k, n_rows = len(own.states), 1 if given is None else len(given.states)
    whole: FloatArray | None = None
    default: list[float] | None = None
    rows: dict[int, list[float]] = {}
    tokens.expect("{")
    while not tokens.accept("}"):
        match tokens.expect("table", "default", "(", "property"):
            case "property":
                tokens.skip(";")
            case "table":
                whole = _whole(name, _numbers(tokens), k, n_rows)
            case "default":
                default = _row(tokens, name, k)
            case _:
                state = " ".join(_words(tokens, ")"))
                tokens.expect(")")
                if given is None or state not in given.position:
                    raise tokens.error(f"'{state[:60]}' is not a state of the parent of '{name}'")
                if given.position[state] in rows:
                    raise tokens.error(f"the table of '{name}' has two rows for '{state[:60]}'")
                rows[given.position[state]] = _row(tokens, name, k)
    if whole is not None:
        return whole
    if default is None and len(rows) < n_rows:
        raise tokens.error(f"the table of '{name}' has {len(rows)} rows; {n_rows} are needed")
    return np.array([rows.get(i, default) for i in range(n_rows)], dtype=np.float64)


def _numbers(tokens: Tokens) -> list[float]:
    return [number(tokens, token) for token in tokens.until(";") if token != ","]


def _row(tokens: Tokens, name: str, n_states: int) -> list[float]:
    row = _numbers(tokens)
    if len(row) != n_states:
        raise tokens.error(f"a row of the table of '{name}' has {len(row)} numbers; its {n_states} states need as many")
    return row


def _whole(name: str, values: list[float], k: int, n_rows: int) -> FloatArray:
    """A whole table, in the order that makes its rows distributions; in that of the format if both do."""
    by_parent = table_of(name, values, k, n_rows)
    by_state = by_parent.reshape(k, n_rows).T
    if not _sums_to_one(by_state) and _sums_to_one(by_parent):
        warnings.warn(
            f"The table of '{name}' lists its numbers in another order than BIF has; it was read parent by parent.",
            LatentreeWarning,
            stacklevel=2,
        )
        return by_parent
    return by_state


def _sums_to_one(table: FloatArray) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((np.abs(table.sum(axis=1) - 1) <= CARELESS).all())
