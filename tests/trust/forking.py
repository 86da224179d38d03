"""Use the engine with threads, fork in every way people fork, and do the same work in the children.

Run as a process of its own by ``test_fork.py``: that of the tests has threads already.
"""

from __future__ import annotations

import concurrent.futures
import faulthandler
import multiprocessing
import os
import sys
import threading
from typing import Any

import joblib
import numpy as np

from latentree import bayes, cardinality, datasets, search
from latentree.engine._plan import Plan
from latentree.estimation import fit_classes
from latentree.runner import Budget

N = 2


def work(seed: int) -> list[Any]:
    """A fit, a search, a learner of cardinalities and a sampler, all with two threads, as plain values."""
    table = datasets.load("carcinoma")
    rng = np.random.default_rng(seed)
    fit = fit_classes(table, 3, rng=rng, n_init=16, n_jobs=2)
    tree = search.learn(datasets.load("hiv_test"), method="east", rng=rng, n_jobs=2, budget=Budget(iterations=2))
    learned = cardinality.learn(table, rng=rng, n_jobs=2, budget=Budget(iterations=2))
    prior = bayes.ClassPrior(bayes.prior_on_classes(3))
    draws = bayes.sample(table, prior, rng=rng, n_draws=20, n_burn=10, n_chains=2, n_jobs=2)
    return [
        fit.model.parameters.tolist(),
        tree.model.parameters.tolist(),
        learned.fit.model.parameters.tolist(),
        draws.log_likelihood.tolist(),
    ]


def plain_fork(truth: list[Any]) -> None:
    """The oldest way: fork, and look at the exit status."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if work(0) == truth[0] else 3)
    assert os.waitpid(pid, 0)[1] == 0


def fork_of_fork(truth: list[Any]) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            plain_fork(truth)
        except BaseException:
            os._exit(4)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def fork_while_threads_work(truth: list[Any]) -> None:
    """Other threads are inside the engine, with plans of their own, when the process forks."""
    going = threading.Event()
    table = datasets.load("credit")

    def busy() -> None:
        while not going.is_set():
            fit = fit_classes(table, 3, rng=np.random.default_rng(1), n_init=8, n_jobs=2)
            Plan.of(fit.model, table).evaluate(fit.model.parameters, n_jobs=2)

    n_jobs = [threading.Thread(target=busy) for _ in range(2)]
    for thread in n_jobs:
        thread.start()
    try:
        for _ in range(3):
            plain_fork(truth)
    finally:
        going.set()
        for thread in n_jobs:
            thread.join()


def pool_of_processes(truth: list[Any]) -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, range(N)) == truth


def executor(truth: list[Any]) -> None:
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(work, range(N))) == truth


def loky(truth: list[Any]) -> None:
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(work)(i) for i in range(N)) == truth


def threads_of_joblib(truth: list[Any]) -> None:
    assert joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(work)(i) for i in range(N)) == truth


WAYS = (plain_fork, fork_of_fork, fork_while_threads_work, pool_of_processes, executor, loky, threads_of_joblib)

if __name__ == "__main__":
    faulthandler.dump_traceback_later(300, exit=True)  # a deadlock is told, not waited for
    truth = [work(i) for i in range(N)]
    for way in WAYS:
        if way.__name__ in sys.argv[1:]:
            way(truth)
