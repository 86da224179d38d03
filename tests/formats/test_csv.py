"""CSV and TSV files: cells, types, delimiters, encodings, and files that are broken."""

from __future__ import annotations

import csv
import gzip
import io
import os

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from latentree._table import Table
from latentree.errors import DataError, FileFormatError, LatentreeWarning, ParameterError
from latentree.formats import read_frame, read_table
from latentree.formats._cells import csv_text, plain_cells
from latentree.formats._columns import Column
from latentree.formats._csv import read_csv, write_csv
from latentree.formats._frame import table_from, values_of
from latentree.formats._text import lines_of


@pytest.fixture
def file(tmp_path):
    def write(content, name="some.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def cells(path, **options):
    return values_of(read_table(path, **options))


def test_types(file):
    path = file("n,r,t,z,b\n1,1.0,a,007,True\n2,3.0,1,008,False\n")
    assert [v.states for v in read_table(path).variables] == [
        (1, 2),
        (1, 3),
        ("1", "a"),
        ("007", "008"),
        ("False", "True"),
    ]


@pytest.mark.parametrize("text", ["0.5", "-1e3", "+.25", "1.", "1E-2"])
def test_numbers(file, text):
    variable = read_table(file(f"x,y\n{text},1\n7.25,2\n"), bins={"x": 2}).variables[0]
    assert variable.edges is not None


@pytest.mark.parametrize("text", ["0x10", "1_000", "00.5", "1e", "one", "١"])
def test_texts(file, text):
    assert isinstance(read_table(file(f"x,y\n{text},1\n7,2\n")).variables[0].states[0], str)


def test_spellings_of_one_number_are_one_state(file):
    assert read_table(file("x,y\n1,1\n+1,2\n1.0,1\n2,2\n")).variables[0].states == (1, 2)


def test_continuous_and_infinite_columns(file):
    with pytest.raises(DataError, match=r"Column 'x' is continuous \(row 1: 2.5\)"):
        read_table(file("x\n1\n2.5\n"))
    with pytest.raises(DataError, match="Column 'x', row 1: the value is infinite"):
        read_table(file("x\n1\n-inf\n"))


def test_quotes(file):
    path = file('name,says\n"Smith, J.","he said ""no"""\nJones,"two\nlines"\n')
    assert cells(path) == {"name": ["Smith, J.", "Jones"], "says": ['he said "no"', "two\nlines"]}


def test_blanks_do_not_count(file):
    assert cells(file('a , b\n yes , "x, y"\nno,  z \n')) == {"a": ["yes", "no"], "b": ["x, y", "z"]}


def test_blank_lines_are_passed_over(file):
    assert cells(file("\na,b\n\n1,2\n   \n2,1\n\n\n")) == {"a": [1, 2], "b": [2, 1]}


def test_one_column(file):
    assert cells(file('a\nx\n""\ny\n\n')) == {"a": ["x", None, "y"]}


def test_missing_cells(file):
    table = read_table(file("a,b\n1,?\n,2\nNA,3\n2,2\n"))
    assert values_of(table) == {"a": [1, None, None, 2], "b": [None, 2, 3, 2]}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiter_is_found(file, delimiter):
    path = file("\n".join(delimiter.join(row) for row in (["a", "b"], ["1", "2"], ["2", "1"])))
    assert cells(path) == {"a": [1, 2], "b": [2, 1]}


def test_decimal_commas_do_not_confuse(file):
    assert list(read_frame(file("a;b\n1,5;x\n2,5;y\n")).columns) == ["a", "b"]


def test_delimiter_given(file):
    assert cells(file("a|b\n1|2\n2|1\n"), delimiter="|") == {"a": [1, 2], "b": [2, 1]}
    with pytest.raises(ParameterError, match="'delimiter' parameter of read_table must be one character"):
        read_table(file("a||b\n1||2\n"), delimiter="||")


def test_tsv_keeps_commas(file):
    assert cells(file("a\tb\n1,2\tx\n2,3\ty\n", "some.tsv"))["a"] == ["1,2", "2,3"]


def test_without_header(file):
    assert cells(file("1,2\n2,1\n"), header=False) == {"x1": [1, 2], "x2": [2, 1]}


def test_empty_names_are_numbered(file):
    assert list(read_frame(file(",a\n1,2\n2,1\n")).columns) == ["x1", "a"]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_line_ends(file, ends):
    assert cells(file(ends.join(["a,b", "1,2", "2,1", ""]))) == {"a": [1, 2], "b": [2, 1]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_are_found(file, encoding):
    assert cells(file("größe,b\nklein,1\ngroß,2\n".encode(encoding)))["größe"] == ["klein", "groß"]


def test_other_encodings(file):
    path = file("a,b\nx,1\ngroß,2\n".encode("cp1252"))
    with pytest.raises(FileFormatError, match=r"line 3: byte 11 \(0xdf\) is not utf-8 text.*encoding='cp1252'"):
        read_table(path)
    assert cells(path, encoding="cp1252")["a"] == ["x", "groß"]
    with pytest.raises(ParameterError, match="'encoding'"):
        read_table(path, encoding="klingon")


def test_gzip(file):
    content = b"a,b\n1,2\n2,1\n"
    assert cells(file(gzip.compress(content), "some.csv.gz")) == {"a": [1, 2], "b": [2, 1]}
    with pytest.raises(FileFormatError, match="is damaged"):
        read_table(file(gzip.compress(content)[:-6], "cut.csv.gz"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n\n1,2,3\n", "line 4: 3 cells where the first row has 2"),
        ("a,b\n1,2\n1\n", "line 3: 1 cells where the first row has 2"),
        ('a,b\n"x\ny",1\nz\n', "line 4: 1 cells"),
        ('a,b\n1,"x"y\n2,z\n', "line 2: the quotes do not match"),
        ('a,b\n1,x\n2,"y\n3,z\n', "line 3: the quotes do not match"),
        ("a,b\n1,\0\n", "line 2: a zero character"),
    ],
)
def test_broken_files(file, content, message):
    with pytest.raises(FileFormatError, match=message):
        read_table(file(content))


def test_ragged_row_far_down(file):
    lines = ["a,b", *["1,2"] * 50_000, "1,2,3", *["1,2"] * 10]
    with pytest.raises(FileFormatError, match="line 50002: 3 cells"):
        read_table(file("\n".join(lines)))


def test_a_small_file_that_unpacks_to_a_huge_one(tmp_path, monkeypatch):
    path = tmp_path / "some.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n2,1\n" * 250_000, mtime=0))
    assert read_table(path).n == 500_000
    monkeypatch.setattr("latentree.formats._text.UNSUSPECTED", 1_000_000)
    with pytest.raises(FileFormatError, match="unpacks to more than 1,000,000 bytes, 20 times its size or more"):
        read_table(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ('""\n" "', "is empty"),
        ("a,b\n", "no rows"),
        ("a,a\n1,2\n", "two columns are called 'a'.*header=False"),
        ("0,0\n1,0\n", "header=False"),
    ],
)
def test_files_without_usable_data(file, content, message):
    with pytest.raises(DataError, match=message):
        read_table(file(content))


def test_options_go_through(file):
    table = read_table(file("id,a,n\n1,x,3\n2,y,0\n3,z,2\n"), drop="id", weights="n")
    assert table.names == ("a",)
    assert table.n == 5
    assert table.variables[0].states == ("x", "z")
    assert table.inverse.tolist() == [0, -1, 1]


def test_weights_must_be_numbers(file):
    with pytest.raises(DataError, match=r"The weights in column 'n' must be numbers. Got 'b' in row 1 and 2 more"):
        read_table(file("a,n\nx,3\ny,b\ny,a\nz,a\n"), weights="n")
    for empty in ("", "NA"):
        with pytest.raises(DataError, match=r"Row 1: the weight is missing \(the first of 2\).*0 leaves the row out"):
            read_table(file(f"a,n\nx,3\ny,{empty}\nz,{empty}\n"), weights="n")


def test_types_come_from_rows_that_count(file):
    assert read_table(file("a,n\n1,1\n2,1\nx,0\n"), weights="n").variables[0].states == (1, 2)


def test_given_variables_say_what_cells_mean(file):
    old = read_table(file("a,b,c\n1,1,0.5\nx,2,1.5\n"), bins=2)
    assert old.variables[0].states == ("1", "x")
    new = read_table(file("a,b,c\n1,2.0,9\n1,1,0\n"), variables=old.variables)
    assert values_of(new) == {"a": ["1", "1"], "b": [2, 1], "c": ["> 1", "<= 1"]}
    with pytest.raises(DataError, match="Column 'b', row 1: the value 'x' is not a known state"):
        read_table(file("a,b,c\n1,2,9\n1,x,0\n"), variables=old.variables)


def test_truth_values_of_given_variables(file):
    old = table_from({"a": [True, False]})
    assert cells(file("a\nTrue\nfalse\n"), variables=old.variables) == {"a": [True, False]}


def test_table_read(file):
    assert Table.read(file("a,b\n1,2\n2,1\n")).names == ("a", "b")


def test_suffixes(file):
    assert read_table(file("a,b\n1,2\n2,1\n", "some.txt")).names == ("a", "b")
    assert read_table(file("a,b\n1,2\n2,1\n", "some.data"), format="csv").names == ("a", "b")
    with pytest.raises(ParameterError, match=r"some.data': .* ending in none of \.csv.*format='csv'\.$"):
        read_table(file("a", "some.data"))
    with pytest.raises(ParameterError, match="'format' parameter of read_table must be one of 'csv', 'tsv'"):
        read_table(file("a"), format="word")
    with pytest.raises(ParameterError, match="'delimiter' parameter of read_table does not apply"):
        read_table(file("a", "some.arff"), delimiter=",")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_table("nowhere.csv")


def test_frame_gives_the_cells_back(file):
    frame = read_frame(file("a,b\n 01,x\n,y\n"))
    assert frame.values() == {"a": [" 01", ""], "b": ["x", "y"]}


def test_blanks_are_kept_or_all_gone(file):
    kept = read_frame(file("a,b\n no , yes\nno,yes \n"))
    assert kept.values() == {"a": [" no ", "no"], "b": [" yes", "yes "]}
    gone = read_frame(file('a,b\n no , "yes, so"\nno,yes \n'))
    assert gone.values() == {"a": ["no", "no"], "b": ["yes, so", "yes"]}


# ---- decimal commas ----------------------------------------------------------------------------------------------


def test_decimal_commas(file):
    path = file("x;t;w\n1,5;1,2;0,5\n2;a;1,5\n NA ;b;1\n2,25;a;1\n")
    table = read_table(path, decimal=",", bins={"x": 2}, weights="w")
    assert table.variables[0].edges == (2.0,) and table.n == 4
    assert table.variables[1].states == ("1,2", "a", "b")  # text stays text
    new = read_table(file("x;t\n1,9;a\n2,1;1,2\n"), variables=table.variables, decimal=",")
    assert values_of(new) == {"x": ["<= 2", "> 2"], "t": ["a", "1,2"]}
    with pytest.raises(ParameterError, match=r"'decimal' parameter of Table\.from_frame must be"):
        read_table(path, decimal=";")


def test_decimal_commas_are_told_from_text(file):
    many = "x;y\n" + "".join(f"{i % 40},5;{i % 2}\n" for i in range(400))
    with pytest.raises(DataError, match=r"'x' has 40 different values.*decimal commas \(row 0: '0,5'\).*decimal=','"):
        read_table(file(many))
    with pytest.raises(DataError, match=r"cut by bins=: it holds '1,5' in row 1, .*decimal=','"):
        read_table(file("x;y\n1;1\n1,5;2\n"), bins={"x": 2})
    with pytest.raises(DataError, match=r"must be numbers. Got '1,5' in row 0 and 1 more.*decimal=','"):
        read_table(file("a;w\nx;1,5\ny;2,5\n"), weights="w")


def test_the_first_bad_cell_is_named(file):
    text = "a,b\n" + "".join(f"{v},{i % 2}\n" for i, v in enumerate(["1", "2", "zz", "aa", "zz", "bb"]))
    variables = read_table(file("a,b\n1,0\n2,1\n")).variables
    with pytest.raises(DataError, match=r"row 2: the value 'zz' is not a known state \(the first of 4 such cells\)"):
        read_table(file(text), variables=variables)
    with pytest.raises(DataError, match=r"it holds 'zz' in row 2, which is not a number \(the first of 4 such cells\)"):
        read_table(file(text), bins={"a": 2})


def test_missing_codes_come_before_cutting(file):
    old = read_table(file("age\n20\n30\n40\n50\n999\n"), bins={"age": 2}, missing="999")
    assert old.variables[0].edges == (35.0,)
    new = read_table(file('age\n20\n999\n 999.0 \n""\n'), variables=old.variables, missing=["999"])
    assert values_of(new)["age"] == ["<= 35", None, None, None]


def test_an_empty_cell_is_always_missing(file):
    table = read_table(file("age,b\n20,1\n,2\n40,1\n"), bins={"age": 2}, missing=["999"])
    assert values_of(table)["age"] == ["<= 30", None, ">= 31"]


# ---- writing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz"])
def test_frames_are_written_back(file, tmp_path, name):
    frame = read_frame(file('a,b\n01,"x, y"\n,"say ""z"""\n'))
    write_csv({**frame.values(), "class": [0, 1]}, tmp_path / name)
    assert read_csv(tmp_path / name).values() == {"a": ["01", ""], "b": ["x, y", 'say "z"'], "class": ["0", "1"]}


def test_frame_is_written(file, tmp_path):
    write_csv(read_frame(file("a;b\n1;2\n")), tmp_path / "out.csv", delimiter=";")
    assert (tmp_path / "out.csv").read_text() == "a;b\n1;2\n"


@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["a", 'b"c', "d, e", None]), st.integers(1, 3)), min_size=1, max_size=12))
def test_tables_come_back(tmp_path_factory, rows):
    if all(text is None for text, _ in rows):
        return
    table = table_from({"t": [t for t, _ in rows], "n": [n for _, n in rows]}, weights=[0.5] * len(rows))
    path = tmp_path_factory.mktemp("csv") / "out.csv"
    write_csv(table, path)
    back = read_table(path, weights="weight")
    assert back.variables == table.variables
    assert np.array_equal(back.codes, table.codes)
    assert np.array_equal(back.weights, table.weights)


def test_weights_need_a_name_of_their_own(tmp_path):
    with pytest.raises(ParameterError, match="'weights' parameter of write_csv must be a name that no column has"):
        write_csv(table_from({"weight": [1, 2]}), tmp_path / "out.csv")
    write_csv(table_from({"weight": [1, 2]}), tmp_path / "out.csv", weights="n")


def test_columns_of_different_length_are_not_written(tmp_path):
    with pytest.raises(DataError, match="lengths"):
        write_csv({"a": [1], "b": [1, 2]}, tmp_path / "out.csv")
    assert os.listdir(tmp_path) == []


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_csv({"a": [1]}, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_constant_column_warns(file):
    with pytest.warns(LatentreeWarning, match="Column 'a'"):
        read_table(file("a\n1\n1\n"))


# ---- what Excel writes, and what is too much -----------------------------------------------------------------------


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;", "\ufeffsep=;"])
def test_the_first_line_by_which_excel_tells_the_delimiter(file, first):
    path = file(f"{first}\r\na;b,c\r\n1;2\r\n2;1\r\n")
    assert cells(path) == {"a": [1, 2], "b,c": [2, 1]}
    assert Table.from_chunks(path).names == ("a", "b,c")
    assert read_table(file("sep=|\na;b\n1;2\n2;1\n"), delimiter=";").names == ("a", "b")
    with pytest.raises(FileFormatError, match="line 3: 1 cells where the first row has 2"):
        read_table(file(f"{first}\na;b\n1\n"))


def test_lines_are_cut_as_the_standard_library_cuts_them(monkeypatch):
    monkeypatch.setattr("latentree.formats._text.PIECE", 3)
    for text in ("", "a", "a\n", "ab\r\ncd\rx\n\n\r\r\ny", "\r\n\r\n", "abcdefgh\r", "\n" * 7):
        assert list(lines_of(text, "x")) == list(io.StringIO(text, newline=""))


def test_a_line_without_end_is_refused_before_it_is_cut_up(file, monkeypatch):
    monkeypatch.setattr("latentree.formats._text.MAX_LINE", 1 << 21)
    for name in ("some.csv", "some.arff", "some.hlcm"):
        path = file("a\n" * (name == "some.csv") + "," * 4_000_000, name)
        with pytest.raises(FileFormatError, match=r"line \d: more than 2,097,152 characters without a line end"):
            read_table(path)
        if name == "some.csv":
            with pytest.raises(FileFormatError, match="line 2: more than 2,097,152 characters"):
                Table.from_chunks(path)


def test_a_row_of_too_many_cells_is_refused_before_it_is_cut_up(file):
    for text in ("," * 1_100_000, 'a\n"' + "\n".join("," * 90_000 + '"' + "," * 90_000 + '"' for _ in range(20))):
        with pytest.raises(FileFormatError, match=r"a row of more than 1,000,000 columns"):
            read_table(file(text))
    with pytest.raises(FileFormatError, match="more than 1,000,000 cells in a line"):
        read_table(file("@attribute x {a}\n@data\n" + "," * 1_100_000, "some.arff"))


def test_a_long_row_among_short_ones_is_refused_when_it_comes(file):
    """Not after thousands of such rows have been gathered."""
    with pytest.raises(FileFormatError, match="line 2: 900001 cells where the first row has 2"):
        read_table(file("a,b\n" + ("," * 900_000 + "\n") * 20))


NUMBERS = [0.0, 1.0, 1e-6, 5e-5, 1.2e-5, 1e-4, 0.1]


@st.composite
def cell_columns(draw):
    """Columns of every kind that is written: codes of any values, probabilities, plain values."""
    n = draw(st.integers(0, 12))
    texts = st.text(st.sampled_from('ab,;"\t\r\n \0é𝔸'), max_size=4)
    values = st.one_of(texts, st.integers(-5, 10**7), st.booleans(), st.floats(width=32), st.just(float("nan")))
    coded = st.lists(values, min_size=1, max_size=5).flatmap(
        lambda levels: st.lists(st.integers(-1, len(levels) - 1), min_size=n, max_size=n).map(
            lambda codes: Column(np.array(codes, np.int32), tuple(levels))
        )
    )
    rounded = st.one_of(st.integers(0, 10**6).map(lambda m: m / 10**6), st.sampled_from([*NUMBERS, float("nan")]))
    finer = st.one_of(rounded, st.floats(0, 2))
    numbers = st.one_of(*(st.lists(own, min_size=n, max_size=n).map(np.array) for own in (rounded, finer)))
    plain = st.lists(st.one_of(st.none(), values), min_size=n, max_size=n)
    kinds = draw(st.sampled_from([[coded], [coded, numbers], [coded, numbers, plain]]))
    return {name: draw(st.one_of(kinds)) for name in draw(st.lists(texts, min_size=1, max_size=4, unique=True))}


@given(cell_columns(), st.sampled_from([",", ";", "\t", "é"]))
def test_coded_columns_are_written_as_their_cells_are(columns, delimiter):
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*map(plain_cells, columns.values()), strict=True))
    assert csv_text(columns, delimiter) == out.getvalue().encode()


def test_every_probability_of_six_decimals_is_written_as_python_writes_it():
    every = np.arange(10**6 + 1) / 10**6
    nothing = Column(np.full(len(every), -1, np.int32), ())
    lines = csv_text({"p": every, "none": nothing}).decode().splitlines()
    assert lines == ["p,none", *(f"{p!r}," for p in every.tolist())]


def test_text_that_is_no_text_is_refused_or_passed_on():
    columns = {"a": Column(np.array([0], np.int32), ("\ud800",)), "b": np.array([0.5])}
    with pytest.raises(UnicodeEncodeError):
        csv_text(columns)
    assert csv_text(columns, errors="surrogatepass") == b"a,b\n\xed\xa0\x80,0.5\n"
