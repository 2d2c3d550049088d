"""Every kind of error (D3): status, headers and whole bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError
from django.test import Client, override_settings
from psycopg.errors import DiskFull

from repository_site.core.embedded_postgres import EmbeddedPostgresError
from repository_site.core.environment.values import Rate
from repository_site.core.rest.throttling import Throttle
from storage.models import Storage
from tests.api_client import ApiClient
from tests.factories import token_for
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
INFO = "/acme/open/_api/rest/info"


def body(message: str, output: str, type: str) -> dict[str, Any]:
    return {"message": message, "output": output, "type": type, "data": [{"error": message}]}


NOT_FOUND = {
    "/acme/nowhere/_api/rest/info": "There is no storage acme/nowhere.",
    "/nowhere/open/_api/rest/info": "There is no storage nowhere/open.",
    "/acme/OPEN/_api/rest/info": "There is no storage acme/OPEN.",
    "/acme/open/_api/rest/nothing": "There is nothing at this address.",
    "/acme/open/_api/rest/facet": "There is nothing at this address.",
    "/admin/_api/x": "There is nothing at this address.",
    "/ac%00me/open/_api/rest/info": "There is no storage at this address.",
    "/acme/op%00en/_api/rest/info": "There is no storage at this address.",
    "/ac%00me/_admin/_api/rest/info": "There is no storage at this address.",
    f"/acme/{'x' * 5000}/_api/rest/info": "There is no storage at this address.",
    "/acme/öpen/_api/rest/info": "There is no storage at this address.",
    "/acme/open/_api//": "There is nothing at this address.",
    "/acme/none/_api": "There is no storage acme/none.",
    "/acme/_api/rest/info": "There is nothing at this address.",
    "/_api/x": "There is nothing at this address.",
    "/acme/open/_api/rest/info//": "There is nothing at this address.",
    "/acme/open/_api/rest/info%00": "There is nothing at this address.",
}


def test_404(api: ApiClient, open_storage: Storage) -> None:
    wrong = {}
    for path, message in NOT_FOUND.items():
        for method in ("GET", "POST", "DELETE"):
            response = api.generic(method, path)
            found = response.status_code, response.json()
            if found != (404, body(message, "volatile", "error")):
                wrong[method, path] = found
    assert wrong == {}


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FROB"])
def test_405(api: ApiClient, open_storage: Storage, method: str) -> None:
    response = api.generic(method, INFO)
    assert response.status_code == 405
    assert response["Allow"] == "GET, HEAD, POST"
    assert response.json() == body(
        f"{method} is not allowed at this address; use GET, HEAD, POST.", "volatile", "error"
    )


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("application/json;odata=verbose", 200),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", 200),
        ("application/*", 200),
        ("", 200),
        ("text/html", 406),
        ("application/xml", 406),
        ("application/json;q=0, */*", 406),
        ("*/*;q=0", 406),
        (";;;,,,", 406),
        ("application/json;q=nonsense", 406),
    ],
)
def test_406(api: ApiClient, open_storage: Storage, accept: str, status: int) -> None:
    response = api.get(INFO, headers={"Accept": accept})
    assert response.status_code == status
    if status == 406:
        assert response.json() == body(
            "Accept: this operation responds with application/json only.", "volatile", "error"
        )


@override_settings(BODY_LIMIT=100)
def test_413(api: ApiClient, open_storage: Storage) -> None:
    response = api.post(INFO, b"x" * 101, content_type="application/json")
    assert (response.status_code, response.json()) == (
        413,
        body("The request body is larger than 100 bytes.", "volatile", "error"),
    )
    assert api.post(INFO, b" " * 100, content_type="application/json").status_code == 200


def test_a_content_length_that_is_not_a_number(api: ApiClient, open_storage: Storage) -> None:
    response = api.get(INFO, CONTENT_LENGTH="-5")
    assert (response.status_code, response.json()["message"]) == (400, "The Content-Length header is not a number.")


def test_429(api: ApiClient, storage: Storage, open_storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("storage.api.throttling.anonymous_throttle", Throttle(Rate(0.1, 2), lambda: now))
    monkeypatch.setattr("storage.api.throttling.token_throttle", Throttle(Rate(1, 1), lambda: now))
    assert [api.get(INFO).status_code for _ in range(3)] == [200, 200, 429]
    refused = api.get(INFO)
    assert refused["Retry-After"] == "10"
    assert refused.json() == body("Too many requests; try again in 10 seconds.", "volatile", "error")
    assert api.get(INFO, headers={}, REMOTE_ADDR="10.0.0.9").status_code == 200
    first, second = token_for(storage), token_for(storage)
    address = "/acme/handbook/_api/rest/info"
    assert [api.get(address, token=token).status_code for token in (first, first, second)] == [200, 429, 200]
    now = 10.0
    assert api.get(INFO).status_code == 200


def test_guessing_is_counted_by_address(api: ApiClient, storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, status, token in (
        ("/acme/handbook/_api/rest/info", 401, None),
        ("/acme/handbook/_api/rest/info", 401, "crt_guess"),
        ("/acme/guess/_api/rest/info", 404, None),
        ("/acme/handbook/_api/guess", 404, None),
    ):
        monkeypatch.setattr("storage.api.throttling.anonymous_throttle", Throttle(Rate(1, 2), lambda: 0.0))
        assert [api.get(path, token=token).status_code for _ in range(3)] == [status, status, 429]
        # Callers with a valid credential are not affected.
        assert api.get("/acme/handbook/_api/rest/info", token=token_for(storage)).status_code == 200


ECHO = "/acme/open/_api/echo"


@pytest.fixture
def echo(open_storage: Storage, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiClient]:
    """Use an operation that takes a body. It is not in the document, so the client cannot check its responses."""
    monkeypatch.setattr("tests.api_client.check_answer", lambda *args: None)
    with override_settings(ROOT_URLCONF="tests.shelves.urls"):
        yield ApiClient()


@pytest.mark.parametrize(
    ("sent", "content_type", "status", "message"),
    [
        (b'{"a": [1.50]}', "application/json", 200, None),
        (
            b'{"a": 1',
            "application/json; charset=utf-8",
            400,
            "The body is not JSON: expecting ',' delimiter at line 1, column 8.",
        ),
        (
            b'{"a": 1, "a": 2}',
            "application/json",
            400,
            "The body is ambiguous: the key 'a' occurs twice in one object.",
        ),
        (
            b"1e9999999999999999999",
            "application/json",
            400,
            "The body contains a number that is too long: 1e9999999999999999999.",
        ),
        (b"<a/>", "application/xml", 415, "The request body must have the Content-Type application/json."),
        (
            b"a=1",
            "application/x-www-form-urlencoded",
            415,
            "The request body must have the Content-Type application/json.",
        ),
        (b"a", "", 415, "The request body must have the Content-Type application/json."),
    ],
)
def test_bodies_that_can_and_cannot_be_read(
    echo: ApiClient, sent: bytes, content_type: str, status: int, message: str | None
) -> None:
    response = echo.generic("POST", ECHO, sent, content_type)
    assert response.status_code == status
    if message is None:
        assert response.json() == {"body": "{'a': [Decimal('1.50')]}"}
    else:
        assert response.json() == body(message, "inline" if status == 400 else "volatile", "error")


@override_settings(ROOT_URLCONF="tests.shelves.urls")
def test_500_tells_the_request_id_and_no_more(open_storage: Storage, caplog: pytest.LogCaptureFixture) -> None:
    api = ApiClient()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.api_client.check_answer", lambda *args: None)
        response = api.get("/acme/open/_api/shelves?fail=1", headers={"X-Request-ID": "abc-1"})
    assert response.status_code == 500
    assert response["X-Request-ID"] == "abc-1"
    assert response.json() == body(
        "Internal error. Report the request id abc-1 to the operator.", "permanent", "critical"
    )
    assert "a fault inside the scope" in caplog.text


def test_503_when_the_database_is_away(api: ApiClient, open_storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise OperationalError("server closed the connection\nat 10.1.2.3")

    monkeypatch.setattr("storage.api.viewset.find_context", fail)
    response = api.get(INFO, headers={"X-Request-ID": "r-9"})
    assert response["Retry-After"] == "2"
    message = "The service cannot reach its database; try again in a few seconds. The request id is r-9."
    assert (response.status_code, response.json()) == (503, body(message, "permanent", "critical"))


def test_503_when_the_disk_is_full(api: ApiClient, open_storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise OperationalError("could not extend file") from DiskFull()

    monkeypatch.setattr("storage.api.viewset.find_context", fail)
    response = api.get(INFO, headers={"X-Request-ID": "r-9"})
    assert response["Retry-After"] == "30"
    message = (
        "The disk of the database is full, so nothing was changed; reading is still possible. Ask the operator of the"
        " installation to free disk space, then try again. The request id is r-9."
    )
    assert (response.status_code, response.json()) == (503, body(message, "permanent", "critical"))


@pytest.mark.parametrize(
    "error", first_quick([OperationalError("gone"), InterfaceError("closed"), EmbeddedPostgresError("starting")])
)
@pytest.mark.parametrize(
    ("language", "heading"), [("en", "Temporarily unavailable"), ("de", "Vorübergehend nicht verfügbar")]
)
def test_pages_are_503_as_well(
    open_storage: Storage, monkeypatch: pytest.MonkeyPatch, error: Exception, language: str, heading: str
) -> None:
    """In a view, and before a view is found, when the language is still unknown."""

    def fail(*args: Any) -> None:
        raise error

    client = Client(raise_request_exception=False)
    with monkeypatch.context() as patch:
        patch.setattr("elements.pages.views.read_frame", fail)
        response = client.get("/acme/open/1033/", headers={"accept-language": language})
    assert (response.status_code, response["Retry-After"], response["Cache-Control"]) == (503, "2", "no-store")
    assert f"<h1>{heading}</h1>" in response.content.decode()
    monkeypatch.setattr("storage.tenancy.middleware.read_storage", fail)
    response = client.get("/acme/open/1033/")
    assert response.status_code == 503
    assert "<h1>Temporarily unavailable</h1>" in response.content.decode()


def test_a_page_without_room(open_storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise OperationalError("could not extend file") from DiskFull()

    monkeypatch.setattr("storage.tenancy.middleware.read_storage", fail)
    response = Client(raise_request_exception=False).get("/acme/open/1033/")
    assert (response.status_code, response["Retry-After"]) == (503, "30")
    assert "<h1>No disk space left</h1>" in response.content.decode()


def test_an_unknown_host_is_400(api: ApiClient, open_storage: Storage) -> None:
    response = api.get(INFO, headers={"host": "evil.example"})
    assert (response.status_code, response.json()) == (400, body("The request is malformed.", "inline", "error"))


@override_settings(HTTPS=True, SECURE_SSL_REDIRECT=True, SECURE_REDIRECT_EXEMPT=[r"(^|/)_api(/|$)"])
def test_plain_http_is_refused_and_never_redirected_below_api(api: ApiClient, open_storage: Storage) -> None:
    response = api.get(INFO)
    assert (response.status_code, response.json()["message"]) == (
        400,
        "This service requires https. Send the request to an https address.",
    )
    assert api.get(INFO, secure=True).status_code == 200


def test_outside_the_api_pages_stay_pages(api: ApiClient, db: None) -> None:
    response = api.get("/nothing/here")
    assert response.status_code == 404
    assert response["Content-Type"].startswith("text/html")
