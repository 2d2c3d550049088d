"""The suite's HTTP client: every answer below `_api` is held against the OpenAPI document, status, headers and body.

It also notes which operations were called, so that a test can name the ones that no test calls.
"""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from typing import Any

from django.http import HttpResponse
from django.test import Client
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from repository_site.api_document import openapi_document
from repository_site.rest.errors import is_api_path

called: set[tuple[str, str]] = set()


class ApiClient(Client):
    """Django's test client, plus `token=` on every call and the check of every answer."""

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
            # As one piece, so that a test reads it like any other.
            response = _joined(response)
        check_answer(method, path.partition("?")[0], response)
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
        _validate(json.loads(response.content), {"$ref": "#/components/schemas/Error"})
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
    media_type = response["Content-Type"]
    assert media_type in described["content"], media_type
    if method != "HEAD":
        read = json.loads if media_type == "application/json" else bytes.decode
        content = response.content
        if response.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        _validate(read(content), described["content"][media_type]["schema"])


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
    return [(template, re.compile(re.sub(r"\{\w+\}", "[^/]+", template))) for template in templates]


def _resolve(node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in node:
        return node
    found: Any = openapi_document()
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return dict(found)


def _validate(value: Any, schema: dict[str, Any]) -> None:
    _validator(json.dumps(schema)).validate(value)


@cache
def _validator(schema: str) -> Draft202012Validator:
    resource: Resource[Any] = Resource.from_contents(openapi_document(), default_specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource("urn:api", resource)
    absolute = json.loads(schema.replace('"#/', '"urn:api#/'))
    return Draft202012Validator(absolute, registry=registry, format_checker=FormatChecker())
