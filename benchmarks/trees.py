"""The page of kept series of searches: seeds, fresh data, BICe.

python -m benchmarks.trees --out docs/benchmarks-trees.md
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from studies.page import linked, markdown
from studies.results import Results, latest, run_main
from studies.search_scores import ROWS

from latentree._files import write_atomically
from latentree.search._registry import DEFAULT

from . import alternate, bice, fresh, seeds

HEAD = """# The default search: seeds, fresh data, BICe

Made by `python -m benchmarks.trees --out docs/benchmarks-trees.md` from results that are kept in `benchmarks/results`;
the commits are those that the searches were measured with. BIC is LL - d/2 ln N, higher being better. Seconds are of
processor time, on a machine with other work.

## Ten seeds on named data

`python -m benchmarks.seeds`. The best known values, with their origin, are in `benchmarks/best_known.json`. *Near the
best* counts seeds within the tolerance in brackets; *goal met* says so, or by how much the worst seed misses: the
goal is the best known value less the tolerance, for pascal_voc_2007 (fold 1 of the
[10-fold study](reproduction/ten-fold-study.md)) {pascal:,.0f} in five minutes (one is given here), for COIL {coil:,.0f} in
three minutes on two cores (one thread was used here).
*Latent classes* is the BIC of the latent class model of `latentree fit`, below which no search should end. *Baseline* is
what the default took at 41913b7, on another day; [below](#against-the-search-before) the two are measured in turn.

"""


MANY: Mapping[str, int] = {"starts": 30, "agree": 1000}
"""Options of searches that go on although their starts agree."""


def page() -> str:
    """All tables; every figure comes from the kept results."""
    goals = {"pascal": seeds.CASES["pascal_voc_2007/1"].goal, "coil": seeds.CASES["coil42"].goal}
    runs = seeds.kept(Results(seeds.RESULTS), DEFAULT, {}, None, None)
    missing = [name for name in seeds.CASES if not any(r["data"] == name for r in runs)]
    text = HEAD.format(**goals) + seeds.table(
        runs, seeds.best_known(), Results(seeds.BASELINE), seeds.classes_of(Results(seeds.RESULTS))
    )
    if missing:
        text += f"\nNot measured yet: {', '.join(missing)}.\n"
    drawn, figure = (
        fresh.kept(Results(fresh.RESULTS), {}, None),
        latest(Results(bice.RESULTS).read(), by=("data", "method")),
    )
    families = ", ".join(f"{own.sets} of {name.upper()}'s tree" for name, own in fresh.FAMILIES.items())
    many = seeds.kept(Results(seeds.RESULTS), DEFAULT, MANY, None, None)
    if many:
        text += f"""
## Ten times as many starts

`python -m benchmarks.seeds --seeds 0-1 --set {" ".join(f"{name}={value}" for name, value in MANY.items())}`: {MANY["starts"]} starts,
whether they agree or not, where three that agree end the default. *Higher* is by how much the best of these seeds is above the
best of the default's ten.

{_many(many, runs)}"""
    before = Results(alternate.RESULTS).read()
    text += f"""
## Against the search before

`python -m benchmarks.alternate`: the search of {", ".join(sorted({r["other"] for r in before}))} and the present one in
turn, from the same seeds, on one machine. Processor seconds are medians. *Until as good* has, for each seed, the
processor seconds after which the present search had reached the BIC that the other ended with; *times less* compares
them with what the other took, the worst seed first. Measured with {_commits(before)}.

{alternate.table(before)}
## Fresh data

`python -m benchmarks.fresh`: sets drawn for this purpose ({families} in all), with random
probabilities, each distribution having a component above {fresh.DOMINANT}. A method is the best of all on a set if its
BIC is within {fresh.TOLERANCE:g} of the highest that any found. Measured with {_commits(drawn)}.

{fresh.table(drawn)}
## BICe on data from M1

`python -m benchmarks.bice`: {ROWS:,} rows from M1 of [ZhangKocka2004] figure 1, which BIC gives up for M2. Counted
are sets where BICe prefers M1 to M2, both fitted from {bice.STARTS} starts; in brackets, how far the worst seed is from M1.
Measured with {_commits(figure)}.

{bice.table(figure)}"""
    return linked(text).replace("]: ../bibliography.md", "]: bibliography.md")


def _many(many: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]) -> str:
    """What more starts find, beside what the default found."""
    rows = []
    for name in dict.fromkeys(r["data"] for r in many):
        own, usual = ([r for r in of if r["data"] == name] for of in (many, runs))
        values, best = [r["value"] for r in own], max(r["value"] for r in usual)
        found = [f"{min(values):,.1f}", f"{max(values):,.1f}", f"{round(max(values) - best, 1) + 0.0:+.1f}"]
        rows.append([name, f"{len(own)}", *found, f"{median(r['cpu'] for r in own):.1f}"])
    return markdown(["data", "seeds", "worst", "best", "higher", "processor s, median"], rows)


def _commits(records: Sequence[Mapping[str, Any]]) -> str:
    """The commits that searches ran with, and how many with each."""
    counted = Counter(r["commit"] for r in records)
    return ", ".join(f"{commit} ({n} searches)" for commit, n in sorted(counted.items()))


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the page; without it, it is printed")
    given = parser.parse_args(arguments)
    if given.out is None:
        print(page(), end="")
    else:
        write_atomically(given.out, page())


if __name__ == "__main__":
    run_main(main)
