"""Workbooks and files of SPSS, Stata and SAS, each written by its own library."""

from __future__ import annotations

import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import latentree as lt
from latentree import DataError, FileFormatError, LatentreeWarning, Table, check
from latentree.errors import LatentreeError
from latentree.formats import DATA_FORMATS, read_frame

SHEETS = Path(__file__).parent / "sheets"
LABELS = {"oft": {1: "nie", 2: "manchmal", 3: "oft", 9: "k.A."}, "sex": {1: "männlich", 2: "weiblich", 3: "divers"}}
TEXTS = {"oft": "Wie oft lesen Sie?", "sex": "Geschlecht"}
FRAME = pd.DataFrame({"oft": [1, 2, 9, 3, 1, None], "sex": [1, 2, 2, 1, 1, 2]})


@pytest.fixture
def statistics():
    return pytest.importorskip("pyreadstat")


def check_labelled(table: Table) -> None:
    often, sex = table.variables
    assert often.states == ("nie", "manchmal", "oft")
    assert sex.states == ("männlich", "weiblich") and sex.never_seen == ("divers",)
    assert (often.label, sex.label) == ("Wie oft lesen Sie?", "Geschlecht")
    assert table.codes[table.inverse][:, 0].tolist() == [0, 1, -1, 2, 0, -1]


@pytest.mark.parametrize("suffix", [".sav", ".zsav"])
@pytest.mark.filterwarnings("ignore:No row has 'divers'")
def test_spss(tmp_path, statistics, suffix):
    path = tmp_path / f"survey{suffix}"
    statistics.write_sav(
        FRAME, path, column_labels=TEXTS, variable_value_labels=LABELS, missing_ranges={"oft": [9]},
        variable_measure={"oft": "ordinal"}, compress=suffix == ".zsav",
    )  # fmt: skip
    table = Table.read(path)
    check_labelled(table)
    assert [v.order for v in table.variables] == ["declared", ""]


@pytest.mark.filterwarnings("ignore:No row has 'divers'")
def test_stata(tmp_path, statistics):
    path = tmp_path / "survey.dta"
    labels = {**LABELS, "oft": {k: v for k, v in LABELS["oft"].items() if k != 9}}
    statistics.write_dta(FRAME.replace({"oft": {9: None}}), path, column_labels=TEXTS, variable_value_labels=labels)
    check_labelled(Table.read(path))


def test_spss_portable(tmp_path, statistics):
    path = tmp_path / "survey.por"
    statistics.write_por(FRAME, path, column_labels=list(TEXTS.values()))
    table = Table.read(path, missing={"OFT": [9]})
    assert table.names == ("OFT", "SEX") and table.variables[0].states == (1, 2, 3)
    assert table.variables[0].label == "Wie oft lesen Sie?"


def test_sas_transport(tmp_path, statistics):
    path = tmp_path / "survey.xpt"
    statistics.write_xport(FRAME, path, column_labels=TEXTS)
    table = Table.read(path, missing={"oft": [9]})
    assert table.variables[0].states == (1, 2, 3) and table.variables[1].label == "Geschlecht"


def test_a_file_that_sas_wrote(statistics):
    """Output, prices and inputs of airlines from 1948 to 1979; where it comes from is in sas/LICENSE.txt."""
    path = Path(__file__).parent / "sas" / "airline.sas7bdat"
    table = Table.read(path, bins={name: 2 for name in "YWRLK"}, drop=["YEAR"])
    assert table.names == ("Y", "W", "R", "L", "K") and table.n == 32
    labels = [v.label for v in table.variables]
    assert labels == ["level of output", "wage rate", "interest rate", "labor input", "capital input"]
    frame = read_frame(path)
    assert frame.columns["YEAR"].levels == tuple(range(1948, 1980))
    first = {name: column.levels[column.codes[0]] for name, column in frame.columns.items()}
    expected = {"YEAR": 1948, "Y": 1.214, "W": 0.243, "R": 0.1454, "L": 1.415, "K": 0.612}
    assert first == pytest.approx(expected, abs=1e-6)
    found = check(frame)
    assert found.recipe.weights is None  # 'W' is a name for weights, but its label says wage rate
    assert found.recipe.drop == ("YEAR",) and found.error is None


def test_a_scale_whose_ends_are_labelled(tmp_path, statistics):
    path = tmp_path / "scale.sav"
    frame = pd.DataFrame({"q": [1, 2, 3, 4, 5, 3]})
    statistics.write_sav(frame, path, variable_value_labels={"q": {1: "low", 5: "high"}})
    assert Table.read(path).variables[0].states == ("low", "2", "3", "4", "high")


def test_numbers_some_of_which_have_a_label(tmp_path, statistics):
    """The warning comes only as long as the number counts; the number is made missing by its code or by its label."""
    path = tmp_path / "age.sav"
    frame = pd.DataFrame({"age": [*range(20, 50), *range(20, 80, 2), 999.0], "sex": [1, 2, 1] * 20 + [2]})
    statistics.write_sav(frame, path, variable_value_labels={"age": {999: "refused"}})
    with pytest.warns(LatentreeWarning, match=r"'999' \('refused'\).*missing=\{'age': '999'\}"):
        table = Table.read(path, bins={"age": 3})
    assert (table.codes >= 0).all()
    for code in ("999", "refused"):
        table = Table.read(path, bins={"age": 3}, missing={"age": [code]})
        assert (table.codes[table.inverse][:, 0] < 0).tolist() == [False] * 60 + [True]
    assert Table.read(path, columns=["sex"]).names == ("sex",)
    assert check(read_frame(path)).recipe.missing_in == {"age": ("999",)}


@pytest.mark.parametrize("code", ["9", "9.0", "k.A."])
def test_missing_codes_of_labelled_answers(tmp_path, statistics, code):
    """A codebook lists codes: a missing code means the answer that has it, as the label does."""
    path = tmp_path / "survey.sav"
    statistics.write_sav(FRAME, path, variable_value_labels={"oft": LABELS["oft"]})
    table = Table.read(path, missing={"oft": [code]})
    assert table.variables[0].states == ("nie", "manchmal", "oft")
    again = Table.read(path, missing={"oft": [code]}, variables=table.variables)
    assert table.codes[table.inverse][:, 0].tolist() == [0, 1, -1, 2, 0, -1]
    assert np.array_equal(again.codes[again.inverse], table.codes[table.inverse])


def test_a_label_that_is_another_code_is_the_label(tmp_path, statistics):
    """Labels come first where a text is the label of one answer and the code of another."""
    path = tmp_path / "digits.sav"
    frame = pd.DataFrame({"q": [1, 2, 3, 1.0]})
    statistics.write_sav(frame, path, variable_value_labels={"q": {1: "0", 2: "1", 3: "2"}})
    assert Table.read(path, missing={"q": ["1"]}).variables[0].states == ("0", "2")


def test_labels_that_mean_no_answer_and_dates_are_noticed(tmp_path, statistics):
    """Files that declare no missing codes label them, and hold dates that are no text."""
    path = tmp_path / "survey.dta"
    day = pd.date_range("2024-01-01", periods=40)
    frame = pd.DataFrame({"often": [1.0, 2, 9, 3] * 10, "smokes": [1.0, 2] * 20, "day": day})
    statistics.write_dta(frame, path, variable_value_labels={"often": LABELS["oft"]})
    found = check(read_frame(path))
    assert {own.name: own.kind for own in found.columns} == {"often": "answers", "smokes": "answers", "day": "date"}
    assert found.recipe.missing_in == {"often": ("k.A.",)} and found.recipe.drop == ("day",) and found.error is None


def test_two_codes_of_one_label_stay_two_answers(tmp_path, statistics):
    path = tmp_path / "q.sav"
    frame = pd.DataFrame({"q": [1, 2, 3]})
    statistics.write_sav(frame, path, variable_value_labels={"q": {1: "other", 2: "yes", 3: "other"}})
    assert Table.read(path).variables[0].states == ("other (1)", "yes", "other (3)")


def test_labels_are_kept_with_the_model(tmp_path, statistics):
    path = tmp_path / "survey.sav"
    labels = {"oft": LABELS["oft"], "sex": {1: "männlich", 2: "weiblich"}}
    statistics.write_sav(FRAME, path, column_labels=TEXTS, variable_value_labels=labels, missing_ranges={"oft": [9]})
    model = lt.Model.random(lt.Tree.star(2, [3, 2]), Table.read(path).variables, np.random.default_rng(0))
    for name in ("model.json", "model.bif", "model.xdsl", "model.net", "model.xml"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.save(tmp_path / name)
        again = lt.load(tmp_path / name)
        assert [v.label for v in again.variables] == ["Wie oft lesen Sie?", "Geschlecht"], name
        assert again == model


# ---- workbooks ---------------------------------------------------------------------------------------------------

ROWS = [["Geschlecht", "Zufrieden", "Alter"], ["w", 1, 30.5], ["m", 2, None], ["w", 2, 41]]


def check_sheet(frame) -> None:
    assert frame.values() == {"Geschlecht": ["w", "m", "w"], "Zufrieden": [1, 2, 2], "Alter": [30.5, None, 41]}


@pytest.fixture
def workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.active.title = "Codes"
    book.active.append(["code"])
    book.active.append([1])
    sheet = book.create_sheet("Umfrage")
    for row in ROWS:
        sheet.append(row)
    book.save(tmp_path / "survey.xlsx")
    return tmp_path / "survey.xlsx"


def test_excel(workbook):
    check_sheet(read_frame(workbook, sheet="Umfrage"))
    assert read_frame(workbook).values() == {"code": [1]}
    with pytest.raises(DataError, match=r"no sheet 'Umfrge'\. Did you mean 'Umfrage'"):
        read_frame(workbook, sheet="Umfrge")


def test_a_workbook_that_unpacks_to_far_more_than_its_size(workbook, tmp_path):
    """It is refused before anything of it is in memory."""
    swollen = tmp_path / "swollen.xlsx"
    rows = b'<row><c t="n"><v>1</v></c><c t="n"><v>2</v></c></row>' * 20_000
    with (
        zipfile.ZipFile(workbook) as own,
        zipfile.ZipFile(swollen, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as other,
    ):
        for part in own.namelist():
            if not part.endswith("sheet2.xml"):
                other.writestr(part, own.read(part))
        with other.open("xl/worksheets/sheet2.xml", "w") as sheet:
            for _ in range(400):
                sheet.write(rows)
    with pytest.raises(FileFormatError, match=r"'.*swollen\.xlsx' unpacks to more than 402,653,184 bytes.*CSV"):
        read_frame(swollen)


def test_old_excel():
    pytest.importorskip("python_calamine")
    frame = read_frame(SHEETS / "survey.xls")  # written by xlwt
    assert frame.values() == {"Geschlecht": ["w", "m", "w", None], "Zufrieden": [1, 2, 2, 1]}


def test_open_document(tmp_path):
    pytest.importorskip("python_calamine")
    opendocument = pytest.importorskip("odf.opendocument")
    from odf.table import Table as Sheet, TableCell, TableRow
    from odf.text import P

    document = opendocument.OpenDocumentSpreadsheet()
    sheet = Sheet(name="Umfrage")
    for row in ROWS:
        line = TableRow()
        for value in row:
            if isinstance(value, int | float):
                cell = TableCell(valuetype="float", value=str(value))
            else:
                cell = TableCell(valuetype="string") if value else TableCell()
            if value is not None:
                cell.addElement(P(text=str(value)))
            line.addElement(cell)
        sheet.addElement(line)
    document.spreadsheet.addElement(sheet)
    document.save(tmp_path / "survey.ods")
    check_sheet(read_frame(tmp_path / "survey.ods"))


def test_columns_without_names_and_twins(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["a", "a"], [1, 2]):
        book.active.append(row)
    book.save(tmp_path / "twins.xlsx")
    with pytest.raises(DataError, match="two columns are called 'a'"):
        read_frame(tmp_path / "twins.xlsx")
    assert list(read_frame(tmp_path / "twins.xlsx", header=False).columns) == ["x1", "x2"]


# ---- what goes wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["d.sav", "d.dta", "d.por", "d.xpt", "d.sas7bdat", "d.xlsx", "d.xls", "d.ods"])
def test_damaged_files_are_refused(tmp_path, name):
    pytest.importorskip("pyreadstat")
    (tmp_path / name).write_bytes(b"nonsense" * 50)
    with pytest.raises(FileFormatError, match="cannot be read as a"):
        read_frame(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_frame(tmp_path / f"none-{name}")


@pytest.mark.parametrize(("name", "module"), [("d.sav", "pyreadstat"), ("d.xlsx", "python_calamine")])
def test_a_library_that_is_not_there_is_named(tmp_path, monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(LatentreeError, match=r"pip install 'latentree\[files\]'"):
        read_frame(tmp_path / name)


def test_every_kind_has_its_suffixes():
    assert {"excel", "ods", "spss", "por", "stata", "sas", "xport"} <= set(DATA_FORMATS)
