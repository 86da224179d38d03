"""Trees over latent and manifest variables: rooting, canonical form, regularity.

A tree is four arrays; a node is a position in them. The root comes first and every parent before its
children, so one loop forwards goes down and one loop backwards goes up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._lazy import cached_property
from ._types import IntArray
from .errors import ModelError

__all__ = ["Tree"]


@dataclass(frozen=True, eq=False)
class Tree:
    """Parent and number of states of each node.

    Parameters
    ----------
    parent : array of int
        Parent of each node, -1 for the root, which is node 0. Parents come before their children.
    cardinality : array of int
        Number of states of each node, at least 1.
    variable : array of int
        Which manifest variable (0, 1, ...) a node is, each once; -1 for a latent node.
    names : sequence of str, optional
        Names of the nodes, all different. Default: ``z1``, ``z2``, ... and ``x1``, ``x2``, ...

    Examples
    --------
    >>> Tree.star(3, [2, 2, 4]).n_parameters
    17
    """

    parent: IntArray
    cardinality: IntArray
    variable: IntArray
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("parent", "cardinality", "variable"):
            array = np.array(getattr(self, name), dtype=np.int32)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        n = len(self.parent)
        if n == 0 or self.parent.ndim != 1 or self.cardinality.shape != (n,) or self.variable.shape != (n,):
            raise ModelError("A tree needs at least one node, and a parent, a cardinality and a variable for each.")
        if self.parent[0] != -1 or (n > 1 and (self.parent[1:] < 0).any()):
            raise ModelError("Node 0 must be the only root (parent -1).")
        if (self.parent[1:] >= np.arange(1, n)).any():
            raise ModelError("Every parent must come before its children.")
        if (self.cardinality < 1).any():
            raise ModelError("Every node needs at least one state.")
        observed = self.variable[self.variable >= 0]
        if not np.array_equal(np.sort(observed), np.arange(len(observed))) or (self.variable < -1).any():
            raise ModelError("Every manifest variable 0, 1, ... must stand in the tree exactly once.")
        names = tuple(self.names) or _default_names(self.variable)
        if not all(isinstance(name, str) for name in names):
            raise ModelError("Node names must be text.")
        if len(names) != n:
            raise ModelError(f"There must be one name for each of the {n} nodes. Got {len(names)}.")
        if len(set(names)) != n:
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise ModelError(f"Two nodes are called '{twice}'; node names must be all different.")
        object.__setattr__(self, "names", names)

    # ---- making ----------------------------------------------------------------------------------------

    @classmethod
    def star(cls, n_states: int, leaf_cardinalities: ArrayLike, names: Sequence[str] = ()) -> Tree:
        """A latent class structure: one latent node above all leaves."""
        leaves = np.atleast_1d(np.asarray(leaf_cardinalities, dtype=np.int32))
        m = len(leaves)
        return cls(
            np.r_[-1, np.zeros(m, int)],
            np.r_[n_states, leaves],
            np.r_[-1, np.arange(m)],
            (_unused("z", names), *names) if names else (),
        )

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[str, str]],
        cardinality: Mapping[str, int],
        manifest: Sequence[str],
        root: str | None = None,
    ) -> Tree:
        """Build from pairs of names; ``manifest`` lists the observed ones in the order of the data's columns."""
        neighbours: dict[str, list[str]] = {name: [] for name in cardinality}
        for a, b in edges:
            for name in (a, b):
                if name not in neighbours:
                    raise ModelError(f"Node '{name}' stands in an edge but has no cardinality.")
            neighbours[a].append(b)
            neighbours[b].append(a)
        unknown = [m for m in manifest if m not in neighbours]
        if unknown:
            raise ModelError(f"Manifest node '{unknown[0]}' has no cardinality.")
        if not neighbours:
            raise ModelError("A tree needs at least one node.")
        observed = set(manifest)
        latent = [name for name in neighbours if name not in observed]
        start = root if root is not None else (latent or list(neighbours))[0]
        if start not in neighbours:
            raise ModelError(f"There is no node '{start}' to be the root.")
        order, parent = [start], {start: -1}
        for i, name in enumerate(order):
            for other in neighbours[name]:
                if other not in parent:
                    parent[other] = i
                    order.append(other)
        if len(order) != len(neighbours) or sum(map(len, neighbours.values())) != 2 * (len(neighbours) - 1):
            raise ModelError("The edges do not form a tree: it must be connected and without a circle.")
        at = {m: i for i, m in enumerate(manifest)}
        return cls(
            np.array([parent[name] for name in order]),
            np.array([cardinality[name] for name in order]),
            np.array([at.get(name, -1) for name in order]),
            tuple(order),
        )

    # ---- looking ---------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.parent)

    @property
    def n_variables(self) -> int:
        """Number of manifest nodes."""
        return int((self.variable >= 0).sum())

    @cached_property
    def latent(self) -> NDArray[np.intp]:
        """The latent nodes."""
        return np.flatnonzero(self.variable < 0)

    @cached_property
    def cuts(self) -> NDArray[np.intp]:
        """Latent nodes of one state, which make what is around them independent.

        The one latent node above all others, of a model in which all variables are independent, is not one of them:
        it is a latent class model of one class.

        Examples
        --------
        >>> states = {"z": 2, "cut1": 1, "a": 2, "b": 2, "c": 2}
        >>> edges = [("z", "a"), ("z", "b"), ("z", "cut1"), ("cut1", "c")]
        >>> tree = Tree.from_edges(edges, states, ["a", "b", "c"])
        >>> [tree.names[v] for v in tree.cuts], [tree.names[v] for v in tree.latent_variables]
        (['cut1'], ['z'])
        >>> len(Tree.star(1, [2, 2]).cuts)
        0
        """
        found: NDArray[np.intp] = self.latent[self.cardinality[self.latent] == 1]
        alone = len(self.latent) == 1 and len(self.neighbours(int(self.latent[0]))) == self.n_nodes - 1
        return found[:0] if alone else found

    @cached_property
    def latent_variables(self) -> NDArray[np.intp]:
        """The latent nodes that tell rows apart: all but the :attr:`cuts`."""
        own = set(self.cuts.tolist())
        return np.array([z for z in self.latent.tolist() if z not in own], dtype=np.intp)

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of each independent part: what is left in one piece without latent nodes of one state.

        Parts without a manifest variable are left out. Each lists its nodes in the order of the tree, and that of the
        first variable comes first.

        Examples
        --------
        >>> edges = [("z", "a"), ("z", "b"), ("z", "cut1"), ("cut1", "c")]
        >>> tree = Tree.from_edges(edges, {"z": 2, "cut1": 1, "a": 2, "b": 2, "c": 2}, ["a", "b", "c"])
        >>> [[tree.names[v] for v in part] for part in tree.parts]
        [['z', 'a', 'b'], ['c']]
        """
        cut = (self.variable < 0) & (self.cardinality == 1)
        found: dict[int, list[int]] = {}  # by the uppermost node
        top = [0] * self.n_nodes
        for v, above in enumerate(self.parent.tolist()):
            if not cut[v]:
                top[v] = v if v == 0 or cut[above] else top[above]
                found.setdefault(top[v], []).append(v)
        first = {t: [int(self.variable[v]) for v in own if self.variable[v] >= 0] for t, own in found.items()}
        order = sorted((t for t in found if first[t]), key=lambda t: min(first[t]))
        return tuple(tuple(found[t]) for t in order)

    @cached_property
    def manifest(self) -> NDArray[np.intp]:
        """The node of each manifest variable, in the variables' order."""
        nodes = np.flatnonzero(self.variable >= 0)
        return nodes[np.argsort(self.variable[nodes])]

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node."""
        out: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for v, above in enumerate(self.parent.tolist()):
            if v:
                out[above].append(v)
        return tuple(map(tuple, out))

    def neighbours(self, node: int) -> tuple[int, ...]:
        """All nodes that share an edge with this one, its parent first."""
        return self._neighbours[node]

    @cached_property
    def _neighbours(self) -> tuple[tuple[int, ...], ...]:
        below = self.children
        return (below[0], *((above, *own) for above, own in zip(self.parent[1:].tolist(), below[1:], strict=True)))

    def node(self, name: str | int) -> int:
        """Position of a node given by name (or by position, which is checked)."""
        if isinstance(name, str):
            try:
                return self._places[name]
            except KeyError:
                raise ModelError(f"There is no node '{name}'. There are {_some(self.names)}.") from None
        if not 0 <= int(name) < self.n_nodes:
            raise ModelError(f"There is no node {name}; nodes are 0 to {self.n_nodes - 1}.")
        return int(name)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: v for v, name in enumerate(self.names)}

    def path_from_root(self, node: str | int) -> list[int]:
        """The nodes from the root down to this one, both included."""
        path = [self.node(node)]
        while path[-1]:
            path.append(int(self.parent[path[-1]]))
        return path[::-1]

    @cached_property
    def rows(self) -> IntArray:
        """Rows of each node's probability table: the states of its parent, 1 for the root."""
        rows = self.cardinality[self.parent]
        rows[0] = 1
        return rows

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where each node's table starts in the flat vector of probabilities; one more entry for the end."""
        return np.concatenate([[0], np.cumsum(self.rows.astype(np.int64) * self.cardinality)])

    def entries(self, nodes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Where the tables of some nodes are in the flat vector, one table after the other.

        Examples
        --------
        >>> Tree.star(2, [2, 3]).entries(np.array([2, 0])).tolist()
        [6, 7, 8, 9, 10, 11, 0, 1]
        """
        starts, sizes = self.offsets[nodes], np.diff(self.offsets)[nodes]
        ends = np.cumsum(sizes)
        return np.repeat(starts - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)

    @cached_property
    def alike(self) -> tuple[tuple[NDArray[np.intp], NDArray[np.int64]], ...]:
        """Nodes whose tables have one shape, and where these are in the flat vector [nodes, rows, states].

        What is done to all tables of a large tree takes a fraction of the time if tables of one shape are done at once.

        Examples
        --------
        >>> [(nodes.tolist(), entries.shape) for nodes, entries in Tree.star(2, [2, 3, 2]).alike]
        [([0], (1, 1, 2)), ([1, 3], (2, 2, 2)), ([2], (1, 2, 3))]
        """
        shape = self.rows.astype(np.int64) << 32 | self.cardinality
        order = np.argsort(shape, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(shape[order])) + 1)
        return tuple((g, self.entries(g).reshape(len(g), int(self.rows[g[0]]), -1)) for g in groups)

    @property
    def size(self) -> int:
        """Length of the flat vector of probabilities."""
        return int(self.offsets[-1])

    @property
    def n_parameters(self) -> int:
        """Free probabilities: the standard dimension."""
        return int((self.rows.astype(np.int64) * (self.cardinality - 1)).sum())

    @property
    def is_star(self) -> bool:
        """Whether it is the tree of a latent class model: one latent node above all others.

        Examples
        --------
        >>> Tree.star(2, [2, 2]).is_star, Tree.star(2, [2, 2]).rerooted(1)[0].is_star
        (True, False)
        """
        return self.latent.tolist() == [0] and not self.parent[1:].any()

    def __repr__(self) -> str:
        return f"<Tree: {self.n_variables} manifest, {len(self.latent)} latent, {self.n_parameters} parameters>"

    def to_text(self) -> str:
        """Draw the tree with indents, cardinalities in brackets; what hangs on a cut is marked as independent.

        Examples
        --------
        >>> edges = [("z", "a"), ("z", "b"), ("z", "cut1"), ("cut1", "c")]
        >>> tree = Tree.from_edges(edges, {"z": 2, "cut1": 1, "a": 2, "b": 2, "c": 2}, ["a", "b", "c"])
        >>> print(tree.to_text())
        *z (2)
          a (2)
          b (2)
        (independent) c (2)
        """
        lines: list[str] = []
        cuts = set(self.cuts.tolist())
        stack, apart = [(0, 0, "")], list[int]()
        while stack or apart:
            v, depth, said = stack.pop() if stack else (apart.pop(0), 0, "(independent) ")
            if v in cuts:
                apart.extend(self.children[v])
                continue
            mark = "" if self.variable[v] >= 0 else "*"
            lines.append(f"{'  ' * depth}{said}{mark}{self.names[v]} ({self.cardinality[v]})")
            stack.extend((c, depth + 1, "") for c in reversed(self.children[v]))
        return "\n".join(lines)

    # ---- rooting and identity ---------------------------------------------------------------------------

    def rerooted(self, node: str | int) -> tuple[Tree, NDArray[np.intp]]:
        """The same tree hung up at another node, and where each of its nodes was before."""
        start = self.node(node)
        order, parent = [start], {start: -1}
        for i, v in enumerate(order):
            for u in self.neighbours(v):
                if u not in parent:
                    parent[u] = i
                    order.append(u)
        return self._ordered(order, parent)

    @cached_property
    def canonical(self) -> tuple[Any, ...]:
        """The unrooted form: equal exactly for trees that differ only in rooting, order and latent names."""
        return max(self._forms(c)[c] for c in self._centre())

    def canonically_rooted(self) -> tuple[Tree, NDArray[np.intp]]:
        """The rooting and order of nodes that all equal trees share, and where each node is in this one."""
        found = {c: self._forms(c) for c in self._centre()}
        start = max(found, key=lambda c: found[c][c])
        forms = found[start]
        order, parent = [start], {start: -1}
        for i, v in enumerate(order):
            for u in sorted((u for u in self.neighbours(v) if u not in parent), key=forms.__getitem__):
                parent[u] = i
                order.append(u)
        return self._ordered(order, parent)

    def _forms(self, root: int) -> dict[int, tuple[Any, ...]]:
        # Rank by rank from the far ends inwards: a form holds its children's ranks, so that depth costs neither
        # recursion nor ever longer comparisons. Forms of the root hold everything.
        order, parent, depth = [root], {root: -1}, {root: 0}
        for v in order:
            for u in self.neighbours(v):
                if u not in parent:
                    parent[u] = v
                    depth[u] = depth[v] + 1
                    order.append(u)
        levels: list[list[int]] = [[] for _ in range(max(depth.values()) + 1)]
        for v in order:
            levels[depth[v]].append(v)
        below: dict[int, list[int]] = {v: [] for v in order}
        forms: dict[int, tuple[Any, ...]] = {}
        code: list[Any] = []
        variable, cardinality = self.variable.tolist(), self.cardinality.tolist()
        for level in reversed(levels):
            own = {v: (variable[v], cardinality[v], *sorted(below[v])) for v in level}
            ranks = {form: i for i, form in enumerate(sorted(set(own.values())))}
            code.append(tuple(sorted(own.values())))
            for v in level:
                forms[v] = own[v]
                if parent[v] >= 0:
                    below[parent[v]].append(ranks[own[v]])
        forms[root] = tuple(code)
        return forms

    def _ordered(self, order: Sequence[int], parent: Mapping[int, int]) -> tuple[Tree, NDArray[np.intp]]:
        old = np.array(order, dtype=np.intp)
        names = tuple(self.names[v] for v in order)
        return Tree(np.array([parent[v] for v in order]), self.cardinality[old], self.variable[old], names), old

    def _centre(self) -> list[int]:
        # the nodes left when ends are taken off, layer by layer
        degree = [len(self.neighbours(v)) for v in range(self.n_nodes)]
        left = self.n_nodes
        ends = [v for v in range(self.n_nodes) if degree[v] <= 1]
        while left > 2:
            left -= len(ends)
            inwards = []
            for v in ends:
                for u in self.neighbours(v):
                    degree[u] -= 1
                    if degree[u] == 1:
                        inwards.append(u)
            ends = inwards
        return sorted(ends)

    def __eq__(self, other: object) -> bool:
        """Whether both are the same unrooted tree."""
        return self.canonical == other.canonical if isinstance(other, Tree) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.canonical)

    def renamed(self, names: Mapping[str, str]) -> Tree:
        """The same tree with some nodes called otherwise."""
        return Tree(self.parent, self.cardinality, self.variable, tuple(names.get(n, n) for n in self.names))

    def with_cardinality(self, node: str | int, cardinality: int) -> Tree:
        """The same tree with another number of states at one node."""
        new = self.cardinality.copy()
        new[self.node(node)] = cardinality
        return Tree(self.parent, new, self.variable, self.names)

    # ---- regularity ([Zhang2004] 2, [ZhangKocka2004] 3.2) ---------------------------------------------------

    @property
    def irregular(self) -> tuple[int, ...]:
        """Latent nodes that break regularity: ends of branches, and those with more states than neighbours tell apart.

        With two neighbours these must be fewer than either's, and one of the two must be latent ([Zhang2004] 2). A
        narrower latent between two manifest variables breaks the rule too, but :meth:`regularised` leaves it.
        """
        return tuple(v for v in map(int, self.latent) if self._breaks(v))

    def _breaks(self, v: int) -> bool:
        neighbours, k = self.neighbours(v), int(self.cardinality[v])
        if len(neighbours) <= 1:
            return self.n_nodes > 1
        needed = states_needed(k, [int(self.cardinality[u]) for u in neighbours])
        return needed < k or (len(neighbours) == 2 and all(self.variable[u] >= 0 for u in neighbours))

    @property
    def is_regular(self) -> bool:
        """Whether no latent node has states that its neighbours cannot tell apart."""
        return not self.irregular

    def regularised(self) -> Tree:
        """The regular tree that can represent the same distributions.

        Repeats until nothing changes: a latent leaf goes; a latent node between two neighbours that has at least
        as many states as one of them goes and its neighbours are joined; any other that exceeds the bound
        prod|x| / max|x| is cut to it. (A narrower latent between two manifest variables stays: it says something.)
        """
        neighbours = {v: set(self.neighbours(v)) for v in range(self.n_nodes)}
        k = {v: int(self.cardinality[v]) for v in range(self.n_nodes)}
        again = True
        while again:
            again = False
            for v in map(int, self.latent):
                if v not in neighbours or len(neighbours) == 1:
                    continue
                needed = states_needed(k[v], [k[u] for u in neighbours[v]])
                again |= needed < k[v]
                k[v] = needed
                if not needed:
                    for u in neighbours[v]:
                        neighbours[u].remove(v)
                        neighbours[u] |= neighbours[v] - {u}
                    del neighbours[v]
        left = sorted(neighbours)
        return Tree.from_edges(
            [(self.names[a], self.names[b]) for a in left for b in sorted(neighbours[a]) if a < b],
            {self.names[v]: k[v] for v in left},
            [self.names[v] for v in self.manifest],
            root=self.names[left[0]],
        )


def states_needed(k: int, sizes: Sequence[int]) -> int:
    """Of the k states of a latent node, how many it can use between neighbours of these sizes; 0: it can go.

    An end of a branch can go, and so can a node between two neighbours with at least as many states as one of them;
    any other has at most prod|x| / max|x| ([Zhang2004] 2, [ZhangKocka2004] 3.2).

    Examples
    --------
    >>> states_needed(5, [2, 2, 2]), states_needed(2, [2, 3]), states_needed(2, [3, 3]), states_needed(2, [4])
    (4, 0, 2, 0)
    """
    if len(sizes) <= 1 or (len(sizes) == 2 and k >= min(sizes)):
        return 0
    return min(k, prod(sizes) // max(sizes))


def _default_names(variable: IntArray) -> tuple[str, ...]:
    latents = 0
    names = []
    for i in variable:
        if i < 0:
            latents += 1
            names.append(f"z{latents}" if (variable < 0).sum() > 1 else "z")
        else:
            names.append(f"x{i + 1}")
    return tuple(names)


def _unused(name: str, names: Sequence[str]) -> str:
    while name in names:
        name += "_"
    return name


def _some(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(f"'{n}'" for n in names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
