"""Trees of real data, and what learning them costs: COIL, news100, four density benchmarks, growth.

COIL is in [Zhang2004] 5.2 and [Karciauskas2005] 7.3.3.

``python -m studies.trees --data DIR --out docs/reproduction/trees.md`` writes the page.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from latentree import datasets
from latentree._files import write_atomically
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.cardinality import learn as learn_states
from latentree.errors import DataError
from latentree.infer import log_likelihood_rows, posterior
from latentree.report.figures import plot_growth, plot_tree, to_svg
from latentree.runner import Budget
from latentree.search import Run, learn

from .page import deliver, markdown, options

__all__ = ["main"]

PARTS = ("coil", "news100", "density", "growth")
Say = Callable[[str], None]

POLICIES = (
    *("private third party", "third party (firms)", "third party (agriculture)", "car", "delivery van", "motorcycle"),
    *("lorry", "trailer", "tractor", "agricultural machines", "moped", "life", "private accident", "family accident"),
    *("disability", "fire", "surfboard", "boat", "bicycle", "property", "social security"),
)
"""Kinds of policies in the order of COIL's attributes 44 to 64 (contributions) and 65 to 85 (numbers)."""

PUBLISHED = {"nltcs": -5.999, "msnbc": -6.058, "kdd": -2.141, "plants": -14.265}
"""Mean test log-likelihood of hidden Chow-Liu trees; see the text of the page."""


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = options("trees", __doc__)
    parser.add_argument("--jobs", type=int, default=2, help="threads (default 2)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to make (default all)")
    parser.add_argument("--minutes", type=float, default=5.0, help="time for each tree, for news100 twice (default 5)")
    given = parser.parse_args(arguments)
    folder = given.data or os.environ.get("LATENTREE_DATA", "")
    if not folder:
        raise DataError("The data sets are needed: give their folder by --data or LATENTREE_DATA.")

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    makers = {"coil": _coil, "news100": _news, "density": _density, "growth": _growth}
    text = HEAD
    pictures: dict[str, str] = {}
    for part in given.only:
        text += makers[part](Path(folder), given.seed, given.jobs, 60 * given.minutes, say, pictures)
    deliver(text, given.out)
    for name, picture in pictures.items():
        if given.out:
            write_atomically(Path(given.out).with_name(name), picture)


HEAD = """# Trees of real data

Made by `python -m studies.trees --data DIR`. All trees are learned by our own method, `swift`. BIC is LL - d/2 ln N,
higher being better.
"""


def _learned(table: Table, seed: int, jobs: int, seconds: float | None, say: Say, **more: object) -> tuple[Run, float]:
    began = time.process_time()
    run = learn(
        table,
        rng=np.random.default_rng(seed),
        n_jobs=jobs,
        budget=Budget(seconds=seconds),
        on_step=lambda s: say(f"{s.seconds:8.1f} s  {s.phase:7} {s.score:.1f}  {s.kind}"),
        **more,  # type: ignore[arg-type]
    )
    return run, time.process_time() - began


def _milestones(run: Run, goals: Sequence[float]) -> str:
    """When a score was first passed."""
    out = []
    for goal in goals:
        first = next((s.seconds for s in run.trace if s.score > goal), None)
        out.append(f"{goal:,.0f} " + ("was not passed" if first is None else f"was passed after {first:.1f} s"))
    return "; ".join(out)


# ---- COIL -------------------------------------------------------------------------------------------------------


def _coil(folder: Path, seed: int, jobs: int, seconds: float, say: Say, pictures: dict[str, str]) -> str:
    table = datasets.load("coil42", data_dir=folder)
    run, cpu = _learned(table, seed, jobs, seconds, say)
    owners, tested = _owners(run.model, folder)
    rows = [["HSHC, K = 1, 5, 10, 20 ([Zhang2004] 5.2)", "-52,522, -51,625, **-51,465**, -51,592", "51 to 169 h"]]
    rows += [["HLCSplitMerge on Zhang and Kočka's skeleton ([Karciauskas2005] 7.3.3)", "-51,516.5", "467 h"]]
    rows += [["swift (ours)", f"**{run.score:,.1f}**", f"{run.seconds:.0f} s ({cpu:.0f} s of processor time)"]]
    for name in ("HLCSplitMerge", "HLCStandard3"):
        began = time.perf_counter()
        found = learn_states(
            table,
            method=name,
            skeleton=run.tree,
            rng=np.random.default_rng(seed),
            budget=Budget(seconds=seconds),
        )
        label = f"{name} ([Karciauskas2005] table 7.4) on ours"
        rows += [[label, f"{found.score:,.1f}", f"{time.perf_counter() - began:.0f} s"]]
    groups = "".join(f"- {line}\n" for line in _groups(run.model))
    pictures["trees-coil.svg"] = to_svg(plot_tree(run.model).figure)
    return f"""
## COIL Challenge 2000, 5,822 x 42

{markdown(["", "BIC", "time"], rows)}
Ours has {len(run.tree.latent)} latents and {run.tree.n_parameters} parameters. {_milestones(run, [-51_465, -51_300])}.
The search {"ended by itself" if run.reason.complete else "was stopped by its time limit"}. Figure 7.9, the skeleton
of table 7.4, is lost: Karciauskas' learners start from the skeleton that ours found, without its numbers of states.

**Prediction.** Of {tested:,} customers in the test set, the 800 with the highest P(caravan policy | all else) are
chosen: **{owners}** of the 238 owners are among them. [Zhang2004] reports 110; the best entry had 121, chance gives 42.

![The tree of COIL](trees-coil.svg)

What belongs together: the variables of one latent (its states in brackets). As [Zhang2004] found, the contribution and
the number of policies of each kind go together.

{groups}
The whole tree; a star marks a latent:

```
{run.tree.to_text()}
```
"""


def _owners(model: Model, folder: Path) -> tuple[int, int]:
    """Owners among the 800 chosen of the test set."""
    merged = json.loads((folder / "coil" / "merge_map.json").read_text())
    given = np.loadtxt(folder / "coil" / "ticeval2000.txt.gz", dtype=int)
    truth = np.loadtxt(folder / "coil" / "tictgts2000.txt.gz", dtype=int)
    codes = np.full((len(given), len(model.variables)), -1, dtype=np.int16)
    for i, variable in enumerate(model.variables):
        number = int(variable.name[-2:])
        if number == 86:
            continue
        to = {old: new for new, olds in merged[str(number)] for old in olds}
        at = {state: code for code, state in enumerate(variable.states)}
        codes[:, i] = [at.get(to.get(int(x), -1), -1) for x in given[:, number - 1]]
    table = Table.from_codes(codes, model.variables)
    target = next(v.name for v in model.variables if v.name.endswith("86"))
    p = posterior(model, table, target)[target][:, -1]
    chosen = np.argsort(-p, kind="stable")[:800]
    return int(truth[chosen].sum()), len(given)


def _groups(model: Model) -> list[str]:
    tree = model.tree
    out = []
    for z in tree.latent:
        leaves = [tree.names[c] for c in tree.children[z] if tree.variable[c] >= 0]
        if len(leaves) > 1:
            out.append(f"{tree.names[z]} ({tree.cardinality[z]}): {', '.join(map(_meaning, leaves))}")
    return out


def _meaning(name: str) -> str:
    """What a column of COIL is about, after the challenge's dictionary."""
    number = int(name[-2:])
    other = {4: "average age", 5: "customer main type", 43: "purchasing power", 86: "caravan policy"}
    if number in other:
        return other[number]
    what = POLICIES[number - (44 if number < 65 else 65)]
    return f"{what} ({'contribution' if number < 65 else 'number'})"


# ---- news100 ------------------------------------------------------------------------------------------------------


def _news(folder: Path, seed: int, jobs: int, seconds: float, say: Say, pictures: dict[str, str]) -> str:
    table = datasets.load("news100", data_dir=folder)
    run, cpu = _learned(table, seed, jobs, 2 * seconds, say)
    rows = [
        ["bridged islands, Java, before its final refinement", "-232,227", "20 min"],
        ["the same, scaled from its published 10-fold result", "about -230,800", ""],
        ["swift (ours)", f"**{run.score:,.1f}**", f"{run.seconds:.0f} s ({cpu:.0f} s of processor time)"],
    ]
    return f"""
## news100, 16,242 x 100

{markdown(["", "BIC", "time"], rows)}
Ours has {len(run.tree.latent)} latents and {run.tree.n_parameters} parameters.
{_milestones(run, [-231_000, -230_000])}.

```
{run.tree.to_text()}
```
"""


# ---- density estimation ---------------------------------------------------------------------------------------------


def _density(folder: Path, seed: int, jobs: int, seconds: float, say: Say, pictures: dict[str, str]) -> str:
    rows = []
    for name, published in PUBLISHED.items():
        table = datasets.load(f"{name}_train", data_dir=folder)
        run, _ = _learned(table, seed, jobs, seconds, say)
        test = datasets.load(f"{name}_test", data_dir=folder)
        mean = float(np.average(log_likelihood_rows(_smoothed(run.fit.model), test)))
        rows.append(
            [
                name,
                f"{table.n:,.0f} x {table.n_variables}",
                f"{len(run.tree.latent)}",
                f"{run.score:,.1f}",
                f"**{mean:.3f}**" if mean >= published else f"{mean:.3f}",
                f"{published:.3f}",
                f"{run.seconds:.0f}",
            ]
        )
        say(f"{name}: {mean:.4f}")
    head = ["data", "training rows", "latents", "BIC", "test, ours", "HCLT", "seconds"]
    return f"""
## Density estimation

Mean log-likelihood of a test row, beside that of hidden Chow-Liu trees (HCLT: 12 states, mixtures of four trees,
trained on a GPU; A. Liu and G. Van den Broeck 2021; recomputed from the public training logs of five seeds). Ours are
single trees, chosen by BIC on the training rows alone and mixed with 0.1 % of the uniform distribution of each table's
rows, so that no test row is impossible.

{markdown(head, rows)}"""


def _smoothed(model: Model) -> Model:
    tree = model.tree
    uniform = np.repeat(1.0 / tree.cardinality, tree.rows * tree.cardinality)
    return model.with_parameters(0.999 * model.parameters + 0.001 * uniform)


# ---- growth ---------------------------------------------------------------------------------------------------------


def _growth(folder: Path, seed: int, jobs: int, seconds: float, say: Say, pictures: dict[str, str]) -> str:
    """Processor time of one climb against rows and variables, and the exponents that fit."""
    by_rows = [(n, _climb_cost(20, n, seed, say)) for n in (1_000, 3_000, 10_000, 30_000, 100_000)]
    by_width = [(m, _climb_cost(m, 3_000, seed, say)) for m in (10, 20, 50, 100, 200)]
    lines = [[f"{n:,}", f"{s:.2f}"] for n, s in by_rows], [[f"{m}", f"{s:.2f}"] for m, s in by_width]
    pictures["trees-growth.svg"] = _drawn_growth(by_rows, by_width)
    return f"""
## Cost against growth

Seconds of processor time for one climb (no look ahead, one thread) on data drawn from random trees of ternary
variables. Fitted exponents: rows^{_exponent(by_rows):.2f} (20 variables) and variables^{_exponent(by_width):.2f} (3,000
rows).

![Cost against rows and variables](trees-growth.svg)

{markdown(["rows, 20 variables", "seconds"], lines[0])}
{markdown(["variables, 3,000 rows", "seconds"], lines[1])}"""


def _climb_cost(n_variables: int, n: int, seed: int, say: Say) -> float:
    table = _drawn(n_variables, n, seed)
    began = time.process_time()
    learn(table, rng=np.random.default_rng(seed), trials=0, starts=1)
    spent = time.process_time() - began
    say(f"{n_variables} variables, {n:,} rows: {spent:.2f} s")
    return spent


def _drawn(n_variables: int, n: int, seed: int) -> Table:
    """Rows from a tree: groups of five leaves below ternary latents, these below others in groups of four."""
    rng = np.random.default_rng([seed, n_variables])
    edges, states = [], {}
    level = [f"x{i}" for i in range(n_variables)]
    leaves = list(level)
    states.update(dict.fromkeys(level, 3))
    size, made = 5, 0
    while len(level) > 1:
        above = []
        for first in range(0, len(level), size):
            z = f"z{made}"
            made += 1
            states[z] = 3
            edges += [(z, v) for v in level[first : first + size]]
            above.append(z)
        level, size = above, 4
    tree = Tree.from_edges(edges, states, leaves, root=level[0])
    truth = Model.random(tree, numbered([3] * n_variables), rng, dominant=0.6)
    return Table.from_codes(truth.sample(n, rng), truth.variables)


def _drawn_growth(by_rows: Sequence[tuple[int, float]], by_width: Sequence[tuple[int, float]]) -> str:
    panels = {"rows (20 variables)": by_rows, "variables (3,000 rows)": by_width}
    return to_svg(plot_growth(panels, label="processor seconds"))


def _exponent(points: Sequence[tuple[int, float]]) -> float:
    x, y = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


if __name__ == "__main__":
    main(sys.argv[1:])
