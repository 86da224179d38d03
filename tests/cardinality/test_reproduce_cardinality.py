"""The study of learning numbers of states: its parts on the smallest data, results kept, what the page says of them."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from studies import (
    cardinality,
    cardinality_real as real,
    cardinality_runs,
    cardinality_shown as shown,
    cardinality_simulated as simulated,
    reuters,
)
from studies.cardinality_published import LARGE, REAL, SYNTHETIC
from studies.parts import Answers

from latentree import datasets


def test_a_few_runs_make_a_page_that_says_which_are_missing(tmp_path):
    file, out = tmp_path / "kept.jsonl", tmp_path / "cardinality.md"
    asked = ["--results", str(file), "--out", str(out), "--data", str(tmp_path), "--parts", "real", "--sets", "heart"]
    cardinality.main([*asked, "--runs", "2"])
    kept = file.read_text("utf-8")
    text = out.read_text("utf-8")
    assert "Heart 8/8/8" in text and "Voting 10/10/10" in text and "Adult 3/3/3" in text  # of ten runs, of three
    assert "Of 4 runs of Standard3 and SplitMerge, 4 ended by themselves" in text
    assert (
        "| Heart | -2388.1 | -2388.1 | -2388.1 | -2388" in text
        and "| Voting | -3085.6 | -3085.6 | -3085.6 | not run |" in text
    )
    assert (tmp_path / "cardinality-real.svg").exists() == ("cardinality-real.svg" in text)
    cardinality.main([*asked, "--runs", "2"])
    assert file.read_text("utf-8") == kept and out.read_text("utf-8") == text  # nothing is made twice
    cardinality.main([*asked, "--runs", "3"])
    assert file.read_text("utf-8").startswith(kept) and "Heart 7/7/7" in out.read_text("utf-8")


def test_tables_of_generated_trees_meet_both_conditions():
    assert not cardinality_runs.second_condition(np.array([[0.7, 0.3], [0.6, 0.4]]))
    assert cardinality_runs.second_condition(np.array([[0.7, 0.3], [0.4, 0.6]]))
    for which in ("7, second", "12", "18"):
        for seed in range(5):
            model = cardinality_runs.tree_truth(which, seed)
            tables = [model.table(name) for name in model.tree.names]
            assert all(t.max(axis=1).min() >= 0.6 for t in tables)
            assert all(len(t) == 1 or len(set(t.argmax(axis=1))) > 1 for t in tables)
    first = cardinality_runs.tree_truth("7, first", 0)
    assert min(first.table(name).max(axis=1).min() for name in first.tree.names) < 0.6


def test_simulated_tables_cost_no_more_than_their_patterns():
    for structure, n in (("3:3x3", 10**9), ("2:4x2", 100), ("10:2,2,2,5,5,5", 100)):
        model, table = cardinality_runs.drawn(structure, n, 0, 0)
        assert table().n == n and table().n_patterns <= np.prod(cardinality_runs.widths_of(structure))
        again = cardinality_runs.drawn(structure, n, 0, 0)[1]()
        np.testing.assert_array_equal(again.weights, table().weights)
        if n == 10**9:  # so many rows show the model itself
            share = table().weights / n
            known = cardinality_runs._probabilities(model, table().codes)
            np.testing.assert_allclose(share, known, atol=1e-4)


def test_scores_against_time():
    run = {
        "score": -5.0,
        "seconds": 3.0,
        "trace": [[0.5, -10.0, "start", 1], [1.0, -6.0, "split", 2], [2.0, -5.0, "split", 3]],
    }
    other = {**run, "score": -4.0, "trace": [[0.5, -10.0, "start", 1], [1.5, -4.0, "split", 2]]}
    assert shown.curve([run, other], 1.2) == -8.0 and shown.time_of([run, other], -5.0) == 1.5
    assert shown.time_of([run], -4.0) is None
    assert shown.better([run], [other]) == 0 and shown.significantly([run], [other]) == 0
    low, high = ([{"score": s + d} for d in (0.0, 0.1, 0.2)] for s in (-10.0, -5.0))
    assert shown.significantly(high, low) == 1 == -shown.significantly(low, high)


def test_text_tables_have_the_words_that_tell_most_about_a_topic(tmp_path):
    documents = [
        {"split": split, "topics": [topic], "title": title, "body": f"the {word} of {i} said reports"}
        for split in ("train", "test")
        for i, (topic, title, word) in enumerate([("corn", "Maize", "harvest")] * 3 + [("earn", "Net", "profit")] * 3)
    ]
    documents.append({"split": "train", "topics": ["tin"], "title": "Tin", "body": "tin"})  # a topic of one part only
    with gzip.open(tmp_path / reuters.FILE, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(d) + "\n" for d in documents)
    pytest.importorskip("sklearn")
    table = reuters.text_table("corn4", tmp_path)
    assert sorted(table.names) == ["harvest", "maize", "net", "profit"] and table.weights.sum() == 12
    told, tables = reuters.described(tmp_path, "bodies without titles")
    assert told["documents"] == 12 and told["training"] == 6 and set(told["chosen"]) == set(tables)
    assert sorted(told["chosen"]["corn10"]) == ["harvest", "profit", "reports"]  # fewer than ten words, and no title
    digits, _ = reuters.described(tmp_path, "digits count as letters")
    assert digits["words"] == reuters.described(tmp_path, "as here")[0]["words"]  # each number is in one document only


def test_traces_tell_what_adjusting_and_merging_did():
    trace = [[0.1, -9.0, "split", 2], [0.2, -9.0, "merge", 2], [0.5, -8.0, "adjust", 2], [0.7, -7.0, "merge", 1]]
    run = {"score": -7.0, "seconds": 1.0, "ended": True, "states": {"z": 1}, "trace": trace}
    assert real._steps(run, "adjust") == [2] and real._gained(run, "merge") and not real._gained(run, "split")
    text = real._adjusted({**{name: {} for name in real.REAL}, "page": {"SplitMerge": [run]}})
    assert "raised the mean by more than 1 on 1 of these 1 data sets (0\nsignificantly)" in text
    assert "| Page | -22766.6 | -22831.0 | -7.0 (1; 1.0 s; 1) | -9.0 (2; 0.20 s; 1) |" in text


def test_races_are_counted_by_how_many_states_were_found():
    text = " ".join(real._states_told({True: [(1, 4.0), (1, 0.5)], False: [(0, 2.0), (-1, 0.5), (1, 3.0)]}).split())
    assert "15 states or more (a limit drawn with the results in view) it has the better mean on 2 of 2" in text
    assert "data sets and is sooner on 1; where it finds fewer" in text
    assert "where it finds fewer, on 1 and 2 of 3" in text
    assert real._states_told({True: [], False: [(0, 2.0)]}) == ""


def test_runs_that_were_added_later_are_named_with_what_the_first_ones_say():
    def runs(*scores):
        return [{"score": s, "seconds": 1.0, "ended": True, "states": {"z": 2}, "trace": []} for s in scores]

    found = {name: {} for name in REAL}
    found["adult"] = {"SplitMerge": runs(*[-10.0] * 10), "Standard3": runs(-12.0, -13.0, -10.0, *[-12.5] * 7)}
    text = " ".join(real._against(found).split())
    assert "| more than 4,500 rows | Standard3 | 1 | 1 (1) | 0 | 0 (0) |" in text
    assert "Adult, where runs are quick, were given more than the 3 planned" in text
    assert (
        "By the first 3 runs on each large data set SplitMerge is better than Standard3 on 1 (0) and worse on 0" in text
    )
    found["adult"] = {m: own[:3] for m, own in found["adult"].items()}
    assert "planned" not in real._against(found)


def test_races_are_looked_at_as_time_goes_on():
    def runs(*steps):
        return [{"score": steps[-1][1], "trace": [[t, score, "split", 2] for t, score in steps], "seconds": 0.5}]

    answer = {
        "limit": 0.5,
        "Standard": runs((0.01, -12000.0), (0.2, -11100.0)),
        "Splitting": runs((0.01, -11500.0), (0.4, -11150.0)),
    }
    kept = {"part": "anytime", "size": {}, "date": "2026-01-01", "commit": "c", "cpu": 1.0, "answer": answer}
    text = real._lead(Answers([{**kept, "which": {"data": "soybean"}}]))
    assert "| Soybean | +500.0 | +500.0 | +500.0 | -400.0 | -50.0 |  |  |  |  |  |" in text
    assert "ahead by more than 1 on 1 data sets and behind on 0" in " ".join(text.split())
    assert "after 0.20 s on Soybean" in text  # K's -11180.7


def test_readings_of_the_text_data_are_shown_beside_the_source():
    found = {"corn10": [-10300.81, 7], "crude10": [-10451.1, 6], "earn10": [-26434.8, 12]}
    answer = {
        "documents": 9,
        "training": 6,
        "words": 13572,
        "chosen": {name: ["a", "b"] for name in found},
        "found": found,
    }
    kept = {"part": "texts", "size": {}, "date": "2026-01-01", "commit": "c", "cpu": 1.0, "answer": answer}
    text = real._texts_told(Answers([{**kept, "which": {"reading": "as here"}}]))
    assert "| as here | 13,572 | -10300.8 (7) | -10451.1 (6) | -26434.8 (12) |" in text
    assert "| K | 15,715 | -10339.1 (8) | -10491.3 (6) | -26380.7 (10) |" in text and "Corn10 a, b;" in text
    assert real._texts_told(Answers([])) == ""


def test_the_line_that_two_tables_have_is_shown_in_both():
    """Of 6.4, and of 6.7 without a limit."""
    assert [table for table, case, _ in simulated._lines() if case == ("10:15x2", 10**5, 0)] == ["6.4", "6.7"]


def test_twelve_leaves_are_counted_by_their_states():
    tree = datasets.generator("d12").tree
    states = {tree.names[z]: 3 for z in tree.latent}

    def record(model, learner, score, **other):
        run = {"score": score, "states": {**states, **other}, "seconds": 1.0, "ended": True, "trace": []}
        which = {"model": model, "learner": learner, "run": 0}
        kept = {"part": "twelve", "size": {}, "date": "2026-01-01", "commit": "c", "cpu": 1.0}
        return {**kept, "which": which, "answer": run}

    last = tree.names[tree.latent[-1]]
    text = simulated._twelve_section(
        Answers(
            [
                record(0, "HLCStandard3", -9.0, **{last: 2}),
                record(1, "HLCStandard3", -9.0),
                record(0, "HLCSplitMerge", -5.0, **{last: 2}),
                record(1, "HLCSplitMerge", -9.5, **{last: 2}),
            ]
        )
    )
    assert "| 3:3,3:2,3,3,3 |  | 1 | 2 |" in text and "| 3:3,3:3,3,3,3 |  | 1 | 0 |" in text
    assert "by more than 1 on 1" in " ".join(text.split())


def test_a_limit_is_of_work_and_parts_are_named(capsys):
    table = cardinality_runs.drawn("10:7x2", 10**4, 0, 0)[1]()
    run = cardinality_runs.run(table, [0, 0], 0.05, method="Splitting")
    scores = [step[1] for step in run["trace"]]
    assert not run["ended"] and scores == sorted(scores) and run["seconds"] >= 0.05
    with pytest.raises(SystemExit):
        cardinality.main(["--parts", "nothing"])
    assert "nothing" in capsys.readouterr().err


def test_means_and_what_was_published():
    runs = [{"score": score} for score in (-10.0, -12.0)]
    assert shown.scored(shown.mean(runs), shown.half(runs)) == "-11.0 ± 12.7"  # t(0.975, 1) = 12.706
    assert len(REAL) == 20
    assert REAL["spambase"].best == -83090.0
    assert {name for name, told in REAL.items() if told.stopped} == set(LARGE)
    assert {structure for structure, sizes in SYNTHETIC.items() if 10**6 in sizes} == set(SYNTHETIC)


def test_standard_ends_when_its_score_grows_slowly():
    made = cardinality_runs._raced(
        lambda: cardinality_runs.drawn("3:3x3", 10**4, 0, 0)[1](), runs=2, shortest=0.02, longest=0.04, seed=0
    )
    assert made["limit"] in (0.02, 0.04) and (made["rate"] < 0.1 or made["limit"] == 0.04)
    assert [len(made[m]) for m in ("Standard", "Splitting", "screened")] == [2, 2, 1]
    assert ("StandardFixed" in made) == (shown.significantly(made["Splitting"], made["Standard"]) != 0)
    assert all(run["ended"] for run in made["screened"])
