"""Studies of rows not seen: their pages say what was kept, and nothing else; their parts on small data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from studies import blocks, calibration, density, new_rows
from studies.page import linked
from studies.results import Results

from latentree import Table

PAGES = Path(__file__).parents[2] / "docs" / "reproduction"


STUDIES = {"calibration": calibration, "density": density, "new-rows": new_rows}


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_says_what_was_kept(name):
    study = STUDIES[name]
    records = Results(study.RESULTS).read()
    assert records
    assert (PAGES / f"{name}.md").read_text("utf-8") == linked(study.page(records))


def test_shuffling_keeps_the_rows():
    codes = np.arange(60)[:, None] // 7
    table = Table.from_codes(codes)
    again = new_rows.shuffled(table)
    assert again.weights.sum() == 60 and not np.array_equal(again.codes[again.inverse], codes)
    assert np.array_equal(np.sort(again.codes[again.inverse], axis=0), codes)
    assert np.array_equal(new_rows.shuffled(table).codes[again.inverse], again.codes[again.inverse])


def test_rows_that_are_impossible_are_counted_not_added():
    told = new_rows._told(np.array([-1.0, -np.inf, -3.0]))
    assert told == {"sum": -4.0, "squares": 10.0, "impossible": 1}
    own = [{"test": {"a": told}, "test_rows": 3}]
    assert new_rows._mean(own, "a") == -np.inf and new_rows._shown(own, "a") == "1 impossible"


def test_estimates_that_were_not_tried_have_empty_cells():
    told = {"sum": -4.0, "squares": 10.0, "impossible": 0}
    own = [{"test": {"defaults": told, "prior 2": told}, "test_rows": 3, "best": -4.0, "strength": 10.0}]
    assert new_rows._shown(own, "at random") == new_rows._drift(own) == ""
    assert new_rows._judged(own, "defaults") == ["-0.00", "yes"] and new_rows._pulls(own) == "10"
    own.append({**own[0], "strengths": [0.1, 316.0], "drift": 0.171})
    assert new_rows._drift(own) == "17 (1 folds)" and new_rows._pulls(own) == "0.1 to 316"


def test_generated_rows_follow_from_their_seed_and_every_rule_is_kept():
    for seed in range(3):
        model, rows, columns = blocks.generated(seed, 40)
        assert np.array_equal(rows, blocks.generated(seed, 40)[1]) and len(model.tree.latent) == 1 + seed
        assert sorted(columns) == list(range(rows.shape[1]))
    records = Results(blocks.RESULTS).read()
    assert len({(r["seed"], r["n"], r["order"]) for r in records}) == 30 * 3 * 4
    assert set(records[-1]["rules"]) == set(blocks.RULES)


def test_simulated_tables_follow_from_their_numbers():
    for number in range(3):
        classes, table, fresh = calibration.simulated(0.85, number)
        again = calibration.simulated(0.85, number)[1]
        assert classes == 2 + number and fresh.n == 5000
        assert np.array_equal(table.codes, again.codes) and np.array_equal(table.weights, again.weights)


def test_the_sign_test_looks_at_tables_that_differ():
    right = [{"classes": 2, "cv": 2, "bic": 2}] * 90
    assert calibration._sign_test(right) == 1.0
    missed = [{"classes": 2, "cv": 3, "bic": 2}] * 6
    assert calibration._sign_test([*right, *missed]) == pytest.approx(2 * 0.5**6)
