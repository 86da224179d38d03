"""Between models and the networks of other programs' files: what every such format has in common.

A file of another program holds nodes with names, states that are text, parents and tables, and nothing else that all
formats share. What latentree knows beyond that is kept in properties of the nodes, which other programs pass over:

``latentree_latent = yes``
    The node is latent.
``latentree_name = a%20b``
    Its name, where the format has no room for it.
``latentree_states = i:1 i:2 t:don%27t%20know``
    Its states with their types (text, whole number, float, boolean), where the file does not say the same without.
``latentree_edges = 18.0 65.0``
    Where a continuous column was cut.
``latentree_merged = - t:often,t:always``
    For each state the values that were merged into it.
``latentree_other = 2``
    Position of the state that rare values were pooled in.
``latentree_label = t:Do%20you%20smoke?``
    What the variable is in words.
``latentree_order = guessed``
    Where the order of its states comes from: declared, given or guessed.
``latentree_never_seen = t:refused``
    Levels that the data declared but no row had.
``latentree_column = 3``
    Which of the variables it is, counted from 0, where the order of the nodes does not tell.

Special characters are written as in web addresses, so that the values fit into every format.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar
from urllib.parse import quote, unquote_to_bytes

import numpy as np

from .._model import Model, row_sums, spread
from .._tree import Tree
from .._types import FloatArray
from .._variables import MAX_STATES, State, Variable, typed
from ..errors import FileFormatError, LatentreeError, LatentreeWarning, ParameterError, bad_parameter
from ._coding import numbers_of

__all__ = [
    "Dialect",
    "Latent",
    "Node",
    "Room",
    "check_different",
    "from_the_root",
    "network_of",
    "only_parent",
    "properties_in",
    "table_of",
    "to_model",
]


Latent = Sequence[str] | Literal["inner"] | None
"""Which nodes of a file are latent: these, all that have children, or those that the file itself says are."""

PREFIX = "latentree_"
"""What the names of our properties start with."""

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
WORD = re.compile(r"[A-Za-z0-9_]+")
"""What the names of nodes and states are made of where other programs stumble over anything else."""

COMPARISONS = (("<=", "le "), (">=", "ge "), ("<", "lt "), (">", "gt "))
"""How the names of bins are written in letters."""

EXACT, ROUNDED, CARELESS = 1e-6, 1e-4, 0.02
"""Rows that are this far from one in all are kept as they are, rescaled, and rescaled with a warning."""


@dataclass(frozen=True, eq=False)
class Node:
    """A node as a file has it: text, and a table with a row for each state of its parent."""

    name: str
    states: tuple[str, ...]
    parent: str | None
    table: FloatArray
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Dialect:
    """What a format can hold."""

    title: str
    names: re.Pattern[str]
    states: re.Pattern[str]
    reserved: frozenset[str] = frozenset()


# ---- the tree in a file ------------------------------------------------------------------------------------------


class _Child(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def parent(self) -> str | None: ...


Some = TypeVar("Some", bound=_Child)


def from_the_root(nodes: Sequence[Some]) -> list[Some]:
    """Check that the nodes form a tree, and put parents before their children if they are not there already."""
    roots = [n for n in nodes if n.parent is None]
    if len(roots) != 1:
        found = ", ".join(f"'{n.name}'" for n in roots[:5]) or "none"
        raise FileFormatError(f"Exactly one node must have no parent. Found {len(roots)} ({found}).")
    children: dict[str, list[Some]] = {n.name: [] for n in nodes}
    for node in nodes:
        if node.parent is not None:
            if node.parent not in children:
                raise FileFormatError(f"The parent of node '{node.name}' is '{node.parent}', which is not there.")
            children[node.parent].append(node)
    order = list(roots)
    for node in order:
        order.extend(children[node.name])
    if len(order) < len(nodes):
        lost = {n.name for n in nodes} - {n.name for n in order}
        raise FileFormatError(f"Node '{min(lost)}' is its own ancestor: the parents go round in a circle.")
    at = {n.name: i for i, n in enumerate(nodes)}
    in_order = all(n.parent is None or at[n.parent] < at[n.name] for n in nodes) and nodes[0].parent is None
    return list(nodes) if in_order else order


def only_parent(name: str, parents: Sequence[str]) -> str | None:
    """The parent of a node, an error if there are several."""
    if len(parents) > 1:
        shown = ", ".join(f"'{p}'" for p in parents[:5]) + (", ..." if len(parents) > 5 else "")
        raise FileFormatError(
            f"Node '{name}' has {len(parents)} parents ({shown}). Only trees can be read, where a node has one at most."
        )
    return parents[0] if parents else None


def table_of(name: str, values: Sequence[float], n_states: int, n_rows: int) -> FloatArray:
    """Shape the numbers of a table, the states of the node changing fastest."""
    if len(values) != n_states * n_rows:
        rows = f"for {n_rows} states of its parent" if n_rows != 1 else "for a node without parent"
        raise FileFormatError(
            f"The table of '{name}' has {len(values)} numbers; {n_states * n_rows} are needed "
            f"({n_states} states {rows})."
        )
    return np.array(values, dtype=np.float64).reshape(n_rows, n_states)


class Room:
    """How many probabilities a file may ask for: as many as it has characters, or some millions.

    Without it a small file could fill the memory with rows that it does not hold (defaults, deterministic nodes).
    """

    def __init__(self, n_characters: int) -> None:
        self.left = max(n_characters, 10_000_000)

    def take(self, name: str, size: int) -> None:
        """Take room for a table."""
        self.left -= size
        if self.left < 0:
            raise FileFormatError(f"The table of '{name}' with its {size:,} numbers is more than such a file can hold.")


# ---- reading -----------------------------------------------------------------------------------------------------


def to_model(nodes: Sequence[Node], latent: Latent = None) -> Model:
    """Make a model of the nodes of a file."""
    if not nodes:
        raise FileFormatError("There are no nodes in the file.")
    check_different([n.name for n in nodes])
    ordered = from_the_root(nodes)
    states = {n.name: len(n.states) for n in nodes}
    for node in ordered:
        _check_shape(node, 1 if node.parent is None else states[node.parent])
    try:
        names = {n.name: _own_name(n) for n in ordered}
        check_different(list(names.values()))
        hidden = _hidden(nodes, names, latent)
        variables = {n.name: _variable(n, names[n.name]) for n in nodes if n.name not in hidden}
        columns = _columns(nodes, hidden)
        at = {n.name: i for i, n in enumerate(ordered)}
        tree = Tree(
            np.array([-1 if n.parent is None else at[n.parent] for n in ordered]),
            np.array([states[n.name] for n in ordered]),
            np.array([columns.get(n.name, -1) for n in ordered]),
            tuple(names[n.name] for n in ordered),
        )
        by_column = sorted(variables, key=columns.__getitem__)
        return Model(tree, tuple(variables[n] for n in by_column), _distributions(tree, ordered))
    except (FileFormatError, ParameterError):
        raise
    except LatentreeError as error:  # a rule of the types that no check here foresaw
        raise FileFormatError(str(error)) from None


def check_different(names: Sequence[str], what: str = "nodes") -> None:
    """Refuse two things of one name."""
    if len(set(names)) < len(names):
        twice = next(name for name, often in Counter(names).items() if often > 1)
        raise FileFormatError(f"Two {what} are called '{twice}'.")


def _check_shape(node: Node, n_rows: int) -> None:
    if not 1 <= len(node.states) <= MAX_STATES:
        raise FileFormatError(f"Node '{node.name}' has {len(node.states):,} states; 1 to {MAX_STATES:,} are possible.")
    if node.table.shape != (n_rows, len(node.states)):
        raise FileFormatError(
            f"The table of '{node.name}' is {node.table.shape[0]} x {node.table.shape[1]}; it must be "
            f"{n_rows} x {len(node.states)}."
        )


def _distributions(tree: Tree, nodes: Sequence[Node]) -> FloatArray:
    """All tables, rows that rounding left off one being rescaled."""
    flat = np.concatenate([node.table.ravel() for node in nodes])
    wrong = ~(np.isfinite(flat) & (flat >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        name = nodes[int(np.searchsorted(tree.offsets, at, side="right")) - 1].name
        raise FileFormatError(f"The table of '{name}': a probability must be a number from 0 to 1. Got {flat[at]}.")
    with np.errstate(over="ignore"):
        totals = row_sums(tree, flat)
        off = np.abs(totals - 1)
    worst = int(np.argmax(off))
    ends = np.cumsum(tree.rows)
    at = int(np.searchsorted(ends, worst, side="right"))
    own = worst - int(ends[at] - tree.rows[at]) + 1
    which = f"Row {own} of the table of '{nodes[at].name}' sums to {totals[worst]:.6g}"
    if not off[worst] <= CARELESS:
        raise FileFormatError(f"{which}, not 1.")
    if off[worst] > ROUNDED:
        warnings.warn(f"{which}; such rows were rescaled to 1.", LatentreeWarning, stacklevel=2)
    return np.where(spread(tree, off) > EXACT, flat / spread(tree, totals), flat)


def _own_name(node: Node) -> str:
    told = node.properties.get(PREFIX + "name")
    return node.name if told is None else _unquoted(told, node)


def _hidden(nodes: Sequence[Node], names: Mapping[str, str], latent: Latent) -> set[str]:
    """Names in the file of the latent nodes."""
    if latent is None:
        return {n.name for n in nodes if _is_latent(n)}
    if latent == "inner":
        return {n.parent for n in nodes if n.parent is not None}
    if isinstance(latent, str):
        raise bad_parameter("latent", "load", "a list of names, 'inner' or None", latent)
    by_name = {own: name for name, own in names.items()} | {name: name for name in names}
    for name in latent:
        if name not in by_name:
            raise FileFormatError(f"There is no node '{name}' that could be latent.")
    return {by_name[name] for name in latent}


def _is_latent(node: Node) -> bool:
    told = node.properties.get(PREFIX + "latent")
    if told is not None and told not in ("yes", "no"):
        raise FileFormatError(f"Node '{node.name}': the property {PREFIX}latent must be yes or no. Got '{told[:40]}'.")
    return told == "yes" or (told is None and node.properties.get("roles") == "{'latents'}")  # as pgmpy writes it


def _variable(node: Node, name: str) -> Variable:
    told = node.properties.get(PREFIX + "states")
    states = _usual_states(node.states) if told is None else tuple(_state(s, node) for s in told.split())
    own = {key: node.properties.get(PREFIX + key) for key in ("edges", "merged", "other", "never_seen", "label")}
    try:
        if len(states) != len(node.states):
            raise ValueError
        return Variable(
            name,
            states,
            None if own["edges"] is None else tuple(float(e) for e in own["edges"].split()),
            tuple(_group(text, node) for text in (own["merged"] or "").split()),
            None if own["other"] is None else int(own["other"]),
            tuple(_state(text, node) for text in (own["never_seen"] or "").split()),
            "" if own["label"] is None else str(_state(own["label"], node)),
            node.properties.get(PREFIX + "order", ""),
        )
    except ValueError as error:
        if isinstance(error, LatentreeError):
            raise
        raise _damaged(node) from None


def _group(text: str, node: Node) -> tuple[State, ...]:
    return () if text == "-" else tuple(_state(own, node) for own in text.split(","))


def _usual_states(texts: Sequence[str]) -> tuple[State, ...]:
    """States of a file without types: numbers if all are numbers, as in files of data."""
    numbers = numbers_of(texts)
    if numbers is None or not np.isfinite(numbers).all() or len(set(numbers.tolist())) < len(numbers):
        return tuple(texts)
    whole = numbers.dtype.kind == "i" or bool((numbers == np.floor(numbers)).all() and (np.abs(numbers) < 2**53).all())
    return tuple(numbers.astype(np.int64).tolist() if whole else numbers.tolist())


def _columns(nodes: Sequence[Node], hidden: set[str]) -> dict[str, int]:
    """Which variable each manifest node is."""
    shown = [n for n in nodes if n.name not in hidden]
    told = [n.properties.get(PREFIX + "column") for n in shown]
    if any(t is None for t in told):
        return {n.name: i for i, n in enumerate(shown)}
    try:
        wanted = [int(t or "") for t in told]
    except ValueError:
        raise FileFormatError(f"A property {PREFIX}column is not a whole number.") from None
    # By rank: whoever is made manifest by hand, or taken out, leaves the others in their order.
    order = sorted(range(len(shown)), key=wanted.__getitem__)
    return {shown[i].name: rank for rank, i in enumerate(order)}


# ---- writing -----------------------------------------------------------------------------------------------------


def network_of(model: Model, dialect: Dialect) -> list[Node]:
    """Turn a model into nodes that a format can hold, parents before children; say which names were changed."""
    tree = model.tree
    names = _legal(tree.names, dialect.names, dialect.reserved, "x", str.lower)
    changed = {own: name for own, name in zip(tree.names, names, strict=True) if own != name}
    in_order = bool((np.diff(tree.variable[tree.variable >= 0]) > 0).all())
    nodes = []
    for v in range(tree.n_nodes):
        column = int(tree.variable[v])
        own = [f"s{s}" if column < 0 else str(s) for s in model.states(v)]
        states = _legal(own, dialect.states, dialect.reserved, "s", str)
        changed |= {a: b for a, b in zip(own, states, strict=True) if a != b}
        told = {"latent": "yes"} if column < 0 else _told(model.variables[column], states)
        if names[v] != tree.names[v]:
            told["name"] = _quoted(tree.names[v])
        if column >= 0 and not in_order:
            told["column"] = str(column)
        properties = {PREFIX + key: value for key, value in told.items()}
        parent = names[tree.parent[v]] if v else None
        nodes.append(Node(names[v], tuple(states), parent, model.table(v), properties))
    _tell(changed, dialect)
    return nodes


def _told(variable: Variable, written: Sequence[str]) -> dict[str, str]:
    out = {}
    if tuple(map(typed, _usual_states(written))) != tuple(map(typed, variable.states)):
        out["states"] = " ".join(_typed_text(s) for s in variable.states)
    if variable.edges is not None:
        out["edges"] = " ".join(repr(e) for e in variable.edges)
    if variable.merged:
        out["merged"] = " ".join(",".join(map(_typed_text, group)) or "-" for group in variable.merged)
    if variable.other is not None:
        out["other"] = str(variable.other)
    if variable.never_seen:
        out["never_seen"] = " ".join(map(_typed_text, variable.never_seen))
    if variable.label:
        out["label"] = _typed_text(variable.label)
    if variable.order:
        out["order"] = variable.order
    return out


def _legal(
    texts: Sequence[str], pattern: re.Pattern[str], reserved: frozenset[str], first: str, key: Callable[[str], str]
) -> list[str]:
    """Names that a format can hold, as they are if it can; all different by the key (pgmpy ignores case of nodes)."""
    out: list[str | None] = [None] * len(texts)
    taken = set(reserved)
    for i, text in enumerate(texts):  # those that can stay come first
        if pattern.fullmatch(text) and text.lower() not in reserved and key(text) not in taken:
            out[i] = text
            taken.add(key(text))
    tried: dict[str, int] = {}
    for i, text in enumerate(texts):
        if out[i] is None:
            stem = _stem(text, first)
            number, name = tried.get(stem, 1), stem
            while key(name) in taken:
                number += 1
                name = f"{stem}_{number}"
            tried[stem] = number
            out[i] = name
            taken.add(key(name))
    return [text for text in out if text is not None]


def _stem(text: str, first: str) -> str:
    for sign, letters in COMPARISONS:
        text = text.replace(sign, letters)
    stem = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    return stem if stem[:1].isalpha() else f"{first}{stem}"


def _tell(changed: Mapping[str, str], dialect: Dialect) -> None:
    if changed:
        some = ", ".join(f"{own!r} to {name}" for own, name in list(changed.items())[:4])
        more = f" and {len(changed) - 4:,} more" if len(changed) > 4 else ""
        warnings.warn(
            f"{dialect.title} cannot hold all names as they are. Changed were {some}{more}. "
            "latentree reads the originals from properties in the file.",
            LatentreeWarning,
            stacklevel=4,
        )


# ---- values of properties ----------------------------------------------------------------------------------------


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _unquoted(text: str, node: Node) -> str:
    try:
        return unquote_to_bytes(text).decode("utf-8", "surrogatepass")
    except UnicodeError:
        raise _damaged(node) from None


def _typed_text(state: State) -> str:
    if isinstance(state, bool):
        return f"b:{str(state).lower()}"
    if isinstance(state, str):
        return f"t:{_quoted(state)}"
    return f"{'i' if isinstance(state, int) else 'f'}:{state!r}"


def _state(text: str, node: Node) -> State:
    kind, _, value = text.partition(":")
    try:
        match kind:
            case "t":
                return _unquoted(value, node)
            case "i":
                return int(value)
            case "f":
                return float(value)
            case "b" if value in ("true", "false"):
                return value == "true"
    except ValueError as error:
        if isinstance(error, LatentreeError):
            raise
    raise _damaged(node)


def _damaged(node: Node) -> FileFormatError:
    return FileFormatError(
        f"The properties of node '{node.name}' that start with {PREFIX} are damaged or do not fit its states. "
        "Remove them to read the node as the file shows it."
    )


def properties_in(lines: Iterable[str]) -> dict[str, str]:
    """Properties written ``name = value``, quoted as a whole or not; others are passed over."""
    out = {}
    for line in lines:
        name, equals, value = line.strip().strip('"').partition("=")
        if equals:
            out[name.strip()] = value.strip()
    return out
