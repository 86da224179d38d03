"""What things are called where people see them: latent variables, classes, states, columns of assignments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._information import Neighbours
from ._model import NAMES, Model, reordering
from ._tree import Tree
from ._types import FloatArray
from ._variables import Variable
from .errors import ModelError
from .infer import CLASS, find_node, find_state

__all__ = [
    "assignment_columns",
    "class_label",
    "free_name",
    "latent_names",
    "latent_title",
    "named",
    "node_labels",
    "presented",
    "presented_alike",
    "renamed",
    "state_labels",
]

LONGEST = 20
"""Names of variables are cut to this within the name of a latent one."""

CUT = "cut"
"""How the names of latent nodes of one state begin."""

TWO = 2
"""How many of them make a name, unless more are needed to distinguish two names."""


def latent_names(model: Model) -> dict[str, str]:
    """Name each latent variable after the manifest variables it explains best.

    A latent variable with two manifest neighbours or more is called after the two most informative of them (by
    mutual information), one with fewer also after the most informative variables further away. Where two names would
    be the same, one is made longer. Rooting, and what the latent variables were called before, change nothing.

    A latent node of one state explains nothing: it is called ``cut1``, ``cut2``, ..., and gives its name to no other.

    Parameters
    ----------
    model : Model
        Any tree model.

    Returns
    -------
    dict of str to str
        A name for each latent variable, such as ``smokes+drinks``. Empty for a latent class model, whose one latent
        variable everybody calls the class.

    Examples
    --------
    >>> from latentree import datasets
    >>> latent_names(datasets.generator("d7"))
    {'Z1': 'X4+X5', 'Z2': 'X2+X1', 'Z3': 'X5+X6'}
    """
    tree = model.tree
    if len(tree.latent) == 1 and len(tree.neighbours(int(tree.latent[0]))) == tree.n_nodes - 1:
        return {}  # a star, whatever its root
    neighbours = Neighbours(model)
    given = _named_by_people(model)
    leaves = {int(z): _leaves(neighbours, int(z)) for z in tree.latent_variables if tree.names[z] not in given}
    # Those that have variables of their own choose first: no other can have the same.
    order = sorted(leaves, key=lambda z: (-min(leaves[z].own, TWO), -leaves[z].information, z))
    taken = {v.name for v in model.variables} | given
    found: dict[int, str] = {}
    for z in order:
        found[z] = next(name for name in _candidates(tree, neighbours, z, leaves[z]) if name not in taken)
        taken.add(found[z])
    cuts = [z for z in _ordered_cuts(tree) if tree.names[z] not in given]
    free = (name for i in count(1) if (name := f"{CUT}{i}") not in taken)
    found |= dict(zip(cuts, free, strict=False))
    return {tree.names[z]: name for z, name in sorted(found.items())}


def _ordered_cuts(tree: Tree) -> list[int]:
    """The cuts in the order of the variables of the parts around them, so that rooting does not matter."""
    part = {v: i for i, own in enumerate(tree.parts) for v in own}
    cuts: list[int] = tree.cuts.tolist()
    return sorted(cuts, key=lambda z: (sorted(part[u] for u in tree.neighbours(z) if u in part), z))


@dataclass(frozen=True)
class _Leaves:
    """The manifest variables that a latent one is called after, how many are its neighbours, and their information."""

    nodes: tuple[int, ...]
    own: int
    information: float


def _leaves(neighbours: Neighbours, z: int) -> _Leaves:
    """Its manifest neighbours, and others if these are too few; in each part the most informative first."""
    tree = neighbours.model.tree
    beside = [v for v in tree.neighbours(z) if tree.variable[v] >= 0]
    ranked = [(neighbours.information(z, v), v) for v in beside]
    ranked.sort(key=lambda own: (-own[0], int(tree.variable[own[1]])))
    if len(ranked) < TWO:
        others = ((information, v) for v, information, _ in neighbours.most_informative(z) if v not in beside)
        ranked += islice(others, TWO - len(ranked))
    return _Leaves(tuple(v for _, v in ranked), len(beside), sum(information for information, _ in ranked))


def _candidates(tree: Tree, neighbours: Neighbours, z: int, leaves: _Leaves) -> Iterator[str]:
    """Names for a latent variable, the best first, without end."""
    parts: list[str] = []
    more = (v for v, _, _ in neighbours.most_informative(z) if v not in leaves.nodes)
    for v in chain(leaves.nodes, more):
        parts.append(_short(tree.names[v]))
        if len(parts) >= TWO:
            yield "+".join(parts)
    name = "+".join(parts[:TWO]) or "latent"
    yield from (f"{name} {i}" for i in count(2))


def _short(name: str) -> str:
    """The beginning of a name, cut between words if it can be.

    Examples
    --------
    >>> _short("adoption-of-the-budget-resolution"), _short("age")
    ('adoption-of-the', 'age')
    """
    text = " ".join(name.split())
    if len(text) <= LONGEST:
        return text
    words = re.split(r"(?<=[\W_])", text[: LONGEST + 1])
    whole = "".join(words[:-1]) if len(words) > 1 else ""
    return re.sub(r"[\W_]+$", "", whole) or text[:LONGEST]


def named(model: Model) -> Model:
    """The same model with its latent variables called as :func:`latent_names` says."""
    names = latent_names(model)
    return Model(model.tree.renamed(names), model.variables, model.parameters, model.provenance) if names else model


def presented(model: Model) -> Model:
    """The same model as people see it, whatever search it came from.

    It is rooted at its centre, latent variables are named after what they explain, and their states come in descending
    order of size, as the classes of a latent class model do.
    """
    return presented_alike(model)[0]


def presented_alike(model: Model, *others: Model) -> tuple[Model, ...]:
    """A model as :func:`presented` gives it, and others of the same tree in the same rooting, order and names.

    The order of the states is that of their sizes in the first; the names are those that the last would have. Names
    that people gave stay with their latent variables and states.
    """
    tree, old = model.tree.canonically_rooted()
    flats = []
    for own in (model, *others):  # of which each may have an order of nodes of its own
        where = old if own.tree is model.tree else np.array([own.tree.node(name) for name in tree.names])
        flats.append(own.laid_out(tree, where)[-1])
    marginals = Model(tree, model.variables, flats[0]).marginals()
    orders = {z: np.argsort(-marginals[z], kind="stable") for z in tree.latent.tolist()}
    by_name = {tree.names[z]: order for z, order in orders.items()}
    source = reordering(tree, orders)
    flats = [flat[source] for flat in flats]
    tree = named(Model(tree, model.variables, flats[-1], model.provenance)).tree
    every = zip((model, *others), flats, strict=True)
    return tuple(Model(tree, own.variables, flat, _in_order(own.provenance, by_name)) for own, flat in every)


def _in_order(provenance: Mapping[str, Any], orders: Mapping[str, NDArray[np.intp]]) -> dict[str, Any]:
    """The provenance with the names of states in the order of the states."""
    known = provenance.get(NAMES)
    if not isinstance(known, Mapping):
        return dict(provenance)
    states = {
        z: [own[i] for i in orders[z]] if z in orders and len(own) == len(orders[z]) else own
        for z, own in known.get("states", {}).items()
    }
    return {**provenance, NAMES: {**known, "states": states}}


def class_label(i: int) -> str:
    """Name a class."""
    return f"class{i}"


def state_labels(variable: Variable) -> tuple[str, ...]:
    """Text for each state, all different.

    Examples
    --------
    >>> state_labels(Variable("x", ("no", "yes")))
    ('no', 'yes')
    >>> state_labels(Variable("x", (1, "1", True)))
    ('1', "'1'", 'True')
    """
    texts = [str(s) for s in variable.states]
    if len(set(texts)) == len(texts):
        return tuple(texts)
    for finer in (repr, lambda s: f"{s!r} ({type(s).__name__})"):
        often = Counter(texts)
        texts = [t if often[t] == 1 else finer(s) for t, s in zip(texts, variable.states, strict=True)]
    return tuple(texts)


def node_labels(model: Model, node: int) -> tuple[str, ...]:
    """Text for each state of a node.

    A variable's own; of a latent variable the names that people gave, otherwise ``class0``, ... of a latent class
    model, 0, 1, ... of others.
    """
    i = int(model.tree.variable[node])
    if i >= 0:
        return state_labels(model.variables[i])
    alone = len(model.tree.latent_variables) == 1
    given = model.state_names(node)
    return tuple(name or (class_label(s) if alone else str(s)) for s, name in enumerate(given))


def latent_title(model: Model, node: int) -> str:
    """What a node is called where people see it: ``class`` for a single latent variable that nobody named.

    Examples
    --------
    >>> pair = [Variable("a", (0, 1)), Variable("b", (0, 1))]
    >>> model = Model.random(Tree.star(2, [2, 2]), pair, np.random.default_rng(0))
    >>> model.tree.names[0], latent_title(model, 0), latent_title(model.renamed({"z": "Use"}), 0)
    ('z', 'class', 'Use')
    """
    name = model.tree.names[node]
    if model.tree.variable[node] >= 0 or len(model.tree.latent_variables) > 1 or node in model.tree.cuts:
        return name
    if name in _named_by_people(model) or not re.fullmatch(r"[zZ]\d*_*", name):
        return name
    return free_name(CLASS, [v.name for v in model.variables])


# ---- names that people give --------------------------------------------------------------------------------------

Named = Mapping[Any, str] | Sequence[str]


def renamed(
    model: Model,
    latents: Mapping[str, str] | None = None,
    *,
    states: Mapping[str, Named] | None = None,
    classes: Named | None = None,
) -> Model:
    """The same model with other names of its latent variables, their states, or its classes.

    The names are kept in the model's provenance, and so in its files; reports, tables, figures and the explorer page
    show them. Probabilities and order stay as they are.

    Parameters
    ----------
    model : Model
        Any tree model.
    latents : mapping of str to str, optional
        New names of latent variables by their names now; ``"class"`` is the one of a latent class model.
    states : mapping of str to mapping or sequence, optional
        For each latent variable, by its old or new name, the names of its states: all in order, or some by number or
        by their names now.
    classes : mapping or sequence of str, optional
        The same for the single latent variable of a latent class model.

    Returns
    -------
    Model

    Examples
    --------
    >>> from latentree import datasets
    >>> model = renamed(datasets.generator("d7"), {"Z2": "Taste"}, states={"Taste": {0: "sweet", 1: "sour"}})
    >>> model.tree.names[:2], node_labels(model, model.tree.node("Taste"))
    (('Z1', 'Taste'), ('sweet', 'sour', '2'))
    >>> model.query("X1", {"Taste": "sweet"}).tolist() == datasets.generator("d7").query("X1", {"Z2": 0}).tolist()
    True
    """
    new = {model.tree.names[_latent(model, name)]: _text(text) for name, text in (latents or {}).items()}
    known = model.provenance.get(NAMES)
    kept: Mapping[str, Any] = known if isinstance(known, Mapping) else {}
    before = {new.get(name, name): list(own) for name, own in kept.get("states", {}).items()}
    people = {new.get(name, name) for name in kept.get("latents", ())} | set(new.values())
    after = [new.get(name, name) for name in model.tree.names]
    for name in new.values():
        if after.count(name) > 1:
            raise ModelError("There is another variable called '{name}'; choose another name.", name=name)
    tree = model.tree.renamed(new) if new else model.tree
    found = Model(tree, model.variables, model.parameters, _with_names(model, people, before))
    wanted = {**(states or {}), **({} if classes is None else {CLASS: classes})}
    for given, own in wanted.items():
        z = _latent(found, new.get(given, given))
        before[tree.names[z]] = _state_names(found, z, own)
    return Model(tree, model.variables, model.parameters, _with_names(model, people, before))


def _with_names(model: Model, latents: Collection[str], states: Mapping[str, list[str | None]]) -> dict[str, Any]:
    own = {"latents": sorted(latents), "states": {z: list(names) for z, names in states.items() if any(names)}}
    return {**model.provenance, NAMES: {key: value for key, value in own.items() if value}}


def _named_by_people(model: Model) -> set[str]:
    known = model.provenance.get(NAMES)
    return set(known.get("latents", ())) if isinstance(known, Mapping) else set()


def _latent(model: Model, name: str) -> int:
    tree = model.tree
    if name == CLASS and name not in tree.names and len(tree.latent_variables) == 1:
        return int(tree.latent_variables[0])
    v = find_node(model, name)
    if tree.variable[v] >= 0:
        raise ModelError("'{name}' is a variable of the data, not a latent one, and keeps its name.", name=name)
    return v


def _text(text: object) -> str:
    name = " ".join(str(text).split())
    if not name:
        raise ModelError("A name must have at least one character.")
    return name


def _state_names(model: Model, z: int, given: Named) -> list[str | None]:
    names = list(model.state_names(z))
    k = len(names)
    if isinstance(given, Mapping):
        for state, text in given.items():
            names[find_state(model, z, state)] = _text(text)
    else:
        wanted = [given] if isinstance(given, str) else list(given)
        if len(wanted) != k:
            raise ModelError(f"'{{name}}' has {k} states. Got {len(wanted)} names.", name=latent_title(model, z))
        names = [_text(text) for text in wanted]
    called = _with_names(model, (), {model.tree.names[z]: names})
    labels = node_labels(Model(model.tree, model.variables, model.parameters, called), z)
    twice = next((name for name, often in Counter(labels).items() if often > 1), None)
    if twice is not None:
        raise ModelError("Two states of '{name}' would be called '{twice}'.", name=latent_title(model, z), twice=twice)
    return names


def assignment_columns(
    posteriors: Mapping[str, FloatArray], model: Model
) -> Iterator[tuple[str, NDArray[np.int32], tuple[int | str, ...], dict[str, FloatArray]]]:
    """Name the columns that assignments add to rows.

    Parameters
    ----------
    posteriors : mapping of str to float array [rows, states]
        P(state | row) of each latent variable, NaN in rows for which it is not known.
    model : Model
        Whose latent variables they are.

    Yields
    ------
    label : str
        ``class`` if there is one latent variable, otherwise its name.
    states : int array [rows]
        The most probable state, -1 where it is not known.
    levels : tuple of int or str
        What each state is called: its name if people named any of them, otherwise its number.
    probabilities : dict of str to float array [rows]
        One column for each state: ``p_class0``, ... or ``p_name_0``, ..., with the names of states that have them.

    Examples
    --------
    >>> pair = [Variable("a", (0, 1)), Variable("b", (0, 1))]
    >>> model = Model.random(Tree.star(2, [2, 2]), pair, np.random.default_rng(0))
    >>> p = {"z": np.array([[0.2, 0.8], [np.nan, np.nan]])}
    >>> for label, states, levels, columns in assignment_columns(p, model):
    ...     print(label, states.tolist(), levels, list(columns))
    class [1, -1] (0, 1) ['p_class0', 'p_class1']
    >>> [own[2:] for own in assignment_columns({"z": np.zeros((0, 2))}, model.renamed(classes={1: "ill"}))][0][0]
    ('class0', 'ill')
    """
    for name, p in posteriors.items():
        alone, node = len(posteriors) == 1, model.tree.node(name)
        columns = np.ascontiguousarray(p.T)
        levels: tuple[int | str, ...] = tuple(range(len(columns)))
        if any(model.state_names(node)):
            levels = node_labels(model, node)
        heads = [class_label(own) if alone and isinstance(own, int) else str(own) for own in levels]
        prefix = "p_" if alone else f"p_{name}_"
        named = {f"{prefix}{head}": own for head, own in zip(heads, columns, strict=True)}
        yield CLASS if alone else name, _most_probable(columns), levels, named


def _most_probable(columns: FloatArray) -> NDArray[np.int32]:
    """The state of highest probability in each row, the first of equal ones, from columns [states, rows]."""
    best = columns[0]
    states = np.where(np.isnan(best), -1, 0).astype(np.int32)
    for i, own in enumerate(columns[1:], 1):
        states = np.where(own > best, np.int32(i), states)
        best = np.maximum(best, own)
    return states


def free_name(name: str, taken: Collection[str]) -> str:
    """Add underscores to a name until it is free.

    Examples
    --------
    >>> free_name("class", ["class", "class_"])
    'class__'
    """
    while name in taken:
        name += "_"
    return name
