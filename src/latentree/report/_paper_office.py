"""Tables for a paper as Word and Excel files; what is in them, :mod:`latentree.report._paper` says."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import missing_extra
from ._printable import printable

if TYPE_CHECKING:
    from ._paper import PaperTable

__all__ = ["excel_file", "word_file"]

WIDEST = 60
"""A column of a workbook is no wider than so many characters."""


# ---- Excel ---------------------------------------------------------------------------------------------------------


def excel_file(tables: Iterable[PaperTable]) -> bytes:
    """Write a workbook with a sheet for each table; numbers stay numbers."""
    try:
        from openpyxl import Workbook
        from openpyxl.styles import Alignment, Border, Font, Side
    except ImportError:
        raise missing_extra("Excel files need openpyxl", "tables") from None
    from ._paper import STATISTICS

    book = Workbook()
    book.remove(book.active)
    line, thick = Side(style="thin"), Side(style="medium")
    for i, table in enumerate(tables, 1):
        sheet = book.create_sheet(f"Table {i}")
        sheet.append([f"Table {i}"])
        sheet.append([printable(table.title)])
        sheet["A1"].font, sheet["A2"].font = Font(bold=True), Font(italic=True)
        sheet.append([printable(h) for h in table.heads])
        for h, cell in zip(table.heads, sheet[3], strict=True):
            cell.border, cell.font = Border(top=thick, bottom=line), Font(italic=h in STATISTICS)
            cell.alignment = Alignment(horizontal="right" if table.is_number(h) else "left", wrap_text=True)
        for row in table.rows:
            sheet.append([_cell(table, h, x) for h, x in zip(table.heads, row, strict=True)])
            for h, cell in zip(table.heads, sheet[sheet.max_row], strict=True):
                _shape(table, h, cell, Alignment)
        for cell in sheet[sheet.max_row]:
            cell.border = Border(bottom=thick)
        if table.note:
            _add_note(sheet, table, Alignment)
        _lay_out(sheet, table)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _cell(table: PaperTable, head: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return table.text(head, value) or None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if value is None or number else printable(str(value))


def _shape(table: PaperTable, head: str, cell: Any, alignment: Any) -> None:
    if isinstance(cell.value, float):
        decimals = "0" * table.digits.get(head, 2)
        cell.number_format = f".{decimals}" if head in table.shares else f"#,##0.{decimals}"
    elif isinstance(cell.value, int):
        cell.number_format = "#,##0"
    elif isinstance(cell.value, str):
        cell.data_type = "s"  # text that begins with '=' is no formula
        cell.alignment = alignment(horizontal="right" if table.is_number(head) else "left")


def _add_note(sheet: Any, table: PaperTable, alignment: Any) -> None:
    """Write the note across the table, in as many lines as it needs."""
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont

    sheet.append([""])
    at = sheet.max_row
    cell = sheet.cell(at, 1)
    cell.value = CellRichText(TextBlock(InlineFont(i=True), "Note. "), printable(table.note))
    cell.alignment = alignment(wrap_text=True, vertical="top")
    if len(table.heads) > 1:
        sheet.merge_cells(start_row=at, start_column=1, end_row=at, end_column=len(table.heads))
    room = max(sum(_widths(table)), 20)
    sheet.row_dimensions[at].height = 15 * math.ceil((len(table.note) + 6) / (0.9 * room))


def _widths(table: PaperTable) -> list[int]:
    longest = (max([len(h), *(len(table.text(h, x)) for x in table.columns[h])]) for h in table.heads)
    return [min(width + 3, WIDEST) for width in longest]


def _lay_out(sheet: Any, table: PaperTable) -> None:
    for at, width in enumerate(_widths(table), 1):
        sheet.column_dimensions[sheet.cell(3, at).column_letter].width = width
    sheet.freeze_panes = "A4"
    sheet.print_title_rows = "1:3"
    sheet.page_setup.orientation = "landscape" if table.is_wide else "portrait"
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True


# ---- Word ----------------------------------------------------------------------------------------------------------


def word_file(tables: Iterable[PaperTable]) -> bytes:
    """Write a document; wide tables stand on pages of their own, on their side."""
    try:
        from docx import Document
        from docx.shared import Pt
    except ImportError:
        raise missing_extra("Word files need python-docx", "tables") from None
    document = Document()
    style = document.styles["Normal"]
    style.font.name, style.font.size = "Times New Roman", Pt(11)
    _east_asian(style, "Times New Roman")
    wide = False
    for i, table in enumerate(tables, 1):
        if table.is_wide != wide or (wide and i > 1):
            _turn(document, table.is_wide, fresh=i > 1)
            wide = table.is_wide
        _word_table(document, i, table)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _east_asian(style: Any, name: str) -> None:
    """Name the font for East Asian text too, where Word would take another."""
    from docx.oxml.ns import qn

    style.element.get_or_add_rPr().get_or_add_rFonts().set(qn("w:eastAsia"), name)


def _turn(document: Any, wide: bool, *, fresh: bool) -> None:
    """Begin a page, upright or on its side."""
    from docx.enum.section import WD_ORIENT, WD_SECTION

    section = document.add_section(WD_SECTION.NEW_PAGE) if fresh else document.sections[0]
    short, long = sorted((section.page_width, section.page_height))
    section.orientation = WD_ORIENT.LANDSCAPE if wide else WD_ORIENT.PORTRAIT
    section.page_width, section.page_height = (long, short) if wide else (short, long)


def _word_table(document: Any, number: int, table: PaperTable) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Pt

    from ._paper import STATISTICS

    for text, bold in ((f"Table {number}", True), (printable(table.title), False)):
        paragraph = document.add_paragraph()
        run = paragraph.add_run(text)
        run.bold, run.italic = bold, not bold
        paragraph.paragraph_format.keep_with_next = True
    grid = document.add_table(rows=1 + len(table.rows), cols=len(table.heads))
    lines = [table.heads, *table.texts]
    for at, (texts, row) in enumerate(zip(lines, grid.rows, strict=True)):
        for h, text, cell in zip(table.heads, texts, row.cells, strict=True):
            paragraph = cell.paragraphs[0]
            run = paragraph.add_run(printable(text))
            run.font.size, run.italic = Pt(10), at == 0 and h in STATISTICS
            paragraph.paragraph_format.space_after = Pt(2)
            if table.is_number(h):
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
            _rule(cell, top=at == 0, bottom=at in (0, len(lines) - 1))
        _keep_together(row, head=at == 0)
    _set_widths(document.sections[-1], grid, _widths(table))
    if table.note:
        note = document.add_paragraph()
        note.paragraph_format.space_before = Pt(4)
        note.add_run("Note. ").italic = True
        note.add_run(printable(table.note))
    document.add_paragraph()


def _set_widths(section: Any, grid: Any, widths: Sequence[int]) -> None:
    """Give columns the widths that their texts need, within the page."""
    from docx.shared import Emu, Pt

    room = section.page_width - section.left_margin - section.right_margin
    wanted = [int(Pt(5.4) * width) for width in widths]
    scale = min(1.0, room / sum(wanted))
    grid.autofit = False
    for column, width in zip(grid.columns, wanted, strict=True):
        own = Emu(int(scale * width))
        column.width = own
        for cell in column.cells:
            cell.width = own


def _keep_together(row: Any, *, head: bool) -> None:
    """Keep a row on one page; the head is shown again on the next."""
    from docx.oxml import OxmlElement

    properties = row._tr.get_or_add_trPr()
    properties.append(OxmlElement("w:cantSplit"))
    if head:
        properties.append(OxmlElement("w:tblHeader"))


def _rule(cell: Any, *, top: bool, bottom: bool) -> None:
    """Draw lines above and below a cell."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    if not (top or bottom):
        return
    borders = OxmlElement("w:tcBorders")
    for side, wanted in (("top", top), ("bottom", bottom)):
        if wanted:
            line = OxmlElement(f"w:{side}")
            for name, value in (("val", "single"), ("sz", "8"), ("space", "0"), ("color", "auto")):
                line.set(qn(f"w:{name}"), value)
            borders.append(line)
    cell._tc.get_or_add_tcPr().append(borders)
