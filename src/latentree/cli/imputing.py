"""What ``latentree impute`` writes: rows whose missing cells are filled, once or several times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._model import Model
from ..prediction import imputed
from .rows import free_name

if TYPE_CHECKING:
    from .stream import Piece, Reader

__all__ = ["completed"]


def completed(model: Model, reader: Reader, piece: Piece, copies: int | None, rng: np.random.Generator) -> Any:
    """Columns of the completed rows, copy by copy, and how many cells of each column were filled."""
    own = piece.frame.values()
    n, nodes = len(piece.table.inverse), model.tree.n_nodes
    # by row first, so that the size of the pieces changes nothing
    uniform = None if copies is None else rng.random((n, copies, nodes))
    empty = {v.name: _empty(own[v.name], reader.recipe.missing_codes) for v in model.variables}
    for copy in range(copies or 1):
        codes = imputed(model, piece.table, None if uniform is None else uniform[:, copy])
        columns: dict[str, Any] = {} if copies is None else {_copy_name(own): [copy + 1] * n}
        counted = {}
        columns |= own
        for i, variable in enumerate(model.variables):
            name = variable.name
            cells, at = list(own[name]), np.flatnonzero(empty[name] & (codes[:, i] >= 0))
            for row in at.tolist():
                cells[row] = variable.states[codes[row, i]]
            columns[name], counted[name] = cells, len(at)
        yield {name: ["" if x is None else x for x in cells] for name, cells in columns.items()}, counted


def _copy_name(own: dict[str, Any]) -> str:
    return free_name("copy", own)


def _empty(cells: list[Any], missing: frozenset[str]) -> Any:
    """Which cells hold nothing."""
    return np.array([x is None or x != x or str(x).strip() in missing for x in cells], dtype=bool)
