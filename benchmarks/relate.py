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

from pathlib import Path

import numpy as np
import pandas as pd

import latentree as lt

ROWS, ITEMS, COVARIATES, CLASSES = 100_000, 10, 5, 3
STEPS = 30
"""Most steps of EM that StepMix gets; it needs several times as many."""

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
    from stepmix.stepmix import StepMix

    peer = StepMix(
        CLASSES, n_steps=1, measurement="binary", structural="covariate", random_state=0, progress_bar=0, n_init=1,
        structural_params={"method": "newton-raphson", "max_iter": 1, "intercept": True}, max_iter=STEPS, abs_tol=1e-7, rel_tol=0.0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, _ = seconds(lambda: peer.fit(frame[items], frame[covariates].to_numpy()))
        reached = ROWS * peer.score(frame[items], frame[covariates].to_numpy())
    return {"fit": fit, "ours": ours, "theirs": theirs, "ours_ll": found.log_likelihood, "theirs_ll": reached}


def page(found: dict[str, float]) -> str:
    return f"""# Benchmarks: classes and covariates

Made by `python benchmarks/relate.py --write`. {ROWS:,} rows, {ITEMS} binary items, {CLASSES} classes, {COVARIATES} continuous covariates, one thread,
processor seconds, both programs in one run. Ours estimates the classes first, then everything in one step, with exact standard errors;
StepMix has one random start, at most {STEPS} steps of EM, and no standard errors.

| | seconds | log-likelihood |
|---|---|---|
| latentree, classes (64 starts) | {found["fit"]:.1f} | |
| latentree, one-step | {found["ours"]:.1f} | {found["ours_ll"]:,.1f} |
| StepMix, one-step | {found["theirs"]:.1f} | {found["theirs_ll"]:,.1f} |

StepMix's time over ours is {found["theirs"] / found["ours"]:.1f}, for {STEPS} steps that end
{found["ours_ll"] - found["theirs_ll"]:,.0f} below our log-likelihood: it would need many more to reach it.
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    text = page(measured())
    if parser.parse_args().write:
        PAGE.write_text(text)
    print(text)
