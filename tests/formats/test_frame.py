"""Tables from data frames, arrays, dicts and rows: what becomes a state, and what is refused."""

from __future__ import annotations

import datetime
import doctest
import importlib
import math
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import Variable
from latentree.engine._plan import Plan
from latentree.errors import DataError, LatentreeWarning, ParameterError
from latentree.formats._bins import bin_labels, equal_frequency
from latentree.formats._columns import column_from
from latentree.formats._frame import MISSING_TEXTS, table_from, values_of
from latentree.scale import from_chunks


def states(data, **options):
    return [v.states for v in table_from(data, **options).variables]


# ---- what comes in -----------------------------------------------------------------------------------------------

COLUMNS = {"sex": ["f", "m", None, "f"], "kids": [2, 0, 1, None], "smokes": [True, False, True, None]}


def pandas_nullable():
    return pd.DataFrame(
        {
            "sex": pd.array(COLUMNS["sex"], dtype="string"),
            "kids": pd.array(COLUMNS["kids"], dtype="Int64"),
            "smokes": pd.array(COLUMNS["smokes"], dtype="boolean"),
        }
    )


@pytest.mark.parametrize(
    "data",
    [
        COLUMNS,
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).astype(object),
        pandas_nullable(),
        pl.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS).lazy(),
        pl.DataFrame(COLUMNS).with_columns(pl.col("sex").cast(pl.Categorical)),
        pa.table(COLUMNS),
        [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)],
        {name: np.array(cells, dtype=object) for name, cells in COLUMNS.items()},
        {name: pd.Series(cells) for name, cells in COLUMNS.items()},
    ],
    ids=["dict", "pandas", "objects", "nullable", "polars", "lazy", "category", "arrow", "records", "array", "series"],
)
def test_same_table_from_every_library(data):
    table = table_from(data)
    assert [v.states for v in table.variables] == [("f", "m"), (0, 1, 2), (False, True)]
    assert [type(v.states[0]) for v in table.variables] == [str, int, bool]
    assert values_of(table) == COLUMNS


def test_table_from_frame_is_the_same():
    assert Table.from_frame(COLUMNS).variables == table_from(COLUMNS).variables


def test_arrays_have_numbered_names():
    table = table_from(np.array([[1, 2], [3, 2], [1, 5]]))
    assert table.names == ("x1", "x2")
    assert [v.states for v in table.variables] == [(1, 3), (2, 5)]
    assert values_of(table)["x1"] == [1, 3, 1]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([["a", "b"], ["c", "b"]]), ("a", "c")),
        (np.array([[b"a"], [b"c"]]), ("a", "c")),
        (np.array([[True], [False]]), (False, True)),
        (np.array([["x", 1], [2, 1]], dtype=object), (2, "x")),
        (np.array([[2**63], [1]], dtype=np.uint64), (1, 2**63)),
        (np.array([[-(2**62)], [2**62]]), (-(2**62), 2**62)),
        (np.ma.masked_array([[1], [2], [3]], mask=[[0], [1], [0]]), (1, 3)),
        (np.array([(1, "a"), (2, "b")], dtype=[("n", "i4"), ("t", "U1")]), (1, 2)),
        (np.array([[np.int8(-128)], [np.int8(127)]], dtype=np.int8), (-128, 127)),
    ],
)
@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
def test_kinds_of_arrays(array, expected):
    assert states(array)[0] == expected


def test_sparse_matrices():
    from scipy.sparse import csr_matrix

    assert states(csr_matrix(np.array([[0, 1], [1, 0]]))) == [(0, 1), (0, 1)]


def test_lists_of_rows():
    table = table_from([["a", 1], ["b", 2], (None, 2)])
    assert values_of(table) == {"x1": ["a", "b", None], "x2": [1, 2, 2]}


def test_records_may_lack_keys():
    assert values_of(table_from([{"a": 1}, {"a": 2, "b": "x"}, {"b": "y"}])) == {
        "a": [1, 2, None],
        "b": [None, "x", "y"],
    }


def test_names_that_are_not_text():
    assert table_from(pd.DataFrame({0: [1, 2], 1: [2, 1]})).names == ("0", "1")
    assert table_from({("a", 1): [1, 2]}).names == ("('a', 1)",)
    assert table_from(pd.DataFrame({0: [1, 2], 1: [2, 1]}), drop=[0]).names == ("1",)


WIDE = [pl.Int128] if hasattr(pl, "Int128") else []  # older ones of Polars have none


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (pd.DataFrame({"x": pd.array(["b", None, "a"], dtype=pd.ArrowDtype(pa.string()))}), ("a", "b")),
        (pd.DataFrame({"x": pd.array([2, None, 1], dtype="int64[pyarrow]")}), (1, 2)),
        (pd.DataFrame({"x": pd.array([True, None, False], dtype="bool[pyarrow]")}), (False, True)),
        (pd.DataFrame({"x": pd.arrays.SparseArray([0, 0, 1])}), (0, 1)),
        *[(pl.DataFrame({"x": pl.Series([2**100, 1], dtype=wide)}), (1, 2**100)) for wide in WIDE],
        (pl.DataFrame({"x": pl.Series([2, None, 1], dtype=pl.UInt8)}), (1, 2)),
        (pl.DataFrame({"x": pl.Series([2, None, 1], dtype=pl.Float32)}), (1, 2)),
        (pl.DataFrame({"x": [Decimal("2"), None, Decimal("1")]}), (1, 2)),
        (
            pa.table({"x": pa.chunked_array([pa.array(c).dictionary_encode() for c in (["a", None], ["b"])])}),
            ("a", "b"),
        ),
    ],
)
def test_less_common_types_of_columns(data, expected):
    assert states(data) == [expected]


def test_dictionaries_of_arrow_in_pandas():
    kind = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    assert states(pd.DataFrame({"x": pd.array(["b", None, "a"], dtype=kind)})) == [("a", "b")]


def test_series_is_one_column():
    assert table_from(pd.Series([1, 2, 1], name="a")).names == ("a",)


# ---- states ------------------------------------------------------------------------------------------------------


def test_states_are_typed():
    (found,) = states({"x": np.array([1, "1", True, 2.5, "b", 1], dtype=object)})
    assert [(type(s), s) for s in found] == [(bool, True), (int, 1), (float, 2.5), (str, "1"), (str, "b")]


def test_whole_and_real_one_are_one_state():
    """Text beside them, and pieces that hold only one of the two, change nothing."""
    assert [type(s) for s in states({"x": [1, 1.0, 2]})[0]] == [int, int]
    mixed = [1, "x", 1.0, 2.0, "y", 2.5]
    assert states({"x": mixed}) == [(1, 2, 2.5, "x", "y")]
    pieces = from_chunks([{"x": mixed[i : i + 2]} for i in (2, 4, 0)])
    assert [(type(s), s) for s in pieces.variables[0].states] == [(type(s), s) for s in states({"x": mixed})[0]]


def test_order_is_by_value():
    assert states({"n": [10, 9, 100], "t": ["b", "10", "9"]}) == [(9, 10, 100), ("10", "9", "b")]


def test_minus_one_is_a_number():
    assert states({"x": [-1, 0, 1]}) == [(-1, 0, 1)]


def test_whole_floats_are_whole_numbers():
    (found,) = states(pd.DataFrame({"x": [1.0, np.nan, 2.0]}))
    assert found == (1, 2)
    assert all(type(s) is int for s in found)


def test_decimals_are_numbers():
    assert states({"x": [Decimal(1), Decimal(2), None]}) == [(1, 2)]


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_keep_order_and_unobserved_levels(ordered):
    kind = pd.CategoricalDtype(["low", "mid", "high"], ordered=ordered)
    frame = pd.DataFrame({"x": pd.Series(["high", "low", None], dtype=kind)})
    table = table_from(frame, keep_levels=True)
    assert table.variables[0].states == ("low", "mid", "high")
    assert values_of(table)["x"] == ["high", "low", None]
    assert states(pa.Table.from_pandas(frame), keep_levels=True) == [("low", "mid", "high")]


def test_polars_enum_keeps_order():
    frame = pl.DataFrame({"x": pl.Series(["high", None, "low"], dtype=pl.Enum(["low", "mid", "high"]))})
    table = table_from(frame, keep_levels=True)
    assert table.variables[0].states == ("low", "mid", "high")
    assert values_of(table)["x"] == ["high", None, "low"]


def test_categories_of_other_types():
    frame = pd.DataFrame({"x": pd.Categorical([3, 1], categories=[3, 2, 1])})
    assert states(frame, keep_levels=True) == [(3, 2, 1)]
    (found,) = states(pd.DataFrame({"x": pd.Categorical([1.0, None, 2.0])}))
    assert found == (1, 2)
    assert all(type(s) is int for s in found)
    cut = pd.DataFrame({"x": pd.cut([1, 2, 3, 4], [0, 2, 4])})
    assert states(cut) == [("(0, 2]", "(2, 4]")]


def test_many_categories_with_few_values_are_no_measurement():
    with pytest.warns(LatentreeWarning, match="300 different values in 2 cases") as told:
        frame = pd.DataFrame({"x": pd.Categorical([1, 2], categories=range(300))})
        assert len(states(frame, keep_levels=True)[0]) == 300
    assert "bins=" not in str(told[0].message)  # declared categories are not cut


def test_blanks_around_text_do_not_count():
    cells = [" no ", "no", "yes", "yes "]
    for data in ({"x": cells}, pd.DataFrame({"x": cells}), pl.DataFrame({"x": cells}), pa.table({"x": cells})):
        assert values_of(table_from(data))["x"] == ["no", "no", "yes", "yes"]
    old = table_from({"x": ["no", "yes"]})
    assert values_of(table_from({"x": cells}, variables=old.variables))["x"] == ["no", "no", "yes", "yes"]
    assert states(pd.DataFrame({"x": pd.Categorical([" b", "a "], categories=[" b", "a "])})) == [("b", "a")]
    with pytest.raises(DataError, match="Column 'x' has several categories that are 'no' but for blanks"):
        table_from(pd.DataFrame({"x": pd.Categorical(cells)}))


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["Agree", "Strongly agree", "Disagree", "Neither"], ("Disagree", "Neither", "Agree", "Strongly agree")),
        (["always", "never", "often", "sometimes"], ("never", "sometimes", "often", "always")),
        (["excellent", "good", "poor"], ("poor", "good", "excellent")),
        (["high", "low", "medium"], ("low", "medium", "high")),
        (["YES", "No"], ("No", "YES")),
        (["agree", "disagree", "banana"], ("agree", "banana", "disagree")),
        (["neutral", "neither", "agree"], ("agree", "neither", "neutral")),  # two names of one place
        (["agree", 1], (1, "agree")),
    ],
)
def test_well_known_scales_are_in_their_order(answers, expected):
    assert states({"x": answers}) == [expected]


def test_declared_order_comes_before_a_scale():
    kind = pd.CategoricalDtype(["high", "low"])
    assert states(pd.DataFrame({"x": pd.Series(["low", "high"], dtype=kind)})) == [("high", "low")]


def test_rare_answers_of_a_scale_join_a_neighbour():
    data = {"x": ["never"] * 40 + ["rarely"] * 5 + ["often"] * 50 + ["always"] * 40}
    assert states(data, merge_rare=30) == [("never | rarely", "often", "always")]
    assert states({"x": ["no"] * 5 + ["yes"] * 50}, merge_rare=30) == [("yes", "(other)")]


@pytest.mark.parametrize(
    ("cells", "warned"),
    [
        ([f"2020-01-{i % 30 + 1:02}" for i in range(600)], True),
        ([i % 21 for i in range(3150)], True),
        ([f"t{i % 12}" for i in range(100)], True),
        ([f"t{i % 12}" for i in range(120)], False),
        ([f"t{i % 8}" for i in range(20)], False),
        ([i % 20 for i in range(2000)], False),
    ],
)
def test_many_states_are_worth_a_warning(cells, warned, recwarn):
    table_from({"x": cells})
    assert len(recwarn) == warned
    if warned:
        text = str(recwarn[0].message)
        assert "Column 'x'" in text and "merge_rare=30" in text and "drop=['x']" in text
        assert ("bins={'x': 3}" in text) == isinstance(cells[0], int)


def test_numbers_in_text_are_cut_if_asked():
    frame = pd.DataFrame({"age": ["20", " 30", "", "40.5"]})
    table = table_from(frame, bins={"age": 2})
    assert values_of(table)["age"] == ["<= 30", "<= 30", None, "> 30"]
    assert values_of(table_from(frame, variables=table.variables)) == values_of(table)
    assert states(pd.DataFrame({"age": ["2", "1"]})) == [("1", "2")]  # else text is text
    assert table_from({"age": ["20", 30, 40.5, None]}, bins={"age": 2}).variables[0].edges == (30.0,)
    for cells, bad in ((["20", 30, "x", "y"], "'x' in row 2.*first of 2"), ([True, False], "'True' in row 0")):
        with pytest.raises(DataError, match=f"cannot be cut by bins=: it holds {bad}"):
            table_from({"age": cells}, bins={"age": 2})


def test_decimal_commas_in_frames():
    frame = pd.DataFrame({"x": ["1,5", "2,5", None], "n": [1, 2, 1], "b": [True, False, True]})
    old = table_from(frame, decimal=",", bins={"x": 2})
    assert [v.states for v in old.variables] == [("<= 2", "> 2"), (1, 2), (False, True)]
    assert values_of(table_from(frame, variables=old.variables, decimal=",")) == values_of(old)


# ---- missing cells -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [*MISSING_TEXTS, " ? ", "  "])
def test_missing_texts(text):
    assert values_of(table_from({"x": ["a", text, "b"]}))["x"] == ["a", None, "b"]


def test_answers_that_look_like_missing_ones():
    assert states({"x": ["None", "-", "zero", "0"]}) == [("-", "0", "None", "zero")]


def test_answers_that_differ_only_in_capitals_or_blanks_are_said():
    with pytest.warns(LatentreeWarning, match="'Yes' and 'yes' in column 'a', 'not sure' and 'notsure' in column 'b'"):
        found = states({"a": ["Yes", "yes", "no"], "b": ["not sure", "notsure", "x"], "c": ["a", "b", "c"]})
    assert found == [("Yes", "no", "yes"), ("not sure", "notsure", "x"), ("a", "b", "c")]


def test_missing_texts_can_be_chosen():
    assert states({"x": ["NA", "unknown", "EU"]}, missing=["unknown"]) == [("EU", "NA")]
    assert states({"x": ["NA", "unknown", "EU"]}, missing="unknown") == [("EU", "NA")]
    assert states({"x": ["", "NA", "b"]}, missing=()) == [("NA", "b")]  # an empty cell always is
    assert states({"x": ["", "NA", "b"]}, missing=None) == [("NA", "b")]


def test_missing_codes_may_be_numbers():
    assert states({"x": [1, 2, -9], "y": [1.0, -9.0, 2.0]}, missing=["-9"]) == [(1, 2), (1, 2)]
    assert states({"x": [1, 2, -9]}, missing=[-9]) == [(1, 2)]
    old = table_from({"x": [1.5, 2.5, 3.5, 999]}, bins=2, missing=["999"])
    assert values_of(table_from({"x": [1, 999]}, variables=old.variables, missing=["999"]))["x"] == ["<= 2.5", None]
    assert values_of(table_from({"x": [1, -9]}, variables=[Variable("x", (-9, 1))], missing=["-9"]))["x"] == [1, -9]


def test_missing_objects():
    cells = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, "a", "b"]
    assert values_of(table_from({"x": cells}))["x"] == [None] * 5 + ["a", "b"]


def test_missing_category():
    assert states(pd.DataFrame({"x": pd.Categorical(["a", "?", "b"])})) == [("a", "b")]


def test_rows_without_values_say_nothing():
    table = table_from({"x": ["a", None, "b"], "y": ["c", None, "d"]})
    assert table.n == 3
    model = Model.random(Tree.star(2, [2, 2]), table.variables, np.random.default_rng(0))
    fewer = table_from({"x": ["a", "b"], "y": ["c", "d"]})
    with_empty = Plan.of(model, table).log_likelihood(model.parameters)
    assert with_empty == pytest.approx(Plan.of(model, fewer).log_likelihood(model.parameters), abs=1e-12)


# ---- choosing columns --------------------------------------------------------------------------------------------


def test_columns_and_drop():
    data = {"a": [1, 2], "b": [1, 2], "c": [1, 2]}
    assert table_from(data, columns=["c", "a"]).names == ("c", "a")
    assert table_from(data, columns="c").names == ("c",)
    assert table_from(data, columns=(name for name in "ca")).names == ("c", "a")
    assert table_from(data, drop="b").names == ("a", "c")
    assert table_from(data, columns=["c", "a"], drop=["a"]).names == ("c",)


def test_dropped_columns_may_hold_anything():
    data = pd.DataFrame({"a": [1, 2], "when": pd.to_datetime(["2020-01-01", "2021-01-01"]), "l": [[1], [2]]})
    assert table_from(data, drop=["when", "l"]).names == ("a",)


@pytest.mark.parametrize(("option", "given_name"), [("columns", "Agge"), ("drop", "agge"), ("weights", "agee")])
def test_unknown_names_suggest_near_ones(option, given_name):
    with pytest.raises(DataError, match=rf"no column '{given_name}', which {option}= names. Did you mean 'age'\?"):
        table_from({"age": [1, 2], "sex": [1, 2]}, **{option: given_name if option == "weights" else [given_name]})


def test_unknown_names_without_near_ones_list_what_there_is():
    with pytest.raises(DataError, match="There are 'age', 'sex'"):
        table_from({"age": [1, 2], "sex": [1, 2]}, drop="qqq")


# ---- weights -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [[2, 0, 1.5], np.array([2, 0, 1.5]), pd.Series([2, 0, 1.5], index=[7, 8, 9]), "w"])
@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
def test_weights(weights):
    data = {"x": ["a", "only here", "a"], "w": [2, 0, 1.5]}
    table = table_from(data, weights=weights, columns="x")
    assert table.n == 3.5
    assert table.variables == (Variable("x", ("a",)),)
    assert table.inverse.tolist() == [0, -1, 0]


def test_weights_column_is_no_variable():
    assert table_from({"x": [1, 2], "w": [1, 3]}, weights="w").names == ("x",)


def test_sample_size_can_be_given():
    assert table_from({"x": [1, 2]}, weights=[0.5, 0.5], n=100).n == 100


def test_types_seen_only_at_weight_zero_do_not_exist():
    assert states({"x": [1, 2, "oops", 2.5]}, weights=[1, 1, 0, 0]) == [(1, 2)]
    with pytest.warns(LatentreeWarning):
        assert states({"x": [1.0, 2.5]}, weights=[1, 0]) == [(1,)]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1], "Row 1: the weight is -1"),
        ([1, math.nan], "Row 1: the weight is missing. Give it a number; 0 leaves the row out."),
        ([math.inf, 1], "Row 0: the weight is inf"),
        ([1, None], "Row 1: the weight is missing"),
        ([1], "one weight for each of the 2 rows"),
        (["a", "b"], "The weights must be numbers. Got 'a' in row 0"),
        ([True, False], "The weights must be numbers. Got True in row 0"),
        ([1, 1j], r"The weights must be numbers. Got 1j in row 1"),
        ([0, 0], "All rows have weight zero"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(DataError, match=message):
        table_from({"x": ["a", "b"]}, weights=weights)


def test_bad_weights_column():
    with pytest.raises(DataError, match=r"The weights in column 'w' must be numbers. Got 'many' in row 1"):
        table_from({"x": ["a", "b"], "w": [1, "many"]}, weights="w")


# ---- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "no columns"),
        (pd.DataFrame(), "no columns"),
        ({"x": []}, "no rows"),
        (pl.DataFrame({"x": []}), "no rows"),
        ([], "no rows"),
        (np.zeros((0, 3)), "no rows"),
        (np.zeros((3, 0)), "no columns"),
        (np.zeros(3), "must have rows and columns"),
        ([1, 2], "Row 0 is 1"),
        ([[1, 2], [3]], "Row 1 has 1 values but row 0 has 2"),
        ({"a": [1, 2], "b": [1]}, "Column 'b' has 1 values but 'a' has 2"),
        ({"a": 1}, "Column 'a' must hold one value for each row, in order. Got 1"),
        ({"a": "text"}, "Column 'a' must hold one value for each row, in order. Got 'text'"),
        ({"a": {1, 2}}, "Column 'a' must hold one value for each row, in order"),
        ({"a": (i for i in range(2))}, "Column 'a' must hold one value for each row, in order"),
        (17, "Got int"),
        ({"a": [None, math.nan]}, r"Column 'a' has no values.*drop=\['a'\]"),
        ({"a": ["?", ""]}, "Column 'a' has no values"),
        (pl.DataFrame({"a": [None, None]}), "Column 'a' has no values"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Two columns are called 'a'"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "Two columns are called '1'"),
        ({"a": [[1], [2]]}, "Column 'a' holds values of type list"),
        ({"a": [(1,), (2,)]}, "Column 'a' holds values of type tuple"),
        ({"a": [{"b": 1}]}, "Column 'a' holds values of type dict"),
        (pl.DataFrame({"a": [[1], [2]]}), "Column 'a' holds lists"),
        (pl.DataFrame({"a": [{"b": 1}]}), "Column 'a' holds records"),
        ({"a": [datetime.date(2020, 1, 1)]}, "Column 'a' holds dates or times"),
        ({"a": np.array(["2020-01-01"], dtype="datetime64[D]")}, "Column 'a' holds dates or durations"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), "Column 'a' holds dates and times"),
        (pl.DataFrame({"a": [datetime.timedelta(1)]}), "Column 'a' holds durations"),
        ({"a": np.array([1 + 2j])}, "Column 'a' holds values of type complex128"),
        ({"a": [math.inf, 1.0]}, "Column 'a', row 0: the value is infinite"),
        ({"a": [1.0, -math.inf]}, "Column 'a', row 1: the value is infinite"),
        ({"a": [1, 2, 3.5]}, r"Column 'a' is continuous \(row 2: 3.5\). Cut it with bins="),
        (np.array([[2.0], [1.5], [0.5]]), r"Column 'x1' is continuous \(row 1: 1.5\)"),
        ({"a": list(range(51)) * 100}, "Column 'a' has 51 different numbers in 5,100 cases.*bins="),
        ({"a": [i % 62 for i in range(600)]}, "Column 'a' has 62 different numbers in 600 cases.*bins="),
        ({"a": [i % 30 for i in range(400)]}, "Column 'a' has 30 different numbers in 400 cases.*bins="),
        ({"a": [0.5, 1.5, 1.25]}, "If it says how much each row counts, use it as weights with weights='a'"),
        ({"a": list(range(30)) * 3}, "Column 'a' has 30 different numbers in 90 cases"),
        ({"a": list(range(25))}, r"Column 'a' has 25 different values in 25 cases, like an identifier.*drop=\['a'\]"),
        ({"a": [f"case {i}" for i in range(20)]}, "Column 'a' has 20 different values.*identifier"),
        (pd.DataFrame({"a": pd.Categorical([f"case {i}" for i in range(20)])}), "identifier"),
        ({"a": [f"t{i}" for i in range(40_000)] * 2}, r"40,000 different values; at most 32,767.*merge_rare"),
    ],
)
def test_refused(data, message):
    with pytest.raises(DataError, match=message):
        table_from(data)


def test_no_column_left():
    with pytest.raises(DataError, match="No column is left"):
        table_from({"a": [1, 2]}, drop="a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 1}, "'bins' parameter of Table.from_frame must be a whole number of at least 2"),
        ({"bins": True}, "'bins'"),
        ({"bins": 2.5}, "'bins'"),
        ({"bins": {"a": 1}}, "bins=: column 'a' needs a whole number of bins of at least 2"),
        ({"bins": {"a": "many"}}, "column 'a' needs"),
        ({"bins": {"a": [2, 1]}}, "edges in ascending order"),
        ({"bins": {"a": []}}, "edges in ascending order"),
        ({"bins": {"a": [math.inf]}}, "edges in ascending order"),
        ({"bins": {"a": ["x"]}}, "edges in ascending order"),
        ({"unseen": "skip"}, "'error', 'missing' or 'smooth'. Got 'skip'"),
        ({"merge_rare": 0}, "'merge_rare' parameter of Table.from_frame must be a number above 0"),
        ({"bins": 2, "variables": [Variable("a", (1, 2))]}, "None when variables= is given"),
        ({"merge_rare": 2, "variables": [Variable("a", (1, 2))]}, "None when variables= is given"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ParameterError, match=message):
        table_from({"a": [1, 2]}, **options)


def test_bins_of_an_unknown_column():
    with pytest.raises(DataError, match=r"no column 'aa', which bins= names. Did you mean 'a'"):
        table_from({"a": [1, 2]}, bins={"aa": 2})


def test_bins_of_text():
    with pytest.raises(DataError, match="Column 'a' cannot be cut by bins=: it holds 'x'"):
        table_from({"a": ["x", "y"]}, bins={"a": 2})


def test_bins_of_categories():
    with pytest.raises(DataError, match="Column 'a' cannot be cut by bins=: it has categories of its own"):
        table_from(pd.DataFrame({"a": pd.Categorical([1, 2, 3])}), bins={"a": 2})


def test_constant_columns_warn():
    with pytest.warns(LatentreeWarning, match=r"Columns 'a', 'b' have only one value.*drop=\['a', 'b'\]"):
        table = table_from({"a": [1, 1], "b": ["x", None], "c": [1, 2]})
    assert table.variables[0].states == (1,)


# ---- bins --------------------------------------------------------------------------------------------------------


def test_two_bins_are_above_the_median():
    rng = np.random.default_rng(0)
    for n in (5, 6, 101):
        x = rng.normal(size=(n, 1))
        table = table_from(x, bins=2)
        codes = table.codes[table.inverse, 0]
        assert (codes == (x[:, 0] > np.median(x))).all()


def test_bins_hold_equal_weight():
    x = np.random.default_rng(1).normal(size=(300, 1))
    table = table_from(x, bins=5)
    assert np.bincount(table.codes[table.inverse, 0]).tolist() == [60] * 5


def test_labels_and_edges():
    table = table_from({"x": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]}, bins=3)
    assert table.variables[0].states == ("<= 2", "2 to 4", "> 4")
    assert table.variables[0].edges == (2.0, 4.0)


def test_labels_of_near_edges_differ():
    assert bin_labels([1.0, 1.0 + 1e-9]) == ("<= 1", "1 to 1.000000001", "> 1.000000001")
    assert len(set(bin_labels([1.0, np.nextafter(1, 2)]))) == 3
    assert bin_labels([2.1, 2.5], whole=True) == ("<= 2.1", "2.1 to 2.5", "> 2.5")


def test_whole_numbers_are_binned_when_there_are_many():
    assert states({"x": list(range(40)), "y": [1, 2] * 20}, bins=2) == [("<= 19", ">= 20"), (1, 2)]


def test_bins_by_column():
    data = {"x": [1, 2, 3, 4], "y": [1, 2, 3, 4], "z": [1, 2, 3, 4]}
    found = states(data, bins={"x": 2, "y": [1, 2.5]})
    assert found == [("<= 2", ">= 3"), ("<= 1", "2", ">= 3"), (1, 2, 3, 4)]


def test_given_edges_keep_empty_bins():
    assert states({"x": [0.5, 0.7]}, bins={"x": [0, 1]}) == [("<= 0", "0 to 1", "> 1")]


def test_a_dict_of_bins_does_not_touch_other_columns():
    with pytest.raises(DataError, match="Column 'y' is continuous"):
        table_from({"x": [0.5, 1.5], "y": [0.5, 1.5]}, bins={"x": 2})


def test_float_arrays_are_cut_even_if_whole():
    table = table_from(np.array([[0.0, 7.0], [1.0, 8.0], [2.0, 9.0], [3.0, 7.0]]), bins=2)
    assert [v.cardinality for v in table.variables] == [2, 2]
    assert all(v.edges is not None for v in table.variables)


def test_constant_column_is_one_bin():
    with pytest.warns(LatentreeWarning):
        table = table_from(np.array([[0.5], [0.5]]), bins=2)
    assert table.variables[0] == Variable("x1", ("all",), ())


def test_ties():
    assert equal_frequency(np.array([0.0, 1.0]), np.array([9.0, 1.0]), 4).tolist() == [0.0]
    # The median is the largest value: the cut goes below it, not above.
    assert equal_frequency(np.array([0.0, 1.0]), np.array([1.0, 9.0]), 2).tolist() == [0.5]
    # Two quantiles between the same two values make one edge.
    assert len(equal_frequency(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0]), 9)) == 2


def test_half_way_between_neighbouring_floats():
    low = 1.0
    high = np.nextafter(low, 2)
    (edge,) = equal_frequency(np.array([low, high]), np.ones(2), 2)
    assert low <= edge < high


def test_zero_weights_do_not_move_edges():
    x = np.array([1.5, 2.5, 3.5, 100.5])
    assert states({"x": x}, weights=[1, 1, 1, 0], bins=2) == states({"x": x[:3]}, bins=2)


# ---- given variables ---------------------------------------------------------------------------------------------


def test_given_variables_fix_states_and_order():
    old = table_from({"a": ["x", "y"], "b": [1, 2]})
    new = table_from({"b": [2], "other": [5], "a": ["y"]}, variables=old.variables)
    assert new.variables == old.variables
    assert new.codes.tolist() == [[1, 1]]


def test_given_edges_cut_new_data():
    old = table_from({"x": [0.5, 1.5, 2.5, 3.5]}, bins=2)
    new = table_from({"x": [-99, 2, 2.000001, 1e9, None]}, variables=old.variables)
    assert values_of(new)["x"] == ["<= 2", "<= 2", "> 2", "> 2", None]
    labels = table_from({"x": ["> 2", "<= 2"]}, variables=old.variables)
    assert values_of(labels)["x"] == ["> 2", "<= 2"]
    with pytest.raises(DataError, match="row 1: the value is infinite"):
        table_from({"x": [1.0, math.inf]}, variables=old.variables)


@pytest.mark.parametrize(
    ("known", "cells"),
    [
        ((1, 2), [1.0, 2.0]),
        ((1, 2), np.array([1, 2], dtype=np.int8)),
        ((1, 2), np.array([1, 2], dtype=np.float32)),
        ((1, 2), [Decimal(1), Decimal(2)]),
        ((1.0, 2.0), [1, 2]),
        ((False, True), np.array([0, 1], dtype=bool)),
        (("a", "b"), np.array(["a", "b"])),
    ],
)
def test_numbers_match_whatever_their_type(known, cells):
    table = table_from({"x": cells}, variables=[Variable("x", known)])
    assert table.codes[table.inverse, 0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("known", "cell"), [((0, 1), True), ((1, 2), "1"), (("1", "2"), 1), ((False, True), 1), ((1, 2), 1.5)]
)
def test_other_types_do_not_match(known, cell):
    with pytest.raises(DataError, match=r"Column 'x', row 1: the value .* is not a known state"):
        table_from({"x": [known[0], cell]}, variables=[Variable("x", known)])


def test_unseen_values():
    variables = table_from({"x": ["a", "b"]}).variables
    with pytest.raises(DataError, match=r"Column 'x', row 2: the value 'c' is not a known state. Known are 'a', 'b'"):
        table_from({"x": ["a", "b", "c"]}, variables=variables)
    table = table_from({"x": ["a", "b", "c"]}, variables=variables, unseen="missing")
    assert values_of(table)["x"] == ["a", "b", None]


def test_the_first_unseen_cell_is_named_whatever_the_library():
    cells = ["a", "z", "c", "z", "b"]
    for data in ({"x": cells}, pd.DataFrame({"x": cells}), pl.DataFrame({"x": cells}), pa.table({"x": cells})):
        with pytest.raises(DataError, match=r"row 1: the value 'z' is not a known state \(the first of 3 such cells\)"):
            table_from(data, variables=[Variable("x", ("a", "b"))])


def test_unseen_values_of_weight_zero():
    variables = table_from({"x": ["a", "b"]}).variables
    table = table_from({"x": ["c", "b"]}, variables=variables, weights=[0, 1])
    assert table.inverse.tolist() == [-1, 0]


def test_a_known_state_is_never_missing():
    variables = table_from({"x": ["NA", "EU"]}, missing=()).variables
    assert values_of(table_from({"x": ["NA", "?"]}, variables=variables))["x"] == ["NA", None]


def test_lacking_columns():
    variables = table_from({"a": [1, 2], "b": [1, 2], "c": [1, 2]}).variables
    with pytest.raises(DataError, match=r"The data lack 'b', 'c', which the model has\. Add a column"):
        table_from({"a": [1]}, variables=variables)
    variables = table_from({"smokes": [1, 2], "b": [1, 2]}).variables
    with pytest.raises(DataError, match=r"lack 'smokes', .* Is 'Smoke' meant to be 'smokes'\? Then rename it"):
        table_from({"Smoke": [1], "b": [1]}, variables=variables)


def test_a_given_column_may_be_all_missing():
    variables = table_from({"a": [1, 2], "b": [1, 2]}).variables
    assert values_of(table_from({"a": [1], "b": [None]}, variables=variables)) == {"a": [1], "b": [None]}


def test_some_of_the_given_variables():
    variables = table_from({"a": [1, 2], "b": [1, 2]}).variables
    assert table_from({"a": [1], "b": [2]}, variables=variables, columns=["b"]).names == ("b",)


# ---- rare values -------------------------------------------------------------------------------------------------


def test_rare_texts_become_other():
    data = {"x": ["a"] * 50 + ["b"] * 40 + ["c"] * 10 + ["d"] * 25}
    table = table_from(data, merge_rare=30)
    assert table.variables[0].states == ("a", "b", "(other)")
    assert np.bincount(table.codes[table.inverse, 0]).tolist() == [50, 40, 35]
    new = table_from({"x": ["d", "b", "never seen", "?"]}, variables=table.variables)
    assert values_of(new)["x"] == ["(other)", "b", "(other)", None]


def test_a_rare_rest_takes_no_frequent_answer():
    data = {"x": ["yes"] * 50 + ["no"] * 40 + ["yess"] * 2}
    told = []
    table = table_from(data, merge_rare=5, note=told.append)
    assert table.variables[0].states == ("no", "yes", "(other)")
    assert told == ["Column 'x': 'yess' (2) became '(other)', because it is in fewer than 5 rows."]
    assert values_of(table) == {"x": data["x"][:90] + ["(other)"] * 2}


def test_rare_numbers_merge_with_neighbours():
    data = {"x": [0] * 500 + [1] * 40 + [2] * 10 + [3] * 5}
    table = table_from(data, merge_rare=30)
    assert table.variables[0] == Variable("x", ("<= 0", ">= 1"), (0.0,))
    new = table_from({"x": [3, 0, 7]}, variables=table.variables)
    assert values_of(new)["x"] == [">= 1", "<= 0", ">= 1"]


def test_rare_ordered_categories_merge_with_neighbours():
    kind = pd.CategoricalDtype(["no", "few", "some", "many"], ordered=True)
    frame = pd.DataFrame({"x": pd.Series(["no"] * 40 + ["few"] * 5 + ["some"] * 50 + ["many"] * 40, dtype=kind)})
    table = table_from(frame, merge_rare=30)
    assert table.variables[0].states == ("no | few", "some", "many")
    assert values_of(table_from({"x": ["few", "many"]}, variables=table.variables))["x"] == ["no | few", "many"]


def test_nothing_rare_changes_nothing():
    data = {"x": [0, 1] * 30, "y": ["a", "b"] * 30}
    assert table_from(data, merge_rare=30).variables == table_from(data).variables


@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
def test_every_merged_value_has_enough_cases():
    rng = np.random.default_rng(0)
    data = {
        "n": np.minimum(rng.geometric(0.3, 400), 19),
        "t": np.array(list("abcdefghijklmnop"))[np.minimum(rng.geometric(0.3, 400), 15)],
    }
    table = table_from(data, merge_rare=30)
    for i, variable in enumerate(table.variables):
        found = np.bincount(table.codes[:, i], weights=table.weights, minlength=variable.cardinality)
        assert all(n >= 30 for n, state in zip(found, variable.states, strict=True) if state != "(other)")


# ---- properties --------------------------------------------------------------------------------------------------

cells = {
    "text": st.one_of(st.none(), st.text("abcxyz ", min_size=1, max_size=3)),
    "number": st.one_of(st.none(), st.integers(-5, 5)),
    "truth": st.one_of(st.none(), st.booleans()),
    "mixed": st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["1", "True", "x"])),
}


@st.composite
def small_frames(draw, most=19):
    n = draw(st.integers(2, most))
    return {name: draw(st.lists(cell, min_size=n, max_size=n)) for name, cell in cells.items()}


def usable(data):
    def is_empty(cell):
        return cell is None or (isinstance(cell, str) and cell.strip() in MISSING_TEXTS)

    return {name: column for name, column in data.items() if not all(map(is_empty, column))}


@settings(deadline=None, max_examples=60)
@given(small_frames())
@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
def test_round_trip(data):
    data = usable(data)
    if not data:
        return
    for frame in (data, pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in data.items()})):
        back = values_of(table_from(frame, missing=("",)))
        for name, column in data.items():
            wanted = [(c.strip() or None) if isinstance(c, str) else c for c in column]
            assert [(type(a), a) for a in back[name]] == [(type(a), a) for a in wanted]


def patterns(table):
    """The weight of each distinct row, by its states."""
    found = {}
    for codes, weight in zip(table.codes.tolist(), table.weights.tolist(), strict=True):
        states_of_row = (v.states[c] if c >= 0 else None for v, c in zip(table.variables, codes, strict=True))
        row = tuple((type(s), s) for s in states_of_row)
        assert row not in found
        found[row] = weight
    return found


@settings(deadline=None, max_examples=60)
@given(st.data())
@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
def test_weight_is_repetition(data):
    n = data.draw(st.integers(2, 30))
    row = st.tuples(
        st.floats(-100, 100).map(lambda x: round(x, 1) + 0.05),
        st.sampled_from(["a", "b", "c", None]),
        st.integers(0, 60),
    )
    rows = data.draw(st.lists(row, min_size=n, max_size=n))
    counts = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n).filter(lambda c: sum(c) > 0))
    bins = data.draw(st.integers(2, 6))
    repeated = [r for r, c in zip(rows, counts, strict=True) for _ in range(c)]
    options = {"bins": bins, "merge_rare": data.draw(st.sampled_from([None, 3]))}
    if all(r[1] is None for r in repeated):
        return
    try:
        weighted = table_from(rows, weights=counts, **options)
    except DataError as error:
        with pytest.raises(DataError) as again:
            table_from(repeated, **options)
        assert str(again.value).split("(row")[0] == str(error).split("(row")[0]
        return
    table = table_from(repeated, **options)
    assert weighted.variables == table.variables
    assert patterns(weighted) == patterns(table)
    assert weighted.n == table.n


@settings(deadline=None, max_examples=40)
@given(small_frames(), st.randoms(use_true_random=False))
@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
def test_row_order_does_not_matter(data, random):
    data = usable(data)
    if not data:
        return
    order = list(range(len(next(iter(data.values())))))
    random.shuffle(order)
    table = table_from(data)
    shuffled = table_from({name: [column[i] for i in order] for name, column in data.items()})
    assert shuffled.variables == table.variables
    assert patterns(shuffled) == patterns(table)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60), st.integers(2, 8))
@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
def test_bins_are_all_used_and_reproduced(values, bins):
    array = np.array(values)[:, None]
    table = table_from(array, bins=bins)
    (variable,) = table.variables
    assert 1 <= variable.cardinality <= bins
    assert set(table.codes[:, 0].tolist()) == set(range(variable.cardinality))
    again = table_from(array, variables=table.variables)
    assert (again.codes[again.inverse] == table.codes[table.inverse]).all()


# ---- the rest ----------------------------------------------------------------------------------------------------


def test_columns_give_their_cells_back():
    for cells_of_column in (["a", None, "b"], [1, 2, 1], [True, False], [1.5, 2.5]):
        assert column_from(cells_of_column).values().tolist() == cells_of_column


@pytest.mark.parametrize("module", ["", "._frame", "._columns", "._coding", "._bins", "._csv", "._hlcm"])
def test_examples(module):
    result = doctest.testmod(importlib.import_module(f"latentree.formats{module}"))
    assert result.failed == 0
    assert result.attempted > 0


def test_importing_is_cheap():
    code = (
        "import sys, latentree.formats._frame, latentree.formats._csv, latentree.datasets;"
        "print([m for m in ('pandas', 'polars', 'pyarrow', 'narwhals', 'sklearn') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_million_rows_are_fast():
    import time

    codes = np.random.default_rng(0).integers(0, 3, (1_000_000, 10))
    start = time.process_time()
    table = table_from(codes)
    assert time.process_time() - start < 3  # of the processor: about 0.3 s, however busy the machine is
    assert table.n == 1_000_000


def test_more_bins_than_states_can_be_are_refused_at_once():
    for bins in (10**20, {"a": 10**20}):
        with pytest.raises(ParameterError, match="whole number"):
            Table.from_frame({"a": [1.5, 2.5, 3.5, 4.5]}, bins=bins)


def test_dates_cannot_be_cut_and_can_be_left_out():
    with pytest.raises(DataError, match=r"which is not a number.*leave the column out with drop=\['day'\]"):
        Table.from_frame({"day": ["2024-11-27", "2024-11-28"] * 4}, bins={"day": 2})
