"""Workbooks that other programs read: types of cells, texts that XML cannot contain, and bounds of the format."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from zipfile import ZipFile

import pytest

from elements.tables import xlsx_writing
from elements.tables.cells import Cell
from elements.tables.xlsx_reading import read_xlsx as read_ours
from elements.tables.xlsx_writing import MOST_TEXT, SHEET, WorkbookWriter, column_letters, shortened, utf16_length
from tests.elements.tables.table_desk import read_xlsx


def written(*rows: Sequence[Cell]) -> bytes:
    writer = WorkbookWriter([f"h{place}" for place in range(len(rows[0]))], [True] * len(rows[0]))
    return writer.rows(rows[:1]) + writer.rows(rows[1:]) + writer.end()


def test_types_of_cells() -> None:
    row: list[Cell] = ["007", 5, Decimal("0.1"), True, date(2026, 12, 31), datetime(1999, 1, 2, 23, 59, 59), None, "z"]
    expected = ["007", 5.0, 0.1, True, date(2026, 12, 31), datetime(1999, 1, 2, 23, 59, 59), "", "z"]
    found = read_xlsx(written(row, row))
    assert found == [[f"h{place}" for place in range(8)], expected, expected]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@x", "a & b < c > \"d\" 'e'", "  spaces  ", "one\ntwo", "äß漢😀"]
)
def test_texts_stay_texts(text: str) -> None:
    content = written([text])
    assert read_xlsx(content)[1] == [text]
    sheet = ZipFile(io.BytesIO(content)).read(SHEET)
    assert b"<f>" not in sheet
    assert sheet.count(b't="inlineStr"') == 2


def test_characters_that_xml_cannot_contain() -> None:
    sheet = ZipFile(io.BytesIO(written(["a\x01b\r_x0041_"]))).read(SHEET)
    assert b">a_x0001_b_x000D__x005F_x0041_<" in sheet


def test_a_cell_has_at_most_so_many_characters() -> None:
    assert shortened("x" * MOST_TEXT) == "x" * MOST_TEXT
    found = shortened("😀" * 20_000)
    assert (found[-1], found[:-1] == "😀" * ((MOST_TEXT - 1) // 2)) == ("…", True)
    assert utf16_length(found) <= MOST_TEXT


def test_an_archive_is_written_in_pieces() -> None:
    writer = WorkbookWriter(["id"], [True])
    pieces = [writer.rows([[f"{number}-{place}"] for place in range(500)]) for number in range(20)]
    assert all(len(each) < 100_000 for each in pieces)
    assert len(read_xlsx(b"".join(pieces) + writer.end())) == 10_001


@pytest.mark.parametrize("total", [3, 1_000])
def test_large_sheets_have_64_bit_sizes(total: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them, the archive ends with an error at 2 GB. The first rows tell how large the sheet becomes."""
    monkeypatch.setattr(xlsx_writing, "LARGE", 10_000)
    writer = WorkbookWriter(["id"], [True])
    content = writer.rows([["1"], ["2"]], total) + writer.rows([["3"]], total) + writer.end()
    assert read_xlsx(content) == [["id"], ["1"], ["2"], ["3"]]
    assert len(read_ours(content).rows) == 3
    header = ZipFile(io.BytesIO(content)).getinfo(SHEET).header_offset
    [length_of_sizes] = struct.unpack_from("<H", content, header + 28)
    assert length_of_sizes == (20 if total == 1_000 else 0)


def test_names_of_columns() -> None:
    assert [column_letters(each) for each in (0, 25, 26, 701, 702, 16_383)] == ["A", "Z", "AA", "ZZ", "AAA", "XFD"]
