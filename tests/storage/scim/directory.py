"""A directory that sends requests of SCIM, as Entra ID and Okta do."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from storage.access.tokens import issue_token
from storage.models import IdentityProvider, StaffAccount
from storage.tenancy.contexts import Context, ContextType

CORE = "urn:ietf:params:scim:schemas:core:2.0"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
MESSAGES = "urn:ietf:params:scim:api:messages:2.0"
# As Entra ID creates a person, with what the service does not store.
JO = {
    "schemas": [f"{CORE}:User", ENTERPRISE],
    "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
    "userName": "Jo.Doe@example.org",
    "active": True,
    "displayName": "Jo Doe",
    "title": "Head of quality",
    "emails": [{"primary": True, "type": "work", "value": "Jo.Doe@example.org"}],
    "name": {"formatted": "Jo Doe", "familyName": "Doe", "givenName": "Jo"},
    "phoneNumbers": [{"primary": True, "type": "work", "value": "+49 30 1234"}],
    "password": "s3cret",
    "meta": {"resourceType": "User"},
    "roles": [],
    ENTERPRISE: {"department": "Quality", "manager": {"value": "4711"}},
}


class TestedDirectory:
    __test__ = False

    def __init__(self, token: str, collection: str = "acme") -> None:
        self.token = token
        self.base = f"/{collection}/scim/v2"
        self.client = Client()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        response = self.client.generic(
            method,
            f"{self.base}/{path}",
            content,
            content_type="application/scim+json",
            headers={"Authorization": f"Bearer {self.token}", **{k.replace("_", "-"): v for k, v in headers.items()}},
        )
        if response.status_code >= 400:
            assert response["Content-Type"] == "application/scim+json"
            error = response.json()
            assert error["schemas"] == [f"{MESSAGES}:Error"]
            assert error["status"] == str(response.status_code)
        return response

    def get(self, path: str, **parameters: Any) -> Any:
        response = self.client.get(f"{self.base}/{path}", parameters, headers={"Authorization": f"Bearer {self.token}"})
        assert response.status_code == 200, response.content
        return response.json()

    def create(self, path: str, body: Any) -> Any:
        response = self.ask("POST", path, body)
        assert response.status_code == 201, response.content
        return response.json()

    def patch(self, path: str, *operations: dict[str, Any]) -> Any:
        response = self.ask("PATCH", path, {"schemas": [f"{MESSAGES}:PatchOp"], "Operations": operations})
        assert response.status_code in (200, 204), response.content
        return response.json() if response.status_code == 200 else None

    def person(self, who: str = "jo", domain: str = "example.org", **fields: Any) -> Any:
        return self.create("Users", {"schemas": [f"{CORE}:User"], "userName": f"{who}@{domain}", **fields})

    def group(self, name: str, *people: str, **fields: Any) -> Any:
        members = [{"value": each} for each in people]
        return self.create("Groups", {"schemas": [f"{CORE}:Group"], "displayName": name, "members": members, **fields})


def directory_of(provider: IdentityProvider) -> TestedDirectory:
    assert provider.collection is not None
    context = Context(ContextType.COLLECTION, provider.collection)
    issued = issue_token(context, "directory", [], provider=provider)
    return TestedDirectory(issued.value, provider.collection.key)


def roles_of(account: StaffAccount) -> dict[str, list[str]]:
    found = account.memberships.select_related("storage__collection")
    return {str(each.storage): each.roles for each in found if each.roles}
