"""Middleware: request ids, log lines without secrets, trusted proxies, request bodies."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.test import Client, RequestFactory, override_settings

from repository_site.core import middleware
from repository_site.core.fairness.shares import Shares
from repository_site.operations.logs import logging_settings
from storage.models import Storage
from tests.api_client import ApiClient
from tests.factories import token_for
from tests.wsgi_call import wsgi_call

pytestmark = pytest.mark.django_db
INFO = "/acme/open/_api/rest/info"


@pytest.mark.parametrize("given", ["abc", "a.b:c_d-1", "x" * 128])
def test_a_valid_request_id_is_kept(api: ApiClient, open_storage: Storage, given: str) -> None:
    assert api.get(INFO, headers={"X-Request-ID": given})["X-Request-ID"] == given


@pytest.mark.parametrize("given", ["", "x" * 129, "a b", "a\\nb", "<script>", "ä"])
def test_an_invalid_request_id_is_replaced(api: ApiClient, open_storage: Storage, given: str) -> None:
    made = api.get(INFO, headers={"X-Request-ID": given})["X-Request-ID"]
    assert made != given
    assert len(made) == 36


def test_every_response_has_a_request_id(api: ApiClient, db: None) -> None:
    for path in ("/healthz", "/nowhere", "/a/b/_api/c", "/admin/login/"):
        assert api.get(path)["X-Request-ID"]


@contextmanager
def captured(form: str) -> Iterator[io.StringIO]:
    """Log lines as the configured formatter writes them."""
    handler = logging.StreamHandler(io.StringIO())
    settings = logging_settings("info", form)["formatters"]["line"]
    factory = settings.pop("()")
    handler.setFormatter(factory(**settings))
    logging.getLogger().addHandler(handler)
    yield handler.stream
    logging.getLogger().removeHandler(handler)


@pytest.fixture
def log_lines() -> Any:
    with captured("json") as stream:
        yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_fault_while_a_token_is_in_hand_does_not_log_it(
    api: ApiClient, storage: Storage, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    value = token_for(storage)

    def fail(*args: Any) -> None:
        held = value  # a local variable that a talkative traceback would print
        raise RuntimeError(f"no luck with {held}")

    monkeypatch.setattr("storage.access.tokens.token_digest", fail)
    with captured(form) as stream:
        assert api.get("/acme/handbook/_api/rest/info", token=value).status_code == 500
    assert "no luck with crt_***" in stream.getvalue()
    assert value not in stream.getvalue()


def test_the_log_line_of_a_request(api: ApiClient, storage: Storage, log_lines: Any) -> None:
    value = token_for(storage)
    storage.token_in_query = True
    storage.save()
    path = "/acme/handbook/_api/rest/info"
    api.get(f"{path}?symbio-auth-token={value}", headers={"X-Request-ID": "r-1"})
    api.get(path, token=value)
    api.get(path, headers={"symbio-auth-token": value + "x"})
    logging.getLogger("other").warning("an address in a message: %s?symbio-auth-token=%s", path, value)
    lines = log_lines()
    assert value not in json.dumps(lines)
    first = lines[0]
    assert first.pop("duration_ms") > 0
    assert first.pop("timestamp")
    assert first.pop("caller").startswith("token:")
    assert first == {
        "event": "request",
        "level": "info",
        "logger": "request",
        "method": "GET",
        "path": path,
        "request_id": "r-1",
        "status": 200,
        "storage": "acme/handbook",
    }
    assert "caller" not in lines[2]
    assert lines[3]["event"] == f"an address in a message: {path}?symbio-auth-token=crt_***"


FORWARDED = {
    "X-Forwarded-For": "203.0.113.7, 10.0.0.2",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "localhost",
}


def test_forwarded_headers_of_other_clients_are_ignored(api: ApiClient, open_storage: Storage) -> None:
    response = api.get(INFO, headers=FORWARDED, REMOTE_ADDR="10.0.0.1")
    assert response.json()["appUrl"] == "http://testserver/acme/open/"


@override_settings(TRUSTED_PROXIES=(ip_network("10.0.0.0/8"),))
def test_forwarded_headers_of_trusted_proxies_are_used(
    api: ApiClient, open_storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr("storage.api.throttling.anonymous_throttle.take", seen.append)
    response = api.get(INFO, headers=FORWARDED, REMOTE_ADDR="10.0.0.1")
    assert response.json()["appUrl"] == "https://localhost/acme/open/"
    api.get(INFO, headers=FORWARDED, REMOTE_ADDR="192.0.2.1")
    for forwarded in ("evil, 10.0.0.3", "203.0.113.8:4711", "[2001:db8::1]:4711", "2001:db8::2"):
        api.get(INFO, headers={"X-Forwarded-For": forwarded}, REMOTE_ADDR="10.0.0.1")
    assert [key.removeprefix("address:") for key in seen] == [
        "203.0.113.7",
        "192.0.2.1",
        "unknown",
        "203.0.113.8",
        "2001:db8::/64",
        "2001:db8::/64",
    ]


def test_a_chunked_body_is_not_lost(open_storage: Storage) -> None:
    """Without a Content-Length, Django reads nothing; a write would do nothing and report success."""

    def post(body: bytes) -> tuple[int, Any]:
        environ = RequestFactory().generic("POST", INFO).environ
        environ.pop("CONTENT_LENGTH", None)
        environ |= {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": io.BytesIO(body), "HTTP_HOST": "testserver"}
        return wsgi_call(WSGIHandler(), environ)

    with pytest.MonkeyPatch.context() as patch:
        # The request's signals would close the connection with this test's transaction.
        patch.setattr("django.core.signals.request_started.send", lambda **kwargs: None)
        patch.setattr("django.core.signals.request_finished.send", lambda **kwargs: None)
        status, answer = post(b'{"title": "x"}')
        assert (status, answer["message"]) == (400, "This operation only reads and takes no body.")
        assert post(b"")[0] == 200
        with override_settings(BODY_LIMIT=10):
            assert post(b"x" * 11)[0] == 413


def test_a_truncated_body_is_refused(open_storage: Storage) -> None:
    environ = RequestFactory().generic("POST", INFO).environ
    environ |= {"CONTENT_LENGTH": "100", "wsgi.input": io.BytesIO(b"{}"), "HTTP_HOST": "testserver"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.core.signals.request_started.send", lambda **kwargs: None)
        patch.setattr("django.core.signals.request_finished.send", lambda **kwargs: None)
        status, answer = wsgi_call(WSGIHandler(), environ)
    assert (status, answer["message"]) == (400, "The request body is shorter than its Content-Length.")


def body_refusal(status: int, text: str, kind: str, output: str) -> tuple[int, str, dict[str, Any]]:
    return status, "2", {"message": text, "output": output, "type": kind, "data": [{"error": text}]}


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "PATIENCE", 0.01)


def test_a_request_waits_until_others_have_read_their_bodies(
    api: ApiClient, open_storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = Shares(4)
    monkeypatch.setattr(middleware, "reading", reading)
    monkeypatch.setattr(middleware, "PATIENCE", 60)
    assert [reading.take("acme/open") for _ in range(2)] == [True, True]
    threading.Timer(0.1, reading.give_back, ["acme/open"]).start()
    assert api.post(INFO, " ", "application/json").status_code == 200
    assert (reading.taken, reading.refused, middleware.awaiting.taken) == (1, 0, 0)


@pytest.mark.usefixtures("_impatient")
def test_only_some_threads_read_bodies(api: ApiClient, open_storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests with a body are refused when these threads are busy; others are served (D154)."""
    reading = Shares(1)
    monkeypatch.setattr(middleware, "reading", reading)
    monkeypatch.setattr(middleware, "BODIES_AT_ONCE", 1)
    assert api.post(INFO, " ", "application/json").status_code == 200
    assert reading.take("rival/handbook")
    refused = api.post(INFO, " ", "application/json")
    text = "The server is receiving too many request bodies. Try again shortly."
    found = refused.status_code, refused["Retry-After"], refused.json()
    assert found == body_refusal(503, text, "critical", "permanent")
    page = Client().post("/admin/login/", {"username": "x"})
    assert (page.status_code, page["Content-Type"]) == (503, "text/plain; charset=utf-8")
    assert page.content == text.encode()
    assert api.get(INFO).status_code == 200
    reading.give_back("rival/handbook")
    assert Client().post("/admin/login/", {"username": "x"}).status_code == 200


@pytest.mark.usefixtures("_impatient")
def test_a_storage_reads_half_of_the_bodies(
    api: ApiClient, open_storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = Shares(4)
    monkeypatch.setattr(middleware, "reading", reading)
    monkeypatch.setattr(middleware, "BODIES_AT_ONCE", 4)
    assert api.get(INFO).status_code == 200
    assert [reading.take("acme/open") for _ in range(3)] == [True, True, False]
    refused = api.post(INFO, " ", "application/json")
    text = "The server is receiving too many request bodies for this storage. Try again shortly."
    found = refused.status_code, refused["Retry-After"], refused.json()
    assert found == body_refusal(429, text, "error", "volatile")
    assert Client().post("/admin/login/", {"username": "x"}).status_code == 200
    assert api.get(INFO).status_code == 200


@pytest.mark.usefixtures("_impatient")
def test_clients_without_a_credential_leave_bodies_for_others(
    api: ApiClient, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever trickles bodies to a storage does not keep its callers from writing (D198)."""
    reading = Shares(16)
    monkeypatch.setattr(middleware, "reading", reading)
    path, token = "/acme/handbook/_api/rest/info", token_for(storage)
    assert api.get(path, token=token).status_code == 200
    for number in range(6):
        assert reading.take("acme/handbook", f"network {number}", middleware.UNACCEPTED)
    refused = api.post(path, " ", "application/json", token="wrong")
    text = "The server is receiving too many request bodies for this storage. Try again shortly."
    found = refused.status_code, refused["Retry-After"], refused.json()
    assert found == body_refusal(429, text, "error", "volatile")
    assert api.post(path, " ", "application/json", token=token).status_code == 200
    assert reading.taken == 6


def test_a_body_that_arrives_too_slowly(open_storage: Storage) -> None:
    class SlowBody(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise TimeoutError

    environ = RequestFactory().generic("POST", INFO).environ
    environ |= {"CONTENT_LENGTH": "100", "wsgi.input": SlowBody(), "HTTP_HOST": "testserver"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.core.signals.request_started.send", lambda **kwargs: None)
        patch.setattr("django.core.signals.request_finished.send", lambda **kwargs: None)
        status, answer = wsgi_call(WSGIHandler(), environ)
    text = "The request body arrives more slowly than 8192 bytes a second. Send it faster."
    assert (status, answer) == (
        408,
        {"message": text, "output": "volatile", "type": "error", "data": [{"error": text}]},
    )
    assert middleware.reading.taken == 0


def test_pages_have_the_body_limit_of_the_api(open_storage: Storage, settings: Any) -> None:
    settings.BODY_LIMIT = 10
    page = Client().post("/admin/login/", {"username": "x" * 20})
    assert (page.status_code, page.content) == (413, b"The request body is larger than 10 bytes.")
