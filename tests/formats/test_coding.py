"""A cell means the same state in fit, predict and pieces: what was merged or never seen is stored, not guessed."""

from __future__ import annotations

import itertools
import time
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import latentree as lt
from latentree import Model, Table, Tree, Variable
from latentree.errors import DataError, FileFormatError, LatentreeWarning, ModelError, ParameterError
from latentree.formats import _json, read_table
from latentree.formats._bins import merge_neighbours
from latentree.formats._coding import Missing
from latentree.formats._frame import table_from, values_of
from latentree.formats._models import text_of

WAYS = ["Bus | Bike", "Car"] * 5


def model_of(*variables):
    tree = Tree.star(2, [v.cardinality for v in variables])
    return Model.random(tree, variables, np.random.default_rng(0))


# ---- merged values -------------------------------------------------------------------------------------------------


def test_text_with_a_bar_is_one_answer_and_not_two_merged_ones():
    table = table_from({"way": WAYS})
    with pytest.raises(DataError, match="the value 'Bike' is not a known state"):
        table_from({"way": ["Bike"]}, variables=table.variables)
    with pytest.raises(DataError, match="the value 'Bike' is not a known state"):
        Table.from_chunks([{"way": ["Bike"]}], variables=table.variables)


def test_a_state_called_other_takes_no_unseen_values_unless_values_were_pooled_in_it():
    own = table_from({"x": ["(other)", "a"]}).variables
    with pytest.raises(DataError, match="'b' is not a known state"):
        table_from({"x": ["b"]}, variables=own)
    pooled = table_from({"x": ["a"] * 9 + ["b"] * 9 + ["c"]}, merge_rare=3).variables
    assert (pooled[0].states, pooled[0].merged, pooled[0].other) == (("a", "b", "(other)"), ((), (), ("c",)), 2)
    assert values_of(table_from({"x": ["c", "z"]}, variables=pooled)) == {"x": ["(other)", "(other)"]}


def test_merged_values_keep_their_types():
    kind = pd.CategoricalDtype([1, 2, 3], ordered=True)
    table = table_from(pd.DataFrame({"x": pd.Series([1, 2] + [3] * 9, dtype=kind)}), merge_rare=2)
    assert table.variables[0].states == ("1 | 2", 3) and table.variables[0].merged == ((1, 2), ())
    assert table_from({"x": [2, 3]}, variables=table.variables).codes.tolist() == [[0], [1]]
    with pytest.raises(DataError, match="is not a known state"):
        table_from({"x": ["2"]}, variables=table.variables)


def test_an_answer_that_reads_like_merged_ones_does_not_get_in_the_way():
    kind = pd.CategoricalDtype(["a", "b", "a | b"], ordered=True)
    frame = pd.DataFrame({"x": pd.Series(["a", "b"] + ["a | b"] * 9, dtype=kind)})
    assert table_from(frame, merge_rare=2).variables[0].states == ("(a | b)", "a | b")


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcde"), min_size=8, max_size=40), st.integers(2, 6), st.booleans(), st.booleans())
def test_reading_by_the_states_gives_the_codes_that_learning_gave(cells, least, ordered, declared):
    kind = pd.CategoricalDtype(list("edcbaf"), ordered=ordered)
    frame = pd.DataFrame(
        {"x": pd.Series(cells, dtype=kind if declared else object), "y": [0, 1] * 4 + [0] * (len(cells) - 8)}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentreeWarning)
        table = table_from(frame, merge_rare=least)
        model = _json.loads(_json.dumps(model_of(*table.variables)))
        again = table_from(frame, variables=model.variables)
        pieces = Table.from_chunks([frame[:5], frame[5:]], merge_rare=least)
    assert values_of(again) == values_of(table)
    assert pieces.variables == table.variables and pieces.variables[0].merged == table.variables[0].merged


@pytest.mark.parametrize("kind", ["json", "bif", "xmlbif", "net", "xdsl"])
def test_model_files_keep_how_values_are_read(kind, tmp_path):
    own = (
        Variable("x", ("a | b", 3, "(other)"), merged=(("a", 1.5, True), (), ("q,r", "(other)")), other=2),
        Variable("y", ("no", "yes"), never_seen=("refused", 7)),
        Variable("z", ("Bus | Bike", "Car")),
    )
    path = tmp_path / f"model.{kind}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentreeWarning)
        path.write_text(text_of(model_of(*own), kind), encoding="utf-8")
        found = lt.load(path).variables
    assert found == own
    assert [(v.merged, v.other, v.never_seen) for v in found] == [(v.merged, v.other, v.never_seen) for v in own]


def test_files_of_the_first_version_are_read_from_their_text_alone():
    old = _json.dumps(model_of(Variable("x", ("a | 1", "c", "(other)"))))
    old = old.replace(', "merged": []', "")
    (found,) = _json.loads(old).variables
    assert (found.merged, found.other) == ((("a", "1", 1), (), ()), 2)
    assert table_from({"x": ["a", 1, "c", "new"]}, variables=[found]).codes.ravel().tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "fault",
    [
        '"merged": [["b"], []]',  # a state of its own
        '"merged": [["x"], ["x"]]',
        '"merged": [[]]',
        '"merged": [1, 2]',
        '"other": 2',
        '"other": true',
        '"never_seen": ["a"]',
        '"never_seen": [null]',
    ],
)
def test_damaged_merges_are_refused(fault):
    text = _json.dumps(model_of(Variable("x", ("a", "b")))).replace('["a", "b"]', f'["a", "b"], {fault}')
    with pytest.raises(FileFormatError, match="Variable 'x'"):
        _json.loads(text)


def test_each_value_stands_for_one_state_only():
    with pytest.raises(ModelError, match="merged into another"):
        Variable("x", ("a", "b"), merged=((), ("a",)))
    with pytest.raises(ModelError, match="'c' in two places"):
        Variable("x", ("a", "b"), merged=((), ("c",)), never_seen=("c",))


# ---- levels that no row has ----------------------------------------------------------------------------------------

LEVELS = ["yes", "no", "refused", "not asked"]


def answers(cells):
    return pd.DataFrame({"q": pd.Categorical(cells, categories=LEVELS)})


def test_declared_levels_that_no_row_has_are_left_out_with_one_warning_and_remembered():
    frame = answers(["yes", "no", None] * 5).assign(p=lambda f: f["q"])
    with pytest.warns(LatentreeWarning) as told:
        table = table_from(frame)
    assert len(told) == 1 and "'refused', 'not asked' in column 'q', 'refused'" in str(told[0].message)
    assert told[0].message.shown("shell").endswith("with --keep-levels.")
    assert [(v.states, v.never_seen) for v in table.variables] == [(("yes", "no"), ("refused", "not asked"))] * 2
    kept = table_from(frame, keep_levels=True).variables[0]
    assert (kept.states, kept.never_seen) == (tuple(LEVELS), ())


def test_levels_never_seen_change_no_number_of_parameters():
    plain = pd.DataFrame({c: ["yes", "no", "no", "yes"] * 5 for c in "abc"})
    declared = plain.astype(pd.CategoricalDtype(["no", "yes", "refused"]))
    with pytest.warns(LatentreeWarning, match="No row has 'refused'"):
        assert table_from(declared).variables == table_from(plain).variables


def test_a_level_never_seen_is_missing_in_new_rows_with_one_warning():
    with pytest.warns(LatentreeWarning, match="left out"):
        known = table_from(answers(["yes", "no"])).variables
    with pytest.warns(LatentreeWarning) as told:
        table = table_from(answers(["yes", "refused", "refused"]), variables=known)
    assert values_of(table)["q"] == ["yes", None, None]
    assert [str(w.message) for w in told] == ["No training row has 'refused' in column 'q': treated as missing."]
    pieces = [answers(["yes", "refused"]), answers(["refused"]), answers(["not asked"])]
    with pytest.warns(LatentreeWarning) as told:
        assert Table.from_chunks(pieces, variables=known).n == 4
    assert len(told) == 1 and "'refused', 'not asked'" in str(told[0].message)
    with pytest.raises(DataError, match="'maybe' is not a known state"):
        table_from({"q": ["maybe"]}, variables=known)


def test_levels_of_arff_and_hlcm_files_and_dictionaries(tmp_path):
    (tmp_path / "a.arff").write_text("@relation r\n@attribute x {1,2,u}\n@data\n1\n2\n")
    (tmp_path / "a.hlcm").write_text("Name: n\nx: 1 2 u\n0 1\n1 1\n")
    for name in ("a.arff", "a.hlcm"):
        with pytest.warns(LatentreeWarning, match="No row has 'u'"):
            (variable,) = read_table(tmp_path / name).variables
        assert (variable.states, variable.never_seen) == (("1", "2"), ("u",))
        assert read_table(tmp_path / name, keep_levels=True).variables[0].states == ("1", "2", "u")


def test_pieces_leave_out_what_no_piece_has():
    pieces = [answers(["yes", "yes"]), answers(["no", "no"])]
    with pytest.warns(LatentreeWarning, match="No row has 'refused', 'not asked'") as told:
        table = Table.from_chunks(pieces)
    assert len(told) == 1 and table.variables[0].states == ("yes", "no")
    assert Table.from_chunks(pieces, keep_levels=True).variables[0].states == tuple(LEVELS)


# ---- nothing becomes a state ---------------------------------------------------------------------------------------


def test_nulls_inside_dictionaries_of_pyarrow_are_missing():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 3]), pa.array(["a", None, "a", "b"]))
    assert values_of(table_from(pa.table({"x": column, "y": list("uvuvu")})))["x"] == ["a", None, "a", None, "b"]


def test_decimals_that_are_not_numbers_are_missing_and_move_no_cut():
    cells = [Decimal(i) / 2 for i in range(1, 9)]
    table = table_from({"x": [*cells, Decimal("NaN"), Decimal("NaN")]}, bins=2)
    assert table.variables[0].edges == table_from({"x": cells}, bins=2).variables[0].edges
    assert values_of(table)["x"][-2:] == [None, None]


def test_long_missing_codes_are_compared_digit_by_digit():
    code, near = 123456789012345678, 123456789012345680
    assert float(code) == float(near)
    for gone, kept in ((code, near), (near, code)):
        missing = Missing([str(gone)])
        assert gone in missing and kept not in missing
        assert missing.among(np.array([gone, kept]), untyped=False).tolist() == [True, False]
        assert missing.among([str(gone), str(kept), f"{kept}.0"], untyped=True).tolist() == [True, False, False]
    assert missing.among(np.array([float(code), 1.0]), untyped=False).tolist() == [True, False]
    assert Missing(["999", "0.1"]).among(["999.0", "0.10", "1"], untyped=True).tolist() == [True, True, False]


# ---- clear errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (pd.DataFrame([[1, 2], [2, 1]], columns=["a", "a"]), "Two columns are called 'a'"),
        (pa.table([pa.array([1, 2]), pa.array([2, 1])], names=["a", "a"]), "Two columns are called 'a'"),
        ({"a": [1, 2], "b": np.array(1)}, "Column 'b' must hold one value for each row"),
        ({"a": np.array([b"x", b"\xff"])}, r"Column 'a', row 1: the bytes b'\\xff' are not UTF-8"),
        ("file.csv", "Got str. Read a file with Table.read"),
    ],
)
def test_data_that_cannot_be_read_say_why(data, says):
    with pytest.raises(DataError, match=says):
        table_from(data)


def test_weights_must_be_numbers_with_a_finite_sum():
    for weights, says in (
        ([1, 10**400], "finite"),
        ([1.5e308, 1.5e308], "their sum is not finite"),
        ([1, "a"], "must be numbers"),
    ):
        with pytest.raises(DataError, match=says):
            table_from({"a": [1, 2], "w": weights}, weights="w")
        with pytest.raises(DataError, match=says):
            Table.from_codes([[0], [1]], weights=weights)


@pytest.mark.parametrize("n", [float("nan"), 0, -1, float("inf"), True, "5"])
def test_a_sample_size_is_a_finite_number_above_zero(n):
    for make in (
        lambda: table_from({"a": [1, 2]}, n=n),
        lambda: Table.from_codes([[0], [1]], n=n),
        lambda: Table.from_chunks([{"a": [1, 2]}], n=n),
        lambda: Table.from_codes([[0], [1]]).reweighted([1, 2], n=n),
    ):
        with pytest.raises(ParameterError, match="'n' parameter"):
            make()


def test_errors_of_bins_name_them_on_both_surfaces():
    with pytest.raises(ParameterError, match=r"^bins=: column 'age' needs") as told:
        table_from({"age": [1, 2]}, bins={"age": 1})
    assert told.value.shown("shell").startswith("--bins: column 'age' needs")


def test_names_with_braces_stay_as_they_are():
    with pytest.raises(DataError, match=r"Column '\{0\}' has no values"):
        table_from({"{0}": [None, None]})


# ---- merging in n log n --------------------------------------------------------------------------------------------


def one_by_one(counts, least):
    groups, sizes = [[i] for i in range(len(counts))], [float(c) for c in counts]
    while len(groups) > 1 and min(sizes) < least:
        at = sizes.index(min(sizes))
        other = min((i for i in (at - 1, at + 1) if 0 <= i < len(groups)), key=sizes.__getitem__)
        low, high = min(at, other), max(at, other)
        groups[low] += groups.pop(high)
        sizes[low] += sizes.pop(high)
    return groups


@given(st.lists(st.integers(0, 12), min_size=1, max_size=30), st.integers(1, 40))
def test_merging_is_what_taking_the_smallest_again_and_again_gives(counts, least):
    assert merge_neighbours(np.array(counts, dtype=float), least) == one_by_one(counts, least)


def test_merging_very_many_values_takes_a_moment():
    counts = np.random.default_rng(0).integers(1, 30, 40_000).astype(float)
    start = time.process_time()
    groups = merge_neighbours(counts, 1_000)
    assert list(itertools.chain(*groups)) == list(range(40_000))
    assert time.process_time() - start < 3  # it took 20 seconds to look for the smallest anew each time
