"""The OpenAPI document as a page for people, rendered from the document and readable without scripts (D142).

The page contains nothing of a storage but its address, and no secret: to send requests, visitors sign in or type a
token. The API reference at `/api/` is the same page for the whole installation, without any address (D177).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation

from repository_site.api_document.document import openapi_document
from storage.tenancy.contexts import Context

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)
# Operations of the administrative contexts that storages have, too.
EVERYWHERE = {"getStorageInfo", "getApiIndex", "getOpenApiDocument", "browseDocument"}
# Placeholders for the address of the request in the cached page.
COLLECTION, STORAGE = "\ue000collection\ue000", "\ue000storage\ue000"
PREFIX = "/{collectionId}/{storageId}/_api/", "/{collectionId}/_admin/_api/"
AS_GET = "ByPost"


def page_of(context: Context, language: str) -> str:
    collection, storage = context.path.strip("/").split("/")
    page = _page_in(language, context.storage is not None)
    return page.replace(COLLECTION, collection).replace(STORAGE, storage)


def reference_page(language: str) -> str:
    return _page_in(language, None)


@cache
def _page_in(language: str, is_storage: bool | None) -> str:
    """Return the page, rendered once per language: rendering takes longer than most requests.

    Without `is_storage` it is the API reference, which has the operations of every address.
    """
    known = dict(settings.LANGUAGES)
    with translation.override(language if language in known else settings.LANGUAGE_CODE):
        context = {
            "groups": list(groups(is_storage)),
            "is_storage": is_storage,
            "is_reference": is_storage is None,
            "collection": COLLECTION,
            "storage": STORAGE,
        }
        return render_to_string("api/document.html", context)


def groups(is_storage: bool | None) -> Iterator[dict[str, Any]]:
    for tag in openapi_document()["tags"]:
        name = tag["name"]
        operations = [each for each in shown_operations(name) if _is_here(each, is_storage)]
        if operations:
            yield {"name": name, "description": tag["description"], "operations": operations}


def _is_here(operation: dict[str, Any], is_storage: bool | None) -> bool:
    if is_storage is None:
        return True
    is_administrative = operation["path"].startswith(PREFIX[1])
    return not is_administrative if is_storage else is_administrative or operation["id"] in EVERYWHERE


def shown_operations(tag: str) -> Iterator[dict[str, Any]]:
    """Yield the operations of a tag. A read by POST is shown with its GET."""
    for path, operations in openapi_document()["paths"].items():
        for method, operation in operations.items():
            is_repeated = operation["operationId"].removesuffix(AS_GET) == operations.get("get", {}).get("operationId")
            if tag in operation["tags"] and not (is_repeated and method == "post"):
                yield shown(path, method, operation, operations)


def shown(path: str, method: str, operation: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    has_fields = content.get("schema", {}).get("maxProperties") != 0
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "short_path": path.removeprefix(PREFIX[0]).removeprefix(PREFIX[1]),
        "summary": operation["summary"],
        "description": _plain(operation["description"]),
        "also_by_post": beside.get("post", {}).get("operationId") == operation["operationId"] + AS_GET,
        "parameters": [_parameter(each) for each in operation["parameters"]],
        "body": _text(content["example"]) if "example" in content else "",
        "takes_body": bool(content) and has_fields,
        "answers": [_answer(status, each) for status, each in sorted(operation["responses"].items())],
        "links": sorted(operation["responses"]["200"].get("links", {})),
    }


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


def _answer(status: str, response: dict[str, Any]) -> dict[str, str]:
    if "$ref" in response:
        response = openapi_document()["components"]["responses"][response["$ref"].rpartition("/")[2]]
    examples = [each["example"] for each in response.get("content", {}).values() if "example" in each]
    # Errors all have the same body, so only successes show an example.
    shown = _text(examples[0]) if examples and status == "200" else ""
    return {"status": status, "text": _plain(response.get("description", "")), "example": shown}


def _plain(markdown: str) -> str:
    """Return a text of the document without its Markdown, which is only code marks."""
    return markdown.replace("`", "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
