"""A person with a spreadsheet: opens an exported table in another program, edits cells and saves it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import xlsxwriter

from tests.elements.tables.table_desk import read_csv, read_xlsx

Edits = Mapping[tuple[int, str], Any]
"""New values by the number of the row and the header of the column."""


def edited(format: str, content: bytes, edits: Edits | None = None) -> bytes:
    """Return the file after it was edited and saved."""
    table: list[list[Any]] = read_csv(content) if format == "csv" else read_xlsx(content)
    for (row, header), value in (edits or {}).items():
        table[row - 1][table[0].index(header)] = value
    return saved_csv(table) if format == "csv" else saved_xlsx(table)


def saved_csv(table: list[list[Any]], separator: str = ";") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=separator).writerows([["" if each is None else each for each in row] for row in table])
    return out.getvalue().encode("utf-8-sig")


def saved_xlsx(table: list[list[Any]], **options: Any) -> bytes:
    """Write with a writer that is not ours, which shares texts and has other formats."""
    out = io.BytesIO()
    with xlsxwriter.Workbook(
        out, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, **options}
    ) as book:
        sheet = book.add_worksheet("My sheet")
        day, moment = (book.add_format({"num_format": each}) for each in ("dd.mm.yyyy", "d/m/yy hh:mm:ss"))
        for row, cells in enumerate(table):
            for place, cell in enumerate(cells):
                if isinstance(cell, datetime):
                    sheet.write_datetime(row, place, cell, moment)
                elif isinstance(cell, date):
                    sheet.write_datetime(row, place, datetime(cell.year, cell.month, cell.day), day)
                elif isinstance(cell, bool):
                    sheet.write_boolean(row, place, cell)
                elif isinstance(cell, str):
                    sheet.write_string(row, place, cell)
                elif cell is not None:
                    sheet.write_number(row, place, cell)
    return out.getvalue()
