"""Updating elements, operation 5 (D15, D16, D20): attributes, related contexts and malformed requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from elements.models import ElementChange, ElementVersion
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.expected_elements import DRAFT, PUBLISHED, in_order
from tests.elements.handbook import AUTHOR_NOTE, HTML, ID, wire
from tests.elements.update_desk import (
    RESTS,
    UNKNOWN,
    Body,
    UpdateDesk,
    at,
    changed,
    extended_handbook,
    fingerprint,
    history,
    order,
    texts,
)
from tests.factories import token_for
from tests.scale import first_quick

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def handbook(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    with extended_handbook(filled_storage, tmp_path_factory.mktemp("handbook")) as storage:
        yield storage


@pytest.fixture
def desk(handbook: Storage, api: ApiClient) -> UpdateDesk:
    return UpdateDesk(handbook, api)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """Advance the clock by a second with each call, and return the time before the first one."""
    started = datetime.fromisoformat("2026-07-01T10:00:00.5+00:00")
    looks = iter(range(1, 10_000))
    monkeypatch.setattr(timezone, "now", lambda: started + timedelta(seconds=next(looks)))
    return started


def test_attributes_merge_by_name_and_culture(desk: UpdateDesk) -> None:
    rival = fingerprint(desk.rival)
    [first] = desk.update(
        texts(name={"1031": "Jeden Auftrag\nabwickeln"}, scope={"1033": " Company "}, count={"127": 7})
    )
    names = {"1031": "Jeden Auftrag\nabwickeln", "1033": "Handle every order"}
    values = {"count": {"127": 7}, "name": names, "scope": {"1033": " Company "}}
    assert in_order(first) == in_order(changed(DRAFT, first, **values))
    [second] = desk.update(texts(name={"1031": None}, scope={"1033": None, "1031": None}, cost={"127": None}))
    assert second == changed(DRAFT, second, count={"127": 7})
    assert desk.update(order())[0]["attributes"]["name"] == {"1033": "Handle every order"}
    assert history(desk, "order-3") == [
        ("updated", {"attributes": {"name[1031]": None, "scope[1033]": None, "count[127]": None}},
         {"attributes": {"name[1031]": names["1031"], "scope[1033]": " Company ", "count[127]": 7}}),
        ("updated", {"attributes": {"name[1031]": names["1031"], "scope[1033]": " Company "}},
         {"attributes": {"name[1031]": None, "scope[1033]": None}}),
        ("updated", {}, {}),
    ]  # fmt: skip
    assert fingerprint(desk.rival) == rival
    # Lists are ordered by name.
    desk.update(texts(name={"1033": "ÄRGER"}))
    with tenant_scope(desk.storage):
        assert ElementVersion.objects.get(pk=ID["order-3"]).sort_name == "ärger"


def test_the_server_sets_author_and_time_once_per_request(clock: datetime, desk: UpdateDesk) -> None:
    found = desk.update(order(), {"id": ID["invoice"]}, {"id": ID["check-3"]})
    assert len({each["attributes"]["changedOn"]["127"] for each in found}) == 1
    assert found[0]["attributes"]["changedOn"]["127"].startswith("2026-07-01T12:00:")
    assert [each["related"]["changedBy"] for each in found] == [[wire("anna")]] * 3
    with tenant_scope(desk.storage):
        rows = list(ElementChange.objects.all())
        stamps = {(row.changed_on, row.caller_id, row.caller_label[:6], row.request_id) for row in rows}
        assert len(rows) == 3
        assert len(stamps) == 1
        assert ElementVersion.objects.get(pk=ID["order-3"]).changed_on == rows[0].changed_on > clock


def test_the_version_that_is_named_is_changed(desk: UpdateDesk) -> None:
    by_id = desk.update({"id": ID["order"].upper(), "attributes": {"scope": {"1033": "by id"}}})[0]
    assert (by_id["versionId"], by_id["attributes"]["scope"]) == (ID["order-3"], {"1033": "by id"})
    by_version = desk.update({"versionId": ID["order-3"].upper(), "attributes": {"scope": {"1033": "by version"}}})[0]
    assert by_version == changed(by_id, by_version, scope={"1033": "by version"})
    assert desk.read("order-2", token=token_for(desk.storage)) == PUBLISHED
    desk.refuse(422, [{"id": ID["invoice"], "versionId": ID["order-3"]}],
                at("", f"{ID['order-3']} is a version of {ID['order']}, not of {ID['invoice']}"))  # fmt: skip


@pytest.mark.parametrize(
    "element",
    [{"stereotype": "core"}, {"attributes": {"stereotype": {"127": "core"}}},
     {"stereotype": "core", "attributes": {"stereotype": {"127": "core"}}}],
)  # fmt: skip
def test_a_stereotype_is_a_field_and_an_attribute(desk: UpdateDesk, element: Body) -> None:
    [found] = desk.update(order(**element))
    assert (found["stereotype"], found["attributes"]["stereotype"]) == ("core", {"127": "core"})
    # The element as read repeats the old value; the changed one counts.
    [again] = desk.update(order(stereotype="core", attributes={"stereotype": {"127": "support"}}))
    assert (again["stereotype"], again["attributes"]["stereotype"]) == ("support", {"127": "support"})
    [without] = desk.update(order(stereotype="support", attributes={"stereotype": {"127": None}}))
    assert without == changed(DRAFT, without)


def test_stereotypes_are_refused(desk: UpdateDesk) -> None:
    both = order(stereotype="a", attributes={"stereotype": {"127": "b"}})
    desk.refuse(422, [both], at("stereotype", "the field and the attribute differ; send only one of them"))
    wrong = at("stereotype", "must be a single line of up to 200 characters")
    for text in ("a\nb", "x" * 201):
        desk.refuse(422, [order(stereotype=text)], wrong)
    values: list[Any] = [["core"], {}, 1, True]
    for value in values:
        desk.refuse(422, [texts(stereotype={"127": value})], wrong)
    possible = "this culture is not allowed here; use 127"
    desk.refuse(422, [texts(stereotype={"1033": "core"})], at("stereotype[1033]", possible))
    desk.refuse(422, [{"id": ID["check-3"], "attributes": {"stereotype": {"127": "core"}}}],
                at("stereotype", "the type task has no such attribute", "check-3"))  # fmt: skip


def test_validity_is_in_the_time_of_the_storage(desk: UpdateDesk) -> None:
    moments = {"validFrom": {"127": "2026-07-01T00:00:00.1234567"}, "validUntil": {"127": "2026-10-25T02:30:00"}}
    [found] = desk.update(texts(**moments))
    assert found == changed(DRAFT, found, **(moments | {"validFrom": {"127": "2026-07-01T00:00:00.123456"}}))
    with tenant_scope(desk.storage):
        row = ElementVersion.objects.get(pk=ID["order-3"])
    assert (str(row.valid_from), str(row.valid_until)) == (
        "2026-06-30 22:00:00.123456+00:00", "2026-10-25 00:30:00+00:00")  # fmt: skip
    assert "validFrom" not in row.attributes
    # Posting it back changes nothing, even in the hour that daylight saving time repeats.
    assert desk.update(order(attributes=found["attributes"]))[0]["attributes"]["validUntil"] == moments["validUntil"]
    [ended] = desk.update(texts(validFrom={"127": None}, validUntil={"127": None}))
    assert ended == changed(DRAFT, ended, validUntil=None)


GOOD = [
    ("count[127]", "9223372036854775807", None),
    ("count[127]", "-9223372036854775808", None),
    ("cost[127]", "0", None),
    ("cost[127]", "12345678901234567890", None),
    ("cost[127]", "-123456789012345678901234567890123456789012345678901234567890", None),
    ("cost[127]", "3.14159265358979323846264338327950288419716939937510", None),
    ("cost[127]", "12345678901234567890.125000", None),
    ("cost[127]", "1e3", "1000"),
    ("dueDate[127]", '"0001-01-01"', None),
    ("dueDate[127]", '"2028-02-29"', None),
    ("begin[127]", '"2026-01-02T03:04:05.1234567"', '"2026-01-02T03:04:05.123456"'),
    ("begin[127]", '"2026-01-02T03:04:05.500"', '"2026-01-02T03:04:05.5"'),
    ("begin[127]", '"9999-12-31T00:00:00"', None),
    ("isCritical[127]", "false", None),
    ("maturity[127]", '"isLived"', None),
    ("channels[127]", '["isLived","defined"]', None),
    ("channels[127]", "[]", None),
    ("site[1031]", '"https://x.example/ä?b=c#d"', None),
    ("scope[1033]", '"\\t 😀 \\u00e4  "', '"\\t 😀 ä  "'),
    ("scope[1033]", '""', None),
    ("name[1033]", '"a\\r\\nb\\n"', None),
    ("description[1033]", '"<p>a &amp; b</p>"', json.dumps(f"{HTML}<p>a &amp; b</p>")),
    ("description[1033]", json.dumps(f"{HTML}<p>x</p>"), None),
    ("images[127]", '[{"address":"a"},{"address":"b","fullAddress":"https://x.example/b","title":"B"}]', None),
]


@pytest.mark.parametrize(("place", "sent", "kept"), first_quick(GOOD, 10))
def test_values_are_kept_exactly(desk: UpdateDesk, place: str, sent: str, kept: str | None) -> None:
    name, culture = place[:-1].split("[")
    body = f'{{"elements":[{{"versionId":"{ID["order-3"]}","attributes":{{"{name}":{{"{culture}":{sent}}}}}}}]}}'
    expected = f'"{name}":{{"{culture}":{kept or sent}}}'.encode()
    assert expected in desk.send(body).content
    read = desk.api.get(f"{RESTS}/processes/views/detail/elements/{ID['order']}", token=desk.anna)
    assert expected in read.content
    # Posting back what was read changes nothing, and the history has no new entry.
    assert desk.send(body.replace(sent, kept or sent)).status_code == 200
    assert [each[1:] != ({}, {}) for each in history(desk, "order-3")] == [True, False]


NUMBER = "must be a whole number of up to 64 bits"
DAY = "must be a date such as 2026-12-31"
MOMENT = "must be a date-time such as 2026-12-31T13:45:00"
CODE = "must not be an address that runs code"
BAD = [
    ("count[127]", 2**63, NUMBER), ("count[127]", -(2**63) - 1, NUMBER), ("count[127]", 1.0, NUMBER),
    ("count[127]", "1", NUMBER), ("count[127]", True, NUMBER),
    ("cost[127]", "1.5", "must be a number"), ("cost[127]", True, "must be a number"), ("cost[127]", [], "must be a number"),
    ("dueDate[127]", "2026-02-29", DAY), ("dueDate[127]", "20260228", DAY), ("dueDate[127]", 20260228, DAY),
    ("dueDate[127]", "2026-02-28T00:00:00", DAY),
    ("begin[127]", "2026-01-02", MOMENT), ("begin[127]", "2026-01-02T03:04:05Z", MOMENT), ("begin[127]", 5, MOMENT),
    ("begin[127]", "2026-01-02T03:04:05.12345678", MOMENT), ("begin[127]", "2026-01-02T24:00:01", MOMENT),
    ("validFrom[127]", "2026-13-01T00:00:00", MOMENT), ("validUntil[127]", 9999, MOMENT),
    ("validFrom[127]", "2026-03-29T02:30:00",
     "does not exist in Europe/Berlin: clocks are set forward past 2026-03-29T02:30:00 there"),
    ("isCritical[127]", "true", "must be true or false"), ("isCritical[127]", 0, "must be true or false"),
    ("maturity[127]", "Defined", "must be one of defined, isLived"), ("maturity[127]", [], "must be one of defined, isLived"),
    ("channels[127]", "defined", "must be a list of different keys"),
    ("channels[127]", ["defined", "defined"], "must be a list of different keys"),
    ("channels[127]", ["defined", "x"], "must be one of defined, isLived"),
    ("site[1033]", "java\tscript:alert(1)", CODE), ("site[1033]", "https://a\nb", "must be a single line"),
    ("scope[1033]", "a\nb", "must be a single line"), ("scope[1033]", "a\u2028b", "must be a single line"),
    ("scope[1033]", 1, "must be text"), ("name[1033]", {"a": "b"}, "must be text"),
    ("description[1033]", "<p>", "is not well-formed at line 1, column 1: the element p is not closed"),
    ("description[1033]", "<script>x</script>", "must not contain the element script (line 1, column 1)"),
    ("description[1033]", '<p onclick="x()">y</p>', "must not contain the attribute onclick (line 1, column 1)"),
    ("description[1033]", '<a href="javascript:x()">y</a>', "must not contain an address that runs code, in the attribute href (line 1, column 1)"),
    ("images[127]", {"address": "a"}, "must be a list of files"),
    ("images[127]", [{"title": "no address"}], "must contain files with an address; all fields must be text"),
    ("images[127]", [{"address": "a", "size": "1"}], "must contain objects with address, fullAddress, mimeType, protocol, title"),
    ("images[127]", [{"address": "a", "fullAddress": "javascript:x"}], CODE),
    ("name[127]", "x", "this culture is not allowed here; use 1031 or 1033"),
    ("name[1036]", "x", "this culture is not allowed here; use 1031 or 1033"),
    ("name[en]", None, "this culture is not allowed here; use 1031 or 1033"),
    ("count[1033]", 1, "this culture is not allowed here; use 127"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "value", "problem"), first_quick(BAD, 20))
def test_values_that_do_not_fit_are_refused(desk: UpdateDesk, place: str, value: Any, problem: str) -> None:
    name, culture = place[:-1].split("[")
    desk.refuse(422, [texts(**{name: {culture: value}})], at(place, problem))


def test_a_context_that_is_given_replaces_its_list(desk: UpdateDesk) -> None:
    wanted = [{"id": ID["old"]}, {"versionId": ID["erp-1"]}, {**wire("crm-1"), "id": ID["crm"].upper()}]
    [found] = desk.update(order(related={"systems": wanted, "owner": [{"id": ID["ben"]}]}))
    expected = changed(DRAFT, found)
    expected["related"] |= {"owner": [wire("ben")], "systems": [wire("old-1"), wire("erp-2"), wire("crm-1")]}
    assert found == expected
    [emptied] = desk.update(order(related={"systems": [], "measuredBy": []}))
    del expected["related"]["systems"]
    assert emptied == {**expected, "attributes": emptied["attributes"]}
    three = [ID["old"], ID["erp"], ID["crm"]]
    assert history(desk, "order-3") == [
        ("updated", {"related": {"systems": [ID["erp"]], "owner": []}}, {"related": {"systems": three, "owner": [ID["ben"]]}}),
        ("updated", {"related": {"systems": three}}, {"related": {"systems": []}}),
    ]  # fmt: skip
    [alone] = desk.update(order(related={"author": []}))
    assert "author" not in alone["related"]
    assert "authorNote" not in alone["attributes"]


NONE_HERE = "expected the id of an existing element; this context cannot create elements"
WRONG = [
    ("scop", {"1033": "x"}, "scop", "the type subProcess has no such attribute; similar: scope"),
    ("qqq", {}, "qqq", "the type subProcess has no such attribute"),
    ("systms", [], "systms", "the type subProcess has no such related context; similar: systems"),
    ("scope", [], "scope", "the type subProcess has no such related context"),
    ("systems", {}, "systems", "the type subProcess has no such attribute"),
    ("systems", [{"id": ID["erp"]}, {"id": UNKNOWN}], "systems[1]", f"there is no element {UNKNOWN}"),
    ("systems", [{"versionId": UNKNOWN}], "systems[0]", f"there is no element {UNKNOWN}"),
    ("systems", [{"id": ID["anna"]}], "systems[0]", f"{ID['anna']} has the type user; expected a type of the facet it"),
    ("author", [{"id": ID["crew"]}], "author[0]", f"{ID['crew']} has the type userGroup; expected user"),
    ("watchers", [{"id": ID["erp"]}], "watchers[0]", f"{ID['erp']} has the type system; expected user or userGroup"),
    ("systems", [{"id": ID["erp"], "type": "user"}], "systems[0]", f"{ID['erp']} has the type system, not user"),
    ("systems", [{"id": ID["erp"], "facetName": "x"}], "systems[0]", f"{ID['erp']} is in the facet it, not x"),
    ("systems", [{}], "systems[0]", NONE_HERE),
    ("systems", [{"type": "system", "attributes": {}}], "systems[0]", NONE_HERE),
    ("owner", [{"id": ID["ben"]}, {"id": ID["anna"]}], "owner", "2 references; at most 1 are allowed"),
    ("measuredBy", [{"id": ID["erp"]}], "measuredBy", "is read-only"),
]


@pytest.mark.parametrize(("name", "value", "place", "problem"), first_quick(WRONG, 8))
def test_references_against_the_configuration_are_refused(
    desk: UpdateDesk, name: str, value: Any, place: str, problem: str
) -> None:
    part = "related" if isinstance(value, list) else "attributes"
    desk.refuse(422, [order(**{part: {name: value}})], at(place, problem))


def test_read_only_fields_are_ignored(desk: UpdateDesk) -> None:
    stamps = {name: {"127": "2000-01-01T00:00:00"} for name in ("changedOn", "createdOn", "relOn")}
    attributes = stamps | {"version": {"127": "9.9"}, "state1": {"127": "released"}, "isReleased": {"127": True}}
    attributes |= {"gotoUrl": {"1033": "x"}, "authorNote": AUTHOR_NOTE | {"1033": "x"}, "majorVersion": {"127": 9}}
    contexts = {name: [wire("ben")] for name in ("changedBy", "createdBy", "relBy", "releaseHistory")}
    fields = {"displayNames": {}, "expandUri": "x", "children": [{}], "content": [], "versions": [], "properties": {}}
    [found] = desk.update({**DRAFT, **fields, "creationId": UNKNOWN, "setReadOnly": True,
                           "attributes": attributes, "related": contexts})  # fmt: skip
    assert found == changed(DRAFT, found)
    assert history(desk, "order-3") == [("updated", {}, {})]


def test_type_facet_and_state_do_not_change(desk: UpdateDesk) -> None:
    desk.refuse(422, [order(type="task")], at("", "the element has the type subProcess, which cannot change"))
    desk.refuse(422, [order(facetName="it")], at("", "the element is in the facet processes; its facet cannot change"))
    moved = "the element is in the state inProcess; apply a transition to change its state"
    desk.refuse(409, [order(state="released")], at("", moved))
    desk.refuse(409, [{"id": ID["check-3"], "state": "show"}],
                at("", "elements of type task have no states; leave out state", "check-3"))  # fmt: skip
    assert desk.update(order(state="inProcess", facetName="processes"))[0]["state"] == "inProcess"


def test_an_element_that_the_view_does_not_contain_is_not_found(desk: UpdateDesk) -> None:
    missing = "there is no such element in the view {} of the facet {}"
    for name in (UNKNOWN, "erp", "anna"):
        desk.refuse(404, [{"id": ID.get(name, name)}], at("", missing.format("detail", "processes"), name))
    desk.refuse(404, [{"id": ID["check-3"]}], at("", missing.format("list", "processes"), "check-3"), view="list")
    desk.refuse(404, [order()], at("", missing.format("detail", "it")), facet="it")
    # The response has only properties of the view; others can be changed, too.
    [found] = desk.update(texts(name={"1033": "Listed"}, scope={"1033": "Hidden"}), view="list")
    assert found["attributes"] == {"name": {"1033": "Listed"}, "version": {"127": "2.1"}}
    assert desk.read("order")["attributes"]["scope"] == {"1033": "Hidden"}


def test_all_problems_are_reported_and_nothing_is_changed(desk: UpdateDesk) -> None:
    good = {"id": ID["invoice"], "attributes": {"name": {"1033": "Never written"}}}
    released = {"versionId": ID["order-2"], "attributes": {"scope": {"1033": "x"}, "count": {"127": None}}}
    bad = order(attributes={"name": {"127": "x", "1033": 5}}, related={"systems": [{"id": UNKNOWN}]}, state="expired")
    problems = [
        at("", "the element is in the state inProcess; apply a transition to change its state", index=1),
        at("name[127]", "this culture is not allowed here; use 1031 or 1033", index=1),
        at("name[1033]", "must be text", index=1),
        at("systems[0]", f"there is no element {UNKNOWN}", index=1),
        at("", "count cannot be changed in the state released; create a new version", "order-2", 2),
        at("", "scope cannot be changed in the state released; create a new version", "order-2", 2),
    ]
    desk.refuse(409, [good, bad, released], *problems)
    house = at(
        "",
        "only architects can change elements of type processHouse; this requires the permission EditElement",
        "house",
        3,
    )
    desk.refuse(403, [good, bad, released, {"id": ID["house"]}], *problems, house)
    missing = at("", "there is no such element in the view detail of the facet processes", UNKNOWN, 4)
    desk.refuse(404, [good, bad, released, {"id": ID["house"]}, {"id": UNKNOWN}], *problems, house, missing)
    desk.refuse(422, [order(), good, {"id": ID["order"]}],
                at("", "the request contains this version twice; send each version once", "order", 2))  # fmt: skip


SUCH_AS = 'such as {"elements": [{"type": "system"}]}'
FORMS = [
    ("[]", [f"body: expected an object with elements, {SUCH_AS}."]),
    ({"count": 1}, [f"body: expected a list of elements, {SUCH_AS}."]),
    ({"elements": {}}, [f"body: expected a list of elements, {SUCH_AS}."]),
    ({"elements": [], "values": []}, [f"body: expected a list of elements, {SUCH_AS}."]),
    ({"elements": [], "element": 1}, ["body: unknown field 'element'; allowed: count and elements."]),
    ({"count": 2, "elements": [{"id": UNKNOWN}]}, ["count: is 2, but the list has 1 elements; correct it or leave it out."]),
    ({"count": False, "elements": []}, ["count: is False, but the list has 0 elements; correct it or leave it out."]),
    ([5, {"id": 5}, {"versionId": "x"}], [
        'elements[0]: expected an element, such as {"id": "…", "attributes": {…}}.',
        "elements[1]: id: '5' is not a GUID.", "elements[2]: versionId: 'x' is not a GUID."]),
    ([{"name": "x", "type": 5}], [
        "elements[0]: type: expected text.",
        """elements[0]: an element has no field 'name'; use attributes, such as "attributes": {"name": {"1033": "Order parts"}}.""",
    ]),
    ([{"parentId": UNKNOWN}], [
        """elements[0]: an element has no field 'parentId'; use rootPath, such as "rootPath": [{"id": "…"}]."""]),
    ([order(attributes=[], related=[])], [
        at("attributes", 'expected values by name and culture, such as {"name": {"1033": "Order parts"}}'),
        at("related", 'expected lists of references by context, such as {"systems": [{"id": "…"}]}')]),
    ([order(attributes={"name": "x"})], [at("name", 'expected values by culture, such as {"1033": "Order parts"}')]),
    ([order(related={"systems": {}, "owner": ["x", {"id": "y"}]})], [
        at("systems", 'expected a list of references, such as [{"id": "…"}]'),
        at("owner[0]", 'expected a reference, such as {"id": "…"}'),
        at("owner[1]: id", "'y' is not a GUID")]),
    ([order(rootPath={})], [at("rootPath", 'expected a list of references, such as [{"id": "…"}]')]),
    ('{"elements":', ["The body is not JSON: expecting value at line 1, column 13."]),
    ('{"elements":[],"elements":[]}', ["The body is ambiguous: the key 'elements' occurs twice in one object."]),
    ('{"elements":[NaN]}', ["The body is not JSON: NaN is not a JSON number."]),
    ('{"elements":' + "[" * 64 + "]" * 64 + "}", ["The body is nested deeper than 64 levels."]),
    (json.dumps({"elements": [texts(scope={"1033": "a\0b"})]}), ["The body contains a NUL character."]),
    (json.dumps({"elements": [texts(scope={"1033": "\ud800"})]}), ["The body contains half of a surrogate pair, which is not a character."]),
    (b'{"elements":["\xff"]}', ["The body is not UTF-8: byte 15 is invalid."]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "problems"), FORMS)
def test_malformed_requests_are_refused(desk: UpdateDesk, body: Any, problems: list[str]) -> None:
    desk.refuse(400, body, *problems)


def test_requests_have_limits(desk: UpdateDesk, settings: Settings) -> None:
    desk.refuse(
        415, "elements", "The request body must have the Content-Type application/json.", content_type="text/plain"
    )
    settings.MAX_ELEMENTS = 2
    many = "3 elements are too many for one request. Split it into requests of at most 2."
    desk.refuse(413, [order(), {"id": ID["invoice"]}, {"id": UNKNOWN}], many)
    assert len(desk.update(order(), {"id": ID["invoice"]})) == 2
    settings.BODY_LIMIT = 100
    desk.refuse(413, texts(scope={"1033": "x" * 100}), "The request body is larger than 100 bytes.")


def test_values_below_4_0_and_no_body(desk: UpdateDesk) -> None:
    body = {"count": 1, "values": [texts(scope={"1033": "x"})]}
    response = desk.send(body, headers={"api-version": "3.0"})
    [found] = response.json()["values"]
    assert found == changed(DRAFT, found, scope={"1033": "x"})
    wrong = f"values[0] {ID['order-3']}: scope[127]: this culture is not allowed here; use 1031 or 1033."
    desk.refuse(422, {"values": [texts(scope={"127": "x"})]}, wrong)
    assert desk.send({"elements": []}).json() == {"count": 0, "elements": []}
    viewer, listed = token_for(desk.storage), f"{RESTS}/processes/views/list/elements"
    for body_of_none in ("", "{}"):
        assert desk.send(body_of_none, view="list", token=viewer).content == desk.api.get(listed, token=viewer).content
