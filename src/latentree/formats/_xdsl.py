"""XDSL, the files of GeNIe and SMILE."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from xml.sax.saxutils import escape

import numpy as np

from .._model import Model
from .._types import FloatArray
from ..errors import FileFormatError
from ._network import IDENTIFIER, Dialect, Latent, Node, Room, network_of, only_parent, table_of, to_model
from ._xml import PLAIN, Element, parse
from ._xmlbif import numbers_in

__all__ = ["DIALECT", "dumps", "loads"]

DIALECT = Dialect("XDSL", names=IDENTIFIER, states=IDENTIFIER)

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="latentree" numsamples="1000">"""

WIDTH, HEIGHT = 110, 50
"""Distance of neighbouring nodes on GeNIe's screen."""


def dumps(model: Model) -> str:
    """Turn a model into the text of an XDSL file.

    Identifiers are made of letters, digits and ``_`` and start with a letter. Others are changed, with a warning, and
    kept in a property, where :func:`loads` finds them; GeNIe shows the original names of nodes as titles. Latent nodes,
    types of states and bins are properties too. The provenance is not kept.
    """
    nodes = network_of(model, DIALECT)
    lines = [HEAD, "<nodes>"]
    for node in nodes:
        lines.append(f'  <cpt id="{node.name}">')
        lines += [f'    <state id="{state}" />' for state in node.states]
        if node.parent is not None:
            lines.append(f"    <parents>{node.parent}</parents>")
        numbers = " ".join(map(repr, chain.from_iterable(node.table.tolist())))
        lines.append(f"    <probabilities>{numbers}</probabilities>")
        lines += [f'    <property id="{name}">{value}</property>' for name, value in node.properties.items()]
        lines.append("  </cpt>")
    lines += ["</nodes>", "<extensions>", '  <genie version="1.0" app="latentree" name="latentree">']
    for node, title, (x, y) in zip(nodes, model.tree.names, _positions(model), strict=True):
        shown = title if PLAIN.fullmatch(title) else node.name
        lines.append(
            f'    <node id="{node.name}"><name>{escape(shown)}</name><interior color="e5f6f7" />'
            f'<outline color="000080" /><font color="000000" name="Arial" size="8" />'
            f"<position>{x} {y} {x + WIDTH - 30} {y + HEIGHT - 20}</position></node>"
        )
    return "\n".join([*lines, "  </genie>", "</extensions>", "</smile>"]) + "\n"


def _positions(model: Model) -> list[tuple[int, int]]:
    """Put leaves side by side and every other node above the middle of its children."""
    tree = model.tree
    depth, x = np.zeros(tree.n_nodes, dtype=int), np.zeros(tree.n_nodes)
    for v in range(1, tree.n_nodes):
        depth[v] = depth[tree.parent[v]] + 1
    stack, leaves = [0], 0
    while stack:  # leaves from left to right
        v = stack.pop()
        stack.extend(reversed(tree.children[v]))
        if not tree.children[v]:
            x[v] = leaves
            leaves += 1
    for v in reversed(range(tree.n_nodes)):
        if tree.children[v]:
            x[v] = (x[tree.children[v][0]] + x[tree.children[v][-1]]) / 2
    return [(round(20 + a * WIDTH), 20 + int(d) * 2 * HEIGHT) for a, d in zip(x.tolist(), depth, strict=True)]


def loads(data: str | bytes, *, latent: Latent = None) -> Model:
    """Make a model from the content of an XDSL file.

    General (``cpt``) and deterministic nodes are read, by their identifiers. Influence diagrams, equations and noisy
    gates are not.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree import Variable
    >>> import numpy as np
    >>> own = [Variable("x", ("no", "yes")), Variable("y", ("a", "b", "c"))]
    >>> model = Model.random(Tree.star(2, [2, 3]), own, np.random.default_rng(0))
    >>> loads(dumps(model)) == model
    True
    """
    root = parse(data)
    holder = next(root.all("nodes"), None)
    if root.tag != "smile" or holder is None:
        raise FileFormatError(f"This is XML, but not XDSL: <{root.tag[:40]}> instead of <smile> with <nodes>.")
    states: dict[str, tuple[str, ...]] = {}
    for element in holder.children:
        name = element.attributes.get("id", "")
        if element.tag not in ("cpt", "deterministic"):
            raise FileFormatError(f"Node '{name}' is a {element.tag[:40]}; only cpt and deterministic are read.")
        if name in states:
            raise FileFormatError(f"Two nodes are called '{name}'.")
        states[name] = tuple(state.attributes.get("id", "") for state in element.all("state"))
        if len(set(states[name])) < len(states[name]):
            raise FileFormatError(f"Node '{name}' has a state twice.")
    room = Room(len(data))
    return to_model([_node(element, states, room) for element in holder.children], latent)


def _node(element: Element, states: dict[str, tuple[str, ...]], room: Room) -> Node:
    name = element.attributes.get("id", "")
    parent = only_parent(name, _within(element, "parents").split())
    if parent is not None and parent not in states:
        raise FileFormatError(f"The parent of node '{name}' is '{parent}', which is not there.")
    k, n_rows = len(states[name]), 1 if parent is None else len(states[parent])
    room.take(name, k * n_rows)
    if element.tag == "deterministic":
        table = _determined(name, _within(element, "resultingstates").split(), states[name], n_rows)
    else:
        table = table_of(name, numbers_in(_within(element, "probabilities"), name), k, n_rows)
    properties = {p.attributes.get("id", ""): p.text for p in element.all("property")}
    return Node(name, states[name], parent, table, properties)


def _within(element: Element, tag: str) -> str:
    return " ".join(found.text for found in element.all(tag))


def _determined(name: str, results: Sequence[str], states: Sequence[str], n_rows: int) -> FloatArray:
    position = {state: i for i, state in enumerate(states)}
    if len(results) != n_rows or any(r not in position for r in results):
        raise FileFormatError(f"Node '{name}': <resultingstates> must name one of its states {n_rows} times.")
    table = np.zeros((n_rows, len(states)))
    table[np.arange(n_rows), [position[r] for r in results]] = 1.0
    return table
