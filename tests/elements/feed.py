"""Reads the change feed in tests."""

from __future__ import annotations

from typing import Any

from tests.api_client import ApiClient
from tests.server_process import Server

Document = dict[str, Any]


class Feed:
    """A client of the feed of one storage, which remembers its cursor."""

    def __init__(self, api: ApiClient, storage: str, token: str | None, query: str = "") -> None:
        self.api, self.token, self.query = api, token, query
        self.address = f"/{storage}/_api/rest/changes"
        self.cursor = ""

    def page(self, query: str = "") -> Document:
        wanted = "&".join(part for part in (self.query, query, f"$after={self.cursor}" if self.cursor else "") if part)
        response = self.api.get(f"{self.address}?{wanted}", token=self.token)
        assert response.status_code == 200, response.json()
        found: Document = response.json()
        assert found["count"] == len(found["values"])
        return found

    def read(self, query: str = "$pageSize=1000") -> list[Document]:
        """Return all events since the last call."""
        found: list[Document] = []
        while True:
            page = self.page(query)
            found += page["values"]
            if page["next"] == self.cursor:
                return found
            self.cursor = page["next"]

    def types(self) -> list[str]:
        return [each["type"] for each in self.read()]

    def facts(self) -> list[tuple[str, Document]]:
        """Return types and data, without what every event of an element has."""
        common = {"elementId", "versionId", "elementType", "facet", "caller", "callerId", "requestId"}
        return [
            (each["type"], {name: value for name, value in each["data"].items() if name not in common})
            for each in self.read()
        ]


def read_served_feed(server: Server, storage: str, token: str, cursor: str = "") -> tuple[list[Document], str]:
    """Return the events of a running server after a cursor, and the cursor after them."""
    found: list[Document] = []
    while True:
        address = f"/{storage}/_api/rest/changes?$pageSize=1000" + (f"&$after={cursor}" if cursor else "")
        status, page = server.request("GET", address, headers={"Authorization": f"Bearer {token}"})
        assert status == 200, page
        found += page["values"]
        if page["next"] == cursor:
            return found, cursor
        cursor = page["next"]
