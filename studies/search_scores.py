"""[ZhangKocka2004] 1 and 3.1: DHC under four scores, and the trees that searches find by BIC and by BICe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.estimation import Fit, em
from latentree.score import split

from .page import markdown
from .parts import Answers, Parts
from .search_granularity import SMOOTHING, divergence, skeleton_of
from .searching import Plain, plain_tree, states_of, timed
from .selection_runs import figure_1

__all__ = ["M1", "M2", "PARTS", "ROWS", "SERIES", "drawn_from_m1", "make", "section"]

PARTS = ("four scores", "effective dimension")
DATA = ("d7_1k", "d7_5k", "hiv_test", "house_building")
SCORES: Mapping[str, str | None] = {"AIC": "aic", "BIC": "bic", "BICe": "bice", "CS": "cs", "hold-out": None}
FULL = (16, 500, 0.01)

SEARCHES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "SHC": ("shc", {}),
    "HSHC (K = 3)": ("hshc", {"k": 3}),
    "EAST": ("east", {}),
    "default (ours)": ("swift", {}),
}
ROWS, SERIES, DOMINANT = 10_000, 2004, 0.6


def make(parts: Parts, folder: Path, *, runs: int, sets: int, seed: int) -> None:
    """DHC under each score, and searches of data from M1 by BIC and BICe."""
    size = {"seed": seed, "full": FULL}
    for i in range(runs):
        for name in DATA:
            for label in SCORES:
                which = {"data": name, "score": label, "run": i}
                parts.make("four scores", which, size, partial(_by_score, folder, name, label, i, seed))
    size = {"rows": ROWS, "seed": seed}
    for i in range(sets):
        for label in SEARCHES:
            for score in ("bic", "bice"):
                which = {"set": i, "method": label, "score": score}
                parts.make("effective dimension", which, size, partial(_on_m1, i, label, score, seed))


# ---- [ZhangKocka2004] 1 -------------------------------------------------------------------------------------------


def _by_score(folder: Path, name: str, label: str, i: int, seed: int) -> Plain:
    synthetic = name.startswith("d7")
    table = Table.read(folder / "synthetic" / f"{name}.csv.gz") if synthetic else datasets.load(name)
    score: str | Callable[[Fit], float] | None = SCORES[label]
    rows = table
    if score is None:
        rows, rest = split(table, 1 / 3, np.random.default_rng([seed, i, 1]))
        score = partial(_held_out, rest=rest)
    run, seconds = timed(rows, "dhc", [seed, 3, i], score=score, full=FULL)
    answer = {"seconds": seconds, "parameters": int(run.tree.n_parameters), "tree": plain_tree(run.tree)}
    if synthetic:
        test = Table.read(folder / "synthetic" / "d7_test.csv.gz")
        answer["kl"] = divergence(run.fit.model, table, datasets.generator("d7"), test)[0]
        answer["recovered"] = skeleton_of(run.tree) == skeleton_of(datasets.generator("d7").tree.regularised())
    return answer


def _held_out(fit: Fit, *, rest: Table) -> float:
    smooth = em(fit.model, fit.table, prior=SMOOTHING, tol=1e-3).model
    return Plan.of(smooth, rest).log_likelihood(smooth.parameters)


def _scores(kept: Answers) -> str:
    rows = []
    for name in DATA:
        for label in SCORES:
            own = [r["answer"] for r in kept.all("four scores", data=name, score=label)]
            if own:
                kl = f"{np.mean([a['kl'] for a in own]):.4f}" if "kl" in own[0] else ""
                same = f"{sum(a['recovered'] for a in own)} of {len(own)}" if "kl" in own[0] else ""
                states = ", ".join(sorted({states_of(a["tree"]) for a in own}))
                size = _range([a["parameters"] for a in own])
                seconds = f"{np.mean([a['seconds'] for a in own]):.1f}"
                rows.append([name, label, str(len(own)), kl, same, states, size, seconds])
    head = [
        "data",
        "score",
        "runs",
        "KL, mean",
        "generator's skeleton",
        "states of the latents",
        "parameters",
        "processor s",
    ]
    truth = datasets.generator("d7").tree.regularised()
    real = _real(kept)
    return f"""
## DHC under several scores ([ZhangKocka2004] 1)

[ZhangKocka2004] reports that BIC and CS led DHC to the generative models or close to them, AIC and the hold-out score
significantly less so; on real data BIC and CS found the models that experts regard as the best. The generator has
latents of {" ".join(str(k) for k in sorted(truth.cardinality[truth.latent].tolist()))} states ({truth.n_parameters}
parameters). Hold-out: a third of the rows, drawn anew in each run, judge models fitted to the rest. EM from {FULL[0]}
starts. ({kept.made("four scores")}.)

{markdown(head, rows)}
{_recovered(kept)}

{real}"""


def _recovered(kept: Answers) -> str:
    """How often each score finds the generator's skeleton, and what its models have on average."""
    told, found, runs = [], {}, 0
    for label in SCORES:
        own = [r["answer"] for r in kept.all("four scores", score=label) if "kl" in r["answer"]]
        found[label], size = sum(a["recovered"] for a in own), np.mean([a["parameters"] for a in own])
        runs = len(own)
        told.append(f"{label} {found[label]} of {runs} ({size:.0f} parameters on average)")
    worse = [f"{m} misses it in {runs - found[m]} of {runs} runs" for m in ("AIC", "hold-out")]
    return f"""On the synthetic data the generator's skeleton is found by {", ".join(told)}. Of the two scores that do
worse in the source, {" and ".join(worse)} here."""


def _real(kept: Answers) -> str:
    """Which latents the real data have by each score."""
    rows = []
    for name in ("hiv_test", "house_building"):
        for label in SCORES:
            own = kept.all("four scores", data=name, score=label)
            if own:
                told = {_described(r["answer"]["tree"]) for r in own}
                rows.append([name, label, " or ".join(sorted(told))])
    return markdown(["data", "score", "trees: latents (states) with what hangs on them"], rows)


def _described(tree: Plain) -> str:
    """Each latent with its manifest neighbours."""
    below: dict[str, list[str]] = {z: [] for z in tree["states"]}
    for a, b in tree["edges"]:
        for z, other in ((a, b), (b, a)):
            if z in below and other not in below:
                below[z].append(other)
    groups = sorted((sorted(leaves), tree["states"][z]) for z, leaves in below.items())
    return "; ".join(f"({k}) {', '.join(leaves) or 'latents only'}" for leaves, k in groups)


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"


# ---- [ZhangKocka2004] 3.1 -----------------------------------------------------------------------------------------

M1, M2 = figure_1()


def drawn_from_m1(i: int) -> Table:
    """Rows of M1 of [ZhangKocka2004] figure 1; in no table do the largest components of two rows share a column.

    Examples
    --------
    >>> drawn_from_m1(0).n
    10000.0
    """
    rng = np.random.default_rng([SERIES, i])
    model = _with_different_states(Model.random(M1, numbered([3] * 6), rng, dominant=DOMINANT), rng)
    return Table.from_codes(model.sample(ROWS, rng), model.variables)


def _with_different_states(model: Model, rng: np.random.Generator) -> Model:
    """Move the largest component of each row, so that no two of a table stand in one column: no state is spare."""
    tables = [model.table(v).copy() for v in range(model.tree.n_nodes)]
    for own in tables[1:]:
        for row, column in zip(own, rng.permutation(own.shape[1]), strict=False):
            most = row.argmax()
            row[[most, column]] = row[[column, most]]
    return model.with_parameters(np.concatenate([own.ravel() for own in tables]))


def _on_m1(i: int, label: str, score: str, seed: int) -> Plain:
    method, options = SEARCHES[label]
    run, seconds = timed(drawn_from_m1(i), method, [seed, i], score=score, **options)
    found = "M1" if run.tree == M1 else "M2" if run.tree == M2 else "other"
    return {"found": found, "score": run.score, "seconds": seconds, "tree": plain_tree(run.tree)}


def _effective(kept: Answers) -> str:
    own = {(r["which"]["set"], r["which"]["method"], r["which"]["score"]): r["answer"] for r in kept.all(PARTS[1])}
    sets = sorted({i for i, _, _ in own})
    rows = []
    for label in SEARCHES:
        cells = []
        for score in ("bic", "bice"):
            found = [own[i, label, score]["found"] for i in sets if (i, label, score) in own]
            told = ", ".join(f"{what} {found.count(what)}" for what in ("M1", "M2", "other") if what in found)
            seconds = np.mean([own[i, label, score]["seconds"] for i in sets if (i, label, score) in own] or [0])
            cells += [told, f"{seconds:.1f}"]
        rows.append([label, *cells])
    best = {
        score: {i: max(a["score"] for (j, _, s), a in own.items() if (j, s) == (i, score)) for i in sets}
        for score in ("bic", "bice")
    }
    short = [
        f"{label} by {score.upper().replace('ICE', 'ICe')} on "
        f"{sum(own[i, label, score]['score'] < best[score][i] - 0.05 for i in sets if (i, label, score) in own)}"
        for label in SEARCHES
        for score in ("bic", "bice")
    ]
    head = ["method", "by BIC: found", "processor s", "by BICe: found", "processor s"]
    return f"""
## What searches find by BIC and by BICe ([ZhangKocka2004] 3.1)

{ROWS:,} rows of M1 of figure 1 (X2 and X3 with three states and three ternary leaves each, joined through X1 with two;
45 parameters, 43 of them effective), {len(sets)} data sets. The source: SHC and HSHC by BIC both found M2, M1 without
X1 (44 parameters, all effective), and BICe would prefer M1. Neither SHC, HSHC nor EAST can introduce a latent with
fewer states than the node it divides, so that from M2 they cannot reach M1 whatever the score; the default can.
({kept.made("effective dimension")}.)

{markdown(head, rows)}
Sets on which a search ended more than 0.05 below the best of all four: {"; ".join(short)}.
"""


def section(kept: Answers) -> str:
    """The results as part of a page."""
    return (_scores(kept) if kept.has("four scores") else "") + (_effective(kept) if kept.has(PARTS[1]) else "")
