"""A published comparison of programs that learn latent trees, fold by fold: [RodriguezSanchez2020], ours beside it.

``python -m studies.ten_fold --data DIR`` searches what is not kept yet (``--sets car_evaluation --folds 1-3`` for a
part) and keeps it in ``studies/results/ten_fold.jsonl``;
``python -m studies.ten_fold --table --out docs/reproduction/ten-fold-study.md`` writes the page of what is kept.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from latentree import datasets
from latentree._table import Table
from latentree.infer import log_likelihood_rows
from latentree.search._registry import DEFAULT

from .page import deliver, markdown
from .results import (
    Question,
    Results,
    code_version,
    data_folder,
    latest,
    method_options,
    numbers,
    run_main,
    say,
    search_options,
    searched,
    told,
)

__all__ = ["SETS", "main", "page", "published", "training_rows"]

RESULTS = Path(__file__).parent / "results" / "ten_fold.jsonl"
FOLDS = range(1, 11)
SLACK = 0.05
"""How far below EAST's a BIC may be: what the figures are rounded to, and what separates two runs to convergence."""
Record = Mapping[str, Any]


@dataclass(frozen=True)
class StudySet:
    """A data set of the study.

    Attributes
    ----------
    share, seconds : float, optional
        What a search may take: a part of EAST's published seconds, or seconds of processor time.
    rivals : tuple of str
        The programs whose BIC is to be reached.
    time_limit : float, optional
        Wall-clock seconds of each search.
    """

    share: float | None = None
    seconds: float | None = None
    rivals: tuple[str, ...] = ("EAST",)
    time_limit: float | None = None


SETS: Mapping[str, StudySet] = {
    "balance_scale": StudySet(seconds=2.0),
    "breast_cancer": StudySet(share=0.10),
    "car_evaluation": StudySet(share=0.03),
    "hayes_roth": StudySet(seconds=2.0),
    "hiv_test": StudySet(seconds=2.0),
    "house_building": StudySet(seconds=2.0),
    "vote": StudySet(share=0.10),
    "mushroom": StudySet(share=0.01, time_limit=60.0),
    "pascal_voc_2007": StudySet(share=0.01, time_limit=60.0),
    "coil_42": StudySet(share=0.01, time_limit=60.0),
    "news_100": StudySet(rivals=("BI", "LCM"), time_limit=60.0),
}


# ---- data ---------------------------------------------------------------------------------------------------------


def _whole(name: str, folder: Path) -> Table:
    if name == "coil_42":
        return datasets.load("coil42", data_dir=folder)
    return Table.read(folder / "study10" / f"{name}.arff.gz", keep_levels=True)


def _part(whole: Table, fold: int, *, test: bool) -> Table:
    """Fold f tests on rows (f - 1) m to f m, where m is a tenth of the rows, the last to the end; nothing is shuffled.

    Examples
    --------
    >>> whole = Table.from_codes(np.arange(23)[:, None])
    >>> _part(whole, 1, test=True).n, _part(whole, 10, test=True).n, _part(whole, 10, test=False).n
    (2.0, 5.0, 18.0)
    """
    codes = whole.codes[whole.inverse]
    size = len(codes) // 10
    tested = np.zeros(len(codes), dtype=bool)
    tested[(fold - 1) * size : fold * size if fold < 10 else None] = True
    return Table.from_codes(codes[tested == test], whole.variables)


def training_rows(name: str, fold: int, folder: Path) -> Table:
    """The rows that a fold learns from; states that only other rows have, or none, are states nevertheless."""
    return _part(_whole(name, folder), fold, test=False)


def published(folder: Path) -> dict[tuple[str, int], dict[str, dict[str, float]]]:
    """The study's figures of each set and fold: by program, BIC, log-likelihood of the test rows and seconds."""
    found: dict[tuple[str, int], dict[str, dict[str, float]]] = {}
    with open(folder / "study10" / "published.csv", newline="") as file:
        for line in csv.DictReader(file):
            own = {"bic": line["train_bic"], "test": line["test_log_likelihood"], "seconds": line["seconds"]}
            figures = {name: float(text) for name, text in own.items() if text}
            found.setdefault((line["data"], int(line["fold"])), {})[line["method"]] = figures
    return found


# ---- searching ----------------------------------------------------------------------------------------------------


def measured(question: Question, folder: Path, theirs: Mapping[str, Mapping[str, float]], jobs: int) -> dict[str, Any]:
    """Search the training rows of a fold, and look at its test rows; with the published figures beside."""
    name, fold = question.data.split("/")
    whole = _whole(name, folder)
    train, test = (_part(whole, int(fold), test=of_test) for of_test in (False, True))
    run, record = searched(question, train, jobs=jobs)
    rows = log_likelihood_rows(run.model, test)
    possible = np.isfinite(rows)
    return {
        **record,
        "set": name,
        "fold": int(fold),
        "train_rows": train.n,
        "variables": train.n_variables,
        "test_rows": test.n,
        "test_log_likelihood": float(rows[possible].sum()),  # of the rows that are possible
        "impossible": int((~possible).sum()),
        "published": {program: theirs[program] for program in ("EAST", "BI", "LCM") if program in theirs},
    }


# ---- the page -------------------------------------------------------------------------------------------------------


def page(records: Iterable[Record], *, seed: int = 0) -> str:
    """Write the page of kept results; every figure on it is theirs."""
    kept = [r for r in records if r["set"] in SETS and r["seed"] == seed]
    plain = latest([r for r in kept if not r["options"] and r["time_limit"] == SETS[r["set"]].time_limit], by=("set",))
    of = {name: sorted((r for r in plain if r["set"] == name), key=lambda r: r["fold"]) for name in SETS}
    of = {name: own for name, own in of.items() if own}
    code = ", ".join(sorted({f"{r['date']} ({r['commit']})" for r in plain}))
    threads = ", ".join(f"{jobs} thread{'s'[: jobs > 1]}" for jobs in sorted({r["jobs"] for r in plain}))
    size: dict[str, Any] = {"folds": len(plain), "all": len(SETS) * len(FOLDS), "sets": len(of), "known": len(SETS)}
    limited = [name for name, own in SETS.items() if own.time_limit is not None]
    size |= {"limited": ", ".join(limited), "limit": max(SETS[name].time_limit or 0.0 for name in limited)}
    head = _HEAD.format(**size, seed=seed, threads=threads, code=code, slack=SLACK)
    summary = markdown(_SUMMARY, [_summed(name, own) for name, own in of.items()])
    return "\n".join([head, summary, *(_of_set(name, own) for name, own in of.items()), _tested()])


_HEAD = """# The published 10-fold study

[RodriguezSanchez2020] compares programs that learn latent trees and forests on eleven data sets, in ten folds each:
among them the original EAST and BI (bridged islands, both in Java), and latent class models (LCM). Rows are in the
order of the files, not shuffled, so folds differ in distribution; every declared state counts, seen or not
(`keep_levels=True`). BIC is that of the training rows, LL - d/2 ln N, higher being better.

Made by `python -m studies.ten_fold --data DIR` (searches, which are kept in `studies/results/ten_fold.jsonl`) and
`python -m studies.ten_fold --table --out docs/reproduction/ten-fold-study.md` (this page): {folds} of {all} folds,
{sets} of {known} sets, seed {seed}, {threads}; code of {code}.
Processor seconds are ours, of all threads, on a machine with other work; published seconds are the study's, on its own.
Searches of {limited} were stopped after {limit:g} s of wall time; the others
came to their own end. A latent of one state, which makes what is around it independent, counts as a latent.

## All sets

*Difference* is our BIC less the best of the programs named; *reached* counts folds with a difference of at least
-{slack:g}. *Share* is our processor seconds as a part of EAST's published seconds.
"""

_SUMMARY = ["data", "training rows x variables", "folds", "against", "least difference", "mean difference", "reached"]
_SUMMARY += ["processor s, median", "most", "published s, median", "largest share", "goal", "within the goal"]


def _theirs(record: Record) -> float:
    """The best BIC of the programs to compare with."""
    return max(record["published"][program]["bic"] for program in SETS[record["set"]].rivals)


def _share(record: Record) -> float | None:
    east = record["published"].get("EAST")
    return None if east is None else record["cpu"] / east["seconds"]


def _within(record: Record) -> bool | None:
    own, share = SETS[record["set"]], _share(record)
    if own.seconds is not None:
        return bool(record["cpu"] <= own.seconds)
    return None if own.share is None or share is None else bool(share <= own.share)


def _summed(name: str, own: Sequence[Record]) -> list[str]:
    goal, gaps, cpu = SETS[name], [r["value"] - _theirs(r) for r in own], [r["cpu"] for r in own]
    shares = [s for s in map(_share, own) if s is not None]
    seconds = [r["published"][goal.rivals[0]]["seconds"] for r in own]
    allowed = f"{goal.seconds:g} s" if goal.seconds else f"{goal.share:.0%}" if goal.share else ""
    within = [w for w in map(_within, own) if w is not None]
    return [
        name,
        f"{own[0]['train_rows']:,.0f} x {own[0]['variables']}",
        f"{len(own)}",
        " and ".join(goal.rivals),
        f"{min(gaps):+z,.1f}",
        f"{fmean(gaps):+z,.1f}",
        f"{sum(gap >= -SLACK for gap in gaps)} of {len(gaps)}",
        *(f"{f(cpu):,.1f}" for f in (median, max)),
        f"{median(seconds):,.1f}",
        f"{max(shares):.2%}" if shares else "",
        allowed,
        f"{sum(within)} of {len(within)}" if within else "",
    ]


def _of_set(name: str, own: Sequence[Record]) -> str:
    rivals = SETS[name].rivals
    head = ["fold", "BIC", *(f"{p}'s" for p in rivals), "difference", "latents", "processor s", "wall s"]
    head += [*(f"{p}'s seconds" for p in rivals), "ended by"]
    rows = [
        [
            f"{r['fold']}",
            f"{r['value']:,.2f}",
            *(f"{r['published'][p]['bic']:,.2f}" for p in rivals),
            f"{r['value'] - _theirs(r):+z,.2f}",
            f"{r['latents']}",
            f"{r['cpu']:,.2f}",
            f"{r['wall']:,.2f}",
            *(f"{r['published'][p]['seconds']:,.1f}" for p in rivals),
            "time limit" if r["ended"] == "time" else "itself",
        ]
        for r in own
    ]
    return f"## {name}\n\n{markdown(head, rows)}"


# ---- test rows ------------------------------------------------------------------------------------------------------


def _tested() -> str:
    """Log-likelihoods of the test rows, of the study that looks at them."""
    from . import new_rows  # which needs the folds of this one

    return f"""## Test rows

Mean log-likelihood of a fold's test rows, from the [study of new rows](new-rows.md), whose searches of the large sets
ended after 30 s.

{new_rows.summary(Results(new_rows.RESULTS).read())}"""


# ---- the command line -----------------------------------------------------------------------------------------------


def folds_of(text: str) -> list[int]:
    """Folds such as ``1``, ``1-3`` or ``1,5-10``."""
    found = numbers(text)
    if not set(found) <= set(FOLDS):
        raise argparse.ArgumentTypeError("folds are numbered from 1 to 10")
    return found


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.ten_fold", description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help="default all")
    parser.add_argument("--folds", type=folds_of, default=list(FOLDS), help="such as 1 or 1,3-5 (default all)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all searches, also those shown (default 0)")
    parser.add_argument("--out", metavar="FILE", help="where to write the page; without it, the page is printed")
    search_options(parser, RESULTS)
    given = parser.parse_args(arguments)
    results = Results(given.results)
    if not given.table:
        folder, options = data_folder(given.data), method_options(DEFAULT, given.set)
        theirs = published(folder)
        for name in given.sets:
            limit = SETS[name].time_limit if given.time_limit is None else given.time_limit
            for fold in given.folds:
                question = Question(f"{name}/{fold}", given.seed, options=options, time_limit=limit)
                if given.fresh or results.find(**question.plain(), code=code_version()["code"]) is None:
                    record = measured(question, folder, theirs[name, fold], given.jobs or 1)
                    results.add(record)
                    say(told(record))
    kept = (r for r in results.read() if given.code in (None, r["code"]))
    deliver(page(kept, seed=given.seed), given.out)


if __name__ == "__main__":
    run_main(main)
