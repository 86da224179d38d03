"""One-step estimation with covariates on 100,000 rows, against StepMix in the same run.

python benchmarks/relate.py            # print
python benchmarks/relate.py --write    # docs/benchmarks-relate.md
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import contextlib
from pathlib import Path

import numpy as np
import pandas as pd

import latentree as lt

ROWS, ITEMS, COVARIATES, CLASSES = 100_000, 10, 5, 3
NEAR = 0.1
"""How far below our log-likelihood StepMix may end."""

MOST_SECONDS = 300.0
"""Processor seconds after which StepMix is stopped in any case."""

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks-relate.md"


def world(rows: int, seed: int = 0) -> pd.DataFrame:
    """Binary items of three classes that depend on normal covariates."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, COVARIATES))
    beta = rng.normal(0, 0.6, (CLASSES, COVARIATES))
    p = np.exp(x @ beta.T)
    z = (rng.random(rows)[:, None] > (p / p.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    yes = rng.uniform(0.1, 0.9, (CLASSES, ITEMS))
    frame = pd.DataFrame((rng.random((rows, ITEMS)) < yes[z]).astype(int), columns=[f"i{j}" for j in range(ITEMS)])
    return frame.join(pd.DataFrame(x, columns=[f"x{j}" for j in range(COVARIATES)]))


def seconds(function) -> tuple[float, object]:
    began = time.process_time()
    found = function()
    return time.process_time() - began, found


def measured() -> dict[str, float]:
    frame = world(ROWS)
    items, covariates = [f"i{j}" for j in range(ITEMS)], [f"x{j}" for j in range(COVARIATES)]
    fit, lca = seconds(lambda: lt.LatentClass(CLASSES, random_state=0).fit(frame[items]))
    ours, found = seconds(lambda: lca.relate(frame, covariates, method="one-step"))
    theirs = stepmix(frame[items], frame[covariates].to_numpy(), found.log_likelihood - NEAR)
    return {"fit": fit, "ours": ours, "ours_ll": found.log_likelihood, **theirs}


class _Reached(Exception):
    """StepMix is as good as we are, or out of time."""


def stepmix(items: pd.DataFrame, covariates: np.ndarray, enough: float) -> dict[str, float]:
    """One-step estimation by StepMix from one random start, until its log-likelihood is enough."""
    from stepmix.stepmix import StepMix

    began, path = time.process_time(), []

    class Watched(StepMix):
        def _e_step(self, *args, **more):
            found = super()._e_step(*args, **more)
            path.append((time.process_time() - began, ROWS * float(found[0])))
            if path[-1][1] >= enough or path[-1][0] > MOST_SECONDS:
                raise _Reached
            return found

    peer = Watched(
        CLASSES, n_steps=1, measurement="binary", structural="covariate", random_state=0, progress_bar=0, n_init=1,
        structural_params={"method": "newton-raphson", "max_iter": 1, "intercept": True}, max_iter=100_000,
        abs_tol=1e-10, rel_tol=0.0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(_Reached):
            peer.fit(items, covariates)
    seconds_, value = path[-1]
    return {"theirs": seconds_, "theirs_ll": value, "steps": len(path) - 1}


def page(found: dict[str, float]) -> str:
    short = found["ours_ll"] - found["theirs_ll"]
    ratio = found["theirs"] / found["ours"]
    whole = found["theirs"] / (found["ours"] + found["fit"])
    if short <= NEAR:
        said = f"At equal fit StepMix takes {ratio:.1f} times as long as our one-step estimation, {whole:.1f} times with our classes counted."
    else:
        said = f"StepMix was stopped {short:,.1f} below our log-likelihood, so its time is at least {ratio:.1f} times ours."
    return f"""# Benchmarks: classes and covariates

Made by `python benchmarks/relate.py --write`. {ROWS:,} rows, {ITEMS} binary items, {CLASSES} classes, {COVARIATES} continuous covariates, one thread,
processor seconds, both programs in one run. Ours estimates the classes first, then everything in one step, with exact standard errors;
StepMix has one random start and no standard errors, and is stopped as soon as its log-likelihood is within {NEAR:g} of ours, or after {MOST_SECONDS:.0f} seconds.

| | seconds | log-likelihood |
|---|---|---|
| latentree, classes (64 starts) | {found["fit"]:.1f} | |
| latentree, one-step | {found["ours"]:.1f} | {found["ours_ll"]:,.1f} |
| StepMix, one-step, {found["steps"]:,} steps of EM | {found["theirs"]:.1f} | {found["theirs_ll"]:,.1f} |

{said}
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    text = page(measured())
    if parser.parse_args().write:
        PAGE.write_text(text)
    print(text)
