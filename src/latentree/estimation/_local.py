"""Local EM ([Zhang2004] 4.7): only the tables around one place move, every branch hanging off it being frozen.

A frozen branch is a constant evidence column: a row of likelihoods for each of its distinct sub-patterns. What remains
is a tree of a few nodes, on which EM is EM.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._data import Data
from .._model import Model
from .._options import Flag, option
from .._table import as_table
from .._tree import Tree
from .._types import FloatArray
from ..engine._plan import Evidence, Plan, evidence_of
from ..errors import ModelError
from ._em import EmRuns
from ._em_options import FitOptions, Value
from ._fit import Fit, evaluate


@dataclass(frozen=True, eq=False)
class LocalOptions(FitOptions):
    """Options of local EM."""

    nodes: Sequence[str | int] = option(
        None, Value("neighbouring nodes", lambda value: isinstance(value, Sequence)), "whose tables move"
    )
    accelerate: bool = option(False, Flag(), "whether to take safeguarded Newton steps")


@dataclass(frozen=True, eq=False)
class Place:
    """The neighbourhood of some connected nodes, cut out of a model as a tree of its own."""

    model: Model  # the whole model, rooted at the first of the nodes
    nodes: tuple[int, ...]  # in the whole tree's numbering, parents first; position in it is the node in ``tree``
    tree: Tree
    plan: Plan  # with the branches that hang off the tree as soft evidence

    @classmethod
    def around(cls, model: Model, table: Data, nodes: Sequence[str | int]) -> Place:
        """Cut out the tables that involve these nodes."""
        names = [model.tree.names[model.tree.node(v)] for v in nodes]
        if not names:
            raise ModelError("Local EM needs at least one node.")
        model = model.rerooted(names[0])
        tree = model.tree
        middle = {tree.node(name) for name in names}
        for v in middle - {0}:
            if int(tree.parent[v]) not in middle:
                raise ModelError(f"Local EM needs neighbouring nodes; '{tree.names[v]}' is not joined to the others.")
        kept = sorted(middle | {c for v in middle for c in tree.children[v]})
        at = {v: i for i, v in enumerate(kept)}
        table = as_table(table)
        evidence = evidence_of(model, table)
        columns: list[Evidence] = []
        for v in kept:
            if v in middle or not tree.children[v]:
                columns += [Evidence(at[v], e.ids) for e in evidence if e.node == v]
            else:
                columns.append(_frozen_branch(model, evidence, table.weights, v, at[v]))
        small = _cut_out(tree, kept)
        return cls(model, tuple(kept), small, Plan(small, columns, table.weights))

    @property
    def parameters(self) -> FloatArray:
        """The tables of the neighbourhood, as they are in the model."""
        return np.concatenate([self.model.table(v).ravel() for v in self.nodes])

    def put_back(self, parameters: FloatArray) -> Model:
        """Return the whole model with these tables in the neighbourhood."""
        whole = self.model.parameters.copy()
        for i, v in enumerate(self.nodes):
            own = slice(*self.model.tree.offsets[v : v + 2])
            whole[own] = parameters[self.tree.offsets[i] : self.tree.offsets[i + 1]]
        return self.model.with_parameters(whole, provenance=self.model.provenance)


def _cut_out(tree: Tree, nodes: Sequence[int]) -> Tree:
    """The part of a tree that some connected nodes are, parents first."""
    at = {v: i for i, v in enumerate(nodes)}
    observed = tree.variable[nodes] >= 0
    variable = np.where(observed, np.cumsum(observed) - 1, -1)
    parent = np.array([at.get(int(tree.parent[v]), -1) for v in nodes])
    return Tree(parent, tree.cardinality[nodes], variable, tuple(tree.names[v] for v in nodes))


def _frozen_branch(model: Model, evidence: Sequence[Evidence], weights: FloatArray, top: int, place: int) -> Evidence:
    """What the branch below and at ``top`` says about it."""
    tree = model.tree
    branch = [top]
    for v in branch:
        branch.extend(tree.children[v])
    at = {v: i for i, v in enumerate(branch)}
    uniform = np.full(tree.cardinality[top], 1.0 / tree.cardinality[top])
    parameters = np.concatenate([uniform, *(model.table(v).ravel() for v in branch[1:])])
    plan = Plan(
        _cut_out(tree, branch), [Evidence(at[e.node], e.ids) for e in evidence if e.node in at], weights, root=0
    )
    likelihood, log_scale, logs = plan.core.root_messages(parameters)
    return Evidence(place, plan.row_of, likelihood, log_scale, logs)


def local_em(model: Model, table: Data, nodes: Sequence[str | int], **options: Any) -> Fit:
    """Improve only the tables that involve some neighbouring nodes.

    Parameters
    ----------
    model, table
        The model and the data.
    nodes : sequence of str or int
        Connected nodes. The root walks to the first; then its own table, the other nodes' and their children's move.
    **options
        ``prior``, ``basis``, ``accelerate`` (default: False), ``tol``, ``max_iterations``, ``budget``, ``n_jobs``,
        ``on_progress``, as in :func:`latentree.estimation.estimate`.

    Returns
    -------
    Fit
        The whole model, rooted at the first node; counts are those of the whole model.
    """
    return fit_local(model, table, LocalOptions.of({"nodes": nodes, **options}, owner="local_em"))


def fit_local(model: Model, table: Data, options: LocalOptions) -> Fit:
    """Improve only the tables that involve some neighbouring nodes, with options that are checked already."""
    began = time.perf_counter()
    clock = options.clock()
    place = Place.around(model, table, options.nodes)
    own = {name: getattr(options, name) for name in ("prior", "basis", "accelerate", "n_jobs")}
    runs = EmRuns(place.plan, place.parameters[None], **own)
    stopped = runs.advance(options.max_iterations, options.tol, clock, options.on_progress)
    better = place.put_back(runs.parameters(0))
    return replace(
        evaluate(better, table, n_jobs=options.n_jobs),
        trace=runs.trace(0),
        reason=stopped or runs.reason(0),
        seconds=time.perf_counter() - began,
        evaluations=runs.evaluations + 1,
        starts=runs.objectives,
    )
