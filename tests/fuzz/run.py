"""Damage very many files and read them: ``python tests/fuzz/run.py 1000000``, or ``make fuzz``.

Cases are shared out evenly over the readers and over two processes. A case that takes longer than the limit, needs more
memory than the limit, or ends in anything but a result or an error of latentree is a fault: its file is kept in
``out/fuzz`` and the run fails. The same seed gives the same cases.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from damage import READERS, SEEDS, check, damaged

MEMORY = 4 << 30
"""Bytes of address space that a process may use."""

STEP = 5_000
"""After how many cases to say how far it is."""

MOST_FAULTS = 20
"""A process that finds more stops: they are likely one."""


class TooSlowError(Exception):
    """A case took longer than the limit."""


def _too_slow(number: int, frame: object) -> None:
    raise TooSlowError


def run(worker: int, n_cases: int, kinds: list[str], seed: int, seconds: int, out: Path) -> tuple[dict[str, int], int]:
    """Read some damaged files; count what could be read, and faults."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _too_slow)
    rng = random.Random(f"{seed} {worker}")
    readable: collections.Counter[str] = collections.Counter()
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "case")
        for i in range(n_cases):
            if worker == 0 and i and i % STEP == 0:
                print(f"\r{i / n_cases:.0%}", end="", file=sys.stderr, flush=True)
            kind = kinds[i % len(kinds)]
            content = damaged(rng.choice(SEEDS[kind]), rng)
            signal.alarm(seconds)
            try:
                readable[kind] += check(kind, content, path)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                faults += 1
                kept = out / f"{kind}-{hashlib.sha256(content).hexdigest()[:12]}"
                kept.write_bytes(content)
                told = "".join(traceback.format_exception(error)[-4:]).encode("ascii", "backslashreplace").decode()
                print(f"\n{kept}: {type(error).__name__}\n{told}", flush=True)
                if faults > MOST_FAULTS:
                    break
            finally:
                signal.alarm(0)
    return dict(readable), faults


def main() -> None:
    """Share the cases out and add up what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n", type=int, nargs="?", default=1_000_000, help="how many cases in all (1000000)")
    parser.add_argument("--only", help="readers, with commas between (all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=10, help="how long one case may take (10)")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    kinds = given.only.split(",") if given.only else list(READERS)
    out = Path("out/fuzz")
    out.mkdir(parents=True, exist_ok=True)
    share = -(-given.n // given.processes)
    started = time.perf_counter()
    tasks = [(w, share, kinds, given.seed, given.seconds, out) for w in range(given.processes)]
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        done = pool.starmap(run, tasks)
    seconds = time.perf_counter() - started
    total, faults = share * given.processes, sum(f for _, f in done)
    print(f"{total:,} cases in {seconds:,.0f} s ({total / seconds:,.0f} a second), {faults} faults. Could be read:")
    for kind in kinds:
        print(f"  {kind:7}{sum(r.get(kind, 0) for r, _ in done) * len(kinds) / total:7.1%}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
