"""Elements of tokens (D4): created with the token, updated when it is revoked, and named by changes of the token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from elements.models import Element
from repository_site.core.rest.datetimes import wire_datetime
from storage.access.tokens import issue_token, revoke_token
from storage.models import ApiToken, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.handbook import ID
from tests.factories import StorageFactory, issued_token, storage_context
from tests.filled_storages import NOTHING

pytestmark = pytest.mark.django_db
DETAIL = "/acme/house/_api/rest/facets/automation/views/detail/elements"


@pytest.fixture(scope="module")
def house(filled_storage: StorageMaker, handbook: Storage) -> Iterator[Storage]:
    """Return a storage beside the handbook and its rival."""
    with filled_storage(NOTHING, key="house", template="standard", time_zone="Europe/Berlin") as storage:
        yield storage


def element(api: ApiClient, token: ApiToken, reader: str) -> Any:
    answer = api.get(f"{DETAIL}/{token.id}", token=reader)
    return answer.json()["elements"][0] if answer.status_code == 200 else None


def test_the_configuration_is_read_once_for_several_tokens(house: Storage) -> None:
    issued_token(house)
    with CaptureQueriesContext(connection) as statements:
        issued_token(house)
    assert [each["sql"] for each in statements if "facets_" in each["sql"]] == []


def test_a_token_is_an_element_with_its_name_roles_and_validity(api: ApiClient, house: Storage) -> None:
    until = timezone.now() + timedelta(days=30)
    issued = issue_token(storage_context(house), "Nightly", [Role.EDITOR, Role.ANALYZER], valid_until=until)
    found = element(api, issued.token, issued.value)
    attributes = found["attributes"]
    assert (found["id"], found["creationId"], found["type"]) == (
        str(issued.token.id),
        str(issued.token.id),
        "authToken",
    )
    assert attributes["name"] == {"1031": "Nightly", "1033": "Nightly"}
    roles = {name for name, value in attributes.items() if name.startswith("role") and value == {"127": True}}
    assert roles == {"roleAnalyzer", "roleEditor"}
    assert attributes["roleInactive"] == {"127": False}
    assert attributes["validUntil"] == {"127": wire_datetime(until, ZoneInfo("Europe/Berlin"))}

    reader = issued_token(house, Role.ADMINISTRATOR)
    assert revoke_token(issued.token)
    attributes = element(api, issued.token, reader)["attributes"]
    assert attributes["roleInactive"] == {"127": True}
    issued.token.refresh_from_db()
    assert issued.token.revoked_on is not None
    assert attributes["validUntil"] == {"127": wire_datetime(issued.token.revoked_on, ZoneInfo("Europe/Berlin"))}
    assert not revoke_token(issued.token)


def test_a_storage_without_the_token_type_has_no_token_elements(house: Storage) -> None:
    storage = StorageFactory.create(key="plain")
    issued_token(storage, Role.VIEWER)
    with tenant_scope(storage):
        assert Element.objects.count() == 0


def test_tokens_of_other_contexts_have_no_elements(house: Storage) -> None:
    call_command("issue_token", "acme", "_admin", "--name", "all", "--role", "administrator")
    with tenant_scope(house):
        assert Element.objects.count() == 0


def test_changes_name_the_token_or_its_user(api: ApiClient, handbook: Storage) -> None:
    plain = issue_token(storage_context(handbook), "Program", [Role.EDITOR])
    of_anna = issue_token(storage_context(handbook), "Anna's", [Role.EDITOR], user_id=UUID(ID["anna"]))
    address = "/acme/handbook/_api/rest/facets/processes/views/detail/elements"
    for issued, caller in ((plain, str(plain.token.id)), (of_anna, ID["anna"])):
        body = json.dumps({"elements": [{"id": ID["invoice"], "attributes": {"scope": {"1033": caller}}}]})
        answer = api.post(address, body, content_type="application/json", token=issued.value)
        assert answer.json()["elements"][0]["related"]["changedBy"][0]["id"] == caller


def test_the_element_of_a_token_in_use_cannot_be_deleted(api: ApiClient, house: Storage) -> None:
    issued = issue_token(storage_context(house), "Nightly", [Role.EDITOR])
    administrator = issued_token(house, Role.ADMINISTRATOR)
    refused = api.delete(f"{DETAIL}/{issued.token.id}", token=administrator)
    assert (refused.status_code, refused.json()["message"]) == (
        409,
        f"{issued.token.id}: an active token acts for this user: Nightly.",
    )
    revoke_token(issued.token)
    assert api.delete(f"{DETAIL}/{issued.token.id}", token=administrator).status_code == 200
