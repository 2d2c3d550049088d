"""Read csv as spreadsheets save it: UTF-8, separated by commas, semicolons or tabs. Pure."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from io import StringIO

from django.utils.translation import gettext as _

from elements.tables.cells import read_csv_text
from elements.tables.read_tables import (
    LARGEST,
    CellsByPlace,
    ReadTable,
    TableBounds,
    check_unpacked,
    read_table,
    unreadable,
)

SEPARATORS = ",;\t"
# The first line that Excel reads, and some programs write.
HINT = re.compile(r"sep=([,;|\t])\r?\n", re.IGNORECASE)
# Larger than any attribute. The setting is one for the process, which reads csv nowhere else.
csv.field_size_limit(4 * 1024 * 1024)


def read_csv(data: bytes, bounds: TableBounds = LARGEST) -> ReadTable:
    check_unpacked(len(data), bounds)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise unreadable(_("it is not UTF-8; save it as “CSV UTF-8”, or as a workbook (xlsx)")) from None
    if "\x00" in text:
        raise unreadable(_("it contains NUL characters"))
    hint = HINT.match(text)
    separator = hint[1] if hint else _separator(text)
    reader = csv.reader(StringIO(text[hint.end() :] if hint else text, newline=""), delimiter=separator, strict=True)
    return read_table(_rows(reader), bounds)


def _separator(text: str) -> str:
    """Return the separator that is most frequent in the first line, outside of quotes."""
    header = re.sub(r'"[^"]*"', "", text[:100_000].partition("\n")[0])
    return max(SEPARATORS, key=header.count)


def _rows(reader: Iterator[list[str]]) -> Iterator[tuple[int, CellsByPlace]]:
    number = 0
    try:
        for number, row in enumerate(reader, 1):
            yield number, {place: read_csv_text(text) for place, text in enumerate(row) if text}
    except csv.Error as problem:
        raise unreadable(f"{_('row')} {number + 1}: {problem}") from None
