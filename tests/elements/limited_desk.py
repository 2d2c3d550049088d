"""A desk for tests of limits and quotas: requests of an architect to a storage with the standard template."""

from __future__ import annotations

import json
from typing import Any

from django.db import connection

from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.factories import token_for

FACETS = "/acme/limited/_api/rest/facets"
TREE, SYSTEMS = f"{FACETS}/processes/views/detail/elements", f"{FACETS}/it/views/detail/elements"
Body = dict[str, Any]


class LimitedDesk:
    """Requests of an architect to a storage with the standard template."""

    def __init__(self, storage: Storage, api: ApiClient) -> None:
        self.storage, self.api = storage, api
        self.token = token_for(storage, Role.ARCHITECT)

    def post(self, path: str, *elements: Body) -> Any:
        body = json.dumps({"elements": elements})
        return self.api.post(path, body, content_type="application/json", token=self.token)

    def make(self, path: str, *elements: Body) -> list[str]:
        response = self.post(path, *elements)
        assert response.status_code == 200, response.content
        return [each["id"] for each in response.json()["elements"]]

    def problems(self, path: str, *elements: Body) -> list[str]:
        before = self.counts()
        response = self.post(path, *elements)
        assert response.status_code == 422, response.content
        assert self.counts() == before
        return problems_in(response)

    def counts(self) -> list[int]:
        with tenant_scope(self.storage), connection.cursor() as cursor:
            tables = ("element", "elementversion", "reference", "shape", "shapeflow", "lane", "elementchange")
            found = []
            for table in tables:
                cursor.execute(f"SELECT count(*) FROM elements_{table}")
                found.append(int(cursor.fetchone()[0]))
            return found

    def execute(self, sql: str, *parameters: Any) -> None:
        with tenant_scope(self.storage), connection.cursor() as cursor:
            cursor.execute(sql, parameters)


def problems_in(response: Any) -> list[str]:
    return [each["error"] for each in response.json()["data"]]


def process(name: str, parent: str | None = None, **more: Any) -> Body:
    place = {"rootPath": [{"id": parent}]} if parent else {}
    type = "subProcess" if parent else "mainProcess"
    return {"type": type, "attributes": {"name": {"1033": name}}, **place, **more}


def system(name: str, vendor: str = "") -> Body:
    return {"type": "system", "attributes": {"name": {"1033": name}, "vendor": {"127": vendor or None}}}
