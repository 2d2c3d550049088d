"""A client that reads tables as lists of cells, and changes the elements in them by the API."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from python_calamine import CalamineWorkbook

from storage.models import Storage
from tests.api_client import ApiClient

THINGS = "/acme/workshop/_api/rest/facets/things/views/detail/elements"


@dataclass(frozen=True)
class TableDesk:
    storage: Storage
    api: ApiClient
    token: str

    def get(self, format: str, address: str = THINGS, **query: str) -> Any:
        given = urlencode({"$format": format, **{f"${name}": value for name, value in query.items()}}, safe="$,")
        return self.api.get(f"{address}?{given}", token=self.token)

    def file(self, format: str, **query: str) -> bytes:
        response = self.get(format, **query)
        assert response.status_code == 200, response.content
        content: bytes = response.content
        return content

    def csv(self, **query: str) -> list[list[str]]:
        return read_csv(self.file("csv", **query))

    def xlsx(self, **query: str) -> list[list[Any]]:
        return read_xlsx(self.file("xlsx", **query))

    def element(self, id: str) -> Any:
        [found] = self.api.get(f"{THINGS}/{id}", token=self.token).json()["elements"]
        return found

    def update(self, *elements: dict[str, Any]) -> list[str]:
        response = self.api.post(THINGS, {"elements": list(elements)}, "application/json", token=self.token)
        assert response.status_code == 200, response.content
        return [each["id"] for each in response.json()["elements"]]


def read_csv(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def read_xlsx(content: bytes) -> list[list[Any]]:
    """Read a workbook with a reader that is not ours."""
    return CalamineWorkbook.from_filelike(io.BytesIO(content)).get_sheet_by_index(0).to_python()


def column(table: list[list[Any]], header: str) -> list[Any]:
    place = table[0].index(header)
    return [row[place] for row in table[1:]]
