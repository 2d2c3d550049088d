"""Clients can post back what they have read (D15): every element version of the demo storage, through every view.

Nothing may change except changedOn and changedBy; the test compares the rows of the tables and the responses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from elements.models import ElementChange, ElementVersion
from repository_site.core.rest.rendering import to_json
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.factories import token_for
from tests.scale import IS_FULL, PART, only_at_full_scale

pytestmark = pytest.mark.django_db
FACETS = "/demo/showcase/_api/rest/facets"
TABLES = ("element", "elementversion", "reference", "shape", "shapeflow", "lane", "bpmnsource")
MAY_CHANGE = ["changed_on", "changed_by_id", "revision", "since"]
Wire = dict[str, Any]


class PostBackClient:
    """Sees everything, and keeps every digit: numbers are read as decimals and written as they were read."""

    def __init__(self, storage: Storage, api: ApiClient) -> None:
        self.storage, self.api = storage, api
        self.token = token_for(storage, Role.ADMINISTRATOR)

    def read(self, path: str) -> list[Wire]:
        response = self.api.get(f"{FACETS}{path}", token=self.token)
        assert response.status_code == 200, response.content
        return elements_of(response)

    def post(self, path: str, elements: list[Wire]) -> list[Wire]:
        body = to_json({"count": len(elements), "elements": elements})
        response = self.api.post(f"{FACETS}{path}", body, content_type="application/json", token=self.token)
        assert response.status_code == 200, response.content
        return elements_of(response)

    def walk(self, path: str, found: list[Wire]) -> Iterator[Wire]:
        """Return the elements of a tree."""
        for each in found:
            yield each
            if "children" in each:
                yield from self.walk(path, self.read(f"{path}/{each.get('versionId', each['id'])}/children"))

    def views(self) -> list[tuple[str, bool]]:
        """Return the paths of the views, and whether they are hierarchical."""
        names = [each["name"] for each in self.read("")]
        found = [(f"/{facet}/views", each) for facet in names for each in self.read(f"/{facet}/views")]
        return [(f"{path}/{each['name']}/elements", each["isHierarchical"]) for path, each in found]


def elements_of(response: Any) -> list[Wire]:
    body = json.loads(response.content, parse_float=Decimal)
    found: list[Wire] = body["elements"] if "elements" in body else body["values"]
    return found


def without_change(element: Wire) -> Wire:
    """Return an element without the time and author of its change."""
    attributes = {name: values for name, values in element.get("attributes", {}).items() if name != "changedOn"}
    related = {name: targets for name, targets in element.get("related", {}).items() if name != "changedBy"}
    return {**element, "attributes": attributes, "related": related}


def stored_rows(storage: Storage) -> dict[str, list[str]]:
    found = {}
    with tenant_scope(storage), connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(
                f"SELECT (to_jsonb(t) - %s::text[])::text FROM elements_{table} t ORDER BY t.id", [MAY_CHANGE]
            )
            found[table] = [row[0] for row in cursor.fetchall()]
    return found


def paths_of_versions(storage: Storage) -> dict[str, list[str]]:
    """Return all versions of all elements, by the path of their facet's detail view."""
    found: dict[str, list[str]] = {}
    with tenant_scope(storage):
        rows = ElementVersion.objects.order_by("id").values_list("id", "element__type__facet__name")
        for version, facet in rows:
            found.setdefault(f"/{facet}/views/detail/elements", []).append(str(version))
    return found


@pytest.fixture
def client(showcase: Storage, api: ApiClient) -> PostBackClient:
    return PostBackClient(showcase, api)


@pytest.mark.long
def test_every_version_can_be_posted_back(client: PostBackClient) -> None:
    step = 1 if IS_FULL else PART
    paths = {path: versions[::step] for path, versions in paths_of_versions(client.storage).items()}
    before = stored_rows(client.storage)
    for path, versions in paths.items():
        read = [client.read(f"{path}/{version}")[0] for version in versions]
        answered = client.post(path, read)
        assert list(map(without_change, answered)) == list(map(without_change, read))
        by_us = [each["related"]["changedBy"][0]["type"] for each in answered if "changedBy" in each.get("related", {})]
        assert set(by_us) <= {"authToken"}
    assert stored_rows(client.storage) == before
    posted = sum(map(len, paths.values()))
    with tenant_scope(client.storage):
        changes = list(ElementChange.objects.values_list("action", "before", "after"))
        assert changes == [("updated", {}, {})] * posted
        assert posted > 440 // step


@pytest.mark.long
@only_at_full_scale
def test_elements_of_every_view_can_be_posted_back(client: PostBackClient) -> None:
    before = stored_rows(client.storage)
    posted, views = 0, client.views()
    for path, is_hierarchical in views:
        listed = client.read(path)
        read = list(client.walk(path, listed)) if is_hierarchical else listed
        for start in range(0, len(read), 1000):
            part = read[start : start + 1000]
            assert list(map(without_change, client.post(path, part))) == list(map(without_change, part))
        posted += len(read)
    assert stored_rows(client.storage) == before
    assert len(views) > 40
    assert posted > 800
