"""Data beyond memory: rows counted in pieces, fits over partitions, and a cluster of processes on this machine.

    make bench-scale                              # writes the tables of docs/scaling.md
    python benchmarks/scale.py --only pieces --rows 10_000_000

Every case runs in a process of its own, so that its peak memory is its own. The rows are drawn from a latent class model
and written as Parquet into a temporary folder (2.6 bytes a row and 20 binary columns).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import latentree as lt

DOCS = Path(__file__).parents[1] / "docs"
CLASSES = 4


# ---- data ----------------------------------------------------------------------------------------------------------


def truth(n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return np.array([0.4, 0.3, 0.2, 0.1]), np.clip(rng.beta(0.7, 0.7, (CLASSES, n_columns)), 0.05, 0.95)


def draw(n: int, n_columns: int, rng: np.random.Generator) -> np.ndarray:
    shares, p = truth(n_columns)
    z = rng.choice(CLASSES, n, p=shares)
    out = np.empty((n, n_columns), dtype=np.int8, order="F")
    for j in range(n_columns):
        out[:, j] = rng.random(n, dtype=np.float32) < p[z, j].astype(np.float32)
    return out


def write_parquet(folder: Path, n: int, n_columns: int, n_files: int = 20) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(11)
    for i in range(n_files):
        codes = draw(n // n_files, n_columns, rng)
        columns = {f"x{j + 1}": pa.array(codes[:, j]) for j in range(n_columns)}
        pq.write_table(pa.table(columns), folder / f"part-{i:03d}.parquet")


# ---- cases, each in a process of its own ---------------------------------------------------------------------------


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # GB


def pieces(folder: str, counter: str, memory: str) -> dict[str, object]:
    """Count the distinct rows of a folder, then fit."""
    clock, spent = time.perf_counter(), time.process_time()
    table = lt.Table.from_chunks(folder, counter=counter, memory=memory)
    counted = time.perf_counter() - clock, time.process_time() - spent, peak()
    clock = time.perf_counter()
    fit = lt.fit_classes(table, CLASSES, rng=np.random.default_rng(0), n_init=8, n_jobs=2)
    return {
        "rows": table.n,
        "patterns": table.n_patterns,
        "tables": len(getattr(table, "sizes", (0,))),
        "seconds": counted[0],
        "processor": counted[1],
        "peak": counted[2],
        "fit": time.perf_counter() - clock,
        "passes": fit.evaluations,
        "peak_fit": peak(),
        "log_likelihood": fit.log_likelihood,
        "sizes": sorted(fit.model.table("z")[0].round(4).tolist()),
    }


def passes(folder: str, memory: str, compiled: str) -> dict[str, object]:
    """One EM pass over partitions, with the plans kept in memory or compiled for each pass."""
    table = lt.Table.from_chunks(folder, memory=memory)
    parts = len(getattr(table, "sizes", (0,)))
    model = lt.Model.random(lt.Tree.star(CLASSES, table.cardinalities), table.variables, np.random.default_rng(0))
    if parts > 1:
        object.__setattr__(table, "memory", float(compiled))
    clock = time.perf_counter()
    plan = table.compiled(model)
    plan.evaluate(model.parameters)
    first = time.perf_counter() - clock
    times = []
    for _ in range(5):
        spent = time.process_time()
        found = plan.evaluate(model.parameters)
        times.append(time.process_time() - spent)
    return {
        "patterns": table.n_patterns,
        "tables": parts,
        "first": first,
        "pass": min(times),
        "peak": peak(),
        "log_likelihood": found.log_likelihood,
    }


def cluster(folder: str, workers: str, n_sets: str) -> dict[str, object]:
    """EM passes over a cluster of one-thread processes, or here in one thread if there are no workers."""
    n = int(workers)
    if n == 0:
        table: lt.Table = lt.Table.from_chunks(folder)
        return timed_passes(table, int(n_sets))
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    options = {"n_workers": n, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options) as made, Client(made):
        clock = time.perf_counter()
        table = lt.Table.from_chunks(dd.read_parquet(folder), memory="1MB")
        return {"read": time.perf_counter() - clock, **timed_passes(table, int(n_sets))}


def timed_passes(table: lt.Table, n_sets: int) -> dict[str, object]:
    rng = np.random.default_rng(0)
    tree = lt.Tree.star(CLASSES, table.cardinalities)
    points = np.array([lt.Model.random(tree, table.variables, rng).parameters for _ in range(n_sets)])
    plan = table.compiled(lt.Model(tree, table.variables, points[0]))
    plan.evaluate_batch(points)
    times = []
    for _ in range(15):
        clock = time.perf_counter()
        plan.evaluate_batch(points)
        times.append(time.perf_counter() - clock)
    bytes_out = points.nbytes
    return {
        "patterns": table.n_patterns,
        "tables": len(getattr(table, "sizes", (0,))),
        "pass": min(times),
        "out": bytes_out,
        "back": (points.nbytes + 8 * n_sets) * len(getattr(table, "sizes", (0,))),
    }


CASES = {"pieces": pieces, "passes": passes, "cluster": cluster}


def alone(case: str, *arguments: object) -> dict:
    command = [sys.executable, __file__, "--case", case, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


# ---- tables of the page --------------------------------------------------------------------------------------------


def table_of_pieces(rows: int, folder: Path) -> list[str]:
    write_parquet(folder, rows, 20)
    size = sum(f.stat().st_size for f in folder.iterdir()) / 1e9
    lines = [
        f"{rows:,} rows x 20 binary columns, {size:.2f} GB of Parquet, 20 files.",
        "",
        "| counted by | distinct rows | seconds | processor seconds | peak memory | fit of 4 classes, 8 starts | log-likelihood |",
        "|---|---|---|---|---|---|---|",
    ]
    for counter, memory in (("merge", "2GB"), ("duckdb", "2GB"), ("merge", "60MB")):
        r = alone("pieces", folder, counter, memory)
        where = f" in {r['tables']} tables" if r["tables"] > 1 else ""
        lines.append(
            f"| {counter}, memory={memory} | {r['patterns']:,}{where} | {r['seconds']:.0f} | {r['processor']:.0f} | "
            f"{r['peak']:.2f} GB | {r['fit']:.1f} s, {r['passes']} passes | {r['log_likelihood']:,.4f} |"
        )
        print(lines[-1], flush=True)
    return lines


def table_of_passes(rows: int, folder: Path) -> list[str]:
    write_parquet(folder, rows, 40)
    lines = [
        f"{rows:,} rows x 40 binary columns, 4 classes, one thread.",
        "",
        "| distinct rows lie | plans | first pass, s | a pass, processor s | peak memory |",
        "|---|---|---|---|---|",
    ]
    for memory, compiled, where, plans in (
        ("20GB", "0", "in one table", "kept"),
        ("200MB", "1e12", "in {} tables on the disk", "kept"),
        ("200MB", "0", "in {} tables on the disk", "compiled for each pass"),
    ):
        r = alone("passes", folder, memory, compiled)
        lines.append(
            f"| {r['patterns']:,} {where.format(r['tables'])} | {plans} | {r['first']:.1f} | {r['pass']:.3f} | {r['peak']:.2f} GB |"
        )
        print(lines[-1], flush=True)
    return lines


def table_of_cluster(rows: int, folder: Path) -> list[str]:
    write_parquet(folder, rows, 40, n_files=8)
    lines = [
        f"{rows:,} rows x 40 binary columns, 4 classes; workers are processes of one thread.",
        "",
        "| points a pass | workers | a pass, ms | speed-up over one worker | efficiency | bytes out | bytes back |",
        "|---|---|---|---|---|---|---|",
    ]
    for n_sets in (1, 16):
        here = alone("cluster", folder, 0, n_sets)
        lines.append(f"| {n_sets} | none, in this process | {1e3 * here['pass']:.1f} | | | | |")
        one = None
        for workers in (1, 2):
            r = alone("cluster", folder, workers, n_sets)
            one = one or r["pass"]
            gain = one / r["pass"]
            lines.append(
                f"| {n_sets} | {workers} | {1e3 * r['pass']:.1f} | {gain:.2f} | {gain / workers:.0%} | "
                f"{r['out']:,} | {r['back']:,} |"
            )
            print(lines[-1], flush=True)
    return lines


def write(sections: dict[str, list[str]]) -> None:
    """Replace what stands between the page's markers; the words around them are written by hand."""
    page = DOCS / "scaling.md"
    text = page.read_text()
    for name, lines in sections.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        head, rest = text.split(begin, 1)
        text = f"{head}{begin}\n" + "\n".join(lines) + f"\n{end}{rest.split(end, 1)[1]}"
    page.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="pieces,passes,cluster")
    parser.add_argument("--rows", type=int, default=100_000_000, help="rows of 'pieces'; the others have a fiftieth")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/scaling.md")
    parser.add_argument("--case", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.case:
        case, *arguments = chosen.case
        print(json.dumps(CASES[case](*arguments)))
        return
    sections = {}
    makers = {"pieces": table_of_pieces, "passes": table_of_passes, "cluster": table_of_cluster}
    for name in chosen.only.split(","):
        folder = Path(tempfile.mkdtemp(prefix="latentree-bench-"))
        try:
            sections[name] = makers[name](chosen.rows if name == "pieces" else chosen.rows // 50, folder)
        finally:
            shutil.rmtree(folder)
        print("\n".join(sections[name]), flush=True)
    if chosen.write:
        write(sections)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
