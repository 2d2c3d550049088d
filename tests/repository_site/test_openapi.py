"""The OpenAPI document is served, valid and complete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver
from jsonschema_rs import ValidationError

from repository_site.api_document.document import SNAPSHOT, openapi_document, snapshot
from storage.models import Storage
from tests import api_client
from tests.api_client import ApiClient

DRF_ACTIONS = {"list", "create", "retrieve", "update", "partial_update", "destroy"}


@pytest.mark.django_db
def test_a_storage_answers_the_document(api: ApiClient, open_storage: Storage) -> None:
    for method in (api.get, api.post):
        response = method("/acme/open/_api/schema", content_type="application/json")
        assert response.status_code == 200
        assert response.json() == openapi_document()


@pytest.mark.long  # the validator takes seconds
def test_the_document_is_valid_openapi_3_1() -> None:
    from drf_spectacular.validation import validate_schema  # its import takes two seconds

    document = openapi_document()
    assert document["openapi"].startswith("3.1")
    check: Any = validate_schema
    check(document)


def test_every_address_below_api_is_in_the_document() -> None:
    documented = {path.replace("{", "<str:").replace("}", ">") for path in openapi_document()["paths"]}
    addresses = {f"/{pattern}" for pattern in routes(get_resolver().url_patterns) if "/_api" in pattern}
    assert addresses == documented


def test_every_method_of_an_address_is_in_the_document() -> None:
    """The document has exactly the methods of each address, except HEAD, which goes with GET."""
    for route, view in views(get_resolver().url_patterns):
        if "/_api" not in route:
            continue
        possible = set(view.actions) - {"head"}
        path = f"/{route}".replace("<str:", "{").replace(">", "}")
        assert set(openapi_document()["paths"][path]) == possible, path


def test_methods_are_named_after_their_operation_or_after_an_action_of_drf() -> None:
    for route, view in views(get_resolver().url_patterns):
        for name in set(view.actions.values()) - DRF_ACTIONS if "/_api" in route else ():
            id = getattr(view.cls, name).operation.id
            assert name.replace("_", "").removesuffix("bypost") == id.lower().removesuffix("bypost")


def views(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        route = prefix + str(getattr(pattern.pattern, "_route", ""))
        if isinstance(pattern, URLResolver):
            yield from views(pattern.url_patterns, route)
        else:
            yield route, pattern.callback


def test_the_snapshot_is_the_document() -> None:
    """A review sees every change of the public document."""
    assert SNAPSHOT.read_text(encoding="utf-8") == snapshot(), f"{SNAPSHOT}: run `make docs`"


def test_the_command_writes_the_snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("write_openapi", "--into", str(tmp_path / "it.json"))
    assert (tmp_path / "it.json").read_text(encoding="utf-8") == snapshot()
    call_command("write_openapi")
    assert capsys.readouterr().out == snapshot()
    with pytest.raises(CommandError, match="No such file or directory"):
        call_command("write_openapi", "--into", str(tmp_path / "none" / "it.json"))


def test_tags_and_the_whole_are_described() -> None:
    document = openapi_document()
    assert document["info"]["description"]
    assert document["servers"] == [{"url": "/", "description": "The server that provides this document."}]
    used = {tag for path in document["paths"].values() for operation in path.values() for tag in operation["tags"]}
    assert {each["name"] for each in document["tags"] if each["description"]} == used
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["description"], operation["operationId"]
            assert all(each.get("description") for each in operation["parameters"]), operation["operationId"]


def routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> list[str]:
    found: list[str] = []
    for pattern in patterns:
        route = prefix + str(getattr(pattern.pattern, "_route", ""))
        if isinstance(pattern, URLResolver):
            found += routes(pattern.url_patterns, route)
        else:
            found.append(route)
    return found


def test_every_operation_names_its_errors_and_credentials() -> None:
    for path in openapi_document()["paths"].values():
        for operation in path.values():
            assert {"400", "401", "403", "404", "405", "429", "500"} <= set(operation["responses"])
            assert ("408" in operation["responses"]) == ("requestBody" in operation)
            assert {"bearer": []} in operation["security"]
            assert operation["summary"]


def test_operation_ids_are_unique() -> None:
    ids = [operation["operationId"] for path in openapi_document()["paths"].values() for operation in path.values()]
    assert len(ids) == len(set(ids))


class FakeResponse(dict[str, str]):
    def __init__(self, status_code: int, body: Any) -> None:
        super().__init__({"Content-Type": "application/json", "X-Request-ID": "x", "api-version": "1.0"})
        self["WWW-Authenticate"] = "Bearer"
        self.status_code = status_code
        self.content = json.dumps(body).encode()


@pytest.mark.parametrize(
    ("path", "status", "body", "message"),
    [
        ("/a/b/_api/rest/info", 200, {"type": "IStorageContext", "surprise": 1}, "surprise"),
        ("/a/b/_api/rest/facets", 200, {"count": 3}, '"values" is a required property'),
        (
            "/a/b/_api/rest/facets",
            200,
            {"count": 1, "values": [{"name": "x", "views": "y"}]},
            '"displayName" is a required',
        ),
        (
            "/a/_admin/_api/rest/facets/x/views/y/elements",
            200,
            {"count": 0, "elements": [], "values": []},
            '{"required":\\["values"\\]} is not allowed for',
        ),
        (
            "/a/b/_api/rest/info",
            401,
            {"message": "m", "output": "volatile", "type": "success", "data": [{"error": "e"}]},
            '"success" is not one of "unauthorized"',
        ),
        (
            "/a/b/_api/rest/info",
            401,
            {"message": "m", "output": "volatile", "type": "unauthorized", "data": []},
            "\\[\\] has less than 1 item",
        ),
    ],
)
def test_the_client_notices_an_answer_outside_the_document(path: str, status: int, body: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        api_client.check_answer("GET", path, FakeResponse(status, body))


ELEMENTS = "/a/b/_api/rest/facets/x/views/y/elements"
ELEMENT = "00000000-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "message"),
    [
        ("GET", "/a/b/_api/rest/info?surprise=1", "", {}, "getStorageInfo takes no query surprise"),
        ("GET", "/a/b/_api/rest/info", "", {"X-Surprise": "1"}, "getStorageInfo takes no header x-surprise"),
        ("GET", "/a/b/_api/rest/info?api-version=9.0", "", {}, '"9.0" is not one of'),
        ("GET", f"{ELEMENTS}/nonsense", "", {}, '"nonsense" is not a "uuid"'),
        ("GET", f"{ELEMENTS}?$page=0", "", {}, "0 is less than the minimum"),
        ("GET", f"{ELEMENTS}?$page=x", "", {}, '"x" is not of type "integer"'),
        ("GET", f"{ELEMENTS}?$resources=attributes,all", "", {}, "does not match"),
        ("DELETE", f"{ELEMENTS}/{ELEMENT}?$select=name", "", {}, "deleteElement takes no query"),
        ("DELETE", f"{ELEMENTS}/{ELEMENT}", '{"a": 1}', {}, "deleteElement takes no body"),
        ("POST", "/a/b/_api/rest/info", '{"a": 1}', {}, "has more than 0 properties"),
        ("POST", ELEMENTS, '{"elements": [{"surprise": 1}]}', {}, "'surprise' was unexpected"),
        ("POST", ELEMENTS, '{"elements": [], "values": []}', {}, '{"required":\\["values"\\]} is not allowed for'),
        ("POST", ELEMENTS, '{"elements": [{"attributes": {"name": "x"}}]}', {}, '"x" is not of type "object"'),
        ("POST", f"{ELEMENTS}/{ELEMENT}/content", "", {}, "createContent has taken no body"),
    ],
)
def test_the_client_notices_a_request_outside_the_document(
    method: str, path: str, body: str, headers: dict[str, str], message: str
) -> None:
    request = RequestFactory().generic(method, path, body, "application/json", headers=headers)
    with pytest.raises((AssertionError, ValidationError), match=message):
        api_client.check_request(method, path.partition("?")[0], request, request.body)


def test_the_client_accepts_described_requests() -> None:
    body = json.dumps({"count": 1, "values": [{"id": ELEMENT, "attributes": {"name": {"1033": None}, "version": 1}}]})
    path = f"{ELEMENTS}/?api-version=1.0"
    headers = {"If-Match": '"x"', "Idempotency-Key": "k", "X-Request-ID": "r", "Authorization": "Bearer t"}
    request = RequestFactory().post(path, body, "application/json", headers=headers)
    api_client.check_request("POST", path.partition("?")[0], request, request.body)


def test_the_client_notices_a_missing_header() -> None:
    answer = FakeResponse(401, {"message": "m", "output": "volatile", "type": "unauthorized", "data": [{"error": "e"}]})
    del answer["WWW-Authenticate"]
    with pytest.raises(AssertionError, match="WWW-Authenticate is missing"):
        api_client.check_answer("GET", "/a/b/_api/rest/info", answer)
