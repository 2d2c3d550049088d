"""The demo storage, and a client that imports and exports BPMN documents there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.conftest import showcase  # noqa: F401  fixture
from tests.factories import token_for

DRAFT, RELEASED, HOUSE_PARENT = (
    "8e500633-f787-543c-9f62-c1575ba85fd0",
    "ffb55afd-7f32-5eae-8ba2-91717108e074",
    "a900b946-8c3c-596e-a3e1-d9b344578912",
)
"""A sub process in process, a released one, and a main process."""


@dataclass
class BpmnClient:
    api: ApiClient
    token: str

    def address(self, element: str = DRAFT, **parameters: object) -> str:
        query = "&".join(f"{name}={value}" for name, value in {"lcid": 1033, **parameters}.items())
        return f"/demo/showcase/_api/v1/bpmn/{element}?{query}"

    def send(self, document: bytes | str, element: str = DRAFT, headers: Any = None, **parameters: object) -> Any:
        return self.api.post(
            self.address(element, **parameters),
            document,
            content_type="application/xml",
            token=self.token,
            headers=headers,
        )

    def bring_in(self, document: bytes | str, element: str = DRAFT, **parameters: object) -> dict[str, Any]:
        response = self.send(document, element, **parameters)
        assert response.status_code == 200, response.json()
        found: dict[str, Any] = response.json()
        return found

    def take_out(self, element: str = DRAFT, **parameters: object) -> bytes:
        response = self.api.get(self.address(element, **parameters), token=self.token)
        assert response.status_code == 200, response.content
        content: bytes = response.content
        return content

    def new_process(self, name: str) -> str:
        """Create a sub process and return its id."""
        address = "/demo/showcase/_api/rest/facets/processes/views/detail/elements"
        body = {
            "type": "subProcess",
            "attributes": {"name": {"1033": name}},
            "rootPath": [{"id": HOUSE_PARENT}],
        }
        response = self.api.post(address, {"elements": [body]}, content_type="application/json", token=self.token)
        assert response.status_code == 200, response.json()
        return str(response.json()["elements"][0]["id"])

    def content(self, element: str = DRAFT) -> list[dict[str, Any]]:
        address = f"/demo/showcase/_api/rest/facets/processes/views/detail/elements/{element}/content"
        found: list[dict[str, Any]] = self.api.get(address, token=self.token).json()["elements"]
        return found


@pytest.fixture
def client_of_bpmn(showcase: Storage, api: ApiClient) -> BpmnClient:  # noqa: F811  fixture
    return BpmnClient(api, token_for(showcase, Role.ARCHITECT))
