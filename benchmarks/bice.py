"""Searches by BICe on data from M1 of [ZhangKocka2004] figure 1, where BICe prefers M1 and BIC prefers M2.

    python -m benchmarks.bice                                   # ten sets, three methods, three seeds each
    python -m benchmarks.bice --sets 0-2 --methods swift        # some of them; what is kept is not done again
    python -m benchmarks.bice --table                           # the table of what is kept

M1 is X2 - X1 - X3, three ternary leaves below each of the ternary X2 and X3, X1 having two states (43 effective and 45
standard parameters); M2 is the same without X1 (44 and 44). Set i is 10,000 rows of M1 with random probabilities, each
distribution having a component above 0.6, no two of a table in one column. Both models are fitted to every set; sets where BICe does not prefer M1 are
left out of the count. Results are kept in ``benchmarks/results/bice.jsonl``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from studies.page import markdown
from studies.results import (
    Question,
    Results,
    code_version,
    latest,
    method_options,
    numbers,
    run_main,
    say,
    search_options,
    searched,
    told,
)
from studies.search_scores import M1, M2, SERIES, drawn_from_m1

from latentree._model import Model
from latentree._table import Table
from latentree.estimation import restart_em
from latentree.score import bice

RESULTS = Path(__file__).parent / "results" / "bice.jsonl"
STARTS = 64
METHODS = ("swift", "east", "hshc")
SLACK = 0.05


def reference(i: int, rows: Table) -> dict[str, Any]:
    """BICe of both models on set i, fitted from many starts."""
    rng = np.random.default_rng([SERIES, i, 1])
    scores = [
        bice(restart_em(Model.random(tree, rows.variables, rng), rows, rng=rng, n_init=STARTS, finalists=8))
        for tree in (M1, M2)
    ]
    asked = Question(f"figure 1/{i}", SERIES, "fitted", "bice").plain()
    return {**asked, **code_version(), "m1": scores[0], "m2": scores[1]}


def searched_by_bice(question: Question, rows: Table, jobs: int) -> dict[str, Any]:
    """Search, and say which of the two models was found, if either."""
    run, record = searched(question, rows, jobs=jobs)
    return {**record, "tree": "M1" if run.tree == M1 else "M2" if run.tree == M2 else "other"}


# ---- the table ----------------------------------------------------------------------------------------------------


def table(records: Iterable[Mapping[str, Any]]) -> str:
    """One line a set: BICe of both models, and of each method how often it finds M1, and its worst seed."""
    kept = latest(records, by=("data", "method"))
    fitted = {r["data"]: r for r in kept if r["method"] == "fitted"}
    runs = [r for r in kept if r["method"] != "fitted" and r["data"] in fitted]
    methods = list(dict.fromkeys(r["method"] for r in runs))
    lines = []
    for name, own in fitted.items():
        cells = [_cell([r for r in runs if (r["data"], r["method"]) == (name, m)], own["m1"]) for m in methods]
        lines.append([name, f"{own['m1']:,.2f}", f"{own['m2']:,.2f}", "M1" if own["m1"] > own["m2"] else "M2", *cells])
    preferred = {name for name, own in fitted.items() if own["m1"] > own["m2"]}
    totals = []
    for m in methods:
        counted = [r for r in runs if r["method"] == m and r["data"] in preferred]
        as_good = sum(r["value"] >= fitted[r["data"]]["m1"] - SLACK for r in counted)
        cpu = [r["cpu"] for r in counted] or [0.0]
        found = [f"{sum(r['tree'] == what for r in counted)} of {len(counted)}" for what in ("M1", "M2")]
        totals.append([m, *found, f"{as_good} of {len(counted)}", f"{median(cpu):.1f}", f"{max(cpu):.1f}"])
    head = ["method", "found M1", "found M2", "at least M1's BICe", "processor s, median", "most"]
    head_of_sets = ["data", "BICe of M1", "of M2", "preferred", *methods]
    return f"{markdown(head, totals)}\n{markdown(head_of_sets, lines)}"


def _cell(runs: Sequence[Mapping[str, Any]], m1: float) -> str:
    if not runs:
        return ""
    return (
        f"M1 {sum(r['tree'] == 'M1' for r in runs)} of {len(runs)} (worst {min(r['value'] for r in runs) - m1:+z,.2f})"
    )


# ---- the command line -----------------------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bice", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=numbers, default=list(range(10)), help="such as 0-4 (default 0-9)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="default all")
    parser.add_argument("--seeds", type=numbers, default=[0, 1, 2], help="seeds of each search (default 0-2)")
    search_options(parser, RESULTS)
    given = parser.parse_args(arguments)
    results, code = Results(given.results), code_version()["code"]
    for i in [] if given.table else given.sets:
        rows = drawn_from_m1(i)
        if given.fresh or results.find(data=f"figure 1/{i}", method="fitted", code=code) is None:
            results.add(reference(i, rows))
        for method in given.methods:
            for seed in given.seeds:
                own = method_options(method, given.set)
                question = Question(f"figure 1/{i}", seed, method, "bice", own, given.time_limit)
                if given.fresh or results.find(**question.plain(), code=code) is None:
                    record = searched_by_bice(question, rows, given.jobs or 1)
                    results.add(record)
                    say(told(record) + f", {record['tree']}")
    print(table(r for r in results.read() if given.code in (None, r["code"])), end="")


if __name__ == "__main__":
    run_main(main)
