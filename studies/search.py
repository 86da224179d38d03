"""Learning the tree: searches of the literature, and all regular trees of small data, ours beside theirs.

Reproduces [ChenZhangWang] table 1, figures 5, 6 and 5.3, [Zhang2004] 3, 5.1, figures 3 and 4, [ZhangKocka2004] 1, 3.1.

``python -m studies.search --data DIR`` makes what is not kept yet (``--parts granularity`` for one part) and keeps it
in ``studies/results/search.jsonl``; ``python -m studies.search --table --out FILE`` writes the page of what is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from . import (
    search_climbing as climbing,
    search_exhaustive as exhaustive,
    search_granularity as granularity,
    search_scores as scores,
)
from .page import filled
from .parts import Answers, Parts, deliver_pictures, part_options
from .results import NOT_CODE, Record, Results, data_folder, run_main

__all__ = ["main", "page", "pictures"]

RESULTS = Path(__file__).parent / "results" / "search.jsonl"
SECTIONS = (exhaustive, granularity, climbing, scores)
PARTS = tuple(part for module in SECTIONS for part in module.PARTS)

_HEAD = """# Learning the tree

Made by `python -m studies.search --data DIR`, which keeps its results in `studies/results/search.jsonl`, and
`python -m studies.search --table --out docs/reproduction/search.md`; {made}, on a machine with other work at the same
time: seconds are processor time, of one thread. BIC is LL - d/2 ln N, higher being better. "Default" is the search that
`learn` uses if none is named (`swift`); more of it, from ten seeds, is in
[its benchmarks](../benchmarks-trees.md). Trees of real data are on [a page of their own](trees.md).
"""


def page(records: Iterable[Record]) -> str:
    """Write the page of kept results; every figure on it is theirs."""
    kept = Answers(list(records))
    text = [module.section(kept) for module in SECTIONS if all(kept.has(part) for part in module.PARTS)]
    return filled(_HEAD.format(made=kept.made()) + "".join(text))


def pictures(records: Iterable[Record]) -> dict[str, str]:
    """The page's pictures by the names of their files."""
    kept = Answers(list(records))
    drawing = [module for module in (granularity, climbing) if all(kept.has(part) for part in module.PARTS)]
    return {f"search-{name}.svg": svg for module in drawing for name, svg in module.draw(kept).items()}


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = part_options("search", __doc__ or "", RESULTS, PARTS)
    parser.add_argument("--data", metavar="DIR", help="folder of the data sets that do not come with latentree")
    parser.add_argument("--runs", type=int, default=10, help="runs of each method (default 10, as [ChenZhangWang])")
    parser.add_argument("--sets", nargs="+", choices=granularity.DATA, default=granularity.DATA, help="default all")
    methods = tuple(granularity.METHODS_OF_C)
    parser.add_argument("--methods", nargs="+", choices=methods, default=methods, help="on these sets (default all)")
    parser.add_argument("--most", type=int, default=4, help="most states of a latent in all trees (default 4)")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of the data after [Zhang2004] (default 10,000)")
    parser.add_argument("--variables", nargs="+", type=int, default=climbing.SIZES, help="their variables, default all")
    given = parser.parse_args(arguments)
    results = Results(given.results)
    if not given.table:
        parts = Parts(results, given.fresh, given.parts, left_out=NOT_CODE, any_code=given.any_code)
        exhaustive.make(parts, runs=given.runs, most=given.most, starts=64, seed=given.seed)
        climbing.make(parts, sizes=given.variables, rows=given.rows, seed=given.seed)
        wanted = set(given.parts or PARTS)
        if wanted & {*granularity.PARTS, *scores.PARTS}:
            folder = data_folder(given.data)
            scores.make(parts, folder, runs=3, sets=5, seed=given.seed)
            own = {"runs": given.runs, "data": given.sets, "methods": given.methods, "seed": given.seed}
            granularity.make(parts, folder, **own)
    records = results.read()
    deliver_pictures(page(records), pictures(records), given.out)


if __name__ == "__main__":
    run_main(main)
