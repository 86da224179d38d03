"""The default search from ten seeds on named data sets: how far below the best known BIC, at what cost.

    python -m benchmarks.seeds                                    # all sets, ten seeds each: hours
    python -m benchmarks.seeds --sets d7_1k voting --seeds 0-3    # some of them; what is kept is not done again
    python -m benchmarks.seeds --set effort=high                  # other options, kept beside the rest
    python -m benchmarks.seeds --classes                          # latent class models, below which no search should end
    python -m benchmarks.seeds --table                            # the table of what is kept

Results are kept in ``benchmarks/results/seeds.jsonl``, the best known values with their origin in
``benchmarks/best_known.json``; ``--raise-best`` takes over there whatever kept runs found to be better.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from studies.page import markdown
from studies.results import (
    Question,
    Results,
    ask,
    code_version,
    data_folder,
    latest,
    method_options,
    numbers,
    run_main,
    say,
    search_options,
    told,
)
from studies.search_climbing import generated
from studies.ten_fold import training_rows

from latentree import datasets
from latentree._table import Table
from latentree.cardinality import learn_classes
from latentree.runner import StopReason
from latentree.search._registry import DEFAULT

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "seeds.jsonl"
BASELINE = HERE / "results" / "baseline.jsonl"
BEST = HERE / "best_known.json"
Z_ROWS = 10_000


@dataclass(frozen=True)
class Case:
    """A data set and what is asked of the worst seed.

    Attributes
    ----------
    tolerance : float
        How far below the best known value it may be.
    goal : float, optional
        What it must reach, instead.
    time_limit : float, optional
        Wall-clock seconds of each search.
    jobs : int
        Threads.
    """

    tolerance: float = 1.0
    goal: float | None = None
    time_limit: float | None = None
    jobs: int = 1


CASES: Mapping[str, Case] = {
    **{f"d{n}_{size}": Case() for n in (7, 12, 18) for size in ("1k", "5k", "10k")},
    **{f"z{n}": Case() for n in (6, 9, 12, 15, 18)},
    **{
        name: Case()
        for name in ("car_evaluation", "voting", "hiv_test", "house_building", "values", "lsat", "heart", "solar")
    },
    "mushroom": Case(tolerance=5.0),
    "pascal_voc_2007/1": Case(goal=-80_990.0, time_limit=60.0),
    "coil42": Case(goal=-51_380.0, time_limit=180.0),
}


def load(name: str, folder: str | None = None) -> Table:
    """The rows of a case."""
    if name.startswith("z"):
        n = int(name[1:])
        model = generated(n, 0)  # as in the study of [Zhang2004] 5.1
        return Table.from_codes(model.sample(Z_ROWS, np.random.default_rng([0, n, 1])), model.variables)
    if name == "car_evaluation":
        return Table.read(data_folder(folder) / "study10" / "car_evaluation.arff.gz")
    if "/" in name:
        study, fold = name.split("/")
        return training_rows(study, int(fold), data_folder(folder))
    shipped = name in datasets.names()
    return datasets.load(name) if shipped else datasets.load(name, data_dir=data_folder(folder))


# ---- the table ----------------------------------------------------------------------------------------------------


def best_known(path: Path = BEST) -> dict[str, dict[str, Any]]:
    """The best known BIC of each set, and where it comes from."""
    known: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return known


HEAD = (
    *("data", "best known", "latent classes", "seeds", "worst", "median", "best", "near the best", "goal met"),
    *(
        "processor s, median",
        "most",
        "baseline, median",
        "most",
        "ended by itself",
        "best reached",
        "latents",
        "commit",
    ),
)


def table(
    records: Iterable[Mapping[str, Any]],
    best: Mapping[str, Mapping[str, Any]],
    baseline: Results,
    classes: Mapping[str, float],
) -> str:
    """One line a set: what its seeds found, and what they and the baseline took."""
    before: dict[str, list[float]] = {}
    for record in baseline.read():
        before.setdefault(record["data"], []).append(record["cpu"])
    of: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        of.setdefault(record["data"], []).append(record)
    lines = (_line(name, of[name], best.get(name), before.get(name, [])) for name in CASES if name in of)
    simple = {name: f"{value:,.1f}" for name, value in classes.items()}
    return markdown(HEAD, [[*line[:2], simple.get(line[0], ""), *line[2:]] for line in lines])


def _line(
    name: str, runs: Sequence[Mapping[str, Any]], known: Mapping[str, Any] | None, before: Sequence[float]
) -> list[str]:
    case, values, cpu = CASES[name], [r["value"] for r in runs], [r["cpu"] for r in runs]
    top = None if known is None else known["bic"]
    goal = case.goal if case.goal is not None else None if top is None else top - case.tolerance
    near = None if top is None else sum(v >= top - case.tolerance for v in values)
    latents = sorted({r["latents"] for r in runs})
    return [
        name,
        "" if top is None else f"{top:,.1f}",
        f"{len(runs)}",
        *(f"{f(values):,.1f}" for f in (min, median, max)),
        "" if near is None else f"{near} of {len(runs)} ({case.tolerance:g})",
        "" if goal is None else "yes" if min(values) >= goal else f"{min(values) - goal:,.1f}",
        *(f"{f(cpu):,.1f}" for f in (median, max)),
        *(f"{f(before):,.1f}" if before else "" for f in (median, max)),
        f"{sum(r['ended'] not in ('time', 'iterations') for r in runs)} of {len(runs)}",
        _reached([r["found"] for r in runs if r.get("found") is not None]),
        f"{latents[0]}" if len(latents) == 1 else f"{latents[0]} to {latents[-1]}",
        ", ".join(sorted({r["commit"] for r in runs})),
    ]


def _reached(found: Sequence[Any]) -> str:
    """From how many starts the best was reached in the worst case: ``Run.found``, a number or (number, starts)."""
    pairs = [tuple(f.values()) if isinstance(f, dict) else tuple(f) if isinstance(f, list) else (f,) for f in found]
    return " of ".join(map(str, min(pairs))) if pairs else ""


def raised(best: Mapping[str, Mapping[str, Any]], records: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The best known values, with what kept runs found to be better by more than 0.01.

    Examples
    --------
    >>> run = {"data": "x", "value": -9.0, "method": "swift", "options": {"trials": 9}, "seed": 3, "commit": "a1"}
    >>> raised({"x": {"bic": -10.0, "source": "?"}}, [run])
    {'x': {'bic': -9.0, 'source': 'swift, trials=9, seed 3, at a1'}}
    """
    found = {name: dict(entry) for name, entry in best.items()}
    for r in records:
        if r["data"] not in found or r["value"] > found[r["data"]]["bic"] + 0.01:
            said = [
                r["method"],
                *(f"{k}={v}" for k, v in r["options"].items()),
                f"seed {r['seed']}",
                f"at {r['commit']}",
            ]
            found[r["data"]] = {"bic": round(r["value"], 4), "source": ", ".join(said)}
    return found


def kept(
    results: Results, method: str, options: Mapping[str, Any], time_limit: float | None, code: str | None
) -> list[dict[str, Any]]:
    """Runs that were asked for in this way, of each set by the state of the code that ran last."""

    def fits(r: Mapping[str, Any]) -> bool:
        case = CASES.get(r["data"])
        asked = case and Question(
            r["data"], r["seed"], method, options=options, time_limit=time_limit or case.time_limit
        )
        return asked is not None and all(r[name] == value for name, value in asked.plain().items())

    return latest(filter(fits, results.read()), code=code)


# ---- latent class models --------------------------------------------------------------------------------------------


def with_classes(results: Results, name: str, rows: Table, *, jobs: int, fresh: bool) -> None:
    """Keep the BIC of the latent class model that ``latentree fit`` finds, below which no search should end."""
    asked = Question(name, 0, "classes").plain()
    if not fresh and results.find(**asked, code=code_version()["code"]) is not None:
        return
    began, processor = time.perf_counter(), time.process_time()
    found = learn_classes(rows, rng=np.random.default_rng(0), n_jobs=jobs)
    if found.reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    spent = {"cpu": time.process_time() - processor, "wall": time.perf_counter() - began}
    states = [int(found.fit.model.tree.cardinality[0])]
    record = {**asked, **code_version(), "jobs": jobs, "value": found.score, **spent, "latents": 1, "states": states}
    results.add({**record, "ended": found.reason.value})
    say(told({**record, "ended": found.reason.value}))


def classes_of(results: Results) -> dict[str, float]:
    """What latent class models reached."""
    return {r["data"]: r["value"] for r in results.read() if r["method"] == "classes"}


# ---- the command line -----------------------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.seeds", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", choices=CASES, default=list(CASES), metavar="SET", help="default all")
    parser.add_argument("--seeds", type=numbers, default=list(range(10)), help="such as 0-9 (the default) or 0,3,5-7")
    parser.add_argument("--method", default=DEFAULT, help=f"the search (default {DEFAULT})")
    parser.add_argument("--classes", action="store_true", help="fit latent class models instead, to compare with")
    parser.add_argument("--raise-best", action="store_true", help="take better values over into best_known.json")
    search_options(parser, RESULTS)
    given = parser.parse_args(arguments)
    results, options = Results(given.results), method_options(given.method, given.set)
    if not given.table and not given.raise_best:
        for name in given.sets:
            case, rows = CASES[name], load(name, given.data)
            if given.classes:
                with_classes(results, name, rows, jobs=given.jobs or case.jobs, fresh=given.fresh)
                continue
            limit = case.time_limit if given.time_limit is None else given.time_limit
            for seed in given.seeds:
                question = Question(name, seed, given.method, options=options, time_limit=limit)
                ask(results, question, rows, jobs=given.jobs or case.jobs, fresh=given.fresh, say=say)
    if given.raise_best:
        better = raised(best_known(), [r for r in results.read() if r["data"] in CASES and r["score"] == "bic"])
        BEST.write_text(json.dumps(better, indent=1) + "\n", "utf-8")
    own = kept(results, given.method, options, given.time_limit, given.code)
    own = [r for r in own if r["data"] in given.sets]
    print(table(own, best_known(), Results(BASELINE), classes_of(results)), end="")


if __name__ == "__main__":
    run_main(main)
