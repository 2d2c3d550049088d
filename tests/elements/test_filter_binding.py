"""What filters mean (D13): names and literals against a vocabulary, and which elements match in the end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elements.filters import read_filter
from elements.filters.binding import (
    AnyAttributeValues,
    AttributeDefinition,
    AttributeValues,
    BoundAnd,
    BoundExpression,
    BoundNot,
    BoundOr,
    Compare,
    ElementField,
    FieldValue,
    IsNull,
    OneOf,
    TargetIds,
    TextMatch,
    ValueKind,
    ValueTest,
    Vocabulary,
)
from elements.filters.evaluation import matches
from elements.filters.syntax import BLANKS, Operator, TextFunction, fold_case
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, ElementType, Property, Related
from facets.template_format.reading import read_template
from repository_site.core.environment import PROJECT_DIR
from repository_site.core.problems import Unreadable
from storage.provisioning.templates import load_template

ANNA = "e2a10000-0000-4000-8000-000000000007"
BEN = "e2a10000-0000-4000-8000-000000000008"
CULTURES = (1031, 1033)
REFERENCE = (PROJECT_DIR / "docs/reference/filter.md").read_text(encoding="utf-8")


def attribute(key: str, data_type: DataType, *, by_culture: bool = False) -> Property:
    return Property(key, ((1033, key),), attribute=Attribute(data_type, not by_culture))


def context(key: str) -> Property:
    return Property(key, ((1033, key),), related=Related("users", 5))


def element_type(key: str, *properties: Property) -> ElementType:
    return ElementType(key, "things", ((1033, key),), "#007ACC", key, key, properties=properties)


# One attribute of each data type, called like it; two types that do not agree on `size`, `held` and `note`.
BOX = element_type(
    "box",
    *(attribute(each.value, each) for each in DataType),
    attribute("name", DataType.MULTI_LINE_TEXT, by_culture=True),
    attribute("size", DataType.INTEGER),
    attribute("note", DataType.SINGLE_LINE_TEXT),
    context("owner"),
    context("held"),
)
BAG = element_type(
    "bag",
    attribute("name", DataType.SINGLE_LINE_TEXT, by_culture=True),
    attribute("size", DataType.SELECTION_VALUE),
    attribute("note", DataType.SINGLE_LINE_TEXT, by_culture=True),
    attribute("held", DataType.DATE),
    attribute("id", DataType.INTEGER),
)
VOCABULARY = Vocabulary.of([BOX, BAG], CULTURES)


def bind(text: str) -> BoundExpression:
    return read_filter(text, VOCABULARY)


def message(text: str, vocabulary: Vocabulary = VOCABULARY) -> str:
    with pytest.raises(Unreadable) as caught:
        read_filter(text, vocabulary)
    return caught.value.message


def defined(data_type: DataType, *types: str, by_culture: bool = False) -> AttributeDefinition:
    return AttributeDefinition(data_type, not by_culture, frozenset(types))


NAME = AttributeValues(
    "name",
    CULTURES,
    (
        defined(DataType.MULTI_LINE_TEXT, "box", by_culture=True),
        defined(DataType.SINGLE_LINE_TEXT, "bag", by_culture=True),
    ),
)
NAME_1031 = AttributeValues("name", (1031,), NAME.definitions)
BOX_SIZE = AttributeValues("size", (127,), (defined(DataType.INTEGER, "box"),))
BAG_SIZE = AttributeValues("size", (127,), (defined(DataType.SELECTION_VALUE, "bag"),))
BOX_NOTE = AttributeValues("note", (127,), (defined(DataType.SINGLE_LINE_TEXT, "box"),))
BAG_NOTE = AttributeValues("note", CULTURES, (defined(DataType.SINGLE_LINE_TEXT, "bag", by_culture=True),))
BAG_HELD = AttributeValues("held", (127,), (defined(DataType.DATE, "bag"),))
OWNER = TargetIds("owner", frozenset({"box"}))
HELD = TargetIds("held", frozenset({"box"}))


def test_a_vocabulary_keeps_what_types_do_not_agree_on() -> None:
    assert VOCABULARY.attributes["size"] == (*BOX_SIZE.definitions, *BAG_SIZE.definitions)
    assert VOCABULARY.attributes["name"] == NAME.definitions
    assert dict(VOCABULARY.contexts) == {"owner": frozenset({"box"}), "held": frozenset({"box"})}


def standard() -> Vocabulary:
    return Vocabulary.of(read_template(load_template("standard").sections).types, CULTURES)


@pytest.mark.parametrize(
    "text",
    [
        "state1 -eq released AND version -eq '1.0' AND isReleased -eq true AND stereotype -eq x AND NOT IsNull(relOn)",
        "changedOn -gt 2026-01-01 OR createdOn -lt 2026-01-01 OR validUntil -eq 9999-12-31T00:00:00",
        "Contains(gotoUrl[1031], 'x') OR Contains(authorNote, 'x') OR IsNull(validFrom) OR IsNull(owner)",
    ],
)
def test_derived_attributes_are_ordinary_names(text: str) -> None:
    read_filter(text, standard())


def examples(kind: str) -> Iterator[str]:
    for block in re.findall(rf"^```{kind}\n(.*?)^```$", REFERENCE, re.DOTALL | re.MULTILINE):
        yield from block.splitlines()


def test_the_examples_of_the_reference() -> None:
    lines = [*examples("filter")]
    assert len(lines) > 30
    for line in lines:
        read_filter(line, standard())


def test_the_addresses_of_the_reference() -> None:
    lines = [line for line in examples("filter-and-query") if line]
    for written, sent in zip(lines[::2], lines[1::2], strict=True):
        assert parse_qs(sent) == {"$filter": [written]}
        read_filter(written, standard())


def test_the_mistakes_of_the_reference() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|$", REFERENCE.partition("| the message says |")[2], re.MULTILINE)
    assert len(rows) > 10
    for written, said in rows:
        assert said in message(written, standard())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name -eq 'X'", ValueTest(NAME, ValueKind.TEXT, Compare(Operator.EQ, "X"))),
        ("name[1031] -gt x", ValueTest(NAME_1031, ValueKind.TEXT, Compare(Operator.GT, "x"))),
        ("name -ne 'x'", BoundNot(ValueTest(NAME, ValueKind.TEXT, Compare(Operator.EQ, "x")))),
        ("name -in (x, 'y', x)", ValueTest(NAME, ValueKind.TEXT, OneOf(("x", "y")))),
        ("name -in (x, null)", BoundOr((ValueTest(NAME, ValueKind.TEXT, OneOf(("x",))), IsNull(NAME)))),
        ("name -in (null)", IsNull(NAME)),
        ("Contains(name, 'ÄB')", ValueTest(NAME, ValueKind.TEXT, TextMatch(TextFunction.CONTAINS, "äb"))),
        ("IsNull(name)", IsNull(NAME)),
        ("IsNull(name[1031])", IsNull(NAME_1031)),
        ("name -eq null", IsNull(NAME)),
        ("name -ne null", BoundNot(IsNull(NAME))),
        # fields
        ("type -eq box", ValueTest(FieldValue(ElementField.TYPE), ValueKind.TEXT, Compare(Operator.EQ, "box"))),
        ("StartsWith(state, In)", ValueTest(FieldValue(ElementField.STATE), ValueKind.TEXT, TextMatch(TextFunction.STARTS_WITH, "in"))),
        ("facetName -le 'x'", ValueTest(FieldValue(ElementField.FACET_NAME), ValueKind.TEXT, Compare(Operator.LE, "x"))),
        (f"id -eq {ANNA.upper()}", ValueTest(FieldValue(ElementField.ID), ValueKind.ID, Compare(Operator.EQ, UUID(ANNA)))),
        (f"versionId -in ('{ANNA}', {BEN})", ValueTest(FieldValue(ElementField.VERSION_ID), ValueKind.ID, OneOf((UUID(ANNA), UUID(BEN))))),
        ("IsNull(creationId)", IsNull(FieldValue(ElementField.CREATION_ID))),
        ("stereotype -ne null", BoundNot(IsNull(FieldValue(ElementField.STEREOTYPE)))),
        # related contexts
        (f"owner -ne {ANNA}", BoundNot(ValueTest(OWNER, ValueKind.ID, Compare(Operator.EQ, UUID(ANNA))))),
        ("IsNull(owner)", IsNull(OWNER)),
        # names that types define differently: only what fits, the types with it
        ("size -gt 5", ValueTest(BOX_SIZE, ValueKind.NUMBER, Compare(Operator.GT, Decimal(5)))),
        ("size -gt 'm'", ValueTest(BAG_SIZE, ValueKind.TEXT, Compare(Operator.GT, "m"))),
        ("size -in (5, m)", BoundOr((ValueTest(BOX_SIZE, ValueKind.NUMBER, OneOf((Decimal(5),))), ValueTest(BAG_SIZE, ValueKind.TEXT, OneOf(("m",)))))),
        ("IsNull(size)", BoundAnd((IsNull(BOX_SIZE), IsNull(BAG_SIZE)))),
        ("note -eq x", BoundOr((ValueTest(BAG_NOTE, ValueKind.TEXT, Compare(Operator.EQ, "x")), ValueTest(BOX_NOTE, ValueKind.TEXT, Compare(Operator.EQ, "x"))))),
        ("note[127] -eq x", ValueTest(BOX_NOTE, ValueKind.TEXT, Compare(Operator.EQ, "x"))),
        ("held -eq 2026-03-02", ValueTest(BAG_HELD, ValueKind.MOMENT, Compare(Operator.EQ, datetime(2026, 3, 2)))),
        (f"held -eq '{ANNA}'", ValueTest(HELD, ValueKind.ID, Compare(Operator.EQ, UUID(ANNA)))),
        ("IsNull(held)", BoundAnd((IsNull(BAG_HELD), IsNull(HELD)))),
        # the attribute `id`, not the field
        ("id[127] -lt 5", ValueTest(AttributeValues("id", (127,), (defined(DataType.INTEGER, "bag"),)), ValueKind.NUMBER, Compare(Operator.LT, Decimal(5)))),
        # joints
        ("NOT IsNull(name) AND (IsNull(owner) OR IsNull(id))", BoundAnd((BoundNot(IsNull(NAME)), BoundOr((IsNull(OWNER), IsNull(FieldValue(ElementField.ID))))))),
    ],
)  # fmt: skip
def test_meanings(text: str, expected: BoundExpression) -> None:
    assert bind(text) == expected


def test_any_attribute_means_all_that_can_be_asked() -> None:
    moments = (
        AttributeValues("Date", (127,), (defined(DataType.DATE, "box"),)),
        AttributeValues("DateTime", (127,), (defined(DataType.DATE_TIME, "box"),)),
        BAG_HELD,
    )
    test = Compare(Operator.LT, datetime(2026, 3, 2))
    assert bind("attributes -lt 2026-03-02") == ValueTest(AnyAttributeValues(moments), ValueKind.MOMENT, test)
    both = bind("attributes -lt '2026-03-02'")
    assert isinstance(both, BoundOr)
    assert {each.kind for each in both.operands if isinstance(each, ValueTest)} == {
        ValueKind.TEXT,
        ValueKind.KEYS,
        ValueKind.MOMENT,
    }
    empty = bind("IsNull(attributes)")
    assert isinstance(empty, BoundAnd)
    names = {each.name for part in empty.operands for each in part.values.attributes}  # type: ignore[union-attr]
    assert names == set(VOCABULARY.attributes)


LITERALS = {
    "text": "'abc'", "word": "abc", "number": "12.5", "truth": "true", "moment": "2026-03-02", "moment in quotes": "'2026-03-02T09:15:20'",
}  # fmt: skip
TEXTS = {"text", "word", "moment in quotes"}
ALL = set(Operator) | set(TextFunction)
EQUALITY = {Operator.EQ, Operator.NE, Operator.IN}
# Data type: what can be asked, and with which literals.
FITTING: Mapping[DataType, tuple[set[Any], set[str]]] = {
    DataType.SINGLE_LINE_TEXT: (ALL, TEXTS),
    DataType.MULTI_LINE_TEXT: (ALL, TEXTS),
    DataType.HTML: (ALL, TEXTS),
    DataType.SELECTION_VALUE: (ALL, TEXTS),
    DataType.MULTI_SELECTION_VALUE: (ALL, TEXTS),
    DataType.URL: (ALL, TEXTS),
    DataType.BOOLEAN: (EQUALITY, {"truth"}),
    DataType.INTEGER: (set(Operator), {"number"}),
    DataType.DECIMAL: (set(Operator), {"number"}),
    DataType.DATE: (set(Operator), {"moment", "moment in quotes"}),
    DataType.DATE_TIME: (set(Operator), {"moment", "moment in quotes"}),
    DataType.FILES: (set(TextFunction), TEXTS),
}


@pytest.mark.parametrize("data_type", list(DataType))
def test_what_each_data_type_takes(data_type: DataType) -> None:
    tests, literals = FITTING[data_type]
    for asked, kind, text in comparisons(data_type.value):
        if asked not in tests:
            assert f", which do not support {asked}; possible: " in message(text), text
        elif kind not in literals:
            assert ": expected " in message(text), text
        else:
            bind(text)
    bind(f"IsNull({data_type.value}) OR {data_type.value} -eq null OR {data_type.value} -ne null")


def comparisons(name: str) -> Iterator[tuple[Operator | TextFunction, str, str]]:
    for kind, literal in LITERALS.items():
        for operator in Operator:
            value = f"({literal})" if operator is Operator.IN else literal
            yield operator, kind, f"{name} {operator} {value}"
        for function in TextFunction:
            yield function, kind, f"{function}({name}, {literal})"


TEXT_EXPECTED = "expected a text such as 'abc', not"
IN_QUOTES = "put it in quotes to compare it as text"
MOMENT_EXPECTED = "expected a date-time without zone such as 2026-03-02 or 2026-03-02T09:15:20, not"
GUID_EXPECTED = "expected a GUID such as 3f2504e0-4f89-41d3-9a0c-0305e82c3301, not"
FIELDS = "id, versionId, creationId, type, state, stereotype, facetName and attributes"


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        # names
        ("nmae -eq 1", "1 (>>>nmae -eq 1)", "there is no property nmae here; similar: name"),
        ("IsNull(a) OR NAME -eq 1", "8 (IsNull(>>>a) OR NAME -eq 1)", f"there is no property a here; known: the properties of the types, {FIELDS}"),
        ("versionid -eq 1", "1 (>>>versionid -eq 1)", "there is no property versionid here; similar: versionId, creationId"),
        ("Owner -eq 1", "1 (>>>Owner -eq 1)", "there is no property Owner here; similar: owner"),
        # cultures
        ("name[1036] -eq 'x'", "6 (name[>>>1036] -eq 'x')", "the storage has no culture 1036; it has 1031 and 1033"),
        ("Integer[1036] -eq 1", "9 (Integer[>>>1036] -eq 1)", "the storage has no culture 1036; it has 1031 and 1033"),
        ("name[127] -eq 'x'", "6 (name[>>>127] -eq 'x')", "name depends on the culture; write 1031 or 1033, or no culture to search them all"),
        ("Integer[1031] -eq 1", "9 (Integer[>>>1031] -eq 1)", "Integer does not depend on the culture; leave the culture out or write 127"),
        ("state[127] -eq 'x'", "1 (>>>state[127] -eq 'x')", "only attributes have cultures; there is no attribute state"),
        ("owner[127] -eq 'x'", "1 (>>>owner[127] -eq 'x')", "only attributes have cultures; there is no attribute owner"),
        ("nmae[1031] -eq 'x'", "1 (>>>nmae[1031] -eq 'x')", "there is no property nmae here; similar: name"),
        # operators and functions
        ("Boolean -gt true", "9 (Boolean >>>-gt true)", "Boolean contains true or false, which do not support -gt; possible: -eq, -ne, -in and IsNull"),
        ("id -lt 5", "4 (id >>>-lt 5)", "id contains GUIDs, which do not support -lt; possible: -eq, -ne, -in and IsNull"),
        (f"owner -ge {ANNA}", f"7 (owner >>>-ge {ANNA[:26]}…)", "owner contains GUIDs, which do not support -ge; possible: -eq, -ne, -in and IsNull"),
        ("Files -eq 'x'", "7 (Files >>>-eq 'x')", "Files contains files, which do not support -eq; possible: Contains, StartsWith, EndsWith and IsNull"),
        ("Contains(Integer, '1')", "1 (>>>Contains(Integer, '1'))", "Integer contains numbers, which do not support Contains; possible: -eq, -ne, -gt, -ge, -lt, -le, -in and IsNull"),
        # literals
        ("Integer -gt '5'", "13 (Integer -gt >>>'5')", "expected a number such as 12 or -0.5, not '5', because Integer contains numbers"),
        ("Integer -in (1, 2, x)", "20 (Integer -in (1, 2, >>>x))", "expected a number such as 12 or -0.5, not 'x', because Integer contains numbers"),
        ("Boolean -eq 1", "13 (Boolean -eq >>>1)", "expected true or false, not a number, because Boolean contains true or false"),
        ("name -eq 5", "10 (name -eq >>>5)", f"{TEXT_EXPECTED} a number, because name contains texts; {IN_QUOTES}"),
        ("name -eq 2026-03-02", "10 (name -eq >>>2026-03-02)", f"{TEXT_EXPECTED} a date-time, because name contains texts; {IN_QUOTES}"),
        ("Contains(name, true)", "16 (Contains(name, >>>true))", f"{TEXT_EXPECTED} true, because name contains texts; {IN_QUOTES}"),
        ("Contains(name, null)", "16 (Contains(name, >>>null))", f"{TEXT_EXPECTED} null, because name contains texts"),
        ("name -gt null", "10 (name -gt >>>null)", f"{TEXT_EXPECTED} null, because name contains texts"),
        ("Date -eq 2026-03-02T09:15:20Z", "10 (Date -eq >>>2026-03-02T09:15:20Z)", f"{MOMENT_EXPECTED} '2026-03-02T09:15:20Z', because Date contains date-times"),
        ("Date -eq '2026-02-30'", "10 (Date -eq >>>'2026-02-30')", f"{MOMENT_EXPECTED} '2026-02-30', because Date contains date-times"),
        ("id -eq 5", "8 (id -eq >>>5)", f"{GUID_EXPECTED} a number, because id contains GUIDs"),
        (f"id -eq '{{{ANNA}}}'", f"8 (id -eq >>>'{{{ANNA[:28]}…)", f"{GUID_EXPECTED} '{{{ANNA}}}', because id contains GUIDs"),
        ("owner -eq anna", "11 (owner -eq >>>anna)", f"{GUID_EXPECTED} 'anna', because owner contains GUIDs"),
        ("size -eq true", "10 (size -eq >>>true)", f"expected a number such as 12 or -0.5 or a text such as 'abc', not true, because size contains numbers and texts; {IN_QUOTES}"),
    ],
)  # fmt: skip
def test_mistakes(text: str, place: str, problem: str) -> None:
    assert message(text) == f"The filter is wrong at character {place}: {problem}."


def test_any_attribute_where_there_is_none() -> None:
    assert message("attributes -eq x", Vocabulary.of([element_type("dot")], CULTURES)) == (
        "The filter is wrong at character 1 (>>>attributes -eq x): the elements here have no attributes."
    )


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
        # texts: -eq minds letter case, functions do not; order by code point
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
        # several keys: one is enough
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
        # date-times; a date is its midnight
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
def test_what_is_null(value: Any, expected: bool) -> None:
    element = {"type": "box", "attributes": {"MultiSelectionValue": {"127": value}}}
    assert matches(bind("IsNull(MultiSelectionValue)"), element) is expected


@pytest.mark.parametrize("value", ["12", True, None, [12], {"a": 12}, "2026", 12.5])
def test_a_value_that_does_not_fit_its_type_matches_nothing_and_breaks_nothing(value: Any) -> None:
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


def test_blanks_are_what_python_takes_for_blank() -> None:
    assert set(BLANKS) == {chr(code) for code in range(0x110000) if chr(code).isspace()}


def test_letter_case_is_folded_letter_by_letter() -> None:
    assert fold_case("ÄẞΣİ\U0001f600A") == "äßσi\U0001f600a"
    assert len(fold_case("".join(map(chr, range(0x110000))))) == 0x110000
