"""Evaluation of bound filters on elements in wire form (D13)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elements.filters import read_filter
from elements.filters.binding import (
    Vocabulary,
)
from elements.filters.syntax import BLANKS, fold_case
from facets.blueprint.data_types import DataType
from tests.elements.filter_evaluation import matches
from tests.elements.filter_literals import ANNA, BEN, FITTING, comparisons
from tests.elements.filter_vocabulary import (
    CULTURES,
    attribute,
    bind,
    element_type,
)
from tests.scale import first_quick

FULL: dict[str, Any] = {
    "facetName": "things",
    "id": BEN,
    "versionId": ANNA,
    "type": "box",
    "state": "released",
    "attributes": {
        "SingleLineText": {"127": "Straße"},
        "MultiLineText": {"127": " \n\u00a0"},
        "Html": {"127": '<?xml version="1.0"?><p>Order</p>'},
        "SelectionValue": {"127": "isLived"},
        "MultiSelectionValue": {"127": ["red", "green"]},
        "Boolean": {"127": False},
        "Integer": {"127": 9_223_372_036_854_775_807},
        "Decimal": {"127": Decimal("0.10")},
        "Date": {"127": "2026-03-02"},
        "DateTime": {"127": "2026-03-02T09:15:20.25"},
        "Url": {"127": "https://repo.example/A"},
        "Files": {"127": [{"title": "Plan", "address": "f-1", "mimeType": "image/png"}, {"title": "Notes", "address": "f-2"}]},
        "name": {"1031": "Auftrag\nabwickeln", "1033": "Handle order"},
        "size": {"127": 12},
    },
    "related": {"owner": [{"id": ANNA, "type": "user"}, {"id": BEN.upper(), "type": "user"}]},
}  # fmt: skip


EMPTY: dict[str, Any] = {"facetName": "things", "id": ANNA, "creationId": ANNA, "type": "bag"}


HALF: dict[str, Any] = {
    **EMPTY,
    "attributes": {"name": {"1033": "Bag"}, "size": {"127": "12"}, "held": {"127": None}, "note": {"1031": "", "1033": "x"}},
}  # fmt: skip


ELEMENTS = {"full": FULL, "half": HALF, "empty": EMPTY}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # texts: -eq is case-sensitive, functions are not; order by code point
        ("SingleLineText -eq 'Straße'", "full"),
        ("SingleLineText -eq 'straße'", ""),
        ("SingleLineText -eq 'Strasse'", ""),
        ("Contains(SingleLineText, 'RASS')", ""),
        ("Contains(SingleLineText, 'RAẞ')", "full"),
        ("StartsWith(SingleLineText, 'STR') AND EndsWith(SingleLineText, 'E')", "full"),
        ("StartsWith(SingleLineText, 'tr') OR EndsWith(SingleLineText, 'ß')", ""),
        ("SingleLineText -gt 'Straz'", "full"),
        ("SingleLineText -lt 'a' AND SingleLineText -ge 'Straße' AND SingleLineText -le 'Straße'", "full"),
        ("Contains(SingleLineText, '')", "full"),
        ("Contains(Html, '<P>order')", "full"),
        ("SelectionValue -in (defined, isLived)", "full"),
        ("EndsWith(Url, '/a')", "full"),
        # several keys: one match is enough
        ("MultiSelectionValue -eq green", "full"),
        ("MultiSelectionValue -eq 'red,green'", ""),
        ("MultiSelectionValue -ne green", "half empty"),
        ("MultiSelectionValue -in (blue, red) AND StartsWith(MultiSelectionValue, 'GR')", "full"),
        # numbers
        ("Integer -eq 9223372036854775807", "full"),
        ("Integer -eq 9223372036854775808", ""),
        ("Integer -gt 9223372036854775806.5", "full"),
        ("Decimal -eq 0.1", "full"),
        ("Decimal -in (1e-1, 5)", "full"),
        ("Decimal -lt 0.1", ""),
        # true and false; false is not null
        ("Boolean -eq false", "full"),
        ("Boolean -ne true", "full half empty"),
        ("IsNull(Boolean)", "half empty"),
        # date-times; a date means its midnight
        ("Date -eq 2026-03-02", "full"),
        ("Date -lt 2026-03-02T00:00:00.0000001", ""),
        ("Date -lt 2026-03-02T00:00:00.000001", "full"),
        ("DateTime -eq '2026-03-02T09:15:20.2500000'", "full"),
        ("DateTime -gt 2026-03-02 AND DateTime -lt 2026-03-03", "full"),
        # files
        ("Contains(Files, 'NOTE')", "full"),
        ("StartsWith(Files, 'f-2')", "full"),
        ("Contains(Files, 'png')", ""),
        # cultures
        ("name -eq 'Handle order'", "full"),
        ("name[1031] -eq 'Handle order'", ""),
        ("Contains(name, bag)", "half"),
        ("name[1031] -ne 'Bag'", "full half empty"),
        ("IsNull(name)", "empty"),
        ("IsNull(name[1031])", "half empty"),
        ("name -ne 'Bag'", "full empty"),
        # null, empty, blank, missing
        ("IsNull(MultiLineText)", "full half empty"),
        ("MultiLineText -eq null AND NOT MultiLineText -ne null", "full half empty"),
        ("SingleLineText -in ('x', null)", "half empty"),
        ("IsNull(note)", "full empty"),
        ("note -eq ''", "half"),
        ("IsNull(held)", "full half empty"),
        ("IsNull(attributes)", "empty"),
        # names that types define differently
        ("size -eq 12", "full"),
        ("size -eq '12'", "half"),
        ("size -ne 12", "half empty"),
        ("size -in (12, '12')", "full half"),
        # any attribute
        ("attributes -eq 'x'", "half"),
        ("attributes -eq 12", "full"),
        ("attributes -eq '12'", "half"),
        ("Contains(attributes, 'ORD')", "full"),
        ("attributes -ne 'x'", "full empty"),
        ("attributes -eq 2026-03-02", "full"),
        # fields
        (f"id -eq {BEN.upper()}", "full"),
        (f"id -in ({ANNA})", "half empty"),
        (f"versionId -eq {ANNA}", "full"),
        ("IsNull(versionId)", "half empty"),
        ("IsNull(creationId)", "full"),
        ("type -eq Box", ""),
        ("type -gt b AND type -lt bb", "half empty"),
        ("state -ne released", "half empty"),
        ("Contains(state, 'REL')", "full"),
        ("IsNull(stereotype) AND facetName -eq things", "full half empty"),
        # related contexts
        (f"owner -eq {BEN}", "full"),
        (f"owner -ne {BEN}", "half empty"),
        (f"owner -in ({BEN}, 3f2504e0-4f89-41d3-9a0c-0305e82c3301)", "full"),
        ("owner -eq 3f2504e0-4f89-41d3-9a0c-0305e82c3301", ""),
        ("IsNull(owner)", "half empty"),
        # joints
        ("NOT IsNull(name) AND NOT (type -eq box)", "half"),
        ("type -eq box OR type -eq bag AND IsNull(name)", "full empty"),
        ("(type -eq box OR type -eq bag) AND IsNull(name)", "empty"),
    ],
)  # fmt: skip
def test_which_elements_match(text: str, expected: str) -> None:
    expression = bind(text)
    assert " ".join(name for name, element in ELEMENTS.items() if matches(expression, element)) == expected


def test_a_value_is_read_as_its_own_type_defines_it() -> None:
    due = (
        element_type("box", attribute("due", DataType.DATE)),
        element_type("bag", attribute("due", DataType.SINGLE_LINE_TEXT)),
    )
    expression = read_filter("due -eq '2026-03-02T00:00:00'", Vocabulary.of(due, CULTURES))
    value = {"attributes": {"due": {"127": "2026-03-02"}}}
    assert [matches(expression, {"type": key, **value}) for key in ("box", "bag", "other")] == [True, False, False]


@pytest.mark.parametrize(("value", "expected"), [([], True), ("", True), (None, True), (["red"], False), (0, False)])
def test_null_values(value: Any, expected: bool) -> None:
    element = {"type": "box", "attributes": {"MultiSelectionValue": {"127": value}}}
    assert matches(bind("IsNull(MultiSelectionValue)"), element) is expected


@pytest.mark.parametrize("value", first_quick(["12", True, None, [12], {"a": 12}, "2026", 12.5], 2))
def test_an_invalid_stored_value_matches_nothing(value: Any) -> None:
    for data_type in DataType:
        element = {"type": "box", "attributes": {data_type.value: {"127": value}}}
        for asked, kind, text in comparisons(data_type.value):
            tests, literals = FITTING[data_type]
            if asked in tests and kind in literals:
                matches(bind(text), element)
    assert matches(bind("Integer -eq 12"), {"type": "box", "attributes": {"Integer": {"127": value}}}) is False


VALUES = st.one_of(st.none(), st.sampled_from(["", " ", "abc", "ABC", "b"]))


TEXT_ELEMENTS = st.builds(
    lambda key, texts: {"type": key, "attributes": {"name": texts}},
    st.sampled_from(["box", "bag", "other"]),
    st.dictionaries(st.sampled_from(["1031", "1033"]), VALUES),
)


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(TEXT_ELEMENTS, st.sampled_from(["name", "name[1031]"]), st.sampled_from(["abc", "B", " "]))
def test_laws(element: dict[str, Any], name: str, text: str) -> None:
    def holds(filter: str) -> bool:
        return matches(bind(filter), element)

    assert holds(f"{name} -ne '{text}'") is not holds(f"{name} -eq '{text}'")
    assert holds(f"{name} -ne '{text}'") is holds(f"NOT {name} -eq '{text}'")
    assert holds(f"{name} -in ('{text}', null)") is holds(f"{name} -eq '{text}' OR IsNull({name})")
    assert holds(f"{name} -ge '{text}'") is holds(f"{name} -gt '{text}' OR {name} -eq '{text}'")
    assert holds(f"Contains({name}, '{text}')") >= holds(f"StartsWith({name}, '{text}')")
    assert holds(f"NOT (IsNull({name}) AND {name} -gt '{text}')") is holds(
        f"NOT IsNull({name}) OR NOT {name} -gt '{text}'"
    )


@pytest.mark.long
def test_blanks_are_those_of_python() -> None:
    assert set(BLANKS) == {chr(code) for code in range(0x110000) if chr(code).isspace()}


def test_letter_case_is_folded_letter_by_letter() -> None:
    assert fold_case("ÄẞΣİ\U0001f600A") == "äßσi\U0001f600a"


@pytest.mark.long
def test_letter_case_of_every_letter_is_one_letter() -> None:
    assert len(fold_case("".join(map(chr, range(0x110000))))) == 0x110000
