"""Storage info, operation 16: whole responses in the three contexts."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from repository_site.core.database.statements import engine
from storage.localisation.regions import region_info
from storage.localisation.time_zones import time_zone_info
from storage.models import Storage
from tests.api_client import ApiClient
from tests.factories import StorageFactory, collection_token, site_token, token_for

pytestmark = pytest.mark.django_db


def expected(storage: Storage, base: str = "http://testserver", **changes: Any) -> dict[str, Any]:
    address = f"{base}/{storage.collection.key}/{storage.key}"
    return {
        "type": "IStorageContext",
        "tenant": str(storage.id),
        "baseTenant": str(storage.id),
        "title": storage.title,
        "description": "",
        "apiUrl": f"{address}/_api/",
        "appUrl": f"{address}/",
        "template": "plain",
        "dataCultures": [1031, 1033],
        "defaultDataCulture": 1033,
        "mandatoryCultures": [1033],
        "optionalCultures": [1031],
        "isValid": True,
        "region": region_info("DE"),
        "timeZone": time_zone_info("Europe/Berlin"),
        **changes,
    }


def test_a_storage(api: ApiClient, open_storage: Storage, other_storage: Storage) -> None:
    response = api.get("/acme/open/_api/rest/info")
    assert response.status_code == 200
    assert response.json() == expected(open_storage)
    assert list(response.json()) == list(expected(open_storage))
    assert response["api-version"] == "1.0"


def test_every_field_comes_from_the_storage(api: ApiClient, open_storage: Storage) -> None:
    storage = StorageFactory.create(
        key="tokyo",
        title="東京",
        description="Line one\nline two",
        cultures=[1041, 1033, 1031],
        default_culture=1033,
        mandatory_cultures=[1033, 1041],
        region="jp",
        time_zone="Asia/Tokyo",
        anonymous="read",
        base=open_storage.id,
    )
    storage.is_valid = False
    storage.save()
    assert api.get("/acme/tokyo/_api/rest/info").json() == expected(
        storage,
        baseTenant=str(open_storage.id),
        description="Line one\nline two",
        dataCultures=[1041, 1033, 1031],
        mandatoryCultures=[1041, 1033],
        optionalCultures=[1031],
        isValid=False,
        region=region_info("JP"),
        timeZone=time_zone_info("Asia/Tokyo"),
    )


def test_a_collection(api: ApiClient, storage: Storage) -> None:
    response = api.get("/acme/_admin/_api/rest/info", token=collection_token(storage))
    assert response.json() == expected(
        storage,
        type="IStorageCollectionContext",
        tenant=str(storage.collection_id),
        baseTenant=str(storage.collection_id),
        title="acme",
        template="standard",
        apiUrl="http://testserver/acme/_admin/_api/",
        appUrl="http://testserver/acme/_admin/",
    )


def test_the_site(api: ApiClient, storage: Storage) -> None:
    response = api.get("/_sysadmin/_admin/_api/rest/info", token=site_token())
    nil = "00000000-0000-0000-0000-000000000000"
    assert response.json() == expected(
        storage,
        type="ISysAdminContext",
        tenant=nil,
        baseTenant=nil,
        title="Administration",
        template="standard",
        apiUrl="http://testserver/_sysadmin/_admin/_api/",
        appUrl="http://testserver/_sysadmin/_admin/",
    )


@pytest.mark.parametrize("path", ["/acme/open/_api/rest/info", "/acme/open/_api/rest/info/"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_trailing_slash_and_post_read_alike(api: ApiClient, open_storage: Storage, path: str, method: str) -> None:
    response = api.generic(method, path)
    assert (response.status_code, response.json()) == (200, expected(open_storage))


def test_head_answers_the_headers_of_get(api: ApiClient, open_storage: Storage) -> None:
    response = api.head("/acme/open/_api/rest/info")
    assert (response.status_code, response.content) == (200, b"")
    assert response["Content-Type"] == "application/json"


@pytest.mark.parametrize("body", [b"", b" \n", b"{}"])
def test_post_with_an_empty_body_reads(api: ApiClient, open_storage: Storage, body: bytes) -> None:
    assert api.post("/acme/open/_api/rest/info", body, content_type="application/json").status_code == 200


def test_a_read_by_post_refuses_a_body(api: ApiClient, open_storage: Storage) -> None:
    response = api.post("/acme/open/_api/rest/info", {"title": "x"}, content_type="application/json")
    assert (response.status_code, response.json()["message"]) == (400, "This operation only reads and takes no body.")


@override_settings(PUBLIC_URL="https://repo.example/base")
def test_a_configured_public_address_wins(api: ApiClient, open_storage: Storage) -> None:
    assert api.get("/acme/open/_api/rest/info").json() == expected(open_storage, "https://repo.example/base")


def test_addresses_follow_the_host_of_the_request(api: ApiClient, open_storage: Storage) -> None:
    response = api.get("/acme/open/_api/rest/info", headers={"host": "localhost:8123"})
    assert response.json() == expected(open_storage, "http://localhost:8123")


@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        ({"api-version": "1.0"}, "", 200),
        ({}, "?api-version=1.0", 200),
        ({"api-version": "4.0"}, "", 400),
        ({}, "?api-version=nonsense", 400),
    ],
)
def test_api_version(api: ApiClient, open_storage: Storage, headers: dict[str, str], query: str, status: int) -> None:
    response = api.get(f"/acme/open/_api/rest/info{query}", headers=headers)
    assert response.status_code == status
    if status == 400:
        asked = headers.get("api-version", "nonsense")
        assert response.json() == {
            "message": f"api-version: this operation does not support {asked!r}; use 1.0.",
            "output": "inline",
            "type": "error",
            "data": [{"error": f"api-version: this operation does not support {asked!r}; use 1.0."}],
        }


def test_the_statements_of_one_request(api: ApiClient, storage: Storage, django_assert_num_queries: Any) -> None:
    token = token_for(storage)
    api.get("/acme/handbook/_api/rest/info", token=token)
    # Savepoint, scope with storage and token, cultures, scope back, release. Citus reads storage and token before.
    with django_assert_num_queries(6 if engine().is_distributed else 5):
        api.get("/acme/handbook/_api/rest/info", token=token)
