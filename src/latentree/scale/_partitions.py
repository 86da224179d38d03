"""A table in several: distinct rows that do not fit into memory together."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from .._data import Data
from .._table import Table, row_keys
from .._types import FloatArray
from .._variables import Variable
from ..errors import DataError, bad_parameter
from ._folder import Manifest, Part, damaged, part_files, read_part, write_part
from ._merge import Codes, Run, distinct, table_of_rows

if TYPE_CHECKING:
    from .._model import Model
    from ..engine._plan import Passes

__all__ = ["Partitions", "Scattered"]

T = TypeVar("T")


class Scattered(Data):
    """Data whose rows lie in several tables, none of which holds a row of another.

    It goes wherever only sums over rows are needed: :func:`latentree.estimate`, :func:`latentree.fit_classes`, most
    scores. What needs all rows at once says so.

    Attributes
    ----------
    variables, n
        As those of any :class:`~latentree.Data`.
    sizes : tuple of int
        Distinct rows of each of the tables.
    """

    def __init__(self, variables: Sequence[Variable], n: float, weight: float, sizes: Sequence[int]) -> None:
        self.variables, self.n, self._weight = tuple(variables), float(n), float(weight)
        self.sizes = tuple(int(s) for s in sizes)

    @property
    def weight(self) -> float:
        """Sum of the weights, which is ``n`` unless the sample size was given."""
        return self._weight

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows."""
        return sum(self.sizes)

    def __getattr__(self, name: str) -> NoReturn:
        """Say what to do where a table in memory is needed, if a caller's types have not said so before."""
        if name not in ("codes", "weights", "inverse", "select", "reweighted", "ordered"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        message = (
            "This needs all {n_patterns:,} distinct rows at once, but they lie in {n_tables} tables, because they did "
            "not fit into the memory allowed. Take a sample, table.sample(100_000, rng), or, if they fit now, "
            "table.joined()."
        )
        raise DataError(message, n_patterns=self.n_patterns, n_tables=len(self.sizes))

    def joined(self) -> Table:
        """All rows in one table."""
        parts = self.map_parts(_content)
        codes, weights = np.vstack([c for c, _ in parts]), np.concatenate([w for _, w in parts])
        return Table.from_codes(codes, self.variables, weights, self.n).without_order()

    def sample(self, n: int, rng: np.random.Generator) -> Table:
        """Draw rows with replacement, each with the probability that its weight gives it."""
        if int(n) != n or n < 1:
            raise bad_parameter("n", "sample", "a whole number of at least 1", n)
        totals = np.array(self.map_parts(lambda table: table.weight))
        counts = rng.multinomial(int(n), totals / totals.sum())
        seeds = rng.integers(2**63, size=len(counts))
        drawn = [d for d in self.map_parts(_drawn, counts.tolist(), seeds.tolist()) if len(d[1])]
        codes, weights = np.vstack([c for c, _ in drawn]), np.concatenate([w for _, w in drawn])
        return Table.from_codes(codes, self.variables, weights).without_order()

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {self.n:g} rows, {self.n_patterns} distinct, {self.n_variables} variables, "
            f"{len(self.sizes)} tables>"
        )


def _content(table: Table) -> Run:
    return np.asarray(table.codes), np.asarray(table.weights)


def _drawn(table: Table, n: int, seed: int) -> Run:
    counts = np.random.default_rng(seed).multinomial(n, table.weights / table.weights.sum())
    return np.asarray(table.codes[counts > 0]), counts[counts > 0].astype(np.float64)


class Partitions(Scattered):
    """Tables in a folder, each read when it is needed.

    Make one with :meth:`latentree.Table.from_chunks`, and open it again with :meth:`open`. Every distinct row is in one
    table, found by a hash of its codes, so that data that say the same give the same partitions.

    Parameters
    ----------
    folder : path
        Where they lie.
    memory : float
        Bytes that compiled plans of a model may take; what does not fit is compiled again for each pass.
    temporary : bool
        Whether the folder is removed when this table is no longer needed.
    """

    def __init__(self, folder: Path, manifest: Manifest, *, memory: float = 1e9, temporary: bool = False) -> None:
        super().__init__(manifest.variables, manifest.n, manifest.weight, [part.size for part in manifest.parts])
        self.folder, self.memory = folder, float(memory)
        self._parts = manifest.parts
        self._checked: set[int] = set()
        if temporary:
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def load(self, i: int) -> Table:
        """Table number i; its codes stay on the disk until they are looked at.

        When it is read for the first time its files are compared with their checksums.
        """
        codes, weights = read_part(self.folder, i, self._parts[i], self.variables, check=i not in self._checked)
        self._checked.add(i)
        return Table._made(codes, weights, self.variables, np.arange(len(weights), dtype=np.int32), None)

    def map_parts(self, f: Callable[..., T], *more: Sequence[Any]) -> list[T]:
        """Call a function with every table, and the items of further sequences that belong to it."""
        return [f(self.load(i), *items) for i, items in enumerate(_beside(more, len(self.sizes)))]

    def compiled(self, model: Model) -> Passes:
        """The tables compiled for passes with the structure of a model."""
        from ..engine._plans import Plans

        return Plans(model, self.load, len(self.sizes), weight=self.weight, memory=self.memory)

    @classmethod
    def write(
        cls,
        runs: Iterable[Run],
        folder: str | os.PathLike[str] | None,
        variables: Sequence[Variable],
        *,
        n_tables: int,
        n: float | None = None,
        memory: float = 1e9,
    ) -> Partitions:
        """Deal out rows to tables by their hash, merge equal ones, and write them to a folder of their own."""
        place = Path(tempfile.mkdtemp(prefix="latentree-")) if folder is None else new_folder(folder)
        try:
            parts, total = _written(runs, place, len(variables), n_tables)
        except BaseException:
            if folder is None:
                shutil.rmtree(place, ignore_errors=True)
            raise
        manifest = Manifest(tuple(variables), parts, total if n is None else float(n), total)
        manifest.write(place)
        return cls(place, manifest, memory=memory, temporary=folder is None)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, memory: float = 1e9) -> Partitions:
        """Open the partitions that an earlier run left in a folder.

        What the folder says of itself is checked at once, as is that all files are there; the files themselves are
        compared with their checksums when they are first read.
        """
        manifest = Manifest.read(Path(folder))
        for i in range(len(manifest.parts)):
            for file in part_files(Path(folder), i):
                if not file.is_file():
                    raise damaged(file, "the file is missing")
        return cls(Path(folder), manifest, memory=memory)


def _written(runs: Iterable[Run], place: Path, width: int, n_tables: int) -> tuple[tuple[Part, ...], float]:
    """Deal out rows to files, and merge each; the tables that are not empty, and the weight of all rows."""
    for codes, weights in runs:
        to = table_of_rows(codes, n_tables)
        for i in np.unique(to).tolist():
            _append(place / f"raw-{i:05d}", codes[to == i], weights[to == i])
    parts: list[Part] = []
    total = 0.0
    for i in range(n_tables):
        codes, weights = _taken(place / f"raw-{i:05d}", width)
        if len(weights) == 0:
            continue
        order = np.argsort(row_keys(codes), kind="stable")
        parts.append(write_part(place, len(parts), codes[order], weights[order]))
        total += float(weights.sum())
    return tuple(parts), total


def _beside(more: Sequence[Sequence[Any]], n: int) -> Iterator[tuple[Any, ...]]:
    return zip(*more, strict=True) if more else iter([()] * n)


def new_folder(folder: str | os.PathLike[str]) -> Path:
    """Make a folder for partitions, which must be new or empty."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    kept = [file.name for file in place.iterdir()]
    if kept:
        raise DataError(f"'{place}' is not empty (it holds '{kept[0]}'). Give a new folder for the partitions.")
    return place


def _append(stem: Path, codes: Codes, weights: FloatArray) -> None:
    with open(f"{stem}-codes.bin", "ab") as file:
        file.write(np.ascontiguousarray(codes).tobytes())
    with open(f"{stem}-weights.bin", "ab") as file:
        file.write(np.ascontiguousarray(weights).tobytes())


def _taken(stem: Path, width: int) -> Run:
    """Rows of a raw partition, merged; the raw files are gone then."""
    files = [Path(f"{stem}-codes.bin"), Path(f"{stem}-weights.bin")]
    if not files[0].exists():
        return np.zeros((0, width), np.int16), np.zeros(0)
    found = distinct(np.fromfile(files[0], dtype=np.int16).reshape(-1, width), np.fromfile(files[1]))
    for file in files:
        file.unlink()
    return found
