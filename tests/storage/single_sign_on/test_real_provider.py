"""Signing in at a provider that is not ours: `oidc-provider-mock`, in a process of its own."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from django.test import Client

from storage.models import StaffAccount, Storage
from storage.single_sign_on.outgoing_requests import forget_providers
from tests.identity_provider import come_back, configured, rule, sent_to_provider
from tests.mock_provider import MockProvider

pytestmark = [pytest.mark.long, pytest.mark.django_db]
GROUPS = {"email": "ada@example.org", "email_verified": True, "given_name": "Ada", "groups": ["editors"]}


@pytest.fixture
def mock(settings: Any) -> Iterator[MockProvider]:
    settings.WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    forget_providers()
    with MockProvider() as provider:
        yield provider


def request(url: str, method: str, body: str = "", content_type: str = "application/json") -> tuple[int, str]:
    """Return the status of an answer, and the address to which it leads."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
    try:
        connection.request(method, f"{parts.path}?{parts.query}", body, {"Content-Type": content_type})
        answer = connection.getresponse()
        return answer.status, answer.headers["Location"] or ""
    finally:
        connection.close()


def test_a_person_signs_in_and_out(mock: MockProvider, storage: Storage) -> None:
    provider = configured(mock.issuer, collection=storage.collection)
    rule(provider, storage, "editor")
    assert request(f"{mock.issuer}/users/ada", "PUT", json.dumps(GROUPS)) == (204, "")
    client = Client()
    address = sent_to_provider(client, next_address="/acme/handbook/admin/")
    _, back = request(address, "POST", urlencode({"sub": "ada"}), "application/x-www-form-urlencoded")
    assert back.startswith("http://testserver/admin/sso/acme/callback/?")
    assert come_back(client, back)["Location"] == "/acme/handbook/admin/"
    ada = StaffAccount.objects.get()
    assert (ada.email, ada.memberships.get().roles) == ("ada@example.org", ["editor"])
    page = client.post("/acme/handbook/admin/logout/").content.decode()
    assert f"{mock.issuer}/oauth2/end_session?" in page
    denied = sent_to_provider(client)
    _, refused = request(denied, "POST", urlencode({"action": "deny"}), "application/x-www-form-urlencoded")
    answer: Any = come_back(client, refused)
    assert (answer.status_code, b"You have not signed in at Acme ID." in answer.content) == (403, True)
