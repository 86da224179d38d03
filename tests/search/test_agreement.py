"""How many starts found the best: only those that ended with the same score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from latentree import datasets
from latentree.search import learn


def test_starts_that_end_a_little_lower_have_not_found_the_best():
    run = learn(datasets.load("hiv_test"), rng=np.random.default_rng(0))
    assert run.found == len(run.ends) == 3
    best = max(run.ends)
    assert replace(run, ends=(best, best - 0.01, best - 0.4)).found == 2
