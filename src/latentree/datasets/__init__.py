"""Data sets to try things on, with source and licence, and generators of synthetic ones.

Small sets are part of the package. Larger ones, and those whose licence does not allow it, are read from a folder of
yours: pass ``data_dir`` or set the environment variable ``LATENTREE_DATA``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._registry import Registry, suggestion
from ..errors import DataError
from ._codebooks import Codebook, codebook_of

if TYPE_CHECKING:
    from .._model import Model
    from .._table import Table
    from ..formats._columns import Frame

__all__ = [
    "Codebook",
    "DataSet",
    "codebook",
    "describe",
    "generator",
    "load",
    "load_frame",
    "names",
    "read",
    "registry",
    "sample_from",
]

FOLDER_VARIABLE = "LATENTREE_DATA"

GENERATORS = Registry("name", {name: f"{name}_generator.json" for name in ("d7", "d12", "d18")})
"""Files of the latent trees that synthetic data are drawn from."""


@dataclass(frozen=True)
class DataSet:
    """What a data set is and where it comes from.

    Attributes
    ----------
    name, title : str
        What to load it by, and what it is about.
    rows, columns : int
        Number of cases (the sum of the weights) and of variables.
    source, licence, citation, changes : str
        Where it comes from, what one may do with it, what to cite, and what was changed.
    shipped : bool
        Whether it is part of the package.
    file : str
        Its file, in the package or below your data folder.
    weights : str or None
        The column that counts the cases.
    use : tuple of str
        The columns that are variables, if not all.
    header : bool
        Whether the file names its columns.
    """

    name: str
    title: str
    rows: int
    columns: int
    source: str
    licence: str
    citation: str
    changes: str
    shipped: bool
    file: str
    weights: str | None = None
    use: tuple[str, ...] = ()
    header: bool = True

    def __str__(self) -> str:
        return "\n".join(
            (
                f"{self.name}: {self.title} ({self.rows:,} x {self.columns})",
                f"Source: {self.source}",
                f"Licence: {self.licence}",
                f"Cite: {self.citation}",
                f"Changes: {self.changes}",
                *([f"Variables: {', '.join(self.use)}; other columns of the file are not used"] if self.use else []),
            )
        )


def names(*, shipped: bool = True) -> tuple[str, ...]:
    """Names of the data sets that are part of the package, or of those that are not.

    Examples
    --------
    >>> "carcinoma" in names(), "coil42" in names(shipped=False)
    (True, True)
    """
    return tuple(name for name, entry in registry().items() if entry.shipped == shipped)


def describe(name: str) -> DataSet:
    """Size, source, licence and citation of a data set.

    Examples
    --------
    >>> about = describe("carcinoma")
    >>> about.rows, about.columns
    (118, 7)
    """
    known = registry()
    if name not in known:
        raise DataError(
            "There is no data set '{name}'.{meant}",
            name=name,
            meant=suggestion(name, known) or f" There are {', '.join(names())}.",
        )
    return known[name]


def codebook(name: str) -> Codebook:
    """Return what the columns and values of a data set mean, as far as its published description says.

    Examples
    --------
    >>> book = codebook("voting")
    >>> book["crime"].text, list(book["crime"].values.values())
    ('Crime', ['no', 'yes'])
    """
    return codebook_of(describe(name).name)


def load(name: str, *, data_dir: str | os.PathLike[str] | None = None) -> Table:
    """Load a data set as a table.

    Parameters
    ----------
    name : str
        One of :func:`names`, or of ``names(shipped=False)``.
    data_dir : str or path, optional
        Folder with data sets that are not part of the package. Default: environment variable ``LATENTREE_DATA``.

    Examples
    --------
    >>> load("hiv_test")
    <Table: 428 rows, 9 distinct, 4 variables>
    """
    from ..formats._asked import MISSING_TEXTS
    from ..formats._coding import learn
    from ..formats._frame import code_columns, read_weights

    entry = describe(name)
    frame = read(name, data_dir=data_dir)
    weights = read_weights(frame.columns, entry.weights, frame.n_rows)
    chosen = entry.use or tuple(c for c in frame.columns if c != entry.weights)
    return code_columns(
        frame.columns, chosen, weights, lambda own, column: learn(own, column, weights, missing=MISSING_TEXTS)
    )


def load_frame(name: str, *, data_dir: str | os.PathLike[str] | None = None, backend: str = "pandas") -> Any:
    """Load all columns of a data set as a data frame, also those that :func:`load` leaves out.

    Parameters
    ----------
    name, data_dir
        As in :func:`load`.
    backend : {"pandas", "polars", "pyarrow"}
        Which library's data frame to make. Columns whose values do not come in the order of the alphabet are
        categories in their order, except in PyArrow, where they are text.

    Examples
    --------
    >>> frame = load_frame("icu")
    >>> frame["sta"].value_counts().to_dict()
    {'Lived': 160, 'Died': 40}
    """
    import narwhals as nw

    from ..formats._asked import MISSING_TEXTS
    from ..formats._coding import numbers_of
    from ..formats._columns import Column

    columns: dict[str, list[Any]] = {}
    orders: dict[str, list[str]] = {}
    for column, cells in read(name, data_dir=data_dir).columns.items():
        if cells.declared:
            columns[column] = cells.values().tolist()
            orders |= {column: list(cells.levels)} if list(cells.levels) != sorted(cells.levels) else {}
            continue
        texts = [None if str(level).strip() in MISSING_TEXTS else str(level).strip() for level in cells.levels]
        numbers = numbers_of([t for t in texts if t is not None])
        rest = iter(texts if numbers is None else numbers.tolist())
        levels = tuple(next(rest) if numbers is None or t is not None else None for t in texts)
        columns[column] = Column(cells.codes, levels).values().tolist()
    frame = nw.from_dict(columns, backend=backend)  # type: ignore[arg-type]
    if not frame.implementation.is_pyarrow():  # which narwhals cannot give categories in an order of their own
        frame = frame.with_columns(nw.col(column).cast(nw.Enum(own)) for column, own in orders.items())
    return frame.to_native()


def generator(name: str) -> Model:
    """Return the latent tree that a family of synthetic data sets was drawn from.

    Parameters
    ----------
    name : {"d7", "d12", "d18"}
        The family, by the number of its ternary leaves. The trees were made after the recipe of
        [ChenZhangWang] 4 and [Zhang2004] 5.1: one entry of every conditional distribution is above 0.6.

    Examples
    --------
    >>> generator("d7").tree.n_variables
    7
    """
    import json

    from .._model import Model
    from .._tree import Tree
    from .._variables import Variable

    file = GENERATORS.find(name, owner="generator")
    told = json.loads((_package_data() / file).read_text("utf-8"))
    latent = [f"Z{i + 1}" for i in range(len(told["latent_parent"]))]
    manifest = [f"X{i + 1}" for i in range(len(told["manifest_parent"]))]
    parents = [*told["latent_parent"], *told["manifest_parent"]]
    nodes = [*latent, *manifest]
    sizes = [*told["latent_cardinality"], *told["manifest_cardinality"]]
    edges = [(latent[p], child) for child, p in zip(nodes, parents, strict=True) if p >= 0]
    tree = Tree.from_edges(edges, dict(zip(nodes, sizes, strict=True)), manifest, root=latent[0])
    variables = [Variable(v, tuple(range(k))) for v, k in zip(manifest, told["manifest_cardinality"], strict=True)]
    tables = dict(zip(nodes, [*told["latent_cpt"], *told["manifest_cpt"]], strict=True))
    provenance = {"generator": name, "test_log_likelihood": told["test_loglik_of_generator"]}
    return Model.from_tables(tree, variables, tables, provenance=provenance)


def sample_from(name: str, n: int, seed: int) -> Table:
    """Draw rows from a generator.

    Parameters
    ----------
    name : {"d7", "d12", "d18"}
        The generator.
    n : int
        Number of rows.
    seed : int
        The same seed gives the same rows.

    Examples
    --------
    >>> sample_from("d7", 100, seed=0).n
    100.0
    """
    import numpy as np

    from ..infer import sample_table

    return sample_table(generator(name), n, np.random.default_rng(seed))


# ---- files -------------------------------------------------------------------------------------------------------


@cache
def registry() -> Registry[DataSet]:
    """Return all data sets by name, those that are part of the package first.

    Examples
    --------
    >>> "carcinoma" in registry()
    True
    """
    import json

    told = json.loads((resources.files(__name__) / "registry.json").read_text("utf-8"))
    entries = {
        name: DataSet(name=name, shipped=part == "shipped", **(entry | {"use": tuple(entry.get("use", ()))}))
        for part in ("shipped", "elsewhere")
        for name, entry in told[part].items()
    }
    return Registry("data set", entries)


def _package_data() -> Any:
    return resources.files(__name__) / "data"


def read(name: str, *, data_dir: str | os.PathLike[str] | None = None) -> Frame:
    """Read all columns of a data set, named and labelled by its codebook, before they are coded."""
    from ..formats._columns import Frame
    from ..formats._csv import read_csv

    entry = describe(name)
    with _path(entry, data_dir) as path:
        found = read_csv(path, header=entry.header)
    return Frame(codebook(name).applied(found.columns))


@contextmanager
def _path(entry: DataSet, data_dir: str | os.PathLike[str] | None) -> Iterator[Path]:
    if entry.shipped:
        with resources.as_file(_package_data() / entry.file) as path:
            yield path
        return
    folder = data_dir or os.environ.get(FOLDER_VARIABLE)
    if not folder:
        raise DataError(
            "The data set '{name}' is not part of the package (licence: {licence}). Put its file into a folder as "
            "{file}, and set the environment variable {variable} to that folder (in Python, or data_dir=).",
            name=entry.name,
            licence=entry.licence,
            file=entry.file,
            variable=FOLDER_VARIABLE,
        )
    path = Path(folder, entry.file)
    if not path.is_file():
        raise DataError(
            "The data set '{name}' should be in '{path}', which is not there. Check {variable} or data_dir=.",
            name=entry.name,
            path=path,
            variable=FOLDER_VARIABLE,
        )
    yield path
