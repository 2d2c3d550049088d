"""Scope of a token (D489): facets that it sees, in every operation; and permissions of a token that only reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from repository_site.api_document.document import openapi_document
from storage.access.token_limits import TokenLimits
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements import private_desk as desk
from tests.elements.feed import Feed
from tests.elements.private_desk import API, FACETS, ID, PROCESSES, RISKS, TAGS
from tests.factories import issued_token, token_for
from tests.scale import first_quick

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("other_storage")]
# Everything that leads to elements of other facets.
HIDDEN = (
    "Bankruptcy",
    "Nightly import",
    *(ID[name] for name in ("risk", "risk-1", "eve", "vera", "token", "tag")),
)
TAG = {"facetName": "tags", "type": "tag", "attributes": {"name": {"1033": "New"}}}
CATEGORY = {"facetName": "processes", "type": "mainProcess", "attributes": {"name": {"1033": "New"}}}
REFUSED = "The token is limited to facets and cannot use the operation {}."


@pytest.fixture(scope="module")
def opened(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    folder = tmp_path_factory.mktemp("scope")
    fields = {"template": desk.write_template(folder / "template.json")}
    with filled_storage(desk.write_lines(folder / "lines"), collection="acme", key="open", **fields) as storage:
        yield storage


def save(api: ApiClient, address: str, element: dict[str, Any], token: str) -> int:
    body = json.dumps({"elements": [element]})
    return int(api.post(address, body, "application/json", token=token).status_code)


def limited(storage: Storage, role: Role, *facets: str, **limits: Any) -> str:
    return issued_token(storage, role, limits=TokenLimits(facets=facets, **limits))


@pytest.mark.parametrize("role", first_quick([Role.ADMINISTRATOR, Role.ARCHITECT, Role.VIEWER]))
def test_no_operation_shows_another_facet(api: ApiClient, opened: Storage, role: Role) -> None:
    """Every GET of the document, for elements inside and outside the scope, with everything expanded."""
    token, statuses, asked = limited(opened, role, "processes"), dict[int, int](), set[str]()
    for name, facet, type in (
        ("process", "processes", "subProcess"), ("eve", "users", "user"), ("risk", "risks", "risk"),
        ("eve", "processes", "user"),
    ):  # fmt: skip
        parts = {
            "collectionId": "acme", "storageId": "open", "facetId": facet, "viewId": "detail", "elementId": ID[name],
            "type": type, "attributeName": "name", "relatedId": "owner", "cultureId": "1033",
        }  # fmt: skip
        for path, operations in openapi_document()["paths"].items():
            address = path
            for part, value in parts.items():
                address = address.replace(f"{{{part}}}", value)
            if "get" not in operations or "{" in address:
                continue
            names = {each.get("name") for each in operations["get"].get("parameters", ())}
            for query in (
                {},
                {"$expandRelated": "owner"},
                {"$format": "csv"},
                {"q": "Bankruptcy"},
                {"q": "Eve"},
                {"page": "1"},
                {"Facet": facet},
            ):
                question = f"{address} {query}"
                if question in asked or not set(query) <= names:
                    continue
                asked.add(question)
                response = api.get(address, query, token=token)
                statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
                if response.status_code == 200:
                    text = response.content.decode()
                    found = [each for each in HIDDEN if each in text and each not in address]
                    assert not found, (address, query, found)
    assert statuses[200] > 20
    assert statuses[403] > 5
    assert statuses[404] > 20


def test_facets_filters_and_references_of_the_scope(api: ApiClient, opened: Storage) -> None:
    token = limited(opened, Role.ARCHITECT, "processes")
    assert [each["name"] for each in api.get(FACETS, token=token).json()["values"]] == ["processes"]
    assert api.get(f"{RISKS}/{ID['risk']}", token=token).status_code == 404
    assert api.get(f"{PROCESSES}/{ID['risk']}", token=token).status_code == 404
    whole = limited(opened, Role.ARCHITECT, "processes", "users", "risks")
    address = f"{PROCESSES}/{ID['process']}"
    related = [
        api.get(address, {"$resources": "related"}, token=each).json()["elements"][0]["related"]
        for each in (token, whole)
    ]
    assert [bool(each.get("owner")) for each in related] == [False, True]
    for each, count in ((token, 0), (whole, 1)):
        query = {"$filter": f"owner eq '{ID['eve']}'"}
        response = api.get(PROCESSES, query, token=each)
        assert response.status_code in (200, 400)
        assert (response.json()["count"] if response.status_code == 200 else 0) == count


def test_entity_tags_differ_by_scope(api: ApiClient, opened: Storage) -> None:
    address = f"{PROCESSES}?$pageSize=5"
    tags = {api.get(address, token=token)["ETag"] for token in (
        limited(opened, Role.ARCHITECT, "processes"), limited(opened, Role.ARCHITECT, "processes", "risks"),
        token_for(opened, Role.ARCHITECT),
    )}  # fmt: skip
    assert len(tags) == 3


def test_operations_without_a_facet_are_refused(api: ApiClient, opened: Storage) -> None:
    token = limited(opened, Role.ADMINISTRATOR, "processes")
    for address, operation in (("rest/webhooks", "listWebhooks"), ("rest/tasks", "listTasks")):
        response = api.get(f"{API}/{address}", token=token)
        assert (response.status_code, response.json()["message"]) == (403, REFUSED.format(operation))
    upload = api.post(f"{API}/rest/files?name=a.txt", b"text", "text/plain", token=token)
    assert upload.status_code == 403


def test_only_events_of_the_scope(api: ApiClient, opened: Storage) -> None:
    """Neither changes of other facets, nor those of tokens and of the configuration."""
    architect = token_for(opened, Role.ARCHITECT)
    feed = Feed(api, "acme/open", limited(opened, Role.ADMINISTRATOR, "tags"))
    for address, element in ((TAGS, TAG), (PROCESSES, CATEGORY)):
        assert save(api, address, element, architect) == 200
    issued_token(opened, Role.VIEWER)
    assert {each["data"]["facet"] for each in feed.read()} == {"tags"}


def test_changes_stay_in_the_scope(api: ApiClient, opened: Storage) -> None:
    token = limited(opened, Role.ADMINISTRATOR, "tags")
    assert save(api, TAGS, TAG, token) == 200
    assert save(api, TAGS, CATEGORY, token) in (403, 422)
    assert save(api, PROCESSES, CATEGORY, token) == 404
    assert api.delete(f"{PROCESSES}/{ID['process']}", token=token).status_code == 404
    release, whole = f"{API}/release/{ID['process']}", token_for(opened, Role.ADMINISTRATOR)
    assert api.get(f"{release}/transitions", token=whole).status_code == 200
    for step in ("transitions", "transitions/inProcessToInReview", "createversion"):
        assert api.post(f"{release}/{step}", "{}", "application/json", token=token).status_code == 404, step
    body = {"ids": [ID["tag"], ID["process"]], "operations": [{"delete": True}], "dryRun": True}
    [report] = api.post(f"{TAGS.removesuffix('elements')}bulk", body, "application/json", token=token).json()["values"]
    assert [(each["id"], "no such element" in each["reasons"][0]) for each in report["refusals"]] == [
        (ID["process"], True)
    ]


def test_a_token_that_only_reads_reports_its_permissions(api: ApiClient, opened: Storage) -> None:
    info = f"{TAGS}/{ID['tag']}/info"
    whole, reading = (
        api.get(info, token=token).json()["values"][0]["permissions"]
        for token in (token_for(opened, Role.ARCHITECT), limited(opened, Role.ARCHITECT, is_read_only=True))
    )
    assert set(reading) == {"ShowElement", "OpenElement"}
    assert set(reading) < set(whole)
    token = limited(opened, Role.ARCHITECT, is_read_only=True)
    body = json.dumps({"elements": [{"id": ID["tag"], "attributes": {"name": {"1033": "Changed"}}}]})
    refused = api.post(TAGS, body, "application/json", token=token)
    assert (refused.status_code, refused.json()["message"]) == (403, "The token can only read.")
    assert api.post(TAGS, "", "application/json", token=token).status_code == 200
