"""The change feed, `_api/rest/changes`: events of every change, pages, cursors, filters and visibility (D325 to D329)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import structlog
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.models import ElementChange
from elements.transfer.importing import import_elements
from facets.blueprint.definitions import Blueprint
from facets.changing.changes import rewrite_configuration
from storage.access.tokens import issue_token, revoke_token
from storage.backup.restoring import restore_storage
from storage.backup.writing import back_up_storage
from storage.events import numbering, reading
from storage.events.cursors import Cursor
from storage.events.numbering import forget_old_events, number_events
from storage.events.reading import NumberedEvent, cloud_event, read_events
from storage.models import ApiToken, Event, EventLog, EventType, Storage
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from storage.webhooks.changing import create_webhook
from tests.api_client import ApiClient
from tests.elements.drawing import draw, new
from tests.elements.feed import Document, Feed
from tests.elements.handbook import ID, RELEASED
from tests.elements.office import Office
from tests.factories import issued_token, storage_context

pytestmark = pytest.mark.django_db
FACETS = "/acme/handbook/_api/rest/facets"
PROCESSES, SYSTEMS = (f"{FACETS}/{name}/views/detail/elements" for name in ("processes", "it"))
CHANGES = "/acme/handbook/_api/rest/changes"


@pytest.fixture
def token(handbook: Storage) -> str:
    return issued_token(handbook, Role.ARCHITECT)


@pytest.fixture
def feed(api: ApiClient, handbook: Storage, token: str) -> Feed:
    """A client that has read everything."""
    found = Feed(api, "acme/handbook", token)
    found.read()
    return found


def write(api: ApiClient, token: str, *elements: Document, address: str = SYSTEMS) -> Any:
    response = api.post(address, {"elements": [*elements]}, content_type="application/json", token=token)
    assert response.status_code == 200, response.json()
    return response


def renamed(name: str, text: str) -> Document:
    return {"id": ID[name], "attributes": {"name": {"1033": text}}}


def test_an_event_is_a_cloud_event(api: ApiClient, handbook: Storage, token: str, feed: Feed) -> None:
    response = write(api, token, renamed("crm", "Customers"))
    with tenant_scope(handbook):
        event, change = Event.objects.latest("number"), ElementChange.objects.latest("changed_on")
    issued = ApiToken.objects.latest("created_on")
    assert change.changed_on == event.time
    assert feed.read() == [
        {
            "specversion": "1.0",
            "id": str(event.id),
            "source": "/acme/handbook",
            "type": "element.changed",
            "subject": ID["crm"],
            "time": f"{event.time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
            "datacontenttype": "application/json",
            "data": {
                "elementId": ID["crm"],
                "versionId": ID["crm-1"],
                "elementType": "system",
                "facet": "it",
                "state": "inProcess",
                "attributes": ["name"],
                "contexts": [],
                "caller": f"token:{issued.id}",
                "callerId": str(issued.id),
                "requestId": response["X-Request-ID"],
            },
        }
    ]


def test_every_change_of_elements_is_an_event(api: ApiClient, handbook: Storage, token: str, feed: Feed) -> None:
    made = write(api, token, {"type": "system", "attributes": {"name": {"1033": "Wiki"}}}).json()["elements"][0]
    write(api, token, {"id": ID["order"], "rootPath": [{"id": ID["ship"]}]}, address=PROCESSES)
    moved = {"id": ID["order"], "rootPath": [{"id": ID["sales"]}], "related": {"systems": [{"id": ID["crm"]}]}}
    write(api, token, moved, address=PROCESSES)
    assert api.delete(f"{SYSTEMS}/{made['id']}", token=token).status_code == 200
    draw(api, token, "order", new(1, "task", "Pack"))
    found = feed.facts()
    assert [each[0] for each in found] == [
        "element.created", "element.moved", "element.moved", "element.changed", "element.deleted", "element.created",
        "diagram.changed",
    ]  # fmt: skip
    assert found[1][1] == {"from": ID["sales"], "to": ID["ship"], "state": "inProcess"}
    assert found[3][1] == {"attributes": [], "contexts": ["systems"], "state": "inProcess"}


def test_a_draft_that_is_deleted_leaves_the_element(api: ApiClient, handbook: Storage, token: str, feed: Feed) -> None:
    assert api.delete(f"{PROCESSES}/{ID['order-3']}", token=token).status_code == 200
    found = [each for each in feed.read() if each["subject"] == ID["order"]]
    assert [(each["type"], each["data"]["versionId"]) for each in found] == [("version.deleted", ID["order-3"])]


def test_an_import_is_in_the_feed(api: ApiClient, handbook: Storage, tmp_path: Path, feed: Feed) -> None:
    name = {"1033": "New", "1031": "Neu"}
    ids = [f"00000000-0000-4000-9000-{number:012x}" for number in range(3)]
    lines = [
        {"facetName": "users", "id": ids[0], "creationId": ids[0], "type": "userGroup", "attributes": {"name": name}},
        {"facetName": "it", "id": ids[1], "type": "system", "versionId": ids[2], "state": "released",
         "attributes": {"name": name, "version": {"127": "1.0"}, **RELEASED}},
    ]  # fmt: skip
    path = tmp_path / "new.ndjson"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    import_elements(handbook, str(path))
    found = [(each["type"], each["subject"], each["data"]["versionId"], each["data"]["caller"]) for each in feed.read()]
    assert found == [
        ("element.created", ids[0], ids[0], "import_elements"),
        ("element.created", ids[1], ids[2], "import_elements"),
        ("version.released", ids[1], ids[2], "import_elements"),
    ]
    assert [each["subject"] for each in Feed(api, "acme/handbook", None).read()][-3:] == [ids[0], ids[1], ids[1]]


def test_a_save_in_the_back_office_is_in_the_feed(handbook: Storage, feed: Feed) -> None:
    office = Office(handbook, Role.ADMINISTRATOR)
    path = f"elements/element/{ID['order']}/edit/"
    office.post(path, {**office.form(path), "a-scope-1033": "All of it", "r-owner": ID["ben"]})
    [event] = feed.read()
    assert (event["type"], event["subject"]) == ("element.changed", ID["order"])
    assert (event["data"]["attributes"], event["data"]["contexts"]) == (["scope"], ["owner"])
    assert event["data"]["caller"].startswith("staff:")


def test_tokens_and_configuration_are_in_the_feed(api: ApiClient, handbook: Storage, feed: Feed) -> None:
    # Only administrators get events of tokens (D400).
    feed.token = issued_token(handbook, Role.ADMINISTRATOR)
    feed.read()
    # As in a command: no request is running.
    structlog.contextvars.clear_contextvars()
    issued = issue_token(storage_context(handbook), "robot", [Role.EDITOR], never_expires=True).token
    revoke_token(issued)
    command = ["issue_token", "acme", "handbook", "--name", "other", "--role", "viewer", "--valid-until", "never"]
    call_command(*command, stdout=StringIO(), stderr=StringIO())

    def renamed_facet(blueprint: Blueprint) -> Blueprint:
        first, *others = blueprint.facets
        return replace(blueprint, facets=(replace(first, type_name="Renamed"), *others))

    rewrite_configuration(handbook, renamed_facet)
    found = [each for each in feed.read() if not each["type"].startswith("element.")]
    other = ApiToken.objects.get(name="other")
    assert [(each["type"], each["subject"], each["data"]) for each in found] == [
        (
            "token.created",
            str(issued.id),
            {"tokenId": str(issued.id), "name": "robot", "roles": ["editor"], "caller": "", "requestId": ""},
        ),
        (
            "token.revoked",
            str(issued.id),
            {"tokenId": str(issued.id), "name": "robot", "roles": ["editor"], "caller": "", "requestId": ""},
        ),
        (
            "token.created",
            str(other.id),
            {"tokenId": str(other.id), "name": "other", "roles": ["viewer"], "caller": "", "requestId": ""},
        ),
        (
            "configuration.changed",
            str(handbook.id),
            {"changes": ["facets.processes"], "caller": "", "requestId": ""},
        ),
    ]


def test_pages_lead_through_the_feed(api: ApiClient, handbook: Storage, token: str, feed: Feed) -> None:
    start = feed.cursor
    for number in range(5):
        write(api, token, renamed("crm", f"Name {number}"))
    whole = feed.read()
    feed.cursor, sizes, seen = start, [], []
    while (page := feed.page("$pageSize=2"))["next"] != feed.cursor:
        sizes.append(page["count"])
        seen += page["values"]
        feed.cursor = page["next"]
    assert (sizes, seen) == ([2, 2, 1], whole)
    assert (page["count"], page["values"]) == (0, [])


def test_filters(api: ApiClient, handbook: Storage, token: str, feed: Feed) -> None:
    feed.token = issued_token(handbook, Role.ADMINISTRATOR)
    feed.read()
    start = feed.cursor
    write(api, token, renamed("crm", "Other"))
    write(api, token, renamed("order", "Other"), address=PROCESSES)
    issue_token(storage_context(handbook), "robot", [Role.EDITOR])

    def found(query: str) -> list[str]:
        feed.cursor, feed.query = start, query
        return [each["subject"] for each in feed.read() if each["type"] == "element.changed"]

    assert found("") == [ID["crm"], ID["order"]]
    assert found("facet=IT") == [ID["crm"]]
    assert found("elementType=subProcess") == [ID["order"]]
    assert found("type=element.changed,element.moved&facet=it,processes") == [ID["crm"], ID["order"]]
    assert found("state=inProcess") == [ID["crm"], ID["order"]]
    assert found("state=released") == []
    feed.cursor, feed.query = start, "type=token.created"
    assert feed.types() == ["token.created"]


def test_all_problems_of_the_parameters_are_reported(api: ApiClient, handbook: Storage, token: str) -> None:
    query = "$after=abc&$pageSize=0&$wait=51&type=element.made&facet=xx&elementType=yy&state=zz&since=1&after=x"
    response = api.get(f"{CHANGES}?{query}", token=token)
    assert response.status_code == 400
    assert response.json()["message"] == "9 parameters are invalid."
    assert [each["error"] for each in response.json()["data"]] == [
        "after: the $ is missing; write $after.",
        "since: unknown parameter; use $after, $pageSize, $wait, type, facet, elementType or state.",
        "$after: 'abc' is not a cursor; send `next` of a response.",
        "$pageSize: expected a whole number from 1 to 1000, not '0'.",
        "$wait: expected a whole number from 1 to 50, not '51'.",
        "type: 'element.made' is not a type of events; similar: element.moved, element.deleted, element.changed.",
        "facet: 'xx' is not a facet.",
        "elementType: 'yy' is not an element type.",
        "state: 'zz' is not a state.",
    ]


def test_a_page_without_matches_leads_further(
    api: ApiClient, handbook: Storage, token: str, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LOOKED_AT", 2)
    for number in range(3):
        write(api, token, renamed("order", f"Name {number}"), address=PROCESSES)
    write(api, token, renamed("crm", "Other"))
    feed.query = "facet=it"
    pages = []
    while (page := feed.page())["next"] != feed.cursor:
        pages.append([each["subject"] for each in page["values"]])
        feed.cursor = page["next"]
    assert pages == [[], [ID["crm"]]]


def test_viewers_see_only_what_is_published(api: ApiClient, handbook: Storage, token: str, feed: Feed) -> None:
    viewers = [Feed(api, "acme/handbook", each) for each in (issued_token(handbook, Role.VIEWER), None)]
    for each in viewers:
        each.read()
    feed.read()
    write(api, token, renamed("crm", "Draft"))
    write(api, token, {"type": "system", "attributes": {"name": {"1033": "Wiki"}}})
    issue_token(storage_context(handbook), "robot", [Role.EDITOR])
    groups = f"{FACETS}/users/views/detail/elements"
    made = write(api, token, {"type": "userGroup", "attributes": {"name": {"1033": "Crowd"}}}, address=groups).json()[
        "elements"
    ][0]
    for each in viewers:
        [event] = each.read()
        assert event["data"] == {
            "elementId": made["id"], "versionId": made["id"], "elementType": "userGroup", "facet": "users", "state": "",
        } | {"state": event["data"]["state"]}  # fmt: skip
        each.cursor = ""
    assert api.delete(f"{groups}/{made['id']}", token=token).status_code == 200
    for each in viewers:
        # Neither the deletion nor anything earlier tells that the element existed.
        assert made["id"] not in json.dumps(each.read())
    assert "element.deleted" in feed.types()


def test_releasing_a_draft_does_not_reveal_its_events(
    handbook: Storage, api: ApiClient, token: str, feed: Feed
) -> None:
    viewer = Feed(api, "acme/handbook", None)
    viewer.read()
    write(api, token, renamed("crm", "Secret"))
    with tenant_scope(handbook):
        cursor = connection.cursor()
        cursor.execute("UPDATE elements_element SET published_id = newest_id WHERE id = %s", [ID["crm"]])
    assert viewer.read() == []


def test_the_other_storage_sees_nothing(api: ApiClient, handbook: Storage, token: str) -> None:
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    other = Feed(api, "rival/handbook", issued_token(rival, Role.ADMINISTRATOR))
    other.read()
    write(api, token, renamed("crm", "Customers"))
    assert other.read() == []


def gone(api: ApiClient, token: str, cursor: str, days: int = 90) -> str:
    response = api.get(f"{CHANGES}?$after={cursor}", token=token)
    text = (
        f"The feed no longer has the events after this cursor: they are older than {days} days, or the storage was"
        " restored from a backup. Read the elements again, then continue with the cursor in `next`."
    )
    oldest = response.json().get("next", "")
    body = {"message": text, "output": "dialog", "type": "error", "data": [{"error": text}], "next": oldest}
    assert (response.status_code, response.json()) == (410, body)
    return str(oldest)


def test_old_events_are_deleted_and_their_cursors_are_gone(
    api: ApiClient, handbook: Storage, token: str, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbering, "BATCH", 2)
    start = feed.cursor
    for number in range(5):
        write(api, token, renamed("crm", f"Name {number}"))
    first, kept = feed.read()[2:4], 3
    Storage.objects.filter(pk=handbook.pk).update(event_days=kept)
    handbook.refresh_from_db()
    with tenant_scope(handbook):
        numbers = [*Event.objects.filter(subject_id=ID["crm"]).order_by("number").values_list("number", flat=True)][-5:]
        old = datetime.now(UTC) - timedelta(days=kept, seconds=1)
        Event.objects.filter(number__lt=numbers[2]).update(time=old)
        # Newer than its successors: it stays, because a cursor could not tell that it is missing.
        Event.objects.filter(number=numbers[3]).update(time=old)
        count = Event.objects.count()
    assert forget_old_events(handbook) == count - 3
    oldest = gone(api, token, start, kept)
    feed.cursor = oldest
    assert [each["id"] for each in feed.read()[:2]] == [each["id"] for each in first]
    feed.cursor = ""
    assert len(feed.read()) == 3
    assert forget_old_events(handbook) == 0


@pytest.mark.long
@pytest.mark.on_cluster
def test_a_restored_storage_has_new_cursors(
    api: ApiClient, handbook: Storage, token: str, feed: Feed, tmp_path: Path
) -> None:
    write(api, token, renamed("crm", "Before"))
    feed.read()
    before = Feed(api, "acme/handbook", token).read()
    path = tmp_path / "backup.zip"
    back_up_storage(handbook, path)
    write(api, token, renamed("crm", "After"))
    feed.read()
    # A copy: removing a storage clears the id of the object, which other tests use.
    remove_storage(Storage.objects.get(pk=handbook.pk))
    restored = restore_storage(path, with_tokens=True).storage
    oldest = gone(api, token, feed.cursor)
    feed.cursor = oldest
    assert feed.read() == before
    # A restored token that is disabled is an event, too.
    remove_storage(restored)
    restore_storage(path)
    again = Feed(api, "acme/handbook", issued_token(Storage.objects.get(pk=handbook.pk), Role.ADMINISTRATOR)).read()
    assert "token.revoked" in [each["type"] for each in again]


def test_a_cursor_of_a_lost_event_is_gone(api: ApiClient, handbook: Storage, token: str, feed: Feed) -> None:
    """After a fail-over that lost transactions, the same number belongs to another event."""
    write(api, token, renamed("crm", "Lost"))
    feed.read()
    with tenant_scope(handbook):
        last = EventLog.objects.get().last_number
        Event.objects.filter(number=last).delete()
        EventLog.objects.update(last_number=last - 1)
    gone(api, token, feed.cursor)
    write(api, token, renamed("crm", "Found"))
    gone(api, token, feed.cursor)


def test_cursors() -> None:
    cursor = Cursor(2**62 - 1, 12, b"abcd")
    text = str(cursor)
    assert (len(text), Cursor.read(text)) == (32, cursor)
    for damaged in (text[:-1], text + "A", "B" + text[1:], "", "ä" * 32, text.replace(text[5], "*")):
        assert Cursor.read(damaged) is None


def test_the_clock_of_a_subject_never_goes_back(api: ApiClient, handbook: Storage, token: str, feed: Feed) -> None:
    write(api, token, renamed("crm", "One"))
    with tenant_scope(handbook):
        later = datetime.now(UTC) + timedelta(hours=1)
        Event.objects.filter(subject_id=ID["crm"], number=None).update(time=later)
    write(api, token, renamed("crm", "Two"))
    write(api, token, renamed("crm", "Three"), renamed("erp", "Three"))
    with tenant_scope(handbook):
        times = [
            *Event.objects.filter(subject_id=ID["crm"], number=None).order_by("time").values_list("time", flat=True)
        ]
    assert times == [later + timedelta(microseconds=number) for number in range(3)]


def test_a_refused_change_leaves_no_event(api: ApiClient, handbook: Storage, token: str, feed: Feed) -> None:
    body = {"elements": [renamed("crm", "Fine"), {"id": ID["erp"], "attributes": {"nothing": {"1033": "x"}}}]}
    assert api.post(SYSTEMS, body, content_type="application/json", token=token).status_code == 422
    assert feed.read() == []


def test_readers_inside_the_service(handbook: Storage) -> None:
    last = number_events(handbook)
    issue_token(storage_context(handbook), "robot", [Role.EDITOR])
    found = read_events(handbook, last, 10).events
    assert [(each.number, each.type) for each in found] == [(last + 1, EventType.TOKEN_CREATED)]
    assert read_events(handbook, last + 1, 10).events == []


def test_readers_inside_the_service_continue_after_the_retention_time(
    handbook: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that was away for too long skips what is gone, instead of waiting for it."""
    monkeypatch.setattr(numbering, "BATCH", 3)
    for number in range(7):
        issue_token(storage_context(handbook), f"robot {number}", [Role.EDITOR])
    forget_old_events(handbook)
    with tenant_scope(handbook):
        last = EventLog.objects.get().last_number
        assert not Event.objects.filter(number=None).exists()
        Event.objects.filter(number__lte=last - 2).update(time=datetime.now(UTC) - timedelta(days=91))
    assert forget_old_events(handbook) == last - 2
    assert [each.number for each in read_events(handbook, 0, 1).events] == [last - 1]


def test_numbering_ends_while_somebody_writes(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    numbered = count(1)
    monkeypatch.setattr(numbering, "number_events", lambda storage: next(numbered))
    assert (forget_old_events(handbook), next(numbered)) == (0, 2)
    with tenant_scope(handbook):
        assert create_webhook(handbook, "setup", {"url": "https://93.184.216.34/"}).webhook.position == 3


def test_viewers_get_no_ids_of_elements_that_they_may_not_see() -> None:
    values = (
        1,
        UUID(int=1),
        EventType.ELEMENT_MOVED.value,
        datetime.now(UTC),
        UUID(int=2),
        UUID(int=3),
        "it",
        "system",
    )
    data = {"from": str(UUID(int=4)), "to": None}
    moved = NumberedEvent(*values, "released", None, "", "", data)
    common = {"elementId": str(UUID(int=2)), "versionId": str(UUID(int=3)), "elementType": "system", "facet": "it"}
    common["state"] = "released"
    assert cloud_event("/a/b", moved, with_caller=False)["data"] == common
    assert cloud_event("/a/b", moved)["data"] == {**common, **data, "caller": "", "requestId": ""}
    copied = moved._replace(type=EventType.ELEMENT_CREATED.value, data={"copiedFrom": str(UUID(int=4))})
    assert cloud_event("/a/b", copied, with_caller=False)["data"] == common
    changed = moved._replace(type=EventType.VERSION_STATE_CHANGED.value, data={"from": "inReview", "to": "released"})
    assert cloud_event("/a/b", changed, with_caller=False)["data"] == {**common, "from": "inReview", "to": "released"}


def test_the_number_of_statements_is_constant(api: ApiClient, handbook: Storage, token: str, feed: Feed) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as found:
            feed.page("$pageSize=1000")
        return len(found)

    write(api, token, renamed("crm", "One"))
    few = statements()
    for number in range(20):
        write(api, token, renamed("crm", f"Name {number}"))
    assert statements() == few


def test_post_answers_the_same(api: ApiClient, handbook: Storage) -> None:
    token = issued_token(handbook, Role.ARCHITECT)
    read = api.get(CHANGES, token=token)
    assert read.status_code == 200
    assert api.post(CHANGES, token=token, content_type="application/json").json() == read.json()


@pytest.mark.one_node("the coordinator does not show the plan of a shard")
def test_the_events_of_a_statement_are_read_once(api: ApiClient, handbook: Storage, token: str) -> None:
    """However many elements a request changes, and even if the planner takes the table for empty."""
    with CaptureQueriesContext(connection) as captured:
        write(api, token, *({"type": "system", "attributes": {"name": {"1033": "New"}}} for _ in range(60)))
    [sql] = [each["sql"] for each in captured.captured_queries if each["sql"].startswith("INSERT INTO storage_event ")]
    with tenant_scope(handbook), connection.cursor() as cursor:
        Event.objects.filter(number=None).delete()
        cursor.execute(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {sql}")
        plan = [row[0] for row in cursor.fetchall()]
    assert [line.rsplit("loops=")[-1] for line in plan if "on storage_event o" in line] == ["1)"], "\n".join(plan)
