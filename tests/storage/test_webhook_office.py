"""Webhooks in the back office of a storage: form, secret, test, deliveries and sending again."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from repository_site.core.database.statements import set_for_transaction
from storage.admin.webhooks import deliveries, pages
from storage.models import DeliveryState, Storage, Webhook, WebhookAttempt, WebhookDelivery
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from storage.webhooks.changing import create_webhook
from storage.webhooks.credentials import active_secrets, sent_headers
from storage.webhooks.deliveries import send_test
from storage.webhooks.disabling import GONE, disable_webhook
from tests.storage.office import errors, member

pytestmark = pytest.mark.django_db
WEBHOOKS = "/acme/handbook/admin/storage/webhook/"
DELIVERIES = "/acme/handbook/admin/storage/webhookdelivery/"
URL = "https://93.184.216.34/hook"
FORM: dict[str, Any] = {"url": URL, "is_enabled": "on", "payload": "thin", "events": ["element.created"]}


@pytest.fixture
def browser(storage: Storage) -> Client:
    return member(storage, Role.ADMINISTRATOR)


@pytest.fixture
def webhook(storage: Storage) -> Webhook:
    given = {"url": URL, "headers": {"X-Key": "one"}, "basicAuthentication": {"username": "me", "password": "pass"}}
    with tenant_scope(storage):
        return create_webhook(storage, "setup", given).webhook


def read(storage: Storage) -> Webhook:
    with tenant_scope(storage):
        return Webhook.objects.get()


def secret_in(page: str) -> str:
    found = re.search(r'id="copy-secret"[^>]*>([^<]+)<', page)
    assert found
    return html.unescape(found[1])


def test_the_secret_is_shown_once(browser: Client, storage: Storage) -> None:
    given = {**FORM, "headers": "X-Team: docs\r\n\r\nX-Key: a:b", "username": "me", "password": "pass"}
    response = browser.post(f"{WEBHOOKS}add/", given)
    secret, made = secret_in(response.content.decode()), read(storage)
    assert "no-store" in response["Cache-Control"]
    assert active_secrets(made, timezone.now()) == [secret]
    expected = {"X-Team": "docs", "X-Key": "a:b", "Authorization": "Basic bWU6cGFzcw=="}
    assert (made.events, sent_headers(made)) == (["element.created"], expected)
    assert made.created_by.startswith("staff:")
    for address in (WEBHOOKS, f"{WEBHOOKS}{made.pk}/change/"):
        page = browser.get(address).content.decode()
        assert secret not in page
        assert 'pass"' not in page


def test_problems_stand_beside_their_fields(browser: Client, storage: Storage) -> None:
    given = {**FORM, "url": "ftp://example.org", "headers": "Host: a", "username": "me"}
    page = browser.post(f"{WEBHOOKS}add/", given).content.decode()
    found = errors(page)
    assert len(found) == 3
    assert found[1:] == [
        "Headers.Host: the service sets this header itself; choose another name.",
        "Expected 1 to 100 visible characters.",
    ]
    page = browser.post(f"{WEBHOOKS}add/", {**FORM, "headers": "X-Team"}).content.decode()
    assert errors(page) == ["Expected a name, a colon and a value on each line, and each name only once."]


def test_changing_keeps_what_is_not_shown(browser: Client, storage: Storage, webhook: Webhook) -> None:
    page = browser.get(f"{WEBHOOKS}{webhook.pk}/change/").content.decode()
    assert "X-Key: ••••••" in page
    given = {**FORM, "headers": "X-Key: ••••••\r\nX-New: two", "username": "me", "password": ""}
    response = browser.post(f"{WEBHOOKS}{webhook.pk}/change/", given)
    assert response.status_code == 302
    changed = read(storage)
    assert sent_headers(changed) == {"X-Key": "one", "X-New": "two", "Authorization": "Basic bWU6cGFzcw=="}
    assert (changed.changed_by.startswith("staff:"), changed.created_by) == (True, "setup")


def test_a_stale_form_says_so_before_it_overwrites(browser: Client, storage: Storage, webhook: Webhook) -> None:
    address = f"{WEBHOOKS}{webhook.pk}/change/"

    def read_on(page: str) -> str:
        found = re.search(r'name="read_on" value="([^"]+)"', page)
        assert found
        return html.unescape(found[1])

    stale = {**FORM, "read_on": read_on(browser.get(address).content.decode())}
    assert browser.post(address, {**stale, "payload": "element"}).status_code == 302
    page = browser.post(address, stale).content.decode()
    assert "Somebody else has changed the webhook since you opened this page." in page
    assert read(storage).payload == "element"
    assert browser.post(address, {**stale, "read_on": read_on(page)}).status_code == 302
    assert read(storage).payload == "thin"


def test_a_new_secret(browser: Client, storage: Storage, webhook: Webhook) -> None:
    [old] = active_secrets(webhook, timezone.now())
    response = browser.post(f"{WEBHOOKS}{webhook.pk}/rotate/", {"overlap": "3600"})
    assert active_secrets(read(storage), timezone.now()) == [secret_in(response.content.decode()), old]
    again = browser.post(f"{WEBHOOKS}{webhook.pk}/rotate/", {"overlap": "3600"}).content.decode()
    assert "The secret before the last rotation is still valid. Wait, or rotate without overlap." in again


def test_a_test_and_its_delivery(browser: Client, storage: Storage, webhook: Webhook) -> None:
    assert "Send a test?" in browser.get(f"{WEBHOOKS}{webhook.pk}/test/").content.decode()
    with tenant_scope(storage):
        assert not WebhookDelivery.objects.exists()
    response = browser.post(f"{WEBHOOKS}{webhook.pk}/test/", follow=True)
    with tenant_scope(storage):
        delivery = WebhookDelivery.objects.get()
        now = timezone.now()
        WebhookAttempt.objects.create(delivery=delivery, time=now, status=500, milliseconds=7, answer="<b>no</b>")
    assert response.redirect_chain == [(f"{DELIVERIES}{delivery.pk}/change/", 302)]
    page = browser.get(f"{DELIVERIES}{delivery.pk}/change/").content.decode()
    assert "webhook.test" in page
    assert "500 (7 ms)" in page
    assert "&lt;b&gt;no&lt;/b&gt;" in page


def test_dead_letters_are_sent_again(browser: Client, storage: Storage, webhook: Webhook) -> None:
    with tenant_scope(storage):
        delivery = send_test(storage, webhook.pk)
        WebhookDelivery.objects.update(state=DeliveryState.DEAD, attempts=9)
    page = browser.get(f"{DELIVERIES}?webhook={webhook.pk}&state=dead").content.decode()
    assert "webhook.test" in page
    assert "webhook.test" not in browser.get(f"{DELIVERIES}?state=delivered").content.decode()
    chosen = {"action": "send_again", "_selected_action": str(delivery.pk)}
    assert "1 message is sent again." in browser.post(DELIVERIES, chosen, follow=True).content.decode()
    with tenant_scope(storage):
        assert WebhookDelivery.objects.values_list("state", "attempts").get() == ("waiting", 0)
        disable_webhook(storage, webhook, GONE)
    page = browser.post(DELIVERIES, chosen, follow=True).content.decode()
    assert "The webhook is disabled, so it sends nothing. Enable it first." in page
    assert GONE in browser.get(WEBHOOKS).content.decode()
    assert GONE in browser.get(f"{WEBHOOKS}{webhook.pk}/change/").content.decode()


def test_one_message_is_sent_again_on_its_page(browser: Client, storage: Storage, webhook: Webhook) -> None:
    with tenant_scope(storage):
        delivery = send_test(storage, webhook.pk)
    page, send = f"{DELIVERIES}{delivery.pk}/change/", f"{DELIVERIES}{delivery.pk}/send/"
    # It waits anyway.
    assert send not in browser.get(page).content.decode()
    with tenant_scope(storage):
        WebhookDelivery.objects.update(state=DeliveryState.DELIVERED, attempts=1)
    assert send in browser.get(page).content.decode()
    assert "Send the message again?" in browser.get(send).content.decode()
    response = browser.post(send, follow=True)
    assert response.redirect_chain == [(page, 302)]
    assert "1 message is sent again." in response.content.decode()
    with tenant_scope(storage):
        assert WebhookDelivery.objects.values_list("state", "attempts").get() == ("waiting", 0)
    assert browser.get(f"{DELIVERIES}{webhook.pk}/send/").status_code == 404


@pytest.mark.long
def test_all_messages_of_all_pages_are_sent_again(
    browser: Client, storage: Storage, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They can be very many, with large texts."""
    monkeypatch.setattr(deliveries, "BATCH", 2)
    with tenant_scope(storage):
        for _ in range(5):
            delivery = send_test(storage, webhook.pk)
        WebhookDelivery.objects.update(state=DeliveryState.DEAD, attempts=9)
    chosen = {"action": "send_again", "_selected_action": str(delivery.pk), "select_across": "1"}
    with CaptureQueriesContext(connection) as found:
        response = browser.post(f"{DELIVERIES}?state=dead", chosen)
    assert not [each for each in found if '"storage_webhookdelivery"."message"' in each["sql"]]
    page = browser.get(response["Location"]).content.decode()
    assert "5 messages are sent again." in page
    with tenant_scope(storage):
        assert set(WebhookDelivery.objects.values_list("state", "attempts")) == {("waiting", 0)}


def test_the_list_shows_which_webhook_is_far_behind(
    browser: Client, storage: Storage, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_WAITING", 1)
    assert "0 waiting" in browser.get(WEBHOOKS).content.decode()
    with tenant_scope(storage):
        send_test(storage, webhook.pk)
    assert "1 waiting; further events follow later" in browser.get(WEBHOOKS).content.decode()


def test_the_address_keeps_its_letters_in_the_head(browser: Client, webhook: Webhook) -> None:
    page = browser.get(f"{WEBHOOKS}{webhook.pk}/change/").content.decode()
    assert URL.capitalize() not in page


def test_all_deliveries_are_listed_by_an_index(storage: Storage, webhook: Webhook) -> None:
    with tenant_scope(storage):
        # Without rows, every plan costs the same.
        set_for_transaction("enable_sort", "off")
        plan = WebhookDelivery.objects.order_by("-created_on", "-number", "id")[:100].explain()
    assert "Index Scan Backward using delivery_newest" in plan


def test_deleting_asks_first(browser: Client, storage: Storage, webhook: Webhook) -> None:
    assert "Delete the webhook?" in browser.get(f"{WEBHOOKS}{webhook.pk}/remove/").content.decode()
    assert browser.post(f"{WEBHOOKS}{webhook.pk}/remove/").status_code == 302
    with tenant_scope(storage):
        assert not Webhook.objects.exists()


def test_only_administrators_see_webhooks(storage: Storage, other_storage: Storage, webhook: Webhook) -> None:
    architect, stranger = member(storage, Role.ARCHITECT), member(other_storage, Role.ADMINISTRATOR)
    pages = (
        "",
        "add/",
        f"{webhook.pk}/change/",
        f"{webhook.pk}/test/",
        f"{webhook.pk}/rotate/",
        f"{webhook.pk}/remove/",
    )
    assert {architect.get(f"{WEBHOOKS}{page}").status_code for page in pages} == {403}
    assert architect.get(DELIVERIES).status_code == 403
    assert "Webhooks" not in architect.get("/acme/handbook/admin/").content.decode()
    address = f"/rival/handbook/admin/storage/webhook/{webhook.pk}/change/"
    assert stranger.get(address).status_code == 404
