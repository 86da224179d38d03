"""How fast the engine is: against StepMix, and against itself with sharing switched off, all in one run.

    make bench                                    # writes docs/benchmarks.md
    python benchmarks/engine.py --only a,e        # some of it, printed

Timings are the least of several repetitions; ratios are what counts, machines differ. COIL, news100 and the synthetic
sets are read from the directory that LATENTREE_DATA names (default ../shared/data); rows without data are left out.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

for library in ("OMP", "OPENBLAS", "MKL"):  # one thread for the peer too, unless told otherwise
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from latentree._model import Model, random_parameters
from latentree._table import Table
from latentree._tree import Tree
from latentree.engine import _core
from latentree.engine._plan import Evidence, Plan
from latentree.estimation import em, random_starts

DATA = Path(os.environ.get("LATENTREE_DATA", Path(__file__).parents[2] / "shared" / "data"))
DOCS = Path(__file__).parents[1] / "docs"


# ---- data ----------------------------------------------------------------------------------------------------------


def sampled(n: int, cardinalities: np.ndarray, n_classes: int, seed: int = 0) -> np.ndarray:
    """Rows from a random latent class model, with a generator of their own kind for every case."""
    rng = np.random.default_rng(seed)
    tree = Tree.star(n_classes, cardinalities)
    variables = Table.from_codes(np.zeros((1, len(cardinalities)), int), cardinalities).variables
    return Model(tree, variables, random_parameters(tree, rng)).sample(n, rng)


def coded(path: Path, header: int | None = 0) -> np.ndarray:
    frame = pd.read_csv(path, dtype=str, header=header, na_values="?")
    return np.stack([pd.Categorical(frame[c]).codes for c in frame.columns], axis=1).astype(np.int16)


def d18_tree() -> Tree:
    true = json.loads((DATA / "synthetic" / "d18_generator.json").read_text())
    latent = len(true["latent_parent"])
    return Tree(
        np.array(true["latent_parent"] + true["manifest_parent"]),
        np.array(true["latent_cardinality"] + true["manifest_cardinality"]),
        np.r_[np.full(latent, -1), np.arange(len(true["manifest_parent"]))],
    )


def ten_branches(n_leaves: int, states: int = 3) -> Tree:
    """A root over ten latents, each over a tenth of the binary leaves."""
    per = n_leaves // 10
    return Tree(
        np.r_[-1, np.zeros(10, int), 1 + np.arange(n_leaves) // per],
        np.r_[states, np.full(10, states), np.full(n_leaves, 2)],
        np.r_[np.full(11, -1), np.arange(n_leaves)],
    )


# ---- timing --------------------------------------------------------------------------------------------------------


def least(run: Callable[[], float], repetitions: int) -> float:
    return min(run() for _ in range(repetitions))


def iteration(model: Model, table: Table, *, n_jobs: int = 1, share: bool = True, seconds: float = 0.6) -> float:
    """Seconds of one EM iteration, M-step included."""
    plan = Plan.of(model, table, share=share)

    def steps(n: int) -> float:
        climb = _core.Em(plan.core, model.parameters[None], None, None, False)
        began = time.perf_counter()
        climb.advance(n, -1.0, 1e9, n_jobs)
        return (time.perf_counter() - began) / climb.evaluations(0)  # it may converge on the way

    n = int(np.clip(0.02 / steps(2), 3, 500))
    return least(lambda: steps(n), max(3, int(seconds / 0.02)))


def stepmix_iteration(codes: np.ndarray, n_classes: int, n: int, weights: np.ndarray | None = None) -> float:
    from stepmix.stepmix import StepMix

    def steps(most: int) -> float:
        peer = StepMix(
            n_components=n_classes,
            measurement="categorical",
            n_init=1,
            max_iter=most,
            abs_tol=0,
            rel_tol=0,
            random_state=0,
            verbose=0,
            progress_bar=0,
        )
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer.fit(codes, sample_weight=weights)
        return time.perf_counter() - began

    # the least of each length first: a difference of noisy times can come out too small
    short, long = (least(lambda most=most: steps(most), 5) for most in (2, 2 + n))
    return (long - short) / n


def star_case(codes: np.ndarray, n_classes: int, peer_steps: int, distinct: bool = False) -> dict[str, float]:
    table = Table.from_codes(codes)
    tree = Tree.star(n_classes, table.cardinalities)
    model = Model(tree, table.variables, random_parameters(tree, np.random.default_rng(1)))
    out = {"patterns": table.n_patterns, "ours": iteration(model, table), "two": iteration(model, table, n_jobs=2)}
    out["peer"] = stepmix_iteration(codes, n_classes, peer_steps)
    if distinct:
        out["peer_distinct"] = stepmix_iteration(np.array(table.codes), n_classes, peer_steps, table.weights)
    return out


def tree_case(tree: Tree, codes: np.ndarray) -> dict[str, float]:
    table = Table.from_codes(codes, tree.cardinality[tree.manifest])
    model = Model(tree, table.variables, random_parameters(tree, np.random.default_rng(1)))
    plans = [Plan.of(model, table, share=share) for share in (True, False)]
    return {
        "patterns": table.n_patterns,
        "ours": iteration(model, table),
        "flat": iteration(model, table, share=False),
        "work": plans[1].core.work / plans[0].core.work,
    }


# ---- the cases -----------------------------------------------------------------------------------------------------

MIXED = np.random.default_rng(5).integers(2, 10, 42)
STARS = {
    "a": ("10,000 x 10 ternary, 5 classes", 150, lambda: star_case(sampled(10_000, np.full(10, 3), 5), 5, 30)),
    "b": ("100,000 x 20 binary, 10 classes", 300, lambda: star_case(sampled(100_000, np.full(20, 2), 10), 10, 10)),
    "c": ("1,000,000 x 10 binary, 10 classes", 10_000, lambda: star_case(sampled(10**6, np.full(10, 2), 10), 10, 5)),
    "d": ("5,822 x 42 of 2-9 states, 8 classes", 75, lambda: star_case(sampled(5822, MIXED, 8), 8, 30)),
    "e": ("COIL, 5,822 x 42, 8 classes", 500, lambda: star_case(coded(DATA / "coil/coil42.csv.gz"), 8, 30, True)),
}
TREES = {
    "f": ("D18(10k) on its true tree", lambda: tree_case(d18_tree(), coded(DATA / "synthetic/d18_10k.csv.gz"))),
    "g": (
        "news100 on ten 10-leaf branches",
        lambda: tree_case(ten_branches(100), coded(DATA / "scale/news100.csv.gz")),
    ),
}


def distinct_rows() -> list[str]:
    lines = []
    for text, codes in (
        ("1,000,000 x 10 binary", sampled(10**6, np.full(10, 2), 10)),
        ("300,000 x 60 of 2-5 states", np.asfortranarray(sampled(300_000, np.arange(60) % 4 + 2, 4))),
    ):

        def once(codes: np.ndarray = codes) -> float:
            began = time.perf_counter()
            Table.from_codes(codes)
            return time.perf_counter() - began

        lines.append(f"| distinct rows of {text} | {least(once, 3):.3f} s |")
    return lines


def peak_memory() -> str:
    """Peak above the input of building case (c)'s table and fitting it, in a process of its own."""
    code = """
import numpy as np
from latentree.estimation import fit_classes
from latentree import Table
codes = np.asfortranarray(np.random.default_rng(0).integers(0, 2, (10**6, 10), dtype=np.int16))
Table.from_codes(codes[:1000])
status = lambda key: next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(key))
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
before = status("VmRSS")
fit_classes(Table.from_codes(codes), 10, rng=np.random.default_rng(0), n_init=4, max_iterations=50)
print((status("VmHWM") - before) / 1024)
"""
    megabytes = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    return f"| peak memory of (c) above the input, table and fit | {megabytes:.0f} MB |"


def twenty_starts() -> str:
    table = Table.from_codes(sampled(5822, MIXED, 8))
    tree = Tree.star(8, table.cardinalities)
    starts = random_starts(tree, 20, np.random.default_rng(0))

    def once() -> float:
        began = time.process_time()
        plan = Plan(tree, [Evidence(v + 1, table.codes[:, v].astype(np.int32)) for v in range(42)], table.weights)
        _core.Em(plan.core, starts, None, None, True).advance(10_000, 1e-6, 1e9, 1)
        return time.process_time() - began

    return f"| 20 starts on (d) to convergence (gain < 1e-6), CPU seconds, plan included | {least(once, 3):.2f} s |"


def local_candidate() -> str:
    """Three nodes: a latent between two frozen branches of 300 sub-patterns, 5,000 rows, 4 starts x 10 steps."""
    rng = np.random.default_rng(0)
    tree = Tree(np.array([-1, 0, 0]), np.array([3, 3, 3]), np.array([-1, -1, -1]))
    evidence = [Evidence(v, rng.integers(0, 300, 5000).astype(np.int32), rng.random((300, 3))) for v in (1, 2)]
    starts = np.stack([random_parameters(tree, rng) for _ in range(4)])

    def once() -> float:
        began = time.perf_counter()
        plan = Plan(tree, evidence, np.ones(5000))
        _core.Em(plan.core, starts, None, None, False).advance(10, -1.0, 1e9, 1)
        return time.perf_counter() - began

    return f"| candidate-sized local EM: 3 nodes, 5,000 rows, 4 starts x 10 steps, plan included | {1e3 * least(once, 50):.2f} ms |"


def import_time() -> str:
    code = "import time; t = time.perf_counter(); import latentree; print(time.perf_counter() - t)"
    once = lambda: float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)  # noqa: E731
    return f"| `import latentree` | {1e3 * least(once, 5):.0f} ms |"


def acceleration(n_init: int = 3, tol: float = 1e-8) -> list[str]:
    """Passes of plain and accelerated EM from the same starts to the same tolerance."""
    problems: list[tuple[str, Tree, Table]] = []
    for path in sorted((DATA / "thesis").glob("*.csv.gz")):
        table = Table.from_codes(coded(path))
        problems.append((path.name.split(".")[0], Tree.star(5, table.cardinalities), table))
    for name in ("d7", "d12", "d18"):
        true = json.loads((DATA / "synthetic" / f"{name}_generator.json").read_text())
        latent = len(true["latent_parent"])
        tree = Tree(
            np.array(true["latent_parent"] + true["manifest_parent"]),
            np.array(true["latent_cardinality"] + true["manifest_cardinality"]),
            np.r_[np.full(latent, -1), np.arange(len(true["manifest_parent"]))],
        )
        for size in ("1k", "5k", "10k"):
            table = Table.from_codes(coded(DATA / "synthetic" / f"{name}_{size}.csv.gz"))
            problems.append((f"{name}({size})", tree, table))
    rows, passes, ratios, seconds, better, worse = [], np.zeros(2), [], np.zeros(2), 0, 0
    for name, tree, table in problems:
        own = np.zeros(2)
        ends = []
        for seed in range(n_init):
            start = Model(tree, table.variables, random_parameters(tree, np.random.default_rng(seed)))
            plan = Plan.of(start, table)
            fits = [
                em(start, table, accelerate=fast, tol=tol, max_iterations=200_000, plan=plan) for fast in (False, True)
            ]
            gain = fits[1].log_likelihood - fits[0].log_likelihood
            better, worse = better + (gain > 1e-4), worse + (gain < -1e-4)
            own += [f.evaluations for f in fits]
            seconds += [f.seconds for f in fits]
            ratios.append(fits[1].evaluations / fits[0].evaluations)
            ends.append(gain)
        passes += own
        rows.append(
            f"| {name} | {own[0]:.0f} | {own[1]:.0f} | {own[1] / own[0]:.3f} | {min(ends):+.1e} | {max(ends):+.1e} |"
        )
    return [
        f"{len(problems)} problems x {n_init} random starts (5 classes on the thesis' data sets, the generating tree on "
        f"D7-D18), gain below {tol:g}: {passes[1]:,.0f} passes instead of {passes[0]:,.0f}, **{passes[1] / passes[0]:.3f}** "
        f"of them (median of the runs {np.median(ratios):.2f}, geometric mean {np.exp(np.mean(np.log(ratios))):.2f}) and "
        f"{seconds[1] / seconds[0]:.3f} of the time. The end differs by more than 1e-4 in {better + worse} of {len(ratios)} runs: "
        f"{better} times the accelerated one is higher, {worse} times lower (another local maximum).",
        "",
        "| data | passes, plain EM | accelerated | ratio | least gain in LL | most |",
        "|---|---|---|---|---|---|",
        *rows,
    ]


# ---- the page ------------------------------------------------------------------------------------------------------


def star_line(key: str) -> str:
    text, goal, run = STARS[key]
    r = run()
    ratio = f"**{r['peer'] / r['ours']:,.0f}x** (goal {goal:,}x)"
    line = f"| ({key}) {text} | {r['patterns']:,} | {1e3 * r['ours']:.4f} | {1e3 * r['two']:.4f} | {1e3 * r['peer']:.2f} | {ratio} |"
    if "peer_distinct" in r:
        line += (
            f"\n| ({key}) against StepMix on the distinct rows with weights | {r['patterns']:,} | {1e3 * r['ours']:.4f} | "
            f"{1e3 * r['two']:.4f} | {1e3 * r['peer_distinct']:.2f} | **{r['peer_distinct'] / r['ours']:,.0f}x** (goal 150x) |"
        )
    return line


def tree_line(key: str) -> str:
    text, run = TREES[key]
    r = run()
    return (
        f"| ({key}) {text} | {r['patterns']:,} | {1e3 * r['ours']:.4f} | {1e3 * r['flat']:.4f} | "
        f"**{r['flat'] / r['ours']:.1f}x** (goal 10x) | {r['work']:.1f}x |"
    )


def machine() -> str:
    name = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "",
    )
    return f"{name}, {os.cpu_count()} cores, {_core.kernels()} kernels, Python {platform.python_version()}, NumPy {np.__version__}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="cases, e.g. a,e,f; more, accel")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/benchmarks.md")
    chosen = parser.parse_args()
    only = chosen.only.split(",") if chosen.only else [*STARS, *TREES, "more", "accel"]
    sections: dict[str, list[str]] = {"stars": [], "trees": [], "more": [], "acceleration": []}
    for key in only:
        try:
            if key in STARS:
                lines, where = [star_line(key)], "stars"
            elif key in TREES:
                lines, where = [tree_line(key)], "trees"
            elif key == "more":
                lines, where = (
                    [*distinct_rows(), peak_memory(), twenty_starts(), local_candidate(), import_time()],
                    "more",
                )
            else:
                lines, where = acceleration(), "acceleration"
        except FileNotFoundError as error:
            lines, where = [f"| {key}: no data ({Path(error.filename).name}) |"], "more"
        sections[where] += lines
        print("\n".join(lines), flush=True)
        gc.collect()
    if chosen.write:
        write(sections)


HEADS = {
    "stars": "| case | distinct rows | ours, ms | ours, 2 threads, ms | StepMix, ms | ratio, one thread |\n|---|---|---|---|---|---|",
    "trees": "| case | distinct rows | shared, ms | not shared, ms | ratio | multiply-adds |\n|---|---|---|---|---|---|",
    "more": "| what | measured |\n|---|---|",
    "acceleration": "",
}


def write(sections: dict[str, list[str]]) -> None:
    """Replace what stands between the page's markers; the words around them are written by hand."""
    page = DOCS / "benchmarks.md"
    text = page.read_text()
    for name, lines in {**sections, "machine": [machine()]}.items():
        if not lines:
            continue
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        head, rest = text.split(begin, 1)
        body = "\n".join(part for part in (HEADS.get(name, ""), *lines) if part is not None)
        text = f"{head}{begin}\n{body.strip()}\n{end}{rest.split(end, 1)[1]}"
    page.write_text(text)
    print(
        f"written: {page.relative_to(page.parents[1])}; peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB"
    )


if __name__ == "__main__":
    main()
