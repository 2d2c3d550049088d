"""Export of the list, a change in a spreadsheet, and its import, as a person does it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from python_calamine import CalamineWorkbook

from tests.browser.conftest import DEMO, NewVisitor
from tests.server_process import Server

pytestmark = [pytest.mark.long, pytest.mark.browser]
LIST = f"{DEMO}/admin/elements/element/"


def test_export_edit_and_import(visit: NewVisitor, tmp_path: Path) -> None:
    rita = visit("rita")
    rita.open(f"{LIST}?type=tag")
    page = rita.page
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Excel workbook (xlsx)").click()
    exported = tmp_path / "elements.xlsx"
    download.value.save_as(exported)
    table = CalamineWorkbook.from_path(exported).get_sheet_by_index(0).to_python()
    name = table[0].index("name[1033]")
    old, new = str(table[1][name]), f"{table[1][name]} edited"
    table[1][name] = new
    rita.open(LIST)
    page.get_by_role("link", name="Import").click()
    rita.check_accessibility()
    edited = tmp_path / "edited.xlsx"
    edited.write_bytes(saved(table))
    page.locator("#id-file").set_input_files(edited)
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("0 new, 1 changed").wait_for()
    rita.check_looks(1)
    row = page.get_by_role("row", name="name[1033]")
    assert (old in row.inner_text(), new in row.inner_text()) == (True, True)
    page.get_by_role("button", name="Import").press("Enter")
    page.get_by_text("1 element was imported.").wait_for()
    rita.open(f"{LIST}?type=tag")
    page.get_by_role("link", name=new).wait_for()


def test_a_large_table_is_read_in_the_background(visit: NewVisitor, site: Server, tmp_path: Path) -> None:
    rita = visit("rita")
    page = rita.page
    table = tmp_path / "large.csv"
    table.write_text("id,name[1033]\n" + "".join(f"{number},Name\n" for number in range(600)))
    rita.open(f"{LIST}import/")
    page.locator("#id-file").set_input_files(table)
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("large.csv is being read for the preview.").wait_for()
    rita.check_accessibility()
    assert site.manage("work", "--once").returncode == 0
    # The page loads itself again until the job has finished.
    page.get_by_text("600 problems: nothing can be imported until they are solved.").wait_for()
    page.get_by_text("and 400 more").first.wait_for()
    rita.check_looks(1)
    assert page.get_by_role("button", name="Import").count() == 0
    page.get_by_role("button", name="Choose another file").press("Enter")
    page.locator("#id-file").wait_for()


def saved(table: list[list[Any]]) -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True, "strings_to_urls": False}) as book:
        sheet = book.add_worksheet()
        for number, cells in enumerate(table):
            sheet.write_row(number, 0, cells)
    return out.getvalue()
