"""Searches measured one by one and kept as lines of JSON, so that a long series can be made in parts.

A *record* says what was asked (``data``, ``seed``, ``method``, ``score``, ``options``, ``time_limit``), by which state
of the code (``code``, a digest of the sources that can change a result; ``commit``; ``date``), and what came of it.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import latentree
from latentree._table import Table
from latentree.cli.settings import settings_of
from latentree.errors import LatentreeError, ParameterError
from latentree.runner import Budget, StopReason
from latentree.search import METHODS, Run, learn
from latentree.search._registry import DEFAULT

__all__ = [
    "Question",
    "Results",
    "ask",
    "code_version",
    "data_folder",
    "latest",
    "method_options",
    "numbers",
    "run_main",
    "say",
    "search_options",
    "searched",
    "told",
]

Record = dict[str, Any]
Say = Callable[[str], None]

ASKED = ("data", "seed", "method", "score", "options", "time_limit")
"""What makes two records answers to the same question. Threads do not: they change no result."""
NOT_CODE = ("bayes", "cli", "datasets", "estimators", "report", "scale", "__pycache__")
"""Parts of the package that no search depends on."""


# ---- which code ---------------------------------------------------------------------------------------------------


@cache
def code_version(left_out: tuple[str, ...] = NOT_CODE) -> Record:
    """A digest of the package's sources, and the last commit that changed them, if this is a checkout."""
    root = Path(latentree.__file__).parent
    files = [p for kind in ("py", "cpp", "hpp") for p in root.rglob(f"*.{kind}")]
    whole = hashlib.sha256()
    for path in sorted(files):
        parts = path.relative_to(root).parts
        if parts[0] not in left_out:
            whole.update("/".join(parts).encode() + b"\0" + path.read_bytes() + b"\0")
    command = ["git", "log", "-1", "--format=%h %cs", "--", str(root)]
    try:
        told = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        told = []
    commit, date = told if len(told) == 2 else ("", "")
    return {"code": whole.hexdigest()[:12], "commit": commit, "date": date}


# ---- keeping ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Results:
    """A file of records, one a line, only ever added to; several processes may do so at once."""

    path: Path

    def read(self) -> list[Record]:
        """All records, in the order in which they were made."""
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text("utf-8").splitlines() if line.strip()]

    def find(self, **wanted: Any) -> Record | None:
        """The last record in which all these fields have these values."""
        fits = (r for r in reversed(self.read()) if all(r.get(k) == v for k, v in wanted.items()))
        return next(fits, None)

    def add(self, record: Mapping[str, Any]) -> None:
        """Write one more."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(record, allow_nan=False) + "\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)


def latest(records: Iterable[Record], *, by: Sequence[str] = ("data",), code: str | None = None) -> list[Record]:
    """Of each group those of one state of the code (that of its last record), each question's last answer.

    Examples
    --------
    >>> old, new = {"data": "a", "seed": 0, "code": "x"}, {"data": "a", "seed": 1, "code": "y"}
    >>> latest([old, new]) == [new], latest([old, new], code="x") == [old]
    (True, True)
    """
    records = [r for r in records if code in (None, r["code"])]
    last = {tuple(r[name] for name in by): r["code"] for r in records}
    chosen = [r for r in records if r["code"] == last[tuple(r[name] for name in by)]]
    answers = {json.dumps([r.get(name) for name in ASKED]): r for r in chosen}
    return list(answers.values())


# ---- searching ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """What is asked of one search."""

    data: str
    seed: int
    method: str = DEFAULT
    score: str = "bic"
    options: Mapping[str, Any] | None = None
    time_limit: float | None = None

    def plain(self) -> Record:
        """As a record has it."""
        return {**asdict(self), "options": _plain(dict(self.options or {}))}


def searched(question: Question, table: Table, *, jobs: int = 1) -> tuple[Run, Record]:
    """Search, and say what came of it: the record of a question."""
    rng, budget = np.random.default_rng(question.seed), Budget(seconds=question.time_limit)
    began, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = learn(
            table,
            method=question.method,
            score=question.score,
            rng=rng,
            n_jobs=jobs,
            budget=budget,
            **dict(question.options or {}),
        )
    cpu, wall = time.process_time() - processor, time.perf_counter() - began
    if run.reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    tree = run.tree
    after = next((step.seconds for step in run.trace if step.score > run.score - 1.0), None)
    return run, {
        **question.plain(),
        **code_version(),
        "jobs": jobs,
        "value": run.score,
        "cpu": cpu,
        "wall": wall,
        "near_after": after,  # seconds until the score was first within 1.0 of the end
        "latents": len(tree.latent),
        "states": sorted(int(k) for k in tree.cardinality[tree.latent]),
        "parameters": int(tree.n_parameters),
        "ended": run.reason.value,
        "found": _plain(getattr(run, "found", None)),  # from how many starts the best was reached, if the search says
    }


def ask(results: Results, question: Question, table: Table, *, jobs: int, fresh: bool, say: Say) -> Record:
    """The kept answer of this state of the code, or a new one, which is kept."""
    asked = question.plain()
    known = None if fresh else results.find(**asked, code=code_version()["code"])
    if known is not None:
        return known
    _, record = searched(question, table, jobs=jobs)
    results.add(record)
    say(told(record))
    return record


def told(record: Record) -> str:
    """A record in one line."""
    return (
        f"{record['data']}, {record['method']}, seed {record['seed']}: {record['value']:,.2f}, {record['cpu']:.1f} s "
        f"processor, {record['wall']:.1f} s wall, {record['latents']} latents, {record['ended']}"
    )


def _plain(value: Any) -> Any:
    """As JSON gives it back, so that what is asked can be compared with what was kept."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    return json.loads(json.dumps(value, default=lambda v: v.item() if hasattr(v, "item") else str(v)))


# ---- the command line ---------------------------------------------------------------------------------------------


def search_options(parser: argparse.ArgumentParser, results: Path) -> None:
    """Add what all series of searches take."""
    parser.add_argument("--data", metavar="DIR", help="folder of the data sets that do not come with latentree")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="options of learn or of the method")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="wall-clock seconds for each search")
    parser.add_argument("--jobs", type=int, help="threads of each search")
    parser.add_argument("--fresh", action="store_true", help="search again what this state of the code has done")
    parser.add_argument("--results", type=Path, default=results, metavar="FILE", help=f"default {results.name}")
    parser.add_argument("--table", action="store_true", help="search nothing, only print the table of what is kept")
    parser.add_argument("--code", help="the state of the code to print (default: of each set the last)")


def method_options(method: str, given: Sequence[str]) -> Record:
    """Options ``NAME=VALUE``: parameters of :func:`learn` itself, or of the method."""
    own = set(inspect.signature(learn).parameters) - {"table", "method", "score", "rng", "budget", "n_jobs", "options"}
    mine, rest = {}, []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise ParameterError("--set '{text}' must have the form NAME=VALUE.", text=text)
        if name in own:
            mine[name] = _value(value)
        else:
            rest.append(text)
    return {**mine, **settings_of(METHODS[method].load().Options, method, rest)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def numbers(text: str) -> list[int]:
    """Whole numbers and ranges of them, as an option gives them.

    Examples
    --------
    >>> numbers("0-2,7")
    [0, 1, 2, 7]
    """
    ends = [part.split("-") for part in text.split(",")]
    return [n for first, *last in ends for n in range(int(first), int(last[0] if last else first) + 1)]


def data_folder(given: str | None) -> Path:
    """The folder of data sets: as given, or by LATENTREE_DATA, or beside the checkout."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(given or os.environ.get("LATENTREE_DATA") or beside)
    if not folder.is_dir():
        sys.exit("The data sets are needed: give their folder by --data or LATENTREE_DATA.")
    return folder


def run_main(main: Callable[[Sequence[str]], None]) -> None:
    """Run a series from the command line; Ctrl-C leaves what was finished, and says so."""
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("Stopped. What was finished is kept; the same command goes on from there.")
    except LatentreeError as error:
        sys.exit(error.shown("shell"))


def say(line: str) -> None:
    """Progress goes to standard error."""
    print(line, file=sys.stderr, flush=True)
