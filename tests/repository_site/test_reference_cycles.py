"""No request leaves reference cycles for the garbage collector (D211)."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

import pytest
from django.db import transaction
from django.test import Client

from storage.models import Storage, StorageMembership
from storage.options import Role
from tests.api_client import ApiClient, find_operation
from tests.api_examples import ORDER, addresses, play
from tests.bare_client import BareClient, BareResponse
from tests.conftest import StorageMaker
from tests.elements.transfer_files import DEMO
from tests.factories import StaffAccountFactory, token_for

pytestmark = [pytest.mark.django_db, pytest.mark.long]
API = "/demo/showcase/_api"
VIEW = f"{API}/rest/facets/processes/views/detail/elements"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
READER = "/demo/showcase/1033"
# Those of the back office leave what Django's admin and its theme build, which nothing here can change.
PAGES = (
    f"{READER}/",
    f"{READER}/processes/",
    f"{READER}/processes/{ORDER}",
    f"{READER}/search?q=order",
    f"{READER}/search/suggestions?q=ord",
    f"{API}/docs",
)
# Rare, and it leaves rows of Django's models that know each other.
PROVISIONING = "POST /demo/_admin/_api/v1/storages"
# Other addresses of the same methods.
OTHER_ADDRESSES = re.compile("ByPost|UnderRest|IgnoringWarnings")


@pytest.fixture(scope="module")
def showcase(filled_storage: StorageMaker) -> Iterator[Storage]:
    with filled_storage(DEMO, collection="demo", key="showcase", template="standard", anonymous="read") as storage:
        yield storage


@pytest.fixture(autouse=True)
def _connection_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep Django from closing the connection after a request: it has the transaction of the test."""
    for signal in ("request_started", "request_finished"):
        monkeypatch.setattr(f"django.core.signals.{signal}.send", lambda **kwargs: None)


class EveryRead(BareClient):
    """Sends every read by all its methods."""

    def generic(self, method: str, path: str, *args: Any, **options: Any) -> BareResponse:
        response = super().generic(method, path, *args, **options)
        if method == "GET":
            for other in ("HEAD", "POST"):
                super().generic(other, path, *args, **options)
        return response


def left(client: BareClient) -> dict[str, Counter[str]]:
    return {title: found for title, found in client.left.items() if found and title != PROVISIONING}


def test_no_operation_leaves_cycles(showcase: Storage) -> None:
    client = EveryRead()
    token = token_for(showcase, Role.ADMINISTRATOR)
    for _ in range(2):
        with transaction.atomic():
            play(showcase, cast("ApiClient", client))
            # The next round provisions the same storage.
            transaction.set_rollback(True)
        for path in ("schema", "schema/types", "docs"):
            assert client.generic("GET", f"{API}/{path}", token=token).status_code == 200
        client.count()
    assert left(client) == {}
    called = {find_operation(*title.split(" ")) for title in client.left}
    missing = {name for name, address in addresses().items() if address not in called}
    assert [name for name in missing if not OTHER_ADDRESSES.search(name)] == []


def test_no_error_leaves_cycles(showcase: Storage) -> None:
    client, order = BareClient(), f"{VIEW}/{ORDER}"
    token, viewer = token_for(showcase, Role.ARCHITECT), token_for(showcase)

    def change(**parts: Any) -> str:
        return json.dumps({"elements": [{"id": ORDER, **parts}]})

    def statuses() -> list[int]:
        tag = client.generic("GET", order, token=token)["ETag"]
        wrong = {"name": {"1033": ["text"]}, "nothing": {}}
        return [
            client.generic(*request, token=key, headers=headers).status_code
            for request, key, headers in [
                (("GET", order), token, {"If-None-Match": tag}),
                (("GET", f"{VIEW}?$filter=(name"), token, {}),
                (("POST", VIEW, "{"), token, {}),
                (("GET", f"{API}/rest/tasks"), "wrong", {}),
                (("POST", VIEW, change()), viewer, {}),
                (("GET", f"{VIEW}/{UNKNOWN}"), token, {}),
                (("GET", "/demo/nothing/_api/rest/info"), token, {}),
                (("PUT", order), token, {}),
                (("GET", order), token, {"Accept": "image/png"}),
                (("POST", f"{API}/rest/release/{ORDER}/createversion"), token, {}),
                (("POST", VIEW, change(state="Unknown")), token, {}),
                (("POST", VIEW, change(attributes={"name": {"1033": "New"}})), token, {"If-Match": '"0.0"'}),
                (("POST", VIEW, "x", "text/plain"), token, {}),
                (("POST", VIEW, change(attributes=wrong)), token, {}),
            ]
        ]

    expected = [304, 400, 400, 401, 403, 404, 404, 405, 406, 409, 409, 412, 415, 422]
    assert statuses() == expected
    client.count()
    assert statuses() == expected
    assert left(client) == {}


@pytest.mark.parametrize("pieces", [sys.maxsize, 2], ids=["whole", "abandoned"])
def test_no_streamed_list_leaves_cycles(showcase: Storage, monkeypatch: pytest.MonkeyPatch, pieces: int) -> None:
    monkeypatch.setattr("elements.api.reading_viewset.BATCH", 5)
    client = BareClient(pieces=pieces)
    token = token_for(showcase)
    for _ in range(2):
        for coding in ("identity", "gzip"):
            response = client.generic("GET", VIEW, token=token, headers={"Accept-Encoding": coding})
            assert (response.status_code, "Content-Length" in response.headers) == (200, False)
        client.count()
    assert left(client) == {}


def test_no_page_leaves_cycles(showcase: Storage) -> None:
    account = StaffAccountFactory.create(is_superuser=True)
    StorageMembership.objects.create(account=account, storage=showcase, roles=[Role.ADMINISTRATOR.value])
    browser = Client()
    browser.force_login(account)
    visitor, member = BareClient(), BareClient(cookies=browser.cookies.output(header="", sep=";"))
    for client in (visitor, member):
        # The driver reads a statement by cursors until it has prepared it; those of rows in rows leave cycles.
        for _ in range(4):
            for path in PAGES:
                assert client.generic("GET", path).status_code == 200, path
            client.count()
        assert left(client) == {}
