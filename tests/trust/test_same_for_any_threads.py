"""One, two and eight threads: the same bits from all that takes threads. Each instruction set: the same to 1e-10."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import latentree as lt
from latentree import bayes, cardinality, datasets, score, search
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree.engine import _core
from latentree.engine._plan import Plan
from latentree.estimation import em, fit_classes
from latentree.report import compare_classes
from latentree.runner import Budget

KERNELS = _core.available_kernels()


@pytest.fixture(scope="module")
def long_table():
    """Rows enough that one fit is cut into pieces, of which each thread takes some."""
    codes = np.random.default_rng(0).integers(-1, 3, (20_000, 11))
    return Table.from_codes(codes, np.full(11, 3))


def seeded() -> np.random.Generator:
    return np.random.default_rng(3)


def fit_parts(fit: Any) -> list[Any]:
    return [fit.model.parameters, fit.trace, fit.starts, fit.counts.vector, fit.log_likelihood, fit.evaluations]


def one_long_fit(table: Table, n_jobs: int) -> list[Any]:
    start = Model.random(Tree.star(4, table.cardinalities), table.variables, seeded())
    fit = em(start, table, max_iterations=25, n_jobs=n_jobs)
    plan = Plan.of(fit.model, table)
    return [*fit_parts(fit), plan.row_log_likelihood(fit.model.parameters, n_jobs=n_jobs)]


def many_starts(table: Table, n_jobs: int) -> list[Any]:
    return fit_parts(fit_classes(datasets.load("credit"), 4, rng=seeded(), n_init=24, n_jobs=n_jobs))


def comparison(table: Table, n_jobs: int) -> list[Any]:
    found = compare_classes(datasets.load("carcinoma"), range(1, 4), rng=0, n_init=16, n_jobs=n_jobs)
    return [part for fit in found.fits for part in fit_parts(fit)]


def learned_classes(table: Table, n_jobs: int) -> list[Any]:
    found = cardinality.learn(datasets.load("carcinoma"), rng=seeded(), n_jobs=n_jobs, budget=Budget(iterations=5))
    return [*fit_parts(found.fit), found.score, [line.operation for line in found.trace]]


def split_merge(table: Table, n_jobs: int) -> list[Any]:
    options: dict[str, Any] = {"budget": Budget(iterations=4), "n_jobs": n_jobs}
    found = cardinality.learn(datasets.load("carcinoma"), method="SplitMerge", rng=seeded(), **options)
    return [*fit_parts(found.fit), found.score]


def tree(method: str) -> Callable[[Table, int], list[Any]]:
    def learned(table: Table, n_jobs: int) -> list[Any]:
        budget = Budget(iterations=4)
        run = search.learn(datasets.load("hiv_test"), method=method, rng=seeded(), n_jobs=n_jobs, budget=budget)
        return [str(run.tree.canonical), run.model.parameters, run.score, [step.operation for step in run.trace]]

    return learned


def draws(method: str, scale: float = 1.0) -> Callable[[Table, int], list[Any]]:
    def drawn(table: Table, n_jobs: int) -> list[Any]:
        prior = bayes.ClassPrior(bayes.prior_on_classes(4))
        carcinoma = datasets.load("carcinoma")
        carcinoma = carcinoma.reweighted(scale * carcinoma.weights)
        few: dict[str, Any] = {"n_draws": 30, "n_burn": 20, "n_chains": 8}
        found = bayes.sample(carcinoma, prior, rng=seeded(), method=method, n_jobs=n_jobs, **few)
        return [found.k, found.weights, found.theta, found.log_likelihood]

    return drawn


def bootstrap(table: Table, n_jobs: int) -> list[Any]:
    fit = fit_classes(datasets.load("carcinoma"), 2, rng=seeded())
    errors = score.standard_errors(fit, method="bootstrap", rng=seeded(), n_replicates=12, n_jobs=n_jobs)
    tested = score.bootstrap_lrt(fit.table, 2, rng=seeded(), n_replicates=8, n_init=4, n_jobs=n_jobs)
    return [errors.errors, errors.covariance, tested.replicates, tested.p_value]


def predictions(table: Table, n_jobs: int) -> list[Any]:
    rows = datasets.load_frame("carcinoma")
    found = lt.LatentClass(3, n_init=16, random_state=0, n_jobs=n_jobs).fit(rows)
    return [found.predict_proba(rows), found.score_samples(rows), found.predict(rows)]


WORK: dict[str, Callable[[Table, int], list[Any]]] = {
    "one long fit": one_long_fit,
    "many starts": many_starts,
    "comparison": comparison,
    "screened": learned_classes,
    "SplitMerge": split_merge,
    "swift": tree("swift"),
    "east": tree("east"),
    "hshc": tree("hshc"),
    "marginal": draws("marginal"),
    "reversible_jump": draws("reversible_jump"),
    "gibbs": draws("gibbs"),
    "survey weights": draws("marginal", scale=0.77),
    "bootstrap": bootstrap,
    "predictions": predictions,
}


@pytest.mark.parametrize("name", WORK)
def test_threads_change_not_a_bit(name, long_table):
    one, two, eight = (WORK[name](long_table, n_jobs) for n_jobs in (1, 2, 8))
    for a, b, c in zip(one, two, eight, strict=True):
        np.testing.assert_array_equal(b, a, strict=True)
        np.testing.assert_array_equal(c, a, strict=True)


@pytest.mark.parametrize("name", ["one long fit", "marginal", "predictions"])
def test_instruction_sets_agree(name, long_table):
    before, found = _core.kernels(), {}
    try:
        for kernels in KERNELS:
            _core.use_kernels(kernels)
            found[kernels] = WORK[name](long_table, 2)
    finally:
        _core.use_kernels(before)
    for kernels in KERNELS[1:]:
        for a, b in zip(found[KERNELS[0]], found[kernels], strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernels", KERNELS)
def test_each_instruction_set_forced_in_a_process(kernels):
    own = fit_classes(datasets.load("carcinoma"), 3, rng=np.random.default_rng(0)).log_likelihood
    line = [sys.executable, "-c", "from latentree.cli import main; from latentree.engine import _core; "
            "import sys; sys.stderr.write(_core.kernels()); main()"]  # fmt: skip
    more = ["fit", "carcinoma", "--classes", "3", "--json"]
    env = {**os.environ, "LATENTREE_ISA": kernels}
    done = subprocess.run([*line, *more], env=env, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.startswith(kernels)
    assert json.loads(done.stdout)["log_likelihood"] == pytest.approx(own, rel=1e-10)
