"""The model without structure, which every tree is measured against."""

from __future__ import annotations

import math

import numpy as np

from .._model import Counts, Model
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..estimation import Fit, evaluate


def independent(table: Table) -> Fit:
    """All variables independent: one latent of one state. Counting is enough; no message is sent."""
    tree = Tree.star(1, table.cardinalities, table.names)
    counts = [_counts(table, i) for i in range(table.n_variables)]
    each = np.concatenate([[1.0], *map(_normalised, counts)])
    vector = np.concatenate([[float(table.weights.sum())], *counts])
    seen = vector > 0
    log_likelihood = math.fsum((vector[seen] * np.log(each[seen])).tolist())  # whatever the order of the columns
    known = Counts(vector, log_likelihood, float(vector[0]))
    return evaluate(Model(tree, table.variables, each), table, counts=known)


def shares(table: Table, i: int) -> FloatArray:
    """Shares of a variable's values in the data, uniform if none was seen."""
    return _normalised(_counts(table, i))


def _counts(table: Table, i: int) -> FloatArray:
    codes = table.codes[:, i]
    k = table.variables[i].cardinality
    # missing cells are counted first, and left out
    return np.bincount(codes.astype(np.intp) + 1, weights=table.weights, minlength=k + 1)[1:].astype(np.float64)


def _normalised(counts: FloatArray) -> FloatArray:
    total = counts.sum()
    return counts / total if total > 0 else np.full(len(counts), 1.0 / len(counts))
