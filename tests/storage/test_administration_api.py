"""The administrative contexts (D24): a collection lists its storages, the site its collections."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from repository_site.core.rest.datetimes import wire_datetime
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import StorageFactory, collection_token, site_token, token_for

pytestmark = pytest.mark.django_db
COLLECTION = "/acme/_admin/_api/rest/facets"
SITE = "/_sysadmin/_admin/_api/rest/facets"
BERLIN = ZoneInfo("Europe/Berlin")


def test_facets_at_4_0_and_below(api: ApiClient, storage: Storage, other_storage: Storage) -> None:
    token = collection_token(storage)
    views = "http://testserver/acme/_admin/_api/rest/facets/storages/views"
    assert api.get(COLLECTION, token=token).json() == {
        "count": 1,
        "values": [{"name": "storages", "displayNames": {"1031": "Speicher", "1033": "Storages"}, "views": views}],
    }
    headers = {"api-version": "1.0", "Accept-Language": "fr, de-AT;q=0.8, en;q=0.5"}
    response = api.get(COLLECTION, token=token, headers=headers)
    assert response.json() == {"count": 1, "values": [{"name": "storages", "displayName": "Speicher", "views": views}]}
    assert response["api-version"] == "1.0"


def test_views(api: ApiClient, storage: Storage) -> None:
    address = "http://testserver/_sysadmin/_admin/_api/rest/facets/collections/views"
    response = api.post(f"{SITE}/Collections/views", b"", content_type="application/json", token=site_token())
    assert response["api-version"] == "1.0"
    assert response.json() == {
        "count": 2,
        "values": [
            {
                "name": "detail",
                "displayName": "All information",
                "isHierarchical": False,
                "elements": f"{address}/detail/elements",
            },
            {"name": "list", "displayName": "List", "isHierarchical": False, "elements": f"{address}/list/elements"},
        ],
    }


def storage_element(storage: Storage, view: str) -> dict[str, Any]:
    address = f"http://testserver/{storage.collection.key}/{storage.key}"
    attributes = {
        "anonymousAccess": "none",
        "apiUrl": f"{address}/_api",
        "appUrl": address,
        "createdOn": wire_datetime(storage.created_on, BERLIN),
        "description": "",
        "isValid": True,
        "name": storage.key,
        "region": "DE",
        "template": "plain",
        "timeZone": "Europe/Berlin",
        "title": storage.title,
    }
    shown = ["apiUrl", "isValid", "name", "template", "title"] if view == "list" else list(attributes)
    return {
        "facetName": "storages",
        "id": str(storage.id),
        "creationId": str(storage.id),
        "type": "storage",
        "displayNames": {"1031": "Speicher", "1033": "Storage"},
        "attributes": {name: {"127": attributes[name]} for name in shown},
    }


@pytest.mark.parametrize("view", ["list", "detail"])
def test_the_storages_of_one_collection_by_name(
    api: ApiClient, storage: Storage, other_storage: Storage, view: str
) -> None:
    second = StorageFactory.create(key="Archive")
    token = collection_token(storage)
    elements = [storage_element(second, view), storage_element(storage, view)]
    response = api.get(f"{COLLECTION}/storages/views/{view}/elements/", token=token)
    assert response.json() == {"count": 2, "elements": elements}
    older = api.get(f"{COLLECTION}/storages/views/{view}/elements?api-version=3.0", token=token)
    assert older.json() == {"count": 2, "values": elements}


def test_one_storage_but_never_one_of_another_collection(
    api: ApiClient, storage: Storage, other_storage: Storage
) -> None:
    token = collection_token(storage)
    address = f"{COLLECTION}/storages/views/DETAIL/elements"
    found = api.get(f"{address}/{str(storage.id).upper()}", token=token)
    assert found.json() == {"count": 1, "elements": [storage_element(storage, "detail")]}
    missing = api.get(f"{address}/{other_storage.id}", token=token)
    absent = api.get(f"{address}/00000000-0000-0000-0000-00000000000a", token=token)
    assert missing.status_code == absent.status_code == 404
    assert missing.json()["message"] == f"There is no element {other_storage.id} in the facet storages."
    wrong = api.get(f"{address}/nonsense", token=token)
    assert (wrong.status_code, wrong.json()["message"]) == (400, "'nonsense' is not a GUID.")


def test_the_collections_of_the_site(api: ApiClient, storage: Storage, other_storage: Storage) -> None:
    response = api.get(f"{SITE}/collections/views/list/elements", token=site_token())
    assert response.json() == {
        "count": 2,
        "elements": [
            {
                "facetName": "collections",
                "id": str(tenant.collection_id),
                "creationId": str(tenant.collection_id),
                "type": "collection",
                "displayNames": {"1031": "Sammlung", "1033": "Collection"},
                "attributes": {
                    "apiUrl": {"127": f"http://testserver/{tenant.collection.key}/_admin/_api"},
                    "name": {"127": tenant.collection.key},
                    "title": {"127": tenant.collection.key},
                },
            }
            for tenant in (storage, other_storage)
        ],
    }
    one = api.get(f"{SITE}/collections/views/detail/elements/{storage.collection_id}", token=site_token())
    assert one.json()["elements"][0]["attributes"]["createdOn"] == {
        "127": wire_datetime(storage.collection.created_on, BERLIN)
    }


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/collections/views", "There is no facet collections."),
        ("/storages/views/tree/elements", "There is no view tree in the facet storages."),
    ],
)
def test_unknown_facets_and_views(api: ApiClient, storage: Storage, path: str, message: str) -> None:
    response = api.get(COLLECTION + path, token=collection_token(storage))
    assert (response.status_code, response.json()["message"]) == (404, message)


def test_unsupported_parameters_are_refused(api: ApiClient, storage: Storage) -> None:
    response = api.get(f"{COLLECTION}/storages/views/list/elements?$filter=x&$page=1", token=collection_token(storage))
    assert (response.status_code, response.json()["message"]) == (
        400,
        "Administrative contexts do not support $filter, $page; leave it out.",
    )


def test_a_token_of_a_storage_is_invalid_here(api: ApiClient, storage: Storage) -> None:
    assert api.get(COLLECTION, token=token_for(storage, Role.ADMINISTRATOR)).status_code == 401
    assert api.get(COLLECTION).status_code == 401


def test_unknown_collections(api: ApiClient, storage: Storage) -> None:
    response = api.get("/nowhere/_admin/_api/rest/facets", token=site_token())
    assert (response.status_code, response.json()["message"]) == (404, "There is no collection nowhere.")


def test_every_read_answers_post_alike(api: ApiClient, storage: Storage) -> None:
    token = collection_token(storage)
    elements = f"{COLLECTION}/storages/views/list/elements"
    for path in (COLLECTION, f"{COLLECTION}/storages/views", elements, f"{elements}/{storage.id}"):
        posted = api.post(path, b"", content_type="application/json", token=token)
        assert (posted.status_code, posted.json()) == (200, api.get(path, token=token).json())
