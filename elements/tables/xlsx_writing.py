"""Write a workbook with one sheet while its rows are read (D460): an xlsx file is a zip archive of XML documents.

Texts are always cells of the type text, in a format that stays text when a person edits the cell: no value is ever a
formula, and leading zeros stay. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

from elements.tables.cells import Cell

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
# Characters of a text, as spreadsheets count them.
MOST_TEXT = 32_767
CUT = "…"
# Compresses about as fast as rows are made.
LEVEL = 3
# Bytes of a sheet from which on the archive has 64-bit sizes. Without them, a sheet ends at 2 GB. With them, Excel
# offers to repair the file, so smaller sheets do without.
LARGE = 1024**3
BASE = datetime(1899, 12, 30)
DAY = 86_400
# Characters that XML cannot contain, and texts that look like the way in which they are written instead.
UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
SHEET = "xl/worksheets/sheet1.xml"
# Numbers of the formats of cells in `_STYLES`.
_TEXT, _HEADER, _DATE, _MOMENT = 1, 2, 3, 4
_OF_TEXT = f' style="{_TEXT}"'
_STYLES = f"""{_XML}<styleSheet xmlns="{_MAIN}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>\
<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts><fonts count="2"><font><sz val="11"/>\
<name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill>\
<patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1">\
<border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0"\
 fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="5"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"\
 xfId="0"/><xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="49"\
 fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/><xf numFmtId="164" fontId="0"\
 fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0"\
 applyNumberFormat="1"/></cellXfs></styleSheet>"""
_PARTS = {
    "[Content_Types].xml": f"""{_XML}<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels"\
 ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml"\
 ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/><Override\
 PartName="/{SHEET}" ContentType="{_TYPE}.worksheet+xml"/><Override PartName="/xl/styles.xml"\
 ContentType="{_TYPE}.styles+xml"/></Types>""",
    "_rels/.rels": f"""{_XML}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1"\
 Type="{_LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>""",
    "xl/workbook.xml": f"""{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_LINKS}"><sheets><sheet name="Elements"\
 sheetId="1" r:id="rId1"/></sheets></workbook>""",
    "xl/_rels/workbook.xml.rels": f"""{_XML}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1"\
 Type="{_LINKS}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="{_LINKS}/styles"\
 Target="styles.xml"/></Relationships>""",
    "xl/styles.xml": _STYLES,
}


class _UnsentBytes:
    """The end of an archive that is sent while it is written; it cannot go back."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, data: bytes) -> int:
        self._written += data
        return len(data)

    def flush(self) -> None:
        """Nothing waits anywhere else."""

    def take(self) -> bytes:
        taken = bytes(self._written)
        self._written.clear()
        return taken


class WorkbookWriter:
    """Writes a table. Each method returns the next bytes of the file."""

    def __init__(self, headers: Sequence[str], of_text: Sequence[bool]) -> None:
        """`of_text` says which columns contain texts."""
        self._out = _UnsentBytes()
        self._archive = ZipFile(self._out, "w", ZIP_DEFLATED, compresslevel=LEVEL)  # type: ignore[call-overload]  # it only writes
        for name, text in _PARTS.items():
            self._archive.writestr(name, text)
        self._letters = [column_letters(index) for index in range(len(headers))]
        self._row = 0
        self._head = _sheet_head(of_text).encode() + self._rendered([headers], _HEADER)
        self._sheet: IO[bytes] | None = None

    def rows(self, rows: Sequence[Sequence[Cell]], total: int = 0) -> bytes:
        """Add rows. The first of them tell how large a sheet of `total` rows becomes."""
        rendered = self._rendered(rows, _TEXT)
        self._open(is_large=bool(rows) and len(rendered) // len(rows) * total > LARGE).write(rendered)
        return self._out.take()

    def end(self) -> bytes:
        sheet = self._open(is_large=False)
        sheet.write(b"</sheetData></worksheet>")
        sheet.close()
        self._archive.close()
        return self._out.take()

    def _open(self, *, is_large: bool) -> IO[bytes]:
        if self._sheet is None:
            self._sheet = self._archive.open(SHEET, "w", force_zip64=is_large)
            self._sheet.write(self._head)
        return self._sheet

    def _rendered(self, rows: Iterable[Sequence[Cell]], text_format: int) -> bytes:
        parts: list[str] = []
        for row in rows:
            self._row += 1
            number = str(self._row)
            parts.append(f'<row r="{number}">')
            parts += [
                _cell(cell, letters + number, text_format)
                for cell, letters in zip(row, self._letters, strict=True)
                if cell is not None
            ]
            parts.append("</row>")
        return "".join(parts).encode()


def _sheet_head(of_text: Sequence[bool]) -> str:
    """Return everything before the rows. The header and the first column stay in sight, and text columns have the
    format of texts also in empty cells."""
    pane = '<pane xSplit="1" ySplit="1" topLeftCell="B2" activePane="bottomRight" state="frozen"/>'
    view = f'<sheetViews><sheetView workbookViewId="0">{pane}</sheetView></sheetViews>'
    columns = "".join(
        f'<col min="{place}" max="{place}" width="20" customWidth="1"{_OF_TEXT if is_text else ""}/>'
        for place, is_text in enumerate(of_text, 1)
    )
    return f'{_XML}<worksheet xmlns="{_MAIN}">{view}<cols>{columns}</cols><sheetData>'


def _cell(cell: Cell, place: str, text_format: int) -> str:
    if isinstance(cell, str):
        return f'<c r="{place}" s="{text_format}" t="inlineStr"><is><t xml:space="preserve">{_text(cell)}</t></is></c>'
    if isinstance(cell, bool):
        return f'<c r="{place}" t="b"><v>{cell:d}</v></c>'
    if isinstance(cell, datetime):
        since = cell - BASE
        return f'<c r="{place}" s="{_MOMENT}"><v>{since.days + since.seconds / DAY!r}</v></c>'
    if isinstance(cell, date):
        return f'<c r="{place}" s="{_DATE}"><v>{(cell - BASE.date()).days}</v></c>'
    return f'<c r="{place}"><v>{cell}</v></c>'


def _text(text: str) -> str:
    found = shortened(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if "_x" not in found and found.isprintable():
        return found
    return UNWRITABLE.sub(lambda match: f"_x{ord(match[0]):04X}_", found)


def shortened(text: str) -> str:
    """Return as much of a text as a cell can contain."""
    if len(text) * 2 <= MOST_TEXT or utf16_length(text) <= MOST_TEXT:
        return text
    encoded = text.encode("utf-16-le")[: (MOST_TEXT - len(CUT)) * 2]
    return encoded.decode("utf-16-le", "ignore") + CUT


def utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def column_letters(index: int) -> str:
    """Return the name of a column, such as A for 0 and AA for 26."""
    found = ""
    while index >= 0:
        found = chr(ord("A") + index % 26) + found
        index = index // 26 - 1
    return found
