"""Where results go: checked before the work begins, written whole or not at all."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..errors import ParameterError

__all__ = ["check_outputs", "check_rows_file", "print_rows", "write_rows"]

NO_ROWS = (".parquet", ".pq", ".arff", ".hlcm", ".json", ".xlsx", ".xls", ".feather")
"""Names that promise another format than rows are written in."""


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str | None]) -> None:
    """Refuse, before any work is done, files that cannot or should not be written.

    Parameters
    ----------
    outputs : mapping
        File by option, None for those not given.
    inputs : sequence
        Files that are read and must stay as they are.
    """
    seen: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        _check_place(option, path)
        real = os.path.realpath(path)
        if any(other is not None and _same(real, other) for other in inputs):
            raise ParameterError(f"{option} '{path}' is the file that is read. Give another name.")
        if real in seen and not _is_special(real):
            raise ParameterError(f"{seen[real]} and {option} name the same file '{path}'. Give one of them another.")
        seen[real] = option


def _check_place(option: str, path: str) -> None:
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise ParameterError(f"{option} '{path}' is a folder. Add the name of a file.")
    if not target.parent.is_dir():
        raise ParameterError(f"{option} '{path}': there is no folder '{Path(path).parent}'. Create it first.")
    if not _is_special(str(target)) and not os.access(target.parent, os.W_OK):
        raise ParameterError(f"{option} '{path}': writing in that folder is not allowed. Choose another.")


def _is_special(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


def _same(real: str, other: str) -> bool:
    if not os.path.exists(real) or not os.path.exists(other):
        return False
    return os.path.samefile(real, other)


def check_rows_file(option: str, path: str | None) -> None:
    """Refuse a name that promises another format."""
    suffix = Path(path or "").suffix.lower()
    if suffix in NO_ROWS:
        raise ParameterError(f"{option} '{path}': rows are written as CSV or TSV, not as {suffix}. Use .csv or .tsv.")


def write_rows(columns: Mapping[str, Sequence[Any]], path: str) -> None:
    """Write columns to a CSV or TSV file, in one step."""
    from ..formats._csv import write_csv

    write_csv(columns, path, delimiter="\t" if _is_tsv(path) else ",")


def _is_tsv(path: str) -> bool:
    return path.lower().removesuffix(".gz").endswith((".tsv", ".tab"))


def print_rows(columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns as CSV to standard output, in UTF-8 as files are, whatever the terminal speaks."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    click.echo(out.getvalue().encode("utf-8", "surrogatepass"), nl=False)
