"""Learning numbers of states: [Karciauskas2005] tables 4.2, 4.3, 6.1-6.16, 7.1-7.4, and figures of scores against time.

``python -m studies.cardinality --data DIR`` makes what is not kept yet and keeps it in
``studies/results/cardinality.jsonl``, run by run, so that it can be stopped and goes on where it was; ``--table --out
docs/reproduction/cardinality.md`` writes the page of what is kept, and its pictures. Karciauskas' learners have the
source's constants (plain EM to a gain of 0.01 or 200 steps); ours, "screened", its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from . import cardinality_real as real, cardinality_simulated as simulated
from .cardinality_published import REAL, TEXTS
from .cardinality_runs import PARTS, Asked, make_all
from .page import filled
from .parts import Answers, Parts, deliver_pictures, part_options
from .pictures import Panel, picture
from .results import Record, Results, data_folder, run_main

__all__ = ["main", "page", "pictures"]

RESULTS = Path(__file__).parent / "results" / "cardinality.jsonl"
PAGE = "cardinality"
DIGITS = 12
"""Of what is kept: scores of 10^9 rows are compared to one digit after the point."""

_HEAD = """# Learning the number of states

Chapters 4, 6 and 7 of [Karciauskas2005], called K in the tables, done again. Made by

```
python -m studies.cardinality --data DIR
python -m studies.cardinality --table --out docs/reproduction/cardinality.md
```

the first of which keeps its results, run by run, in `studies/results/cardinality.jsonl` and goes on where it was
stopped; in all {made}. Each section says how many runs it shows.

Scores are BIC = LL - d/2 ln N unless said otherwise, and higher is better. Karciauskas' learners have the constants of
the source; "screened" is latentree's own learner, the default. Means have 95 % intervals, as in K, whose are of five
runs. Seconds are processor seconds with one thread, on a machine that did other things, too; K's was a 2.8 GHz
processor of 2004 under Java. The source's δ is lost in the text: ours is 0.1.
"""


def page(records: Iterable[Record]) -> str:
    """Write the page of kept results; every figure on it is theirs."""
    kept = Answers(list(records))
    sections = {
        "real": (real.real_section, "real"),
        "synthetic": (simulated.synthetic_section, "synthetic"),
        "trees": (simulated.tree_section, "trees"),
        "coil": (simulated.coil_section, "coil"),
        "anytime": (real.anytime_section, "cheeseman-stutz"),
        "misleading": (real.misleading_section, ""),
    }
    shown = [section(kept) + _image(kept, name) for part, (section, name) in sections.items() if kept.has(part)]
    return filled(_HEAD.format(made=kept.made()) + "".join(shown))


_PICTURES = {
    "real": (real.real_panels, "Figures 6.4 to 6.7, mean BIC against time"),
    "synthetic": (simulated.simulated_panels, "Figures 6.1 to 6.3, mean BIC against time"),
    "trees": (simulated.tree_panels, "Figures 7.4 to 7.8, mean BIC against time"),
    "coil": (simulated.coil_panels, "Figure 7.10, mean BIC against time"),
    "cheeseman-stutz": (real.anytime_panels, "Figures 4.8, 4.9 and two more, mean Cheeseman-Stutz score against time"),
}


def _panels(kept: Answers, name: str) -> list[Panel]:
    return _PICTURES[name][0](kept)


def _image(kept: Answers, name: str) -> str:
    if name not in _PICTURES or not _panels(kept, name):
        return ""
    about = _PICTURES[name][1]
    return f"\n{about}: how far below the best end, with intervals there.\n\n![{about}]({PAGE}-{name}.svg)\n"


def pictures(records: Iterable[Record]) -> dict[str, str]:
    """Draw the figures of the page, by file name."""
    kept = Answers(list(records))
    drawn = {name: _panels(kept, name) for name in _PICTURES}
    return {f"{PAGE}-{name}.svg": picture(own, columns=2, width=360, height=210) for name, own in drawn.items() if own}


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = part_options(PAGE, __doc__ or "", RESULTS, PARTS)
    parser.add_argument("--data", metavar="DIR", help="folder of the data sets that do not come with latentree")
    parser.add_argument("--runs", type=int, default=10, help="runs of each learner on a data set (default 10)")
    parser.add_argument(
        "--large-runs", type=int, default=3, help="on data sets on which the source's runs were stopped (default 3)"
    )
    parser.add_argument(
        "--sets", nargs="+", default=[], choices=sorted({*REAL, *TEXTS}), metavar="NAME", help="real data sets"
    )
    given = parser.parse_args(arguments)
    results = Results(given.results)
    if not given.table:
        parts = Parts(results, given.fresh, given.parts, digits=DIGITS, any_code=given.any_code)
        make_all(Asked(parts, given.seed, given.runs, given.large_runs, data_folder(given.data), given.sets))
    records = results.read()
    deliver_pictures(page(records), pictures(records), given.out)


if __name__ == "__main__":
    run_main(main)
