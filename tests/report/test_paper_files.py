"""Word, Excel, LaTeX and HTML files: well-formed, in the order that their schemas want, and as APA has them."""

from __future__ import annotations

import posixpath
import re
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

import latentree as lt
from latentree import datasets
from latentree.report import PaperTable, write_tables

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# ECMA-376, CT_TcPr and CT_TblPr: what may stand in the properties of cells and tables, in order.
CELL_ORDER = "cnfStyle tcW gridSpan hMerge vMerge tcBorders shd noWrap tcMar textDirection tcFitText vAlign hideMark"
TABLE_ORDER = (
    "tblStyle tblpPr tblOverlap bidiVisual tblStyleRowBandSize tblStyleColBandSize tblW jc tblCellSpacing tblInd "
    "tblBorders shd tblLayout tblCellMar tblLook"
)
ODD = PaperTable(
    "50 % of A & B_1 {all} #2 ~ ^ \\ <x> $5",
    {
        "Answer": ["[0, 5)", "*", "a & b", "100 %", "x_1^2", "{c}", "~", "\\n", "#1", "$", "=1+1", "a long answer"],
        "Size": np.linspace(0.05, 1, 12).tolist(),
        "95% CI": [(0.0, 0.1)] * 12,
        "SE": [0.0125] * 12,
        "LL": [-1234.5] * 12,
        "n": list(range(1000, 1012)),
    },
    note="Some & more: 5 % of {them}_1.",
    digits={"SE": 3},
    shares=frozenset({"Size", "95% CI", "SE"}),
)
WIDE = PaperTable("Wide", {f"A head of some length {i}": [1.5, 2.5] for i in range(9)})


@pytest.fixture(scope="module")
def lca():
    return lt.LatentClass(2, random_state=0).fit(datasets.load_frame("carcinoma"))


def well_formed(path) -> zipfile.ZipFile:
    """A zip of XML files, all of which can be read, whose relationships lead somewhere."""
    book = zipfile.ZipFile(path)
    assert book.testzip() is None
    names = set(book.namelist())
    assert len(names) == len(book.namelist())
    for name in names:
        if name.endswith((".xml", ".rels")):
            ElementTree.fromstring(book.read(name))
        if name.endswith(".rels"):
            folder = posixpath.dirname(posixpath.dirname(name))
            for own in ElementTree.fromstring(book.read(name)):
                if own.get("TargetMode") != "External":
                    target = own.get("Target")
                    assert posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/") in names
    return book


def in_order(parent, order: str) -> bool:
    places = [order.split().index(own.tag.removeprefix(W)) for own in parent]
    return places == sorted(places)


def test_word_files(lca, tmp_path):
    docx = pytest.importorskip("docx")
    path = tmp_path / "t.docx"
    write_tables(path, lca, ODD, WIDE, WIDE, ODD)
    body = ElementTree.fromstring(well_formed(path).read("word/document.xml"))
    assert all(in_order(own, CELL_ORDER) for own in body.iter(f"{W}tcPr"))
    assert all(in_order(own, TABLE_ORDER) for own in body.iter(f"{W}tblPr"))
    document = docx.Document(str(path))
    sides = [section.page_width > section.page_height for section in document.sections]
    assert sides == [False, True, True, False]
    for table in document.tables:
        lines = [[_sides(cell) for cell in row.cells] for row in table.rows]
        assert all(own == {"top", "bottom"} for own in lines[0]) and all(own == {"bottom"} for own in lines[-1])
        assert not any(own for row in lines[1:-1] for own in row)  # no rules between rows, no vertical ones
        assert len(table._tbl.findall(f".//{W}tblHeader")) == 1
        section = document.sections[0] if len(table.columns) < 9 else document.sections[1]
        room = section.page_width - section.left_margin - section.right_margin
        assert sum(column.width for column in table.columns) <= room + len(table.columns)
    odd = document.tables[2]
    heads = {cell.text: cell.paragraphs[0].runs[0].italic for cell in odd.rows[0].cells}
    assert heads == {"Answer": False, "Size": False, "95% CI": False, "SE": True, "LL": False, "n": True}
    assert [cell.text for cell in odd.rows[1].cells][1:] == [".05", "[.00, .10]", ".013", "−1,234.50", "1,000"]
    texts = [p.text for p in document.paragraphs]
    assert texts[:2] == ["Table 1", "Sizes of the classes"] and f"Note. {ODD.note}" in texts
    titles = [p for p in document.paragraphs if p.text.startswith("Table ")]
    assert all(p.runs[0].bold and p.paragraph_format.keep_with_next for p in titles) and len(titles) == 6


def _sides(cell) -> set[str]:
    return {own.tag.removeprefix(W) for own in cell._tc.iterfind(f".//{W}tcBorders/*")}


def test_excel_files(lca, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    write_tables(path, lca, ODD, WIDE)
    well_formed(path)
    book = openpyxl.load_workbook(path, rich_text=True)
    assert book.sheetnames == ["Table 1", "Table 2", "Table 3", "Table 4"]
    sheet = book["Table 3"]
    assert sheet["A1"].font.bold and sheet["A2"].font.italic and sheet["A2"].value == ODD.title
    assert [sheet.cell(4, at).number_format for at in (2, 4, 5, 6)] == [".00", ".000", "#,##0.00", "#,##0"]
    assert [cell.font.italic for cell in sheet[3]] == [False, False, False, True, False, True]
    assert all(cell.data_type == "s" for cell in sheet["A"][3:15])  # '=1+1' is text
    borders = {(row[0].row, side) for row in sheet for cell in row for side in _ruled(cell)}
    assert borders == {(3, "top"), (3, "bottom"), (15, "bottom")}
    assert str(sheet["A16"].value) == f"Note. {ODD.note}"
    assert [str(own) for own in sheet.merged_cells.ranges] == ["A16:F16"]
    sides = [book[name].page_setup.orientation for name in book.sheetnames]
    assert sides[2:] == ["portrait", "landscape"] and sheet.page_setup.fitToWidth == 1
    assert all(5 <= own.width <= 60 for own in sheet.column_dimensions.values())


def _ruled(cell) -> list[str]:
    return [side for side in ("top", "bottom", "left", "right") if getattr(getattr(cell.border, side), "style", None)]


def test_latex_files(tmp_path):
    path = tmp_path / "t.tex"
    write_tables(path, ODD, WIDE)
    text = path.read_text(encoding="utf-8")
    assert text.count(r"\begin{table}") == text.count(r"\begin{sidewaystable}") == 1
    body = text.partition(r"\midrule")[2].partition(r"\bottomrule")[0].strip().splitlines()
    firsts = [line.split(" & ")[0] for line in body]
    assert firsts[:2] == ["{}[0, 5)", "{}*"]  # a bracket or star would belong to the end of the line before
    assert firsts[2:11] == [
        r"a \& b", r"100 \%", r"x\_1\textasciicircum{}2", r"\{c\}", r"\textasciitilde{}", r"\textbackslash{}n", r"\#1",
        r"\$", "=1+1",
    ]  # fmt: skip
    assert all(len(re.findall(r"(?<!\\)&", line)) == 5 and line.endswith(r"\\") for line in body)
    for command, letter in (("{", "}"), ("[", "]")):
        assert text.count(command) - text.count("\\" + command) >= 0 and letter in text
    bare = re.sub(r"\\.", "", re.sub(r"(?m)^%.*$", "", text)).replace("$-$", "")
    assert bare.count("{") == bare.count("}") and not re.search(r"[$#%^~_]", bare)
    assert r"\textit{SE}" in text and r"95\% CI" in text


def test_html_files(tmp_path):
    path = tmp_path / "t.html"
    write_tables(path, ODD)
    text = path.read_text(encoding="utf-8")
    assert '<th class="n"><i>SE</i></th>' in text and "<i>Note.</i> Some &amp; more" in text
    assert "<td>a &amp; b</td>" in text and "&lt;x&gt;" in text
