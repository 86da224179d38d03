"""What a model says: posteriors, queries, log-likelihood of rows, and samples."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._model import Model
from ._table import Table
from ._types import FloatArray
from ._variables import KnownStates, State
from .engine._plan import Evidence, Plan, evidence_of
from .errors import DataError, ModelError, ParameterError, bad_parameter

__all__ = [
    "find_node",
    "find_state",
    "log_likelihood_rows",
    "pair_posterior",
    "posterior",
    "predict",
    "query",
    "sample",
    "sample_table",
]

Columns = dict[int, Evidence]  # what is known of each node, one column a node

CLASS = "class"
"""What people call the only latent variable of a latent class model; its states go by ``class0``, ``class1``, ..."""

MAX_CELLS = 10**8
"""Largest joint table a query returns."""

BLOCK = 2**18
"""Rows drawn at a time; what is drawn does not depend on it."""

FEW_STATES = 16
"""Up to this many states, a draw compares with every threshold; above, it sorts by the parent and bisects."""


# ---- rows of a table --------------------------------------------------------------------------------------


def log_likelihood_rows(model: Model, table: Table, *, ignore: Sequence[str] = ()) -> FloatArray:
    """Log-probability of every input row.

    Parameters
    ----------
    model : Model
        The model.
    table : Table
        The data; missing cells are summed out.
    ignore : sequence of str, optional
        Variables to treat as missing throughout.

    Returns
    -------
    array of float [input rows]
        In the order of the rows the table was built from; ``nan`` for rows of weight zero, ``-inf`` for rows that
        the model cannot produce.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree._variables import numbered
    >>> tables = {"z": [0.5, 0.5], "x1": [[1, 0], [0.5, 0.5]], "x2": [[1, 0], [0.5, 0.5]]}
    >>> model = Model.from_tables(Tree.star(2, [2, 2]), numbered([2, 2]), tables)
    >>> np.exp(log_likelihood_rows(model, Table.from_codes([[0, 0], [1, -1]], model.variables))).tolist()
    [0.625, 0.25]
    """
    columns = _columns_of(model, table, ignore)
    return _by_row(_log_likelihood(model, columns, table.n_patterns), table)


def posterior(
    model: Model, table: Table, nodes: Sequence[str] | str | None = None, *, ignore: Sequence[str] = ()
) -> dict[str, FloatArray]:
    """P(node | row) for every input row.

    Parameters
    ----------
    model : Model
        The model.
    table : Table
        The data.
    nodes : sequence of str, optional
        Which nodes, latent or manifest. Default: all latent ones but the cuts, which have one state. A manifest
        variable seen in a row is certain there; put it into ``ignore`` to predict it from the others.
    ignore : sequence of str, optional
        Variables to treat as missing throughout.

    Returns
    -------
    dict of str to array of float [input rows, states]
        ``nan`` for rows of weight zero and rows that the model cannot produce.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree._variables import numbered
    >>> tables = {"z": [0.5, 0.5], "x1": [[1, 0], [0.5, 0.5]], "x2": [[1, 0], [0.5, 0.5]]}
    >>> model = Model.from_tables(Tree.star(2, [2, 2]), numbered([2, 2]), tables)
    >>> posterior(model, Table.from_codes([[0, 0], [1, 0]], model.variables))["z"].tolist()
    [[0.8, 0.2], [0.0, 1.0]]
    """
    asked = _asked(model, model.tree.latent_variables if nodes is None else nodes)
    if len(ignore) or not asked:
        parts = _posteriors(model, _columns_of(model, table, ignore), table.n_patterns, asked)
        return {model.tree.names[v]: _by_row(p, table) for v, p in zip(asked, parts, strict=True)}
    rows = Plan.of(model, table).posteriors(model.parameters, asked, table.inverse)
    return {model.tree.names[v]: p for v, p in zip(asked, rows, strict=True)}


def pair_posterior(model: Model, table: Table, a: str | int, b: str | int, *, ignore: Sequence[str] = ()) -> FloatArray:
    """P(a, b | row) for every input row and any two nodes, neighbours or not.

    Parameters
    ----------
    model : Model
        The model.
    table : Table
        The data.
    a, b : str or int
        Two different nodes.
    ignore : sequence of str, optional
        Variables to treat as missing throughout.

    Returns
    -------
    array of float [input rows, states of a, states of b]
        ``nan`` for rows of weight zero and rows that the model cannot produce.
    """
    first, second = _asked(model, (a, b))
    columns = _columns_of(model, table, ignore)
    # Rows are multiplied by the states of the first node only.
    if model.tree.cardinality[first] <= model.tree.cardinality[second]:
        return _by_row(_joint(model, columns, table.n_patterns, (first, second)), table)
    turned = _joint(model, columns, table.n_patterns, (second, first))
    return _by_row(np.ascontiguousarray(turned.transpose(0, 2, 1)), table)


def predict(
    model: Model, table: Table, nodes: Sequence[str] | str | None = None, *, ignore: Sequence[str] = ()
) -> dict[str, NDArray[np.int32]]:
    """Give the most probable state of each node in every input row.

    Parameters
    ----------
    model, table, nodes, ignore
        As in :func:`posterior`.

    Returns
    -------
    dict of str to array of int [input rows]
        Codes of states, the first where several are equally probable; -1 where :func:`posterior` gives ``nan``.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree._variables import numbered
    >>> tables = {"z": [0.5, 0.5], "x1": [[1, 0], [0.5, 0.5]], "x2": [[1, 0], [0.5, 0.5]]}
    >>> model = Model.from_tables(Tree.star(2, [2, 2]), numbered([2, 2]), tables)
    >>> predict(model, Table.from_codes([[0, 0], [1, 0]], model.variables))["z"].tolist()
    [0, 1]
    """
    return {name: _most_probable(p) for name, p in posterior(model, table, nodes, ignore=ignore).items()}


def _most_probable(p: FloatArray) -> NDArray[np.int32]:
    known = ~np.isnan(p).any(axis=1)
    states = np.full(len(p), -1, dtype=np.int32)
    states[known] = p[known].argmax(axis=1)
    return states


def _by_row(per_pattern: FloatArray, table: Table) -> FloatArray:
    out = per_pattern[table.inverse]
    out[table.inverse < 0] = np.nan
    return out


def _asked(model: Model, nodes: Iterable[str | int] | str) -> list[int]:
    asked = [find_node(model, v) for v in ([nodes] if isinstance(nodes, str) else nodes)]
    if len(set(asked)) < len(asked):
        twice = next(v for v in asked if asked.count(v) > 1)
        raise ParameterError(f"The variable '{model.tree.names[twice]}' is asked for twice.")
    return asked


def _columns_of(model: Model, table: Table, ignore: Sequence[str]) -> Columns:
    columns = {e.node: e for e in evidence_of(model, table)}
    for name in [ignore] if isinstance(ignore, str) else ignore:
        columns[model.tree.node(name)] = _unknown(model.tree.node(name), table.n_patterns)
    return columns


# ---- queries ----------------------------------------------------------------------------------------------


def query(model: Model, ask: str | Sequence[str], given: Mapping[str, Any] | None = None) -> FloatArray:
    """P(ask | given).

    Parameters
    ----------
    model : Model
        The model.
    ask : str or sequence of str
        A variable, latent or manifest, or several. ``"class"`` is the latent variable of a latent class model, unless
        a variable has that name.
    given : mapping, optional
        What is known, variable by variable: a state; ``None`` for nothing; or an array with one likelihood for each
        state, which need not sum to one. The states of a latent variable are 0, 1, ..., those of a latent class model
        also ``"class0"``, ``"class1"``, ... A number will do for a variable that was cut into bins, and ``"4"`` for 4
        if it is no state itself.

    Returns
    -------
    array of float
        One axis for each variable asked, in that order, states in the order of ``model.states(name)``.

    Raises
    ------
    ModelError
        For a variable that the model does not have.
    DataError
        For a state that the variable does not have, and for evidence of probability zero.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree import Variable
    >>> smokes, coughs = Variable("smokes", ("no", "yes")), Variable("coughs", ("no", "yes"))
    >>> tables = {"z": [0.75, 0.25], "smokes": [[1, 0], [0.2, 0.8]], "coughs": [[0.9, 0.1], [0.5, 0.5]]}
    >>> model = Model.from_tables(Tree.star(2, [2, 2], ["smokes", "coughs"]), [smokes, coughs], tables)
    >>> query(model, "coughs", {"smokes": "yes"}).tolist()
    [0.5, 0.5]
    >>> query(model, ["z", "smokes"]).round(3).tolist()
    [[0.75, 0.0], [0.05, 0.2]]
    """
    asked = _asked(model, ask)
    if not asked:
        raise bad_parameter("ask", "query", "a variable or several", ask)
    cells = math.prod(int(model.tree.cardinality[v]) for v in asked)
    if cells > MAX_CELLS:
        raise ParameterError(f"The joint table asked for has {cells:,} cells; at most {MAX_CELLS:,} are computed.")
    if given is not None and not isinstance(given, Mapping):
        raise bad_parameter("given", "query", "a mapping of variables to states, such as {'cough': 'yes'}", given)
    columns: Columns = {}
    for name, value in (given or {}).items():
        if value is not None:
            v = find_node(model, name)
            columns[v] = _known(model, v, value)
    answer: FloatArray = _joint(model, columns, 1, asked)[0]
    if np.isnan(answer).any():
        raise DataError(
            f"The evidence {dict(given or {})!r} has probability zero under the model. Leave something out, or use a "
            "model fitted with a prior, whose probabilities are all above zero."
        )
    return answer


def _known(model: Model, v: int, value: Any) -> Evidence:
    if isinstance(value, np.ndarray | list | tuple) and np.ndim(value) > 0:
        return _soft(model, v, value)
    return _hard(v, find_state(model, v, value), 1)


def find_node(model: Model, name: str | int) -> int:
    """Position of a node that a user names.

    Parameters
    ----------
    model : Model
        The model.
    name : str or int
        The variable's name, ``"class"`` for the latent variable of a latent class model, or a position.

    Raises
    ------
    ModelError
        When there is none; similar names are suggested.
    """
    names = model.tree.names
    if not isinstance(name, str) or name in names:
        return model.tree.node(name)
    if name == CLASS and model.tree.is_star:
        return 0
    known = (CLASS, *names[1:]) if model.tree.is_star and CLASS not in names else names
    raise ModelError(f"There is no variable '{name}'. {_meant(name, known) or f'There are {_some(known)}.'}")


def find_state(model: Model, node: str | int, value: Any) -> int:
    """Code of the state that a value stands for; see :func:`query` for what may be given.

    Raises
    ------
    DataError
        When it is no state of the variable; similar ones are suggested.
    """
    v = find_node(model, node)
    i = int(model.tree.variable[v])
    code = _latent_code(model, v, value) if i < 0 else _manifest_code(model, i, value)
    if code is None:
        raise _no_state(model, v, value)
    return code


def _no_state(model: Model, v: int, value: Any) -> DataError:
    name, states = model.tree.names[v], model.states(v)
    if model.tree.variable[v] < 0:
        given = [repr(own) for own in model.state_names(v) if own is not None]
        called = f", also called {', '.join(given)}" if given else ""
        title, last = CLASS if model.tree.is_star and CLASS not in model.tree.names else name, len(states) - 1
        return DataError(f"Latent variable '{title}' has no state {value!r}. Its states are 0 to {last}{called}.")
    meant = _meant(value, states)
    return DataError(f"Variable '{name}' has no state {value!r}. {meant or f'It has {_some(states)}.'}")


def _manifest_code(model: Model, i: int, value: Any) -> int | None:
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | bool | int | float):
        return None
    return KnownStates(model.variables[i]).code(plain, untyped=True)


def _latent_code(model: Model, v: int, value: Any) -> int | None:
    if isinstance(value, str):
        text = value.strip().lower()
        given = [None if name is None else name.lower() for name in model.state_names(v)]
        if text in given:
            return given.index(text)
        text = text.removeprefix(CLASS) if model.tree.is_star else text
        value = int(text) if text.isascii() and text.isdecimal() else None
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return int(value) if whole and 0 <= value < model.tree.cardinality[v] else None


def _meant(given: object, known: Sequence[State]) -> str:
    """Say what may have been meant, nothing if nothing is similar."""
    texts = {str(s): s for s in known}
    close = [s for t, s in texts.items() if t.lower() == str(given).strip().lower()]
    close = close or [texts[t] for t in difflib.get_close_matches(str(given), texts, n=2, cutoff=0.7)]
    return f"Did you mean {' or '.join(map(repr, close))}?" if close else ""


def _some(known: Sequence[State], most: int = 12) -> str:
    return ", ".join(map(repr, known[:most])) + (", ..." if len(known) > most else "")


def _soft(model: Model, v: int, value: Any) -> Evidence:
    k, name = int(model.tree.cardinality[v]), model.tree.names[v]
    try:
        likelihood = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"Evidence on '{name}': likelihoods must be numbers. Got {value!r}.") from None
    if likelihood.shape != (k,):
        raise DataError(f"Evidence on '{name}': it needs {k} likelihoods, one a state. Got shape {likelihood.shape}.")
    if not (np.isfinite(likelihood) & (likelihood >= 0)).all() or not likelihood.any():
        raise DataError(f"Evidence on '{name}': likelihoods must be finite, at least 0 and not all 0. Got {value!r}.")
    return Evidence(v, np.zeros(1, dtype=np.int32), (likelihood / likelihood.max())[None, :])


# ---- the mechanism: one column of evidence a node, and the chain rule --------------------------------------


def _hard(v: int, code: int, n_rows: int) -> Evidence:
    return Evidence(v, np.full(n_rows, code, dtype=np.int32))


def _unknown(v: int, n_rows: int) -> Evidence:
    return _hard(v, -1, n_rows)


def _plan(model: Model, columns: Columns, n_rows: int) -> Plan:
    return Plan(model.tree, list(columns.values()), np.ones(n_rows))


def _log_likelihood(model: Model, columns: Columns, n_rows: int) -> FloatArray:
    return _plan(model, columns, n_rows).row_log_likelihood(model.parameters)


def _posteriors(model: Model, columns: Columns, n_rows: int, nodes: Sequence[int]) -> list[FloatArray]:
    # Rows that the model cannot produce come back as nan.
    return _plan(model, columns, n_rows).posteriors(model.parameters, nodes) if nodes else []


def _joint(model: Model, columns: Columns, n_rows: int, nodes: Sequence[int]) -> FloatArray:
    """P(nodes | row) by the chain rule, P(a) P(b | a) P(c | a, b) ..., each factor one pass.

    What is conditioned on enters as evidence, so every factor is a posterior, of order one however improbable the row.
    Cells of probability zero are not followed further.
    """
    states = [int(model.tree.cardinality[v]) for v in nodes]
    row = np.arange(n_rows)  # of the data, for each combination followed
    cell = np.arange(n_rows)
    p = np.ones(n_rows)
    known = dict(columns)
    for v, k in zip(nodes, states, strict=True):
        (conditional,) = _posteriors(model, known, len(row), (v,))
        wide = p[:, None] * conditional
        followed = np.flatnonzero(wide.ravel() != 0)  # nan too: an impossible row stays impossible
        from_, code = np.divmod(followed, k)
        row, p = row[from_], wide.ravel()[followed]
        cell = cell[from_] * k + code
        known = {u: Evidence(u, e.ids[from_], e.likelihood, e.log_scale) for u, e in known.items()}
        # Replaces evidence on v itself: of states it rules out none is followed, the rest is fixed now.
        known[v] = Evidence(v, code.astype(np.int32))
    out = np.zeros(n_rows * math.prod(states))
    out[cell] = p
    return out.reshape(n_rows, *states)


# ---- samples ----------------------------------------------------------------------------------------------


def sample(model: Model, n: int, rng: np.random.Generator, *, latent: bool = False) -> NDArray[np.int16]:
    """Draw rows of codes.

    Parameters
    ----------
    model : Model
        The model.
    n : int
        How many rows.
    rng : numpy.random.Generator
        Source of randomness: one number a node and row, node by node.
    latent : bool, default False
        Whether to add the latent nodes but the cuts, after the variables, in the order of the tree.

    Returns
    -------
    int16 array [n, variables], column-major
        States of the variables (and latent nodes) by position.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree._variables import numbered
    >>> rng = np.random.default_rng(0)
    >>> model = Model.random(Tree.star(2, [2, 3]), numbered([2, 3]), rng)
    >>> sample(model, 5, rng).shape, sample(model, 5, rng, latent=True).shape
    ((5, 2), (5, 3))
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise bad_parameter("n", "sample", "a whole number of at least 0", n)
    tree = model.tree
    if tree.cardinality.max() > np.iinfo(np.int16).max:
        raise ModelError(f"Nodes of more than {np.iinfo(np.int16).max:,} states cannot be sampled.")
    order = [int(v) for v in (*tree.manifest, *(tree.latent_variables if latent else ()))]
    out = np.empty((n, len(order)), dtype=np.int16, order="F")
    columns: list[NDArray[np.int16]] = [np.empty(0, dtype=np.int16)] * tree.n_nodes
    for i, v in enumerate(order):
        columns[v] = out[:, i]
    for v in range(tree.n_nodes):
        if len(columns[v]) != n:
            columns[v] = np.empty(n, dtype=np.int16)
        thresholds = _thresholds(model.table(v))
        for start in range(0, n, BLOCK):
            part = slice(start, start + BLOCK)
            u = rng.random(len(columns[v][part]))
            columns[v][part] = _draw(thresholds, columns[tree.parent[v]][part] if v else None, u)
    return out


def sample_table(model: Model, n: int, rng: np.random.Generator) -> Table:
    """Draw rows as a table over the model's variables.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree._variables import numbered
    >>> rng = np.random.default_rng(0)
    >>> sample_table(Model.random(Tree.star(2, [2, 3]), numbered([2, 3]), rng), 1000, rng)
    <Table: 1000 rows, 6 distinct, 2 variables>
    """
    return Table.from_codes(sample(model, n, rng), model.variables)


def _thresholds(table: FloatArray) -> FloatArray:
    """Cumulative probabilities of each row without the last."""
    cumulative = np.cumsum(table, axis=1)
    # Divided by the sum as it was rounded: the last state that can occur ends at exactly one, which no draw reaches,
    # so that states of probability zero after it are never drawn.
    return cumulative[:, :-1] / cumulative[:, -1:]


def _draw(thresholds: FloatArray, parent: NDArray[np.int16] | None, u: FloatArray) -> NDArray[np.int16]:
    if parent is None:
        return np.searchsorted(thresholds[0], u, side="right").astype(np.int16)
    n_thresholds = thresholds.shape[1]
    out = np.zeros(len(u), dtype=np.int16)
    if n_thresholds < FEW_STATES:
        for column in np.ascontiguousarray(thresholds.T):
            out += u >= column.take(parent)
        return out
    order = np.argsort(parent, kind="stable")
    ends = np.searchsorted(parent[order], np.arange(len(thresholds) + 1))
    for row, a, b in zip(thresholds, ends[:-1], ends[1:], strict=True):
        here = order[a:b]
        out[here] = np.searchsorted(row, u[here], side="right")
    return out
