"""[ChenZhangWang] table 1, figures 5 and 6 and section 5: EAST against EAST0, and ours beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree.engine._plan import Plan
from latentree.estimation import em, restart_em
from latentree.score import bic
from latentree.search import Run
from latentree.search._beliefs import Beliefs
from latentree.search._network import Network
from latentree.search._operators import Move
from latentree.search._restricted import Effort, evaluate, model_of

from .page import markdown
from .parts import Answers, Parts
from .pictures import COLOURS, Line, Panel, picture
from .searching import Plain, plain_step, plain_tree, timed
from .tree_pictures import draw_trees

__all__ = ["PARTS", "divergence", "draw", "make", "section", "skeleton_of"]

PARTS = ("structures", "granularity")
SETTINGS: Mapping[str, Any] = {"screening": None, "evaluation": (8, 40, 0.1), "full": (32, 100, 0.01)}
"""The mu = 8 starts and nu = 40 steps of restricted likelihood."""

METHODS_OF_C: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "EAST0": ("east0", SETTINGS),
    "EAST": ("east", SETTINGS),
    "default (ours)": ("swift", {}),
}
DATA = ("d7_1k", "d7_5k", "d7_10k", "d12_1k", "d12_5k", "d12_10k", "d18_1k", "d18_5k", "d18_10k")
LAST = DATA[-1]
"""The data of figures 5 and 6, and of 5.3."""

# KL, time and steps that [ChenZhangWang] prints, with standard deviations; "?" is lost in the text of the table.
TABLE_1 = {
    ("EAST0", "d7_1k"): (".0287 (4.3e-6)", "?", "?"),
    ("EAST", "d7_1k"): (".0287 (4.2e-6)", ".7 (1.3e-2) min", "0 (0)"),
    ("EAST0", "d7_5k"): (".0101 (4.8e-5)", "?", "2.0 (0.0)"),
    ("EAST", "d7_5k"): (".0101 (4.5e-5)", "7.1 (0.1) min", "2.0 (0.0)"),
    ("EAST0", "d7_10k"): (".0058 (8.6e-5)", "8.4 (0.6) min", "2.0 (0.0)"),
    ("EAST", "d7_10k"): (".0057 (1.0e-4)", "8.4 (0.3) min", "2.0 (0.0)"),
    ("EAST0", "d12_1k"): (".1017 (1.8e-2)", "17.1 (1.8) min", "?"),
    ("EAST", "d12_1k"): (".0999 (1.2e-2)", "17.2 (2.2) min", "12.0 (1.0)"),
    ("EAST0", "d12_5k"): (".0311 (1.3e-?)", "?", "?"),
    ("EAST", "d12_5k"): (".0310 (4.9e-5)", "1.4 (0.0) h", "19.6 (0.5)"),
    ("EAST0", "d12_10k"): (".0079 (4.7e-3)", "?", "13 (1.1)"),
    ("EAST", "d12_10k"): (".0032 (2.4e-4)", "2.6 (0.2) h", "20.8 (1.1)"),
    ("EAST0", "d18_1k"): (".1865 (6.3e-6)", "?", "?"),
    ("EAST", "d18_1k"): (".1865 (7.5e-6)", ".7 (.02) h", "20 (0)"),
    ("EAST0", "d18_5k"): (".0326 (1.1e-2)", "?", "?"),
    ("EAST", "d18_5k"): (".0148 (4.5e-3)", "6.0 (0.6) h", "33.8 (1.7)"),
    ("EAST0", "d18_10k"): (".0207 (1.2e-2)", "?", "24.4 (4.0)"),
    ("EAST", "d18_10k"): (".0047 (7.0e-4)", "18.4 (3.9) h", "37.2 (0.8)"),
}
EARLIER = ("d12_5k", "d12_10k", "d18_5k", "d18_10k")
"""Where, in [ChenZhangWang] 5.1, every run of EAST0 introduces states earlier than those of EAST."""

SMOOTHING = 1.01
"""Dirichlet parameter: 0.01 is added to every expected count before test data are looked at."""


# ---- what is made -------------------------------------------------------------------------------------------------


@cache
def _loaded(folder: Path, name: str) -> tuple[Table, Table, Model]:
    """Rows to learn from, rows to test with, and what they were drawn from."""
    family = name.split("_")[0]
    rows, test = (Table.read(folder / "synthetic" / f"{file}.csv.gz") for file in (name, f"{family}_test"))
    return rows, test, datasets.generator(family)


def make(parts: Parts, folder: Path, *, runs: int, data: Sequence[str], methods: Sequence[str], seed: int) -> None:
    """Search data sets with methods: first with those of the source, a run of all sets and then the next."""
    for name in data:
        parts.make("structures", {"data": name}, {"seed": seed}, partial(_structure, folder, name, seed))
    for labels in (("EAST0", "EAST"), ("default (ours)",)):
        for i, name, label in product(range(runs), data, [m for m in labels if m in methods]):
            which = {"data": name, "method": label, "run": i}
            parts.make("granularity", which, {"seed": seed}, partial(_searched, folder, name, label, i, seed))


def _structure(folder: Path, name: str, seed: int) -> Plain:
    """The generating structure, regularised and fitted."""
    table, test, generator = _loaded(folder, name)
    start = Model.random(generator.tree.regularised(), table.variables, np.random.default_rng(seed))
    fit = restart_em(start, table, rng=np.random.default_rng(seed), n_init=64, finalists=4)
    kl, error = divergence(fit.model, table, generator, test)
    return {"kl": kl, "error": error, "bic": bic(fit), "tree": plain_tree(generator.tree.regularised())}


def _searched(folder: Path, name: str, label: str, i: int, seed: int) -> Plain:
    table, test, generator = _loaded(folder, name)
    method, options = METHODS_OF_C[label]
    run, seconds = timed(table, method, [seed, i], **options)
    made = [step for step in run.trace if step.kind not in ("start", "EM")]
    answer = {
        "bic": run.score,
        "kl": divergence(run.fit.model, table, generator, test)[0],
        "seconds": seconds,
        "steps": len(made),
        "first_si": next((step.number for step in made if "SI" in step.kind.split("+")), None),
        "fat": _fat(run.tree),
        "recovered": skeleton_of(run.tree) == skeleton_of(generator.tree.regularised()),
        "tree": plain_tree(run.tree),
    }
    if name == LAST:
        answer["course"] = [[step.kind, step.dimension, step.score] for step in run.trace]
        if label == "EAST0":
            trees = (step.tree(table.names) for step in run.trace)
            first = next((n for n, tree in enumerate(trees) if _fat(tree)), None)
            answer["first_fat"] = None if first is None else [first, plain_step(run.trace[first], table.names)]
            answer["set_free"] = _set_free(run, i, seed)
    return answer


def divergence(model: Model, table: Table, truth: Model, test: Table) -> tuple[float, float]:
    """Empirical divergence of a learned model, its zeros smoothed, and its standard error."""
    smooth = em(model, table, prior=SMOOTHING).model
    gap = _rows(truth, test) - _rows(smooth, test)
    n = test.weights.sum()
    mean = float(test.weights @ gap / n)
    return mean, float(np.sqrt(test.weights @ (gap - mean) ** 2 / n / n))


def _rows(model: Model, table: Table) -> np.ndarray:
    return Plan.of(model, table).row_log_likelihood(model.parameters)


def skeleton_of(tree: Tree) -> Tree:
    """The tree with all latents alike: which variables hang together, whatever the numbers of states."""
    states = tree.cardinality.copy()
    states[tree.latent] = 2
    return Tree(tree.parent, states, tree.variable, tree.names)


def _fat(tree: Tree) -> int:
    """Latents with more states than any latent of the generators."""
    return int((tree.cardinality[tree.latent] > 3).sum())


def _set_free(found: Run, i: int, seed: int) -> list[Plain]:
    """[ChenZhangWang] 5.3: take a state from each latent that has more than three, and let EAST0 go on."""
    model, table = found.fit.model, found.fit.table
    network = Network.from_model(model)
    beliefs = Beliefs(network, table)
    out = []
    for z in network.graph.latents:
        if network.graph.cardinality[z] <= 3:
            continue
        rng = np.random.default_rng([seed, i, z])
        less = model_of(evaluate(Move("SD", (z,)), beliefs, Effort(16, 40, 0.1), rng), network, table.variables)
        fit = em(less, table)
        run, _ = timed(table, "east0", [seed, i, z], **SETTINGS, start=fit.model)
        kinds = [step.kind for step in run.trace if step.kind not in ("start", "EM")]
        states = int(network.graph.cardinality[z])
        out.append({"states": states, "less": bic(fit), "bic": run.score, "kinds": kinds, "tree": plain_tree(run.tree)})
    return out


# ---- the page -----------------------------------------------------------------------------------------------------

Cases = dict[tuple[str, str], list[Plain]]


def _cases(kept: Answers) -> Cases:
    """The answers of each data set and method, by run."""
    out: Cases = {}
    for record in sorted(kept.all("granularity"), key=lambda r: int(r["which"]["run"])):
        out.setdefault((record["which"]["data"], record["which"]["method"]), []).append(record["answer"])
    return out


def section(kept: Answers) -> str:
    """The results as part of a page."""
    cases = _cases(kept)
    names = [name for name in DATA if any((name, m) in cases for m in METHODS_OF_C)]
    quality, course = [], []
    for name in names:
        truth = kept.of("structures", data=name)
        target = max(_number(TABLE_1["EAST", name][0]), truth["kl"] + 2 * truth["error"])
        own_kl = f"{truth['kl']:.4f} ± {truth['error']:.4f}"
        quality.append([name, "structure itself", "", own_kl, "", f"{target:.4f}", f"{truth['bic']:,.1f}", "", ""])
        for method in METHODS_OF_C:
            if own := cases.get((name, method)):
                source = TABLE_1.get((method, name), ("", "", ""))
                quality.append([name, method, *_quality(own, target, source[0])])
                course.append([name, method, *_course(own, source)])
    heads = (
        ["data", "method", "runs", "KL", "source", "target: met", "BIC, mean", "BIC, worst to best", "skeletons"],
        ["data", "method", "processor s", "source", "steps", "source", "first SI", "fat"],
    )
    return f"""
## EAST against EAST0 ([ChenZhangWang] table 1)

Means over the runs, standard deviations in brackets. Restricted likelihood as in [ChenZhangWang] (8 starts, 40 steps),
full EM from 32 starts. The data are ours, made after the source's recipe; the source's own figures are for other models
("?": lost in the text of its table). KL is the empirical divergence from the generator on 5,000 test rows; 0.01 is
added to every expected count first, so that nothing has probability zero. "Structure itself" is the generating tree,
regularised and fitted; ± is a standard error. The target is the larger of the source's EAST and that plus two standard
errors. "Skeletons" counts the runs that found the generating tree, numbers of states aside.
({kept.made("structures", "granularity")}.)

{markdown(heads[0], quality)}
{_lower(cases, names)}

Time, steps, the step of the first introduction of a state (SI), and "fat" latents, which have more than the three
states of the generator's.{_other_times(kept)}

{markdown(heads[1], course)}
{_earlier(cases)}
{_growth(cases)}{_free(cases)}"""


def _other_times(kept: Answers) -> str:
    """Whether methods were timed with different states of the code, and what one task took with each."""
    code = {label: {r["commit"] for r in kept.all("granularity", method=label)} for label in ("EAST", "default (ours)")}
    if code["EAST"] & code["default (ours)"] or not all(code.values()):
        return ""
    text = " Seconds of the default are of later code, and of an hour in which the machine was quicker"
    timed: dict[bool, list[float]] = {True: [], False: []}
    for r in kept.all("four scores", data="d7_5k", score="BIC"):
        timed[r["commit"] in code["default (ours)"]].append(r["answer"]["seconds"])
    if all(timed.values()):
        then, now = (float(np.mean(timed[late])) for late in (False, True))
        text += f" (DHC by BIC, below, took {then:.1f} s on d7_5k then and {now:.1f} s now)"
    return text + ": do not compare them with those of EAST0 and EAST."


def _number(text: str) -> float:
    return float(text.split()[0])


def _told(values: Sequence[float], form: str, spread: str = "") -> str:
    """Mean and standard deviation."""
    return f"{np.mean(values):{form}} ({np.std(values):{spread or form}})"


def _quality(own: Sequence[Plain], target: float, source: str) -> list[str]:
    kl, value = [c["kl"] for c in own], [c["bic"] for c in own]
    met = sum(v <= target for v in kl)
    return [
        str(len(own)),
        _told(kl, ".4f", ".1e"),
        source,
        f"{met} of {len(own)}",
        f"{np.mean(value):,.1f}",
        f"{min(value):,.1f} to {max(value):,.1f}",
        f"{sum(c['recovered'] for c in own)} of {len(own)}",
    ]


def _course(own: Sequence[Plain], source: Sequence[str]) -> list[str]:
    first = [c["first_si"] for c in own if c["first_si"] is not None]
    return [
        _told([c["seconds"] for c in own], ".1f"),
        source[1],
        _told([c["steps"] for c in own], ".1f"),
        source[2],
        _told(first, ".1f") if first else "none",
        _told([c["fat"] for c in own], ".1f"),
    ]


def _lower(cases: Cases, names: Sequence[str]) -> str:
    """Where EAST0 is worse than EAST, and where ours is below either."""
    both = [n for n in names if (n, "EAST0") in cases and (n, "EAST") in cases]
    mean = {key: float(np.mean([c["kl"] for c in own])) for key, own in cases.items()}
    worse = [n for n in both if mean[n, "EAST0"] > 1.05 * mean[n, "EAST"]]
    ours = [n for n in names if (n, "default (ours)") in cases]
    behind = [
        n
        for n in ours
        if min(c["bic"] for c in cases[n, "default (ours)"])
        < max(c["bic"] for m in METHODS_OF_C for c in cases.get((n, m), [])) - 1
    ]
    return f"""In the source EAST0 is worse than EAST on d12_10k, d18_5k and d18_10k and alike elsewhere. Here its mean
KL is larger by a twentieth or more on {", ".join(worse) or "none"} of the {len(both)}. The worst run of the default is
more than 1 below the best BIC of all runs of all methods on {", ".join(behind) or "none"}."""


def _earlier(cases: Cases) -> str:
    told = []
    for name in EARLIER:
        own = [[c["first_si"] for c in cases.get((name, m), [])] for m in ("EAST0", "EAST")]
        pairs = [(a, b) for a, b in zip(*own, strict=False) if a is not None]
        if pairs:
            told.append(f"{name} {sum(b is None or a < b for a, b in pairs)} of {len(pairs)}")
    return f"""The source says that EAST0 introduces states earlier than EAST in all runs on {", ".join(EARLIER)}, for
instance at steps 1 and 7 of a run on d18_10k where EAST first does at step 23. Here, runs in which it is earlier than
EAST's from the same seed: {"; ".join(told)}."""


# ---- figures 5 and 6 ------------------------------------------------------------------------------------------------


def _growth(cases: Cases) -> str:
    own = {m: cases[LAST, m][0] for m in METHODS_OF_C if (LAST, m) in cases}
    if not own:
        return ""
    ends = ", ".join(f"{m} with {c['course'][-1][1]} parameters at {c['bic']:,.1f}" for m, c in own.items())
    return f"""
## How the models grow ([ChenZhangWang] figures 5 and 6)

The first run of each method on {LAST}: parameters and BIC after each step. They end: {ends}. The default makes several
starts, one after the other; where its line falls, the next begins.

![Parameters and BIC after each step](search-growth.svg)

{_steps(own)}
Figure 6: trees of that run of EAST0, of EAST, and the generator's.

![Trees on the way of EAST0, at its end, and at the end of EAST](search-path.svg)
"""


def _steps(own: Mapping[str, Plain]) -> str:
    """The operators that EAST0 and EAST used."""
    lines = []
    for method in ("EAST0", "EAST"):
        if method in own:
            kinds = [kind for kind, _, _ in own[method]["course"] if kind not in ("start", "EM")]
            lines.append(f"- {method}: {' '.join(kinds)}\n")
    return "".join(lines)


def _free(cases: Cases) -> str:
    if (LAST, "EAST0") not in cases:
        return ""
    text = """
## Fat latents and the deadlock ([ChenZhangWang] 5.2, 5.3)

"""
    own = [(i, c) for i, c in enumerate(cases.get((LAST, "EAST0"), [])) if c["set_free"]]
    if not own:
        return text + "No run of EAST0 ended with a latent of more than three states: there is nothing to set free.\n"
    rows = [
        [
            str(i + 1),
            str(free["states"]),
            f"{case['bic']:,.1f}",
            f"{free['less']:,.1f}",
            f"{free['bic']:,.1f}",
            "yes" if free["bic"] > case["bic"] + 0.5 else "no",
            " ".join(free["kinds"]),
        ]
        for i, case in own
        for free in case["set_free"]
    ]
    escaped = sum(row[5] == "yes" for row in rows)
    head = ["run", "states", "BIC of EAST0", "with one state less", "after going on", "escaped", "its steps"]
    return f"""{text}{len(own)} of {len(cases[LAST, "EAST0"])} runs of EAST0 on {LAST} ended with latents of more than
three states. Each such latent in turn loses a state, by hand, and EAST0 goes on from there. In the source's one case
-115,500 becomes -115,537, and ten steps later the local maximum is left behind (EAST has -115,108). Here {escaped} of
{len(rows)} end more than 0.5 higher than before; in the others EAST0 takes the state back or finds nothing better, so
that one state less is not always enough.

{markdown(head, rows)}"""


def draw(kept: Answers) -> dict[str, str]:
    """Figures 5 and 6."""
    cases = _cases(kept)
    own = {m: cases[LAST, m][0] for m in METHODS_OF_C if (LAST, m) in cases}
    if not own:
        return {}
    panels = []
    for column, name in ((1, "parameters"), (2, "BIC")):
        marks = [
            Line([(i, c["course"][i][column]) for i in range(len(c["course"]))], colour, m not in ("EAST", "EAST0"), m)
            for (m, c), colour in zip(own.items(), COLOURS, strict=False)
        ]
        panels.append(Panel(name, marks, x_label="step"))
    trees = []
    if east0 := own.get("EAST0"):
        if east0["first_fat"]:
            step, tree = east0["first_fat"]
            trees.append((f"EAST0 after step {step}, with its first fat latent", tree))
        trees.append((f"EAST0 at its end, BIC {east0['bic']:,.1f}", east0["tree"]))
        for free in east0["set_free"][:1]:
            trees.append((f"EAST0 going on from one state less, BIC {free['bic']:,.1f}", free["tree"]))
    if "EAST" in own:
        trees.append((f"EAST at its end, BIC {own['EAST']['bic']:,.1f}", own["EAST"]["tree"]))
    truth = kept.of("structures", data=LAST)
    trees.append((f"the generator, regularised, BIC {truth['bic']:,.1f} when fitted", truth["tree"]))
    return {"growth": picture(panels, columns=2, width=340, height=240), "path": draw_trees(trees)}
