"""Studies made in parts: each part's answer is kept as a line of JSON, and the page is written of what is kept.

A *record* says of which ``part`` it is, ``which`` case of it, of which ``size`` (sweeps, data sets, seed), by which
state of the code, in how many processor seconds (``cpu``), and has the ``answer``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from latentree._files import write_atomically

from .page import deliver
from .results import Record, Results, Say, code_version, say

__all__ = ["Answers", "Parts", "deliver_pictures", "part_options"]

NOT_CODE = ("cli", "datasets", "estimators", "report", "scale", "relate", "search", "__pycache__")
"""Parts of the package that most of these studies do not depend on."""


@dataclass(frozen=True)
class Parts:
    """Makes parts that are not kept yet by this state of the code, and keeps them.

    Attributes
    ----------
    results : Results
        Where they are kept.
    fresh : bool
        Whether to make again what this state of the code has made.
    only : sequence of str
        The parts that are made; none means all.
    say : callable
        Told what was made.
    left_out : tuple of str
        Parts of the package that the study does not depend on.
    digits : int
        Significant digits of what is kept; the default is more than most pages show.
    any_code : bool
        Whether what another state of the code has made counts as made: for series that outlast the code.
    """

    results: Results
    fresh: bool = False
    only: Sequence[str] = ()
    say: Say = say
    left_out: tuple[str, ...] = NOT_CODE
    digits: int = 7
    any_code: bool = False

    def make(self, part: str, which: Mapping[str, Any], size: Mapping[str, Any], make: Callable[[], Any]) -> None:
        """Make one, unless it is kept or not wanted."""
        if self.only and part not in self.only:
            return
        asked = {"part": part, "which": _plain(which), "size": _plain(size)}
        version = code_version(self.left_out)
        by = {} if self.any_code else {"code": version["code"]}
        if not self.fresh and self.results.find(**asked, **by) is not None:
            return
        began = time.process_time()
        answer = make()
        cpu = round(time.process_time() - began, 2)
        self.results.add({**asked, **version, "cpu": cpu, "answer": _plain(answer, self.digits)})
        self.say(f"{part} {' '.join(map(str, which.values()))}: {cpu:.1f} s")


def _plain(value: Any, digits: int = 7) -> Any:
    """As JSON gives it back, with so many significant digits."""
    return json.loads(
        json.dumps(value, default=lambda v: v.tolist()), parse_float=lambda text: float(f"{float(text):.{digits}g}")
    )


@dataclass(frozen=True)
class Answers:
    """What is kept: of each part the answers of one size, of each case the last.

    The size is that of which most cases are kept, of equals the one added to last: a longer run replaces a shorter one
    when it is complete, and nothing is ever made of both.

    Examples
    --------
    >>> old = {"part": "a", "which": {"n": 1}, "size": {"sweeps": 10}, "date": "2026-01-01", "commit": "c", "cpu": 60.0}
    >>> answers = Answers([{**old, "answer": 1}, {**old, "size": {"sweeps": 20}, "answer": 2}])
    >>> answers.of("a", n=1), answers.size("a"), answers.has("b"), answers.made("a")
    (2, {'sweeps': 20}, False, 'code of 2026-01-01 (c), 1.0 processor minutes')
    """

    records: Iterable[Record]
    known: dict[str, dict[str, Record]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        sizes: dict[str, dict[str, dict[str, Record]]] = {}
        for record in self.records:
            own, size = sizes.setdefault(record["part"], {}), _key(record["size"])
            own[size] = {**own.pop(size, {}), _key(record["which"]): record}  # the size added to last is the last
        for part, cases in sizes.items():
            self.known[part] = max(reversed(cases.values()), key=len)

    def has(self, part: str) -> bool:
        """Whether there is anything of a part."""
        return part in self.known

    def all(self, part: str, **which: Any) -> list[Record]:
        """The records of the cases that have these values, in the order in which they were first made."""
        return [r for r in self.known.get(part, {}).values() if all(r["which"].get(k) == v for k, v in which.items())]

    def of(self, part: str, **which: Any) -> Any:
        """The answer in one case."""
        return self.known[part][_key(which)]["answer"]

    def size(self, part: str) -> dict[str, Any]:
        """The size of a part's cases."""
        size: dict[str, Any] = next(iter(self.known[part].values()))["size"]
        return size

    def made(self, *parts: str) -> str:
        """By which code these parts were made, and what that took; without names, all."""
        own = [r for part in parts or self.known for r in self.all(part)]
        spent = sum(r["cpu"] for r in own if r["cpu"] is not None)  # None: it was not kept
        code = ", ".join(sorted({f"{r['date']} ({r['commit']})" for r in own}))
        return f"code of {code}" + (f", {spent / 60:.1f} processor minutes" if spent else "")


def _key(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True)


def part_options(name: str, about: str, results: Path, parts: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser with the options that every study in parts has."""
    parser = argparse.ArgumentParser(prog=f"python -m studies.{name}", description=about.split("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=parts, default=[], help="parts to make (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default 0)")
    parser.add_argument("--fresh", action="store_true", help="make again what this state of the code has made")
    parser.add_argument("--any-code", action="store_true", help="leave alone what another state of the code has made")
    parser.add_argument("--results", type=Path, default=results, metavar="FILE", help=f"default {results.name}")
    parser.add_argument("--table", action="store_true", help="make nothing, only write the page of what is kept")
    parser.add_argument(
        "--out", metavar="FILE", help="where to write the page, its pictures beside it; without it, the page is printed"
    )
    return parser


def deliver_pictures(page: str, pictures: Mapping[str, str], out: str | None) -> None:
    """Write a page, and its pictures beside it if it is a file."""
    deliver(page, out)
    if out is not None:
        for name, text in pictures.items():
            write_atomically(Path(out).parent / name, text)
