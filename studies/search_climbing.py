"""[Zhang2004]: DHC, SHC and HSHC on generated data (5.1, figures 3 and 4), and SHC that chooses by BIC alone (3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from math import log10
from typing import Any

import numpy as np

from latentree._model import Model, random_parameters
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.estimation import em, restart_em
from latentree.score import bic
from latentree.search import METHODS, MethodEntry
from latentree.search._beliefs import Beliefs
from latentree.search._network import Graph
from latentree.search._operators import Move, reachable
from latentree.search._shc import Judged, SingleHillClimbing
from latentree.search._task import State, Task

from .page import markdown
from .parts import Answers, Parts
from .pictures import COLOURS, Line, Panel, picture
from .search_granularity import divergence
from .searching import Plain, plain_tree, states_of, timed
from .tree_pictures import draw_trees

__all__ = ["PARTS", "SIZES", "draw", "generated", "make", "section"]

PARTS = ("climbing", "generators", "by score alone")
SIZES = (6, 9, 12, 15, 18)
LIMITS: Mapping[str, int] = {"DHC": 9, "SHC": 12}
"""Most variables for the methods that do not go on: [Zhang2004] has SHC up to 12, and DHC on one model of 7."""

CLIMBERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "DHC": ("dhc", {}),
    "SHC": ("shc", {}),
    "HSHC1": ("hshc", {"k": 1}),
    "HSHC2": ("hshc", {"k": 2}),
    "HSHC3": ("hshc", {"k": 3}),
    "default (ours)": ("swift", {}),
}
DOMINANT = 0.8


def generated(n: int, seed: int) -> Model:
    """A generative model after the recipe of [Zhang2004] 5.1.

    Three ternary leaves hang on each of n/3 latents, which hang in a chain; latents have 2 or 3 states in turn. Every
    row has a component above 0.8, and the largest components of a table's rows do not all stand in one column.

    Examples
    --------
    >>> generated(9, 0).tree.n_variables
    9
    """
    latent = n // 3
    edges = [(f"y{i}", f"y{i + 1}") for i in range(latent - 1)]
    edges += [(f"y{i // 3}", f"x{i + 1}") for i in range(n)]
    states = {f"y{i}": 2 + i % 2 for i in range(latent)} | {f"x{i + 1}": 3 for i in range(n)}
    tree = Tree.from_edges(edges, states, [f"x{i + 1}" for i in range(n)], root="y0")
    rng = np.random.default_rng([seed, n])
    while True:
        model = Model(tree, numbered([3] * n), random_parameters(tree, rng, DOMINANT))
        tables = [model.table(v) for v in range(1, tree.n_nodes)]
        if all(len(set(t.argmax(axis=1).tolist())) > 1 for t in tables):
            return model


@cache
def _drawn(n: int, rows: int, seed: int) -> tuple[Model, Table, Table]:
    """A generator, and rows of it to learn from and to test with."""
    model = generated(n, seed)
    rng = np.random.default_rng([seed, n, 1])
    table, test = (Table.from_codes(model.sample(k, rng), model.variables) for k in (rows, 5_000))
    return model, table, test


def make(parts: Parts, *, sizes: Sequence[int], rows: int, seed: int) -> None:
    """Search data of each size with each method, and by score alone."""
    size = {"rows": rows, "seed": seed}
    for n in sizes:
        parts.make("generators", {"variables": n}, size, partial(_generator, n, rows, seed))
        for label in CLIMBERS:
            if n <= LIMITS.get(label, n):
                which = {"variables": n, "method": label}
                parts.make("climbing", which, size, partial(_climb, n, label, rows, seed))
        if n <= LIMITS["SHC"]:
            parts.make("by score alone", {"variables": n}, size, partial(_by_score, n, rows, seed))


def _generator(n: int, rows: int, seed: int) -> Plain:
    """The generating structure, fitted."""
    model, table, test = _drawn(n, rows, seed)
    fit = em(model, table)
    return {"kl": divergence(fit.model, table, model, test)[0], "bic": bic(fit), "tree": plain_tree(model.tree)}


def _climb(n: int, label: str, rows: int, seed: int) -> Plain:
    model, table, test = _drawn(n, rows, seed)
    method, options = CLIMBERS[label]
    run, seconds = timed(table, method, [seed, 2], **options)
    kl = divergence(run.fit.model, table, model, test)[0]
    return {"kl": kl, "bic": run.score, "seconds": seconds, "tree": plain_tree(run.tree)}


# ---- [Zhang2004] 3: BIC alone -------------------------------------------------------------------------------------


class ByScoreAlone(SingleHillClimbing):
    """SHC that chooses the candidate of the highest score, and not that of the highest unit improvement."""

    def _judge(
        self,
        task: Task,
        state: State,
        beliefs: Beliefs,
        candidates: Sequence[tuple[Move, Graph]],
        rng: np.random.Generator,
    ) -> list[Judged]:
        """As if every candidate cost one parameter, so that the improvement per parameter is the improvement."""
        same = task.criterion.dimension(state.network.graph) + 1
        return [replace(c, dimension=same) for c in super()._judge(task, state, beliefs, candidates, rng)]


def _by_score(n: int, rows: int, seed: int) -> Plain:
    """The first choice that SHC has, and where it ends if it chooses by score."""
    _, table, _ = _drawn(n, rows, seed)
    METHODS.register("shc by score alone", MethodEntry(ByScoreAlone))
    try:
        run, seconds = timed(table, "shc by score alone", [seed, 2])
    finally:
        METHODS.unregister("shc by score alone")
    star, rng = Graph.star(2, table.cardinalities.tolist()), np.random.default_rng([seed, n, 3])
    first = {
        "start": _best_bic([star], table, rng),
        "SI": _best_bic([graph for _, graph in reachable(star, ("SI",))], table, rng),
        "NI": _best_bic([graph for _, graph in reachable(star, ("NI",))], table, rng),
    }
    kinds = [step.kind for step in run.trace if step.kind not in ("start", "EM")]
    return {"first": first, "bic": run.score, "tree": plain_tree(run.tree), "kinds": kinds, "seconds": seconds}


def _best_bic(graphs: Sequence[Graph], table: Table, rng: np.random.Generator) -> float:
    """The highest BIC of some trees, each fitted as in [Zhang2004]."""
    names = dict(enumerate(table.names))
    models = (Model.random(graph.to_tree(names), table.variables, rng) for graph in graphs)
    return max(bic(restart_em(model, table, rng=rng, n_init=64)) for model in models)


# ---- the page -----------------------------------------------------------------------------------------------------


def section(kept: Answers) -> str:
    """The results as part of a page."""
    size = kept.size("climbing")
    own = {(r["which"]["variables"], r["which"]["method"]): r["answer"] for r in kept.all("climbing")}
    sizes, methods = (list(dict.fromkeys(key[i] for key in own)) for i in (0, 1))
    methods = [m for m in CLIMBERS if m in methods]
    lines = []
    for n in sizes:
        truth = kept.of("generators", variables=n)
        cells = [_cell(own.get((n, m))) for m in methods]
        lines.append([str(n), f"{truth['kl']:.4f} / {truth['bic']:,.1f}", *cells])
    head = ["variables", "true structure, fitted", *methods]
    return f"""
## DHC, SHC and HSHC ([Zhang2004] 5.1, figures 3 and 4)

{size["rows"]:,} rows from models with {sizes[0]} to {sizes[-1]} ternary variables (three on each latent, latents of 2
and 3 states in a chain, every row of a table with a component above {DOMINANT}); EM and local EM from 64 starts, gain
0.01, at most 500 steps, as in [Zhang2004]. KL on 5,000 test rows / BIC / processor seconds. ({kept.made("climbing")}.)

{markdown(head, lines)}
{_found(own, sizes, methods)}

Figure 4, from these numbers:

![KL and processor seconds against the number of variables](search-climbing.svg)

Figure 3: the model with {sizes[-1]} variables, and what HSHC3 and ours find. Latents are shown by their numbers of
states.

![The generating tree with {sizes[-1]} variables and those that were found](search-generator.svg)
{_alone(kept)}"""


def _cell(answer: Plain | None) -> str:
    return f"{answer['kl']:.4f} / {answer['bic']:,.1f} / {answer['seconds']:.1f}" if answer else ""


def _found(own: Mapping[tuple[int, str], Plain], sizes: Sequence[int], methods: Sequence[str]) -> str:
    """What [Zhang2004] says of its figure, and what is so here."""
    best = {n: max(own[n, m]["bic"] for m in methods if (n, m) in own) for n in sizes}
    below = {m: [n for n in sizes if (n, m) in own and own[n, m]["bic"] < best[n] - 1] for m in methods}
    told = "; ".join(f"{m} {_sizes(below[m])}" for m in methods if below[m])
    times = [
        f"{own[n, 'DHC']['seconds'] / own[n, 'SHC']['seconds']:.0f} times on {n} variables"
        for n in sizes
        if {(n, "DHC"), (n, "SHC")} <= set(own)
    ]
    faster = [
        f"{own[n, 'SHC']['seconds'] / own[n, 'HSHC3']['seconds']:.1f} times on {n}"
        for n in sizes
        if {(n, "SHC"), (n, "HSHC3")} <= set(own)
    ]
    return f"""The source has a figure, no numbers: there HSHC1 is poor in two of five cases, HSHC2 and HSHC3 match the
generative models, HSHC is much faster than SHC, and SHC is 22 times faster than DHC on a model with 7 variables. Here
SHC is faster than DHC {" and ".join(times)}, and HSHC3 than SHC {", ".join(faster)}. More than 1 below the best BIC
of the row: {told or "none"}."""


def _sizes(sizes: Sequence[int]) -> str:
    return "on " + " and ".join(map(str, sizes)) + " variables"


def _alone(kept: Answers) -> str:
    """[Zhang2004] 3."""
    rows, left, lower, n_sets = [], 0, 0, 0
    for record in kept.all("by score alone"):
        n, own = record["which"]["variables"], record["answer"]
        by_ratio = kept.of("climbing", variables=n, method="SHC")
        first = own["first"]
        left += len(own["tree"]["states"]) > 1
        lower += own["bic"] < by_ratio["bic"] - 1
        n_sets += 1
        rows.append(
            [
                str(n),
                *(f"{first[name]:,.1f}" for name in ("start", "SI", "NI")),
                " ".join(own["kinds"]),
                f"{own['bic']:,.1f} ({states_of(own['tree'])})",
                f"{by_ratio['bic']:,.1f} ({states_of(by_ratio['tree'])})",
            ]
        )
    head = ["variables", "start", "SI", "best NI", "its steps", "ends at", "SHC by unit improvement ends at"]
    return f"""
## SHC by BIC alone ([Zhang2004] 3)

The source: SHC that takes the candidate of the highest BIC "often does not leave LC models"; in its example SI leads
from -128,684 to -125,185 (which is printed as NI), the best NI only to -125,569. The same on the data above: BIC of the
star with two states, of SI, and of the best NI, which is what the first choice is between; then all steps of that
search, and its end beside SHC's, with the states of the latents. The first choice is SI here, too, and more of it
follows before the first latent is introduced; the latent class models are left on {left} of {n_sets} data sets, though,
where the source says that they often are not. The end is more than 1 below SHC's on {lower} of {n_sets}, with fewer and
wider latents. ({kept.made("by score alone")}.)

{markdown(head, rows)}"""


def draw(kept: Answers) -> dict[str, str]:
    """Figures 4 and 3."""
    own = {(r["which"]["variables"], r["which"]["method"]): r["answer"] for r in kept.all("climbing")}
    panels = []
    for name, value in (("KL", lambda c: c["kl"]), ("log10 of processor seconds", lambda c: log10(c["seconds"]))):
        marks = [
            Line([(n, value(own[n, m])) for n in SIZES if (n, m) in own], colour, m == "default (ours)", m)
            for m, colour in zip(CLIMBERS, COLOURS, strict=False)
        ]
        panels.append(Panel(name, [m for m in marks if m.points], x_label="variables"))
    last = max(n for n, _ in own)
    trees = [("the generator", kept.of("generators", variables=last)["tree"])]
    trees += [(f"found by {m}", own[last, m]["tree"]) for m in ("HSHC3", "default (ours)") if (last, m) in own]
    return {"climbing": picture(panels, columns=2, width=330, height=220), "generator": draw_trees(trees)}
