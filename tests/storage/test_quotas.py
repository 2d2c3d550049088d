"""Quotas of storages (D190): counted, shown, and refused alike by API, back office and import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from elements.transfer.importing import import_elements
from repository_site.core.problems import Invalid
from storage import quotas
from storage.models import Storage, StorageGrowth, StorageSize
from storage.provisioning.provision import set_quota
from storage.provisioning.sizes import measure_storage
from storage.quotas import read_use
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.limited_desk import SYSTEMS, LimitedDesk, problems_in, system
from tests.factories import StaffAccountFactory, StorageFactory
from tests.filled_storages import NOTHING

pytestmark = pytest.mark.django_db
FULL = "delete elements, or ask for a larger quota"
DOCUMENTS = SYSTEMS.replace("/it/", "/knowledge/")
ATTACHMENT = {"address": "https://example.org/a.pdf", "title": "A"}
DOCUMENT = {
    "type": "knowledgeStructureDocument",
    "attributes": {"name": {"1033": "D"}, "attachments": {"127": [ATTACHMENT] * 2}},
}


@pytest.fixture(scope="module")
def limited(filled_storage: StorageMaker) -> Iterator[Storage]:
    fields = {"key": "limited", "template": "standard"}
    with (
        filled_storage(NOTHING, collection="rival", **fields),
        filled_storage(NOTHING, collection="acme", **fields) as storage,
    ):
        yield storage


@pytest.fixture
def desk(limited: Storage, api: ApiClient, db: None) -> LimitedDesk:
    storage = Storage.objects.select_related("collection").get(pk=limited.pk)
    set_quota(storage, {"elements": 3})
    return LimitedDesk(storage, api)


def use(desk: LimitedDesk) -> dict[str, int]:
    return read_use([desk.storage])[desk.storage.pk]


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_elements(desk: LimitedDesk) -> None:
    # The element of the token was made before anything was counted.
    measure_storage(desk.storage)
    assert use(desk)["elements"] == 1
    first, second = desk.make(SYSTEMS, system("A"), system("B"))
    assert use(desk)["elements"] == 3
    before = desk.counts()
    response = desk.post(SYSTEMS, system("C"), system("D"))
    assert (response.status_code, response.json()["message"], problems_in(response)) == (
        422,
        "The quota of the storage is used up; nothing was changed.",
        [f"elements: the storage would have 5 of at most 3; {FULL}"],
    )
    assert desk.counts() == before
    # Changes that do not grow stay possible, and deleting makes room.
    desk.make(SYSTEMS, {"id": first, "attributes": {"vendor": {"127": "ACME"}}})
    assert desk.api.delete(f"{SYSTEMS}/{second}", token=desk.token).status_code == 200
    desk.make(SYSTEMS, system("C"))
    assert use(desk)["elements"] == 3
    # A measurement finds the same, and replaces the noted growth.
    assert StorageGrowth.objects.exists()
    counted = use(desk)
    measure_storage(desk.storage)
    assert not StorageGrowth.objects.exists()
    assert {**use(desk), "bytes": 0} == {**counted, "bytes": 0}


def test_a_change_during_a_measurement_counts_once(desk: LimitedDesk) -> None:
    set_quota(desk.storage, {"elements": 100, "files": 100, "history": 100})
    desk.make(DOCUMENTS, DOCUMENT)
    made: list[str] = []

    def interrupted(execute: Any, sql: str, *arguments: Any) -> Any:
        result = execute(sql, *arguments)
        if "storage_storagegrowth" in sql and "array_agg" in sql and not made:
            made.append(sql)
            desk.make(DOCUMENTS, DOCUMENT)
        return result

    with connection.execute_wrapper(interrupted):
        measure_storage(desk.storage)
    assert made
    counted = use(desk)
    measure_storage(desk.storage)
    assert {**use(desk), "bytes": 0} == {**counted, "bytes": 0}
    assert (counted["files"], counted["history"]) == (4, 2)


def test_bytes_files_and_history(desk: LimitedDesk) -> None:
    set_quota(desk.storage, {"elements": None, "files": 3, "history": 2, "bytes": use(desk)["bytes"] + 5_000})
    [id] = desk.make(DOCUMENTS, DOCUMENT)
    assert (use(desk)["files"], use(desk)["history"]) == (2, 1)
    assert problems_in(desk.post(DOCUMENTS, DOCUMENT)) == [f"files: the storage would have 4 of at most 3; {FULL}"]
    desk.make(DOCUMENTS, {"id": id, "attributes": {"name": {"1033": "E"}}})
    refused = problems_in(desk.post(DOCUMENTS, {"id": id, "attributes": {"name": {"1033": "x" * 6_000}}}))
    assert [each.partition(":")[0] for each in refused] == ["bytes", "changes in the history"]
    # Deleting is always possible.
    assert desk.api.delete(f"{DOCUMENTS}/{id}", token=desk.token).status_code == 200
    assert use(desk)["files"] == 0


def test_kept_answers_count_until_they_expire(desk: LimitedDesk) -> None:
    set_quota(desk.storage, {"elements": 100})

    def grown(key: str) -> tuple[int, int]:
        """Return how many bytes a request adds beside its content, and the size of its response."""
        before = use(desk)["bytes"], sum(_contents(desk))
        body = json.dumps({"elements": [system("A")]})
        headers = {"Idempotency-Key": key} if key else {}
        response = desk.api.post(SYSTEMS, body, content_type="application/json", token=desk.token, headers=headers)
        assert response.status_code == 200
        return use(desk)["bytes"] - before[0] - (sum(_contents(desk)) - before[1]), len(response.content)

    assert grown("")[0] == 0
    added, size = grown("k-1")
    assert added == size
    # The same response again.
    assert grown("k-1") == (0, size)
    measure_storage(desk.storage)
    desk.execute("UPDATE storage_answeredrequest SET created_on = '2000-01-01'")
    added, size = grown("k-2")
    assert size // 2 < size - added < size + 10
    # Nothing is noted for a storage without a quota. The triggers still count in the transaction of this test.
    set_quota(desk.storage, {"elements": None})
    assert grown("k-3")[0] == 0


def _contents(desk: LimitedDesk) -> list[int]:
    """Return the bytes of attributes, history and events, as triggers count them."""
    with tenant_scope(desk.storage), connection.cursor() as cursor:
        cursor.execute("SELECT sum(octet_length(attributes::text)) FROM elements_elementversion")
        attributes = cursor.fetchone()
        cursor.execute(
            "SELECT coalesce(sum(octet_length(before::text) + octet_length(after::text)), 0)"
            " FROM elements_elementchange"
        )
        history = cursor.fetchone()
        cursor.execute("SELECT coalesce(sum(200 + octet_length(data::text)), 0) FROM storage_event")
        return [int(each[0]) for each in (attributes, history, cursor.fetchone())]


def test_without_a_quota_nothing_is_noted(desk: LimitedDesk) -> None:
    set_quota(desk.storage, {"elements": None})
    StorageGrowth.objects.all().delete()
    desk.make(SYSTEMS, system("A"))
    assert not StorageGrowth.objects.exists()


def test_rows_of_growth_are_summed_up(desk: LimitedDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    set_quota(desk.storage, {"elements": 100})
    monkeypatch.setattr(quotas, "MOST_ROWS", 5)
    for number in range(6):
        desk.make(SYSTEMS, system(f"S {number}"))
    assert StorageGrowth.objects.count() <= 6
    assert use(desk)["elements"] == 7


def test_import(desk: LimitedDesk, tmp_path: Path) -> None:
    exported = tmp_path / "systems.ndjson"
    source = LimitedDesk(StorageFactory.create(collection="acme", key="source", template="standard"), desk.api)
    source.make(SYSTEMS.replace("limited", "source"), *(system(f"S {number}") for number in range(4)))
    run("export_storage", "acme", "source", str(exported))
    lines = [line for line in exported.read_text().splitlines() if '"system"' in line]
    without_callers = [{**json.loads(line), "related": {}} for line in lines]
    exported.write_text("".join(json.dumps(each) + "\n" for each in without_callers))
    with pytest.raises(Invalid) as caught:
        import_elements(desk.storage, str(exported))
    assert caught.value.details == (f"elements: the storage would have 4 of at most 3; {FULL}",)


def test_commands(desk: LimitedDesk) -> None:
    name = "acme/limited"
    run("provision_storage", "acme", "other", "--template", "standard", "--quota-elements", "10", "--quota-files", "0")
    listed = {each["storage"]: each["quotas"] for each in json.loads(run("list_storages", "acme", "--json"))}
    assert listed == {
        name: {"elements": {"used": 0, "most": 3}},
        "acme/other": {"elements": {"used": 0, "most": 10}, "files": {"used": 0, "most": 0}},
    }
    assert run("set_quota", "acme", "limited", "--quota-elements", "none", "--quota-history", "7") == (
        f"{name}: 0 of 7 history\n"
    )
    assert run("set_quota", "acme", "limited", "--quota-history", "none") == f"{name}: no quotas\n"
    with pytest.raises(CommandError, match="at least one quota"):
        run("set_quota", "acme", "limited")


def test_commands_show_and_change_the_quota_of_a_collection(desk: LimitedDesk) -> None:
    assert run("set_quota", "acme", "--quota-storages", "7") == "acme: 1 of 7 storages\n"
    listed = {each["storage"]: each["collectionQuotas"] for each in json.loads(run("list_storages", "--json"))}
    assert listed == {
        "acme/limited": {"storages": {"used": 1, "most": 7}},
        "rival/limited": {"storages": {"used": 1, "most": 100}},
    }
    assert "storages 1/7" in run("list_storages", "acme")
    assert run("set_quota", "acme", "--quota-storages", "none") == "acme: 1 of 100 storages\n"
    for words, problem in (
        (("acme",), "Name a storage and its quotas, or --quota-storages for the collection."),
        (("acme", "--quota-files", "1"), "Name the storage as well"),
        (("acme", "limited", "--quota-storages", "1"), "leave out the storage"),
        (("_sysadmin", "--quota-storages", "1"), "Name a collection, such as acme."),
        (("acme", "--quota-storages", str(2**31)), "The quota cannot be changed"),
        (("acne", "--quota-storages", "1"), "similar: acme"),
    ):
        with pytest.raises(CommandError, match=problem):
            run("set_quota", *words)


def test_site_office_shows_and_changes_the_quota_of_a_collection(desk: LimitedDesk) -> None:
    client = Client()
    client.force_login(StaffAccountFactory.create(is_superuser=True))
    address = f"/admin/storage/storagecollection/{desk.storage.collection_id}/change/"
    assert client.post(address, {"title": "A", "description": "", "quota_storages": "1"}).status_code == 302
    page = client.get("/admin/storage/storagecollection/").content.decode()
    assert ("1 of 1 " in page, "1 of 100 " in page) == (True, True)
    assert client.post(address, {"title": "A", "description": "", "quota_storages": "-1"}).status_code == 200
    assert client.post(address, {"title": "A", "description": "", "quota_storages": ""}).status_code == 302
    assert "1 of 1 " not in client.get("/admin/storage/storagecollection/").content.decode()


def test_site_office(desk: LimitedDesk) -> None:
    account = StaffAccountFactory.create(is_superuser=True)
    client = Client()
    client.force_login(account)
    address = f"/admin/storage/storage/{desk.storage.pk}/change/"
    page = client.get(address).content.decode()
    assert "0 of 3" in page
    form: dict[str, Any] = {
        "title": "Limited", "description": "", "is_valid": "on", "anonymous_access": "none", "stuck_after_days": "14",
        "event_days": "90", "past_days": "365",
        "quota_elements": "", "quota_bytes": "2000000", "quota_files": "", "quota_history": "",
    }  # fmt: skip
    assert client.post(address, form).status_code == 302
    stored = Storage.objects.get(pk=desk.storage.pk)
    assert (stored.quota_elements, stored.quota_bytes) == (None, 2_000_000)
    assert StorageSize.objects.filter(storage=stored).exists()
    assert "of 1.9" in client.get(address).content.decode()


def test_invalid_quotas(desk: LimitedDesk) -> None:
    with pytest.raises(Invalid) as caught:
        set_quota(desk.storage, {"elements": -1})
    assert caught.value.details == ("quota elements: expected a whole number of 0 or more, not -1",)
