"""Data sets and generators that come with the package."""

from __future__ import annotations

import csv
import doctest
import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from latentree import datasets
from latentree._table import Table
from latentree.engine._plan import Plan
from latentree.errors import DataError, ParameterError
from latentree.formats._frame import table_from

# Number of rows and columns in [Karciauskas2005] table 6.12.
THESIS = {
    "abalone": (4177, 8),
    "adult": (48842, 14),
    "audiology": (226, 69),
    "credit": (690, 15),
    "heart": (303, 13),
    "housing": (506, 13),
    "image": (2310, 19),
    "letter": (20000, 16),
    "mushroom": (8124, 22),
    "page": (5473, 10),
    "pen": (10992, 16),
    "pima": (768, 8),
    "satimage": (6435, 36),
    "shuttle": (58000, 9),
    "spambase": (4601, 57),
    "thyroid": (7200, 21),
    "vehicle": (846, 18),
    "voting": (435, 16),
    "wisconsin": (699, 9),
    "yeast": (1484, 8),
}


@pytest.mark.parametrize("name", datasets.names())
def test_every_shipped_set_is_as_described(name):
    table = datasets.load(name)
    about = datasets.describe(name)
    assert (table.n, table.n_variables) == (about.rows, about.columns)
    assert about.shipped
    assert all((about.title, about.source, about.licence, about.citation, about.changes))
    assert about.licence in str(about)
    assert about.citation in str(about)


def test_what_may_not_be_passed_on_is_not_shipped():
    """Only what its owners allow, or what stands as a table in a publication."""
    allowed = {"CC BY 4.0", "Published table; no licence stated"}
    assert {datasets.describe(name).licence for name in datasets.names()} == allowed
    for name in datasets.names():
        about = datasets.describe(name)
        assert ("UCI Machine Learning Repository" in about.citation) == (about.licence == "CC BY 4.0")


@pytest.mark.parametrize("name", THESIS)
def test_sizes_of_the_thesis(name):
    assert (datasets.describe(name).rows, datasets.describe(name).columns) == THESIS[name]


def test_voting_has_missing_cells():
    table = datasets.load("voting")
    assert set(table.cardinalities.tolist()) == {2}
    assert table.weights[(table.codes == -1).any(axis=1)].sum() == 203  # only 232 of 435 answered everything


def test_counts_are_weights():
    table = datasets.load("hiv_test")
    assert table.names == ("V1", "V2", "V3", "V4")
    assert table.weights.max() == 170
    assert datasets.load("house_building").n_patterns == 16


def test_icu_has_fourteen_binary_columns():
    table = datasets.load("icu")
    assert " ".join(table.names) == "gender ser can crn inf cpr pre type fra po2 ph pco bic cre"
    assert set(table.cardinalities.tolist()) == {2}


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_have_all_columns(backend):
    frame = datasets.load_frame("icu", backend=backend)
    assert frame.shape == (200, 21)
    same = table_from(frame, columns=datasets.describe("icu").use)
    assert same.variables == datasets.load("icu").variables


def test_frames_with_missing_cells():
    same = table_from(datasets.load_frame("voting"), drop="party")
    assert same.variables == datasets.load("voting").variables
    assert np.array_equal(same.codes, datasets.load("voting").codes)


def test_unknown_names():
    with pytest.raises(DataError, match=r"There is no data set 'mushrooms'. Did you mean 'mushroom'"):
        datasets.load("mushrooms")
    with pytest.raises(DataError, match=r"There are .*voting"):
        datasets.describe("qqqq")


def test_sets_that_are_not_shipped(tmp_path, monkeypatch):
    monkeypatch.delenv("LATENTREE_DATA", raising=False)
    with pytest.raises(DataError, match=r"'coil42' is not part of the package .*coil/coil42.csv.gz.*data_dir="):
        datasets.load("coil42")
    with pytest.raises(DataError, match=r"'coil42' should be in .*, which is not there"):
        datasets.load("coil42", data_dir=tmp_path)
    (tmp_path / "scale").mkdir()
    (tmp_path / "scale" / "nltcs.test.csv.gz").write_text("0,1\n1,0\n")
    assert datasets.load("nltcs_test", data_dir=tmp_path).names == ("x1", "x2")
    monkeypatch.setenv("LATENTREE_DATA", str(tmp_path))
    assert datasets.load("nltcs_test").n == 2
    assert not datasets.describe("coil42").shipped


def test_names():
    assert set(THESIS) - {"housing", "pima"} <= set(datasets.names())
    assert {"coil42", "housing", "pima"} <= set(datasets.names(shipped=False))
    assert not set(datasets.names()) & set(datasets.names(shipped=False))


@pytest.mark.parametrize(
    ("name", "n_leaves", "cardinalities"),
    [("d7", 7, [3, 3, 3]), ("d12", 12, [2, 2, 2, 3, 3, 3, 3]), ("d18", 18, [2, 2, 2, 2, 3, 3, 3, 3, 3, 3])],
)
def test_generators(name, n_leaves, cardinalities):
    model = datasets.generator(name)
    assert model.tree.n_variables == n_leaves
    assert sorted(model.tree.cardinality[model.tree.latent].tolist()) == cardinalities
    assert [v.name for v in model.variables] == [f"X{i + 1}" for i in range(n_leaves)]
    for node in range(
        model.tree.n_nodes
    ):  # one entry of every row is above 0.6 ([ChenZhangWang] 4, [Zhang2004] 5.1), but for the root's
        assert node == 0 or (model.table(node).max(axis=1) > 0.6).all()


def test_generators_log_likelihood():
    # The same by the formula of this tree: two branches of three leaves and one leaf under the root.
    model = datasets.generator("d7")
    rows = np.array([[0, 1, 2, 2, 1, 1, 1], [1, 2, 2, 1, 2, 2, 0], [2, 0, 1, 0, 0, 0, 2]])
    root, left, right = (model.table(name) for name in ("Z1", "Z2", "Z3"))
    leaf = [model.table(f"X{i + 1}") for i in range(7)]
    total = 0.0
    for r in rows:
        below_left = left @ (leaf[0][:, r[0]] * leaf[1][:, r[1]] * leaf[2][:, r[2]])
        below_right = right @ (leaf[4][:, r[4]] * leaf[5][:, r[5]] * leaf[6][:, r[6]])
        total += np.log(root[0] @ (leaf[3][:, r[3]] * below_left * below_right))
    table = Table.from_codes(rows, model.variables)
    assert Plan.of(model, table).log_likelihood(model.parameters) == pytest.approx(total, abs=1e-12)


def test_samples():
    table = datasets.sample_from("d7", 500, seed=1)
    assert table.n == 500
    assert table.variables == datasets.generator("d7").variables
    again = datasets.sample_from("d7", 500, seed=1)
    assert np.array_equal(table.codes, again.codes)
    assert not np.array_equal(table.inverse, datasets.sample_from("d7", 500, seed=2).inverse)


def test_unknown_generators():
    with pytest.raises(
        ParameterError, match=r"'name' parameter of generator must be one of 'd7', 'd12', 'd18'.*Did you mean"
    ):
        datasets.generator("d8")


def test_examples():
    result = doctest.testmod(datasets)
    assert result.failed == 0
    assert result.attempted > 0


# ---- codebooks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", datasets.names())
def test_every_shipped_set_has_a_codebook(name):
    book, about = datasets.codebook(name), datasets.describe(name)
    columns = [column for column in datasets.read(name).columns if column != about.weights]
    assert [own.name for own in book.entries] == columns
    assert not any(re.fullmatch(r"x\d+", own.column) and own.name == own.column for own in book.entries)
    assert book.source and f"Names, values and texts: {book.source}." in str(book)
    assert all(own.text or "lost" in book.note or name in ("audiology", "soybean") for own in book.entries)
    for variable in datasets.load(name).variables:
        own = book[variable.name]
        codes = {code: label for code, label in own.values.items() if code != label} if book.keep_codes else {}
        told = f" ({', '.join(f'{code} = {label}' for code, label in codes.items())})" if codes else ""
        assert variable.label == own.text + told  # states that are codes are explained where they are shown
        if not book.keep_codes:
            assert variable.states == tuple(book[variable.name].values.values())


@pytest.mark.parametrize("name", [name for name in datasets.names() if not datasets.codebook(name).keep_codes])
def test_names_and_words_change_no_code(name):
    """Rows, columns and states are in the order of the files: results are those of earlier versions."""
    with gzip.open(Path(datasets.__file__).parent / "data" / f"{name}.csv.gz", "rt") as file:
        _, *rows = csv.reader(file)
    table = datasets.load(name)
    width = table.n_variables
    raw = np.array([[-1 if cell == "?" else int(cell) for cell in row[:width]] for row in rows])
    assert np.array_equal(table.codes[table.inverse], raw)


def test_published_counts():
    """Counts as the repository publishes them, value by value."""

    def counts(name, column):
        return datasets.load_frame(name)[column].value_counts().to_dict()

    assert counts("mushroom", "odor") == {
        "none": 3528, "foul": 2160, "spicy": 576, "fishy": 576, "almond": 400, "anise": 400, "pungent": 256,
        "creosote": 192, "musty": 36,
    }  # fmt: skip
    assert counts("abalone", "sex") == {"male": 1528, "infant": 1342, "female": 1307}
    assert counts("adult", "sex") == {"Male": 32650, "Female": 16192}
    assert counts("heart", "sex") == {"male": 206, "female": 97}
    assert counts("voting", "party") == {"democrat": 267, "republican": 168}
    votes = datasets.load_frame("voting")
    by_party = votes.groupby("party")["physician-fee-freeze"].value_counts().to_dict()
    assert by_party == {
        ("democrat", "no"): 245,
        ("democrat", "yes"): 14,
        ("republican", "yes"): 163,
        ("republican", "no"): 2,
    }


def test_the_party_is_outside_the_fit():
    assert list(datasets.load_frame("voting").columns)[-1] == "party"
    assert "party" not in datasets.load("voting").names and datasets.load("voting").n_variables == 16


@pytest.mark.filterwarnings("ignore:Column 'veil-type' has only one value")
@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frames_have_the_order_of_the_codebook(backend):
    for name in ("mushroom", "heart", "solar"):
        same = table_from(datasets.load_frame(name, backend=backend))
        assert same.variables == datasets.load(name).variables


def test_names_that_are_lost_are_said_to_be():
    assert all("lost" in datasets.codebook(name).note for name in ("credit", "shuttle", "house_building"))
    assert datasets.codebook("coil42").entries == ()
