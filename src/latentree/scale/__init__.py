"""Data beyond the memory of one machine: tables in pieces, counted by a database, or spread over a cluster."""

from __future__ import annotations

from ._chunks import from_chunks, read_pieces
from ._cluster import Spread, farm, from_dask
from ._partitions import Partitions, Scattered
from ._predict import assign, posteriors

__all__ = [
    "Partitions",
    "Scattered",
    "Spread",
    "assign",
    "farm",
    "from_chunks",
    "from_dask",
    "posteriors",
    "read_pieces",
]
