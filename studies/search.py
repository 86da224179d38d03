"""Learning the tree: searches of the literature, and all regular trees of small data, ours beside theirs.

Reproduces [ChenZhangWang] table 1, figure 5 and 5.3, [Zhang2004] 5.1 and [ZhangKocka2004] 1.

``python -m studies.search --data DIR --out docs/reproduction/search.md`` writes the page.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import search_climbing as climbing, search_exhaustive as exhaustive, search_granularity as granularity
from .cache import StudyCache
from .page import deliver, options

__all__ = ["main"]

PARTS = ("exhaustive", "granularity", "climbing", "scores")


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = options("search", __doc__)
    parser.add_argument("--runs", type=int, default=10, help="runs of each method (default 10, as [ChenZhangWang])")
    parser.add_argument("--d18-runs", type=int, help="runs on the largest synthetic data, if other")
    parser.add_argument("--jobs", type=int, default=1, help="threads (default 1)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to make (default all)")
    parser.add_argument(
        "--families", nargs="+", default=["d7", "d12", "d18"], help="synthetic data for [ChenZhangWang] (default all)"
    )
    parser.add_argument("--sizes", nargs="+", default=["1k", "5k", "10k"], help="their rows (default all)")
    parser.add_argument(
        "--most", type=int, default=4, help="most states of a latent when all trees are made (default 4)"
    )
    parser.add_argument("--rows", type=int, default=10_000, help="rows of the data after [Zhang2004] (default 10,000)")
    parser.add_argument(
        "--variables", nargs="+", type=int, default=climbing.SIZES, help="their variables (default all)"
    )
    parser.add_argument("--keep", metavar="DIR", help="folder to keep searches in, to go on from if it is broken off")
    given = parser.parse_args(arguments)
    began = time.perf_counter()
    text = _body(given)
    shown = " ".join(["python -m studies.search", *("DIR" if a in (given.data, given.keep) else a for a in arguments)])
    kept = " (searches that were kept from earlier runs not counted)" if given.keep else ""
    head = f"""# Learning the tree

Made by `{shown}` in {time.perf_counter() - began:.0f} s{kept},
on a machine with other work at the same time. BIC is LL - d/2 ln N, higher being better.
"""
    deliver(head + text, given.out)


def _body(given: argparse.Namespace) -> str:
    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    keeper = StudyCache(Path(given.keep) if given.keep else None, given.jobs)
    text = ""
    if "exhaustive" in given.only:
        found = exhaustive.study(runs=given.runs, most=given.most, starts=64, seed=given.seed)
        text += exhaustive.page(found, runs=given.runs, most=given.most, starts=64)
    folder = given.data or os.environ.get("LATENTREE_DATA", "")
    if not folder and {"granularity", "scores"} & set(given.only):
        sys.exit("The synthetic data sets are needed: give their folder by --data or LATENTREE_DATA.")
    if "granularity" in given.only:
        most = {"d18": given.runs if given.d18_runs is None else given.d18_runs}
        runs = {f"{f}_{size}": most.get(f, given.runs) for f in given.families for size in given.sizes}
        cases, truth = granularity.study(Path(folder), runs=runs, seed=given.seed, keeper=keeper, say=say)
        text += granularity.page(cases, truth, seed=given.seed, keeper=keeper)
    if "climbing" in given.only:
        climbs, own = climbing.study(sizes=given.variables, rows=given.rows, seed=given.seed, keeper=keeper, say=say)
        text += climbing.page(climbs, own, rows=given.rows)
    if "scores" in given.only:
        text += climbing.scores_page(climbing.scores_study(Path(folder), seed=given.seed, keeper=keeper, say=say))
    return text


if __name__ == "__main__":
    main(sys.argv[1:])
