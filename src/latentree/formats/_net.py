"""NET, the files of Hugin: also written by bnlearn, pgmpy, pyAgrum and others."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .._model import Model
from ..errors import FileFormatError
from ._network import IDENTIFIER, WORD, Dialect, Latent, Node, Room, network_of, only_parent, table_of, to_model
from ._tokens import QUOTED, Tokens, number, text_in

__all__ = ["DIALECT", "dumps", "loads"]

TOKEN = re.compile(
    rf"""(?P<skip>\s+|%[^\n]*)
    |{QUOTED}
    |[{{}}()=;|]
    |[^\s{{}}()=;|"%]+""",
    re.VERBOSE | re.DOTALL,
)

LABEL = re.compile(r"[ !#$&-\[\]-~]+")

DIALECT = Dialect(
    "NET",
    names=IDENTIFIER,
    states=WORD,
    reserved=frozenset({"net", "class", "node", "decision", "utility", "discrete", "continuous", "potential", "data"}),
)


def dumps(model: Model) -> str:
    """Turn a model into the text of a NET file.

    Names of nodes and states are made of letters, digits and ``_``, which is all that some readers take; others are
    changed, with a warning, and kept in a property, where :func:`loads` finds them; those of nodes as labels too.
    Latent nodes, types of states and bins are properties. The provenance is not kept.
    """
    nodes = network_of(model, DIALECT)
    lines = ["net", "{", "  node_size = (80 40);", "}"]
    for node, own in zip(nodes, model.tree.names, strict=True):
        lines += [f"node {node.name}", "{", f"  states = ({' '.join(map(_quoted, node.states))});"]
        if own != node.name and LABEL.fullmatch(own):
            lines.append(f"  label = {_quoted(own)};")
        lines += [f'  {name} = "{value}";' for name, value in node.properties.items()]
        lines.append("}")
    for node in nodes:
        given = "" if node.parent is None else f" | {node.parent}"
        rows = [" ".join(map(repr, row)) for row in node.table.tolist()]
        data = f"({rows[0]})" if node.parent is None else "((" + ")\n          (".join(rows) + "))"
        lines += [f"potential ({node.name}{given})", "{", f"  data = {data};", "}"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return f'"{text}"'


def loads(text: str, *, latent: Latent = None) -> Model:
    """Make a model from the text of a NET file.

    Read are networks of discrete chance nodes with tables; not classes, decisions, utilities, and tables given by
    expressions.

    Examples
    --------
    >>> model = loads('''
    ... net {}
    ... node sick { states = ("no" "yes"); }
    ... node test { states = ("neg" "pos"); }
    ... potential (sick) { data = (0.9 0.1); }
    ... potential (test | sick) { data = ((0.95 0.05) (0.2 0.8)); }
    ... ''', latent=["sick"])
    >>> model.table("test").tolist()
    [[0.95, 0.05], [0.2, 0.8]]
    """
    tokens = Tokens(text, TOKEN)
    nodes: dict[str, _Chance] = {}
    potentials: dict[str, _Potential] = {}
    while tokens.now:
        match tokens.expect("net", "class", "discrete", "node", "continuous", "decision", "utility", "potential"):
            case "net":
                tokens.skip("{")
                tokens.skip("}")
            case "discrete":
                if tokens.now.lower() != "node":
                    raise tokens.error(f"'node' must come here. {tokens.got(tokens.now)}")
            case "node":
                node = _node(tokens)
                if node.name in nodes:
                    raise tokens.error(f"two nodes are called '{node.name}'")
                nodes[node.name] = node
            case "potential":
                potential = _potential(tokens)
                if potential.name in potentials:
                    raise tokens.error(f"the node '{potential.name}' has two potentials")
                potentials[potential.name] = potential
            case kind:
                raise tokens.error(f"'{kind}' stands here; only networks of discrete chance nodes are read")
    return to_model(_joined(nodes, potentials, Room(len(text))), latent)


@dataclass(frozen=True, eq=False)
class _Chance:
    name: str
    states: tuple[str, ...]
    properties: dict[str, str]


@dataclass(frozen=True, eq=False)
class _Potential:
    name: str
    parent: str | None
    values: list[float]


def _joined(nodes: dict[str, _Chance], potentials: dict[str, _Potential], room: Room) -> list[Node]:
    for name, potential in potentials.items():
        if name not in nodes:
            raise FileFormatError(f"There is a potential for '{name}', but no node of that name.")
        if potential.parent is not None and potential.parent not in nodes:
            raise FileFormatError(f"The parent of node '{name}' is '{potential.parent}', which is not there.")
    out = []
    for name, node in nodes.items():
        if name not in potentials:
            raise FileFormatError(f"The node '{name}' has no potential.")
        parent = potentials[name].parent
        n_rows = 1 if parent is None else len(nodes[parent].states)
        room.take(name, len(node.states) * n_rows)
        table = table_of(name, potentials[name].values, len(node.states), n_rows)
        out.append(Node(name, node.states, parent, table, node.properties))
    return out


def _name(tokens: Tokens) -> str:
    token = tokens.take()
    if not token or token in "{}()=;|":
        raise tokens.error(f"a name must come here. {tokens.got(token)}")
    return text_in(token)


def _node(tokens: Tokens) -> _Chance:
    name = _name(tokens)
    states: tuple[str, ...] = ()
    properties: dict[str, str] = {}
    tokens.expect("{")
    while not tokens.accept("}"):
        key = _name(tokens)
        tokens.expect("=")
        if key == "states":
            states = tuple(text_in(token) for token in tokens.until(";") if token not in "()")
        else:
            properties[key] = _value(tokens.skip(";"))
    if not states:
        raise tokens.error(f"the node '{name}' has no states")
    if len(set(states)) < len(states):
        raise tokens.error(f"the node '{name}' has a state twice")
    return _Chance(name, states, properties)


def _value(text: str) -> str:
    return text_in(text) if text.endswith('"') else text


def _potential(tokens: Tokens) -> _Potential:
    tokens.expect("(")
    name = _name(tokens)
    parents = [text_in(token) for token in tokens.until(")") if token != "|"]
    parent = only_parent(name, parents)
    values: list[float] | None = None
    tokens.expect("{")
    while not tokens.accept("}"):
        key = _name(tokens)
        tokens.expect("=")
        if key == "data":
            values = [number(tokens, token) for token in tokens.until(";") if token not in "()"]
        else:
            tokens.skip(";")
    if values is None:
        raise tokens.error(f"the potential of '{name}' has no data")
    return _Potential(name, parent, values)
