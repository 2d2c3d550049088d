"""Meaning of filters (D13): names and literals against a vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from functools import cache
from urllib.parse import parse_qs
from uuid import UUID

import pytest

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
from elements.filters.syntax import Operator, TextFunction
from facets.blueprint.data_types import DataType
from facets.template_format.reading import read_template
from repository_site.core.environment import PROJECT_DIR
from storage.provisioning.templates import load_template
from tests.elements.filter_literals import ANNA, BEN, FITTING, comparisons
from tests.elements.filter_vocabulary import (
    CULTURES,
    VOCABULARY,
    bind,
    element_type,
    message,
)

REFERENCE = (PROJECT_DIR / "docs/reference/filter.md").read_text(encoding="utf-8")


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


def test_a_vocabulary_keeps_different_definitions() -> None:
    assert VOCABULARY.attributes["size"] == (*BOX_SIZE.definitions, *BAG_SIZE.definitions)
    assert VOCABULARY.attributes["name"] == NAME.definitions
    assert dict(VOCABULARY.contexts) == {"owner": frozenset({"box"}), "held": frozenset({"box"})}


@cache
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


def test_any_attribute_means_all_that_support_the_test() -> None:
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


@pytest.mark.parametrize("data_type", list(DataType))
def test_operators_and_literals_of_each_data_type(data_type: DataType) -> None:
    tests, literals = FITTING[data_type]
    for asked, kind, text in comparisons(data_type.value):
        if asked not in tests:
            assert f", which do not support {asked}; allowed: " in message(text), text
        elif kind not in literals:
            assert ": expected " in message(text), text
        else:
            bind(text)
    bind(f"IsNull({data_type.value}) OR {data_type.value} -eq null OR {data_type.value} -ne null")


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
        ("Boolean -gt true", "9 (Boolean >>>-gt true)", "Boolean contains true or false, which do not support -gt; allowed: -eq, -ne, -in and IsNull"),
        ("id -lt 5", "4 (id >>>-lt 5)", "id contains GUIDs, which do not support -lt; allowed: -eq, -ne, -in and IsNull"),
        (f"owner -ge {ANNA}", f"7 (owner >>>-ge {ANNA[:26]}…)", "owner contains GUIDs, which do not support -ge; allowed: -eq, -ne, -in and IsNull"),
        ("Files -eq 'x'", "7 (Files >>>-eq 'x')", "Files contains files, which do not support -eq; allowed: Contains, StartsWith, EndsWith and IsNull"),
        ("Contains(Integer, '1')", "1 (>>>Contains(Integer, '1'))", "Integer contains numbers, which do not support Contains; allowed: -eq, -ne, -gt, -ge, -lt, -le, -in and IsNull"),
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
    assert message(text) == f"The filter is invalid at character {place}: {problem}."


def test_any_attribute_without_attributes() -> None:
    assert message("attributes -eq x", Vocabulary.of([element_type("dot")], CULTURES)) == (
        "The filter is invalid at character 1 (>>>attributes -eq x): the elements here have no attributes."
    )
