"""Identifiability: [Whiley1999] chapter 3, its theorems and conjectures checked by exact ranks.

``python -m studies.identifiability`` makes what is not kept yet and keeps it in
``studies/results/identifiability.jsonl``; ``python -m studies.identifiability --table --out FILE`` writes the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import combinations, combinations_with_replacement
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from latentree._model import Model
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.dimension import effective_dimension, identifiability

from .page import deliver, filled, markdown
from .parts import Answers, Parts, part_options
from .results import Record, Results, run_main

__all__ = ["main", "page"]

RESULTS = Path(__file__).parent / "results" / "identifiability.jsonl"
PARTS = ("binary", "general", "inside")
CLASSES, LEAVES = range(2, 19), range(2, 17)
"""Of table 3.1: up to 65,536 patterns and 305 parameters, a Jacobian of 20 million entries, the source's largest."""
SHOWN = range(2, 11)
MOST_STATES, MOST_LEAVES, MOST_CLASSES = 5, 5, 12

Answer = dict[str, Any]


def make_all(parts: Parts, seed: int) -> None:
    """Make every part that is not kept."""
    for k in CLASSES:
        parts.make("binary", {"classes": k}, {"leaves": [LEAVES[0], LEAVES[-1]]}, partial(_binary, k))
    size = {"states": MOST_STATES, "leaves": MOST_LEAVES, "classes": MOST_CLASSES}
    parts.make("general", {}, size, _general)
    parts.make("inside", {}, {"seed": seed}, partial(_inside, seed))


def _binary(k: int) -> Answer:
    """Standard and effective dimension of k classes and each number of binary leaves."""
    trees = [Tree.star(k, [2] * n) for n in LEAVES]
    return {"standard": [t.n_parameters for t in trees], "effective": [effective_dimension(t) for t in trees]}


def _general() -> Answer:
    """All models that conjecture 3.9 speaks of, up to some size, and those of them that contradict it."""
    checked, false = 0, []
    for n in range(2, MOST_LEAVES + 1):
        for states in combinations_with_replacement(range(2, MOST_STATES + 1), n):
            for k in range(2, MOST_CLASSES + 1):
                tree = Tree.star(k, list(states))
                if prod(states) - 1 >= tree.n_parameters:
                    checked += 1
                    effective = effective_dimension(tree)
                    if effective < tree.n_parameters:
                        false.append([k, list(states), tree.n_parameters, effective])
    return {"checked": checked, "false": false}


def _inside(seed: int) -> Answer:
    """Ranks at points of the model with two classes and three binary leaves where leaves do not depend on the class."""
    rng = np.random.default_rng(seed)
    ranks = []
    for size in range(4):
        for cut in combinations(range(3), size):
            ones = rng.uniform(0.2, 0.8, (3, 2))
            ones[list(cut), 1] = ones[list(cut), 0]
            p = rng.uniform(0.3, 0.7)
            parameters = np.concatenate([[p, 1 - p], *(np.column_stack([1 - t, t]).ravel() for t in ones)])
            model = Model(Tree.star(2, [2] * 3), numbered([2] * 3), parameters)
            ranks.append([[i + 1 for i in cut], identifiability(model).rank])
    return {"ranks": ranks}


# ---- the page -------------------------------------------------------------------------------------------------------

_HEAD = """\
# Identifiability: [Whiley1999] chapter 3 again

Made by `python -m studies.identifiability`, which keeps its results in `studies/results/identifiability.jsonl`, and
`python -m studies.identifiability --table --out docs/reproduction/identifiability.md`; {made}.

The *effective dimension* de of a structure is the rank of the Jacobian from its parameters to the probabilities of all
patterns, almost everywhere; ds is the number of parameters. The structure is (locally) identifiable if de = ds. Ranks
are exact, by [the mathematics of effective dimension](../mathematics/dimension.md): no Jacobian is made, of which the
source's largest had more than 20 million entries and took many hours.
"""


def page(records: Iterable[Record]) -> str:
    """Write the page of kept results; every figure on it is theirs."""
    kept = Answers(list(records))
    return filled(_HEAD.format(made=kept.made()) + _page_binary(kept) + _page_general(kept) + _page_inside(kept))


def _page_binary(kept: Answers) -> str:
    own = {k: kept.of("binary", classes=k) for k in CLASSES}
    shown = [n for n in LEAVES if n in SHOWN]

    def cell(k: int, n: int) -> str:
        ds, de = (own[k][what][n - LEAVES[0]] for what in ("standard", "effective"))
        if ds > 2**n - 1:
            return f"{de} of {ds}"
        return str(ds) if de == ds else f"**{de} of {ds}**"

    rows = [[str(k), *(cell(k, n) for n in shown)] for k in CLASSES if k <= SHOWN[-1]]
    pairs = [(k, n, *(own[k][w][n - LEAVES[0]] for w in ("standard", "effective"))) for k in CLASSES for n in LEAVES]
    possible = [p for p in pairs if p[2] <= 2 ** p[1] - 1]
    false = ", ".join(f"{k} classes and {n} leaves (ds {ds}, de {de})" for k, n, ds, de in possible if de < ds)
    full = sum(de == ds for *_, ds, de in possible)
    two = all(de == 2 * n + 1 for k, n, _, de in pairs if k == 2 and n > 2)
    few = sum(de < 2**n - 1 for k, n, ds, de in pairs if ds > 2**n - 1)
    return f"""
## Binary leaves (table 3.1, theorems 3.3, 3.4 and 3.7, conjecture 3.8)

Table 3.1 itself is not in the text of the source that we have; it is said to show that all models that could be
identifiable are. Classes down, leaves across; a single number is de = ds; the others have more parameters than the
distribution has (2^n - 1), or are bold:

{markdown(["classes", *map(str, shown)], rows)}
All pairs of {CLASSES[0]} to {CLASSES[-1]} classes and {LEAVES[0]} to {LEAVES[-1]} leaves were looked at,
{len(pairs)} in all.

- *Theorem 3.4 and the conjecture of Geiger, Heckerman and Meek*, de = 2n + 1 for two classes and n > 2 leaves:
  {"it holds for all of them" if two else "it does not hold for all of them"}.
- *Conjecture 3.8*, de = ds whenever ds <= 2^n - 1 (the source prints the rank as r_z (n + 1); it should read
  r_z (n + 1) - 1): {full} of {len(possible)} such models have full rank. **The conjecture is false:** {false}.
- Of the models with more parameters than the distribution has, {few} do not reach 2^n - 1 either.
"""


def _page_general(kept: Answers) -> str:
    own, size = kept.of("general"), kept.size("general")
    rows = [
        [str(k), ", ".join(map(str, states)), str(ds), str(prod(states) - 1), str(de)]
        for k, states, ds, de in own["false"]
    ]
    return f"""
## Leaves of any cardinality (conjecture 3.9)

The conjecture: de = ds whenever ds is not above the number of patterns less one. All such models with 2 to
{size["leaves"]} leaves of 2 to {size["states"]} states and 2 to {size["classes"]} classes were looked at,
{own["checked"]:,} in all. **The conjecture is false** for {len(own["false"])} of them:

{markdown(["classes", "states of the leaves", "ds", "patterns - 1", "de"], rows)}
With two leaves the table of probabilities is a matrix, whose rank is all that the number of classes decides. The others
lack one dimension each.
"""


def _page_inside(kept: Answers) -> str:
    ranks = kept.of("inside")["ranks"]
    rows = [[", ".join(f"Y{i}" for i in cut) or "none", str(rank)] for cut, rank in ranks]
    below = sum(rank < 7 for _, rank in ranks)
    return f"""
## Identifiable structures with points that are not (figures 3.1 and 3.2)

Two classes and two binary leaves, figure 3.1, have ds = {kept.of("binary", classes=2)["standard"][0]} and de =
{kept.of("binary", classes=2)["effective"][0]}. With three leaves de = ds = 7, but the space of parameters contains the
simpler models of figure 3.2, in which some leaves do not depend on the class. The rank at a random point of each:

{markdown(["leaves that do not depend on the class", "rank of the Jacobian, of 7"], rows)}
{below} of the {len(ranks)} have not full rank, the source's seven. `latentree.identifiability(model)` says this of a
fitted model, as the source advises to check.
"""


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    given = part_options("identifiability", __doc__ or "", RESULTS, PARTS).parse_args(arguments)
    results = Results(given.results)
    if not given.table:
        make_all(Parts(results, given.fresh, given.parts, any_code=given.any_code), given.seed)
    deliver(page(results.read()), given.out)


if __name__ == "__main__":
    run_main(main)
