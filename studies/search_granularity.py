"""[ChenZhangWang] table 1, figure 5 and section 5: EAST against EAST0, and ours beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from latentree.search import METHODS, Run
from latentree.search._beliefs import Beliefs
from latentree.search._network import Network
from latentree.search._operators import Move
from latentree.search._restricted import Effort, evaluate, model_of

from .cache import StudyCache
from .page import markdown

__all__ = ["Case", "deadlock", "divergence", "page", "study"]

SETTINGS: Mapping[str, Any] = {"screening": None, "evaluation": (8, 40, 0.1), "full": (32, 100, 0.01)}
"""The mu = 8 starts and nu = 40 steps of restricted likelihood."""

METHODS_OF_C: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "EAST0": ("east0", SETTINGS),
    "EAST": ("east", SETTINGS),
    "swift (ours)": ("swift", {}),
}

# KL and steps that [ChenZhangWang] prints; its models are not ours, which were made after the same recipe.
TABLE_1 = {
    ("EAST0", "d7_1k"): (".0287", "0"),
    ("EAST", "d7_1k"): (".0287", "0"),
    ("EAST0", "d7_5k"): (".0101", "2.0"),
    ("EAST", "d7_5k"): (".0101", "2.0"),
    ("EAST0", "d7_10k"): (".0058", "2.0"),
    ("EAST", "d7_10k"): (".0057", "2.0"),
    ("EAST0", "d12_1k"): (".1017", ""),
    ("EAST", "d12_1k"): (".0999", "12.0"),
    ("EAST0", "d12_5k"): (".0311", ""),
    ("EAST", "d12_5k"): (".0310", "19.6"),
    ("EAST0", "d12_10k"): (".0079", "13"),
    ("EAST", "d12_10k"): (".0032", "20.8"),
    ("EAST0", "d18_1k"): (".1865", ""),
    ("EAST", "d18_1k"): (".1865", "20"),
    ("EAST0", "d18_5k"): (".0326", ""),
    ("EAST", "d18_5k"): (".0148", "33.8"),
    ("EAST0", "d18_10k"): (".0207", "24.4"),
    ("EAST", "d18_10k"): (".0047", "37.2"),
}

# BIC of the generating structure, regularised (for d7_10k with two states in the middle, which is better).
REFERENCE = {
    "d7_1k": -6369.2,
    "d7_5k": -31036.6,
    "d7_10k": -61935.1,
    "d12_1k": -10986.7,
    "d12_5k": -54104.4,
    "d12_10k": -107819.6,
    "d18_1k": -16543.0,
    "d18_5k": -81815.9,
    "d18_10k": -163070.4,
}

SMOOTHING = 1.01
"""Dirichlet parameter: 0.01 is added to every expected count before test data are looked at."""


@dataclass(frozen=True)
class Case:
    """One run on one data set.

    Attributes
    ----------
    data, method : str
        What was searched, and by what.
    run : Run
        What was found.
    seconds : float
        Processor time.
    kl : float
        Empirical divergence from the generator on the test rows.
    recovered : bool
        Whether the skeleton is that of the generator, regularised.
    """

    data: str
    method: str
    run: Run
    seconds: float
    kl: float
    recovered: bool

    @property
    def steps(self) -> int:
        """Operations carried out."""
        return sum(step.kind not in ("start", "EM") for step in self.run.trace)

    @property
    def first_si(self) -> int | None:
        """The first step that adds a state."""
        return next((step.number for step in self.run.trace if "SI" in step.kind.split("+")), None)

    @property
    def fat(self) -> int:
        """Latents with more states than any latent of the generator."""
        return int((self.run.tree.cardinality[self.run.tree.latent] > 3).sum())


def study(
    folder: Path, *, runs: Mapping[str, int], seed: int, keeper: StudyCache, say: Callable[[str], None]
) -> tuple[list[Case], dict[str, tuple[float, float]]]:
    """Search all data sets with all methods.

    Parameters
    ----------
    folder : Path
        Where the data sets are.
    runs : mapping of str to int
        Data sets, the largest last, and how often each is searched.
    seed, keeper, say
        Seed, what runs and keeps searches, and what takes a line for each.

    Returns
    -------
    cases : list of Case
    truth : dict of data set to (divergence, standard error)
        Of the generating structure, regularised and fitted.
    """
    cases, truth, known = [], {}, {}
    for name in runs:
        family = name.split("_")[0]
        table = Table.read(folder / "synthetic" / f"{name}.csv.gz")
        test = Table.read(folder / "synthetic" / f"{family}_test.csv.gz")
        generator = datasets.generator(family)
        tree = generator.tree.regularised()
        start = Model.random(tree, table.variables, np.random.default_rng(seed))
        fit = restart_em(start, table, rng=np.random.default_rng(seed), n_init=64, finalists=4)
        truth[name] = divergence(fit.model, table, generator, test)
        known[name] = table, test, generator, _skeleton(tree)
    for i in range(max(runs.values())):
        for name, (table, test, generator, skeleton) in known.items():
            for label, (method, options) in METHODS_OF_C.items():
                if method not in METHODS or i >= runs[name]:
                    continue
                run, seconds = keeper.run(f"{name}-{method}-{i}", table, method, [seed, i], options)
                kl, _ = divergence(run.fit.model, table, generator, test)
                cases.append(Case(name, label, run, seconds, kl, _skeleton(run.tree) == skeleton))
                say(f"{name} {label} run {i + 1}: BIC {run.score:.2f}, KL {kl:.4f}, {seconds:.1f} s")
    return cases, truth


def divergence(model: Model, table: Table, truth: Model, test: Table) -> tuple[float, float]:
    """Empirical divergence of a learned model, its zeros smoothed, and its standard error."""
    smooth = em(model, table, prior=SMOOTHING).model
    gap = _rows(truth, test) - _rows(smooth, test)
    n = test.weights.sum()
    mean = float(test.weights @ gap / n)
    return mean, float(np.sqrt(test.weights @ (gap - mean) ** 2 / n / n))


def _rows(model: Model, table: Table) -> np.ndarray:
    return Plan.of(model, table).row_log_likelihood(model.parameters)


def _skeleton(tree: Tree) -> Tree:
    """The tree with all latents alike: which variables hang together, whatever the numbers of states."""
    states = tree.cardinality.copy()
    states[tree.latent] = 2
    return Tree(tree.parent, states, tree.variable, tree.names)


# ---- the deadlock ([ChenZhangWang] 5.3) -----------------------------------------------------------------------------


def deadlock(case: Case, *, seed: int, keeper: StudyCache) -> list[tuple[str, int, float, Run]]:
    """Take a state from each latent that has more than three, and let EAST0 go on.

    Returns
    -------
    list of (latent, states before, BIC with one state less, the search that follows)
    """
    model, table = case.run.fit.model, case.run.fit.table
    network = Network.from_model(model)
    beliefs = Beliefs(network, table)
    names = [model.tree.names[v] for v in model.tree.latent]
    out = []
    for z, name in zip(network.graph.latents, names, strict=True):
        if network.graph.cardinality[z] <= 3:
            continue
        rng = np.random.default_rng([seed, z])
        less = model_of(evaluate(Move("SD", (z,)), beliefs, Effort(16, 40, 0.1), rng), network, table.variables)
        fit = em(less, table)
        options = {**SETTINGS, "start": fit.model}
        run, _ = keeper.run(f"{case.data}-deadlock-{z}", table, "east0", [seed, z], options)
        out.append((name, network.graph.cardinality[z], bic(fit), run))
    return out


# ---- the page -----------------------------------------------------------------------------------------------------


def page(cases: Sequence[Case], truth: Mapping[str, tuple[float, float]], *, seed: int, keeper: StudyCache) -> str:
    """Write the results as part of a page."""
    text = """
## EAST against EAST0 ([ChenZhangWang] table 1)

Means over the runs, standard deviations in brackets; seconds are processor time. Restricted likelihood as in
[ChenZhangWang] (8 starts, 40 steps), full EM from 32 starts. The data are ours, made after the source's recipe; the
source's own figures, for other models, stand in the last columns. KL is the empirical divergence from the generator on
5,000 test rows; 0.01 is added to every expected count first, so that nothing has probability zero. "Structure itself"
is the generating tree, regularised and fitted; +- is a standard error. The target is the larger of the source's EAST
and that plus two standard errors. "Skeletons" counts the runs that found the generating tree, numbers of states aside;
"fat" counts latents with more than the three states of the generator's.

"""
    rows = []
    for data in dict.fromkeys(c.data for c in cases):
        mean, error = truth[data]
        target = max(float(TABLE_1["EAST", data][0]), mean + 2 * error)
        rows.append(
            [data, "structure itself", "", f"{mean:.4f} +- {error:.4f}", f"{target:.4f}", f"{REFERENCE[data]:.1f}"]
            + [""] * 8
        )
        for method in METHODS_OF_C:
            own = [c for c in cases if c.data == data and c.method == method]
            if own:
                rows.append([data, method, *_line(own, target), *TABLE_1.get((method, data), ("", ""))])
    head = [
        "data",
        "method",
        "runs",
        "KL",
        "target: met",
        "BIC (mean)",
        "BIC (best)",
        "reference passed",
        "seconds",
        "steps",
    ]
    head += ["first SI", "fat", "skeletons"]
    text += markdown([*head, "source: KL", "source: steps"], [r + [""] * (len(head) + 2 - len(r)) for r in rows])
    return text + _growth(cases) + _deadlocks(cases, seed, keeper)


def _line(own: Sequence[Case], target: float) -> list[str]:
    kl = np.array([c.kl for c in own])
    value = np.array([c.run.score for c in own])
    reference = REFERENCE[own[0].data]
    first = [c.first_si for c in own if c.first_si is not None]
    return [
        str(len(own)),
        f"{kl.mean():.4f} ({kl.std():.1e})",
        f"{(kl <= target).sum()} of {len(own)}",
        f"{value.mean():.1f}",
        f"{value.max():.1f}",
        f"{(value >= reference - 0.05).sum()} of {len(own)}",
        f"{np.mean([c.seconds for c in own]):.1f}",
        f"{np.mean([c.steps for c in own]):.1f}",
        f"{np.mean(first):.1f}" if first else "none",
        f"{np.mean([c.fat for c in own]):.1f}",
        f"{sum(c.recovered for c in own)} of {len(own)}",
    ]


def _growth(cases: Sequence[Case]) -> str:
    """Figure 5 as a table: parameters and score after each step of the first runs on the largest data."""
    data = list(dict.fromkeys(c.data for c in cases))[-1]
    first = {c.method: c for c in reversed(cases) if c.data == data}
    methods = [m for m in METHODS_OF_C if m in first]
    last = max(len(first[m].run.trace) for m in methods)
    rows = []
    for i in range(last):
        row = [str(i)]
        for m in methods:
            trace = first[m].run.trace
            row += [trace[i].kind, str(trace[i].dimension), f"{trace[i].score:.1f}"] if i < len(trace) else ["", "", ""]
        rows.append(row)
    head = ["step", *(f"{m}: {what}" for m in methods for what in ("operator", "parameters", "BIC"))]
    return f"""
## How the models grow ([ChenZhangWang] figure 5)

The first run of each method on {data}.

""" + markdown(head, rows)


def _deadlocks(cases: Sequence[Case], seed: int, keeper: StudyCache) -> str:
    fat = [c for c in cases if c.method == "EAST0" and c.fat]
    text = """
## Fat latents and the deadlock ([ChenZhangWang] 5.2, 5.3)

"""
    if not fat:
        return (
            text + "No run of EAST0 ended with a latent of more than three states, so there is nothing to set free.\n"
        )
    case = min((c for c in fat if c.data == fat[-1].data), key=lambda c: c.run.score)
    found = deadlock(case, seed=seed, keeper=keeper)
    rows = [
        [name, str(k), f"{case.run.score:.1f}", f"{less:.1f}", f"{run.score:.1f}", _said(run, case.run.score)]
        for name, k, less, run in found
    ]
    text += (
        f"EAST0's lowest run on {case.data} ended with {case.fat} latent(s) of more than three states. Each in turn "
        "loses a state, by hand, and EAST0 goes on from there.\n\n"
    )
    head = ["latent", "states", "BIC of EAST0", "with one state less", "after going on", "escaped"]
    return text + markdown(head, rows)


def _said(run: Run, before: float) -> str:
    kinds = [step.kind for step in run.trace if step.kind not in ("start", "EM")]
    return ("yes" if run.score > before + 0.5 else "no") + (f" ({', '.join(kinds)})" if kinds else "")
