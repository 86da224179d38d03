"""How well commands keep to ``--time-limit`` on a wide table: ``python -m benchmarks.limits``.

Prints wall and processor seconds of each command on 1,000 rows of 5,000 variables drawn from 50 latents. One second more
than the limit is allowed for. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COMMANDS = (["learn", "--report", "r.html"], ["learn", "--json"], ["fit", "--classes", "1-4"], ["fit"])
LIMITS = (3, 5, 10, 20)


def table(path: Path, rows: int = 1000, latents: int = 50, each: int = 100) -> None:
    """Write the table."""
    rng = np.random.default_rng(0)
    hidden = np.repeat(rng.integers(0, 3, (rows, latents)), each, axis=1)
    codes = (hidden + (rng.random(hidden.shape) < 0.3)) % 3
    header = ",".join(f"v{i}" for i in range(codes.shape[1]))
    np.savetxt(path, codes, fmt="%d", delimiter=",", comments="", header=header)


def main() -> None:
    """Time every command with every limit."""
    print("| command | limit s | wall s | processor s |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        table(Path(folder, "wide.csv"))
        for name, *more in COMMANDS:
            for limit in LIMITS:
                args = [name, "wide.csv", *more, "--out", f"{limit}-{name}.json", "--force", "--time-limit", str(limit)]
                began = time.perf_counter()
                program = [sys.executable, "-m", "latentree.cli", *args]
                process = subprocess.Popen(program, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                _, _, used = os.wait4(process.pid, 0)
                wall, cpu = time.perf_counter() - began, used.ru_utime + used.ru_stime
                print(f"| {' '.join([name, *more])} | {limit} | {wall:.1f} | {cpu:.1f} |", flush=True)


if __name__ == "__main__":
    main()
