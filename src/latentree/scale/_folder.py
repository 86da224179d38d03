"""The files of partitions in a folder: two arrays for each table, and a manifest that says what they must be.

Nothing that is read is trusted: the manifest has a checksum of itself and of every file, and what has passed that is
still compared with the sizes, types and ranges it must have. All that does not fit is a FileFormatError that names the
file.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._files import read_text, write_atomically
from .._types import FloatArray
from .._variables import Variable
from ..errors import FileFormatError
from ._merge import Codes

__all__ = ["Manifest", "Part", "damaged", "part_files", "read_part", "write_part"]

FORMAT = "latentree-partitions"
VERSION = 2
NAME = "table.json"


@dataclass(frozen=True)
class Part:
    """One of the tables: how many distinct rows it has, and the checksums of its files of codes and of weights."""

    size: int
    checksums: tuple[str, str]


@dataclass(frozen=True)
class Manifest:
    """What a folder of partitions says of itself."""

    variables: tuple[Variable, ...]
    parts: tuple[Part, ...]
    n: float
    weight: float

    def write(self, folder: Path) -> None:
        """Write it; this is done last, so that a folder without it is not one of ours."""
        from ..formats._json import variable_text

        content = {
            "format": FORMAT,
            "version": VERSION,
            "sizes": [part.size for part in self.parts],
            "checksums": [list(part.checksums) for part in self.parts],
            "n": self.n,
            "weight": self.weight,
            "variables": [json.loads(variable_text(v)) for v in self.variables],
        }
        text = json.dumps({**content, "checksum": _checksum_of(content)}, indent=1)
        write_atomically(folder / NAME, text + "\n")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read it and check all that it says."""
        file = folder / NAME
        try:
            content = json.loads(read_text(file))
        except FileNotFoundError:
            raise FileFormatError(
                "'{folder}' holds no partitions: there is no '{name}' in it.", folder=folder, name=NAME
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            raise damaged(file, str(error)) from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FileFormatError("'{file}' does not describe partitions of latentree.", file=file)
        if content.get("version") != VERSION:
            raise FileFormatError(
                "'{file}' was written by another version of latentree. Make the partitions again from the data.",
                file=file,
            )
        if content.pop("checksum", None) != _checksum_of(content):
            raise damaged(file, "its content does not have the checksum that it names")
        try:
            return cls._from(content)
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise damaged(file, str(error)) from None

    @classmethod
    def _from(cls, content: dict[str, Any]) -> Manifest:
        from ..formats._json import variable_from

        variables = tuple(variable_from(v, i) for i, v in enumerate(content["variables"]))
        parts = tuple(
            Part(int(size), (str(codes), str(weights)))
            for size, (codes, weights) in zip(content["sizes"], content["checksums"], strict=True)
        )
        n, weight = float(content["n"]), float(content["weight"])
        if not variables or not parts or min(part.size for part in parts) < 1:
            raise ValueError("there must be variables, tables and rows in each")
        if not (0 < n < math.inf and 0 < weight < math.inf):
            raise ValueError("numbers of rows must be finite and above 0")
        return cls(variables, parts, n, weight)


def write_part(folder: Path, i: int, codes: Codes, weights: FloatArray) -> Part:
    """Write the files of table number i."""
    files = part_files(folder, i)
    np.save(files[0], np.asfortranarray(codes))
    np.save(files[1], weights)
    return Part(len(weights), (_checksum(files[0]), _checksum(files[1])))


def read_part(
    folder: Path, i: int, part: Part, variables: tuple[Variable, ...], *, check: bool
) -> tuple[Codes, FloatArray]:
    """Codes (on the disk until they are looked at) and weights of table number i, checked if asked to."""
    files = part_files(folder, i)
    shapes = (part.size, len(variables)), (part.size,)
    found = []
    for file, checksum, shape, kind in zip(files, part.checksums, shapes, (np.int16, np.float64), strict=True):
        try:
            if check and _checksum(file) != checksum:
                raise damaged(file, "its content does not have the checksum that the manifest names")
            array = np.load(file, mmap_mode="r" if kind is np.int16 else None)
        except FileFormatError:
            raise
        except FileNotFoundError:
            raise damaged(file, "the file is missing") from None
        except (OSError, ValueError, EOFError, SyntaxError, MemoryError, OverflowError) as error:
            raise damaged(file, str(error)) from None
        if array.dtype != kind or array.shape != shape:
            raise damaged(file, f"it holds {array.dtype} of shape {array.shape} instead of {kind.__name__} of {shape}")
        found.append(array)
    codes, weights = found
    if check and not (np.isfinite(weights) & (weights > 0)).all():
        raise damaged(files[1], "weights must be finite and above 0")
    cardinalities = np.array([v.cardinality for v in variables])
    if check and ((codes.min(axis=0) < -1) | (codes.max(axis=0) >= cardinalities)).any():
        raise damaged(files[0], "it has codes of states that there are not")
    return codes, weights


def part_files(folder: Path, i: int) -> tuple[Path, Path]:
    """The files of codes and of weights of table number i."""
    return folder / f"part-{i:05d}-codes.npy", folder / f"part-{i:05d}-weights.npy"


def damaged(file: Path, why: str) -> FileFormatError:
    """Return the error that says which file of partitions cannot be used, and what to do."""
    return FileFormatError(
        "'{file}' is damaged: {why}. Make the partitions again from the data.", file=file, why=why.rstrip(".")
    )


def _checksum(file: Path) -> str:
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _checksum_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
