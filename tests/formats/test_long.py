"""Long data: one line for each item of a row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from latentree import DataError, ParameterError, Table
from latentree.formats import Recipe

LINES = st.lists(st.tuples(st.integers(0, 6), st.sampled_from("abcde"), st.integers(0, 3)), min_size=1, max_size=40)


def dense(lines, counts, names, quantity):
    """The slow twin: a full table of counts, row by row."""
    ids = list(dict.fromkeys(row for row, *_ in lines))
    out = np.zeros((len(ids), len(names)), dtype=int)
    for row, item, amount in lines:
        if item in names:
            out[ids.index(row), names.index(item)] += amount if quantity else 1
    return np.minimum(out, 1 if counts is None else counts)


@given(LINES, st.sampled_from([None, 1, 2, 3]), st.booleans())
def test_the_table_is_that_of_all_counts(lines, counts, quantity):
    row, item, amount = zip(*lines, strict=True)
    data = {"row": list(row), "item": list(item), "amount": list(amount)}
    options = {"quantity": "amount"} if quantity else {}
    if quantity and not any(amount):
        with pytest.raises(DataError, match="No item is left"):
            Table.from_long(data, rows="row", items="item", counts=counts, **options)
        return
    table = Table.from_long(data, rows="row", items="item", counts=counts, **options)
    expected = dense(lines, counts, list(table.names), quantity)
    assert np.array_equal(table.codes[table.inverse], expected)
    assert table.n == len(expected)
    assert len(np.unique(expected, axis=0)) == table.n_patterns


def test_a_weight_is_a_repetition():
    data = {"c": ["a", "a", "b", "c"], "p": ["x", "y", "x", None], "w": [2, 2, 3, 0]}
    table = Table.from_long(data, rows="c", items="p", weights="w")
    assert table.inverse.tolist() == [0, 1, -1] and table.weights.tolist() == [2, 3] and table.n == 5
    with pytest.raises(DataError, match="'a' of column 'c' has several weights"):
        Table.from_long({**data, "w": [1, 2, 3, 4]}, rows="c", items="p", weights="w")


def test_rare_items_are_left_out():
    data = {"c": [1, 2, 3, 3], "p": ["x", "x", "x", "y"]}
    assert Table.from_long(data, rows="c", items="p", min_rows=2).names == ("x",)
    with pytest.raises(DataError, match=r"none is in 9 rows\. Lower min_rows="):
        Table.from_long(data, rows="c", items="p", min_rows=9)


def test_new_rows_by_the_items_of_a_model():
    table = Table.from_long({"c": [1, 1, 2], "p": ["x", "y", "y"]}, rows="c", items="p", counts=2)
    new = Table.from_long(
        {"c": [7, 8, 8, 8], "p": ["z", "x", "x", "x"]}, rows="c", items="p", variables=table.variables
    )
    assert new.codes[new.inverse].tolist() == [[0, 0], [2, 0]]
    assert new.variables == table.variables


def test_what_goes_wrong():
    data = {"c": [1, None], "p": ["x", "y"], "q": ["1", "much"]}
    with pytest.raises(DataError, match="'c', row 1: the cell is empty"):
        Table.from_long(data, rows="c", items="p")
    with pytest.raises(DataError, match="no column 'r', which rows= names"):
        Table.from_long(data, rows="r", items="p")
    data["c"] = [1, 2]
    with pytest.raises(DataError, match="'q', which quantity= names, must hold whole numbers"):
        Table.from_long(data, rows="c", items="p", quantity="q")
    with pytest.raises(ParameterError, match=r"'counts' parameter of Table\.from_long"):
        Table.from_long(data, rows="c", items="p", counts=0)


def test_missing_codes_are_no_items():
    """They go for long data as for others, in Python and in a recipe, in rows that are read later too."""
    data = {"c": ["ann", "ann", "bob", "cleo"], "p": ["milk", "k.A.", "bread", "99"]}
    assert Table.from_long(data, rows="c", items="p").names == ("99", "bread", "k.A.", "milk")
    codes = {"p": ["k.A.", "99"]}
    table = Table.from_long(data, rows="c", items="p", missing=codes)
    assert table.names == ("bread", "milk") and table.codes[table.inverse].tolist() == [[0, 1], [1, 0], [0, 0]]
    recipe = Recipe(rows="c", items="p", missing_in=codes)
    assert recipe.table(data).names == ("bread", "milk")
    assert Recipe(rows="c", items="p", missing=("k.A.",)).table(data).names == ("99", "bread", "milk")


def test_rows_and_items_are_two_columns():
    with pytest.raises(DataError, match="rows= and items= both name the column 'c'"):
        Table.from_long({"c": [1, 2], "p": ["x", "y"]}, rows="c", items="c")


def test_many_transactions_need_little_memory():
    import tracemalloc

    rng = np.random.default_rng(0)
    n, items = 200_000, np.array([f"item{i:03d}" for i in range(400)], dtype=object)
    data = {"c": rng.integers(0, 40_000, n), "p": items[np.minimum(rng.zipf(1.4, n), 400) - 1]}
    tracemalloc.start()
    table = Table.from_long(data, rows="c", items="p")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * table.codes.nbytes + 500 * n
