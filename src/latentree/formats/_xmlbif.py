"""XMLBIF, the XML form of BIF: written by JavaBayes, Weka, SamIam, pgmpy, pyAgrum and others."""

from __future__ import annotations

from xml.sax.saxutils import escape

from .._model import Model
from ..errors import FileFormatError
from ._network import Dialect, Latent, Node, Room, network_of, only_parent, properties_in, table_of, to_model
from ._xml import PLAIN, Element, parse

__all__ = ["DIALECT", "dumps", "loads"]

DIALECT = Dialect("XMLBIF", names=PLAIN, states=PLAIN)

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<BIF VERSION="0.3">
<NETWORK>
<NAME>latentree</NAME>"""


def dumps(model: Model) -> str:
    """Turn a model into the text of an XMLBIF file.

    Latent nodes, types of states and bins are kept in properties, where :func:`loads` finds them; so are names with
    control characters and the like, which are changed with a warning. The provenance is not kept.
    """
    nodes = network_of(model, DIALECT)
    lines = [HEAD]
    for node in nodes:
        lines += ['<VARIABLE TYPE="nature">', f"  <NAME>{escape(node.name)}</NAME>"]
        lines += [f"  <OUTCOME>{escape(state)}</OUTCOME>" for state in node.states]
        lines += [f"  <PROPERTY>{name} = {value}</PROPERTY>" for name, value in node.properties.items()]
        lines.append("</VARIABLE>")
    for node in nodes:
        lines += ["<DEFINITION>", f"  <FOR>{escape(node.name)}</FOR>"]
        if node.parent is not None:
            lines.append(f"  <GIVEN>{escape(node.parent)}</GIVEN>")
        rows = "\n    ".join(" ".join(map(repr, row)) for row in node.table.tolist())
        lines += [f"  <TABLE>\n    {rows}\n  </TABLE>", "</DEFINITION>"]
    return "\n".join([*lines, "</NETWORK>", "</BIF>"]) + "\n"


def loads(data: str | bytes, *, latent: Latent = None) -> Model:
    """Make a model from the content of an XMLBIF file.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree._variables import numbered
    >>> import numpy as np
    >>> model = Model.random(Tree.star(2, [2, 3]), numbered([2, 3]), np.random.default_rng(0))
    >>> loads(dumps(model)) == model
    True
    """
    root = parse(data)
    network = next(root.all("network"), None)
    if root.tag != "bif" or network is None:
        raise FileFormatError(f"This is XML, but not XMLBIF: <{root.tag[:40]}> instead of <BIF> with a <NETWORK>.")
    variables = {}
    for element in network.all("variable"):
        name = _only(element, "name", "A <VARIABLE>")
        if name in variables:
            raise FileFormatError("Two variables are called '{name}'.", name=name)
        kind = next((value for key, value in element.attributes.items() if key.lower() == "type"), "nature")
        if kind.strip().lower() in ("decision", "utility"):
            raise FileFormatError(
                "The variable '{name}' is a {kind} node; only networks of chance nodes are read.",
                name=name,
                kind=kind.strip().lower(),
            )
        variables[name] = element
    definitions = {}
    for element in network.all("definition", "probability"):
        name = _only(element, "for", "A <DEFINITION>")
        if name not in variables:
            raise FileFormatError(f"A <DEFINITION> is for '{name}', which is not a variable.")
        if name in definitions:
            raise FileFormatError(f"The variable '{name}' has two definitions.")
        definitions[name] = element
    states = {name: tuple(s.text for s in v.all("outcome", "value")) for name, v in variables.items()}
    room = Room(len(data))
    nodes = []
    for name, variable in variables.items():
        if name not in definitions:
            raise FileFormatError(f"The variable '{name}' has no <DEFINITION>.")
        parent = only_parent(name, [given.text for given in definitions[name].all("given")])
        if parent is not None and parent not in states:
            raise FileFormatError(f"The parent of node '{name}' is '{parent}', which is not there.")
        if len(set(states[name])) < len(states[name]):
            raise FileFormatError(f"The variable '{name}' has a state twice.")
        n_rows = 1 if parent is None else len(states[parent])
        room.take(name, len(states[name]) * n_rows)
        values = numbers_in(_only(definitions[name], "table", f"The <DEFINITION> of '{name}'"), name)
        table = table_of(name, values, len(states[name]), n_rows)
        properties = properties_in(p.text for p in variable.all("property"))
        nodes.append(Node(name, states[name], parent, table, properties))
    return to_model(nodes, latent)


def _only(element: Element, tag: str, what: str) -> str:
    found = list(element.all(tag))
    if len(found) != 1:
        raise FileFormatError(f"{what} must have one <{tag.upper()}>. Found {len(found)}.")
    return found[0].text


def numbers_in(text: str, name: str) -> list[float]:
    """Read the numbers of a table, with blanks or commas between."""
    try:
        return [float(part) for part in text.replace(",", " ").split()]
    except ValueError as error:
        raise FileFormatError(
            f"The table of '{name}' holds something that is not a number ({str(error)[:80]})."
        ) from None
