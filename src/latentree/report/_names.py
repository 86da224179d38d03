"""Names for latent variables that say what they are about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count, islice

import numpy as np

from .._model import Model, reordered
from .._tree import Tree
from ._information import _Neighbours, mutual_information

__all__ = ["latent_names", "named", "presented"]

LONGEST = 20
"""Names of variables are cut to this within the name of a latent one."""

TWO = 2
"""How many of them make a name, unless more are needed to tell two names apart."""


def latent_names(model: Model) -> dict[str, str]:
    """Name each latent variable after the manifest variables it explains best.

    A latent variable with two manifest neighbours or more is called after the two of them that tell most about it (by
    mutual information), one with fewer also after the variables that tell most from further away. Where two names would
    be the same, one is made longer. Rooting, and what the latent variables were called before, change nothing.

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
        return {}
    near = _Neighbours(model)
    leaves = {int(z): _leaves(near, int(z)) for z in tree.latent}
    # Those that have variables of their own choose first: no other can have the same.
    order = sorted(leaves, key=lambda z: (-min(leaves[z].own, TWO), -leaves[z].information, z))
    taken = {v.name for v in model.variables}
    found: dict[int, str] = {}
    for z in order:
        found[z] = next(name for name in _candidates(tree, near, z, leaves[z]) if name not in taken)
        taken.add(found[z])
    return {tree.names[z]: found[z] for z in leaves}


@dataclass(frozen=True)
class _Leaves:
    """The manifest variables that a latent one is called after, how many are its neighbours, and what they tell."""

    nodes: tuple[int, ...]
    own: int
    information: float


def _leaves(near: _Neighbours, z: int) -> _Leaves:
    """Its manifest neighbours, and others if these are too few; in each part those that tell most first."""
    tree = near.model.tree
    beside = [v for v in tree.neighbours(z) if tree.variable[v] >= 0]
    told = [(mutual_information(near.marginals[z], near.across(z, v)), v) for v in beside]
    told.sort(key=lambda own: (-own[0], int(tree.variable[own[1]])))
    if len(told) < TWO:
        others = ((information, v) for v, information, _ in near.most_telling(z) if v not in beside)
        told += islice(others, TWO - len(told))
    return _Leaves(tuple(v for _, v in told), len(beside), sum(information for information, _ in told))


def _candidates(tree: Tree, near: _Neighbours, z: int, leaves: _Leaves) -> Iterator[str]:
    """Names for a latent variable, the best first, without end."""
    parts: list[str] = []
    more = (v for v, _, _ in near.most_telling(z) if v not in leaves.nodes)
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
    """The same model as people shall see it, whatever search it came from.

    It is hung up at its centre, latent variables are named after what they explain, and their states come in falling
    order of size, as the classes of a latent class model do.
    """
    tree, old = model.tree.canonically_rooted()
    rooted = model.rerooted(int(old[0]))
    flat = np.concatenate([rooted.table(name).ravel() for name in tree.names])
    hung = Model(tree, model.variables, flat, model.provenance)
    marginals = hung.marginals()
    for z in map(int, tree.latent):
        flat = reordered(tree, flat, z, np.argsort(-marginals[z], kind="stable"))
    return named(hung.with_parameters(flat, provenance=model.provenance))
