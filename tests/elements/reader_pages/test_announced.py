"""Elements in messages to webhooks: as the API returns them to an administrator (D366)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pytest_django import Settings

from elements.reading import announced
from storage.models import Storage, Webhook, WebhookAttempt, WebhookDelivery, WebhookPayload
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from storage.webhooks.fan_out import fan_out
from tests.api_client import ApiClient
from tests.factories import token_for
from tests.webhooks import add_webhook

pytestmark = pytest.mark.django_db
SYSTEMS = "/acme/handbook/_api/rest/facets/it/views/detail/elements"
NOWHERE = "https://receiver.invalid/"


@pytest.fixture(autouse=True)
def _public_address(settings: Settings) -> None:
    settings.PUBLIC_URL = "http://testserver"


def create(api: ApiClient, handbook: Storage, name: str) -> Any:
    token = token_for(handbook, Role.ADMINISTRATOR, Role.EDITOR)
    given = {"elements": [{"type": "system", "attributes": {"name": {"1033": name}}}]}
    response = api.post(SYSTEMS, given, content_type="application/json", token=token)
    assert response.status_code == 200, response.content
    (made,) = response.json()["elements"]
    return api.get(f"{SYSTEMS}/{made['id']}", token=token).json()["elements"][0]


def messages(handbook: Storage, webhook: Webhook) -> list[Any]:
    fan_out(handbook)
    with tenant_scope(handbook):
        rows = WebhookDelivery.objects.filter(webhook=webhook).order_by("number")
        return [json.loads(each.message) for each in rows]


def test_message_has_the_element_as_the_api_returns_it(api: ApiClient, handbook: Storage) -> None:
    thin = add_webhook(handbook, NOWHERE, events=["element.created"])
    whole = add_webhook(handbook, NOWHERE, events=["element.created"], payload=WebhookPayload.ELEMENT)
    shown = create(api, handbook, "Ledger")
    (without,), (message,) = messages(handbook, thin), messages(handbook, whole)
    assert message["data"].pop("element") == shown
    assert message == without


def test_elements_that_are_deleted_or_very_large_are_left_out(
    api: ApiClient, handbook: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = add_webhook(handbook, NOWHERE, payload=WebhookPayload.ELEMENT)
    shown = create(api, handbook, "Gone")
    api.delete(f"{SYSTEMS}/{shown['id']}", token=token_for(handbook, Role.ADMINISTRATOR, Role.EDITOR))
    found = messages(handbook, webhook)
    assert {"element.created", "element.deleted"} <= {each["type"] for each in found}
    assert all("element" not in each["data"] for each in found)
    monkeypatch.setattr(announced, "LONGEST", 100)
    create(api, handbook, "Large")
    last = messages(handbook, webhook)[-1]
    assert (last["type"], "element" in last["data"]) == ("element.created", False)


def test_an_element_that_cannot_be_rendered_is_a_failed_attempt(
    api: ApiClient, handbook: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are sent with their elements, and this one without."""
    webhook = add_webhook(handbook, NOWHERE, events=["element.created"], payload=WebhookPayload.ELEMENT)
    broken, sound = create(api, handbook, "Broken"), create(api, handbook, "Sound")
    original = announced._shown

    def show(reader: Any, row: Any) -> bytes | None:
        if str(row.element) == broken["id"]:
            raise ValueError("no such culture")
        return original(reader, row)

    monkeypatch.setattr(announced, "_shown", show)
    found = messages(handbook, webhook)
    assert [each["data"].get("element") for each in found] == [None, sound]
    with tenant_scope(handbook):
        first, second = WebhookDelivery.objects.order_by("number")
        [attempt] = WebhookAttempt.objects.all()
    assert (first.state, first.attempts, first.is_first, second.attempts) == ("waiting", 1, True, 0)
    assert first.next_attempt_on is not None
    assert first.next_attempt_on > first.created_on == first.first_attempt_on == attempt.time
    assert (attempt.delivery_id, attempt.status) == (first.pk, None)
    assert attempt.error == "The element cannot be rendered. ValueError: no such culture"
