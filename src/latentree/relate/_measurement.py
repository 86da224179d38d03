"""The first step: a measurement part that is given, with the uncertainty that it has from its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lazy import cached_property
from .._model import Model
from .._table import Table
from .._types import FloatArray, IndexArray
from ..engine._messages import Messages
from ..engine._plan import evidence_of
from ..infer import log_likelihood_rows, posterior
from ..score._moments import _given_state
from ._covariance import Sampling
from ._mixture import Part, Point, curvature, inverse
from ._parts import BOUNDARY, SMALLEST, ClassLogit, ItemData, Items

__all__ = ["FirstStep", "TreeItems", "first_step", "item_tables", "measurement_of"]


class TreeItems(Part):
    """All variables of a tree given one of its latent variables, whose probabilities stay as they are.

    The parameters are the log-odds in all tables of the tree with its root in that latent variable, but the root's.
    """

    def __init__(self, model: Model, node: str, table: Table, pattern: IndexArray) -> None:
        self.model = model.rerooted(node)
        self.table, self.pattern = table, pattern
        tree, theta = self.model.tree, self.model.parameters
        self._row = np.repeat(np.arange(int(tree.rows.sum())), np.repeat(tree.cardinality, tree.rows))
        starts = np.flatnonzero(np.diff(self._row, prepend=-1))
        largest = [a + int(own.argmax()) for a, own in zip(starts, np.split(theta, starts[1:]), strict=True)]
        free = np.ones(tree.size, dtype=bool)
        free[largest] = False
        free[: int(tree.cardinality[0])] = False
        self._free = np.flatnonzero(free)
        self._place = np.full(tree.size, -1)
        self._place[self._free] = np.arange(len(self._free))
        self.size = len(self._free)

    @cached_property
    def log(self) -> FloatArray:
        """log P(variables | state), found from the posterior and the likelihood of the engine."""
        model, table = self.model, self.table
        name = model.tree.names[0]
        patterns = Table._made(
            table.codes, table.weights, table.variables, np.arange(table.n_patterns, dtype=np.int32), table.n
        )
        own = posterior(model, patterns, [name])[name]
        with np.errstate(divide="ignore"):
            relative = np.log(own) - np.log(model.table(0)[0])
        rows = np.maximum(log_likelihood_rows(model, patterns), np.log(SMALLEST) * len(model.variables))
        logs = np.maximum(relative, np.log(SMALLEST)) + rows[:, None]
        every: FloatArray = logs[self.pattern]
        return every

    @cached_property
    def _edges(self) -> list[FloatArray]:
        evidence = evidence_of(self.model, self.table)
        tree, theta = self.model.tree, self.model.parameters
        return Messages(tree, theta, evidence, n_rows=self.table.n_patterns, fill_leaves=True).conditionals

    @cached_property
    def _pattern_scores(self) -> list[tuple[IndexArray, FloatArray]]:
        tree, theta, out = self.model.tree, self.model.parameters, []
        for k in range(int(tree.cardinality[0])):
            at, _, values = _given_state(tree, 0, k, self._edges)
            _, rows = np.unique(self._row[at], return_inverse=True)
            sums = np.zeros((len(values), int(rows.max()) + 1))
            np.add.at(sums.T, rows, values.T)
            scores = values - sums[:, rows] * theta[at]
            kept = self._place[at] >= 0
            out.append((self._place[at[kept]].astype(np.int64), scores[:, kept]))
        return out

    def scores(self, k: int, rows: slice) -> tuple[IndexArray, FloatArray]:
        """Expected uses of each entry given the state, less what its probability says."""
        at, own = self._pattern_scores[k]
        return at, own[self.pattern[rows]]

    def complete(self, expected: FloatArray) -> FloatArray:
        """Zeros: only derivatives that the other parts share in are asked for."""
        return np.zeros((self.size, self.size))

    @property
    def held(self) -> NDArray[np.bool_]:
        """Log-odds of probabilities that are zero."""
        own: NDArray[np.bool_] = self.model.parameters[self._free] < BOUNDARY
        return own


class FirstStep:
    """A measurement part with its class sizes, and how uncertain both are.

    Parameters
    ----------
    point : Point
        Class sizes (a logit of the class without covariates) and measurement part, on all rows.
    sampling : Sampling
        How the rows were drawn.
    exact : bool
        Whether the information is found exactly; otherwise from the products of scores.
    """

    def __init__(self, point: Point, sampling: Sampling, *, exact: bool = True) -> None:
        self.point, self.sampling, self.exact = point, sampling, exact
        self.kept: dict[str, Any] = {}

    @property
    def measurement(self) -> Part:
        """The measurement part."""
        return self.point.parts[1]

    @property
    def sizes(self) -> FloatArray:
        """Sizes of the classes."""
        logit = self.point.parts[0]
        assert isinstance(logit, ClassLogit)
        sizes: FloatArray = logit.probabilities[0]
        return sizes

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.point.posterior.shape[1])

    @property
    def theta(self) -> slice:
        """Where the parameters of the measurement part are."""
        return slice(self.point.parts[0].size, self.point.size)

    @cached_property
    def _inverse(self) -> tuple[FloatArray, bool]:
        found = curvature(self.point)
        return inverse(found.information if self.exact else found.products, self.point.held)

    @property
    def regular(self) -> bool:
        """Whether the rows determine all parameters."""
        return self._inverse[1]

    @cached_property
    def influence(self) -> FloatArray:
        """By how much each row moves the estimates, [rows, parameters]."""
        return self.mean_scores @ self._inverse[0]

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the estimates."""
        return self.sampling.covariance(self.influence) if self.sampling.complex else self._inverse[0]

    @cached_property
    def mean_scores(self) -> FloatArray:
        """Derivative of each row's log-likelihood."""
        return self.point.row_scores()

    def centred(self, k: int) -> FloatArray:
        """Derivative of log P(class k | row), [rows, parameters]."""
        at, own = self.point.class_scores(k, slice(0, len(self.point.weights)))
        out = -self.mean_scores
        out[:, at] += own
        return out

    def entropy(self) -> float:
        """Relative entropy: 1 if all rows are classified surely, 0 if the rows say nothing of the class."""
        p, w = self.point.posterior, self.point.weights
        own = -float(w @ np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0).sum(axis=1))
        return 1.0 - own / (float(w.sum()) * float(np.log(self.n_classes))) if self.n_classes > 1 else 1.0


def item_tables(model: Model) -> FloatArray:
    """Probabilities of all answers in all classes of a latent class model, items in the order of the variables."""
    return np.hstack([model.table(v.name) for v in model.variables])


def measurement_of(model: Model, node: str, table: Table, pattern: IndexArray) -> tuple[Part, FloatArray, bool]:
    """The measurement part of a latent variable, its class sizes, and whether it is that of a latent class model."""
    if model.tree.is_star:
        cards = np.array([v.cardinality for v in model.variables], dtype=np.int64)
        return Items(ItemData(table.codes, pattern, cards), item_tables(model)), model.table(0)[0], True
    part = TreeItems(model, node, table, pattern)
    return part, part.model.table(0)[0], False


def first_step(part: Part, sizes: FloatArray, sampling: Sampling, *, exact: bool = True) -> FirstStep:
    """A measurement part on rows; see :class:`FirstStep`."""
    logs = np.log(np.maximum(sizes, SMALLEST))
    logit = ClassLogit(np.ones((len(sampling.weights), 1)), (logs - logs[0])[:, None])
    return FirstStep(Point([logit, part], sampling.weights), sampling, exact=exact)
