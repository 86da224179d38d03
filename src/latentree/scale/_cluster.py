"""Tables spread over the workers of a Dask cluster, and starts dealt out to them.

Everything on a worker is the result of tasks that begin at the data's own tasks, and nothing is sent there that is not
part of a task. So when a worker is lost, the scheduler makes what it had again on another, and the result is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._data import Data
from .._table import Table, row_keys
from .._types import FloatArray
from .._variables import Variable
from ..engine._plan import Passes, Plan
from ..errors import DataError, LatentreeError
from ..formats._asked import MISSING_TEXTS, check_options
from ._chunks import Bins, Raw, bytes_of, from_chunks, table_of_piece
from ._merge import Run, joined, table_of_rows
from ._partitions import Scattered

if TYPE_CHECKING:
    from .._model import Model

__all__ = ["Farmed", "Spread", "farm", "from_dask"]

T = TypeVar("T")

_SMALL = 100_000
"""Bytes of points that go out with every task; more are a task of their own."""


def from_dask(
    data: Any,
    *,
    client: Any = None,
    n_tables: int | None = None,
    memory: str | float = "2GB",
    variables: Sequence[Variable] | None = None,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    weights: str | None = None,
    bins: Bins = None,
    unseen: str = "error",
    missing: str | Collection[str] | None = MISSING_TEXTS,
    decimal: str = ".",
    merge_rare: float | None = None,
    keep_levels: bool = False,
    n: float | None = None,
) -> Data:
    """Build a table from a Dask DataFrame or array.

    Parameters
    ----------
    data : Dask DataFrame or array
        An array has a row for each observation; its columns are ``x1``, ``x2``, ...
    client : distributed.Client, optional
        The cluster. Default: the one that is connected; without any, the partitions are read one after another here.
    n_tables : int, optional
        Tables to spread the distinct rows over. Default: one for each thread of the cluster.
    memory : str or float
        If the distinct rows of all partitions take less than a quarter of this, they come here as one ordinary table.
    variables, columns, drop, weights, bins, unseen, missing, decimal, merge_rare, keep_levels, n
        As in :meth:`latentree.Table.from_frame`.

    Returns
    -------
    Data
        A :class:`~latentree.Table` if the distinct rows are few, otherwise a :class:`Spread`.
    """
    check_options(variables, bins, unseen, merge_rare, n)
    options: dict[str, Any] = {"weights": weights, "missing": missing, "decimal": decimal}
    parts = _parts(data)
    client = client or _connected()
    if client is None:
        return from_chunks(
            lambda: (part.compute(scheduler="sync") for part in parts), variables=variables, columns=columns, drop=drop,
            bins=bins, unseen=unseen, merge_rare=merge_rare, keep_levels=keep_levels, n=n, memory=memory, **options,
        )  # fmt: skip
    pieces = client.compute(parts)
    if variables is None:
        chosen = {"columns": columns, "drop": drop, "weights": weights, "decimal": decimal}
        found = client.map(_read, pieces, **chosen, pure=False)
        codings = Raw.joined(client.gather(found)).learned(
            missing=missing, decimal=decimal, bins=bins, merge_rare=merge_rare, keep_levels=keep_levels
        )
        variables = [coding.variable for coding in codings]
    coded = client.map(_coded, pieces, variables=tuple(variables), unseen=unseen, options=options, pure=False)
    sizes = client.gather(client.map(_size, coded, pure=False))
    if sum(sizes) <= bytes_of(memory) / 4:
        rows = [run for run in client.gather(coded) if len(run[1])]
        if not rows:
            raise DataError("All rows have weight zero.")
        codes, merged = joined(rows)
        return Table.from_codes(codes, variables, merged, n)
    n_jobs = sum(client.nthreads().values())
    return Spread.of(client, coded, tuple(variables), n_tables or max(n_jobs, 1), n)


class Spread(Scattered):
    """Data whose rows lie on the workers of a cluster.

    Make one with :func:`from_dask` or :meth:`latentree.Table.from_chunks`. Every distinct row is in one of its tables,
    found by a hash of its codes, so that a fit is that of the same rows in one place.
    """

    def __init__(
        self, client: Any, tables: Sequence[Any], variables: Sequence[Variable], n: float, weight: float, sizes: Any
    ) -> None:
        super().__init__(variables, n, weight, sizes)
        self._client, self._tables = client, list(tables)

    @classmethod
    def of(
        cls, client: Any, coded: Sequence[Any], variables: tuple[Variable, ...], n_tables: int, n: float | None = None
    ) -> Spread:
        """Deal out the rows that tasks hold to tables by their hash."""
        dealt = client.map(_dealt, coded, n_tables=n_tables, pure=False)
        shares = [client.map(_share, dealt, number=i, pure=False) for i in range(n_tables)]
        tables = [client.submit(_joined, own, variables, pure=False) for own in shares]
        found = client.gather(client.map(_size_and_weight, tables, pure=False))
        kept = [i for i, (size, _) in enumerate(found) if size]
        weight = float(sum(found[i][1] for i in kept))
        size = weight if n is None else float(n)
        return cls(client, [tables[i] for i in kept], variables, size, weight, [found[i][0] for i in kept])

    def map_parts(self, f: Callable[..., T], *more: Sequence[Any]) -> list[T]:
        """Call a function with every table, where that lies, and the items of further sequences that belong to it."""
        found: list[T] = self._client.gather(self._client.map(f, self._tables, *more, pure=False))
        return found

    def compiled(self, model: Model) -> Passes:
        """The tables compiled on their workers."""
        plans = self._client.map(_compiled, self._tables, model=model, pure=False)
        return _SpreadPlans(self._client, model, plans, self.weight)


class _SpreadPlans(Passes):
    """Plans on the workers: points go out, log-likelihoods and counts come back and are summed in order."""

    def __init__(self, client: Any, model: Model, plans: Sequence[Any], weight: float) -> None:
        self.tree, self.weight = model.tree, weight
        self._client, self._plans = client, plans

    def evaluate_batch(
        self, parameters: FloatArray, *, counts: bool = True, n_jobs: int = 1, lanes: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Log-likelihoods [sets] and expected counts [sets, size], summed over the workers."""
        point = parameters
        if parameters.nbytes > _SMALL:  # sent once, from worker to worker; as a task, so that it can be made again
            point = self._client.submit(np.asarray, parameters, pure=False)
        seen = self._client.map(_evaluated, self._plans, point=point, counts=counts, lanes=lanes, pure=False)
        log_likelihood, total = np.zeros(len(parameters)), np.zeros(parameters.shape)
        for found, own in self._client.gather(seen):
            log_likelihood += found
            if counts:
                total += own
        return log_likelihood, total


# ---- starts of a fit ---------------------------------------------------------------------------------------------


def farm(table: Table, *, client: Any = None) -> Farmed:
    """The same table, whose fits deal out their starts to the workers of a cluster.

    Every worker has a copy of the data. In each step of :func:`latentree.estimation.restart_em` the starts that still
    run are dealt out; the result is that of one process, to the last bit. It pays when a step of all starts takes much
    longer than a message: some hundredths of a second.

    Examples
    --------
    ``fit_classes(farm(table, client=client), 20, rng=rng, n_init=500)``
    """
    own = client or _connected()
    if own is None:
        raise LatentreeError("There is no cluster: connect to one with distributed.Client(...), or give client=.")
    return Farmed(own, table)


class Farmed(Table):
    """A table with copies on all workers; see :func:`farm`."""

    _client: Any

    def __init__(self, client: Any, table: Table) -> None:
        super().__init__(table.codes, table.weights, table.variables, table.inverse, table.n, table.row_weights)
        object.__setattr__(self, "_client", client)

    def compiled(self, model: Model) -> Passes:
        """The table compiled on every worker."""
        return _Copies(self._client, model, Table(self.codes, self.weights, self.variables, self.inverse, self.n))


class _Copies(Passes):
    """Copies of one plan; each gets some of the points."""

    def __init__(self, client: Any, model: Model, table: Table) -> None:
        self.tree, self.weight = model.tree, table.weight
        self._client = client
        self._own = Plan.of(model, table)
        workers = list(client.nthreads())
        self._plans = [
            client.submit(_compiled, table, model=model, workers=[w], allow_other_workers=True, pure=False)
            for w in workers
        ]

    def evaluate_batch(
        self, parameters: FloatArray, *, counts: bool = True, n_jobs: int = 1, lanes: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Log-likelihoods [sets] and expected counts [sets, size]; one worker's worth of them is done here."""
        shares = np.array_split(parameters, min(len(self._plans), len(parameters)))
        if len(shares) == 1:
            return self._own.evaluate_batch(parameters, counts=counts, n_jobs=n_jobs, lanes=lanes)
        seen = [
            self._client.submit(_evaluated, plan, point=share, counts=counts, lanes=lanes, pure=False)
            for plan, share in zip(self._plans, shares, strict=False)
        ]
        found = self._client.gather(seen)
        return np.concatenate([f for f, _ in found]), np.concatenate([c for _, c in found])


# ---- tasks -------------------------------------------------------------------------------------------------------


def _read(piece: Any, columns: Any, drop: Any, weights: str | None, decimal: str) -> Raw:
    raw = Raw(columns, drop, weights, decimal, most=None)
    if len(piece):
        raw.codes(piece)
    return raw


def _coded(piece: Any, variables: tuple[Variable, ...], unseen: str, options: Mapping[str, Any]) -> Run:
    table = table_of_piece(piece, variables, unseen, options, {})
    if table is None:
        return np.zeros((0, len(variables)), np.int16), np.zeros(0)
    return np.asarray(table.codes), np.asarray(table.weights)


def _size(run: Run) -> int:
    return run[0].nbytes + run[1].nbytes


def _dealt(run: Run, n_tables: int) -> list[Run]:
    codes, weights = run
    to = table_of_rows(codes, n_tables)
    return [(codes[to == i], weights[to == i]) for i in range(n_tables)]


def _share(dealt: list[Run], number: int) -> Run:
    return dealt[number]


def _joined(runs: Sequence[Run], variables: tuple[Variable, ...]) -> Table | None:
    some = [run for run in runs if len(run[1])]
    if not some:
        return None
    codes, weights = joined(some)
    order = np.argsort(row_keys(codes), kind="stable")
    return Table.from_codes(codes[order], variables, weights[order])


def _size_and_weight(table: Table | None) -> tuple[int, float]:
    return (0, 0.0) if table is None else (table.n_patterns, table.weight)


def _compiled(table: Table, model: Model) -> Plan:
    return Plan.of(model, table)


def _evaluated(plan: Plan, point: FloatArray, counts: bool, lanes: int) -> tuple[FloatArray, FloatArray]:
    return plan.evaluate_batch(point, counts=counts, lanes=lanes)


# ---- Dask --------------------------------------------------------------------------------------------------------


def _parts(data: Any) -> list[Any]:
    """The partitions of a DataFrame, or blocks of whole rows of an array, as delayed values."""
    if hasattr(data, "ndim") and hasattr(data, "rechunk"):
        if data.ndim != 2:
            raise DataError(f"An array of data must have rows and columns. Got {data.ndim} dimension(s).")
        return list(data.rechunk({1: -1}).to_delayed().ravel())
    return list(data.to_delayed())


def _connected() -> Any:
    """The cluster this process is connected to, if any."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None
