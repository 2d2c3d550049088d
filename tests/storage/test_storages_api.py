"""Storages of a collection by the API (D582, D583): list and provision them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from repository_site.core.rest.datetimes import wire_datetime
from storage.access.token_limits import TokenLimits
from storage.access.tokens import issue_token
from storage.models import Storage
from storage.options import Role
from storage.provisioning.provision import remove_storage, set_storage_quota
from storage.tenancy.contexts import Context, ContextType
from tests.api_client import ApiClient
from tests.factories import StorageFactory, collection_token, site_token, token_for
from tests.written_configurations import written_once

pytestmark = pytest.mark.django_db
ADDRESS = "/acme/_admin/_api/v1/storages"
FULL = "storages: the collection has {0} of at most {0}. Remove a storage, or ask an operator for a larger quota."


def document(storage: Storage, **more: Any) -> dict[str, Any]:
    address = f"http://testserver/{storage.collection.key}/{storage.key}"
    return {
        "id": str(storage.id),
        "anonymousAccess": "none",
        "apiUrl": f"{address}/_api",
        "appUrl": address,
        "createdOn": wire_datetime(storage.created_on, ZoneInfo(storage.time_zone)),
        "description": "",
        "isValid": True,
        "name": storage.key,
        "region": "DE",
        "template": "plain",
        "timeZone": "Europe/Berlin",
        "title": storage.title,
        **more,
    }


def provision(api: ApiClient, token: str, body: Any, **headers: str) -> Any:
    with written_once():
        return api.post(ADDRESS, json.dumps(body), "application/json", token=token, headers=headers)


def test_the_list_has_the_storages_of_the_collection(api: ApiClient, storage: Storage, other_storage: Storage) -> None:
    token = collection_token(storage)
    counts = set()
    second = None
    api.get(ADDRESS, token=token)  # notes the use of the token
    for _ in range(2):
        with CaptureQueriesContext(connection) as captured:
            response = api.get(ADDRESS, token=token)
        counts.add(len(captured))
        expected = [document(each) for each in (second, storage) if each]
        assert response.json() == {"count": len(expected), "values": expected}
        assert list(response.json()["values"][0]) == list(document(storage))
        second = second or StorageFactory.create(key="Archive")
    assert len(counts) == 1
    assert api.get(f"{ADDRESS}?$page=1", token=token).status_code == 400
    assert api.post(ADDRESS, b"", "application/json", token=token).json() == api.get(ADDRESS, token=token).json()


def test_a_storage_is_provisioned_with_its_settings(api: ApiClient, storage: Storage, other_storage: Storage) -> None:
    token = collection_token(storage)
    body = {
        "name": "public", "title": "Public", "description": "For all", "template": "standard", "region": "CH",
        "dataCultures": [1036, 1031], "defaultDataCulture": 1031, "mandatoryCultures": [1036], "timeZone": "Europe/Zurich",
        "anonymousAccess": "read", "baseTenant": str(storage.id).upper(), "stuckAfterDays": 3, "eventDays": 30,
        "pastDays": 31,
        "quotaElements": 1000, "quotaBytes": None,
    }  # fmt: skip
    response = provision(api, token, body)
    made = Storage.objects.get(collection__key="acme", key="public")
    shown = {"title": "Public", "description": "For all", "template": "standard", "anonymousAccess": "read"}
    expected = document(made, **shown, region="CH", timeZone="Europe/Zurich")
    assert (response.status_code, response.json()) == (200, {"count": 1, "values": [expected]})
    assert api.get(ADDRESS, token=token).json()["values"][1] == expected
    cultures = made.culture_set()
    assert (cultures.data, cultures.default, cultures.mandatory) == ((1036, 1031), 1031, (1036,))
    assert (made.base_id, made.stuck_after_days, made.event_days, made.past_days) == (storage.id, 3, 30, 31)
    assert (made.quota_elements, made.quota_bytes) == (1000, None)
    assert api.get("/acme/public/_api/rest/facets").json()["count"] > 10
    again = provision(api, token, body)
    assert (again.status_code, again.json()["message"]) == (
        409, "The storage acme/public already exists; ids are case-insensitive.",
    )  # fmt: skip


def test_all_problems_are_reported_at_once(api: ApiClient, storage: Storage, other_storage: Storage) -> None:
    body = {
        "name": "_x", "titel": "x", "title": "x" * 201, "description": 5, "template": "../../etc/passwd.json",
        "dataCultures": [1], "defaultDataCulture": True, "mandatoryCultures": ["1033"], "region": "XX", "timeZone": "Mars",
        "anonymousAccess": "all", "baseTenant": str(other_storage.id), "eventDays": 0, "quotaFiles": -1,
        "pastDays": 10_951,
    }  # fmt: skip
    response = provision(api, collection_token(storage), body)
    assert (response.status_code, response.json()["message"]) == (422, "The storage cannot be provisioned.")
    problems = [each["error"] for each in response.json()["data"]]
    assert [each.partition(":")[0] for each in problems] == [
        "titel", "description", "template", "defaultDataCulture", "mandatoryCultures", "baseTenant", "name",
        "dataCultures", "region", "timeZone", "title", "anonymousAccess", "eventDays", "pastDays",
        "quotaFiles",
    ]  # fmt: skip
    assert problems[0] == "titel: unknown field; similar: title."
    assert problems[2] == "template: there is no template '../../etc/passwd.json'; use standard."
    assert problems[5] == f"baseTenant: no storage of this collection has the id {other_storage.id}."
    for wrong, status, text in (
        ([], 400, 'The body must be an object, such as {"name": "handbook"}.'),
        ({"title": "x"}, 422, "name: is required, such as handbook."),
        ({"name": "scim"}, 422, "name: 'scim' is reserved"),
        ({"name": 1}, 422, "name: expected a text."),
    ):
        refused = provision(api, collection_token(storage), wrong)
        assert (refused.status_code, refused.json()["data"]) == (status, [{"error": text}])
    assert Storage.objects.filter(collection__key="acme").count() == 1


def test_the_same_key_provisions_once(api: ApiClient, storage: Storage) -> None:
    token, body = collection_token(storage), {"name": "new", "template": "standard"}
    first = provision(api, token, body, **{"Idempotency-Key": "k-1"})
    assert first.status_code == 200
    again = provision(api, token, body, **{"Idempotency-Key": "k-1"})
    assert (again.status_code, again.content) == (200, first.content)
    other = provision(api, token, {**body, "title": "Other"}, **{"Idempotency-Key": "k-1"})
    assert (other.status_code, "different request" in other.json()["message"]) == (422, True)
    assert provision(api, token, body, **{"Idempotency-Key": "k-2"}).status_code == 409
    assert provision(api, token, body, **{"Idempotency-Key": "k-2"}).status_code == 409
    assert provision(api, token, {"name": "NEW"}, **{"Idempotency-Key": "k-1"}).status_code == 409
    assert provision(api, token, {"name": "more"}, **{"Idempotency-Key": "k 3\t"}).status_code == 400
    assert {each.key for each in storage.collection.storages.all()} == {storage.key, "new"}


def test_only_administrators_of_the_collection(api: ApiClient, storage: Storage, other_storage: Storage) -> None:
    context = Context(ContextType.COLLECTION, storage.collection)
    reader = issue_token(context, "reader", [Role.ADMINISTRATOR], limits=TokenLimits(is_read_only=True)).value
    assert api.get(ADDRESS, token=reader).status_code == 200
    assert provision(api, reader, {"name": "new"}).status_code == 403
    strangers = (token_for(storage, Role.ADMINISTRATOR), site_token(), collection_token(other_storage), None)
    for stranger in strangers:
        assert api.get(ADDRESS, token=stranger).status_code == 401
        assert provision(api, stranger or "", {"name": "new"}).status_code == 401
    assert api.get("/_sysadmin/_admin/_api/v1/storages", token=site_token()).status_code == 404
    assert api.get("/acme/handbook/_api/v1/storages", token=token_for(storage, Role.ADMINISTRATOR)).status_code == 404
    assert not Storage.objects.filter(key="new").exists()


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_equal_requests_at_the_same_time_get_one_storage() -> None:
    storage: Storage = StorageFactory.create()
    token = collection_token(storage)

    def send(key: str) -> tuple[int, bytes]:
        try:
            body, headers = json.dumps({"name": "new"}), {"Idempotency-Key": key}
            response = ApiClient().post(ADDRESS, body, "application/json", token=token, headers=headers)
            return response.status_code, response.content
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        answers = set(threads.map(send, ["k-1"] * 4))
    assert [status for status, _ in answers] == [200]
    assert send("k-2")[0] == 409


def test_a_collection_has_a_quota_of_storages(api: ApiClient, storage: Storage, other_storage: Storage) -> None:
    token, collection = collection_token(storage), storage.collection
    set_storage_quota(collection, 2)
    body, headers = {"name": "new", "template": "standard"}, {"Idempotency-Key": "k-1"}
    first = provision(api, token, body, **headers)
    assert first.status_code == 200
    refused = provision(api, token, {"name": "more", "region": "XX"})
    assert (refused.status_code, refused.json()["message"]) == (422, "The storage cannot be provisioned.")
    assert [each["error"].partition(":")[0] for each in refused.json()["data"]] == ["storages", "region"]
    assert refused.json()["data"][0] == {"error": FULL.format(2)}
    assert not Storage.objects.filter(key="more").exists()
    # A repeated request is not one for a further storage.
    assert provision(api, token, body, **headers).content == first.content
    assert provision(api, token, {"name": "NEW"}).status_code == 409
    # Other collections have their own number, and operators are not limited.
    other = f"/{other_storage.collection.key}/_admin/_api/v1/storages"
    with written_once():
        text = json.dumps({"name": "more"})
        assert api.post(other, text, "application/json", token=collection_token(other_storage)).status_code == 200
    call_command("provision_storage", "acme", "third", stdout=StringIO(), stderr=StringIO())
    assert collection.storages.count() == 3
    remove_storage(collection.storages.get(key="third"))
    set_storage_quota(collection, 3)
    assert provision(api, token, {"name": "more"}).status_code == 200


def test_the_installation_has_a_default_quota(api: ApiClient, storage: Storage, settings: Any) -> None:
    assert settings.MAX_STORAGES == 100
    settings.MAX_STORAGES = 1
    response = provision(api, collection_token(storage), {"name": "new"})
    assert (response.status_code, response.json()["data"]) == (422, [{"error": FULL.format(1)}])


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_requests_at_the_same_time_cannot_take_the_last_place_together() -> None:
    storage: Storage = StorageFactory.create()
    token = collection_token(storage)
    set_storage_quota(storage.collection, 2)

    def send(name: str) -> int:
        try:
            return ApiClient().post(ADDRESS, json.dumps({"name": name}), "application/json", token=token).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(send, ["a", "b", "c", "d"])) == [200, 422, 422, 422]
    assert storage.collection.storages.count() == 2
