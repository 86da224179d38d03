"""Parquet files."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from latentree.errors import DataError, FileFormatError, LatentreeError
from latentree.formats import read_frame, read_table
from latentree.formats._frame import table_from, values_of
from latentree.formats._parquet import read_parquet


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
    with pytest.raises(FileFormatError, match=r"some.parquet' is not a Parquet file"):
        read_table(tmp_path / "some.parquet")


def test_duplicate_names(file):
    path = file(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(DataError, match="Two columns are called 'a'"):
        read_table(path)


def test_without_pyarrow(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(LatentreeError, match=r"pip install 'latentree\[parquet\]'"):
        read_table(tmp_path / "some.parquet")


def test_damage_that_shows_itself_late(file):
    path = file(pa.table({"a": ["some text", "other text"] * 500}))
    content = path.read_bytes()
    for at in (4, 6):
        path.write_bytes(content[:at] + b"\xff" * 8 + content[at + 8 :])
        with pytest.raises(FileFormatError, match="is not a Parquet file that can be read"):
            read_table(path)
    with pytest.raises(FileNotFoundError):
        read_table(path.with_name("none.parquet"))


def test_more_cells_than_can_be_held(file):
    path = file(pa.table({"a": pa.array([1]).take(pa.array([0] * 10**6)), "b": pa.nulls(10**6)}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("latentree.formats._parquet.MAX_CELLS", 1_999_999)
        with pytest.raises(FileFormatError, match="1,000,000 rows of 2 columns; at most 1,999,999 cells"):
            read_table(path)
        assert list(read_parquet(path, columns=["a"]).values()) == ["a"]


def test_a_small_file_of_very_many_equal_cells_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "some.parquet"
    pq.write_table(pa.table({"a": np.zeros(1_000_000, dtype=np.int8)}), path)
    assert read_frame(path).n_rows == 1_000_000
    monkeypatch.setattr("latentree.formats._parquet.UNSUSPECTED", 100_000)
    with pytest.raises(FileFormatError, match="cells of a file of its size are read at once"):
        read_frame(path)
