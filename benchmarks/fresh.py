"""The default search beside the others on data that nobody has looked at: fresh models of D7's and D12's trees.

    python -m benchmarks.fresh                                  # 35 sets of 7 variables, 20 of 12, all methods: hours
    python -m benchmarks.fresh --families d7 --sets 0-4         # some of them; what is kept is not done again
    python -m benchmarks.fresh --series 7                       # other sets than those of the default series
    python -m benchmarks.fresh --table                          # the table of what is kept

Set i of a family is drawn from its tree with random probabilities, each distribution having a component above 0.6, as
D7 and D12 were made; the series, the family and i are the seed of model and rows. Results are kept in
``benchmarks/results/fresh.jsonl``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from studies.page import markdown
from studies.results import Question, Results, ask, latest, method_options, numbers, run_main, say, search_options

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree.search._registry import DEFAULT

RESULTS = Path(__file__).parent / "results" / "fresh.jsonl"
ROWS = 10_000
SERIES = 2026
DOMINANT = 0.6
TOLERANCE = 1.0


@dataclass(frozen=True)
class Family:
    """Sets from one tree: how many, and the methods that can be afforded."""

    sets: int
    methods: tuple[str, ...]


FAMILIES: Mapping[str, Family] = {
    "d7": Family(35, (DEFAULT, "east", "hshc", "shc", "dhc")),
    "d12": Family(20, (DEFAULT, "east", "hshc", "shc")),
}


def drawn(family: str, i: int, *, rows: int = ROWS, series: int = SERIES) -> Table:
    """Rows of set i of a family."""
    tree = datasets.generator(family)
    rng = np.random.default_rng([series, int(family[1:]), i])
    model = Model.random(tree.tree, tree.variables, rng, dominant=DOMINANT)
    return Table.from_codes(model.sample(rows, rng), model.variables)


def name_of(family: str, i: int, *, rows: int = ROWS, series: int = SERIES) -> str:
    """What a set is called in the results."""
    return f"{family}/{series}/{rows}/{i}"


# ---- the table ----------------------------------------------------------------------------------------------------


def table(records: Iterable[Mapping[str, Any]]) -> str:
    """How often the default is the best of all, and what each method takes; then where it is not the best."""
    of: dict[str, dict[str, dict[str, list[Mapping[str, Any]]]]] = {}
    for r in records:
        family, _, rows, _ = r["data"].split("/")
        group = of.setdefault(f"{family}, {int(rows):,} rows", {})
        group.setdefault(r["data"], {}).setdefault(r["method"], []).append(r)
    summary, short = [], []
    for label, sets in of.items():
        both = {name: own for name, own in sets.items() if DEFAULT in own and len(own) > 1}
        gaps = {name: _gap(own, DEFAULT) for name, own in both.items()}
        for name, gap in gaps.items():
            if gap < -TOLERANCE:
                short.append([name, f"{gap:,.1f}", *_best(both[name])])
        for method in dict.fromkeys(m for own in sets.values() for m in own):
            compared = [own for own in both.values() if method in own]
            cpu = [r["cpu"] for own in sets.values() for r in own.get(method, [])]
            lost = [_gap(own, method) for own in compared]
            best = f"{sum(gap >= -TOLERANCE for gap in lost)} of {len(lost)}" if lost else ""
            worst = f"{min(lost):z,.1f}" if lost else ""
            summary.append([label, method, best, worst, f"{median(cpu):,.1f}", f"{max(cpu):,.1f}", f"{sum(cpu):,.0f}"])
    head = ["sets", "method", f"best of all (within {TOLERANCE:g})", "worst shortfall"]
    text = markdown([*head, "processor s, median", "most", "in all"], summary)
    if short:
        text += "\n" + markdown(
            ["set (family/series/rows/number)", "the default is below by", "best method", "BIC"], short
        )
    return text


def _gap(own: Mapping[str, Sequence[Mapping[str, Any]]], method: str) -> float:
    """How far the worst seed of a method is below the best of all."""
    return float(min(r["value"] for r in own[method]) - max(r["value"] for runs in own.values() for r in runs))


def _best(own: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[str, str]:
    top = max((r for runs in own.values() for r in runs), key=lambda r: r["value"])
    return top["method"], f"{top['value']:,.1f}"


def kept(results: Results, options: Mapping[str, Any], code: str | None) -> list[dict[str, Any]]:
    """The default method with these options, the others with their own, each by the state of the code that ran last."""
    asked = Question("", 0, options=options).plain()["options"]
    own = (r for r in results.read() if r["options"] == (asked if r["method"] == DEFAULT else {}))
    return latest(own, by=("data", "method"), code=code)


# ---- the command line -----------------------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fresh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    methods = list(dict.fromkeys(m for family in FAMILIES.values() for m in family.methods))
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="default all")
    parser.add_argument("--sets", type=numbers, help="such as 0-4 (default all)")
    parser.add_argument("--methods", nargs="+", choices=methods, default=methods, help="default all")
    parser.add_argument("--seeds", type=numbers, default=[0], help="seeds of each search (default 0)")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of each set (default {ROWS:,})")
    parser.add_argument("--series", type=int, default=SERIES, help=f"what sets are drawn from (default {SERIES})")
    search_options(parser, RESULTS)
    given = parser.parse_args(arguments)
    results, options = Results(given.results), method_options(DEFAULT, given.set)
    for family in [] if given.table else given.families:
        for i in given.sets or range(FAMILIES[family].sets):
            rows = drawn(family, i, rows=given.rows, series=given.series)
            name = name_of(family, i, rows=given.rows, series=given.series)
            for method in (m for m in FAMILIES[family].methods if m in given.methods):
                for seed in given.seeds:
                    own = options if method == DEFAULT else {}
                    question = Question(name, seed, method, options=own, time_limit=given.time_limit)
                    ask(results, question, rows, jobs=given.jobs or 1, fresh=given.fresh, say=say)
    print(table(kept(results, options, given.code)), end="")


if __name__ == "__main__":
    run_main(main)
