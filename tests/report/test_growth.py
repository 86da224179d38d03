"""How the tree grew is the path that led to it, under the names of the final tree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from latentree import datasets, learn, report
from latentree._tree import Tree
from latentree.report._growth import growth
from latentree.search_result import search_result


@pytest.fixture(scope="module")
def grown():
    table = datasets.sample_from("d7", 600, 1)
    run = search_result(learn(table, rng=np.random.default_rng(0)), seed=0)
    contents = report.describe_run(run)
    return run, contents, growth(contents["trace"], contents["nodes"])


def test_the_last_step_is_the_final_tree(grown):
    run, _contents, found = grown
    last = found["steps"][-1]
    manifest = [v.name for v in run.model.variables]
    assert Tree.from_edges(map(tuple, last["edges"]), last["states"], manifest) == run.tree
    assert set(last["states"]) == set(run.tree.names)  # and its names are those that people see


def test_the_path_is_one_start_and_only_gains(grown):
    _, contents, found = grown
    scores = [step["score"] for step in found["steps"]]
    assert all(b > a - 0.05 for a, b in itertools.pairwise(scores))
    assert len(found["starts"]) > 1 and sum(start["steps"] for start in found["starts"]) == len(contents["trace"]) - 1
    assert found["starts"][found["start"] - 1]["same"]
    best = max(start["score"] for start in found["starts"])
    assert [start["same"] for start in found["starts"]] == [start["score"] > best - 0.05 for start in found["starts"]]


def test_operations_speak_of_nodes_that_are_there(grown):
    _, _, found = grown
    for before, step in zip(found["steps"], found["steps"][1:], strict=False):
        words = step["operation"].replace(";", " ").replace(",", " ").split()
        assert not [word for word in words if word[:1] == "z" and word[1:].isdigit()]
        assert len(before["states"]) == len(set(before["states"]))


def test_no_steps_no_growth():
    assert growth([], []) == {"steps": [], "start": 1, "starts": []}
