"""How well the samplers of latent class models mix: effective draws of the number of classes a second, in one run.

    python benchmarks/sampler.py --write          # writes docs/benchmarks-sampler.md
    python benchmarks/sampler.py --seconds 2      # a quick look, printed

The plain sampler is the source's: reversible jump with the allocation and its own split ([Whiley1999] 5.2.1, corrected). Samplers
take turns on the same data, one thread, equal time; ratios are what counts.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np

from latentree import datasets
from latentree._table import Table
from latentree.bayes import SWEEPS, ClassPrior, Target, effective_samples, init, prior_on_classes, r_hat, step

DOCS = Path(__file__).parents[1] / "docs"
K_MAX = 10
SAMPLERS = {
    "plain, source's split": ("reversible_jump", {"split": "source"}),
    "plain, simplex split": ("reversible_jump", {}),
    "marginal": ("marginal", {}),
}


def generated(n: int, n_leaves: int, n_classes: int, states: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    z = rng.choice(n_classes, size=n, p=rng.dirichlet(np.ones(n_classes)))
    theta = rng.dirichlet(np.ones(states), size=(n_leaves, n_classes))
    rows = np.stack([(rng.random((n, 1)) > t[z].cumsum(axis=1)[:, :-1]).sum(axis=1) for t in theta], axis=1)
    return Table.from_codes(rows, [states] * n_leaves)


def cases() -> dict[str, Table]:
    return {
        "200 x 4 binary, 3 classes": generated(200, 4, 3, 2, 0),
        "100 x 8 binary, 4 classes": generated(100, 8, 4, 2, 1),
        "500 x 8 binary, 4 classes": generated(500, 8, 4, 2, 3),
        "1000 x 8 binary, 4 classes": generated(1000, 8, 4, 2, 3),
        "1000 x 6 ternary, 4 classes": generated(1000, 6, 4, 3, 4),
        "carcinoma, 118 x 7": datasets.load("carcinoma"),
        "values, 216 x 4": datasets.load("values"),
        "lsat, 1000 x 5": datasets.load("lsat"),
    }


class Run:
    """Four chains of one sampler on one table, advanced in turns."""

    def __init__(self, table: Table, name: str) -> None:
        method, options = SAMPLERS[name]
        self.sweep = SWEEPS[method]
        self.target = Target.of(table, ClassPrior(prior_on_classes(K_MAX)), **options)
        self.chains = [init(self.target, np.random.default_rng([7, c])) for c in range(4)]
        self.k: list[list[np.ndarray]] = [[] for _ in self.chains]
        self.tried = np.zeros(4)
        self.accepted = np.zeros(4)
        self.seconds = 0.0
        self.sweeps = 200

    def burn_in(self, seconds: float) -> None:
        began = time.process_time()
        while time.process_time() - began < seconds:
            self.turn(0.2)
        self.k = [[] for _ in self.chains]
        self.tried[:], self.accepted[:], self.seconds = 0, 0, 0.0

    def turn(self, seconds: float) -> None:
        began = time.process_time()
        for c, state in enumerate(self.chains):
            self.chains[c], info = step(self.target, state, sweep=self.sweep, n_sweeps=self.sweeps)
            self.k[c].append(info.k)
            self.tried += list(info.tried.values())
            self.accepted += list(info.accepted.values())
        took = time.process_time() - began
        self.seconds += took
        self.sweeps = int(np.clip(self.sweeps * seconds / took, 20, 20_000))

    def drawn(self) -> np.ndarray:
        return np.stack([np.concatenate(k) for k in self.k])


def measured(table: Table, seconds: float) -> dict[str, tuple[float, float, np.ndarray, np.ndarray]]:
    runs = {name: Run(table, name) for name in SAMPLERS}
    for run in runs.values():
        run.burn_in(seconds / 4)
    while min(run.seconds for run in runs.values()) < seconds:
        for run in runs.values():
            run.turn(0.25)
    out = {}
    for name, run in runs.items():
        k = run.drawn()
        rates = run.accepted / np.maximum(run.tried, 1)
        shares = np.bincount(k.ravel(), minlength=K_MAX + 1)[1:] / k.size
        out[name] = (effective_samples(k) / run.seconds, r_hat(k), rates, shares)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=6.0, help="of each sampler on each data set")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks-sampler.md")
    chosen = parser.parse_args()
    lines, ratios = [], []
    for case, table in cases().items():
        found = measured(table, chosen.seconds)
        plain = found["plain, source's split"][0]
        for name, (speed, spread, rates, shares) in found.items():
            told = " / ".join(f"{100 * r:.1f}" for r in rates)
            mode = f"{shares.argmax() + 1} ({shares.max():.2f})"
            lines.append(f"| {case} | {name} | {told} | {speed:,.0f} | {spread:.3f} | {speed / plain:.1f} | {mode} |")
            print(lines[-1], flush=True)
        ratios.append(found["marginal"][0] / plain)
    headline = f"median {np.median(ratios):.0f}, from {min(ratios):.0f} to {max(ratios):.0f}"
    print(f"marginal over plain: {headline}")
    if chosen.write:
        page = PAGE.format(
            headline=headline,
            seconds=chosen.seconds,
            machine=f"{platform.machine()}, {os.cpu_count()} cores",
            lines="\n".join(lines),
        )
        (DOCS / "benchmarks-sampler.md").write_text(page)


PAGE = """# How well the samplers mix

Made by `python benchmarks/sampler.py --seconds {seconds:g} --write` ({machine}; other work may have shared it, so only ratios within a data set
count).

**Effective draws of the number of classes a CPU second, marginal over plain sampler: {headline}.**

The plain sampler is reversible jump as in [Whiley1999] 5.2.1 with the ratios corrected: five moves, the source's split. "Simplex" is
the same with the split that never leaves the simplex. "Marginal" jumps with the allocation integrated out: splits judged
by the mixture's likelihood, births and deaths of any class from informed proposals, the number of empty classes drawn
exactly ([the mathematics](mathematics/reversible-jump.md)). Four chains from starts far apart, {seconds:g} s of each
sampler, turn by turn, kmax 10, flat priors. Accepted: percentages of split / combine / birth / death; in the plain sampler
births and deaths are of empty classes. R-hat is that of the number of classes over the four chains. An R-hat well above
1.01 says that the effective draws beside it are overstated: that sampler has not been everywhere.

| data | sampler | accepted, % | effective draws a CPU second | R-hat | ratio to plain | most probable k |
|---|---|---|---|---|---|---|
{lines}
"""


if __name__ == "__main__":
    main()
