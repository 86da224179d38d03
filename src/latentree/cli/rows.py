"""The input rows with what a model says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from ..formats._cells import Cells
    from ..formats._columns import Frame

__all__ = ["assigned", "free_name", "header", "joined", "weighed"]

DECIMALS = 6


def header(frame: Frame) -> list[str]:
    """Return the names of the columns of :func:`weighed`."""
    names = list(frame.columns)
    return names if frame.weights is None else [*names, free_name("weight", names)]


def weighed(frame: Frame) -> dict[str, Cells]:
    """Return all columns as they came, and the weights if the file had them beside the columns."""
    from ..formats._cells import cells_of, weight_cells

    columns = cells_of(frame)
    if frame.weights is not None:
        columns[header(frame)[-1]] = weight_cells(frame.weights)
    return columns


def assigned(model: Model, table: Table) -> dict[str, Cells]:
    """Return the most probable class of each input row, and the probability of every class.

    A model of one latent node has columns ``class``, ``p_class0``, ``p_class1``, ...; one of several, for each of
    them, ``name``, ``p_name_0``, ... Cells are empty in rows of weight zero and rows that the model cannot produce.
    """
    from ..formats._columns import Column
    from ..infer import posterior
    from ..naming import assignment_columns

    columns: dict[str, Cells] = {}
    for label, states, levels, probabilities in assignment_columns(posterior(model, table), model):
        columns[label] = Column(states, levels)
        columns |= {name: np.round(p, DECIMALS) for name, p in probabilities.items()}
    return columns


def joined(own: Mapping[str, Cells], added: Mapping[str, Cells]) -> dict[str, Cells]:
    """Append columns, renaming those whose name is taken."""
    out = dict(own)
    for name, cells in added.items():
        out[free_name(name, (*out, *added) if name in own else out)] = cells
    return out


def free_name(name: str, taken: Iterable[str]) -> str:
    """Add underscores to a name until it is free."""
    known = set(taken)
    while name in known:
        name += "_"
    return name
