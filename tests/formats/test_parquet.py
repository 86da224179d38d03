"""Parquet files."""

from __future__ import annotations

import sys

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from latentree.errors import DataError, FileFormatError, LatentreeError
from latentree.formats import read_frame, read_table
from latentree.formats.frame import table_from, values_of


@pytest.fixture
def file(tmp_path):
    def write(table, name="some.parquet"):
        pq.write_table(table, tmp_path / name)
        return tmp_path / name

    return write


def test_same_as_the_frame(file):
    frame = pd.DataFrame(
        {
            "level": pd.Categorical(["high", "low", None], categories=["low", "high"], ordered=True),
            "n": pd.array([1, None, 2], dtype="Int64"),
            "t": ["a", "b", None],
            "b": [True, False, True],
        }
    )
    table = read_table(file(pa.Table.from_pandas(frame)))
    assert table.variables == table_from(frame).variables
    assert values_of(table) == values_of(table_from(frame))


def test_options_go_through(file):
    path = file(pa.table({"a": [1, 2], "w": [2.0, 3.0], "l": [[1], [2]]}))
    assert read_table(path, weights="w", drop="l").n == 5
    with pytest.raises(DataError, match="Column 'l' holds lists"):
        read_table(path)


def test_frame_gives_the_cells_back(file):
    assert read_frame(file(pa.table({"a": [1, None]}))).values() == {"a": [1, None]}


def test_other_files(tmp_path):
    (tmp_path / "some.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(FileFormatError, match=r"some.parquet' is no Parquet file"):
        read_table(tmp_path / "some.parquet")


def test_duplicate_names(file):
    path = file(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(DataError, match="Two columns are called 'a'"):
        read_table(path)


def test_without_pyarrow(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(LatentreeError, match=r"pip install 'latentree\[parquet\]'"):
        read_table(tmp_path / "some.parquet")
