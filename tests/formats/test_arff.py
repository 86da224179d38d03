"""ARFF files of Weka."""

from __future__ import annotations

import pytest

from latentree.errors import DataError, FileFormatError
from latentree.formats import read_frame, read_table
from latentree.formats._frame import values_of

HEADER = """% a comment
@RELATION 'some data'

@attribute outlook {sunny, 'over cast', "rainy\\"day", it\\'s}
@attribute grade { 3, 1, 2 }
@ATTRIBUTE 'the size' numeric
@attribute word string
@data
"""


@pytest.fixture
def file(tmp_path):
    def write(content, name="some.arff"):
        path = tmp_path / name
        path.write_text(content)
        return path

    return write


def test_attributes(file):
    path = file(HEADER.replace(", it\\'s", "") + "sunny,1,2,'a, b'\n% between\n'over cast',3,1,c\n?,?,?,?\n")
    table = read_table(path, keep_levels=True)
    assert table.names == ("outlook", "grade", "the size", "word")
    assert [v.states for v in table.variables] == [
        ("sunny", "over cast", 'rainy"day'),
        (3, 1, 2),
        (1, 2),
        ("a, b", "c"),
    ]
    assert values_of(table) == {
        "outlook": ["sunny", "over cast", None],
        "grade": [1, 3, None],
        "the size": [2, 1, None],
        "word": ["a, b", "c", None],
    }


def test_continuous_attributes(file):
    path = file("@relation r\n@attribute x real\n@data\n0.5\n1.5\n2.5\n")
    with pytest.raises(DataError, match="Column 'x' is continuous"):
        read_table(path)
    assert read_table(path, bins=2).variables[0].states == ("<= 1.5", "> 1.5")


def test_weights(file):
    path = file("@relation r\n@attribute a {x,y}\n@attribute b {u,v}\n@data\nx,u,{2}\ny,v\nx, 'u' , {0.5}\n")
    table = read_table(path)
    assert table.n == 3.5
    assert sorted(table.weights.tolist()) == [1, 2.5]
    assert read_frame(path).weights.tolist() == [2, 1, 0.5]


def test_tabs_and_quotes(file):
    path = file("@relation r\n@attribute a {'x y',z}\n@attribute b {u,v}\n@data\n'x y'\tu\nz\tv\n")
    assert values_of(read_table(path)) == {"a": ["x y", "z"], "b": ["u", "v"]}


def test_a_quoted_question_mark_is_a_value(file):
    path = file("@relation r\n@attribute a {'?',b}\n@data\n'?'\nb\n?\n")
    assert values_of(read_table(path, missing=()))["a"] == ["?", "b", None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("@relation r\n@attribute a {x,y}\n@data\nz\n", "line 4: attribute 'a' has no value 'z'. It has x, y"),
        ("@relation r\n@attribute a {x,y}\n@data\nx,y\n", "line 4: 2 cells for 1 attributes"),
        ("@relation r\n@attribute a numeric\n@data\nx\n", "line 4: attribute 'a' must be a number. Got 'x'"),
        ("@relation r\n@attribute a {x,y}\n@data\n{0 x}\n", "line 4: sparse rows cannot be read"),
        ("@relation r\n@attribute a {x,y}\n@data\nx,{w}\n", "line 4: the weight must be a number. Got 'w'"),
        ("@relation r\n@attribute a {x,y}\n@data\n'x\n", "line 4: the quotes do not match"),
        ("@relation r\n@attribute a date 'yyyy'\n@data\n", "line 2: attribute 'a' is of type date"),
        ("@relation r\n@attribute a relational\n@data\n", "line 2: attribute 'a' is of type relational"),
        ("@relation r\n@attribute a {x,y\n@data\n", "line 2: the values of 'a' must end with '}'"),
        ("@relation r\n@attribute a {x,x}\n@data\n", "line 2: attribute 'a' lists the value 'x' twice"),
        ("@relation r\n@attribute a\n@data\n", "line 2: an attribute needs a name and a type"),
        ("@relation r\n@data\n", "line 2: @data before any @attribute"),
        ("@relation r\n@attribute a {x}\n", "has no line @data"),
        ("a,b\n1,2\n", "line 1: @relation, @attribute or @data must come here"),
    ],
)
def test_broken_files(file, content, message):
    with pytest.raises(FileFormatError, match=message):
        read_table(file(content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("@relation r\n@attribute a {x}\n@data\n", "has no rows"),
        ("@relation r\n@attribute a {x}\n@attribute a {y}\n@data\nx,y\n", "line 3: two attributes are called 'a'"),
    ],
)
def test_files_without_usable_data(file, content, message):
    with pytest.raises(DataError, match=message):
        read_table(file(content))
