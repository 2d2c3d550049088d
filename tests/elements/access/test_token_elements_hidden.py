"""Elements of tokens are for callers above viewer (D206): they name the programs that have access, and their roles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from elements.transfer.importing import import_elements
from repository_site.api_document.document import openapi_document
from storage.access.tokens import IssuedToken, issue_token
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.transfer_files import guid, line, write
from tests.factories import issued_token, storage_context
from tests.filled_storages import NOTHING
from tests.scale import first_quick

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("other_storage")]
REST = "/acme/public/_api/rest"
TOKENS = f"{REST}/facets/automation/views/detail/elements"
TAGS = f"{REST}/facets/tags/views/detail/elements"


@pytest.fixture(scope="module")
def public(filled_storage: StorageMaker) -> Iterator[Storage]:
    with filled_storage(NOTHING, collection="acme", key="public", template="standard", anonymous="read") as storage:
        yield storage


@pytest.fixture
def nightly(public: Storage) -> IssuedToken:
    return issue_token(storage_context(public), "Nightly import", [Role.ARCHITECT])


@pytest.fixture
def tag(api: ApiClient, nightly: IssuedToken) -> Any:
    """Return a tag that the token has created."""
    body = {"elements": [{"type": "tag", "attributes": {"name": {"1033": "Urgent"}}}]}
    response = api.post(f"{TAGS}/", body, "application/json", token=nightly.value)
    assert response.status_code == 200, response.content
    return response.json()["elements"][0]


@pytest.mark.parametrize("role", [None, Role.VIEWER])
def test_viewers_and_anonymous_callers_see_no_token(
    api: ApiClient, public: Storage, nightly: IssuedToken, tag: Any, role: Role | None
) -> None:
    token, own = issued_token(public, role) if role else None, nightly.token.id
    assert api.get(TOKENS, token=token).status_code == 404
    for address in (f"{TOKENS}/{own}", f"{TOKENS}/{own}/info", f"{TOKENS}/{own}/versions", f"{TOKENS}/{own}/children"):
        assert api.get(address, token=token).status_code == 404, address
    for query in ("", "?$expandRelated=changedBy,createdBy"):
        found = api.get(f"{TAGS}/{tag['id']}{query}", token=token)
        assert found.status_code == 200
        assert str(own) not in found.content.decode()
        assert "Nightly" not in found.content.decode()
    for condition in ("changedBy -eq 'Nightly import'", f"changedBy -eq {own}"):
        found = api.get(TAGS, {"$filter": condition}, token=token)
        assert found.status_code in (200, 400, 422)
        assert found.status_code != 200 or found.json()["count"] == 0


@pytest.mark.parametrize("role", first_quick([Role.VIEWER, None]))
def test_no_operation_tells_viewers_which_program_made_a_change(
    api: ApiClient, public: Storage, nightly: IssuedToken, tag: Any, role: Role | None
) -> None:
    """Neither name, nor id, nor the label of the change history: `changedBy` and `createdBy` are left out (D206)."""
    token, served = issued_token(public, role) if role else None, 0
    names = {
        "{collectionId}": "acme", "{storageId}": "public", "{facetId}": "tags", "{viewId}": "detail",
        "{elementId}": tag["id"], "{attributeName}": "name", "{type}": "tag", "{cultureId}": "1033",
    }  # fmt: skip
    for path, operations in openapi_document()["paths"].items():
        for related in ("changedBy", "createdBy") if "{relatedId}" in path else ("",):
            address = path.replace("{relatedId}", related)
            for name, value in names.items():
                address = address.replace(name, value)
            if "get" in operations and "{" not in address:
                response = api.get(address, token=token)
                served += response.status_code == 200
                text = response.content.decode()
                assert str(nightly.token.id) not in text, address
                assert "Nightly" not in text, address
    assert served >= 15
    # It has no other references.
    assert "related" not in api.get(f"{TAGS}/{tag['id']}", token=token).json()["elements"][0]


def test_anonymous_pages_and_search_show_no_token(public: Storage, nightly: IssuedToken, tag: Any) -> None:
    client = Client()
    assert client.get("/acme/public/1033/automation/").status_code == 404
    for address in ("1033/search?q=Nightly", f"1033/tags/{tag['id']}"):
        response = client.get(f"/acme/public/{address}")
        assert response.status_code == 200, address
        assert str(nightly.token.id) not in response.content.decode()
        assert "Nightly import" not in response.content.decode()
    assert client.get(f"/acme/public/1033/automation/{nightly.token.id}").status_code == 404


@pytest.mark.parametrize("role", [Role.ANALYZER, Role.EDITOR, Role.APPROVER, Role.ARCHITECT, Role.ADMINISTRATOR])
def test_callers_above_viewer_see_who_changed_an_element(
    api: ApiClient, public: Storage, nightly: IssuedToken, tag: Any, role: Role
) -> None:
    """Only administrators can open the element of the token (D396)."""
    token = issued_token(public, role)
    status = 200 if role is Role.ADMINISTRATOR else 404
    assert api.get(f"{TOKENS}/{nightly.token.id}", token=token).status_code == status
    found = api.get(f"{TAGS}/{tag['id']}", token=token).json()["elements"][0]
    assert [each["type"] for each in found["related"]["changedBy"]] == ["authToken"]


def test_imported_elements_of_tokens_are_hidden_too(api: ApiClient, public: Storage, tmp_path: Path) -> None:
    import_elements(public, write(tmp_path / "lines.ndjson", line(1, "authToken", "automation")))
    assert api.get(f"{TOKENS}/{guid(1)}").status_code == 404
    assert api.get(f"{TOKENS}/{guid(1)}", token=issued_token(public, Role.ADMINISTRATOR)).status_code == 200
