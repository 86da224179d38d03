"""Sizes and profiles as tidy tables: one estimate a row, with its standard error and interval, under its names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._information import Neighbours
from .._model import Model
from ..naming import latent_title, node_labels
from ..score import StandardErrors

__all__ = ["Columns", "framed", "profile_columns", "size_columns"]

Columns = dict[str, list[Any]]


def size_columns(model: Model, errors: StandardErrors | None = None, *, node: int | None = None) -> Columns:
    """The sizes of a latent variable's states.

    Returns
    -------
    dict of str to list
        ``class`` (or the name of the latent variable), ``estimate`` and, with errors, ``standard_error``, ``lower``
        and ``upper``, None where there is none.

    Examples
    --------
    >>> from latentree import datasets
    >>> found = size_columns(datasets.generator("d7"), node=0)
    >>> list(found), found["Z1"]
    (['Z1', 'estimate'], ['0', '1', '2'])
    """
    z = int(model.tree.latent_variables[0]) if node is None else node
    columns: Columns = {latent_title(model, z): list(node_labels(model, z)), "estimate": model.marginals()[z].tolist()}
    if errors is not None and z == 0:
        columns |= {name: _known(errors.table(0, what)[0]) for name, what in _PARTS}
    return columns


def profile_columns(model: Model, errors: StandardErrors | None = None, *, node: int | None = None) -> Columns:
    """P(answer | state) of the variables joined to a latent variable, or of all if it is the only one.

    Returns
    -------
    dict of str to list
        ``variable``, ``answer``, ``class`` (or the name of the latent variable), ``estimate`` and, with errors,
        ``standard_error``, ``lower`` and ``upper``, None where there is none.

    Examples
    --------
    >>> from latentree import datasets
    >>> found = profile_columns(datasets.generator("d7"), node=1)
    >>> list(found), sorted(set(found["variable"]))
    (['variable', 'answer', 'Z2', 'estimate'], ['X1', 'X2', 'X3'])
    """
    tree = model.tree
    z = int(tree.latent_variables[0]) if node is None else node
    own = [v for v in tree.neighbours(z) if tree.variable[v] >= 0]
    beside = sorted(own, key=lambda v: int(tree.variable[v]))
    given, states = Neighbours(model), node_labels(model, z)
    head = latent_title(model, z)
    columns: Columns = {name: [] for name in ("variable", "answer", head, "estimate")}
    parts: Columns = {name: [] for name, _ in _PARTS} if errors is not None else {}
    for v in beside:
        table = model.table(v) if int(tree.parent[v]) == z else given.across(z, v)
        known = errors is not None and v > 0 and int(tree.parent[v]) == z
        for j, answer in enumerate(node_labels(model, v)):
            for i, state in enumerate(states):
                columns["variable"].append(tree.names[v])
                columns["answer"].append(answer)
                columns[head].append(state)
                columns["estimate"].append(float(table[i, j]))
                for name, what in _PARTS if parts else ():
                    value = errors.table(v, what)[i, j] if known and errors is not None else np.nan
                    parts[name].append(float(value) if np.isfinite(value) else None)
    return columns | parts


_PARTS: tuple[tuple[str, Any], ...] = (("standard_error", "errors"), ("lower", "lower"), ("upper", "upper"))


def _known(values: Any) -> list[float | None]:
    return [float(x) if np.isfinite(x) else None for x in values]


def framed(columns: Mapping[str, list[Any]], backend: str = "pandas") -> Any:
    """Columns as a data frame of pandas, Polars or PyArrow."""
    import narwhals as nw

    return nw.from_dict(dict(columns), backend=backend).to_native()  # type: ignore[arg-type]
