"""The OpenAPI document: generated from the viewsets, with examples and links."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

from repository_site.api_document.examples import add_examples
from repository_site.api_document.operation_links import add_links
from repository_site.core.rest.rendering import to_json

SNAPSHOT = settings.PROJECT_DIR / "docs/reference/openapi.json"


@cache
def openapi_document() -> dict[str, Any]:
    """Return the document, which is the same for every storage and caller."""
    generator: Any = SchemaGenerator
    document: dict[str, Any] = generator().get_schema(request=None, public=True)
    add_examples(document)
    add_links(document)
    return document


def snapshot() -> str:
    """Return the document as the repository keeps it: one value per line, in the order of the document."""
    return json.dumps(openapi_document(), indent=1, ensure_ascii=False) + "\n"


@cache
def document_bytes() -> bytes:
    return to_json(openapi_document())
