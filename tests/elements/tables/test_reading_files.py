"""Files that an import reads: workbooks of other programs, csv, and files that are damaged or hostile (D464)."""

from __future__ import annotations

import io
import zipfile
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from elements.tables.csv_reading import read_csv
from elements.tables.files import read_any, read_file
from elements.tables.read_tables import BadCell, ReadTable, TableBounds, TableTooLarge
from elements.tables.xlsx_reading import is_date_format, read_xlsx
from elements.tables.xlsx_writing import SHEET, WorkbookWriter
from repository_site.core.problems import Invalid, Problem, TooLarge, Unreadable
from tests.elements.tables.spreadsheets import saved_xlsx

SMALL = saved_xlsx([["id", "name"], ["1", "a"]])
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def cells(table: ReadTable) -> list[dict[int, Any]]:
    return [dict(each.cells) for each in table.rows]


def with_sheet(sheet: str, **parts: str) -> bytes:
    """Return a workbook whose sheet is replaced."""
    writer = WorkbookWriter(["id"], [True])
    source = zipfile.ZipFile(io.BytesIO(writer.rows([]) + writer.end()))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name in source.namelist():
            replaced = {SHEET: sheet, **{f"xl/{part}.xml": text for part, text in parts.items()}}
            made.writestr(name, replaced.get(name, source.read(name)))
        if "sharedStrings" in parts:
            made.writestr("xl/sharedStrings.xml", parts["sharedStrings"])
    return out.getvalue()


def rows(*texts: str) -> str:
    return f"<worksheet {MAIN}><sheetData>{''.join(texts)}</sheetData></worksheet>"


class TestWorkbooks:
    def test_cells_of_another_program(self) -> None:
        day, moment = date(2026, 12, 31), datetime(2026, 12, 31, 13, 45, 59)
        row = ["007", 5, 1.1, True, day, moment, None, "one\ntwo", "a\r\n_x0041_", 0.1 + 0.2]
        table = read_xlsx(saved_xlsx([[f"h{place}" for place in range(10)], row]))
        assert table.headers == {place: f"h{place}" for place in range(10)}
        assert cells(table) == [
            {
                0: "007", 1: 5, 2: Decimal("1.1"), 3: True, 4: day, 5: moment, 7: "one\ntwo", 8: "a\r\n_x0041_",
                9: Decimal("0.3"),
            }
        ]  # fmt: skip

    def test_dates_that_count_from_1904(self) -> None:
        table = read_xlsx(saved_xlsx([["day"], [date(2026, 12, 31)]], date_1904=True))
        assert cells(table) == [{0: date(2026, 12, 31)}]

    def test_formulas_have_their_results(self) -> None:
        out = io.BytesIO()
        with xlsxwriter.Workbook(out) as book:
            sheet = book.add_worksheet()
            sheet.write_row(0, 0, ["a", "b", "c", "d"])
            sheet.write_formula(1, 0, "=1+1", value=2)
            sheet.write_formula(1, 1, '=UPPER("x")', value="X")
            sheet.write_formula(1, 2, "=1+1", value="")
            sheet.write_formula(1, 3, "=1/0", value="#DIV/0!")
        [found] = cells(read_xlsx(out.getvalue()))
        assert found == {
            0: 2,
            1: "X",
            2: BadCell("contains a formula without a result; enter the value"),
            3: BadCell("contains the error #DIV/0!"),
        }

    def test_rich_texts_and_cells_without_an_address(self) -> None:
        texts = f"<sst {MAIN}><si><r><t>a</t></r><r><t>b</t></r><rPh><t>no</t></rPh></si></sst>"
        sheet = rows(
            '<row><c t="s"><v>0</v></c><c t="inlineStr"><is><t>h</t></is></c></row><row><c/><c><v>1</v></c></row>'
        )
        table = read_xlsx(with_sheet(sheet, sharedStrings=texts))
        assert (table.headers, cells(table), table.rows[0].number) == ({0: "ab", 1: "h"}, [{1: 1}], 2)

    def test_the_first_visible_sheet(self) -> None:
        out = io.BytesIO()
        with xlsxwriter.Workbook(out) as book:
            hidden, shown = book.add_worksheet("a"), book.add_worksheet("b")
            hidden.write(0, 0, "hidden")
            shown.write(0, 0, "shown")
            shown.activate()
            hidden.hide()
        assert read_xlsx(out.getvalue()).headers == {0: "shown"}

    def test_long_numbers_are_refused_because_spreadsheets_round_them(self) -> None:
        [found] = cells(read_xlsx(saved_xlsx([["n"], [1_234_567_890_123_456]])))
        assert isinstance(found[0], BadCell)

    @pytest.mark.parametrize(
        ("code", "expected"),
        [
            ("yyyy-mm-dd", True), ("[$-407]d. mmmm yyyy;@", True), ("hh:mm", True), ("General", False), ("0.00", False),
            ('0 "days"', False), ("[Red]0", False), ("_-* #,##0.00", False),
        ],
    )  # fmt: skip
    def test_formats_of_dates(self, code: str, expected: bool) -> None:
        assert is_date_format(code) is expected


class TestHostileWorkbooks:
    @pytest.mark.parametrize(
        "data",
        [
            b"PK",
            b"PK\x03\x04 not an archive",
            saved_xlsx([["id"]])[:500],
            with_sheet("<worksheet>"),
            with_sheet(rows('<row r="x"/>')),
            with_sheet(rows('<row><c t="s"><v>7</v></c></row>')),
            with_sheet(rows("<row><c><v>many</v></c></row>")),
            with_sheet(rows(f"<row><c><v>{'9' * 9}</v></c></row>"), workbook="<workbook/>"),
        ],
    )
    def test_damaged_files(self, data: bytes) -> None:
        with pytest.raises(Problem):
            read_any(data, "table.xlsx")

    def test_entities(self) -> None:
        bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]>' + rows('<row><c t="inlineStr"><is><t>&a;</t></is></c></row>')
        with pytest.raises(Unreadable, match="document type"):
            read_xlsx(with_sheet(bomb))

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("sheet", "message"),
        [
            (rows(" " * 3 * 1024**2), "more than 1 MB when unpacked"),
            (rows("<row>" + "<c/>" * 200_000 + "</row>"), "far more than 100 cells. Delete its empty rows"),
            (rows("<row/>" * 100_000), "far more than 100 cells. Delete its empty rows"),
            (rows("<row><c><v>1</v></c></row>" * 101), "more than 100 cells. Divide it"),
        ],
    )
    def test_a_large_file_that_is_small_when_packed(self, sheet: str, message: str) -> None:
        data = with_sheet(sheet)
        assert len(data) < 20_000
        with pytest.raises(TableTooLarge, match=message):
            read_xlsx(data, TableBounds(rows=1_000, cells=100, unpacked=1024**2))

    def test_a_row_takes_no_more_memory_than_its_columns(self) -> None:
        with pytest.raises(Invalid, match=r"SG1: the table has more than 500 columns\."):
            read_xlsx(with_sheet(rows("<row>" + "<c><v>1</v></c>" * 10_000 + "</row>")))

    def test_halves_of_surrogate_pairs_are_not_characters(self) -> None:
        sheet = rows('<row><c t="inlineStr"><is><t>_xD800__x0041_</t></is></c></row>')
        table = read_xlsx(with_sheet(sheet))
        assert table.headers == {0: "_xD800_A"}

    def test_cells_far_apart_take_no_memory(self) -> None:
        data = with_sheet(
            rows(
                '<row r="1"><c r="A1" t="inlineStr"><is><t>id</t></is></c></row>',
                '<row r="1048576"><c r="A1048576"><v>1</v></c></row>',
            )
        )
        assert [each.number for each in read_xlsx(data).rows] == [1_048_576]

    def test_too_many_columns_rows_and_characters(self) -> None:
        wide = rows('<row r="1"><c r="XFD1" t="inlineStr"><is><t>id</t></is></c></row>')
        with pytest.raises(Invalid, match=r"XFD1: the table has more than 500 columns\."):
            read_xlsx(with_sheet(wide))
        few = TableBounds(rows=2, cells=10, unpacked=1_000)
        assert len(read_csv(b"id\n1\n2\n", few).rows) == 2
        with pytest.raises(TableTooLarge, match="more than 2 rows"):
            read_csv(b"id\n1\n2\n3\n", few)
        with pytest.raises(TableTooLarge, match="more than 10 cells"):
            read_csv(b"a,b,c,d\n1,2,3,4\n1,2,3,4\n", few)
        with pytest.raises(TableTooLarge, match="more than 200 characters"):
            read_csv(b"id\n" + b"1" * 199, few)
        with pytest.raises(TableTooLarge, match="MB when unpacked"):
            read_csv(b"id\n" + b"1" * 1_000, few)

    def test_unusual_compression(self) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as made:
            made.writestr("xl/workbook.xml", "<workbook/>")
        with pytest.raises(Unreadable, match="unusual"):
            read_xlsx(out.getvalue())

    @pytest.mark.long
    @given(st.data())
    def test_any_damage_is_a_problem_or_a_table(self, data: st.DataObject) -> None:
        content = bytearray(SMALL)
        for _ in range(data.draw(st.integers(1, 5))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        try:
            read_any(bytes(content), "table.xlsx")
        except Problem:
            pass


class TestCsv:
    @pytest.mark.parametrize("separator", [",", ";", "\t"])
    def test_separators(self, separator: str) -> None:
        text = separator.join(["id", '"a,b;c"', "n"]) + "\r\n" + separator.join(["1", '"x ""y""\nz"', "'=1"])
        table = read_csv(b"\xef\xbb\xbf" + text.encode())
        assert (table.headers, cells(table)) == ({0: "id", 1: "a,b;c", 2: "n"}, [{0: "1", 1: 'x "y"\nz', 2: "=1"}])

    def test_a_hint_about_the_separator(self) -> None:
        assert read_csv(b"sep=|\r\nid|n\r\n1|2").headers == {0: "id", 1: "n"}
        # Not a separator, so it is the header.
        assert read_csv(b'sep="\nid,n\n').headers == {0: 'sep="'}

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", "The table is empty"),
            (b"\n\n", "The table is empty"),
            ("id\nä".encode("latin-1"), "it is not UTF-8"),
            (b"id\n\x00", "NUL"),
            (b'id\n"open', "row 2"),
        ],
    )
    def test_problems(self, data: bytes, message: str) -> None:
        with pytest.raises(Problem, match=message):
            read_csv(data)

    def test_empty_rows_are_skipped_and_counted(self) -> None:
        assert [each.number for each in read_csv(b"id,n\n\n1,2\n,\n3,4\n").rows] == [3, 5]


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.xlsx"
    path.write_text("id\n1\n")
    with pytest.raises(Invalid, match="not a workbook"):
        read_file(path)
    path = path.rename(tmp_path / "table.csv")
    assert len(read_file(path).rows) == 1
    monkeypatch.setattr("elements.tables.files.MOST_BYTES", 3)
    with pytest.raises(TooLarge):
        read_file(path)
    with pytest.raises(Problem, match="No such file"):
        read_file(tmp_path / "missing.csv")
