"""Density benchmarks: one hidden Chow-Liu tree on eight binary data sets, beside published figures.

``python -m studies.density --data DIR`` learns what is not kept yet (``--sets nltcs plants`` for a part) and keeps it
in ``studies/results/density.jsonl``; ``python -m studies.density --table --out docs/reproduction/density.md`` writes
the page of what is kept.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from latentree._table import Table
from latentree._variables import Variable
from latentree.infer import log_likelihood_rows

from .page import deliver, markdown
from .results import (
    Question,
    Results,
    code_version,
    data_folder,
    latest,
    method_options,
    run_main,
    say,
    search_options,
    searched,
)

__all__ = ["SETS", "main", "page", "read"]

RESULTS = Path(__file__).parent / "results" / "density.jsonl"
METHOD, LIMIT = "hidden-chow-liu", 600.0
SETS = ("nltcs", "msnbc", "kdd", "plants", "jester", "accidents", "bbc", "bnetflix")
"""The data sets, those that take little time first."""
Record = Mapping[str, Any]


def read(name: str, folder: Path) -> tuple[Table, Table]:
    """The rows to learn from (training and validation rows), and the test rows."""
    parts = {}
    for part in ("train", "valid", "test"):
        found = next(p for d in ("scale", "density") if (p := folder / d / f"{name}.{part}.csv.gz").exists())
        with gzip.open(found, "rt") as file:
            parts[part] = np.loadtxt(file, delimiter=",", dtype=np.int16, ndmin=2)
    variables = [Variable(f"x{i + 1}", (0, 1)) for i in range(parts["train"].shape[1])]
    own = np.vstack([parts["train"], parts["valid"]])
    return Table.from_codes(own, variables), Table.from_codes(parts["test"], variables)


def published(folder: Path) -> dict[str, float]:
    """Mean test log-likelihoods of HCLT, the epoch chosen by the validation rows."""
    with open(folder / "density" / "published.csv", newline="") as file:
        return {line["data"]: float(line["hclt_best_validation"]) for line in csv.DictReader(file)}


def measured(question: Question, folder: Path, theirs: float, jobs: int) -> dict[str, Any]:
    """Learn one tree, and look at the test rows."""
    own, test = read(question.data, folder)
    run, record = searched(question, own, jobs=jobs)
    rows = log_likelihood_rows(run.model, test)
    return {
        **record,
        "rows": own.n,
        "variables": own.n_variables,
        "test_rows": test.n,
        "test": float(rows.mean()),
        "error": float(rows.std(ddof=1) / len(rows) ** 0.5),
        "published": theirs,
    }


# ---- the page -------------------------------------------------------------------------------------------------------

_HEAD = """# Density benchmarks

How probable are rows that were not seen? Eight binary data sets on which programs for density estimation are compared,
each with rows for training, validation and test. The figures beside ours are those of hidden Chow-Liu trees (HCLT,
mixtures of four trees with 12 states, trained on a graphics card, the epoch chosen by the validation rows). Ours is one
tree, by `learn(method="hidden-chow-liu", score="holdout")` ([LiuVandenBroeck2021]; how it works and when to use it is
in the [guide to new rows](../guides/new-rows.md)). It is learned from training and validation rows together, of which
it holds out a tenth itself, drawn at random, to choose the number of states and to end EM; then it is fitted to all of
them. Test rows decide nothing.

Made by `python -m studies.density --data DIR` (results are kept in `studies/results/density.jsonl`) and
`python -m studies.density --table --out docs/reproduction/density.md`: at most {limit:g} s wall each, seed
{seed}, {threads}; code of {code}, on a machine with other work. {reached} of {all} are at
least as good as published, {worst} if the worst of the seeds counts that were tried.
"""


def page(records: Iterable[Record], *, seed: int = 0) -> str:
    """Write the page of kept results; every figure on it is theirs."""
    known = latest([r for r in records if r["method"] == METHOD and r["time_limit"] == LIMIT], by=("data", "seed"))
    of = {r["data"]: r for r in known if r["seed"] == seed}
    others = {name: sorted(r["test"] for r in known if r["data"] == name and r["seed"] != seed) for name in of}
    shown = [of[name] for name in SETS if name in of]
    head = _HEAD.format(
        limit=LIMIT,
        seed=seed,
        threads=", ".join(f"{jobs} thread{'s'[: jobs > 1]}" for jobs in sorted({r["jobs"] for r in shown})),
        code=", ".join(sorted({f"{r['date']} ({r['commit']})" for r in shown})),
        reached=sum(r["test"] >= r["published"] for r in shown),
        worst=sum(min([r["test"], *others[r["data"]]]) >= r["published"] for r in shown),
        all=len(shown),
    )
    titles = ["data", "rows x variables", "most states", "probabilities", "mean test log-likelihood", "standard error"]
    titles += ["HCLT", "difference", "other seeds", "processor s", "wall s", "ended by"]
    rows = [
        [
            r["data"],
            f"{r['rows']:,.0f} x {r['variables']:,}",
            f"{max(r['states'])}",
            f"{r['parameters']:,}",
            f"{r['test']:.3f}",
            f"{r['error']:.3f}",
            f"{r['published']:.3f}",
            f"{r['test'] - r['published']:+.3f}",
            ", ".join(f"{value:.3f}" for value in others[r["data"]]),
            f"{r['cpu']:.0f}",
            f"{r['wall']:.0f}",
            "time limit" if r["ended"] == "time" else "itself",
        ]
        for r in shown
    ]
    return f"{head}\n{markdown(titles, rows)}"


# ---- the command line -----------------------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.density", description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help="default all")
    parser.add_argument("--seed", type=int, default=0, help="seed (default 0)")
    parser.add_argument("--out", metavar="FILE", help="where to write the page; without it, the page is printed")
    search_options(parser, RESULTS)
    given = parser.parse_args(arguments)
    results = Results(given.results)
    if not given.table:
        folder, options = data_folder(given.data), method_options(METHOD, given.set)
        theirs = published(folder)
        for name in given.sets:
            question = Question(name, given.seed, METHOD, "holdout", options, given.time_limit or LIMIT)
            if given.fresh or results.find(**question.plain(), code=code_version()["code"]) is None:
                record = measured(question, folder, theirs[name], given.jobs or 1)
                results.add(record)
                say(f"{name}: {record['test']:.4f} ({record['published']:.3f}), {record['cpu']:.1f} s")
    deliver(page((r for r in results.read() if given.code in (None, r["code"])), seed=given.seed), given.out)


if __name__ == "__main__":
    run_main(main)
