"""Updating elements, operation 5 (D15, D16, D20): the whole answer, what is stored, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from pytest_django import Settings

from elements.models import Element, ElementChange, ElementVersion, Shape
from storage.models import Storage
from storage.models.roles import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.cycles import set_state
from tests.elements.element_lists import DRAFT, PUBLISHED, in_order
from tests.elements.handbook import AUTHOR_NOTE, HTML, ID, wire
from tests.elements.update_requests import (
    KINDS,
    RESTS,
    UNKNOWN,
    Body,
    UpdateClient,
    extended_handbook,
    fingerprint,
)
from tests.factories import token_for
from tests.tags import version_tag

pytestmark = pytest.mark.django_db
KINDS |= {400: ("error", "inline"), 422: ("error", "inline")}


@pytest.fixture(scope="module")
def handbook(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    with extended_handbook(filled_storage, tmp_path_factory.mktemp("handbook")) as storage:
        yield storage


@pytest.fixture
def desk(handbook: Storage, api: ApiClient) -> UpdateClient:
    return UpdateClient(handbook, api)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """Each look at it comes a second later; the moment is that of none of them."""
    started = datetime.fromisoformat("2026-07-01T10:00:00.5+00:00")
    looks = iter(range(1, 10_000))
    monkeypatch.setattr(timezone, "now", lambda: started + timedelta(seconds=next(looks)))
    return started


def order(**more: Any) -> Body:
    """The draft of order, as a client names it."""
    return {"id": ID["order"], "versionId": ID["order-3"], "type": "subProcess", **more}


def texts(**attributes: Any) -> Body:
    return order(attributes=attributes)


def at(place: str, text: str, name: str = "order-3", index: int = 0) -> str:
    return f"elements[{index}] {ID.get(name, name)}{place and ': ' + place}: {text}."


def changed(before: Body, after: Body, **attributes: Any) -> Body:
    """What an element is expected to be: changed by Anna, when the server says so; None takes an attribute away."""
    stamp = {"changedOn": after["attributes"]["changedOn"]}
    merged = {**before["attributes"], **stamp, **attributes}
    found = {key: value for key, value in sorted(merged.items()) if value is not None}
    return {**before, "attributes": found, "related": {**before["related"], "changedBy": [wire("anna")]}}


def history(desk: UpdateClient, version: str) -> list[tuple[str, Any, Any]]:
    with tenant_scope(desk.storage):
        rows = ElementChange.objects.filter(version_id=ID.get(version, version)).order_by("changed_on")
        return [(row.action, row.before, row.after) for row in rows]


# Attributes.


def test_attributes_merge_by_name_and_culture(desk: UpdateClient) -> None:
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
    # The name orders lists.
    desk.update(texts(name={"1033": "ÄRGER"}))
    with tenant_scope(desk.storage):
        assert ElementVersion.objects.get(pk=ID["order-3"]).sort_name == "ärger"


def test_the_server_sets_who_changed_it_and_when_once_a_request(clock: datetime, desk: UpdateClient) -> None:
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


def test_the_version_that_is_named_is_changed(desk: UpdateClient) -> None:
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
def test_a_stereotype_is_a_field_and_an_attribute(desk: UpdateClient, element: Body) -> None:
    [found] = desk.update(order(**element))
    assert (found["stereotype"], found["attributes"]["stereotype"]) == ("core", {"127": "core"})
    # What was read names the old one once more; the other is meant.
    [again] = desk.update(order(stereotype="core", attributes={"stereotype": {"127": "support"}}))
    assert (again["stereotype"], again["attributes"]["stereotype"]) == ("support", {"127": "support"})
    [without] = desk.update(order(stereotype="support", attributes={"stereotype": {"127": None}}))
    assert without == changed(DRAFT, without)


def test_stereotypes_are_refused(desk: UpdateClient) -> None:
    both = order(stereotype="a", attributes={"stereotype": {"127": "b"}})
    desk.refuse(422, [both], at("stereotype", "the field and the attribute differ; give one of them"))
    wrong = at("stereotype", "must be a single line of up to 200 characters")
    for text in ("a\nb", "x" * 201):
        desk.refuse(422, [order(stereotype=text)], wrong)
    values: list[Any] = [["core"], {}, 1, True]
    for value in values:
        desk.refuse(422, [texts(stereotype={"127": value})], wrong)
    possible = "the culture is not possible here; possible: 127"
    desk.refuse(422, [texts(stereotype={"1033": "core"})], at("stereotype[1033]", possible))
    desk.refuse(422, [{"id": ID["check-3"], "attributes": {"stereotype": {"127": "core"}}}],
                at("stereotype", "the type task has no such attribute", "check-3"))  # fmt: skip


def test_validity_is_in_the_time_of_the_storage(desk: UpdateClient) -> None:
    moments = {"validFrom": {"127": "2026-07-01T00:00:00.1234567"}, "validUntil": {"127": "2026-10-25T02:30:00"}}
    [found] = desk.update(texts(**moments))
    assert found == changed(DRAFT, found, **(moments | {"validFrom": {"127": "2026-07-01T00:00:00.123456"}}))
    with tenant_scope(desk.storage):
        row = ElementVersion.objects.get(pk=ID["order-3"])
    assert (str(row.valid_from), str(row.valid_until)) == (
        "2026-06-30 22:00:00.123456+00:00", "2026-10-25 00:30:00+00:00")  # fmt: skip
    assert "validFrom" not in row.attributes
    # Posting it back changes nothing, also in the hour that comes twice.
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


@pytest.mark.parametrize(("place", "sent", "kept"), GOOD)
def test_values_are_kept_exactly(desk: UpdateClient, place: str, sent: str, kept: str | None) -> None:
    name, culture = place[:-1].split("[")
    body = f'{{"elements":[{{"versionId":"{ID["order-3"]}","attributes":{{"{name}":{{"{culture}":{sent}}}}}}}]}}'
    expected = f'"{name}":{{"{culture}":{kept or sent}}}'.encode()
    assert expected in desk.send(body).content
    read = desk.api.get(f"{RESTS}/processes/views/detail/elements/{ID['order']}", token=desk.anna)
    assert expected in read.content
    # What has been read changes nothing; the record says so.
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
    ("description[1033]", "<p>", "is not well-formed: mismatched tag: line 1, column 11"),
    ("description[1033]", "<script>x</script>", "must not contain the element script"),
    ("description[1033]", '<p onclick="x()">y</p>', "must not contain the attribute onclick"),
    ("description[1033]", '<a href="javascript:x()">y</a>', "must not contain an address that runs code, in the attribute href"),
    ("images[127]", {"address": "a"}, "must be a list of files"),
    ("images[127]", [{"title": "no address"}], "must contain files with an address; all fields must be text"),
    ("images[127]", [{"address": "a", "size": "1"}], "must contain objects with address, fullAddress, mimeType, protocol, title"),
    ("images[127]", [{"address": "a", "fullAddress": "javascript:x"}], CODE),
    ("name[127]", "x", "the culture is not possible here; possible: 1031 and 1033"),
    ("name[1036]", "x", "the culture is not possible here; possible: 1031 and 1033"),
    ("name[en]", None, "the culture is not possible here; possible: 1031 and 1033"),
    ("count[1033]", 1, "the culture is not possible here; possible: 127"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "value", "problem"), BAD)
def test_values_that_do_not_fit_are_refused(desk: UpdateClient, place: str, value: Any, problem: str) -> None:
    name, culture = place[:-1].split("[")
    desk.refuse(422, [texts(**{name: {culture: value}})], at(place, problem))


# Related contexts.


def test_a_context_that_is_given_replaces_its_list(desk: UpdateClient) -> None:
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
    ("systems", [{"id": ID["anna"]}], "systems[0]", f"{ID['anna']} is a user; expected a type of the facet it"),
    ("author", [{"id": ID["crew"]}], "author[0]", f"{ID['crew']} is a userGroup; expected user"),
    ("watchers", [{"id": ID["erp"]}], "watchers[0]", f"{ID['erp']} is a system; expected user or userGroup"),
    ("systems", [{"id": ID["erp"], "type": "user"}], "systems[0]", f"{ID['erp']} is a system, not a user"),
    ("systems", [{"id": ID["erp"], "facetName": "x"}], "systems[0]", f"{ID['erp']} is in the facet it, not x"),
    ("systems", [{}], "systems[0]", NONE_HERE),
    ("systems", [{"type": "system", "attributes": {}}], "systems[0]", NONE_HERE),
    ("owner", [{"id": ID["ben"]}, {"id": ID["anna"]}], "owner", "2 references; at most 1 are possible"),
    ("measuredBy", [{"id": ID["erp"]}], "measuredBy", "is read-only"),
]


@pytest.mark.parametrize(("name", "value", "place", "problem"), WRONG)
def test_what_is_against_the_configuration_is_refused(
    desk: UpdateClient, name: str, value: Any, place: str, problem: str
) -> None:
    part = "related" if isinstance(value, list) else "attributes"
    desk.refuse(422, [order(**{part: {name: value}})], at(place, problem))


def test_what_the_server_owns_is_accepted_and_ignored(desk: UpdateClient) -> None:
    stamps = {name: {"127": "2000-01-01T00:00:00"} for name in ("changedOn", "createdOn", "relOn")}
    attributes = stamps | {"version": {"127": "9.9"}, "state1": {"127": "released"}, "isReleased": {"127": True}}
    attributes |= {"gotoUrl": {"1033": "x"}, "authorNote": AUTHOR_NOTE | {"1033": "x"}, "majorVersion": {"127": 9}}
    contexts = {name: [wire("ben")] for name in ("changedBy", "createdBy", "relBy", "releaseHistory")}
    fields = {"displayNames": {}, "expandUri": "x", "children": [{}], "content": [], "versions": [], "properties": {}}
    [found] = desk.update({**DRAFT, **fields, "creationId": UNKNOWN, "setReadOnly": True,
                           "attributes": attributes, "related": contexts})  # fmt: skip
    assert found == changed(DRAFT, found)
    assert history(desk, "order-3") == [("updated", {}, {})]


# Elements that cannot be meant, and several at once.


def test_type_facet_and_state_do_not_change(desk: UpdateClient) -> None:
    desk.refuse(422, [order(type="task")], at("", "the element is a subProcess; its type cannot change"))
    desk.refuse(422, [order(facetName="it")], at("", "the element is in the facet processes; its facet cannot change"))
    moved = "the element is in the state inProcess; apply a transition to change its state"
    desk.refuse(409, [order(state="released")], at("", moved))
    desk.refuse(409, [{"id": ID["check-3"], "state": "show"}],
                at("", "a task has no states; leave out state", "check-3"))  # fmt: skip
    assert desk.update(order(state="inProcess", facetName="processes"))[0]["state"] == "inProcess"


def test_an_element_that_the_view_does_not_contain_is_not_found(desk: UpdateClient) -> None:
    missing = "there is no such element in the view {} of the facet {}"
    for name in (UNKNOWN, "erp", "anna"):
        desk.refuse(404, [{"id": ID.get(name, name)}], at("", missing.format("detail", "processes"), name))
    desk.refuse(404, [{"id": ID["check-3"]}], at("", missing.format("list", "processes"), "check-3"), view="list")
    desk.refuse(404, [order()], at("", missing.format("detail", "it")), facet="it")
    # The answer shows what the view shows; what it does not show can be changed all the same.
    [found] = desk.update(texts(name={"1033": "Listed"}, scope={"1033": "Hidden"}), view="list")
    assert found["attributes"] == {"name": {"1033": "Listed"}, "version": {"127": "2.1"}}
    assert desk.read("order")["attributes"]["scope"] == {"1033": "Hidden"}


def test_all_problems_are_told_together_and_nothing_is_changed(desk: UpdateClient) -> None:
    good = {"id": ID["invoice"], "attributes": {"name": {"1033": "Never written"}}}
    released = {"versionId": ID["order-2"], "attributes": {"scope": {"1033": "x"}, "count": {"127": None}}}
    bad = order(attributes={"name": {"127": "x", "1033": 5}}, related={"systems": [{"id": UNKNOWN}]}, state="expired")
    problems = [
        at("", "the element is in the state inProcess; apply a transition to change its state", index=1),
        at("name[127]", "the culture is not possible here; possible: 1031 and 1033", index=1),
        at("name[1033]", "must be text", index=1),
        at("systems[0]", f"there is no element {UNKNOWN}", index=1),
        at("", "count cannot be changed in the state released; create a new version", "order-2", 2),
        at("", "scope cannot be changed in the state released; create a new version", "order-2", 2),
    ]
    desk.refuse(409, [good, bad, released], *problems)
    house = at("", "only architects can change a processHouse; this needs the permission EditElement", "house", 3)
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
    ({"elements": [], "element": 1}, ["body: unknown field 'element'; possible: count and elements."]),
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
def test_what_cannot_be_read_is_refused(desk: UpdateClient, body: Any, problems: list[str]) -> None:
    desk.refuse(400, body, *problems)


def test_requests_have_limits(desk: UpdateClient, settings: Settings) -> None:
    desk.refuse(
        415, "elements", "The request body must have the Content-Type application/json.", content_type="text/plain"
    )
    settings.MAX_ELEMENTS = 2
    many = "3 elements are too many for one request. Split it into requests of at most 2."
    desk.refuse(413, [order(), {"id": ID["invoice"]}, {"id": UNKNOWN}], many)
    assert len(desk.update(order(), {"id": ID["invoice"]})) == 2
    settings.BODY_LIMIT = 100
    desk.refuse(413, texts(scope={"1033": "x" * 100}), "The body is larger than 100 bytes.")


def test_values_below_4_0_and_no_body(desk: UpdateClient) -> None:
    body = {"count": 1, "values": [texts(scope={"1033": "x"})]}
    response = desk.send(body, headers={"api-version": "3.0"})
    [found] = response.json()["values"]
    assert found == changed(DRAFT, found, scope={"1033": "x"})
    wrong = f"values[0] {ID['order-3']}: scope[127]: the culture is not possible here; possible: 1031 and 1033."
    desk.refuse(422, {"values": [texts(scope={"127": "x"})]}, wrong)
    assert desk.send({"elements": []}).json() == {"count": 0, "elements": []}
    viewer, listed = token_for(desk.storage), f"{RESTS}/processes/views/list/elements"
    for body_of_none in ("", "{}"):
        assert desk.send(body_of_none, view="list", token=viewer).content == desk.api.get(listed, token=viewer).content


# The tree.


def children(desk: UpdateClient, name: str) -> list[str]:
    return [each["id"] for each in desk.read(name).get("children", [])]


def test_a_move_makes_it_the_last_child_of_another_parent(desk: UpdateClient) -> None:
    [below] = desk.update({"id": ID["invoice"], "rootPath": [{"id": ID["order"]}]})
    assert below["rootPath"] == [wire("order-3"), wire("sales-1"), wire("house")]
    assert (children(desk, "sales"), children(desk, "order")) == ([ID["ship"], ID["order"]], [ID["invoice"]])
    [back] = desk.update({"id": ID["invoice"], "rootPath": [{"versionId": ID["sales-1"], "type": "mainProcess"}]})
    assert back["rootPath"] == [wire("sales-1"), wire("house")]
    assert children(desk, "sales") == [ID["ship"], ID["order"], ID["invoice"]]
    [unfiled] = desk.update({"id": ID["invoice"], "rootPath": []})
    assert "rootPath" not in unfiled
    assert children(desk, "sales") == [ID["ship"], ID["order"]]
    places = [ID["sales"], ID["order"], ID["sales"], None]
    expected = [("updated", {"parent": old}, {"parent": new}) for old, new in pairwise(places)]
    assert history(desk, "invoice-1") == expected


def test_a_path_that_is_so_changes_nothing(desk: UpdateClient) -> None:
    before = children(desk, "sales")
    desk.update({"id": ID["invoice"], "rootPath": [wire("sales-1"), wire("house")]}, order(rootPath=[wire("sales-1")]))
    [shown] = desk.update(order(), view="steps")
    assert shown["rootPath"] == [wire("house", view="steps")]
    desk.update(shown, view="steps")
    assert children(desk, "sales") == before
    assert desk.read("order")["rootPath"] == DRAFT["rootPath"]


def test_moves_against_the_tree_are_refused(desk: UpdateClient) -> None:
    invoice, inside = {"id": ID["invoice"]}, "{} is the element itself or below it; choose another parent"
    under = "a subProcess cannot be placed below a {}; possible parents: mainProcess or subProcess"
    for parent, type in (("house", "processHouse"), ("anna", "user"), ("check-3", "task")):
        desk.refuse(422, [order(rootPath=[{"id": ID[parent]}])], at("rootPath", under.format(type)))
    desk.refuse(422, [order(rootPath=[{"id": UNKNOWN}])], at("rootPath[0]", f"there is no element {UNKNOWN}"))
    desk.refuse(422, [order(rootPath=[{"id": ID["order"]}])], at("rootPath", inside.format(ID["order"])))
    circle = [{**invoice, "rootPath": [{"id": ID["order"]}]}, order(rootPath=[invoice])]
    first = f"elements[0] {ID['invoice']}: rootPath: {inside.format(ID['order'])}."
    desk.refuse(422, circle, first, at("rootPath", inside.format(ID["invoice"]), index=1))
    desk.update(circle[0])
    # Each move is looked at with the others: what would be a circle by itself need not be one.
    swapped = desk.update(order(rootPath=[invoice]), {**invoice, "rootPath": [{"id": ID["sales"]}]})
    assert [each["rootPath"][0]["id"] for each in swapped] == [ID["invoice"], ID["sales"]]
    desk.update({**order(), "rootPath": [{"id": ID["sales"]}]}, {**invoice, "rootPath": [{"id": ID["order"]}]})
    desk.refuse(422, [order(rootPath=[invoice])], at("rootPath", inside.format(ID["invoice"])))
    for path in ([], [invoice]):
        desk.refuse(422, [{"id": ID["check-3"], "rootPath": path}],
                    at("rootPath", "a task has its place in a diagram and cannot be moved", "check-3"))  # fmt: skip
    desk.refuse(409, [{"id": ID["ship"], "rootPath": []}],
                at("", "rootPath cannot be changed in the state inEffect; create a new version", "ship"))  # fmt: skip
    desk.refuse(422, [{"id": ID["customer-view"], "rootPath": [{"id": ID["house"]}]}],
                at("rootPath", "a view cannot be placed below a processHouse; possible parents: nothing", "customer-view"),
                token=desk.architect)  # fmt: skip


# Who may change what, and when.


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.ANALYZER, Role.APPROVER])
def test_changing_needs_a_permission(desk: UpdateClient, role: Role | None) -> None:
    token, status = (token_for(desk.storage, role), 403) if role else (None, 401)
    desk.refuse(status, [{"id": ID["invoice"]}], "This needs the permission EditElement.", token=token)
    new: Body = {"type": "subProcess", "attributes": {"name": {"1033": "New"}}}
    desk.refuse(status, [new], "This needs the permission NewElement.", token=token)
    desk.refuse(status, [new, {"id": ID["invoice"]}], "This needs the permission EditElement.", token=token)
    desk.refuse(status, "{", "This needs the permission EditElement.", token=token)


def test_posting_to_the_address_of_an_element_names_the_right_address(desk: UpdateClient) -> None:
    response = desk.api.post(
        f"{RESTS}/processes/views/detail/elements/{ID['invoice']}/",
        json.dumps({"elements": [{"id": ID["invoice"]}]}),
        content_type="application/json",
        token=desk.anna,
    )
    message = (
        "This operation only reads and takes no body. To update the element, send it to POST .../elements/, without the"
        " id in the address."
    )
    assert (response.status_code, response.json()) == (
        400,
        {"message": message, "output": "inline", "type": "error", "data": [{"error": message}]},
    )


def test_authors_and_architects_change_what_has_authors(desk: UpdateClient) -> None:
    named = {"attributes": {"name": {"1033": "By another"}}}
    task, other = {"id": ID["check-3"], **named}, token_for(desk.storage, Role.EDITOR)
    assert desk.update({"id": ID["invoice"], **named}, token=other)[0]["attributes"]["name"] == {"1033": "By another"}
    mine = "only its authors and architects may change it; this needs the permission EditElement"
    desk.refuse(403, [order(**named), task], at("", mine), at("", mine, "check-3", 1), token=other)
    administrator = token_for(desk.storage, Role.ADMINISTRATOR)
    desk.update({"id": ID["ben"], "attributes": {"roleEditor": {"127": True}}}, facet="users", token=administrator)
    ben = token_for(desk.storage, Role.EDITOR, user_id=UUID(ID["ben"]))
    desk.refuse(403, [order()], at("", mine), token=ben)
    desk.update(order(related={"secondaryAuthors": [{"id": ID["ben"]}]}))
    for token in (desk.anna, ben, desk.architect):
        assert len(desk.update(order(), task, token=token)) == 2
    architectural = at("", "only architects can change a processHouse; this needs the permission EditElement", "house")
    desk.refuse(403, [{"id": ID["house"], **named}], architectural)
    assert (
        desk.update({"id": ID["house"], **named}, token=desk.architect)[0]["attributes"]["name"]["1033"] == "By another"
    )


LATE: Body = {"attributes": {"note": {"1033": "Late"}}, "related": {"watchers": [{"id": ID["crew"]}]}}


@pytest.mark.parametrize("version", ["order-2", "ship-1", "loose-1"])
def test_some_properties_can_be_changed_in_a_published_version(desk: UpdateClient, version: str) -> None:
    with tenant_scope(desk.storage):
        # Being drawn in a draft does not matter to what has versions of its own.
        Shape.objects.create(version_id=ID["order-3"], element_id=ID["ship"], position=9)
    [found] = desk.update({"versionId": ID[version], **LATE})
    assert (found["attributes"]["note"], found["related"]["watchers"]) == ({"1033": "Late"}, [wire("crew")])
    more = {
        "attributes": {**LATE["attributes"], "validUntil": {"127": None}},
        "stereotype": "x",
        "related": {"owner": []},
    }
    owner = ["owner"] if version == "order-2" else []
    problems = [at("", f"{name} cannot be changed in the state {found['state']}; create a new version", version)
                for name in (*owner, "stereotype", "validUntil")]  # fmt: skip
    desk.refuse(409, [{"versionId": ID[version], **more}], *problems)


@pytest.mark.parametrize("state", ["inReview", "readyForQa", "readyForRelease", "expired"])
def test_other_versions_than_drafts_stay_as_they_are(desk: UpdateClient, state: str) -> None:
    set_state(desk.storage, state, ID["invoice-1"])
    way_out = "create a new version" if state == "expired" else "send it back first"
    problems = [at("", f"{name} cannot be changed in the state {state}; {way_out}", "invoice-1")
                for name in ("note", "watchers")]  # fmt: skip
    for token in (desk.anna, desk.architect):
        desk.refuse(409, [{"versionId": ID["invoice-1"], **LATE}], *problems, token=token)


def test_what_lives_in_a_diagram_follows_its_state(desk: UpdateClient) -> None:
    named = {"attributes": {"name": {"1033": "Look"}}, "related": {"systems": [{"id": ID["old"]}]}}
    assert desk.update({"id": ID["check-3"], **named})[0]["related"]["systems"] == [wire("old-1")]
    problems = [at("", f"{name} cannot be changed in the state released; create a new version", "check-2")
                for name in ("name", "systems")]  # fmt: skip
    desk.refuse(409, [{"id": ID["check-2"], **named}], *problems)
    set_state(desk.storage, "inReview", ID["order-3"])
    desk.refuse(409, [{"id": ID["check-3"], "attributes": {"name": {"1031": "x"}}}],
                at("", "name cannot be changed in the state inReview; send it back first", "check-3"))  # fmt: skip


# Optimistic locking, and other tenants.


def test_if_match_refuses_what_was_read_before_another_change(desk: UpdateClient) -> None:
    address = f"{RESTS}/processes/views/detail/elements/{ID['order']}"
    first = desk.api.get(address, token=desk.anna)["ETag"]

    def change(text: str, tag: str) -> Any:
        return desk.send({"elements": [texts(scope={"1033": text})]}, headers={"If-Match": tag})

    # Of any view: they differ in the last part, which is about reading alone.
    listed = desk.api.get(address.replace("detail", "list"), token=desk.anna)["ETag"]
    assert (listed != first, version_tag(listed)) == (True, version_tag(first))
    second = change("a", listed)["ETag"]
    assert second == version_tag(desk.api.get(address, token=desk.anna)["ETag"]) != version_tag(first)
    body = {"elements": [texts(scope={"1033": "late"})]}
    stale = "The element has changed since it was read; read it again."
    for tag in (first, f"W/{second}", '"x", "y"', '""'):
        desk.refuse(412, body, stale, headers={"If-Match": tag})
    desk.refuse(412, {"elements": [{"type": "subProcess"}]}, stale, headers={"If-Match": "*"})
    for tag in (second[1:-1], "", '"', '"a" "b"'):
        desk.refuse(
            400,
            body,
            'If-Match: expected * or a list of entity tags in quotes, such as "1a2b.3".',
            headers={"If-Match": tag},
        )
    two = "If-Match: only a request with one element can have this header."
    desk.refuse(400, [order(), {"id": ID["invoice"]}], two, headers={"If-Match": "*"})
    assert [change("b", f'"x" , {second}').status_code, change("c", " * ").status_code] == [200, 200]
    assert "ETag" not in desk.send({"elements": [order(), {"id": ID["invoice"]}]})


def test_what_another_tenant_has_cannot_be_named(desk: UpdateClient) -> None:
    with tenant_scope(desk.rival):
        type = Element.objects.get(pk=ID["order"]).type
        foreign = Element.objects.create(type=type, creation_id=UUID(UNKNOWN), pk=UUID(UNKNOWN))
        version = ElementVersion.objects.create(element=foreign, state="inProcess", category="draft", major=0, minor=1,
                                                sort_name="", created_on=timezone.now(), changed_on=timezone.now())  # fmt: skip
        Element.objects.filter(pk=foreign.pk).update(newest=version)
    missing = at("", "there is no such element in the view detail of the facet processes", UNKNOWN)
    desk.refuse(404, [{"id": UNKNOWN, "attributes": {"name": {"1033": "x"}}}], missing)
    desk.refuse(404, [{"versionId": str(version.pk)}], missing.replace(UNKNOWN, str(version.pk)))
    desk.refuse(422, [order(rootPath=[{"id": UNKNOWN}], related={"nextSteps": [{"id": UNKNOWN}]})],
                at("nextSteps[0]", f"there is no element {UNKNOWN}"), at("rootPath[0]", f"there is no element {UNKNOWN}"))  # fmt: skip
    with tenant_scope(desk.rival):
        assert not ElementChange.objects.exists()
