"""The page's sections on simulated data: [Karciauskas2005] tables 6.1-6.11, 6.16 and 7.1-7.4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from latentree import datasets
from latentree._tree import Tree

from .cardinality_published import COIL, COMPONENTS, PARAMETERISATIONS, STOPPED, SYNTHETIC, TREES
from .cardinality_runs import SEARCHED, widths_of
from .cardinality_shown import Run, better, curves, gap, half, mean, scored, seconds, significantly, states
from .page import markdown
from .parts import Answers
from .pictures import Panel

__all__ = ["coil_panels", "coil_section", "simulated_panels", "synthetic_section", "tree_panels", "tree_section"]

KARCIAUSKAS = ("Standard3", "SplitMerge", "StandardFixed")
LEARNERS = (*KARCIAUSKAS, "screened")
ON_TREES = ("HLCStandard3", "HLCSplitMerge", "HLCStandardFixed", "HLCSplitMerge, local", "screened")
FEW = 5_100
"""Patterns of the observed variables that table 6.16 calls around 5000 or lower."""

Case = tuple[str, int, int]


def of_case(kept: Answers, part: str, learner: str, **which: object) -> list[Run]:
    """The kept runs of a learner on one data set."""
    return [record["answer"] for record in kept.all(part, learner=learner, **which)]


# ---- tables 6.1 to 6.11 ---------------------------------------------------------------------------------------------


def _lines() -> list[tuple[str, Case, tuple[float, float, float, int]]]:
    """Every line: its table, the data set, and what the source has."""
    tables = {"3:3x3": "6.1", "10:7x2": "6.2", "10:10x2": "6.3", "10:15x2": "6.4", "10:10x3": "6.5", "5:20x2": "6.6"}
    out = [
        ("6.7" if (s, n) == ("10:15x2", 10**5) else tables.get(s, "6.8"), (s, n, 0), told)
        for s, sizes in SYNTHETIC.items()
        for n, told in sizes.items()
    ]
    out += [(tables[s], (s, n, 0), told) for (s, n), told in STOPPED.items()]
    for (s, n), lines in PARAMETERISATIONS.items():
        out += [("6.9" if n == 10**6 else "6.10", (s, n, i), told) for i, told in enumerate(lines) if i]
    order = list(SYNTHETIC)
    out.sort(key=lambda line: (float(line[0].replace("6.10", "6.95")), order.index(line[1][0]), line[1][1]))
    return out + [("6.11", (f"{m}:10x2", 10**6, 9), told) for m, told in COMPONENTS.items()]


def _case(kept: Answers, case: Case) -> dict[str, list[Run]]:
    which = dict(zip(("structure", "rows", "parameters"), case, strict=True))
    found = {m: of_case(kept, "synthetic", m, **which) for m in (*LEARNERS, "StandardFixed, true")}
    return {m: runs for m, runs in found.items() if runs}


def synthetic_section(kept: Answers) -> str:
    """Tables 6.1 to 6.11, the summary of table 6.16, and the checks of 6.3.4."""
    lines = [(table, case, told, _case(kept, case)) for table, case, told in _lines()]
    made = [line for line in lines if all(m in line[3] for m in KARCIAUSKAS)]
    rows = []
    for table, (s, n, number), told, found in made:
        top = max(mean(runs) for runs in found.values())
        theirs = " / ".join(gap(value - max(told[:3])) for value in told[:3]) + f" ({told[3]})"
        ours = [_difference(found.get(m, []), top) for m in LEARNERS]
        label = s if not number or table == "6.11" else f"{s}, no. {number + 1}"
        rows.append([table, label, f"1e{len(str(n)) - 1}", theirs, *ours, str(len(found["SplitMerge"]))])
    head = ["table", "model", "rows", "K: Standard3 / SplitMerge / StandardFixed below their best (states)"]
    missing = [f"{s} with {n:,} rows" for _, (s, n, _), _, found in lines if not all(m in found for m in KARCIAUSKAS)]
    absent = f" Not run: {', '.join(missing)}." if missing else ""
    size = kept.size("synthetic")
    made = list({case: (table, case, told, found) for table, case, told, found in made}.values())  # each data set once
    runs = [run for *_, found in made for own in found.values() for run in own]
    own_end = [run for *_, found in made for m in LEARNERS if m != "StandardFixed" for run in found.get(m, [])]
    return f"""
## Simulated data (tables 6.1 to 6.11 and 6.16)

Drawn from random models of K's structures, whose parameters are not published, so that scores are given as differences
from the best mean of a line, with their intervals. A table has a weight for each pattern, so that 10^9 rows cost no
more than 10^4 where there are few patterns. {len(runs)} runs ({kept.made("synthetic")}) of at most {size["limit"]:g} s;
of those of Standard3, SplitMerge and screened, {sum(r["ended"] for r in own_end)} of {len(own_end)} ended by
themselves.{absent} The number of runs is that of K's learners; screened has one where it shows no interval. Lines that
K has in two tables are shown in the first; that of table 6.7 has the data of one of table 6.4. K's own runs with 10^5
and 10^6 rows of the models of tables 6.4 to 6.6 were stopped after 10 hours, some at very few states.

{markdown([*head, *LEARNERS, "runs"], rows)}
{_summary(made)}
{_checks(made)}
"""


def _difference(runs: Sequence[Run], top: float) -> str:
    if not runs:
        return "not run"
    return f"{scored(round(mean(runs) - top, 1) + 0.0, half(runs))} ({states(runs)}; {seconds(runs)})"


def _summary(made: Sequence[tuple[str, Case, tuple[float, ...], Mapping[str, list[Run]]]]) -> str:
    """Table 6.16, counted."""

    def counted(large: bool, many: bool, other: str) -> str:
        own = [
            better(found["SplitMerge"], found[other])
            for _, (s, n, _), _, found in made
            if (n >= 10**5) == large and (np.prod(widths_of(s), dtype=float) > FEW) == many
        ]
        return f"{own.count(1)} / {own.count(0)} / {own.count(-1)}"

    rows = [
        [size, *(counted(large, many, other) for many in (False, True) for other in ("Standard3", "StandardFixed"))]
        for size, large in (("below 10^5", False), ("10^5 and more", True))
    ]
    head = ["rows", *(f"{p}: {o}" for p in ("few patterns", "many patterns") for o in ("Standard3", "StandardFixed"))]
    return f"""### Table 6.16 and the checks of 6.3.4

SplitMerge against Standard3 and StandardFixed: on how many data sets its mean is better by more than 1, similar, or
worse, where the observed variables have up to about 5,000 patterns, and where they have more.

{markdown(head, rows)}
K: all similar below 10^5 rows; from 10^5 on SplitMerge is better with few patterns, with many all are similar.
"""


def _distance(run: Run) -> float:
    """How far from the model that the data come from; a probability of zero for what is possible is infinitely far."""
    return float("inf") if run["divergence"] is None else float(run["divergence"])


def _checks(made: Sequence[tuple[str, Case, tuple[float, ...], Mapping[str, list[Run]]]]) -> str:
    other = [
        (case, f) for _, case, _, f in made if "StandardFixed, true" in f and all(r["ended"] for r in f["SplitMerge"])
    ]
    lower = sum(mean(f["StandardFixed, true"]) < mean(f["StandardFixed"]) for _, f in other)
    too_many = [(c, f) for c, f in other if f["StandardFixed"][0]["states"]["z"] > int(c[0].partition(":")[0])]
    pairs = [
        [max(f[m], key=lambda run: run["score"]) for m in ("StandardFixed", "StandardFixed, true")] for _, f in too_many
    ]
    told = [(a, b) for a, b in pairs if a["score"] > b["score"] and "divergence" in a]
    nearer = sum(_distance(a) < _distance(b) for a, b in told)
    several = [f for *_, f in made if len(f["SplitMerge"]) > 1]
    steady = sum((half(f["SplitMerge"]) or 0.0) <= (half(f["Standard3"]) or 0.0) for f in several)
    spread = f"""
- *Spread.* The interval of SplitMerge is not wider than that of Standard3 on {steady} of the {len(several)} data sets
  with several runs (K: generally smaller)."""
    spread = spread if several else ""
    return f"""- *The true number of states.* Where SplitMerge ended by itself with another number than that of
  the model that the data come from, StandardFixed with the true number has the lower mean on {lower} of {len(other)}
  data sets (K: on all).
- *Too many states.* On {len(too_many)} of them SplitMerge found more states than the model has; on {len(told)} of these
  StandardFixed's best run with the larger number has the higher BIC, and on {nearer} of those {len(told)} it is also
  nearer to the model by Kullback-Leibler divergence, as K's footnote 10 says.{spread}"""


def simulated_panels(kept: Answers) -> list[Panel]:
    """Figures 6.1 to 6.3."""
    panels = []
    for structure in ("10:10x2", "10:15x2", "10:7x3"):
        found = _case(kept, (structure, 10**6, 0))
        if all(m in found for m in KARCIAUSKAS):
            panels.append(curves(f"{structure}, 1e6 rows", {m: found[m] for m in LEARNERS if m in found}))
    return panels


# ---- tables 7.1 to 7.4 ----------------------------------------------------------------------------------------------


def tree_section(kept: Answers) -> str:
    """Tables 7.1 to 7.3."""
    rows = []
    runs = [record["answer"] for record in kept.all("trees")]
    free = [r["answer"] for r in kept.all("trees") if r["which"]["learner"] != "HLCStandardFixed"]
    for which, sizes in TREES.items():
        skeleton = datasets.generator(f"d{which.partition(',')[0]}").tree
        for n, told in sizes.items():
            theirs = {
                "HLCStandard3": (told.standard3, told.standard3_half, told.standard3_states, told.standard3_minutes),
                "HLCSplitMerge": (
                    told.split_merge,
                    told.split_merge_half,
                    told.split_merge_states,
                    told.split_merge_minutes,
                ),
            }
            for learner in ON_TREES:
                own = of_case(kept, "trees", learner, model=which, rows=n)
                if not own:
                    continue
                k = [""] * 3
                if learner in theirs:
                    value, wide, found, minutes = theirs[learner]
                    k = [scored(value, wide), found, _long(minutes)]
                elif learner == "HLCStandardFixed":
                    k = [scored(told.standard_fixed, told.standard_fixed_half), "", ""]
                ours = [scored(mean(own), half(own)), _shape(skeleton, own), seconds(own), str(len(own))]
                rows.append([which, f"1e{len(str(n)) - 1}", learner, *k, *ours])
    head = ["leaves", "rows", "learner", "K: score", "K: states", "K: time", "ours: score", "states", "time", "runs"]
    return f"""
## Trees with a given skeleton (tables 7.1 to 7.3)

Skeletons of 7, 12 and 18 ternary leaves, as in figures 7.1 to 7.3 of K; "first" has uniform parameters. In the others
every distribution has an element of at least 0.6, and the largest elements of a table's rows are not all in one column.
(K's second condition is that the largest elements for different states of the child do not all belong to one state of
the parent. As it stands it holds always, since no row that sums to one can be above another everywhere; ours is that of
[Zhang2004] 5.1, from which K takes it: the largest components of different rows are not all at the same column.) The
parameters are not published: compare differences and states, not scores. States are those of the
root, its latent children, and theirs. "local" runs local EM after every operation, as [Karciauskas2005] 7.3.4 proposes.
{len(runs)} runs ({kept.made("trees")}) of at most {kept.size("trees")["limit"]:g} s; all but HLCStandardFixed, which
has the time of HLCSplitMerge, end by themselves: {sum(r["ended"] for r in free)} of {len(free)} did.

{markdown(head, rows)}
{_twelve_section(kept)}"""


def _twelve_section(kept: Answers) -> str:
    """Numbers of states of other models with 12 leaves."""
    if not kept.has("twelve"):
        return ""
    skeleton = datasets.generator("d12").tree
    learners = ("HLCStandard3", "HLCSplitMerge")
    found = {
        m: [_shape(skeleton, [r["answer"]], ordered=True) for r in kept.all("twelve", learner=m)] for m in learners
    }
    shapes = sorted({shape for own in found.values() for shape in own}, key=lambda x: (-found[learners[1]].count(x), x))
    told = TREES["12"][10**4]
    known = {told.standard3_states: "HLCStandard3", told.split_merge_states: "HLCSplitMerge"}
    rows = [[shape, known.get(shape, ""), *(str(found[m].count(shape)) for m in learners)] for shape in shapes]
    number = len(found[learners[0]])
    above = sum(
        better([a["answer"]], [b["answer"]]) > 0
        for a, b in zip(*(kept.all("twelve", learner=m) for m in reversed(learners)), strict=True)
    )
    true = _shape(
        skeleton, [{"score": 0.0, "states": dict(zip(skeleton.names, skeleton.cardinality.tolist(), strict=True))}]
    )
    return f"""**Which numbers of states** 12 leaves and 10^4 rows lead to depends on the parameters: {number} more
models drawn in the same way, one run of each learner. The models themselves have {true}; states are in order within a
level. HLCSplitMerge is above HLCStandard3 by more than 1 on {above}. {kept.made("twelve").capitalize()}.

{markdown(["states found", "K's result of", *(f"{m}: models" for m in learners)], rows)}"""


def _long(minutes: int) -> str:
    return f"{minutes // 60} h" if minutes >= 1000 else f"{minutes} min"


def _shape(skeleton: Tree, runs: Sequence[Run], *, ordered: bool = False) -> str:
    """States of the best run, level by level, in the form that [Karciauskas2005] gives them."""
    found = max(runs, key=lambda run: run["score"])["states"]
    depth = [len(skeleton.path_from_root(int(z))) for z in skeleton.latent]
    levels = [
        [int(found[skeleton.names[z]]) for z, at in zip(skeleton.latent, depth, strict=True) if at == level]
        for level in sorted(set(depth))
    ]
    return ":".join(",".join(map(str, sorted(own) if ordered else own)) for own in levels)


def tree_panels(kept: Answers) -> list[Panel]:
    """Figures 7.4 to 7.8."""
    shown = [("7, first", 10**6), ("7, second", 10**4), ("7, second", 10**6), ("12", 10**4), ("18", 10**4)]
    panels = []
    for which, n in shown:
        found = {m: of_case(kept, "trees", m, model=which, rows=n) for m in ON_TREES}
        if all(found.values()):
            leaves, _, kind = which.partition(", ")
            title = f"{leaves} leaves{kind and f', {kind} model'}, 1e{len(str(n)) - 1} rows"
            panels.append(curves(title, found))
    return panels


def coil_panels(kept: Answers) -> list[Panel]:
    """Figure 7.10."""
    found = {m: of_case(kept, "coil", m) for m in COIL}
    return [curves("COIL", found)] if all(found.values()) else []


def coil_section(kept: Answers) -> str:
    """Table 7.4 and figure 7.10."""
    known = {m: of_case(kept, "coil", m) for m in COIL}
    if not all(known.values()):
        return ""
    skeleton = kept.all("coil", learner="skeleton")[0]["answer"]
    rows = [
        [m, scored(*COIL[m][:2]), f"{COIL[m][2]} h", scored(mean(runs), half(runs)), seconds(runs), str(len(runs))]
        for m, runs in known.items()
    ]
    above = mean(known["HLCSplitMerge"]) - mean(known["HLCStandard3"])
    sure = significantly(known["HLCSplitMerge"], known["HLCStandard3"])
    word = "significant" if sure else "not significant"
    word = word if len(known["HLCSplitMerge"]) > 1 else "one run each, no intervals"
    return f"""
### COIL (table 7.4, figure 7.10)

Figure 7.9, the skeleton, is lost. Ours is that of {SEARCHED:g} processor seconds of search
({skeleton["score"]:,.1f} with
{len(skeleton["names"]) - 42} latents); the learners begin with one state each. {kept.made("coil").capitalize()}.

{markdown(["learner", "K: BIC", "K: time", "ours: BIC", "time", "runs"], rows)}
HLCSplitMerge is above HLCStandard3 by {gap(above)} here ({word}); in K by 109.6.
"""
