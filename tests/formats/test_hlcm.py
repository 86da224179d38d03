"""The text format of the first programs for hierarchical latent class models."""

from __future__ import annotations

import numpy as np
import pytest

from latentree.errors import DataError, FileFormatError
from latentree.formats import read_table
from latentree.formats._frame import table_from
from latentree.formats._hlcm import write_hlcm

FILE = """// made by hand
Name: some data

A: s0 s1 s2   // three states
B: no yes
// patterns
0 1 3.0
1 -1 2
0 1 0.5
"""


@pytest.fixture
def file(tmp_path):
    def write(content, name="some.hlcm"):
        path = tmp_path / name
        path.write_text(content)
        return path

    return write


@pytest.mark.parametrize("name", ["some.hlcm", "some.txt"])
def test_read(file, name):
    table = read_table(file(FILE, name), keep_levels=True)
    assert [v.states for v in table.variables] == [("s0", "s1", "s2"), ("no", "yes")]
    assert table.codes.tolist() == [[0, 1], [1, -1]]
    assert table.weights.tolist() == [3.5, 2]


def test_options_go_through(file):
    assert read_table(file(FILE), drop="B", keep_levels=True).names == ("A",)
    assert read_table(file(FILE), weights=[1, 1, 1], keep_levels=True).n == 3


def test_numbers_are_states(file):
    assert read_table(file("Name: x\nA: 2 1\n0 1\n1 1\n")).variables[0].states == (2, 1)


def test_a_variable_may_be_called_name(file):
    assert read_table(file("Name: x\nName: a b\n0 1\n1 1\n")).names == ("Name",)


@pytest.mark.parametrize("name", ["out.hlcm", "out.hlcm.gz"])
def test_round_trip(tmp_path, name):
    table = table_from({"a": ["x", "y", None, "x"], "b": [3, 1, 1, 3]}, weights=[1, 0.1, 2, 1])
    write_hlcm(table, tmp_path / name, name="my data")
    back = read_table(tmp_path / name)
    assert back.variables == table.variables
    assert np.array_equal(back.codes, table.codes)
    assert np.array_equal(back.weights, table.weights)


def test_names_are_simplified(tmp_path):
    write_hlcm(table_from({"Item 1: a": ["not at all", "> 60"]}), tmp_path / "out.hlcm")
    assert (tmp_path / "out.hlcm").read_text().splitlines()[:2] == ["Name: data", "Item_1_a: >_60 not_at_all"]


def test_names_that_would_be_the_same(tmp_path):
    with pytest.raises(DataError, match="Two names would both be written as 'a_b'"):
        write_hlcm(table_from({"a b": [1, 2], "a:b": [1, 2]}), tmp_path / "out.hlcm")
    with pytest.raises(DataError, match="Two states of 'a' would both be written as 'x_y'"):
        write_hlcm(table_from({"a": ["x y", "x:y"]}), tmp_path / "out.hlcm")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Name: x\nA: a b\n0 1 1\n", "line 3: 3 numbers; 1 state numbers and a weight are needed"),
        ("Name: x\nA: a b\n2 1\n", "line 3: 'A' has 2 states, numbers 0 to 1. Got 2"),
        ("Name: x\nA: a b\nzero 1\n", "line 3: state numbers and a weight are needed"),
        ("Name: x\nA:\n0 1\n", "line 2: a variable needs a name, a colon and its states"),
        ("Name: x\nA: a a\n0 1\n", "line 2: variable 'A' lists a state twice"),
        ("Name: x\nA: a b\n0 1\nB: a b\n", "line 4: a variable after the first pattern"),
        ("// nothing\n", "has no line with a variable"),
    ],
)
def test_broken_files(file, content, message):
    with pytest.raises(FileFormatError, match=message):
        read_table(file(content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Name: x\nA: a b\n", "has no rows"),
        ("Name: x\nA: a b\nA: a b\n0 0 1\n", "line 3: two variables are called 'A'"),
        ("Name: x\nA: a b\n0 -1\n", "the weight is -1"),
    ],
)
def test_files_without_usable_data(file, content, message):
    with pytest.raises(DataError, match=message):
        read_table(file(content))
