"""Where results go: the kind of file by its ending, checked before the work begins, written whole or not at all.

A file that already exists is replaced only if the same command made it, or with ``--force``. Pages, pictures, steps,
draws and latentree's own model files say which command made them. Files of rows cannot: one counts as made by the same
command if its header is the one to be written (see :meth:`Outputs.check_rows`). Model files of other programs are
replaced only with ``--force``; ``convert`` also replaces a file in which nothing would change.
"""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ParameterError
from ..formats import MODEL_FORMATS
from ..formats._models import format_of
from .output import Stopped, note, printable

if TYPE_CHECKING:
    from .._model import Model
    from ..formats._cells import Cells
    from ..formats._recipe import Recipe
    from ..report import Page

__all__ = [
    "CHECKPOINT",
    "DRAWS",
    "FIGURE",
    "MODEL",
    "PAGE",
    "PICTURE",
    "RECIPE",
    "ROWS",
    "STEPS",
    "TABLES",
    "Kind",
    "Outputs",
    "print_rows",
]

HEAD = 1 << 16
"""Bytes at the beginning of a page or picture in which its mark stands."""


@dataclass(frozen=True)
class Kind:
    """A kind of result, and how names of files that can hold it end.

    Attributes
    ----------
    what : str
        What is written.
    endings : tuple of str
        How names may end; none: any name will do.
    gzipped : tuple of str
        Those of them that ``.gz`` may follow.
    later : bool
        Whether it is seen later, from what is to be written, if a file that is there may be replaced.
    """

    what: str
    endings: tuple[str, ...] = ()
    gzipped: tuple[str, ...] = ()
    later: bool = False

    def knows(self, path: str) -> bool:
        """Whether a name ends in one of the endings.

        Examples
        --------
        >>> PAGE.knows("tree.HTML"), PAGE.knows("tree.pdf"), ROWS.knows("rows.tsv.gz"), ROWS.knows("rows.parquet.gz")
        (True, False, True, False)
        """
        name = Path(path).name.lower()
        return not self.endings or name.endswith((*self.endings, *(f"{ending}.gz" for ending in self.gzipped)))

    def __str__(self) -> str:
        more = f", gzipped if .gz follows {' or '.join(self.gzipped[:2])}" if self.gzipped else ""
        return f"{', '.join(self.endings)}{more if len(self.gzipped) < len(self.endings) else ', each also with .gz'}"


_MODELS = tuple(ending for one in MODEL_FORMATS.values() for ending in one.suffixes)
_TEXTS = (".csv", ".tsv", ".tab")
MODEL = Kind("a model", _MODELS, _MODELS)
_PARQUET = (".parquet", ".pq")
ROWS = Kind("rows", (*_TEXTS, *_PARQUET), _TEXTS, later=True)
PAGE = Kind("a page", (".html", ".htm"))
STEPS = Kind("steps", (".json",))
DRAWS = Kind("draws", (".nc",))
PICTURE = Kind("a picture", (".png",))
RECIPE = Kind("a recipe", (".toml", ".json"))
TABLES = Kind("tables", (".docx", ".xlsx", ".tex", ".html"))
FIGURE = Kind("a figure", (".pdf", ".svg", ".png"))
CHECKPOINT = Kind("a checkpoint", later=True)
"""Which the library itself knows; it never replaces other files by one."""


class Outputs:
    """The files that one command is asked to write.

    Parameters
    ----------
    command : str
        Name of the command.
    files : mapping of str to (Kind, str or None)
        What kind of result goes to which file, by the option that names it; None for those not given.
    inputs : sequence of str or None
        Files that are read and must stay as they are, even with ``force``.
    force : bool
        Whether files may be replaced that the command did not make.
    """

    def __init__(
        self,
        command: str,
        files: Mapping[str, tuple[Kind, str | None]],
        inputs: Sequence[str | None],
        *,
        force: bool = False,
    ) -> None:
        self.mark = f"latentree {command}"
        self.force = force
        self.paths = [path for kind, path in files.values() if path is not None and kind is not CHECKPOINT]
        self.written: list[str] = []
        seen: dict[str, str] = {}
        for option, (kind, path) in files.items():
            if path is None:
                continue
            _check_place(option, path)
            real = os.path.realpath(path)
            if any(other is not None and _same(real, other) for other in inputs):
                raise ParameterError(f"{option} '{path}' is the file that is read. Give another name.")
            if _is_special(real):
                continue
            if not kind.knows(path):
                raise ParameterError(
                    f"{option} '{path}': {kind.what} cannot be written to a file of that name. It must end in {kind}."
                )
            if real in seen:
                raise ParameterError(f"{seen[real]} and {option} name the same file '{path}'. Rename one of them.")
            seen[real] = option
            if not kind.later:
                self.check(option, path, _made_by(real, kind) == self.mark)

    @contextmanager
    def until_interrupted(self, stopped: bool = False) -> Iterator[None]:
        """Write files in this block; after Ctrl-C, say which of them were not.

        If the work was ``stopped`` by Ctrl-C before, say what is still written, since large files take a while.
        """
        if stopped and self.paths:
            note(f"Writing {', '.join(map(repr, self.paths))}. Press Ctrl-C again to leave without.")
        try:
            yield
        except KeyboardInterrupt:
            left = [path for path in self.paths if path not in self.written]
            told = f" Not written: {', '.join(map(repr, left))}." if left else ""
            raise Stopped(f"Interrupted while the result was written or shown.{told}") from None

    def check(self, option: str, path: str, is_own: bool) -> None:
        """Refuse to replace a file, other than an empty one, that the command did not make."""
        if self.force or is_own or not os.path.isfile(path) or not os.path.getsize(path):
            return
        raise ParameterError(
            f"{option} '{path}' already exists, and '{self.mark}' did not write it. Give another name, or --force to "
            "replace it."
        )

    def check_rows(
        self, option: str, path: str | None, first: Sequence[str], last: Sequence[str] | None = None
    ) -> None:
        """Refuse to replace a file of rows whose header is not the one to be written."""
        if path is None or not os.path.isfile(path):
            return
        header, n = _header(path), len(first)
        ends = any(name.startswith("p_") for name in header[n:]) if last is None else header[-len(last) :] == [*last]
        self.check(option, path, header[:n] == [*first] and ends)

    def write_model(self, model: Model, path: str) -> None:
        """Write a model in the format that the name stands for."""
        from ..formats._models import save

        save(model, path)
        self.written.append(path)
        note(f"Model written to '{path}'.")

    def write_page(self, page: Page, path: str) -> None:
        """Write a page that says which command made it."""
        from .._files import write_atomically

        mark = f'<meta name="generator" content="{self.mark}">'
        write_atomically(path, page.html.replace("<head>\n", f"<head>\n{mark}\n", 1))
        self.written.append(path)

    def write_json(self, document: Mapping[str, Any], path: str) -> None:
        """Write a JSON object that says which command made it."""
        import json

        from .._files import write_atomically
        from .output import plain

        write_atomically(path, json.dumps({"command": self.mark, **plain(document)}, indent=1) + "\n")
        self.written.append(path)

    def write_recipe(self, recipe: Recipe, path: str) -> None:
        """Write how data are read."""
        recipe.save(path)
        self.written.append(path)
        note(f"Recipe written to '{path}'.")

    def write_rows(self, columns: Mapping[str, Cells], path: str) -> None:
        """Write columns to a CSV, TSV or Parquet file, in one step."""
        from ..formats._csv import write_csv

        if path.lower().endswith(_PARQUET):
            from ..formats._parquet import write_parquet

            write_parquet(columns, path)
        else:
            write_csv(columns, path, delimiter=_delimiter(path))
        self.written.append(path)
        note(f"{len(next(iter(columns.values()), ())):,} rows written to '{path}'.")


# ---- what there is ---------------------------------------------------------------------------------------------------


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


def _made_by(path: str, kind: Kind) -> str | None:
    """Which command a file says that it was made by."""
    if not os.path.isfile(path):
        return None
    if kind is DRAWS:  # an attribute that only draws have
        return "latentree sample" if b"latentree_layout" in Path(path).read_bytes() else None
    if kind in (PAGE, PICTURE):
        with open(path, "rb") as file:
            found = re.search(rb'(?:<meta name="generator" content="|Software\0)(latentree [a-z-]+)', file.read(HEAD))
        return found[1].decode() if found else None
    if kind is RECIPE:  # which people write and change: never replaced without being told
        return None
    if kind is STEPS or format_of(path) == "json":
        return _maker_of_json(path)
    return None


def _maker_of_json(path: str) -> str | None:
    import json

    from ..formats._text import read_text_file

    try:
        found = json.loads(read_text_file(path))
    except (ValueError, RecursionError):  # FileFormatError is a ValueError
        return None
    if not isinstance(found, dict):
        return None
    origin = found.get("provenance") if found.get("format") == "latentree-model" else found
    maker = origin.get("command") if isinstance(origin, dict) else None
    return maker if isinstance(maker, str) else None


def _header(path: str) -> list[str]:
    """Names of the columns of a file of rows; none if it is something else."""
    try:
        if path.lower().endswith(_PARQUET):
            from ..formats._parquet import column_names

            return column_names(path)
        import gzip

        opener: Any = gzip.open if path.lower().endswith(".gz") else open
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            return next(csv.reader(file, delimiter=_delimiter(path)), [])
    except Exception:  # whatever it is, it is not such a file
        return []


# ---- rows ------------------------------------------------------------------------------------------------------------


def _delimiter(path: str) -> str:
    return "\t" if path.lower().removesuffix(".gz").endswith((".tsv", ".tab")) else ","


ANY_TEXT = "surrogatepass"
"""How text that is no text, such as halves of characters, comes out as it came in."""


def print_rows(columns: Mapping[str, Cells]) -> None:
    """Write columns as CSV to standard output, in UTF-8 as files are, whatever the terminal speaks.

    On a terminal, characters that would steer it are shown by their codes.
    """
    from ..formats._cells import csv_text

    lines = csv_text(columns, errors=ANY_TEXT)
    if sys.stdout.isatty():
        lines = printable(lines.decode(errors=ANY_TEXT)).encode(errors=ANY_TEXT)
    click.echo(lines, nl=False)
