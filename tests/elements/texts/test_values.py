"""Values and their data types (D16): valid ones, and the messages about invalid ones."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from elements.values.checking import read_date_time, value_problem
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, SelectableValue

HTML = '<?xml version="1.0" encoding="utf-8"?>'
CHOICES = (SelectableValue(None, ()), SelectableValue("a", ()), SelectableValue("b", ()))
FILE = {"address": "1", "fullAddress": "https://x/1", "mimeType": "image/png", "protocol": "https", "title": "One"}


@pytest.mark.parametrize(
    ("data_type", "value", "problem"),
    [
        (DataType.SINGLE_LINE_TEXT, " kept ", None),
        (DataType.SINGLE_LINE_TEXT, "", None),
        (DataType.SINGLE_LINE_TEXT, "a\nb", "must be a single line"),
        (DataType.SINGLE_LINE_TEXT, "a\u2028b", "must be a single line"),
        (DataType.SINGLE_LINE_TEXT, "a\x00", "must not contain a NUL character"),
        (DataType.SINGLE_LINE_TEXT, 1, "must be text"),
        (DataType.MULTI_LINE_TEXT, "a\nb", None),
        (DataType.MULTI_LINE_TEXT, None, "must be text"),
        (DataType.HTML, f"{HTML}<p>x</p><p>ä</p>", None),
        (DataType.HTML, f"{HTML}plain", None),
        (DataType.HTML, "<p>x</p>", "must start with an XML declaration"),
        (DataType.HTML, f"{HTML}<p>x", "is not well-formed at line 1, column 1: the element p is not closed"),
        (
            DataType.HTML,
            f"{HTML}<!DOCTYPE a [<!ENTITY b 'c'>]><p/>",
            "is not well-formed at line 1, column 3: unexpected character; write &lt; for the character < and quotes around"
            " values of attributes",
        ),
        (DataType.SELECTION_VALUE, "a", None),
        (DataType.SELECTION_VALUE, "c", "must be one of a, b"),
        (DataType.SELECTION_VALUE, None, "must be one of a, b"),
        (DataType.MULTI_SELECTION_VALUE, ["b", "a"], None),
        (DataType.MULTI_SELECTION_VALUE, [], None),
        (DataType.MULTI_SELECTION_VALUE, ["a", "a"], "must be a list of different keys"),
        (DataType.MULTI_SELECTION_VALUE, "a", "must be a list of different keys"),
        (DataType.MULTI_SELECTION_VALUE, ["c"], "must be one of a, b"),
        (DataType.BOOLEAN, True, None),
        (DataType.BOOLEAN, 1, "must be true or false"),
        (DataType.INTEGER, -(2**63), None),
        (DataType.INTEGER, 2**63, "must be a whole number of up to 64 bits"),
        (DataType.INTEGER, True, "must be a whole number of up to 64 bits"),
        (DataType.INTEGER, Decimal("1.0"), "must be a whole number of up to 64 bits"),
        (DataType.DECIMAL, Decimal("1.10"), None),
        (DataType.DECIMAL, 3, None),
        (DataType.DECIMAL, "3", "must be a number"),
        (DataType.DATE, "2024-02-29", None),
        (DataType.DATE, "2023-02-29", "must be a date such as 2026-12-31"),
        (DataType.DATE, "20240229", "must be a date such as 2026-12-31"),
        (DataType.DATE_TIME, "2026-01-01T00:00:00.1234567", None),
        (DataType.DATE_TIME, "2026-01-01", "must be a date-time such as 2026-12-31T13:45:00"),
        (DataType.DATE_TIME, "2026-01-01T00:00:00Z", "must be a date-time such as 2026-12-31T13:45:00"),
        (DataType.URL, "https://repo.example/x?y#z", None),
        (DataType.URL, " JavaScript:alert(1)", "must not be an address that runs code"),
        (DataType.FILES, [FILE], None),
        (
            DataType.FILES,
            [{**FILE, "size": 3}],
            "must contain objects with address, fullAddress, mimeType, protocol, title",
        ),
        (DataType.FILES, [{"title": "x"}], "must contain files with an address; all fields must be text"),
        (DataType.FILES, FILE, "must be a list of files"),
    ],
)
def test_values(data_type: DataType, value: Any, problem: str | None) -> None:
    assert value_problem(Attribute(data_type, True, CHOICES), value) == problem


def test_every_data_type_is_checked() -> None:
    for data_type in DataType:
        value_problem(Attribute(data_type, True, CHOICES), None)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-02T09:15:20.25", datetime(2026, 3, 2, 9, 15, 20, 250000)),
        ("2026-03-02T09:15:20.1234567", datetime(2026, 3, 2, 9, 15, 20, 123456)),
        ("9999-12-31T00:00:00", datetime(9999, 12, 31)),
        ("2026-13-02T09:15:20", None),
        ("2026-03-02 09:15:20", None),
        (7, None),
    ],
)
def test_date_times(text: Any, moment: datetime | None) -> None:
    assert read_date_time(text) == moment
