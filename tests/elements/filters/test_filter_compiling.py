"""Filters in the database (D13): selected elements, and the matches of each filter."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.filters.binding import TextMatch, ValueKind
from elements.filters.probes import Passes
from elements.filters.syntax import BLANKS, TextFunction, fold_case
from storage.tenancy.scope import tenant_scope
from tests.elements.filter_world import (
    ADDRESS,
    BERLIN,
    NEW_YORK,
    SELECT,
    FilteredVersion,
    FilterWorld,
    Thing,
    filter_world,
    identity,
    quoted,
)

pytestmark = pytest.mark.django_db


def version(name: str, **fields: Any) -> FilteredVersion:
    return FilteredVersion(identity(name), **fields)


def local(text: str, zone: ZoneInfo = BERLIN, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).astimezone(UTC)


ANNA, BEN, NOBODY = identity("anna"), identity("ben"), identity("nobody")
HAND_PICKED = {
    "anna": Thing(ANNA, "person", [version("anna", state="released", attributes={"name": {"1033": "Anna"}})], published=0),
    "ben": Thing(BEN, "person", [version("ben", state="inProcess", attributes={"name": {"1033": "Ben"}})]),
    "full": Thing(
        identity("full-element"),
        "box",
        [
            version("full-old", state="expired", major=1, minor=0, stamps={"relOn": local("2020-01-01T00:00:00")}),
            version(
                "full",
                state="released",
                major=2,
                minor=10,
                stereotype="Crate",
                attributes={
                    "name": {"1031": "Große Straße", "1033": "Broad STREET"},
                    "SingleLineText": {"127": "Zebra"},
                    "MultiLineText": {"127": "50 % of\nit's_done"},
                    "Html": {"127": "<p>Über</p>"},
                    "SelectionValue": {"127": "m"},
                    "MultiSelectionValue": {"127": ["s", "Größe L"]},
                    "Boolean": {"127": False},
                    "Integer": {"127": 0},
                    "Decimal": {"127": Decimal("0.1000000000000000000000000000000000000001")},
                    "Date": {"127": "2026-12-31"},
                    "DateTime": {"127": "2026-12-31T00:00:00.1234569"},
                    "Url": {"127": "https://example.org/a"},
                    "Files": {"127": [{"title": "Plan", "address": "x/y.PNG"}, {"address": "z", "mimeType": "hidden"}]},
                    "size": {"127": 12},
                    "note": {"127": "n"},
                },
                stamps={
                    "changedOn": local("2026-03-02T09:15:20.000001"),
                    "relOn": local("2026-10-25T02:30:00", fold=1),
                    "validFrom": local("2026-10-25T02:30:00", fold=0),
                    "validUntil": local("9999-12-31T00:00:00"),
                },
                callers={"changedBy": ANNA, "createdBy": BEN},
                references={"owner": [ANNA, BEN], "author": [BEN]},
            ),
        ],
        published=1,
    ),
    "blank": Thing(
        identity("blank-element"),
        "box",
        [
            version(
                "blank",
                state="inProcess",
                major=0,
                minor=1,
                stereotype="\u3000 ",
                attributes={
                    "name": {"1031": BLANKS, "1033": ""},
                    "SingleLineText": {"127": ""},
                    "MultiSelectionValue": {"127": []},
                    "Files": {"127": []},
                    "Integer": {"127": None},
                    "Boolean": {"127": True},
                    # Values from earlier configurations.
                    "Decimal": {"127": "1"},
                    "Date": {"127": "soon"},
                    "gone": {"127": "Zebra"},
                },
                references={"owner": [BEN], "held": [ANNA]},
            )
        ],
    ),
    "bag": Thing(
        identity("bag"),
        "bag",
        [
            version(
                "bag",
                attributes={"name": {"1031": "Beutel"}, "size": {"127": "s"}, "note": {"1031": "n"}, "held": {"127": "2026-02-03"}, "id": {"127": 7}},
                stamps={"validFrom": local("2026-01-01T00:00:00")},
                callers={"createdBy": ANNA},
            )
        ],
        published=0,
        creation_id=NOBODY,
    ),
    "dot": Thing(identity("dot"), "dot", [version("dot", major=3, minor=0)], published=0),
}  # fmt: skip


@pytest.fixture(scope="module")
def picked(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FilterWorld]:
    with django_db_blocker.unblock(), filter_world("picked", HAND_PICKED, tmp_path_factory.mktemp("picked")) as world:
        yield world


ALL = "anna bag ben blank dot full full-old"
BOXES = "blank full full-old"
CASES = [
    # Texts compare by code point; -eq is case-sensitive, functions are not.
    ("SingleLineText -eq 'Zebra'", "full"),
    ("SingleLineText -eq 'zebra'", ""),
    ("SingleLineText -ne 'Zebra'", "anna bag ben blank dot full-old"),
    ("SingleLineText -lt 'a'", "blank full"),
    ("SingleLineText -le 'Zebra'", "blank full"),
    ("SingleLineText -gt 'Zebr'", "full"),
    ("SingleLineText -ge 'Zebrä'", ""),
    ("SingleLineText -in ('Zebra', 'x')", "full"),
    ("SingleLineText -eq ''", "blank"),
    ("name -eq 'Große Straße'", "full"),
    ("name[1033] -eq 'Große Straße'", ""),
    ("Contains(name, 'STRAẞE')", "full"),
    ("Contains(name, 'strasse')", ""),
    ("Contains(name, 'st') AND Contains(name, 'große')", "full"),
    ("StartsWith(name, 'broad s')", "full"),
    ("StartsWith(name, 'street')", ""),
    ("EndsWith(name, 'STREET')", "full"),
    ("EndsWith(name[1031], 'STREET')", ""),
    ("Contains(name, '')", "anna bag ben blank full"),
    ("Contains(MultiLineText, '50 % OF')", "full"),
    ("Contains(MultiLineText, 'it''S_')", "full"),
    ("Contains(MultiLineText, '5_ %')", ""),
    ("Contains(Html, 'ÜBER')", "full"),
    ("Contains(Url, 'EXAMPLE')", "full"),
    ("SelectionValue -in ('s', 'm')", "full"),
    # Keys and files: one match is enough.
    ("MultiSelectionValue -eq 's'", "full"),
    ("MultiSelectionValue -eq 'm'", ""),
    ("MultiSelectionValue -ge 't'", ""),
    ("MultiSelectionValue -in ('x', 'Größe L')", "full"),
    ("EndsWith(MultiSelectionValue, 'E l')", "full"),
    ("Contains(Files, 'PLAN')", "full"),
    ("EndsWith(Files, '.png')", "full"),
    ("Contains(Files, 'hidden')", ""),
    # Numbers compare exactly.
    ("Integer -eq 0", "full"),
    ("Integer -le 0.0", "full"),
    ("Integer -lt 0", ""),
    ("Decimal -gt 0.1", "full"),
    ("Decimal -eq 0.1", ""),
    ("Decimal -eq 0.1000000000000000000000000000000000000001", "full"),
    ("Decimal -in (1, 100000000000000000000000000000000000000.1e-39)", "full"),
    ("Decimal -lt 1e999 AND Decimal -gt -1e999 AND Decimal -ge 1e-999", "full"),
    # Truth values.
    ("Boolean -eq false", "full"),
    ("Boolean -eq true", "blank"),
    ("Boolean -ne true", "anna bag ben dot full full-old"),
    ("Boolean -in (true, false)", "blank full"),
    # Stored date-times.
    ("Date -eq 2026-12-31", "full"),
    ("Date -lt 2026-12-31T00:00:00.0000001", ""),
    ("Date -lt 2026-12-31T00:00:00.000001", "full"),
    ("DateTime -eq 2026-12-31T00:00:00.123456", "full"),
    ("DateTime -gt 2026-12-31T00:00:00.123455", "full"),
    ("DateTime -gt 2026-12-31", "full"),
    ("DateTime -in (2026-12-31, '2026-12-31T00:00:00.1234560')", "full"),
    # Types with different definitions.
    ("size -gt 11", "full"),
    ("size -eq 's'", "bag"),
    ("note -eq 'n'", "bag full"),
    ("note[127] -eq 'n'", "full"),
    ("note[1031] -eq 'n'", "bag"),
    (f"held -eq {ANNA}", "blank"),
    ("held -eq 2026-02-03", "bag"),
    ("IsNull(held)", "anna ben dot full full-old"),
    ("IsNull(size)", "anna ben blank dot full-old"),
    ("IsNull(note[127])", "anna bag ben blank dot full-old"),
    # IsNull.
    ("IsNull(name)", "blank dot full-old"),
    ("IsNull(name[1031])", "anna ben blank dot full-old"),
    ("IsNull(SingleLineText)", "anna bag ben blank dot full-old"),
    ("IsNull(MultiSelectionValue) AND type -eq box", "blank full-old"),
    ("IsNull(Integer) AND type -eq box", "blank full-old"),
    ("IsNull(Files) AND type -eq box", "blank full-old"),
    ("NOT IsNull(Boolean)", "blank full"),
    ("NOT IsNull(Date)", "blank full"),
    ("Integer -eq null OR Integer -eq 0", ALL),
    ("Integer -in (5, null) AND type -in (box)", "blank full-old"),
    ("IsNull(stereotype)", "anna bag ben blank dot full-old"),
    ("stereotype -eq 'Crate' AND stereotype[127] -eq 'Crate'", "full"),
    ("IsNull(relOn)", "anna bag ben blank dot"),
    ("IsNull(validFrom) AND type -eq bag", "bag"),
    ("NOT IsNull(createdBy)", "full"),
    ("IsNull(id) OR IsNull(type) OR IsNull(facetName)", ""),
    ("NOT NOT IsNull(owner)", "anna bag ben dot full-old"),
    ("NOT (SingleLineText -eq 'Zebra' OR NOT type -eq box)", "blank full-old"),
    # Fields.
    (f"id -eq {HAND_PICKED['full'].id}", "full full-old"),
    (f"versionId -eq {identity('full')}", "full"),
    (f"versionId -in ({identity('bag')}, {identity('blank')})", "blank"),
    ("IsNull(versionId)", "bag dot"),
    (f"creationId -eq {NOBODY}", "bag"),
    ("NOT IsNull(creationId)", "bag dot"),
    ("type -ge 'box'", "anna ben blank dot full full-old"),
    ("StartsWith(type, 'B')", "bag blank full full-old"),
    ("type -eq nothing", ""),
    ("EndsWith(facetName, 'ÉTC.')", "bag blank dot full full-old"),
    ("state -eq released", "anna full"),
    ("state -lt 'f' OR state -gt 's'", "full-old"),
    ("IsNull(state)", "bag dot"),
    ("id[127] -eq 7", "bag"),
    # Derived attributes.
    ("version -eq '2.10'", "full"),
    ("version -gt '2'", "dot full"),
    ("IsNull(version)", "anna bag ben"),
    ("state1 -eq 'show'", "bag"),
    ("state1 -in (expired, inProcess)", "blank full-old"),
    ("IsNull(state1) AND type -in (bag, dot)", "dot"),
    ("isReleased -eq true", "full"),
    ("isReleased -eq false", "blank full-old"),
    ("isReleased -ne true", "anna bag ben blank dot full-old"),
    ("NOT IsNull(isReleased)", BOXES),
    (f"gotoUrl -eq '{ADDRESS}/1031/things%2C%20%C3%A9tc./{identity('bag')}'", "bag"),
    (f"EndsWith(gotoUrl[1033], '/1033/people/{str(ANNA).upper()}')", "anna"),
    (f"gotoUrl[1033] -eq '{ADDRESS}/1031/people/{ANNA}'", ""),
    ("IsNull(gotoUrl)", ""),
    ("Contains(authorNote, 'further AUTHORS')", "full"),
    ("Contains(authorNote[1031], 'further')", ""),
    ("NOT IsNull(authorNote)", "full"),
    ("majorVersion -ge 2", "dot full"),
    ("minorVersion -eq 10", "full"),
    ("IsNull(majorVersion)", "anna bag ben"),
    ("isReleasedOrLastInProcess -eq true", "anna ben blank full"),
    ("isLastInProcessOrReleased -eq false", "full-old"),
    ("IsNull(isLastInProcessOrReleased)", "bag dot"),
    # Contexts.
    (f"owner -eq {ANNA}", "full"),
    (f"owner -in ({ANNA}, {BEN})", "blank full"),
    (f"owner -ne {ANNA}", "anna bag ben blank dot full-old"),
    (f"changedBy -eq {ANNA}", "full"),
    (f"createdBy -eq {BEN}", "full"),
    (f"createdBy -eq {ANNA}", ""),
    (f"releaseHistory -eq {HAND_PICKED['full'].id}", "full full-old"),
    ("IsNull(releaseHistory)", "anna bag ben blank dot"),
    # Any attribute.
    ("attributes -eq 'Zebra'", "full"),
    ("Contains(attributes, 'zEB')", "full"),
    ("Contains(attributes, 'png')", "full"),
    ("attributes -eq 12", "full"),
    ("attributes -eq 7", "bag"),
    ("attributes -eq 3", "dot"),
    ("attributes -eq true AND type -eq box", "blank full"),
    ("attributes -eq 's'", "bag full"),
    ("attributes -eq 'Crate'", "full"),
    ("attributes -eq 'show'", "bag"),
    ("attributes -lt 2020-01-01T00:00:00.000001", "full-old"),
    ("Contains(attributes, 'architekten')", "full"),
    ("IsNull(attributes)", ""),
    # Local times: microseconds, the far end, the hour that occurs twice.
    ("changedOn -eq 2026-03-02T09:15:20.000001", "full"),
    ("changedOn -gt 2026-03-02T09:15:20", "full"),
    ("changedOn -gt 2026-03-02T09:15:20.000001", ""),
    ("validUntil -eq 9999-12-31T00:00:00", "full"),
    ("validUntil -le 9999-12-31T23:59:59.999999", "full"),
    ("validUntil -gt 9999-12-31T23:59:59.999999", ""),
    ("validUntil -lt 9999-12-31", ""),
    ("validUntil -gt 0001-01-01 AND validUntil -ge 0001-01-01", "full"),
    ("validUntil -lt 0001-01-01 OR validUntil -eq 0001-01-01", ""),
    ("relOn -eq 2026-10-25T02:30:00 AND validFrom -eq 2026-10-25T02:30:00", "full"),
    ("relOn -lt 2026-10-25T02:30:00.000001 AND validFrom -ge 2026-10-25T02:30:00", "full"),
    ("relOn -in (2026-10-25T02:30:00, 2026-01-01)", "full"),
    # A time that clocks never show is between the times that they show.
    ("changedOn -lt 2026-03-29T02:30:00 AND relOn -gt 2026-03-29T02:30:00", "full"),
    ("changedOn -eq 2026-03-29T02:30:00", ""),
]


def test_matches(picked: FilterWorld) -> None:
    wrong = {}
    with tenant_scope(picked.storage):
        for filter, names in CASES:
            expression, ids = picked.read(filter), sorted(str(identity(name)) for name in names.split())
            found = picked.found(expression), picked.expected(expression)
            if found != (ids, ids):
                wrong[filter] = found
    assert wrong == {}


@pytest.mark.parametrize(
    ("filter", "names"),
    [
        (f"owner -eq {ANNA}", "full"),
        (f"owner -in ({ANNA}, {BEN})", "full"),
        (f"owner -eq {BEN}", ""),
        ("IsNull(owner)", "anna bag ben blank dot full-old"),
        (f"createdBy -eq {BEN}", ""),
        ("IsNull(createdBy)", ALL),
        ("NOT IsNull(changedBy)", "full"),
        # All callers may learn whether there are authors.
        ("NOT IsNull(authorNote)", "full"),
        (f"releaseHistory -eq {HAND_PICKED['full'].id}", "full full-old"),
    ],
)
def test_readers_without_drafts_find_no_hidden_targets(picked: FilterWorld, filter: str, names: str) -> None:
    expression, ids = picked.read(filter), sorted(str(identity(name)) for name in names.split())
    with tenant_scope(picked.storage):
        assert picked.found(expression, sees_drafts=False) == ids
    assert picked.expected(expression, sees_drafts=False) == ids


@pytest.mark.parametrize(
    ("filter", "names"),
    [
        ("validFrom -eq 2026-10-24T20:30:00 AND relOn -eq 2026-10-24T21:30:00", "full"),
        ("relOn -gt 2026-10-24T20:30:00 AND validFrom -le 2026-10-24T20:30:00", "full"),
        ("validUntil -eq 9999-12-30T18:00:00", "full"),
        ("relOn -lt 2026-11-01T01:30:00 AND relOn -gt 2026-03-08T02:30:00", "full"),
        ("relOn -ge 2026-11-01T01:30:00", ""),
    ],
)
def test_local_times_are_those_of_the_zone(picked: FilterWorld, filter: str, names: str) -> None:
    expression, ids = picked.read(filter), sorted(str(identity(name)) for name in names.split())
    with tenant_scope(picked.storage):
        assert picked.found(expression, NEW_YORK) == ids
    assert picked.expected(expression, NEW_YORK) == ids


def test_one_statement_that_postgres_can_plan(picked: FilterWorld) -> None:
    together = picked.read(" OR ".join(f"({filter})" for filter, _ in CASES[:70]))
    with tenant_scope(picked.storage), connection.cursor() as cursor:
        with CaptureQueriesContext(connection) as captured:
            picked.found(together)
        assert len(captured) == 1
        for filter, _ in CASES:
            condition = picked.compiled(picked.read(filter))
            assert condition.sql.count("%s") == condition.sql.count("%") == len(condition.parameters)
            cursor.execute("EXPLAIN " + SELECT + condition.sql, condition.parameters)


def test_the_sql_contains_nothing_of_a_filter_or_the_configuration(picked: FilterWorld) -> None:
    filters = (
        "Contains({0}, {1}) OR {0} -eq {1} OR {0}[1031] -gt {1} OR IsNull({0}) OR owner -eq {2} OR Decimal -gt 4711"
    )
    for text in ("'; DROP TABLE x --", "100 % %s %(x)s", "\\", "$$", "' OR TRUE --"):
        for name in ("name", "attributes"):
            filter = filters.format(name, quoted(text), ANNA).replace("attributes[1031]", "note[1031]")
            condition = picked.compiled(picked.read(filter))
            for foreign in (text, "1031", "1033", "'name'", "owner", "Decimal", "4711", str(ANNA)):
                assert foreign not in condition.sql
        with tenant_scope(picked.storage):
            assert picked.found(picked.read(f"name -eq {quoted(text)}")) == []


@pytest.mark.long
def test_letter_case_is_folded_as_python_does() -> None:
    """Every character finds itself, and a letter finds exactly the letters that fold to it."""
    characters = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    cased = [each for each in characters if each.lower() != each or each.upper() != each]
    plain = sorted(set(characters) - set(cased))
    for some in ("".join(plain), *("".join(cased[start : start + 200]) for start in range(0, len(cased), 200))):
        assert those_that_contain(fold_case(some), [f"-{some}-", some[:-1]]) == [f"-{some}-"]
    folded = [(each, fold_case(each)) for each in cased]
    for low in ["a", "i", "k", "ß", "å", *sorted({low for _, low in folded})[::50]]:
        assert those_that_contain(low, cased) == [each for each, own in folded if own == low]


def those_that_contain(text: str, values: list[str]) -> list[str]:
    condition = Passes(ValueKind.TEXT, TextMatch(TextFunction.CONTAINS, text), BERLIN).text("x.value")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT x.value FROM unnest(%s::text[]) WITH ORDINALITY x(value, place) WHERE {condition.sql} ORDER BY place",
            [values, *condition.parameters],
        )
        return [row[0] for row in cursor.fetchall()]
