"""How well commands keep to ``--time-limit`` and Ctrl-C: ``python -m benchmarks.limits``.

Each command runs in a process of its own whose clock counts its processor seconds (one thread), so that other work on the
machine does not matter: what is printed is what an idle machine would show. One second after the limit, or after Ctrl-C,
is allowed for. A negative number says that a command ended before its limit.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TABLES = {"1,000 x 5,000": (1000, 50, 100), "200,000 x 20": (200_000, 4, 5), "2,000 x 150": (2000, 10, 15)}
COMMANDS = (
    ["learn", "--report", "r.html", "--out", "m.json"],
    ["learn", "--json"],
    ["learn", "--assign", "rows.csv"],
    ["fit", "--classes", "1-6"],
    ["fit", "--assign", "rows.csv"],
    ["compare", "--classes", "1-6"],
    ["sample", "--classes", "3"],
)
LIMITS, INTERRUPTS = (4, 8), (2, 5)


def table(path: Path, rows: int, latents: int, each: int) -> None:
    """Write a table whose columns follow latent variables in groups."""
    rng = np.random.default_rng(0)
    hidden = np.repeat(rng.integers(0, 3, (rows, latents)), each, axis=1)
    codes = (hidden + (rng.random(hidden.shape) < 0.3)) % 3
    header = ",".join(f"v{i}" for i in range(codes.shape[1]))
    np.savetxt(path, codes, fmt="%d", delimiter=",", comments="", header=header)


def run(interrupt: bool, seconds: float, args: list[str]) -> None:
    """Run a command here, and print the processor seconds that it used after its limit, or after Ctrl-C."""
    if not interrupt:  # a clock that takes longer to read than ours, which a limit needs
        time.monotonic = time.perf_counter = time.process_time
    from latentree.cli import main as command

    since = [seconds]

    def stop(number: int, frame: object) -> None:
        since[:] = [time.process_time()]
        signal.raise_signal(signal.SIGINT)

    if interrupt:
        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, max(seconds - time.process_time(), 1e-3))
    sys.argv = ["latentree", *args, *([] if interrupt else ["--time-limit", f"{seconds:g}"])]
    try:
        command()
    except SystemExit:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(f"after {time.process_time() - since[0]:.2f}", file=sys.stderr)


def measured(folder: Path, interrupt: bool, seconds: float, args: list[str]) -> str:
    """Processor seconds after the limit, or after Ctrl-C."""
    program = [sys.executable, __file__, "int" if interrupt else "limit", str(seconds), *args]
    told = subprocess.run(program, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
    return told.rsplit("after ", 1)[-1].strip()


def main() -> None:
    """Measure every command on every table."""
    heads = [*(f"limit {s} s" for s in LIMITS), *(f"Ctrl-C after {s} s" for s in INTERRUPTS)]
    print(f"| table | command | {' | '.join(heads)} |\n|---|---|{'---|' * len(heads)}")
    with tempfile.TemporaryDirectory() as folder:
        for name, shape in TABLES.items():
            table(Path(folder, "data.csv"), *shape)
            for command, *more in COMMANDS:
                args = [
                    command,
                    "data.csv",
                    *more,
                    "--n-jobs",
                    "1",
                    *(["--force"] if {"--out", "--assign"} & {*more} else []),
                ]
                cells = [measured(Path(folder), False, s, args) for s in LIMITS]
                cells += [measured(Path(folder), True, s, args) for s in INTERRUPTS]
                print(f"| {name} | {' '.join([command, *more])} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 3:
        run(sys.argv[1] == "int", float(sys.argv[2]), sys.argv[3:])
    else:
        argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__).parse_args()
        main()
