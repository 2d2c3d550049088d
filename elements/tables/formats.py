"""The formats of tables: their media types, and the bytes of a table that is read row by row."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from enum import StrEnum
from io import StringIO

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from elements.reading.bounds import check_response
from elements.tables.cells import RowBatches, csv_text
from elements.tables.columns import Column, ColumnKind, TableColumns
from elements.tables.xlsx_writing import MOST_COLUMNS, MOST_ROWS, WorkbookWriter
from facets.blueprint.data_types import DataType
from repository_site.core.fairness.large_lists import LARGE, large_lists
from repository_site.core.problems import Invalid
from repository_site.core.rest.rendering import CSV_TYPE

XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
BYTE_ORDER_MARK = "\ufeff"
NOT_TEXT = frozenset({DataType.BOOLEAN, DataType.INTEGER, DataType.DECIMAL, DataType.DATE, DataType.DATE_TIME})


class TableFormat(StrEnum):
    XLSX = "xlsx"
    CSV = "csv"

    @property
    def media_type(self) -> str:
        return CSV_TYPE if self is TableFormat.CSV else XLSX_TYPE

    def name_file(self, response: HttpResponseBase, name: str) -> None:
        """Let browsers save the response as a file."""
        safe = re.sub(r"[^A-Za-z0-9_-]+", "-", name)
        response["Content-Disposition"] = f'attachment; filename="{safe}.{self}"'
        response["X-Content-Type-Options"] = "nosniff"

    def write(self, columns: TableColumns, batches: RowBatches) -> Iterator[bytes]:
        """Yield the bytes of a table, a piece for each batch of rows."""
        return _csv(columns, batches) if self is TableFormat.CSV else _xlsx(columns, batches)


def _csv(columns: TableColumns, batches: RowBatches) -> Iterator[bytes]:
    """Yield csv (RFC 4180) with a byte order mark, without which spreadsheets assume another encoding than UTF-8."""
    out = StringIO()
    writer = csv.writer(out)
    out.write(BYTE_ORDER_MARK)
    writer.writerow([each.header for each in columns.columns])
    with closing(batches):
        for _total, rows in batches:
            writer.writerows([[csv_text(cell) for cell in row] for row in rows])
            yield out.getvalue().encode()
            out.seek(0)
            out.truncate()
    if rest := out.getvalue():
        yield rest.encode()


def _xlsx(columns: TableColumns, batches: RowBatches) -> Iterator[bytes]:
    if len(columns.columns) > MOST_COLUMNS:
        text = _("The table has %(count)d columns; xlsx allows %(most)d. Choose fewer, or use csv.")
        raise Invalid(text % {"count": len(columns.columns), "most": MOST_COLUMNS})
    of_text = [_is_text(each, columns) for each in columns.columns]
    writer = WorkbookWriter([each.header for each in columns.columns], of_text)
    with closing(batches):
        for total, rows in batches:
            if total >= MOST_ROWS:
                text = _("The table has %(count)d rows; xlsx allows %(most)d. Use a filter, or csv.")
                raise Invalid(text % {"count": total, "most": MOST_ROWS - 1})
            yield writer.rows(rows, total)
    yield writer.end()


def _is_text(column: Column, columns: TableColumns) -> bool:
    """Return whether the cells of a column are texts in every type."""
    if column.kind is not ColumnKind.VALUE:
        return True
    found = [each[column.key].attribute for each in columns.properties.values() if column.key in each]
    return not any(each is not None and each.data_type in NOT_TEXT for each in found)


def whole_table(write: Callable[[], Iterator[bytes]]) -> bytes:
    """Return a short table, or raise TooHeavy. One thread at a time writes a large response (D301)."""

    def joined() -> bytes:
        found = bytearray()
        for piece in write():
            found += piece
            if len(found) > LARGE:
                large_lists.claim()
            check_response(len(found))
        return bytes(found)

    return large_lists.write(joined)
