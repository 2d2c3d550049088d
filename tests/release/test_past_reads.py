"""Reads as of a time (D563): every read of elements returns the bytes that it returned then. In a file of its own,
because only committed transactions have times of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from elements.api import reading_viewset
from elements.permission_sets.inheritance import rebuild_inherited
from elements.transfer.importing import import_elements
from facets.changing.changes import change_configuration
from facets.models import PermissionSet
from facets.template_format.reading import read_template
from repository_site.api_document.document import openapi_document
from repository_site.core.database.statements import fetch
from storage.backup.restoring import restore_storage
from storage.backup.writing import back_up_storage
from storage.models import Storage, StorageRevision
from storage.models.past import PastRow
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_models, tenant_scope
from tests.api_client import ApiClient
from tests.jobs import run_jobs
from tests.release.bulk.bulk_calls import bulk, numbers
from tests.release.house import ID, HouseClient, one, reference
from tests.release.random_changes import PROCESSES, RandomChanges
from tests.removed_storages import rows_left
from tests.scale import scaled

pytestmark = pytest.mark.django_db(transaction=True)
PLACES = {"house": "processes", "erp": "it", "inProcess-task": "processes", **dict.fromkeys(PROCESSES, "processes")}
LISTS = (
    "", "?$filter=name -eq 'order-2'", "?$filter=Contains(name, 'order') OR Contains(purp, 'Purp')",
    "?$pageSize=3&$page=2", "?$orderBy=changedOn desc", "?$format=csv", "?$expandRelated=systems",
    "?$resources=children,rootPath,content,versions,related", "?$culture=1031&$fallback=true",
    "?$filter=changedOn -gt 2026-02-01", "?$filter=NOT IsNull(systems)", "?$filter=IsNull(systems)&$pageSize=2",
)  # fmt: skip


def addresses() -> Iterator[str]:
    """Yield addresses of every operation that takes `$asOf`."""
    for facet in ("processes", "it"):
        yield from (f"rest/facets/{facet}/views/detail/elements{query}" for query in LISTS)
    for name, facet in PLACES.items():
        parts = {
            "collectionId": "acme", "storageId": "house", "facetId": facet, "viewId": "detail", "elementId": ID[name],
            "attributeName": "name", "relatedId": "systems", "cultureId": "1033", "layoutKey": "vertical",
        }  # fmt: skip
        for path, operations in openapi_document()["paths"].items():
            names = {each["name"] for each in operations.get("get", {}).get("parameters", ())}
            if "$asOf" in names:
                for part, value in parts.items():
                    path = path.replace(f"{{{part}}}", value)
                yield path.removeprefix("/acme/house/_api/")


def at(address: str, moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return f"{address}{'&' if '?' in address else '?'}$asOf={text}"


def answer(client: HouseClient, address: str) -> tuple[int, bytes, str]:
    response = client.get(address)
    return response.status_code, response.content, response.headers.get("X-Total-Count", "")


class Reading:
    """Reads of two callers, which are repeated as of their times: every second one as a list that is streamed."""

    def __init__(self, storage: Storage, api: ApiClient, changes: RandomChanges, patch: pytest.MonkeyPatch) -> None:
        self.readers = [HouseClient(storage, api, Role.ARCHITECT), HouseClient(storage, api, Role.VIEWER)]
        self.random, self.patch, self.every = changes.random, patch, sorted(set(addresses()))
        self.batches = 2, reading_viewset.BATCH
        self.seen: list[tuple[HouseClient, str, datetime, tuple[int, bytes, str]]] = []

    def note(self) -> None:
        reader, now = self.random.choice(self.readers), timezone.now()
        for address in self.random.sample(self.every, scaled(60)):
            self.patch.setattr(reading_viewset, "BATCH", self.random.choice(self.batches))
            self.seen.append((reader, address, now, answer(reader, address)))

    def repeat(self) -> None:
        for reader, address, moment, then in self.seen:
            self.patch.setattr(reading_viewset, "BATCH", self.random.choice(self.batches))
            assert answer(reader, at(address, moment)) == then, address


@pytest.mark.long
def test_past_reads_repeat_every_byte(old_house: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """After one change of each kind."""
    changes = RandomChanges(old_house, api, 0)
    reading = Reading(old_house, api, changes, monkeypatch)
    for kind in changes.kinds:
        changes.change(kind)
        reading.note()
    reading.repeat()
    assert len(changes.made) == len(changes.kinds)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(scaled(12)))
def test_random_past_reads_repeat_every_byte(
    old_house: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    changes = RandomChanges(old_house, api, seed)
    reading = Reading(old_house, api, changes, monkeypatch)
    for _ in range(scaled(100)):
        changes.change()
        reading.note()
    reading.repeat()


DETAIL = "rest/facets/processes/views/detail/elements"


@pytest.mark.long
def test_changes_of_many_rows(old_house: Storage, api: ApiClient, tmp_path: Path) -> None:
    """Deletions with children, references and diagrams, BPMN documents and imports are like other changes.

    After each of them, each address is read by one of two callers, in turn.
    """
    client, viewer = HouseClient(old_house, api, Role.ARCHITECT), HouseClient(old_house, api, Role.VIEWER)
    every, seen = sorted(set(addresses())), list[tuple[HouseClient, str, datetime, tuple[int, bytes, str]]]()
    turns = count()

    def note() -> None:
        now, turn = timezone.now(), next(turns)
        for place, address in enumerate(every):
            each = (client, viewer)[(place + turn) % 2]
            seen.append((each, address, now, answer(each, address)))

    document = client.get(f"v1/bpmn/{ID['inReview']}").content
    for name in ("First", "Second"):
        text = document.replace(b"task of", name.encode())
        path = f"/acme/house/_api/v1/bpmn/{ID['inProcess']}"
        response = api.post(path, text, content_type="application/xml", token=client.token)
        assert response.status_code == 200, response.content
        note()
    parent, ids = ID["inProcess"], [ID["inProcess"]]
    for name in ("Child", "Grandchild"):
        place = [{"facetName": "processes", "id": parent, "type": "subProcess"}]
        related = {"systems": [reference("it", "system", "erp")]}
        given = {"type": "subProcess", "attributes": {"name": {"1033": name}}, "rootPath": place, "related": related}
        parent = one(client.update(given))["id"]
        ids.append(parent)
    note()
    assert numbers(bulk(client, {"set": {"attributes": {"purp": {"1031": "Zweck"}}}}, ids=ids)) == (3, 0, 0)
    note()
    assert numbers(bulk(client, {"delete": True}, ids=ids)) == (3, 0, 0)
    run_jobs()
    note()
    line = {
        "facetName": "it",
        "type": "system",
        "state": "released",
        "id": "00000000-0000-4000-9000-000000000001",
        "versionId": "00000000-0000-4000-9000-000000000002",
        "attributes": {"name": {"1033": "New"}, "version": {"127": "1.0"}},
    }
    (tmp_path / "more.ndjson").write_text(json.dumps(line) + "\n", encoding="utf-8")
    import_elements(old_house, str(tmp_path / "more.ndjson"))
    for each, address, moment, then in seen:
        assert answer(each, at(address, moment)) == then, address


def test_which_times_and_operations_it_takes(old_house: Storage, api: ApiClient) -> None:
    architect = HouseClient(old_house, api, Role.ARCHITECT)
    earliest = StorageRevision.objects.get(pk=old_house.pk).recorded_since
    begins = earliest.astimezone(UTC).isoformat()
    malformed = "$asOf: expected a time in ISO 8601, such as $asOf=2026-03-01T09:30:00, not {!r}."
    present = "$asOf: this operation shows the present only; reads of elements take $asOf."
    # A date begins at midnight in the time zone of the storage.
    future = timezone.now() + timedelta(days=2)
    refused = {
        f"{DETAIL}?$asOf=yesterday": (400, malformed.format("yesterday")),
        f"{DETAIL}?$asOf=2026-13-01": (400, malformed.format("2026-13-01")),
        f"{DETAIL}?$asOf=0001-01-01T00:00:00%2B10:00": (400, malformed.format("0001-01-01T00:00:00+10:00")),
        **{
            f"{DETAIL}?$asOf={text.replace('+', '%2B')}": (400, malformed.format(text))
            # An offset after a date is not a time.
            for text in ("2026-03-01-05:00", "2026-03-01-05", "2026-03-01+09:30", "2026-03-01x09:30", "2026-060")
        },
        f"{DETAIL}?$asOf=2026-03-01&$asOf=2026-03-01": (400, "$asOf is given more than once; send it once."),
        f"{DETAIL}?asof=2026-03-01": (400, "asof: the $ is missing; write $asOf."),
        f"{DETAIL}?$asOf={future:%Y-%m-%d}": (422, f"$asOf: {future:%Y-%m-%d} is in the future."),
        f"{DETAIL}?$asOf=2020-02-03": (422, f"$asOf: the record of this storage begins at {begins}."),
        at(DETAIL, earliest - timedelta(microseconds=1)): (422, f"$asOf: the record of this storage begins at {begins}."),
        at("rest/search?q=order", earliest): (400, present),
        at("rest/tasks", earliest): (400, present),
        at("rest/facets", earliest): (400, present),
        at(f"{DETAIL}/{ID['order']}/info", earliest): (400, present),
    }  # fmt: skip
    for address, expected in refused.items():
        response = architect.get(address)
        assert (response.status_code, response.json()["message"]) == expected, address
    writes: list[tuple[str, Any]] = [
        (at(DETAIL, earliest), {"elements": []}),
        (at(f"{DETAIL}/{ID['order']}/delete", earliest), None),
    ]
    for address, body in writes:
        response = architect.post(address, body)
        text = "$asOf: the past can only be read; leave it out to change the content of today."
        assert (response.status_code, response.json()["message"]) == (400, text)


def test_forms_of_a_time(old_house: Storage, api: ApiClient) -> None:
    """Without an offset it is local to the storage, so times of responses can be sent back. The rest of the response
    belongs to the request."""
    Storage.objects.filter(pk=old_house.pk).update(time_zone="America/New_York")
    architect, address = (
        HouseClient(old_house, api, Role.ARCHITECT),
        f"{DETAIL}?$filter=type -eq subProcess&$pageSize=2",
    )
    first = architect.get(address).content
    made = architect.update({"type": "subProcess", "attributes": {"name": {"1033": "A first one"}}}).json()
    [changed] = made["elements"][0]["attributes"]["changedOn"].values()
    moment = timezone.now()
    made_later = architect.get(address).content
    architect.update({"type": "subProcess", "attributes": {"name": {"1033": "A better one"}}})
    assert len({first, made_later, architect.get(address).content}) == 3
    zone = ZoneInfo("America/New_York")
    texts = [
        changed, f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}", f"{moment:%Y-%m-%dT%H:%M:%S.%f%%2B00:00}",
        f"{moment:%Y-%m-%dT%H:%M:%S.%f+00:00}", f"{moment.astimezone(zone):%Y-%m-%dT%H:%M:%S.%f}",
        f"{moment:%Y%m%dT%H%M%S.%fZ}", f"{moment:%G-W%V-%uT%H:%M:%S.%fZ}", f"{moment:%Y-%m-%d %H:%M:%S.%fZ}",
    ]  # fmt: skip
    for text in texts:
        assert architect.get(f"{address}&$asOf={text}").content == made_later, text
    assert architect.get(f"{address}&$asOf=").content == architect.get(address).content
    past = f"{address}&$asOf={texts[1]}"
    response = architect.get(past)
    assert f"$asOf={texts[1].replace(':', '%3A')}" in response["Link"]
    assert architect.get(past, **{"If-None-Match": response["ETag"]}).status_code == 304
    assert architect.get(address, **{"If-None-Match": response["ETag"]}).status_code == 200
    assert architect.post(past).content == made_later


def test_sets_of_today_limit_the_past(old_house: Storage, api: ApiClient) -> None:
    """Elements that have been deleted since are not there for callers with limits."""
    architect = HouseClient(old_house, api, Role.ARCHITECT)
    shown, gone = (
        architect.update({"type": "subProcess", "attributes": {"name": {"1033": name}}}).json()["elements"][0]["id"]
        for name in ("Shown", "Gone")
    )
    moment = timezone.now()
    assert architect.post(f"{DETAIL}/{gone}/delete").status_code == 200
    limited = HouseClient(old_house, api, Role.EDITOR, user="anna")
    listed = at(f"{DETAIL}?$resources=related,children,content", moment)
    assert {shown, gone, ID["inProcess"], ID["inProcess-task"]} <= ids_in(limited, listed)
    with tenant_scope(old_house):
        entries = {"show": [ID["ben"]]}
        PermissionSet.objects.create(number=1, creation_id=ID["inProcess"], mode="replace", entries=entries)
        rebuild_inherited()
    found = ids_in(limited, listed)
    assert (shown in found, found & {gone, ID["inProcess"], ID["inProcess-task"]}) == (True, set())
    assert limited.get(at(f"{DETAIL}/{gone}", moment)).status_code == 404
    assert limited.get(at(f"{DETAIL}/{ID['inProcess']}/content", moment)).status_code == 404
    assert limited.get(at(f"{DETAIL}/{ID['inReview']}/content?$details=true", moment)).json()["count"] == 3
    assert limited.get(at(f"v1/bpmn/{ID['inReview']}", moment)).status_code == 200
    administrator = HouseClient(old_house, api, Role.ADMINISTRATOR)
    assert {shown, gone, ID["inProcess"], ID["inProcess-task"]} <= ids_in(administrator, listed)


def test_triggers_keep_every_column() -> None:
    """A migration that adds a column repeats `KeepPast`."""
    for model in tenant_models():
        if issubclass(model, PastRow):
            [(text,)] = fetch(
                "SELECT prosrc FROM pg_proc WHERE proname = %s", [f"{model.past_of._meta.db_table}_keep_past"]
            )
            columns = {f'"{field.column}"' for field in model._meta.concrete_fields}
            assert {column for column in columns if column not in text} == set(), model


def ids_in(client: HouseClient, address: str) -> set[str]:
    response = client.get(address)
    assert response.status_code == 200, response.content
    return {each["id"] for each in response.json()["elements"]}


@pytest.mark.long
def test_elements_of_removed_types_are_not_there(old_house: Storage, api: ApiClient, tmp_path: Path) -> None:
    before = json.loads((tmp_path / "template.json").read_text(encoding="utf-8"))
    after = {**before, "types": {**before["types"], "gadget": before["types"]["system"]}}
    change_configuration(old_house, read_template(after))
    client, systems = HouseClient(old_house, api, Role.ADMINISTRATOR), "rest/facets/it/views/detail/elements"
    made = client.post(systems, {"elements": [{"type": "gadget", "attributes": {"name": {"1033": "Gadget"}}}]})
    gadget = {"facetName": "it", "id": made.json()["elements"][0]["id"], "type": "gadget"}
    process = reference("processes", "subProcess", "inProcess")
    assert client.update({**process, "related": {"systems": [gadget]}}).status_code == 200
    moment = timezone.now()
    reads = [systems, "rest/facets/processes/views/detail/elements?$expandRelated=systems", f"{systems}/{gadget['id']}"]
    seen = [client.get(at(address, moment)) for address in reads]
    assert [gadget["id"] in each.text for each in seen] == [True] * 3
    assert client.update({**process, "related": {"systems": []}}).status_code == 200
    assert client.post(f"{systems}/{gadget['id']}/delete").status_code == 200
    assert [client.get(at(address, moment)).content for address in reads] == [each.content for each in seen]
    change_configuration(old_house, read_template(before))
    seen = [client.get(at(address, moment)) for address in reads]
    assert [(each.status_code, gadget["id"] in each.text) for each in seen[:2]] == [(200, False)] * 2
    assert seen[2].status_code == 404


@pytest.mark.long
def test_backups_have_the_past(old_house: Storage, api: ApiClient, tmp_path: Path) -> None:
    """In the restored storage, and in a copy with another id."""
    changes, reads = RandomChanges(old_house, api, 7), [DETAIL, f"{DETAIL}?$filter=StartsWith(name, 'New')"]
    seen = []
    for _ in range(8):
        changes.change()
        now = timezone.now()
        seen += [(at(read, now), answer(changes.client, read)) for read in reads]
    back_up_storage(old_house, tmp_path / "backup.zip")
    id = old_house.pk
    remove_storage(old_house)
    past = [model for model in tenant_models() if issubclass(model, PastRow)]
    assert (len(past), {rows_left(id, model) for model in past}) == (8, {0})
    for address in (None, ("acme", "house")):
        restored = restore_storage(tmp_path / "backup.zip", address).storage
        assert (restored.pk == id) == (address is None)
        client = HouseClient(restored, api, Role.ADMINISTRATOR, user="cora")
        for read, then in seen:
            assert answer(client, read) == then, (address, read)
        # The record continues.
        now, then = timezone.now(), answer(client, DETAIL)
        RandomChanges(restored, api, 8).change()
        assert answer(client, at(DETAIL, now)) == then
        remove_storage(restored)
