"""Read the first sheet of a workbook (D464), in one pass and with bounds: an xlsx file is a zip archive of XML
documents, and comes from anywhere. Pure.

Formulas are not computed: a cell with a formula has the result that the spreadsheet has stored with it.
"""

from __future__ import annotations

import posixpath
import re
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from io import BytesIO
from typing import IO
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from django.utils.translation import gettext as _

from elements.tables.cells import FIRST_DAY, MOST_DIGITS, Cell, number_cell
from elements.tables.read_tables import (
    LARGEST,
    BadCell,
    CellsByPlace,
    ReadCell,
    ReadTable,
    TableBounds,
    TableTooLarge,
    address,
    check_place,
    check_unpacked,
    read_table,
    unreadable,
)

CHUNK = 64 * 1024
STYLES, TEXTS = "xl/styles.xml", "xl/sharedStrings.xml"
# Halves of surrogate pairs are not characters; such a text stays as it is.
ESCAPED = re.compile("_x(?![Dd][89A-Fa-f])([0-9A-Fa-f]{4})_")
PLACE = re.compile("([A-Z]{1,3})([0-9]{1,7})")
# Formats of dates and times that every workbook has.
DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
# Parts of a format that are texts, colours or conditions.
NOT_LETTERS = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|_.|\*.')
BASE, BASE_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
# Called with the name of an element without its prefix, and with its attributes or its text.
OnStart = Callable[[str, dict[str, str]], None]
OnEnd = Callable[[str, str], None]


class _WorkbookParts:
    """The documents of a workbook, of which only so many bytes and elements are read."""

    def __init__(self, archive: ZipFile, bounds: TableBounds) -> None:
        self.archive = archive
        self.bounds = bounds
        self.unpacked = self.elements = 0

    def parse(self, name: str, start: OnStart, end: OnEnd) -> Iterator[None]:
        """Parse a document in pieces, after each of which the caller can use what was found."""

        def counted(element: str, attributes: dict[str, str]) -> None:
            self.elements += 1
            start(element, attributes)

        parser = _parser(counted, end)
        with self._open(name) as file:
            while data := file.read(CHUNK):
                self.unpacked += len(data)
                check_unpacked(self.unpacked, self.bounds)
                parser.Parse(data, False)
                if self.elements > self.bounds.elements:
                    text = _("The table has far more than %(most)d cells. Delete its empty rows and columns.")
                    raise TableTooLarge(text % {"most": self.bounds.cells})
                yield
            parser.Parse(b"", True)
        yield

    def read(self, name: str, start: OnStart, end: OnEnd) -> None:
        for _piece in self.parse(name, start, end):
            pass

    def has(self, name: str) -> bool:
        return name in self.archive.NameToInfo

    def _open(self, name: str) -> IO[bytes]:
        info = self.archive.NameToInfo.get(name)
        if info is None:
            raise unreadable(_("it has no %(name)s") % {"name": name})
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or info.flag_bits & 1:
            raise unreadable(_("it is encrypted, or compressed in an unusual way"))
        return self.archive.open(info)


def _parser(start: OnStart, end: OnEnd) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    texts: list[str] = []

    def begin(name: str, attributes: dict[str, str]) -> None:
        texts.clear()
        start(name.rpartition(":")[2], attributes)

    def finish(name: str) -> None:
        end(name.rpartition(":")[2], "".join(texts))
        texts.clear()

    def refuse(*_declaration: object) -> None:
        # Entities could make a small file large.
        raise unreadable(_("it contains a document type (DOCTYPE)"))

    parser.buffer_text = True
    parser.StartElementHandler = begin
    parser.EndElementHandler = finish
    parser.CharacterDataHandler = texts.append
    parser.StartDoctypeDeclHandler = refuse
    return parser


def read_xlsx(data: bytes, bounds: TableBounds = LARGEST) -> ReadTable:
    try:
        with ZipFile(BytesIO(data)) as archive:
            return read_table(_Workbook(_WorkbookParts(archive, bounds)).rows(), bounds)
    except (BadZipFile, zlib.error, NotImplementedError, EOFError, OSError):
        raise unreadable(_("it is not a workbook, or it is damaged")) from None
    except (expat.ExpatError, ValueError, OverflowError, UnicodeError) as problem:
        raise unreadable(_("it is damaged (%(problem)s)") % {"problem": problem}) from None


class _Workbook:
    def __init__(self, parts: _WorkbookParts) -> None:
        self.parts = parts
        self.base = BASE
        self.texts: list[str] = []
        self.is_date: list[bool] = []

    def rows(self) -> Iterator[tuple[int, CellsByPlace]]:
        sheet, linked = self._first_sheet(), self._links()
        if sheet not in linked:
            raise unreadable(_("it has no sheet"))
        if self.parts.has(STYLES):
            self._read_styles()
        if self.parts.has(TEXTS):
            self._read_texts()
        reader = _SheetReader(self)
        for _piece in self.parts.parse(linked[sheet], reader.start, reader.end):
            yield from reader.take()

    def _first_sheet(self) -> str:
        found: list[str] = []

        def start(name: str, attributes: dict[str, str]) -> None:
            if name == "sheet" and attributes.get("state", "visible") == "visible":
                found.extend(value for key, value in attributes.items() if key.rpartition(":")[2] == "id")
            elif name == "workbookPr" and attributes.get("date1904") in ("1", "true"):
                self.base = BASE_1904

        self.parts.read("xl/workbook.xml", start, _nothing)
        return found[0] if found else ""

    def _links(self) -> dict[str, str]:
        found: dict[str, str] = {}

        def start(name: str, attributes: dict[str, str]) -> None:
            if name == "Relationship" and attributes.get("Type", "").endswith("/worksheet"):
                target = attributes.get("Target", "")
                found[attributes.get("Id", "")] = posixpath.normpath(posixpath.join("/xl", target)).lstrip("/")

        self.parts.read("xl/_rels/workbook.xml.rels", start, _nothing)
        return found

    def _read_styles(self) -> None:
        codes: dict[int, str] = {}
        inside: list[str] = []

        def start(name: str, attributes: dict[str, str]) -> None:
            inside.append(name)
            if name == "numFmt":
                codes[int(attributes.get("numFmtId", 0))] = attributes.get("formatCode", "")
            elif name == "xf" and "cellXfs" in inside:
                number = int(attributes.get("numFmtId", 0))
                self.is_date.append(is_date_format(codes[number]) if number in codes else number in DATE_FORMATS)

        def end(name: str, text: str) -> None:
            inside.pop()

        self.parts.read(STYLES, start, end)

    def _read_texts(self) -> None:
        parts: list[str] = []
        reading = [True]

        def start(name: str, attributes: dict[str, str]) -> None:
            if name == "si":
                parts.clear()
            elif name == "rPh":
                # How to pronounce the text.
                reading[0] = False

        def end(name: str, text: str) -> None:
            if name == "t" and reading[0]:
                parts.append(text)
            elif name == "rPh":
                reading[0] = True
            elif name == "si":
                self.texts.append(unescaped("".join(parts)))

        self.parts.read(TEXTS, start, end)

    def moment(self, days: float) -> Cell:
        """Return the date, or date-time to the second, of a number of days."""
        found = self.base + timedelta(seconds=round(days * 86_400))
        if found.date() < FIRST_DAY:
            # A time of day, or a date that spreadsheets count differently.
            return found.time().isoformat() if days < 1 else found.isoformat()
        return found.date() if not round(days * 86_400) % 86_400 else found


class _SheetReader:
    """Collects the rows of a sheet. Cells without an address follow the one before them."""

    def __init__(self, workbook: _Workbook) -> None:
        self.workbook = workbook
        self._rows: list[tuple[int, CellsByPlace]] = []
        self._row, self._place = 0, -1
        self._cells: dict[int, ReadCell] = {}
        self._type, self._style = "", 0
        self._value: str | None = None
        self._texts: list[str] = []
        self._has_formula = self._is_phonetic = False

    def take(self) -> list[tuple[int, CellsByPlace]]:
        taken, self._rows = self._rows, []
        return taken

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "row":
            self._row = int(attributes["r"]) if "r" in attributes else self._row + 1
            self._place, self._cells = -1, {}
        elif name == "c":
            self._begin_cell(attributes)
        elif name == "f":
            self._has_formula = True
        elif name == "rPh":
            self._is_phonetic = True

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        found = PLACE.fullmatch(attributes.get("r", ""))
        self._place = _column(found[1]) if found else self._place + 1
        self._type, self._style = attributes.get("t", "n"), int(attributes.get("s", 0))
        self._value, self._texts, self._has_formula = None, [], False

    def end(self, name: str, text: str) -> None:
        if name == "v":
            self._value = text
        elif name == "t" and not self._is_phonetic:
            self._texts.append(text)
        elif name == "rPh":
            self._is_phonetic = False
        elif name == "c":
            cell = self._cell()
            if cell is not None and cell != "":
                check_place(self._place, self._row)
                self._cells[self._place] = cell
        elif name == "row":
            self._rows.append((self._row, self._cells))
            self._cells = {}

    def _cell(self) -> ReadCell:
        if self._type == "inlineStr":
            return unescaped("".join(self._texts))
        value = self._value
        if value is None or value == "":
            return BadCell(_("contains a formula without a result; enter the value")) if self._has_formula else None
        if self._type == "s":
            return self._shared(int(value))
        if self._type == "str":
            return unescaped(value)
        if self._type == "b":
            return value.strip() in ("1", "true")
        if self._type == "e":
            return BadCell(_("contains the error %(error)s") % {"error": value[:20]})
        if self._type == "d":
            return value
        return self._number(value)

    def _shared(self, number: int) -> str:
        texts = self.workbook.texts
        if not 0 <= number < len(texts):
            raise unreadable(_("%(cell)s refers to a text that is missing") % {"cell": address(self._place, self._row)})
        return texts[number]

    def _number(self, text: str) -> ReadCell:
        number = float(text)
        if abs(number) >= 10**MOST_DIGITS:
            return BadCell(_("is a number of more than 15 digits, which spreadsheets round; enter it as text"))
        styles = self.workbook.is_date
        if self._style < len(styles) and styles[self._style] and 0 <= number < 3_000_000:
            return self.workbook.moment(number)
        # Spreadsheets store 1.1 as 1.1000000000000001.
        return number_cell(Decimal(repr(number)))


def _nothing(name: str, text: str) -> None:
    """Ends of elements do not matter."""


def _column(letters: str) -> int:
    found = 0
    for letter in letters:
        found = found * 26 + ord(letter) - ord("A") + 1
    return found - 1


def is_date_format(code: str) -> bool:
    letters = NOT_LETTERS.sub("", code.partition(";")[0]).lower()
    return "general" not in letters and any(each in letters for each in "dmyhs")


def unescaped(text: str) -> str:
    """Return a text whose unusual characters are written as `_x000D_`."""
    return ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text
