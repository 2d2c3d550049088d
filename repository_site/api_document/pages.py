"""The OpenAPI document as a page for people: made from the document itself, readable without a script (D142).

It holds nothing of a storage but its address, and no secret: whoever tries a call types a token, or is signed in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.cache import patch_vary_headers
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request

from repository_site.api_document.document import openapi_document
from repository_site.core.problems import Unauthenticated
from repository_site.core.rest.negotiation import weights
from repository_site.core.rest.rendering import HTML_TYPE
from repository_site.core.rest.versioning import ApiVersions
from storage.api.authentication import carries_token
from storage.api.operation import ReadOperation
from storage.tenancy.contexts import ContextType

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)
ADMINISTRATION = "administration"
# What the administrative contexts answer beside the operations of their own.
EVERYWHERE = {"getStorageInfo", "getOpenApiDocument", "browseDocument"}
# Stand for the address of the request in a page that is kept.
COLLECTION, STORAGE = "\ue000collection\ue000", "\ue000storage\ue000"
PREFIX = "/{collectionId}/{storageId}/_api/", "/{collectionId}/_admin/_api/"
AS_GET = "ByPost"


@dataclass(frozen=True, slots=True)
class Answer:
    status: str
    text: str
    example: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One operation, as the page shows it."""

    id: str
    method: str
    path: str
    short_path: str
    summary: str
    description: str
    also_by_post: bool
    parameters: list[dict[str, Any]]
    body: str
    takes_body: bool
    answers: list[Answer]
    links: list[str]


@extend_schema(
    tags=["document"],
    summary="This document as a page",
    responses={
        (200, HTML_TYPE): OpenApiResponse(str, "The page."),
        302: OpenApiResponse(description="To the page for signing in, for browsers of who is not known here."),
    },
)
class DocumentPage(ReadOperation):
    """To read the document in a browser, and to try calls."""

    operation_id = "browseDocument"
    versions = ApiVersions.up_to("1.0")
    contexts = frozenset(ContextType)
    answers = (HTML_TYPE,)
    speaks = True

    def read(self, request: Request, **names: str) -> HttpResponse:
        plain = request._request
        language = getattr(plain.user, "language", "") or translation.get_language_from_request(plain)
        collection, storage = self.context.path.strip("/").split("/")
        page = page_in(language, self.context.storage is not None)
        body = page.replace(COLLECTION, collection).replace(STORAGE, storage)
        response = HttpResponse(body, content_type=HTML_TYPE, headers={"Content-Security-Policy": POLICY})
        response["Content-Language"] = language
        patch_vary_headers(response, ["Accept-Language", "Cookie"])
        return response

    def handle_exception(self, exc: Exception) -> Any:
        """Who comes with a browser and is not signed in is asked to; a program is told, as everywhere."""
        request = self.request._request
        is_browser = HTML_TYPE in weights(request.META.get("HTTP_ACCEPT", "")) and request.method == "GET"
        if not isinstance(exc, Unauthenticated) or not is_browser or request.user.is_authenticated:
            return super().handle_exception(exc)
        # Who sent a token is told that it does not hold. One of the address would go on into `next`, too.
        return super().handle_exception(exc) if carries_token(self.request, self.context) else self.ask_to_sign_in()

    def ask_to_sign_in(self) -> HttpResponseBase:
        office = f"{self.context.path}/admin" if self.context.storage else "/admin"
        address = quote(self.request._request.get_full_path(), safe="/")
        response = HttpResponseRedirect(f"{office}/login/?next={address}")
        del response["Content-Type"]
        return response


@cache
def page_in(language: str, is_storage: bool) -> str:
    """Made once a language: drawing all operations takes longer than most requests."""
    known = dict(settings.LANGUAGES)
    with translation.override(language if language in known else settings.LANGUAGE_CODE):
        context = {
            "groups": list(groups(is_storage)),
            "is_storage": is_storage,
            "collection": COLLECTION,
            "storage": STORAGE,
        }
        return render_to_string("api/document.html", context)


def groups(is_storage: bool) -> Iterator[dict[str, Any]]:
    for tag in openapi_document()["tags"]:
        operations = [each for each in shown_operations(tag["name"]) if _is_here(each, tag["name"], is_storage)]
        if operations:
            yield {"name": tag["name"], "description": tag["description"], "operations": operations}


def _is_here(operation: Shown, tag: str, is_storage: bool) -> bool:
    return tag != ADMINISTRATION if is_storage else tag == ADMINISTRATION or operation.id in EVERYWHERE


def shown_operations(tag: str) -> Iterator[Shown]:
    """Reads by POST are told with the GET that they stand for."""
    for path, operations in openapi_document()["paths"].items():
        for method, operation in operations.items():
            is_repeated = operation["operationId"].removesuffix(AS_GET) == operations.get("get", {}).get("operationId")
            if tag in operation["tags"] and not (is_repeated and method == "post"):
                yield shown(path, method, operation, operations)


def shown(path: str, method: str, operation: dict[str, Any], beside: dict[str, Any]) -> Shown:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    has_fields = content.get("schema", {}).get("maxProperties") != 0
    return Shown(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        short_path=path.removeprefix(PREFIX[0]).removeprefix(PREFIX[1]),
        summary=operation["summary"],
        description=_plain(operation["description"]),
        also_by_post=beside.get("post", {}).get("operationId") == operation["operationId"] + AS_GET,
        parameters=[_parameter(each) for each in operation["parameters"]],
        body=_text(content["example"]) if "example" in content else "",
        takes_body=bool(content) and has_fields,
        answers=[_answer(status, each) for status, each in sorted(operation["responses"].items())],
        links=sorted(operation["responses"]["200"].get("links", {})),
    )


def _parameter(parameter: dict[str, Any]) -> dict[str, Any]:
    schema = parameter["schema"]
    kinds = schema.get("enum") or [schema.get("format") or schema.get("type", "")]
    return {
        "name": parameter["name"],
        "place": parameter["in"],
        "is_required": parameter.get("required", False),
        "description": _plain(parameter["description"]),
        "kind": ", ".join(map(str, kinds)),
        "choices": schema.get("enum", []),
        "example": str(parameter.get("example", "")),
        "is_context": parameter["name"] in ("collectionId", "storageId"),
    }


def _answer(status: str, response: dict[str, Any]) -> Answer:
    if "$ref" in response:
        response = openapi_document()["components"]["responses"][response["$ref"].rpartition("/")[2]]
    examples = [each["example"] for each in response.get("content", {}).values() if "example" in each]
    # Failures are alike; one line says what each means.
    shown = _text(examples[0]) if examples and status == "200" else ""
    return Answer(status, _plain(response.get("description", "")), shown)


def _plain(markdown: str) -> str:
    """The document's texts are Markdown, of which they use one sign."""
    return markdown.replace("`", "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
