"""A plan: a tree and evidence columns, compiled once into a schedule of shared sub-patterns.

The compiling and the arithmetic are in C++ (``plan.cpp``, ``kernels.cpp``); this is their Python face.
:mod:`latentree.engine._messages` does the same in plain NumPy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._model import Counts, Model
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..errors import DataError, ModelError
from . import _core

__all__ = ["Evidence", "Passes", "Plan", "SharedPlans", "evidence_of", "sharing"]

SharedPlans = dict[tuple[Any, ...], tuple[Any, ...]]
"""Plans by what they were compiled from, which is kept with them."""

_SHARED: ContextVar[SharedPlans | None] = ContextVar("shared plans", default=None)


_QUICK: dict[str, Any] = {"share": False, "root": 0}
"""Options of a plan for a few passes: to find what rows share would take longer than they do."""
_MANY, _MOST_CELLS = 500, 2**24


def _is_wide(tree: Tree, table: Table) -> bool:
    """Whether rows share little since there are many variables, and messages of each row fit into memory."""
    return tree.n_variables >= _MANY and table.n_patterns * int(tree.cardinality.sum()) <= _MOST_CELLS


@contextmanager
def sharing(plans: SharedPlans | None = None) -> Iterator[None]:
    """Compile each pair of tree and table at most once in this block: what is in ``plans`` is used again.

    Without ``plans``, those of a block around this one are used, if there is one.

    For code that looks at one model and its data in many ways, each of which asks for a plan of its own.

    Examples
    --------
    >>> from latentree import datasets
    >>> model, table = datasets.generator("d7"), datasets.sample_from("d7", 50, 0)
    >>> with sharing():
    ...     Plan.of(model, table) is Plan.of(model.with_parameters(model.parameters), table)
    True
    """
    around = _SHARED.get()
    token = _SHARED.set(plans if plans is not None else around if around is not None else {})
    try:
        yield
    finally:
        _SHARED.reset(token)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known about one node, row by row.

    Hard values, missing cells, observed inner nodes and the frozen branches of local EM are all of this form.

    Parameters
    ----------
    node : int
        The node spoken about.
    ids : int32 array [rows]
        Without ``likelihood``: the state seen, -1 if missing. With it: a row of ``likelihood``.
    likelihood : float array [ids, states], optional
        How probable each state of the node makes what was seen; largest entry of a row about 1.
    log_scale : float array [ids], optional
        Logarithm of what each row of ``likelihood`` was divided by.
    log_likelihood : float array [ids, states], optional
        Logarithms of ``likelihood``, for entries that are too small for it.
    """

    node: int
    ids: NDArray[np.int32]
    likelihood: FloatArray | None = None
    log_scale: FloatArray | None = None
    log_likelihood: FloatArray | None = None

    def checked(self, tree: Tree, n_rows: int) -> Evidence:
        """The same with contiguous arrays, or an error that says what does not fit."""
        ids = np.ascontiguousarray(self.ids, dtype=np.int32)
        if not 0 <= self.node < tree.n_nodes:
            raise ModelError(f"Evidence on node {self.node}; nodes are 0 to {tree.n_nodes - 1}.")
        k = int(tree.cardinality[self.node])
        what = f"Evidence on '{tree.names[self.node]}'"
        if ids.shape != (n_rows,):
            raise ModelError(f"{what}: {ids.shape} ids for {n_rows} rows.")
        if self.likelihood is None:
            if n_rows and (ids.min() < -1 or ids.max() >= k):
                raise ModelError(f"{what}: states must be -1 (missing) to {k - 1}. Got {ids.min()} to {ids.max()}.")
            return Evidence(self.node, ids)
        table = np.ascontiguousarray(self.likelihood, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != k:
            raise ModelError(f"{what}: likelihoods must have {k} columns. Got shape {table.shape}.")
        if n_rows and (ids.min() < 0 or ids.max() >= len(table)):
            raise ModelError(f"{what}: ids must be 0 to {len(table) - 1}. Got {ids.min()} to {ids.max()}.")
        if not (np.isfinite(table) & (table >= 0)).all() or table.max(initial=0.0) > 1 + 1e-9:
            raise ModelError(f"{what}: likelihoods must lie between 0 and 1; put the rest into 'log_scale'.")
        scale = None if self.log_scale is None else np.ascontiguousarray(self.log_scale, dtype=np.float64)
        if scale is not None and scale.shape != (len(table),):
            raise ModelError(f"{what}: one log-scale for each of the {len(table)} ids. Got shape {scale.shape}.")
        if scale is not None and not np.isfinite(scale).all():
            raise ModelError(f"{what}: log-scales must be finite; an impossible row has a likelihood of zeros.")
        logs = None if self.log_likelihood is None else np.ascontiguousarray(self.log_likelihood, dtype=np.float64)
        if logs is not None and logs.shape != table.shape:
            raise ModelError(f"{what}: log-likelihoods must have the shape of the likelihoods. Got {logs.shape}.")
        return Evidence(self.node, ids, table, scale, logs)


def evidence_of(model: Model, table: Table) -> list[Evidence]:
    """The table's columns as evidence on the model's manifest nodes, matched by name.

    Columns the model does not have are passed over; variables the table does not have are missing throughout.
    """
    columns = {v.name: (i, v) for i, v in enumerate(table.variables)}
    out = []
    codes = np.asfortranarray(table.codes, dtype=np.int32)
    for variable, node in zip(model.variables, model.tree.manifest.tolist(), strict=True):
        if variable.name not in columns:
            ids = np.full(table.n_patterns, -1, dtype=np.int32)
        else:
            i, own = columns[variable.name]
            ids = codes[:, i]
            if own is not variable and own != variable:
                if own.edges != variable.edges or not own.begins_like(variable):
                    raise DataError(
                        f"Column '{variable.name}' has the states {own.states} in the data but {variable.states} "
                        "in the model. Read the data with the model's variables."
                    )
                if ids.max(initial=-1) >= variable.cardinality:
                    raise DataError(
                        f"Column '{variable.name}' has the value {own.states[ids.max()]!r}, "
                        "which the model does not know."
                    )
        out.append(Evidence(node, ids))
    return out


class Passes(ABC):
    """All that an estimation method needs to know of data: the tree, the total weight, and what a pass tells.

    Sums over rows are all there is to it, so the rows may lie anywhere: in one :class:`Plan`, in several
    (:mod:`latentree.engine._plans`), or on other machines (:mod:`latentree.scale`).

    Attributes
    ----------
    tree : Tree
        The structure.
    weight : float
        Sum of the weights of all rows.
    """

    tree: Tree
    weight: float

    @abstractmethod
    def evaluate_batch(
        self, parameters: FloatArray, *, counts: bool = True, n_jobs: int = 1, lanes: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Log-likelihoods [sets] and expected counts [sets, size] of several vectors in shared passes.

        With ``counts=False`` only the way up is gone, and the second array is of no use.
        """

    def evaluate(self, parameters: FloatArray, *, n_jobs: int = 1) -> Counts:
        """Log-likelihood and expected counts of one flat vector of probabilities."""
        log_likelihood, counts = self.evaluate_batch(parameters[None], n_jobs=n_jobs, lanes=1)
        return Counts(counts[0], float(log_likelihood[0]), self.weight)

    def log_likelihood(self, parameters: FloatArray, *, n_jobs: int = 1) -> float:
        """Log-likelihood alone: only the way up."""
        return float(self.evaluate_batch(parameters[None], counts=False, n_jobs=n_jobs, lanes=1)[0][0])


class Plan(Passes):
    """A tree and evidence compiled for repeated evaluation.

    Parameters
    ----------
    tree : Tree
        The structure.
    evidence : sequence of Evidence
        What is known; several columns may speak about one node, none about a latent.
    weights : array of float [rows]
        Weight of each row.
    share : bool, default True
        Give each distinct sub-pattern one row of messages. False gives each data row its own, which is only of use
        to measure what sharing saves.
    root : int, optional
        Inner node where all messages meet. Default: the one that makes a pass cheapest. Results do not depend on it.
    trusted : bool, default False
        Whether the evidence is right by construction, its arrays contiguous, and need not be checked.
    """

    def __init__(
        self,
        tree: Tree,
        evidence: Sequence[Evidence],
        weights: FloatArray,
        *,
        share: bool = True,
        root: int | None = None,
        trusted: bool = False,
    ) -> None:
        self.tree = tree
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        if self.weights.ndim != 1 or not (np.isfinite(self.weights) & (self.weights >= 0)).all():
            raise ModelError("Weights must be a list of finite numbers of at least 0.")
        self.weight = float(self.weights.sum())
        self.evidence = tuple(evidence if trusted else (e.checked(tree, len(self.weights)) for e in evidence))
        hard = [e.node for e in self.evidence if e.likelihood is None]
        if len(set(hard)) < len(hard):
            twice = tree.names[next(v for v in hard if hard.count(v) > 1)]
            raise ModelError(f"'{twice}' has two columns of values; one column of values a node, please.")
        if root is not None and root != 0 and len(tree.neighbours(root)) < 2:
            raise ModelError(f"Messages cannot meet in '{tree.names[root]}', the end of a branch.")
        self._options = {"share": share, "root": root}
        self._engine = _core.make_engine(
            np.ascontiguousarray(tree.parent),
            np.ascontiguousarray(tree.cardinality),
            [(e.node, e.ids, e.likelihood, e.log_scale, e.log_likelihood) for e in self.evidence],
            self.weights,
            share,
            -1 if root is None else root,
        )

    @classmethod
    def of(cls, model: Model, table: Table, **options: bool | int | None) -> Plan:
        """Plan for a model and a table; see also :func:`sharing`."""
        shared = _SHARED.get()
        key = (id(model.tree), id(model.variables), id(table), *sorted(options.items()))
        if shared is not None and key in shared:
            plan: Plan = shared[key][0]
            return plan
        quick = _QUICK if shared is not None and not options and _is_wide(model.tree, table) else {}
        evidence = evidence_of(model, table)  # right by construction, as codes of a table are
        made = cls(model.tree, evidence, table.weights, trusted=True, **quick, **options)  # type: ignore[arg-type]
        if shared is not None:
            shared[key] = made, model.tree, model.variables, table  # whose ids are not given to others meanwhile
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _compiled, (self.tree, self.evidence, self.weights, self._options)

    @property
    def core(self) -> _core.Engine:
        """The compiled plan."""
        return self._engine

    @property
    def row_of(self) -> NDArray[np.int32]:
        """Which distinct row each data row is, as numbered by :meth:`row_log_likelihood` and others."""
        return self._engine.row_of

    def evaluate_batch(
        self, parameters: FloatArray, *, counts: bool = True, n_jobs: int = 1, lanes: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Log-likelihoods [sets] and expected counts [sets, size] of several vectors in shared passes."""
        p = np.ascontiguousarray(parameters, dtype=np.float64)
        if p.ndim != 2 or p.shape[1] != self.tree.size:
            raise ModelError(f"The tree needs {self.tree.size} probabilities a set. Got shape {p.shape}.")
        return self._engine.evaluate(p, counts, n_jobs, lanes)

    def row_log_likelihood(self, parameters: FloatArray, *, n_jobs: int = 1) -> FloatArray:
        """log P(row) of every data row."""
        return self._engine.row_log_likelihood(self._checked(parameters), n_jobs)[self._engine.row_of]

    def posteriors(
        self, parameters: FloatArray, nodes: Sequence[int], rows: NDArray[np.integer[Any]] | None = None
    ) -> list[FloatArray]:
        """P(node | row) of every data row, an array [rows, states] for each node; nan where the row is impossible.

        Instead of all data rows in turn it can be of ``rows``, numbers of data rows; what a number below 0 stands for
        is not known, and so nan.
        """
        found = self._engine.posteriors(self._checked(parameters), list(map(int, nodes)))
        row_of = self._engine.row_of
        wide = np.take(found, row_of if rows is None else row_of[rows], axis=0)  # of all nodes at once
        if rows is not None:
            wide[rows < 0] = np.nan
        columns = np.ascontiguousarray(wide.T)  # by which all later steps go
        return [own.T for own in np.split(columns, np.cumsum([self.tree.cardinality[v] for v in nodes])[:-1])]

    def _checked(self, parameters: FloatArray) -> FloatArray:
        p = np.ascontiguousarray(parameters, dtype=np.float64)
        if p.shape != (self.tree.size,):
            raise ModelError(f"The tree needs {self.tree.size} probabilities. Got shape {p.shape}.")
        return p


def _compiled(tree: Tree, evidence: Sequence[Evidence], weights: FloatArray, options: dict[str, Any]) -> Plan:
    """Compile again what was sent to another process."""
    return Plan(tree, evidence, weights, **options)
