"""The HTTP client of the tests, which validates every response below `_api` against the OpenAPI document.

So is every request that was answered with success: what the service accepts must be described. It also notes which
operations were called, so that a test can name the ones that no test calls.
"""

from __future__ import annotations

import gzip
import json
import re
from functools import cache, partial
from typing import Any
from urllib.parse import unquote

from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.utils.encoding import force_bytes
from jsonschema_rs import Draft202012Validator

from elements.tables.formats import TableFormat
from repository_site.api_document.document import openapi_document
from repository_site.core.rest.errors import is_api_path

TABLES = {each.media_type for each in TableFormat}
# Contents of files.
ANY_TYPE = "application/octet-stream"
called: set[tuple[str, str]] = set()


class ApiClient(Client):
    """Django's test client with `token=` on every call and validation of every response."""

    def __init__(self, **options: Any) -> None:
        super().__init__(raise_request_exception=False, **options)

    def generic(  # type: ignore[override]  # one keyword more
        self, method: str, path: str, *args: Any, token: str | None = None, **kwargs: Any
    ) -> Any:
        headers = dict(kwargs.pop("headers", None) or {})
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        response = super().generic(method, path, *args, headers=headers, **kwargs)
        if response.streaming:
            # Join the pieces, so that tests can read `content`.
            response = _joined(response)
        check_answer(method, path.partition("?")[0], response)
        if response.status_code < 300 or response.status_code == 304:
            body = args[0] if args else kwargs.get("data", b"")
            check_request(method, path.partition("?")[0], response.wsgi_request, force_bytes(body))
        return response


def _joined(streamed: Any) -> Any:
    whole = HttpResponse(b"".join(streamed), status=streamed.status_code, headers=streamed.headers)
    whole.wsgi_request = streamed.wsgi_request  # type: ignore[attr-defined]  # as the test client sets it
    whole.was_streamed = True  # type: ignore[attr-defined]  # for tests
    whole.json = lambda: json.loads(whole.content)  # type: ignore[attr-defined]  # as the test client does
    return whole


def check_answer(method: str, path: str, response: Any) -> None:
    if not is_api_path(path):
        return
    assert response["X-Request-ID"]
    found = find_operation(method, path)
    if found is None:
        assert response["Content-Type"] == "application/json", response["Content-Type"]
        assert response.status_code in {400, 404, 405, 413, 429}, f"{method} {path} is not in the document"
        validate(json.loads(response.content), {"$ref": "#/components/schemas/Error"})
        return
    template, verb = found
    if response.status_code == 200:
        called.add((template, verb))
    described = _resolve(openapi_document()["paths"][template][verb]["responses"][str(response.status_code)])
    for name, header in described.get("headers", {}).items():
        assert name in response or not header.get("required"), f"{name} is missing"
    if method in ("GET", "HEAD") and response.status_code == 200:
        assert ("ETag" in response) == ("ETag" in described.get("headers", {})), "not as the document says"
    if "content" not in described:
        assert (response.content, "Content-Type" in response) == (b"", False)
        return
    if ANY_TYPE in described["content"]:
        return
    media_type = response["Content-Type"]
    if media_type in TABLES and ("$format" in response.wsgi_request.GET or template.endswith("/elements/query")):
        # Not in the document: most generated clients would then give all lists the type of all formats together.
        return
    assert media_type in described["content"], media_type
    schema = described["content"][media_type]["schema"]
    if method != "HEAD" and schema.get("format") != "binary":
        read = json.loads if media_type == "application/json" else bytes.decode
        content = response.content
        if response.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        validate(read(content), schema)


# Headers of HTTP, of the test client and of credentials, which operations do not declare.
COMMON_HEADERS = {
    "accept", "accept-encoding", "authorization", "content-length", "content-type", "cookie", "host", "referer",
    "symbio-auth-token", "traceparent", "transfer-encoding", "x-csrftoken", "x-forwarded-for", "x-forwarded-host",
    "x-forwarded-proto",
}  # fmt: skip
COMMON_PARAMETERS = {"symbio-auth-token"}


def check_request(method: str, path: str, request: HttpRequest, body: bytes) -> None:
    """Validate path, parameters, headers and body of an accepted request."""
    found = find_operation(method, path) if is_api_path(path) else None
    if found is None:
        return
    template, verb = found
    operation = openapi_document()["paths"][template][verb]
    described = {(each["in"], each["name"].lower()): each for each in operation.get("parameters", [])}
    values = _pattern(template).fullmatch(path.removesuffix("/"))
    assert values is not None
    given = {("path", name.lower()): value for name, value in values.groupdict().items()}
    given |= {("query", name.lower()): value for name, value in request.GET.items() if name not in COMMON_PARAMETERS}
    # A read by POST ignores conditions, as HTTP requires (D136).
    common = COMMON_HEADERS | ({"if-none-match"} if verb == "post" else set())
    given |= {("header", name.lower()): value for name, value in request.headers.items() if name.lower() not in common}
    for key, value in given.items():
        assert key in described, f"{operation['operationId']} takes no {' '.join(key)}"
        schema = described[key]["schema"]
        if value == "" and described[key].get("allowEmptyValue"):
            continue
        validate(_as_typed(unquote(value) if key[0] == "path" else value, schema), schema)
    _check_body(operation, request, body.strip())


def _as_typed(text: str, schema: dict[str, Any]) -> Any:
    """Return the value of a parameter, parsed from its text."""
    if schema.get("type") == "integer" and re.fullmatch("[0-9]+", text):
        return int(text)
    if schema.get("type") == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return text


def _check_body(operation: dict[str, Any], request: HttpRequest, body: bytes) -> None:
    described = operation.get("requestBody")
    if not body:
        assert not (described or {}).get("required"), f"{operation['operationId']} has taken no body"
        return
    assert described is not None, f"{operation['operationId']} takes no body"
    if body == b"{}" and not described.get("required"):
        return
    if ANY_TYPE in described["content"]:
        return
    assert request.content_type in described["content"], request.content_type
    if request.content_type != "multipart/form-data":
        # Other bodies are documents, which can be in any encoding.
        read = (
            json.loads
            if request.content_type == "application/json"
            else partial(str, encoding="utf-8", errors="replace")
        )
        validate(read(body), described["content"][request.content_type]["schema"])


def find_operation(method: str, path: str) -> tuple[str, str] | None:
    verb = "get" if method == "HEAD" else method.lower()
    bare = path.removesuffix("/")
    # Addresses with fewer parameters are more specific: `/{collectionId}/_admin/...` comes first.
    for template, pattern in _patterns():
        if pattern.fullmatch(bare) and verb in openapi_document()["paths"][template]:
            return template, verb
    return None


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    templates = sorted(openapi_document()["paths"], key=lambda template: template.count("{"))
    return [(template, _pattern(template)) for template in templates]


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template))


def _resolve(node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in node:
        return node
    found: Any = openapi_document()
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return dict(found)


def validate(value: Any, schema: dict[str, Any]) -> None:
    _validator(json.dumps(schema)).validate(value)


@cache
def _validator(schema: str) -> Draft202012Validator:
    found = {**json.loads(schema), "components": openapi_document()["components"]}
    return Draft202012Validator(found, validate_formats=True)
