"""Cells keep values exactly (D462): numbers with all digits, dates as dates, and texts that are never formulas."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elements.tables.cells import cell_of, csv_text, moment_cell, read_csv_text
from facets.blueprint.data_types import DataType


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        (DataType.SINGLE_LINE_TEXT, "007", "007"),
        (DataType.SINGLE_LINE_TEXT, "", None),
        (DataType.SINGLE_LINE_TEXT, None, None),
        (DataType.SINGLE_LINE_TEXT, 7, 7),
        (DataType.BOOLEAN, False, False),
        (DataType.INTEGER, 0, 0),
        (DataType.INTEGER, 999_999_999_999_999, 999_999_999_999_999),
        (DataType.INTEGER, 1_234_567_890_123_456, "1234567890123456"),
        (DataType.INTEGER, -9_223_372_036_854_775_808, "-9223372036854775808"),
        (DataType.DECIMAL, Decimal("0.10"), Decimal("0.10")),
        (DataType.DECIMAL, Decimal("12345678901234567890.125"), "12345678901234567890.125"),
        (DataType.DECIMAL, Decimal("1E+400"), "1E+400"),
        (DataType.DATE, "2026-12-31", date(2026, 12, 31)),
        (DataType.DATE, "1900-02-28", "1900-02-28"),
        (DataType.DATE, "yesterday", "yesterday"),
        (DataType.DATE_TIME, "2026-12-31T13:45:00", datetime(2026, 12, 31, 13, 45)),
        (DataType.DATE_TIME, "2026-12-31T13:45:00.5", "2026-12-31T13:45:00.5"),
        (DataType.DATE_TIME, "9999-12-31T00:00:00", datetime(9999, 12, 31)),
        (DataType.MULTI_SELECTION_VALUE, ["red", "blue"], "red\nblue"),
        (DataType.MULTI_SELECTION_VALUE, [], None),
        (DataType.FILES, [{"address": "a", "title": "A"}], '[{"address":"a","title":"A"}]'),
    ],
)
def test_cells_of_values(data_type: DataType, value: Any, expected: Any) -> None:
    found = cell_of(data_type, value)
    assert (found, type(found)) == (expected, type(expected))


def test_times_of_the_server_have_whole_seconds() -> None:
    assert moment_cell("2026-12-31T13:45:01.123456") == datetime(2026, 12, 31, 13, 45, 1)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, ""),
        (True, "true"),
        (-5, "-5"),
        (Decimal("-1E+3"), "-1000"),
        (date(2026, 12, 31), "2026-12-31"),
        (datetime(2026, 12, 31, 13, 45), "2026-12-31T13:45:00"),
        ("plain", "plain"),
        ("it's", "it's"),
        ("=1+1", "'=1+1"),
        ("+49 30", "'+49 30"),
        ("-", "'-"),
        ("@name", "'@name"),
        ("\t=1", "'\t'=1"),
        ("a; -b", "a;' -b"),
        ("a;=1;b", "a;'=1;b"),
        ("one\n=1\n\ntwo", "one\n'=1\n\ntwo"),
        ("a;'b", "a;''b"),
        ("a - b, =c", "a - b, =c"),
        ("  =1", "'  =1"),
        ("＝1", "'＝1"),
        ("'quoted'", "''quoted'"),
    ],
)
def test_texts_of_cells_in_csv(cell: Any, text: str) -> None:
    assert csv_text(cell) == text


@pytest.mark.long
@given(st.text(st.sampled_from("=+-@'\t\r\n; a1＝"), max_size=8))
def test_a_text_comes_back_from_csv_and_is_never_a_formula(text: str) -> None:
    """Whatever separates cells for the program that opens it."""
    written = csv_text(text)
    assert read_csv_text(written) == text
    assert not any(each.lstrip(" ").startswith(("=", "+", "-", "@", "＝")) for each in re.split("[;\t\r\n]", written))
