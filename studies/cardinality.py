"""Learning numbers of states: [Karciauskas2005] tables 4.2-4.3, 6.1-6.11, 6.13-6.15, 7.1-7.3; scores against time.

Karciauskas' learners run with the source's constants (plain EM to a gain of 0.01 or 200 steps); ours, "screened", with
its own. Every run is one line of results in ``--results``, so that a study that was stopped goes on where it was.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.infer import sample_table
from latentree.report.figures import plot_race, save_panels
from latentree.score import cs

from .cardinality_published import (
    CHEESEMAN_STUTZ,
    COMPONENTS,
    PARAMETERISATIONS,
    REAL,
    SPAMBASE_UNLIMITED,
    SYNTHETIC,
    TREES,
    WITHOUT_ADJUSTMENT,
)
from .cardinality_runs import Bench, Run, mean, states_of
from .page import deliver, markdown, options

__all__ = ["main"]

PARTS = ("real", "cheeseman-stutz", "synthetic", "trees")
TOLERATED = 0.1
"""How far below the best published score a run still counts as reaching it: the sources round to one digit."""
ANYTIME = 5.0
"""Least limit, in seconds, for learners that do not end by themselves."""
K4: dict[str, Any] = {"p": 0.1, "n_splits": 1, "prior": 1.0, "basis": "softmax", "polish": None}
"""Settings of [Karciauskas2005] 4.5.2."""


@dataclass
class Study:
    """What the parts share: how runs are made, how many, and the pictures they ask for."""

    bench: Bench
    runs: int
    most_rows: int
    data: str | None = None
    panels: list[Callable[[Any], Any]] = field(default_factory=list)

    def several(self, table: Table, *key: str | int, **options_: Any) -> list[Run]:
        """Run a learner as often as asked."""
        return [self.bench.run(table, [*key, i], **options_) for i in range(self.runs)]

    def picture(self, title: str, curves: dict[str, list[Run]]) -> None:
        """Ask for a picture of the first runs' scores against time."""
        drawn = {name: (runs[0].times, runs[0].scores) for name, runs in curves.items()}
        self.panels.append(partial(plot_race, drawn, title=title))


def main(arguments: Sequence[str]) -> None:
    """Read the options, run what is asked for, and write the page."""
    parser = options("cardinality", __doc__ or "")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"which of {', '.join(PARTS)} (default all)")
    parser.add_argument("--runs", type=int, default=1, help="runs of each learner (default 1; the source: 5)")
    parser.add_argument(
        "--limit", type=float, default=30.0, help="most processor seconds of a run of a published learner (default 30)"
    )
    parser.add_argument(
        "--most-rows", type=int, default=10**5, metavar="N", help="rows of the largest synthetic data (default 100,000)"
    )
    parser.add_argument("--sets", default=",".join(REAL), metavar="NAME,...", help="which real data sets (default all)")
    parser.add_argument("--results", metavar="DIR", help="folder that keeps the results of all runs")
    given = parser.parse_args(arguments)
    bench = Bench(None if given.results is None else Path(given.results), given.seed, given.limit)
    study = Study(bench, given.runs, given.most_rows, given.data)
    sections = {
        "real": lambda: _real(study, [name for name in given.sets.split(",") if name]),
        "cheeseman-stutz": lambda: _cheeseman_stutz(study),
        "synthetic": lambda: _synthetic(study),
        "trees": lambda: _trees(study),
    }
    text = [_head(given)]
    for part in given.parts.split(","):
        if part not in sections:
            parser.error(f"--parts: there is no part '{part}'; there are {', '.join(PARTS)}")
        study.panels.clear()
        text.append(sections[part]())
        if given.out is not None and study.panels:
            picture = Path(given.out).with_suffix("").name + f"-{part}.svg"
            Path(given.out).parent.mkdir(parents=True, exist_ok=True)
            save_panels(Path(given.out).with_name(picture), study.panels)
            text.append(f"![Scores against time, {part}]({picture})\n")
    deliver("\n".join(text), given.out)


def _head(given: Any) -> str:
    command = f"python -m studies.cardinality --runs {given.runs} --limit {given.limit:g} --seed {given.seed}"
    command += f" --parts {given.parts}" if given.parts != ",".join(PARTS) else ""
    command += " --data DIR" if given.data else ""
    return f"""# Learning the number of states

Chapters 4, 6 and 7 of [Karciauskas2005], called K in the tables, done again. Made by

    {command} --most-rows {given.most_rows}

Scores are BIC = LL - d/2 ln N unless said otherwise, and higher is better. Karciauskas' learners run here with the
constants of the source; these runs end after {given.limit:g} seconds if they have not ended before, which `*` marks.
"screened" is latentree's own learner, the default. Seconds are processor seconds with one thread. Karciauskas' machine
was a 2.8 GHz processor of 2004 under Java; the values of K are means of five runs, ours of {given.runs}. The
source's δ is lost in the text: ours is 0.1. All of it, as the source did it and more, takes
`--runs 5 --limit 3600 --most-rows 1000000000`.
"""


def _time(runs: Sequence[Run]) -> str:
    late = "" if all(run.ended for run in runs) else "*"
    return f"{np.mean([run.seconds for run in runs]):.1f}{late}"


def _gap(value: float | np.floating[Any]) -> str:
    """A difference with one digit, and no sign before zero."""
    return f"{round(float(value), 1) + 0.0:.1f}"


# ---- real data ([Karciauskas2005] 6.3.3) ----------------------------------------------------------------------------


def _real(study: Study, names: Sequence[str]) -> str:
    rows, adjusted, won, tied, lost = [], [], 0, 0, []
    total = 0.0
    tables = {name: datasets.load(name, data_dir=study.data) for name in sorted(names, key=list(REAL).index)}
    for name, table in tables.items():
        told = REAL[name]
        ours = study.bench.run(table, [name, "screened", 0], method="screened", limit=np.inf)
        found = _k_learners(study, table, name)
        total += ours.seconds
        gap = ours.score - told.best
        won, tied = won + (gap > TOLERATED), tied + (abs(gap) <= TOLERATED)
        lost += [name] if gap < -TOLERATED else []
        rows.append(
            [
                name.capitalize() + ("†" if told.stopped else ""),
                *(f"{value:.1f}" for value in (told.standard3, told.split_merge, told.standard_fixed)),
                *(f"{mean(runs)} ({states_of(runs)}, {_time(runs)} s)" for runs in found.values()),
                f"**{ours.score:.1f}** ({states_of([ours])}, {ours.seconds:.1f} s)",
                _gap(gap),
            ]
        )
        if name in WITHOUT_ADJUSTMENT:
            plain = study.several(table, name, "SplitMerge-NoAdjust", method="SplitMerge", adjust=False, polish=None)
            line = [name.capitalize(), f"{told.split_merge:.1f}", f"{WITHOUT_ADJUSTMENT[name]:.1f}"]
            adjusted.append([*line, mean(found["SplitMerge"]), f"{mean(plain)} ({_time(plain)} s)"])
        if name in ("mushroom", "thyroid", "image", "voting"):
            study.picture(f"{name.capitalize()} (BIC)", {**found, "screened": [ours]})
    head = ["data", *(f"K: {m}" for m in ("Standard3", "SplitMerge", "StandardFixed"))]
    head += ["Standard3 (states, time)", "SplitMerge", "StandardFixed", "screened", "over Karciauskas' best"]
    return f"""## Twenty real data sets (tables 6.13 and 6.15)

† [Karciauskas2005] stopped SplitMerge at 5 hours.

{markdown(head, rows)}
screened, one run each, against the best of the three means of K: better on {won} of {len(names)} data sets, equal
(within {TOLERATED}) on {tied}, worse on {len(lost)}{" (" + ", ".join(lost) + ")" if lost else ""}; {total:.0f} seconds
of processor time together. SplitMerge of K reaches {SPAMBASE_UNLIMITED:.1f} on Spambase without a limit, in 62 hours
(table 6.14).

Without parameter adjustment (table 6.15):

{markdown(["data", "K: SplitMerge", "K: without", "SplitMerge", "without (time)"], adjusted)}"""


def _k_learners(study: Study, table: Table, *key: str | int, **settings: Any) -> dict[str, list[Run]]:
    """Standard3, SplitMerge, and StandardFixed with the states and the time of SplitMerge."""
    own: dict[str, Any] = {"polish": None, **settings}
    found = {m: study.several(table, *key, m, method=m, **own) for m in ("Standard3", "SplitMerge")}
    best = max(found["SplitMerge"], key=lambda run: run.score)
    (k,) = best.states.values()
    time = max(float(np.mean([run.seconds for run in found["SplitMerge"]])), 0.5)
    found["StandardFixed"] = study.several(
        table,
        *key,
        "StandardFixed",
        method="StandardFixed",
        limit=min(time, study.bench.limit),
        options={"n_states": k},
        **own,
    )
    return found


# ---- Cheeseman-Stutz ([Karciauskas2005] 4.5) ------------------------------------------------------------------------


def _cs_as_it_stands(fit: Any) -> float:
    """The score at the posterior mode that EM has found ([Karciauskas2005] 4.5.2)."""
    return cs(fit, at="given")


def _cheeseman_stutz(study: Study) -> str:
    rows = []
    for name, told in CHEESEMAN_STUTZ.items():
        table = datasets.load(name)
        own: dict[str, Any] = {"score": _cs_as_it_stands, "limit": max(study.bench.limit, ANYTIME), **K4}
        found = {m: study.several(table, name, "cs", m, method=m, **own) for m in ("Standard", "Splitting")}
        best = max(found["Splitting"], key=lambda run: run.score)
        (k,) = best.states.values()
        found["StandardFixed"] = study.several(
            table, name, "cs", "StandardFixed", method="StandardFixed", options={"n_states": k}, **own
        )
        ours = {key: own[key] for key in ("score", "prior", "basis")}
        found["screened"] = study.several(
            table, name, "cs", "screened", method="screened", limit=4 * own["limit"], **ours
        )
        for method, runs in found.items():
            theirs = f"{told[method][0]:.1f} ({told[method][1]})" if method in told else ""
            rows.append([name.capitalize(), method, theirs, f"{mean(runs)} ({states_of(runs)})", _time(runs)])
        study.picture(f"{name.capitalize()} (Cheeseman-Stutz)", found)
    return f"""## Cheeseman-Stutz scores (table 4.2 without its text data)

Posterior modes in the softmax basis, α = 1, p = 0.1. Standard, Splitting and StandardFixed do not end by themselves:
they have {max(study.bench.limit, ANYTIME):g} seconds, screened at most four times as many (K: 1, 95 and 280 minutes).
The nine text data sets of table 4.2 need a corpus that is not at hand.

{markdown(["data", "learner", "K (states)", "ours (states)", "seconds"], rows)}"""


# ---- synthetic data ([Karciauskas2005] 6.3.2) -----------------------------------------------------------------------


def _synthetic(study: Study) -> str:
    most = study.most_rows
    lines = [
        ("6.1-6.8", structure, n, 0, told)
        for structure, sizes in SYNTHETIC.items()
        for n, told in sizes.items()
        if n <= most
    ]
    lines += [
        ("6.9, 6.10", structure, n, i, told)
        for (structure, n), tables in PARAMETERISATIONS.items()
        for i, told in enumerate(tables)
        if n <= most and i > 0
    ]
    if most >= 10**6:
        lines += [("6.11", f"{m}:10x2", 10**6, 0, told) for m, told in COMPONENTS.items() if m != 10]
    rows = []
    for tables, structure, n, parameters, told in lines:
        table = _drawn(structure, n, parameters, study.bench.seed)
        key = (structure, n, parameters)
        found = _k_learners(study, table, *key)
        found["screened"] = study.several(table, *key, "screened", method="screened", limit=4 * study.bench.limit)
        top, k_top = max(r[0].score for r in found.values()), max(told[:3])
        rows.append(
            [
                tables,
                structure,
                f"{n:.0e}".replace("e+0", "e"),
                " / ".join(_gap(value - k_top) for value in told[:3]) + f" ({told[3]})",
                *(
                    f"{_gap(np.mean([r.score for r in runs]) - top)} ({states_of(runs)}, {_time(runs)} s)"
                    for runs in found.values()
                ),
            ]
        )
        if (structure, n) in (
            ("10:10x2", most),
            ("10:10x3", 10**4),
            ("10:15x2", 10**5),
            ("10:7x3", 10**6),
        ) and not parameters:
            study.picture(f"{structure}, {n:,} rows (BIC)", found)
    head = ["table", "model", "rows", "K: Standard3 / SplitMerge / StandardFixed below their best (states)"]
    return f"""## Synthetic data (the models of tables 6.1 to 6.10)

Drawn from random models of the structures of K, whose parameters are not known, so that scores are given as differences
from the best of a line.

{markdown([*head, "Standard3", "SplitMerge", "StandardFixed", "screened"], rows)}"""


def _drawn(structure: str, n: int, parameters: int, seed: int) -> Table:
    """Draw a table from a random model: pattern by pattern if there are few, so that its size costs nothing."""
    states, leaves = structure.split(":")
    count, _, width = leaves.partition("x")
    widths = [int(width)] * int(count) if width else [int(w) for w in leaves.split(",")]
    rng = np.random.default_rng([seed, int(states), *widths, parameters])
    tree = Tree.star(int(states), widths)
    model = Model.random(tree, numbered(widths), rng)
    if np.prod(widths, dtype=float) > 10**5:
        return sample_table(model, n, rng)
    patterns = np.array(list(product(*map(range, widths))))
    probability = np.repeat(model.table(0).T, len(patterns), axis=1)
    for v in range(1, tree.n_nodes):
        probability *= model.table(v)[:, patterns[:, v - 1]]
    share = probability.sum(axis=0)
    weights = rng.multinomial(n, share / share.sum()).astype(np.float64)
    return Table.from_codes(patterns[weights > 0], numbered(widths), weights[weights > 0])


# ---- trees ([Karciauskas2005] 7.3) ----------------------------------------------------------------------------------


def _trees(study: Study) -> str:
    rows = []
    for which, sizes in TREES.items():
        leaves, _, second = which.partition(", ")
        made = datasets.generator(f"d{leaves}")
        skeleton = made.tree
        rng = np.random.default_rng([study.bench.seed, int(leaves), len(which)])
        truth = Model.random(skeleton, made.variables, rng, dominant=None if second == "first" else 0.6)
        for n, told in sizes.items():
            if n > study.most_rows:
                continue
            table = sample_table(truth, n, np.random.default_rng([study.bench.seed, n]))
            found = _tree_learners(study, table, skeleton, which, n)
            top = max(runs[0].score for runs in found.values())
            for method, runs in found.items():
                k_found = {"HLCStandard3": f"{told[0]}, {told[2]} min", "HLCSplitMerge": f"{told[1]}, {told[3]} min"}
                gap = _gap(np.mean([r.score for r in runs]) - top)
                rows.append(
                    [
                        which,
                        f"{n:,}",
                        method,
                        k_found.get(method, ""),
                        mean(runs),
                        gap,
                        _shape(skeleton, runs),
                        _time(runs),
                    ]
                )
            study.picture(f"{which} leaves, {n:,} rows (BIC)", found)
    head = ["leaves", "rows", "learner", "K: states, time", "BIC", "below best", "states", "seconds"]
    return f"""## Trees with a given skeleton (the models of tables 7.1 to 7.3)

Skeletons of 7, 12 and 18 ternary leaves, as in figures 7.1 to 7.3 of K; "first" has uniform parameters, the others have
an entry of at least 0.6 in every distribution. States are those of the root, its latent children, and theirs. "local"
runs local EM after every operation, as [Karciauskas2005] 7.3.4 proposes. Table 7.4 (COIL) needs the skeleton of a
search.

{markdown(head, rows)}"""


def _tree_learners(study: Study, table: Table, skeleton: Tree, which: str, n: int) -> dict[str, list[Run]]:
    def several(name: str, **more: Any) -> list[Run]:
        return study.several(table, which, n, name, skeleton=more.pop("tree", skeleton), **more)

    found = {
        "HLCStandard3": several("HLCStandard3", method="HLCStandard3", polish=None),
        "HLCSplitMerge": several("HLCSplitMerge", method="HLCSplitMerge", polish=None),
        "HLCSplitMerge, local": several("local", method="HLCSplitMerge", local=True, polish=None),
    }
    best = max(found["HLCSplitMerge"], key=lambda run: run.score)
    tree = skeleton
    for name, k in best.states.items():
        tree = tree.with_cardinality(name, k)
    time = max(best.seconds, 0.5)
    found["HLCStandardFixed"] = several("fixed", method="HLCStandardFixed", tree=tree, limit=time, polish=None)
    found["screened"] = several("screened", method="screened", limit=4 * study.bench.limit)
    return found


def _shape(skeleton: Tree, runs: Sequence[Run]) -> str:
    """States of the best run, level by level, in the form that [Karciauskas2005] gives them."""
    states = max(runs, key=lambda run: run.score).states
    depth = [len(skeleton.path_from_root(int(z))) for z in skeleton.latent]
    levels = [
        ",".join(str(states[skeleton.names[z]]) for z, at in zip(skeleton.latent, depth, strict=True) if at == level)
        for level in sorted(set(depth))
    ]
    return ":".join(levels)


if __name__ == "__main__":
    main(sys.argv[1:])
