"""A model: a tree, its manifest variables, and one flat vector of probabilities. Pure data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._lazy import cached_property
from ._tree import Tree
from ._types import FloatArray
from ._variables import State, Variable
from .errors import ModelError, bad_parameter

__all__ = ["Counts", "Model"]

NAMES = "names"
"""The key of the provenance under which names that people gave are kept."""

FAINT = 1e-300
"""Products of probabilities below this are computed in logarithms."""


@dataclass(frozen=True, eq=False)
class Model:
    """A latent tree model.

    The table of node ``v`` is ``P(v | parent)``, one row for each state of the parent (one row for the root);
    all tables lie one after the other in ``parameters``, node by node.

    Parameters
    ----------
    tree : Tree
        The structure. Its manifest nodes take the names of the variables.
    variables : sequence of Variable
        The manifest variables in order.
    parameters : array of float
        The flat vector, ``tree.size`` long.
    provenance : mapping, optional
        Where the model comes from; kept in files.
    """

    tree: Tree
    variables: tuple[Variable, ...]
    parameters: FloatArray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        variables = tuple(self.variables)
        object.__setattr__(self, "variables", variables)
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))
        tree = self.tree
        if len(variables) != tree.n_variables:
            raise ModelError(
                f"The tree has {tree.n_variables} manifest nodes but {len(variables)} variables were given."
            )
        for v, k in zip(variables, tree.cardinality[tree.manifest].tolist(), strict=True):
            if v.cardinality != k:
                raise ModelError(f"Variable '{v.name}' has {v.cardinality} states but its node has {k}.")
        before, after = [tree.names[node] for node in tree.manifest.tolist()], [v.name for v in variables]
        if before != after:
            names = dict(zip(before, after, strict=True))
            taken = {v.name for v in variables}
            if len(taken) < len(variables):
                twice = next(v.name for i, v in enumerate(variables) if v.name in {u.name for u in variables[:i]})
                raise ModelError(f"Two variables are called '{twice}'; rename one of them.")
            for z in tree.latent:  # a latent gives way to a variable of the same name
                name = tree.names[z]
                while name in taken:
                    name += "_"
                names[tree.names[z]] = name
                taken.add(name)
            object.__setattr__(self, "tree", tree.renamed(names))
        p = np.array(self.parameters, dtype=np.float64)
        if p.shape != (tree.size,):
            raise ModelError(f"The model needs {tree.size} probabilities. Got an array of shape {p.shape}.")
        if not (np.isfinite(p) & (p >= 0)).all():
            raise ModelError("Probabilities must be finite and not below 0.")
        off = np.abs(row_sums(tree, p) - 1) > 1e-6
        if off.any():
            row = int(np.flatnonzero(off)[0])
            ends = np.cumsum(tree.rows)
            at = int(np.searchsorted(ends, row, side="right"))
            own, total = row - int(ends[at] - tree.rows[at]), row_sums(tree, p)[row]
            raise ModelError(f"Row {own} of the table of '{self.tree.names[at]}' sums to {total:.6g}, not 1.")
        p.setflags(write=False)
        object.__setattr__(self, "parameters", p)

    # ---- making ----------------------------------------------------------------------------------------

    @classmethod
    def random(
        cls, tree: Tree, variables: Sequence[Variable], rng: np.random.Generator, dominant: float | None = None
    ) -> Model:
        """Draw every row uniformly from the simplex.

        Parameters
        ----------
        tree, variables
            Structure and manifest variables.
        rng : numpy.random.Generator
            Source of randomness.
        dominant : float, optional
            Give one state of every row, chosen at random, a probability uniform on (dominant, 1); the others
            share the rest uniformly ([Zhang2004] 5.1 and [ChenZhangWang] 4 use 0.6).
        """
        return cls(tree, tuple(variables), random_parameters(tree, rng, dominant))

    @classmethod
    def from_tables(
        cls, tree: Tree, variables: Sequence[Variable], tables: Mapping[str, ArrayLike], **more: Any
    ) -> Model:
        """Build from one table for each node name."""
        parts = []
        for v, name in enumerate(tree.names):
            if name not in tables:
                raise ModelError(f"There is no table for node '{name}'.")
            t = np.atleast_2d(np.asarray(tables[name], dtype=np.float64))
            if t.shape != (tree.rows[v], tree.cardinality[v]):
                wanted = f"{tree.rows[v]} x {tree.cardinality[v]}"
                raise ModelError(f"The table of '{name}' must be {wanted}. Got {t.shape}.")
            parts.append(t.ravel())
        return cls(tree, tuple(variables), np.concatenate(parts), **more)

    def with_parameters(self, parameters: ArrayLike, **more: Any) -> Model:
        """The same structure with other probabilities."""
        return Model(self.tree, self.variables, np.asarray(parameters, dtype=np.float64), **more)

    # ---- looking ---------------------------------------------------------------------------------------

    def table(self, node: str | int) -> FloatArray:
        """P(node | parent): a row for each state of the parent, one row for the root."""
        return self._tables[self.tree.node(node)]

    @cached_property
    def _tables(self) -> list[FloatArray]:
        tree = self.tree
        ends, shapes = tree.offsets.tolist(), zip(tree.rows.tolist(), tree.cardinality.tolist(), strict=True)
        return [self.parameters[a:b].reshape(k) for a, b, k in zip(ends[:-1], ends[1:], shapes, strict=True)]

    def variable(self, name: str) -> Variable:
        """The manifest variable of that name."""
        for v in self.variables:
            if v.name == name:
                return v
        raise ModelError(f"There is no manifest variable '{name}'.")

    def states(self, node: str | int) -> tuple[State, ...]:
        """The states of a node: a manifest variable's own, or 0, 1, ... for a latent."""
        v = self.tree.node(node)
        i = int(self.tree.variable[v])
        return self.variables[i].states if i >= 0 else tuple(range(int(self.tree.cardinality[v])))

    def state_names(self, node: str | int) -> tuple[str | None, ...]:
        """The names that people gave to the states of a latent node; None for a state without one.

        They are kept in the provenance, and so in files; see :meth:`renamed`.
        """
        v = self.tree.node(node)
        known = self.provenance.get(NAMES)
        given = known.get("states", {}).get(self.tree.names[v]) if isinstance(known, Mapping) else None
        k = int(self.tree.cardinality[v])
        if self.tree.variable[v] >= 0 or not isinstance(given, Sequence) or len(given) != k:
            return (None,) * k
        return tuple(name if isinstance(name, str) else None for name in given)

    def marginals(self) -> list[FloatArray]:
        """P(node) for every node."""
        return list(self._marginals)

    @cached_property
    def _marginals(self) -> list[FloatArray]:
        tree, tables = self.tree, self._tables
        parent, inner = tree.parent.tolist(), np.zeros(tree.n_nodes, dtype=bool)
        inner[tree.parent[1:]] = inner[0] = True
        out = [tables[0][0]] * tree.n_nodes
        for v in np.flatnonzero(inner)[1:].tolist():
            out[v] = out[parent[v]] @ tables[v]
        for nodes, entries in tree.alike:  # the ends of branches, of which most nodes are, many at once
            ends = ~inner[nodes]
            if ends.any():
                above = np.array([out[parent[v]] for v in nodes[ends].tolist()])
                found = (above[:, None] @ self.parameters[entries[ends]])[:, 0]
                for v, p in zip(nodes[ends].tolist(), found, strict=True):
                    out[v] = p
        return out

    def __eq__(self, other: object) -> bool:
        """Whether structure, rooting, names, variables and every probability are the same."""
        if not isinstance(other, Model):
            return NotImplemented
        a, b = self.tree, other.tree
        return (
            np.array_equal(a.parent, b.parent)
            and np.array_equal(a.cardinality, b.cardinality)
            and np.array_equal(a.variable, b.variable)
            and a.names == b.names
            and self.variables == other.variables
            and np.array_equal(self.parameters, other.parameters)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made anew from the same data (scikit-learn copies and pickles estimators)."""
        return Model, (self.tree, self.variables, self.parameters, dict(self.provenance))

    def __repr__(self) -> str:
        return f"<Model: {self.tree!r}>"

    # ---- rooting ---------------------------------------------------------------------------------------

    def rerooted(self, node: str | int) -> Model:
        """The same distribution with the tree hung up at another node."""
        return Model(*self.laid_out(*self.tree.rerooted(node)), self.provenance)

    def laid_out(self, tree: Tree, old: NDArray[np.intp]) -> tuple[Tree, tuple[Variable, ...], FloatArray]:
        """The parts of a model of the same distribution, on a tree that differs in its root and the order of nodes.

        ``old`` says where each of the nodes is in this one.
        """
        path = self.tree.path_from_root(int(old[0]))
        turned = {v: self._tables[v] for v in path}
        walk_root(turned, path)
        same = ~np.isin(old, path)
        flat = np.empty(tree.size)
        flat[tree.entries(np.flatnonzero(same))] = self.parameters[self.tree.entries(old[same])]
        for v in np.flatnonzero(~same).tolist():
            flat[tree.offsets[v] : tree.offsets[v + 1]] = turned[int(old[v])].ravel()
        return tree, self.variables, flat

    # ---- conveniences, imported when called -------------------------------------------------------------

    def query(self, ask: str | Sequence[str], given: Mapping[str, Any] | None = None) -> FloatArray:
        """P(ask | given); see :func:`latentree.infer.query`."""
        from .infer import query

        return query(self, ask, given)

    def sample(self, n: int, rng: np.random.Generator, *, latent: bool = False) -> NDArray[np.int16]:
        """Draw rows of codes; see :func:`latentree.infer.sample`."""
        from .infer import sample

        return sample(self, n, rng, latent=latent)

    def predict_proba(self, X: Any, latent: str | None = None, **options: Any) -> FloatArray:
        """P(state | row) of the latent variables, for rows of a data frame or an array.

        Parameters
        ----------
        X : data frame, dict of columns, array or Table
            The rows. Columns are found by their names, in any order; others are passed over.
        latent : str, optional
            One latent variable. Default: all, side by side, in the order of the tree.
        **options
            How the data are read, as for :meth:`Table.from_frame`: ``missing``, ``unseen``, ...

        Returns
        -------
        array of float [rows, states]
            ``nan`` in rows that the model calls impossible.

        Examples
        --------
        >>> import latentree as lt
        >>> frame = lt.datasets.load_frame("carcinoma")
        >>> model = lt.LatentClass(2, random_state=0).fit(frame).model_
        >>> model.predict_proba(frame[["G", "F", "E", "D", "C", "B", "A"]].tail(1)).round(2).tolist()
        [[1.0, 0.0]]
        """
        from .prediction import latent_posteriors

        found = latent_posteriors(self, X, latent, **options)
        return np.hstack(list(found.values()))

    def predict(self, X: Any, latent: str | None = None, **options: Any) -> NDArray[np.int64]:
        """The most probable state of the latent variables in each row; -1 in rows that the model calls impossible.

        One column for each latent variable, or a flat array if there is only one, or one is asked for; see
        :meth:`predict_proba`.
        """
        from .prediction import latent_posteriors

        found = latent_posteriors(self, X, latent, **options)
        hard = [np.where(np.isnan(p[:, 0]), -1, np.nan_to_num(p).argmax(axis=1)) for p in found.values()]
        states: NDArray[np.int64] = np.column_stack(hard).astype(np.int64)
        return states[:, 0] if len(hard) == 1 else states

    def summary(self, table: Any = None, **options: Any) -> str:
        """What the model says, as text; with data, also how well it fits them. See :class:`latentree.report.Report`."""
        from .report import Report, Shown

        return Shown(Report.of(self, table).to_text(**options))

    def renamed(self, latents: Any = None, *, states: Any = None, classes: Any = None) -> Model:
        """The same model with other names of latents, states or classes; see :func:`latentree.naming.renamed`."""
        from .naming import renamed

        return renamed(self, latents, states=states, classes=classes)

    def save(self, path: str | Path, *, format: str | None = None) -> None:
        """Write a model file, of the kind that its name ends in; see :func:`latentree.formats._models.save`."""
        from .formats._models import save

        save(self, path, format=format)

    def to_bif(self, path: str | Path) -> None:
        """Write a BIF file; see :mod:`latentree.formats._bif`."""
        self.save(path, format="bif")

    def to_xmlbif(self, path: str | Path) -> None:
        """Write an XMLBIF file; see :mod:`latentree.formats._xmlbif`."""
        self.save(path, format="xmlbif")

    def to_net(self, path: str | Path) -> None:
        """Write a NET file for Hugin; see :mod:`latentree.formats._net`."""
        self.save(path, format="net")

    def to_xdsl(self, path: str | Path) -> None:
        """Write an XDSL file for GeNIe; see :mod:`latentree.formats._xdsl`."""
        self.save(path, format="xdsl")

    def to_dot(self, path: str | Path) -> None:
        """Write a drawing of the tree for Graphviz; see :mod:`latentree.formats._dot`."""
        self.save(path, format="dot")

    def to_networkx(self) -> Any:
        """Return a ``networkx.DiGraph``; see :func:`latentree.formats._objects.to_networkx`."""
        from .formats._objects import to_networkx

        return to_networkx(self)

    def to_pgmpy(self) -> Any:
        """Return a network of pgmpy; see :func:`latentree.formats._objects.to_pgmpy`."""
        from .formats._objects import to_pgmpy

        return to_pgmpy(self)

    def to_pyagrum(self) -> Any:
        """Return a network of pyAgrum; see :func:`latentree.formats._objects.to_pyagrum`."""
        from .formats._objects import to_pyagrum

        return to_pyagrum(self)

    def explore(self, path: str | Path | None = None, *, table: Any = None, **options: Any) -> Any:
        """Make the explorer page, which notebooks show; see :func:`latentree.report.explore`."""
        from .report import explore

        return explore(self, table, path, **options)


@dataclass(frozen=True, eq=False)
class Counts:
    """Expected counts of a model on data: a vector laid out like the parameters.

    Additive: the counts of two parts of the data, added, are the counts of both.
    """

    vector: FloatArray
    log_likelihood: float
    weight: float

    def __add__(self, other: Counts) -> Counts:
        """Counts of both parts of the data together."""
        if self.vector.shape != other.vector.shape:
            raise ModelError("Counts of two different structures cannot be added.")
        log_likelihood = self.log_likelihood + other.log_likelihood
        return Counts(self.vector + other.vector, log_likelihood, self.weight + other.weight)


def walk_root(tables: dict[int, FloatArray], path: Sequence[int]) -> None:
    """Move the root along a path of neighbouring nodes, the first of which is the root now ([Zhang2004] 2).

    Each step reverses an edge root -> child and recomputes the two tables by Bayes' rule. A state of the child that
    never occurs gets the old root's distribution. What is possible stays possible: products that underflow are
    computed in logarithms, and a probability too small for a double becomes the smallest one there is.
    """
    log_prior: FloatArray | None = None  # of the root, where its table does not hold it
    for root, child in pairwise(path):
        prior, conditional = tables[root][0], tables[child]
        joint = prior[:, None] * conditional
        marginal = joint.sum(axis=0)
        back = np.divide(joint, marginal, out=np.repeat(prior[:, None], len(marginal), axis=1), where=marginal > 0)
        possible = (prior[:, None] > 0) & (conditional > 0)
        faint = possible & (joint < FAINT)
        if faint.any():
            with np.errstate(divide="ignore"):
                logs = (np.log(prior) if log_prior is None else log_prior)[:, None] + np.log(conditional)
            log_prior = np.logaddexp.reduce(logs, axis=0)
            rare = possible.any(axis=0) & (marginal < FAINT)
            marginal = np.where(rare, _above_zero(log_prior), marginal)
            share = np.where(faint, logs - np.where(possible.any(axis=0), log_prior, 0.0), 0.0)
            back = np.where(faint, _above_zero(share), np.where(rare & ~possible, 0.0, back))
        else:
            log_prior = None
        tables[child] = marginal[None, :]
        tables[root] = np.ascontiguousarray(back.T)


def _above_zero(logs: FloatArray) -> FloatArray:
    """The exponential, at least the smallest number above zero."""
    return np.maximum(np.exp(logs), np.nextafter(0.0, 1.0))


def reordered(tree: Tree, vector: FloatArray, node: int, order: NDArray[np.intp]) -> FloatArray:
    """A flat vector with the states of one latent node in another order."""
    return vector[reordering(tree, {node: order})]


def reordering(tree: Tree, orders: Mapping[int, NDArray[np.intp]]) -> NDArray[np.int64]:
    """Where each entry of a flat vector comes from if the states of some latent nodes are put in another order."""
    first = np.cumsum(tree.cardinality, dtype=np.int64) - tree.cardinality
    state = np.arange(int(tree.cardinality.sum())) - np.repeat(first, tree.cardinality)  # before, of each state now
    for v, order in orders.items():
        state[first[v] : first[v] + len(order)] = order
    sizes = np.diff(tree.offsets)
    node, own = np.repeat(np.arange(tree.n_nodes), sizes), np.arange(tree.size)
    row, column = np.divmod(own - tree.offsets[node], tree.cardinality[node])
    above = np.where(node == 0, 0, state[np.where(node == 0, 0, first[tree.parent[node]] + row)])
    source: NDArray[np.int64] = tree.offsets[node] + above * tree.cardinality[node] + state[first[node] + column]
    return source


def row_starts(tree: Tree) -> NDArray[np.int64]:
    """Where each row of each table starts in the flat vector."""
    widths = np.repeat(tree.cardinality.astype(np.int64), tree.rows)
    return np.concatenate([[0], np.cumsum(widths)[:-1]])


def row_sums(tree: Tree, vector: FloatArray) -> FloatArray:
    """Sum of each row of each table."""
    return np.add.reduceat(vector, row_starts(tree))


def spread(tree: Tree, per_row: FloatArray) -> FloatArray:
    """Repeat one number a row over the row's entries."""
    return np.repeat(per_row, np.repeat(tree.cardinality, tree.rows))


def normalised(tree: Tree, vector: FloatArray) -> FloatArray:
    """Scale every row to sum to one."""
    return vector / spread(tree, row_sums(tree, vector))


def random_parameters(tree: Tree, rng: np.random.Generator, dominant: float | None = None) -> FloatArray:
    """Draw a flat vector whose rows are uniform on the simplex, or have one dominant entry."""
    p = normalised(tree, rng.standard_exponential(tree.size))
    if dominant is None:
        return p
    if not 0 <= dominant < 1:
        raise bad_parameter("dominant", "Model.random", "at least 0 and below 1", dominant)
    widths = np.repeat(tree.cardinality, tree.rows)
    starts = row_starts(tree)
    chosen = starts + (rng.random(len(starts)) * widths).astype(np.int64)
    large = rng.uniform(dominant, 1.0, len(starts))
    large[widths == 1] = 1.0
    p[chosen] = 0.0
    rest = row_sums(tree, p)
    p *= spread(tree, (1.0 - large) / np.where(rest > 0, rest, 1.0))
    p[chosen] = large
    return p
