"""The OpenAPI document of the API, answered by the storage it is asked of."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from repository_site.api_document.examples import add_examples
from repository_site.api_document.links import add_links
from repository_site.core.rest.rendering import to_json
from repository_site.core.rest.versioning import ApiVersions
from storage.api.operation import ReadOperation
from storage.tenancy.contexts import ContextType

SNAPSHOT = settings.PROJECT_DIR / "docs/reference/openapi.json"


@cache
def openapi_document() -> dict[str, Any]:
    """The same for every storage and caller: it says what the API can do, never what a storage holds."""
    generator: Any = SchemaGenerator
    document: dict[str, Any] = generator().get_schema(request=None, public=True)
    add_examples(document)
    add_links(document)
    return document


def snapshot() -> str:
    """The document as it is kept in the repository: one line a value, in the order of the document."""
    return json.dumps(openapi_document(), indent=1, ensure_ascii=False) + "\n"


@cache
def _document_bytes() -> bytes:
    return to_json(openapi_document())


@extend_schema(tags=["document"], summary="This document", responses={(200, "application/json"): dict})
class SchemaView(ReadOperation):
    """The OpenAPI document of the whole API."""

    operation_id = "getOpenApiDocument"
    versions = ApiVersions.up_to("1.0")
    contexts = frozenset(ContextType)

    def read(self, request: Request, **names: str) -> HttpResponse:
        return HttpResponse(_document_bytes(), content_type="application/json")
