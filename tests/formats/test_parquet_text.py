"""Texts in Parquet files are bounded before they are unpacked."""

from __future__ import annotations

import pytest

from latentree.errors import FileFormatError
from latentree.formats import read_frame

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def test_a_long_text_that_many_rows_repeat_is_refused(tmp_path):
    rows = pa.array([i % 2 for i in range(30_000)], pa.int32())
    texts = pa.DictionaryArray.from_arrays(rows, pa.array(["x" * 50_000, "y" * 50_000]))
    file = tmp_path / "long.parquet"
    pq.write_table(pa.table({"a": rows, "t": texts}), file, store_schema=False)
    assert file.stat().st_size < 2**20
    with pytest.raises(FileFormatError, match=r"its texts have more than 1,073,741,824 characters .* column 't'"):
        read_frame(file)


def test_texts_and_categories_are_read_as_before(tmp_path):
    file = tmp_path / "some.parquet"
    levels = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int8()), pa.array(["low", "high"]))
    pq.write_table(pa.table({"t": ["b", None, "a"], "c": levels, "n": [1, 2, 3]}), file)
    frame = read_frame(file)
    assert {name: list(cells) for name, cells in frame.values().items()} == {
        "t": ["b", None, "a"],
        "c": ["high", "low", None],
        "n": [1, 2, 3],
    }
