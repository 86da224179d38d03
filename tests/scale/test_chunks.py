"""Tables from data in pieces: the same as from all data at once."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import latentree as lt
from latentree.errors import DataError, FileFormatError, LatentreeError, ParameterError
from latentree.formats._frame import values_of
from latentree.scale import Partitions, _merge as merge, from_chunks
from latentree.scale._chunks import bytes_of

WORDS = st.sampled_from(["yes", "no", " yes", "NA", "?", None])
NUMBERS = st.sampled_from([1, 2, 3, None])


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    """Merge and write early, so that small data take the ways of large ones."""
    monkeypatch.setattr(merge, "PENDING", 50)


def same(a, b):
    """Two tables that say the same."""
    a, b = a.ordered(), b.ordered()
    assert a.variables == b.variables
    assert a.codes.tolist() == b.codes.tolist()
    assert a.weights.tolist() == b.weights.tolist()
    assert a.n == b.n


def survey(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.random(n) < 0.4
    frame = pd.DataFrame({f"q{i}": np.where(rng.random(n) < np.where(z, 0.8, 0.2), "yes", "no") for i in range(8)})
    frame["age"] = rng.integers(18, 80, n)
    frame["income"] = rng.gamma(2.0, 1000.0, n)
    frame["w"] = rng.integers(1, 4, n)
    frame.loc[rng.random(n) < 0.05, "q3"] = None
    return frame


QUESTIONS = [f"q{i}" for i in range(8)]


def cut(frame, n):
    return [frame.iloc[i : i + n] for i in range(0, len(frame), n)]


@given(st.lists(st.tuples(WORDS, NUMBERS, WORDS, st.integers(0, 3)), min_size=4, max_size=40), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
def test_pieces_say_what_the_whole_says(rows, size):
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "w"])
    try:
        whole = lt.Table.from_frame(frame, weights="w")
    except DataError as error:
        with pytest.raises(DataError, match=str(error).split(":")[0].split(".")[0][:30]):
            from_chunks(cut(frame, size), weights="w")
        return
    same(from_chunks(cut(frame, size), weights="w"), whole)
    if whole.n_patterns > 1:
        parts = from_chunks(cut(frame, size), weights="w", memory=1)
        same(parts.joined() if isinstance(parts, Partitions) else parts, whole)


def test_an_iterator_is_read_once():
    frame = survey()
    same(from_chunks(iter(cut(frame[QUESTIONS], 300))), lt.Table.from_frame(frame[QUESTIONS]))


@pytest.mark.parametrize("memory", ["2GB", 5000])
def test_bins_are_cut_where_all_data_cut_them(memory):
    frame = survey().drop(columns="w")
    whole = lt.Table.from_frame(frame, bins={"age": 4, "income": 3}, merge_rare=5)
    found = from_chunks(lambda: cut(frame, 170), bins={"age": 4, "income": 3}, merge_rare=5, memory=memory)
    assert isinstance(found, Partitions) == (memory == 5000)
    same(found.joined() if isinstance(found, Partitions) else found, whole)


def test_bins_need_a_source_that_can_be_read_twice():
    with pytest.raises(DataError, match="read twice"):
        from_chunks(iter(cut(survey(), 100)), bins=2)


def test_variables_of_earlier_data_are_kept():
    frame = survey()[QUESTIONS]
    variables = lt.Table.from_frame(frame).variables
    some = frame[frame["q0"] == "yes"]
    found = from_chunks(iter(cut(some, 100)), variables=variables)
    assert found.variables == variables
    same(found, lt.Table.from_frame(some, variables=variables))
    with pytest.raises(DataError, match=r"Piece 3, whose first row is row 200 of all: .*'maybe' is not a known state"):
        from_chunks([*cut(frame[:200], 100), frame[:5].assign(q1="maybe")], variables=variables)


def test_arrays_and_whole_floats_are_one_kind_of_number():
    whole = np.array([[1, 2, 1], [2, 2, 1], [1, 1, 2], [2, 1, 1]] * 5)
    with_gap = whole[:6].astype(object)
    with_gap[0, 0] = np.nan
    pieces = [pd.DataFrame(with_gap.astype(float)), pd.DataFrame(whole[6:])]
    same(from_chunks(pieces), lt.Table.from_frame(pd.concat(pieces)))


def test_many_patterns_are_kept_in_a_folder_and_opened_again(tmp_path):
    frame = survey()[QUESTIONS]
    found = from_chunks(cut(frame, 100), memory=2000, folder=tmp_path / "parts")
    assert isinstance(found, Partitions) and len(found.sizes) > 1
    assert found.n_patterns == lt.Table.from_frame(frame).n_patterns  # every row is in one table only
    again = Partitions.open(tmp_path / "parts")
    assert again.variables == found.variables and again.n == found.n and again.sizes == found.sizes
    same(again.joined(), lt.Table.from_frame(frame))
    assert not list((tmp_path / "parts").glob("r*-*"))  # nothing raw is left
    with pytest.raises(DataError, match="is not empty"):
        from_chunks(cut(frame, 100), memory=2000, folder=tmp_path / "parts")


def test_a_folder_that_is_none_of_ours_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"there is no 'table.json'"):
        Partitions.open(tmp_path)
    for text, match in (
        ("{", "is damaged"),
        ("[]", "does not describe partitions"),
        ('{"format": "other"}', "does not describe partitions"),
        (json.dumps({"format": "latentree-partitions", "sizes": 3}), "another version"),
    ):
        (tmp_path / "table.json").write_text(text)
        with pytest.raises(FileFormatError, match=match):
            Partitions.open(tmp_path)


def test_a_temporary_folder_goes_with_its_table():
    found = from_chunks(cut(survey()[QUESTIONS], 100), memory=2000)
    folder = found.folder
    assert folder.exists()
    del found
    assert not folder.exists()


# ---- files ---------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    """The same rows as Parquet, CSV and packed CSV, in folders."""
    frame = survey()[[*QUESTIONS, "w"]]
    frame["wave"] = np.repeat([1, 2], 1000)
    for kind in ("parquet", "csv", "packed", "hive"):
        (tmp_path / kind).mkdir()
    for i, piece in enumerate(cut(frame, 500)):
        piece.to_parquet(tmp_path / "parquet" / f"{i}.parquet")
        piece.to_csv(tmp_path / "csv" / f"{i}.csv", index=False)
        with gzip.open(tmp_path / "packed" / f"{i}.csv.gz", "wt") as file:
            piece.to_csv(file, index=False)
        wave = tmp_path / "hive" / f"wave={piece['wave'].iloc[0]}"
        wave.mkdir(exist_ok=True)
        piece.drop(columns="wave").to_parquet(wave / f"{i}.parquet")
    (tmp_path / "parquet" / "_metadata").write_text("not data")
    return tmp_path, frame


@pytest.mark.parametrize("counter", ["merge", "duckdb"])
@pytest.mark.parametrize("kind", ["parquet", "csv", "packed", "hive"])
def test_folders_of_files(files, kind, counter):
    folder, frame = files
    if counter == "duckdb" and kind in ("csv", "packed"):
        with pytest.raises(DataError, match="DuckDB counts Parquet files"):
            from_chunks(folder / kind, counter=counter)
        return
    whole = lt.Table.from_frame(frame, weights="w")
    found = from_chunks(folder / kind, weights="w", counter=counter)
    assert sorted(v.name for v in found.variables) == sorted(v.name for v in whole.variables)
    same(found.select(whole.names), whole)
    some = from_chunks(str(folder / kind / "**/*.*"), columns=["q1", "q2"], counter=counter)
    same(some, lt.Table.from_frame(frame[["q1", "q2"]]))
    same(from_chunks(folder / kind, columns="q1", counter=counter), lt.Table.from_frame(frame[["q1"]]))


def test_duckdb_relations(files):
    duckdb = pytest.importorskip("duckdb")
    folder, frame = files
    relation = duckdb.sql(f"SELECT q0, q1, q2, w FROM read_parquet('{folder}/parquet/*.parquet') WHERE wave = 1")
    same(from_chunks(relation, weights="w"), lt.Table.from_frame(frame[["q0", "q1", "q2", "w"]][:1000], weights="w"))
    with pytest.raises(DataError, match="There is no column 'nope'"):
        from_chunks(relation, drop=["nope"])


@pytest.mark.parametrize("counter", ["merge", "duckdb"])
@pytest.mark.parametrize(("bad", "told"), [(None, "weight is missing"), (-1.0, "at least 0")])
def test_bad_weights_are_told(tmp_path, counter, bad, told):
    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "u", "v"], "w": [1.0, 2.0, bad]})
    frame.to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(DataError, match=told):
        from_chunks(tmp_path / "bad.parquet", weights="w", counter=counter)


def test_names_are_quoted_for_the_database(tmp_path):
    frame = pd.DataFrame({'a"; DROP TABLE x; --': ["x", "y"] * 3, "select": ["u", "u", "v"] * 2})
    frame.to_parquet(tmp_path / "odd.parquet")
    same(from_chunks(tmp_path / "odd.parquet", counter="duckdb"), lt.Table.from_frame(frame))


def test_quotes_and_line_breaks_in_streamed_text(tmp_path):
    text = 'a,b\n"x, 1","two\nlines"\ny, "z"\n"x, 1","two\nlines"\n'
    (tmp_path / "odd.csv").write_text(text)
    whole = lt.Table.read(tmp_path / "odd.csv")
    same(from_chunks(tmp_path / "odd.csv"), whole)
    assert values_of(whole)["a"] == ["x, 1", "y", "x, 1"]


def test_the_delimiter_is_found_though_the_sample_ends_within_a_line(tmp_path):
    (tmp_path / "long.csv").write_text("xxxx;y\n" + "yes;u\nno ;v\n" * 2000)
    same(from_chunks(tmp_path / "long.csv"), lt.Table.read(tmp_path / "long.csv"))


def test_files_with_magic_in_their_names(tmp_path):
    for name, value in (("p[1]", "x"), ("p1", "y")):
        pd.DataFrame({"a": [value, "z"], "b": ["u", "v"]}).to_parquet(tmp_path / f"{name}.parquet")
    for counter in ("merge", "duckdb"):
        assert from_chunks(tmp_path / "p[1].parquet", counter=counter).variables[0].states == ("x", "z")


def test_duckdb_does_not_mix_types(tmp_path):
    pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({"a": [1.0, 3.0], "b": ["u", "v"]}).to_parquet(tmp_path / "2.parquet")
    assert from_chunks(tmp_path).variables[0].states == (1, 2, 3)
    with pytest.raises(DataError, match="other columns or types"):
        from_chunks(tmp_path, counter="duckdb")
    with pytest.raises(DataError, match="for data frames"):
        from_chunks([pd.DataFrame({"a": [1]})], counter="duckdb")


@pytest.mark.parametrize("counter", ["merge", "duckdb"])
def test_folders_between_count_and_those_above_do_not(tmp_path, counter):
    for key in ("a%20b", "__HIVE_DEFAULT_PARTITION__"):
        folder = tmp_path / "exp=5" / "data" / f"k={key}"
        folder.mkdir(parents=True)
        pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"]}).to_parquet(folder / "1.parquet")
    with pytest.warns(lt.LatentreeWarning, match="'k' has only one value"):
        found = from_chunks(tmp_path / "exp=5" / "data", counter=counter)
    assert found.names == ("a", "b", "k") and found.variables[2].states == ("a b",)
    assert (found.codes[:, 2] == -1).any()


@pytest.mark.parametrize("counter", ["merge", "duckdb"])
def test_columns_left_out(files, counter):
    folder, frame = files
    whole = lt.Table.from_frame(frame, weights="w", drop=["q1", "wave"])
    same(from_chunks(folder / "parquet", weights="w", drop=["q1", "wave"], counter=counter), whole)
    variables = whole.variables
    some = from_chunks(folder / "parquet", variables=variables, drop="q2", counter=counter)
    assert some.names == tuple(v.name for v in variables if v.name != "q2")


def test_a_piece_without_values_says_nothing_of_their_kind():
    pieces = [{"x": [None, None], "y": ["a", "b"]}, {"x": [1, 2], "y": ["a", "b"]}, {"x": [3.0, 1.0], "y": ["a", "b"]}]
    assert from_chunks([pd.DataFrame(p) for p in pieces]).variables[0].states == (1, 2, 3)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(DataError, match="All columns need the same number"):
        from_chunks([{"x": [1, 2], "y": [1]}])


def test_weights_with_decimal_commas(tmp_path):
    (tmp_path / "w.csv").write_text("a;w\nx;1,5\ny;2\nx;0,5\n")
    same(
        from_chunks(tmp_path / "w.csv", weights="w", decimal=","),
        lt.Table.read(tmp_path / "w.csv", weights="w", decimal=","),
    )


@pytest.mark.parametrize("text", ["a,b\n1,2\n3\n", 'a,b\n1,"2\n'])
def test_damaged_text_is_told(tmp_path, text):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(FileFormatError, match=r"bad\.csv"):
        from_chunks(tmp_path / "bad.csv")


def test_other_encodings(tmp_path):
    (tmp_path / "x.csv").write_bytes("a,b\nf\xfcr,1\nwider,2\n".encode("latin-1"))
    with pytest.raises(FileFormatError, match="encoding='cp1252'"):
        from_chunks(tmp_path / "x.csv")
    found = from_chunks(tmp_path / "x.csv", encoding="latin-1")
    assert found.variables[0].states == ("f\xfcr", "wider")


# ---- what is wrong -----------------------------------------------------------------------------------------------


def test_errors_say_what_to_do(tmp_path):
    with pytest.raises(DataError, match="no file or folder"):
        from_chunks(tmp_path / "nothing")
    with pytest.raises(DataError, match="holds no file of data"):
        from_chunks(tmp_path)
    with pytest.raises(DataError, match=r"one piece\. Use Table\.from_frame"):
        from_chunks(survey())
    with pytest.raises(DataError, match="no piece"):
        from_chunks([])
    with pytest.raises(DataError, match="Piece 2, whose first row is row 2 of all: Column 'b' is in the first piece"):
        from_chunks([{"a": ["x", "y"], "b": ["x", "y"]}, {"a": ["x"]}])
    with pytest.raises(ParameterError, match="'2GB'"):
        from_chunks([], memory="much")
    with pytest.raises(ParameterError, match="'merge' or 'duckdb'"):
        from_chunks([], counter="sql")
    numbers = [{"x": np.arange(i, i + 20000), "y": ["a"] * 20000} for i in (0, 20000)]
    with pytest.raises(DataError, match="more than 32,767 different values"):
        from_chunks(numbers)


def test_bytes():
    assert [bytes_of(x) for x in ("2GB", "1.5 MiB", "10k", 7)] == [2e9, 1.5e6, 1e4, 7.0]


def test_what_needs_all_rows_says_so():
    found = from_chunks(cut(survey()[QUESTIONS], 100), memory=2000)
    with pytest.raises(DataError, match=r"lie in \d+ tables.*table\.sample"):
        lt.search.learn(found, rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="at once"):
        _ = found.inverse
    drawn = found.sample(500, np.random.default_rng(0))
    assert drawn.n == 500 and drawn.variables == found.variables


def test_packages_that_are_not_there(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(LatentreeError, match=r"latentree\[duckdb\]"):
        from_chunks(tmp_path, counter="duckdb")
