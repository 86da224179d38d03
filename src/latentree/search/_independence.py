"""The model without structure, which every tree is measured against."""

from __future__ import annotations

import numpy as np

from .._model import Model
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..estimation import Fit, evaluate


def independent(table: Table) -> Fit:
    """All variables independent: one latent of one state."""
    tree = Tree.star(1, table.cardinalities, table.names)
    each = [shares(table, i) for i in range(table.n_variables)]
    return evaluate(Model(tree, table.variables, np.concatenate([[1.0], *each])), table)


def shares(table: Table, i: int) -> FloatArray:
    """Shares of a variable's values in the data, uniform if none was seen."""
    seen = table.codes[:, i] >= 0
    k = table.variables[i].cardinality
    counts = np.bincount(table.codes[seen, i], weights=table.weights[seen], minlength=k)
    return counts / counts.sum() if seen.any() else np.full(k, 1.0 / k)
