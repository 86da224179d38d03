"""The study of learning numbers of states: its parts on the smallest data, results kept, pictures drawn."""

from __future__ import annotations

import numpy as np
import pytest
from studies import cardinality
from studies.cardinality_published import REAL, SYNTHETIC
from studies.cardinality_runs import Bench, Run, mean


def test_real_data_with_results_kept_and_pictures(tmp_path, monkeypatch):
    arguments = ["--parts", "real", "--sets", "heart,voting", "--limit", "0.2", "--out", str(tmp_path / "page.md")]
    arguments += ["--results", str(tmp_path / "kept")]
    cardinality.main(arguments)
    page = (tmp_path / "page.md").read_text()
    assert "| Heart | -2388.1 |" in page
    assert "(within 0.1) on 2, worse on 0" in page.replace("\n", " ")
    assert "](page-real.svg)" in page
    picture = (tmp_path / "page-real.svg").read_bytes()
    assert picture.startswith(b"<?xml")
    monkeypatch.setattr("studies.cardinality_runs.learn", None)  # nothing is run again
    cardinality.main(arguments)
    assert (tmp_path / "page.md").read_text() == page
    assert (tmp_path / "page-real.svg").read_bytes() == picture


def test_synthetic_data_of_any_size_cost_no_more_than_their_patterns():
    for n in (10**3, 10**9):
        table = cardinality._drawn("3:3x3", n, 0, 0)
        assert table.n == n
        assert table.n_patterns <= 27
    again = cardinality._drawn("3:3x3", 10**3, 0, 0)
    np.testing.assert_array_equal(again.weights, cardinality._drawn("3:3x3", 10**3, 0, 0).weights)
    assert cardinality._drawn("10:2,2,2,5,5,5", 100, 0, 0).cardinalities.tolist() == [2, 2, 2, 5, 5, 5]


def test_a_limit_is_of_work_and_parts_are_named(tmp_path, capsys):
    table = cardinality._drawn("10:7x2", 10**4, 0, 0)
    run = Bench(None, 0, 0.05).run(table, ["x", 0], method="Splitting")
    assert not run.ended
    assert run.scores == sorted(run.scores)
    with pytest.raises(SystemExit):
        cardinality.main(["--parts", "nothing"])
    assert "there is no part 'nothing'" in capsys.readouterr().err


def test_means_and_what_was_published():
    runs = [Run(score, 0.0, {"z": 2}, 1.0, True, [], []) for score in (-10.0, -12.0)]
    assert mean(runs) == "-11.0 ± 12.7"  # t(0.975, 1) = 12.706
    assert len(REAL) == 20
    assert REAL["spambase"].best == -83090.0
    assert sum(told.stopped for told in REAL.values()) == 6
    assert {structure for structure, sizes in SYNTHETIC.items() if 10**6 in sizes} == set(SYNTHETIC)
