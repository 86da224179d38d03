"""Whether a distribution identifies the parameters that give it: by structure, and at their own values, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .._model import Model
from .._options import Number, check
from .._tree import Tree
from .._types import FloatArray
from ._effective import effective_dimension, pair_dimension, standard_dimension
from ._local import EMPTY, LocalRanks

COINCIDE = 0.01
"""Two states coincide when none of their probabilities differ by more: far less than data of common size can tell."""

BOUNDARY = 1e-6
"""Probabilities this close to 0 or 1 are at the boundary."""


@dataclass(frozen=True)
class LatentNode:
    """One latent node with its neighbours, which make a latent class model.

    Attributes
    ----------
    name : str
        The node.
    n_states : int
        Its states.
    standard, effective, rank : int
        Parameters of the latent class model around it, its effective dimension, and the rank at its own parameters.
    empty : tuple of int
        States that never occur.
    coinciding : tuple of tuple of int
        Groups of states that cannot be told apart.
    loose : tuple of int
        States that hold parameters which can move, some of them together, without changing the distribution.
    """

    name: str
    n_states: int
    standard: int
    effective: int
    rank: int
    empty: tuple[int, ...]
    coinciding: tuple[tuple[int, ...], ...]
    loose: tuple[int, ...]


@dataclass(frozen=True)
class Identifiability:
    """Whether a model's parameters are identified; ``str()`` says it in words.

    Attributes
    ----------
    standard : int
        Free parameters, ds.
    effective : int
        Effective dimension of the structure, de.
    rank : int
        Rank of the Jacobian at the model's own parameters.
    latents : tuple of LatentNode
        The latent nodes in the order of the tree, without cuts, which have one state.
    boundary : tuple of (str, int, int)
        Probabilities of 0 or 1: node, state of its parent (0 for the root), own state.
    n_probabilities : int
        How many probabilities there are.
    coincide : float
        How much the probabilities of states that coincide may differ.
    """

    standard: int
    effective: int
    rank: int
    latents: tuple[LatentNode, ...]
    boundary: tuple[tuple[str, int, int], ...]
    n_probabilities: int
    coincide: float = COINCIDE

    @property
    def structural(self) -> bool:
        """Whether almost all parameters of this structure are locally identified by their distribution, de = ds.

        Locally: none nearby give the same distribution. Others do, states being exchanged; rarely still others do.
        """
        return self.effective == self.standard

    @property
    def here(self) -> bool:
        """Whether the model's own parameters are locally identified by their distribution."""
        return self.rank == self.standard

    @property
    def messages(self) -> tuple[str, ...]:
        """What was found, a sentence or two for each thing."""
        nodes = (message for z in self.latents for message in self._node(z))
        return (*self._structure(), *self._point(), *nodes, *self._edge())

    def __str__(self) -> str:
        return "\n".join(self.messages)

    def _structure(self) -> Iterator[str]:
        if self.structural:
            yield (
                "The structure is locally identifiable: almost everywhere, no small change of its "
                f"{self.standard:,} parameters leaves the distribution as it is."
            )
        else:
            yield (
                f"The structure is not identifiable: it has {self.standard:,} parameters, but its distributions "
                f"have {self.effective:,} dimensions. No data can fix the {self.standard - self.effective:,} that "
                "are left over. Use fewer states or more variables."
            )
            if len(self.latents) > 1:
                for z in self.latents:
                    if z.effective < z.standard:
                        yield f"{z.name}: {z.standard:,} parameters around it have {z.effective:,} dimensions."

    def _point(self) -> Iterator[str]:
        if self.here:
            yield "The same holds at the model's own parameters."
        elif self.rank == self.effective:
            yield "At the model's own parameters it is no worse than that."
        else:
            yield (
                f"At the model's own parameters only {self.rank:,} dimensions are left of the structure's "
                f"{self.effective:,}: they can move where the distribution stays."
            )

    def _node(self, z: LatentNode) -> Iterator[str]:
        if z.empty:
            yield (
                f"{z.name}: {_states(z.empty)} {'is' if len(z.empty) == 1 else 'are'} empty, so that what neighbours "
                "do there is not fixed. Use fewer states."
            )
        for group in z.coinciding:
            yield (
                f"{z.name}: {_states(group)} coincide; none of their probabilities differ by more than "
                f"{self.coincide:g}. Merge them."
            )
        if z.loose and z.loose != z.empty:
            verb = "has" if len(z.loose) == 1 else "have"
            yield f"{z.name}: {_states(z.loose)} {verb} parameters that the distribution does not fix."

    def _edge(self) -> Iterator[str]:
        if self.boundary:
            nodes = list(dict.fromkeys(node for node, _, _ in self.boundary))
            more = f" and {len(nodes) - 5} other nodes" if len(nodes) > 5 else ""
            yield (
                f"{len(self.boundary):,} of {self.n_probabilities:,} probabilities are 0 or 1, in the tables of "
                f"{', '.join(nodes[:5])}{more}: standard errors and penalties that count parameters do not hold there."
            )


class Fitted(Protocol):
    """A fit: a model, perhaps with a constraint."""

    @property
    def model(self) -> Model:
        """The fitted model."""


def identifiability(model: Model | Fitted, *, coincide: float = COINCIDE) -> Identifiability:
    """Find out whether a model's parameters are identified by its distribution.

    Parameters
    ----------
    model : Model or Fit
        Structure and parameters. A fit of two independent latents brings its constraint along.
    coincide : float, default 0.01
        States coincide when none of their neighbours' probabilities differ by more.

    Returns
    -------
    Identifiability
        The structure's dimensions are exact. The rank at the model's own parameters is numerical: with all columns of
        the Jacobian scaled to length one, singular values below 1e-6 count as zero, and so do states of a probability
        below 1e-6.

    Examples
    --------
    >>> import numpy as np
    >>> from latentree._variables import numbered
    >>> tables = {"z": [0.5, 0.3, 0.2]} | {f"x{i}": [[0.9, 0.1], [0.2, 0.8], [0.2, 0.8]] for i in range(1, 6)}
    >>> report = identifiability(Model.from_tables(Tree.star(3, [2] * 5), numbered([2] * 5), tables))
    >>> report.standard, report.effective, report.rank
    (17, 17, 11)
    >>> print(report)
    The structure is locally identifiable: almost everywhere, no small change of its 17 parameters leaves the
    distribution as it is.
    At the model's own parameters only 11 dimensions are left of the structure's 17: they can move where the
    distribution stays.
    z: states 1 and 2 coincide; none of their probabilities differ by more than 0.01. Merge them.
    z: states 1 and 2 have parameters that the distribution does not fix.
    """
    check("identifiability", coincide=(coincide, Number(least=0, below=1)))
    pair: tuple[int, int] | None = getattr(model, "n_states", None)
    model = model if isinstance(model, Model) else model.model
    tree = model.tree
    ranks = LocalRanks(model, pair)
    latents = []
    cuts = set(tree.cuts.tolist())
    for z, node in ranks.nodes.items():
        if z in cuts:
            continue  # of which there is nothing to say
        around = Tree.star(int(tree.cardinality[z]), [int(tree.cardinality[u]) for u in tree.neighbours(z)])
        standard, effective = _dimensions(around, pair)
        groups, k = _groups(node.profiles, node.empty, coincide), int(tree.cardinality[z])
        found = LatentNode(tree.names[z], k, standard, effective, node.rank, node.empty, groups, node.loose)
        latents.append(found)
    standard, effective = _dimensions(tree, pair)
    boundary = tuple(_boundary(model, ranks.marginals))
    return Identifiability(standard, effective, ranks.rank, tuple(latents), boundary, tree.size, coincide)


def _dimensions(tree: Tree, pair: tuple[int, int] | None) -> tuple[int, int]:
    """Standard and effective dimension."""
    if pair is None:
        return standard_dimension(tree), effective_dimension(tree)
    tied = pair[0] * pair[1] + 1 - sum(pair)
    return standard_dimension(tree) - tied, pair_dimension(pair, tuple(sorted(map(int, tree.cardinality[1:]))))


def _groups(profiles: FloatArray, empty: Sequence[int], tolerance: float) -> tuple[tuple[int, ...], ...]:
    """States with the same profile, each group around its first state."""
    left = [s for s in range(len(profiles)) if s not in empty]
    groups = []
    while left:
        first = left[0]
        alike = np.abs(profiles[left] - profiles[first]).max(axis=1, initial=0.0) <= tolerance
        group = tuple(s for s, same in zip(left, alike, strict=True) if same)
        if len(group) > 1:
            groups.append(group)
        left = [s for s in left if s not in group]
    return tuple(groups)


def _boundary(model: Model, marginals: Sequence[FloatArray]) -> Iterator[tuple[str, int, int]]:
    """Probabilities of 0 or 1, given states of the parent that occur."""
    tree = model.tree
    for v in range(tree.n_nodes):
        if tree.cardinality[v] == 1:
            continue
        table = model.table(v)
        at = (table < BOUNDARY) | (table > 1 - BOUNDARY)
        if v:
            at[marginals[tree.parent[v]] < EMPTY] = False
        for row, state in np.argwhere(at):
            yield tree.names[v], int(row), int(state)


def _states(states: Sequence[int]) -> str:
    if len(states) == 1:
        return f"state {states[0]}"
    return f"states {', '.join(map(str, states[:-1]))} and {states[-1]}"
